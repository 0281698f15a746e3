/* The attraction is a host function between two copies on the side stream. It is captured with the rest of the
 * iteration, so none of the daemon's threads waits for the GPU. The function runs on a thread of the driver, which
 * makes its own OpenMP team once.
 *
 * One thread sums a row, in a fixed order, so the bytes do not depend on the number of threads. When a layout has
 * outgrown its grid, the iterations queued behind must not run (report.state). The host function cannot see this on the
 * device, so the state is copied down with the layout. */
#include "gpu/embedding/hybrid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu/kernels.h"
#include "core/graph/affinities.h"

#define BLOCK 128                 /* rows that a thread takes at a time; rows per partial sum */
#define ENTRIES_PER_THREAD 20000  /* with fewer entries each, an additional thread costs more than it saves */

struct sl_hybrid {
	const struct sl_affinities *a;         /* borrowed */
	const struct sl_cpu_kernels *kernels;
	int dims, stride, threads;
	bool doubles;
	size_t floats;                         /* n * stride */
	float *y, *attraction, *repulsion;     /* pinned, [n * stride] */
	int *state;                            /* pinned */
	float *packed;                         /* 3-D: [n * 3]; else NULL */
	double *part;                          /* [blocks][2] */
};

/* ---- attraction ------------------------------------------------------------------------------- */

/* Packs the layout for the loops of core/cpu: [n * dims]. */
static const float *packed_layout(struct sl_hybrid *h)
{
	uint32_t n = h->a->n;
	if (!h->packed)
		return h->y;
#pragma omp parallel for schedule(static) num_threads(h->threads)
	for (uint32_t i = 0; i < n; i++)
		memcpy(h->packed + 3 * (size_t)i, h->y + 4 * (size_t)i, 3 * sizeof(float));
	return h->packed;
}

static void attract_block(struct sl_hybrid *h, const float *y, uint32_t from, uint32_t to, float *out)
{
	const struct sl_affinities *a = h->a;
	if (h->doubles)
		sl__attract_doubles(h->dims, a, y, from, to, out);
	else
		h->kernels->attract(h->dims, a->start, a->node, a->p, y, from, to, out);
}

/* Runs on a thread of the driver, where calls of CUDA are forbidden. */
static void attract(void *arg)
{
	struct sl_hybrid *h = arg;
	uint32_t n = h->a->n, blocks = (n + BLOCK - 1) / BLOCK;
	if (*h->state != SL_GO)
		return;
	const float *y = packed_layout(h);
#pragma omp parallel for schedule(dynamic, 4) num_threads(h->threads)
	for (uint32_t b = 0; b < blocks; b++) {
		uint32_t from = b * BLOCK, to = n - from < BLOCK ? n : from + BLOCK;
		float *out = h->attraction + (size_t)from * (size_t)h->stride, unpadded[BLOCK * 3];
		attract_block(h, y, from, to, h->packed ? unpadded : out);
		for (uint32_t i = 0; i < to - from && h->packed; i++)
			memcpy(out + 4 * (size_t)i, unpadded + 3 * (size_t)i, 3 * sizeof(float));
	}
}

cudaError_t sl__hybrid_attract(struct sl_hybrid *h, const struct sl_particles *p, const struct sl_report *report,
			       cudaStream_t stream)
{
	size_t bytes = h->floats * sizeof(float);
	cudaError_t status = cudaMemcpyAsync(h->state, &report->state, sizeof *h->state, cudaMemcpyDeviceToHost, stream);
	if (status == cudaSuccess)
		status = cudaMemcpyAsync(h->y, p->y, bytes, cudaMemcpyDeviceToHost, stream);
	if (status == cudaSuccess)
		status = cudaLaunchHostFunc(stream, attract, h);
	if (status == cudaSuccess)
		status = cudaMemcpyAsync(p->attraction, h->attraction, bytes, cudaMemcpyHostToDevice, stream);
	return status;
}

/* ---- measures ------------------------------------------------------------------------------------- */

int sl__hybrid_measure(struct sl_hybrid *h, const struct sl_particles *p, struct sl_report *report, cudaStream_t stream,
		       struct sl_error *err)
{
	const struct sl_affinities *a = h->a;
	uint32_t n = a->n, blocks = (n + BLOCK - 1) / BLOCK;
	int code = 0;
	SL_CUDA(sl__fetch(h->repulsion, p->repulsion, h->floats * sizeof(float), stream));
	const float *y = packed_layout(h);
	double inverse_z = 1 / report->z;
#pragma omp parallel for schedule(dynamic, 4) num_threads(h->threads)
	for (uint32_t b = 0; b < blocks; b++) {
		uint32_t from = b * BLOCK, to = n - from < BLOCK ? n : from + BLOCK;
		double square = 0;
		for (uint32_t i = from; i < to; i++)
			for (int k = 0; k < h->dims; k++) {
				size_t at = (size_t)i * (size_t)h->stride + (size_t)k;
				double gradient = (double)h->attraction[at] - (double)h->repulsion[at] * inverse_z;
				square += gradient * gradient;
			}
		h->part[2 * (size_t)b] = square;
		h->part[2 * (size_t)b + 1] = h->kernels->divergence(h->dims, a->start, a->node, a->p, y, from, to);
	}
	report->square = report->divergence = 0;
	for (uint32_t b = 0; b < blocks; b++) {
		report->square += h->part[2 * (size_t)b];
		report->divergence += h->part[2 * (size_t)b + 1];
	}
out:
	return code;
}

/* ---- life --------------------------------------------------------------------------------------------- */

int sl__hybrid_create(struct sl_device_graph *g, int dims, struct sl_hybrid **out, struct sl_error *err)
{
	const struct sl_affinities *a = g->host;
	struct sl_hybrid *h = calloc(1, sizeof *h);
	int code = 0;
	if (!h)
		return sl_error_memory(err, "an embedding of %u nodes", a->n);
	double useful = 1 + (double)a->m / ENTRIES_PER_THREAD;
	h->a = a;
	h->kernels = sl_cpu_kernels();
	h->dims = dims;
	h->stride = dims == 3 ? 4 : dims;
	h->threads = g->device->threads < useful ? g->device->threads : (int)useful;
	h->doubles = g->device->doubles;
	h->floats = a->n * (size_t)h->stride;
	cudaError_t status = cudaMallocHost((void **)&h->y, 3 * h->floats * sizeof(float) + sizeof *h->state);
	if (status == cudaErrorMemoryAllocation) {  /* host memory; dropping graphs from the GPU would not help */
		cudaGetLastError();
		code = sl_error_set(err, SL_NOMEM, "No page-locked host memory for an embedding of %u nodes.", a->n);
		goto out;
	}
	SL_CUDA(status);
	h->attraction = h->y + h->floats;
	h->repulsion = h->attraction + h->floats;
	h->state = (int *)(h->repulsion + h->floats);
	memset(h->attraction, 0, h->floats * sizeof(float));  /* the padding is uploaded, too */
	h->part = malloc(2 * sizeof *h->part * (a->n / BLOCK + 1));
	if (dims == 3)
		h->packed = malloc(3 * sizeof *h->packed * (size_t)a->n);
	if (!h->part || (dims == 3 && !h->packed))
		code = sl_error_memory(err, "an embedding of %u nodes", a->n);
out:
	if (code)
		sl__hybrid_destroy(h);
	else
		*out = h;
	return code;
}

void sl__hybrid_destroy(struct sl_hybrid *h)
{
	if (!h)
		return;
	cudaFreeHost(h->y);
	free(h->packed);
	free(h->part);
	free(h);
}
