/* kmeans.h -- the passes of k-means over points on the device (core/kmeans/passes.h). kmeans.c is the host code,
 * assign.cu scores centroids, decide.cu measures those that score alike, sums.cu has seeds and sums. passes.h has the
 * order of additions, which makes results those of the processor, bit by bit.
 *
 * The nearest centroid. A score |c - m|^2 / 2 - (x - m) (c - m) orders centroids as the distance does; m is the mean of
 * some points, so that points far from the origin do not cost precision. The scores of a tile of points and centroids
 * are float32. A score is off by at most `slack` (sl__kmeans_slack()). A point whose best score is less than the second
 * best one by more than twice that has its centroid. If only the third best one is, the best two are measured in double
 * precision; else all centroids are. So labels are exact, ties included: the lower number wins.
 *
 * Rows are scored `room` at most in one call; tests: tests/gpu/test_kmeans.c (kernels by themselves), and
 * tests/unit/test_kmeans_device.c (runs). */
#ifndef SL_GPU_KMEANS_H
#define SL_GPU_KMEANS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_device;
struct sl_kmeans_passes;
struct sl_kmeans_table;

#define SL_KM_LANES 64u   /* centroids of a panel */
#define SL_KM_ROWS 128u   /* points that a block scores */
#define SL_KM_DEPTH 16u   /* columns at a time */
#define SL_KM_MINUS 0x80000000u

/* A point that two centroids are near to. */
struct sl_km_pair { uint32_t row, a, b; };

/* All pointers are to device memory. */
struct sl_km {
	uint32_t n, d, k;
	uint32_t pitch;            /* of x: d, rounded up to a multiple of 4; what is beyond d is 0 */
	uint32_t depth;            /* of panels: d, rounded up to a multiple of SL_KM_DEPTH */
	uint32_t panels;           /* ceil(k / SL_KM_LANES) */
	uint32_t block;            /* points of a block of sums */
	uint32_t room;             /* rows that are scored, or moved, in one call, at most */
	float *x;                  /* [n][pitch] */
	float *centre;             /* [pitch] m */
	float *norm;               /* [n] at least |x - m| */
	uint32_t *label, *before;  /* [n]; while seeding, before is the nearest seed */
	double *square;            /* [n] to the nearest seed; or to the own centroid */
	double *centroid, *sum;    /* [k][d]; while seeding, centroid has the seeds */
	double *between;           /* [k] */
	uint32_t *count;           /* [k] */
	float *panel;              /* [panels][depth][SL_KM_LANES] c - m; 0 where there is none */
	float *half;               /* [panels * SL_KM_LANES] |c - m|^2 / 2; infinite where there is none */
	uint32_t *longest;         /* [1] bits of the longest |c - m|, rounded up */
	double *part;              /* [blocks] sums of blocks */
	/* rows that scores leave open */
	struct sl_km_pair *pair;   /* [room] */
	uint32_t *open;            /* [room] */
	uint32_t *opens;           /* [3] how many pairs, and open rows, there are; points that changed their label */
	/* rows that go from one cluster to another */
	uint32_t *key, *key_sorted, *value, *value_sorted;  /* [2 room] */
	uint32_t *start;           /* [k + 1] */
	void *sorting;
	uint64_t sorting_bytes;
};

/* Queue kernels on a stream, and return the launch's error. Rows are first .. first + count - 1, at most `room` for
 * assign, decide and move. */

/* x of the rows, from rows [count][d] on the device. */
cudaError_t sl__km_widen(const struct sl_km *m, const float *rows, uint32_t first, uint32_t count,
			 cudaStream_t stream);
/* norm of all points. */
cudaError_t sl__km_norms(const struct sl_km *m, cudaStream_t stream);
/* panel, half and longest from centroid. */
cudaError_t sl__km_pack(const struct sl_km *m, cudaStream_t stream);
/* before = label, and label: the centroid of the best score; pair, open and opens: rows to be decided. */
cudaError_t sl__km_score(const struct sl_km *m, uint32_t first, uint32_t count, cudaStream_t stream);
/* label of the rows in pair and open, by distances in double precision; *opens [2]: those that changed are added. */
cudaError_t sl__km_decide(const struct sl_km *m, uint32_t first, uint32_t count, cudaStream_t stream);
/* sum and count, by the rows whose label is not `before`. */
cudaError_t sl__km_move(const struct sl_km *m, uint32_t first, uint32_t count, cudaStream_t stream);
/* between [0 .. number - 1]: squared distances of seed `number`, a row of centroid, to those before it. */
cudaError_t sl__km_between(const struct sl_km *m, uint32_t number, cudaStream_t stream);
/* square of the rows: the lesser of what it is and the squared distance to seed `number`, of which between is there;
 * number 0: the latter. before: the nearest seed of each. */
cudaError_t sl__km_seed(const struct sl_km *m, uint32_t number, uint32_t first, uint32_t count, cudaStream_t stream);
/* square of the rows: to the centroid of their label. */
cudaError_t sl__km_squares(const struct sl_km *m, uint32_t first, uint32_t count, cudaStream_t stream);
/* part of blocks from .. to - 1: the sum of square over the block's rows, in their order. */
cudaError_t sl__km_parts(const struct sl_km *m, uint32_t from, uint32_t to, cudaStream_t stream);

/* Opens passes over a table; struct sl_engine, kmeans_passes. */
int sl__kmeans_passes(struct sl_device *device, const struct sl_kmeans_table *table, struct sl_kmeans_passes *out,
		      struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
