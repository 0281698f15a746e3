/* read.h -- from a file that somebody wrote to a struct sl_graph.
 *
 *   struct sl_source *source;
 *   struct sl_graph *graph;
 *   sl_source_open_path(&source, "graph.mtx.gz", NULL, &err);
 *   sl_graph_read(&graph, NULL, source, &err);
 *   sl_source_close(source);
 *
 * A source is a sequence of bytes with a name for messages: a file, a descriptor or
 * memory. gzip and zstd are recognised by their first bytes and undone on the way,
 * several members one after the other included. Text is streamed: beside the graph
 * under construction (see sl_graph_builder) reading takes about half a megabyte.
 *
 * Formats
 *   mtx    MatrixMarket coordinate; real, integer, pattern; general, symmetric. Entry
 *          (i, j) is the edge from j's column to row i, as core/graph/graph.h stores it.
 *   edges  one edge a line: two nodes and, in all lines or none, a weight. Separated by
 *          tabs, commas, semicolons or spaces, whichever the first edge shows. Lines that
 *          start with # or % are comments. Fields may be "quoted", "" being a quote; node
 *          names hold no line break. The first line is a header, and skipped, when its
 *          third field is no number, when its first two are a usual pair of column names
 *          (source,target; from,to; ...), or when they are no numbers while those of the
 *          next line are.
 *          Undirected unless options say otherwise: a,b is entry (a, b) and (b, a);
 *          directed: row a, column b.
 *          When all nodes are whole numbers (0 or more, no leading zeros) they are ordered
 *          by number; if they are 0..n-1 without a gap they are plain indices, else (also
 *          for 1..n) the numbers become the nodes' names, so that results show them as the
 *          file did. Otherwise nodes are named, in the order in which they first appear.
 *   npz    scipy.sparse.save_npz of CSR, CSC or COO, compressed or not; entry (i, j) as mtx.
 *
 * Any thread; a source belongs to one thread at a time. */
#ifndef SL_READ_H
#define SL_READ_H

#include "core/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sources ------------------------------------------------------------ */

struct sl_source;

/* name appears in messages and its ending hints at the format; it is copied. NULL: the
 * last part of path. */
int sl_source_open_path(struct sl_source **out, const char *path, const char *name, struct sl_error *err);
/* Reads from the descriptor's present position (npz: from its start). Borrows fd. */
int sl_source_open_fd(struct sl_source **out, int fd, const char *name, struct sl_error *err);
/* Borrows the memory until the source is closed. */
int sl_source_open_memory(struct sl_source **out, const void *bytes, uint64_t size, const char *name,
			  struct sl_error *err);
void sl_source_close(struct sl_source *source);  /* NULL is fine */

/* ---- graphs ------------------------------------------------------------- */

enum sl_graph_format { SL_FORMAT_AUTO, SL_FORMAT_MTX, SL_FORMAT_EDGES, SL_FORMAT_NPZ };

/* "auto", "mtx", "edges", "npz" */
const char *sl_graph_format_name(enum sl_graph_format format);
/* SL_BADPARAM at /format if there is no such format. */
int sl_graph_format_parse(const char *name, enum sl_graph_format *out, struct sl_error *err);

/* All zero is a good start: recognise the format, undirected, no limits. With an account (core/account.h) memory and
 * disk are asked for, and compressed files that unfold to more than 256 times their size (and 64 MiB) are refused. */
struct sl_read_options {
	enum sl_graph_format format;  /* AUTO: by content, then by the source's name */
	bool directed;                /* edge lists only */
	uint64_t max_bytes;           /* after decompression; 0: no limit */
	uint64_t max_nodes;           /* 0: no limit but the index type's, 4294967280 */
	uint64_t max_entries;         /* of the graph, both directions of an edge counted, before merging; 0: none */
	bool few_isolated;            /* refuse files that declare many more nodes than their entries can reach */
	const char *temporary_folder; /* for what is decompressed to a file; NULL: as tmpfile(3) */
	const int *cancel;            /* another thread stores 1 here to stop: SL_CANCELLED; NULL: never */
};

/* Reads source from its present position to its end. options NULL: all defaults. Errors:
 * BADFORMAT (not a supported kind of file), BADDATA (malformed), BADGRAPH (not a graph:
 * not square, negative weight, no node, ...), TOOBIG, IO, NOMEM, CANCELLED; with the file
 * and, for text, the line. */
int sl_graph_read(struct sl_graph **out, const struct sl_read_options *options, struct sl_source *source,
		  struct sl_error *err);

/* What the last sl_graph_read from source recognised (or was told). */
enum sl_graph_format sl_source_format(const struct sl_source *source);

/* Gives the nodes of graph labels, replacing any it has; on error it keeps them. Of options
 * only max_bytes and cancel matter. Recognised by content:
 *   .npy integers or bool, shape (n) or (n, 1)    the numbers are the label names
 *   text, n lines                                 line i is the label of node i
 *   text, name<TAB or comma>label                 for graphs with names; nodes without a
 *                                                 line get the label "" */
int sl_graph_read_labels(struct sl_graph *graph, const struct sl_read_options *options,
			 struct sl_source *source, struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
