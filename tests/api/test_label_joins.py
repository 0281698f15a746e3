"""Random files of labels, written by csv and pandas: the labels are those of pandas' join, or the file is refused."""
import csv
import io
import random

import pandas as pd
import pytest

N = 23
FILES = 400
WORDS = ["T cell", "größer", "a,b", 'say "no"', "x;y", "B", "17", "3.5", "None", "#tag", "", "1e5", "two  words", "z|t"]


def nodes(r, named):
    if not named:
        return [str(i) for i in range(N)]
    kind = r.choice(["n{}", "cell {}", "{}-ACGT", "10{:02}"])
    return [kind.format(i) for i in range(N)]


def table(r, ids):
    """The labels, by id: a data frame, with perhaps a row too many or too few."""
    columns = {}
    for name in r.sample(["label", "kind", "größe", "a b", "count"], r.choice([1, 1, 2, 3])):
        pool = [str(k) for k in range(3)] if name == "count" else r.sample(WORDS, 5)
        columns[name] = [r.choice(pool) for _ in ids]
    return pd.DataFrame(columns, index=ids)


def write(r, frame, keyed):
    """Returns the file. A text without a key has rows in the order of the nodes."""
    separator, end = r.choice(",;\t"), r.choice(["\n", "\r\n"])
    header = r.random() < 0.7 or len(frame) != N
    if r.random() < 0.5:
        quoting = r.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
        text = frame.to_csv(sep=separator, index=keyed, header=header, quoting=quoting, index_label=r.choice(["id", ""]),
                            line_terminator=end)
    else:
        out = io.StringIO()
        w = csv.writer(out, delimiter=separator, quoting=r.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]), lineterminator=end)
        if header:
            w.writerow((["id"] if keyed else []) + list(frame.columns))
        for key, row in zip(frame.index, frame.values):
            w.writerow(([key] if keyed else []) + list(row))
        text = out.getvalue()
    return (b"\xef\xbb\xbf" if r.random() < 0.2 else b"") + text.encode(), header


def stored(api, g, name):
    got = api.get(f"/v1/graphs/{g}/labels/{name}").json()
    if got["kind"] == "number":
        return got["values"]
    return [None if c is None else got["categories"][c] for c in got["codes"]]


def same(ours, theirs):
    if isinstance(ours, float) or isinstance(ours, int):
        return theirs not in (None, "") and float(theirs) == ours
    return ours == (theirs or None)


@pytest.mark.parametrize("named", [False, True])
def test_as_pandas_joins(api, named):
    r = random.Random(5 + named)
    refused = 0
    for k in range(FILES):
        if k % 40 == 0:
            ids = nodes(r, named)
            edges = "".join(f"{ids[i]}\t{ids[(i + 1) % N]}\n" for i in range(N))
            g = api.post("/v1/graphs", None, data=edges.encode()).json()["id"]
            order = api.get(f"/v1/graphs/{g}/names").json()["names"]
        keyed = r.random() < 0.7
        rows = list(order)
        if keyed:
            r.shuffle(rows)
            if r.random() < 0.3:
                rows = rows[:-3] if r.random() < 0.5 or not named else rows + ["zz1", "zz2"]
        frame = table(r, rows)
        body, header = write(r, frame, keyed)
        # without a header nobody but the order tells the columns
        reply = api.request("PUT", f"/v1/graphs/{g}/labels", None, data=body)
        if reply.status_code != 200:
            assert reply.status_code == 400 and reply.json()["detail"]
            refused += 1
            continue
        taken = reply.json()["taken"]
        joined = frame.reindex(order)   # the left join
        labels = [c for c in taken["listed"] if c["role"] == "label"]
        for place, column in enumerate(reply.json()["columns"]):
            number = labels[place]["first"] - 1 - keyed
            want = joined.iloc[:, number]
            if header and column["name"] != "label":
                assert column["name"] == frame.columns[number]
            ours = stored(api, g, column["name"])
            assert all(same(a, None if pd.isna(b) else b) for a, b in zip(ours, want)), (body, column, ours, list(want), taken)
        assert len(labels) + sum(c["role"] in ("name", "left out", "numbering") for c in taken["listed"]) == \
            frame.shape[1] + keyed
        rows, lines = taken["rows"], taken["lines"]
        assert rows["used"] + rows["left_out"] == rows["all"] == len(frame)
        assert lines["all"] == lines["header"] + lines["blank"] + lines["comments"] + rows["all"]
        assert sum(taken["roles"].values()) == taken["columns"]
    assert refused < FILES // 4, "what is refused must stay the exception"
