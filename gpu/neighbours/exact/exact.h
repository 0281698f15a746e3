/* exact.h -- the state of a search, and the exact search of all pairs, in blocks where the columns do not fit.
 *
 *   exact.c    tables, batches of rows against all columns
 *   reserve.c  what fits, and the memory
 *   pass.c     some rows against the columns that are there
 *   results.c  host memory and copies */
#ifndef SL_GPU_EXACT_H
#define SL_GPU_EXACT_H

#include <pthread.h>

#include "gpu/device/device.h"
#include "gpu/neighbours/scan/scan.h"

struct sl_points;

#define SL_STAGE (8ul << 20)  /* bytes */
#define SL_BATCH 131072u  /* rows that are searched together, at most */

struct sl_search {
	const struct sl_points *points;
	const struct sl_neighbours_params *params;
	struct sl_neighbours *out;
	cudaStream_t stream, copying;
	cudaEvent_t ready[2];       /* results of either turn are there */
	cudaEvent_t staged[2];
	char *stage[2];             /* pinned, [SL_STAGE] bytes */
	uint64_t budget;            /* bytes of device memory */
	uint32_t k, batch, block;   /* rows together; columns together: all, or what fits */
	size_t row_bytes;           /* of a point as uploaded */
	enum sl_precision precision;

	char *memory;               /* all of the following but `fine` */
	struct sl_frame frame;
	double *part;
	void *raw;                  /* [block][d] */
	float *inverse;
	struct sl_table columns;
	struct sl_side side;        /* the columns */
	char *fine;                 /* the columns in higher precision, once a row asks for it; else NULL */
	struct sl_side fine_side;
	void *raw_rows;             /* [batch][d] when the columns are not all there */
	float *inverse_rows;
	struct sl_side rows;        /* `value` has room for rows of any precision */
	struct sl_lists lists;      /* `entry` for [batch][capacity] */
	uint32_t capacity, list_most;  /* of lists as laid out; on this device */
	uint32_t *index[2];         /* [batch][k], by turns: one is copied while the other is made */
	float *distance[2];
	uint32_t *doubtful;
	uint32_t *note;             /* [2] device: doubtful rows; lists.any */
	uint32_t *seen;             /* [2] pinned */
};

/* Device memory that a way of searching takes beside the search's own. */
struct sl_held {
	void *block[48];
	int count;
};

struct sl_array {
	void *at;
	uint64_t bytes;
};

/* One pass over `columns` for `count` rows of a table, results at (row - base) * k. */
struct sl_pass {
	const struct sl_table *table;
	const uint32_t *which;       /* device, [count]; NULL: the table's rows in their order */
	uint32_t count, base;
	enum sl_precision precision;
	bool merge, certify;
	uint32_t *index;
	float *distance;
};

/* ---- memory (reserve.c) ---- */

/* Its arrays out of a block of memory, see sl__carve(). */
void sl__carve_side(char **at, struct sl_side *side, uint32_t count, uint64_t row_bytes);
uint64_t sl__side_row(const struct sl_search *s, enum sl_precision precision);  /* bytes */
void sl__search_size_lists(struct sl_search *s, uint32_t columns);
/* Pointers into memory for batch, block and capacity; how many bytes that takes. */
uint64_t sl__search_lay_out(struct sl_search *s, char *memory);
int sl__search_plan(struct sl_search *s, struct sl_error *err);  /* batch and block */
int sl__search_reserve(struct sl_search *s, struct sl_error *err);
void sl__search_release(struct sl_search *s);
/* Arrays beside the search's own memory, {where the pointer goes, bytes} each; sl__search_free() frees them. */
#define SL_TAKE(s, held, err, ...) \
	sl__search_take(s, held, (const struct sl_array[]){__VA_ARGS__}, \
			sizeof((const struct sl_array[]){__VA_ARGS__}) / sizeof(struct sl_array), err)
int sl__search_take(struct sl_search *s, struct sl_held *held, const struct sl_array *arrays, size_t count,
		    struct sl_error *err);
void sl__search_free(struct sl_search *s, struct sl_held *held);

/* ---- columns and passes (exact.c, pass.c) ---- */

/* Mean and scale: a pass over all columns; where they are in memory at once they stay there. */
int sl__search_frame(struct sl_search *s, struct sl_error *err);
/* s->side from s->columns. */
int sl__search_side(struct sl_search *s, enum sl_precision precision, struct sl_error *err);
/* The block of columns that begins at `first`; prepare: `side`, too. Finer ones were another block's. */
int sl__search_columns(struct sl_search *s, uint32_t first, bool prepare, struct sl_error *err);
/* Rows against all columns, block by block, exactly; to s->index[turn]. */
int sl__search_blocks(struct sl_search *s, const struct sl_table *rows, int turn, double done, double share,
		      struct sl_error *err);
int sl__search_pass(struct sl_search *s, const struct sl_pass *pass, uint32_t *doubtful, struct sl_error *err);
/* Rows against the first `tiles` of order[row blocks][stride] each; the lists are then complete. */
int sl__search_ordered(struct sl_search *s, const struct sl_side *rows, const struct sl_side *columns,
		       const uint32_t *order, uint32_t stride, uint32_t tiles, struct sl_error *err);
/* All rows against all columns, the columns being s->columns where they fit; on GPU `index`; to s->out. */
int sl__search_exact(struct sl_search *s, int index, struct sl_error *err);
/* What kernels noted, to s->seen. */
int sl__search_notes(struct sl_search *s, struct sl_error *err);
/* share: negative, it is no further than before. */
int sl__search_checkpoint(const struct sl_search *s, double share, struct sl_error *err);
/* The rows that the pass may have missed something for, `count` of them in s->doubtful, in higher precisions. */
int sl__search_doubtful(struct sl_search *s, const struct sl_pass *pass, uint32_t count, struct sl_error *err);
/* A stride without a common factor with n, near the golden ratio of it. */
uint32_t sl__search_stride(uint32_t n);

/* ---- results and copies (results.c) ---- */

struct sl_pages {
	struct sl_neighbours *nb;
	uint64_t bytes;   /* of either array */
	pthread_t thread;
	bool running;
};

int sl__search_result(struct sl_search *s, struct sl_error *err);
void sl__pages_begin(struct sl_pages *p, struct sl_neighbours *nb);
void sl__pages_end(struct sl_pages *p);
/* From the device to pageable memory, through the stage. On s->copying; when it returns the bytes are there. */
int sl__search_download(struct sl_search *s, void *to, const void *from, uint64_t bytes, struct sl_error *err);
/* Points' rows number[count] (SL_NOBODY: zeros) to the device, through the stage, on s->stream. */
int sl__search_gather(struct sl_search *s, void *to, const uint32_t *number, uint32_t count, struct sl_error *err);
/* Rows [count][k] from the device to to[number[i]], which SL_NOBODY has not; waits for s->stream. */
int sl__search_scatter(struct sl_search *s, uint32_t *to, const void *from, const uint32_t *number, uint32_t count,
		       struct sl_error *err);

static inline uint32_t sl__round_up(uint64_t x, uint32_t unit) { return (uint32_t)((x + unit - 1) / unit * unit); }

#endif
