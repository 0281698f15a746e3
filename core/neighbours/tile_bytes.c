/* Squared distances between rows of bytes, as integers: |x|^2 + |y|^2 - 2 x y. An instruction that multiplies and adds
 * 64 bytes at a time (AVX-512 VNNI) computes x y. One factor must be signed, so 128 is subtracted from the queries'
 * bytes, and |y|^2 is corrected accordingly. Nothing is rounded. Compiled only for processors with VNNI. */
#include <immintrin.h>
#include <string.h>

#include "core/neighbours/tile.h"

#define ROWS SL__GROUP

/* sum += products of the bytes of y (unsigned) and x (signed), by fours. With the intrinsic, gcc 12 would store all
 * sums to memory in every round. */
static inline __attribute__((always_inline)) void add(__m512i *sum, __m512i y, __m512i x)
{
	__asm__("vpdpbusd %2, %1, %0" : "+v"(*sum) : "v"(y), "v"(x));
}

static inline __attribute__((always_inline)) void
collect(__m512i a, __m512i b, uint32_t there, const uint32_t *number, struct sl__nearest *list)
{
	int32_t bound, keys[SL__LANES];
	memcpy(&bound, &list->bound, sizeof bound);
	uint32_t hits = (uint32_t)_mm512_cmplt_epi32_mask(a, _mm512_set1_epi32(bound)) |
			(uint32_t)_mm512_cmplt_epi32_mask(b, _mm512_set1_epi32(bound)) << 16;
	hits &= there;
	if (__builtin_expect(!hits, 1))
		return;
	memcpy(keys, &a, sizeof a);
	memcpy(keys + 16, &b, sizeof b);
	for (; hits; hits &= hits - 1) {
		int lane = __builtin_ctz(hits);
		float key;
		memcpy(&key, &keys[lane], sizeof key);
		list->entry[list->count++] = sl__entry(key, number[lane]);
	}
	if (list->count + SL__LANES > list->capacity)
		sl__nearest_shrink(list);
}

void sl__scan_bytes_vnni(uint32_t words, const int32_t *query, const int32_t *panel, uint32_t panels,
			 const uint32_t *number, struct sl__nearest *list)
{
	for (uint32_t i = 0; i < panels; i++, panel += (size_t)(words + 1) * SL__LANES, number += SL__LANES) {
		__m512i dot[ROWS][2];
#pragma GCC unroll 12
		for (int r = 0; r < ROWS; r++)
			dot[r][0] = dot[r][1] = _mm512_setzero_si512();
		for (uint32_t k = 0; k < words; k++) {
			__m512i a = _mm512_loadu_si512(panel + (size_t)k * SL__LANES);
			__m512i b = _mm512_loadu_si512(panel + (size_t)k * SL__LANES + 16);
#pragma GCC unroll 12
			for (int r = 0; r < ROWS; r++) {
				__m512i x = _mm512_set1_epi32(query[(size_t)k * SL__GROUP + r]);
				add(&dot[r][0], a, x);
				add(&dot[r][1], b, x);
			}
		}
		__m512i a = _mm512_loadu_si512(panel + (size_t)words * SL__LANES);
		__m512i b = _mm512_loadu_si512(panel + (size_t)words * SL__LANES + 16);
		__m512i none = _mm512_set1_epi32(-1);
		uint32_t there = (uint32_t)_mm512_cmpneq_epi32_mask(_mm512_loadu_si512(number), none) |
				 (uint32_t)_mm512_cmpneq_epi32_mask(_mm512_loadu_si512(number + 16), none) << 16;
#pragma GCC unroll 12
		for (int r = 0; r < ROWS; r++) {
			__m512i x = _mm512_set1_epi32(query[(size_t)words * SL__GROUP + r]);
			__m512i p = _mm512_sub_epi32(_mm512_add_epi32(a, x), _mm512_slli_epi32(dot[r][0], 1));
			__m512i q = _mm512_sub_epi32(_mm512_add_epi32(b, x), _mm512_slli_epi32(dot[r][1], 1));
			collect(p, q, there, number, list + r);
		}
	}
}
