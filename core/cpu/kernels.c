/* The inner loops. This file is compiled once for each instruction set; SL_VARIANT is the name of the variant's table.
 *
 * Gathering y_j dominates the attraction. With AVX-512, masks replace a scalar loop over a row's last entries; in 2-D
 * and 3-D one 64-bit gather loads x and y. */
#include "core/cpu/kernels.h"
#include "core/engine/update.h"

#include <math.h>
#include <string.h>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

typedef float v8 __attribute__((vector_size(32)));
typedef float v8u __attribute__((vector_size(32), aligned(4), may_alias));
typedef float v16 __attribute__((vector_size(64)));
typedef float v16u __attribute__((vector_size(64), aligned(4), may_alias));

static inline v8 load8(const float *p) { return *(const v8u *)p; }
static inline void store8(float *p, v8 x) { *(v8u *)p = x; }
static inline v16 load16(const float *p) { return *(const v16u *)p; }
static inline void store16(float *p, v16 x) { *(v16u *)p = x; }

static inline float sum8(v8 x)
{
	return ((x[0] + x[4]) + (x[1] + x[5])) + ((x[2] + x[6]) + (x[3] + x[7]));
}

#include "core/cpu/kernels_grid.h"

/* ---- attraction ------------------------------------------------------------------- */

#ifdef __AVX512F__

/* Loads coordinates k = 0 .. dims-1 of 16 neighbours, and their p. Lanes outside the mask get y_i, and p = 0. */
static inline __attribute__((always_inline)) void
gather(int dims, const float *y, __m512i node, __mmask16 mask, const __m512 *yi, __m512 *out)
{
	if (dims == 1) {
		out[0] = _mm512_mask_i32gather_ps(yi[0], mask, node, y, 4);
		return;
	}
	if (dims == 3)
		node = _mm512_add_epi32(node, _mm512_add_epi32(node, node));
	const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
	const __m512i odd = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
	__m512d fill = _mm512_castps_pd(_mm512_unpacklo_ps(yi[0], yi[1]));  /* all lanes of yi are equal */
	__m256i low = _mm512_castsi512_si256(node), high = _mm512_extracti64x4_epi64(node, 1);
	__m512 a, b;
	if (dims == 2) {
		a = _mm512_castpd_ps(_mm512_mask_i32gather_pd(fill, (__mmask8)mask, low, y, 8));
		b = _mm512_castpd_ps(_mm512_mask_i32gather_pd(fill, (__mmask8)(mask >> 8), high, y, 8));
	} else {
		a = _mm512_castpd_ps(_mm512_mask_i32gather_pd(fill, (__mmask8)mask, low, y, 4));
		b = _mm512_castpd_ps(_mm512_mask_i32gather_pd(fill, (__mmask8)(mask >> 8), high, y, 4));
		out[2] = _mm512_mask_i32gather_ps(yi[2], mask, node, y + 2, 4);
	}
	out[0] = _mm512_permutex2var_ps(a, even, b);
	out[1] = _mm512_permutex2var_ps(a, odd, b);
}

static inline __attribute__((always_inline)) void
attract_dims(int dims, const uint64_t *start, const uint32_t *node, const float *p, const float *y,
	     uint32_t from, uint32_t to, float *out)
{
	const __m512 one = _mm512_set1_ps(1), two = _mm512_set1_ps(2);
	for (uint32_t i = from; i < to; i++, out += dims) {
		__m512 yi[3], sum[3], yj[3];
		for (int k = 0; k < dims; k++) {
			yi[k] = _mm512_set1_ps(y[(size_t)i * (size_t)dims + (size_t)k]);
			sum[k] = _mm512_setzero_ps();
		}
		for (uint64_t e = start[i]; e < start[i + 1]; e += 16) {
			uint64_t left = start[i + 1] - e;
			__mmask16 mask = left >= 16 ? 0xffff : (__mmask16)((1u << left) - 1);
			__m512i j = _mm512_maskz_loadu_epi32(mask, node + e);
			__m512 weight = _mm512_maskz_loadu_ps(mask, p + e), r2 = one;
			gather(dims, y, j, mask, yi, yj);
			for (int k = 0; k < dims; k++) {
				yj[k] = _mm512_sub_ps(yi[k], yj[k]);
				r2 = _mm512_fmadd_ps(yj[k], yj[k], r2);
			}
			__m512 q = _mm512_rcp14_ps(r2);  /* one Newton step: 28 bits */
			q = _mm512_mul_ps(q, _mm512_fnmadd_ps(r2, q, two));
			weight = _mm512_mul_ps(weight, q);
			for (int k = 0; k < dims; k++)
				sum[k] = _mm512_fmadd_ps(weight, yj[k], sum[k]);
		}
		for (int k = 0; k < dims; k++)
			out[k] = _mm512_reduce_add_ps(sum[k]);
	}
}

#else

static inline __attribute__((always_inline)) void
attract_dims(int dims, const uint64_t *start, const uint32_t *node, const float *p, const float *y,
	     uint32_t from, uint32_t to, float *out)
{
	for (uint32_t i = from; i < to; i++, out += dims) {
		const float *yi = y + (size_t)i * (size_t)dims;
		float x0 = yi[0], x1 = dims > 1 ? yi[1] : 0, x2 = dims > 2 ? yi[2] : 0;
		float s0 = 0, s1 = 0, s2 = 0;
#pragma omp simd reduction(+ : s0, s1, s2)
		for (uint64_t e = start[i]; e < start[i + 1]; e++) {
			const float *their = y + (size_t)node[e] * (size_t)dims;
			float d0 = x0 - their[0], d1 = dims > 1 ? x1 - their[1] : 0, d2 = dims > 2 ? x2 - their[2] : 0;
			float weight = p[e] / (1 + d0 * d0 + d1 * d1 + d2 * d2);
			s0 += weight * d0;
			s1 += weight * d1;
			s2 += weight * d2;
		}
		out[0] = s0;
		if (dims > 1)
			out[1] = s1;
		if (dims > 2)
			out[2] = s2;
	}
}

#endif

static void attract(int dims, const uint64_t *start, const uint32_t *node, const float *p, const float *y,
		    uint32_t from, uint32_t to, float *out)
{
	if (dims == 1)
		attract_dims(1, start, node, p, y, from, to, out);
	else if (dims == 2)
		attract_dims(2, start, node, p, y, from, to, out);
	else
		attract_dims(3, start, node, p, y, from, to, out);
}

/* ---- walk ---------------------------------------------------------------------------- */

static void walk(const uint64_t *start, const uint32_t *node, const float *p, const float *mass, const float *slope,
		 const float *shift, const float *x, int first, uint32_t from, uint32_t end, float *to)
{
	for (uint32_t i = from; i < end; i++) {
		v8 sum = {0}, more = {0};
		uint64_t e = start[i], last = start[i + 1];
		for (; e + 1 < last; e += 2) {
			sum += p[e] * load8(x + (size_t)node[e] * 8);
			more += p[e + 1] * load8(x + (size_t)node[e + 1] * 8);
		}
		if (e < last)
			sum += p[e] * load8(x + (size_t)node[e] * 8);
		v8 a = (sum + more) * (1 / mass[i]);
		float *out = to + (size_t)i * 8;
		if (slope)
			a = slope[i] * a - shift[i] * load8(x + (size_t)i * 8);
		store8(out, first ? a : 2 * a - load8(out));
	}
}

/* ---- KL divergence ------------------------------------------------------------------- */

/* Excludes a function from the address and undefined behaviour sanitizers. The loop over all pairs, 4 million in an
 * iteration of 2000 nodes, is not vectorised with a check at every load. Little is lost: its caller has just written
 * all that it reads, the update reads all that it writes, and both are checked. */
#define UNCHECKED __attribute__((no_sanitize("address", "undefined")))

/* log(x) for finite x >= 1, to 1e-6: exponent, and a polynomial in (m - 1) / (m + 1). */
static inline UNCHECKED __attribute__((always_inline)) float log_above_one(float x)
{
	int32_t bits, exponent;
	memcpy(&bits, &x, 4);
	exponent = ((bits - 0x3f3504f3) >> 23);  /* m in [sqrt(1/2), sqrt(2)) */
	bits -= exponent * (1 << 23);
	float m;
	memcpy(&m, &bits, 4);
	float s = (m - 1) / (m + 1), s2 = s * s;
	float series = s * (2 + s2 * (0.66666667f + s2 * (0.4f + s2 * (0.28571429f + s2 * 0.22222222f))));
	return series + (float)exponent * 0.69314718f;
}

static inline __attribute__((always_inline)) double
divergence_dims(int dims, const uint64_t *start, const uint32_t *node, const float *p, const float *y,
		uint32_t from, uint32_t to)
{
	double all = 0;
	for (uint32_t i = from; i < to; i++) {
		const float *yi = y + (size_t)i * (size_t)dims;
		float sum = 0;
#pragma omp simd reduction(+ : sum)
		for (uint64_t e = start[i]; e < start[i + 1]; e++) {
			const float *their = y + (size_t)node[e] * (size_t)dims;
			float r2 = 1;
			for (int k = 0; k < dims; k++)
				r2 += (yi[k] - their[k]) * (yi[k] - their[k]);
			sum += p[e] * log_above_one(r2);
		}
		all += (double)sum;
	}
	return all;
}

static double divergence(int dims, const uint64_t *start, const uint32_t *node, const float *p, const float *y,
			 uint32_t from, uint32_t to)
{
	return dims == 1 ? divergence_dims(1, start, node, p, y, from, to) :
	       dims == 2 ? divergence_dims(2, start, node, p, y, from, to) :
			   divergence_dims(3, start, node, p, y, from, to);
}

#include "core/cpu/kernels_pairs.h"
#include "core/params.h"

/* ---- update ------------------------------------------------------------------------------ */

/* All coordinates of a node have the same gain; each stores it. */
static inline __attribute__((always_inline)) void
step_nodes(const int dims, uint32_t count, const struct sl_step *s, float inverse_z, const float *restrict rate,
	   const float *restrict attraction, const float *restrict repulsion, const float *restrict y,
	   float *restrict velocity, float *restrict gain, float *restrict next)
{
	float exaggeration = s->exaggeration, momentum = s->momentum, least = s->gain_least, added = s->gain_added;
#pragma omp simd
	for (uint32_t i = 0; i < count; i++) {
		float gradient[3], product = 0;
		for (int k = 0; k < dims; k++) {
			uint32_t at = i * (uint32_t)dims + (uint32_t)k;
			gradient[k] = exaggeration * attraction[at] - inverse_z * repulsion[at];
			product += gradient[k] * velocity[at];
		}
		float g = sl_update_gain(gain[i * (uint32_t)dims], sl_update_node_downhill(product), least, added);
		for (int k = 0; k < dims; k++) {
			uint32_t at = i * (uint32_t)dims + (uint32_t)k;
			float v = sl_update_velocity(rate[i], momentum, g, gradient[k], velocity[at]);
			gain[at] = g;
			velocity[at] = v;
			next[at] = y[at] + v;
		}
	}
}

static inline __attribute__((always_inline)) void
step_coordinates(const int dims, uint32_t count, const struct sl_step *s, float inverse_z, const float *restrict rate,
		 const float *restrict attraction, const float *restrict repulsion, const float *restrict y,
		 float *restrict velocity, float *restrict gain, float *restrict next)
{
	float exaggeration = s->exaggeration, momentum = s->momentum, least = s->gain_least, added = s->gain_added;
#pragma omp simd
	for (uint32_t i = 0; i < count; i++)
		for (int k = 0; k < dims; k++) {
			uint32_t at = i * (uint32_t)dims + (uint32_t)k;
			float gradient = exaggeration * attraction[at] - inverse_z * repulsion[at], v = velocity[at];
			float g = sl_update_gain(gain[at], sl_update_downhill(gradient, v), least, added);
			v = sl_update_velocity(rate[i], momentum, g, gradient, v);
			gain[at] = g;
			velocity[at] = v;
			next[at] = y[at] + v;
		}
}

/* Shortens steps that were computed without a limit. */
static void clip_steps(int dims, uint32_t count, float longest, const float *y, float *velocity, float *next)
{
	for (uint32_t i = 0; i < count; i++, y += dims, velocity += dims, next += dims) {
		float square = 0;
		for (int k = 0; k < dims; k++)
			square += velocity[k] * velocity[k];
		float clip = sl_update_clip(square, longest);
		for (int k = 0; k < dims && clip < 1; k++) {
			velocity[k] *= clip;
			next[k] = y[k] + velocity[k];
		}
	}
}

static void step_momentum(int dims, uint32_t count, const struct sl_step *s, float inverse_z, const float *rate,
			  const float *attraction, const float *repulsion, const float *y, float *velocity, float *gain,
			  float *next)
{
#define STEP(rule, d) rule(d, count, s, inverse_z, rate, attraction, repulsion, y, velocity, gain, next)
	if (s->gains == SL_GAINS_COORDINATE) {
		if (dims == 1)
			STEP(step_coordinates, 1);
		else if (dims == 2)
			STEP(step_coordinates, 2);
		else
			STEP(step_coordinates, 3);
	} else {
		if (dims == 1)
			STEP(step_nodes, 1);
		else if (dims == 2)
			STEP(step_nodes, 2);
		else
			STEP(step_nodes, 3);
	}
#undef STEP
	if (s->max_step < INFINITY)
		clip_steps(dims, count, s->max_step, y, velocity, next);
}

static void step_adam(uint32_t count, float exaggeration, float inverse_z, float rate, float scale, float correct_mean,
		      float correct_square, const float *restrict attraction, const float *restrict repulsion,
		      const float *restrict y, float *restrict mean, float *restrict square, float *restrict next)
{
#pragma omp simd
	for (uint32_t i = 0; i < count; i++) {
		float gradient = scale * (exaggeration * attraction[i] - inverse_z * repulsion[i]);
		float m = mean[i], s = square[i];
		next[i] = sl_update_adam(rate, correct_mean, correct_square, gradient, y[i], &m, &s);
		mean[i] = m;
		square[i] = s;
	}
}

const struct sl_cpu_kernels SL_VARIANT = {
	SL_VARIANT_NAME, spread, read_back, multiply, combine, gather_row, scatter_row, attract, divergence, walk, exact,
	weighted, cutoff_pairs, cutoff_at, step_momentum, step_adam,
};
