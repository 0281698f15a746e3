/* The CUDA engine: its table of functions, and the opening and closing of a device. */
#include "gpu/engine/engine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/graph/affinities.h"
#include "core/params.h"
#include "gpu/affinities/affinities.h"
#include "gpu/embedding/embedding.h"
#include "gpu/embedding/snapshot.h"
#include "gpu/graph/walk.h"
#include "gpu/neighbours/find.h"
#include "gpu/neighbours/joint/resident.h"
#include "gpu/points/points.h"

/* ---- devices ------------------------------------------------------------------------------------------------ */

static void cuda_close(struct sl_device *d)
{
	if (!d)
		return;
	sl__device_enter(d, NULL);
	sl__copies_close(d);
	sl__small_close(d);
	sl__plans_close(d);
	sl__device_drain(d);
	cudaFreeHost(d->control);
	sl__device_close(d);
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

static int cuda_open(struct sl_device **out, const struct sl_device_options *options, struct sl_error *err)
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

static void cuda_info(struct sl_device *d, struct sl_device_info *out)
{
	memset(out, 0, sizeof *out);
	snprintf(out->name, sizeof out->name, "%s", d->name);
	snprintf(out->kind, sizeof out->kind, "cuda");
	snprintf(out->pci, sizeof out->pci, "%s", d->pci);
	out->memory_total = d->total;
	out->memory_used = d->used;
	out->memory_budget = d->budget;
	out->graph_bytes = d->graph_bytes;
	out->embedding_bytes = d->embedding_bytes;
	sl_plan_cache_info(&d->plans->cache, out);
}

static int cuda_plans(struct sl_device *d, struct sl_plan_info *out, int max)
{
	return sl_plan_cache_list(&d->plans->cache, out, max);
}

static void cuda_plans_clear(struct sl_device *d)
{
	if (sl__device_enter(d, NULL))
		return;
	sl__plans_clear(d);
	sl__copies_trim(d);
}

static int cuda_graph_put(struct sl_device *d, const struct sl_affinities *a, struct sl_device_graph **out,
			  struct sl_error *err)
{
	int code = sl__device_enter(d, err);
	return code ? code : sl__graph_put(d, a, out, err);
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

static void cuda_graph_drop(struct sl_device_graph *g)
{
	if (g)
		sl__device_enter(g->device, NULL);
	sl__graph_drop(g);
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
		.plans = cuda_plans, .plans_clear = cuda_plans_clear, .graph_put = cuda_graph_put,
		.graph_drop = cuda_graph_drop, .graph_make = sl__graph_make,
		.graph_make_least = GRAPH_MAKE_LEAST, .embedding_bytes = sl__embedding_bytes,
		.iteration_seconds = cuda_iteration_seconds,
		.embedding_create = sl__embedding_create, .embedding_destroy = sl__embedding_destroy,
		.run = sl__run, .measure = sl__embedding_measure, .snapshot = sl__embedding_snapshot,
		.rescale = sl__rescale, .state_bytes = sl__state_bytes,
		.state_save = sl__state_save, .state_load = sl__state_load, .forces = sl__embedding_forces,
		.joins = sl__joins, .run_many = sl__run_many, .snapshot_start = sl__embedding_snapshot_start,
		.snapshot_ready = sl__snapshot_ready, .snapshot_finish = sl__snapshot_finish,
		.snapshot_release = sl__snapshot_release, .phases = sl__embedding_phases,
		.copy_bandwidth = sl__device_copy_bandwidth, .neighbours_find = cuda_neighbours_find,
		.points_passes = sl__points_passes,
		.neighbours_put = sl__neighbours_put, .neighbours_drop = sl__neighbours_drop,
		.neighbours_graph = sl__neighbours_graph, .walk_mass = sl__walk_mass,
		.walk_components = sl__walk_components, .walk_filter = sl__walk_filter,
		.operations = sl__operations,
	};
	return &engine;
}
