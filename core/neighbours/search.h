/* search.h -- the common parts of exact.c, bytes.c and inverted.c: packing points for tile.c, gathering queries,
 * writing results. Internal to core/neighbours/.
 *
 * Points are scaled by a power of two so that the largest difference lies in [1/4, 1/2) (lp: as large as its power
 * allows). So no key overflows, and no key of a near neighbour underflows. For cosine distances and correlations the
 * rows are normalised, and the key is |x - y|^2 = 2 (1 - cos). Rows of zeros (for correlations: of one value) have no
 * direction: searches skip them, and they get distance 1 in the results. For jaccard the coordinates are 0 or 1. */
#ifndef SL_SEARCH_H
#define SL_SEARCH_H

#include "core/neighbours/tile.h"

struct sl_points;

#define SL__TASK_GROUPS 16   /* groups of queries that one thread takes at a time */
#define SL__TASK (SL__TASK_GROUPS * SL__GROUP)

struct sl__search {
	const struct sl_points *points;              /* borrowed */
	const struct sl_neighbours_params *params;   /* borrowed */
	const struct sl__tile_kernels *kernels;
	uint32_t n, d;          /* points that are searched (those with a direction), columns */
	uint32_t k;             /* neighbours to find, the point itself not counted, <= points - 1 */
	uint32_t *included;     /* [n] rows of the searched points; NULL: all rows */
	uint32_t *zero;         /* [zeros] rows without a direction */
	uint32_t zeros;
	double scale;
	bool whole;             /* keys are whole numbers, with the bits of a float (bytes.c) */
	uint32_t panels;
	float *panel;           /* [panels][d][SL__LANES], aligned to 64 bytes */
	uint32_t *number;       /* [panels * SL__LANES] the points' rows; SL_NO_NEIGHBOUR: no point */
};

/* 0, SL_NOMEM. */
int sl__search_init(struct sl__search *s, const struct sl_points *points, const struct sl_neighbours_params *params);
void sl__search_finish(struct sl__search *s);

/* Scales and normalises row [d] in place. False: it has no direction. */
bool sl__search_prepare(const struct sl__search *s, float *row);

/* Packs points order[slots] (of [0, n), or SL_NO_NEIGHBOUR for an empty lane; order NULL: all, as they come) into
 * panels. slots is a multiple of SL__LANES unless order is NULL. 0 or SL_NOMEM. */
int sl__search_pack(struct sl__search *s, const uint32_t *order, uint32_t slots);

/* Gathers the points at slot[count <= SL__GROUP] into query[d][SL__GROUP]; places beyond count repeat the first. */
void sl__search_gather_rows(const struct sl__search *s, const uint32_t *slot, uint32_t count, float *query);

/* What a thread needs for one task. */
struct sl__task {
	float *query;                          /* [SL__TASK_GROUPS][d][SL__GROUP] */
	struct sl__nearest list[SL__TASK];
	uint64_t *entry;
};
/* Lists for the best k. 0 or SL_NOMEM; finish it in any case. */
int sl__task_init(struct sl__task *t, const struct sl__search *s, uint32_t k);
void sl__task_finish(struct sl__task *t);

/* Compares the `count` <= SL__TASK queries at slot[] with all points; t->list[i] then holds the best k, unsorted. */
void sl__task_exact(const struct sl__search *s, struct sl__task *t, const uint32_t *slot, uint32_t count, uint32_t k);

/* Sorts the list of point `row`, removes the point itself and writes its row of nb. */
void sl__search_emit(const struct sl__search *s, uint32_t row, struct sl__nearest *list, struct sl_neighbours *nb);

/* The same for a query that is none of the points. */
void sl__search_emit_query(const struct sl__search *s, uint32_t row, struct sl__nearest *list,
			     struct sl_neighbours *nb);

/* Adds the rows without a direction to the results; call it last. */
void sl__search_add_zero_rows(const struct sl__search *s, struct sl_neighbours *nb);

/* The same as sl_distance_points(); flags: SL_OFFSETS_UNCHECKED or 0. */
int sl__distance_points(const struct sl_points **view, const struct sl_points *p, int metric, unsigned flags,
			struct sl_error *err);

bool sl__search_cancelled(const struct sl__search *s);
/* Reports the share of the work that is done. Only the thread that called sl_neighbours_find() reports. */
void sl__search_progress(const struct sl__search *s, double share);

/* The searches: each fills nb->index and nb->distance of all points in s. 0, SL_NOMEM, SL_CANCELLED. */
int sl__search_all_pairs(struct sl__search *s, struct sl_neighbours *nb);
/* Compares all pairs of points of bytes; only if sl__search_knows_bytes(). */
int sl__search_bytes(struct sl__search *s, struct sl_neighbours *nb);
bool sl__search_knows_bytes(const struct sl_points *p, int metric);
/* *pays false: nothing was done, because the requested recall needs too many cells. */
int sl__search_inverted(struct sl__search *s, struct sl_neighbours *nb, bool *pays);

#endif
