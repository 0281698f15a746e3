/* coded.h -- the state of a search by product codes, which three files share.
 *
 *   coded.c         plans the memory, trains cells and codes, encodes all points
 *   coded_choose.c  chooses the numbers of tiles and candidates that reach the requested recall
 *   coded_search.c  searches some rows, or all */
#ifndef SL_GPU_CODED_H
#define SL_GPU_CODED_H

#include "gpu/neighbours/codes/codes.h"
#include "gpu/neighbours/inverted/inverted.h"

#define SL_CHUNK 64u  /* half-precision numbers that scan_wide.cu loads at a time */
#define SL_KEEP_MOST (SL_LIST_MAX / 4)
#define SL_SAMPLE_BLOCKS 32u  /* blocks of rows in the sample that estimates the recall */

struct sl_coded {
	struct sl_coarse coarse;
	struct sl_held held;
	uint32_t cells, positions;    /* positions: a multiple of SL_ROWS; an upper bound during planning */
	int width;                    /* half-precision numbers of a row, a multiple of SL_CHUNK */
	struct sl_side side;          /* columns: index, bias, codes */
	uint8_t *code;
	float *book;
	uint8_t *trial;               /* codes of the rows that train the words, group after group */
	uint32_t *slot, *bits;        /* [n]; [n / 32 + 1] */
	uint32_t *number;             /* [batch] numbers of the rows */
	uint32_t *list;               /* [block] numbers of the columns, or their places */
	uint32_t *order, *some_cells; /* the tiles that each block of rows scans; the cells of the sample's tiles */
	uint64_t entries;             /* limit on the entries of all lists together */
	uint32_t rows, tiles, keep;   /* rows at a time, tiles to scan, candidates to keep */
	/* on the host */
	uint32_t *member, *place, *cell;  /* [positions], [n], [n] */
	uint32_t *tile_cell;          /* [tiles + 1] */
	uint32_t *needed;             /* [n] numbers of the points that are candidates */
	uint32_t *host_bits;
};

uint32_t sl__coded_capacity(const struct sl_search *s, uint32_t keep);  /* entries of a list that keeps so many */
/* Copies the points number[count] from the host to s->raw and makes them s->columns. */
int sl__coded_columns(struct sl_search *s, const uint32_t *number, uint32_t count, struct sl_error *err);
/* Copies the points number[count] (on the host) to the device and describes them in *rows. */
int sl__coded_rows(struct sl_search *s, struct sl_coded *v, const uint32_t *number, uint32_t count,
		   struct sl_table *rows, struct sl_error *err);
/* Writes to v->order[blocks][ranked] the order in which each block of rows scans the tiles. Row block b consists of two
 * tiles, from cells cell[2 b] and cell[2 b + 1]; cell is in device memory. */
int sl__coded_rank(struct sl_search *s, struct sl_coded *v, const uint32_t *cell, uint32_t blocks, uint32_t ranked,
		   struct sl_error *err);
/* Searches the rows number[count] in the first `tiles` tiles of v->order. Results: s->index[0], s->distance[0]. */
int sl__coded_search(struct sl_search *s, struct sl_coded *v, const uint32_t *number, uint32_t count, uint32_t tiles,
		     struct sl_error *err);
/* Searches all rows. Results: s->out. */
int sl__coded_search_all(struct sl_search *s, struct sl_coded *v, struct sl_error *err);
/* Chooses v->rows, v->tiles and v->keep, and sets s->out->recall. */
int sl__coded_choose(struct sl_search *s, struct sl_coded *v, bool *given_up, struct sl_error *err);

/* The whole search. *given_up is true if it did nothing: memory does not suffice, or the recall would cost more than
 * the exact search. */
int sl__search_coded(struct sl_search *s, bool *given_up, struct sl_error *err);

#endif
