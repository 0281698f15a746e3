/* Passes of Sammon's mapping on the device: allocates memory and queues the kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/sammon/passes.h"
#include "gpu/device/device.h"
#include "gpu/sammon/sammon.h"

#define PART_BYTES (256ull << 20)  /* most bytes of partial sums; limits the blocks of a launch */
#define KEPT_BYTES (1ull << 30)    /* squared distances are kept if all fit into this: up to 23,000 points */
#define RUNS 2048u                 /* fewest runs of a pass, if there are as many tiles */
#define RUN_MOST 16u               /* most tiles of a run: a thread then adds 128 pairs of a row in single precision */

struct passes {
	struct sl_device *device;
	struct sl_cuda_sammon m;
	size_t host_room;          /* length of the host's arrays */
	uint32_t host_blocks;
	bool weights;              /* of the pass */
	char *memory;
	uint64_t bytes;
	double *sums;              /* [blocks] host memory */
};

static uint32_t values_of(const struct sl_cuda_sammon *m)
{
	return (uint32_t)m->dims * (m->curve ? 2 : 1);
}

/* ---- shapes ------------------------------------------------------------------------------------- */

static uint32_t least(uint64_t a, uint32_t b)
{
	return a < b ? (uint32_t)a : b;
}

/* Returns the number of tiles of the first block of rows, which has the most. */
static uint32_t tiles_of(const struct sl_cuda_sammon *m)
{
	uint32_t each = m->side > SL_SM_COLUMNS ? m->side / SL_SM_COLUMNS : 1;
	return m->partners ? m->partners * each : (m->n - 1) / SL_SM_COLUMNS + 1;
}

static void shape(struct passes *p, const struct sl_sammon_table *t)
{
	struct sl_cuda_sammon *m = &p->m;
	p->host_room = t->room;
	p->host_blocks = t->blocks;
	m->n = t->n;
	m->d = t->d;
	m->depth = (t->d + 15) / 16 * 16;
	m->wide = m->depth <= SL_SM_COLUMNS ? m->depth : SL_SM_DEEP;
	m->dims = t->dims;
	m->metric = t->metric;
	m->curve = t->curve;
	m->differences = t->differences && t->d <= SL_SM_MOST;
	m->side = t->side;
	m->partners = t->partners;
	m->step = t->partners ? least(t->side, SL_SM_ROWS) : SL_SM_ROWS;
	m->blocks = (t->n - 1) / m->step + 1;
	m->room = ((uint32_t)t->room + SL_SM_ROWS - 1) / SL_SM_ROWS * SL_SM_ROWS + SL_SM_ROWS;
	uint64_t tiles = (uint64_t)m->blocks * tiles_of(m) / (m->partners ? 1 : 2);
	m->run = least(tiles / RUNS + 1, RUN_MOST);
	m->runs = (tiles_of(m) - 1) / m->run + 1;
	uint64_t block = values_of(m) * sizeof(float) * ((uint64_t)m->room + m->runs * SL_SM_ROWS);
	block += m->runs * sizeof(double);
	m->blocks_max = least(PART_BYTES / block + 1, m->blocks);
}

/* Returns the bytes of all squared distances if they are kept, else 0. */
static uint64_t kept_bytes(const struct sl_cuda_sammon *m)
{
	uint64_t bytes = sl__cuda_sammon_tiles_before(m->n, m->blocks) * SL_SM_ROWS * SL_SM_COLUMNS * sizeof(float);
	return m->partners || bytes > KEPT_BYTES ? 0 : bytes;
}

static void carve(struct passes *p, char **at)
{
	struct sl_cuda_sammon *m = &p->m;
	uint64_t room = m->room, values = values_of(m);
	m->panel = sl__carve(at, room * m->d * sizeof(float));
	m->high = sl__carve(at, m->differences ? 0 : room * m->depth * 2);
	m->low = sl__carve(at, m->differences ? 0 : room * m->depth * 2);
	m->norm = sl__carve(at, room * sizeof(float));
	m->mass = sl__carve(at, room * sizeof(float));
	m->y = sl__carve(at, room * (uint64_t)m->dims * sizeof(float));
	m->partner = sl__carve(at, (uint64_t)p->host_blocks * m->partners * sizeof(uint32_t));
	m->row_part = sl__carve(at, (uint64_t)m->blocks_max * m->runs * values * SL_SM_ROWS * sizeof(float));
	m->column_part = sl__carve(at, m->partners ? 0 : m->blocks_max * values * room * sizeof(float));
	m->sum_part = sl__carve(at, (uint64_t)m->blocks_max * m->runs * sizeof(double));
	m->force = sl__carve(at, values * room * sizeof(double));
	m->weight = sl__carve(at, room * sizeof(double));
	m->sum = sl__carve(at, m->blocks * sizeof(double));
	m->total = sl__carve(at, m->blocks * sizeof(double));
	m->kept = sl__carve(at, kept_bytes(m));
	m->kept = kept_bytes(m) ? m->kept : NULL;
}

/* ---- calls ---------------------------------------------------------------------------------------- */

static void finish(void *arg)
{
	struct passes *p = arg;
	sl__device_enter(p->device, NULL);
	cudaStreamSynchronize(p->device->stream);
	sl__device_free(p->device, p->memory, p->bytes);
	cudaGetLastError();
	free(p->sums);
	free(p);
}

static int begin(void *arg, const float *y, const uint32_t *partner, bool weights, struct sl_error *err)
{
	struct passes *p = arg;
	const struct sl_cuda_sammon *m = &p->m;
	cudaStream_t stream = p->device->stream;
	int code = 0;
	p->weights = weights;
	SL_TRY(sl__device_enter(p->device, err));
	SL_CUDA(cudaMemcpy2DAsync(m->y, m->room * sizeof *y, y, p->host_room * sizeof *y, p->host_room * sizeof *y,
				  (size_t)m->dims, cudaMemcpyHostToDevice, stream));
	if (m->partners)
		SL_CUDA(cudaMemcpyAsync(m->partner, partner, (size_t)p->host_blocks * m->partners * sizeof *partner,
					cudaMemcpyHostToDevice, stream));
	SL_CUDA(cudaMemsetAsync(m->force, 0, (size_t)values_of(m) * m->room * sizeof *m->force, stream));
	if (weights)
		SL_CUDA(cudaMemsetAsync(m->weight, 0, m->room * sizeof *m->weight, stream));
out:
	return code;
}

/* Notes that the distances of a launch's blocks are kept. Launches come in order of blocks. */
static void note_kept(struct passes *p, uint32_t count)
{
	if (p->m.known < p->m.first + count)
		p->m.known = p->m.first + count;
}

static int go(void *arg, uint32_t from, uint32_t to, struct sl_error *err)
{
	struct passes *p = arg;
	cudaStream_t stream = p->device->stream;
	int code = 0;
	SL_TRY(sl__device_enter(p->device, err));
	for (uint32_t count; from < to; from += count) {
		p->m.first = from;
		count = least(to - from, p->m.blocks_max);
		if (p->weights) {
			SL_CUDA(sl__cuda_sammon_pairs(&p->m, count, true, stream));
			note_kept(p, count);
		}
		SL_CUDA(sl__cuda_sammon_pairs(&p->m, count, false, stream));
		note_kept(p, count);
	}
	SL_CUDA(cudaStreamSynchronize(stream));
out:
	return code;
}

static int fetch(struct passes *p, double *to, const double *from, uint32_t rows, struct sl_error *err)
{
	const struct sl_cuda_sammon *m = &p->m;
	size_t bytes = p->host_room * sizeof *to;
	int code = 0;
	SL_CUDA(cudaMemcpy2DAsync(to, bytes, from, m->room * sizeof *to, bytes, rows, cudaMemcpyDeviceToHost,
				  p->device->stream));
out:
	return code;
}

/* Adds up the sums of all blocks in order. */
static int add_up(struct passes *p, const double *from, double *sum, struct sl_error *err)
{
	int code = 0;
	SL_CUDA(sl__fetch(p->sums, from, p->m.blocks * sizeof *from, p->device->stream));
	*sum = 0;
	for (uint32_t b = 0; b < p->m.blocks; b++)
		*sum += p->sums[b];
out:
	return code;
}

static int end(void *arg, double *force, double *curve, double *weight, double *sum, double *total,
	       struct sl_error *err)
{
	struct passes *p = arg;
	const struct sl_cuda_sammon *m = &p->m;
	uint32_t dims = (uint32_t)m->dims;
	int code = 0;
	SL_TRY(sl__device_enter(p->device, err));
	SL_TRY(fetch(p, force, m->force, dims, err));
	if (curve)
		SL_TRY(fetch(p, curve, m->force + (size_t)dims * m->room, dims, err));
	if (weight)
		SL_TRY(fetch(p, weight, m->weight, 1, err));
	SL_TRY(add_up(p, m->sum, sum, err));
	if (total)
		SL_TRY(add_up(p, m->total, total, err));
out:
	return code;
}

/* ---- opening --------------------------------------------------------------------------------------- */

static int upload(struct passes *p, const struct sl_sammon_table *t, struct sl_error *err)
{
	const struct sl_cuda_sammon *m = &p->m;
	cudaStream_t stream = p->device->stream;
	int code = 0;
	SL_CUDA(cudaMemsetAsync(p->memory, 0, p->bytes, stream));
	SL_CUDA(cudaMemcpyAsync(m->panel, t->panel, t->room * t->d * sizeof(float), cudaMemcpyHostToDevice, stream));
	SL_CUDA(cudaMemcpyAsync(m->norm, t->norm, t->room * sizeof(float), cudaMemcpyHostToDevice, stream));
	SL_CUDA(cudaMemcpyAsync(m->mass, t->mass, t->room * sizeof(float), cudaMemcpyHostToDevice, stream));
	SL_CUDA(sl__cuda_sammon_init());
	if (!m->differences)
		SL_CUDA(sl__cuda_sammon_split(m, stream));
	SL_CUDA(cudaStreamSynchronize(stream));
out:
	return code;
}

static int open_memory(struct passes *p, const struct sl_sammon_table *t, struct sl_error *err)
{
	char what[64], *at = NULL;
	int code = 0;
	snprintf(what, sizeof what, "a layout of %u points", t->n);
	shape(p, t);
	carve(p, &at);
	p->bytes = (uint64_t)at;
	p->sums = malloc(p->m.blocks * sizeof *p->sums);
	if (!p->sums)
		return sl_error_memory(err, "%s", what);
	SL_TRY(sl__device_enter(p->device, err));
	SL_TRY(sl__device_alloc(p->device, p->bytes, what, &p->memory, err));
	at = p->memory;
	carve(p, &at);
	SL_TRY(upload(p, t, err));
out:
	return code;
}

int sl__sammon_passes(struct sl_device *device, const struct sl_sammon_table *t, struct sl_sammon_passes *out,
		      struct sl_error *err)
{
	struct passes *p = calloc(1, sizeof *p);
	if (!p)
		return sl_error_memory(err, "a layout");
	p->device = device;
	int code = open_memory(p, t, err);
	if (code) {
		finish(p);
		return code;
	}
	*out = (struct sl_sammon_passes){.arg = p, .units = p->m.blocks, .close = finish,
					 .begin = begin, .go = go, .end = end};
	return 0;
}
