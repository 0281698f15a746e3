/* Computes the modes of a spectral layout, in rounds. A round filters the block of vectors; makes it orthonormal
 * (weighted by d, and orthogonal to the constant vector); multiplies it by W; rotates it to Ritz vectors; and tests
 * their residuals. The filter damps the modes from -1 to the smallest Ritz value so far, so each round separates better
 * than the one before.
 *
 * Nodes are processed by component, in blocks of 1,024. Sums over a component are added in the order of blocks. */
#include "core/init/spectral_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/random.h"

#define SMALLEST 16       /* least nodes of a component whose coordinates are computed */
#define ROUNDS 10
#define GROWTH 15.0       /* log of a filter's largest amplification: floats have 7 digits */

static const int degrees[ROUNDS] = {10, 15, 20, 30, 40, 40, 40, 40, 40, 40};

/* ---- components ------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
	const struct sl__component *p = a, *q = b;
	if (p->count != q->count)
		return p->count < q->count ? 1 : -1;
	return p->first < q->first ? -1 : 1;
}

/* Sorts the nodes by label, then the components by size. label becomes the number of the node's component. */
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
			s->component[c++] = (struct sl__component){.first = at, .count = count[l + 1]};
		at += count[l + 1];
		count[l + 1] = at;
	}
	for (uint32_t i = 0; i < s->n; i++)
		sorted[count[label[i]]++] = i;
	qsort(s->component, s->components, sizeof *s->component, by_size);
	for (uint32_t c = 0, at = 0; c < s->components; c++) {
		struct sl__component *k = &s->component[c];
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
		struct sl__component *c = &s->component[s->large++];
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
			s->block[b++] = (struct sl__block){c, s->component[c].first + from, left < ROWS ? left : ROWS};
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
	s->phase = s->large ? SL__FILTER : SL__DONE;
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
		return sl_error_memory(err, "a spectral layout");
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
			sl_error_set(err, code, SL_NO_MEMORY "a spectral layout of %u nodes.", walk->n);
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

/* ---- the filter --------------------------------------------------------------------------- */

/* Chooses the filter. A = (2 W - (cut - 1)) / (cut + 1) maps [-1, cut] to [-1, 1], where Chebyshev polynomials stay
 * small. Larger eigenvalues grow as cosh(degree acosh(..)), that of the constant vector most. */
static void aim(struct sl_spectral *s)
{
	double most = cosh(GROWTH / degrees[s->round]), lowest_cut = (3 - most) / (1 + most);
#pragma omp parallel for schedule(static)
	for (uint32_t b = 0; b < s->blocks; b++) {
		double cut = fmin(fmax(sl__spectral_smallest(&s->component[s->block[b].component]), lowest_cut), 0.999999);
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
	double began = sl_clock_s();
	int code = s->walk.filter(s->walk.context, s->k, steps, s->slope, s->shift, &s->before, &s->x, err);
	s->seconds_per_step = (sl_clock_s() - began) / steps;
	s->k += steps;
	if (!code && s->k == degree) {
		sl__spectral_orthonormalise(s);
		s->k = 0;
		s->phase = SL__PRODUCT;
	}
	return code;
}

static int product(struct sl_spectral *s, struct sl_error *err)
{
	int code = s->walk.filter(s->walk.context, 0, 1, NULL, NULL, &s->before, &s->x, err);
	if (code)
		return code;
	bool settled = sl__spectral_ritz(s);
	float *z = s->before;
	s->before = s->x;
	s->x = z;
	s->round++;
	s->phase = settled || s->round == ROUNDS ? SL__DONE : SL__FILTER;
	return 0;
}

int sl_spectral_advance(struct sl_spectral *s, double budget_ms, bool *done, struct sl_error *err)
{
	double began = sl_clock_s();
	int code = 0;
	while (!code && s->phase != SL__DONE) {
		double left_ms = budget_ms - 1e3 * (sl_clock_s() - began);
		code = s->phase == SL__FILTER ? filter(s, left_ms, err) : product(s, err);
		if (1e3 * (sl_clock_s() - began) >= budget_ms)
			break;
	}
	*done = s->phase == SL__DONE;
	return code;
}

void sl_spectral_found(const struct sl_spectral *s, int dims, double *eigenvalue, int *rounds, uint32_t *components)
{
	for (int k = 0; k < dims; k++)
		eigenvalue[k] = s->large ? s->component[0].value[k] : 0;
	*rounds = s->round;
	*components = s->components;
}
