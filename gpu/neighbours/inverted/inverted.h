/* inverted.h -- the search by an inverted file on the device (ivf.c) and the training of its cells (coarse.c). */
#ifndef SL_GPU_INVERTED_H
#define SL_GPU_INVERTED_H

#include "gpu/neighbours/exact/exact.h"
#include "gpu/neighbours/inverted/cells.h"

/* The cells, and the work memory of their k-means. */
struct sl_coarse {
	struct sl_cells cells;
	struct sl_side centres;
	uint32_t *which, *cell, *cell_sorted, *row_sorted;  /* [places] */
	void *room;                                         /* work memory for sorting */
	uint64_t room_bytes;
};

#define SL_SAMPLE_CELL 64u    /* points per cell in the training sample */

/* Allocates v for so many cells and so many `places` (rows assigned at a time), and the bytes that this takes. */
int sl__coarse_make(struct sl_search *s, struct sl_coarse *v, uint32_t cells, uint64_t places, struct sl_held *held,
		    struct sl_error *err);
uint64_t sl__coarse_bytes(const struct sl_search *s, uint32_t cells, uint64_t places);
/* Trains the centres on a sample of s->columns. */
int sl__coarse_train(struct sl_search *s, struct sl_coarse *v, struct sl_error *err);
/* Writes to v->cell[] the nearest centre of the rows which[count] of s->columns. NULL: of all rows, `count` of them. */
int sl__coarse_assign(struct sl_search *s, struct sl_coarse *v, const uint32_t *which, uint32_t count,
		      struct sl_error *err);

/* The whole search. *given_up is true if it did nothing: memory does not suffice, or the recall would cost more than
 * the exact search. */
int sl__search_ivf(struct sl_search *s, bool *given_up, struct sl_error *err);

#endif
