/* k-means++: chooses seeds that are far from one another. */
#include <math.h>

#include "core/kmeans/kmeans_internal.h"
#include "core/random.h"

/* A point whose nearest seed is less than half as far as the new one is from that seed has no nearer one now; nor has
 * one whose length differs from the new one's by more. */
static bool may_be_nearer(const struct sl_kmeans *m, uint32_t i, double length, const double *between)
{
	double gap = fabs(m->norm[i] - length) - 1e-12 * (m->norm[i] + length);
	return 4 * m->upper[i] * (1 + 1e-12) > between[m->before[i]] && !(gap > 0 && gap * gap > m->upper[i] * (1 + 1e-12));
}

static void seed_block(struct sl_kmeans *m, uint32_t number, uint32_t block, double length,
		       const double *between)
{
	uint32_t from = block * m->block, to = m->n - from < m->block ? m->n : from + m->block;
	const double *c = m->centroid + (size_t)number * m->d;
	double sum = 0;
	for (uint32_t i = from; i < to; i++) {
		if (number == 0 || may_be_nearer(m, i, length, between)) {
			double square = m->kernels->square(m->d, m->x + (size_t)i * m->d, c);
			if (number == 0 || square < m->upper[i]) {
				m->upper[i] = square;
				m->before[i] = number;
			}
		}
		sum += m->upper[i];
	}
	m->block_sum[block] = sum;
}

void sl__kmeans_between_seeds(struct sl_kmeans *m, uint32_t number)
{
	const double *c = m->centroid + (size_t)number * m->d;
	double *between = m->drift;  /* no centroid moves while seeding */
	for (uint32_t j = 0; j < number; j++) {
		const double *other = m->centroid + (size_t)j * m->d;
		double sum = 0;
		for (uint32_t k = 0; k < m->d; k++)
			sum += (c[k] - other[k]) * (c[k] - other[k]);
		between[j] = sum;
	}
}

void sl__kmeans_add_seed(struct sl_kmeans *m, uint32_t number, uint32_t from, uint32_t to)
{
	const double *c = m->centroid + (size_t)number * m->d;
	double length = 0;
	for (uint32_t k = 0; k < m->d; k++)
		length += c[k] * c[k];
	length = sqrt(length);
#pragma omp parallel for schedule(static)
	for (uint32_t block = from; block < to; block++)
		seed_block(m, number, block, length, m->drift);
}

/* A point with a probability in proportion to its squared distance to the nearest seed. */
static uint32_t draw(const struct sl_kmeans *m, double u)
{
	double total = 0, before = 0;
	for (uint32_t b = 0; b < m->blocks; b++)
		total += m->block_sum[b];
	if (!(total > 0))
		return (uint32_t)(u * m->n);  /* all points are seeds */
	uint32_t block = 0, last = SL__KMEANS_NONE;
	while (block + 1 < m->blocks && before + m->block_sum[block] <= u * total)
		before += m->block_sum[block++];
	for (uint32_t i = block * m->block; i < m->n; i++) {
		if (m->upper[i] > 0)
			last = i;
		before += m->upper[i];
		if (last != SL__KMEANS_NONE && before > u * total)
			break;
	}
	for (uint32_t i = m->n; last == SL__KMEANS_NONE && i-- > 0;)  /* by rounding: none from there on */
		last = m->upper[i] > 0 ? i : last;
	return last;
}

void sl__kmeans_choose_seed(struct sl_kmeans *m)
{
	uint32_t number = (uint32_t)m->status.seeds;
	double u = sl_random_uniform(m->params.seed + (uint64_t)m->status.restart * 0x9e3779b97f4a7c15u, number);
	uint32_t i = number ? draw(m, u) : (uint32_t)(u * m->n);
	for (uint32_t k = 0; k < m->d; k++)
		m->centroid[(size_t)number * m->d + k] = (double)m->x[(size_t)i * m->d + k];
	m->status.seeds++;
}
