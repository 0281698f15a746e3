"""embed --local: files in, files out, no server."""
import gzip
import json
import signal
import time

import numpy
import pytest


def test_json_has_what_a_program_needs(client, ring):
    result = client("embed", ring, "--local", "--json", "--iterations", "30", "--dims", "3")
    assert result.status == 0 and result.err == "", result
    got = result.json
    assert (got["nodes"], got["entries"], got["dims"], got["iterations"]) == (40, 160, 3, 30)
    assert got["kl"] > 0 and got["stop"] == "iterations" and "--kind points reads a table of points" in got["notes"][1]
    seconds = got["seconds"]
    assert set(seconds) == {"read", "search", "prepare", "embed", "total"}
    assert sum(seconds[k] for k in ("read", "search", "prepare", "embed")) <= seconds["total"] * 1.01 + 0.01


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_npy(client, ring, dims):
    assert client("embed", ring, "--local", "-q", "-o", "y.npy", "--dims", dims, "--iterations", "20").status == 0
    y = numpy.load(client.folder / "y.npy")
    assert y.shape == (40, dims) and y.dtype == numpy.float32 and numpy.isfinite(y).all()
    assert y.std() > 0


def test_what_auto_stood_for(client, ring, tmp_path):
    """Of few points the perplexity is less than usual; --json has all values that stood for auto."""
    (tmp_path / "few.csv").write_text("x,y\n" + "".join(f"{i * 0.37 % 1:.3f},{i * i * 0.11 % 1:.3f}\n" for i in range(31)))
    result = client("embed", "few.csv", "--local", "--json", "--iterations", "10")
    assert result.json["resolved"]["perplexity"] == [10] and result.json["resolved"]["init"] == "pca", result
    assert any("the perplexity is 10, not 30, since each point has 30 neighbours" in note for note in result.json["notes"]), result
    result = client("embed", "few.csv", "--local", "--json", "--iterations", "10", "--perplexity", "5")
    assert result.json["resolved"]["perplexity"] == [5] and not any("perplexity" in note for note in result.json["notes"])
    result = client("embed", ring, "--local", "--json", "--iterations", "10")
    assert result.json["resolved"]["lambda"] > 0 and result.json["resolved"]["perplexity"] is None


def test_csv_and_json_agree_with_npy(client, tmp_path):
    (tmp_path / "g.csv").write_text('"a,b",c\nc,d\nd,"a,b"\n"say ""x""",c\n')
    (tmp_path / "labels.txt").write_text("one\ntwo\ntwo\none\n")
    for kind in ("npy", "csv", "json"):
        result = client("embed", "g.csv", "--local", "-q", "--labels", "labels.txt", "-o", f"y.{kind}", "--iterations", "9")
        assert result.status == 0, result
    y = numpy.load(tmp_path / "y.npy")
    lines = (tmp_path / "y.csv").read_text().splitlines()
    assert lines[0] == "node,x,y,label" and len(lines) == 5
    assert lines[1].startswith('"a,b",') and lines[1].endswith(",one")
    assert lines[4].startswith('"say ""x""",')
    rows = numpy.array([line.rsplit(",", 3)[1:3] for line in lines[1:]], dtype=numpy.float32)
    assert (rows == y).all()
    got = json.loads((tmp_path / "y.json").read_text())
    assert got["names"] == ["a,b", "c", "d", 'say "x"'] and got["labels"] == ["one", "two", "two", "one"]
    assert (numpy.array(got["layout"], dtype=numpy.float32) == y).all()


def test_picture_in_other_forms(client, ring):
    (client.folder / "l.txt").write_text("".join(f"{'even' if i % 2 else 'odd'}\n" for i in range(40)))
    arguments = ("embed", ring, "--local", "-q", "--iterations", "30", "--picture-size", "300x200")
    assert client(*arguments, "--labels", "l.txt", "--picture", "p.svg", "--picture-light").status == 0
    svg = (client.folder / "p.svg").read_text()
    assert svg.startswith("<svg ") and 'width="300" height="200"' in svg and ">even</text>" in svg and ">l</text>" in svg
    (client.folder / "t.txt").write_text("parity\n" + (client.folder / "l.txt").read_text())
    assert client(*arguments, "--labels", "t.txt", "--picture", "t.svg").status == 0
    assert ">parity</text>" in (client.folder / "t.svg").read_text()
    assert svg.count("<circle") == 42
    assert client(*arguments, "--labels", "l.txt", "--picture", "n.svg", "--picture-no-legend").status == 0
    plain = (client.folder / "n.svg").read_text()
    assert plain.count("<circle") == 40 and "</text>" not in plain
    assert ">odd</text>" not in plain
    assert client(*arguments, "--labels", "l.txt", "--picture", "m.svg", "--picture-no-legend", "--picture-names").status == 0
    assert (client.folder / "m.svg").read_text().count(">odd</text>") == 1
    assert client(*arguments, "--labels", "l.txt", "--picture", "dpi.png", "--picture-dpi", "150").status == 0
    assert b"pHYs" in (client.folder / "dpi.png").read_bytes()
    refused = client(*arguments, "--picture", "dpi.png", "--picture-dpi", "5")
    assert refused.status == 2 and "--picture-dpi" in refused.err and "36" in refused.err
    assert client(*arguments, "--labels", "l.txt", "--picture", "d.svg", "--picture-color", "density").status == 0
    assert "even" not in (client.folder / "d.svg").read_text()
    result = client(*arguments, "--picture", "p.png", "--picture-color", "label")
    assert result.status == 2 and "--picture-color is label, but there are no labels" in result.err


def test_picture(client, ring):
    assert client("embed", ring, "--local", "-q", "--picture", "p.png", "--picture-size", "200").status == 0
    data = (client.folder / "p.png").read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    assert int.from_bytes(data[16:20], "big") == int.from_bytes(data[20:24], "big") == 200


def test_same_seed_same_bytes_other_seed_others(client, ring):
    files = {}
    for name, seed, threads in (("a", 1, 1), ("b", 1, 2), ("c", 2, 2)):
        result = client("embed", ring, "--local", "-q", "-o", f"{name}.npy", "--seed", seed, "--threads", threads,
                        "--iterations", "60")
        assert result.status == 0, result
        files[name] = (client.folder / f"{name}.npy").read_bytes()
    assert files["a"] == files["b"] != files["c"]


def test_initial_layout_is_used(client, ring):
    angle = numpy.arange(40) * 2 * numpy.pi / 40
    circle = numpy.stack([numpy.cos(angle), numpy.sin(angle)], 1) * 9
    numpy.save(client.folder / "init.npy", circle)
    result = client("embed", ring, "--local", "-q", "-o", "y.npy", "--init", "init.npy", "--init-std", "0", "--iterations",
                    "1", "--learning-rate", "1e-6")
    assert result.status == 0, result
    assert numpy.allclose(numpy.load(client.folder / "y.npy"), circle, atol=1e-3)


@pytest.mark.parametrize("array, message", [
    (numpy.zeros((39, 2)), "init.npy has the shape (39, 2); it must have (40, 2), by the graph's nodes and --dims"),
    (numpy.zeros((40, 3)), "init.npy has the shape (40, 3); it must have (40, 2), by the graph's nodes and --dims"),
    (numpy.zeros((40, 4)), "init.npy has 4 columns; a layout must have 1, 2 or 3"),
    (numpy.full((40, 2), numpy.nan), "init.npy"),
])
def test_initial_layout_that_does_not_fit(client, ring, array, message):
    numpy.save(client.folder / "init.npy", array)
    result = client("embed", ring, "--local", "--json", "--init", "init.npy")
    assert result.status == 5 and result.out == "" and result.err.startswith("spaceland: " + message), result


@pytest.mark.parametrize("arguments, status, message", [
    (["--init", "spektral"], 5, "--init must be random, spectral, pca, auto, the id of a job or a file, and there is "
     "no file spektral"),
    (["--lambda="], 2, "--lambda: lambda must be a number from 1 to 1000000, or auto, not empty."),
    (["--labels", "one.txt"], 5, "one.txt: The file has 1 line, but the graph has 40 nodes; there must be one for each node."),
])
def test_what_is_wrong_with_an_option(client, ring, arguments, status, message):
    (client.folder / "one.txt").write_text("one\n")
    result = client("embed", ring, "--local", "--json", *arguments)
    assert result.status == status and result.err == f"spaceland: {message}\n", result


def test_bad_files_name_the_line(client, tmp_path):
    (tmp_path / "sub").mkdir()
    path = tmp_path / "sub" / "bad.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n3 3 2\n1 2 1.0\n9 1 1.0\n")
    result = client("embed", path, "--local", "--json")
    assert result.status == 5 and result.out == "", result
    assert result.err.startswith(f"spaceland: {path}:4: ") and result.err.count("\n") == 1


@pytest.mark.parametrize("name, data", [
    ("missing.mtx", None), ("empty.tsv", b""), ("noise.npz", b"PK\x03\x04 but no archive"),
    ("cut.mtx.gz", gzip.compress(b"%%MatrixMarket matrix coordinate real general\n" * 9, mtime=0)[:20]),
    ("negative.tsv", b"a\tb\t-1\n"),
])
def test_bad_files(client, tmp_path, name, data):
    if data is not None:
        (tmp_path / name).write_bytes(data)
    result = client("embed", name, "--local", "--json")
    assert result.status == 5 and result.err.startswith(f"spaceland: {name}"), result
    assert result.err.count("\n") == 1


def test_a_small_file_declares_no_large_graph(client, tmp_path):
    """A few bytes must not take all memory, unless the user says so."""
    (tmp_path / "few.mtx").write_text("%%MatrixMarket matrix coordinate pattern general\n100000 100000 2\n1 2\n2 3\n")
    for command in (["embed", "few.mtx", "--local"], ["sammon", "few.mtx"]):
        refused = client(*command, "-o", "y.npy")
        assert refused.status == 5 and refused.err.endswith("If this is intended, say --isolated.\n"), refused
    assert client("embed", "few.mtx", "--local", "--isolated", "--iterations", "2", "-o", "y.npy").status == 0
    assert numpy.load(tmp_path / "y.npy").shape == (100000, 2)


def test_output_into_a_missing_folder(client, ring):
    result = client("embed", ring, "--local", "-q", "-o", "nowhere/y.npy", "--iterations", "5")
    assert result.status == 1 and result.err == "spaceland: nowhere/y.npy: No such file or directory\n", result


def test_plain_lines_when_it_is_no_terminal(client, ring):
    result = client("embed", ring, "--local", "-o", "y.npy", "--iterations", "50")
    assert result.status == 0 and result.out == ""
    lines = result.err.splitlines()
    assert any(line.startswith("embed: iteration 50 of 50") for line in lines), result
    assert lines[-1] == "wrote y.npy"
    assert "\r" not in result.err and "\033" not in result.err


def test_interrupt_ends_with_130(client, tmp_path):
    (tmp_path / "big.tsv").write_text("".join(f"{i}\t{(i * 7 + k) % 5000}\n" for i in range(5000) for k in (1, 2, 3)))
    process = client.start("embed", "big.tsv", "--local", "-o", "y.npy", "--iterations", "1000000")
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130 and "spaceland: interrupted" in err, (process.returncode, err)
    assert not (tmp_path / "y.npy").exists()
