/* inverted.h -- an inverted file on the device (ivf.c) and the training of its cells (coarse.c). */
#ifndef SL_GPU_INVERTED_H
#define SL_GPU_INVERTED_H

#include "gpu/neighbours/exact/exact.h"
#include "gpu/neighbours/inverted/cells.h"

/* k-means of the cells. */
struct sl_coarse {
	struct sl_cells cells;
	struct sl_side centres;
	uint32_t *which, *cell, *cell_sorted, *row_sorted;  /* [places] */
	void *room;                                         /* for sorting */
	uint64_t room_bytes;
};

#define SL_SAMPLE_CELL 64u    /* points of the training sample, a cell */

int sl__coarse_make(struct sl_search *s, struct sl_coarse *v, uint32_t cells, uint64_t places, struct sl_held *held,
		    struct sl_error *err);
uint64_t sl__coarse_bytes(const struct sl_search *s, uint32_t cells, uint64_t places);
/* From a sample of s->columns. */
int sl__coarse_train(struct sl_search *s, struct sl_coarse *v, struct sl_error *err);
/* cell[]: the nearest centre of s->columns' rows which[count] (NULL: of all, then count is their number). */
int sl__coarse_assign(struct sl_search *s, struct sl_coarse *v, const uint32_t *which, uint32_t count,
		      struct sl_error *err);
int sl__bits_for(uint32_t most);

/* given_up: nothing was done, for want of memory or because the recall would cost too much. */
int sl__search_ivf(struct sl_search *s, bool *given_up, struct sl_error *err);

#endif
