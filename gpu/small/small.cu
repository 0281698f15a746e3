/* Small embeddings, one cluster of blocks each; small.h says why.
 *
 * Every block of a cluster has the whole layout in its shared memory and computes the forces on its own rows. It writes
 * new positions into the shared memory of all blocks. An iteration has two barriers of the cluster: one for Z, one for
 * the new positions. A warp takes four rows at a time, against all points; eight of its lanes compute the attraction of
 * a row.
 *
 * A pair costs about eight floating-point operations and a reciprocal: 15 pairs per clock cycle and multiprocessor. If
 * the degrees of freedom are not 1, a logarithm and an exponential replace the reciprocal.
 *
 * Times in this file: one NVIDIA H200, until 2026-11-25; commands: docs/notes/gpu-small-jobs.md. */
#include "gpu/small/small_block.cuh"

/* small runs the stretches of jobs [count], whose layouts, velocities and gains it reads and writes, and fills results
 * [count]. One cluster of `ranks` blocks of 1,024 threads per job; shared memory sl__small_shared(). An iteration of
 * 1,000 nodes takes 10.4 us alone, 0.80 us each if 128 run together (H200, 2-D, 28 entries per row). Test and bench:
 * tests/gpu/test_small.c. */
template <int D, bool HEAVY>
static __global__ void __launch_bounds__(BLOCK, 1)
small(const struct sl_small_job *jobs, struct sl_small_result *results)
{
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
	extern __shared__ __align__(16) char memory[];
	__shared__ double parts[2][SL_SMALL_RANKS];
	__shared__ float correct[2];
	const int S = padded<D>::stride;
	cg::cluster_group cluster = cg::this_cluster();
	struct block b;
	b.rank = cluster.block_rank();
	b.ranks = cluster.num_blocks();
	b.parts = parts;
	const struct sl_small_job *job = jobs + blockIdx.x / b.ranks;
	struct sl_small_result *result = results + blockIdx.x / b.ranks;
	block_init<D>(&b, job, memory);
	/* Thread i keeps velocity and gain of row i of this block. */
	bool mine = threadIdx.x < b.rows;
	uint32_t i = b.first + threadIdx.x;
	float velocity[D], gain[D], mass = mine ? job->graph.mass[i] : 0;
	for (int k = 0; k < D; k++) {
		velocity[k] = mine ? job->velocity[(size_t)i * S + k] : 0;
		gain[k] = mine ? job->gain[(size_t)i * S + k] : 0;
	}
	uint64_t iteration = job->iteration;
	uint32_t done = 0;
	bool bad = false, adam = job->adam;
	double lost = 0;
	cluster.sync();
	for (int s = 0; s < job->stretches && lost == 0; s++) {
		const struct sl_step step = job->stretch[s].step;
		float exaggeration = step.exaggeration, rate = step.learning_rate;
		float own_rate = sl_update_rate(rate, exaggeration, mass, step.rate_limit);
		for (int k = 0; k < D && !adam && job->stretch[s].iterations > 0; k++) {
			velocity[k] = step.restart ? 0 : velocity[k];
			gain[k] = step.restart == SL_RESTART_ALL ? 1 : gain[k];
		}
		for (int left = job->stretch[s].iterations; left > 0; left--) {
			iteration++;
			done++;
			if (adam && threadIdx.x < 2)
				correct[threadIdx.x] = sl_update_adam_correction(iteration, (int)threadIdx.x);
			float inverse_z = (float)(1 / forces<D, HEAVY>(&b));
			if (mine) {
				float place[3], gradient[3];
				load_point<D>(b.y, i, place);
#pragma unroll
				for (int k = 0; k < D; k++) {
					gradient[k] = exaggeration * b.attraction[threadIdx.x * D + k] -
						      inverse_z * b.repulsion[threadIdx.x * D + k];
					if (adam)
						place[k] = sl_update_adam(rate, correct[0], correct[1],
									  (float)b.n * gradient[k], place[k],
									  &velocity[k], &gain[k]);
				}
				if (!adam)
					move<D>(step, own_rate, gradient, place, velocity, gain);
#pragma unroll
				for (int k = 0; k < D; k++)
					bad |= !(fabsf(place[k]) < 1e15f);
				publish<D>(&b, i, place);
			}
			cluster.sync();
		}
		lost = cluster_sum(&b, bad ? 1 : 0);
		if (job->stretch[s].measure && lost == 0)
			take_measure<D, HEAVY>(&b, &result->measure[s]);
	}
	if (mine) {
		float place[3];
		load_point<D>(b.y, i, place);
#pragma unroll
		for (int k = 0; k < D; k++) {
			job->y[(size_t)i * S + k] = place[k];
			job->velocity[(size_t)i * S + k] = velocity[k];
			job->gain[(size_t)i * S + k] = gain[k];
		}
	}
	if (b.rank == 0)
		bounds<D>(&b, result->low, result->high);
	if (b.rank == 0 && threadIdx.x == 0) {
		result->iterations = done;
		result->bad = lost != 0;
	}
	cluster.sync();  /* no block may end while others can still write into its shared memory */
#endif
}

/* ---- graphs ------------------------------------------------------------------------------------ */

/* One warp per row. */
static __global__ void __launch_bounds__(256)
convert(uint32_t n, const uint64_t *__restrict__ start, const uint32_t *__restrict__ node, const float *__restrict__ p,
	struct sl_small_graph to)
{
	uint32_t i = (blockIdx.x * 256 + threadIdx.x) / 32, lane = threadIdx.x % 32;
	if (i >= n)
		return;
	float mass = 0;
	for (uint64_t e = start[i] + lane; e < start[i + 1]; e += 32) {
		mass += p[e];
		to.p[e] = p[e];
		to.node[e] = (uint16_t)node[e];
	}
	mass = sum_lanes(mass);
	if (lane)
		return;
	to.mass[i] = mass;
	to.start[i] = (uint32_t)start[i];
	if (i == n - 1)
		to.start[n] = (uint32_t)start[n];
}

cudaError_t sl__small_convert(const struct sl_rows *from, const struct sl_small_graph *to, cudaStream_t stream)
{
	convert<<<blocks_for(from->n * 32ull, 256), 256, 0, stream>>>(from->n, from->start, from->node, from->p, *to);
	return cudaGetLastError();
}

/* ---- launches ------------------------------------------------------------------------------- */

/* Blocks of a cluster. Every device with clusters has 8. On 132 multiprocessors there is room for 7 clusters of 16
 * blocks, or for 16 clusters of 8. With 16 blocks an iteration of 2,000 nodes takes 17 us instead of 30, but the
 * throughput of 128 jobs together is 18 % lower. */
int sl__small_ranks(uint32_t n, int widest)
{
	int ranks = 1;
	while (ranks < widest && (uint32_t)ranks * ROWS_A_BLOCK < n)
		ranks *= 2;
	return ranks;
}

uint32_t sl__small_shared(uint32_t n, int dims, int ranks, uint32_t entries)
{
	uint32_t rows = rows_of(n, (uint32_t)ranks), stride = dims == 3 ? 4 : (uint32_t)dims;
	return align16(padded_nodes(n) * stride * 4) + 2 * align16(rows * (uint32_t)dims * 4) + align16((rows + 1) * 4) +
	       (entries ? align16(entries * 4) + align16(entries * 2) : 0);
}

template <int D, bool HEAVY> static cudaError_t prepare(void)
{
	return first_error(allow_shared(SL_SMALL_SHARED_MAX, -1, small<D, HEAVY>),
			   cudaFuncSetAttribute(small<D, HEAVY>, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
}

cudaError_t sl__small_init(int *widest)
{
	cudaError_t status = first_error(prepare<1, false>(), prepare<1, true>(), prepare<2, false>(), prepare<2, true>(),
					 prepare<3, false>(), prepare<3, true>());
	cudaLaunchConfig_t config = {};
	config.gridDim = dim3(SL_SMALL_RANKS);
	config.blockDim = dim3(BLOCK);
	config.dynamicSmemBytes = SL_SMALL_SHARED_MAX;
	int possible = 0;
	if (status == cudaSuccess)
		status = cudaOccupancyMaxPotentialClusterSize(&possible, small<3, false>, &config);
	*widest = possible >= SL_SMALL_RANKS ? SL_SMALL_RANKS : 8;
	return status;
}

cudaError_t sl__small_run(const struct sl_small_job *jobs, struct sl_small_result *results, int count, int dims,
			  bool heavy, int ranks, uint32_t shared_bytes, cudaStream_t stream)
{
	cudaLaunchConfig_t config = {};
	cudaLaunchAttribute attribute = {};
	attribute.id = cudaLaunchAttributeClusterDimension;
	attribute.val.clusterDim.x = (unsigned)ranks;
	attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
	config.gridDim = dim3((unsigned)(count * ranks));
	config.blockDim = dim3(BLOCK);
	config.dynamicSmemBytes = shared_bytes;
	config.stream = stream;
	config.attrs = &attribute;
	config.numAttrs = 1;
#define LAUNCH(d) \
	cudaLaunchKernelEx(&config, heavy ? small<d, true> : small<d, false>, jobs, results)
	return dims == 1 ? LAUNCH(1) : dims == 2 ? LAUNCH(2) : LAUNCH(3);
#undef LAUNCH
}
