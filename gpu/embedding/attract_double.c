/* The attraction in double precision, for the hybrid engine: positions and forces are floats, everything between is in
 * doubles. Bound by the gathers of y_j, as in single precision (core/cpu/kernels.c), and by twice the arithmetic. With
 * AVX-512, it processes 8 neighbours at a time: in 2-D one 64-bit gather loads x and y of a neighbour, and Newton steps
 * refine a 14-bit reciprocal, which replaces the division. */
#include "core/graph/affinities.h"
#include "gpu/embedding/hybrid.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

static inline __attribute__((always_inline)) void
attract_dims(int dims, const struct sl_affinities *a, const float *y, uint32_t from, uint32_t to, float *out)
{
	const uint32_t *node = a->node;
	const float *p = a->p;
	for (uint32_t i = from; i < to; i++, out += dims) {
		const float *own = y + (size_t)i * (size_t)dims;
		double x0 = (double)own[0], x1 = dims > 1 ? (double)own[1] : 0, x2 = dims > 2 ? (double)own[2] : 0;
		double s0 = 0, s1 = 0, s2 = 0;
		for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++) {
			const float *their = y + (size_t)node[e] * (size_t)dims;
			double d0 = x0 - (double)their[0], d1 = dims > 1 ? x1 - (double)their[1] : 0;
			double d2 = dims > 2 ? x2 - (double)their[2] : 0;
			double weight = (double)p[e] / (1 + d0 * d0 + d1 * d1 + d2 * d2);
			s0 += weight * d0;
			s1 += weight * d1;
			s2 += weight * d2;
		}
		out[0] = (float)s0;
		if (dims > 1)
			out[1] = (float)s1;
		if (dims > 2)
			out[2] = (float)s2;
	}
}

#ifdef __x86_64__

#define AVX512 __attribute__((target("avx512f,avx512vl,avx512dq,fma")))

/* Loads the coordinates of 8 neighbours; lanes outside the mask get y_i, which adds no force. */
static inline __attribute__((always_inline)) AVX512 void
gather(int dims, const float *y, __m256i node, __mmask8 mask, const __m256 *own, __m512d *out)
{
	if (dims == 2) {
		__m512i none = _mm512_cvtepu32_epi64(_mm256_castps_si256(own[0]));
		none = _mm512_or_si512(none, _mm512_slli_epi64(_mm512_cvtepu32_epi64(_mm256_castps_si256(own[1])), 32));
		__m512i both = _mm512_mask_i32gather_epi64(none, mask, node, (const long long *)y, 8);
		out[0] = _mm512_cvtps_pd(_mm256_castsi256_ps(_mm512_cvtepi64_epi32(both)));
		out[1] = _mm512_cvtps_pd(_mm256_castsi256_ps(_mm512_cvtepi64_epi32(_mm512_srli_epi64(both, 32))));
		return;
	}
	if (dims == 3)
		node = _mm256_add_epi32(node, _mm256_add_epi32(node, node));
	for (int k = 0; k < dims; k++)
		out[k] = _mm512_cvtps_pd(_mm256_mmask_i32gather_ps(own[k], mask, node, y + k, 4));
}

static inline __attribute__((always_inline)) AVX512 void
attract_wide(int dims, const struct sl_affinities *a, const float *y, uint32_t from, uint32_t to, float *out)
{
	const __m512d one = _mm512_set1_pd(1), two = _mm512_set1_pd(2);
	for (uint32_t i = from; i < to; i++, out += dims) {
		__m256 own[3];
		__m512d place[3], sum[3], theirs[3];
		for (int k = 0; k < dims; k++) {
			own[k] = _mm256_set1_ps(y[(size_t)i * (size_t)dims + (size_t)k]);
			place[k] = _mm512_cvtps_pd(own[k]);
			sum[k] = _mm512_setzero_pd();
		}
		for (uint64_t e = a->start[i]; e < a->start[i + 1]; e += 8) {
			uint64_t left = a->start[i + 1] - e;
			__mmask8 mask = left >= 8 ? 0xff : (__mmask8)((1u << left) - 1);
			__m256i node = _mm256_maskz_loadu_epi32(mask, a->node + e);
			__m512d weight = _mm512_cvtps_pd(_mm256_maskz_loadu_ps(mask, a->p + e)), r2 = one;
			gather(dims, y, node, mask, own, theirs);
			for (int k = 0; k < dims; k++) {
				theirs[k] = _mm512_sub_pd(place[k], theirs[k]);
				r2 = _mm512_fmadd_pd(theirs[k], theirs[k], r2);
			}
			__m512d q = _mm512_rcp14_pd(r2);  /* two Newton steps: 14, 28, 53 bits */
			q = _mm512_mul_pd(q, _mm512_fnmadd_pd(r2, q, two));
			q = _mm512_mul_pd(q, _mm512_fnmadd_pd(r2, q, two));
			weight = _mm512_mul_pd(weight, q);
			for (int k = 0; k < dims; k++)
				sum[k] = _mm512_fmadd_pd(weight, theirs[k], sum[k]);
		}
		for (int k = 0; k < dims; k++)
			out[k] = (float)_mm512_reduce_add_pd(sum[k]);
	}
}

static AVX512 void
attract_avx512(int dims, const struct sl_affinities *a, const float *y, uint32_t from, uint32_t to, float *out)
{
	if (dims == 1)
		attract_wide(1, a, y, from, to, out);
	else if (dims == 2)
		attract_wide(2, a, y, from, to, out);
	else
		attract_wide(3, a, y, from, to, out);
}

static bool has_avx512(void)
{
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
	       __builtin_cpu_supports("avx512dq");
}

#endif

void sl__attract_doubles(int dims, const struct sl_affinities *a, const float *y, uint32_t from, uint32_t to,
			 float *out)
{
#ifdef __x86_64__
	/* gathers take signed indices, which are three times the node number in 3-D */
	if (has_avx512() && a->n <= (uint32_t)INT32_MAX / 3) {
		attract_avx512(dims, a, y, from, to, out);
		return;
	}
#endif
	if (dims == 1)
		attract_dims(1, a, y, from, to, out);
	else if (dims == 2)
		attract_dims(2, a, y, from, to, out);
	else
		attract_dims(3, a, y, from, to, out);
}
