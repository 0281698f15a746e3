/* scan.h -- the k nearest neighbours on the device: tables of points, sides, lists of candidates, and the launchers
 * that scan columns and finish lists.
 *
 * Rows are the queries, columns the candidates. Each pair of a row and a column has a score; larger means nearer. The
 * score of Euclidean distances is x.y - |y|^2 / 2, which orders columns as the distance does. The tensor cores compute
 * it from half-precision factors with float32 sums.
 *
 * The columns are scanned in rounds. A pair whose score is above the row's bound is appended to the row's list. After
 * each round the list is cut to the `keep` best entries, and the worst of these becomes the new bound. The first round
 * scans as many columns as a list holds and appends them all. Each later round doubles the number of columns scanned so
 * far, so about `keep` pairs of a row pass in each.
 *
 * A list keeps more columns than the k neighbours. sl__finish() computes their distances from the points themselves and
 * marks each row that may have missed a neighbour: its k-th distance is not below the least distance that a discarded
 * column can have, given the bound and the rounding errors. Those rows are searched again in twice the precision: high
 * and low halves side by side, three products as one longer product. Rows that are still uncertain (equal distances,
 * numbers of very different size) are searched by float32 differences. So results are exact except for ties within
 * float32.
 *
 * Equal scores and distances are ordered by ascending point number, so results do not depend on the order in which
 * pairs pass. Each launcher queues its kernels on a stream and returns the launch's error. Tests:
 * tests/gpu/test_scan.c (scans of every width and kind), tests/gpu/test_neighbours.c (whole searches). Bench:
 * tests/gpu/bench_neighbours.c. */
#ifndef SL_GPU_SEARCH_H
#define SL_GPU_SEARCH_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/neighbours/neighbours.h"
#include "core/points/points.h"
#include "gpu/neighbours/sort/sort.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SL_TILE 128u      /* columns that are scanned together; a side has a multiple of it */
#define SL_ROWS 256u      /* rows that are scanned together; a side has a multiple of it */
#define SL_LIST_MAX 16384u

/* The transformation of points before they are multiplied: subtract the mean, multiply by a power of two. Pointers
 * are to device memory. */
struct sl_frame {
	double *sum;         /* [d] sums over all rows, from which the mean is computed */
	float *mean;         /* [d] subtracted first */
	uint32_t *largest;   /* bits of the largest |x| of all points */
	float *scale;        /* [1] the factor, a power of two */
	uint32_t *worst;     /* [4] bits of the columns' largest rounding error and norm, scaled; [2], [3]: SL_SPLIT's */
	uint32_t d;
	int metric;
	double p;
};

/* A table on the device as it was uploaded: the user's rows first .. first + n - 1, or number[n]. */
struct sl_table {
	const void *value;       /* [n][d] */
	const uint32_t *number;  /* [n] the user's row of each, or SL_NOBODY; NULL: `first` and those after it */
	const float *inverse;    /* [n] 1 / norm, or 0 for a row of zeros; only for SL_COSINE */
	uint32_t first, n, d;
	enum sl_points_type type;
};

/* SL_HALF: one half-precision number. SL_SPLIT: a high and a low half. SL_FULL: float32, for metrics that are not a
 * product. */
enum sl_precision { SL_HALF, SL_SPLIT, SL_FULL };

/* Columns as product codes. A column is the centre of its tile's cell plus, for each group of `length` numbers, one of
 * 256 words. A piece is 8 numbers. */
#define SL_WORDS 256u
struct sl_codes {
	const uint8_t *code;       /* [positions][bytes]; NULL: the columns are not coded */
	const void *book;          /* half precision, [groups][256][length] */
	const void *centre;        /* half precision, [cells][centre_width] */
	const uint32_t *tile_cell;
	uint32_t length;           /* 2, 4, 8 or 16 */
	uint32_t pieces, bytes, centre_width;
};

/* Transformed points, one after the other, of `width` half-precision numbers (or floats). A position without a point
 * scores -infinity. */
struct sl_side {
	void *value;
	int width;
	enum sl_precision precision;
	uint32_t count;          /* positions: a multiple of SL_TILE (columns) or SL_ROWS (rows) */
	uint32_t *index;         /* [count] number of the point, or SL_NOBODY */
	float *bias;             /* [count] of columns: added to the product */
	float2 *norm;            /* [count] scaled norm after rounding, and norm of the rounding error */
	struct sl_codes codes;   /* columns that have codes have no `value` */
};

struct sl_bound { float score; uint32_t index; };

struct sl_lists {
	uint32_t capacity, keep;
	uint2 *entry;            /* [rows][capacity] bits of the score, index */
	uint32_t *count;         /* [rows] entries of this row; above capacity, some of this round's are missing */
	struct sl_bound *bound;  /* [rows] the worst entry that was kept; worse pairs are not listed */
	uint32_t *again;         /* [rows] bit r: round r must be repeated for this row */
	uint32_t *any;           /* [1] the bits of all rows, combined by or */
};

struct sl_scan {
	struct sl_side rows, columns;
	struct sl_lists lists;
	const uint32_t *order;   /* [row blocks][order_stride] tiles to scan; NULL: 0, 1, 2 ... */
	uint32_t order_stride;
	uint32_t from, to;       /* scan the tiles at the places from .. to - 1 of that order */
	int round;
	bool dense, repeat;      /* dense: append every pair; repeat: only for rows with bit `round` in lists.again */
	int metric;
	float p;
	uint32_t *best;          /* [rows] not NULL: keep no lists, only the position of each row's best column */
};

/* The width of a side's rows for points of `length` numbers. */
int sl__search_width(uint32_t length, enum sl_precision precision);
/* Once per device: CUDA allows more than 48 KiB of shared memory only after a request. */
cudaError_t sl__scan_init(void);
/* Scans columns for all rows by the kernel that fits their width and precision. sl__scan() calls the two others:
 * sl__scan_wide() for wide or coded columns, sl__scan_plain() in float32. splits: thread blocks that share the tiles
 * of one block of rows. */
cudaError_t sl__scan(const struct sl_scan *s, cudaStream_t stream);
cudaError_t sl__scan_wide(const struct sl_scan *s, uint32_t splits, cudaStream_t stream);
cudaError_t sl__scan_plain(const struct sl_scan *s, uint32_t splits, cudaStream_t stream);
cudaError_t sl__scan_wide_init(void);

/* add() adds a table to the frame's sums. settle() computes mean and scale from the sums over `total` rows. */
cudaError_t sl__frame_add(const struct sl_frame *f, const struct sl_table *t, double *part, cudaStream_t stream);
cudaError_t sl__frame_settle(const struct sl_frame *f, uint64_t total, enum sl_points_type type, cudaStream_t stream);
#define SL_FRAME_PARTS 512u  /* part[SL_FRAME_PARTS][d] */
cudaError_t sl__inverse_norms(const struct sl_table *t, float *inverse, cudaStream_t stream);

/* Fills a side from rows of a table. which[count]: their numbers within the table, or SL_NOBODY. If which is NULL,
 * position i < n takes row i * stride mod n, and later positions hold no point. */
cudaError_t sl__side_fill(const struct sl_frame *f, const struct sl_table *t, const uint32_t *which, uint32_t stride,
			  bool columns, const struct sl_side *out, cudaStream_t stream);

/* ---- lists ---- */

/* Empties the lists. */
cudaError_t sl__lists_start(const struct sl_lists *l, const struct sl_side *rows, cudaStream_t stream);
/* Cuts the lists to the `keep` best after a round and sets the bounds. dense: 0, or the entries that each list has. */
cudaError_t sl__lists_cut(const struct sl_lists *l, uint32_t rows, uint32_t dense, int round, bool repeat,
			  cudaStream_t stream);
cudaError_t sl__lists_init(void);
uint32_t sl__lists_most(void);  /* the most entries of a list on this device, at most SL_LIST_MAX */

struct sl_finish {
	struct sl_frame frame;
	struct sl_table rows, columns;  /* the points, for exact distances */
	struct sl_side side;            /* the transformed rows */
	struct sl_lists lists;
	const uint32_t *which;          /* the rows' places in a table that has numbers; NULL: 0, 1, 2 ... */
	const uint32_t *slot;           /* [user's rows] place among the columns, or SL_NOBODY; NULL: all are columns */
	uint32_t k;
	uint32_t *index;                /* [.][k] results of row i at (side.index[i] - base) * k, or at i * k */
	float *distance;
	uint32_t base;                  /* SL_NOBODY: results at i * k, for a table with numbers at its places */
	bool merge;                     /* merge the list with the results that are there already */
	bool certify;                   /* list the rows that may have missed a neighbour */
	bool complete;                  /* all columns were scanned; otherwise no row is certain */
	uint32_t *doubtful, *doubtful_count;
	int accumulate;                 /* additions in a product, which bound the rounding error of its sum */
};

/* Computes the distances of the columns in the lists and writes the k nearest, sorted; see struct sl_finish. For inner
 * products the distances are the negative products. */
cudaError_t sl__finish(const struct sl_finish *f, cudaStream_t stream);
cudaError_t sl__finish_init(void);
/* Replaces the negative products of each row by distances: the row's largest product minus each. */
cudaError_t sl__finish_products(uint32_t *index, float *distance, uint32_t rows, uint32_t k, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
