/* Makes P from neighbours. A warp takes a row, unless a kernel says otherwise.
 *
 * Calibration: the entropy decreases as a function of log beta, so one beta gives the requested entropy. Newton's
 * method within a bracket finds it, as in core/graph/perplexity.c. It computes in float32 on distances relative to the
 * row's nearest neighbour and divided by their mean, so beta is near 1 for any unit. The entropy ends within 3e-6 of
 * its target.
 *
 * 1.3 million rows of 90 neighbours on an H200: calibrate 5.6 ms, lengths 1.1 ms, fill 4.2 ms. Tests:
 * tests/gpu/test_joint.c, and tests/gpu/test_neighbours.c, affinities_are_those_of_the_cpu.
 *
 * Times in this file: one NVIDIA H200, until 2026-11-26; commands: docs/notes/gpu-points.md. */
#include <float.h>

#include "core/neighbours/neighbours.h"
#include "gpu/neighbours/joint/joint.h"
#include "gpu/neighbours/sort/select.cuh"

#define BLOCK 256
#define TOLERANCE 3e-6f
#define STEPS 100

/* ---- arrival -------------------------------------------------------------------------- */

static __global__ void check_rows(uint32_t n, uint32_t k, const uint32_t *index, const float *distance,
				  struct sl_joint_report *report)
{
	uint32_t row = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32;
	if (row >= n)
		return;
	bool bad = false;
	for (uint32_t i = threadIdx.x % 32; i < k; i += 32) {
		uint32_t j = index[(size_t)row * k + i];
		float d = distance[(size_t)row * k + i];
		float before = i ? distance[(size_t)row * k + i - 1] : 0;
		if (j == SL_NO_NEIGHBOUR)  /* the rest must be empty, too */
			bad |= i + 1 < k && index[(size_t)row * k + i + 1] != SL_NO_NEIGHBOUR;
		else
			bad |= j >= n || j == row || !(d >= before) || !(d <= FLT_MAX);
	}
	if (bad)
		atomicMin(&report->bad, row);
}

cudaError_t sl__joint_check(uint32_t n, uint32_t k, const uint32_t *index, const float *distance,
			    struct sl_joint_report *report, cudaStream_t stream)
{
	return each_warp(n, check_rows, stream, n, k, index, distance, report);
}

static __global__ void renumber(uint32_t n, uint32_t k, const uint32_t *index, const float *distance,
				const uint32_t *new_of, const uint32_t *old_of, uint32_t *index_out, float *distance_out)
{
	uint32_t row = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32;
	if (row >= n)
		return;
	size_t from = (size_t)old_of[row] * k, to = (size_t)row * k;
	for (uint32_t i = threadIdx.x % 32; i < k; i += 32) {
		uint32_t j = index[from + i];
		index_out[to + i] = j == SL_NO_NEIGHBOUR ? j : new_of[j];
		distance_out[to + i] = distance[from + i];
	}
}

cudaError_t sl__joint_renumber(uint32_t n, uint32_t k, const uint32_t *index, const float *distance,
			       const uint32_t *new_of, const uint32_t *old_of, uint32_t *index_out, float *distance_out,
			       cudaStream_t stream)
{
	return each_warp(n, renumber, stream, n, k, index, distance, new_of, old_of, index_out, distance_out);
}

/* ---- calibration ------------------------------------------------------------------------ */

/* Adds to p[k] the probabilities of one perplexity over the first k distances, times share. False if no beta gives that
 * entropy. */
static __device__ bool calibrate_row(const float *distance, uint32_t k, float perplexity, float target, float share,
				     float *l, float *p)
{
	uint32_t lane = threadIdx.x % 32, ties = 0;
	float farthest = distance[k - 1], unit = farthest > 1e-37f ? 1 / farthest : 1e37f;
	float nearest = distance[0] * unit, spread = 0;
	for (uint32_t j = lane; j < k; j += 32) {
		float d = distance[j] * unit;
		l[j] = (d - nearest) * (d + nearest);
		spread += l[j];
		ties += distance[j] == distance[0];
	}
	ties = __reduce_add_sync(~0u, ties);
	spread = sum_lanes(spread) / (float)k;
	bool few = (float)k <= perplexity || ties == k, many = (float)ties >= perplexity;
	if (few || many || !(spread > 0)) {
		uint32_t count = few || !many ? k : ties;
		for (uint32_t j = lane; j < count; j += 32)
			p[j] += share / (float)count;
		return false;
	}
	float low = -INFINITY, high = INFINITY, x = 0, last = INFINITY, sum = 1, beta = 1, inverse = 1 / spread;
	bool found = false;
	for (int step = 0; step < STEPS && !found; step++) {
		float first = 0, second = 0;
		beta = expf(x) * inverse;
		sum = 0;
		for (uint32_t j = lane; j < k; j += 32) {
			float e = l[j] * beta, w = expf(-e);
			sum += w;
			first = fmaf(w, e, first);
			second = fmaf(w * e, e, second);
		}
		sum = sum_lanes(sum);
		first = sum_lanes(first) / sum;
		second = sum_lanes(second) / sum;
		float value = logf(sum) + first, slope = first * first - second;
		found = fabsf(value - target) <= TOLERANCE;
		if (found)
			break;
		if (value > target)
			low = x;
		else
			high = x;
		float next = x - (value - target) / slope;
		if (isinf(low) || isinf(high))
			next = fabsf(next - x) > 4 || !(next > low && next < high) ? x + (isinf(low) ? -2 : 2) : next;
		else if (!(next > low && next < high) || fabsf(next - x) > 0.5f * last)
			next = 0.5f * (low + high);
		if (next == x || fabsf(next) > 80)
			break;
		last = fabsf(next - x);
		x = next;
	}
	for (uint32_t j = lane; j < k; j += 32)
		p[j] += share * expf(-l[j] * beta) / sum;
	return found;
}

/* One warp per row. Shared memory per warp: sorted keys, scratch, probabilities. */
static __global__ void calibrate(struct sl_device_neighbours nb, struct sl_calibration c, uint32_t width, uint32_t size,
				 uint32_t *node, float *p_out, uint32_t *edge, struct sl_joint_report *report)
{
	extern __shared__ __align__(16) uint64_t memory[];
	uint32_t lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
	uint64_t *key = memory + (size_t)(threadIdx.x / 32) * 2 * size;
	float *l = (float *)(key + size), *p = l + size;
	if (row >= nb.n)
		return;
	const uint32_t *index = nb.index + (size_t)row * nb.k;
	uint32_t have = 0, used = 0;
	for (uint32_t i = lane; i < width; i += 32) {
		have += index[i] != SL_NO_NEIGHBOUR;
		p[i] = 0;
	}
	have = __reduce_add_sync(~0u, have);
	__syncwarp();
	bool met = have > 0;
	for (int s = 0; s < c.count && have; s++) {
		uint32_t k = c.needs[s] < have ? c.needs[s] : have;
		used = k > used ? k : used;
		met &= calibrate_row(nb.distance + (size_t)row * nb.k, k, c.perplexity[s], c.target[s],
				     1.0f / (float)c.count, l, p);
		__syncwarp();
	}
	if (lane == 0) {
		if (!met)
			atomicAdd(&report->unreachable, 1);
		if (have)
			atomicAdd(&report->rows, 1);
	}
	for (uint32_t i = lane; i < size; i += 32)
		key[i] = i < used ? (uint64_t)index[i] << 32 | __float_as_uint(fmaxf(p[i], FLT_MIN)) : UINT64_MAX;
	group_sort<32>(key, size);
	for (uint32_t i = lane; i < width; i += 32) {
		size_t at = (size_t)row * width + i;
		node[at] = key[i] == UINT64_MAX ? nb.n : (uint32_t)(key[i] >> 32);
		p_out[at] = key[i] == UINT64_MAX ? 0 : __uint_as_float((uint32_t)key[i]);
		edge[at] = (uint32_t)at;
	}
}

/* The number of warps in a block, if each needs `bytes` of shared memory. */
static uint32_t warps_for(size_t bytes)
{
	return bytes * 8 <= 48 << 10 ? 8 : bytes * 4 <= 48 << 10 ? 4 : bytes * 2 <= 48 << 10 ? 2 : 1;
}

cudaError_t sl__joint_calibrate(const struct sl_device_neighbours *nb, const struct sl_calibration *c, uint32_t width,
				uint32_t *node, float *p, uint32_t *edge, struct sl_joint_report *report,
				cudaStream_t stream)
{
	uint32_t size = 32;
	while (size < width)
		size *= 2;
	size_t bytes = size * 16ull;
	uint32_t warps = warps_for(bytes);
	calibrate<<<blocks_for(nb->n, warps), warps * 32, warps * bytes, stream>>>(*nb, *c, width, size, node, p, edge,
									  report);
	return cudaGetLastError();
}

/* ---- the union of both directions ------------------------------------------------------------ */

static __device__ __forceinline__ uint32_t first_not_less(const uint32_t *x, uint32_t count, uint32_t value)
{
	uint32_t low = 0;
	while (count) {
		uint32_t half = count / 2;
		if (x[low + half] < value) {
			low += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return low;
}

/* Copies the row's outgoing edges to shared memory; returns their number. */
static __device__ __forceinline__ uint32_t take_own(const struct sl_joint &j, uint32_t row, uint32_t *own)
{
	uint32_t used = 0;
	for (uint32_t i = threadIdx.x % 32; i < j.width; i += 32) {
		own[i] = j.node[(size_t)row * j.width + i];
		used += own[i] < j.n;
	}
	used = __reduce_add_sync(~0u, used);
	__syncwarp();
	return used;
}

/* A row has its outgoing edges, and the incoming edges whose source is not among their targets. Shared memory of a
 * warp: the targets. */
static __global__ void lengths(struct sl_joint j, uint32_t *length, struct sl_joint_report *report)
{
	extern __shared__ __align__(16) uint32_t held[];
	uint32_t lane = threadIdx.x % 32, row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, extra = 0;
	uint32_t *own = held + (size_t)(threadIdx.x / 32) * j.width;
	if (row >= j.n)
		return;
	uint32_t used = take_own(j, row, own);
	for (uint32_t e = j.from_start[row] + lane; e < j.from_start[row + 1]; e += 32) {
		uint32_t source = j.from[e] / j.width, at = first_not_less(own, used, source);
		extra += !(at < used && own[at] == source);
	}
	extra = __reduce_add_sync(~0u, extra);
	if (lane)
		return;
	length[row] = used + extra;
	if (!(used + extra))
		atomicAdd(&report->empty, 1);
}

cudaError_t sl__joint_lengths(const struct sl_joint *j, uint32_t *length, struct sl_joint_report *report,
			      cudaStream_t stream)
{
	uint32_t warps = warps_for(j->width * 4ull);
	lengths<<<blocks_for(j->n, warps), warps * 32, warps * j->width * 4ull, stream>>>(*j, length, report);
	return cudaGetLastError();
}

static __device__ __forceinline__ double entropy_term(float p) { return (double)p * (double)logf(p); }

/* An entry of P. As on the host (core/graph/symmetrise.c), none is 0: p log p would not be a number. Among ten million
 * points the scale makes 0 of the least probability of a neighbour. */
static __device__ __forceinline__ float entry_of(float p, float scale) { return fmaxf(p * scale, FLT_MIN); }

/* Shared memory of a warp: outgoing edges, their probabilities, and for each the number of incoming edges before it. */
static __global__ void fill(struct sl_joint j, const uint64_t *start, const uint64_t *new_of, float scale,
			    uint32_t *node, float *p, double *part)
{
	extern __shared__ __align__(16) uint32_t held[];
	uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
	uint32_t *own = held + (size_t)warp * (3 * j.width + 1), *before = own + 2 * j.width;
	float *back = (float *)(own + j.width);
	double entropy = 0;
	for (uint32_t row = blockIdx.x * warps + warp; row < j.n; row += gridDim.x * warps) {
		uint64_t at = start[row];
		__syncwarp();
		uint32_t used = take_own(j, row, own), others = 0;
		for (uint32_t i = lane; i <= j.width; i += 32) {
			before[i] = 0;
			if (i < j.width)
				back[i] = 0;
		}
		__syncwarp();
		uint32_t from = j.from_start[row], to = j.from_start[row + 1];
		for (uint32_t first = from; first < to; first += 32) {
			uint32_t e = first + lane < to ? j.from[first + lane] : 0, source = e / j.width;
			uint32_t place = first_not_less(own, used, source);
			bool valid = first + lane < to, mutual = valid && place < used && own[place] == source;
			float value = valid ? j.p[e] : 0;
			uint32_t votes = __ballot_sync(~0u, valid && !mutual);
			if (mutual) {
				back[place] = value;
			} else if (valid) {
				uint64_t slot = at + place + others + __popc(votes & ((1u << lane) - 1));
				float x = entry_of(value, scale);
				atomicAdd(before + place, 1);
				node[slot] = new_of ? (uint32_t)new_of[source] : source;
				p[slot] = x;
				entropy += entropy_term(x);
			}
			others += __popc(votes);
		}
		__syncwarp();
		uint32_t passed = 0;
		for (uint32_t first = 0; first < used; first += 32) {
			uint32_t i = first + lane, count = i < used ? before[i] : 0, sum = count;
			for (int step = 1; step < 32; step *= 2) {
				uint32_t other = __shfl_up_sync(~0u, sum, step);
				sum += lane >= (uint32_t)step ? other : 0;
			}
			if (i < used) {
				float x = entry_of(j.p[(size_t)row * j.width + i] + back[i], scale);
				node[at + i + passed + sum] = new_of ? (uint32_t)new_of[own[i]] : own[i];
				p[at + i + passed + sum] = x;
				entropy += entropy_term(x);
			}
			passed += __shfl_sync(~0u, sum, 31);
		}
	}
	entropy = block_sum(entropy);
	if (threadIdx.x == 0)
		part[blockIdx.x] = entropy;
}

/* One block; adds part[SL_JOINT_PARTS] in a fixed order. */
static __global__ void __launch_bounds__(BLOCK) add_up(const double *part, double *entropy)
{
	double x = sum_parts(part, SL_JOINT_PARTS);
	if (threadIdx.x == 0)
		*entropy = x;
}

cudaError_t sl__joint_fill(const struct sl_joint *j, const uint64_t *start, const uint64_t *new_of, float scale,
			   uint32_t *node, float *p, double *part, double *entropy, cudaStream_t stream)
{
	size_t bytes = (3 * j->width + 1) * 4ull;
	uint32_t warps = warps_for(bytes);
	fill<<<SL_JOINT_PARTS, warps * 32, warps * bytes, stream>>>(*j, start, new_of, scale, node, p, part);
	add_up<<<1, BLOCK, 0, stream>>>(part, entropy);
	return cudaGetLastError();
}

cudaError_t sl__joint_init(void)
{
	const size_t most = SL_JOINT_WIDTH_MAX * 16 + 16;
	return allow_shared(most, -1, calibrate, fill);
}

/* ---- rows without an entry: one thread per row ---------------------------------------------- */

static __global__ void flags(const uint32_t *length, uint32_t n, uint32_t *flag)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i < n)
		flag[i] = length[i] > 0;
}

cudaError_t sl__joint_flags(const uint32_t *length, uint32_t n, uint32_t *flag, cudaStream_t stream)
{
	return each(n, flags, stream, length, n, flag);
}

static __global__ void close_up(const uint64_t *start, const uint32_t *length, const uint64_t *new_of, uint32_t n,
				uint64_t *out)
{
	uint32_t i = blockIdx.x * BLOCK + threadIdx.x;
	if (i < n && length[i])
		out[new_of[i]] = start[i];
	if (i == 0)
		out[new_of[n]] = start[n];
}

cudaError_t sl__joint_close_up(const uint64_t *start, const uint32_t *length, const uint64_t *new_of, uint32_t n,
			       uint64_t *out, cudaStream_t stream)
{
	return each(n, close_up, stream, start, length, new_of, n, out);
}
