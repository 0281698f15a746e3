/* tile.h -- distances between a few queries and many points, and the nearest points of each query so far.
 *
 * Points lie in panels of SL__LANES: value[k][lane], so that a vector register holds one coordinate of 16, 8 or 4
 * points. Queries come in groups of SL__GROUP: value[k][query]. Points are compared by a key that grows with the
 * distance: the sum of squared differences, the negative inner product, the sum or the largest of the absolute
 * differences, the sum of their powers, the number of coordinates that differ (hamming), or their share of those that
 * are not zero in both (jaccard). Differences are taken before they are squared. This has half the speed of
 * |x|^2 + |y|^2 - 2xy, but equal points have distance 0 exactly, ties remain ties, and far from the origin no digits
 * cancel.
 *
 * tile.c is compiled once for each instruction set; sl__tile_kernels() picks the best that the processor has.
 * Internal to core/neighbours/. */
#ifndef SL_TILE_H
#define SL_TILE_H

#include <stdint.h>

#include "core/neighbours/neighbours.h"

#define SL__LANES 32
#define SL__GROUP 12

/* The nearest points of one query: at any time the best `k` are among the first `count`. */
struct sl__nearest {
	float bound;          /* a key of at least this cannot be among the best k */
	uint32_t k, count;
	uint32_t capacity;    /* at least k + 2 SL__LANES */
	uint64_t *entry;      /* [capacity] key and number in one: ascending by key, then by number */
};

static inline uint64_t sl__entry(float key, uint32_t number)
{
	uint32_t bits;
	__builtin_memcpy(&bits, &key, sizeof bits);
	bits ^= bits >> 31 ? 0xffffffffu : 0x80000000u;
	return (uint64_t)bits << 32 | number;
}

static inline float sl__entry_key(uint64_t entry)
{
	uint32_t bits = (uint32_t)(entry >> 32);
	float key;
	bits ^= bits >> 31 ? 0x80000000u : 0xffffffffu;
	__builtin_memcpy(&key, &bits, sizeof key);
	return key;
}

static inline uint32_t sl__entry_number(uint64_t entry) { return (uint32_t)entry; }

/* Empties the list, for the best k. */
void sl__nearest_start(struct sl__nearest *list, uint32_t k);
/* Drops all but the best k and sets the bound. */
void sl__nearest_shrink(struct sl__nearest *list);
/* The same, and sorts them; returns how many there are, at most k. */
uint32_t sl__nearest_sort(struct sl__nearest *list);

struct sl__tile_kernels {
	const char *name;
	/* Adds to list[SL__GROUP] the points of `panels` panels of d coordinates, numbered number[panels * SL__LANES].
	 * query[d][SL__GROUP]. A lane that holds NaN holds no point. power: the exponent of SL_LP. */
	void (*scan)(int metric, float power, uint32_t d, const float *query, const float *panel, uint32_t panels,
		     const uint32_t *number, struct sl__nearest *list);
};

const struct sl__tile_kernels *sl__tile_kernels(void);

#endif
