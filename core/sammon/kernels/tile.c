/* Compiled once for each instruction set; SL_VARIANT is the name of the variant's table.
 *
 * Distances: comparing ROWS points with a panel of LANES keeps the sums in registers. A chunk of the panel stays in the
 * L1 cache while the rows of the block are compared with it. The rows are read from panels as well: the coordinates of
 * a point lie LANES floats apart, but its neighbours' share the cache lines.
 *
 * Pairs: GROUP rows are processed along all columns. Their sums stay in registers. The sums of the columns are
 * collected in single precision and added to those in double precision after every STRIP rows. */
#include "core/sammon/kernels/tile.h"

#include <math.h>

#include "core/method/lanes.h"

#define ROWS BY_SET(8, 2, 1)
#define LANES SL__SAMMON_LANES
#define VECTORS (LANES / WIDTH)
#define GROUP 2
#define STRIP 32
#define MOST SL__SAMMON_MOST

/* Squared distances below this, relative to the sum of the squared lengths, are computed from differences. */
#define CANCELS 0x1p-6f
/* Smaller squared distances in the layout, in units of its width, count as 0. */
#define NEAREST 1e-24f

INLINE vec root(vec x)
{
	vec r;
	for (int lane = 0; lane < WIDTH; lane++)
		r[lane] = sqrtf(x[lane]);
	return r;
}

INLINE double total(vec x)
{
	double sum[4] = {0};
	for (int lane = 0; lane < WIDTH; lane++)
		sum[lane % 4] += (double)x[lane];
	return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

/* ---- distances ---------------------------------------------------------------------------- */

/* out[r][lane] += the terms of coordinates from .. to - 1, for some rows and a panel. */
INLINE void some_rows(int rows, bool differences, uint32_t from, uint32_t to, const float *row, const float *panel,
		      float *out, uint32_t stride)
{
	vec sum[ROWS][VECTORS];
#pragma GCC unroll 8
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
		for (int v = 0; v < VECTORS; v++)
			sum[r][v] = (vec){0};
	for (uint32_t k = from; k < to; k++) {
		vec c[VECTORS];
#pragma GCC unroll 8
		for (int v = 0; v < VECTORS; v++)  /* one by one: copying all at once goes through the stack */
			c[v] = load(panel + (size_t)k * LANES + v * WIDTH);
#pragma GCC unroll 8
		for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
			for (int v = 0; v < VECTORS; v++) {
				float x = row[(size_t)k * LANES + (size_t)r];
				vec e = differences ? c[v] - x : c[v];
				sum[r][v] += e * (differences ? e : (vec){0} + x);
			}
	}
#pragma GCC unroll 8
	for (int r = 0; r < rows; r++)
#pragma GCC unroll 8
		for (int v = 0; v < VECTORS; v++) {
			float *at = out + (size_t)r * stride + v * WIDTH;
			store(at, load(at) + sum[r][v]);
		}
}

/* out[side][LANES], of stride floats: squared distances, or inner products, of a block of rows and a panel. */
INLINE void panel_of(uint32_t side, uint32_t d, bool differences, const float *rows, const float *panel, float *out,
		     uint32_t stride)
{
	for (uint32_t i = 0; i < side; i++)
		memset(out + (size_t)i * stride, 0, LANES * sizeof *out);
	for (uint32_t from = 0; from < d; from += SL__SAMMON_CHUNK) {
		uint32_t to = d - from < SL__SAMMON_CHUNK ? d : from + SL__SAMMON_CHUNK;
		for (uint32_t i = 0; i < side; i += ROWS)
			some_rows(ROWS, differences, from, to, rows + (size_t)(i / LANES) * d * LANES + i % LANES, panel,
				  out + (size_t)i * stride, stride);
	}
}

/* Converts inner products of ROWS rows to squared distances. False: some of them cancel. */
INLINE bool from_products(const float *norm_a, const float *mass_a, const float *norm_b, const float *mass_b,
			  float *out, uint32_t stride)
{
	bits cancels = {0};
	for (int r = 0; r < ROWS; r++)
		for (int v = 0; v < VECTORS; v++) {
			float *at = out + (size_t)r * stride + v * WIDTH;
			vec both = load(norm_b + v * WIDTH) + norm_a[r], square = both - 2 * load(at);
			cancels |= (square < CANCELS * both) & (load(mass_b + v * WIDTH) * mass_a[r] > 0);
			store(at, square);
		}
	int32_t any = 0;
	for (int lane = 0; lane < WIDTH; lane++)
		any |= cancels[lane];
	return !any;
}

static void distances(uint32_t side, uint32_t d, bool differences, const struct sl__sammon_block *a,
		      const struct sl__sammon_block *b, float *distance)
{
	for (uint32_t p = 0; p < side; p += LANES) {
		const float *panel = b->panel + (size_t)p * d;
		float *out = distance + p;
		if (differences)
			panel_of(side, d, true, a->panel, panel, out, side);
		else
			panel_of(side, d, false, a->panel, panel, out, side);
		for (uint32_t i = 0; i < side && !differences; i += ROWS) {
			float *at = out + (size_t)i * side;
			if (from_products(a->norm + i, a->mass + i, b->norm + p, b->mass + p, at, side))
				continue;
			for (int r = 0; r < ROWS; r++)
				memset(at + (size_t)r * side, 0, LANES * sizeof *at);
			for (uint32_t from = 0; from < d; from += SL__SAMMON_CHUNK)
				some_rows(ROWS, true, from, d - from < SL__SAMMON_CHUNK ? d : from + SL__SAMMON_CHUNK,
					  a->panel + (size_t)(i / LANES) * d * LANES + i % LANES, panel, at, side);
		}
	}
	for (size_t at = 0; at < (size_t)side * side; at += WIDTH) {
		vec square = load(distance + at);
		store(distance + at, root(where(square > 0, square)));
	}
	for (uint32_t i = 0; a == b && i < side; i++)
		distance[(size_t)i * side + i] = 0;
}

/* ---- weights ------------------------------------------------------------------------------ */

/* 1 / D, or 1; 0 if D is 0. */
INLINE vec weight_of(bool metric, vec distance)
{
	bits some = distance > 0;
	vec safe = where(some, distance) + where(~some, (vec){0} + 1.0f);
	return where(some, metric ? (vec){0} + 1.0f : 1 / safe);
}

static double weights(uint32_t side, bool metric, const struct sl__sammon_block *a, const struct sl__sammon_block *b,
		      const float *distance, double *weight_a, double *weight_b)
{
	double sum = 0;
	for (uint32_t from = 0; from < side; from += STRIP) {
		float column[MOST] = {0};
		for (uint32_t i = from; i < from + STRIP; i++) {
			vec row = {0}, squares = {0};
			for (uint32_t j = 0; j < side; j += WIDTH) {
				vec big = load(distance + (size_t)i * side + j);
				vec w = weight_of(metric, big) * load(b->mass + j) * a->mass[i];
				row += w;
				squares += w * big * big;
				store(column + j, load(column + j) + w);
			}
			weight_a[i] += total(row);
			sum += total(squares);
		}
		for (uint32_t j = 0; weight_b && j < side; j++)
			weight_b[j] += (double)column[j];
	}
	return sum;
}

/* ---- pairs -------------------------------------------------------------------------------- */

struct buffer {
	float force[3][MOST], curve[3][MOST];
};

/* Processes GROUP rows from i on with all columns: adds to the sums of the rows, and to the columns' buffer. */
INLINE double some_pairs(uint32_t side, int dims, bool metric, bool curve, bool both, uint32_t i,
			 const struct sl__sammon_block *a, const struct sl__sammon_block *b, const float *distance,
			 const struct sl__sammon_sums *out, struct buffer *buffer)
{
	vec stress = {0}, force[GROUP][3], bend[GROUP][3];
	for (int r = 0; r < GROUP; r++)
		for (int q = 0; q < dims; q++)
			force[r][q] = bend[r][q] = (vec){0};
	for (uint32_t j = 0; j < side; j += WIDTH) {
		vec mass = load(b->mass + j), pull[3], bent[3];
		for (int q = 0; q < dims; q++)
			pull[q] = bent[q] = (vec){0};
#pragma GCC unroll 4
		for (int r = 0; r < GROUP; r++) {
			vec away[3], square = {0};
			for (int q = 0; q < dims; q++) {
				away[q] = a->y[q][i + (uint32_t)r] - load(b->y[q] + j);
				square += away[q] * away[q];
			}
			vec big = load(distance + (size_t)(i + (uint32_t)r) * side + j);
			bits some = big > 0, apart = square > NEAREST;
			vec one = (vec){0} + 1.0f;
			vec safe = where(some, big) + where(~some, one);
			vec length = root(where(apart, square) + where(~apart, one));
			/* one division gives 1 / D and 1 / d */
			vec inverse = 1 / (metric ? length : length * safe);
			vec near = metric ? inverse : inverse * safe;
			vec w = where(some, (metric ? one : inverse * length) * mass * a->mass[i + (uint32_t)r]);
			vec ratio = where(apart, big * near), off = big - where(apart, length);
			vec c = w * (1 - ratio), e = w * ratio * near * near;
			stress += w * off * off;
			for (int q = 0; q < dims; q++) {
				vec f = c * away[q];
				force[r][q] += f;
				pull[q] -= f;
				if (curve) {
					vec h = c + e * away[q] * away[q];
					bend[r][q] += h;
					bent[q] += h;
				}
			}
		}
		for (int q = 0; both && q < dims; q++) {
			store(buffer->force[q] + j, load(buffer->force[q] + j) + pull[q]);
			if (curve)
				store(buffer->curve[q] + j, load(buffer->curve[q] + j) + bent[q]);
		}
	}
	for (uint32_t r = 0; r < GROUP; r++)
		for (int q = 0; q < dims; q++) {
			out->force[q][i + r] += total(force[r][q]);
			if (curve)
				out->curve[q][i + r] += total(bend[r][q]);
		}
	return total(stress);
}

INLINE double pairs_of(uint32_t side, int dims, bool metric, bool curve, bool both, const struct sl__sammon_block *a,
		       const struct sl__sammon_block *b, const float *distance, const struct sl__sammon_sums *sum_a,
		       const struct sl__sammon_sums *sum_b)
{
	struct buffer buffer;
	double stress = 0;
	for (uint32_t from = 0; from < side; from += STRIP) {
		for (int q = 0; both && q < dims; q++) {
			memset(buffer.force[q], 0, side * sizeof(float));
			memset(buffer.curve[q], 0, side * sizeof(float));
		}
		for (uint32_t i = from; i < from + STRIP; i += GROUP)
			stress += some_pairs(side, dims, metric, curve, both, i, a, b, distance, sum_a, &buffer);
		for (int q = 0; both && q < dims; q++)
			for (uint32_t j = 0; j < side; j++) {
				sum_b->force[q][j] += (double)buffer.force[q][j];
				if (curve)
					sum_b->curve[q][j] += (double)buffer.curve[q][j];
			}
	}
	return stress;
}

#define CASE(dims_, metric_, curve_) \
	((sum_b) ? pairs_of(side, dims_, metric_, curve_, true, a, b, distance, sum_a, sum_b) : \
		   pairs_of(side, dims_, metric_, curve_, false, a, b, distance, sum_a, sum_b))
#define CASES(dims_) \
	(metric ? sum_a->curve[0] ? CASE(dims_, true, true) : CASE(dims_, true, false) : \
		  sum_a->curve[0] ? CASE(dims_, false, true) : CASE(dims_, false, false))

static double pairs(uint32_t side, int dims, bool metric, const struct sl__sammon_block *a,
		    const struct sl__sammon_block *b, const float *distance, const struct sl__sammon_sums *sum_a,
		    const struct sl__sammon_sums *sum_b)
{
	return dims == 1 ? CASES(1) : dims == 2 ? CASES(2) : CASES(3);
}

extern const struct sl__sammon_kernels SL_VARIANT;
const struct sl__sammon_kernels SL_VARIANT = {distances, weights, pairs};
