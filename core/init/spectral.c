/* A round: filter the block; make it orthonormal (weighted by d, without the constant vector); multiply by W; rotate
 * to Ritz vectors; look at their residuals. The filter's interval of modes to damp reaches from -1 to the smallest
 * Ritz value found so far, so each round separates better than the one before.
 *
 * Nodes are taken by component, in blocks of 1,024; what is summed over a component is summed by block, in the
 * blocks' order. */
#include "core/init/spectral.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/init/dense.h"
#include "core/init/pack.h"
#include "core/random.h"

#define COLUMNS SL_SPECTRAL_COLUMNS
#define ROWS 1024         /* of a block */
#define SMALLEST 16       /* nodes of a component that gets coordinates of its own */
#define ROUNDS 10
#define TOLERANCE 0.02    /* of the distance between 1 and the smallest Ritz value */
#define GROWTH 15.0       /* log of how much a filter may raise what it does not damp: floats have 7 digits */
#define SQUASH 3.0        /* coordinates end at so many standard deviations */

static const int degrees[ROUNDS] = {10, 15, 20, 30, 40, 40, 40, 40, 40, 40};

struct component {
	uint32_t first, count;       /* in order */
	uint32_t block, blocks;
	double value[COLUMNS];       /* Ritz values, descending */
	double mean[COLUMNS];
	sl__small change;            /* what the block is multiplied by next */
	int rank;                    /* vectors that are not zero */
	bool settled;
};

struct block {
	uint32_t component, from, count;
};

enum phase { FILTER, PRODUCT, DONE };

struct sl_spectral {
	struct sl_walk walk;
	const uint32_t *user;        /* borrowed */
	uint32_t n;
	int dims;
	uint64_t seed;
	float *mass;                 /* [n] */
	uint32_t *order;             /* [n] nodes by component, components by size */
	struct component *component; /* [components] */
	uint32_t components, large;  /* the first `large` have coordinates of their own */
	struct block *block;
	uint32_t blocks;
	double (*part)[COLUMNS * COLUMNS];  /* [blocks] */
	float *x, *before;           /* [n][COLUMNS] */
	float *slope, *shift;        /* [n] */
	enum phase phase;
	int round, k;                /* rounds done; steps of this round's filter done */
	double seconds_per_step;
};

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- components ------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
	const struct component *p = a, *q = b;
	if (p->count != q->count)
		return p->count < q->count ? 1 : -1;
	return p->first < q->first ? -1 : 1;
}

/* Sorts the nodes by label, then the components by size. label is used up: it becomes each component's number. */
static int sort_components(struct sl_spectral *s, uint32_t *label)
{
	uint32_t *count = calloc((size_t)s->n + 1, sizeof *count), *sorted = malloc(sizeof *sorted * s->n);
	int code = count && sorted ? 0 : SL_NOMEM;
	if (code)
		goto out;
	for (uint32_t i = 0; i < s->n; i++)
		count[label[i] + 1]++;
	for (uint32_t l = 0; l < s->n; l++)
		s->components += count[l + 1] > 0;
	s->component = calloc(s->components, sizeof *s->component);
	if (!s->component) {
		code = SL_NOMEM;
		goto out;
	}
	for (uint32_t l = 0, c = 0, at = 0; l < s->n; l++) {
		if (count[l + 1])
			s->component[c++] = (struct component){.first = at, .count = count[l + 1]};
		at += count[l + 1];
		count[l + 1] = at;
	}
	for (uint32_t i = 0; i < s->n; i++)
		sorted[count[label[i]]++] = i;
	qsort(s->component, s->components, sizeof *s->component, by_size);
	for (uint32_t c = 0, at = 0; c < s->components; c++) {
		struct component *k = &s->component[c];
		memcpy(s->order + at, sorted + k->first, sizeof *sorted * k->count);
		k->first = at;
		at += k->count;
	}
out:
	free(count);
	free(sorted);
	return code;
}

static int find_components(struct sl_spectral *s, struct sl_error *err)
{
	uint32_t *label = calloc(s->n, sizeof *label);
	int code = label ? 0 : SL_NOMEM;
	if (!code && s->walk.components)
		code = s->walk.components(s->walk.context, label, err);
	if (!code)
		code = sort_components(s, label);
	free(label);
	return code;
}

static int make_blocks(struct sl_spectral *s)
{
	while (s->large < s->components && s->component[s->large].count >= SMALLEST) {
		struct component *c = &s->component[s->large++];
		c->block = s->blocks;
		c->blocks = (c->count + ROWS - 1) / ROWS;
		s->blocks += c->blocks;
	}
	s->block = calloc(s->blocks ? s->blocks : 1, sizeof *s->block);
	s->part = calloc(s->blocks ? s->blocks : 1, sizeof *s->part);
	if (!s->block || !s->part)
		return SL_NOMEM;
	for (uint32_t c = 0, b = 0; c < s->large; c++)
		for (uint32_t from = 0; from < s->component[c].count; from += ROWS) {
			uint32_t left = s->component[c].count - from;
			s->block[b++] = (struct block){c, s->component[c].first + from, left < ROWS ? left : ROWS};
		}
	return 0;
}

/* ---- life ---------------------------------------------------------------------------- */

static void start(struct sl_spectral *s)
{
#pragma omp parallel for schedule(static)
	for (uint32_t i = 0; i < s->n; i++)
		for (int k = 0; k < COLUMNS; k++)
			s->x[(size_t)i * COLUMNS + (size_t)k] =
				(float)sl_random_normal(1, (uint64_t)s->user[i] * COLUMNS + (uint64_t)k);
	for (uint32_t c = 0; c < s->large; c++)
		for (int k = 0; k < COLUMNS; k++)
			s->component[c].value[k] = -0.5;
	s->phase = s->large ? FILTER : DONE;
}

int sl_spectral_create(struct sl_spectral **out, const struct sl_walk *walk, const uint32_t *user, int dims,
		       uint64_t seed, struct sl_error *err)
{
	struct sl_spectral *s = calloc(1, sizeof *s);
	size_t n = walk->n ? walk->n : 1, block_bytes = (sizeof(float) * COLUMNS * n + 63) / 64 * 64;
	int code = SL_NOMEM;
	if (!s) {
		if (walk->destroy)
			walk->destroy(walk->context);
		return sl_error_set(err, SL_NOMEM, "No memory for a spectral layout.");
	}
	if (err)
		err->code = 0;
	s->walk = *walk;
	s->user = user;
	s->n = walk->n;
	s->dims = dims;
	s->seed = seed;
	s->mass = malloc(sizeof *s->mass * n);
	s->order = malloc(sizeof *s->order * n);
	s->slope = calloc(n, sizeof *s->slope);
	s->shift = calloc(n, sizeof *s->shift);
	s->x = aligned_alloc(64, block_bytes);
	s->before = aligned_alloc(64, block_bytes);
	if (!s->mass || !s->order || !s->slope || !s->shift || !s->x || !s->before)
		goto out;
	code = walk->mass(walk->context, s->mass, err);
	if (!code)
		code = find_components(s, err);
	if (!code)
		code = make_blocks(s);
	if (!code)
		start(s);
out:
	if (code) {
		sl_spectral_destroy(s);
		if (!err || !err->code)
			sl_error_set(err, code, "No memory for a spectral layout of %u nodes.", walk->n);
		return code;
	}
	*out = s;
	return 0;
}

void sl_spectral_destroy(struct sl_spectral *s)
{
	if (!s)
		return;
	if (s->walk.destroy)
		s->walk.destroy(s->walk.context);
	free(s->mass);
	free(s->order);
	free(s->component);
	free(s->block);
	free(s->part);
	free(s->x);
	free(s->before);
	free(s->slope);
	free(s->shift);
	free(s);
}

/* ---- sums over components -------------------------------------------------------------- */

static float *row(const struct sl_spectral *s, float *block, uint32_t place)
{
	return block + (size_t)s->order[place] * COLUMNS;
}

/* Each component's sum of `count` numbers a block, into out[0 .. count-1]. */
static void sum_parts(const struct sl_spectral *s, const struct component *c, int count, double *out)
{
	memset(out, 0, sizeof *out * (size_t)count);
	for (uint32_t b = c->block; b < c->block + c->blocks; b++)
		for (int k = 0; k < count; k++)
			out[k] += s->part[b][k];
}

/* Takes the constant vector out of x. */
static void centre(struct sl_spectral *s)
{
#pragma omp parallel for schedule(static)
	for (uint32_t b = 0; b < s->blocks; b++) {
		double sum[COLUMNS] = {0}, mass = 0;
		for (uint32_t i = s->block[b].from; i < s->block[b].from + s->block[b].count; i++) {
			const float *x = row(s, s->x, i);
			double m = (double)s->mass[s->order[i]];
			mass += m;
			for (int k = 0; k < COLUMNS; k++)
				sum[k] += m * (double)x[k];
		}
		memcpy(s->part[b], sum, sizeof sum);
		s->part[b][COLUMNS] = mass;
	}
#pragma omp parallel for schedule(dynamic, 16)
	for (uint32_t c = 0; c < s->large; c++) {
		double sum[COLUMNS + 1];
		sum_parts(s, &s->component[c], COLUMNS + 1, sum);
		for (int k = 0; k < COLUMNS; k++)
			s->component[c].mean[k] = sum[k] / sum[COLUMNS];
	}
#pragma omp parallel for schedule(static)
	for (uint32_t b = 0; b < s->blocks; b++) {
		const double *mean = s->component[s->block[b].component].mean;
		for (uint32_t i = s->block[b].from; i < s->block[b].from + s->block[b].count; i++) {
			float *x = row(s, s->x, i);
			for (int k = 0; k < COLUMNS; k++)
				x[k] = (float)((double)x[k] - mean[k]);
		}
	}
}

/* part = u' D v, block by block. */
static void gram(struct sl_spectral *s, float *u, float *v)
{
#pragma omp parallel for schedule(static)
	for (uint32_t b = 0; b < s->blocks; b++) {
		sl__small sum = {{0}};
		for (uint32_t i = s->block[b].from; i < s->block[b].from + s->block[b].count; i++) {
			const float *x = row(s, u, i), *y = row(s, v, i);
			double m = (double)s->mass[s->order[i]], right[COLUMNS];
			for (int k = 0; k < COLUMNS; k++)
				right[k] = (double)y[k];
			for (int j = 0; j < COLUMNS; j++) {
				double left = m * (double)x[j];
				for (int k = 0; k < COLUMNS; k++)
					sum[j][k] += left * right[k];
			}
		}
		memcpy(s->part[b], sum, sizeof sum);
	}
}

/* block <- block times each component's change. */
static void apply(struct sl_spectral *s, float *block)
{
#pragma omp parallel for schedule(static)
	for (uint32_t b = 0; b < s->blocks; b++) {
		float change[COLUMNS][COLUMNS];
		for (int j = 0; j < COLUMNS; j++)
			for (int k = 0; k < COLUMNS; k++)
				change[j][k] = (float)s->component[s->block[b].component].change[j][k];
		for (uint32_t i = s->block[b].from; i < s->block[b].from + s->block[b].count; i++) {
			float *x = row(s, block, i), out[COLUMNS] = {0};
			for (int j = 0; j < COLUMNS; j++)
				for (int k = 0; k < COLUMNS; k++)
					out[k] += x[j] * change[j][k];
			memcpy(x, out, sizeof out);
		}
	}
}

/* The change that makes vectors with this Gram matrix orthonormal (Stathopoulos and Wu, SISC 23, 2002): those that
 * depend on the others become zero. */
static void whiten(struct component *c, sl__small g)
{
	double scale[COLUMNS], value[COLUMNS];
	sl__small v;
	for (int j = 0; j < COLUMNS; j++)
		scale[j] = g[j][j] > 1e-300 ? 1 / sqrt(g[j][j]) : 0;
	for (int j = 0; j < COLUMNS; j++)
		for (int k = 0; k < COLUMNS; k++)
			g[j][k] *= scale[j] * scale[k];
	sl__small_eigen(g, value, v);
	c->rank = 0;
	for (int k = 0; k < COLUMNS; k++) {
		bool kept = value[k] > 1e-10 * value[0] && value[k] > 0;
		c->rank += kept;
		for (int j = 0; j < COLUMNS; j++)
			c->change[j][k] = kept ? scale[j] * v[j][k] / sqrt(value[k]) : 0;
	}
}

static void orthonormalise(struct sl_spectral *s)
{
	centre(s);
	for (int twice = 0; twice < 2; twice++) {
		gram(s, s->x, s->x);
#pragma omp parallel for schedule(dynamic, 16)
		for (uint32_t c = 0; c < s->large; c++) {
			sl__small g;
			sum_parts(s, &s->component[c], COLUMNS * COLUMNS, &g[0][0]);
			whiten(&s->component[c], g);
		}
		apply(s, s->x);
	}
}

/* ---- Ritz vectors ----------------------------------------------------------------------- */

/* part[k] = |W z_k - value_k z_k|^2; z in before, W z in x. */
static void residuals(struct sl_spectral *s)
{
#pragma omp parallel for schedule(static)
	for (uint32_t b = 0; b < s->blocks; b++) {
		const double *value = s->component[s->block[b].component].value;
		double sum[COLUMNS] = {0};
		for (uint32_t i = s->block[b].from; i < s->block[b].from + s->block[b].count; i++) {
			const float *z = row(s, s->before, i), *w = row(s, s->x, i);
			double m = (double)s->mass[s->order[i]];
			for (int k = 0; k < COLUMNS; k++) {
				double r = (double)w[k] - value[k] * (double)z[k];
				sum[k] += m * r * r;
			}
		}
		memcpy(s->part[b], sum, sizeof sum);
	}
}

static double smallest(const struct component *c)
{
	return c->value[c->rank > 0 ? c->rank - 1 : 0];
}

/* Rotates before and x to Ritz vectors; true when all components have settled. */
static bool ritz(struct sl_spectral *s)
{
	gram(s, s->before, s->x);
#pragma omp parallel for schedule(dynamic, 16)
	for (uint32_t i = 0; i < s->large; i++) {
		struct component *c = &s->component[i];
		sl__small h;
		sum_parts(s, c, COLUMNS * COLUMNS, &h[0][0]);
		for (int j = 0; j < COLUMNS; j++)
			for (int k = 0; k < j; k++)
				h[j][k] = h[k][j] = 0.5 * (h[j][k] + h[k][j]);
		for (int j = c->rank; j < COLUMNS; j++)
			h[j][j] = -2;  /* zero vectors come last */
		sl__small_eigen(h, c->value, c->change);
	}
	apply(s, s->before);
	apply(s, s->x);
	residuals(s);
	bool all = true;
	for (uint32_t i = 0; i < s->large; i++) {
		struct component *c = &s->component[i];
		double square[COLUMNS], worst = 0;
		sum_parts(s, c, COLUMNS, square);
		for (int k = 0; k < s->dims && k < c->rank; k++)
			worst = fmax(worst, sqrt(square[k]));
		c->settled = worst <= TOLERANCE * (1 - smallest(c)) + 1e-6;
		all = all && c->settled;
	}
	return all;
}

/* ---- the filter --------------------------------------------------------------------------- */

/* A = (2 W - (cut - 1)) / (cut + 1) takes [-1, cut] to [-1, 1], where Chebyshev polynomials stay small; what lies
 * above grows as cosh(degree acosh(..)), the constant vector most. */
static void aim(struct sl_spectral *s)
{
	double most = cosh(GROWTH / degrees[s->round]), lowest_cut = (3 - most) / (1 + most);
#pragma omp parallel for schedule(static)
	for (uint32_t b = 0; b < s->blocks; b++) {
		double cut = fmin(fmax(smallest(&s->component[s->block[b].component]), lowest_cut), 0.999999);
		for (uint32_t i = s->block[b].from; i < s->block[b].from + s->block[b].count; i++) {
			s->slope[s->order[i]] = (float)(2 / (cut + 1));
			s->shift[s->order[i]] = (float)((cut - 1) / (cut + 1));
		}
	}
}

static int filter(struct sl_spectral *s, double left_ms, struct sl_error *err)
{
	int degree = degrees[s->round], steps = degree - s->k;
	double fit = s->seconds_per_step > 0 ? left_ms * 1e-3 / s->seconds_per_step : 1;
	if (s->k == 0)
		aim(s);
	if (steps > fit && !s->walk.whole)
		steps = fit > 1 ? (int)fit : 1;
	double began = now();
	int code = s->walk.filter(s->walk.context, s->k, steps, s->slope, s->shift, &s->before, &s->x, err);
	s->seconds_per_step = (now() - began) / steps;
	s->k += steps;
	if (!code && s->k == degree) {
		orthonormalise(s);
		s->k = 0;
		s->phase = PRODUCT;
	}
	return code;
}

static int product(struct sl_spectral *s, struct sl_error *err)
{
	int code = s->walk.filter(s->walk.context, 0, 1, NULL, NULL, &s->before, &s->x, err);
	if (code)
		return code;
	bool settled = ritz(s);
	float *z = s->before;
	s->before = s->x;
	s->x = z;
	s->round++;
	s->phase = settled || s->round == ROUNDS ? DONE : FILTER;
	return 0;
}

int sl_spectral_advance(struct sl_spectral *s, double budget_ms, bool *done, struct sl_error *err)
{
	double began = now();
	int code = 0;
	while (!code && s->phase != DONE) {
		double left_ms = budget_ms - 1e3 * (now() - began);
		code = s->phase == FILTER ? filter(s, left_ms, err) : product(s, err);
		if (1e3 * (now() - began) >= budget_ms)
			break;
	}
	*done = s->phase == DONE;
	return code;
}

/* ---- the layout ----------------------------------------------------------------------------- */

/* Coordinate k of a component: mean 0, root mean square 1, no node far out (a mode may belong to a few nodes
 * alone, which would leave no room for the rest), and a sign that does not depend on the start. */
static void standardise(const struct component *c, const uint32_t *order, int dims, int k, float *y)
{
	double mean = 0, square = 0, cube = 0;
	size_t d = (size_t)dims;
	const uint32_t *node = order + c->first;
	for (uint32_t i = 0; i < c->count; i++)
		mean += (double)y[node[i] * d + (size_t)k] / c->count;
	for (uint32_t i = 0; i < c->count; i++) {
		double x = (double)y[node[i] * d + (size_t)k] - mean;
		square += x * x / c->count;
		cube += x * x * x;
	}
	double scale = square > 0 ? (cube < 0 ? -1 : 1) / sqrt(square) : 0;
#pragma omp parallel for schedule(static) if (c->count > ROWS)
	for (uint32_t i = 0; i < c->count; i++) {
		float *at = &y[node[i] * d + (size_t)k];
		*at = (float)(SQUASH * tanh(((double)*at - mean) * scale / SQUASH));
	}
}

static void coordinates(struct sl_spectral *s, uint32_t number, const double *centre, float *y)
{
	const struct component *c = &s->component[number];
	size_t d = (size_t)s->dims;
	bool own = number < s->large;
	for (uint32_t i = c->first; i < c->first + c->count; i++) {
		uint32_t node = s->order[i];
		for (size_t k = 0; k < d; k++)
			y[node * d + k] = own ? s->x[(size_t)node * COLUMNS + k] :
					  (float)sl_random_normal(s->seed, (uint64_t)s->user[node] * 3 + k);
	}
	for (int k = 0; k < s->dims && own; k++)
		standardise(c, s->order, s->dims, k, y);
	/* a ball filled evenly has about half its radius as the deviation along each axis */
	double half = 0.5 * pow(c->count, 1 / (double)s->dims);
	for (uint32_t i = c->first; i < c->first + c->count; i++)
		for (size_t k = 0; k < d; k++) {
			float *at = &y[s->order[i] * d + k];
			*at = (float)(centre[number * d + k] + half * (double)*at);
		}
}

int sl_spectral_layout(struct sl_spectral *s, float *y, struct sl_error *err)
{
	double *volume = malloc(sizeof *volume * (s->components ? s->components : 1));
	double *centre = malloc(sizeof *centre * (s->components ? s->components : 1) * (size_t)s->dims);
	if (!volume || !centre) {
		free(volume);
		free(centre);
		return sl_error_set(err, SL_NOMEM, "No memory to place %u components.", s->components);
	}
	for (uint32_t i = 0; i < s->components; i++)
		volume[i] = s->component[i].count;
	sl__pack(s->dims, s->components, volume, centre);
	uint32_t c = 0;
	for (; c < s->components && s->component[c].count > ROWS; c++)  /* by all threads, one after the other */
		coordinates(s, c, centre, y);
#pragma omp parallel for schedule(dynamic, 16)
	for (uint32_t small = c; small < s->components; small++)
		coordinates(s, small, centre, y);
	free(volume);
	free(centre);
	return 0;
}

void sl_spectral_found(const struct sl_spectral *s, int dims, double *eigenvalue, int *rounds, uint32_t *components)
{
	for (int k = 0; k < dims; k++)
		eigenvalue[k] = s->large ? s->component[0].value[k] : 0;
	*rounds = s->round;
	*components = s->components;
}
