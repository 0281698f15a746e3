/* transform.h -- placing new points in a finished layout.
 *
 * The old points do not move, and new points do not interact: each finds its neighbours
 * among the old ones, starts at their median, and descends to where its own divergence
 *     KL(p_i || q_i),  q_j|i = q~_ij / Z_i,  Z_i = sum_j q~_ij over the old points
 * is small; p_j|i is calibrated to a perplexity. The potential of the old points is computed once
 * (core/cpu/field.h), so apart from the search the cost of a new point does not depend on their number. As in
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
	int neighbours;          /* that the start is the median of */
	int start;               /* enum sl_transform_start; MEAN: weighted by p_j|i */
	int iterations;          /* 0: they stay at the start */
	double learning_rate;    /* on a gradient whose p_j|i sum to 1 */
	double momentum;
	double exaggeration;     /* of the attraction; > 1 draws them closer to their neighbours */
	/* the layout's */
	int metric;              /* enum sl_distance */
	double p;                /* of SL_LP */
	double dof;              /* 0 stands for 1 */
	const int *cancel;       /* or NULL, as in sl_neighbours_params */
};

extern const struct sl_param_table sl_transform_table;

/* Those of the table; euclidean, dof 1. */
void sl_transform_defaults(struct sl_transform_params *params);

/* Would fresh be projected on the principal axes of points first? It has as many columns as the table that points are
 * the projection of (with as many axes as columns, new tables count as not projected yet). */
bool sl_transform_projects(const struct sl_points *points, const struct sl_points *fresh);

/* y [points->n_user * dims]: the layout of points, in the user's order. out [fresh->n_user * dims]; rows of fresh that
 * are not usable become NaN. Of points that were projected (points->pca), fresh has the columns of either before or
 * after. Any thread; uses OpenMP; the result does not depend on their number, nor on what other points are new.
 * SL_BADDATA: other columns, rows too far away; SL_BADPARAM: parameters, y that is not finite. */
int sl_transform(const struct sl_points *points, const struct sl_points *fresh, int dims, const float *y,
		 const struct sl_transform_params *params, float *out, struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
