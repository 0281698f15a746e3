/* ritz.c -- linear algebra on the block of vectors of a spectral layout: makes them orthonormal by component, and
 * rotates them to Ritz vectors. */
#include <math.h>
#include <string.h>

#include "core/init/spectral_internal.h"

#define TOLERANCE 0.02    /* relative to the distance between 1 and the smallest Ritz value */

/* ---- sums over components -------------------------------------------------------------- */

static float *row(const struct sl_spectral *s, float *block, uint32_t place)
{
	return block + (size_t)s->order[place] * COLUMNS;
}

/* Adds up `count` numbers of each block of a component, into out[0 .. count-1]. */
static void sum_parts(const struct sl_spectral *s, const struct sl__component *c, int count, double *out)
{
	memset(out, 0, sizeof *out * (size_t)count);
	for (uint32_t b = c->block; b < c->block + c->blocks; b++)
		for (int k = 0; k < count; k++)
			out[k] += s->part[b][k];
}

/* Makes x orthogonal to the constant vector. */
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

/* Multiplies the rows of each component by its matrix `change`. */
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

/* Computes the change that makes vectors with this Gram matrix orthonormal (Stathopoulos and Wu, SISC 23, 2002).
 * Vectors that depend on the others become zero. */
static void whiten(struct sl__component *c, sl__small g)
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

void sl__spectral_orthonormalise(struct sl_spectral *s)
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

double sl__spectral_smallest(const struct sl__component *c)
{
	return c->value[c->rank > 0 ? c->rank - 1 : 0];
}

/* Rotates before and x to Ritz vectors; true when all components have settled. */
bool sl__spectral_ritz(struct sl_spectral *s)
{
	gram(s, s->before, s->x);
#pragma omp parallel for schedule(dynamic, 16)
	for (uint32_t i = 0; i < s->large; i++) {
		struct sl__component *c = &s->component[i];
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
		struct sl__component *c = &s->component[i];
		double square[COLUMNS], worst = 0;
		sum_parts(s, c, COLUMNS, square);
		for (int k = 0; k < s->dims && k < c->rank; k++)
			worst = fmax(worst, sqrt(square[k]));
		c->settled = worst <= TOLERANCE * (1 - sl__spectral_smallest(c)) + 1e-6;
		all = all && c->settled;
	}
	return all;
}
