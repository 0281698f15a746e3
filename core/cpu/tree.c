/* Barnes and Hut's tree: points in Morton order, cells above them, sums over far cells and near points. The tree and
 * the order of sums depend only on the layout, not on the number of threads. */
#include "core/cpu/tree.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu/cpu.h"
#include "core/grow.h"

#define LEAF 32           /* most points of a leaf, unless all have the same position */
#define LISTED SL_CPU_WEIGHTED_MOST
#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)
/* In a box with this squared side the kernel is linear to 1e-4, so its centre can replace it at any distance, even
 * 0. */
#define NARROW 1e-4f

/* ---- memory ---------------------------------------------------------------------------- */

uint64_t sl__tree_bytes(uint32_t n, int dims)
{
	uint64_t a_point = 2 * (sizeof(uint64_t) + sizeof(uint32_t)) + (uint64_t)dims * sizeof(float);
	uint64_t a_node = sizeof(struct sl_tree_node) + sizeof(struct sl_tree_group) + sizeof(double);
	return n * a_point + n / 8 * a_node;
}

static int grow(struct sl_tree *t, uint32_t room)
{
	if (sl_grow_array(&t->node, room, sizeof *t->node) || sl_grow_array(&t->group, room, sizeof *t->group) ||
	    sl_grow_array(&t->part, room, sizeof *t->part))
		return SL_NOMEM;
	t->room = room;
	return 0;
}

int sl__tree_init(struct sl_tree *t, uint32_t n, int dims, double theta, struct sl_error *err)
{
	*t = (struct sl_tree){.n = n, .dims = dims, .theta = theta};
	t->chunk_points = n / 64 > 16384 ? n / 64 : 16384;
	t->chunks = (n + t->chunk_points - 1) / t->chunk_points;
	t->key = malloc(sizeof *t->key * n);
	t->other_key = malloc(sizeof *t->other_key * n);
	t->index = malloc(sizeof *t->index * n);
	t->other_index = malloc(sizeof *t->other_index * n);
	t->count = malloc(sizeof *t->count * DIGITS * ((size_t)t->chunks + 1));
	bool good = t->key && t->other_key && t->index && t->other_index && t->count && !grow(t, n / 8 + 16);
	for (int k = 0; k < dims; k++)
		good = (t->at[k] = malloc(sizeof(float) * n)) && good;
	if (good)
		return 0;
	sl__tree_finish(t);
	return sl_error_memory(err, "a tree of %u points", n);
}

void sl__tree_finish(struct sl_tree *t)
{
	free(t->key);
	free(t->other_key);
	free(t->index);
	free(t->other_index);
	free(t->count);
	for (int k = 0; k < 3; k++)
		free(t->at[k]);
	free(t->node);
	free(t->group);
	free(t->part);
	*t = (struct sl_tree){0};
}

/* ---- order --------------------------------------------------------------------------------- */

/* Inserts dims - 1 zeros between the bits of x. */
static uint64_t spread_bits(uint64_t x, int dims)
{
	if (dims == 1)
		return x;
	if (dims == 2) {
		x = (x | x << 16) & 0x0000ffff0000ffffull;
		x = (x | x << 8) & 0x00ff00ff00ff00ffull;
		x = (x | x << 4) & 0x0f0f0f0f0f0f0f0full;
		x = (x | x << 2) & 0x3333333333333333ull;
		return (x | x << 1) & 0x5555555555555555ull;
	}
	x = (x | x << 32) & 0x001f00000000ffffull;
	x = (x | x << 16) & 0x001f0000ff0000ffull;
	x = (x | x << 8) & 0x100f00f00f00f00full;
	x = (x | x << 4) & 0x10c30c30c30c30c3ull;
	return (x | x << 2) & 0x1249249249249249ull;
}

struct bounds {
	float low[3], high[3];
};

static const struct bounds nothing = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};

static void add_point(struct bounds *b, const float *y, int dims)
{
	for (int k = 0; k < dims; k++) {
		b->low[k] = fminf(b->low[k], y[k]);
		b->high[k] = fmaxf(b->high[k], y[k]);
	}
}

static float longest_side(const struct bounds *b, int dims)
{
	float side = 0;
	for (int k = 0; k < dims; k++)
		side = fmaxf(side, b->high[k] - b->low[k]);
	return side;
}

static uint64_t key_of(const float *y, const struct bounds *b, double inverse_side, int dims)
{
	static const double largest_bits[4] = {0, 4194303.0, 65535.0, 16383.0};  /* as bits in order() */
	uint64_t key = 0;
	for (int k = 0; k < dims; k++) {
		double t = ((double)y[k] - (double)b->low[k]) * inverse_side * largest_bits[dims];
		key |= spread_bits((uint64_t)(t < largest_bits[dims] ? t : largest_bits[dims]), dims) << k;
	}
	return key;
}

/* Team. Sorts by one digit, from key to other_key, in fixed chunks, so that threads do not change the result. */
static void sort_digit(struct sl_tree *t, int shift)
{
#pragma omp for schedule(static)
	for (uint32_t c = 0; c < t->chunks; c++) {
		uint32_t *count = t->count + (size_t)c * DIGITS;
		uint32_t from = c * t->chunk_points, to = t->n - from < t->chunk_points ? t->n : from + t->chunk_points;
		memset(count, 0, sizeof *count * DIGITS);
		for (uint32_t i = from; i < to; i++)
			count[t->key[i] >> shift & (DIGITS - 1)]++;
	}
#pragma omp single
	{
		uint32_t first[DIGITS + 1];
		sl__places_of_counts(t->count, t->chunks, DIGITS, first);
	}
#pragma omp for schedule(static)
	for (uint32_t c = 0; c < t->chunks; c++) {
		uint32_t *place = t->count + (size_t)c * DIGITS;
		uint32_t from = c * t->chunk_points, to = t->n - from < t->chunk_points ? t->n : from + t->chunk_points;
		for (uint32_t i = from; i < to; i++) {
			uint32_t at = place[t->key[i] >> shift & (DIGITS - 1)]++;
			t->other_key[at] = t->key[i];
			t->other_index[at] = t->index[i];
		}
	}
#pragma omp single
	{
		uint64_t *key = t->key;
		uint32_t *index = t->index;
		t->key = t->other_key;
		t->index = t->other_index;
		t->other_key = key;
		t->other_index = index;
	}
}

static void order(struct sl_tree *t, const float *y, int threads)
{
	static const int bits[4] = {0, 22, 2 * 16, 3 * 14};  /* of a key; order_again() refines a smallest cell */
	size_t d = (size_t)t->dims;
	struct bounds all = nothing;
	for (uint32_t i = 0; i < t->n; i++)
		add_point(&all, y + i * d, t->dims);
	double side = (double)longest_side(&all, t->dims), inverse = side > 0 ? 1 / side : 0;
#pragma omp parallel num_threads(threads)
	{
#pragma omp for schedule(static)
		for (uint32_t i = 0; i < t->n; i++) {
			t->key[i] = key_of(y + i * d, &all, inverse, t->dims);
			t->index[i] = i;
		}
		for (int shift = 0; shift < bits[t->dims]; shift += DIGIT_BITS)
			sort_digit(t, shift);
#pragma omp for schedule(static)
		for (uint32_t i = 0; i < t->n; i++)
			for (size_t k = 0; k < d; k++)
				t->at[k][i] = y[t->index[i] * d + k];
	}
}

struct placed {
	uint64_t key;
	uint32_t index;
};

static int by_key(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	return x->key != y->key ? (x->key < y->key ? -1 : 1) : (x->index > y->index) - (x->index < y->index);
}

/* Sorts the points of a smallest cell, of which there are many if others are far away, by keys in their own box. */
static int order_again(struct sl_tree *t, uint32_t from, uint32_t to, const struct bounds *b)
{
	uint32_t count = to - from;
	struct placed *p = malloc(sizeof *p * count);
	float *y = malloc(sizeof *y * count);
	if (!p || !y) {
		free(p);
		free(y);
		return SL_NOMEM;
	}
	double inverse = 1 / (double)longest_side(b, t->dims);
	for (uint32_t i = 0; i < count; i++) {
		float point[3] = {0};
		for (int k = 0; k < t->dims; k++)
			point[k] = t->at[k][from + i];
		p[i] = (struct placed){key_of(point, b, inverse, t->dims), i};
	}
	qsort(p, count, sizeof *p, by_key);
	for (int k = 0; k < t->dims; k++) {
		memcpy(y, t->at[k] + from, sizeof *y * count);
		for (uint32_t i = 0; i < count; i++)
			t->at[k][from + i] = y[p[i].index];
	}
	memcpy(t->other_index + from, t->index + from, sizeof *t->index * count);
	for (uint32_t i = 0; i < count; i++) {
		t->key[from + i] = p[i].key;
		t->index[from + i] = t->other_index[from + p[i].index];
	}
	free(p);
	free(y);
	return 0;
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* The values of a node that its parent needs. */
struct summary {
	struct bounds bounds;
	double sum[3];
};

static void look_at_points(const struct sl_tree *t, uint32_t from, uint32_t to, struct summary *out)
{
	*out = (struct summary){.bounds = nothing};
	for (int k = 0; k < t->dims; k++)
		for (uint32_t i = from; i < to; i++) {
			float x = t->at[k][i];
			out->bounds.low[k] = fminf(out->bounds.low[k], x);
			out->bounds.high[k] = fmaxf(out->bounds.high[k], x);
			out->sum[k] += (double)x;
		}
}

static void add_summary(struct summary *all, const struct summary *s, int dims)
{
	for (int k = 0; k < dims; k++) {
		all->bounds.low[k] = fminf(all->bounds.low[k], s->bounds.low[k]);
		all->bounds.high[k] = fmaxf(all->bounds.high[k], s->bounds.high[k]);
		all->sum[k] += s->sum[k];
	}
}

static void finish_node(struct sl_tree *t, uint32_t at, uint32_t from, uint32_t to, const struct summary *s)
{
	float side = longest_side(&s->bounds, t->dims), square = side * side;
	struct sl_tree_node *node = &t->node[at];
	*node = (struct sl_tree_node){
		.mass = (float)(to - from), .from = from, .to = to, .next = t->nodes,
		.open = square <= NARROW ? 0 : t->theta > 0 ? square / (float)(t->theta * t->theta) : INFINITY,
	};
	for (int k = 0; k < t->dims; k++)
		node->at[k] = (float)(s->sum[k] / (to - from));
}

static int add_leaf(struct sl_tree *t, uint32_t at, uint32_t from, uint32_t to, const struct summary *s)
{
	finish_node(t, at, from, to, s);
	for (uint32_t i = from; i < to; i += LEAF) {
		if (t->groups == t->room && grow(t, t->room * 2))
			return SL_NOMEM;
		t->group[t->groups++] = (struct sl_tree_group){i, to - i < LEAF ? to : i + LEAF};
	}
	return 0;
}

/* The first place after `from` whose key differs in more than its last `shift` bits. */
static uint32_t end_of_cell(const struct sl_tree *t, uint32_t from, uint32_t to, int shift)
{
	uint64_t cell = t->key[from] >> shift;
	uint32_t low = from, high = to;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (t->key[middle] >> shift == cell)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* Adds the node of the points at places from..to, and all nodes below it. Skips cells with a single child. */
static int add_node(struct sl_tree *t, uint32_t from, uint32_t to, struct summary *out)
{
	if (t->nodes == t->room && grow(t, t->room * 2))
		return SL_NOMEM;
	uint32_t at = t->nodes++;
	if (to - from <= LEAF || t->key[from] == t->key[to - 1]) {
		look_at_points(t, from, to, out);
		float side = longest_side(&out->bounds, t->dims);
		if (to - from <= LEAF || side * side <= NARROW)
			return add_leaf(t, at, from, to, out);
		if (order_again(t, from, to, &out->bounds))
			return SL_NOMEM;
	}
	int highest = 63 - __builtin_clzll(t->key[from] ^ t->key[to - 1]);
	int shift = highest / t->dims * t->dims, code = 0;
	*out = (struct summary){.bounds = nothing};
	for (uint32_t i = from; i < to && !code;) {
		uint32_t end = end_of_cell(t, i, to, shift);
		struct summary below;
		code = add_node(t, i, end, &below);
		if (!code)
			add_summary(out, &below, t->dims);
		i = end;
	}
	if (!code)
		finish_node(t, at, from, to, out);
	return code;
}

int sl__tree_build(struct sl_tree *t, const float *y, int threads, struct sl_error *err)
{
	struct summary all;
	t->nodes = t->groups = 0;
	order(t, y, threads);
	if (add_node(t, 0, t->n, &all))
		return sl_error_memory(err, "a tree of %u points", t->n);
	return 0;
}

/* ---- sums --------------------------------------------------------------------------------------- */

struct traversal {
	const struct sl_tree *tree;
	const struct sl_cpu_kernels *kernels;
	double nu;
	struct sl_tree_group group;
	struct bounds bounds;  /* of the group */
	struct sl_weighted list;
	double sum[LEAF][4];
};

static void add_up(struct traversal *a)
{
	const struct sl_tree *t = a->tree;
	a->kernels->weighted(t->dims, a->nu, &a->list, t->at, a->group.from, a->group.to, a->sum);
	a->list.count = 0;
}

static void list(struct traversal *a, const float at[3], float mass)
{
	struct sl_weighted *l = &a->list;
	for (int k = 0; k < a->tree->dims; k++)
		l->at[k][l->count] = at[k];
	l->mass[l->count] = mass;
	if (++l->count == LISTED)
		add_up(a);
}

static void list_points(struct traversal *a, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		float at[3];
		for (int k = 0; k < a->tree->dims; k++)
			at[k] = a->tree->at[k][i];
		list(a, at, 1);
	}
}

static float square_distance(const struct bounds *b, const float at[3], int dims)
{
	float all = 0;
	for (int k = 0; k < dims; k++) {
		float off = fmaxf(fmaxf(b->low[k] - at[k], at[k] - b->high[k]), 0);
		all += off * off;
	}
	return all;
}

static void traverse(struct traversal *a)
{
	const struct sl_tree *t = a->tree;
	for (uint32_t i = 0; i < t->nodes;) {
		const struct sl_tree_node *node = &t->node[i];
		bool contains_group = node->from <= a->group.from && a->group.from < node->to;
		bool far = node->open == 0 || (!contains_group && square_distance(&a->bounds, node->at, t->dims) >= node->open);
		if (far)
			list(a, node->at, node->mass);
		else if (node->next == i + 1)
			list_points(a, node->from, node->to);
		i = far ? node->next : i + 1;
	}
	add_up(a);
}

double sl__tree_repel(struct sl_tree *t, const struct sl_cpu_kernels *kernels, double nu, float *force)
{
	struct traversal a = {.tree = t, .kernels = kernels, .nu = nu};
#pragma omp for schedule(dynamic, 8)
	for (uint32_t g = 0; g < t->groups; g++) {
		struct summary s;
		double z = 0;
		a.group = t->group[g];
		look_at_points(t, a.group.from, a.group.to, &s);
		a.bounds = s.bounds;
		memset(a.sum, 0, sizeof a.sum);
		traverse(&a);
		for (uint32_t i = a.group.from; i < a.group.to; i++) {
			const double *sum = a.sum[i - a.group.from];
			for (int k = 0; k < t->dims; k++)
				force[(size_t)t->index[i] * (size_t)t->dims + (size_t)k] = (float)sum[k];
			z += sum[3] - 1;  /* without the pair of the point with itself */
		}
		t->part[g] = z;
	}
	double z = 0;
	for (uint32_t g = 0; g < t->groups; g++)
		z += t->part[g];
#pragma omp barrier
	return z;
}
