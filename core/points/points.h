/* points.h -- a table of points as the user gave it: n rows of d numbers.
 *
 * Readers (core/formats/read_points.h) make tables of points. core/neighbours/ searches each point's neighbours.
 * core/graph/affinities.h computes P for a perplexity from the neighbours.
 * A table is immutable, so any number of threads may read it.
 *
 * Readers count unusual input in sl_points_report or refuse it:
 *   row with NaN or infinity    error naming row and column; dropped and counted if the user asks for that.
 *                               Layouts place a dropped row apart, like an isolated node
 *   constant column             kept, counted
 *   constant row, zero row      kept; zero rows are counted. A zero row has no direction, so its cosine
 *                               distance from everything is 1
 *   duplicate rows              kept; distance 0 is a distance. Counted
 *   column far from 0           its centre is subtracted in double precision (core/formats/points/centre.h), and kept
 *                               with the points. Distances do not depend on it, unless they compare directions or
 *                               products (sl_points_uncentred())
 *   fewer than 2 rows           error */
#ifndef SL_POINTS_H
#define SL_POINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_taken;

/* The type of the values, in memory and on disk; readers convert all other types to float32. */
enum sl_points_type { SL_POINTS_F32, SL_POINTS_U8 };

struct sl_points_report {
	uint32_t not_finite;        /* rows dropped for a NaN or an infinity */
	uint32_t duplicates;        /* rows equal to an earlier one */
	uint32_t zero_rows;
	uint32_t constant_columns;
};

/* A projection on principal axes: y = axis' (x - mean). A sparse table may have a million columns, most of them empty,
 * which have no weight; only the others are kept then. */
struct sl_pca {
	uint32_t from, to;         /* columns before and after */
	uint32_t kept;             /* columns with weights; to <= kept <= from */
	double *mean;              /* [kept] */
	uint32_t *column;          /* [kept] their numbers, ascending; in the memory behind mean. NULL: all are kept */
	double *axis;              /* [kept][to]: weight of each column in each new coordinate */
};

/* A column of labels beyond the first. */
struct sl_more_labels {
	char title[64];
	uint32_t *label;           /* [n_user], labels and label_name: as in struct sl_graph; */
	uint32_t labels;
	char **label_name;
};

struct sl_points {
	uint32_t n, d;             /* usable rows, columns */
	uint32_t n_user;           /* rows of the user's table, dropped ones included */
	enum sl_points_type type;
	void *value;               /* [n][d], row by row */
	uint32_t *user;            /* [n] the user's row of each, ascending; NULL: n == n_user */
	char *name_bytes;          /* [n_user] names as in struct sl_graph, or NULL */
	uint64_t *name_at;
	uint32_t *label;           /* [n_user] or NULL, as in struct sl_graph */
	uint32_t labels;
	char **label_name;
	char label_title[64];      /* title of the column of labels, "": none; only set by readers */
	struct sl_more_labels *more;  /* [more_count]; only set by readers of text tables */
	uint32_t more_count;
	struct sl_points_report report;
	struct sl_taken *taken;    /* what a reader took of the user's file (core/taken/taken.h); NULL: of no file */
	double *center;            /* [center_columns] what was subtracted from each column of the user's table before a
				    * projection, 0 where nothing was; NULL: nothing was subtracted */
	uint32_t center_columns;   /* columns of the user's table, if there is a center */
	uint32_t merged;           /* rows that differ from all earlier ones in the file, but not in float32 */
	struct sl_pca *pca;        /* the projection that made the values from a wider table; NULL: not projected */
};

/* NULL is fine. */
void sl_points_destroy(struct sl_points *p);
/* Frees an array of them. NULL is fine. */
void sl_more_labels_free(struct sl_more_labels *more, uint32_t count);
uint64_t sl_points_bytes(const struct sl_points *p);

/* The part of center that belongs to the columns of p itself; NULL: none, or p was projected. */
const double *sl_points_own_center(const struct sl_points *p);
/* out[rows][d] = value + center, in the user's units. center: NULL counts as 0. */
void sl_points_add_center(const double *center, uint32_t rows, uint32_t d, const float *value, double *out);

/* Why a metric or method needs the columns' offsets. */
enum sl_offsets {
	SL_OFFSETS_VALUES,   /* it compares the values with 0: directions, products */
	SL_OFFSETS_ROWS,     /* a number added to all columns changes nothing: correlations */
	SL_OFFSETS_ZEROS,    /* it only asks which values are 0 */
	SL_OFFSETS_UNCHECKED = 4,  /* a flag: nothing is refused, since another table with this center was checked */
};
/* Points for a metric or method that depends on the columns' offsets; why: enum sl_offsets. *view: p itself if p has no
 * center, else a copy of rows, columns and values, in which the values have the center again. The caller ends it with
 * sl_points_uncentred_end(). metric: its name, for errors. SL_NOMEM; SL_BADDATA: a column lies so far from 0 that
 * float32 has too few steps for its spread; the error names the column and the remedy. */
int sl_points_uncentred(const struct sl_points **view, const struct sl_points *p, unsigned why,
			const char *metric, struct sl_error *err);
/* The refusal of SL_OFFSETS_VALUES alone, for those who ask before the points are needed. */
int sl_points_check_steps(const struct sl_points *p, const char *metric, struct sl_error *err);
void sl_points_uncentred_end(const struct sl_points *view, const struct sl_points *p);  /* view NULL is fine */

/* Rows from .. from + count - 1 as float32, out [count][d]. */
void sl_points_rows(const struct sl_points *p, uint32_t from, uint32_t count, float *out);

/* A power of two by which x[count] is multiplied before squares are summed in single precision: 1, unless squares of
 * numbers as large as the largest would overflow or vanish. Uses OpenMP. */
double sl_square_scale(const float *x, size_t count);

/* Moves rows of row_bytes from the order of usable rows to that of the user's rows, in place: `rows` holds [n] and has
 * room for [n_user]. The bytes of dropped rows become `fill`. */
void sl_points_spread(const struct sl_points *p, void *rows, size_t row_bytes, int fill);

/* Makes new points [n][to] (float32): p, centred and projected on its first `to` principal axes, which are eigenvectors
 * of the covariance matrix in double precision. The largest component of each axis is made positive, so signs are
 * fixed. *kept: the axes' share of the variance. to <= d and <= 2,048, to * d <= 2^26, else SL_BADPARAM at /pca.
 * cancel: as in struct sl_neighbours_params, or NULL. Uses OpenMP; the result does not depend on the number of threads.
 * Copies names and labels, and keeps mean and axes as (*out)->pca. The caller destroys *out. */
int sl_points_pca(struct sl_points **out, const struct sl_points *p, uint32_t to, double *kept, const int *cancel,
		  struct sl_error *err);

/* The sums over all points that sl_points_pca() needs, as an engine computes them (points_passes of struct sl_engine):
 * in double precision, always in the same order. Each function returns 0, SL_CANCELLED or another negative code with
 * err. They are called in this order: mean, then covariance once or apply several times, then project. */
struct sl_points_passes {
	void *arg;
	int (*mean)(void *arg, double *mean, struct sl_error *err);              /* [d] */
	int (*covariance)(void *arg, double *covariance, struct sl_error *err);  /* [d][d], times n */
	/* out[d][c] = X' X v, for v[d][c] and the centred points X; *total: the sum of squares of X */
	int (*apply)(void *arg, const double *v, uint32_t c, double *out, double *total, struct sl_error *err);
	int (*project)(void *arg, const struct sl_pca *pca, float *out, struct sl_error *err);  /* [n][pca->to] */
	void (*close)(void *arg);
};

/* The same as sl_points_pca(), up to rounding, with an engine's passes over p. The caller closes the passes. */
int sl_points_pca_by(struct sl_points **out, const struct sl_points *p, uint32_t to, double *kept, const int *cancel,
		     const struct sl_points_passes *passes, struct sl_error *err);

/* out [p->n][axes]: the coordinates of the points along their first principal axes, roughly, for initial layouts; 0
 * beyond the columns, and if the points are too far apart for floats. The axes are those of a sample of 10,000 rows, or
 * fewer if they have thousands of columns. 0, SL_NOMEM, SL_CANCELLED, SL_INTERNAL. */
int sl_points_axes(float *out, uint32_t axes, const struct sl_points *p, const int *cancel, struct sl_error *err);

/* Room for a projection, all zeros; NULL: no memory. kept < from: with numbers of columns. */
struct sl_pca *sl_pca_create(uint32_t from, uint32_t kept, uint32_t to);
/* NULL is fine. */
void sl_pca_destroy(struct sl_pca *pca);
uint64_t sl_pca_bytes(const struct sl_pca *pca);
/* Makes new points [n][pca->to] (float32) from points p with the columns of the original table, centred and projected
 * with the same mean and axes. The original points give the bytes of sl_points_pca() again (those of
 * sl_points_pca_by() up to rounding). Copies names and labels. Uses OpenMP. The caller destroys *out. SL_BADDATA: other
 * columns, or values that are too large. */
int sl_pca_apply(struct sl_points **out, const struct sl_pca *pca, const struct sl_points *p, struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
