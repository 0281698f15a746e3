/* The CUDA engine: its table of functions, and the opening and closing of a device. */
#include "gpu/engine/engine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/graph/affinities.h"
#include "core/params.h"
#include "gpu/engine/divided.h"
#include "gpu/embedding/snapshot.h"
#include "gpu/graph/walk.h"
#include "gpu/neighbours/find.h"
#include "gpu/neighbours/joint/resident.h"
#include "gpu/points/points.h"

/* ---- devices ------------------------------------------------------------------------------------------------ */

static void close_one(struct sl_device *d)
{
	sl__device_enter(d, NULL);
	sl__copies_close(d);
	sl__small_close(d);
	sl__plans_close(d);
	sl__device_drain(d);
	cudaFreeHost(d->control);
	sl__device_close(d);
}

static void cuda_close(struct sl_device *d)
{
	if (d)
		sl__group_close(d->group);
	while (d) {
		struct sl_device *next = d->others;
		close_one(d);
		d = next;
	}
}

static int set_up(struct sl_device *d, uint64_t plan_bytes, struct sl_error *err)
{
	int code = sl__plans_open(d, plan_bytes, err);
	if (code)
		return code;
	SL_CUDA(cudaMallocHost((void **)&d->control, sizeof *d->control));
	SL_CUDA(sl__attract_init());
	SL_TRY(sl__small_open(d, err));
	SL_TRY(sl__copies_open(d, err));
	SL_CUDA(cudaStreamSynchronize(cudaStreamLegacy));  /* the stream of the uploads */
out:
	return code;
}

static int open_one(struct sl_device **out, const struct sl_device_options *options, struct sl_error *err)
{
	struct sl_device *d = NULL;
	int code = sl__device_open(&d, options, err);
	if (!code)
		code = set_up(d, options ? options->plan_bytes : 0, err);
	if (code)
		cuda_close(d);
	else
		*out = d;
	return code;
}

/* Opens GPUs index + 1, index + 2, ... beside the first one, and joins them. */
static int open_others(struct sl_device *first, const struct sl_device_options *options, struct sl_error *err)
{
	struct sl_device_options own = *options;
	struct sl_device *devices[SL_RANKS_MAX] = {first};
	first->divide_nodes = options->divide_nodes;
	struct sl_group *group;
	if (options->gpus > SL_RANKS_MAX)
		return sl_error_set(err, SL_BADPARAM, "At most %d GPUs compute together, not %d.", SL_RANKS_MAX, options->gpus);
	for (int r = 1; r < options->gpus; r++) {
		own.index = options->index + r;
		SL_RETURN(open_one(&devices[r], &own, err));
		devices[r - 1]->others = devices[r];
		devices[r]->divide_nodes = options->divide_nodes;
		if (strcmp(devices[r]->name, first->name))
			return sl_error_set(err, SL_NODEVICE, "GPUs that compute together must be of one kind; GPU %d is %.60s, "
					    "GPU %d %.60s.", first->index, first->name, own.index, devices[r]->name);
	}
	SL_RETURN(sl__device_enter(first, err));
	return sl__group_open(devices, options->gpus, &group, err);
}

static int cuda_open(struct sl_device **out, const struct sl_device_options *options, struct sl_error *err)
{
	struct sl_device *d = NULL;
	int code = open_one(&d, options, err);
	if (!code && options && options->gpus > 1)
		code = open_others(d, options, err);
	if (code)
		cuda_close(d);
	else
		*out = d;
	return code;
}

static void cuda_info(struct sl_device *d, struct sl_device_info *out)
{
	memset(out, 0, sizeof *out);
	if (d->group)
		snprintf(out->name, sizeof out->name, "%d x %.100s", d->ranks, d->name);
	else
		snprintf(out->name, sizeof out->name, "%s", d->name);
	snprintf(out->kind, sizeof out->kind, "cuda");
	snprintf(out->pci, sizeof out->pci, "%s", d->pci);
	for (const struct sl_device *one = d; one; one = one->others) {
		out->memory_total += one->total;
		out->memory_used += one->used;
		out->memory_budget += one->budget;
		out->graph_bytes += one->graph_bytes;
		out->embedding_bytes += one->embedding_bytes;
	}
	sl_plan_cache_info(&d->plans->cache, out);
}

static int cuda_plans(struct sl_device *d, struct sl_plan_info *out, int max)
{
	return sl_plan_cache_list(&d->plans->cache, out, max);
}

static void cuda_plans_clear(struct sl_device *d)
{
	for (struct sl_device *one = d; one; one = one->others) {
		if (sl__device_enter(one, NULL))
			return;
		sl__plans_clear(one);
		sl__copies_trim(one);
	}
	sl__device_enter(d, NULL);
}

/* May be called from any thread, so it locks the context: a reset must wait. */
static int cuda_neighbours_find(int index, uint64_t memory_bytes, const struct sl_points *p,
				const struct sl_neighbours_params *params, struct sl_neighbours **out, struct sl_error *err)
{
	sl__context_hold();
	int code = sl__neighbours_find(index, memory_bytes, p, params, out, err);
	sl__context_release();
	return code;
}

/* The number of near points and far cells that a point interacts with in the Barnes-Hut tree. */
static double met_in_tree(const struct sl_settings *s, uint32_t n)
{
	double levels = log2((double)n / 16 + 2) / s->dims, nearness = fmax(s->theta, 0.05);
	return fmin(n, 64 + 14 * levels * pow(1 / nearness, s->dims) * s->dims);
}

/* Costs in nanoseconds, measured on one H200 (docs/performance.md): the minimum of an iteration; a pair; a node beside
 * grids (in 3-D including its part of the grids); an entry of P. With a tree: the minimum of an iteration; a point; an
 * interaction with a point or cell; these three are right within a factor of 1.6. */
static double cuda_iteration_seconds(const struct sl_settings *s, uint32_t n, uint64_t entries, int threads)
{
	double pairs = 1.2e-3 * n * n, grids = 15000 + (s->dims == 3 ? 0.6 : 0.04) * n;
	if (s->repulsion == SL_REPULSION_BARNES_HUT)
		return 1e-9 * (43000 + (0.2 + 1.2e-3 * met_in_tree(s, n)) * n + 2.6e-3 * (double)entries);
	bool exact = s->repulsion == SL_REPULSION_EXACT || (s->repulsion == SL_REPULSION_AUTO && pairs < grids);
	return 1e-9 * (10000 + (exact ? pairs : grids) + 2.6e-3 * (double)entries);
}

/* The host makes P of so many entries in about a quarter of a second. */
#define GRAPH_MAKE_LEAST 5000000

const struct sl_engine *sl_engine_cuda(void)
{
	static const struct sl_engine engine = {
		.name = "cuda", .open = cuda_open, .close = cuda_close, .info = cuda_info,
		.plans = cuda_plans, .plans_clear = cuda_plans_clear, .graph_put = sl__divided_put,
		.graph_drop = sl__divided_drop, .graph_make = sl__divided_make,
		.graph_make_least = GRAPH_MAKE_LEAST, .embedding_bytes = sl__embedding_bytes,
		.iteration_seconds = cuda_iteration_seconds,
		.embedding_create = sl__divided_create, .embedding_destroy = sl__divided_destroy,
		.run = sl__divided_run, .measure = sl__divided_measure, .snapshot = sl__divided_snapshot,
		.rescale = sl__divided_rescale, .state_bytes = sl__state_bytes,
		.state_save = sl__divided_state_save, .state_load = sl__divided_state_load, .forces = sl__divided_forces,
		.joins = sl__joins, .run_many = sl__run_many, .snapshot_start = sl__divided_snapshot_start,
		.snapshot_ready = sl__snapshot_ready, .snapshot_finish = sl__snapshot_finish,
		.snapshot_release = sl__snapshot_release, .phases = sl__divided_phases,
		.copy_bandwidth = sl__device_copy_bandwidth, .neighbours_find = cuda_neighbours_find,
		.points_passes = sl__points_passes,
		.neighbours_put = sl__divided_neighbours_put, .neighbours_drop = sl__divided_neighbours_drop,
		.neighbours_graph = sl__divided_neighbours_graph, .walk_mass = sl__divided_walk_mass,
		.walk_components = sl__divided_walk_components, .walk_filter = sl__divided_walk_filter,
		.operations = sl__operations,
	};
	return &engine;
}
