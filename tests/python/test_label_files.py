"""Labels of files and tables that are set later: all columns, each label at its node, and what did not fit is told."""
import re

import numpy as np
import pandas as pd
import pytest

import spaceland

N = 60
KIND = ["cat", "dog", "eel"]
WANT = [KIND[i % 3] for i in range(N)]


@pytest.fixture(scope="module")
def named(client, points):
    return client.upload(pd.DataFrame(points[0][:N], index=[f"cell{i}" for i in range(N)]), neighbours=0)


@pytest.fixture(scope="module")
def plain(client, points):
    return client.upload(points[0][:N] + 1, neighbours=0)


def metadata(order=range(N)):
    order = list(order)
    return pd.DataFrame({"kind": [WANT[i] for i in order], "size": [i / 2 for i in order]}, index=[f"cell{i}" for i in order])


def test_a_file_sets_all_its_columns(named, tmp_path):
    path = tmp_path / "metadata.tsv"
    metadata(reversed(range(N))).to_csv(path, sep="\t", index_label="cell")
    named.set_labels(path)
    assert named.labels("kind").tolist() == WANT and named.labels("size").tolist() == [i / 2 for i in range(N)]


def test_columns_of_a_file(plain, tmp_path):
    path = tmp_path / "two.csv"
    path.write_text("kind,batch\n" + "".join(f"{WANT[i]},b{i % 2}\n" for i in range(N)))
    assert {c["name"] for c in plain.set_labels(path, ["batch"]).label_columns()} == {"batch"}
    plain.set_labels(path, "kind")
    assert plain.labels("kind").tolist() == WANT
    with pytest.raises(spaceland.BadInput, match="kind.*batch"):
        plain.set_labels(path, "type")
    lone = tmp_path / "lone.txt"
    lone.write_text("\n".join(WANT))
    assert plain.set_labels(lone, "animal").labels("animal").tolist() == WANT
    with pytest.raises(spaceland.FileMissing):
        plain.set_labels(tmp_path / "none.csv")


def test_what_a_file_lacks_is_told(named, tmp_path):
    path = tmp_path / "short.csv"
    path.write_text("cell,kind\n" + "".join(f"cell{i},{WANT[i]}\n" for i in range(5, N)) + "stray,owl\n")
    with pytest.warns(spaceland.SpacelandWarning, match='(?s)1 row names no node.*"stray".*5 nodes have no row'):
        named.set_labels(path)
    assert named.labels("kind").tolist() == [None] * 5 + WANT[5:]


def test_a_table_is_joined_by_its_index(named):
    with pytest.warns(spaceland.SpacelandWarning, match="by their index, not by their order"):
        named.set_labels(metadata(reversed(range(N))))
    assert named.labels("kind").tolist() == WANT and named.labels("size")[3] == 1.5
    with pytest.warns(spaceland.SpacelandWarning, match="1 of 51 rows name no node; the first is 'x'; 10 of 60 nodes have no row"):
        named.set_labels(pd.Series(WANT[:50] + ["owl"], index=[f"cell{i}" for i in range(50)] + ["x"]), "some")
    assert named.labels("some").tolist() == WANT[:50] + [None] * 10
    named.set_labels({"a": WANT, "b": np.arange(N) / 4})
    assert named.labels("a").tolist() == WANT and named.labels("b")[1] == 0.25


def test_ids(named, plain):
    order = np.random.default_rng(1).permutation(N)
    shuffled = metadata(order)
    assert named.set_labels(shuffled.kind.to_numpy(), "k", ids=shuffled.index).labels("k").tolist() == WANT
    frame = shuffled.rename_axis("cell").reset_index()
    named.set_labels(frame.rename(columns={"kind": "species"}), ids="cell")
    assert named.labels("species").tolist() == WANT
    assert plain.set_labels(shuffled.kind.tolist(), "k", ids=order.astype(float)).labels("k").tolist() == WANT
    with pytest.raises(spaceland.BadValue, match="none of the ids is the name of a node: the first id is 'q', the first node is 'cell0'"):
        named.set_labels(["a"], ids=["q"])
    with pytest.raises(spaceland.BadValue, match="two rows of labels have the id 'cell0'"):
        named.set_labels(["a", "b", "c"], ids=["cell0", "cell0", "cell1"])
    with pytest.raises(spaceland.BadValue, match="60 ids for labels of the shape"):
        named.set_labels(["a", "b", "c"], ids=[f"cell{i}" for i in range(N)])


def test_an_index_that_could_be_numbers_is_asked_about(plain):
    shuffled = pd.Series(WANT).sample(frac=1, random_state=1)
    with pytest.raises(spaceland.BadValue, match=re.escape("labels.reindex(range(60)) takes them by number, labels.to_numpy() by row")):
        plain.set_labels(shuffled, "s")
    assert plain.set_labels(shuffled.reindex(range(N)), "s").labels("s").tolist() == WANT
    later = pd.Series(WANT, index=range(1000, 1000 + N))   # of another table: by row
    assert plain.set_labels(later, "s").labels("s").tolist() == WANT


def test_labels_of_an_upload(client, points, tmp_path):
    x = pd.DataFrame(points[0][:N] * 2, index=[f"cell{i}" for i in range(N)])
    with pytest.warns(spaceland.SpacelandWarning, match="by their index"):
        graph = client.upload(x, labels=metadata(reversed(range(N))), neighbours=0)
    assert graph.labels("kind").tolist() == WANT and graph.labels("size")[2] == 1
    with pytest.raises(spaceland.BadValue, match="reindex"):
        client.upload(x.reset_index(drop=True), labels=pd.Series(WANT).sample(frac=1, random_state=1), neighbours=0)
    # the rows of an array have no names: as scikit-learn does, by row
    graph = client.upload(x.to_numpy() + 3, labels=pd.Series(WANT, index=np.random.default_rng(0).permutation(N)), neighbours=0)
    assert graph.labels().tolist() == WANT
    path = tmp_path / "labels.tsv"
    metadata(reversed(range(1, N))).to_csv(path, sep="\t", index_label="cell")
    with pytest.warns(spaceland.SpacelandWarning, match="1 node has no row and no label"):
        graph = client.upload(x * 3, labels=path, neighbours=0)
    assert graph.labels("kind").tolist() == [None] + WANT[1:]
    assert 'labels: 59 rows of 3 columns: 1 name ("cell"), 2 labels ("kind", "size"); labels joined by the nodes\' names' in repr(graph)


def test_labels_of_a_file(client, points, tmp_path):
    table = tmp_path / "table.csv"
    pd.DataFrame(points[0][:N, :4]).add_prefix("v").assign(kind=WANT, batch="one").to_csv(table, index=False)
    graph = client.upload(table, labels="kind", neighbours=0)
    assert graph.labels("kind").tolist() == WANT
    beside = tmp_path / "labels.txt"
    beside.write_text("\n".join(reversed(WANT)))
    graph = client.upload(str(table), labels=str(beside), ignore_columns="kind,batch", neighbours=0)
    assert graph.labels().tolist() == WANT[::-1]
