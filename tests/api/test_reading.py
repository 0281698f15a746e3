"""Options for reading, and what the record says was taken of a file."""
import io
import tarfile
import zipfile

import numpy as np
import points
import pytest

GEPHI = ("Source,Target,Type,Id,Label,timeset,Weight\nalice,bob,Directed,0,,,2.5\nbob,carol,Directed,1,,,1.0\n"
         "carol,dave,Directed,2,,,3.0\n")
RING = "%%MatrixMarket matrix coordinate pattern symmetric\n5 5 5\n2 1\n3 2\n4 3\n5 4\n5 1\n"


def roles(taken):
    return {c["role"]: c["title"] for c in taken["listed"]}


def test_columns_of_edges(api):
    g = api.upload(GEPHI.encode())
    assert (g["kind"], g["nodes"], g["entries"], g["weighted"]) == ("graph", 4, 6, True)
    assert roles(g["taken"])["source"] == "Source" and g["taken"]["rows"] == {"all": 3, "used": 3, "left_out": 0}
    assert any("directed=true" in note["text"] and note["changes"] for note in g["taken"]["notes"])
    g = api.upload(GEPHI.encode(), directed="true")
    assert g["entries"] == 3 and any("as the file says" in note["text"] for note in g["taken"]["notes"])
    g = api.upload(GEPHI.encode(), source=2, target="Source", weight="")
    assert g["nodes"] == 4 and not g["weighted"] and roles(g["taken"])["source"] == "Target"
    problem = api.post("/v1/graphs", 400, data=GEPHI.encode(), params={"target": "to"}).json()
    assert problem["parameter"] == "target" and "from 1 to 7" in problem["detail"]
    problem = api.post("/v1/graphs", 400, data=GEPHI.encode(), params={"kind": "points", "weight": "Weight"}).json()
    assert problem["parameter"] == "weight"


def test_lines_of_edges(api):
    taken = api.upload(b"# two comments\n# source target\n\n#a b\nb c\nc c\n")["taken"]
    assert taken["lines"] == {"all": 6, "header": 0, "blank": 1, "comments": 3}, taken
    assert taken["rows"] == {"all": 2, "used": 1, "left_out": 1}
    taken = api.upload(b"source target\n#a b\nb c\nc #a\n# done, all\n")["taken"]
    assert taken["lines"] == {"all": 5, "header": 1, "blank": 0, "comments": 1} and taken["rows"]["used"] == 3


def test_archives(api):
    packed, tarred = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("ring.mtx", RING)
        archive.writestr("readme.html", "<html>")
    with tarfile.open(fileobj=tarred, mode="w:gz") as archive:
        entry = tarfile.TarInfo("ring/ring.mtx")
        entry.size = len(RING)
        archive.addfile(entry, io.BytesIO(RING.encode()))
    for body in (packed.getvalue(), tarred.getvalue()):
        g = api.upload(body, status=None)
        assert (g["nodes"], g["entries"], g["format"]) == (5, 10, "mtx")
        assert any("ring.mtx of the archive" in note["text"] for note in g["taken"]["notes"])
    found = api.post("/v1/graphs/dry-run", 200, data=packed.getvalue()).json()
    assert (found["format"], found["problem"]) == ("zip", None)
    found = api.post("/v1/graphs/dry-run", 200, data=tarred.getvalue()).json()
    assert (found["format"], found["problem"]) == ("tar", None)


def test_an_archive_may_not_unpack_to_too_much(api):
    """A member of 200 MB of blanks in 200 kB is refused, as a gzip file of that kind is."""
    comments = (b"#" + b" " * 1023 + b"\n") * (200 << 10)
    for bomb in ("zip", "tar"):
        file = io.BytesIO()
        if bomb == "zip":
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("a.csv", comments)
        else:
            with tarfile.open(fileobj=file, mode="w:gz") as archive:
                entry = tarfile.TarInfo("a.csv")
                entry.size = len(comments)
                archive.addfile(entry, io.BytesIO(comments))
        problem = api.post("/v1/graphs", 413, data=file.getvalue()).json()
        assert "256 times" in problem["detail"], problem


def test_transpose(api):
    x = np.random.default_rng(1).normal(size=(40, 6)).astype("float32")
    plain = api.upload(points.npy(x), neighbours=5)
    turned = api.upload(points.npy(x.T.copy()), neighbours=5, transpose="true", status=200)
    assert turned["id"] == plain["id"] and plain["columns"] == 6
    text = "gene," + ",".join(f"c{i}" for i in range(40)) + "\n" + "".join(
        f"g{k}," + ",".join(map(str, x[:, k])) + "\n" for k in range(6))
    g = api.upload(text.encode(), neighbours=5, transpose="true")
    assert (g["rows"], g["columns"], g["taken"]["transposed"]) == (40, 6, True)
    assert api.get(f"/v1/graphs/{g['id']}/names").json()["names"][:2] == ["c0", "c1"]


@pytest.mark.parametrize("title", ["größe", "大きさ", "α" * 50, "x" + "大" * 30, "Größe der Zelle 😀"])
def test_titles_in_any_script(api, title):
    text = f"x,y,{title}\n" + "".join(f"{k}.5,{k * k}.25,{'ab'[k % 2]}\n" for k in range(12))
    g = api.upload(text.encode(), neighbours=4)
    kept = title.encode()[:63].decode(errors="ignore")
    assert [c["name"] for c in g["label_columns"]] == [kept]
    assert {c["title"] for c in g["taken"]["listed"] if c["role"] == "label"} == {kept}
    by_title = api.upload(text.encode(), neighbours=3, recall=1, label_column=title)
    assert [c["name"] for c in by_title["label_columns"]] == [kept]
    found = api.post("/v1/graphs/dry-run", 200, data=text.encode()).json()
    assert kept in {c["title"] for c in found["listed"]}
    problem = api.post("/v1/graphs", 400, data=f"a,b\n1.5,2.5\n1.5,inf\n{title},3\n".encode(), params={"ignore_columns": title})
    assert title[:20] in problem.json()["detail"]
