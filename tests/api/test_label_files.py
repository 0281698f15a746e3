"""Files of labels uploaded with a graph: texts with a header line, arrays of strings."""
import io
import json

import numpy as np
import pytest

N = 24
EDGES = "".join(f"{i} {(i + step) % N}\n" for i in range(N) for step in (1, 2)).encode()
TYPES = [("B cell", "T cell", "größer")[i % 3] for i in range(N)]


def npy(a):
    f = io.BytesIO()
    np.save(f, a)
    return f.getvalue()


def labels(api, data, status=(200, 201)):
    reply = api.post("/v1/graphs", files={"file": ("ring.txt", EDGES), "labels": ("labels", data)})
    if reply.status_code not in status:
        return reply.json()
    column = api.get(f"/v1/graphs/{reply.json()['id']}/labels/label").json()
    api.delete(f"/v1/graphs/{reply.json()['id']}", 204)
    return [column["categories"][code] for code in column["codes"]]


@pytest.mark.parametrize("array", [np.array(TYPES), np.array(TYPES).astype(">U9"), np.char.encode(TYPES, "utf-8"),
                                   np.array(TYPES).reshape(-1, 1)])
def test_arrays_of_strings(api, array):
    assert labels(api, npy(array)) == TYPES


def test_arrays_that_are_no_labels(api):
    assert "labels must be integers" in labels(api, npy(np.ones(N)))["detail"]
    assert "is not valid UTF-8" in labels(api, npy(np.array([b"\xff"] * N)))["detail"]
    assert "ends after 23 of the 24" in labels(api, npy(np.array(TYPES))[:-4])["detail"]
    assert "there must be one for each node" in labels(api, npy(np.array(TYPES[1:])))["detail"]


@pytest.mark.parametrize("lines", [TYPES, [f"{i % 4}" for i in range(N)], [f"{i / 2}" for i in range(N)]])
@pytest.mark.parametrize("end", ["", "\n", "\n\n\n"])
def test_a_header_line(api, lines, end):
    plain = labels(api, ("\n".join(lines) + end).encode())
    assert plain == lines
    assert labels(api, ("\n".join(["cell_type", *lines]) + end).encode()) == lines


@pytest.mark.parametrize("lines", [["B cell", *TYPES], [*TYPES, "B cell"], ["7", *(str(i % 4) for i in range(N))],
                                   ["header", "another", *TYPES], ["name", *(f"node {i}" for i in range(N))]])
def test_one_line_too_many(api, lines):
    problem = labels(api, "\n".join(lines).encode())
    assert problem["status"] == 400 and f"{len(lines)} lines, but the graph has {N} nodes" in problem["detail"]


def test_nodes_without_a_label(api):
    """An empty label is none, in files of labels and in tables: no category, a grey dot, no part of the silhouette."""
    some = [TYPES[i] if i % 4 else "" for i in range(N)]
    want = [name or None for name in some]
    graph = api.post("/v1/graphs", 201, files={"file": ("ring.txt", EDGES), "labels": ("labels", "\n".join(some))}).json()
    rows = "".join(f"{i},{i * i % 7},{i % 5},{name}\n" for i, name in enumerate(some))
    table = api.post("/v1/graphs?neighbours=4", 201, files={"file": ("t.csv", "a,b,c,label\n" + rows)}).json()
    for record in (graph, table):
        assert record["labels"] == 3 and record["label_columns"][0]["categories"] == 3
        column = api.get(f"/v1/graphs/{record['id']}/labels/label").json()
        assert [None if code is None else column["categories"][code] for code in column["codes"]] == want
        job = api.post("/v1/jobs", 202, json={"graph": record["id"], "iterations": 60}).json()["id"]
        api.wait(job)
        path = f"/v1/jobs/{job}"
        assert api.get(f"{path}/layout?format=json").json()["labels"] == some
        assert [line.split(",")[-1] for line in api.get(f"{path}/layout?format=csv").text.splitlines()[1:]] == some
        picture = api.get(f"{path}/picture.svg").text
        assert ">none</text>" in picture and "></text>" not in picture
        assert api.get(f"{path}/quality").json()["silhouette"] is not None
        api.delete(path, 204)
        api.delete(f"/v1/graphs/{record['id']}", 204)


def test_labels_that_are_all_missing(api):
    """They are no column."""
    graph = api.post("/v1/graphs", 201, files={"file": ("ring.txt", EDGES), "labels": ("labels", "\n" * N)}).json()
    assert graph["labels"] == 0 and graph["label_columns"] == []
    api.get(f"/v1/graphs/{graph['id']}/labels/label", 404)
    api.delete(f"/v1/graphs/{graph['id']}", 204)


def test_encodings(api):
    """A byte order mark is not part of the first label or of JSON; other encodings are refused by name."""
    text = "".join(f"{name}\n" for name in TYPES)
    assert labels(api, text.encode("utf-8-sig")) == TYPES
    assert "This is a UTF-16 text" in labels(api, text.encode("utf-16"))["detail"]
    graph = api.post("/v1/graphs", 201, data=EDGES).json()["id"]
    for body in (text, json.dumps({"values": TYPES}, ensure_ascii=False)):
        api.request("PUT", f"/v1/graphs/{graph}/labels/x", 200, data=body.encode("utf-8-sig"))
        assert api.get(f"/v1/graphs/{graph}/labels/x").json()["categories"][0] == TYPES[0]
        problem = api.request("PUT", f"/v1/graphs/{graph}/labels/x", 400, data=body.encode("utf-32")).json()
        assert "This is a UTF-32 text" in problem["detail"] and problem["line"] == 1
    api.delete(f"/v1/graphs/{graph}", 204)


def test_nodes_that_are_called_by_numbers(api):
    """A selection that the dashboard saves has a column of numbers from 0 and one of names: 1, 2, 3 ... are in both."""
    rows = "".join(f"{i + 1},{i % 7}.5,{i // 7}.25,{i % 3}.125\n" for i in range(60))
    graph = api.upload(f"id,a,b,c\n{rows}".encode(), kind="points", name_column="id")["id"]
    for titles, first, second in (("node,name", 0, 1), ("name,node", 1, 0)):
        file = f"{titles},kind\n" + "".join(f"{i + first},{i + second},kind{i}\n" for i in range(10, 30))
        reply = api.request("PUT", f"/v1/graphs/{graph}/labels?column=kind", 200, data=file, headers={"Content-Type": "text/csv"}).json()
        assert any('in the column "name"' in note["text"] for note in reply["taken"]["notes"])
        column = api.get(f"/v1/graphs/{graph}/labels/kind").json()
        assert [column["categories"][code] if code is not None else None for code in column["codes"]] == \
            [f"kind{i}" if 10 <= i < 30 else None for i in range(60)]
