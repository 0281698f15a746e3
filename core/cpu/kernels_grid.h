/* kernels_grid.h -- the kernels that work on grids: spreading charges, multiplying spectra, passing values between two
 * grids, and reading the potential at points. A part of kernels.c, which includes it after its vector types.
 *
 * A window is at most 8 taps wide, so one vector of 8 floats holds its weights along x. A row of the grid then takes
 * one load, one multiply-add and one store. */
#ifndef SL_CPU_KERNELS_GRID_H
#define SL_CPU_KERNELS_GRID_H

/* ---- window -------------------------------------------------------------------- */

/* Returns the first node that the window touches, and v in [-1, 1), the argument of its polynomials. t >= 0. */
static inline int locate(float t, float *v)
{
	int i0 = (int)t;
	i0 += (float)i0 < t;
	*v = 2 * ((float)i0 - t) - 1;
	return i0;
}

static inline v8 weights(const struct sl_window *w, float v)
{
	v8 sum = load8(w->value[SL_WINDOW_DEGREE]);
	for (int k = SL_WINDOW_DEGREE - 1; k >= 0; k--)
		sum = sum * v + load8(w->value[k]);
	return sum;
}

static inline v8 slopes(const struct sl_window *w, float v)
{
	v8 sum = load8(w->slope[SL_WINDOW_DEGREE - 1]);
	for (int k = SL_WINDOW_DEGREE - 2; k >= 0; k--)
		sum = sum * v + load8(w->slope[k]);
	return sum;
}

static inline __attribute__((always_inline)) void
spread_width(const struct sl_window *w, int width, int dims, int side, int stride, const float *t, uint32_t count,
	     float *grid)
{
	for (uint32_t i = 0; i < count; i++, t += dims) {
		float v[3];
		int at[3];
		v8 weight[3];
		for (int k = 0; k < dims; k++) {
			at[k] = locate(t[k], &v[k]);
			weight[k] = weights(w, v[k]);
		}
		if (dims == 1) {
			store8(grid + at[0], load8(grid + at[0]) + weight[0]);
		} else if (dims == 2) {
			float *row = grid + (size_t)at[1] * (size_t)stride + (size_t)at[0];
			for (int r = 0; r < width; r++, row += stride)
				store8(row, load8(row) + weight[1][r] * weight[0]);
		} else {
			for (int s = 0; s < width; s++) {
				float *row = grid + ((size_t)(at[2] + s) * (size_t)side + (size_t)at[1]) * (size_t)stride +
					     (size_t)at[0];
				v8 plane = weight[2][s] * weight[0];
				for (int r = 0; r < width; r++, row += stride)
					store8(row, load8(row) + weight[1][r] * plane);
			}
		}
	}
}

static inline __attribute__((always_inline)) void
read_width(const struct sl_window *w, int width, int dims, int side, int stride, const float *t, uint32_t count,
	   const float *potential, float scale, const uint32_t *index, float *force)
{
	for (uint32_t i = 0; i < count; i++, t += dims) {
		float v[3];
		int at[3];
		v8 weight[3], slope[3];
		for (int k = 0; k < dims; k++) {
			at[k] = locate(t[k], &v[k]);
			weight[k] = weights(w, v[k]);
			slope[k] = slopes(w, v[k]);
		}
		float *f = force + (size_t)index[i] * (size_t)dims;
		if (dims == 1) {
			f[0] = scale * sum8(slope[0] * load8(potential + at[0]));
		} else if (dims == 2) {
			const float *row = potential + (size_t)at[1] * (size_t)stride + (size_t)at[0];
			v8 along_x = {0}, along_y = {0};
			for (int r = 0; r < width; r++, row += stride) {
				v8 x = load8(row);
				along_x += weight[1][r] * x;
				along_y += slope[1][r] * x;
			}
			f[0] = scale * sum8(slope[0] * along_x);
			f[1] = scale * sum8(weight[0] * along_y);
		} else {
			v8 along_x = {0}, along_y = {0}, along_z = {0};
			for (int s = 0; s < width; s++) {
				const float *row = potential + ((size_t)(at[2] + s) * (size_t)side + (size_t)at[1]) *
								       (size_t)stride + (size_t)at[0];
				v8 plain = {0}, sloped = {0};
				for (int r = 0; r < width; r++, row += stride) {
					v8 x = load8(row);
					plain += weight[1][r] * x;
					sloped += slope[1][r] * x;
				}
				along_x += weight[2][s] * plain;
				along_y += weight[2][s] * sloped;
				along_z += slope[2][s] * plain;
			}
			f[0] = scale * sum8(slope[0] * along_x);
			f[1] = scale * sum8(weight[0] * along_y);
			f[2] = scale * sum8(weight[0] * along_z);
		}
	}
}

/* The compiler makes one loop for each (dims, width). */
#define FOR_EACH_SHAPE(call) \
	switch (dims * 8 + w->width) { \
	case 8 + 5: call(5, 1); break; \
	case 8 + 6: call(6, 1); break; \
	case 16 + 5: call(5, 2); break; \
	case 16 + 6: call(6, 2); break; \
	case 24 + 5: call(5, 3); break; \
	case 24 + 6: call(6, 3); break; \
	}

static void spread(const struct sl_window *w, int dims, int side, int stride, const float *t, uint32_t count,
		   float *grid)
{
#define CALL(width, d) spread_width(w, width, d, side, stride, t, count, grid)
	FOR_EACH_SHAPE(CALL)
#undef CALL
}

static void read_back(const struct sl_window *w, int dims, int side, int stride, const float *t, uint32_t count,
		      const float *potential, float scale, const uint32_t *index, float *force)
{
#define CALL(width, d) read_width(w, width, d, side, stride, t, count, potential, scale, index, force)
	FOR_EACH_SHAPE(CALL)
#undef CALL
}

/* ---- between transforms --------------------------------------------------------------- */

/* Sums in float run over this many elements before they are added to doubles. */
#define ELEMENTS 8

static double multiply(float *value, int length, const float *s, size_t step, const float *weight)
{
	double lane[16] = {0}, all = 0;
	v8 keep;
	for (int l = 0; l < 8; l++)
		keep[l] = weight[l] > 0;
	for (int from = 0; from < length; from += ELEMENTS) {
		int to = from + ELEMENTS < length ? from + ELEMENTS : length;
		v16 sum = {0};
		for (int i = from; i < to; i++) {
			int row = i <= length - i ? i : length - i;
			v8 factor = keep * load8(s + (size_t)row * step);
			v16 both = __builtin_shufflevector(factor, factor, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
			v16 x = load16(value + 16 * i), product = both * x;
			sum += product * x;
			store16(value + 16 * i, product);
		}
		for (int l = 0; l < 16; l++)
			lane[l] += (double)sum[l];
	}
	for (int l = 0; l < 16; l++)
		all += (double)weight[l / 2] * lane[l];
	return all;
}

/* ---- between grids ------------------------------------------------------------------ */

/* N vectors of the sum stay in registers during the loop over rows. */
#define COMBINE(N) \
	for (; x + 16 * N <= count; x += 16 * N) { \
		v16 sum[N]; \
		for (int k = 0; k < N; k++) \
			sum[k] = add ? load16(out + x + 16 * k) : (v16){0}; \
		const float *row = in + x; \
		for (int r = 0; r < rows; r++, row += step) \
			for (int k = 0; k < N; k++) \
				sum[k] += weight[r] * load16(row + 16 * k); \
		for (int k = 0; k < N; k++) \
			store16(out + x + 16 * k, sum[k]); \
	}

static void combine(const float *in, size_t step, const float *weight, int rows, int count, float *out, int add)
{
	int x = 0;
	COMBINE(4)
	COMBINE(1)
}

#undef COMBINE

static void gather_row(const float *in, const int *from, const float *share, int taps, int count, float *out)
{
	for (int i = 0; i < count; i++, share += taps) {
		v8 sum = {0};
		for (int t = 0; t < taps; t += 8)
			sum += load8(share + t) * load8(in + from[i] + t);
		out[i] = sum8(sum);
	}
}

static void scatter_row(const float *in, const int *from, const float *share, int taps, int count, int width,
			float *out)
{
	memset(out, 0, sizeof(float) * (size_t)width);
	for (int i = 0; i < count; i++, share += taps) {
		float *at = out + from[i];
		for (int t = 0; t < taps; t += 8)
			store8(at + t, load8(at + t) + in[i] * load8(share + t));
	}
}

#endif
