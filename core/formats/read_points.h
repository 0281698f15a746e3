/* read_points.h -- from a file that somebody wrote to points, to neighbours, or to whatever it holds.
 *
 *   struct sl_input input;
 *   sl_source_open_path(&source, "cells.npy", NULL, &err);
 *   sl_input_read(&input, NULL, source, &err);          a graph, points or neighbours, as recognised
 *   sl_source_close(source);
 *   ... input.points ...
 *   sl_input_finish(&input);
 *
 * Sources as in core/formats/read.h; gzip and zstd are undone on the way. Values go straight into the table of
 * points: beside it, reading takes some hundred kilobytes.
 *
 * Points
 *   npy    shape (n, d), or (n) as d = 1; bool, integers and floats of any size, C or Fortran order. uint8 stays
 *          uint8, all else becomes float32. Big-endian is read as well.
 *   npz    numpy.savez: the array named x, X, data or points, or the only one of two dimensions. An array of strings
 *          or integers named names (labels, y), one for each row, gives the rows their names (labels).
 *   text   one point a line, its numbers separated by tabs, commas, semicolons or spaces, whichever the first line
 *          shows; "quoted" fields; lines that start with # are comments. The first line is a header when it has a
 *          field that is no number in a column that holds numbers below. Columns that hold words are not coordinates:
 *          one called name or id (or the first whose words all differ) names the points, the others are labels. The
 *          points' own label is that of the column called label, labels, class, target, group, cluster or category, or
 *          of the last; the others are in `more` of struct sl_points. Beyond 65,534 different words they are left out.
 *          Empty fields, NA, NaN and null are not-a-number, and so are no coordinates.
 *
 *   sparse a matrix of scipy.sparse.save_npz or MatrixMarket that is not square, or said to be points: counts of single
 *          cells, for example. Projected on options->pca axes without being made dense, else made dense.
 *
 * Neighbours
 *   npz    numpy.savez(indices=, distances=): both [n][k]; or scipy.sparse.save_npz of a distance matrix, entry (i, j)
 *          being the distance from i to j (scikit-learn's kneighbors_graph, mode="distance")
 *   mtx    a distance matrix in MatrixMarket format
 *          Rows are sorted by distance; a point is no neighbour of itself. Indices of -1 mean none. Rows
 *          of a matrix keep their nearest, when they are many times longer than the mean row.
 *
 * Any thread; a source belongs to one thread at a time. */
#ifndef SL_READ_POINTS_H
#define SL_READ_POINTS_H

#include "core/formats/read.h"
#include "core/neighbours/neighbours.h"
#include "core/points/points.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a file is taken for. AUTO: a sparse matrix (mtx, npz) and a list of edges are graphs; two arrays indices and
 * distances are neighbours; other arrays are points; a text is a table of points when it has four columns or more, or
 * a number with a decimal point among the first two of its first line of numbers. */
enum sl_input_kind { SL_INPUT_AUTO, SL_INPUT_GRAPH, SL_INPUT_POINTS, SL_INPUT_NEIGHBOURS };

/* "auto", "graph", "points", "neighbours" */
const char *sl_input_kind_name(enum sl_input_kind kind);
/* SL_BADPARAM at /kind if there is none of that name. */
int sl_input_kind_parse(const char *name, enum sl_input_kind *out, struct sl_error *err);

/* What the values of a square sparse matrix are. AUTO: similarities, and what looks like distances is refused:
 * SL_BADGRAPH at /values. */
enum sl_input_values { SL_VALUES_AUTO, SL_VALUES_SIMILARITIES, SL_VALUES_DISTANCES };

/* All zero is a good start. */
struct sl_input_options {
	enum sl_input_kind kind;
	enum sl_input_values values; /* DISTANCES: kind NEIGHBOURS */
	/* Graphs: all of it. Others: max_bytes and cancel; max_nodes bounds the points; max_entries, if not 0, the
	 * values of the table (n * d), or the distances. */
	struct sl_read_options read;
	uint32_t pca;                /* sparse points are projected on so many axes (core/points/sparse.h); 0: made dense */
	bool drop_not_finite;        /* points: leave out rows with NaN or infinity, instead of refusing the file */
	bool new_points;             /* for a layout that is there: one is no error, and none can be left out */
	const char *name_column;     /* texts: its title or its number, from 1; NULL: as recognised; "": none */
	const char *label_column;    /* several, with commas between them; other columns of words are left out then */
	const char *ignore_columns;  /* several, with commas between them, "words": all others that hold words; or NULL */
};

/* "auto", "mtx", "edges", "npz", "npy" or "csv" (any text of numbers) into kind and read.format, which are as before if
 * it is not one of these (SL_BADPARAM at /format) or does not fit the kind that is there already. */
int sl_input_format_parse(const char *name, struct sl_input_options *options, struct sl_error *err);

/* One of the three, the caller's to finish. */
struct sl_input {
	enum sl_input_kind kind;
	struct sl_graph *graph;
	struct sl_points *points;
	struct sl_neighbours *neighbours;
	double pca_kept;             /* sparse points, projected: the share of the variance that is left */
};

/* Reads source from its present position to its end. options NULL: all defaults. Errors as of sl_graph_read. */
int sl_input_read(struct sl_input *out, const struct sl_input_options *options, struct sl_source *source,
		  struct sl_error *err);
void sl_input_finish(struct sl_input *input);

/* The same for points only, whatever options->kind says. */
int sl_points_read(struct sl_points **out, const struct sl_input_options *options, struct sl_source *source,
		   struct sl_error *err);

/* Labels for the rows of the user's table (n_user of them), as sl_graph_read_labels does for graphs. */
int sl_points_read_labels(struct sl_points *points, const struct sl_read_options *options, struct sl_source *source,
			  struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
