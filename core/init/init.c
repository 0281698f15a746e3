/* Every initial layout is a function of the seed and the nodes' numbers of the user, not of the order in which the
 * engine keeps the nodes. Noise has a seed of its own, so that `random` and noise never repeat each other. */
#include "core/init/init.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/graph/affinities.h"
#include "core/neighbours/neighbours.h"
#include "core/params.h"
#include "core/random.h"

#define NOISE 0.01          /* of init_std */
#define NOISE_SEED 0x6e6f697365u
#define FEW 20000           /* with fewer nodes one thread is faster */

void sl_init_random(const struct sl_params *p, const struct sl_affinities *a, float *y)
{
#pragma omp parallel for schedule(static) if (a->n > FEW)
	for (uint32_t i = 0; i < a->n; i++)
		for (int k = 0; k < p->dims; k++)
			y[(size_t)i * (size_t)p->dims + (size_t)k] =
				(float)(p->init_std * sl_random_normal(p->seed, (uint64_t)a->user[i] * 3 + (uint64_t)k));
}

/* Centres y, and scales it so that the root mean square over all coordinates is init_std. */
static void rescale(const struct sl_params *p, uint32_t n, float *y)
{
	double mean[3] = {0}, sum = 0;
	size_t d = (size_t)p->dims;
	for (size_t i = 0; i < n * d; i++)
		mean[i % d] += (double)y[i] / (double)n;
	for (size_t i = 0; i < n * d; i++)
		sum += ((double)y[i] - mean[i % d]) * ((double)y[i] - mean[i % d]);
	double std = sqrt(sum / ((double)n * (double)d));
	double scale = std > 0 ? p->init_std / std : 1;
	for (size_t i = 0; i < n * d; i++)
		y[i] = (float)(((double)y[i] - mean[i % d]) * scale);
}

static void add_noise(const struct sl_params *p, const struct sl_affinities *a, float *y)
{
#pragma omp parallel for schedule(static) if (a->n > FEW)
	for (uint32_t i = 0; i < a->n; i++)
		for (int k = 0; k < p->dims; k++)
			y[(size_t)i * (size_t)p->dims + (size_t)k] +=
				(float)(NOISE * p->init_std * sl_random_normal(p->seed ^ NOISE_SEED,
									      (uint64_t)a->user[i] * 3 + (uint64_t)k));
}

enum sl_init sl_init_settled(const struct sl_params *p, bool axes)
{
	if (p->init != SL_INIT_AUTO)
		return (enum sl_init)p->init;
	return axes ? SL_INIT_PCA : SL_INIT_RANDOM;
}

int sl_init_given(const struct sl_params *p, const struct sl_affinities *a, const float *init, float *y,
		  struct sl_error *err)
{
	size_t d = (size_t)p->dims;
	if (!init)
		return sl_error_field(err, SL_BADPARAM, "/init", "init is given, but the job has no initial layout.");
	for (size_t i = 0; i < a->n_user * d; i++)
		if (!isfinite(init[i]) || fabsf(init[i]) > 1e6f)
			return sl_error_field(err, SL_BADPARAM, "/init", "The initial layout has %g at node %zu, coordinate %zu; "
					      "all coordinates must be from -1e6 to 1e6.", (double)init[i], i / d, i % d);
	sl_affinities_gather(a, p->dims, init, y);
	if (p->init_std > 0)
		rescale(p, a->n, y);
	return 0;
}

/* ---- principal axes ------------------------------------------------------------------ */

#define FARTHEST 3.0f             /* of a coordinate, in deviations */
#define DEVIATION 1.4826f         /* standard deviation of a Gaussian, by its median deviation */

/* The smallest value that has at least half of all at or below it; reorders v. Hoare's selection, by the middle
 * element. */
static float median(float *v, size_t n)
{
	size_t low = 0, high = n - 1, k = (n - 1) / 2;
	while (low < high) {
		float pivot = v[low + (high - low) / 2];
		size_t i = low - 1, j = high + 1;
		for (;;) {
			while (v[++i] < pivot)
				;
			while (v[--j] > pivot)
				;
			if (i >= j)
				break;
			float swapped = v[i];
			v[i] = v[j];
			v[j] = swapped;
		}
		if (k <= j)
			high = j;
		else
			low = j + 1;
	}
	return v[k];
}

/* Centres the axes at their medians; returns their largest deviation. */
static float centre(const struct sl_params *p, uint32_t n, float *y, float *room)
{
	float largest = 0;
	size_t d = (size_t)p->dims;
	for (size_t k = 0; k < d; k++) {
		for (size_t i = 0; i < n; i++)
			room[i] = y[i * d + k];
		float middle = median(room, n);
		for (size_t i = 0; i < n; i++)
			room[i] = fabsf(y[i * d + k] -= middle);
		largest = fmaxf(largest, DEVIATION * median(room, n));
	}
	return largest;
}

/* Limits the coordinates, in deviations: without that a far outlier would leave all others in one place. */
static int limit(const struct sl_params *p, uint32_t n, float *y)
{
	size_t values = n * (size_t)p->dims;
	float *room = malloc(sizeof *room * n);
	if (!room)
		return SL_NOMEM;
	float deviation = centre(p, n, y, room);
	free(room);
	for (size_t i = 0; i < values; i++) {
		float x = deviation > 0 ? y[i] / deviation : 0;
		y[i] = (float)p->init_std * fminf(fmaxf(x, -FARTHEST), FARTHEST);
	}
	return 0;
}

int sl_init_pca(const struct sl_params *p, const struct sl_affinities *a, float *y, struct sl_error *err)
{
	size_t d = (size_t)p->dims;
	if (!a->axes)
		return sl_error_field(err, SL_BADPARAM, "/init", "init is pca, which needs points, but this graph was not made "
				      "from points; choose spectral or random.");
	for (size_t i = 0; i < a->n; i++)
		memcpy(y + i * d, a->axes + (size_t)a->user[i] * SL_AXES, d * sizeof *y);
	if (p->preset == SL_PRESET_DEFAULT && limit(p, a->n, y))
		return sl_error_memory(err, "a layout of %u nodes", a->n);
	if (p->preset != SL_PRESET_DEFAULT)  /* other programs have no limit */
		rescale(p, a->n, y);
	add_noise(p, a, y);
	return 0;
}

/* ---- spectral ----------------------------------------------------------------------- */

/* The walk on a graph that is on a device. */
struct device_walk {
	const struct sl_engine *engine;
	struct sl_device_graph *graph;
};

static int device_mass(void *context, float *out, struct sl_error *err)
{
	struct device_walk *w = context;
	return w->engine->walk_mass(w->graph, out, err);
}

static int device_components(void *context, uint32_t *label, struct sl_error *err)
{
	struct device_walk *w = context;
	return w->engine->walk_components(w->graph, label, err);
}

static int device_filter(void *context, int k, int steps, const float *slope, const float *shift, float **before,
			 float **x, struct sl_error *err)
{
	struct device_walk *w = context;
	return w->engine->walk_filter(w->graph, k, steps, slope, shift, before, x, err);
}

static int walk_device(struct sl_walk *out, const struct sl_engine *engine, struct sl_device_graph *graph, uint32_t n,
		       struct sl_error *err)
{
	struct device_walk *w = malloc(sizeof *w);
	if (!w)
		return sl_error_memory(err, "a spectral layout");
	*w = (struct device_walk){engine, graph};
	*out = (struct sl_walk){
		.n = n, .context = w, .mass = device_mass, .filter = device_filter, .destroy = free,
		.components = engine->walk_components ? device_components : NULL, .whole = true,
	};
	return 0;
}

int sl_init_spectral(struct sl_spectral **out, const struct sl_engine *engine, struct sl_device_graph *graph,
		     const struct sl_affinities *a, const struct sl_params *params, struct sl_error *err)
{
	struct sl_walk walk;
	int code;
	if (engine->walk_filter && engine->walk_mass)
		code = walk_device(&walk, engine, graph, a->n, err);
	else if (a->start)
		code = sl_walk_host(&walk, a, err);
	else
		return sl_error_field(err, SL_BADPARAM, "/init", "init is spectral, which engine %s cannot compute for points, "
				      "whose graph stays on the device; choose pca or random.", engine->name);
	return code ? code : sl_spectral_create(out, &walk, a->user, params->dims, params->seed, err);
}

int sl_init_spectral_layout(struct sl_spectral *s, const struct sl_params *params, const struct sl_affinities *a,
			    float *y, struct sl_error *err)
{
	int code = sl_spectral_layout(s, y, err);
	if (code)
		return code;
	rescale(params, a->n, y);
	add_noise(params, a, y);
	return 0;
}
