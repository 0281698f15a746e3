/* Launches the kernels of walk.cu on the device's stream and waits for them. On a rank of a group, for its rows of
 * P: it gathers the vectors of all nodes after each step. */
#include "gpu/graph/walk.h"

#define COLUMNS 8

int sl__walk_mass(struct sl_device_graph *g, float *out, struct sl_error *err)
{
	int code = sl__device_enter(g->device, err);
	if (code)
		return code;
	SL_CUDA(sl__fetch(out + g->matrix.first, g->matrix.mass, sizeof *out * g->matrix.n, g->device->stream));
out:
	return code;
}

int sl__walk_components(struct sl_device_graph *g, uint32_t *label, struct sl_error *err)
{
	struct sl_device *d = g->device;
	uint64_t bytes = sizeof *label * (g->share.n + 1ull);
	void *memory = NULL;
	int code = 0;
	SL_TRY(sl__device_enter(d, err));
	SL_TRY(sl__device_alloc(d, bytes, "A spectral layout", &memory, err));
	SL_CUDA(sl__walk_label(&g->matrix, g->share.n, memory, d->stream));
	SL_CUDA(sl__fetch(label, memory, sizeof *label * g->share.n, d->stream));
out:
	sl__device_free(d, memory, bytes);
	return code;
}

static uint32_t root_of(uint32_t *label, uint32_t i)
{
	while (label[i] != i) {
		label[i] = label[label[i]];
		i = label[i];
	}
	return i;
}

void sl__walk_join(uint32_t n, uint32_t *label, const uint32_t *other)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t a = root_of(label, i), b = root_of(label, other[i]);
		label[a > b ? a : b] = a > b ? b : a;
	}
	for (uint32_t i = 0; i < n; i++)  /* roots are lower */
		label[i] = label[label[i]];
}

static int gather(struct sl_device_graph *g, float *vectors, struct sl_error *err)
{
	struct sl_gathered all = {vectors, COLUMNS * sizeof *vectors, g->parts};
	return sl__is_divided(g) ? sl__group_gather(g->device, &all, 1, g->device->stream, err) : 0;
}

/* Two blocks of vectors, slope and shift, in one piece of memory. */
int sl__walk_filter(struct sl_device_graph *g, int k, int steps, const float *slope, const float *shift, float **before,
		    float **x, struct sl_error *err)
{
	struct sl_device *d = g->device;
	size_t n = g->share.n, block = sizeof(float) * COLUMNS * n, each = sizeof(float) * n;
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
	if (sl__is_divided(g)) {
		SL_CUDA(cudaStreamSynchronize(d->stream));
		SL_TRY(sl__group_meet(d, 0, err));  /* all ranks have memory, and have read what rank 0 will write */
	}
	for (int step = 0; step < steps; step++) {
		SL_CUDA(sl__walk_step(&g->matrix, slope ? slopes : NULL, shifts, from, k + step == 0, to, d->stream));
		SL_TRY(gather(g, to, err));
		swap = from;
		from = to;
		to = swap;
	}
	/* *before keeps the uploaded vectors, T_0 x: after one step they are the previous term */
	swap = *before;
	*before = *x;
	*x = swap;
	if (!d->rank || !sl__is_divided(g))
		SL_CUDA(cudaMemcpyAsync(*x, from, block, cudaMemcpyDeviceToHost, d->stream));
	if ((k || steps > 1) && (!d->rank || !sl__is_divided(g)))
		SL_CUDA(sl__fetch(*before, to, block, d->stream));
	SL_CUDA(cudaStreamSynchronize(d->stream));
out:
	sl__device_free(d, memory, bytes);
	return code;
}
