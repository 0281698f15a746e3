/* Makes the cells of a tree, from its points upward. */
#include "gpu/device/launch.cuh"
#include "gpu/state/point.cuh"
#include "gpu/tree/tree.h"

#define BLOCK 512     /* points of a block, which are a cell of level 3 */
#define LEVEL 3
/* Squared width of a cell in which the kernel is linear to 1e-4. Its centre stands for its points at any distance. */
#define NARROW 1e-4f

struct levels {
	int count;
	uint32_t first[SL_TREE_LEVELS + 1];
};

template <int D> struct summary {
	float low[D], high[D], sum[D];

	__device__ __forceinline__ void clear()
	{
#pragma unroll
		for (int k = 0; k < D; k++) {
			low[k] = INFINITY;
			high[k] = -INFINITY;
			sum[k] = 0;
		}
	}

	__device__ __forceinline__ void add(const float *other_low, const float *other_high, const float *other_sum)
	{
#pragma unroll
		for (int k = 0; k < D; k++) {
			low[k] = fminf(low[k], other_low[k]);
			high[k] = fmaxf(high[k], other_high[k]);
			sum[k] += other_sum[k];
		}
	}

	/* Adds the summary of the thread whose number differs in that bit. */
	__device__ __forceinline__ void add_across(int bit)
	{
		float its_low[D], its_high[D], its_sum[D];
#pragma unroll
		for (int k = 0; k < D; k++) {
			its_low[k] = __shfl_xor_sync(~0u, low[k], bit);
			its_high[k] = __shfl_xor_sync(~0u, high[k], bit);
			its_sum[k] = __shfl_xor_sync(~0u, sum[k], bit);
		}
		add(its_low, its_high, its_sum);
	}

	__device__ __forceinline__ void save(struct sl_tree_box *b) const
	{
#pragma unroll
		for (int k = 0; k < D; k++) {
			b->low[k] = low[k];
			b->high[k] = high[k];
			b->sum[k] = sum[k];
		}
	}
};

/* Cell j of a level, if there is one. */
template <int D>
static __device__ __forceinline__ void
finish_cell(const struct summary<D> *s, float4 *cell, const struct levels *levels, int level, uint32_t j, uint32_t n,
	    float inverse_theta2)
{
	if (level >= levels->count || j >= levels->first[level + 1] - levels->first[level])
		return;
	uint64_t size = (uint64_t)SL_TREE_LEAF << 2 * level, left = n - j * size;
	float inverse = 1 / (float)(left < size ? left : size), side = 0, centre[3] = {0, 0, 0};
#pragma unroll
	for (int k = 0; k < D; k++) {
		side = fmaxf(side, s->high[k] - s->low[k]);
		centre[k] = s->sum[k] * inverse;
	}
	float open = side * side <= NARROW ? 0 : side * side * inverse_theta2;
	cell[levels->first[level] + j] = make_float4(centre[0], centre[1], centre[2], open);
}

/* Makes the levels above LEVEL, in the last block to arrive. box: the boxes from level LEVEL on. */
template <int D>
static __device__ __forceinline__ void
upper_cells(float4 *cell, struct sl_tree_box *box, const struct levels *levels, uint32_t n, float inverse_theta2)
{
	for (int level = LEVEL + 1; level < levels->count; level++) {
		const struct sl_tree_box *below = box + (levels->first[level - 1] - levels->first[LEVEL]);
		uint32_t count = levels->first[level + 1] - levels->first[level];
		uint32_t below_count = levels->first[level] - levels->first[level - 1];
		for (uint32_t j = threadIdx.x; j < count; j += BLOCK) {
			struct summary<D> s;
			s.clear();
			for (uint32_t i = 4 * j; i < 4 * j + 4 && i < below_count; i++)
				s.add(below[i].low, below[i].high, below[i].sum);
			finish_cell<D>(&s, cell, levels, level, j, n, inverse_theta2);
			s.save(&box[levels->first[level] - levels->first[LEVEL] + j]);
		}
		__syncthreads();
	}
}

/* cells writes at [n * stride], the points y [n * stride] in the order index [n], and the cells and boxes of all
 * levels. A block takes 512 points and makes their cells, up to the cell of level 3 that holds them all. */
template <int D>
static __global__ void __launch_bounds__(BLOCK)
cells(uint32_t n, const float *__restrict__ y, const uint32_t *__restrict__ index, float *__restrict__ at, float4 *cell,
      struct sl_tree_box *box, struct levels levels, float inverse_theta2, struct sl_report *r)
{
	const int S = padded<D>::stride;
	__shared__ struct sl_tree_box of_warp[BLOCK / 32];
	if (r->state != SL_GO)
		return;
	const uint32_t i = blockIdx.x * BLOCK + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
	struct summary<D> s;
	s.clear();
	if (i < n) {
		float place[3];
		load_point<D>(y, index[i], place);
		s.add(place, place, place);
#pragma unroll
		for (int k = 0; k < D; k++)
			at[(size_t)i * S + k] = place[k];
	}
	for (int bit = 1; bit < SL_TREE_LEAF; bit <<= 1)
		s.add_across(bit);
	if (lane % SL_TREE_LEAF == 0)
		finish_cell<D>(&s, cell, &levels, 0, i / SL_TREE_LEAF, n, inverse_theta2);
	s.add_across(8);
	s.add_across(16);
	if (lane == 0) {
		finish_cell<D>(&s, cell, &levels, 1, i / 32, n, inverse_theta2);
		s.save(&of_warp[warp]);
	}
	__syncthreads();
	if (warp == 0) {
		const struct sl_tree_box *own = &of_warp[lane % (BLOCK / 32)];
		s.clear();
		s.add(own->low, own->high, own->sum);
		s.add_across(1);
		s.add_across(2);
		if (lane < BLOCK / 32 && lane % 4 == 0)
			finish_cell<D>(&s, cell, &levels, 2, blockIdx.x * 4 + lane / 4, n, inverse_theta2);
		s.add_across(4);
		s.add_across(8);
		if (lane == 0) {
			finish_cell<D>(&s, cell, &levels, 3, blockIdx.x, n, inverse_theta2);
			if (levels.count > LEVEL)
				s.save(&box[blockIdx.x]);
		}
	}
	if (levels.count > LEVEL + 1 && last_block(&r->arrived[0]))
		upper_cells<D>(cell, box, &levels, n, inverse_theta2);
}

cudaError_t sl__tree_cells(const struct sl_tree_memory *t, const struct sl_particles *p, struct sl_report *r,
			   cudaStream_t stream)
{
	struct levels levels = {t->levels, {}};
	for (int i = 0; i <= t->levels; i++)
		levels.first[i] = t->first[i];
#define LAUNCH(d) \
	cells<d><<<blocks_for(t->n, BLOCK), BLOCK, 0, stream>>>(t->n, p->y, t->index[0], t->at, t->cell, t->box, levels, \
								 t->inverse_theta2, r)
	BY_DIMS(t->dims, LAUNCH);
#undef LAUNCH
	return cudaGetLastError();
}

cudaError_t sl__tree_make(const struct sl_tree_memory *t, const struct sl_particles *p, struct sl_report *r,
			  cudaStream_t stream)
{
	cudaError_t status = sl__tree_order(t, p, r, stream);
	return status == cudaSuccess ? sl__tree_cells(t, p, r, stream) : status;
}
