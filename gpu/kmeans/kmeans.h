/* kmeans.h -- the passes of k-means over points on the device (core/kmeans/passes.h). kmeans.c is the host code,
 * divided.c that of several GPUs. points.cu converts points and centroids to half precision, score.cu and groups.cu
 * compute scores, decide.cu computes exact distances where scores are too close, sums.cu computes seeds and sums.
 * core/kmeans/passes.h defines the order of additions, which gives the same bits as the processor.
 *
 * Finding the nearest centroid. The score |c - m|^2 / 2 - (x - m) (c - m) orders centroids as the distance does; m is
 * the mean of some points, so that points far from the origin lose no precision. Tensor cores multiply x - m and c - m
 * in half precision and sum in float32. The error of a score is at most `slack` (score_slack() in exact.cuh). If the
 * best score of a point is less than the second best by more than twice the slack, its centroid is the nearest. For
 * other points, distances in double precision are computed for all centroids that score within twice the slack of the
 * best. So labels are exact; of equally near centroids, the one with the lowest number wins.
 *
 * One call scores at most `room` rows. Tests: tests/gpu/test_kmeans.c (single kernels) and
 * tests/unit/test_kmeans_device.c (runs). Bench: tests/gpu/bench_kmeans.c. */
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

#define SL_KM_ROWS 256u   /* points of a thread block that computes scores */
#define SL_KM_DEPTH 32u   /* half-precision numbers that it loads at a time */
#define SL_KM_PANEL 128u  /* centroids that a group of warps compares at a time */
#define SL_KM_MINUS 0x80000000u

/* The layout of points and centroids for scores; see struct sl_cuda_kmeans. */
static inline bool sl__cuda_kmeans_split(uint32_t d) { return 3 * d <= 2 * SL_KM_DEPTH; }
static inline uint32_t sl__cuda_kmeans_width(uint32_t d)
{
	return ((sl__cuda_kmeans_split(d) ? 3 * d : d) + SL_KM_DEPTH - 1) / SL_KM_DEPTH * SL_KM_DEPTH;
}
static inline uint32_t sl__cuda_kmeans_lanes(uint32_t k) { return k <= 64 ? 64 : (k + 127) / 128 * 128; }

/* A centroid j that may be the nearest one of row open[place]. */
struct sl_cuda_kmeans_candidate { uint32_t place, j; double square; };
/* The best score of a point, the second best, and the centroid of the best. */
struct sl_cuda_kmeans_best { float first, second; uint32_t a; };

/* All pointers are to device memory. */
struct sl_cuda_kmeans {
	uint32_t n, d, k;
	uint32_t pitch;            /* columns of x: d, rounded up to a multiple of 4; columns beyond d are 0 */
	bool split;                /* a number is a pair of halves; sl__cuda_kmeans_split(d) */
	uint32_t width;            /* halves of a row; sl__cuda_kmeans_width(d) */
	uint32_t lanes;            /* rows of panel; sl__cuda_kmeans_lanes(k) */
	uint32_t block;            /* points of a block of sums */
	uint32_t groups;           /* sl__cuda_kmeans_groups(); 0: scores are computed without groups of warps */
	uint32_t room;             /* the most rows that one call scores or moves */
	float *x;                  /* [n][pitch] */
	float *centre;             /* [pitch] m */
	float *norm, *away;        /* [n] upper bounds of |x - m| and of the rounding error of its halves */
	void *halves;              /* [n][width] x - m */
	uint32_t *label, *before;  /* [n]; while seeding, before is the nearest seed */
	double *square;            /* [n] squared distance to the nearest seed, or to the point's centroid */
	double *centroid, *sum;    /* [k][d]; while seeding, centroid has the seeds */
	double *between;           /* [k] */
	uint32_t *count;           /* [k] */
	void *panel;               /* [lanes][width] halves of c - m; 0 in lanes without centroid */
	float *half;               /* [lanes] |c - m|^2 / 2; infinite in lanes without centroid */
	uint32_t *greatest;        /* [2] bits of the longest |c - m|, and of the error of its halves, rounded up */
	double *part;              /* [blocks] sums of blocks */
	/* open rows: scores do not decide which centroid is the nearest */
	uint64_t bests;            /* at least 2 room */
	struct sl_cuda_kmeans_best *best;   /* [bests] of parts of the centroids */
	uint32_t *open;            /* [room] the rows */
	float *near;               /* [room] the highest score of a centroid that may be the nearest; before that, bounds
				    * of the best scores of all rows */
	unsigned long long *least; /* [room] bits of the least squared distance */
	uint32_t candidates;
	struct sl_cuda_kmeans_candidate *candidate;  /* [candidates] */
	uint32_t *opens;           /* [3] numbers of open rows, of candidates (may exceed `candidates`), and of points that
				    * changed their label */
	/* for moving rows from one cluster to another */
	uint32_t *key, *key_sorted, *value, *value_sorted;  /* [2 room] */
	uint32_t *start;           /* [k + 1] */
	void *sorting;
	uint64_t sorting_bytes;
};

/* Queue kernels on a stream, and return the launch's error. Rows are first .. first + count - 1, at most `room` for
 * assign, decide and move. */

/* Copies rows [count][d] on the device to x. */
cudaError_t sl__cuda_kmeans_widen(const struct sl_cuda_kmeans *m, const float *rows, uint32_t first, uint32_t count,
			 cudaStream_t stream);
/* Computes halves, norm and away of all points. */
cudaError_t sl__cuda_kmeans_halve(const struct sl_cuda_kmeans *m, cudaStream_t stream);
/* Computes panel, half and greatest from centroid. */
cudaError_t sl__cuda_kmeans_pack(const struct sl_cuda_kmeans *m, cudaStream_t stream);
/* Sets before = label and label = the centroid of the best score; lists open rows in open, candidate and opens. */
cudaError_t sl__cuda_kmeans_score(const struct sl_cuda_kmeans *m, uint32_t first, uint32_t count, cudaStream_t stream);
/* Sets the label of open rows by distances in double precision; adds the number of rows whose label changed to
 * opens [2]. */
cudaError_t sl__cuda_kmeans_decide(const struct sl_cuda_kmeans *m, uint32_t first, uint32_t count, cudaStream_t stream);
/* Updates sum and count for the rows with label != before. */
cudaError_t sl__cuda_kmeans_move(const struct sl_cuda_kmeans *m, uint32_t first, uint32_t count, cudaStream_t stream);
/* between [0 .. number - 1] = squared distances of seed `number` from earlier seeds; seeds are rows of centroid. */
cudaError_t sl__cuda_kmeans_between(const struct sl_cuda_kmeans *m, uint32_t number, cudaStream_t stream);
/* Sets square and before of the rows to the nearest seed, given that of the earlier seeds and the new seed `number`.
 * sl__cuda_kmeans_between() must have run for it. */
cudaError_t sl__cuda_kmeans_seed(const struct sl_cuda_kmeans *m, uint32_t number, uint32_t first, uint32_t count,
				 cudaStream_t stream);
/* Sets square of the rows to the squared distance from the centroid of their label. */
cudaError_t sl__cuda_kmeans_squares(const struct sl_cuda_kmeans *m, uint32_t first, uint32_t count,
				    cudaStream_t stream);
/* part of blocks from .. to - 1 = the sum of square over the block's rows, in their order. */
cudaError_t sl__cuda_kmeans_parts(const struct sl_cuda_kmeans *m, uint32_t from, uint32_t to, cudaStream_t stream);

/* Call it once in a process, before the other functions. */
cudaError_t sl__cuda_kmeans_init(void);
/* Returns the number of multiprocessors of the current device if its warps can multiply in groups (groups.cu), else
 * 0. */
uint32_t sl__cuda_kmeans_groups(void);
/* True if groups.cu computes the scores: for the shapes for which it was measured to be faster. */
bool sl__cuda_kmeans_by_groups(const struct sl_cuda_kmeans *m);
/* groups.cu: computes best [*parts][count]; collecting: collects the candidates of the open rows instead. */
cudaError_t sl__cuda_kmeans_groups_score(const struct sl_cuda_kmeans *m, uint32_t first, uint32_t count,
					 bool collecting, uint32_t *parts,
				cudaStream_t stream);

/* Passes of one GPU (kmeans.c). */
int sl__kmeans_alone(struct sl_device *device, const struct sl_kmeans_table *table, struct sl_kmeans_passes *out,
		     struct sl_error *err);
/* By all ranks of a group, each with its own passes: copies results of blocks parts[r] .. parts[r + 1] - 1 from rank r
 * to all others: before and label, or square. arg: of sl__kmeans_alone(). parts [ranks + 1]. */
int sl__kmeans_gather(void *arg, bool squares, const uint32_t *parts, struct sl_error *err);
/* Opens passes over a table; the operation "kmeans.passes". The GPUs of a group do them together (divided.c). */
int sl__kmeans_passes(struct sl_device *device, const struct sl_kmeans_table *table, struct sl_kmeans_passes *out,
		      struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
