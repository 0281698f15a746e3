/* Compiled once for each instruction set; SL_TERMS is the name of the variant's table.
 *
 * Differences of coordinates are computed in double precision, so that near nodes far from the origin lose no digits;
 * the terms in single precision; sums in double precision. Loops run along the nodes of a block, so only the sums for
 * pivots go across lanes; these are added up in LANES parts. */
#include "core/sammon/kernels/terms_tile.h"

#include <math.h>
#include <stddef.h>

#define BLOCK SL__TERMS_BLOCK
#define LANES 16
#define NEAREST 1e-30f  /* smaller squared distances in the layout count as 0 */
#define INLINE static inline __attribute__((always_inline))

INLINE double forces_of(const struct sl__terms_rows *r, int dims, bool curved, const double *const y[],
			const double *const pivot[], double *const force[], double *const *curve)
{
	float push[3][BLOCK], bend[3][BLOCK];
	double rest[BLOCK] = {0}, sum = 0;
	uint32_t n = r->n;
	for (uint32_t p = 0; p < r->pivots; p++) {
		const float *restrict distance = r->distance + (size_t)p * r->stride;
		const float *restrict weight = r->weight + (size_t)p * r->stride;
		double at[3] = {pivot[0][p], dims > 1 ? pivot[1][p] : 0, dims > 2 ? pivot[2][p] : 0};
		for (uint32_t i = 0; i < n; i++) {
			float off[3], square = 0;
			for (int q = 0; q < dims; q++) {
				off[q] = (float)(y[q][i] - at[q]);
				square += off[q] * off[q];
			}
			float d = sqrtf(square), inverse = square > NEAREST ? 1 / d : 0;
			float error = distance[i] - d, w = weight[i], pull = w * distance[i] * inverse, g = w - pull;
			rest[i] += (double)(w * error * error);
			for (int q = 0; q < dims; q++) {
				push[q][i] = g * off[q];
				if (curved)
					bend[q][i] = g + pull * (off[q] * inverse) * (off[q] * inverse);
			}
		}
		for (int q = 0; q < dims; q++)
			for (uint32_t i = 0; i < n; i++) {
				force[q][i] += (double)push[q][i];
				if (curved)
					curve[q][i] += (double)bend[q][i];
			}
	}
	for (uint32_t i = 0; i < n; i++)
		sum += rest[i];
	return sum;
}

static double forces(const struct sl__terms_rows *r, int dims, const double *const y[], const double *const pivot[],
		     double *const force[], double *const *curve)
{
	if (dims == 1)
		return curve ? forces_of(r, 1, true, y, pivot, force, curve) :
			       forces_of(r, 1, false, y, pivot, force, NULL);
	if (dims == 2)
		return curve ? forces_of(r, 2, true, y, pivot, force, curve) :
			       forces_of(r, 2, false, y, pivot, force, NULL);
	return curve ? forces_of(r, 3, true, y, pivot, force, curve) :
		       forces_of(r, 3, false, y, pivot, force, NULL);
}

/* The sum of c x over the nodes, in an order that depends only on n. */
INLINE double product(const float *c, bool squares, const double *x, uint32_t n)
{
	double part[LANES] = {0}, sum = 0;
	uint32_t i = 0;
	for (; i + LANES <= n; i += LANES)
		for (uint32_t lane = 0; lane < LANES; lane++) {
			double value = (double)c[i + lane];
			part[lane] += (squares ? value * value : value) * x[i + lane];
		}
	for (; i < n; i++) {
		double value = (double)c[i];
		part[i % LANES] += (squares ? value * value : value) * x[i];
	}
	for (int lane = 0; lane < LANES; lane++)
		sum += part[lane];
	return sum;
}

INLINE void multiply_of(const struct sl__terms_rows *r, int columns, bool squares, const double *const in[],
			const double *const pivot[], double *const out[], double *share)
{
	double sum[4][BLOCK] = {{0}};
	uint32_t n = r->n;
	for (uint32_t p = 0; p < r->pivots; p++) {
		const float *restrict c = (squares ? r->distance : r->weight) + (size_t)p * r->stride;
		for (uint32_t i = 0; i < n; i++) {
			double value = (double)c[i];
			value = squares ? value * value : value;
			for (int k = 0; k < columns; k++)
				sum[k][i] += value * pivot[k][p];
		}
		for (int k = 0; k < columns && share; k++)
			*share++ = product(c, squares, in[k], n);
	}
	for (int k = 0; k < columns; k++)
		for (uint32_t i = 0; i < n; i++)
			out[k][i] += sum[k][i];
}

static void multiply(const struct sl__terms_rows *r, int columns, bool squares, const double *const in[],
		     const double *const pivot[], double *const out[], double *share)
{
	switch (2 * columns + squares) {
	case 2:
		multiply_of(r, 1, false, in, pivot, out, share);
		break;
	case 4:
		multiply_of(r, 2, false, in, pivot, out, share);
		break;
	case 6:
		multiply_of(r, 3, false, in, pivot, out, share);
		break;
	case 3:
		multiply_of(r, 1, true, in, pivot, out, share);
		break;
	case 5:
		multiply_of(r, 2, true, in, pivot, out, share);
		break;
	case 7:
		multiply_of(r, 3, true, in, pivot, out, share);
		break;
	default:
		multiply_of(r, 4, true, in, pivot, out, share);
	}
}

extern const struct sl__terms_kernels SL_TERMS;
const struct sl__terms_kernels SL_TERMS = {forces, multiply};
