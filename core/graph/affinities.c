/* Makes P from a graph. The steps, and the memory of each in addition to the user's graph (P has m entries, at most
 * twice the graph's):
 *
 *   transpose        8 B per entry of the graph; nothing for a symmetric graph
 *   neighbours       4 B a node: isolated nodes, leaves, lengths of rows
 *   columns          16 B a node: exponent and norm of each column
 *   symmetrise       8 B per entry of P; then transpose and columns are freed
 *   order            a few numbers a node (order.c)
 *   renumber         4 B per entry of P: one array at a time
 *
 * With the graph itself (8 B per entry), memory never exceeds 24 bytes per entry of P. Sums that become part of the
 * result are kept per row and added in the order of rows, so they do not depend on the number of threads. */
#include "core/graph/affinities.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/graph/order.h"
#include "core/graph/rescale.h"
#include "core/graph/symmetrise.h"
#include "core/graph/vector_math.h"
#include "core/neighbours/neighbours.h"

void sl_affinities_destroy(struct sl_affinities *a)
{
	if (!a)
		return;
	free(a->start);
	free(a->node);
	free(a->p);
	free(a->user);
	free(a->axes);
	free(a);
}

uint64_t sl_affinities_bytes(const struct sl_affinities *a)
{
	return sizeof *a + ((uint64_t)a->n + 1) * sizeof *a->start + (uint64_t)a->n * sizeof *a->user +
	       a->m * (sizeof *a->node + sizeof *a->p) +
	       (a->axes ? (uint64_t)a->n_user * SL_AXES * sizeof *a->axes : 0);
}

/* Scratch memory while P is made. */
struct making {
	struct sl__half columns;
	struct sl__transpose transpose;
	uint32_t *degree;             /* [n_user] neighbours */
	uint8_t *left_out;            /* [n_user] leaves, if their edges are dropped; else NULL */
	struct sl__column *column;    /* [n_user] */
	uint32_t *place;              /* [n_user] the row of a user's node */
	double scale;                 /* 1 / (2 columns with entries): makes the sum of P one */
};

static void making_finish(struct making *w)
{
	sl__transpose_finish(&w->transpose);
	free(w->degree);
	free(w->left_out);
	free(w->column);
	free(w->place);
	memset(w, 0, sizeof *w);
}

/* Computes degrees, and counts the nodes that are isolated by dropping leaf edges. */
static int find_neighbours(struct making *w, bool drop_leaf_edges, struct sl_affinities *a)
{
	uint32_t n = a->n_user, before = 0, after = 0;
	sl__count_neighbours(&w->columns, &w->transpose.rows, NULL, w->degree);
	for (uint32_t i = 0; i < n; i++)
		before += w->degree[i] > 0;
	a->n = before;
	if (!drop_leaf_edges)
		return 0;
	w->left_out = malloc((size_t)n + 1);
	if (!w->left_out)
		return SL_NOMEM;
	for (uint32_t i = 0; i < n; i++)
		w->left_out[i] = w->degree[i] == 1;
	sl__count_neighbours(&w->columns, &w->transpose.rows, w->left_out, w->degree);
	for (uint32_t i = 0; i < n; i++)
		after += w->degree[i] > 0;
	a->n = after;
	a->dropped = before - after;
	return 0;
}

/* Computes the starts of rows, in the user's order, without isolated nodes. */
static int lay_out_rows(struct making *w, struct sl_affinities *a)
{
	a->user = malloc(((size_t)a->n + 1) * sizeof *a->user);
	a->start = malloc(((size_t)a->n + 1) * sizeof *a->start);
	if (!a->user || !a->start)
		return SL_NOMEM;
	uint32_t row = 0;
	uint64_t m = 0;
	for (uint32_t i = 0; i < a->n_user; i++) {
		w->place[i] = row;
		if (!w->degree[i])
			continue;
		a->user[row] = i;
		a->start[row++] = m;
		m += w->degree[i];
	}
	a->start[row] = a->m = m;
	return 0;
}

static int make_rows(struct making *w, const struct sl_graph *g, const struct sl_affinities_params *params,
		     struct sl_affinities *a)
{
	size_t n = (size_t)g->n + 1;
	uint32_t filled = 0;
	int rc = sl__transpose_init(&w->transpose, g);
	w->degree = malloc(n * sizeof *w->degree);
	if (rc || !w->degree)
		return SL_NOMEM;
	rc = find_neighbours(w, params->drop_leaf_edges, a);
	if (rc)
		return rc;
	w->place = malloc(n * sizeof *w->place);
	w->column = malloc(n * sizeof *w->column);
	if (!w->place || !w->column)
		return SL_NOMEM;
	rc = lay_out_rows(w, a);
	if (rc)
		return rc;
	rc = sl__rescale_columns(&w->columns, w->left_out, params->lambda, w->column, &a->unreachable, &filled);
	if (rc)
		return rc;
	w->scale = filled ? 0.5 / filled : 0;
	a->node = malloc((a->m + 1) * sizeof *a->node);
	a->p = malloc((a->m + 1) * sizeof *a->p);
	if (!a->node || !a->p)
		return SL_NOMEM;
	return sl__symmetrise(&w->columns, &w->transpose.rows, w->left_out, w->column, w->scale, a->n, a->user,
			      w->place, a->start, a->node, a->p);
}

/* Renumbers P so that new row r is old row old[r]. Visits the nodes in their new order and appends each to the rows of
 * its neighbours; P is symmetric, so the new rows ascend. */
static int renumber(struct sl_affinities *a, const uint32_t *old)
{
	size_t n = (size_t)a->n + 1;
	uint64_t *start = malloc(n * sizeof *start), *cursor = malloc(n * sizeof *cursor);
	uint32_t *place = malloc(n * sizeof *place), *user = malloc(n * sizeof *user), *node = NULL;
	float *p = malloc((a->m + 1) * sizeof *p);
	int rc = SL_NOMEM;
	if (!start || !cursor || !place || !user || !p)
		goto out;
	start[0] = 0;
	for (uint32_t r = 0; r < a->n; r++) {
		place[old[r]] = r;
		user[r] = a->user[old[r]];
		start[r + 1] = start[r] + (a->start[old[r] + 1] - a->start[old[r]]);
	}
	memcpy(cursor, start, n * sizeof *cursor);
	for (uint32_t r = 0; r < a->n; r++)
		for (uint64_t e = a->start[old[r]]; e < a->start[old[r] + 1]; e++)
			p[cursor[place[a->node[e]]]++] = a->p[e];
	free(a->p);
	a->p = p;
	p = NULL;
	node = malloc((a->m + 1) * sizeof *node);
	if (!node)
		goto out;
	memcpy(cursor, start, n * sizeof *cursor);
	for (uint32_t r = 0; r < a->n; r++)
		for (uint64_t e = a->start[old[r]]; e < a->start[old[r] + 1]; e++)
			node[cursor[place[a->node[e]]]++] = r;
	free(a->node);
	free(a->start);
	free(a->user);
	a->node = node;
	a->start = start;
	a->user = user;
	node = NULL;
	start = NULL;
	user = NULL;
	rc = 0;
out:
	free(start);
	free(cursor);
	free(place);
	free(user);
	free(node);
	free(p);
	return rc;
}

static int reorder(struct sl_affinities *a, enum sl_order order)
{
	if (order == SL_ORDER_AUTO)
		order = sl__order_choose(a->n);
	if (order == SL_ORDER_NONE || !a->n)
		return 0;
	uint32_t *old = malloc((size_t)a->n * sizeof *old);
	if (!old)
		return SL_NOMEM;
	int rc = sl__order(order, a->n, a->start, a->node, old);
	if (!rc)
		rc = renumber(a, old);
	free(old);
	return rc;
}

static int sum_entropy(struct sl_affinities *a)
{
	double *row = malloc(((size_t)a->n + 1) * sizeof *row);
	if (!row)
		return SL_NOMEM;
#pragma omp parallel for schedule(dynamic, 512)
	for (uint32_t i = 0; i < a->n; i++)
		row[i] = sl__sum_p_log_p(a->p + a->start[i], a->start[i + 1] - a->start[i]);
	a->entropy = 0;
	for (uint32_t i = 0; i < a->n; i++)
		a->entropy += row[i];
	free(row);
	return 0;
}

int sl_affinities_params_check(const struct sl_affinities_params *params, struct sl_error *err)
{
	if (!(params->lambda >= 1) || !isfinite(params->lambda))
		return sl_error_field(err, SL_BADPARAM, "/lambda", "lambda must be a finite number, 1 or more, not %g.",
				      params->lambda);
	if ((unsigned)params->order > SL_ORDER_BFS)
		return sl_error_set(err, SL_BADPARAM, "Node order %d does not exist.", (int)params->order);
	return 0;
}

int sl_affinities_create(struct sl_affinities **out, const struct sl_graph *g,
			 const struct sl_affinities_params *params, struct sl_error *err)
{
	int bad = sl_affinities_params_check(params, err);
	if (bad)
		return bad;
	struct making w = {.columns = {g->n, g->start, g->node, g->weight}};
	struct sl_affinities *a = calloc(1, sizeof *a);
	int rc = SL_NOMEM;
	if (!a)
		goto out;
	a->n_user = g->n;
	rc = make_rows(&w, g, params, a);
	making_finish(&w);
	if (!rc)
		rc = reorder(a, params->order);
	if (!rc)
		rc = sum_entropy(a);
	if (rc)
		goto out;
	*out = a;
	return 0;
out:
	making_finish(&w);
	sl_affinities_destroy(a);
	return sl_error_set(err, rc, SL_NO_MEMORY "the affinities of a graph with %u nodes and %llu entries.",
			    g->n, (unsigned long long)g->m);
}

void sl_affinities_gather(const struct sl_affinities *a, int dims, const float *user, float *y)
{
	for (uint32_t i = 0; i < a->n; i++)
		memcpy(y + (size_t)i * (size_t)dims, user + (size_t)a->user[i] * (size_t)dims,
		       (size_t)dims * sizeof *y);
}
