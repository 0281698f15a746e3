/* Measures the time of each phase of an iteration separately, and the bandwidth of copies in this machine's memory.
 *
 * An iteration fuses attraction and step, block by block; here they run separately. The step runs with learning rate 0,
 * so that it moves no point. It changes velocities and gains, which are restored afterwards. */
#include "core/cpu/cpu.h"
#include "core/graph/affinities.h"
#include "core/sort.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 7           /* least measurements of a phase */
#define ROUNDS_MAX 1000
#define SECONDS 0.1        /* least time of measuring a phase */
#define SECONDS_MAX 3.0
#define COPY_BYTES (256ull << 20)

enum part { ATTRACTION, SPREAD, CONVOLVE, READ_BACK, CUTOFF_PAIRS, ALL_PAIRS, BUILD, FAR_CELLS, STEP };

/* Team. */
static void attract(struct sl_device_embedding *e)
{
	const struct sl_affinities *a = e->graph->a;
	int dims = e->settings.dims;
#pragma omp for schedule(dynamic, 4)
	for (uint32_t b = 0; b < e->blocks; b++) {
		uint32_t from = b * SL_BLOCK, to = e->n - from < SL_BLOCK ? e->n : from + SL_BLOCK;
		e->graph->device->kernels->attract(dims, a->start, a->node, a->p, e->y, from, to,
						   e->next + (size_t)from * (size_t)dims);
	}
}

/* Team. */
static void step(struct sl_device_embedding *e)
{
	static const struct sl_step nowhere = {.exaggeration = 1, .rate_limit = INFINITY, .max_step = INFINITY};
	static const float attraction[SL_BLOCK * 3];
#pragma omp for schedule(dynamic, 4)
	for (uint32_t b = 0; b < e->blocks; b++) {
		uint32_t from = b * SL_BLOCK, to = e->n - from < SL_BLOCK ? e->n : from + SL_BLOCK;
		sl__cpu_step_block(e, &nowhere, 1, from, to, attraction);
	}
}

static void run_part(struct sl_device_embedding *e, enum part part)
{
	struct sl_error ignored;
	if (part == BUILD) {  /* creates its own teams */
		sl__tree_build(&e->tree, e->y, sl__cpu_threads_for(e), &ignored);
		return;
	}
#pragma omp parallel num_threads(sl__cpu_threads_for(e))
	switch (part) {
	case ATTRACTION: attract(e); break;
	case SPREAD: sl__cpu_spread(e); break;
	case CONVOLVE: sl__cpu_convolve(e); break;
	case READ_BACK: sl__cpu_read_back(e); break;
	case CUTOFF_PAIRS: sl__cpu_cutoff(e); break;
	case ALL_PAIRS: sl__cpu_repel_exact(e); break;
	case FAR_CELLS: sl__cpu_repel_tree(e); break;
	case BUILD: break;
	case STEP: step(e); break;
	}
}

static uint64_t power(uint64_t x, int k) { return k ? x * power(x, k - 1) : 1; }

/* Memory traffic of a convolution: x forward and back; in 3-D y forward and back; the last dimension. */
static uint64_t convolve_bytes(const struct sl_plan *plan)
{
	uint64_t side = (uint64_t)plan->grid.side, length = (uint64_t)plan->length, pitch = (uint64_t)plan->pitch;
	int dims = plan->grid.dims;
	uint64_t grid = sizeof(float) * sl__grid_floats(&plan->grid), kernel = sizeof(float) * power(length / 2 + 1, dims);
	uint64_t half = sizeof(fftwf_complex) * pitch * (dims == 3 ? side * side : dims == 2 ? side : 1);
	uint64_t whole = dims == 3 ? half / side * length : half;
	return 2 * grid + 2 * half + (dims == 3 ? 2 * (half + whole) : 0) + 2 * whole + kernel;
}

/* Memory traffic of a transfer: writes and reads all rows of each step, for charges and for the potential. */
static uint64_t transfer_bytes(const struct sl_plan *near, const struct sl_plan *far)
{
	uint64_t grid = sizeof(float) * sl__grid_floats(&near->grid), coarse = sizeof(float) * sl__grid_floats(&far->grid);
	uint64_t between = sizeof(float) * sl__transfer_floats(&far->transfer, &far->grid);
	uint64_t rows = near->grid.dims == 3 ? between : 0;
	return grid + 2 * rows + coarse + coarse + 2 * between + 2 * grid;
}

/* Memory traffic of one pass: the bytes read and written, array by array. */
static uint64_t bytes_of(const struct sl_device_embedding *e, enum part part)
{
	uint64_t n = e->n, point = sizeof(float) * (uint64_t)e->settings.dims, layout = n * point;
	uint64_t grid = e->method != SL_CPU_GRID ? 0 : sizeof(float) * sl__grid_floats(&e->plan->grid);
	switch (part) {
	case ATTRACTION: return sizeof(uint64_t) * (n + 1) + 8 * e->graph->a->m + 2 * layout;
	case SPREAD:  /* strips counted, points sorted, grid cleared, added to */
		return n * (sizeof(float) + 2 * sizeof(uint16_t) + sizeof(uint32_t)) + 3 * layout + 3 * grid;
	case CONVOLVE:
		return convolve_bytes(e->plan) + (e->far ? convolve_bytes(e->far) + transfer_bytes(e->plan, e->far) : 0);
	case READ_BACK: return 2 * layout + n * sizeof(uint32_t) + grid;
	case CUTOFF_PAIRS: return 8 * layout;  /* sorted twice, read as neighbours are, forces added to */
	case ALL_PAIRS: return 4 * layout;
	case BUILD: return n * 12 * (sizeof(uint64_t) + sizeof(uint32_t)) + 4 * layout;  /* six digits */
	case FAR_CELLS: return 3 * layout + e->tree.nodes * (uint64_t)sizeof *e->tree.node;
	case STEP: return 7 * layout + n * sizeof(float);
	}
	return 0;
}

static void measure(struct sl_device_embedding *e, enum part part, struct sl_phase *out)
{
	static const char *const names[] = {"attraction", "spread", "convolve", "read back", "pairs within the cut-off",
					    "all pairs", "tree", "near points and far cells", "step"};
	double took[ROUNDS_MAX], all = 0;
	int count = 0;
	run_part(e, part);
	while (count < ROUNDS_MAX && (count < ROUNDS || all < SECONDS) && (count < 3 || all < SECONDS_MAX)) {
		double began = omp_get_wtime();
		run_part(e, part);
		took[count] = omp_get_wtime() - began;
		all += took[count++];
	}
	qsort(took, (size_t)count, sizeof *took, sl_by_double);
	*out = (struct sl_phase){
		.name = names[part], .seconds = took[count / 2], .low = took[0], .high = took[count - 1],
		.bytes = bytes_of(e, part),
	};
}

int sl__cpu_phases(struct sl_device_embedding *e, struct sl_phase *out, int max, struct sl_error *err)
{
	static const enum part on_grid[] = {SPREAD, CONVOLVE, READ_BACK, ATTRACTION, STEP, CUTOFF_PAIRS};
	static const enum part by_pairs[] = {ALL_PAIRS, ATTRACTION, STEP}, by_tree[] = {BUILD, FAR_CELLS, ATTRACTION, STEP};
	size_t bytes = sizeof(float) * e->n * (size_t)e->settings.dims;
	int code = sl__cpu_prepare(e, err);
	if (code)
		return code;
	float *kept = malloc(2 * bytes);
	if (!kept)
		return sl_error_memory(err, "measuring the phases of %u nodes", e->n);
	memcpy(kept, e->velocity, bytes);
	memcpy(kept + bytes / sizeof *kept, e->gain, bytes);
	memset(e->velocity, 0, bytes);
	const enum part *parts = e->method == SL_CPU_EXACT ? by_pairs : e->method == SL_CPU_TREE ? by_tree : on_grid;
	int count = e->method == SL_CPU_EXACT ? 3 : e->method == SL_CPU_TREE ? 4 : sl__cpu_is_smooth(e) ? 6 : 5;
	for (int i = 0; i < count && i < max; i++)
		measure(e, parts[i], &out[i]);
	memcpy(e->velocity, kept, bytes);
	memcpy(e->gain, kept + bytes / sizeof *kept, bytes);
	free(kept);
	sl__cpu_box_from_layout(e);
	return count;
}

/* Each thread copies its part of a block to another; both are far larger than any cache. */
int sl__cpu_copy_bandwidth(struct sl_device *d, double *bytes_per_second, struct sl_error *err)
{
	char *from = malloc(COPY_BYTES), *to = malloc(COPY_BYTES);
	double best = 0;
	int code = 0;
	if (!from || !to) {
		code = sl_error_memory(err, "measuring how fast it copies");
		goto out;
	}
	for (int round = 0; round < 6; round++) {
		double began = omp_get_wtime();
#pragma omp parallel num_threads(d->threads)
		{
			uint64_t threads = (uint64_t)omp_get_num_threads(), me = (uint64_t)omp_get_thread_num();
			uint64_t lines = COPY_BYTES / 64, first = lines * me / threads * 64;
			uint64_t end = lines * (me + 1) / threads * 64;
			if (!round) {  /* the thread that uses a page touches it first, so the page is local to it */
				memset(from + first, 1, end - first);
				memset(to + first, 2, end - first);
			} else {
				memcpy(to + first, from + first, end - first);
			}
		}
		double took = omp_get_wtime() - began;
		if (round && 2 * COPY_BYTES / took > best)
			best = 2 * COPY_BYTES / took;
	}
	*bytes_per_second = best;
out:
	free(from);
	free(to);
	return code;
}
