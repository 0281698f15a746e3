"""Files as programs export them, for docs/formats.md: each is read, and the page says what comes of it."""
import gzip
import io
import tarfile

import numpy as np
import scipy.sparse as sp

ROWS = [("ann", 31, 1.5, 12.5), ("bob", 45, 2.25, 7.5), ("cid", 28, 0.75, 30), ("dee", 52, 3.5, 18)]


def lines(*rows, end="\n"):
    return "".join(row + end for row in rows).encode()


def saved(save, *arguments, **members):
    out = io.BytesIO()
    save(out, *arguments, **members)
    return out.getvalue()


def packed(name, content):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def matrix(square):
    return sp.csr_matrix(np.array([[0, 1, 2], [1, 0, 0], [2, 0, 0]][:3 if square else 2], "f4"))


# (program, export): name and bytes of a file
EXPORTS = {
    ("Excel", "CSV UTF-8"): ("cells.csv", b"\xef\xbb\xbf" + lines("name,age,income,share", *[
        f'{n},{a},"{a * 1000:,}",{s:g}%' for n, a, _, s in ROWS], end="\r\n")),
    ("Excel where decimals have commas", "CSV"): ("cells.csv", lines("name;age;size;income", *[
        f"{n};{a};{str(x).replace('.', ',')};{a}.500,00 €" for n, a, x, _ in ROWS], end="\r\n")),
    ("Excel", "CSV that begins with sep=;"): ("cells.csv", lines("sep=;", "name;age;size", *[f"{n};{a};{x}" for n, a, x, _ in ROWS])),
    ("Excel", "Unicode text"): ("cells.txt", "name\tage\r\nann\t31\r\n".encode("utf-16")),
    ("Google Sheets, LibreOffice", "TSV"): ("cells.tsv", lines("name\tage\tsize", *[f"{n}\t{a}\t{x}" for n, a, x, _ in ROWS])),
    ("pandas", "`to_csv()`"): ("cells.csv", lines(",age,size", *[f"{i},{a},{x}" for i, (_, a, x, _) in enumerate(ROWS)])),
    ("pandas", "`to_csv()` of a file that `read_csv()` read with its index"): ("cells.csv", lines(",Unnamed: 0,age,size", *[
        f"{i},{i},{a},{x}" for i, (_, a, x, _) in enumerate(ROWS)])),
    ("pandas", "`rename_axis(\"cell_id\").to_csv()`"): ("cells.csv", lines("cell_id,age,size", *[
        f"{i},{a},{x}" for i, (_, a, x, _) in enumerate(ROWS)])),
    ("numpy", "`savetxt(header=\"x y\")`"): ("cells.txt", lines("# x y", *[f"{a:.18e} {x:.18e}" for _, a, x, _ in ROWS])),
    ("numpy", "`save()`"): ("cells.npy", saved(np.save, np.array([[a, x] for _, a, x, _ in ROWS]))),
    ("numpy", "`savez(X=, labels=)`"): ("cells.npz", saved(np.savez, X=np.array([[a, x] for _, a, x, _ in ROWS]), labels=np.arange(4) % 2)),
    ("R", "`write.table()`"): ("cells.txt", lines('"age" "size" "kind"', *[f'"{i + 1}" {a} {x} "k{i % 2}"' for i, (_, a, x, _) in enumerate(ROWS)])),
    ("R", "`write.csv()`"): ("cells.csv", lines('"","age","size"', *[f'"{n}",{a},{x}' for n, a, x, _ in ROWS])),
    ("R", "`write.csv2()`"): ("cells.csv", lines('"";"age";"size"', *[
        f'"{n}";{a};{str(x).replace(".", ",")}' for n, a, x, _ in ROWS])),
    ("QIIME", "table of counts (BIOM as text)"): ("otus.tsv", lines("# Constructed from biom file", "#OTU ID\ts1\ts2", "otu7\t3.0\t0.0",
                                                                    "otu9\t1.0\t8.0", "otu4\t0.0\t2.0")),
    ("any", "two or three columns of whole numbers with titles"): ("people.csv", lines("height,weight", "150,50", "151,63", "152,76")),
    ("any", "two or three columns of whole numbers without titles"): ("pairs.csv", lines("150,50", "151,63", "152,76")),
    ("Gephi", "edges"): ("edges.csv", lines("Source,Target,Type,Id,Label,timeset,Weight", "1,2,Undirected,0,,,2.5", "2,3,Undirected,1,,,1.0")),
    ("KONECT", "`out.*`"): ("out.example", lines("% sym weighted", "% 3 3 3", "1 2 1 1001", "2 3 1 1002", "1 3 1 1003")),
    ("SNAP", "edge list"): ("graph.txt", lines("# Undirected graph: example.txt", "# Nodes: 3 Edges: 3", "# FromNodeId\tToNodeId", "0\t1", "1\t2", "0\t2")),
    ("word2vec, fastText", "`.vec`"): ("words.vec", lines("3 2", ", 0.5 1.5", "the 0.25 2", '" 0.75 1')),
    ("GloVe", "`glove.*.txt`"): ("glove.txt", lines("the 0.5 1.5", ", 0.25 2", "# 0.75 1")),
    ("GenePattern", "GCT"): ("genes.gct", lines("#1.2", "2\t2", "NAME\tDescription\ts1\ts2", "g1\tna\t1.5\t2", "g2\tna\t2.5\t3")),
    ("GEO", "series matrix"): ("series_matrix.txt", lines('!Series_title\t"A study"', "!series_matrix_table_begin", '"ID_REF"\t"GSM1"\t"GSM2"',
                                                          '"p_at"\t1.5\t2', '"q_at"\t2.5\t3', "!series_matrix_table_end")),
    ("UCR, UCI", "classes in the first column, no titles"): ("wine.data", lines(*[f"{i % 2 + 1},{i * 0.5 + 1.25},{i * 3}" for i in range(12)])),
    ("any", "matrix of distances"): ("distances.csv", lines(*[",".join(str(abs(i - k)) for k in (2, 7, 8, 15, 40)) for i in (2, 7, 8, 15, 40)])),
    ("scikit-learn", "`savez(data=, target=, target_names=)`"): ("iris.npz", saved(
        np.savez, data=np.array([[a, x] for _, a, x, _ in ROWS]), target=np.arange(4) % 2, target_names=np.array(["u", "v"]))),
    ("Cytoscape, lists of triples", "SIF"): ("graph.sif", lines("a\tis_a\tb", "c\tis_a\tb", "c\tpart_of\td", "d\tis_a\ta")),
    ("Pajek", "`.net`"): ("graph.net", lines("*Vertices 3", '1 "ann"', '2 "bob"', '3 "cid"', "*Edges", "1 2 2.5", "2 3 1")),
    ("METIS, KaHIP", "`.graph`"): ("mesh.graph", lines("% a path", "4 3", "2", "1 3", "2 4", "3")),
    ("DIMACS", "`.gr` of roads"): ("roads.gr", lines("c roads", "p sp 3 4", "a 1 2 803", "a 2 1 803", "a 2 3 158", "a 3 2 158")),
    ("DIMACS", "`.col`"): ("myciel.col", lines("p edge 3 2", "e 1 2", "e 2 3")),
    ("yEd", "TGF"): ("graph.tgf", lines("1 ann", "2 bob", "#", "1 2")),
    ("Gephi, networkx", "GraphML"): ("graph.graphml", lines('<?xml version="1.0"?>', "<graphml/>")),
    ("scikit-learn, LIBSVM", "svmlight"): ("a9a.svm", lines("-1 3:0.5 7:1.25", "+1 1:2")),
    ("Weka", "ARFF"): ("iris.arff", lines("% Weka", "@RELATION iris", "@ATTRIBUTE a NUMERIC", "@DATA", "1.5")),
    ("MNIST", "IDX"): ("train-images-idx3-ubyte", bytes([0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2, 1, 2, 3, 4])),
    ("flow cytometers", "FCS"): ("cells.fcs", b"FCS3.0         58     100" + bytes(100)),
    ("MATLAB", "`save()`"): ("x.mat", b"MATLAB 5.0 MAT-file" + bytes(150)),
    ("STRING", "protein links"): ("links.txt", lines("protein1 protein2 combined_score", "9606.ENSP1 9606.ENSP2 155",
                                                     "9606.ENSP2 9606.ENSP1 155", "9606.ENSP1 9606.ENSP3 900")),
    ("UCSC", "BED"): ("peaks.bed", lines("chr1\t100\t900", "chr1\t950\t990", "chr2\t150\t800")),
    ("MovieLens", "`ratings.csv`"): ("ratings.csv", lines("userId,movieId,rating,timestamp", "1,1,4.0,964982703", "1,3,4.5,964981247",
                                                          "2,1,3.5,964982224")),
    ("MovieLens", "`ratings.dat`"): ("ratings.dat", lines("1::1193::5::978300760", "1::661::3::978302109", "2::1193::4::978298413")),
    ("data bases", "fields between bars"): ("cells.txt", lines("name|age|size", *[f"{n}|{a}|{x}" for n, a, x, _ in ROWS])),
    ("pandas, Excel", "remarks over several lines"): ("cells.csv", lines("name,age,size,remark", *[
        f'{n},{a},{x},"see\nbelow"' for n, a, x, _ in ROWS])),
    ("networkx", "`write_adjlist()`"): ("graph.adjlist", lines("#graph.py", "# GMT Fri Nov 28 11:37:08 2026", "# ", "ann bob cid", "bob cid", "cid")),
    ("networkx", "`write_multiline_adjlist()`"): ("graph.txt", lines("#graph.py", "# GMT Fri Nov 28 11:37:08 2026", "# ", "ann 2", "bob {'weight': 2.5}",
                                                                    "cid {}", "bob 0", "cid 0")),
    ("any", "lists of neighbours behind colons"): ("graph.txt", lines("ann: bob cid", "bob: ann", "cid: ann")),
    ("networkx, D3", "JSON of nodes and links"): ("graph.json", b'{"directed": false, "nodes": [{"id": 0}], "links": []}'),
    ("pandas", "`to_json(orient=\"records\")`"): ("cells.json", b'[{"age": 31, "size": 1.5}, {"age": 45, "size": 2.25}]'),
    ("pandas", "`to_json(lines=True)`"): ("cells.jsonl", lines('{"age": 31, "size": 1.5}', '{"age": 45, "size": 2.25}')),
    ("PHYLIP", "matrix of distances"): ("distances.phy", lines("    3", "ann 0 1 2", "bob 1 0 2", "cid 2 2 0")),
    ("networkx", "`write_weighted_edgelist()`"): ("graph.edgelist", lines("ann bob 2.5", "bob cid 1", "cid dee 1")),
    ("SuiteSparse, `scipy.io.mmwrite()`", "square MatrixMarket"): ("graph.mtx", lines(
        "%%MatrixMarket matrix coordinate real symmetric", "3 3 2", "2 1 1.5", "3 1 2")),
    ("Cell Ranger", "`matrix.mtx`"): ("matrix.mtx", lines("%%MatrixMarket matrix coordinate integer general",
        '%metadata_json: {"software_version": "Cell Ranger 7", "format_version": 2}', "3 2 4", "1 1 5", "2 1 7", "2 2 1", "3 2 4")),
    ("scipy", "`save_npz()` of a square matrix"): ("graph.npz", saved(sp.save_npz, matrix(True))),
    ("scikit-learn, pynndescent", "`savez(indices=, distances=)`"): ("nn.npz", saved(np.savez, indices=np.array([[0, 1], [1, 2], [2, 1]]),
                                                                         distances=np.array([[0, 1.5], [0, 2], [0, 2]], "f4"))),
    ("tar", "`.tar.gz`, `.tar.zst`, `.zip` of one matrix"): ("cells.tar.gz", packed("cells.csv", lines("age,size", *[f"{a},{x}" for _, a, x, _ in ROWS]))),
    ("pandas", "`to_parquet()`"): ("cells.parquet", b"PAR1\x15\x04\0\x15"),
    ("AnnData", "`.h5ad`"): ("cells.h5ad", b"\x89HDF\r\n\x1a\n\0"),
    ("R", "`saveRDS()`, `save()`"): ("cells.RData", gzip.compress(b"RDX3\nX\n\0\0\0\x03", mtime=0)),
    ("scipy", "`save_npz()` of another matrix"): ("counts.npz", saved(sp.save_npz, matrix(False))),
}


def outcome(reply):
    """What the page says of a file: its kind and one line, with the notes that change the geometry, or why it is refused."""
    if "error" in reply:
        return "refused: " + reply["error"]
    taken = reply["taken"]
    notes = [text for changes, text in taken["notes"]] if taken else []
    return f"{reply['kind']}: " + "; ".join([taken["text"] if taken else f"{reply['n']} nodes", *notes])
