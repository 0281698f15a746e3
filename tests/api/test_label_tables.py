"""Texts of labels as other programs write them: keyed by name or number, in any order, with a header and several columns."""
import io

import numpy as np
import pytest

from harness import Api, Daemon

N = 120
KINDS = ["cat", "dog", "eel"]
WANT = [KINDS[i % 3] for i in range(N)]
RING = "".join(f"{i} {(i + step) % N}\n" for i in range(N) for step in (1, 2)).encode()
NAMED = "".join(f"n{i},n{(i + 1) % N}\n" for i in range(N)).encode()


def npy(a):
    f = io.BytesIO()
    np.save(f, a)
    return f.getvalue()


@pytest.fixture(scope="module")
def ring(api):
    g = api.post("/v1/graphs", 201, data=RING).json()["id"]
    yield g
    api.delete(f"/v1/graphs/{g}", 204)


@pytest.fixture(scope="module")
def named(api):
    g = api.post("/v1/graphs", 201, data=NAMED).json()["id"]
    yield g
    api.delete(f"/v1/graphs/{g}", 204)


def rows(order, form="{}\t{}"):
    return "".join(form.format(i, WANT[i]) + "\n" for i in order)


def values(api, g, column):
    got = api.get(f"/v1/graphs/{g}/labels/{column}").json()
    if got["kind"] == "number":
        return got["values"]
    return [None if c is None else got["categories"][c] for c in got["codes"]]


def put(api, g, text, column="x", status=200, query=""):
    body = text if isinstance(text, bytes) else text.encode()
    return api.request("PUT", f"/v1/graphs/{g}/labels{'/' + column if column else ''}{query}", status, data=body).json()


NUMBERED = {
    "numbered": rows(range(N)), "reversed": rows(reversed(range(N))), "comma": rows(reversed(range(N)), "{},{}"),
    "series": ",0\n" + rows(range(N), "{},{}"), "quoted": '"id";"label"\n' + rows(reversed(range(N)), '"{}";"{}"'),
    "floats": "id,label\n" + rows(reversed(range(N)), "{}.0,{}"), "blanks": rows(reversed(range(N)), "{} {}"),
    "crlf": rows(reversed(range(N))).replace("\n", "\r\n"), "bom": "\ufeff" + rows(reversed(range(N))),
    "comments": "# made by hand\n" + rows(reversed(range(N))), "hash header": "#id\tlabel\n" + rows(reversed(range(N))),
    "excel": "sep=;\r\nid;label\r\n" + rows(reversed(range(N)), "{};{}").replace("\n", "\r\n"),
    "write.table": '"x"\n' + "".join(f'"{i + 1}" "{WANT[i]}"\n' for i in reversed(range(N))),
    "from one": "".join(f"{i + 1}\t{WANT[i]}\n" for i in reversed(range(N))),
}


@pytest.mark.parametrize("name", NUMBERED)
def test_keyed_by_number(api, ring, name):
    reply = put(api, ring, NUMBERED[name])
    assert reply["categories"] == 3 and values(api, ring, "x") == WANT
    taken = reply["taken"]
    assert taken["rows"] == {"all": N, "used": N, "left_out": 0} and "numbers" in taken["notes"][0]["text"]
    record = api.post("/v1/graphs", 201, files={"file": ("r.txt", RING), "labels": ("l.tsv", NUMBERED[name])}).json()
    assert record["labels"] == 3 and "numbers" in record["labels_taken"]["notes"][0]["text"]
    assert values(api, record["id"], record["label_columns"][0]["name"]) == WANT
    api.delete(f"/v1/graphs/{record['id']}", 204)


def test_keyed_by_name(api, named):
    reply = put(api, named, "name,kind\n" + "".join(f"n{i},{WANT[i]}\n" for i in reversed(range(N))))
    names = api.get(f"/v1/graphs/{named}/names").json()["names"]
    assert values(api, named, "x") == [WANT[int(name[1:])] for name in names]
    assert 'names in the column "name"' in reply["taken"]["notes"][0]["text"]


def test_rows_and_nodes_without_a_partner(api, named):
    text = "label\tcell\n" + "".join(f"{WANT[i]}\tn{i}\n" for i in range(5, N)) + "owl\tz1\nowl\tz2\n"
    reply = put(api, named, text)
    assert reply["taken"]["rows"] == {"all": N - 3, "used": N - 5, "left_out": 2}
    notes = " | ".join(note["text"] for note in reply["taken"]["notes"])
    assert '2 rows name no node; the first is line 117, "z1"' in notes and "5 nodes have no row" in notes
    names = api.get(f"/v1/graphs/{named}/names").json()["names"]
    assert values(api, named, "x") == [None if int(n[1:]) < 5 else WANT[int(n[1:])] for n in names]


METADATA = "word\tspecies\tcount\n" + "".join(f"w{i}\t{WANT[i]}\t{i % 3}\n" for i in range(N))


def test_several_columns(api, ring):
    reply = put(api, ring, METADATA, column=None)
    assert [(c["name"], c["kind"]) for c in reply["columns"]] == [("word", "category"), ("species", "category"),
                                                                  ("count", "number")]
    assert values(api, ring, "species") == WANT and values(api, ring, "count") == [i % 3 for i in range(N)]
    assert "by row" in reply["taken"]["notes"][0]["text"]
    assert [c["role"] for c in reply["taken"]["listed"]] == ["label"] * 3
    # one of them: by its title, by the request, or refused with the titles
    assert put(api, ring, METADATA, column="count")["kind"] == "number"
    assert put(api, ring, METADATA, column="y", query="?column=species")["categories"] == 3
    problem = put(api, ring, METADATA, column="z", status=400)
    assert '"word", "species", "count"' in problem["detail"] and "PUT /v1/graphs/ID/labels" in problem["detail"]
    assert "no column" in put(api, ring, METADATA, column="z", status=400, query="?column=size")["detail"]
    assert len(put(api, ring, METADATA, column=None, query="?column=2,count")["columns"]) == 2


def test_how_labels_were_joined_stays_in_the_record(tmp_path):
    """For whoever sees the data later, also after a restart."""
    daemon = Daemon(tmp_path).start()
    try:
        api = Api(daemon)
        g = api.upload(RING)["id"]
        assert "labels_taken" not in api.get(f"/v1/graphs/{g}").json()
        taken = put(api, g, METADATA, column=None)["taken"]
        assert api.get(f"/v1/graphs/{g}").json()["labels_taken"] == taken
        put(api, g, "a\n" * N)   # one column is no file of labels
        daemon.stop()
        daemon.start()
        assert Api(daemon).get(f"/v1/graphs/{g}").json()["labels_taken"] == taken
    finally:
        daemon.stop()


def test_several_columns_with_an_upload(api):
    record = api.post("/v1/graphs?labels_column=species,count", 201,
                      files={"file": ("r.txt", RING), "labels": ("metadata.tsv", METADATA)}).json()
    assert {c["name"]: c.get("auto") for c in record["label_columns"]} == {"species": True, "count": None}
    assert values(api, record["id"], "species") == WANT
    api.delete(f"/v1/graphs/{record['id']}", 204)
    problem = api.post("/v1/graphs?labels_column=size", 400,
                       files={"file": ("r.txt", RING), "labels": ("metadata.tsv", METADATA)}).json()
    assert 'no column "size"' in problem["detail"]


def test_what_does_not_match(api, ring):
    assert "4 columns" in put(api, ring, "a,b,c,d\n" + "x,1,2,3\n" * 7, status=400)["detail"]
    short = "species\tcount\n" + "".join(f"{WANT[i]}\t{i % 3}\n" for i in range(N - 1))
    assert f"labels for {N - 1} nodes" in put(api, ring, short, status=400)["detail"]
    ragged = METADATA.replace("w7\tdog\t1", "w7\tdog")
    problem = put(api, ring, ragged, column=None, status=400)
    assert problem["line"] == 9 and "2 fields" in problem["detail"]
    assert "astype(str)" in put(api, ring, npy(np.array(WANT, dtype=object)), status=400)["detail"]


def test_labels_with_separators_stay_whole(api, ring):
    prose = [("T cell, CD8", "B cell; naive", "eel")[i % 3] for i in range(N)]
    put(api, ring, "\n".join(prose) + "\n")
    assert values(api, ring, "x") == prose


def test_not_available(api, ring):
    text = "id,label\n" + "".join(f"{i},{WANT[i] if i % 4 else 'NA'}\n" for i in range(N))
    reply = put(api, ring, text)
    assert values(api, ring, "x") == [WANT[i] if i % 4 else None for i in range(N)]
    assert any("30 cells are NA" in note["text"] for note in reply["taken"]["notes"])
