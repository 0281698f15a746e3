/* Sorts points in the order of Hilbert's curve: computes their keys and sorts these by a radix sort of 8 bits per pass.
 *
 * A pass is one kernel. A block takes a tile of the keys. It needs, for each digit, the number of keys in all tiles and
 * in the tiles before its own, and sums the counts of all tiles for this. The pass before has made these counts: when
 * it places a key, it knows the key's next tile and its next digit. Counts are integers and the sort is stable, so the
 * order is the same each time. */
#include "gpu/device/launch.cuh"
#include "gpu/state/point.cuh"
#include "gpu/tree/tree.h"

#define BLOCK 256
#define WARPS (BLOCK / 32)
#define DIGIT_BITS 8
#define INSIDE 4.0f  /* the scale is nearly linear up to so many median deviations from the middle */

/* ---- keys ---------------------------------------------------------------------------------------- */

/* Bits of a key along one axis. A float has 24 significant bits. */
template <int D> struct key_bits { static const int BITS = D == 1 ? 32 : D == 2 ? 16 : 10; };

/* The median of the warp's 32 numbers. */
static __device__ __forceinline__ float median(float x)
{
	int lane = (int)threadIdx.x % 32, before = 0;
#pragma unroll
	for (int i = 0; i < 32; i++) {
		float other = __shfl_sync(~0u, x, i);
		before += other < x || (other == x && i < lane);
	}
	return __shfl_sync(~0u, x, __ffs((int)__ballot_sync(~0u, before == 16)) - 1);
}

/* The map from a coordinate of the layout to one of the curve: linear near the middle of the layout, logarithmic far
 * out. So a few outliers do not squeeze all other points into a small part of the curve. The middle and the width of
 * the linear part are medians over a sample of 32 points, which each warp computes. */
template <int D> struct scaling {
	float middle[D], least[D];
	float inverse_width, units;

	__device__ __forceinline__ float bent(float y, int k) const { return asinhf((y - middle[k]) * inverse_width); }

	__device__ __forceinline__ void find(const float *__restrict__ y, uint32_t n, const struct sl_report *r)
	{
		float own[3], off = 0, mean_off = 0, extent = 0, range = 0;
		load_point<D>(y, (uint32_t)((uint64_t)(threadIdx.x % 32) * n / 32), own);
#pragma unroll
		for (int k = 0; k < D; k++) {
			middle[k] = median(own[k]);
			float its_off = fabsf(own[k] - middle[k]);
			off = fmaxf(off, median(its_off));
			mean_off = fmaxf(mean_off, sum_lanes(its_off) / 32);
			extent = fmaxf(extent, r->high[k] - r->low[k]);
		}
		off = off > 0 ? off : mean_off > 0 ? mean_off : extent;  /* most points may coincide */
		inverse_width = extent > 0 ? 1 / (INSIDE * fmaxf(off, 1e-12f * extent)) : 0;
#pragma unroll
		for (int k = 0; k < D; k++) {
			least[k] = bent(r->low[k], k);
			range = fmaxf(range, bent(r->high[k], k) - least[k]);
		}
		units = range > 0 ? ldexpf(1, key_bits<D>::BITS) / range : 0;
	}

	__device__ __forceinline__ uint32_t unit(float y, int k) const
	{
		const float unit_max = D == 1 ? 4294967040.0f : ldexpf(1, key_bits<D>::BITS) - 1;
		return (uint32_t)fminf(fmaxf((bent(y, k) - least[k]) * units, 0), unit_max);
	}
};

/* J. Skilling: Programming the Hilbert curve. AIP Conference Proceedings 707, 381 (2004). */
template <int D> static __device__ __forceinline__ uint32_t along_curve(uint32_t *x)
{
	const int BITS = key_bits<D>::BITS;
	uint32_t key = 0, turn = 0;
	for (uint32_t bit = 1u << (BITS - 1); bit > 1; bit >>= 1)
#pragma unroll
		for (int k = 0; k < D; k++) {
			uint32_t swap = x[k] & bit ? 0 : (x[0] ^ x[k]) & (bit - 1);
			x[0] ^= x[k] & bit ? bit - 1 : swap;
			x[k] ^= swap;
		}
#pragma unroll
	for (int k = 1; k < D; k++)
		x[k] ^= x[k - 1];
	for (uint32_t bit = 1u << (BITS - 1); bit > 1; bit >>= 1)
		turn ^= x[D - 1] & bit ? bit - 1 : 0;
	for (int b = BITS - 1; b >= 0; b--)
#pragma unroll
		for (int k = 0; k < D; k++)
			key = key << 1 | ((x[k] ^ turn) >> b & 1);
	return key;
}

template <> __device__ __forceinline__ uint32_t along_curve<1>(uint32_t *x) { return x[0]; }

/* keys writes key [n] of y [n * stride] and count[0]; count[1 ..] become 0. A block takes a tile. */
template <int D>
static __global__ void __launch_bounds__(BLOCK)
keys(uint32_t n, const float *__restrict__ y, uint32_t *__restrict__ key, uint32_t *__restrict__ count, int tile_bits,
     const struct sl_report *r)
{
	__shared__ uint32_t counted[SL_TREE_DIGITS];
	if (r->state != SL_GO)
		return;
	uint32_t from = blockIdx.x << tile_bits, to = n - from < 1u << tile_bits ? n : from + (1u << tile_bits);
	struct scaling<D> s;
	s.find(y, n, r);
	counted[threadIdx.x] = 0;
	__syncthreads();
	for (uint32_t i = from + threadIdx.x; i < to; i += BLOCK) {
		float place[3];
		uint32_t unit[D];
		load_point<D>(y, i, place);
#pragma unroll
		for (int k = 0; k < D; k++)
			unit[k] = s.unit(place[k], k);
		uint32_t own = along_curve<D>(unit);
		key[i] = own;
		atomicAdd(&counted[own % SL_TREE_DIGITS], 1u);
	}
	__syncthreads();
	for (int pass = 0; pass < SL_TREE_PASSES; pass++)
		count[((size_t)pass * gridDim.x + blockIdx.x) * SL_TREE_DIGITS + threadIdx.x] = pass ? 0 : counted[threadIdx.x];
}

/* ---- sort ---------------------------------------------------------------------------------------- */

/* Returns the sum over the lower threads of the block. */
static __device__ __forceinline__ uint32_t sum_before(uint32_t x)
{
	__shared__ uint32_t warp_sum[WARPS];
	int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
	uint32_t sum = x;
#pragma unroll
	for (int step = 1; step < 32; step <<= 1) {
		uint32_t other = __shfl_up_sync(~0u, sum, (unsigned)step);
		sum += lane >= step ? other : 0;
	}
	if (lane == 31)
		warp_sum[warp] = sum;
	__syncthreads();
	for (int w = 0; w < warp; w++)
		x -= warp_sum[w];
	return sum - x;
}

/* Thread d takes digit d. place[warp][d] holds the number of keys with that digit in the warps before; it becomes the
 * place of the warp's first such key. */
static __device__ __forceinline__ void
find_places(uint32_t (*place)[SL_TREE_DIGITS], const uint32_t *__restrict__ count)
{
	uint32_t all = 0, before = 0;
#pragma unroll 8
	for (uint32_t t = 0; t < gridDim.x; t++) {
		uint32_t here = count[(size_t)t * SL_TREE_DIGITS + threadIdx.x];
		all += here;
		before += t < blockIdx.x ? here : 0;
	}
	uint32_t next = sum_before(all) + before;
	for (int w = 0; w < WARPS; w++) {
		uint32_t here = place[w][threadIdx.x];
		place[w][threadIdx.x] = next;
		next += here;
	}
}

/* sort_digit sorts keys and indices by the 8 bits of the keys from `shift` on, and counts the digits for the next pass.
 * FIRST: the index of a key is its place. LAST: the keys are not written. A block takes a tile; each of its warps takes
 * an eighth of the tile, 32 keys at a time. */
template <bool FIRST, bool LAST>
static __global__ void __launch_bounds__(BLOCK)
sort_digit(uint32_t n, const uint32_t *__restrict__ key, const uint32_t *__restrict__ index,
	   uint32_t *__restrict__ key_out, uint32_t *__restrict__ index_out, const uint32_t *__restrict__ count,
	   uint32_t *__restrict__ next_count, int tile_bits, int shift, const struct sl_report *r)
{
	__shared__ uint32_t place[WARPS][SL_TREE_DIGITS];
	if (r->state != SL_GO)
		return;
	const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, each = (1u << tile_bits) / WARPS;
	const uint32_t first = (blockIdx.x << tile_bits) + warp * each;
	const uint32_t from = first < n ? first : n, to = n - from < each ? n : from + each;
#pragma unroll
	for (int w = 0; w < WARPS; w++)
		place[w][threadIdx.x] = 0;
	__syncthreads();
	for (uint32_t i = from + lane; i < to; i += 32)
		atomicAdd(&place[warp][key[i] >> shift & (SL_TREE_DIGITS - 1)], 1u);
	__syncthreads();
	find_places(place, count);
	__syncthreads();
	for (uint32_t base = from; base < to; base += 32) {
		uint32_t i = base + lane, own = i < to ? key[i] : 0, its = i < to && !FIRST ? index[i] : i;
		uint32_t digit = i < to ? own >> shift & (SL_TREE_DIGITS - 1) : SL_TREE_DIGITS;
		uint32_t same = __match_any_sync(~0u, digit), ahead = (uint32_t)__popc(same & ((1u << lane) - 1)), at = 0;
		if (i < to)
			at = place[warp][digit] + ahead;
		__syncwarp();
		if (i < to && !ahead)
			place[warp][digit] += (uint32_t)__popc(same);
		__syncwarp();
		if (i >= to)
			continue;
		index_out[at] = its;
		if (!LAST) {
			key_out[at] = own;
			uint32_t next = own >> (shift + DIGIT_BITS) & (SL_TREE_DIGITS - 1);
			atomicAdd(&next_count[(size_t)(at >> tile_bits) * SL_TREE_DIGITS + next], 1u);
		}
	}
}

cudaError_t sl__tree_order(const struct sl_tree_memory *t, const struct sl_particles *p, const struct sl_report *r,
			   cudaStream_t stream)
{
	uint32_t tiles = blocks_for(t->n, 1u << t->tile_bits);
	size_t counts = (size_t)tiles * SL_TREE_DIGITS;
#define LAUNCH(d) keys<d><<<tiles, BLOCK, 0, stream>>>(t->n, p->y, t->key[0], t->count, t->tile_bits, r)
	BY_DIMS(t->dims, LAUNCH);
#undef LAUNCH
	cudaError_t status = cudaGetLastError();
#define PASS(first, last, from, to, pass) \
	sort_digit<first, last><<<tiles, BLOCK, 0, stream>>>(t->n, t->key[from], t->index[from], t->key[to], \
		t->index[to], t->count + counts * pass, t->count + counts * (pass + 1), t->tile_bits, DIGIT_BITS * pass, r); \
	status = first_error(status, cudaGetLastError())
	PASS(true, false, 0, 1, 0);
	PASS(false, false, 1, 0, 1);
	PASS(false, false, 0, 1, 2);
	PASS(false, true, 1, 0, 3);
#undef PASS
	return status;
}
