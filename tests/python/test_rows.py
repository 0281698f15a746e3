"""Columns of any kind from Python: what is sent is what comes back, by id, and an export is whole."""
import datetime

import numpy as np
import pandas as pd
import pytest

import spaceland

N = 60


@pytest.fixture(scope="module")
def named(client, points):
    return client.upload(pd.DataFrame(points[0][:N] + 3, index=[f"cell{i}" for i in range(N)]), neighbours=9)


def table(order=range(N)):
    order = list(order)
    return pd.DataFrame({
        "size": [i / 3 for i in order], "rank": order, "type": pd.Categorical(["cat" if i % 3 else "dog" for i in order]),
        "day": pd.to_datetime([None if i == 7 else f"2024-01-{i % 28 + 1:02d}T10:00:00" for i in order]),
        "note": [None if i == 7 else f'no. {i}, "quoted"\nNA' for i in order], "home": [f"https://example.org/{i}" for i in order],
        "flag": [i % 2 == 0 for i in order]}, index=[f"cell{i}" for i in order])


def test_a_table_comes_back(named):
    with pytest.warns(spaceland.SpacelandWarning, match="joined with the nodes by their index"):
        told = {column["name"]: column for column in named.set_columns(table(reversed(range(N))))}
    assert {name: column["kind"] for name, column in told.items()} == {
        "size": "number", "rank": "number", "type": "category", "day": "date", "note": "text", "home": "link", "flag": "category"}
    assert told["day"]["missing"] == 1 and told["note"]["read"] == N - 1
    rows, want = named.rows(), table()
    assert rows["name"].tolist() == want.index.tolist()
    assert rows["size"].tolist() == want["size"].tolist() and rows["rank"].tolist() == list(range(N))
    assert rows["type"].tolist() == want["type"].tolist() and rows["home"].tolist() == want["home"].tolist()
    assert rows["day"].isna().tolist() == want["day"].isna().tolist() and (rows["day"].dropna() == want["day"].dropna().values).all()
    assert rows["note"][3] == 'no. 3, "quoted" NA' and rows["note"][7] is None
    assert named.column("size").tolist() == want["size"].tolist() and named.column("day")[0] == np.datetime64("2024-01-01T10:00")


def test_rows_and_selections(named):
    named.set_columns(table())
    assert named.rows(ranges={"size": (1, 2)}, sort="-size").index.tolist() == [6, 5, 4, 3]
    assert named.select(search="quoted", categories={"type": "dog"}, ranges={"rank": (None, 10)}).tolist() == [0, 3, 6, 9]
    assert len(named.select(ranges={"day": (datetime.date(2024, 1, 3), np.datetime64("2024-01-04"))})) == 3
    assert named.rows(nodes=[9, 2], columns=["rank"]).index.tolist() == [9, 2]
    assert len(named.rows(limit=7)) == 7


def test_ids_and_mistakes(named):
    with pytest.warns(spaceland.SpacelandWarning, match="1 of 2 rows name no node.*59 of 60 nodes have no row"):
        named.set_columns({"who": ["cell5", "stray"], "speed": [2.5, 1.0]}, ids="who")
    assert named.column("speed")[5] == 2.5 and np.isnan(named.column("speed")).sum() == N - 1
    for values, options, message in (({"a": [1, 2]}, {}, "2 values"), ({"a": list(range(N))}, {"kinds": {"b": "text"}}, "'b'"),
                                     ({"a": np.arange(N) + (1 << 60)}, {}, "2\\^53"), (3, {}, "DataFrame")):
        with pytest.raises(spaceland.BadValue, match=message):
            named.set_columns(values, **options)
    with pytest.warns(spaceland.SpacelandWarning, match='not "oops"'):
        named.set_columns({"mostly": [str(i) for i in range(N - 1)] + ["oops"]})
    with pytest.raises(spaceland.BadInput, match="oops"):
        named.set_columns({"mostly": [str(i) for i in range(N - 1)] + ["oops"]}, kinds="number")
    assert "mostly" not in {column["name"] for column in named.delete_column("mostly").columns()}


def test_images(named, tmp_path):
    x = np.random.default_rng(0).integers(0, 255, (N, 4, 4), dtype="uint8")
    assert named.set_images(x)["images"]["width"] == 4
    one = named.image(5)
    assert one.startswith(b"\x89PNG")
    (tmp_path / "pngs").mkdir()
    (tmp_path / "pngs" / "cell5.png").write_bytes(one)
    with pytest.warns(spaceland.SpacelandWarning, match="59 nodes have no image"):
        assert named.set_images(tmp_path / "pngs", "face")["read"] == 1 and named.image(5, "face") == one
    with pytest.warns(spaceland.SpacelandWarning, match="59 nodes"):
        assert named.set_images({"cell3": one}, "face")["missing"] == N - 1
    with pytest.raises(spaceland.BadValue, match="uint8"):
        named.set_images(x / 255)
    for column in ("face", "image"):
        named.delete_column(column)


def test_an_export_is_whole(named, tmp_path):
    named.set_columns(table())
    job = named.submit(iterations=20, perplexity=3).wait()
    y = job.layout()
    assert named.export(tmp_path / "all.csv", job, columns=["size", "note"]) == N
    back = pd.read_csv(tmp_path / "all.csv", keep_default_na=False, na_values=[""], float_precision="round_trip")
    assert back["size"].tolist() == table()["size"].tolist() and np.allclose(back[["x", "y"]], y)
    assert back["note"][3] == 'no. 3, "quoted" NA'
    assert named.export(tmp_path / "some.npy", job, nodes=[5, 2], columns=["size", "day", "home"]) == 2
    some = np.load(tmp_path / "some.npy")
    assert some["node"].tolist() == [5, 2] and some["day"].dtype == "M8[ms]" and np.allclose(some["x"], y[[5, 2], 0])
    assert named.export(tmp_path / "dogs.npz", categories={"type": ["dog"]}) == 20
    with pytest.raises(spaceland.BadValue, match="parquet"):
        named.export(tmp_path / "x.txt")
