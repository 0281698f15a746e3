/* coded.h -- a search by codes: the parts that share its state.
 *
 *   coded.c         what fits; training; all points into cells and codes
 *   coded_choose.c  how many tiles and candidates, for the recall that is asked for
 *   coded_search.c  some rows; all rows */
#ifndef SL_GPU_CODED_H
#define SL_GPU_CODED_H

#include "gpu/neighbours/codes/codes.h"
#include "gpu/neighbours/inverted/inverted.h"

#define SL_CHUNK 64u  /* halves that scan_wide.cu takes at a time */
#define SL_KEEP_MOST (SL_LIST_MAX / 4)
#define SL_SAMPLE_BLOCKS 32u  /* of rows, that the recall is estimated from */

struct sl_coded {
	struct sl_coarse coarse;
	struct sl_held held;
	uint32_t cells, positions;    /* positions: SL_ROWS' multiple; while it is planned, at most so many */
	int width;                    /* halves of a row, SL_CHUNK's multiple */
	struct sl_side side;          /* columns: index, bias, codes */
	uint8_t *code;
	float *book;
	uint8_t *trial;               /* codes of the words' sample, group after group */
	uint32_t *slot, *bits;        /* [n]; [n / 32 + 1] */
	uint32_t *number;             /* [batch] of the rows */
	uint32_t *list;               /* [block] of the columns, or their places */
	uint32_t *order, *some_cells; /* tiles of each block of rows; cells of the sample's blocks' tiles */
	uint64_t entries;             /* that lists may have together */
	uint32_t rows, tiles, keep;   /* rows at a time, tiles scanned, candidates */
	/* on the host */
	uint32_t *member, *place, *cell;  /* [positions], [n], [n] */
	uint32_t *tile_cell;          /* [tiles + 1] */
	uint32_t *needed;             /* [n] who is a candidate */
	uint32_t *host_bits;
};

uint32_t sl__coded_capacity(const struct sl_search *s, uint32_t keep);  /* of lists */
/* number[count] of the points, from the host to s->raw, as s->columns. */
int sl__coded_columns(struct sl_search *s, const uint32_t *number, uint32_t count, struct sl_error *err);
/* Rows on the device from number[count] on the host. */
int sl__coded_rows(struct sl_search *s, struct sl_coded *v, const uint32_t *number, uint32_t count,
		   struct sl_table *rows, struct sl_error *err);
/* The order of tiles for blocks of rows whose tiles are of cell[2 * blocks] (device), to v->order[blocks][most]. */
int sl__coded_rank(struct sl_search *s, struct sl_coded *v, const uint32_t *cell, uint32_t blocks, uint32_t most,
		   struct sl_error *err);
/* Rows number[count] by v->order[.][tiles]; to s->index[0] and s->distance[0], row after row. */
int sl__coded_search(struct sl_search *s, struct sl_coded *v, const uint32_t *number, uint32_t count, uint32_t tiles,
		     struct sl_error *err);
/* Everybody; to s->out. */
int sl__coded_search_all(struct sl_search *s, struct sl_coded *v, struct sl_error *err);
/* v->rows, tiles and keep, and s->out->recall. */
int sl__coded_choose(struct sl_search *s, struct sl_coded *v, bool *given_up, struct sl_error *err);

/* given_up: nothing was done, for want of memory or because the recall would cost too much. */
int sl__search_coded(struct sl_search *s, bool *given_up, struct sl_error *err);

#endif
