/* Launches the kernels of walk.cu on the device's stream and waits for them. */
#include "gpu/graph/walk.h"

#define COLUMNS 8

int sl__walk_mass(struct sl_device_graph *g, float *out, struct sl_error *err)
{
	int code = sl__device_enter(g->device, err);
	if (code)
		return code;
	SL_CUDA(sl__fetch(out, g->matrix.mass, sizeof *out * g->matrix.n, g->device->stream));
out:
	return code;
}

int sl__walk_components(struct sl_device_graph *g, uint32_t *label, struct sl_error *err)
{
	struct sl_device *d = g->device;
	uint64_t bytes = sizeof *label * (g->matrix.n + 1ull);
	void *memory = NULL;
	int code = 0;
	SL_TRY(sl__device_enter(d, err));
	SL_TRY(sl__device_alloc(d, bytes, "A spectral layout", &memory, err));
	SL_CUDA(sl__walk_label(&g->matrix, memory, d->stream));
	SL_CUDA(sl__fetch(label, memory, sizeof *label * g->matrix.n, d->stream));
out:
	sl__device_free(d, memory, bytes);
	return code;
}

/* Two blocks of vectors, slope and shift, in one piece of memory. */
int sl__walk_filter(struct sl_device_graph *g, int k, int steps, const float *slope, const float *shift, float **before,
		    float **x, struct sl_error *err)
{
	struct sl_device *d = g->device;
	size_t n = g->matrix.n, block = sizeof(float) * COLUMNS * n, each = sizeof(float) * n;
	uint64_t bytes = 2 * sl__aligned(block) + 2 * sl__aligned(each);
	char *memory = NULL, *at;
	float *swap;
	int code = 0;
	SL_TRY(sl__device_enter(d, err));
	SL_TRY(sl__device_alloc(d, bytes, "A spectral layout", &memory, err));
	at = memory;
	float *from = sl__carve(&at, block), *to = sl__carve(&at, block);
	float *slopes = sl__carve(&at, each), *shifts = sl__carve(&at, each);
	SL_CUDA(cudaMemcpyAsync(from, *x, block, cudaMemcpyHostToDevice, d->stream));
	if (k)
		SL_CUDA(cudaMemcpyAsync(to, *before, block, cudaMemcpyHostToDevice, d->stream));
	if (slope) {
		SL_CUDA(cudaMemcpyAsync(slopes, slope, each, cudaMemcpyHostToDevice, d->stream));
		SL_CUDA(cudaMemcpyAsync(shifts, shift, each, cudaMemcpyHostToDevice, d->stream));
	}
	for (int step = 0; step < steps; step++) {
		SL_CUDA(sl__walk_step(&g->matrix, slope ? slopes : NULL, shifts, from, k + step == 0, to, d->stream));
		swap = from;
		from = to;
		to = swap;
	}
	/* *before keeps the uploaded vectors, T_0 x: after one step they are the previous term */
	swap = *before;
	*before = *x;
	*x = swap;
	SL_CUDA(cudaMemcpyAsync(*x, from, block, cudaMemcpyDeviceToHost, d->stream));
	if (k || steps > 1)
		SL_CUDA(sl__fetch(*before, to, block, d->stream));
out:
	sl__device_free(d, memory, bytes);
	return code;
}
