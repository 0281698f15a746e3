/* kernels_pairs.h -- the kernels that sum over pairs: all pairs, pairs of points with weighted positions, or pairs
 * closer than a cut-off. A part of kernels.c, which includes it after its vector types and logarithm. */
#ifndef SL_CPU_KERNELS_PAIRS_H
#define SL_CPU_KERNELS_PAIRS_H

/* ---- all pairs ------------------------------------------------------------------------ */

/* Sums in float run over at most this many pairs before they are added to doubles. */
#define PAIRS 2048

/* exp(x) for x <= 0, to 2e-7: a power of two, and a polynomial. x counts as -87 at least: that is decided by its bits,
 * which grow with its distance from 0, because GCC does not vectorise a loop that compares floats for it. */
static inline UNCHECKED float exp_below_zero(float x)
{
	const uint32_t least = 0xc2ae0000;  /* of -87 */
	uint32_t size;
	memcpy(&size, &x, 4);
	size = size > least ? least : size;
	memcpy(&x, &size, 4);
	float n = (float)(int32_t)(x * 1.44269504f - 0.5f);
	float f = x - n * 0.693359375f + n * 2.12194440e-4f;
	float p = 8.3333338e-3f + f * 1.3888889e-3f;
	p = 1 + f * (1 + f * (0.5f + f * (0.16666667f + f * (0.041666667f + f * p))));
	int32_t bits = ((int32_t)n + 127) * (1 << 23);
	float power;
	memcpy(&power, &bits, 4);
	return p * power;
}

/* cauchy: nu is 1. The kernel is then 1 / (1 + r^2), which needs no powers. */
static inline __attribute__((always_inline)) UNCHECKED double
exact_dims(const int dims, const bool cauchy, float nu, uint32_t n, float *const c[3], uint32_t from, uint32_t to,
	   float *force)
{
	const float *a = c[0], *b = c[1], *d = c[2];
	double all = 0;
	for (uint32_t i = from; i < to; i++) {
		double z = 0, f0 = 0, f1 = 0, f2 = 0;
		for (uint32_t block = 0; block < n; block += PAIRS) {
			uint32_t end = n - block < PAIRS ? n : block + PAIRS;
			float sz = 0, s0 = 0, s1 = 0, s2 = 0;
#pragma omp simd reduction(+ : sz, s0, s1, s2)
			for (uint32_t j = block; j < end; j++) {
				float d0 = a[i] - a[j], d1 = dims > 1 ? b[i] - b[j] : 0, d2 = dims > 2 ? d[i] - d[j] : 0;
				float r2 = 1 + d0 * d0 + d1 * d1 + d2 * d2;
				float k = cauchy ? 1 / r2 : exp_below_zero(-nu * log_above_one(r2));
				float steep = cauchy ? k * k : k / r2;
				sz += k;
				s0 += steep * d0;
				s1 += steep * d1;
				s2 += steep * d2;
			}
			z += (double)sz;
			f0 += (double)s0;
			f1 += (double)s1;
			f2 += (double)s2;
		}
		float *f = force + (size_t)i * (size_t)dims;
		f[0] = (float)f0;
		if (dims > 1)
			f[1] = (float)f1;
		if (dims > 2)
			f[2] = (float)f2;
		all += z - 1;
	}
	return all;
}

static UNCHECKED double exact(int dims, double nu, uint32_t n, float *const c[3], uint32_t from, uint32_t to,
			      float *force)
{
	float v = (float)nu;
	if (nu == 1)
		return dims == 1 ? exact_dims(1, true, v, n, c, from, to, force) :
		       dims == 2 ? exact_dims(2, true, v, n, c, from, to, force) :
				   exact_dims(3, true, v, n, c, from, to, force);
	return dims == 1 ? exact_dims(1, false, v, n, c, from, to, force) :
	       dims == 2 ? exact_dims(2, false, v, n, c, from, to, force) :
			   exact_dims(3, false, v, n, c, from, to, force);
}

/* ---- points and weighted positions ------------------------------------------------------------ */

static inline __attribute__((always_inline)) UNCHECKED void
weighted_dims(const int dims, const bool cauchy, float nu, const struct sl_weighted *list, float *const c[3],
	      uint32_t from, uint32_t to, double (*sum)[4])
{
	const float *a = list->at[0], *b = list->at[1], *d = list->at[2], *mass = list->mass;
	for (uint32_t i = from; i < to; i++) {
		const float x = c[0][i], y = dims > 1 ? c[1][i] : 0, w = dims > 2 ? c[2][i] : 0;
		float sz = 0, s0 = 0, s1 = 0, s2 = 0;
#pragma omp simd reduction(+ : sz, s0, s1, s2)
		for (int j = 0; j < list->count; j++) {
			float d0 = x - a[j], d1 = dims > 1 ? y - b[j] : 0, d2 = dims > 2 ? w - d[j] : 0;
			float r2 = 1 + d0 * d0 + d1 * d1 + d2 * d2;
			float k = cauchy ? 1 / r2 : exp_below_zero(-nu * log_above_one(r2));
			float weight = mass[j] * k, steep = cauchy ? weight * k : weight / r2;
			sz += weight;
			s0 += steep * d0;
			s1 += steep * d1;
			s2 += steep * d2;
		}
		double *all = sum[i - from];
		all[0] += (double)s0;
		all[1] += (double)s1;
		all[2] += (double)s2;
		all[3] += (double)sz;
	}
}

static UNCHECKED void weighted(int dims, double nu, const struct sl_weighted *list, float *const c[3], uint32_t from,
			       uint32_t to, double (*sum)[4])
{
	float v = (float)nu;
	if (nu == 1)
		dims == 1 ? weighted_dims(1, true, v, list, c, from, to, sum) :
		dims == 2 ? weighted_dims(2, true, v, list, c, from, to, sum) :
			    weighted_dims(3, true, v, list, c, from, to, sum);
	else
		dims == 1 ? weighted_dims(1, false, v, list, c, from, to, sum) :
		dims == 2 ? weighted_dims(2, false, v, list, c, from, to, sum) :
			    weighted_dims(3, false, v, list, c, from, to, sum);
}

/* ---- pairs closer than a cut-off ------------------------------------------------------------ */

#define GATHERED 512  /* candidates summed at a time */
#define ROWS 9
#define SLACK 1e-4f   /* widens the ranges by this part of a cell, so that rounding loses no pair */

struct candidates {
	float at[3][GATHERED + 2 * SL_CELLS_SPARE];  /* padded to whole vectors */
};

/* Adds forces and kernel values of one point and its candidates. The near part of the kernel and its slope are 0 at the
 * cut-off. So squared distances are limited to cutoff^2 instead of compared with it, and the last vector is filled with
 * positions at that distance. */
static inline __attribute__((always_inline)) void
sum_candidates(const int dims, const bool scaled, struct candidates *c, int count, const float point[3], float cutoff,
	       const struct sl_near_part *near, double sum[4])
{
	const int whole = (count + 15) / 16 * 16;
	const float x = point[0], y = point[1], z = dims > 2 ? point[2] : 0, limit = cutoff * cutoff;
	float f0 = 0, f1 = 0, f2 = 0, all = 0;
	for (int j = count; j < whole; j++) {
		c->at[0][j] = x + cutoff;
		c->at[1][j] = y;
		if (dims > 2)
			c->at[2][j] = z;
	}
#pragma omp simd reduction(+ : f0, f1, f2, all)
	for (int j = 0; j < whole; j++) {
		float dx = x - c->at[0][j], dy = y - c->at[1][j], dz = dims > 2 ? z - c->at[2][j] : 0;
		float square = dx * dx + dy * dy + dz * dz, t = square < limit ? square : limit, q = 1 / (1 + t);
		float u = scaled ? near->unit * t : t;
		float value = near->by.value[SL_CUTOFF_DEGREE], slope = near->by.slope[SL_CUTOFF_DEGREE - 1];
		for (int k = SL_CUTOFF_DEGREE - 1; k >= 0; k--)
			value = value * u + near->by.value[k];
		for (int k = SL_CUTOFF_DEGREE - 2; k >= 0; k--)
			slope = slope * u + near->by.slope[k];
		slope += q * q;
		all += q - value;
		f0 += slope * dx;
		f1 += slope * dy;
		f2 += slope * dz;
	}
	sum[0] += (double)f0;
	sum[1] += (double)f1;
	sum[2] += (double)f2;
	sum[3] += (double)all;
}

static inline float limited(float x, float high) { return x > 0 ? (x < high ? x : high) : 0; }  /* NaN: 0 */

/* Finds, in each row of cells, the range of places within reach of a point at `spot` (in units of the cut-off).
 * Computes a whole vector of 16 rows; those after the ninth get empty ranges. */
static inline void find_ranges(const struct sl_cells *c, const float spot[3], uint32_t from[16], uint32_t end[16])
{
	static const float by_y[16] = {-1, 0, 1, -1, 0, 1, -1, 0, 1, 2, 2, 2, 2, 2, 2, 2};
	static const float by_z[16] = {-1, -1, -1, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2};
	const float high = (float)(c->side - 1), last_x = (float)(SL_CELLS_FINE * c->side - 1), x = spot[0];
	const float own_y = floorf(limited(spot[1], high)), own_z = floorf(limited(spot[2], high));
	const float in_y = spot[1] - own_y, in_z = spot[2] - own_z;
	const int side = c->side, cells = SL_CELLS_FINE * side;
	const uint32_t *start = c->start;
#pragma omp simd
	for (int row = 0; row < 16; row++) {
		float y = own_y + by_y[row], z = own_z + by_z[row];
		float off_y = by_y[row] > 0 ? by_y[row] - in_y : -by_y[row] * in_y;
		float off_z = by_z[row] > 0 ? by_z[row] - in_z : -by_z[row] * in_z;
		float left = 1 + SLACK - off_y * off_y - off_z * off_z;
		bool inside = y >= 0 && y <= high && z >= 0 && z <= high && left > 0;
		float half = sqrtf(left > 0 ? left : 0) + SLACK;
		int first = ((int)limited(z, high) * side + (int)limited(y, high)) * cells;
		from[row] = start[first + (int)limited(SL_CELLS_FINE * (x - half), last_x)];
		uint32_t to = start[first + (int)limited(SL_CELLS_FINE * (x + half), last_x) + 1];
		end[row] = inside ? to : from[row];
	}
}

/* The same in 2-D, for three rows. */
static inline void find_ranges_flat(const struct sl_cells *c, const float spot[3], uint32_t from[16], uint32_t end[16])
{
	const int side = c->side, cells = SL_CELLS_FINE * side;
	const float high = (float)(side - 1), last_x = (float)(cells - 1), own_y = floorf(limited(spot[1], high));
	for (int row = 0; row < 3; row++) {
		float by_y = (float)(row - 1), y = own_y + by_y, in_y = spot[1] - own_y;
		float off = row > 1 ? 1 - in_y : row < 1 ? in_y : 0, left = 1 + SLACK - off * off;
		float half = sqrtf(left > 0 ? left : 0) + SLACK;
		const uint32_t *start = c->start + (size_t)limited(y, high) * (size_t)cells;
		from[row] = start[(int)limited(SL_CELLS_FINE * (spot[0] - half), last_x)];
		uint32_t to = start[(int)limited(SL_CELLS_FINE * (spot[0] + half), last_x) + 1];
		end[row] = y >= 0 && y <= high && left > 0 ? to : from[row];
	}
}

/* Adds the forces and kernel values of a point and all points within the cut-off. */
static inline __attribute__((always_inline)) void
sum_around(const int dims, const bool scaled, const struct sl_cells *c, const struct sl_near_part *near,
	   const float point[3], double sum[4])
{
	struct candidates some;
	const float cutoff = 1 / c->inverse;
	float spot[3];
	uint32_t from[16], end[16];
	int count = 0;
	for (int k = 0; k < dims; k++)
		spot[k] = (point[k] - c->low[k]) * c->inverse;
	if (dims == 2)
		find_ranges_flat(c, spot, from, end);
	else
		find_ranges(c, spot, from, end);
	for (int row = 0; row < (dims == 2 ? 3 : ROWS); row++) {
		uint32_t place = from[row];
		do {  /* most ranges fit one vector */
			for (int k = 0; k < dims; k++)
				store16(some.at[k] + count, load16(c->at[k] + place));
			count += end[row] - place < 16 ? (int)(end[row] - place) : 16;
			place += 16;
			if (count >= GATHERED) {
				sum_candidates(dims, scaled, &some, count, point, cutoff, near, sum);
				count = 0;
			}
		} while (place < end[row]);
	}
	sum_candidates(dims, scaled, &some, count, point, cutoff, near, sum);
}

static inline __attribute__((always_inline)) double
cutoff_pairs_dims(const int dims, const bool scaled, const struct sl_cells *c, const struct sl_near_part *near,
		  uint32_t from, uint32_t to, float *force)
{
	double all = 0;
	for (uint32_t i = from; i < to; i++) {
		float point[3];
		double sum[4] = {0};
		for (int k = 0; k < dims; k++)
			point[k] = c->at[k][i];
		sum_around(dims, scaled, c, near, point, sum);
		float *f = force + (size_t)c->index[i] * (size_t)dims;
		for (int k = 0; k < dims; k++)
			f[k] += (float)sum[k];
		all += sum[3];
	}
	return all;
}

static double cutoff_pairs(const struct sl_cells *c, const struct sl_near_part *near, uint32_t from, uint32_t to,
			   float *force)
{
	if (near->unit < 1)
		return c->dims == 2 ? cutoff_pairs_dims(2, true, c, near, from, to, force) :
				      cutoff_pairs_dims(3, true, c, near, from, to, force);
	return c->dims == 2 ? cutoff_pairs_dims(2, false, c, near, from, to, force) :
			      cutoff_pairs_dims(3, false, c, near, from, to, force);
}

static void cutoff_at(const struct sl_cells *c, const struct sl_near_part *near, const float at[3], double sum[4])
{
	if (c->dims == 2)
		sum_around(2, true, c, near, at, sum);
	else
		sum_around(3, true, c, near, at, sum);
}

#endif
