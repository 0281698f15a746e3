/* points.h -- a table of points as the user gave it: n rows of d numbers.
 *
 * Readers (core/formats/read_points.h) make tables of points, core/neighbours/ searches each point's neighbours,
 * core/graph/affinities.h computes P from these for a perplexity.
 * Immutable once made, so any number of threads may read them.
 *
 * What readers do with odd input (counted in sl_points_report, never silent):
 *   row with NaN or infinity    error naming row and column, or dropped and counted if asked for;
 *                               a dropped row is placed apart in layouts, as an isolated node is
 *   constant column             kept, counted
 *   constant row, zero row      kept; zero rows are counted (cosine cannot tell their direction:
 *                               they are at distance 1 from everything)
 *   duplicate rows              kept; distance 0 is a distance. Counted
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

/* As kept in memory and on disk; readers turn all other types into float32. */
enum sl_points_type { SL_POINTS_F32, SL_POINTS_U8 };

struct sl_points_report {
	uint32_t not_finite;        /* rows dropped for a NaN or an infinity */
	uint32_t duplicates;        /* rows equal to an earlier one */
	uint32_t zero_rows;
	uint32_t constant_columns;
};

/* What points were projected with: y = axis' (x - mean). */
struct sl_pca {
	uint32_t from, to;         /* columns before and after; to <= from */
	double *mean;              /* [from] */
	double *axis;              /* [from][to]: what a column adds to each coordinate */
};

/* A column of labels beyond the first. */
struct sl_more_labels {
	char title[64];
	uint32_t *label;           /* [n_user] index into label_name */
	uint32_t labels;
	char **label_name;         /* [labels] */
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
	char label_title[64];      /* of the table's column, "": it has none; of points that were just read */
	struct sl_more_labels *more;  /* [more_count]; only of points that were just read from a table of text */
	uint32_t more_count;
	struct sl_points_report report;
	struct sl_pca *pca;        /* what made the values of those of a wider table; NULL: nothing */
};

/* NULL is fine. */
void sl_points_destroy(struct sl_points *p);
/* Frees an array of them. NULL is fine. */
void sl_more_labels_free(struct sl_more_labels *more, uint32_t count);
uint64_t sl_points_bytes(const struct sl_points *p);

/* Rows from .. from + count - 1 as float32, out [count][d]. */
void sl_points_rows(const struct sl_points *p, uint32_t from, uint32_t count, float *out);

/* Rows of row_bytes, [n] in an array with room for [n_user], to their places among the user's rows; where a row was
 * dropped, each byte becomes `fill`. */
void sl_points_spread(const struct sl_points *p, void *rows, size_t row_bytes, int fill);

/* New points [n][to] (float32): centred and projected on the first `to` principal axes, which come from the
 * covariance matrix in double precision; signs are fixed (each axis' largest component is positive). *kept: the
 * share of the variance that the axes hold. to <= d and <= 2,048, to * d <= 2^26, else SL_BADPARAM at /pca. cancel: as
 * in struct sl_neighbours_params, or NULL. Uses OpenMP; the result does not depend on the number of threads.
 * Names and labels are copied; mean and axes are kept as (*out)->pca. */
int sl_points_pca(struct sl_points **out, const struct sl_points *p, uint32_t to, double *kept, const int *cancel,
		  struct sl_error *err);

/* What sl_points_pca() needs of all points: done where it is fast, by an engine (points_passes of struct
 * sl_engine). All sums in double precision, in the same order each time. Each returns 0 or a negative code with
 * err; one that is cancelled, SL_CANCELLED. In this order: mean, covariance or some times apply, project. */
struct sl_points_passes {
	void *arg;
	int (*mean)(void *arg, double *mean, struct sl_error *err);              /* [d] */
	int (*covariance)(void *arg, double *covariance, struct sl_error *err);  /* [d][d], times n */
	/* out[d][c] = X' X v, for v[d][c] and the centred points X; *total: the sum of squares of X */
	int (*apply)(void *arg, const double *v, uint32_t c, double *out, double *total, struct sl_error *err);
	int (*project)(void *arg, const struct sl_pca *pca, float *out, struct sl_error *err);  /* [n][pca->to] */
	void (*close)(void *arg);
};

/* The same as sl_points_pca(), within the rounding of sums, by an engine's passes over p. The caller closes them. */
int sl_points_pca_by(struct sl_points **out, const struct sl_points *p, uint32_t to, double *kept, const int *cancel,
		     const struct sl_points_passes *passes, struct sl_error *err);

/* Room for a projection, all zeros; NULL: no memory. */
struct sl_pca *sl_pca_create(uint32_t from, uint32_t to);
/* NULL is fine. */
void sl_pca_destroy(struct sl_pca *pca);
uint64_t sl_pca_bytes(const struct sl_pca *pca);
/* New points [n][pca->to] (float32): others of the same columns, centred and projected like those that the axes are
 * of, which themselves come out as sl_points_pca() made them, to the bit (sl_points_pca_by(): within rounding). Names
 * and labels are copied. Uses OpenMP.
 * SL_BADDATA: other columns, or values that are too large. */
int sl_pca_apply(struct sl_points **out, const struct sl_pca *pca, const struct sl_points *p, struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
