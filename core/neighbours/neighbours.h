/* neighbours.h -- the k nearest neighbours of each point.
 *
 * They are searched once per table of points and metric, and give P for every perplexity up to k / 3
 * (core/graph/affinities.h). On the CPU a search compares all pairs (exact.c) or, if that costs too much and the
 * requested recall is below 1, only pairs in nearby cells (inverted.c); engines with a device may bring their own
 * search (struct sl_engine, neighbours_find). Immutable once made. */
#ifndef SL_NEIGHBOURS_H
#define SL_NEIGHBOURS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

struct sl_points;

#ifdef __cplusplus
extern "C" {
#endif

/* Distances: euclidean |x - y|; cosine 1 - cos; inner: largest product - product (>= 0, see below);
 * l1, linf; lp with exponent `p`; correlation: cosine of rows without their means; hamming: the share of coordinates
 * that differ; jaccard: of those that are not zero in either row, the share that are in one alone. The last three are
 * searched exactly, and not by every engine. */
enum sl_distance { SL_EUCLIDEAN, SL_COSINE, SL_INNER_PRODUCT, SL_L1, SL_LP, SL_LINF, SL_CORRELATION, SL_HAMMING,
		   SL_JACCARD };
#define SL_DISTANCES (SL_JACCARD + 1)
/* Does it compare directions? Rows without one are then at distance 1 from everything. */
#define SL_DISTANCE_OF_DIRECTIONS(metric) ((metric) == SL_COSINE || (metric) == SL_CORRELATION)

/* The recall wanted unless the user says otherwise: where all pairs cost too much, one neighbour in a hundred may be
 * missed. */
#define SL_NEIGHBOURS_RECALL 0.99

struct sl_neighbours_params {
	uint32_t k;              /* neighbours a point, itself not counted; at most n - 1 are found */
	int metric;              /* enum sl_distance */
	double p;                /* exponent of SL_LP, 1 to 16 */
	double recall;           /* wanted; 1: exact search */
	const int *cancel;       /* another thread stores 1 here to stop: SL_CANCELLED; NULL: never */
	/* how far, 0 .. 1; may be NULL; called on the searching thread */
	void (*progress)(void *arg, double share);
	void *arg;
};

/* In the place of an index: this row, and the rest of it, has no more neighbours; the distance is infinite. */
#define SL_NO_NEIGHBOUR UINT32_MAX

/* Row i has its neighbours by ascending distance (ties: ascending index), never i itself. Inner products are turned
 * into distances by subtracting them from the row's largest. Neighbours that were given, as a sparse matrix of
 * distances, may be fewer than k in some rows (short_rows > 0); those that were found never are. */
struct sl_neighbours {
	uint32_t n, k;           /* points (usable ones); neighbours a row, the same for all */
	uint32_t n_user;         /* rows of the user's table */
	uint32_t *user;          /* [n] the user's row of each, or NULL: n == n_user */
	uint32_t *index;         /* [n][k] */
	float *distance;         /* [n][k] */
	uint32_t short_rows;     /* rows that end in SL_NO_NEIGHBOUR */
	int metric;
	double p;
	double recall;           /* estimated on a sample; 1: exact */
	char method[32];         /* "exact", "ivf", "given"; engines may add their own */
};

/* "euclidean", "cosine", "inner_product", "l1", "lp", "linf", "correlation", "hamming", "jaccard" */
const char *sl_distance_name(int metric);
/* Names of scikit-learn and SciPy for these will do, too. SL_BADPARAM at /metric if there is none of that name. */
int sl_distance_parse(const char *name, int *out, struct sl_error *err);

/* What find refuses: fewer than 2 points, k = 0, an unknown metric, an exponent or recall out of range. Engines'
 * neighbours_find should ask it first. err->pointer is "/neighbours", "/metric", "/p" or "/recall". */
int sl_neighbours_check(const struct sl_points *p, const struct sl_neighbours_params *params, struct sl_error *err);

/* Any thread; uses OpenMP. Deterministic for the same number of threads or any other. */
int sl_neighbours_find(struct sl_neighbours **out, const struct sl_points *p, const struct sl_neighbours_params *params,
		       struct sl_error *err);
/* The k nearest of `points` to each of `queries`, which are others: row i is of query i, its indices are of points, and
 * user is NULL. Exact. Rows of zeros in points are not found by cosine; a query of zeros finds the first k. SL_BADDATA
 * when the columns do not agree, or a query is too far from all points for floats. */
int sl_neighbours_query(struct sl_neighbours **out, const struct sl_points *points, const struct sl_points *queries,
			const struct sl_neighbours_params *params, struct sl_error *err);
/* NULL is fine. */
void sl_neighbours_destroy(struct sl_neighbours *nb);
uint64_t sl_neighbours_bytes(const struct sl_neighbours *nb);
/* out [n_user]: how many points have each among their neighbours; NaN: the row was dropped. */
void sl_neighbours_degrees(const struct sl_neighbours *nb, float *out);

#ifdef __cplusplus
}
#endif
#endif
