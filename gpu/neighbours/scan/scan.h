/* scan.h -- the k nearest neighbours on the device: tables, sides, lists, and the launchers that scan and finish
 * them.
 *
 * Rows are the queries, columns the candidates. The columns are scanned in rounds; every pair costs some arithmetic
 * and one comparison with its row's bound, and the few that pass are appended to the row's list. After each round the
 * list is cut back to the `keep` best and its worst becomes the bound. The first round takes as many columns as a
 * list holds and writes all of them, later rounds double what has been seen, so that about `keep` pairs of a row pass
 * in each.
 *
 * What is compared is a score, larger being nearer: for Euclidean distances x.y - |y|^2 / 2, which orders columns as
 * the distance does, from half-precision factors and float32 sums on the tensor cores. A list keeps more columns than
 * are asked for; finish() computes their distances from the points themselves and marks the rows that may have missed
 * one: those whose k-th distance is not less than what the bound and the rounding errors allow for a column that was
 * not kept. These rows are searched again with factors of twice the precision (high and low halves side by side,
 * three products in one longer one), and those for which even that is not enough (equal distances, numbers of very
 * different size) in plain float32 differences; so results are exact but for ties within float32.
 *
 * Ties: by ascending number, in lists and in results, so nothing depends on the order in which pairs pass. Launchers
 * queue on a stream and return the launch's error. Test: tests/gpu/test_scan.c (scans of every width and kind),
 * tests/gpu/test_neighbours.c (whole searches); bench: tests/gpu/bench_neighbours.c. */
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

#define SL_TILE 128u      /* columns that are scanned together */
#define SL_ROWS 256u      /* rows that are scanned together: rows come in multiples of it */
#define SL_LIST_MAX 16384u

/* How points become scores. In device memory, but for the last two lines. */
struct sl_frame {
	double *sum;         /* [d] of all rows, on the way to the mean */
	float *mean;         /* [d] what is subtracted first */
	uint32_t *largest;   /* bits of the largest |x| of all */
	float *scale;        /* [1] what is then multiplied by, a power of two */
	uint32_t *worst;     /* [4] bits of the largest rounding error and norm of columns, scaled; so for split ones */
	uint32_t d;
	int metric;
	double p;
};

/* A table on the device as it was uploaded: rows first .. first + n - 1 of the user's, or number[n]. */
struct sl_table {
	const void *value;       /* [n][d] */
	const uint32_t *number;  /* [n] the user's row of each, or SL_NOBODY; NULL: as they follow from `first` */
	const float *inverse;    /* [n] 1 / norm, 0: a zero row; SL_COSINE alone */
	uint32_t first, n, d;
	enum sl_points_type type;
};

enum sl_precision { SL_HALF, SL_SPLIT, SL_FULL };  /* SL_FULL: float32, for the distances that are no product */

/* Columns as codes: the centre of the tile's cell, and for each group of `length` numbers the nearest of 256 words of
 * what is left. A piece is 8 numbers. */
#define SL_WORDS 256u
struct sl_codes {
	const uint8_t *code;       /* [positions][bytes]; NULL: there are none */
	const void *book;          /* halves, [groups][256][length] */
	const void *centre;        /* halves, [cells][centre_width] */
	const uint32_t *tile_cell;
	uint32_t length;           /* 2, 4, 8 or 16 */
	uint32_t pieces, bytes, centre_width;
};

/* Points made ready, row after row of `width` halves (or floats); one in no point's place scores -infinity. */
struct sl_side {
	void *value;
	int width;
	enum sl_precision precision;
	uint32_t count;          /* positions: a multiple of SL_TILE (columns), SL_ROWS (rows) */
	uint32_t *index;         /* [count] number of the point, or SL_NOBODY */
	float *bias;             /* [count] columns: is added to the products */
	float2 *norm;            /* [count] scaled norm after rounding, and norm of the rounding error */
	struct sl_codes codes;   /* of columns that have no `value` */
};

struct sl_bound { float score; uint32_t index; };

struct sl_lists {
	uint32_t capacity, keep;
	uint2 *entry;            /* [rows][capacity] score's bits, index */
	uint32_t *count;         /* [rows] may exceed capacity: then this round's entries are not all there */
	struct sl_bound *bound;  /* [rows] the worst kept: what is worse is not listed */
	uint32_t *again;         /* [rows] bit r: round r is to be repeated for this row */
	uint32_t *any;           /* [1] all rows' bits */
};

struct sl_scan {
	struct sl_side rows, columns;
	struct sl_lists lists;
	const uint32_t *order;   /* [row blocks][order_stride] tiles to scan, or NULL: 0, 1, 2 ... */
	uint32_t order_stride;
	uint32_t from, to;       /* places in that order */
	int round;               /* repeat: only rows with this bit in lists.again */
	bool dense, repeat;
	int metric;
	float p;
	uint32_t *best;          /* not NULL: no lists, only the best column's position of each row */
};

int sl__search_width(uint32_t length, enum sl_precision precision);  /* of a side's rows for so many numbers */
/* Once per device. Shared memory beyond 48 KiB has to be asked for. */
cudaError_t sl__scan_init(void);
cudaError_t sl__scan(const struct sl_scan *s, cudaStream_t stream);
cudaError_t sl__scan_wide(const struct sl_scan *s, uint32_t splits, cudaStream_t stream);
cudaError_t sl__scan_plain(const struct sl_scan *s, uint32_t splits, cudaStream_t stream);
cudaError_t sl__scan_wide_init(void);

/* Adds a table to the frame's sums; settles mean and scale, total rows seen. */
cudaError_t sl__frame_add(const struct sl_frame *f, const struct sl_table *t, double *part, cudaStream_t stream);
cudaError_t sl__frame_settle(const struct sl_frame *f, uint64_t total, enum sl_points_type type, cudaStream_t stream);
#define SL_FRAME_PARTS 512u  /* part[SL_FRAME_PARTS][d] */
cudaError_t sl__inverse_norms(const struct sl_table *t, float *inverse, cudaStream_t stream);

/* Fills a side from rows of a table. which[count]: their numbers within the table or SL_NOBODY; NULL: strided, position
 * i takes row i * stride mod n; i >= n is nobody. */
cudaError_t sl__side_fill(const struct sl_frame *f, const struct sl_table *t, const uint32_t *which, uint32_t stride,
			  bool columns, const struct sl_side *out, cudaStream_t stream);

/* ---- lists ---- */

cudaError_t sl__lists_start(const struct sl_lists *l, const struct sl_side *rows, cudaStream_t stream);
/* After a round. Dense: the lists' first `seen` entries are all there is. */
cudaError_t sl__lists_cut(const struct sl_lists *l, uint32_t rows, uint32_t dense, int round, bool repeat,
			  cudaStream_t stream);
cudaError_t sl__lists_init(void);
uint32_t sl__lists_most(void);  /* entries that a list may have on this device, at most SL_LIST_MAX */

struct sl_finish {
	struct sl_frame frame;
	struct sl_table rows, columns;  /* whose distances are computed */
	struct sl_side side;            /* the rows, ready */
	struct sl_lists lists;
	const uint32_t *which;          /* the rows' places in their table, where that is numbered; NULL: 0, 1, 2 ... */
	const uint32_t *slot;           /* by the user's rows: place among the columns, or SL_NOBODY; NULL: all are there */
	uint32_t k;
	uint32_t *index;                /* [.][k] results of row i at (side.index[i] - base) * k, or at i * k */
	float *distance;
	uint32_t base;                  /* SL_NOBODY: at i * k; of a numbered table always at its places */
	bool merge;                     /* what is there already takes part */
	bool certify;                   /* list the rows that may have missed one */
	bool complete;                  /* all columns were scanned, else no row is certain */
	uint32_t *doubtful, *doubtful_count;
	int accumulate;                 /* additions a product took: for the error of sums */
};

/* Distances of what the lists hold, sorted; see struct sl_finish. Inner products stay negative products. */
cudaError_t sl__finish(const struct sl_finish *f, cudaStream_t stream);
cudaError_t sl__finish_init(void);
/* Negative products to the row's largest less each. */
cudaError_t sl__finish_products(uint32_t *index, float *distance, uint32_t rows, uint32_t k, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
