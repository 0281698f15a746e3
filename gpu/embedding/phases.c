/* Measures the time of each part of an iteration by itself, and restores the layout afterwards.
 *
 * Each part is captured `repeats` times, one after the other, so that a launch costs as much as within an iteration.
 * The graph is then replayed ROUNDS times between events. */
#include "gpu/embedding/embedding.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"

#define ROUNDS 9
#define ROUND_MS 2.0f        /* a replay takes about so long */
#define REPEATS_MAX 100
#define SMALL_ITERATIONS 200 /* iterations of a small embedding in a round; they have no parts */
#define COPY_BYTES (1ull << 30)
#define COPY_BYTES_LEAST (64ull << 20)
#define COPIES 4

struct stopwatch {
	struct sl_device_embedding *e;
	cudaStream_t stream;
	cudaEvent_t from, to;
};

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* Fills seconds, low and high. */
static void take_median(double took[ROUNDS], struct sl_phase *out)
{
	qsort(took, ROUNDS, sizeof *took, ascending);
	out->seconds = took[ROUNDS / 2];
	out->low = took[0];
	out->high = took[ROUNDS - 1];
}

/* Measures the milliseconds that `exec` takes, between two events. If exec is NULL, queues the part once. */
static int round_time(const struct stopwatch *w, enum sl_part part, cudaGraphExec_t exec, float *ms,
		      struct sl_error *err)
{
	int code = 0;
	SL_CUDA(cudaEventRecord(w->from, w->stream));
	if (exec)
		SL_CUDA(cudaGraphLaunch(exec, w->stream));
	else
		SL_TRY(sl__queue_part(w->e, part, err));
	SL_CUDA(cudaEventRecord(w->to, w->stream));
	SL_CUDA(cudaEventSynchronize(w->to));
	SL_CUDA(cudaEventElapsedTime(ms, w->from, w->to));
out:
	return code;
}

/* Ranks of a group must repeat what they exchange equally often: the least of all. */
static int agree_on(const struct sl_device_embedding *e, int *repeats, struct sl_error *err)
{
	uint64_t mine = (uint64_t)*repeats, all[SL_RANKS_MAX];
	if (!sl__is_divided(e->graph))
		return 0;
	int code = sl__group_tell(e->graph->device, 0, &mine, 1, all, err);
	for (int r = 0; r < e->graph->device->ranks && !code; r++)
		*repeats = (int)all[r] < *repeats ? (int)all[r] : *repeats;
	return code;
}

static int time_part(const struct stopwatch *w, enum sl_part part, struct sl_phase *out, struct sl_error *err)
{
	cudaGraphExec_t exec = NULL;
	double took[ROUNDS];
	float ms = 0;
	int code = 0;
	for (int i = 0; i < 2; i++)  /* the first is a warm-up */
		SL_TRY(round_time(w, part, NULL, &ms, err));
	int repeats = ms * REPEATS_MAX < ROUND_MS ? REPEATS_MAX : ms < ROUND_MS ? (int)(ROUND_MS / ms) : 1;
	SL_TRY(agree_on(w->e, &repeats, err));
	SL_TRY(sl__capture(w->e, part, repeats, &exec, err));
	for (int i = -1; i < ROUNDS; i++) {
		SL_TRY(round_time(w, part, exec, &ms, err));
		took[i < 0 ? 0 : i] = 1e-3 * (double)ms / repeats;
	}
	take_median(took, out);
out:
	if (exec)
		cudaGraphExecDestroy(exec);
	return code;
}

/* ---- bytes --------------------------------------------------------------------------------------- */

/* Bytes of the convolution of one level. cuFFT reads and writes all numbers once for each dimension. */
static uint64_t convolve_bytes(const struct sl_grid_memory *g, bool native)
{
	uint64_t side = (uint64_t)g->side, length = (uint64_t)g->length, rows = sl__power(side, g->dims - 1);
	uint64_t charges = g->charges ? 2 * sizeof(uint64_t) * rows * (uint64_t)g->pairs : 0;
	uint64_t half = sizeof(float) * rows * (uint64_t)g->coarse;
	uint64_t kernel = sizeof(float) * sl__power(length / 2 + 1, g->dims);
	uint64_t grid = sizeof(float) * sl__power(side, g->dims);
	if (native && g->dims == 3)  /* x, y, z and back, y, x: half of these passes read or write half of the planes */
		return (g->coarse ? charges / 2 : charges) + (g->charges ? 0 : grid) + kernel + grid +
		       4 * sizeof(float2) * side * (side + length) * (length / 2 + 1);
	if (native)  /* rows; columns, forward and back; rows */
		return charges + half + 4 * sizeof(float2) * side * (length / 2 + 1) + kernel + grid;
	uint64_t numbers = sizeof(float2) * sl__power(length, g->dims - 1) * (length / 2 + 1);
	return charges + half + kernel + grid + (4 * (uint64_t)g->dims + 2) * numbers;
}

static uint64_t tree_bytes(const struct sl_device_embedding *e)
{
	return sizeof(float4) * e->tree.first[e->tree.levels];
}

/* Bytes that one part reads and writes. */
static uint64_t bytes_of(const struct sl_device_embedding *e, enum sl_part part)
{
	const struct sl_device_graph *p = e->graph;
	const struct sl_grid_memory *g = p->device->work->grid;
	uint64_t layout = sizeof(float) * e->n * (uint64_t)e->stride, potentials = 0, charges = 0;
	for (int k = 0; k < e->levels && !e->exact; k++)
		potentials += sizeof(float) * sl__power((uint64_t)g[k].side, g[k].dims);
	if (!e->exact)  /* read and written */
		charges = 2 * sizeof(uint64_t) * sl__power((uint64_t)g[0].side, g[0].dims - 1) * (uint64_t)g[0].pairs;
	switch (part) {
	case SL_PART_ATTRACTION: return (e->hybrid ? 8 * (p->matrix.m + e->n) : p->bytes) + 2 * layout;
	case SL_PART_CONVOLVE: return convolve_bytes(&g[0], e->plan[0]->transform->native);
	case SL_PART_CONVOLVE_FAR: return convolve_bytes(&g[1], e->plan[1]->transform->native);
	case SL_PART_ALL_PAIRS: return layout + layout * (uint64_t)e->splits;
	case SL_PART_TREE:  /* y, read and written; keys and indices in each pass; cells */
		return 3 * layout + 4 * sizeof(uint32_t) * SL_TREE_PASSES * e->n + tree_bytes(e);
	case SL_PART_TREE_SUMS: return 2 * layout + sizeof(uint32_t) * e->n + tree_bytes(e);
	case SL_PART_PAIRS:  /* y, sorted, forces; numbers of points and cells */
		return 5 * layout + 4 * sizeof(uint32_t) * (e->n + sl__cutoff_room(g[0].dims, g[0].cells));
	case SL_PART_CHARGES: return charges;
	case SL_PART_GATHER: return 2 * layout;
	case SL_PART_READ: return 2 * layout + potentials;
	case SL_PART_STEP:  /* y, velocity, gain, read and written; attraction; mass; repulsion, or its potentials */
		return 7 * layout + sizeof(float) * e->n + charges +
		       (e->exact ? layout * (uint64_t)e->splits : sl__is_split(e) ? layout : potentials);
	default: return 0;
	}
}

/* ---- all parts ------------------------------------------------------------------------------------- */

static bool has_part(const struct sl_device_embedding *e, enum sl_part part)
{
	switch (part) {
	case SL_PART_CONVOLVE: return !e->exact;
	case SL_PART_CONVOLVE_FAR: return !e->exact && e->levels > 1;
	case SL_PART_PAIRS: return sl__is_smooth(e);
	case SL_PART_ALL_PAIRS: return e->exact && !sl__is_tree(&e->settings);
	case SL_PART_TREE:
	case SL_PART_TREE_SUMS: return sl__is_tree(&e->settings);
	case SL_PART_READ: return sl__is_split(e);
	case SL_PART_CHARGES: return !e->exact && sl__is_divided(e->graph);
	case SL_PART_GATHER: return sl__is_divided(e->graph);
	default: return true;
	}
}

/* Returns the number of parts, the first `max` of them in `out`; or an error. */
static int time_all(struct sl_device_embedding *e, struct sl_phase *out, int max, struct sl_error *err)
{
	/* The step comes last: it may move the layout out of its grids, and then nothing would run. After it only what does
	 * not look at that: exchanges of a group. Sums come at the end, since each doubles the charges. */
	static const enum sl_part order[] = {SL_PART_ATTRACTION, SL_PART_CONVOLVE, SL_PART_CONVOLVE_FAR, SL_PART_PAIRS,
					     SL_PART_ALL_PAIRS, SL_PART_TREE, SL_PART_TREE_SUMS, SL_PART_READ,
					     SL_PART_STEP, SL_PART_GATHER, SL_PART_CHARGES};
	static const char *const names[] = {
		[SL_PART_ATTRACTION] = "attraction", [SL_PART_CONVOLVE] = "convolve",
		[SL_PART_CONVOLVE_FAR] = "convolve, far grid", [SL_PART_ALL_PAIRS] = "all pairs",
		[SL_PART_READ] = "read back", [SL_PART_STEP] = "step, spread",
		[SL_PART_PAIRS] = "pairs within the cut-off", [SL_PART_TREE] = "tree",
		[SL_PART_TREE_SUMS] = "far cells, near points",
		[SL_PART_CHARGES] = "charges of all GPUs", [SL_PART_GATHER] = "positions of all GPUs",
	};
	struct stopwatch w = {.e = e, .stream = e->graph->device->stream};
	int count = 0, code = 0;
	SL_CUDA(cudaEventCreate(&w.from));
	SL_CUDA(cudaEventCreate(&w.to));
	for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
		struct sl_phase phase = {
			.name = order[i] != SL_PART_STEP || sl__is_split(e) ? names[order[i]] :
				e->exact ? "step" : "read back, step, spread",
			.beside = order[i] == SL_PART_ATTRACTION || order[i] == SL_PART_CONVOLVE_FAR ||
				  order[i] == SL_PART_PAIRS,
		};
		if (!has_part(e, order[i]))
			continue;
		phase.bytes = bytes_of(e, order[i]);
		SL_TRY(time_part(&w, order[i], &phase, err));
		if (count < max)
			out[count] = phase;
		count++;
	}
out:
	sl__events_destroy((cudaEvent_t[]){w.from, w.to}, 2);
	return code ? code : count;
}

/* Times all parts. Steps of length 0 do not move the layout, but the grids move a little. *still: the layout did not
 * leave the grids, so that every kernel ran that was timed. */
static int time_parts(struct sl_device_embedding *e, struct sl_phase *out, int max, bool *still, struct sl_error *err)
{
	static const struct sl_step nowhere = {.exaggeration = 1};
	SL_RETURN(sl__forces_now(e, false, err));  /* so that each part finds the results of the parts before it */
	SL_RETURN(sl__report_down(e, err));
	SL_RETURN(sl__control_up(e, &nowhere, err));
	int count = time_all(e, out, max, err), code = count >= 0 ? sl__report_down(e, err) : 0;
	*still = e->report.state == SL_GO;
	return code ? code : count;
}

/* A small embedding has no phases: its iterations are one kernel. */
static int time_small(struct sl_device_embedding *e, struct sl_phase *out, struct sl_error *err)
{
	struct sl_stretch stretch = {.step = {.exaggeration = 1}, .iterations = SMALL_ITERATIONS};
	uint64_t layout = sl__point_bytes(e->n, &e->settings);
	double took[ROUNDS];
	for (int i = -1; i < ROUNDS; i++) {
		double began = sl_clock_s();
		SL_RETURN(sl__run_small(e, &stretch, err));
		took[i < 0 ? 0 : i] = (sl_clock_s() - began) / SMALL_ITERATIONS;
	}
	take_median(took, out);
	out->name = "iteration, one cluster";
	out->bytes = (e->graph->small.bytes + 6 * layout) / SMALL_ITERATIONS + 1;  /* loaded and stored once per launch */
	return 1;
}

/* Saves velocities and gains, which steps change, and puts them back. */
int sl__embedding_phases(struct sl_device_embedding *e, struct sl_phase *out, int max, struct sl_error *err)
{
	uint64_t bytes = sl__state_bytes(e);
	void *state = malloc(bytes);
	struct sl_phase whole = {0};
	bool still = true;
	int code = 0;
	SL_TRY(state ? 0 : sl_error_memory(err, "measuring the phases of %u nodes", e->n));
	SL_TRY(sl__state_save(e, state, err));
	code = e->small.on ? time_small(e, max > 0 ? out : &whole, err) : time_parts(e, out, max, &still, err);
	if (code >= 0 && !still) {
		e->chosen = false;  /* new grids have room */
		code = time_parts(e, out, max, &still, err);
	}
	int restored = sl__state_load(e, state, bytes, code < 0 ? NULL : err);
	code = code < 0 || !restored ? code : restored;
out:
	free(state);
	return code;
}

/* ---- copies ---------------------------------------------------------------------------------------- */

int sl__device_copy_bandwidth(struct sl_device *d, double *bytes_per_second, struct sl_error *err)
{
	cudaEvent_t from = NULL, to = NULL;
	uint64_t bytes = COPY_BYTES;
	char *block = NULL;
	float best = 0;
	int code = sl__device_enter(d, err);
	while (!code && (code = sl__device_alloc(d, 2 * bytes, "Measuring how fast it copies", &block, err)) == SL_DEVMEM &&
	       bytes > COPY_BYTES_LEAST) {
		bytes /= 2;
		code = 0;
	}
	if (code)
		goto out;
	SL_CUDA(cudaEventCreate(&from));
	SL_CUDA(cudaEventCreate(&to));
	SL_CUDA(cudaMemsetAsync(block, 0x5a, 2 * bytes, d->stream));
	for (int round = 0; round < 6; round++) {
		float ms;
		SL_CUDA(cudaEventRecord(from, d->stream));
		for (int i = 0; i < COPIES; i++)
			SL_CUDA(cudaMemcpyAsync(block + bytes, block, bytes, cudaMemcpyDeviceToDevice, d->stream));
		SL_CUDA(cudaEventRecord(to, d->stream));
		SL_CUDA(cudaEventSynchronize(to));
		SL_CUDA(cudaEventElapsedTime(&ms, from, to));
		if (round && (best == 0 || ms < best))
			best = ms;
	}
	*bytes_per_second = COPIES * 2.0 * (double)bytes / (1e-3 * (double)best);
out:
	sl__events_destroy((cudaEvent_t[]){from, to}, 2);
	sl__device_free(d, block, 2 * bytes);
	return code;
}
