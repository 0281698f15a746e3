/* Cuts lists to their best entries. A group of threads (a warp, or a block for long lists) loads a row's list into
 * shared memory. It finds the worst score to keep bit by bit, from the highest bit down, by counting the scores that
 * are not below a trial value. Of equal scores the lowest numbers stay.
 *
 * Times in this file: one NVIDIA H200, until 2026-11-22; commands: docs/notes/gpu-points.md. */
#include "gpu/neighbours/scan/scan.h"
#include "gpu/neighbours/sort/select.cuh"

#define WARP_LIST 1024u  /* longer lists get a block */
#define BLOCK_THREADS 256
#define WARPS 4

/* The keep-th largest of score[count]. The search skips the leading bits that all scores share. It ends early when
 * exactly `keep` scores are not below the trial value: the smallest of these is the result. */
template <int G>
static __device__ uint32_t keep_th(const uint2 *held, uint32_t count, uint32_t keep, uint32_t *scratch)
{
	uint32_t low = UINT32_MAX, high = 0;
	for (uint32_t i = threadIdx.x % G; i < count; i += G) {
		low = min(low, held[i].x);
		high = max(high, held[i].x);
	}
	low = group_min<G>(low, scratch);
	high = ~group_min<G>(~high, scratch);
	if (low == high)
		return low;
	uint32_t bit = 1u << (31 - __clz((int)(low ^ high))), score = low & ~(2 * bit - 1), exact = 0;
	for (; bit && !exact; bit >>= 1) {
		uint32_t n = 0;
		for (uint32_t i = threadIdx.x % G; i < count; i += G)
			n += held[i].x >= (score | bit);
		n = group_sum<G>(n, scratch);
		if (n >= keep)
			score |= bit;
		exact = n == keep;
	}
	low = UINT32_MAX;
	for (uint32_t i = threadIdx.x % G; i < count; i += G)
		low = held[i].x >= score ? min(low, held[i].x) : low;
	return group_min<G>(low, scratch);
}

/* cut leaves in each row's list the `keep` best of its entries and sets the row's bound. G threads per row; shared
 * memory: the row's list. 4.5 ms for 131,072 rows over 13 rounds (H200). */
template <int G>
static __global__ void __launch_bounds__(G == 32 ? WARPS * 32 : G)
cut(struct sl_lists l, uint32_t rows, uint32_t dense, int round, bool repeat)
{
	extern __shared__ __align__(16) uint2 held[];
	__shared__ uint32_t scratch[G / 32 + 1];
	uint32_t row = G == 32 ? blockIdx.x * WARPS + threadIdx.x / 32 : blockIdx.x, me = threadIdx.x % G;
	uint2 *mine = held + (G == 32 ? threadIdx.x / 32 * l.capacity : 0);
	if (row >= rows || l.bound[row].score == INFINITY || (repeat && !(l.again[row] >> round & 1)))
		return;
	uint32_t count = dense ? dense : l.count[row];
	bool over = count > l.capacity;
	uint2 *list = l.entry + (size_t)row * l.capacity;
	count = over ? l.capacity : count;
	for (uint32_t i = me; i < count; i += G) {
		uint2 e = list[i];
		mine[i] = make_uint2(ordered(__uint_as_float(e.x)), e.y);
	}
	group_sync<G>();
	/* the keep-th largest score, then the largest number that stays among its equals */
	uint32_t number = UINT32_MAX, score = keep_th<G>(mine, count, l.keep, scratch);
	uint32_t above = 0, equal = 0;
	for (uint32_t i = me; i < count; i += G) {
		above += mine[i].x > score;
		equal += mine[i].x == score;
	}
	above = group_sum<G>(above, scratch);
	equal = group_sum<G>(equal, scratch);
	if (above + equal > l.keep) {
		uint32_t want = l.keep - above;
		number = 0;  /* the want-th smallest number: the largest v with fewer than `want` numbers below it */
		for (uint32_t bit = 1u << 31; bit; bit >>= 1) {
			uint32_t n = 0;
			for (uint32_t i = me; i < count; i += G)
				n += mine[i].x == score && mine[i].y < (number | bit);
			if (group_sum<G>(n, scratch) < want)
				number |= bit;
		}
	}
	if (me == 0) {
		l.bound[row].score = unordered(score);
		l.bound[row].index = number;
		l.count[row] = l.keep;
		if (over) {
			l.again[row] |= 1u << round;
			atomicOr(l.any, 1u << round);
		} else if (repeat) {
			l.again[row] &= ~(1u << round);
		}
	}
	if (over)
		return;  /* the kept entries stay; this round will be repeated */
	uint32_t filled = 0;
	for (uint32_t from = 0; from < count; from += G) {
		uint32_t i = from + me;
		uint2 e = i < count ? mine[i] : make_uint2(0, 0);
		bool stays = i < count && (e.x > score || (e.x == score && e.y <= number));
		uint32_t total, at = filled + group_rank<G>(stays, scratch, &total);
		if (stays && at < l.keep)  /* a repeated round may bring an entry twice */
			list[at] = make_uint2(__float_as_uint(unordered(e.x)), e.y);
		filled += total;
	}
}

/* Empties the lists. One thread per row. */
static __global__ void start(struct sl_lists l, const uint32_t *index, uint32_t rows)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i == 0)
		*l.any = 0;
	if (i >= rows)
		return;
	l.count[i] = 0;
	l.again[i] = 0;
	l.bound[i].score = index[i] == SL_NOBODY ? INFINITY : -INFINITY;
	l.bound[i].index = SL_NOBODY;
}

cudaError_t sl__lists_start(const struct sl_lists *l, const struct sl_side *rows, cudaStream_t stream)
{
	start<<<blocks_for(rows->count, 256), 256, 0, stream>>>(*l, rows->index, rows->count);
	return cudaGetLastError();
}

cudaError_t sl__lists_cut(const struct sl_lists *l, uint32_t rows, uint32_t dense, int round, bool repeat,
			  cudaStream_t stream)
{
	size_t bytes = l->capacity * sizeof(uint2);
	if (l->capacity <= WARP_LIST)
		cut<32><<<blocks_for(rows, WARPS), WARPS * 32, WARPS * bytes, stream>>>(*l, rows, dense, round, repeat);
	else
		cut<BLOCK_THREADS><<<rows, BLOCK_THREADS, bytes, stream>>>(*l, rows, dense, round, repeat);
	return cudaGetLastError();
}

uint32_t sl__lists_most(void)
{
	uint32_t entries = (uint32_t)(shared_most() / sizeof(uint2) / SL_TILE * SL_TILE);
	return entries < SL_LIST_MAX ? entries : SL_LIST_MAX;
}

cudaError_t sl__lists_init(void) { return allow_shared(sl__lists_most() * sizeof(uint2), -1, cut<BLOCK_THREADS>); }
