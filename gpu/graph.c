/* P on the device: rows as the affinities have them, 8 bytes an entry. */
#include "gpu/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t up(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

/* Threads that share a row: enough that the loads in flight hide each other's latency, few enough that
 * not most of them idle. By the mean length of the rows that are not long. */
static int lanes_for(double mean)
{
	return mean < 12 ? 4 : mean < 28 ? 8 : mean < 200 ? 16 : 32;
}

/* mass[n], and the rows that get a block each; returns their number. */
static uint32_t survey(const struct sl_affinities *a, float *mass, uint32_t *long_rows, int *lanes)
{
	uint32_t count = 0;
	uint64_t others = 0;
	for (uint32_t i = 0; i < a->n; i++) {
		float sum = 0;
		for (uint64_t k = a->start[i]; k < a->start[i + 1]; k++)
			sum += a->p[k];
		mass[i] = sum;
		if (a->start[i + 1] - a->start[i] > SL_LONG_ROW)
			long_rows[count++] = i;
		else
			others += a->start[i + 1] - a->start[i];
	}
	*lanes = lanes_for(a->n > count ? (double)others / (a->n - count) : 0);
	return count;
}

int sl__graph_put(struct sl_device *d, const struct sl_affinities *a, struct sl_device_graph **out,
		  struct sl_error *err)
{
	uint64_t n = a->n, m = a->m;
	uint64_t start_bytes = up((n + 1) * sizeof(uint64_t)), entry_bytes = up(m * 4 + 4), node_bytes = up(n * 4 + 4);
	char what[80];
	struct sl_device_graph *g = calloc(1, sizeof *g);
	float *mass = malloc(n * 4 + 4);
	uint32_t *long_rows = malloc(n * 4 + 4);
	int code = SL_NOMEM;
	if (!g || !mass || !long_rows) {
		sl_error_set(err, SL_NOMEM, "No memory for a graph of %u nodes.", a->n);
		goto out;
	}
	struct sl_matrix *p = &g->matrix;
	p->n = a->n;
	p->m = m;
	p->long_count = survey(a, mass, long_rows, &p->lanes);
	g->device = d;
	g->entropy = a->entropy;
	g->bytes = start_bytes + 2 * entry_bytes + node_bytes + up(p->long_count * 4 + 4);
	snprintf(what, sizeof what, "A graph of %u nodes and %llu entries", a->n, (unsigned long long)m);
	code = sl__device_alloc(d, g->bytes, what, &g->memory, err);
	if (code)
		goto out;
	p->start = (uint64_t *)g->memory;
	p->node = (uint32_t *)(g->memory + start_bytes);
	p->p = (float *)(g->memory + start_bytes + entry_bytes);
	p->mass = (float *)(g->memory + start_bytes + 2 * entry_bytes);
	p->long_rows = (uint32_t *)(g->memory + start_bytes + 2 * entry_bytes + node_bytes);
	SL_CUDA(cudaMemcpyAsync(p->start, a->start, (n + 1) * sizeof(uint64_t), cudaMemcpyHostToDevice, d->stream));
	SL_CUDA(cudaMemcpyAsync(p->node, a->node, m * 4, cudaMemcpyHostToDevice, d->stream));
	SL_CUDA(cudaMemcpyAsync(p->p, a->p, m * 4, cudaMemcpyHostToDevice, d->stream));
	SL_CUDA(cudaMemcpyAsync(p->mass, mass, n * 4, cudaMemcpyHostToDevice, d->stream));
	SL_CUDA(cudaMemcpyAsync(p->long_rows, long_rows, p->long_count * 4ull, cudaMemcpyHostToDevice, d->stream));
	SL_CUDA(cudaStreamSynchronize(d->stream));
	*out = g;
out:
	if (code)
		sl__graph_drop(g);
	free(mass);
	free(long_rows);
	return code;
}

void sl__graph_drop(struct sl_device_graph *g)
{
	if (!g)
		return;
	if (g->memory)
		sl__device_free(g->device, g->memory, g->bytes);
	free(g);
}
