/* graph.h -- P on the device: how it gets there, and the random walk on it. */
#ifndef SL_GPU_GRAPH_H
#define SL_GPU_GRAPH_H

#include "gpu/device/device.h"
#include "gpu/small/small.h"
#include "gpu/state/matrix.h"

struct sl_affinities;

struct sl_device_graph {
	struct sl_device *device;
	struct sl_matrix matrix;        /* of which only n, m and mass with host */
	const struct sl_affinities *host;  /* hybrid engine: P, borrowed; else NULL */
	double entropy;
	char *memory;
	uint64_t bytes;
	struct sl_rows_report *report;  /* in `memory` */
	struct sl_rows rows;            /* while P is made, in memory of its own */
	uint64_t rows_bytes;
	struct sl_small_graph small;
};

/* Counters of 32 bits run over by up to the threads of a launch, and charges of more points have no fraction. */
#define SL_GPU_NODES_MAX 0x40000000u
/* SL_TOOBIG for graphs of more nodes. */
int sl__graph_fits(uint32_t n, struct sl_error *err);

/* P of n nodes and m entries: alloc() makes room for it, rows() for some rows of it with so many entries or for all.
 * The caller fills rows (on the device's stream), pack() brings them in; so all rows in their order, and finish().
 * entropy is the caller's. */
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

/* Those rows of *a, whose memory and bits are given; how many of them are long, and their entries, are added up. */
cudaError_t sl__pack_rows(const struct sl_rows *rows, const struct sl_matrix *a, struct sl_rows_report *report,
			  cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
