/* P on the device: rows as the affinities have them, 8 bytes an entry. */
#include "gpu/cuda.h"

#include <stdio.h>
#include <stdlib.h>

static uint64_t up(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

/* Threads that share a row: enough that the loads in flight hide each other's latency, few enough that
 * not most of them idle. By the mean length of the rows that are not long. */
static int lanes_for(double mean)
{
	return mean < 12 ? 4 : mean < 28 ? 8 : mean < 200 ? 16 : 32;
}

int sl__graph_fits(uint32_t n, struct sl_error *err)
{
	if (n <= SL_GPU_NODES_MAX)
		return 0;
	return sl_error_set(err, SL_TOOBIG, "The graph has %u nodes; engines on a GPU take at most %u.", n,
			    SL_GPU_NODES_MAX);
}

int sl__graph_alloc(struct sl_device *d, uint32_t n, uint64_t m, struct sl_device_graph **out, struct sl_error *err)
{
	uint64_t start_bytes = up((n + 1ull) * sizeof(uint64_t)), entry_bytes = up(m * 4 + 4);
	uint64_t node_bytes = up(n * 4ull + 4);
	uint64_t long_bytes = up((m / SL_LONG_ROW + 1) * 4), report_bytes = up(sizeof(struct sl_rows_report));
	char what[80];
	int code = sl__graph_fits(n, err);
	if (code)
		return code;
	struct sl_device_graph *g = calloc(1, sizeof *g);
	if (!g)
		return sl_error_set(err, SL_NOMEM, "No memory for a graph of %u nodes.", n);
	struct sl_matrix *p = &g->matrix;
	p->n = n;
	p->m = m;
	g->device = d;
	g->bytes = start_bytes + 2 * entry_bytes + node_bytes + long_bytes + report_bytes;
	snprintf(what, sizeof what, "A graph of %u nodes and %llu entries", n, (unsigned long long)m);
	code = sl__device_alloc(d, g->bytes, what, &g->memory, err);
	if (code) {
		free(g);
		return code;
	}
	d->graph_bytes += g->bytes;
	p->start = (uint64_t *)g->memory;
	p->node = (uint32_t *)(g->memory + start_bytes);
	p->p = (float *)(g->memory + start_bytes + entry_bytes);
	p->mass = (float *)(g->memory + start_bytes + 2 * entry_bytes);
	p->long_rows = (uint32_t *)(g->memory + start_bytes + 2 * entry_bytes + node_bytes);
	g->rows = (struct sl_rows_report *)(g->memory + start_bytes + 2 * entry_bytes + node_bytes + long_bytes);
	*out = g;
	return 0;
}

int sl__graph_finish(struct sl_device_graph *g, struct sl_error *err)
{
	struct sl_matrix *p = &g->matrix;
	struct sl_rows_report report;
	cudaStream_t stream = g->device->stream;
	int code = sl__small_attach(g, err);
	if (code)
		return code;
	SL_CUDA(sl__survey_rows(p, g->rows, stream));
	SL_CUDA(cudaMemcpyAsync(&report, g->rows, sizeof report, cudaMemcpyDeviceToHost, stream));
	SL_CUDA(cudaStreamSynchronize(stream));
	p->long_count = report.long_count;
	uint32_t short_count = p->n - report.long_count;
	p->lanes = lanes_for(short_count ? (double)(p->m - report.long_entries) / short_count : 0);
out:
	return code;
}

int sl__graph_put(struct sl_device *d, const struct sl_affinities *a, struct sl_device_graph **out,
		  struct sl_error *err)
{
	struct sl_device_graph *g = NULL;
	int code = sl__graph_alloc(d, a->n, a->m, &g, err);
	if (code)
		return code;
	struct sl_matrix *p = &g->matrix;
	g->entropy = a->entropy;
	SL_CUDA(cudaMemcpyAsync(p->start, a->start, (a->n + 1ull) * sizeof(uint64_t), cudaMemcpyHostToDevice, d->stream));
	SL_CUDA(cudaMemcpyAsync(p->node, a->node, a->m * 4, cudaMemcpyHostToDevice, d->stream));
	SL_CUDA(cudaMemcpyAsync(p->p, a->p, a->m * 4, cudaMemcpyHostToDevice, d->stream));
	code = sl__graph_finish(g, err);
	if (!code)
		*out = g;
out:
	if (code)
		sl__graph_drop(g);
	return code;
}

void sl__graph_drop(struct sl_device_graph *g)
{
	if (!g)
		return;
	sl__small_drop(g);
	if (g->memory)
		g->device->graph_bytes -= g->bytes;
	sl__device_free(g->device, g->memory, g->bytes);
	free(g);
}
