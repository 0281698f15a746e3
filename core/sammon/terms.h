/* terms.h -- the terms w (D - d)^2 of the stress of a graph, for pairs of nodes with the length D of the shortest path
 * between them. Internal to core/sammon/.
 *
 * The graph is divided into parts: its connected components of two nodes or more, the largest first. Each part is laid
 * out by itself. Nodes are numbered part by part. Isolated nodes are in no part.
 *
 * A part with no more nodes than pivots has a term for each pair: each of its nodes is a pivot, so each pair occurs
 * twice. A larger part has a sparse stress (Ortmann, Klimenta and Brandes, JGAA 21, 2017): each node has terms with its
 * neighbours and with P pivots. The region of pivot p holds the nodes that are nearer to p than to any other pivot. The
 * term of node i with pivot p represents the terms of i with the nodes of that region; its weight is w(D_ip) times the
 * number of nodes in the region that are no farther from p than D_ip / 2. The terms of a node move only that node and
 * not the pivots: these few would be pushed apart until all other nodes fit between them. So the pivots are placed
 * first, by the terms among themselves (anchors.c), and do not move afterwards. Pivots are chosen one after the other,
 * a node with a probability that grows with its distance from the pivots so far, as in k-means++ (Arthur and
 * Vassilvitskii, SODA 2007).
 *
 * Work is done in sweeps over blocks of nodes of one part. Blocks share only the products for the start, which are
 * added in the order of the blocks. So the number of threads changes no byte. */
#ifndef SL_SAMMON_TERMS_H
#define SL_SAMMON_TERMS_H

#include <stddef.h>

#include "core/sammon/sammon.h"
#include "core/sammon/kernels/terms_tile.h"

struct sl_graph;
struct sl_sammon;
struct sl__search;

#define SL__TERMS_LENGTHS 1e12  /* the longest edge is at most so many times as long as the shortest */

struct sl__part {
	uint32_t first, n;       /* its nodes are first .. first + n - 1 */
	uint32_t pivot, pivots;  /* its pivots are pivot .. pivot + pivots - 1 */
	uint64_t at;             /* index of its first term; its terms are [pivots][n] */
	bool all;                /* each node is a pivot */
};

struct sl__terms_slice {   /* a block */
	uint32_t part, first, n;
	uint64_t share;          /* index of its sums for pivots in share[]; sparse parts only */
};

/* The present phase of the work, and the kind of a sweep. */
enum sl__terms_phase { SL__TERMS_PIVOTS, SL__TERMS_NEAR, SL__TERMS_ROWS, SL__TERMS_TOTAL, SL__TERMS_START,
		       SL__TERMS_PASS, SL__TERMS_SOLVE, SL__TERMS_ANCHORS };
enum sl__terms_sweep { SL__SWEEP_TOTAL, SL__SWEEP_FORCES, SL__SWEEP_WEIGHTS, SL__SWEEP_SQUARES };

struct sl__terms {
	uint32_t n_user;         /* nodes of the graph, the isolated ones included */
	uint32_t n;              /* nodes of all parts */
	uint32_t *user;          /* [n] the user's index of a node */
	uint64_t *start;         /* [n + 1] rows of neighbours */
	uint32_t *node;          /* [start[n]] ascending within a row */
	float *length;           /* [start[n]] scaled, or NULL: all `unit` */
	double unit;             /* mean length of an edge, scaled */
	double shortest;         /* length of the shortest edge, scaled */
	double scale;            /* factor of lengths and coordinates, a power of 2 */
	uint32_t parts, sparse;  /* the first `sparse` parts have a sparse stress */
	struct sl__part *part;
	uint32_t pivots;         /* of all parts */
	uint32_t *pivot;         /* [pivots] node of each pivot */
	float *distance, *weight;  /* terms with pivots; see struct sl__part */
	float *near_distance, *near_weight;  /* terms with neighbours in sparse parts, in the order of node[] */
	uint32_t slices;
	struct sl__terms_slice *slice;
	const struct sl__terms_kernels *kernels;

	/* progress */
	enum sl__terms_phase phase, next;  /* next: the phase after the distances; in a run that was not loaded, START */
	struct sl__search **search;  /* [threads] */
	int threads;
	float *closest;          /* [n] of a sparse part: the distance to the nearest pivot, and which one that is */
	uint32_t *owner;
	uint32_t at;             /* next part, pivot, row, node or block of the phase */
	uint32_t at_part, at_pivot;
	bool searching;

	/* a sweep reads and writes `columns` numbers for each node */
	int columns;
	const double *in[4];
	double *out[4], *curve[3];
	double *in_pivot;        /* [columns][pivots] `in` at the pivots */
	double *out_pivot;       /* [columns][pivots] sweeps of squares: sums over the nodes of sparse parts */
	double *share;           /* [slice][pivots of the part][columns] these sums by block */
	double *sum;             /* [slices] of w (D - d)^2 */
	double *total;           /* [slices] of w D^2 */

	/* start: singular vectors, on the pivots' and on the nodes' side */
	int round;
	double *mean_node, *mean_pivot, *mean_part;  /* means of squared distances by node, pivot and part */
	double *pivot_vector;    /* [4][pivots] */
	double *node_vector;     /* [2][dims + 1][n] */

	struct sl_sammon *anchors;  /* the run that places the pivots of sparse parts; NULL in other phases */

	/* smacof: V move = - force */
	double *move;            /* [dims][n] */
	double *residual, *direction, *product;  /* [dims][n] */
	double *square, *target; /* [parts][dims] preconditioned square of the residual; its value at convergence */
	int rounds;
	bool moved;              /* true: `move` belongs to the best layout */
};

/* terms.c: parts, memory. The graph is borrowed for the call. SL_BADPARAM: /lengths. */
int sl__terms_create(struct sl__terms **out, const struct sl_graph *g, const struct sl_sammon_params *params,
		     struct sl_error *err);
/* Makes terms for all pairs of pivots of sparse parts; the caller fills distance and weight. SL_NOMEM. */
int sl__terms_of_pivots(struct sl__terms **out, const struct sl__terms *t, const struct sl_sammon_params *params);
void sl__terms_destroy(struct sl__terms *t);  /* NULL is fine */

/* distances.c: does at most `count` units of work; true: the phase has ended. *code: 0 or SL_NOMEM. */
bool sl__terms_measure(struct sl__terms *t, const struct sl_sammon_params *params, uint32_t count, int *code);
void sl__search_destroy(struct sl__search *s);  /* NULL is fine */
double sl__terms_weight(int stress, double distance);

/* sweep.c */
void sl__sweep_begin(struct sl_sammon *m, enum sl__terms_sweep kind, int columns);  /* in[] and out[] are set */
bool sl__sweep(struct sl_sammon *m, enum sl__terms_sweep kind, uint32_t count);     /* true: the sweep has ended */

/* classical.c: computes the start; true: trial.y is complete. */
bool sl__terms_begin(struct sl_sammon *m, uint32_t count);

/* anchors.c: places the pivots, beginning with trial.y; true: the pivots in trial.y are final. SL_NOMEM. */
int sl__anchors_begin(struct sl_sammon *m);
bool sl__anchors(struct sl_sammon *m, uint32_t count, int *code);

/* solve.c */
void sl__terms_solve_begin(struct sl_sammon *m);
bool sl__terms_solve(struct sl_sammon *m, uint32_t count);

/* sweep.c: like sl__sammon_pass(), including the phases before the pass. */
bool sl__terms_go(struct sl_sammon *m, uint32_t count, int *code);
void sl__terms_pass_begin(struct sl_sammon *m);
void sl__terms_total_begin(struct sl_sammon *m, enum sl__terms_phase next);  /* call it when all terms are complete */
/* Continues with this phase after all distances are computed. */
void sl__terms_resume(struct sl_sammon *m, enum sl__terms_phase phase);

/* arrange.c: out [n_user][dims], in the user's order, from y [dims][n], with the parts side by side. SL_NOMEM. */
int sl__terms_arrange(const struct sl_sammon *m, const double *y, float *out);

#endif
