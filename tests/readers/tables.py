"""Random tables as Python's csv, pandas, numpy and R write them: what spaceland reads equals what was written, or spaceland
refuses the file, or it tells what it did instead.

    ./dev fuzz tables [FILES [SEED]]     100,000 files by default; build/tests/readers/read_batch reads them

A table is made column by column, so that the values are known without reading the file; csv.reader and pandas.read_csv
read it, too, to show that the file holds what it should. A difference is printed with the seed that makes the file again."""
import csv
import io
import random
import sys
import warnings

import numpy as np

try:
    import pandas as pd
except ImportError:
    pd = None

import batch

WORDS = ["red", "green", "blue", "T cell", "B-cell", "größe", "naïve", "it's", 'say "hi"', "a,b", "x;y", "12 kg", "3rd", "site 2",
         "#art", "%share", "2024-01-05", "1.2.3", "-", "NA", "", "O'Neill", "日本", "C:\\dir", "end\\", "true", "v1"]
TITLES = ["x", "y", "height", "weight", "age", "größe", "a b", "Unnamed: 0", "cell_id", "id", "name", "label", "class", "2019", "x.1",
          'q"t', "c,d", "e;f", "value (%)", "日本", "#n", "PC1", "", "target", "index", "mean[1]", "long title " * 8]
MISSING = ["", "NA", "NaN", "nan", "NULL", "null", "#N/A", "None", "n/a", "."]


# ---- tables -----------------------------------------------------------------------------------------------------------


class Column:
    """texts: as a program would print them; numbers: their values, or None for words; NaN: missing."""

    def __init__(self, title, texts, numbers, form=None):
        self.title, self.texts, self.numbers, self.form = title, texts, numbers, form


def plain(rng, value):
    return rng.choice([repr, lambda v: f"{v:.3f}", lambda v: f"{v:.6e}", lambda v: f"{v:g}"])(value)


def grouped(value, group, decimal, places):
    whole, _, rest = f"{abs(value):,.{places}f}".partition(".")
    return ("-" if value < 0 else "") + whole.replace(",", group) + (decimal + rest if places else "")


def numbers_of(rng, n, form):
    """Values and texts of a column of numbers in a form."""
    scale = 10 ** rng.uniform(-2, 5)
    offset = rng.choice([0, scale]) if form != "plain" or rng.random() < 0.8 else 10 ** rng.uniform(0, 15)
    values = [rng.gauss(offset, scale) for _ in range(n)]
    if form == "plain":
        kind = rng.randrange(4)
        texts = [[repr(v), f"{v:.3f}", f"{v:.6e}", f"{v:.8g}"][kind] for v in values]
    elif form == "whole":
        texts = [str(int(v)) for v in values]
    elif form == "index":
        first = rng.randrange(2)
        texts = [str(first + i) if rng.random() < 1 else "" for i in range(n)]
    elif form == "comma":
        texts = [f"{v:.4f}".replace(".", ",") for v in values]
    elif form == "percent":
        texts = [f"{v:.1f}%" for v in values]
    elif form == "dollar":
        texts = [("-" if v < 0 else "") + "$" + grouped(abs(v), ",", ".", 2) for v in values]
    elif form == "euro":
        texts = [grouped(v, ".", ",", 2) + " €" for v in values]
    elif form == "thousands":
        texts = [grouped(v, ",", ".", 2) for v in values]
    elif form == "swiss":
        texts = [grouped(v, "'", ".", 2) for v in values]
    elif form == "narrow":
        texts = [grouped(v, "\u202f", ",", 3 if v > 0 else 2) for v in values]
    elif form == "minus":
        texts = [f"{v:.2f}".replace("-", "\u2212") for v in values]
    return texts, [value_of(text, form) for text in texts]


def value_of(text, form):
    """The number that a person sees."""
    for mark in ("%", "$", " €", "'", "\u202f"):
        text = text.replace(mark, "")
    text = text.replace("\u2212", "-")
    if form in ("comma", "euro", "narrow"):
        text = text.replace(".", "").replace(",", ".")
    elif form != "plain":
        text = text.replace(",", "")
    return float(text)


def make_column(rng, n, forms, words=True):
    title = rng.choice(TITLES)
    if rng.random() < 0.25 and words:
        words = rng.sample(WORDS, rng.randint(1, 6))
        texts = [f"{rng.choice(words)}{i}" if rng.random() < 0.5 and len(words) == 3 else rng.choice(words) for i in range(n)]
        if rng.random() < 0.05:  # numbers between words
            texts = [text if rng.random() < 0.5 else str(rng.randrange(100)) for text in texts]
        return Column(title, texts, None)
    form = rng.choice(forms)
    texts, numbers = numbers_of(rng, n, form)
    if rng.random() < 0.1 and form != "index":
        word = rng.choice(MISSING)
        for i in range(n):
            if rng.random() < 0.15:
                texts[i], numbers[i] = word, float("nan")
    return Column(title, texts, numbers, form)


def make_columns(rng, n, forms):
    d = rng.randint(1, 7)
    columns = [make_column(rng, n, forms, words=d > 1) for _ in range(d)]
    if d == 1:
        columns[0].title = columns[0].title or "t"
    return columns


class Table:
    def __init__(self, columns, rows, header, text, comments=0, kind="points", encoding="utf-8", reader=None):
        self.columns, self.rows, self.header, self.comments, self.kind = columns, rows, header, comments, kind
        self.data = text.encode(encoding)
        self.reader = reader  # options of csv.reader and pandas.read_csv that read the file


def with_comments(rng, text, end):
    """Comment lines above the table, blank lines at the end."""
    lines = [rng.choice(["# made by hand", "#", "% 3 4", "# a,b,c", "## note"]) for _ in range(rng.choice([0, 0, 0, 1, 3]))]
    return "".join(line + end for line in lines) + text + rng.choice(["", "", "", end]), len(lines)


def by_csv(rng):
    """Python's csv module."""
    n, separator, end = rng.randint(3, 30), rng.choice(",;\t "), rng.choice(["\n", "\r\n", "\r"])
    forms = ["plain", "whole", "index", "plain", "percent", "dollar", "thousands", "swiss", "minus"]
    if separator != "," and rng.random() < 0.4:
        forms = ["comma", "whole", "comma", "euro", "narrow"]
    columns = make_columns(rng, n, forms)
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
    if separator == " ":  # blanks separate as many blanks
        for c in columns:
            c.title, c.texts = c.title or "t", [text or "none" for text in c.texts]
    if len(columns) == 1 and separator != ",":  # else one column may as well be two
        columns[0].title = columns[0].title.strip("#").replace(",", "").replace(";", "")
    out, header = io.StringIO(), rng.random() < 0.7 or len(columns) == 1
    writer = csv.writer(out, delimiter=separator, quoting=quoting, lineterminator=end)
    if header:
        writer.writerow([c.title for c in columns])
    writer.writerows(zip(*[c.texts for c in columns]))
    text, comments = with_comments(rng, out.getvalue(), end)
    return Table(columns, n, header, text, comments, rng.choice(["points", "points", "auto"]), rng.choice(["utf-8", "utf-8-sig"]),
                 {"delimiter": separator})


def by_pandas(rng):
    n, separator = rng.randint(3, 30), rng.choice(",;\t ")
    columns = make_columns(rng, n, ["plain", "whole", "index"])
    frame, seen = {}, []
    for c in columns:
        while c.title in frame:
            c.title += "'"
        frame[c.title] = c.numbers if c.numbers is not None else c.texts
        seen.append(c)
    form = rng.choice([None, None, "%.4f"])
    for c in columns:
        if c.numbers is not None:
            c.numbers, c.texts = [float(form % v) if form else v for v in c.numbers], None
    if separator == " ":
        frame = {c or "t": v for c, v in frame.items()}
        for c in columns:
            c.title = c.title or "t"
            c.texts = c.texts and [text or "none" for text in c.texts]
            if c.texts:
                frame[c.title] = c.texts
    if len(columns) == 1 and separator != ",":
        frame = {"".join(ch for ch in t if ch not in ",;#"): v for t, v in frame.items()}
        columns[0].title = list(frame)[0]
    decimal = "," if separator != "," and rng.random() < 0.3 else "."
    index, header = rng.random() < 0.5, rng.random() < 0.8 or len(columns) == 1
    frame = pd.DataFrame(frame)
    if index and rng.random() < 0.3:
        frame.index = [f"row {i}" for i in range(n)]
        seen.insert(0, Column("", list(frame.index), None))
    elif index:
        seen.insert(0, Column("", None, [float(i) for i in range(n)], "index"))
    text = frame.to_csv(sep=separator, index=index, header=header, decimal=decimal, na_rep=rng.choice(["NA" if separator == " " else "", "NA", "NaN"]),
                        quoting=rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
                        float_format=form, lineterminator=rng.choice(["\n", "\r\n"]))
    return Table(seen, n, header, text, kind=rng.choice(["points", "auto"]))


def by_numpy(rng):
    n, d = rng.randint(3, 30), rng.randint(1, 7)
    x = np.random.default_rng(rng.randrange(2 ** 32)).normal(size=(n, d)) * 10 ** rng.uniform(-2, 5)
    if rng.random() < 0.3:
        x[:, rng.randrange(d)] = np.arange(n) + rng.randrange(2)
    form = rng.choice(["%.18e", "%g", "%.5f", "%d"])
    separator = rng.choice([" ", ",", "\t", ";"])
    out, header = io.StringIO(), rng.choice(["", "", "x y z", "made by numpy\nin two lines"])
    np.savetxt(out, x, fmt=form, delimiter=separator, header=header, footer=rng.choice(["", "", "the end of it"]))
    columns = [Column("", [form % v for v in x[:, k]], [float(form % v) for v in x[:, k]], "plain") for k in range(d)]
    text = out.getvalue()
    lines = text.split("\n")
    comments = sum(line.startswith("#") for line in lines)
    return Table(columns, n, False, text, comments, "points" if form == "%d" else rng.choice(["points", "auto"]))


def by_r(rng):
    """R's write.table() and its kin: words and names of rows are quoted, numbers are not."""
    n, separator = rng.randint(3, 30), rng.choice([" ", " ", "\t", ",", ";"])
    comma = separator != "," and rng.random() < 0.3
    columns = make_columns(rng, n, ["comma", "whole"] if comma else ["plain", "whole"])
    doubled, end = rng.random() < 0.5, rng.choice(["\n", "\r\n", "\r"])

    def quoted(text):
        return '"' + text.replace('"', '""' if doubled else '\\"') + '"'

    if len(columns) == 1 and separator != ",":
        columns[0].title = columns[0].title.strip("#").replace(",", "").replace(";", "")
    header, names = rng.random() < 0.8 or len(columns) == 1, rng.choice(["numbers", "words", "none"])
    seen = list(columns)
    if names != "none":
        texts = [str(i + 1) if names == "numbers" else rng.choice(["cell ", "c"]) + str(i) for i in range(n)]
        seen.insert(0, Column("", texts, [float(i + 1) for i in range(n)] if names == "numbers" else None, "index"))
    for c in columns:
        if c.numbers is not None:
            c.texts = ["NA" if v != v else t for t, v in zip(c.texts, c.numbers)]
    rows = [[c.texts[i] if c.numbers is not None and (c is not seen[0] or names == "none") else quoted(c.texts[i]) for c in seen]
            for i in range(n)]
    if header:
        titles = [quoted(c.title) for c in columns]
        if names != "none" and rng.random() < 0.3:
            titles.insert(0, '""')  # col.names = NA, and write.csv()
        rows.insert(0, titles)
    text, comments = with_comments(rng, "".join(separator.join(row) + end for row in rows), end)
    return Table(seen, n, header, text, comments)


def vectors(rng, n, d):
    """Rows of numbers as texts and as columns of values."""
    form = rng.choice(["{:.6g}", "{:.4f}", "{!r}"])
    texts = [[form.format(rng.gauss(0, 3)) for _ in range(d)] for _ in range(n)]
    return texts, [[float(row[k]) for row in texts] for k in range(d)]


def by_words(rng):
    """word2vec's and fastText's text form: the numbers of rows and columns above, or without them, as GloVe's."""
    n, d = rng.randint(3, 30), rng.randint(2, 7)
    words = rng.sample(["the", ",", "of", "größe", "日本", "'s", "1990", "nan", "a-b", "co.", ")", "x"], min(n, 12))
    words += [f"word{k}" for k in range(n - len(words))]
    rng.shuffle(words)
    texts, values = vectors(rng, n, d)
    sized = rng.random() < 0.7
    if not sized:
        words = [f"{w}w" for w in words]  # a number or a mark alone would be one of many things
    head = f"{n} {d}\n" if sized else ""
    end = rng.choice(["\n", " \n"]) if sized else "\n"
    text = head + "".join(f"{w} {' '.join(row)}{end}" for w, row in zip(words, texts))
    columns = [Column("", words, None)] + [Column("", None, column, "plain") for column in values]
    return Table(columns, n, False, text, kind=rng.choice(["points", "auto"]))


def by_genes(rng):
    """GenePattern's GCT, and GEO's series matrices."""
    n, d, gct = rng.randint(3, 30), rng.randint(2, 7), rng.random() < 0.5
    texts, values = vectors(rng, n, d)
    names, samples = [f"g{k}_at" for k in range(n)], [f"s{k}" for k in range(d)]
    about = [rng.choice(["na", "a gene", "kinase"]) for _ in names]
    if gct:
        lines = ["#1.2", f"{n}\t{d}", "\t".join(["NAME", "Description", *samples])]
        lines += ["\t".join([name, what, *row]) for name, what, row in zip(names, about, texts)]
        columns = [Column("NAME", names, None), Column("Description", about, None)]
    else:
        lines = ['!Series_title\t"A study, with words"', '!Sample_characteristics\t"a"\t"b"', "!series_matrix_table_begin"][rng.randrange(3):]
        lines += ["\t".join(f'"{t}"' for t in ["ID_REF", *samples])]
        lines += ["\t".join([f'"{name}"', *row]) for name, row in zip(names, texts)] + ["!series_matrix_table_end"]
        columns = [Column("ID_REF", names, None)]
    columns += [Column(title, None, column, "plain") for title, column in zip(samples, values)]
    table = Table(columns, n, True, "\n".join(lines) + "\n", comments=0, kind=rng.choice(["points", "auto"]))
    table.comments = 1 if gct else sum(line.startswith("!") for line in lines)
    return table


def by_bars(rng):
    """Fields between bars, and remarks over several lines, by Python's csv."""
    n, d, bars = rng.randint(3, 30), rng.randint(2, 6), rng.random() < 0.5
    texts, values = vectors(rng, n, d)
    notes = [rng.choice(["see below", "a|b", "x, y", "", "größe"]) + (rng.choice(["", "\nnext", "\n\nlast, line"]) if not bars else "") for _ in range(n)]
    out = io.StringIO()
    writer = csv.writer(out, delimiter="|" if bars else rng.choice(",;\t"), lineterminator=rng.choice(["\n", "\r\n"]))
    writer.writerow(["name", *[f"v{k}" for k in range(d)], "note"])
    writer.writerows([f"p{k}", *row, note] for k, (row, note) in enumerate(zip(texts, notes)))
    columns = [Column("name", [f"p{k}" for k in range(n)], None), *[Column(f"v{k}", None, column, "plain") for k, column in enumerate(values)]]
    columns.append(Column("note", [note.replace("\n", " ") for note in notes], None))
    return Table(columns, n, True, out.getvalue(), kind=rng.choice(["points", "auto"]))


OTHERS = [by_words, by_genes, by_bars]
WRITERS = [by_csv, by_pandas, by_numpy, by_r] if pd else [by_csv, by_numpy, by_r]


# ---- comparison -------------------------------------------------------------------------------------------------------


def fields_of(text):
    """Words that both programs may take for nothing."""
    return None if text is None or text.strip().lower() in {w.lower() for w in MISSING} | {"-", "?", ""} else text.strip()


def roles_of(reply):
    roles = {}
    for first, last, role, title, why in reply["taken"]["listed"]:
        for column in range(first, last + 1):
            roles[column - 1] = (role, title if column == first else "", why)
    return roles


def near(ours, theirs, center):
    """The same number, in single precision behind its center."""
    return abs(ours - theirs) <= 1.2e-7 * abs(theirs - center) + 3e-16 * abs(theirs) + 1e-37


def check_csv(table):
    """csv.reader finds the fields that were written."""
    if not table.reader or table.columns[0].texts is None:
        return
    text = table.data.decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=table.reader["delimiter"]))
    rows = rows[table.comments + table.header:]
    wanted = [list(row) for row in zip(*[c.texts for c in table.columns])]
    assert rows[:len(wanted)] == wanted, "csv.reader reads something else"


def compare(table, reply):
    """None: equal. A text: how the file was refused. Raises AssertionError for a difference that is not told."""
    if "error" in reply:
        return reply["error"]
    taken = reply["taken"]
    assert taken["adds_up"], "taken does not add up"
    told = " | ".join(text for _, text in taken["notes"])
    if reply["kind"] == "graph":
        assert taken["sign"], "an untold graph"
        return "a graph: " + taken["sign"]
    roles = roles_of(reply)
    coordinates = [k for k in range(len(table.columns)) if roles.get(k, ("",))[0] == "coordinate"]
    rows = reply["user"]
    if "taken for titles" in told and rows == table.rows - 1:
        return "first line: titles"
    if "taken for a row" in told and rows == table.rows + 1:
        return "first line: row"
    if "below the header or the first row" in told and rows < table.rows:
        return "comments below"
    assert rows == table.rows, f"{rows} rows instead of {table.rows}"
    assert len(roles) == taken["columns"] and taken["columns"] in (len(table.columns), len(table.columns) + 1), "columns"
    assert reply["d"] == len(coordinates), f"{reply['d']} coordinates, {len(coordinates)} told"
    assert taken["comments"] == table.comments or "titles are from the comment" in told or "below" in told or \
        (table.header and next((c.title for c in table.columns if c.title), "").startswith("#") and taken["comments"] == table.comments + 1), f"{taken['comments']} comments"
    kept = reply["kept"] or range(table.rows)
    for place, k in enumerate(coordinates):
        column = table.columns[k]
        if column.numbers is None:  # words that are numbers
            assert all(t.lstrip("-").isdigit() or fields_of(t) is None for t in column.texts), f"column {k + 1} of words is a coordinate"
            continue
        for row, i in enumerate(kept):
            ours, theirs = reply["values"][row, place], column.numbers[i]
            assert near(ours, theirs, (reply["center"] or [0] * reply["d"])[place]), f"column {k + 1}, row {i}: {ours} instead of {theirs}"
    if reply["n"] < table.rows and all(table.columns[k].numbers for k in coordinates):
        left = [i for i in range(table.rows) if all(table.columns[k].numbers[i] == table.columns[k].numbers[i] for k in coordinates if table.columns[k].numbers)]
        assert list(kept) == left, "other rows are left out"
    check_words(table, reply, roles, told)
    return None


def field_title(text):
    """As sl__field_title() keeps it: 63 bytes of UTF-8, cut between characters, without control characters."""
    kept = text.encode()[:63].decode(errors="ignore")
    return "".join(" " if c < " " or c == "\x7f" else c for c in kept)


def check_words(table, reply, roles, told):
    for k, column in enumerate(table.columns):
        role, title, why = roles[k]
        if table.header and title:
            assert title in (field_title(column.title), field_title(column.title.lstrip("#"))), f"title {title!r} instead of {column.title!r}"
        if role == "coordinate":
            continue
        if column.numbers is not None and role in ("label", "left out", "numbering"):
            usual = title.lower() in ("label", "class", "target") or role == "numbering" or why
            assert usual or f"Column {k + 1} " in told or "more columns" in told, f"column {k + 1} of numbers is {role}, untold"
        if role == "name" and column.texts:
            assert [fields_of(t) for t in reply["names"]] == [fields_of(t) for t in column.texts] or why, f"names of column {k + 1}"
        if role == "label" and column.texts and column.numbers is None:
            found = [v for t, v in reply.get("labels", {}).items() if t in (title, f"column {k + 1}", "label", "")]
            wanted = [fields_of(t) for t in column.texts]
            assert not any(wanted) or any([fields_of(t) for t in v] == wanted for v in found), f"labels of column {k + 1}"


def run(seed, reader):
    """Makes and reads one file. Returns its bytes, what came of it, and the error."""
    rng = random.Random(seed)
    table = rng.choice(OTHERS if seed % 4 == 0 else WRITERS)(rng)
    missing = any(v != v for c in table.columns for v in c.numbers or [])
    query = "drop=true" if missing and rng.random() < 0.7 else f"kind={table.kind}"
    try:
        check_csv(table)
        return table.data, compare(table, reader.read(table.data, query)), None
    except AssertionError as e:
        return table.data, None, str(e)


def campaign(files, seed, show=5):
    def progress(done, differ):
        print(f"\r{done:,} files, {differ} differ", end="", file=sys.stderr)
    return batch.campaign(run, files, seed, show, progress if sys.stderr.isatty() else None)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    count, first = int(sys.argv[1]) if len(sys.argv) > 1 else 100000, int(sys.argv[2]) if len(sys.argv) > 2 else 1
    sys.exit(batch.report(count, *campaign(count, first)))
