/* transform.h -- placing new points in a finished layout.
 *
 * The old points do not move, and new points do not interact: each finds its neighbours among the old ones, starts at
 * their median, and descends to where its own divergence
 *     KL(p_i || q_i),  q_j|i = q~_ij / Z_i,  Z_i = sum_j q~_ij over the old points
 * is small; p_j|i is calibrated to a perplexity. The potential of the old points is computed once (core/cpu/field.h).
 * So the cost of a new point, apart from the search, does not depend on the number of old points. The method is that of
 * Policar, Strazar, Zupan, Machine Learning 112, 2023 (openTSNE). */
#ifndef SL_TRANSFORM_H
#define SL_TRANSFORM_H

#include <stdbool.h>

#include "core/neighbours/neighbours.h"
#include "core/param_table.h"
#include "core/points/points.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sl_transform_start { SL_START_MEDIAN, SL_START_MEAN };

struct sl_transform_params {
	/* in sl_transform_table, which has their ranges and defaults */
	double perplexity;       /* of the new points: 3 * perplexity neighbours each */
	int neighbours;          /* number of neighbours whose median is the start */
	int start;               /* enum sl_transform_start; MEAN: the mean, weighted by p_j|i */
	int iterations;          /* 0: new points stay at the start */
	double learning_rate;    /* for a gradient whose p_j|i sum to 1 */
	double momentum;
	double exaggeration;     /* factor of the attraction; > 1 moves new points closer to their neighbours */
	/* the layout's */
	int metric;              /* enum sl_distance */
	double p;                /* of SL_LP */
	double dof;              /* 0 stands for 1 */
	const int *cancel;       /* or NULL, as in sl_neighbours_params */
};

extern const struct sl_param_table sl_transform_table;

/* Sets the defaults of the table; euclidean, dof 1. */
void sl_transform_defaults(struct sl_transform_params *params);

/* True if sl_transform() will project `fresh` on the principal axes of `points` first: if it has as many columns as the
 * table had before the projection of `points`. (If that projection has as many axes as columns, fresh counts as not
 * projected.) */
bool sl_transform_projects(const struct sl_points *points, const struct sl_points *fresh);

/* Places `fresh` in the layout y [points->n_user * dims] of `points`, in the user's order. out [fresh->n_user * dims];
 * unusable rows of fresh become NaN. If points were projected (points->pca), fresh has the columns before or after the
 * projection. Any thread; uses OpenMP. The place of a new point depends neither on the number of threads nor on the
 * other new points. SL_BADDATA: other columns, or rows too far away; SL_BADPARAM: parameters, or y is not finite. */
int sl_transform(const struct sl_points *points, const struct sl_points *fresh, int dims, const float *y,
		 const struct sl_transform_params *params, float *out, struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
