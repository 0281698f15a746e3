/* Computes the scores of all centroids for all points with the tensor cores; keeps each point's best score with its
 * centroid, and the second best score. groups.cu does this on devices of compute capability 9.0 for points of more than
 * 128 halves, and of up to 64 if there are more than 256 centroids.
 *
 * A block processes SL_KM_ROWS points and, one after the other, panels of 64 WIDE centroids. It multiplies SL_KM_DEPTH
 * halves of points and centroids at a time (a "piece"); STAGES pieces are in shared memory, most of them still being
 * loaded. Points of up to SL_KM_DEPTH * STAGES halves are loaded only once; WIDE is then 1, so that two blocks share a
 * multiprocessor and one multiplies while the other compares. A warp multiplies 64 points and 64 centroids; a thread
 * has 16 scores of each of 8 points.
 *
 * Times in this file: one NVIDIA H200, until 2026-11-25; commands: docs/notes/gpu-kmeans.md. */
#include <cuda_fp16.h>

#include "gpu/kmeans/best.cuh"

#define STAGES 4
#define CHUNKS (SL_KM_DEPTH / 8)  /* chunks of 16 bytes in a row of a piece */
#define SETTLERS 256
#define SWEEPERS 132              /* most blocks of sweep() along the open rows */

template <int WIDE> struct pieces {
	__half x[STAGES][SL_KM_ROWS][SL_KM_DEPTH];
	__half c[STAGES][64 * WIDE][SL_KM_DEPTH];
};

/* The work of a block: rows first .. end - 1, or list[first .. end - 1] if there is a list; panels from .. to - 1. */
struct range {
	const uint32_t *list;
	uint32_t first, end, from, to;
};

/* Returns the index of a chunk in its row of a piece. Eight rows that are loaded together are in different banks. */
static __device__ __forceinline__ uint32_t place_of(uint32_t row, uint32_t chunk)
{
	return (chunk ^ (row >> 1 & 3)) * 8;
}

/* Starts to load the pieces of step `step`: the panel's, and the points' unless they were loaded before. */
template <int WIDE>
static __device__ __forceinline__ void
fetch(const struct sl_cuda_kmeans &m, const struct range &r, uint32_t step, uint32_t depths, pieces<WIDE> *p)
{
	const uint32_t threads = 128 * WIDE;
	uint32_t panel = r.from + step / depths, k = step % depths * SL_KM_DEPTH;
	bool once = depths <= STAGES;
	uint32_t slot = once ? step % depths : step % STAGES;
	for (uint32_t at = threadIdx.x; at < SL_KM_ROWS * CHUNKS && (!once || step < depths); at += threads) {
		uint32_t row = at / CHUNKS, chunk = at % CHUNKS, place = r.first + row < r.end ? r.first + row : r.end - 1;
		const __half *x = (const __half *)m.halves + (size_t)(r.list ? r.list[place] : place) * m.width;
		copy_async(&p->x[slot][row][place_of(row, chunk)], x + k + chunk * 8);
	}
	for (uint32_t at = threadIdx.x; at < 64 * WIDE * CHUNKS; at += threads) {
		uint32_t row = at / CHUNKS, chunk = at % CHUNKS;
		const __half *c = (const __half *)m.panel + ((size_t)panel * 64 * WIDE + row) * m.width;
		copy_async(&p->c[step % STAGES][row][place_of(row, chunk)], c + k + chunk * 8);
	}
}

/* Adds the products of a piece to sum[i][n], each of 16 points and 8 centroids. x and c: the warp's rows. */
static __device__ __forceinline__ void
multiply(const __half (*x)[SL_KM_DEPTH], const __half (*c)[SL_KM_DEPTH], float sum[4][8][4])
{
	uint32_t lane = threadIdx.x % 32;
#pragma unroll
	for (uint32_t k = 0; k < SL_KM_DEPTH / 16; k++) {
		uint32_t a[4][4], b[4][4];
#pragma unroll
		for (uint32_t i = 0; i < 4; i++) {
			uint32_t row = i * 16 + lane % 16;
			load_matrices(a[i], shared_address(&x[row][place_of(row, 2 * k + lane / 16)]));
		}
#pragma unroll
		for (uint32_t n = 0; n < 4; n++) {
			uint32_t row = n * 16 + lane / 16 * 8 + lane % 8;
			load_matrices(b[n], shared_address(&c[row][place_of(row, 2 * k + lane / 8 % 2)]));
		}
#pragma unroll
		for (int i = 0; i < 4; i++)
#pragma unroll
			for (int n = 0; n < 8; n++)
				multiply_matrices(sum[i][n], a[i], b[n / 2] + n % 2 * 2, sum[i][n]);
	}
}

/* A thread's data of its 8 points. */
struct mine {
	float factor[8];            /* product * factor + half of the centroid = score */
	struct sl_cuda_kmeans_best best[8];  /* KEEP: best scores so far */
	float near[8];              /* COLLECT: highest score of a candidate */
};

/* Computes scores from the products of a panel, keeps or collects them, and sets the sums to 0. own: the first of the
 * thread's centroids. */
template <int TASK>
static __device__ __forceinline__ void
look(const struct sl_cuda_kmeans &m, uint32_t place, uint32_t own, const float half[8][2], float sum[4][8][4],
     struct mine *t)
{
#pragma unroll
	for (int p = 0; p < 8; p++) {
		float least = INFINITY;
#pragma unroll
		for (int e = 0; e < 16; e++) {
			float *s = &sum[p / 2][e / 2][p % 2 * 2 + e % 2];
			*s = fmaf(*s, t->factor[p], half[e / 2][e % 2]);
			if constexpr (TASK == KEEP)
				meet(&t->best[p], *s, own + e / 2 * 8 + e % 2);
			else
				least = fminf(least, *s);
		}
		if constexpr (TASK == COLLECT) {
			if (least > t->near[p])
				continue;
#pragma unroll
			for (int e = 0; e < 16; e++)
				if (sum[p / 2][e / 2][p % 2 * 2 + e % 2] <= t->near[p])
					collect(m, place + p / 2 * 16 + p % 2 * 8, own + e / 2 * 8 + e % 2);
		}
	}
#pragma unroll
	for (int e = 0; e < 128; e++)
		sum[e / 32][e / 4 % 8][e % 4] = 0;
}

/* Processes all panels of a range for its rows. place: the first of the thread's rows, which are 8 apart. */
template <int WIDE, int TASK>
static __device__ __forceinline__ void
score_range(const struct sl_cuda_kmeans &m, const struct range &r, uint32_t place, pieces<WIDE> *p, struct mine *t)
{
	uint32_t depths = m.width / SL_KM_DEPTH, steps = (r.to - r.from) * depths, warp = threadIdx.x / 32;
	uint32_t row = warp / WIDE * 64, lane = warp % WIDE * 64;
	uint32_t own = lane + threadIdx.x % 4 * 2;
	float sum[4][8][4] = {}, half[8][2];
	for (uint32_t step = 0; step < STAGES - 1; step++) {
		if (step < steps)
			fetch<WIDE>(m, r, step, depths, p);
		copies_commit();
	}
	for (uint32_t step = 0, depth = 0, panel = r.from; step < steps; step++) {
		copies_wait<STAGES - 2>();
		__syncthreads();
		if (step + STAGES - 1 < steps)
			fetch<WIDE>(m, r, step + STAGES - 1, depths, p);
		copies_commit();
		if (depth + 1 == depths)  /* half is needed after multiply(); its loads overlap with it */
#pragma unroll
			for (int n = 0; n < 8; n++) {
				float2 two = *(const float2 *)(m.half + panel * 64 * WIDE + own + n * 8);
				half[n][0] = two.x;
				half[n][1] = two.y;
			}
		multiply(p->x[depths <= STAGES ? depth : step % STAGES] + row, p->c[step % STAGES] + lane, sum);
		if (++depth == depths) {
			look<TASK>(m, place, panel * 64 * WIDE + own, half, sum, t);
			depth = 0;
			panel++;
		}
	}
	copies_wait<0>();
	__syncthreads();  /* shared memory may be overwritten */
}

/* Best scores of the rows first .. end - 1. Grid: (splits of the panels, blocks of SL_KM_ROWS points), so that blocks
 * with the same points run at the same time. In a split, WIDE warps have the same points; best [splits * WIDE][end -
 * first] gets the best of each. 128 WIDE threads; 64 KB + 16 KB * WIDE of shared memory. Points of hundreds of columns:
 * bound by the tensor cores, 0.56 ms for 70,000 x 784 and 1,000 centroids, 197 Tflop/s (H200). Points of few columns:
 * bound by comparing scores, six instructions each. */
template <int WIDE>
static __global__ void __launch_bounds__(128 * WIDE, WIDE == 1 ? 2 : 1)
keep(const __grid_constant__ struct sl_cuda_kmeans m, uint32_t first, uint32_t end)
{
	extern __shared__ __align__(128) char shared[];
	uint32_t panels = m.lanes / (64 * WIDE), warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	struct range r = {NULL, first + blockIdx.y * SL_KM_ROWS, end, panels * blockIdx.x / gridDim.x,
			  panels * (blockIdx.x + 1) / gridDim.x};
	uint32_t place = r.first + warp / WIDE * 64 + lane / 4;
	struct mine t;
#pragma unroll
	for (int p = 0; p < 8; p++) {
		uint32_t row = place + p * 8;
		t.factor[p] = score_factor(m, row < end ? row : end - 1);
		t.best[p] = {INFINITY, INFINITY, 0};
	}
	score_range<WIDE, KEEP>(m, r, place, reinterpret_cast<pieces<WIDE> *>(shared), &t);
	struct sl_cuda_kmeans_best *to = m.best + (size_t)(blockIdx.x * WIDE + warp % WIDE) * (end - first);
#pragma unroll
	for (int p = 0; p < 8; p++) {
		merge_four(&t.best[p]);
		if (lane % 4 == 0 && place + p * 8 < end)
			to[place + p * 8 - first] = t.best[p];
	}
}

/* The label becomes the best centroid of `parts` best ones. If the second best score is too close, the row is added to
 * the open rows, in no order. One thread for each row. */
static __global__ void settle(const __grid_constant__ struct sl_cuda_kmeans m, uint32_t first, uint32_t count,
			      uint32_t parts)
{
	uint32_t at = blockIdx.x * SETTLERS + threadIdx.x, row = first + at;
	if (at >= count)
		return;
	struct sl_cuda_kmeans_best t = m.best[at];
	for (uint32_t part = 1; part < parts; part++)
		merge(&t, m.best[(size_t)part * count + at]);
	double near = (double)t.first + 2 * slack_of(m, row);
	m.before[row] = m.label[row];
	m.label[row] = t.a;
	if ((double)t.second > near)
		return;
	uint32_t place = atomicAdd(m.opens, 1u);
	m.open[place] = row;
	m.near[place] = __double2float_ru(near);
	m.least[place] = (unsigned long long)__double_as_longlong(INFINITY);
}

/* Lists the candidates of the open rows: the centroids whose scores are too close to the best; decide.cu chooses among
 * them. Grid: (at most SWEEPERS, splits). */
template <int WIDE>
static __global__ void __launch_bounds__(128 * WIDE, WIDE == 1 ? 2 : 1)
sweep(const __grid_constant__ struct sl_cuda_kmeans m)
{
	extern __shared__ __align__(128) char shared[];
	uint32_t panels = m.lanes / (64 * WIDE), open = *m.opens;
	for (uint32_t first = blockIdx.x * SL_KM_ROWS; first < open; first += gridDim.x * SL_KM_ROWS) {
		struct range r = {m.open, first, open, panels * blockIdx.y / gridDim.y,
				  panels * (blockIdx.y + 1) / gridDim.y};
		uint32_t place = first + threadIdx.x / 32 / WIDE * 64 + threadIdx.x % 32 / 4;
		struct mine t;
#pragma unroll
		for (int p = 0; p < 8; p++) {
			uint32_t at = place + p * 8;
			t.factor[p] = score_factor(m, m.open[at < open ? at : open - 1]);
			t.near[p] = at < open ? m.near[at] : -INFINITY;
		}
		score_range<WIDE, COLLECT>(m, r, place, reinterpret_cast<pieces<WIDE> *>(shared), &t);
	}
}

/* Returns the number of splits of the panels: enough for all multiprocessors even if there are few points. */
static uint32_t splits_for(const struct sl_cuda_kmeans *m, uint32_t count, uint32_t wide)
{
	const uint32_t enough = 1024;  /* blocks that keep all multiprocessors busy */
	uint32_t blocks = blocks_for(count, SL_KM_ROWS), panels = m->lanes / (64 * wide), splits = enough / blocks + 1;
	uint32_t room = (uint32_t)(m->bests / ((uint64_t)count * wide));
	splits = splits < panels ? splits : panels;
	return splits < room ? splits : room;
}

template <int WIDE>
static cudaError_t score(const struct sl_cuda_kmeans *m, uint32_t first, uint32_t count, cudaStream_t stream)
{
	uint32_t splits = splits_for(m, count, WIDE), panels = m->lanes / (64 * WIDE);
	dim3 rows(splits, blocks_for(count, SL_KM_ROWS));
	dim3 open(rows.y < SWEEPERS ? rows.y : SWEEPERS, panels < 8 ? panels : 8);
	keep<WIDE><<<rows, 128 * WIDE, sizeof(pieces<WIDE>), stream>>>(*m, first, first + count);
	settle<<<blocks_for(count, SETTLERS), SETTLERS, 0, stream>>>(*m, first, count, splits * WIDE);
	sweep<WIDE><<<open, 128 * WIDE, sizeof(pieces<WIDE>), stream>>>(*m);
	return cudaGetLastError();
}

static cudaError_t score_by_groups(const struct sl_cuda_kmeans *m, uint32_t first, uint32_t count, cudaStream_t stream)
{
	uint32_t parts;
	cudaError_t status = sl__cuda_kmeans_groups_score(m, first, count, false, &parts, stream);
	if (status != cudaSuccess)
		return status;
	settle<<<blocks_for(count, SETTLERS), SETTLERS, 0, stream>>>(*m, first, count, parts);
	return sl__cuda_kmeans_groups_score(m, first, count, true, &parts, stream);
}

cudaError_t sl__cuda_kmeans_init(void)
{
	return first_error(allow_shared(sizeof(pieces<1>), -1, keep<1>, sweep<1>),
			   allow_shared(sizeof(pieces<2>), -1, keep<2>, sweep<2>));
}

cudaError_t sl__cuda_kmeans_score(const struct sl_cuda_kmeans *m, uint32_t first, uint32_t count, cudaStream_t stream)
{
	cudaError_t status = cudaMemsetAsync(m->opens, 0, 2 * sizeof *m->opens, stream);
	if (status != cudaSuccess)
		return status;
	if (sl__cuda_kmeans_by_groups(m))
		return score_by_groups(m, first, count, stream);
	bool narrow = m->lanes == 64 || m->width <= SL_KM_DEPTH * STAGES;
	return narrow ? score<1>(m, first, count, stream) : score<2>(m, first, count, stream);
}
