/* k-means++: chooses seeds that are far from one another. */
#include <float.h>
#include <math.h>

#include "core/kmeans/kmeans_internal.h"
#include "core/random.h"

static double length_of(const double *v, uint32_t count)
{
	double sum = 0;
	for (uint32_t k = 0; k < count; k++)
		sum += v[k] * v[k];
	return sqrt(sum);
}

/* True if the outlines show that the seed is not nearer than the nearest one so far. y, length: of the seed's
 * outline. */
static bool out_of_reach(const struct sl_kmeans *m, uint32_t i, const double *y, double length)
{
	double square = m->kernels->square(m->f, m->y + (size_t)i * m->f, y);
	double reach = sqrt(m->upper[i]) + m->axes->fuzz * 1.01 * (m->length[i] + length) + FLT_MIN;
	return square * (1 - 1e-9) > reach * reach;
}

/* length: of the seed; outline_length: of its outline */
static void seed_block(struct sl_kmeans *m, uint32_t number, uint32_t block, double length, double outline_length,
		       const double *between)
{
	uint32_t from = block * m->block, to = m->n - from < m->block ? m->n : from + m->block;
	const double *c = m->centroid + (size_t)number * m->d;
	const double *y = m->axes ? m->outline_centroid + (size_t)number * m->f : NULL;
	double sum = 0;
	sl__kmeans_outline_points(m, block);
	for (uint32_t i = from; i < to; i++) {
		bool near = number == 0 || sl__kmeans_may_be_nearer(m->norm[i], m->upper[i], length, between[m->before[i]]);
		if (near && !(number && y && out_of_reach(m, i, y, outline_length))) {
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
	double *between = m->drift;  /* not used otherwise while seeding */
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
	double *y = m->axes ? m->outline_centroid + (size_t)number * m->f : NULL;
	double length = length_of(c, m->d);
	if (y)
		sl__kmeans_axes_apply(m->axes, m->kernels, NULL, c, 1, y);
	double outline_length = y ? length_of(y, m->f) : 0;
#pragma omp parallel for schedule(static)
	for (uint32_t block = from; block < to; block++)
		seed_block(m, number, block, length, outline_length, m->drift);
}

/* Fetches upper[] of a block from the device, if there is one. */
static int fetch_upper(struct sl_kmeans *m, uint32_t block, struct sl_error *err)
{
	return m->passes.arg ? sl__kmeans_device_nearest(m, block, err) : 0;
}

/* Finds the last point in the blocks before `end` that coincides with no seed; NONE: there is none. */
static int last_away(struct sl_kmeans *m, uint32_t end, uint32_t *out, struct sl_error *err)
{
	*out = SL__KMEANS_NONE;
	for (uint32_t block = end; block-- > 0 && *out == SL__KMEANS_NONE;) {
		int code = fetch_upper(m, block, err);
		if (code)
			return code;
		for (uint32_t i = block * m->block; i < m->n && i - block * m->block < m->block; i++)
			*out = m->upper[i] > 0 ? i : *out;
	}
	return 0;
}

/* Draws a point with a probability proportional to its squared distance to the nearest seed. */
static int draw(struct sl_kmeans *m, double u, uint32_t *out, struct sl_error *err)
{
	double total = 0, before = 0;
	for (uint32_t b = 0; b < m->blocks; b++)
		total += m->block_sum[b];
	*out = (uint32_t)(u * m->n);  /* if all points are seeds */
	if (!(total > 0))
		return 0;
	uint32_t block = 0, first, last = SL__KMEANS_NONE;
	while (block + 1 < m->blocks && before + m->block_sum[block] <= u * total)
		before += m->block_sum[block++];
	first = block;
	for (bool found = false; block < m->blocks && !found; block++) {
		int code = fetch_upper(m, block, err);
		if (code)
			return code;
		for (uint32_t i = block * m->block; i < m->n && i - block * m->block < m->block && !found; i++) {
			if (m->upper[i] > 0)
				last = i;
			before += m->upper[i];
			found = last != SL__KMEANS_NONE && before > u * total;
		}
	}
	*out = last;
	return last == SL__KMEANS_NONE ? last_away(m, first, out, err) : 0;  /* rounding: no point from there on */
}

int sl__kmeans_choose_seed(struct sl_kmeans *m, struct sl_error *err)
{
	uint32_t number = (uint32_t)m->status.seeds;
	double u = sl_random_uniform(m->params.seed + (uint64_t)m->status.restart * 0x9e3779b97f4a7c15u, number);
	uint32_t i = (uint32_t)(u * m->n);
	int code = number ? draw(m, u, &i, err) : 0;
	if (code)
		return code;
	for (uint32_t k = 0; k < m->d; k++)
		m->centroid[(size_t)number * m->d + k] = (double)m->x[(size_t)i * m->d + k];
	m->status.seeds++;
	return 0;
}
