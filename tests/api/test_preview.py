"""POST /v1/graphs/dry-run: reads the beginning of a file by the same rules as the whole file."""
import gzip

import numpy as np
import pytest

import graphs
import points

TABLE = "cell,batch,type,donor,a,b,c\n" + "".join(f"c{i},b{i % 3},t{i % 4},d{i % 5},{i * 3},{i * i % 17},{i % 7}\n" for i in range(400))


def preview(api, data, **query):
    return api.post("/v1/graphs/dry-run", 200, data=data, params=query).json()


def roles(found):
    return {c["title"] or str(c["column"]): c["role"] for c in found["listed"]}


@pytest.mark.parametrize("text,query", [
    (TABLE, {}), (TABLE, {"label_column": "type,batch"}), (TABLE, {"name_column": "", "ignore_columns": "donor"}),
    (TABLE, {"ignore_columns": "words"}), ("a,1.5,2,u\nb,3,4,v\nc,5,6,u\n", {}), ("x,y,class,kind\n1,2,u,r\n3,4,v,s\n5,6,u,s\n", {}),
    ("V1,V2\na,1,2\nb,3,4\nc,5,6\n", {"kind": "points"}), ("x\ty\tz\tcluster\n1\t2\t3\t1\n4\t5\t6\t2\n7\t8\t9\t1\n", {}),
    ("u;1.5;2\nu;2;3\nv;4;5\n", {"kind": "points"})], ids=range(9))
def test_guesses_are_what_the_upload_does(api, text, query):
    found = preview(api, text.encode(), **query)
    assert found["kind"] == "points" and found["format"] == "csv" and found["problem"] is None
    g = api.upload(text.encode(), **query)
    assert found["coordinates"] == g["columns"] and ("name" in roles(found).values()) == g["named"]
    listed = {c["column"]: c for c in found["listed"]}
    assert len(found["label_columns"]) == len(g["label_columns"]) == list(roles(found).values()).count("label")
    if found["label_columns"]:
        first, *rest = found["label_columns"]
        assert g["label_columns"][0]["name"] == (listed[first]["title"] or "label")
        assert {listed[c]["title"] or f"column {c}" for c in rest} == {c["name"] for c in g["label_columns"][1:]}
        told = {"kind": "points", "label_column": ",".join(map(str, found["label_columns"])), **({} if g["named"] else {"name_column": ""}),
                "ignore_columns": ",".join(str(c["column"]) for c in found["listed"] if c["role"] == "ignored")}
        assert api.post("/v1/graphs", 200, data=text.encode(), params=told).json()["id"] == g["id"]
        labels = api.get(f"/v1/graphs/{g['id']}/labels/label").json()
        assert labels["categories"][labels["codes"][0]] == listed[first]["examples"][0]
    api.delete(f"/v1/graphs/{g['id']}", 204)


def test_the_beginning_is_enough(api):
    """Truncated anywhere, compressed or not; the truncation is not an error."""
    whole = preview(api, TABLE.encode())
    packed = gzip.compress(TABLE.encode())
    for cut in (TABLE.encode()[:2000], TABLE.encode()[:2011], packed[:len(packed) // 2]):
        found = preview(api, cut)
        assert {**found, "taken": None} == {**whole, "taken": None}
        assert found["taken"]["listed"] == whole["taken"]["listed"] and found["taken"]["roles"] == whole["taken"]["roles"]
    first = {c["title"]: c["examples"] for c in whole["listed"]}
    assert first["cell"] == ["c0", "c1", "c2"] and first["b"] == ["0", "1", "4"] and whole["columns"] == 7


def test_examples_are_the_first_rows_although_a_later_one_is_refused(api):
    """The page shows them beside the error, so they must not begin behind the line of the error."""
    text = "id;pH;Na\n" + "".join(f"{i};{'NA' if i == 12 else i / 2};{i * i}\n" for i in range(1, 40))
    found = preview(api, text.encode())
    assert found["problem"]["line"] == 13
    assert {c["title"]: c["examples"] for c in found["listed"]} == {"id": ["1", "2", "3"], "pH": ["0.5", "1.0", "1.5"], "Na": ["1", "4", "9"]}


def test_wide_tables(api):
    """Columns of numbers after the thousandth are counted, not listed; a line longer than the received part gives no
    information."""
    text = "name," + ",".join(f"g{i}" for i in range(3000)) + ",kind\n" + "".join(
        f"n{k}," + ",".join("0" for _ in range(3000)) + f",u{k % 2}\n" for k in range(4))
    found = preview(api, text.encode())
    assert found["coordinates"] == 3000 and found["columns"] == 3002 and [c["column"] for c in found["listed"]] == [*range(1, 1002), 3002]
    found = preview(api, b"name," + b",".join(b"gene%d" % i for i in range(20000)))
    assert (found["kind"], found["columns"], found["problem"]) == ("points", 0, None)


def test_other_files(api):
    a = graphs.clusters(n=60)[0]
    for data, kind, form in ((points.npy(np.zeros((5, 3))), "points", "npy"), (graphs.mtx(a), "graph", "mtx"),
                             (graphs.npz(a), "auto", "npz"), (b"a b\nb c\n", "graph", "edges"),
                             (b"%%MatrixMarket matrix coordinate real general\n3 7 1\n1 2 1\n", "points", "mtx")):
        found = preview(api, data)
        assert (found["kind"], found["format"], found["problem"]) == (kind, form, None), found
    assert preview(api, b"", kind="points")["problem"]["detail"].startswith("The file is empty")
    assert ".h5ad" in preview(api, b"\x89HDF\r\n\x1a\n" + bytes(90))["problem"]["detail"]
    problem = preview(api, b"x,y,z,w\n1,2,3,4\n5,6,7,8\n9,oops,11,12\n")["problem"]
    assert problem["line"] == 4 and "oops" in problem["detail"]
    assert api.post("/v1/graphs/dry-run?kind=table", 400, data=b"a b\n").json()["parameter"] == "kind"


def test_nothing_is_kept(api, daemon):
    before = len(api.get("/v1/graphs").json()["items"])
    preview(api, b"x" * 3_000_000)
    assert len(api.get("/v1/graphs").json()["items"]) == before and not list((daemon.state / "tmp").iterdir())
