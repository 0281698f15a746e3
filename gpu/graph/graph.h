/* graph.h -- P on the device: memory, upload, packing. walk.h is the random walk on it. */
#ifndef SL_GPU_GRAPH_H
#define SL_GPU_GRAPH_H

#include "gpu/device/device.h"
#include "gpu/small/small.h"
#include "gpu/state/matrix.h"

struct sl_affinities;

struct sl_device_graph {
	struct sl_device *device;
	struct sl_matrix matrix;        /* if host is not NULL, only n, m and mass */
	const struct sl_affinities *host;  /* hybrid engine: P, borrowed; else NULL */
	double entropy;
	char *memory;
	uint64_t bytes;
	struct sl_rows_report *report;  /* in `memory` */
	struct sl_rows rows;            /* while P is made, in memory of its own */
	uint64_t rows_bytes;
	struct sl_small_graph small;
};

/* The limit on nodes. 32-bit counters exceed n by up to the number of threads, and with more points the fixed-point
 * charges would have no fraction. */
#define SL_GPU_NODES_MAX 0x40000000u
/* Returns SL_TOOBIG for graphs of more nodes. */
int sl__graph_fits(uint32_t n, struct sl_error *err);

/* Makes P of n nodes and m entries. _alloc() allocates it; _rows() allocates g->rows for n rows with so many entries.
 * The caller fills g->rows on the device's stream, and _pack() adds them to P. After all rows, in their order, call
 * _finish(). The caller sets entropy. */
int sl__graph_alloc(struct sl_device *d, uint32_t n, uint64_t m, struct sl_device_graph **out, struct sl_error *err);
int sl__graph_rows(struct sl_device_graph *g, uint32_t n, uint64_t entries, struct sl_error *err);
int sl__graph_pack(struct sl_device_graph *g, struct sl_error *err);
int sl__graph_finish(struct sl_device_graph *g, struct sl_error *err);
int sl__graph_put(struct sl_device *d, const struct sl_affinities *a, struct sl_device_graph **out,
		  struct sl_error *err);
void sl__graph_drop(struct sl_device_graph *g);

#ifdef __cplusplus
extern "C" {
#endif

/* Packs rows into *a, whose memory and bits are set. Adds the number of long rows and of their entries to the
 * report. */
cudaError_t sl__pack_rows(const struct sl_rows *rows, const struct sl_matrix *a, struct sl_rows_report *report,
			  cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
