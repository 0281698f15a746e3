"""Every remedy that a note or an error names is an option of the command that printed it; and what --json prints has the
notes, too."""
import json
import re

import numpy
import pytest

rng = numpy.random.default_rng(5)


def table(header, rows):
    return header + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows)


X = rng.random((30, 3)).round(4)
NOTED = {
    "numbering": table("n,a,b", ((k + 1, *X[k, :2]) for k in range(30))),
    "comma": "a;b;c\n" + "".join(";".join(str(v).replace(".", ",") for v in row) + "\n" for row in X),
    "unsure": "a b\n" + "".join(f"1,{100 + k} 2,{345 + k}\n" for k in range(30)),
    "words": table("a,b,c", ((*X[k, :2], "x" if k % 2 else f"{k} kg") for k in range(30))),
    "missing": table("a,b,c", ((*X[k, :2], "NA" if k == 7 else X[k, 2]) for k in range(30))),
    "empty": table("a,b,c", ((*X[k, :2], "" if k < 28 else 1) for k in range(30))),
    "late": table("n,a,b", ((k if k < 50000 else 5, k * k % 11, k * k % 7) for k in range(50010))),
    "far": table("a,b,c", ((1e12 + k * k, *X[k, 1:]) for k in range(30))),
}
COMMANDS = {
    "embed": ["embed", "--local", "--iterations", "5", "--perplexity", "4", "-o", "y.npy", "FILE"],
    "kmeans": ["kmeans", "--clusters", "2", "-o", "k.npy", "FILE"],
    "gmm": ["gmm", "-o", "g.npy", "FILE"],
    "sammon": ["sammon", "--iterations", "5", "-o", "s.npy", "FILE"],
    "quality": ["quality", "layout.npy", "--points", "FILE"],
    "transform": ["transform", "layout.npy", "FILE", "--points", "FILE", "-o", "t.npy"],
    "bench": ["bench", "FILE", "--repeat", "1", "--iterations", "5", "--perplexity", "4", "--no-phases"],
}


def options_of(client, command):
    return set(re.findall(r"--[a-z][a-z-]+", client(*command.split(), "--help").out))


def check(text, known, where):
    for option in re.findall(r"--[a-z][a-z-]+", text):
        assert option in known, (option, where, text)


@pytest.mark.parametrize("command", COMMANDS)
def test_remedies_are_options(client, tmp_path, command):
    numpy.save(tmp_path / "layout.npy", rng.random((30, 2)).astype("f4"))
    known, named = options_of(client, command), set()
    for name, text in NOTED.items():
        (tmp_path / f"{name}.csv").write_text(text)
        result = client(*[f"{name}.csv" if word == "FILE" else word for word in COMMANDS[command]])
        check(result.err, known, name)
        named |= set(re.findall(r"--[a-z][a-z-]+", result.err))
    assert {"--keep-columns", "--decimal", "--ignore-columns"} <= named, named


@pytest.mark.parametrize("command", COMMANDS)
def test_remedies_help(client, tmp_path, command):
    """With the remedy the same file is read without that note."""
    numpy.save(tmp_path / "layout.npy", rng.random((30, 2)).astype("f4"))
    (tmp_path / "n.csv").write_text(NOTED["numbering"])
    words = ["n.csv" if word == "FILE" else word for word in COMMANDS[command]]
    plain, kept = client(*words), client(*words, "--keep-columns", "n")
    assert plain.status == 0 and "counts the rows" in plain.err, plain
    assert kept.status == 0 and "counts the rows" not in kept.err and "3 coordinates" in kept.err, kept


def test_the_servers_remedies_are_options(online, tmp_path):
    known = options_of(online, "graph add")
    for name, text in NOTED.items():
        (tmp_path / f"{name}.csv").write_text(text)
        check(online("graph", "add", f"{name}.csv").err, known, name)


@pytest.mark.parametrize("command", [c for c in COMMANDS if c != "transform"])
def test_json_has_the_notes(client, tmp_path, command):
    numpy.save(tmp_path / "layout.npy", rng.random((30, 2)).astype("f4"))
    (tmp_path / "n.csv").write_text(NOTED["numbering"])
    words = ["n.csv" if word == "FILE" else word for word in COMMANDS[command]]
    result = client(*words, "--json")
    assert result.status == 0, result
    notes = json.loads(result.out[result.out.index("{"):])["notes"]
    assert any("counts the rows" in note and "--keep-columns 1" in note for note in notes), notes
    assert result.err == "" or command == "bench", result
    failed = client(*words, "--json", "--keep-columns", "9")
    assert failed.status != 0 and "--keep-columns" in failed.err, failed


def test_no_note_is_lost(client, tmp_path):
    """Where --json prints no object, notes go to stderr."""
    numpy.save(tmp_path / "layout.npy", rng.random((30, 2)).astype("f4"))
    (tmp_path / "n.csv").write_text(NOTED["numbering"])
    result = client("transform", "layout.npy", "n.csv", "--points", "n.csv", "-o", "t.npy", "--json")
    assert result.status == 0 and result.out == "" and "counts the rows" in result.err, result


def test_a_number_of_one_is_singular(client, tmp_path):
    (tmp_path / "two.csv").write_text("a,b\n1.5,2\n1.5,2\n8.5,7\n")
    result = client("kmeans", "two.csv", "--clusters", "1", "--iterations", "1", "-o", "k.npy")
    assert "1 cluster; 1 iteration," in result.err and "1 point is equal to an earlier one" in result.err, result
    assert not re.search(r"\b1 (?!is\b|ms\b)[a-z]+s\b", result.err), result.err
    result = client("gmm", "two.csv", "--components", "1", "--iterations", "1", "-o", "g.npy")
    assert not re.search(r"\b1 (?!is\b|ms\b)[a-z]+s\b", result.err), result.err
