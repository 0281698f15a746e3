/* Initial layouts of graphs by classical scaling on pivots (Brandes and Pich, GD 2006). C contains the squared
 * distances between nodes and pivots, centred by rows and columns, times -1/2. Its first left singular vectors are the
 * coordinates of the nodes. With n nodes and P pivots, a singular value s approximates the eigenvalue s (n / P)^(1/2)
 * of the matrix of all inner products. If every node is a pivot this is Torgerson's scaling (Psychometrika 17, 1952).
 * Subspace iteration on dims + 1 vectors, and a Rayleigh-Ritz rotation at the end, give the vectors.
 *
 * Noise of a hundredth of the shortest edge is added: otherwise nodes with equal distances to all pivots would never
 * separate. */
#include <math.h>
#include <string.h>

#include "core/init/dense.h"
#include "core/random.h"
#include "core/sammon/sammon_internal.h"
#include "core/sammon/terms.h"

#define ROUNDS 15       /* products with C and with its transpose */
#define NOISE 0.01
#define NOTHING 1e-12   /* the square of a singular value counts as 0 below this, relative to the largest */

static int columns(const struct sl_sammon *m)
{
	return m->params.dims + 1;
}

/* Vector k on the nodes' side. The outputs of a product are stored after the vectors. */
static double *node_vector(const struct sl_sammon *m, int k)
{
	return m->terms->node_vector + (size_t)k * m->room;
}

static double *product(const struct sl_sammon *m, int k)
{
	return node_vector(m, columns(m) + k);
}

static double *pivot_vector(const struct sl_sammon *m, int k)
{
	return m->terms->pivot_vector + (size_t)k * m->terms->pivots;
}

/* The result of a sweep for pivot p, in column k. */
static double swept(const struct sl_sammon *m, const struct sl__part *part, uint32_t p, int k)
{
	const struct sl__terms *t = m->terms;
	return part->all ? t->out[k][t->pivot[p]] : t->out_pivot[(size_t)k * t->pivots + p];
}

/* ---- the matrix --------------------------------------------------------------------------- */

static void begin_means(struct sl_sammon *m)
{
	struct sl__terms *t = m->terms;
	t->in[0] = node_vector(m, 0);
	t->out[0] = product(m, 0);
	for (uint32_t i = 0; i < t->n; i++)
		node_vector(m, 0)[i] = 1;
	sl__sweep_begin(m, SL__SWEEP_SQUARES, 1);
}

static void end_means(struct sl_sammon *m)
{
	struct sl__terms *t = m->terms;
	for (uint32_t k = 0; k < t->parts; k++) {
		const struct sl__part *part = &t->part[k];
		double sum = 0;
		for (uint32_t i = part->first; i < part->first + part->n; i++)
			t->mean_node[i] = t->out[0][i] / part->pivots;
		for (uint32_t p = part->pivot; p < part->pivot + part->pivots; p++)
			sum += t->mean_pivot[p] = swept(m, part, p, 0) / part->n;
		t->mean_part[k] = sum / part->pivots;
	}
}

/* Begins the product of the squared distances with the pivot vectors or, if transposed, with the node vectors. The
 * sweep takes in_pivot from the node vectors, so a product with the pivot vectors replaces it. */
static void begin_product(struct sl_sammon *m, bool transposed)
{
	struct sl__terms *t = m->terms;
	for (int k = 0; k < columns(m); k++) {
		t->in[k] = node_vector(m, k);
		t->out[k] = product(m, k);
	}
	sl__sweep_begin(m, SL__SWEEP_SQUARES, columns(m));
	if (!transposed)
		memcpy(t->in_pivot, t->pivot_vector, (size_t)columns(m) * t->pivots * sizeof *t->pivot_vector);
}

/* node vectors = C pivot vectors */
static void end_product(struct sl_sammon *m)
{
	struct sl__terms *t = m->terms;
	for (int k = 0; k < columns(m); k++)
		for (uint32_t j = 0; j < t->parts; j++) {
			const struct sl__part *part = &t->part[j];
			double sum = 0, weighed = 0;
			for (uint32_t p = part->pivot; p < part->pivot + part->pivots; p++) {
				sum += pivot_vector(m, k)[p];
				weighed += t->mean_pivot[p] * pivot_vector(m, k)[p];
			}
			for (uint32_t i = part->first; i < part->first + part->n; i++)
				node_vector(m, k)[i] = -0.5 * (t->out[k][i] - t->mean_node[i] * sum - weighed + t->mean_part[j] * sum);
		}
}

/* pivot vectors = C' node vectors */
static void end_transposed(struct sl_sammon *m)
{
	struct sl__terms *t = m->terms;
	for (int k = 0; k < columns(m); k++)
		for (uint32_t j = 0; j < t->parts; j++) {
			const struct sl__part *part = &t->part[j];
			double sum = 0, weighed = 0;
			for (uint32_t i = part->first; i < part->first + part->n; i++) {
				sum += node_vector(m, k)[i];
				weighed += t->mean_node[i] * node_vector(m, k)[i];
			}
			for (uint32_t p = part->pivot; p < part->pivot + part->pivots; p++)
				pivot_vector(m, k)[p] = -0.5 * (swept(m, part, p, k) - t->mean_pivot[p] * sum - weighed +
							t->mean_part[j] * sum);
		}
}

/* ---- vectors ------------------------------------------------------------------------------ */

static double dot(const double *a, const double *b, uint32_t n)
{
	double sum = 0;
	for (uint32_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* Orthonormalises the pivot vectors of each part. A vector that depends on those before becomes 0. */
static void make_orthonormal(struct sl_sammon *m)
{
	for (uint32_t j = 0; j < m->terms->parts; j++) {
		const struct sl__part *part = &m->terms->part[j];
		for (int k = 0; k < columns(m); k++) {
			double *column = pivot_vector(m, k) + part->pivot, before = dot(column, column, part->pivots);
			for (int twice = 0; twice < 2; twice++)
				for (int other = 0; other < k; other++) {
					const double *first = pivot_vector(m, other) + part->pivot;
					double along = dot(column, first, part->pivots);
					for (uint32_t p = 0; p < part->pivots; p++)
						column[p] -= along * first[p];
				}
			double square = dot(column, column, part->pivots);
			double by = square > 1e-20 * before && square > 0 ? 1 / sqrt(square) : 0;
			for (uint32_t p = 0; p < part->pivots; p++)
				column[p] *= by;
		}
	}
}

static void draw_axes(struct sl_sammon *m)
{
	struct sl__terms *t = m->terms;
	for (int k = 0; k < columns(m); k++)
		for (uint32_t p = 0; p < t->pivots; p++)
			pivot_vector(m, k)[p] = sl_random_normal(m->params.seed + 1,
								 (uint64_t)t->user[t->pivot[p]] * 4 + (uint64_t)k);
	make_orthonormal(m);
}

/* ---- layouts ------------------------------------------------------------------------------ */

static double noise(const struct sl_sammon *m, uint32_t i, int q)
{
	return sl_random_normal(m->params.seed, (uint64_t)m->terms->user[i] * SL__SAMMON_DIMS + (uint64_t)q);
}

static void put_axes(struct sl_sammon *m, const struct sl__part *part)
{
	sl__small products = {{0}}, turn;
	double square[SL__COLUMNS];
	for (int a = 0; a < columns(m); a++)
		for (int b = 0; b <= a; b++)
			products[a][b] = products[b][a] =
				dot(node_vector(m, a) + part->first, node_vector(m, b) + part->first, part->n);
	sl__small_eigen(products, square, turn);
	for (int q = 0; q < m->params.dims; q++) {
		double size = square[q] > NOTHING * square[0] ? sqrt(square[q]) : 0;
		double by = size > 0 ? sqrt(size * sqrt((double)part->n / part->pivots)) / size : 0;
		for (uint32_t i = part->first; i < part->first + part->n; i++) {
			double value = 0;
			for (int k = 0; k < columns(m); k++)
				value += node_vector(m, k)[i] * turn[k][q];
			m->trial.y[(size_t)q * m->room + i] = by * value + NOISE * m->terms->shortest * noise(m, i, q);
		}
	}
}

/* Random positions, with the spread of the part's distances. */
static void put_random(struct sl_sammon *m, uint32_t number)
{
	const struct sl__part *part = &m->terms->part[number];
	double wide = sqrt(m->terms->mean_part[number] / (2 * m->params.dims));
	for (int q = 0; q < m->params.dims; q++)
		for (uint32_t i = part->first; i < part->first + part->n; i++)
			m->trial.y[(size_t)q * m->room + i] = wide * noise(m, i, q);
}

/* Round 0 computes the means; odd rounds multiply by C, even ones by its transpose; the last round multiplies by C. */
bool sl__terms_begin(struct sl_sammon *m, uint32_t count)
{
	struct sl__terms *t = m->terms;
	if (t->round == 0) {
		begin_means(m);
		t->round = 1;
	}
	if (!sl__sweep(m, SL__SWEEP_SQUARES, count))
		return false;
	bool random = m->params.start == SL_SAMMON_START_RANDOM, last = t->round == 2 * ROUNDS + 2;
	if (t->round == 1) {
		end_means(m);
		draw_axes(m);
	} else if (t->round % 2 == 0) {
		end_product(m);
	} else {
		end_transposed(m);
		make_orthonormal(m);
	}
	for (uint32_t k = 0; k < t->parts && (random || last); k++)
		if (random)
			put_random(m, k);
		else
			put_axes(m, &t->part[k]);
	if (random || last)
		return true;
	begin_product(m, t->round % 2 == 0);
	t->round++;
	return false;
}
