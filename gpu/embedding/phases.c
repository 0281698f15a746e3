/* Each part is captured `repeats` times, one after the other, so that what launching costs is what it costs within an
 * iteration; the graph is then replayed SL_PART_ROUNDS times between events. */
#include "gpu/embedding/phases.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu/embedding/plans.h"
#include "gpu/layout/layout.h"

#define ROUND_MS 2.0f        /* a replay takes about so long */
#define REPEATS_MAX 100
#define COPY_BYTES (1ull << 30)
#define COPY_BYTES_LEAST (64ull << 20)
#define COPIES 4
#define PARTS_MOST 6

struct stopwatch {
	struct sl_device *device;
	const struct sl_parts *parts;
	cudaEvent_t from, to;
};

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

double sl__part_clock(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void sl__part_median(double *took, int count, struct sl_phase *out)
{
	qsort(took, (size_t)count, sizeof *took, ascending);
	out->seconds = took[count / 2];
	out->low = took[0];
	out->high = took[count - 1];
}

static int queue_all(const struct sl_parts *p, enum sl_part part, int repeats, struct sl_error *err)
{
	int code = 0;
	for (int i = 0; i < repeats && !code; i++)
		code = p->queue(p->e, part, err);
	return code;
}

static int capture(const struct stopwatch *w, enum sl_part part, int repeats, cudaGraphExec_t *out,
		   struct sl_error *err)
{
	cudaStream_t stream = w->device->stream;
	cudaGraph_t graph = NULL;
	int code = 0;
	SL_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	code = queue_all(w->parts, part, repeats, err);
	cudaError_t ended = cudaStreamEndCapture(stream, &graph);
	if (code)
		goto out;
	SL_CUDA(ended);
	SL_CUDA(cudaGraphInstantiate(out, graph, 0));
out:
	if (graph)
		cudaGraphDestroy(graph);
	cudaGetLastError();
	return code;
}

/* Milliseconds between two events, one before and one after what `exec` queues (NULL: the part, once). */
static int round_time(const struct stopwatch *w, enum sl_part part, cudaGraphExec_t exec, float *ms,
		      struct sl_error *err)
{
	cudaStream_t stream = w->device->stream;
	int code = 0;
	SL_CUDA(cudaEventRecord(w->from, stream));
	if (exec)
		SL_CUDA(cudaGraphLaunch(exec, stream));
	else
		code = queue_all(w->parts, part, 1, err);
	SL_CUDA(cudaEventRecord(w->to, stream));
	SL_CUDA(cudaEventSynchronize(w->to));
	if (!code)
		SL_CUDA(cudaEventElapsedTime(ms, w->from, w->to));
out:
	return code;
}

static int time_part(const struct stopwatch *w, enum sl_part part, struct sl_phase *out, struct sl_error *err)
{
	cudaGraphExec_t exec = NULL;
	double took[SL_PART_ROUNDS];
	float ms = 0;
	int code = 0;
	for (int i = 0; i < 2 && !code; i++)  /* the first is a warm-up */
		code = round_time(w, part, NULL, &ms, err);
	if (code)
		return code;
	int repeats = ms * REPEATS_MAX < ROUND_MS ? REPEATS_MAX : ms < ROUND_MS ? (int)(ROUND_MS / ms) : 1;
	code = capture(w, part, repeats, &exec, err);
	for (int i = -1; i < SL_PART_ROUNDS && !code; i++) {
		code = round_time(w, part, exec, &ms, err);
		took[i < 0 ? 0 : i] = 1e-3 * (double)ms / repeats;
	}
	if (exec)
		cudaGraphExecDestroy(exec);
	if (code)
		return code;
	sl__part_median(took, SL_PART_ROUNDS, out);
	return 0;
}

static uint64_t power(uint64_t x, int k) { return k ? x * power(x, k - 1) : 1; }

/* Charges to potential, one level. cuFFT goes through its numbers once for each dimension. */
static uint64_t convolve_bytes(const struct sl_grid_memory *g, bool own)
{
	uint64_t side = (uint64_t)g->side, length = (uint64_t)g->length, rows = power(side, g->dims - 1);
	uint64_t charges = g->charges ? 2 * sizeof(uint64_t) * rows * (uint64_t)g->pairs : 0;
	uint64_t half = sizeof(float) * rows * (uint64_t)g->coarse;
	uint64_t kernel = sizeof(float) * power(length / 2 + 1, g->dims), grid = sizeof(float) * power(side, g->dims);
	if (own && g->dims == 3)  /* along x, y, z there and back, y, x: half of them meet planes that only half is of */
		return (g->coarse ? charges / 2 : charges) + (g->charges ? 0 : grid) + kernel + grid +
		       4 * sizeof(float2) * side * (side + length) * (length / 2 + 1);
	if (own)  /* rows, columns there and back, rows */
		return charges + half + 4 * sizeof(float2) * side * (length / 2 + 1) + kernel + grid;
	uint64_t numbers = sizeof(float2) * power(length, g->dims - 1) * (length / 2 + 1);
	return charges + half + kernel + grid + (4 * (uint64_t)g->dims + 2) * numbers;
}

/* Bytes of one pass, array by array. */
static uint64_t bytes_of(const struct stopwatch *w, enum sl_part part)
{
	const struct sl_parts *p = w->parts;
	const struct sl_grid_memory *g = w->device->work->grid;
	uint64_t layout = sizeof(float) * p->n * (uint64_t)p->stride, potentials = 0, charges = 0;
	for (int k = 0; k < p->levels && !p->exact; k++)
		potentials += sizeof(float) * power((uint64_t)g[k].side, p->dims);
	if (!p->exact)  /* there and back */
		charges = 2 * sizeof(uint64_t) * power((uint64_t)g[0].side, p->dims - 1) * (uint64_t)g[0].pairs;
	switch (part) {
	case SL_PART_ATTRACTION: return p->matrix_bytes + 2 * layout;
	case SL_PART_CONVOLVE: return convolve_bytes(&g[0], p->own_fft[0]);
	case SL_PART_CONVOLVE_FAR: return convolve_bytes(&g[1], p->own_fft[1]);
	case SL_PART_ALL_PAIRS: return layout + layout * (uint64_t)p->splits;
	case SL_PART_PAIRS:  /* y, sorted, forces; numbers of points and cells */
		return 5 * layout + 4 * sizeof(uint32_t) * (p->n + sl__near_room(g[0].cells));
	case SL_PART_READ: return 2 * layout + potentials;
	case SL_PART_STEP:  /* y, velocity, gain there and back; attraction; mass; the repulsion or what it comes from */
		return 7 * layout + sizeof(float) * p->n + charges +
		       (p->exact ? layout * (uint64_t)p->splits : p->split ? layout : potentials);
	}
	return 0;
}

int sl__time_parts(struct sl_device *d, const struct sl_parts *parts, struct sl_phase *out, int max,
		   struct sl_error *err)
{
	/* last the step: it may throw the layout out of its grids, and then nothing would run */
	static const enum sl_part on_grids[] = {SL_PART_ATTRACTION, SL_PART_CONVOLVE, SL_PART_CONVOLVE_FAR, SL_PART_PAIRS,
						SL_PART_READ, SL_PART_STEP};
	static const enum sl_part by_pairs[] = {SL_PART_ATTRACTION, SL_PART_ALL_PAIRS, SL_PART_STEP};
	static const char *const names[] = {"attraction", "convolve", "convolve, far grid", "all pairs", "read back",
					    "step, spread", "pairs within the cut-off"};
	struct stopwatch w = {.device = d, .parts = parts};
	enum sl_part part[PARTS_MOST];
	int count = 0, code = 0;
	if (parts->exact) {
		memcpy(part, by_pairs, sizeof by_pairs);
		count = 3;
	}
	for (int i = 0; i < PARTS_MOST && !parts->exact; i++) {
		bool there = on_grids[i] == SL_PART_READ ? parts->split : on_grids[i] == SL_PART_PAIRS ? parts->smooth :
			     on_grids[i] != SL_PART_CONVOLVE_FAR || parts->levels > 1;
		if (there)
			part[count++] = on_grids[i];
	}
	SL_CUDA(cudaEventCreate(&w.from));
	SL_CUDA(cudaEventCreate(&w.to));
	for (int i = 0; i < count && !code; i++) {
		struct sl_phase phase = {
			.name = part[i] != SL_PART_STEP || parts->split ? names[part[i]] :
				parts->exact ? "step" : "read back, step, spread",
			.bytes = bytes_of(&w, part[i]),
			.beside = part[i] == SL_PART_ATTRACTION || part[i] == SL_PART_CONVOLVE_FAR ||
				  part[i] == SL_PART_PAIRS,
		};
		code = time_part(&w, part[i], &phase, err);
		if (i < max)
			out[i] = phase;
	}
out:
	if (w.from)
		cudaEventDestroy(w.from);
	if (w.to)
		cudaEventDestroy(w.to);
	return code ? code : count;
}

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
	if (from)
		cudaEventDestroy(from);
	if (to)
		cudaEventDestroy(to);
	if (block)
		sl__device_free(d, block, 2 * bytes);
	return code;
}
