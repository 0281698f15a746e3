/* The CPU engine: devices, graphs, embeddings, and one iteration.
 *
 * y is double-buffered: attraction reads y while the update writes next.
 *
 * With nu degrees of freedom, coordinates are stored divided by sqrt(nu). For these coordinates the kernel is
 * (1 + r^2)^-nu, the attraction is the same as for nu = 1, and the repulsion is sum_j (y_i - y_j) (1 + r^2)^-(nu + 1) =
 * -1 / (2 nu) grad phi. A step of them is the layout's step divided by sqrt(nu). Nothing else changes. */
#include "core/cpu/cpu.h"
#include "core/graph/affinities.h"
#include "core/host_memory.h"
#include "core/engine/update.h"
#include "core/params.h"

#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLAN_BUDGET (256ull << 20)

/* ---- device ------------------------------------------------------------------------ */

static int cpu_open(struct sl_device **out, const struct sl_device_options *options, struct sl_error *err)
{
	struct sl_device *d = calloc(1, sizeof *d);
	if (!d)
		return sl_error_memory(err, "a device");
	d->kernels = sl_cpu_kernels();
	d->threads = options && options->threads > 0 ? options->threads : omp_get_max_threads();
	sl__cpu_plans_init(&d->plans, options && options->plan_bytes ? options->plan_bytes : PLAN_BUDGET);
	*out = d;
	return 0;
}

static void cpu_close(struct sl_device *d)
{
	if (!d)
		return;
	sl__cpu_plans_clear(&d->plans);
	sl__work_finish(&d->work);
	free(d);
}

static void cpu_info(struct sl_device *d, struct sl_device_info *out)
{
	memset(out, 0, sizeof *out);
	snprintf(out->name, sizeof out->name, "CPU, %d thread%s, %s", d->threads, d->threads == 1 ? "" : "s",
		 d->kernels->name);
	snprintf(out->kind, sizeof out->kind, "cpu");
	out->memory_total = sl_host_memory();
	out->memory_used = d->graph_bytes + d->embedding_bytes + d->plans.cache.bytes;
	out->graph_bytes = d->graph_bytes;
	out->embedding_bytes = d->embedding_bytes;
	sl_plan_cache_info(&d->plans.cache, out);
}

static int cpu_plans(struct sl_device *d, struct sl_plan_info *out, int max)
{
	return sl_plan_cache_list(&d->plans.cache, out, max);
}

static void cpu_plans_clear(struct sl_device *d) { sl__cpu_plans_clear(&d->plans); }

/* ---- graph --------------------------------------------------------------------------- */

static uint64_t graph_bytes(const struct sl_affinities *a)
{
	return sl_affinities_bytes(a) + sizeof(float) * a->n;
}

static int cpu_graph_put(struct sl_device *d, const struct sl_affinities *a, struct sl_device_graph **out,
			 struct sl_error *err)
{
	struct sl_device_graph *g = calloc(1, sizeof *g);
	if (!g)
		return sl_error_memory(err, "a graph");
	g->mass = malloc(sizeof(float) * (a->n ? a->n : 1));
	if (!g->mass) {
		free(g);
		return sl_error_memory(err, "a graph of %u nodes", a->n);
	}
#pragma omp parallel for schedule(static) num_threads(d->threads)
	for (uint32_t i = 0; i < a->n; i++) {
		float sum = 0;
		for (uint64_t k = a->start[i]; k < a->start[i + 1]; k++)
			sum += a->p[k];
		g->mass[i] = sum;
	}
	g->device = d;
	g->a = a;
	d->graph_bytes += graph_bytes(a);
	*out = g;
	return 0;
}

static void cpu_graph_drop(struct sl_device_graph *g)
{
	if (!g)
		return;
	g->device->graph_bytes -= graph_bytes(g->a);
	free(g->mass);
	free(g);
}

/* ---- embedding ------------------------------------------------------------------------ */

static uint64_t cpu_embedding_bytes(uint32_t n, const struct sl_settings *s)
{
	uint64_t each = sizeof(float) * (uint64_t)s->dims;
	uint64_t bytes = n * each * 5 + n / SL_BLOCK * (sizeof(struct box) + sizeof(double));
	if (sl__cpu_may_use_pairs(s))
		bytes += n * each;
	if (sl__cpu_may_use_grid(s))
		bytes += n * (each + sizeof(uint32_t) + sizeof(uint16_t));
	if (s->repulsion == SL_REPULSION_BARNES_HUT)
		bytes += sl__tree_bytes(n, s->dims);
	if (sl__cpu_may_be_smooth(n, s))
		bytes += sl__cutoff_bytes(n, s->dims);
	return bytes;
}

static void cpu_embedding_destroy(struct sl_device_embedding *e)
{
	if (!e)
		return;
	sl__cpu_plans_give(&e->graph->device->plans, e->plan);
	sl__cpu_plans_give(&e->graph->device->plans, e->far);
	e->graph->device->embedding_bytes -= e->bytes;
	free(e->y);
	free(e->next);
	free(e->velocity);
	free(e->gain);
	free(e->repulsion);
	for (int k = 0; k < 3; k++)
		free(e->coordinate[k]);
	sl__bins_finish(&e->bins);
	sl__cutoff_finish(&e->cutoff);
	sl__tree_finish(&e->tree);
	free(e->boxes);
	free(e->part);
	free(e);
}

static void box_add(struct box *all, const struct box *b, int dims)
{
	for (int k = 0; k < dims; k++) {
		all->low[k] = fminf(all->low[k], b->low[k]);
		all->high[k] = fmaxf(all->high[k], b->high[k]);
	}
	all->finite = all->finite && b->finite;
}

static const struct box empty_box = {
	.low = {INFINITY, INFINITY, INFINITY}, .high = {-INFINITY, -INFINITY, -INFINITY}, .finite = true,
};

static void box_of(struct box *b, const float *y, uint32_t count, int dims)
{
	*b = empty_box;
	float size = 0;
	for (uint32_t i = 0; i < count; i++)
		for (int k = 0; k < dims; k++) {
			float x = y[i * (uint32_t)dims + (uint32_t)k];
			b->low[k] = x < b->low[k] ? x : b->low[k];
			b->high[k] = x > b->high[k] ? x : b->high[k];
			size += fabsf(x) < 1e15f ? 0 : 1;  /* NaN counts */
		}
	b->finite = size == 0;
}

static void box_all(struct sl_device_embedding *e)
{
	e->box = empty_box;
	for (uint32_t b = 0; b < e->blocks; b++)
		box_add(&e->box, &e->boxes[b], e->settings.dims);
}

void sl__cpu_box_from_layout(struct sl_device_embedding *e)
{
	size_t d = (size_t)e->settings.dims;
	for (uint32_t b = 0; b < e->blocks; b++) {
		uint32_t from = b * SL_BLOCK, count = e->n - from < SL_BLOCK ? e->n - from : SL_BLOCK;
		box_of(&e->boxes[b], e->y + from * d, count, e->settings.dims);
	}
	box_all(e);
}

static int cpu_embedding_create(struct sl_device_graph *g, const struct sl_settings *s, const float *y0,
				struct sl_device_embedding **out, struct sl_error *err)
{
	struct sl_device_embedding *e = calloc(1, sizeof *e);
	uint32_t n = g->a->n;
	size_t floats = (size_t)n * (size_t)s->dims;
	int code = SL_NOMEM;
	if (!e)
		return sl_error_memory(err, "an embedding of %u nodes", n);
	e->graph = g;
	e->settings = *s;
	e->n = n;
	e->blocks = (n + SL_BLOCK - 1) / SL_BLOCK;
	e->y = malloc(floats * sizeof(float));
	e->next = malloc(floats * sizeof(float));
	e->velocity = calloc(floats, sizeof(float));
	e->gain = calloc(floats, sizeof(float));
	e->repulsion = calloc(floats, sizeof(float));
	e->boxes = malloc(e->blocks * sizeof *e->boxes);
	e->part = malloc(e->blocks * sizeof *e->part);
	if (!e->y || !e->next || !e->velocity || !e->gain || !e->repulsion || !e->boxes || !e->part)
		goto out;
	for (int k = 0; k < s->dims && sl__cpu_may_use_pairs(s); k++)
		if (!(e->coordinate[k] = malloc(n * sizeof(float))))
			goto out;
	if (sl__cpu_may_use_grid(s) && sl__bins_init(&e->bins, n, s->dims, err))
		goto out;
	if (sl__cpu_may_be_smooth(n, s) && sl__cutoff_init(&e->cutoff, n, s->dims, err))
		goto out;
	if (s->repulsion == SL_REPULSION_BARNES_HUT && sl__tree_init(&e->tree, n, s->dims, s->theta, err))
		goto out;
	if (s->optimizer == SL_MOMENTUM)
		for (size_t i = 0; i < floats; i++)
			e->gain[i] = 1;
	e->scale = s->dof > 0 && s->dof != 1 ? sqrt(s->dof) : 1;
	e->nu = e->scale * e->scale;
	for (size_t i = 0; i < floats; i++)
		e->y[i] = e->scale == 1 ? y0[i] : (float)((double)y0[i] / e->scale);
	sl__cpu_box_from_layout(e);
	e->bytes = cpu_embedding_bytes(n, s);
	g->device->embedding_bytes += e->bytes;
	code = 0;
	*out = e;
out:
	if (code) {
		cpu_embedding_destroy(e);
		sl_error_set(err, code, SL_NO_MEMORY "an embedding of %u nodes.", n);
	}
	return code;
}

/* ---- one iteration ---------------------------------------------------------------------- */

/* Adam gets n times the gradient / 4, whose size does not depend on n. */
static void adam_block(struct sl_device_embedding *e, const struct sl_step *s, float inverse_z, size_t at,
		       uint32_t count, const float *attraction)
{
	uint64_t t = (uint64_t)e->iteration + 1;
	e->graph->device->kernels->step_adam(count, s->exaggeration, inverse_z, s->learning_rate, (float)e->n,
					     sl_update_adam_correction(t, 0), sl_update_adam_correction(t, 1),
					     attraction, e->repulsion + at, e->y + at, e->velocity + at, e->gain + at,
					     e->next + at);
}

/* The attraction of a node is at most exaggeration * mass * distance, mass = sum_j p_ij. So with a rate beyond about
 * 1 / (exaggeration * mass) it overshoots the mean of its neighbours by more and more. The mean of the masses is 1 / n,
 * but that of a hub may be a thousand times as large. So each node gets a rate that is stable for it. */
static void momentum_block(struct sl_device_embedding *e, const struct sl_step *s, float inverse_z, uint32_t from,
			   uint32_t to, const float *attraction)
{
	float rate[SL_BLOCK];
	const float *mass = e->graph->mass;
	size_t at = (size_t)from * (size_t)e->settings.dims;
	for (uint32_t i = from; i < to; i++)
		rate[i - from] = sl_update_rate(s->learning_rate, s->exaggeration, mass[i], s->rate_limit);
	e->graph->device->kernels->step_momentum(e->settings.dims, to - from, s, inverse_z, rate, attraction,
						 e->repulsion + at, e->y + at, e->velocity + at, e->gain + at,
						 e->next + at);
}

void sl__cpu_step_block(struct sl_device_embedding *e, const struct sl_step *s, float inverse_z, uint32_t from,
			uint32_t to, const float *attraction)
{
	int dims = e->settings.dims;
	size_t at = (size_t)from * (size_t)dims;
	if (e->settings.optimizer == SL_ADAM)
		adam_block(e, s, inverse_z, at, (to - from) * (uint32_t)dims, attraction);
	else
		momentum_block(e, s, inverse_z, from, to, attraction);
	box_of(&e->boxes[from / SL_BLOCK], e->next + at, to - from, dims);
}

/* Team. Attraction and update, block by block; next gets the new layout, boxes its bounds. */
static void attract_and_step(struct sl_device_embedding *e, const struct sl_step *s, float inverse_z)
{
	const struct sl_affinities *a = e->graph->a;
	const struct sl_cpu_kernels *kernels = e->graph->device->kernels;
	int dims = e->settings.dims;
#pragma omp for schedule(dynamic, 4)
	for (uint32_t b = 0; b < e->blocks; b++) {
		float attraction[SL_BLOCK * 3];
		uint32_t from = b * SL_BLOCK, to = e->n - from < SL_BLOCK ? e->n : from + SL_BLOCK;
		kernels->attract(dims, a->start, a->node, a->p, e->y, from, to, attraction);
		sl__cpu_step_block(e, s, inverse_z, from, to, attraction);
	}
}

static void restart(struct sl_device_embedding *e, int what)
{
	size_t floats = e->n * (size_t)e->settings.dims;
	if (what == SL_RESTART_NOTHING || e->settings.optimizer != SL_MOMENTUM)
		return;
	memset(e->velocity, 0, sizeof(float) * floats);
	for (size_t i = 0; i < floats && what == SL_RESTART_ALL; i++)
		e->gain[i] = 1;
}

static int cpu_run(struct sl_device_embedding *e, const struct sl_step *given, int iterations, struct sl_error *err)
{
	struct sl_step filled = sl_step_filled(given), *step = &filled;
	if (iterations > 0)
		restart(e, step->restart);
	for (int i = 0; i < iterations; i++) {
		int code = sl__cpu_prepare(e, err);
		if (code)
			return code;
#pragma omp parallel num_threads(sl__cpu_threads_for(e))
		{
			double z = sl__cpu_repel(e);
			attract_and_step(e, step, (float)(1 / z));
		}
		float *swap = e->y;
		e->y = e->next;
		e->next = swap;
		e->iteration++;
		box_all(e);
	}
	return 0;
}

/* ---- measurements ------------------------------------------------------------------------- */

static int cpu_measure(struct sl_device_embedding *e, struct sl_measure *out, struct sl_error *err)
{
	const struct sl_affinities *a = e->graph->a;
	const struct sl_cpu_kernels *kernels = e->graph->device->kernels;
	int dims = e->settings.dims;
	memset(out, 0, sizeof *out);
	int code = sl__cpu_prepare(e, err);
	if (code)
		return code;
	double z_all = 0, divergence = 0, square = 0;
	double *log_part = malloc(sizeof(double) * e->blocks);
	if (!log_part)
		return sl_error_memory(err, "measuring a layout of %u nodes", e->n);
#pragma omp parallel num_threads(sl__cpu_threads_for(e))
	{
		double z = sl__cpu_repel(e);
#pragma omp for schedule(dynamic, 4)
		for (uint32_t b = 0; b < e->blocks; b++) {
			float attraction[SL_BLOCK * 3];
			uint32_t from = b * SL_BLOCK, to = e->n - from < SL_BLOCK ? e->n : from + SL_BLOCK;
			kernels->attract(dims, a->start, a->node, a->p, e->y, from, to, attraction);
			double sum = 0;
			const float *repulsion = e->repulsion + (size_t)from * (size_t)dims;
			for (uint32_t i = 0; i < (to - from) * (uint32_t)dims; i++) {
				double gradient = (double)attraction[i] - (double)repulsion[i] / z;
				sum += gradient * gradient;
			}
			e->part[b] = sum;
			log_part[b] = kernels->divergence(dims, a->start, a->node, a->p, e->y, from, to);
		}
#pragma omp single
		z_all = z;
	}
	for (uint32_t b = 0; b < e->blocks; b++) {
		square += e->part[b];
		divergence += log_part[b];
	}
	free(log_part);
	out->z = z_all;
	out->kl = a->entropy + e->nu * divergence + log(z_all);
	out->gradient_norm = sqrt(square) * e->scale;
	for (int k = 0; k < dims; k++) {
		out->low[k] = e->box.low[k] * (float)e->scale;
		out->high[k] = e->box.high[k] * (float)e->scale;
	}
	if (e->method == SL_CPU_GRID) {
		out->h = e->plan->grid.h * e->scale;
		out->side = e->plan->grid.side;
	}
	out->finite = e->box.finite && isfinite(out->kl);
	return 0;
}

static int cpu_snapshot(struct sl_device_embedding *e, float *y, struct sl_error *err)
{
	size_t floats = (size_t)e->n * (size_t)e->settings.dims;
	for (size_t i = 0; i < floats; i++)
		y[i] = e->scale == 1 ? e->y[i] : (float)((double)e->y[i] * e->scale);
	return 0;
}

static int cpu_rescale(struct sl_device_embedding *e, float factor, struct sl_error *err)
{
	size_t floats = (size_t)e->n * (size_t)e->settings.dims;
	bool moves = e->settings.optimizer == SL_MOMENTUM;  /* else they are means of gradients */
	for (size_t i = 0; i < floats; i++) {
		e->y[i] *= factor;
		e->velocity[i] *= moves ? factor : 1;
	}
	sl__cpu_box_from_layout(e);
	return 0;
}

static int cpu_forces(struct sl_device_embedding *e, float *attraction, float *repulsion, double *z,
		      struct sl_error *err)
{
	const struct sl_affinities *a = e->graph->a;
	int code = sl__cpu_prepare(e, err);
	if (code)
		return code;
	double z_all = 0;
#pragma omp parallel num_threads(sl__cpu_threads_for(e))
	{
		double mine = sl__cpu_repel(e);
#pragma omp single
		z_all = mine;
	}
	if (attraction)
		e->graph->device->kernels->attract(e->settings.dims, a->start, a->node, a->p, e->y, 0, e->n,
						   attraction);
	for (size_t i = 0; attraction && e->scale != 1 && i < e->n * (size_t)e->settings.dims; i++)
		attraction[i] *= (float)e->scale;
	for (size_t i = 0; repulsion && i < e->n * (size_t)e->settings.dims; i++)
		repulsion[i] = (float)((double)e->repulsion[i] / z_all * e->scale);
	if (z)
		*z = z_all;
	return 0;
}

/* ---- state ---------------------------------------------------------------------------------- */

static uint64_t cpu_state_bytes(const struct sl_device_embedding *e)
{
	return sizeof(uint64_t) + 3 * sizeof(float) * (uint64_t)e->n * (uint64_t)e->settings.dims;
}

static int cpu_state_save(struct sl_device_embedding *e, void *out, struct sl_error *err)
{
	size_t bytes = sizeof(float) * e->n * (size_t)e->settings.dims;
	char *at = out;
	memcpy(at, &e->iteration, sizeof e->iteration);
	at += sizeof e->iteration;
	memcpy(at, e->y, bytes);
	memcpy(at + bytes, e->velocity, bytes);
	memcpy(at + 2 * bytes, e->gain, bytes);
	return 0;
}

static int cpu_state_load(struct sl_device_embedding *e, const void *state, uint64_t bytes, struct sl_error *err)
{
	if (bytes != cpu_state_bytes(e))
		return sl_error_set(err, SL_BADDATA, "The checkpoint holds %llu bytes of state; %llu were expected.",
				    (unsigned long long)bytes, (unsigned long long)cpu_state_bytes(e));
	size_t each = sizeof(float) * e->n * (size_t)e->settings.dims;
	const char *at = state;
	memcpy(&e->iteration, at, sizeof e->iteration);
	at += sizeof e->iteration;
	memcpy(e->y, at, each);
	memcpy(e->velocity, at + each, each);
	memcpy(e->gain, at + 2 * each, each);
	sl__cpu_box_from_layout(e);
	return 0;
}

const struct sl_engine *sl_engine_cpu(void)
{
	static const struct sl_engine engine = {
		.name = "cpu", .large_budget = 440, .open = cpu_open, .close = cpu_close, .info = cpu_info, .plans = cpu_plans,
		.plans_clear = cpu_plans_clear, .graph_put = cpu_graph_put, .graph_drop = cpu_graph_drop,
		.embedding_bytes = cpu_embedding_bytes, .grid_bytes = sl__cpu_grid_bytes,
		.iteration_seconds = sl__cpu_iteration_seconds,
		.embedding_create = cpu_embedding_create,
		.embedding_destroy = cpu_embedding_destroy, .run = cpu_run, .measure = cpu_measure,
		.snapshot = cpu_snapshot, .rescale = cpu_rescale, .state_bytes = cpu_state_bytes, .state_save = cpu_state_save,
		.state_load = cpu_state_load, .forces = cpu_forces, .phases = sl__cpu_phases,
		.copy_bandwidth = sl__cpu_copy_bandwidth,
	};
	return &engine;
}
