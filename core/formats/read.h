/* read.h -- reads files of users into a struct sl_graph.
 *
 *   struct sl_source *source;
 *   struct sl_graph *graph;
 *   sl_source_open_path(&source, "graph.mtx.gz", NULL, &err);
 *   sl_graph_read(&graph, NULL, source, &err);
 *   sl_source_close(source);
 *
 * A source is a sequence of bytes with a name for messages: a file, a descriptor or memory. gzip and zstd are
 * recognised by their first bytes and decompressed while reading, also if several members follow each other. Text is
 * streamed: reading takes about half a megabyte beside the graph under construction (see sl_graph_builder).
 *
 * Formats
 *   mtx    MatrixMarket coordinate; real, integer, pattern; general, symmetric. Entry (i, j), in row i and column j, is
 *          the edge from i to j, as in networkx, SciPy and GraphBLAS. core/graph/graph.h stores it in column j.
 *   edges  one edge a line: two nodes, perhaps a weight, perhaps more columns, which are left out. The first line
 *          shows whether tabs, commas, semicolons or spaces separate the fields. Columns are found by usual titles
 *          (source,target; from,to; ...; weight), else by place: the nodes first, then a weight
 *          (core/formats/graphs/edge_columns.h). Lines that start with # or % are comments above the first edge, and
 *          below if they have another number of fields. Fields may be "quoted", "" being a quote; node names contain no
 *          line break. The first line is a header if it has usual titles or one that options name, if a later column
 *          has a number below a word, or if its first two fields are no numbers while those of the next line are.
 *          Undirected unless options say otherwise: a,b is entry (a, b) and (b, a);
 *          directed: row a, column b, the edge from a to b.
 *          If all nodes are whole numbers (0 or more, no leading zeros), they are ordered
 *          by number. If these are 0..n-1 without a gap, they are indices. Otherwise (also
 *          for 1..n) the numbers become the nodes' names, so that results show the file's
 *          numbers. Other nodes are named, in the order in which they first appear.
 *          Files of METIS, DIMACS, Pajek and TGF are recognised and read, too (core/formats/graphs/network.h).
 *   npz    scipy.sparse.save_npz of CSR, CSC or COO, compressed or not; entry (i, j) as in mtx. A further array of
 *          strings or integers named names, one for each node, gives the nodes their names.
 *
 * Any thread; a source belongs to one thread at a time. */
#ifndef SL_READ_H
#define SL_READ_H

#include <stdio.h>

#include "core/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sources ------------------------------------------------------------ */

struct sl_source;
struct sl_account;

/* name is copied. It appears in messages, and its ending suggests the format. NULL: the last part of path. */
int sl_source_open_path(struct sl_source **out, const char *path, const char *name, struct sl_error *err);
/* Borrows the memory until the source is closed. */
int sl_source_open_memory(struct sl_source **out, const void *bytes, uint64_t size, const char *name,
			  struct sl_error *err);
/* Several files as one, in their order: texts of the same columns, or arrays (.npy) of the same columns and type. The
 * titles decide which columns are the same (core/formats/source/parts.c). Takes the sources, unless it fails. */
int sl_source_join(struct sl_source **out, struct sl_source **source, int count, struct sl_error *err);
/* After such a source was read: note number k of what was done, or NULL. *changes: it changes the result. */
const char *sl_source_join_note(const struct sl_source *source, int k, bool *changes);
/* Writes all bytes of a source, decompressed, to `out`. */
int sl_source_copy(struct sl_source *source, FILE *out, struct sl_error *err);
void sl_source_close(struct sl_source *source);  /* NULL is fine */
/* The account (core/account.h) in which readers of the source book memory and disk, borrowed until the source is
 * closed; set it before the first byte is read. NULL, as at first: nothing is booked, for users' own files. With an
 * account they refuse compressed files that unpack to more than 256 times their size (and 64 MiB). */
void sl_source_set_account(struct sl_source *source, struct sl_account *account);
/* The folder for decompressed temporary files, borrowed. NULL, as at first: that of tmpfile(3), and for a source with
 * an account none, so that archives which must be decompressed are refused. */
void sl_source_set_folder(struct sl_source *source, const char *folder);

/* ---- graphs ------------------------------------------------------------- */

enum sl_graph_format { SL_FORMAT_AUTO, SL_FORMAT_MTX, SL_FORMAT_EDGES, SL_FORMAT_NPZ };

/* "auto", "mtx", "edges", "npz" */
const char *sl_graph_format_name(enum sl_graph_format format);
/* SL_BADPARAM at /format if there is no such format. */
int sl_graph_format_parse(const char *name, enum sl_graph_format *out, struct sl_error *err);

/* Whether the two columns of an edge list hold nodes of two kinds, so that equal names in both are two nodes. AUTO: yes
 * if the titles of the columns name different kinds of things (userId, movieId), or KONECT says so. */
enum sl_sides { SL_SIDES_AUTO, SL_SIDES_ONE, SL_SIDES_TWO };

/* All zero stands for the defaults: the format is recognised, edges are undirected, there are no limits. */
struct sl_read_options {
	enum sl_graph_format format;  /* AUTO: by content, then by the source's name */
	bool directed;                /* edge lists only */
	/* Columns of edge lists, by title or by number from 1; NULL: recognised: */
	const char *source_column, *target_column;
	const char *weight_column;    /* "": none */
	enum sl_sides bipartite;      /* edge lists only */
	uint64_t max_bytes;           /* of the decompressed file; 0: no limit */
	uint64_t max_nodes;           /* 0: only the limit of the index type, 4294967280 */
	uint64_t max_entries;         /* of the graph before merging, both directions of an edge counted; 0: no limit */
	bool few_isolated;            /* refuse files that declare many more nodes than their entries can reach */
	const char *temporary_folder; /* for decompressed temporary files; NULL: as sl_source_set_folder() says */
	const int *cancel;            /* another thread stores 1 here to stop: SL_CANCELLED; NULL: never */
};

/* Reads source from its present position to its end; the caller destroys *out. options NULL: all defaults. Errors name
 * the file and, for text, the line: BADFORMAT (not a supported kind of file), BADDATA (malformed), BADGRAPH (not a
 * graph: not square, negative weight, no node, ...), TOOBIG, IO, NOMEM, CANCELLED. */
int sl_graph_read(struct sl_graph **out, const struct sl_read_options *options, struct sl_source *source,
		  struct sl_error *err);

/* The format in which the last sl_graph_read() read the source. */
enum sl_graph_format sl_source_format(const struct sl_source *source);

/* Reads labels for the nodes of graph. They replace its present labels; after an error it keeps the present ones. Uses
 * only max_bytes and cancel of options. The format is recognised by content:
 *   .npy integers or bool, shape (n) or (n, 1)    the numbers are the label names
 *   text                                          a label a line, or a table of names or numbers and labels
 *                                                 (core/formats/labels/labels.h); of several columns the one that
 *                                                 says most as colours */
int sl_graph_read_labels(struct sl_graph *graph, const struct sl_read_options *options,
			 struct sl_source *source, struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
