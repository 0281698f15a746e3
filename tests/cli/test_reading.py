"""Files as programs and public collections hand them out: edge lists with titles and further columns, archives with one
matrix, tables whose columns are the points. What is left out or guessed is told."""
import bz2
import gzip
import io
import lzma
import shutil
import subprocess
import tarfile
import zipfile

import numpy
import pytest
import scipy.io
import scipy.sparse

RING = "%%MatrixMarket matrix coordinate pattern symmetric\n5 5 5\n2 1\n3 2\n4 3\n5 4\n5 1\n"
GEPHI = ("Source,Target,Type,Id,Label,timeset,Weight\nalice,bob,Undirected,0,,,2.5\nbob,carol,Undirected,1,,,1.0\n"
         "carol,dave,Undirected,2,,,3.0\ndave,alice,Undirected,3,,,4.0\n")


@pytest.fixture
def read(client, tmp_path):
    """Reads a file, made of text or bytes, and returns the result of a short run."""
    def read_it(name, content, *options):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return client("embed", "--local", "--iterations", 5, *options, "-o", tmp_path / "layout.csv", path)
    return read_it


def nodes(tmp_path):
    return [line.split(",")[0] for line in (tmp_path / "layout.csv").read_text().splitlines()[1:]]


def zipped(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def tarred(members, mode="w", **options):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode, **options) as archive:
        for name, content in members.items():
            content = content.encode() if isinstance(content, str) else content
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return file.getvalue()


def test_gephi(read, tmp_path):
    result = read("edges.csv", GEPHI)
    assert result.status == 0 and "4 nodes" in result.err, result
    assert '1 weight ("Weight")' in result.err and '"Type": the direction' in result.err, result.err
    assert nodes(tmp_path) == ["alice", "bob", "carol", "dave"]


def test_networks_of_other_programs(read, tmp_path):
    read("g.net", '*Vertices 3\n1 "ann"\n2 "bob"\n3 "cid"\n*Edges\n1 2 2.5\n2 3 1\n')
    assert nodes(tmp_path) == ["ann", "bob", "cid"]
    result = read("g.gr", "c roads\np sp 3 2\na 1 2 803\na 2 3 158\n")
    assert "lengths of the arcs are left out" in result.err and "--weight 4 takes them" in result.err, result
    result = read("g.graph", "3 2\n2\n1\n2\n")
    assert result.status == 5 and "listed at both ends" in result.err, result


def test_a_time_is_no_column_of_svmlight(read):
    result = read("times.txt", "1 10:30 2.5 7\n2 11:30 3.5 4\n3 12:45 4.5 2\n4 13:00 1.5 8\n")
    assert result.status == 0 and "coordinates" in result.err, result


def test_hints_name_options(read):
    rows = "".join(f"{i % 3},{i * 0.37},{i * 0.11 + 2}\n" for i in range(20))
    result = read("wine.data", rows)
    assert "if they are classes, --label-column 1 makes them labels" in result.err, result
    assert "2 coordinates, 1 label" in read("wine.data", rows, "--label-column", "1").err
    square = "".join(",".join(str(int(abs(i - k) == 1)) for k in range(6)) + "\n" for i in range(6))
    assert "--kind graph takes it as a graph" in read("a.csv", square).err
    assert "6 nodes, 10 entries" in read("a.csv", square, "--kind", "graph").err


def test_relations_are_no_nodes(read, tmp_path):
    result = read("go.sif", "a\tis_a\tb\nc\tis_a\tb\nc\tpart_of\td\nd\tis_a\ta\n")
    assert 'such as "is_a", so the edges join columns 1 and 3; --target 2 joins columns 1 and 2' in result.err, result
    assert nodes(tmp_path) == ["a", "b", "c", "d"]


def test_a_header_alone_is_no_graph(read):
    result = read("cells.csv", "name,age,size\n")
    assert result.status == 5 and "cells.csv:1: The file has one line of words alone" in result.err, result
    assert "--kind graph reads it as an edge" in result.err


def test_columns_by_option(read, tmp_path):
    text = "when,user,item,stars\n5,ann,tea,2\n6,bob,tea,4\n7,bob,soup,1\n"
    for columns in ((("--source", "user"), ("--target", "item"), ("--weight", "stars")),
                    (("--source", 2), ("--target", 3), ("--weight", 4))):
        result = read("stars.csv", text, *(word for pair in columns for word in pair))
        assert result.status == 0 and "4 nodes, 6 entries" in result.err, result
        assert '1 weight ("stars")' in result.err and nodes(tmp_path) == ["ann", "tea", "bob", "soup"]
    wrong = read("stars.csv", text, "--source", "stars?")
    assert wrong.status == 2 and "--source" in wrong.err and "no such column" in wrong.err, wrong
    wrong = read("stars.csv", text, "--source", "user", "--metric", "cosine")
    assert wrong.status == 2 and "but metric is for points" in wrong.err, wrong


@pytest.mark.parametrize("text, rows", [
    ("source,target\n#art,ann\n#bird,ann\n%x,ann\nann,bob\nbob,#art\n", 5),
    ("% sym unweighted\n% 5 5 5\n1\t2\t1\t1089000001\n2\t3\t1\t1089000002\n3\t1\t1\t1089000003\n", 3),
    ("1,2,4,1289241912.72836\n2,3,4,1289241913.72836\n3,1,4,1289241914.72836\n", 3)])
def test_all_edges_are_read(read, text, rows):
    result = read("edges.csv", text)
    assert result.status == 0 and "read as a graph" in result.err and f"{rows} rows" in result.err, result


@pytest.mark.parametrize("text, remedy", [
    ("1,2,4,1289241912\n2,3,-4,1289241913\n", '--weight ""'),
    ("1 1 6\n13 9 -7\n12 6 0\n", "--kind points"),
    ("0 1 {'weight': 2.5}\n1 2 {}\n", 'data=["weight"]'),
    ("\n\n", "blank")])
def test_messages_name_the_remedy(read, text, remedy):
    result = read("edges.txt", text)
    assert result.status != 0 and remedy in result.err, result


def test_no_negative_zero(read):
    """The divergence of a complete graph is 0."""
    result = read("all.csv", "source,target\n" + "".join(f"{a},{b}\n" for a in range(4) for b in range(a)))
    assert result.status == 0 and "KL 0.0000" in result.err and "-0.0000" not in result.err, result


# ---- archives -----------------------------------------------------------------------------


def test_archives_with_one_matrix(read, tmp_path):
    html = "<html><body>about the data</body></html>"
    beside = {"ring/README.md": "text", "ring/ring.mtx": RING, "ring/ring_b.mtx": RING, "ring/ring_coord.mtx": RING}
    archives = {
        "ring.zip": zipped(**{"ring.mtx": RING, "readme.html": html}),
        "ring.tar": tarred(beside), "ring.tar.gz": tarred(beside, "w:gz"),
        "pax.tar.gz": tarred({"a" * 150 + "/" + "b" * 150 + ".mtx": RING}, "w:gz", format=tarfile.PAX_FORMAT),
        "gnu.tgz": tarred({"a" * 150 + "/" + "b" * 150 + ".mtx": RING}, "w:gz", format=tarfile.GNU_FORMAT),
        "konect.tar": tarred({"x/meta.x": "name: x", "x/README.x": "text", "x/out.x": "% sym unweighted\n" + "".join(
            f"{a} {b}\n" for a, b in ((2, 1), (3, 2), (4, 3), (5, 4), (5, 1)))}),
        "inside.tar": tarred({"ring.mtx.gz": gzip.compress(RING.encode())}),
        "inside.zip": zipped(**{"folder/ring.mtx.gz": gzip.compress(RING.encode())}),
    }
    for name, content in archives.items():
        result = read(name, content)
        assert result.status == 0 and "5 nodes, 10 entries" in result.err, (name, result)
        assert "of the archive" in result.err, (name, result)
    arrays = io.BytesIO()
    numpy.savez(arrays, X=numpy.arange(60.0).reshape(20, 3) ** 2)
    for name, content in {"points.tar": tarred({"points.npz": arrays.getvalue()}),
                          "points.zip": zipped(**{"points.npz": arrays.getvalue()})}.items():
        result = read(name, content, "--perplexity", 3)
        assert result.status == 0 and "20 nodes" in result.err, (name, result)


@pytest.mark.parametrize("name, content, remedy", [
    ("two.zip", zipped(**{"a.csv": "1,2\n", "b.csv": "1,2\n"}), "a.csv, b.csv. Unpack it"),
    ("none.zip", zipped(**{"readme.html": "text"}), "readme.html"),
    ("book.xlsx", zipped(**{"[Content_Types].xml": "x", "xl/workbook.xml": "x"}), "Excel workbook"),
    ("cut.tar", tarred({"ring.mtx": RING * 30})[:700], "incomplete"),
    ("nested.tar", tarred({"ring.dat": tarred({"ring.mtx": RING})}), "unpack the outer"),
    ("p.pkl", b"\x80\x04\x95\xf5\x01\0\0\0\0\0\0\x8c\x15numpy.core.multiarray", "pickle"),
    ("x.rds", gzip.compress(b"X\n\0\0\0\x03\0\x04\x02\0"), "write.csv"),
    ("x.RData", gzip.compress(b"RDX3\nX\n\0\0\0\x03"), "R data file; in R write a table with write.csv"),
    ("text.rda", b"RDA3\nA\n3\n262404\n197888\n5\nUTF-8\n", "R data file"), ("text.rds", b"A\n3\n262404\n197888\n6\nCP1252\n", "R data file"),
    ("table.parquet", b"PAR1\x15\x04\0\x15", "Parquet file. Upload it with Python"), ("cells.h5ad", b"\x89HDF\r\n\x1a\n\0", "Upload AnnData (.h5ad) with Python"),
    ("t.feather", b"ARROW1\0\0\xff", "Feather"), ("old.feather", b"FEA1\0\0\0\0", "Feather"), ("t.orc", b"ORC\n\x03\0\0", "ORC file"),
    ("a.mat", b"MATLAB 7.3 MAT-file, Platform" + bytes(100), "MATLAB file"), ("b.mat", b"MATLAB 5.0 MAT-file, Platform" + bytes(100), "mmwrite"),
    ("x.tar.bz2", bz2.compress(tarred({"ring.mtx": RING})), "bunzip2"), ("x.tar.xz", lzma.compress(tarred({"ring.mtx": RING})), "unxz"),
    ("x.sav", b"$FL2@(#) SPSS\0", "SPSS"), ("x.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0", "old Office file"), ("x.7z", b"7z\xbc\xaf\x27\x1c\0", "7z archive"),
    ("g.graphml", '<?xml version="1.0"?><graphml/>', "GraphML"), ("g.gml", "graph [\n  node [", "GML"), ("g.dl", "dl n=3\n", "UCINET"),
    ("a.svm", "# two\n-1 3:0.5 7:1.25\n+1 1:2\n", "svmlight"), ("b.svm", "2 qid:1 1:0.5\n", "load_svmlight_file"),
    ("w.arff", "% Weka\n\n@RELATION iris\n@ATTRIBUTE a NUMERIC\n@DATA\n1\n", "ARFF"), ("s.fasta", ">one\nACGT-\n", "FASTA"),
    ("train-images-idx3-ubyte", bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28]) + bytes(1568), "IDX"),
    ("c.fcs", b"FCS3.1    " + bytes(60), "flow cytometry"), ("v.vcf", "##fileformat=VCFv4.2\n", "VCF"), ("p.png", b"\x89PNG\r\n\x1a\n\0", "picture"),
    ("p.json", '[{"a": 1}]', "JSON"), ("refused.csv", "<!DOCTYPE html><html>", "web page"), ("t.db", b"SQLite format 3\0\x10", "SQLite")], ids=lambda value: value if isinstance(value, str) else "file")
def test_what_other_archives_are(read, name, content, remedy):
    result = read(name, content)
    assert result.status != 0 and remedy in result.err, result


def test_titles_are_no_other_format(read):
    """Words with which binary files begin may be titles of a table."""
    for title in ("PAR1", "ARROW1", "FEA1", "ORC", "BZh", "$FL2", "MATLAB 5.0", "A"):
        result = read("t.csv", f"{title}\n" + "".join(f"{k + 3}\n" for k in range(30)), "--perplexity", 4)
        assert result.status == 0 and "1 coordinate" in result.err, (title, result)


def test_compressed_archives(read):
    """zstd around tar, as tar --zstd writes it."""
    zstd = shutil.which("zstd")
    if not zstd:
        pytest.skip("skipped: no zstd")
    packed = subprocess.run([zstd, "-c"], input=tarred({"a/readme.md": "text", "a/ring.mtx": RING}), stdout=subprocess.PIPE, check=True).stdout
    for name in ("ring.tar.zst", "ring.tzst"):
        result = read(name, packed)
        assert result.status == 0 and "5 nodes, 10 entries" in result.err and "Read a/ring.mtx of the archive" in result.err, result


def test_neighbours_say_what_was_taken(read):
    index = numpy.array([[0, 1, 2], [1, 0, -1], [2, 1, 0], [3, 2, 1]])
    arrays = io.BytesIO()
    numpy.savez(arrays, indices=index, distances=numpy.where(index < 0, 9, numpy.abs(index - numpy.arange(4)[:, None])).astype("f4"))
    result = read("n.npz", arrays.getvalue())
    assert "4 rows of 6 columns: 3 neighbours" in result.err and "3 distances" in result.err, result
    assert "(arrays called indices and distances)" in result.err and "4 entries are their own rows" in result.err, result
    assert "1 entry is -1: no neighbour" in result.err, result
    matrix = "%%MatrixMarket matrix coordinate real general\n% by hand\n3 3 5\n1 2 1.5\n2 1 1.5\n2 3 2\n3 2 2\n3 3 0\n"
    result = read("d.mtx", matrix, "--values", "distances")
    assert "5 rows of 3 columns: 1 source" in result.err and "1 distance" in result.err and "1 comment line" in result.err, result
    assert "1 entry is on the diagonal" in result.err, result
    hub = ["%%MatrixMarket matrix coordinate real general", "400 400 798", *(f"1 {k} {k}" for k in range(2, 401)),
           *(f"{k} 1 {k}" for k in range(2, 401))]
    result = read("hub.mtx", "\n".join(hub) + "\n", "--values", "distances")
    assert "1 row has more than 68 distances" in result.err and "only the nearest 68 are taken" in result.err, result


# ---- columns that are points ----------------------------------------------------------------


def layouts_agree(read, tmp_path, files):
    found = []
    for name, content, options in files:
        result = read(name, content, "--perplexity", 4, "--seed", 1, *options)
        assert result.status == 0, (name, result)
        found.append([line.rsplit(",", 2)[1:] for line in (tmp_path / "layout.csv").read_text().splitlines()[1:]])
    assert len(found[0]) == 30 and all(other == found[0] for other in found), [len(f) for f in found]


def test_transposed_tables(read, tmp_path):
    x = numpy.random.default_rng(1).normal(size=(30, 7)).astype("float32").round(3)

    def npy(a):
        file = io.BytesIO()
        numpy.save(file, a)
        return file.getvalue()

    def csv(a, corner, separator=",", header=True):
        lines = [separator.join([corner] * bool(corner is not None) + [f'"c{separator}{k}"' for k in range(a.shape[1])])] * header
        return "\n".join(lines + [separator.join([f"g{i}", *map(str, row)]) for i, row in enumerate(a)]) + "\n"

    layouts_agree(read, tmp_path, [
        ("x.npy", npy(x), ()), ("t.npy", npy(x.T.copy()), ("--transpose",)),
        ("f.npy", npy(numpy.asfortranarray(x.T)), ("--transpose",)),
        ("x.csv", csv(x, ""), ()), ("t.csv", csv(x.T, ""), ("--transpose",)), ("t.tsv", csv(x.T, "gene", "\t"), ("--transpose",)),
        ("r.txt", csv(x.T, None, " "), ("--transpose",))])
    assert read("t.csv", csv(x.T, ""), "--transpose").status == 0
    assert nodes(tmp_path)[:2] == ['"c', '"c'] and "c,0" in (tmp_path / "layout.csv").read_text()


def test_cell_rangers_matrix(read, tmp_path):
    cells = scipy.sparse.random(30, 50, 0.4, random_state=1, format="coo")
    cells.data = (cells.data * 9).round() + 1
    plain, genes = io.BytesIO(), io.BytesIO()
    scipy.io.mmwrite(plain, cells, field="integer")
    scipy.io.mmwrite(genes, cells.T, field="integer", comment='metadata_json: {"software_version": "Cell Ranger 7.0.1"}')
    layouts_agree(read, tmp_path, [("cells.mtx", plain.getvalue(), ()), ("matrix.mtx", genes.getvalue(), ()),
                                   ("turned.mtx", genes.getvalue().replace(b"Cell Ranger", b"cells"), ("--transpose",))])
    result = read("matrix.mtx", genes.getvalue(), "--perplexity", 4)
    assert "Cell Ranger wrote the matrix" in result.err and "--transpose=false" in result.err, result
    result = read("matrix.mtx", genes.getvalue(), "--perplexity", 4, "--transpose=false")
    assert "50 nodes" in result.err and "--transpose takes the cells" in result.err, result


def test_a_separator_alone(read):
    """Excel's first line without rows: no table and no edge."""
    for options in ((), ("--kind", "points"), ("--kind", "graph")):
        result = read("sep.csv", "sep=;\n", *options)
        assert result.status != 0 and "first line, which names the separator" in result.err and "blank" not in result.err, result


def test_several_files_are_one_table(client, tmp_path):
    one, two, layout = tmp_path / "one.csv", tmp_path / "two.csv", tmp_path / "layout.csv"
    one.write_text("name,x,y\n" + "".join(f"a{i},{i}.5,{i * i % 17}\n" for i in range(20)))
    two.write_text("y,name,x\n" + "".join(f"{i * i % 13},b{i},{i}.25\n" for i in range(10)))
    result = client("embed", "--local", one, two, "--perplexity", 4, "--iterations", 20, "-o", layout)
    assert result.status == 0 and "rows 1 to 20 are of one.csv, rows 21 to 30 are of two.csv" in result.err, result
    assert "The columns of two.csv have another order" in result.err
    assert [line.split(",")[0] for line in layout.read_text().splitlines()[1:]] == [f"a{i}" for i in range(20)] + [f"b{i}" for i in range(10)]
    two.write_text("name,x,z\nb,1,2\n")
    result = client("embed", "--local", one, two, "--perplexity", 4, "-o", layout)
    assert result.status == 5 and 'two.csv:1: There is no column "y", which one.csv has' in result.err, result
