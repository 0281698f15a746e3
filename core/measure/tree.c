/* A k-d tree, stored as a heap. Node i is divided in the middle along the widest side of its box; its halves are nodes
 * 2i and 2i + 1. All leaves are in the lowest level. */
#include "core/measure/tree.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LEAF 12
#define TASK 16384      /* least nodes of a part that gets its own task */
#define TIES 2048       /* most leaves that are searched only because of ties */

struct sl_tree {
	uint32_t n;
	int dims, levels;
	uint32_t *order;    /* [n] */
	float *y;           /* [n * dims] in that order */
	uint8_t *axis;      /* [2^levels] by heap number */
	float *cut;         /* [2^levels] coordinate of the first node of the upper half */
};

struct part {
	uint32_t from, to, node;
	int level;
};

/* ---- building ----------------------------------------------------------------------- */

static bool before(const float *y, size_t dims, size_t axis, uint32_t a, uint32_t b)
{
	float x = y[a * dims + axis], z = y[b * dims + axis];
	return x < z || (x == z && a < b);
}

/* Partitions nodes from..to so that the one at `middle` is in its sorted place, with lesser ones before it. */
static void divide(uint32_t *order, const float *y, size_t dims, size_t axis, uint32_t from, uint32_t to,
		   uint32_t middle)
{
	while (to - from > 1) {
		uint32_t a = order[from], b = order[from + (to - from) / 2], c = order[to - 1], pivot;
		if (before(y, dims, axis, a, b))
			pivot = before(y, dims, axis, b, c) ? b : before(y, dims, axis, a, c) ? c : a;
		else
			pivot = before(y, dims, axis, a, c) ? a : before(y, dims, axis, b, c) ? c : b;
		uint32_t i = from, j = to - 1;
		for (;;) {
			while (before(y, dims, axis, order[i], pivot))
				i++;
			while (before(y, dims, axis, pivot, order[j]))
				j--;
			if (i >= j)
				break;
			uint32_t swap = order[i];
			order[i++] = order[j];
			order[j--] = swap;
		}
		/* i == j: the pivot is at i; else elements up to j are <= pivot, those after j >= pivot */
		if (i == j && middle == i)
			return;
		if (middle <= j)
			to = i == j ? j : j + 1;
		else
			from = j + 1;
	}
}

static size_t widest(const struct sl_tree *t, const float *y, uint32_t from, uint32_t to)
{
	size_t dims = (size_t)t->dims, best = 0;
	float extent = -1;
	for (size_t k = 0; k < dims; k++) {
		float low = INFINITY, high = -INFINITY;
		for (uint32_t i = from; i < to; i++) {
			float x = y[t->order[i] * dims + k];
			low = x < low ? x : low;
			high = x > high ? x : high;
		}
		if (high - low > extent) {
			extent = high - low;
			best = k;
		}
	}
	return best;
}

static void build(struct sl_tree *t, const float *y, struct part p)
{
	if (p.level == t->levels)
		return;
	uint32_t middle = p.from + (p.to - p.from) / 2;
	size_t axis = widest(t, y, p.from, p.to);
	divide(t->order, y, (size_t)t->dims, axis, p.from, p.to, middle);
	t->axis[p.node] = (uint8_t)axis;
	t->cut[p.node] = y[t->order[middle] * (size_t)t->dims + axis];
	struct part low = {p.from, middle, 2 * p.node, p.level + 1}, high = {middle, p.to, 2 * p.node + 1, p.level + 1};
#pragma omp task if (p.to - p.from > TASK)
	build(t, y, low);
	build(t, y, high);
#pragma omp taskwait
}

int sl_tree_create(struct sl_tree **out, uint32_t n, int dims, const float *y, struct sl_error *err)
{
	struct sl_tree *t = calloc(1, sizeof *t);
	if (!t)
		return sl_error_memory(err, "a tree of %u nodes", n);
	t->n = n;
	t->dims = dims;
	while ((n >> t->levels) > LEAF)
		t->levels++;
	size_t d = (size_t)dims, room = n ? n : 1;
	t->order = malloc(sizeof *t->order * room);
	t->y = malloc(sizeof *t->y * room * d);
	t->axis = malloc((size_t)1 << t->levels);
	t->cut = malloc(sizeof *t->cut << t->levels);
	if (!t->order || !t->y || !t->axis || !t->cut) {
		sl_tree_destroy(t);
		return sl_error_memory(err, "a tree of %u nodes", n);
	}
	for (uint32_t i = 0; i < n; i++)
		t->order[i] = i;
#pragma omp parallel
#pragma omp single
	build(t, y, (struct part){0, n, 1, 0});
	for (uint32_t i = 0; i < n; i++)
		memcpy(t->y + i * d, y + t->order[i] * d, sizeof *y * d);
	*out = t;
	return 0;
}

void sl_tree_destroy(struct sl_tree *t)
{
	if (!t)
		return;
	free(t->order);
	free(t->y);
	free(t->axis);
	free(t->cut);
	free(t);
}

const uint32_t *sl_tree_order(const struct sl_tree *t) { return t->order; }

/* ---- queries -------------------------------------------------------------------------- */

struct query {
	const struct sl_tree *t;
	double at[3];
	uint32_t excluded, k, count, ties;
	uint32_t *index;
	double *square;
};

static bool better(double a, uint32_t i, double b, uint32_t j)
{
	return a < b || (a == b && i < j);
}

static void offer(struct query *q, double square, uint32_t node)
{
	if (q->count == q->k && !better(square, node, q->square[q->k - 1], q->index[q->k - 1]))
		return;
	uint32_t at = q->count < q->k ? q->count++ : q->count - 1;
	for (; at && better(square, node, q->square[at - 1], q->index[at - 1]); at--) {
		q->square[at] = q->square[at - 1];
		q->index[at] = q->index[at - 1];
	}
	q->square[at] = square;
	q->index[at] = node;
}

static void leaf(struct query *q, uint32_t from, uint32_t to)
{
	const struct sl_tree *t = q->t;
	size_t dims = (size_t)t->dims;
	for (uint32_t i = from; i < to; i++) {
		double square = 0;
		for (size_t k = 0; k < dims; k++) {
			double x = (double)t->y[i * dims + k] - q->at[k];
			square += x * x;
		}
		if (t->order[i] != q->excluded)
			offer(q, square, t->order[i]);
	}
}

/* True if a part at this squared distance may contain one of the nearest. */
static bool promising(struct query *q, double distance)
{
	if (q->count < q->k || distance < q->square[q->k - 1])
		return true;
	return distance == q->square[q->k - 1] && q->ties && q->ties--;
}

/* aside: the distance of the part's box from `at` along each axis; distance: the sum of their squares. */
static void search(struct query *q, struct part p, const double aside[3], double distance)
{
	const struct sl_tree *t = q->t;
	if (p.level == t->levels) {
		leaf(q, p.from, p.to);
		return;
	}
	uint32_t middle = p.from + (p.to - p.from) / 2;
	int axis = t->axis[p.node];
	double over = q->at[axis] - (double)t->cut[p.node];
	struct part low = {p.from, middle, 2 * p.node, p.level + 1}, high = {middle, p.to, 2 * p.node + 1, p.level + 1};
	search(q, over < 0 ? low : high, aside, distance);
	double other[3] = {aside[0], aside[1], aside[2]};
	other[axis] = fabs(over);
	distance += over * over - aside[axis] * aside[axis];
	if (promising(q, distance))
		search(q, over < 0 ? high : low, other, distance);
}

uint32_t sl_tree_nearest(const struct sl_tree *t, const float *at, uint32_t excluded, uint32_t k, uint32_t *index,
			 double *square)
{
	double squares[SL_TREE_MOST];
	const double none[3] = {0};
	struct query q = {.t = t, .excluded = excluded, .k = k < SL_TREE_MOST ? k : SL_TREE_MOST, .ties = TIES,
			  .index = index, .square = square ? square : squares};
	for (int a = 0; a < t->dims; a++)
		q.at[a] = (double)at[a];
	if (q.k && t->n)
		search(&q, (struct part){0, t->n, 1, 0}, none, 0);
	return q.count;
}
