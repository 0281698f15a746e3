"""spaceland graph columns and graph rows, with a real daemon: what is set is told, found, and exported whole."""
import csv
import json
import pathlib

import numpy as np
import pytest

NAMES = ["ada", "bob", "cyd", "dan"]
PNG = bytes.fromhex("89504e470d0a1a0a0000000d494844520000000100000001080000000003a7e1be0000000a49444154789c6360000000020001"
                    "48afa4710000000049454e44ae426082")


@pytest.fixture(name="graph")
def make_graph(online, tmp_path):
    edges = "".join(f"{a}\t{b}\t{len(str(tmp_path))}.{hash(str(tmp_path)) % 1000}\n" for a, b in zip(NAMES, NAMES[1:]))
    (tmp_path / "four.tsv").write_text(edges)
    return online("graph", "add", "four.tsv").out.strip()


def test_set_list_find_export_delete(online, graph, tmp_path):
    (tmp_path / "people.csv").write_text('who,born,code,says\ndan,1970,007,"a, b"\nada,1815.5,012,"he said ""neural"" nets"\n'
                                         "zoe,1,1,x\n")
    done = online("graph", "columns", graph, "people.csv", "--kind", "says:text")
    assert done.status == 0 and "1 row names no node; the first is line 4, \"zoe\"" in done.err, done
    assert "postal codes" in done.err
    table = online("graph", "columns", graph).out.splitlines()
    assert table[0].split() == ["COLUMN", "KIND", "READ", "MISSING", "RANGE", "FIRST"]
    assert table[1].split() == ["born", "number", "2", "2", "1815.5", "to", "1970", "1815.5"]
    shown = online("graph", "rows", graph, "--sort", "-born", "--range", "born:1900..")
    assert shown.out.splitlines()[1].split()[:3] == ["3", "dan", "1970"] and "1 row" in shown.err
    assert [r["name"] for r in json.loads(online("graph", "rows", graph, "--search", "neural", "--json").out)["rows"]] == ["ada"]
    assert online("graph", "rows", graph, "--sort", "name", "-o", "all.csv").status == 0
    rows = list(csv.DictReader((tmp_path / "all.csv").open()))
    assert [r["name"] for r in rows] == NAMES and rows[0] == {"node": "0", "name": "ada", "born": "1815.5", "code": "012",
                                                             "says": 'he said "neural" nets'}
    # an export can be set again, and says the same
    before = online("graph", "rows", graph, "--json").out
    assert online("graph", "columns", graph, "all.csv", "--columns", "born,code,says", "--kind", "says:text").status == 0
    assert online("graph", "rows", graph, "--json").out == before
    assert online("graph", "columns", graph, "--delete", "code").status == 0
    assert "code" not in online("graph", "columns", graph).out


def test_with_the_upload(online, tmp_path):
    (tmp_path / "five.tsv").write_text("ada\tbob\nbob\tcyd\ncyd\tdan\ndan\teve\neve\tada\n")
    (tmp_path / "said.csv").write_text("id,day\n" + "".join(f"{name},2024-02-0{i + 1}\n" for i, name in enumerate([*NAMES, "eve"])))
    g = online("graph", "add", "five.tsv", "--columns", "said.csv").out.strip()
    assert online("graph", "columns", g).out.splitlines()[1].split() == ["day", "date", "5", "0", "2024-02-01", "to", "2024-02-05", "2024-02-01"]


def test_a_folder_of_images(online, graph, tmp_path):
    (tmp_path / "faces" / "more").mkdir(parents=True)
    (tmp_path / "faces" / "ada.png").write_bytes(PNG)
    (tmp_path / "faces" / "more" / "dan.png").write_bytes(PNG)
    (tmp_path / "faces" / "notes.txt").write_text("no image")
    assert "--name" in online("graph", "columns", graph, "faces").err
    done = online("graph", "columns", graph, "faces", "--name", "face", "--json")
    assert done.status == 0 and json.loads(done.out)["read"] == 2 and json.loads(done.out)["images"]["types"] == {"PNG": 2}
    assert "1 file" in online("graph", "columns", graph, "faces", "--name", "face").err
    np.save(tmp_path / "x.npy", np.zeros((4, 2, 3), "uint8"))
    assert "3 x 2 pixels" in online("graph", "columns", graph, "x.npy", "--name", "pixels").out
    assert not list(pathlib.Path("/tmp").glob("spaceland-images-*"))


def test_wrong_calls(online, graph, tmp_path):
    assert online("graph", "columns", graph, "--kind", "text").status == 2
    assert online("graph", "rows", graph, "--limit", "3", "-o", "x.csv").status == 2
    wrong = online("graph", "rows", graph, "--range", "size:1..2")
    assert wrong.status in (4, 5) and "size" in wrong.err
