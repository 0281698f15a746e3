/* init.h -- initial layouts.
 *
 *   random     Gaussian, a function of (seed, the user's node, dimension) alone
 *   given      the user's, or an earlier job's
 *   pca        points: their coordinates along the first principal axes, which come with their neighbours
 *              (sl_points_axes())
 *   spectral   the slowest modes of the random walk on P (spectral.h)
 *
 * All are centred and scaled so that the root mean square over all coordinates is init_std (given ones only if init_std
 * is not 0). pca instead is centred at the medians and scaled by the median deviation of the axis that has the largest,
 * as a Gaussian's standard deviation follows from it, and no coordinate is more than three of these away: among a few
 * far points all others would start in one place. pca and spectral get Gaussian noise of a hundredth of init_std:
 * without it equal points would never separate, since equal positions get equal forces. In these two, the seed changes
 * only the noise. */
#ifndef SL_INIT_H
#define SL_INIT_H

#include "core/engine/engine.h"
#include "core/init/spectral.h"

struct sl_params;
struct sl_affinities;

#ifdef __cplusplus
extern "C" {
#endif

/* y [a->n * dims] in the engine's order. */
void sl_init_random(const struct sl_params *params, const struct sl_affinities *a, float *y);

/* The initial layout that SL_INIT_AUTO stands for. axes: the input is points whose axes are known. */
enum sl_init sl_init_settled(const struct sl_params *params, bool axes);

/* Makes y [a->n * dims] from init [a->n_user * dims], a layout in the user's order. SL_BADPARAM: init is NULL, or not
 * finite; err says what is missing. */
int sl_init_given(const struct sl_params *params, const struct sl_affinities *a, const float *init, float *y,
		  struct sl_error *err);
/* Makes y [a->n * dims] from a->axes, with the preset default limited to some deviations. SL_BADPARAM: there are
 * none. */
int sl_init_pca(const struct sl_params *params, const struct sl_affinities *a, float *y, struct sl_error *err);

/* Starts a spectral layout. Uses the engine's products with P if it has them, else P on the host. Borrows graph and a
 * until sl_spectral_destroy(). */
int sl_init_spectral(struct sl_spectral **out, const struct sl_engine *engine, struct sl_device_graph *graph,
		     const struct sl_affinities *a, const struct sl_params *params, struct sl_error *err);
/* Writes the layout y [a->n * dims], after the last sl_spectral_advance(). */
int sl_init_spectral_layout(struct sl_spectral *s, const struct sl_params *params, const struct sl_affinities *a,
			    float *y, struct sl_error *err);

/* Makes the walk on P in host memory. Borrows a until out->destroy(). */
int sl_walk_host(struct sl_walk *out, const struct sl_affinities *a, struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
