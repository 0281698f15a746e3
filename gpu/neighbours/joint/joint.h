/* joint.h -- makes P from neighbours on the device: the launchers, and struct sl_device_neighbours.
 *
 *   put     uploads and checks the neighbours, orders the nodes for locality (Cuthill and McKee), renumbers them
 *   graph   calibrates the probabilities of each row to its perplexities and sorts them by node; finds the sources of
 *           each node's incoming edges by sorting all edges by target; forms each row of P as the union of outgoing and
 *           incoming edges: first its length, then its nodes and entries
 *
 * Every step has a fixed order, so equal neighbours give the same bytes of P. Each launcher queues its kernels on a
 * stream and returns the launch's error. */
#ifndef SL_GPU_JOINT_H
#define SL_GPU_JOINT_H

#include "core/params.h"
#include "gpu/graph/graph.h"
#include "gpu/neighbours/sort/sort.h"

struct sl_device_neighbours {
	struct sl_device *device;
	struct sl_device_neighbours *others;  /* of rank 0 of a group: those of ranks 1, 2, ... by this link */
	float *axes;  /* [n_user][SL_AXES] of struct sl_neighbours, in host memory, or NULL */
	uint32_t n, k, n_user;
	uint32_t *user;      /* host, [n]: the user's row of each node, in the device's order */
	char *memory;
	uint64_t bytes;
	uint32_t *index;     /* device, [n][k], renumbered, by distance; SL_NO_NEIGHBOUR ends a short row */
	float *distance;     /* device, [n][k] */
};

#define SL_JOINT_WIDTH_MAX 4096u  /* most neighbours of a row that the calibration uses */

#ifdef __cplusplus
extern "C" {
#endif

/* The perplexities of a row. needs: neighbours that each of them uses. */
struct sl_calibration {
	int count;
	float target[SL_PARAM_LIST_MAX];       /* log(perplexity) */
	float perplexity[SL_PARAM_LIST_MAX];
	uint32_t needs[SL_PARAM_LIST_MAX];
};

struct sl_joint_report {
	uint32_t unreachable, rows;   /* rows that cannot reach a perplexity; rows that have neighbours */
	uint32_t empty;               /* rows of P without an entry */
	uint32_t bad;                 /* lowest row that breaks a rule of struct sl_neighbours; UINT32_MAX: none */
};

cudaError_t sl__joint_init(void);  /* once per device */
/* Sets report->bad. index, distance: [n][k], as in struct sl_neighbours. */
cudaError_t sl__joint_check(uint32_t n, uint32_t k, const uint32_t *index, const float *distance,
			    struct sl_joint_report *report, cudaStream_t stream);
/* Copies rows to their new places and renumbers the nodes in them: new_of[old], old_of[new]. */
cudaError_t sl__joint_renumber(uint32_t n, uint32_t k, const uint32_t *index, const float *distance,
			       const uint32_t *new_of, const uint32_t *old_of, uint32_t *index_out, float *distance_out,
			       cudaStream_t stream);
/* Outgoing edges: node[n][width] ascends in each row, with n in places without neighbour; p[n][width]; edge[i] = i. */
cudaError_t sl__joint_calibrate(const struct sl_device_neighbours *nb, const struct sl_calibration *c, uint32_t width,
				uint32_t *node, float *p, uint32_t *edge, struct sl_joint_report *report,
				cudaStream_t stream);

/* The edges of each row: outgoing ones in node[n][width] and p[n][width]; incoming ones, ordered by source, in from[]
 * from from_start[row] on. */
struct sl_joint {
	uint32_t n, width;
	const uint32_t *node;
	const float *p;
	const uint32_t *from, *from_start;
};

/* length[n]: entries of each row of P. Counts empty rows. */
cudaError_t sl__joint_lengths(const struct sl_joint *j, uint32_t *length, struct sl_joint_report *report,
			      cudaStream_t stream);
/* Fills the rows of P, row i from start[i] on, times `scale`, and computes P's entropy. new_of: NULL, or new numbers
 * that leave out empty rows. part[SL_JOINT_PARTS], entropy[1]: device memory. */
cudaError_t sl__joint_fill(const struct sl_joint *j, const uint64_t *start, const uint64_t *new_of, float scale,
			   uint32_t *node, float *p, double *part, double *entropy, cudaStream_t stream);
#define SL_JOINT_PARTS 2048u
/* flag[i] = 1 for rows that are not empty; close_up() writes the starts of those rows one after the other to `out`. */
cudaError_t sl__joint_flags(const uint32_t *length, uint32_t n, uint32_t *flag, cudaStream_t stream);
cudaError_t sl__joint_close_up(const uint64_t *start, const uint32_t *length, const uint64_t *new_of, uint32_t n,
			       uint64_t *out, cudaStream_t stream);

/* An order of the nodes that puts neighbours near each other (Cuthill and McKee), by the first `width` neighbours of
 * each: old_of[n], new_of[n]. */
int sl__joint_order(struct sl_device *d, uint32_t n, uint32_t k, uint32_t width, const uint32_t *index,
		    uint32_t *old_of, uint32_t *new_of, struct sl_error *err);

/* ---- the steps of that order (order.cu), a breadth-first search level by level ---- */

struct sl_levels {
	uint32_t n, k, width;
	const uint32_t *index;               /* [n][k] */
	const uint32_t *from, *from_start;   /* sources of each node's incoming edges */
	uint32_t *rank;                      /* [n] position in the order; SL_NOBODY: not reached */
	uint32_t *parent;                    /* [n] lowest rank among the neighbours that are reached */
	uint8_t *flag;                       /* [n] reached in this level */
};
/* The first `width` neighbours of each row as edges: target[n][width], n where there is none, and source[n][width]. */
cudaError_t sl__levels_edges(uint32_t n, uint32_t k, uint32_t width, const uint32_t *index, uint32_t *target,
			     uint32_t *source, cudaStream_t stream);
/* No node is reached. */
cudaError_t sl__levels_reset(const struct sl_levels *l, cudaStream_t stream);
/* Reaches the neighbours of order[first .. first + count - 1]: sets their flags and parents. */
cudaError_t sl__levels_expand(const struct sl_levels *l, const uint32_t *order, uint32_t first, uint32_t count,
			      cudaStream_t stream);
/* key[i]: parent (high half) and number of incoming edges (low half) of node chosen[i]. */
cudaError_t sl__levels_keys(const struct sl_levels *l, const uint32_t *chosen, uint32_t count, uint64_t *key,
			    cudaStream_t stream);
/* Gives the nodes order[first .. first + count - 1] their ranks. */
cudaError_t sl__levels_settle(const struct sl_levels *l, const uint32_t *order, uint32_t first, uint32_t count,
			      cudaStream_t stream);
cudaError_t sl__levels_left(const struct sl_levels *l, cudaStream_t stream);  /* sets flag of nodes not reached */
/* One round of labelling components: label[i] becomes the lowest label among i and its neighbours. Sets *changed. */
cudaError_t sl__levels_label(const struct sl_levels *l, uint32_t *label, uint32_t *changed, cudaStream_t stream);
cudaError_t sl__levels_label_start(uint32_t *label, uint32_t n, cudaStream_t stream);  /* label[i] = i */
/* key[i] = label[chosen[i]]. */
cudaError_t sl__levels_gather(const uint32_t *label, const uint32_t *chosen, uint32_t count, uint32_t *key,
			      cudaStream_t stream);
/* new_of[old_of[i]] = i. */
cudaError_t sl__levels_invert(const uint32_t *old_of, uint32_t n, uint32_t *new_of, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
