/* The random walk on P, on the host: masses, components, and products. */
#include <stdlib.h>

#include "core/cpu/kernels.h"
#include "core/graph/affinities.h"
#include "core/graph/builder.h"
#include "core/graph/graph.h"
#include "core/init/init.h"

#define ROWS 256  /* rows that a thread processes at a time */

struct host_walk {
	const struct sl_affinities *a;  /* borrowed */
	const struct sl_cpu_kernels *kernels;
	float mass[];                   /* [n] */
};

static int host_mass(void *context, float *out, struct sl_error *err)
{
	const struct host_walk *w = context;
	for (uint32_t i = 0; i < w->a->n; i++)
		out[i] = w->mass[i];
	return 0;
}

/* Union-find. The smaller number becomes the root, so a component's label is its first node. */
static int host_components(void *context, uint32_t *label, struct sl_error *err)
{
	const struct sl_affinities *a = ((const struct host_walk *)context)->a;
	for (uint32_t i = 0; i < a->n; i++)
		label[i] = i;
	for (uint32_t i = 0; i < a->n; i++)
		for (uint64_t e = a->start[i]; e < a->start[i + 1] && a->node[e] < i; e++) {
			uint32_t r = sl__find_root(label, i), t = sl__find_root(label, a->node[e]);
			if (r < t)
				label[t] = r;
			else
				label[r] = t;
		}
	for (uint32_t i = 0; i < a->n; i++)
		label[i] = sl__find_root(label, i);
	return 0;
}

static int host_filter(void *context, int k, int steps, const float *slope, const float *shift, float **before,
		       float **x, struct sl_error *err)
{
	const struct host_walk *w = context;
	const struct sl_affinities *a = w->a;
	for (int step = 0; step < steps; step++) {
		float *from = *x, *to = *before;
#pragma omp parallel for schedule(dynamic, 4)
		for (uint32_t at = 0; at < a->n; at += ROWS)
			w->kernels->walk(a->start, a->node, a->p, w->mass, slope, shift, from, k + step == 0, at,
					 a->n - at < ROWS ? a->n : at + ROWS, to);
		*x = to;
		*before = from;
	}
	return 0;
}

int sl_walk_host(struct sl_walk *out, const struct sl_affinities *a, struct sl_error *err)
{
	struct host_walk *w = malloc(sizeof *w + sizeof(float) * a->n);
	if (!w)
		return sl_error_memory(err, "a spectral layout of %u nodes", a->n);
	w->a = a;
	w->kernels = sl_cpu_kernels();
#pragma omp parallel for schedule(static)
	for (uint32_t i = 0; i < a->n; i++) {
		double sum = 0;
		for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++)
			sum += (double)a->p[e];
		w->mass[i] = (float)sum;
	}
	*out = (struct sl_walk){
		.n = a->n, .context = w, .mass = host_mass, .components = host_components, .filter = host_filter,
		.destroy = free,
	};
	return 0;
}
