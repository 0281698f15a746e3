/* read_points.h -- reads files of users into points or neighbours, or into the kind that the file holds.
 *
 *   struct sl_input input;
 *   sl_source_open_path(&source, "cells.npy", NULL, &err);
 *   sl_input_read(&input, NULL, source, &err);          recognises a graph, points or neighbours
 *   sl_source_close(source);
 *   ... input.points ...
 *   sl_input_finish(&input);
 *
 * For sources see core/formats/read.h; gzip and zstd are decompressed while reading. Values go directly into the table
 * of points; reading takes some hundred kilobytes beside it.
 *
 * Points
 *   npy    shape (n, d), or (n) as d = 1; bool, integers and floats of any size and byte order, C or Fortran order.
 *          uint8 stays uint8, all other types become float32. From columns that lie far from 0 a center is
 *          subtracted before (center of struct sl_points).
 *   npz    numpy.savez: the array named x, X, data or points, or the only one of two dimensions. An array of strings
 *          or integers named names (labels, y), one for each row, gives the rows their names (labels).
 *   text   one point a line; the first lines show whether tabs, commas, semicolons or spaces separate the fields.
 *          Fields may be "quoted"; lines end by a line feed, a carriage return, or both. Lines that begin with # or %
 *          are comments if they are above the first row, or if they have another number of fields than the rows. The
 *          first line is a header if it has a field that is no number in a column that holds numbers below. Columns
 *          that hold words are not coordinates: one called name or id (or the first whose words all differ) names the
 *          points, the others are labels. The column called label, labels, class, target, group, cluster or category,
 *          else the last one, becomes the points' `label`; the others become `more` of struct sl_points. A column of
 *          more than 65,534 different words is left out. A column that counts the rows from 0 or 1 is a numbering: it
 *          names the points if no other does. Numbers may be formatted (12%, $45,000, 1.234,5); all of a column are of
 *          one form, else its values are words. Empty fields, NA, NaN, null and the like, and errors of spreadsheets
 *          (#N/A) are read as NaN. `taken` of the points says all that.
 *
 *   sparse a matrix of scipy.sparse.save_npz or MatrixMarket that is not square, or that options declare to be points:
 *          counts of single cells, for example. With options->pca it is projected without being made dense; otherwise
 *          it is made dense.
 *
 * Neighbours
 *   npz    numpy.savez(indices=, distances=): both [n][k]; or scipy.sparse.save_npz of a distance matrix, entry (i, j)
 *          being the distance from i to j (scikit-learn's kneighbors_graph, mode="distance")
 *   mtx    a distance matrix in MatrixMarket format
 *          Rows are sorted by distance; a point is no neighbour of itself. An index of -1 means no neighbour. A row of
 *          a matrix that is many times longer than the mean row is cut to its nearest entries.
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

/* The kind of input that a file holds. AUTO: sparse matrices (mtx, npz) and lists of edges are graphs; two arrays
 * called indices and distances are neighbours; other arrays are points. For texts, titles decide:
 * those of two ends (source, target; ...) are of edges, others of a table. Without titles, a text is a table if it has
 * four columns or more, or numbers with decimals or below 0 in its first two columns. `taken` has the reason. */
enum sl_input_kind { SL_INPUT_AUTO, SL_INPUT_GRAPH, SL_INPUT_POINTS, SL_INPUT_NEIGHBOURS };

/* "auto", "graph", "points", "neighbours" */
const char *sl_input_kind_name(enum sl_input_kind kind);
/* SL_BADPARAM at /kind if there is none of that name. */
int sl_input_kind_parse(const char *name, enum sl_input_kind *out, struct sl_error *err);

/* The meaning of the values of a square sparse matrix. AUTO: similarities; values that look like distances are refused
 * with SL_BADGRAPH at /values. */
enum sl_input_values { SL_VALUES_AUTO, SL_VALUES_SIMILARITIES, SL_VALUES_DISTANCES };

/* Whether the columns of a table are the points. AUTO: no, but yes for matrices of Cell Ranger, which have genes in
 * rows and cells in columns. */
enum sl_transpose { SL_TRANSPOSE_AUTO, SL_TRANSPOSE_NO, SL_TRANSPOSE_YES };

/* The format of a table that options name; another one is refused. */
enum sl_table_format { SL_TABLE_ANY, SL_TABLE_NPY, SL_TABLE_CSV };

/* All zero stands for the defaults. */
struct sl_input_options {
	enum sl_input_kind kind;
	enum sl_input_values values; /* DISTANCES: kind NEIGHBOURS */
	/* For graphs all fields apply. For other kinds: max_bytes and cancel; max_nodes limits the points; max_entries, if
	 * not 0, limits the values of the table (n * d) or the number of distances. */
	struct sl_read_options read;
	enum sl_table_format table;
	uint32_t pca;                /* sparse points are projected on so many axes (core/points/sparse.h); 0: made dense */
	enum sl_transpose transpose; /* points: of arrays, sparse matrices and texts */
	bool drop_not_finite;        /* points: leave out rows with NaN or infinity, instead of refusing the file */
	bool new_points;             /* points for an existing layout: a single one is allowed, and no row is left out */
	/* With new_points: the center of the table that they are compared with (struct sl_points), borrowed. It is
	 * subtracted from tables of so many columns, and nothing from others. */
	const double *center;
	uint32_t center_columns;
	/* With new_points: what was taken of the file of that table, borrowed, or NULL. The columns of a text get the same
	 * roles, unless options name columns. */
	const struct sl_taken *as;
	uint32_t axes;               /* with `as`: the number of columns they may also have, after a projection; 0: none */
	/* Columns of a text table, by title or by number from 1: */
	const char *name_column;     /* NULL: recognised; "": none */
	const char *label_column;    /* several, separated by commas; then other columns of words are left out */
	const char *ignore_columns;  /* several, separated by commas; "words": all others that hold words; or NULL */
	const char *keep_columns;    /* coordinates although they count the rows or have titles of names or labels: several,
				      * separated by commas; "all": all that hold numbers; or NULL */
	char decimal;                /* '.' or ',': the mark of decimals in formatted numbers; 0: recognised */
};

/* Sets kind and read.format from "auto", "mtx", "edges", "npz", "npy" or "csv" (any text of numbers). SL_BADPARAM at
 * /format: another name, or a format that does not fit the present kind; options are then unchanged. */
int sl_input_format_parse(const char *name, struct sl_input_options *options, struct sl_error *err);

/* One of graph, points and neighbours, by kind; the others are NULL. The caller calls sl_input_finish(). */
struct sl_input {
	enum sl_input_kind kind;
	struct sl_graph *graph;
	struct sl_points *points;
	struct sl_neighbours *neighbours;
	char format[8];              /* of the file: npy, npz, mtx, edges, or csv for any other text */
	double pca_kept;             /* projected sparse points: the share of the variance that the axes keep */
};

/* Reads source from its present position to its end. options NULL: all defaults. Errors: see sl_graph_read(). */
int sl_input_read(struct sl_input *out, const struct sl_input_options *options, struct sl_source *source,
		  struct sl_error *err);
void sl_input_finish(struct sl_input *input);

/* The same for points only, whatever options->kind says. */
int sl_points_read(struct sl_points **out, const struct sl_input_options *options, struct sl_source *source,
		   struct sl_error *err);

/* Reads labels for the n_user rows of the user's table, as sl_graph_read_labels() does for graphs. */
int sl_points_read_labels(struct sl_points *points, const struct sl_read_options *options, struct sl_source *source,
			  struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
