/* graph.h -- P on the device: memory, upload, packing. walk.h is the random walk on it. */
#ifndef SL_GPU_GRAPH_H
#define SL_GPU_GRAPH_H

#include "gpu/group/group.h"
#include "gpu/small/small.h"
#include "gpu/state/matrix.h"

struct sl_affinities;

/* The rows of P that a device holds: all, or those of one rank of a group. */
struct sl_share {
	uint32_t n;             /* nodes of the graph */
	uint64_t m;             /* entries of P */
	uint32_t first, rows;
	uint64_t begin, end;    /* the rows' entries */
};

struct sl_device_graph {
	struct sl_device *device;
	struct sl_share share;
	uint32_t parts[SL_RANKS_MAX + 1];  /* the first node of each rank of a group */
	struct sl_device_graph *of_rank[SL_RANKS_MAX];  /* of rank 0: the parts of all ranks. [0] NULL: not divided */
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

/* True if P is divided among the ranks of the device's group. */
static inline bool sl__is_divided(const struct sl_device_graph *g) { return g->share.rows != g->share.n; }
/* Divides the nodes among the ranks, so that the entries of P, and the nodes, take each of them as long as the others.
 * start [n + 1]: of the affinities. parts [ranks + 1] */
void sl__graph_divide(uint32_t n, const uint64_t *start, int ranks, uint32_t *parts);
/* True if a graph of n nodes is divided among the ranks of the device's group: unless it has fewer nodes than
 * divide_nodes, or is small enough for a kernel that runs many graphs. */
bool sl__graph_divides(const struct sl_device *d, uint32_t n);

/* The limit on nodes. 32-bit counters exceed n by up to the number of threads, and with more points the fixed-point
 * charges would have no fraction. */
#define SL_GPU_NODES_MAX 0x40000000u
/* Returns SL_TOOBIG for graphs of more nodes. */
int sl__graph_fits(uint32_t n, struct sl_error *err);

/* Makes P, or a share of it. _alloc() allocates it; _rows() allocates g->rows for n rows with so many entries.
 * The caller fills g->rows on the device's stream, and _pack() adds them to P; rows.first counts from the share's first
 * row on. After all rows, in their order, call _finish(); of a divided graph, on all ranks. The caller sets entropy. */
int sl__graph_alloc(struct sl_device *d, const struct sl_share *share, struct sl_device_graph **out,
		    struct sl_error *err);
int sl__graph_rows(struct sl_device_graph *g, uint32_t n, uint64_t entries, struct sl_error *err);
int sl__graph_pack(struct sl_device_graph *g, struct sl_error *err);
int sl__graph_finish(struct sl_device_graph *g, struct sl_error *err);
/* parts: of sl__graph_divide(), for a part of the graph on this rank; NULL: all of it. */
int sl__graph_put(struct sl_device *d, const struct sl_affinities *a, const uint32_t *parts,
		  struct sl_device_graph **out, struct sl_error *err);
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
