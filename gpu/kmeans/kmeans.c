/* Passes of k-means on the device: one block of its memory for all arrays of a run, and the calls of struct
 * sl_kmeans_passes, which queue kernels on the device's stream and wait for them. */
#include "gpu/kmeans/kmeans.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/kmeans/passes.h"
#include "gpu/device/device.h"
#include "gpu/device/fault.h"
#include "gpu/group/group.h"
#include "gpu/neighbours/sort/sort.h"

#define ROOM (1u << 18)   /* most rows scored or moved in one call */
#define SHARED 8u         /* candidates for each row, and best scores for each row */
#define BESTS 65536u      /* fewest best scores: few rows are scored in many splits */
#define SAMPLE 4096u      /* points whose mean is the centre */
#define PINNED (1u << 20) /* tables of at least so many bytes are pinned, which makes copies faster */
#define STAGE (16u << 20) /* bytes of rows uploaded at a time, if x has a wider pitch */

struct passes {
	struct sl_device *device;
	struct sl_cuda_kmeans m;
	uint32_t blocks;
	float *stage;             /* [stage_rows][d]; NULL: rows are as wide as the pitch */
	uint32_t stage_rows;
	char *memory;
	uint64_t bytes;
	void *pinned[2];          /* host tables, or NULL */
};

/* ---- opening --------------------------------------------------------------------------- */

/* Places all arrays in one block of memory that begins at `at`; returns its size in bytes. */
static uint64_t carve(struct passes *p, char *at)
{
	struct sl_cuda_kmeans *m = &p->m;
	const char *begin = at;
	uint64_t n = m->n, k = m->k, table = k * m->d;
	m->x = sl__carve(&at, n * m->pitch * sizeof *m->x);
	m->centre = sl__carve(&at, m->pitch * sizeof *m->centre);
	m->norm = sl__carve(&at, n * sizeof *m->norm);
	m->label = sl__carve(&at, n * sizeof *m->label);
	m->before = sl__carve(&at, n * sizeof *m->before);
	m->square = sl__carve(&at, n * sizeof *m->square);
	m->centroid = sl__carve(&at, table * sizeof *m->centroid);
	m->sum = sl__carve(&at, table * sizeof *m->sum);
	m->between = sl__carve(&at, k * sizeof *m->between);
	m->count = sl__carve(&at, k * sizeof *m->count);
	m->away = sl__carve(&at, n * sizeof *m->away);
	m->halves = sl__carve(&at, n * m->width * 2);
	m->panel = sl__carve(&at, (uint64_t)m->lanes * m->width * 2);
	m->half = sl__carve(&at, m->lanes * sizeof *m->half);
	m->greatest = sl__carve(&at, 2 * sizeof *m->greatest);
	m->part = sl__carve(&at, p->blocks * sizeof *m->part);
	m->open = sl__carve(&at, m->room * sizeof *m->open);
	m->near = sl__carve(&at, m->room * sizeof *m->near);
	m->least = sl__carve(&at, m->room * sizeof *m->least);
	m->best = sl__carve(&at, m->bests * sizeof *m->best);
	m->candidate = sl__carve(&at, m->candidates * sizeof *m->candidate);
	m->opens = sl__carve(&at, 3 * sizeof *m->opens);
	m->key = sl__carve(&at, 2ull * m->room * sizeof *m->key);
	m->key_sorted = sl__carve(&at, 2ull * m->room * sizeof *m->key);
	m->value = sl__carve(&at, 2ull * m->room * sizeof *m->value);
	m->value_sorted = sl__carve(&at, 2ull * m->room * sizeof *m->value);
	m->start = sl__carve(&at, (k + 1) * sizeof *m->start);
	m->sorting = sl__carve(&at, m->sorting_bytes);
	p->stage = p->stage_rows ? sl__carve(&at, (uint64_t)p->stage_rows * m->d * sizeof *p->stage) : NULL;
	return (uint64_t)(at - begin);
}

/* Returns the mean of some points; results do not depend on which. NULL: no memory. */
static float *make_centre(const struct sl_kmeans_table *t, uint32_t pitch)
{
	float *centre = calloc(pitch, sizeof *centre);
	double *sum = calloc(t->d, sizeof *sum);
	uint32_t rows = t->n < SAMPLE ? t->n : SAMPLE;
	for (uint32_t i = 0; sum && i < rows; i++) {
		const float *x = t->x + (uint64_t)i * t->n / rows * t->d;
		for (uint32_t k = 0; k < t->d; k++)
			sum[k] += (double)x[k];
	}
	for (uint32_t k = 0; centre && sum && k < t->d; k++)
		centre[k] = (float)(sum[k] / rows);
	if (!sum)
		free(centre);
	free(sum);
	return sum ? centre : NULL;
}

/* Uploads rows in parts through the stage, since a strided copy of narrow rows would be slow. */
static int upload_rows(struct passes *p, const float *x, struct sl_error *err)
{
	const struct sl_cuda_kmeans *m = &p->m;
	cudaStream_t stream = p->device->stream;
	uint32_t part = p->stage ? p->stage_rows : m->n;
	int code = 0;
	for (uint32_t first = 0, count; first < m->n; first += count) {
		count = m->n - first < part ? m->n - first : part;
		SL_CUDA(cudaMemcpyAsync(p->stage ? p->stage : m->x, x + (uint64_t)first * m->d,
					(uint64_t)count * m->d * sizeof *x, cudaMemcpyHostToDevice, stream));
		if (p->stage)
			SL_CUDA(sl__cuda_kmeans_widen(m, p->stage, first, count, stream));
	}
out:
	return code;
}

static int upload(struct passes *p, const struct sl_kmeans_table *t, const float *centre, struct sl_error *err)
{
	const struct sl_cuda_kmeans *m = &p->m;
	cudaStream_t stream = p->device->stream;
	int code = 0;
	SL_TRY(upload_rows(p, t->x, err));
	SL_CUDA(cudaMemcpyAsync(m->centre, centre, m->pitch * sizeof *centre, cudaMemcpyHostToDevice, stream));
	SL_CUDA(sl__cuda_kmeans_halve(m, stream));
	SL_CUDA(cudaStreamSynchronize(stream));
out:
	return code;
}

/* Pins a table; if that fails, copies work all the same but are slower. */
static void pin(struct passes *p, const struct sl_kmeans_table *t)
{
	void *tables[2] = {t->centroid, t->sum};
	uint64_t bytes = (uint64_t)t->k * t->d * sizeof(double);
	for (int i = 0; i < 2 && bytes >= PINNED; i++)
		if (tables[i] && cudaHostRegister(tables[i], bytes, cudaHostRegisterDefault) == cudaSuccess)
			p->pinned[i] = tables[i];
	cudaGetLastError();
}

static void close_passes(void *arg)
{
	struct passes *p = arg;
	sl__device_enter(p->device, NULL);
	for (int i = 0; i < 2; i++)
		if (p->pinned[i])
			cudaHostUnregister(p->pinned[i]);
	if (p->memory) {
		sl__device_free(p->device, p->memory, p->bytes);
		p->device->embedding_bytes -= p->bytes;
	}
	free(p);
}

/* ---- seeds ------------------------------------------------------------------------------- */

static uint32_t row_of(const struct passes *p, uint32_t block)
{
	return block >= p->blocks ? p->m.n : block * p->m.block;
}

/* Copies the sums of blocks to the host. */
static int fetch_parts(struct passes *p, uint32_t from, uint32_t to, double *part, struct sl_error *err)
{
	const struct sl_cuda_kmeans *m = &p->m;
	int code = 0;
	SL_CUDA(sl__cuda_kmeans_parts(m, from, to, p->device->stream));
	SL_CUDA(sl__fetch(part + from, m->part + from, (to - from) * sizeof *part, p->device->stream));
out:
	return code;
}

static int seed(void *arg, uint32_t number, const double *c, uint32_t from, uint32_t to, double *part,
		struct sl_error *err)
{
	struct passes *p = arg;
	const struct sl_cuda_kmeans *m = &p->m;
	uint32_t first = row_of(p, from);
	int code = 0;
	SL_TRY(sl__device_enter(p->device, err));
	SL_CUDA(cudaMemcpyAsync(m->centroid + (uint64_t)number * m->d, c, m->d * sizeof *c, cudaMemcpyHostToDevice,
				p->device->stream));
	SL_CUDA(sl__cuda_kmeans_between(m, number, p->device->stream));
	if (from == to)
		goto out;
	SL_CUDA(sl__cuda_kmeans_seed(m, number, first, row_of(p, to) - first, p->device->stream));
	code = fetch_parts(p, from, to, part, err);
out:
	return code;
}

static int nearest(void *arg, uint32_t first, uint32_t count, double *square, struct sl_error *err)
{
	struct passes *p = arg;
	int code = 0;
	SL_TRY(sl__device_enter(p->device, err));
	SL_CUDA(sl__fetch(square, p->m.square + first, count * sizeof *square, p->device->stream));
out:
	return code;
}

/* ---- the state --------------------------------------------------------------------------- */

static cudaError_t send(void *to, const void *from, uint64_t bytes, cudaStream_t stream)
{
	return from ? cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream) : cudaSuccess;
}

static cudaError_t fetch(void *to, const void *from, uint64_t bytes, cudaStream_t stream)
{
	return to ? sl__fetch(to, from, bytes, stream) : cudaSuccess;
}

static int put(void *arg, const uint32_t *label, const uint32_t *before, const double *sum, const uint32_t *count,
	       struct sl_error *err)
{
	struct passes *p = arg;
	const struct sl_cuda_kmeans *m = &p->m;
	cudaStream_t stream = p->device->stream;
	int code = 0;
	SL_TRY(sl__device_enter(p->device, err));
	SL_CUDA(send(m->label, label, m->n * sizeof *label, stream));
	SL_CUDA(send(m->before, before, m->n * sizeof *before, stream));
	SL_CUDA(send(m->sum, sum, (uint64_t)m->k * m->d * sizeof *sum, stream));
	SL_CUDA(send(m->count, count, m->k * sizeof *count, stream));
	SL_CUDA(cudaStreamSynchronize(stream));
out:
	return code;
}

static int get(void *arg, uint32_t *label, uint32_t *before, double *sum, uint32_t *count, struct sl_error *err)
{
	struct passes *p = arg;
	const struct sl_cuda_kmeans *m = &p->m;
	cudaStream_t stream = p->device->stream;
	int code = 0;
	SL_TRY(sl__device_enter(p->device, err));
	SL_CUDA(fetch(label, m->label, m->n * sizeof *label, stream));
	SL_CUDA(fetch(before, m->before, m->n * sizeof *before, stream));
	SL_CUDA(fetch(sum, m->sum, (uint64_t)m->k * m->d * sizeof *sum, stream));
	SL_CUDA(fetch(count, m->count, m->k * sizeof *count, stream));
out:
	return code;
}

static int centroids(void *arg, const double *centroid, struct sl_error *err)
{
	struct passes *p = arg;
	const struct sl_cuda_kmeans *m = &p->m;
	int code = 0;
	SL_TRY(sl__device_enter(p->device, err));
	SL_CUDA(send(m->centroid, centroid, (uint64_t)m->k * m->d * sizeof *centroid, p->device->stream));
	SL_CUDA(sl__cuda_kmeans_pack(m, p->device->stream));
	SL_CUDA(cudaStreamSynchronize(p->device->stream));
out:
	return code;
}

/* ---- Lloyd ------------------------------------------------------------------------------- */

static int assign(void *arg, uint32_t from, uint32_t to, uint32_t *moved, struct sl_error *err)
{
	struct passes *p = arg;
	const struct sl_cuda_kmeans *m = &p->m;
	cudaStream_t stream = p->device->stream;
	uint32_t end = row_of(p, to), changed;
	int code = 0;
	SL_TRY(sl__device_enter(p->device, err));
	SL_CUDA(sl__fault_if_due(stream));
	SL_CUDA(cudaMemsetAsync(m->opens + 2, 0, sizeof *m->opens, stream));
	for (uint32_t first = row_of(p, from), count; first < end; first += count) {
		count = end - first < m->room ? end - first : m->room;
		SL_CUDA(sl__cuda_kmeans_score(m, first, count, stream));
		SL_CUDA(sl__cuda_kmeans_decide(m, first, count, stream));
	}
	SL_CUDA(sl__fetch(&changed, m->opens + 2, sizeof changed, stream));
	*moved += changed;
out:
	return code;
}

static int move(void *arg, uint32_t from, uint32_t to, struct sl_error *err)
{
	struct passes *p = arg;
	const struct sl_cuda_kmeans *m = &p->m;
	uint32_t end = row_of(p, to);
	int code = 0;
	SL_TRY(sl__device_enter(p->device, err));
	for (uint32_t first = row_of(p, from), count; first < end; first += count) {
		count = end - first < m->room ? end - first : m->room;
		SL_CUDA(sl__cuda_kmeans_move(m, first, count, p->device->stream));
	}
	SL_CUDA(cudaStreamSynchronize(p->device->stream));
out:
	return code;
}

static int inertia(void *arg, uint32_t from, uint32_t to, double *part, struct sl_error *err)
{
	struct passes *p = arg;
	uint32_t first = row_of(p, from);
	int code = 0;
	SL_TRY(sl__device_enter(p->device, err));
	if (from == to)
		goto out;
	SL_CUDA(sl__cuda_kmeans_squares(&p->m, first, row_of(p, to) - first, p->device->stream));
	code = fetch_parts(p, from, to, part, err);
out:
	return code;
}

int sl__kmeans_gather(void *arg, bool squares, const uint32_t *parts, struct sl_error *err)
{
	struct passes *p = arg;
	const struct sl_cuda_kmeans *m = &p->m;
	uint32_t rows[SL_RANKS_MAX + 1];
	int code = 0;
	for (int r = 0; r <= p->device->ranks; r++)
		rows[r] = row_of(p, parts[r]);
	const struct sl_gathered all[] = {
		{m->before, sizeof *m->before, rows}, {m->label, sizeof *m->label, rows},
		{m->square, sizeof *m->square, rows},
	};
	SL_TRY(sl__group_gather(p->device, all + (squares ? 2 : 0), squares ? 1 : 2, p->device->stream, err));
	SL_CUDA(cudaStreamSynchronize(p->device->stream));
out:
	return code;
}

int sl__kmeans_alone(struct sl_device *device, const struct sl_kmeans_table *t, struct sl_kmeans_passes *out,
		     struct sl_error *err)
{
	char what[96];
	struct passes *p = calloc(1, sizeof *p);
	float *centre = NULL;
	int code = 0;
	SL_TRY(p ? 0 : sl_error_memory(err, "k-means"));
	p->device = device;
	p->blocks = t->blocks;
	p->m = (struct sl_cuda_kmeans){.n = t->n, .d = t->d, .k = t->k, .pitch = (t->d + 3) / 4 * 4, .block = t->block,
			      .split = sl__cuda_kmeans_split(t->d), .width = sl__cuda_kmeans_width(t->d), .lanes =
				      sl__cuda_kmeans_lanes(t->k),
			      .room = t->n < ROOM ? t->n : ROOM};
	p->m.bests = SHARED * p->m.room < BESTS ? BESTS : SHARED * p->m.room;
	p->m.candidates = SHARED * p->m.room;
	SL_TRY(sl__device_enter(device, err));
	SL_CUDA(sl__cuda_kmeans_init());
	p->m.groups = sl__cuda_kmeans_groups();
	p->m.sorting_bytes = sl__sort_bytes(2ull * p->m.room);
	if (p->m.pitch != t->d)
		p->stage_rows = (uint64_t)t->n * t->d * 4 < STAGE ? t->n : t->d * 4 < STAGE ? STAGE / (t->d * 4) : 1;
	p->bytes = carve(p, NULL);
	snprintf(what, sizeof what, "k-means of %u points of %u columns", t->n, t->d);
	SL_TRY(sl__device_alloc(device, p->bytes, what, &p->memory, err));
	device->embedding_bytes += p->bytes;
	carve(p, p->memory);
	pin(p, t);
	centre = make_centre(t, p->m.pitch);
	SL_TRY(centre ? 0 : sl_error_memory(err, "k-means"));
	SL_TRY(upload(p, t, centre, err));
	*out = (struct sl_kmeans_passes){.arg = p, .close = close_passes, .seed = seed, .nearest = nearest, .put = put,
					 .get = get, .centroids = centroids, .assign = assign, .move = move,
					 .inertia = inertia};
out:
	free(centre);
	if (code && p)
		close_passes(p);
	return code;
}
