/* kmeans.h -- the passes of k-means over points on the device (core/kmeans/passes.h). kmeans.c is the host code,
 * points.cu makes halves of points and centroids, score.cu scores them, decide.cu measures those that score alike,
 * sums.cu has seeds and sums. passes.h has the order of additions, which makes results those of the processor, bit by
 * bit.
 *
 * The nearest centroid. A score |c - m|^2 / 2 - (x - m) (c - m) orders centroids as the distance does; m is the mean of
 * some points, so that points far from the origin do not cost precision. Tensor cores multiply x - m and c - m in half
 * precision and add up in float32. A score is off by at most `slack` (score_slack() in exact.cuh). A point whose best
 * score is less than the second best one by more than twice that has its centroid. For the others, all centroids that
 * score within twice the slack of the best one are listed and measured in double precision. So labels are exact, ties
 * included: the lower number wins.
 *
 * Rows are scored `room` at most in one call; tests: tests/gpu/test_kmeans.c (kernels by themselves), and
 * tests/unit/test_kmeans_device.c (runs); bench: tests/gpu/bench_kmeans.c. */
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

#define SL_KM_ROWS 256u   /* points that a block scores */
#define SL_KM_DEPTH 32u   /* halves at a time */
#define SL_KM_MINUS 0x80000000u

/* How points and centroids are laid out for scores. */
static inline bool sl__km_split(uint32_t d) { return 3 * d <= 2 * SL_KM_DEPTH; }
static inline uint32_t sl__km_width(uint32_t d)
{
	return ((sl__km_split(d) ? 3 * d : d) + SL_KM_DEPTH - 1) / SL_KM_DEPTH * SL_KM_DEPTH;
}
static inline uint32_t sl__km_lanes(uint32_t k) { return k <= 64 ? 64 : (k + 127) / 128 * 128; }

/* A centroid that may be the nearest one of an open row, open[place]. */
struct sl_km_candidate { uint32_t place, j; double square; };
/* The best score of a point, the second best, and the centroid of the best. */
struct sl_km_best { float first, second; uint32_t a; };

/* All pointers are to device memory. */
struct sl_km {
	uint32_t n, d, k;
	uint32_t pitch;            /* of x: d, rounded up to a multiple of 4; what is beyond d is 0 */
	bool split;                /* halves come in pairs; sl__km_split(d) */
	uint32_t width;            /* halves of a row; sl__km_width(d) */
	uint32_t lanes;            /* rows of panel; sl__km_lanes(k) */
	uint32_t block;            /* points of a block of sums */
	uint32_t room;             /* rows that are scored, or moved, in one call, at most */
	float *x;                  /* [n][pitch] */
	float *centre;             /* [pitch] m */
	float *norm, *away;        /* [n] at least |x - m|, and what its halves are off by */
	void *halves;              /* [n][width] x - m */
	uint32_t *label, *before;  /* [n]; while seeding, before is the nearest seed */
	double *square;            /* [n] to the nearest seed; or to the own centroid */
	double *centroid, *sum;    /* [k][d]; while seeding, centroid has the seeds */
	double *between;           /* [k] */
	uint32_t *count;           /* [k] */
	void *panel;               /* [lanes][width] halves of c - m; 0 where there is none */
	float *half;               /* [lanes] |c - m|^2 / 2; infinite where there is none */
	uint32_t *greatest;        /* [2] bits of the longest |c - m|, and of what its halves are off by, rounded up */
	double *part;              /* [blocks] sums of blocks */
	/* rows that scores leave open */
	uint64_t bests;            /* at least 2 room */
	struct sl_km_best *best;   /* [bests] of parts of the centroids */
	uint32_t *open;            /* [room] with more than one near centroid */
	float *near;               /* [room] the score that these have at most */
	unsigned long long *least; /* [room] bits of the least squared distance */
	uint32_t candidates;
	struct sl_km_candidate *candidate;  /* [candidates] */
	uint32_t *opens;           /* [3] open rows; candidates, perhaps more than there is room for; points that changed
				    * their label */
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
/* halves, norm and away of all points. */
cudaError_t sl__km_halve(const struct sl_km *m, cudaStream_t stream);
/* panel, half and greatest from centroid. */
cudaError_t sl__km_pack(const struct sl_km *m, cudaStream_t stream);
/* before = label, and label: the centroid of the best score; open, candidate and opens: rows to be decided. */
cudaError_t sl__km_score(const struct sl_km *m, uint32_t first, uint32_t count, cudaStream_t stream);
/* label of these rows, by distances in double precision; opens [2]: rows whose label changed are added. */
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

/* Before the first call of a process. */
cudaError_t sl__km_init(void);

/* Opens passes over a table; struct sl_engine, kmeans_passes. */
int sl__kmeans_passes(struct sl_device *device, const struct sl_kmeans_table *table, struct sl_kmeans_passes *out,
		      struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
