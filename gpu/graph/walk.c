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
	size_t n = g->matrix.n, block = (sizeof(float) * COLUMNS * n + 255) / 256 * 256;
	size_t each = (sizeof(float) * n + 255) / 256 * 256, bytes = 2 * block + 2 * each;
	char *memory = NULL;
	float *swap;
	int code = 0;
	SL_TRY(sl__device_enter(d, err));
	SL_TRY(sl__device_alloc(d, bytes, "A spectral layout", &memory, err));
	float *from = (float *)memory, *to = (float *)(memory + block);
	float *slopes = (float *)(memory + 2 * block), *shifts = (float *)(memory + 2 * block + each);
	SL_CUDA(cudaMemcpyAsync(from, *x, sizeof(float) * COLUMNS * n, cudaMemcpyHostToDevice, d->stream));
	if (k)
		SL_CUDA(cudaMemcpyAsync(to, *before, sizeof(float) * COLUMNS * n, cudaMemcpyHostToDevice, d->stream));
	if (slope) {
		SL_CUDA(cudaMemcpyAsync(slopes, slope, sizeof(float) * n, cudaMemcpyHostToDevice, d->stream));
		SL_CUDA(cudaMemcpyAsync(shifts, shift, sizeof(float) * n, cudaMemcpyHostToDevice, d->stream));
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
	SL_CUDA(cudaMemcpyAsync(*x, from, sizeof(float) * COLUMNS * n, cudaMemcpyDeviceToHost, d->stream));
	if (k || steps > 1)
		SL_CUDA(sl__fetch(*before, to, sizeof(float) * COLUMNS * n, d->stream));
out:
	sl__device_free(d, memory, bytes);
	return code;
}
