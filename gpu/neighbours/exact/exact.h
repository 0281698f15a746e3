/* exact.h -- the state of a search, and the exact search over all pairs. If the columns exceed device memory, they are
 * searched block by block.
 *
 *   exact.c    uploads tables; searches batches of rows against all columns
 *   reserve.c  plans and reserves device memory
 *   pass.c     searches some rows against the columns that are on the device
 *   results.c  allocates the results on the host and copies them there */
#ifndef SL_GPU_EXACT_H
#define SL_GPU_EXACT_H

#include <pthread.h>

#include "gpu/device/device.h"
#include "gpu/neighbours/scan/scan.h"

struct sl_points;

#define SL_STAGE (8ul << 20)  /* bytes */
#define SL_BATCH 131072u  /* most rows that are searched together */

struct sl_search {
	const struct sl_points *points;
	const struct sl_neighbours_params *params;
	struct sl_neighbours *out;
	cudaStream_t stream, copying;
	cudaEvent_t ready[2];       /* the results of this turn are complete */
	cudaEvent_t staged[2];
	char *stage[2];             /* pinned, [SL_STAGE] bytes */
	uint64_t budget;            /* bytes of device memory */
	uint32_t rank, ranks;       /* of several GPUs that search together: this one, and how many */
	uint32_t k, batch, block;   /* batch: rows at a time; block: columns at a time, all if they fit */
	size_t row_bytes;           /* bytes of a point as uploaded */
	enum sl_precision precision;

	char *memory;               /* one block that holds all of the following except `fine` */
	struct sl_frame frame;
	double *part;
	void *raw;                  /* [block][d] */
	float *inverse;
	struct sl_table columns;
	struct sl_side side;        /* the columns */
	char *fine;                 /* the columns in higher precision; NULL until a row needs it */
	struct sl_side fine_side;
	void *raw_rows;             /* [batch][d] if the device does not hold all columns */
	float *inverse_rows;
	struct sl_side rows;        /* `value` has room for rows of every precision */
	struct sl_lists lists;      /* `entry` for [batch][capacity] */
	uint32_t capacity, list_most;  /* entries of a list as laid out; the most that this device allows */
	uint32_t *index[2];         /* [batch][k]; one is copied to the host while the other is computed */
	float *distance[2];
	uint32_t *doubtful;
	uint32_t *note;             /* [2] device: number of doubtful rows; lists.any */
	uint32_t *note_copy;        /* [2] pinned: the host's copy of note */
};

/* Device memory that one kind of search allocates beside s->memory. */
struct sl_held {
	void *block[48];
	int count;
};

struct sl_array {
	void *at;
	uint64_t bytes;
};

/* One pass over `columns` for `count` rows of a table. The results of a row begin at (row - base) * k. */
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

/* Takes the arrays of `side` out of a block of memory, as sl__carve() does. */
void sl__carve_side(char **at, struct sl_side *side, uint32_t count, uint64_t row_bytes);
uint64_t sl__side_row(const struct sl_search *s, enum sl_precision precision);  /* bytes of a row of a side */
void sl__search_size_lists(struct sl_search *s, uint32_t columns);
/* Sets the pointers into `memory` for s->batch, s->block and s->capacity. Returns the number of bytes. */
uint64_t sl__search_lay_out(struct sl_search *s, char *memory);
int sl__search_plan(struct sl_search *s, struct sl_error *err);  /* chooses s->batch and s->block */
int sl__search_reserve(struct sl_search *s, struct sl_error *err);
void sl__search_release(struct sl_search *s);
/* Allocates arrays beside s->memory. Each is {address of the pointer, bytes}; sl__search_free() frees them all. */
#define SL_TAKE(s, held, err, ...) \
	sl__search_take(s, held, (const struct sl_array[]){__VA_ARGS__}, \
			sizeof((const struct sl_array[]){__VA_ARGS__}) / sizeof(struct sl_array), err)
int sl__search_take(struct sl_search *s, struct sl_held *held, const struct sl_array *arrays, size_t count,
		    struct sl_error *err);
void sl__search_free(struct sl_search *s, struct sl_held *held);

/* ---- columns and passes (exact.c, pass.c) ---- */

/* Computes mean and scale in a pass over all columns. If all columns fit, they stay on the device. */
int sl__search_frame(struct sl_search *s, struct sl_error *err);
/* Fills s->side from s->columns. */
int sl__search_side(struct sl_search *s, enum sl_precision precision, struct sl_error *err);
/* Uploads the block of columns that begins at `first`, and with `prepare` fills s->side from it. Columns in higher
 * precision, which belong to the previous block, are dropped. */
int sl__search_columns(struct sl_search *s, uint32_t first, bool prepare, struct sl_error *err);
/* Searches rows exactly against all columns, block by block. Results: s->index[turn], s->distance[turn]. Progress goes
 * from `done` to `done + share`. */
int sl__search_blocks(struct sl_search *s, const struct sl_table *rows, int turn, double done, double share,
		      struct sl_error *err);
int sl__search_pass(struct sl_search *s, const struct sl_pass *pass, uint32_t *doubtful, struct sl_error *err);
/* Scans for each block of rows the first `tiles` tiles of order[row block][stride]; fills s->lists. */
int sl__search_ordered(struct sl_search *s, const struct sl_side *rows, const struct sl_side *columns,
		       const uint32_t *order, uint32_t stride, uint32_t tiles, struct sl_error *err);
/* Searches all rows against all columns on GPU `index`. If the columns fit, they are s->columns. Results: s->out. */
int sl__search_exact(struct sl_search *s, int index, struct sl_error *err);
/* Copies s->note to s->note_copy and waits for it. */
int sl__search_notes(struct sl_search *s, struct sl_error *err);
/* Reports the progress `share` (negative: unchanged) and returns SL_CANCELLED if the caller cancelled. */
int sl__search_checkpoint(const struct sl_search *s, double share, struct sl_error *err);
/* Repeats the pass in higher precision for the `count` rows in s->doubtful, which may have missed a neighbour. */
int sl__search_doubtful(struct sl_search *s, const struct sl_pass *pass, uint32_t count, struct sl_error *err);
/* A stride near n divided by the golden ratio that has no common factor with n. */
uint32_t sl__search_stride(uint32_t n);

/* ---- results and copies (results.c) ---- */

struct sl_pages {
	struct sl_neighbours *nb;
	uint64_t bytes;   /* of each of the two arrays */
	pthread_t thread;
	bool running;
};

int sl__search_result(struct sl_search *s, struct sl_error *err);
void sl__pages_begin(struct sl_pages *p, struct sl_neighbours *nb);
void sl__pages_end(struct sl_pages *p);
/* Copies from the device to pageable memory through the pinned stage, on s->copying. Waits for the copy. */
int sl__search_download(struct sl_search *s, void *to, const void *from, uint64_t bytes, struct sl_error *err);
/* Copies to the device through the pinned stage, on s->stream. Faster than a copy from pageable memory if other GPUs
 * copy, too. Waits for the copy. */
int sl__search_upload(struct sl_search *s, void *to, const void *from, uint64_t bytes, struct sl_error *err);
/* Copies the points number[count] to the device through the pinned stage, on s->stream. SL_NOBODY gives zeros. */
int sl__search_gather(struct sl_search *s, void *to, const uint32_t *number, uint32_t count, struct sl_error *err);
/* Copies row i of from[count][k], in device memory, to row number[i] of `to`; skips SL_NOBODY. Waits for s->stream. */
int sl__search_scatter(struct sl_search *s, uint32_t *to, const void *from, const uint32_t *number, uint32_t count,
		       struct sl_error *err);

/* The same on s->copying, for a thread beside the search. */
int sl__search_deliver(struct sl_search *s, uint32_t *to, const void *from, const uint32_t *number, uint32_t count,
		       struct sl_error *err);

/* The first of `count` rows that GPU `rank` searches, a multiple of SL_ROWS. */
static inline uint32_t sl__search_from(const struct sl_search *s, uint32_t count, uint32_t rank)
{
	uint64_t blocks = (count + SL_ROWS - 1ull) / SL_ROWS, from = blocks * rank / s->ranks * SL_ROWS;
	return from < count ? (uint32_t)from : count;
}

static inline uint32_t sl__round_up(uint64_t x, uint32_t unit) { return (uint32_t)((x + unit - 1) / unit * unit); }

#endif
