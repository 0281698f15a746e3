"""New points are read by the columns of the first table: one row as well as a thousand."""
import numpy
import pytest

rng = numpy.random.default_rng(3)
X = rng.normal(size=(60, 3)).round(4)


def write(path, rows, columns, header=True, **words):
    """columns: of n (a number of the row, from `start`), id (a word), x, y, z, class."""
    values = {"n": lambda k: str(k + words.get("start", 1)), "id": lambda k: f"cell{k}", "class": lambda k: "ab"[k % 2],
              "x": lambda k: str(X[k, 0]), "y": lambda k: str(X[k, 1]), "z": lambda k: str(X[k, 2])}
    lines = [",".join(words.get("titles", {}).get(c, c) for c in columns)] * header
    path.write_text("\n".join(lines + [",".join(values[c](k) for c in columns) for k in rows]) + "\n")


@pytest.fixture
def place(client, tmp_path):
    """Places new points of files; they must land where the same rows of an array do."""
    numpy.save(tmp_path / "layout.npy", rng.random((50, 2)).astype("f4"))
    numpy.save(tmp_path / "bare.npy", X[:50])

    def place_them(rows, *options):
        result = client("transform", "layout.npy", "new.csv", "--points", "old.csv", "-o", "at.npy", *options)
        if result.status:
            return result
        numpy.save(tmp_path / "rows.npy", X[list(rows)])
        assert client("transform", "layout.npy", "rows.npy", "--points", "bare.npy", "-o", "right.npy", "-q").status == 0
        assert numpy.allclose(numpy.load(tmp_path / "at.npy"), numpy.load(tmp_path / "right.npy"), atol=1e-3), result
        return result
    return place_them


OLD, ROWS = range(50), (55,)


@pytest.mark.parametrize("header", [True, False], ids=["titles", "bare"])
@pytest.mark.parametrize("old, new", [
    ("nxyz", "nxyz"), ("xyz", "xyz"), ("nxyz", "xyz"), (["id", *"xyz"], ["id", *"xyz"]), (["id", *"xyz"], "xyz"),
    (["n", *"xyz", "class"], ["n", *"xyz", "class"]), (["n", *"xyz", "class"], ["n", *"xyz"]),
    (["id", *"xyz", "class"], ["id", *"xyz"]), (["id", *"xyz", "class"], "xyz"), ("xnyz", "xnyz")])
@pytest.mark.parametrize("rows", [(55,), (50, 51), range(50, 60)], ids=["one", "two", "ten"])
def test_roles_are_those_of_the_first_table(place, tmp_path, header, old, new, rows):
    write(tmp_path / "old.csv", OLD, old, header)
    write(tmp_path / "new.csv", rows, new, header, start=600)
    result = place(rows)
    assert result.status == 0, result


def test_titles_find_columns_in_another_place(place, tmp_path):
    write(tmp_path / "old.csv", OLD, ["n", *"xyz", "class"])
    write(tmp_path / "new.csv", ROWS, [*"xyz", "class", "n"])
    assert place(ROWS).status == 0


def test_coordinates_in_another_order_are_refused(place, tmp_path):
    write(tmp_path / "old.csv", OLD, "nxyz")
    write(tmp_path / "new.csv", ROWS, "nzxy")
    result = place(ROWS)
    assert result.status == 5 and "in another order" in result.err, result
    write(tmp_path / "new.csv", ROWS, "nxyz", titles={"x": "length"})
    result = place(ROWS)
    assert result.status == 0 and "titles of the coordinates are not those of the first table" in result.err, result


def test_nothing_is_guessed(place, tmp_path):
    """Three numbers without titles: without the numbering, or without a class that is a number?"""
    (tmp_path / "old.csv").write_text("n,x,y,z,class\n" + "".join(f"{k},{X[k, 0]},{X[k, 1]},{X[k, 2]},{k % 2}\n" for k in OLD))
    (tmp_path / "new.csv").write_text("0.25,1.5,2.5,1\n")
    result = place(ROWS)
    assert result.status == 5 and "--ignore-columns" in result.err, result


def test_an_index_without_a_counterpart(place, tmp_path):
    """A single row does not show that its first number is an index: it is refused, and an option says it."""
    numpy.save(tmp_path / "old.npy", X[:50])
    (tmp_path / "old.csv").write_bytes((tmp_path / "old.npy").read_bytes())
    write(tmp_path / "new.csv", ROWS, "nxyz", header=False)
    result = place(ROWS)
    assert result.status == 5 and "4 coordinates, the first table has 3" in result.err, result
    assert place(ROWS, "--ignore-columns", "1").status == 0


def test_by_the_server(online, tmp_path):
    write(tmp_path / "old.csv", OLD, ["n", *"xyz", "class"])
    write(tmp_path / "new.csv", ROWS, "nxyz", start=600)
    numpy.save(tmp_path / "rows.npy", X[list(ROWS)])
    assert online("embed", "old.csv", "-q", "-o", "y.npy", "--iterations", "20", "--perplexity", "5").status == 0
    job = online("job", "list", "--json").json[0]["id"]
    for new, at in ("new.csv", "at.npy"), ("rows.npy", "right.npy"):
        result = online("transform", job, new, "-o", at)
        assert result.status == 0, result
    assert numpy.array_equal(numpy.load(tmp_path / "at.npy"), numpy.load(tmp_path / "right.npy"))
    write(tmp_path / "renamed.csv", ROWS, "nxyz", titles={"x": "größe"})
    result = online("transform", job, "renamed.csv", "-o", "at.npy")
    assert result.status == 0 and "renamed.csv: The titles of the coordinates are not those of the first table" in result.err, result
    (tmp_path / "odd.csv").write_text("".join(f"{v};" for v in X[55]).replace(".", ",") + "7\n")
    result = online("transform", job, "odd.csv", "-o", "odd.npy", "--ignore-columns", "4", "--decimal", "comma")
    assert result.status == 0 and numpy.array_equal(numpy.load(tmp_path / "odd.npy"), numpy.load(tmp_path / "right.npy"))
