/* neighbours.h -- the k nearest neighbours of each point.
 *
 * One search for a table of points and a metric gives P for every perplexity up to k / 3 (core/graph/affinities.h). On
 * the CPU a search compares all pairs (exact.c). If that costs too much and the requested recall is below 1, it
 * compares only pairs in nearby cells (inverted.c: an inverted file; Jegou, Douze, Schmid, IEEE TPAMI 33, 2011).
 * Engines with a device may have a search of their own (struct sl_engine, neighbours_find). The result is immutable. */
#ifndef SL_NEIGHBOURS_H
#define SL_NEIGHBOURS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

struct sl_points;

#ifdef __cplusplus
extern "C" {
#endif

struct sl_taken;

/* Distances of rows x and y:
 *   euclidean     |x - y|
 *   cosine        1 - cos(x, y)
 *   inner         largest inner product of the row - inner product, >= 0 (see struct sl_neighbours)
 *   l1, lp, linf  norms of x - y; lp with exponent `p`
 *   correlation   the cosine distance of x - mean(x) and y - mean(y)
 *   hamming       share of the coordinates that differ
 *   jaccard       of the coordinates that are not zero in x or y, the share that are zero in one of them
 * The last three are always searched exactly, and not by every engine. */
enum sl_distance { SL_EUCLIDEAN, SL_COSINE, SL_INNER_PRODUCT, SL_L1, SL_LP, SL_LINF, SL_CORRELATION, SL_HAMMING,
		   SL_JACCARD };
#define SL_DISTANCES (SL_JACCARD + 1)
/* True if the metric compares directions. Rows without a direction then have distance 1 from everything. */
#define SL_DISTANCE_OF_DIRECTIONS(metric) ((metric) == SL_COSINE || (metric) == SL_CORRELATION)

/* The default of the requested recall: if comparing all pairs costs too much, the search may miss one neighbour in a
 * hundred. */
#define SL_NEIGHBOURS_RECALL 0.99

struct sl_neighbours_params {
	uint32_t k;              /* neighbours of each point, the point itself not counted; at most n - 1 are found */
	int metric;              /* enum sl_distance */
	double p;                /* exponent of SL_LP, 1 to 16 */
	double recall;           /* the recall that the search must reach; 1: exact search */
	int gpus;                /* so many GPUs of an engine search together, from `index` on; 0: one */
	const int *cancel;       /* another thread stores 1 here to end the search with SL_CANCELLED; NULL: never */
	/* reports the share of the work that is done, 0 .. 1, on the searching thread; may be NULL */
	void (*progress)(void *arg, double share);
	void *arg;
};

/* The most principal axes that neighbours know of their points: one for each dimension of a layout. */
#define SL_AXES 3

/* In place of an index: the row has no neighbour here nor further on; the distances are infinite. */
#define SL_NO_NEIGHBOUR UINT32_MAX

/* Row i holds the neighbours of point i by ascending distance (ties: ascending index), never i itself. Inner products
 * become distances by subtracting each from the row's largest. If the user gave the neighbours as a sparse matrix of
 * distances, some rows may have fewer than k (short_rows > 0); a search always finds k. */
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
	/* [n][SL_AXES] coordinates of the points along their first principal axes, for initial layouts (core/init/init.h);
	 * 0 beyond the columns. NULL: not known, as when the user gave the neighbours. */
	float *axes;
	struct sl_taken *taken;  /* what a reader took of a file of neighbours (core/taken/taken.h), or NULL */
};

/* "euclidean", "cosine", "inner_product", "l1", "lp", "linf", "correlation", "hamming", "jaccard" */
const char *sl_distance_name(int metric);
/* Also accepts the names that scikit-learn and SciPy use for these metrics. SL_BADPARAM at /metric: no such metric. */
int sl_distance_parse(const char *name, int *out, struct sl_error *err);

/* Points as the metric needs them: those of sl_points_uncentred() if it depends on the columns' offsets, else p itself.
 * sl_neighbours_find() and _query() use them by themselves; callers of an engine's neighbours_find make them first. The
 * caller ends *view with sl_points_uncentred_end(). SL_BADDATA, SL_NOMEM. */
int sl_distance_points(const struct sl_points **view, const struct sl_points *p, int metric, struct sl_error *err);

/* Refuses fewer than 2 points, k = 0, an unknown metric, and an exponent or recall out of range: SL_BADPARAM with
 * err->pointer "/neighbours", "/metric", "/p" or "/recall". The searches below call it; a caller of an engine's
 * neighbours_find calls it first. */
int sl_neighbours_check(const struct sl_points *p, const struct sl_neighbours_params *params, struct sl_error *err);

/* Searches; the caller destroys *out. Any thread; uses OpenMP; the result does not depend on the number of threads. */
int sl_neighbours_find(struct sl_neighbours **out, const struct sl_points *p, const struct sl_neighbours_params *params,
		       struct sl_error *err);
/* Finds the k nearest of `points` to each of `queries`, another table: row i belongs to query i, its indices are rows
 * of `points`, and user is NULL. The search is exact. Cosine distances never find rows of zeros in `points`; a query of
 * zeros finds the first k points. SL_BADDATA: the columns do not agree, or a query is too far from all points for
 * floats. */
int sl_neighbours_query(struct sl_neighbours **out, const struct sl_points *points, const struct sl_points *queries,
			const struct sl_neighbours_params *params, struct sl_error *err);
/* NULL is fine. */
void sl_neighbours_destroy(struct sl_neighbours *nb);
uint64_t sl_neighbours_bytes(const struct sl_neighbours *nb);
/* Adds to the neighbours of p, which have none yet, the axes of p. SL_NOMEM, SL_CANCELLED, SL_INTERNAL. */
int sl_neighbours_axes(struct sl_neighbours *nb, const struct sl_points *p, const int *cancel, struct sl_error *err);
/* The axes in the user's order, [n_user][SL_AXES], 0 for dropped rows; the caller frees them. NULL: no axes, or no
 * memory (then *failed is true). */
float *sl_neighbours_axes_of_users(const struct sl_neighbours *nb, bool *failed);
/* out [n_user]: for each point, how many others have it among their neighbours; NaN: the row was dropped. */
void sl_neighbours_degrees(const struct sl_neighbours *nb, float *out);

#ifdef __cplusplus
}
#endif
#endif
