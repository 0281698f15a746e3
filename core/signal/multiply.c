/* The product of the weights with values at the nodes.
 *
 * Most rows of a large network have few entries, so the cost per row decides: a mispredicted branch at the end of a row
 * takes as long as ten entries. Therefore one loop processes all rows of a run, with their length as a constant. */
#include <stdbool.h>
#include <stddef.h>

#include "core/signal/coupling.h"
#include "core/vector.h"

#define TERM(at) (weighted ? (double)weight[at] * x[node[at]] : x[node[at]])

/* Rows of the same constant length: the only branch is the loop's. */
static inline __attribute__((always_inline)) void multiply_short(const uint32_t *node, const float *weight,
		uint32_t rows, uint32_t length, const double *restrict x, double *restrict out, bool weighted)
{
	for (uint32_t i = 0; i < rows; i++) {
		double sum = 0;
		for (uint32_t k = 0; k < length; k++)
			sum += TERM(k);
		out[i] = sum;
		node += length;
		weight += weighted ? length : 0;
	}
}

/* Adds four independent sums at a time, up to the length of the shortest row, then the rest of each row. Rows are
 * sorted by length, so the rest is short. */
static inline __attribute__((always_inline)) void multiply_long(const struct sl_coupling *c, uint32_t from,
		uint32_t to, const double *restrict x, double *restrict out, bool weighted)
{
	const uint64_t *start = c->start;
	const uint32_t *node = c->node;
	const float *weight = c->weight;
	uint32_t i = from;
	for (; i + 4 <= to; i += 4) {
		uint64_t a = start[i], b = start[i + 1], d = start[i + 2], e = start[i + 3], end = start[i + 4];
		uint64_t common = b - a < d - b ? b - a : d - b;
		common = common < e - d ? common : e - d;
		common = common < end - e ? common : end - e;
		double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
		for (uint64_t k = 0; k < common; k++) {
			s0 += TERM(a + k);
			s1 += TERM(b + k);
			s2 += TERM(d + k);
			s3 += TERM(e + k);
		}
		for (uint64_t k = a + common; k < b; k++)
			s0 += TERM(k);
		for (uint64_t k = b + common; k < d; k++)
			s1 += TERM(k);
		for (uint64_t k = d + common; k < e; k++)
			s2 += TERM(k);
		for (uint64_t k = e + common; k < end; k++)
			s3 += TERM(k);
		out[i - from] = s0;
		out[i + 1 - from] = s1;
		out[i + 2 - from] = s2;
		out[i + 3 - from] = s3;
	}
	for (; i < to; i++) {
		double sum = 0;
		for (uint64_t k = start[i]; k < start[i + 1]; k++)
			sum += TERM(k);
		out[i - from] = sum;
	}
}

static inline __attribute__((always_inline)) void multiply(const struct sl_coupling *c, uint32_t block,
		const double *x, double *out, bool weighted)
{
	for (uint32_t r = c->block_run[block]; r < c->block_run[block + 1]; r++) {
		uint32_t first = c->run[r].first, rows = c->run[r + 1].first - first;
		const uint32_t *node = c->node + c->start[first];
		const float *weight = weighted ? c->weight + c->start[first] : NULL;
		switch (c->run[r].length) {
		case 0: multiply_short(node, weight, rows, 0, x, out, weighted); break;
		case 1: multiply_short(node, weight, rows, 1, x, out, weighted); break;
		case 2: multiply_short(node, weight, rows, 2, x, out, weighted); break;
		case 3: multiply_short(node, weight, rows, 3, x, out, weighted); break;
		case 4: multiply_short(node, weight, rows, 4, x, out, weighted); break;
		case 5: multiply_short(node, weight, rows, 5, x, out, weighted); break;
		case 6: multiply_short(node, weight, rows, 6, x, out, weighted); break;
		case 7: multiply_short(node, weight, rows, 7, x, out, weighted); break;
		case 8: multiply_short(node, weight, rows, 8, x, out, weighted); break;
		default: multiply_long(c, first, first + rows, x, out, weighted);
		}
		out += rows;
	}
}

VECTOR void sl_coupling_multiply(const struct sl_coupling *c, uint32_t block, const double *x, double *out)
{
	if (c->weight)
		multiply(c, block, x, out, true);
	else
		multiply(c, block, x, out, false);
}
