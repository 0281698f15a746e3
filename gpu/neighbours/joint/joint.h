/* joint.h -- neighbours on the device, from their arrival to P: launchers, and the struct behind
 * struct sl_device_neighbours.
 *
 *   put     upload, check, an order of the nodes for locality (Cuthill and McKee's), renumber
 *   graph   a row's probabilities for its perplexities, sorted by node; who points at whom, by sorting the edges by
 *           their target; rows of P as the union of the two, their lengths first, then node and p
 *
 * Everything is done in the same order each time, so P has the same bytes each time. */
#ifndef SL_GPU_JOINT_H
#define SL_GPU_JOINT_H

#include "core/params.h"
#include "gpu/graph/graph.h"
#include "gpu/neighbours/sort/sort.h"

struct sl_device_neighbours {
	struct sl_device *device;
	uint32_t n, k, n_user;
	uint32_t *user;      /* host, [n]: the user's row of each, in the device's order */
	char *memory;
	uint64_t bytes;
	uint32_t *index;     /* device, [n][k], renumbered, by distance; SL_NO_NEIGHBOUR ends a short row */
	float *distance;     /* device, [n][k] */
};

#define SL_JOINT_WIDTH_MAX 4096u  /* neighbours of a row that perplexities look at */

#ifdef __cplusplus
extern "C" {
#endif

struct sl_calibration {
	int count;
	float target[SL_PARAM_LIST_MAX];       /* log(perplexity) */
	float perplexity[SL_PARAM_LIST_MAX];
	uint32_t needs[SL_PARAM_LIST_MAX];
};

struct sl_joint_report {
	uint32_t unreachable, rows;   /* rows that miss a perplexity; rows that have neighbours */
	uint32_t empty;               /* rows of P without an entry */
	uint32_t bad;                 /* lowest row that is not as struct sl_neighbours says; UINT32_MAX: none */
};

cudaError_t sl__joint_init(void);
cudaError_t sl__joint_check(uint32_t n, uint32_t k, const uint32_t *index, const float *distance,
			    struct sl_joint_report *report, cudaStream_t stream);
/* new_of[old], old_of[new]; NULL: as it is. */
cudaError_t sl__joint_renumber(uint32_t n, uint32_t k, const uint32_t *index, const float *distance,
			       const uint32_t *new_of, const uint32_t *old_of, uint32_t *index_out, float *distance_out,
			       cudaStream_t stream);
/* node[n][width], ascending, n in places without neighbour; p[n][width]; edge[i] = i. */
cudaError_t sl__joint_calibrate(const struct sl_device_neighbours *nb, const struct sl_calibration *c, uint32_t width,
				uint32_t *node, float *p, uint32_t *edge, struct sl_joint_report *report,
				cudaStream_t stream);

/* Rows: their own neighbours and, from_start[n + 1] in from[], the edges that point at them, by source. */
struct sl_joint {
	uint32_t n, width;
	const uint32_t *node;
	const float *p;
	const uint32_t *from, *from_start;
};

cudaError_t sl__joint_lengths(const struct sl_joint *j, uint32_t *length, struct sl_joint_report *report,
			      cudaStream_t stream);
/* new_of: NULL, or the numbers of rows that are not empty. scale: of p. part[SL_JOINT_PARTS], entropy[1]. */
cudaError_t sl__joint_fill(const struct sl_joint *j, const uint64_t *start, const uint64_t *new_of, float scale,
			   uint32_t *node, float *p, double *part, double *entropy, cudaStream_t stream);
#define SL_JOINT_PARTS 2048u
/* start of rows that are not empty, closed up; and flags of those rows. */
cudaError_t sl__joint_flags(const uint32_t *length, uint32_t n, uint32_t *flag, cudaStream_t stream);
cudaError_t sl__joint_close_up(const uint64_t *start, const uint32_t *length, const uint64_t *new_of, uint32_t n,
			       uint64_t *out, cudaStream_t stream);

/* An order in which neighbours are near, from the first `width` neighbours of each: old_of[n], new_of[n]. */
int sl__joint_order(struct sl_device *d, uint32_t n, uint32_t k, uint32_t width, const uint32_t *index,
		    uint32_t *old_of, uint32_t *new_of, struct sl_error *err);

/* order.cu, for order.c */
struct sl_levels {
	uint32_t n, k, width;
	const uint32_t *index;               /* [n][k] */
	const uint32_t *from, *from_start;   /* sources of the edges that point at a node */
	uint32_t *rank;                      /* [n] SL_NOBODY: not reached */
	uint32_t *parent;                    /* [n] lowest rank of a neighbour that is reached */
	uint8_t *flag;                       /* [n] reached now */
};
cudaError_t sl__levels_edges(uint32_t n, uint32_t k, uint32_t width, const uint32_t *index, uint32_t *target,
			     uint32_t *source, cudaStream_t stream);
cudaError_t sl__levels_reset(const struct sl_levels *l, cudaStream_t stream);
cudaError_t sl__levels_expand(const struct sl_levels *l, const uint32_t *order, uint32_t first, uint32_t count,
			      cudaStream_t stream);
cudaError_t sl__levels_keys(const struct sl_levels *l, const uint32_t *chosen, uint32_t count, uint64_t *key,
			    cudaStream_t stream);
/* order[first ..] are ranked. */
cudaError_t sl__levels_settle(const struct sl_levels *l, const uint32_t *order, uint32_t first, uint32_t count,
			      cudaStream_t stream);
cudaError_t sl__levels_left(const struct sl_levels *l, cudaStream_t stream);  /* flag: not reached */
/* label[n]: one round towards the lowest number of each component; *changed. */
cudaError_t sl__levels_label(const struct sl_levels *l, uint32_t *label, uint32_t *changed, cudaStream_t stream);
cudaError_t sl__levels_label_start(uint32_t *label, uint32_t n, cudaStream_t stream);
cudaError_t sl__levels_gather(const uint32_t *label, const uint32_t *chosen, uint32_t count, uint32_t *key,
			      cudaStream_t stream);
cudaError_t sl__levels_invert(const uint32_t *old_of, uint32_t n, uint32_t *new_of, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
