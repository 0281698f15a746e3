/* Forces and Z: sums over far cells and near points.
 *
 * A group is 32 successive points. A few warps share a group: each has all 32 points, one per thread, and walks through
 * a part of the tree. A warp tests 32 cells at a time, one per thread. A far cell, and each point of a near cell of
 * level 0, goes to a list in shared memory. The number of any other cell goes onto a stack, from which its four
 * children are tested later. When the list has 32 entries, each thread sums their forces on its point. To limit
 * rounding errors, floats are summed over 32 entries first, then over these sums; Z is summed in double precision.
 *
 * The stack is short: all its cells of one level come from one test of 32 cells of the level above. */
#include "gpu/device/launch.cuh"
#include "gpu/state/point.cuh"
#include "gpu/tree/tree.h"

#define WARPS 4
#define BLOCK (32 * WARPS)
#define BATCH 32  /* entries of the list that are summed together */
#define LEVEL_SHIFT 28  /* an entry of the stack holds the cell's level above its number in that level */

struct arguments {
	uint32_t n;
	int levels, stack;  /* stack: its capacity */
	uint32_t first[SL_TREE_LEVELS + 1];
	float steeper;
	const float4 *cell;
	const float *at;
	const uint32_t *index;
};

template <int D, bool HEAVY> struct traversal {
	uint32_t n;
	int top;
	float steeper;
	const float4 *cell;
	const float *at;
	const uint32_t *first;  /* in shared memory, since threads of a warp read different elements */
	float4 *list;           /* [2 * BATCH] positions and masses */
	uint32_t *stack;
	uint32_t group, lane, listed, held;
	float own[D], low[D], high[D], force[D];
	double z;

	/* Whole warp. */
	__device__ __forceinline__ void begin(const struct arguments &o, uint32_t group_number)
	{
		n = o.n;
		top = o.levels - 1;
		steeper = o.steeper;
		cell = o.cell;
		at = o.at;
		group = group_number;
		lane = threadIdx.x % 32;
		listed = held = 0;
		z = 0;
		uint32_t place = group * SL_TREE_GROUP + lane;
		float mine[3];
		load_point<D>(at, place < n ? place : n - 1, mine);
#pragma unroll
		for (int k = 0; k < D; k++) {
			own[k] = low[k] = high[k] = mine[k];
			force[k] = 0;
			for (int step = 16; step; step >>= 1) {
				low[k] = fminf(low[k], __shfl_xor_sync(~0u, low[k], step));
				high[k] = fmaxf(high[k], __shfl_xor_sync(~0u, high[k], step));
			}
		}
	}

	/* Sums the remaining entries of the list. */
	__device__ __forceinline__ void sum_list()
	{
		float sum[D], q_sum = 0;
#pragma unroll
		for (int k = 0; k < D; k++)
			sum[k] = 0;
		__syncwarp();
		listed -= BATCH;
		const float4 *from = list + listed;
#pragma unroll 8
		for (int t = 0; t < BATCH; t++) {
			const float4 its = from[t];
			const float place[3] = {its.x, its.y, its.z};
			float off[D], r2 = 1, steep;
#pragma unroll
			for (int k = 0; k < D; k++) {
				off[k] = own[k] - place[k];
				r2 = fmaf(off[k], off[k], r2);
			}
			q_sum = fmaf(its.w, kernel<HEAVY>(r2, steeper, &steep), q_sum);
			steep *= its.w;
#pragma unroll
			for (int k = 0; k < D; k++)
				sum[k] = fmaf(steep, off[k], sum[k]);
		}
#pragma unroll
		for (int k = 0; k < D; k++)
			force[k] += sum[k];
		z += (double)q_sum;
		__syncwarp();
	}

	/* Whole warp. A thread that has an entry appends it to the list. */
	__device__ __forceinline__ void append(bool have, float4 what)
	{
		uint32_t who = __ballot_sync(~0u, have);
		if (have)
			list[listed + (uint32_t)__popc(who & ((1u << lane) - 1))] = what;
		listed += (uint32_t)__popc(who);
		if (listed >= BATCH)
			sum_list();
	}

	/* Lists the points of near cells of level 0, whose numbers lie behind the stack's end. */
	__device__ __forceinline__ void append_points(uint32_t count)
	{
		const uint32_t side_by_side = 32 / SL_TREE_LEAF;
		const uint32_t *cells = stack + held;
		__syncwarp();
		for (uint32_t base = 0; base < count; base += side_by_side) {
			uint32_t which = base + lane / SL_TREE_LEAF;
			uint32_t place = which < count ? cells[which] * SL_TREE_LEAF + lane % SL_TREE_LEAF : n;
			float its[3] = {0, 0, 0};
			if (place < n)
				load_point<D>(at, place, its);
			append(place < n, make_float4(its[0], D > 1 ? its[1] : 0, D > 2 ? its[2] : 0, 1));
		}
	}

	/* Whole warp. Each thread that has a cell tests it: cell j of a level. A group is never far from its own cells. */
	__device__ __forceinline__ void test_cells(int level, uint32_t j, bool have)
	{
		float4 it = have ? cell[first[level] + j] : make_float4(0, 0, 0, 0);
		const float centre[3] = {it.x, it.y, it.z};
		float d2 = 0;
#pragma unroll
		for (int k = 0; k < D; k++) {
			float off = fmaxf(fmaxf(low[k] - centre[k], centre[k] - high[k]), 0);
			d2 = fmaf(off, off, d2);
		}
		bool inside = level > 0 && group >> 2 * (level - 1) == j;
		bool far = have && (it.w == 0 || (!inside && d2 >= it.w)), near = have && !far;
		uint32_t size = (uint32_t)SL_TREE_LEAF << 2 * level, left = n - j * size;
		it.w = (float)(left < size ? left : size);
		append(far, it);
		uint32_t mine = (1u << lane) - 1, parents = __ballot_sync(~0u, near && level > 0);
		if (near && level > 0)
			stack[held + (uint32_t)__popc(parents & mine)] = (uint32_t)level << LEVEL_SHIFT | j;
		held += (uint32_t)__popc(parents);
		uint32_t leaves = __ballot_sync(~0u, near && level == 0);
		if (near && level == 0)
			stack[held + (uint32_t)__popc(leaves & mine)] = j;
		append_points((uint32_t)__popc(leaves));
		__syncwarp();
	}

	/* Walks through a warp's part of the tree: every `parts`-th cell of the highest level, from cell `part` on, and
	 * all cells below. */
	__device__ __forceinline__ void walk(uint32_t part, uint32_t parts)
	{
		uint32_t count = first[top + 1] - first[top];
		for (uint32_t base = part; base < count; base += 32 * parts) {
			uint32_t j = base + lane * parts;
			test_cells(top, j, j < count);
		}
		while (held) {
			uint32_t taken = held < 8 ? held : 8;
			bool have = lane / 4 < taken;
			uint32_t above = have ? stack[held - 1 - lane / 4] : 1u << LEVEL_SHIFT;
			held -= taken;
			__syncwarp();
			int level = (int)(above >> LEVEL_SHIFT) - 1;
			uint32_t j = (above & ((1u << LEVEL_SHIFT) - 1)) * 4 + lane % 4;
			test_cells(level, j, have && j < first[level + 1] - first[level]);
		}
		if (listed) {
			for (uint32_t t = listed + lane; t < BATCH; t += 32)
				list[t] = make_float4(0, 0, 0, 0);
			listed = BATCH;
			sum_list();
		}
	}
};

/* Sums over the warps of a group, in order; the first warp has the result. */
template <int D>
static __device__ __forceinline__ void add_warps(float *force, double *z)
{
	__shared__ float forces[WARPS][32][D];
	__shared__ double of_z[WARPS][32];
	const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
	for (int k = 0; k < D; k++)
		forces[warp][lane][k] = force[k];
	of_z[warp][lane] = *z;
	__syncthreads();
	for (int w = 1; w < WARPS && warp == 0; w++) {
#pragma unroll
		for (int k = 0; k < D; k++)
			force[k] += forces[w][lane][k];
		*z += of_z[w][lane];
	}
}

/* sums writes force [n * stride], in the order of the points' numbers and not yet divided by Z, and r->level_z[0]; part
 * [groups]. EACH: warps of a group. A block has four warps. Shared memory: a list and a stack for each warp. */
template <int D, bool HEAVY, int EACH>
static __global__ void __launch_bounds__(BLOCK, 10)
sums(const __grid_constant__ struct arguments o, float *__restrict__ force, double *part, struct sl_report *r)
{
	extern __shared__ float4 shared[];
	__shared__ uint32_t first[SL_TREE_LEVELS + 1];
	const int S = padded<D>::stride;
	if (r->state != SL_GO)
		return;
	const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, groups = (o.n - 1) / SL_TREE_GROUP + 1;
	const uint32_t group = blockIdx.x * (WARPS / EACH) + warp / EACH;
	if (threadIdx.x <= SL_TREE_LEVELS)
		first[threadIdx.x] = o.first[threadIdx.x];
	__syncthreads();
	struct traversal<D, HEAVY> a;
	a.first = first;
	a.list = shared + warp * 2 * BATCH;
	a.stack = (uint32_t *)(shared + WARPS * 2 * BATCH) + warp * o.stack;
	bool have = group < groups;
	a.begin(o, have ? group : groups - 1);
	if (have)
		a.walk(warp % EACH, EACH);
	if (EACH > 1)
		add_warps<D>(a.force, &a.z);
	if (have && warp % EACH == 0) {
		uint32_t place = group * SL_TREE_GROUP + lane;
		for (int k = 0; k < D && place < o.n; k++)
			force[(size_t)o.index[place] * S + k] = a.force[k];
		double z = sum_lanes(place < o.n ? a.z - 1 : 0.0);  /* without the pair of the point with itself */
		if (lane == 0)
			part[group] = z;
	}
	if (last_block(&r->arrived[0])) {
		double z = sum_parts(part, groups);
		if (threadIdx.x == 0)
			r->level_z[0] = z;
	}
}

cudaError_t sl__tree_sums(const struct sl_tree_memory *t, float nu, float *force, struct sl_report *r,
			  cudaStream_t stream)
{
	struct arguments o = {t->n, t->levels, 32 * (t->levels + 2), {}, -(nu + 1), t->cell, t->at, t->index[0]};
	for (int i = 0; i <= t->levels; i++)
		o.first[i] = t->first[i];
	size_t shared = WARPS * (2 * BATCH * sizeof(float4) + (size_t)o.stack * sizeof(uint32_t));
	uint32_t groups = blocks_for(t->n, SL_TREE_GROUP);
#define LAUNCH(d, heavy) \
	if (t->dims == d && (nu != 1) == heavy && t->warps == WARPS) \
		sums<d, heavy, WARPS><<<groups, BLOCK, shared, stream>>>(o, force, t->part, r); \
	if (t->dims == d && (nu != 1) == heavy && t->warps == 1) \
		sums<d, heavy, 1><<<blocks_for(groups, WARPS), BLOCK, shared, stream>>>(o, force, t->part, r)
	LAUNCH(1, false); LAUNCH(2, false); LAUNCH(3, false);
	LAUNCH(1, true); LAUNCH(2, true); LAUNCH(3, true);
#undef LAUNCH
	return cudaGetLastError();
}
