/* find.h -- the host's side of a search, shared by the exact one (find.c) and the inverted file (ivf.c). */
#ifndef SL_GPU_FIND_H
#define SL_GPU_FIND_H

#include "gpu/cuda.h"
#include "gpu/neighbours/search.h"

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

int sl__search_pass(struct sl_search *s, const struct sl_pass *pass, uint32_t *doubtful, struct sl_error *err);
int sl__search_checkpoint(const struct sl_search *s, double share, struct sl_error *err);
/* The rows that the pass may have missed something for, `count` of them in s->doubtful, in higher precisions. */
int sl__search_doubtful(struct sl_search *s, const struct sl_pass *pass, uint32_t count, struct sl_error *err);
/* From the device to pageable memory, through the stage. On s->copying; when it returns the bytes are there. */
int sl__search_download(struct sl_search *s, void *to, const void *from, uint64_t bytes, struct sl_error *err);
/* A stride without a common factor with n, near the golden ratio of it. */
uint32_t sl__search_stride(uint32_t n);
int sl__search_ivf(struct sl_search *s, bool *given_up, struct sl_error *err);

int sl__neighbours_find(int index, uint64_t memory_bytes, const struct sl_points *p,
			const struct sl_neighbours_params *params, struct sl_neighbours **out, struct sl_error *err);

static inline uint32_t sl__round_up(uint64_t x, uint32_t unit) { return (uint32_t)((x + unit - 1) / unit * unit); }

#endif
