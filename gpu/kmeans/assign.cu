/* Scores all centroids for all points in float32, and keeps the best of each point.
 *
 * A block scores SL_KM_ROWS points by one panel of SL_KM_LANES centroids after the other, SL_KM_DEPTH columns a time,
 * which pass through shared memory: while one piece is multiplied the next one is loaded into registers. Points of 16
 * columns or fewer are loaded once. A thread has 8 points and 4 centroids, and keeps the best three scores of its
 * points over all panels; 16 threads share their points and merge these at the end. */
#include "gpu/kmeans/exact.cuh"

#define THREADS 256
#define POINTS 8       /* of a thread */
#define CENTROIDS 4
#define QUADS 2        /* of a point's columns, that a thread loads */
#define PITCH (SL_KM_ROWS + 4)

struct piece {
	float x[SL_KM_DEPTH][PITCH];        /* x - m */
	float c[SL_KM_DEPTH][SL_KM_LANES];  /* c - m */
};

/* The two best centroids of a point, and the third best score. */
struct best {
	float first, second, third;
	uint32_t a, b;
};

static __device__ __forceinline__ void meet(struct best *t, float score, uint32_t j)
{
	if (score >= t->third)
		return;
	if (score < t->first) {
		t->third = t->second;
		t->second = t->first;
		t->b = t->a;
		t->first = score;
		t->a = j;
	} else if (score < t->second) {
		t->third = t->second;
		t->second = score;
		t->b = j;
	} else {
		t->third = score;
	}
}

/* ---- points ------------------------------------------------------------------------------ */

/* widen: rows first .. of x from rows [.][d], with zeros up to the pitch. A thread has a number of x, `numbers` in
 * all. */
static __global__ void widen(const __grid_constant__ struct sl_km m, const float *rows, uint32_t first,
			     uint64_t numbers)
{
	uint64_t at = (uint64_t)blockIdx.x * THREADS + threadIdx.x;
	uint32_t row = (uint32_t)(at / m.pitch), k = (uint32_t)(at % m.pitch);
	if (at < numbers)
		m.x[(size_t)first * m.pitch + at] = k < m.d ? rows[(size_t)row * m.d + k] : 0;
}

cudaError_t sl__km_widen(const struct sl_km *m, const float *rows, uint32_t first, uint32_t count,
			 cudaStream_t stream)
{
	uint64_t numbers = (uint64_t)count * m->pitch;
	widen<<<blocks_for(numbers, THREADS), THREADS, 0, stream>>>(*m, rows, first, numbers);
	return cudaGetLastError();
}

/* ---- panels ------------------------------------------------------------------------------ */

/* norms: norm[i] is |x_i - m|, rounded up. Eight lanes have a point, a block 32. Bound by reading x. */
static __global__ void norms(const __grid_constant__ struct sl_km m)
{
	uint32_t i = blockIdx.x * (THREADS / 8) + threadIdx.x / 8, row = i < m.n ? i : m.n - 1;
	const float *x = m.x + (size_t)row * m.pitch;
	double sum = 0;
	for (uint32_t k = threadIdx.x % 8; k < m.d; k += 8) {
		double away = (double)x[k] - (double)m.centre[k];
		sum = fma(away, away, sum);
	}
	sum = sum_lanes(sum, 8);
	if (i < m.n && threadIdx.x % 8 == 0)
		m.norm[i] = (float)(sqrt(sum) * (1 + 1e-6));
}

cudaError_t sl__km_norms(const struct sl_km *m, cudaStream_t stream)
{
	norms<<<blocks_for((uint64_t)m->n * 8, THREADS), THREADS, 0, stream>>>(*m);
	return cudaGetLastError();
}

/* pack: a warp has a place of the panels. It writes the column panel[.][lane] of its centroid, half its squared length,
 * and raises the greatest length; a place without a centroid gets an infinite score. Panels are zero before the first
 * call, also where there are no columns. */
static __global__ void pack(const __grid_constant__ struct sl_km m)
{
	uint32_t j = blockIdx.x * (THREADS / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
	if (j >= m.panels * SL_KM_LANES)
		return;
	const double *c = m.centroid + (size_t)j * m.d;
	float *to = m.panel + (size_t)(j / SL_KM_LANES) * m.depth * SL_KM_LANES + j % SL_KM_LANES;
	double sum = 0;
	for (uint32_t k = lane; k < m.d && j < m.k; k += 32) {
		double away = c[k] - (double)m.centre[k];
		to[(size_t)k * SL_KM_LANES] = (float)away;
		sum = fma(away, away, sum);
	}
	sum = sum_lanes(sum);
	if (lane)
		return;
	m.half[j] = j < m.k ? (float)(sum / 2) : INFINITY;
	if (j < m.k)
		atomicMax(m.longest, __float_as_uint((float)(sqrt(sum) * (1 + 1e-6))));
}

cudaError_t sl__km_pack(const struct sl_km *m, cudaStream_t stream)
{
	cudaError_t status = cudaMemsetAsync(m->longest, 0, sizeof *m->longest, stream);
	return status == cudaSuccess ? each_warp((uint64_t)m->panels * SL_KM_LANES, pack, stream, *m) : status;
}

/* ---- scores ------------------------------------------------------------------------------ */

/* Pieces on their way from memory to shared memory. */
struct fetched {
	float4 x[QUADS], c;
};

static __device__ __forceinline__ float4 less(float4 a, float4 b)
{
	return make_float4(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w);
}

/* A thread has row threadIdx.x % 128, and 8 of its 16 columns; four centroids of one column. */
static __device__ __forceinline__ void fetch(const struct sl_km &m, uint32_t first, uint32_t end, uint32_t panel,
					     uint32_t k, bool points, struct fetched *f)
{
	uint32_t row = first + threadIdx.x % SL_KM_ROWS;
	const float *x = m.x + (size_t)(row < end ? row : end - 1) * m.pitch;
	const float *c = m.panel + ((size_t)panel * m.depth + k) * SL_KM_LANES;
#pragma unroll
	for (int q = 0; q < QUADS && points; q++) {
		uint32_t column = k + (threadIdx.x / SL_KM_ROWS * QUADS + q) * 4;
		f->x[q] = make_float4(0, 0, 0, 0);
		if (column < m.pitch)
			f->x[q] = less(*(const float4 *)(x + column), *(const float4 *)(m.centre + column));
	}
	f->c = *(const float4 *)(c + threadIdx.x * 4);
}

static __device__ __forceinline__ void put(const struct fetched &f, bool points, struct piece *p)
{
	uint32_t row = threadIdx.x % SL_KM_ROWS;
#pragma unroll
	for (int q = 0; q < QUADS && points; q++) {
		uint32_t column = (threadIdx.x / SL_KM_ROWS * QUADS + q) * 4;
		p->x[column][row] = f.x[q].x;
		p->x[column + 1][row] = f.x[q].y;
		p->x[column + 2][row] = f.x[q].z;
		p->x[column + 3][row] = f.x[q].w;
	}
	*(float4 *)(&p->c[0][0] + threadIdx.x * 4) = f.c;
}

static __device__ __forceinline__ void multiply(const struct piece &p, const struct piece &points,
						float sum[POINTS][CENTROIDS])
{
	uint32_t row = threadIdx.x / 16 * POINTS, lane = threadIdx.x % 16 * CENTROIDS;
#pragma unroll
	for (int k = 0; k < (int)SL_KM_DEPTH; k++) {
		float4 c = *(const float4 *)&p.c[k][lane];
		float4 low = *(const float4 *)&points.x[k][row], high = *(const float4 *)&points.x[k][row + 4];
		float x[POINTS] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
		for (int i = 0; i < POINTS; i++) {
			sum[i][0] += x[i] * c.x;
			sum[i][1] += x[i] * c.y;
			sum[i][2] += x[i] * c.z;
			sum[i][3] += x[i] * c.w;
		}
	}
}

/* The best of 16 threads with the same points; thread 0 of them writes. */
static __device__ __forceinline__ void settle(const struct sl_km &m, uint32_t i, uint32_t end, struct best t)
{
#pragma unroll
	for (int step = 8; step; step >>= 1) {
		float first = __shfl_down_sync(~0u, t.first, step, 16), second = __shfl_down_sync(~0u, t.second, step, 16);
		float third = __shfl_down_sync(~0u, t.third, step, 16);
		uint32_t a = __shfl_down_sync(~0u, t.a, step, 16), b = __shfl_down_sync(~0u, t.b, step, 16);
		meet(&t, first, a);
		meet(&t, second, b);
		t.third = fminf(t.third, third);
	}
	if (threadIdx.x % 16 || i >= end)
		return;
	double near = (double)t.first + 2 * score_slack(m.d, (double)m.norm[i], (double)__uint_as_float(*m.longest));
	m.before[i] = m.label[i];
	m.label[i] = t.a;
	if ((double)t.third <= near)
		m.open[atomicAdd(m.opens + 1, 1u)] = i;
	else if ((double)t.second <= near)
		m.pair[atomicAdd(m.opens, 1u)] = {i, t.a, t.b};
}

/* score: rows first .. end - 1, a block for 128 of them, 256 threads, 25 KB of shared memory. Labels of the best score,
 * and the rows whose best scores are too close; these are listed in no order. Bound by float32 multiplications from
 * some ten columns on; 192 numbers go from memory or cache to shared memory for 8,192 multiplications. */
static __global__ void __launch_bounds__(THREADS, 2)
score(const __grid_constant__ struct sl_km m, uint32_t first, uint32_t end)
{
	__shared__ __align__(16) struct piece piece[2];
	uint32_t block = first + blockIdx.x * SL_KM_ROWS, steps = m.depth / SL_KM_DEPTH, total = steps * m.panels;
	bool once = steps == 1;  /* the points stay in piece[0] */
	struct best best[POINTS];
	struct fetched next;
	float sum[POINTS][CENTROIDS] = {};
#pragma unroll
	for (int i = 0; i < POINTS; i++)
		best[i] = {INFINITY, INFINITY, INFINITY, 0, 0};
	fetch(m, block, end, 0, 0, true, &next);
	put(next, true, &piece[0]);
	__syncthreads();
	for (uint32_t at = 0, panel = 0, step = 0; at < total; at++) {
		const struct piece &now = piece[at % 2];
		bool more = at + 1 < total, last = step + 1 == steps;
		if (more)
			fetch(m, block, end, last ? panel + 1 : panel, last ? 0 : (step + 1) * SL_KM_DEPTH, !once, &next);
		multiply(now, once ? piece[0] : now, sum);
		if (last) {
			uint32_t j = panel * SL_KM_LANES + threadIdx.x % 16 * CENTROIDS;
			float4 half = *(const float4 *)(m.half + j);
#pragma unroll
			for (int i = 0; i < POINTS; i++) {
				meet(&best[i], half.x - sum[i][0], j);
				meet(&best[i], half.y - sum[i][1], j + 1);
				meet(&best[i], half.z - sum[i][2], j + 2);
				meet(&best[i], half.w - sum[i][3], j + 3);
				sum[i][0] = sum[i][1] = sum[i][2] = sum[i][3] = 0;
			}
		}
		if (more)
			put(next, !once, &piece[(at + 1) % 2]);
		__syncthreads();
		panel += last;
		step = last ? 0 : step + 1;
	}
#pragma unroll
	for (int i = 0; i < POINTS; i++)
		settle(m, block + threadIdx.x / 16 * POINTS + i, end, best[i]);
}

cudaError_t sl__km_score(const struct sl_km *m, uint32_t first, uint32_t count, cudaStream_t stream)
{
	cudaError_t status = cudaMemsetAsync(m->opens, 0, 2 * sizeof *m->opens, stream);
	if (status != cudaSuccess)
		return status;
	score<<<blocks_for(count, SL_KM_ROWS), THREADS, 0, stream>>>(*m, first, first + count);
	return cudaGetLastError();
}
