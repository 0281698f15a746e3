/* affinities.h -- makes P from a graph on the device, as core/graph/affinities.c does on the host.
 *
 *   rows      uploads the columns; sorts their entries by row, so that each node has a column and the sources of its
 * row
 *             (a symmetric graph is its own transpose)
 *   lengths   the size of the union of a node's column and row: its row of P; leaves are left out if asked for
 *   columns   the exponent and norm of each column (core/graph/rescale.h)
 *   order     the nodes that have entries, numbered as the host numbers them (core/graph/order.h)
 *   fill      the rows of P in that order, some at a time, which are packed at once (gpu/graph/)
 *
 * Nodes have the user's numbers until `fill` renumbers them. All arithmetic is in double precision, with the host's
 * exponentials (core/exponentials.h), and an entry is rounded to a float once. So P has the host's numbering, and its
 * entries are the host's except for few that lie between two floats: those differ by one unit in the last place.
 *
 * Device memory at its highest, for n nodes and m entries of a graph that is not symmetric: 24 bytes an entry while
 * they are sorted; then 12 bytes an entry, 50 a node, and P. SL_DEVMEM if that is too much. Each launcher queues its
 * kernels on a stream and returns the launch's error. */
#ifndef SL_GPU_AFFINITIES_H
#define SL_GPU_AFFINITIES_H

#include "gpu/graph/graph.h"
#include "gpu/neighbours/sort/sort.h"

struct sl_graph;
struct sl_affinities;
struct sl_affinities_params;

/* Takes rows that were filled, in the order of their numbers; they are valid until it returns, on the device's
 * stream. */
typedef int (*sl__rows_fn)(void *arg, const struct sl_rows *rows, struct sl_error *err);
/* Where P goes: its size and the first entries of its rows (device memory, [n + 1]), then its rows. */
struct sl_affinity_sink {
	int (*begin)(void *arg, uint32_t n, uint64_t m, const uint64_t *start, struct sl_error *err);
	sl__rows_fn rows;
	void *arg;
};
/* Makes P on the device; *summary as in struct sl_engine, graph_make. */
int sl__affinities_make(struct sl_device *d, const struct sl_graph *g, const struct sl_affinities_params *params,
			const struct sl_affinity_sink *sink, struct sl_affinities **summary, struct sl_error *err);
/* The same, packed: the function of struct sl_engine. */
int sl__graph_make(struct sl_device *d, const struct sl_graph *g, const struct sl_affinities_params *params,
		   struct sl_affinities **summary, struct sl_device_graph **out, struct sl_error *err);

/* As struct sl__column of core/graph/rescale.h: log p_i|j = gamma log w_ij - shift. */
struct sl_column_form { double gamma, shift; };

struct sl_affinity_report {
	uint32_t unreachable, filled;  /* columns that cannot reach lambda; columns with entries */
	uint32_t kept;                 /* rows of P with entries */
	uint32_t wide, longest;        /* rows for a block each; rows that are sorted in global memory */
	unsigned long long longest_entries;  /* of the latter */
};

/* A graph on the device. */
struct sl_sides {
	uint32_t n;
	uint64_t m;
	const uint64_t *start;      /* [n + 1] columns */
	const uint32_t *node;       /* [m] ascending in a column */
	const float *weight;        /* [m] or NULL: all 1 */
	const uint64_t *row_start;  /* [n + 1]; of a symmetric graph, `start` */
	const uint32_t *source;     /* [m] the columns that have an entry in this row, ascending; or `node` */
	const uint8_t *left_out;    /* [n] nodes whose edges are left out, or NULL */
};

/* Some rows of P while they are filled: rows first .. first + n - 1 in the new order. */
struct sl_filling {
	struct sl_sides sides;
	const struct sl_column_form *column;  /* [sides.n] */
	double scale;
	const uint32_t *old_of;     /* the node of each new row */
	const uint32_t *new_of;     /* [sides.n] its new row; SL_NOBODY: none */
	const uint64_t *start;      /* first entry of each new row */
	struct sl_rows rows;        /* out: node and p, from rows.base on */
	double *entropy;            /* out: [rows.n] sum p log p of each row */
	uint32_t *wide, *longest;   /* [rows.n] lists of rows */
	struct sl_affinity_report *report;
};

#define SL_FILL_WARP 128u   /* longest row that one warp fills */
#define SL_FILL_BLOCK 4096u /* longest row that a block fills */

#ifdef __cplusplus
extern "C" {
#endif

/* source[e]: the column of entry e. */
cudaError_t sl__sides_columns(uint32_t n, const uint64_t *start, uint32_t *source, cudaStream_t stream);
/* row_start[i], 0 <= i <= n: the first place of a number >= i in row[m], which ascends. */
cudaError_t sl__sides_starts(uint32_t n, const uint32_t *row, uint64_t m, uint64_t *row_start, cudaStream_t stream);
/* length[n]: entries in each row of P. Sets report->kept. */
cudaError_t sl__sides_lengths(const struct sl_sides *s, uint32_t *length, struct sl_affinity_report *report,
			      cudaStream_t stream);
/* flag[i]: 1 where length[i] is `value` (equal) or is not (!equal). */
cudaError_t sl__sides_flags(const uint32_t *length, uint32_t n, uint32_t value, bool equal, uint8_t *flag,
			    cudaStream_t stream);
/* The exponent and norm of each column. Adds to report->unreachable and report->filled. */
cudaError_t sl__columns_rescale(const struct sl_sides *s, double lambda, struct sl_column_form *column,
				struct sl_affinity_report *report, cudaStream_t stream);

/* number[list[i]] = i. */
cudaError_t sl__fill_number(const uint32_t *list, uint32_t count, uint32_t *number, cudaStream_t stream);
/* out[i] = length[list[i]]. */
cudaError_t sl__fill_gather(const uint32_t *length, const uint32_t *list, uint32_t count, uint32_t *out,
			    cudaStream_t stream);
/* bound[k], 0 <= k <= count: the first row whose first entry is >= k * step, and at[k], that entry; n and its start at
 * the end. */
cudaError_t sl__fill_bounds(const uint64_t *start, uint32_t n, uint64_t step, uint32_t count, uint32_t *bound,
			    uint64_t *at, cudaStream_t stream);
/* Fills the rows up to SL_FILL_BLOCK entries long, and lists the longer ones. */
cudaError_t sl__fill_rows(const struct sl_filling *f, cudaStream_t stream);
/* The entries of listed long rows: key[] (row of the list, new number) and p's bits in value[], unsorted; *next counts
 * them. */
cudaError_t sl__fill_longest(const struct sl_filling *f, uint32_t count, uint64_t *key, uint32_t *value,
			     unsigned long long *next, cudaStream_t stream);
/* Writes them, sorted, to their rows, with the rows' entropies. */
cudaError_t sl__fill_sorted(const struct sl_filling *f, uint32_t count, uint64_t entries, const uint64_t *key,
			    const uint32_t *value, cudaStream_t stream);
/* *sum = x[0] + ... + x[count - 1], in a fixed order. part: [SL_FILL_PARTS]. */
cudaError_t sl__fill_sum(const double *x, uint64_t count, double *part, double *sum, cudaStream_t stream);
#define SL_FILL_PARTS 1024u

/* ---- the order: a breadth-first search, level by level (order.cu) ---- */

struct sl_search {
	struct sl_sides sides;
	const uint32_t *length;  /* [n] */
	uint32_t *mark;          /* [n] number of the last search that reached the node */
	uint32_t *parent;        /* [n] lowest place in the queue among the neighbours of the last level; else SL_NOBODY */
	uint8_t *flag;           /* [n] reached in this level */
	uint8_t *waiting;        /* [n] has entries and no number yet */
};
/* No node is marked; those with entries wait. */
cudaError_t sl__search_reset(const struct sl_search *s, cudaStream_t stream);
/* Reaches the neighbours of queue[first .. first + count - 1] that this search has not marked. */
cudaError_t sl__search_expand(const struct sl_search *s, uint32_t search, const uint32_t *queue, uint32_t first,
			      uint32_t count, cudaStream_t stream);
/* key[i] of node chosen[i]: its parent, then its degree (by_degree) or 0. */
cudaError_t sl__search_keys(const struct sl_search *s, bool by_degree, const uint32_t *chosen, uint32_t count,
			    uint64_t *key, cudaStream_t stream);
/* Marks the nodes of a level. */
cudaError_t sl__search_settle(const struct sl_search *s, uint32_t search, const uint32_t *level, uint32_t count,
			      cudaStream_t stream);
/* The nodes of the list do not wait any more. */
cudaError_t sl__search_served(const struct sl_search *s, const uint32_t *list, uint32_t count, cudaStream_t stream);
/* *best: the least (degree, place) among level[count]. */
cudaError_t sl__search_least(const struct sl_search *s, const uint32_t *level, uint32_t count,
			     unsigned long long *best, cudaStream_t stream);
/* list[0 .. count - 1] in reverse. */
cudaError_t sl__search_reverse(uint32_t *list, uint32_t count, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

/* Fills n rows with m entries, some at a time; f->rows and what follows in it are set here. *entropy: of all. */
int sl__fill_all(struct sl_device *d, struct sl_filling *f, uint32_t n, uint64_t m, sl__rows_fn fn, void *arg,
		 double *entropy, struct sl_error *err);

/* Numbers the `kept` nodes with entries as core/graph/order.c does: old_of[kept], in device memory. order: not AUTO.
 * Components beyond the first SL_SEARCH_PARTS, and searches of more than SL_SEARCH_LEVELS levels, are left to the
 * host. */
int sl__affinities_order(struct sl_device *d, const struct sl_filling *f, int order, const uint32_t *length,
			 uint32_t kept, uint32_t *old_of, struct sl_error *err);
#define SL_SEARCH_PARTS 64
#define SL_SEARCH_LEVELS 20000

#endif
