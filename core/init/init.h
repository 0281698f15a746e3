/* init.h -- initial layouts.
 *
 *   random     Gaussian, a function of (seed, the user's node, dimension) alone
 *   given      the user's, or an earlier job's
 *   pca        points: their coordinates along the first principal axes
 *   spectral   the slowest modes of the random walk on P (spectral.h)
 *
 * All are centred and scaled so that the root mean square over all coordinates is init_std (given ones only if that
 * is not 0), and pca and spectral get Gaussian noise of a hundredth of that: otherwise equal points
 * would never separate, since equal positions feel equal forces. The seed changes only this noise in them. */
#ifndef SL_INIT_H
#define SL_INIT_H

#include "core/engine/engine.h"
#include "core/init/spectral.h"
#include "core/points/points.h"

struct sl_params;
struct sl_affinities;

#ifdef __cplusplus
extern "C" {
#endif

/* y [a->n * dims] in the engine's order. */
void sl_init_random(const struct sl_params *params, const struct sl_affinities *a, float *y);

/* Is sl_init_pca() due before the embedding is created? */
bool sl_init_wants_pca(const struct sl_params *params, bool points);

/* From init [a->n_user * dims], the user's order: given or pca, by params->init. Checks it; NULL is an error that says
 * what is missing. */
int sl_init_given(const struct sl_params *params, const struct sl_affinities *a, const float *init, float *y,
		  struct sl_error *err);

/* The coordinates of points along their first `dims` principal axes, out [p->n_user * dims], for sl_init_given(). Rows
 * that were dropped, and axes beyond the points' columns, are 0. */
int sl_init_pca(const struct sl_points *p, int dims, float *out, struct sl_error *err);

/* Starts a spectral layout, by the engine's own products where it has them, else on the host's P. Borrows graph and a
 * until sl_spectral_destroy(). */
int sl_init_spectral(struct sl_spectral **out, const struct sl_engine *engine, struct sl_device_graph *graph,
		     const struct sl_affinities *a, const struct sl_params *params, struct sl_error *err);
/* After the last sl_spectral_advance(): y [a->n * dims]. */
int sl_init_spectral_layout(struct sl_spectral *s, const struct sl_params *params, const struct sl_affinities *a,
			    float *y, struct sl_error *err);

/* The walk on P as it is on the host. Borrows a. */
int sl_walk_host(struct sl_walk *out, const struct sl_affinities *a, struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
