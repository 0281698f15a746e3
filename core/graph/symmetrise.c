/* Symmetrises P. Counting neighbours and merging visit every entry twice, once in its column and once in its row, and
 * compute p_ij at both ends. The sum of two numbers does not depend on their order, so both ends get the same bits and
 * P is exactly symmetric. */
#include "core/graph/symmetrise.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/graph/vector_math.h"

int sl__transpose_init(struct sl__transpose *t, const struct sl_graph *g)
{
	memset(t, 0, sizeof *t);
	t->rows = (struct sl__half){g->n, g->start, g->node, g->weight};
	if (g->symmetric)
		return 0;

	uint64_t *start = t->start_owned = calloc((size_t)g->n + 2, sizeof *start);
	uint32_t *node = t->node_owned = malloc((g->m + 1) * sizeof *node);
	float *weight = t->weight_owned = g->weight ? malloc((g->m + 1) * sizeof *weight) : NULL;
	if (!start || !node || (g->weight && !weight)) {
		sl__transpose_finish(t);
		return SL_NOMEM;
	}
	/* counted at i + 2, so that after summation start[i + 1] is the start of row i and, after filling it, that of
	 * row i + 1 */
	for (uint64_t e = 0; e < g->m; e++)
		start[g->node[e] + 2]++;
	for (uint32_t i = 0; i < g->n; i++)
		start[i + 2] += start[i + 1];
	for (uint32_t j = 0; j < g->n; j++)
		for (uint64_t e = g->start[j]; e < g->start[j + 1]; e++) {
			uint64_t at = start[g->node[e] + 1]++;
			node[at] = j;
			if (weight)
				weight[at] = g->weight[e];
		}
	t->rows = (struct sl__half){g->n, start, node, weight};
	return 0;
}

void sl__transpose_finish(struct sl__transpose *t)
{
	free(t->start_owned);
	free(t->node_owned);
	free(t->weight_owned);
	memset(t, 0, sizeof *t);
}

void sl__count_neighbours(const struct sl__half *columns, const struct sl__half *rows,
			  const uint8_t *left_out, uint32_t *degree)
{
#pragma omp parallel for schedule(dynamic, 512)
	for (uint32_t i = 0; i < columns->n; i++) {
		uint64_t a = columns->start[i], a_end = columns->start[i + 1];
		uint64_t b = rows->start[i], b_end = rows->start[i + 1];
		const uint32_t *u = columns->node, *v = rows->node;
		uint32_t count = 0;
		if (columns->start == rows->start && !left_out) {
			degree[i] = (uint32_t)(a_end - a);
			continue;
		}
		if (left_out && left_out[i])
			a = a_end, b = b_end;
		/* no branches on the comparison, which is unpredictable */
		while (a < a_end && b < b_end) {
			uint32_t x = u[a], y = v[b];
			a += x <= y;
			b += y <= x;
			count += !left_out || !left_out[x < y ? x : y];
		}
		for (; a < a_end; a++)
			count += !left_out || !left_out[u[a]];
		for (; b < b_end; b++)
			count += !left_out || !left_out[v[b]];
		degree[i] = count;
	}
}

/* Computes p_j|i for all j in column i, which form one distribution, into q. */
static void column_values(const struct sl__half *columns, const struct sl__column *column, uint32_t i, double *q)
{
	uint64_t from = columns->start[i], k = columns->start[i + 1] - from;
	struct sl__column c = column[i];
	if (!columns->weight) {
		double value = exp(-c.shift);
		for (uint64_t e = 0; e < k; e++)
			q[e] = value;
		return;
	}
	sl__log_float(columns->weight + from, k, q);
	for (uint64_t e = 0; e < k; e++)
		q[e] = c.gamma * q[e] - c.shift;
	sl__exp_in_place(q, k);
}

/* Computes p_i|j for all j in row i, each from another column's distribution, into q. */
static void row_values(const struct sl__half *rows, const struct sl__column *column, uint32_t i, double *q)
{
	uint64_t from = rows->start[i], k = rows->start[i + 1] - from;
	if (rows->weight) {
		sl__log_float(rows->weight + from, k, q);
		for (uint64_t e = 0; e < k; e++) {
			struct sl__column c = column[rows->node[from + e]];
			q[e] = c.gamma * q[e] - c.shift;
		}
	} else {
		for (uint64_t e = 0; e < k; e++)
			q[e] = -column[rows->node[from + e]].shift;
	}
	sl__exp_in_place(q, k);
}

/* Position in the row of P that is being written. */
struct row {
	const uint8_t *left_out;
	const uint32_t *place;
	double scale;
	uint32_t *node;
	float *p;
};

static inline void append(struct row *row, uint32_t j, double value)
{
	if (row->left_out && row->left_out[j])
		return;
	value *= row->scale;
	*row->node++ = row->place[j];
	*row->p++ = value > FLT_MIN ? (float)value : FLT_MIN;
}

static void merge_row(const struct sl__half *columns, const struct sl__half *rows, uint32_t i,
		      const double *q, const double *r, struct row *row)
{
	const uint32_t *u = columns->node + columns->start[i], *v = rows->node + rows->start[i];
	uint64_t a = 0, a_end = columns->start[i + 1] - columns->start[i];
	uint64_t b = 0, b_end = rows->start[i + 1] - rows->start[i];
	while (a < a_end && b < b_end) {
		uint32_t x = u[a], y = v[b];
		double value = (x <= y ? q[a] : 0) + (y <= x ? r[b] : 0);
		a += x <= y;
		b += y <= x;
		append(row, x < y ? x : y, value);
	}
	for (; a < a_end; a++)
		append(row, u[a], q[a]);
	for (; b < b_end; b++)
		append(row, v[b], r[b]);
}

int sl__symmetrise(const struct sl__half *columns, const struct sl__half *rows, const uint8_t *left_out,
		   const struct sl__column *column, double scale, uint32_t n_out, const uint32_t *user,
		   const uint32_t *place, const uint64_t *start, uint32_t *node, float *p)
{
	uint64_t longest = 0;
	for (uint32_t i = 0; i < columns->n; i++) {
		uint64_t a = columns->start[i + 1] - columns->start[i], b = rows->start[i + 1] - rows->start[i];
		longest = a > longest ? a : longest;
		longest = b > longest ? b : longest;
	}
	int failed = 0;
#pragma omp parallel reduction(| : failed)
	{
		double *q = malloc((2 * longest + 1) * sizeof *q);
		failed = !q;
#pragma omp for schedule(dynamic, 256)
		for (uint32_t row = 0; row < n_out; row++) {
			if (failed)
				continue;
			uint32_t i = user[row];
			column_values(columns, column, i, q);
			row_values(rows, column, i, q + longest);
			merge_row(columns, rows, i, q, q + longest,
				  &(struct row){left_out, place, scale, node + start[row], p + start[row]});
		}
		free(q);
	}
	return failed ? SL_NOMEM : 0;
}
