/* Computes scores as score.cu does, with the multiplications of groups of four warps. Only devices of compute
 * capability 9.0 have them; this file is compiled for these alone (sm_90a).
 *
 * A group of warps multiplies 128 points and PANEL centroids. A block fetches DEPTH halves of each at a time; STAGES
 * such pieces are in shared memory, and a piece is multiplied while the next ones are loaded. The points of a block and
 * some panels are a unit; blocks process units in turn and fetch the pieces of the next one while they finish one.
 *
 *   !ONCE  the points are fetched for each panel. Two groups of warps have the same centroids, which halves the fetches
 *          of these. Blocks of different panels that run at the same time have the same points, which are then in the
 *          L2 cache.
 *   ONCE   points of one piece are fetched once for a unit. One group of warps, so that two blocks share a
 *          multiprocessor and one multiplies while the other compares.
 *
 * Comparing. Most scores are above a bound: the best score of the point so far, plus twice the error. So a thread
 * computes only the least score of several centroids, and compares single ones if it is not above the bound. With few
 * columns, where comparing takes most of the time, the bound begins with the score of the previous centroid. */
#include <cuda_fp16.h>

#include "gpu/kmeans/best.cuh"

#define PANEL SL_KM_PANEL
#define DEPTH 64u
#define CHUNKS (DEPTH / 8)  /* chunks of 16 bytes in a row of a piece */
#define THREADS (ONCE ? 128u : 256u)
#define STAGES (ONCE ? 5 : 4)  /* what fits into shared memory */
#define AHEAD (STAGES - 2)     /* pieces that are loaded ahead */
#define UNIT 3u                /* fewest panels of a unit if ONCE; see fetch() */
#define LANES 8             /* lanes of a row in limit() */
#define LIMIT_THREADS 256

template <bool ONCE> struct pieces {
	__half x[ONCE ? 2 : STAGES][THREADS][DEPTH];  /* [parity of the unit], or [stage] */
	__half c[STAGES][PANEL][DEPTH];
};

/* The rows first .. end - 1, or list[first .. end - 1] if there is a list, and all panels. A unit is THREADS rows and
 * 1 / parts of the panels. */
struct work {
	const uint32_t *list;
	uint32_t first, end, parts, panels, depths, units;
};

/* A place in the sequence of a block's pieces. turn: number of units before this one. */
struct spot {
	uint32_t unit, turn, from, panel, to, depth;
};

static __device__ __forceinline__ void enter(struct spot *s, const struct work &w)
{
	uint32_t part = s->unit % w.parts;
	s->from = s->panel = w.panels * part / w.parts;
	s->to = w.panels * (part + 1) / w.parts;
	s->depth = 0;
}

/* True if the piece was the last one of its unit. */
static __device__ __forceinline__ bool advance(struct spot *s, const struct work &w)
{
	if (++s->depth < w.depths)
		return false;
	s->depth = 0;
	if (++s->panel < s->to)
		return false;
	s->unit += gridDim.x;
	s->turn++;
	enter(s, w);
	return true;
}

static __device__ __forceinline__ uint32_t row_at(const struct work &w, uint32_t place)
{
	uint32_t at = place < w.end ? place : w.end - 1;
	return w.list ? w.list[at] : at;
}

template <bool ONCE> static __device__ __forceinline__ uint32_t slot_of(const struct spot &s, uint32_t step)
{
	return ONCE ? s.turn % 2 + s.depth : step % STAGES;  /* ONCE: depth is 0 */
}

/* Starts to load the pieces of step `step`, at s. A thread copies the same chunk of every so many rows. If ONCE,
 * x has room for the unit that is processed and the next one, so a unit must have at least AHEAD pieces. */
template <bool ONCE>
static __device__ __forceinline__ void
fetch(const struct sl_cuda_kmeans &m, const struct work &w, const struct spot &s, uint32_t step, pieces<ONCE> *p)
{
	const uint32_t rows = THREADS / CHUNKS;
	uint32_t row = threadIdx.x / CHUNKS, chunk = threadIdx.x % CHUNKS, k = s.depth * DEPTH + chunk * 8;
	uint32_t to = row * DEPTH + (chunk ^ row % 8) * 8;
	if (s.unit >= w.units || k >= m.width)
		return;
	if (!ONCE || s.panel == s.from) {
		__half *x = p->x[slot_of<ONCE>(s, step)][0] + to;
		uint32_t first = w.first + s.unit / w.parts * THREADS + row;
#pragma unroll
		for (uint32_t i = 0; i < THREADS / rows; i++)
			copy_async(x + i * rows * DEPTH,
				   (const __half *)m.halves + (size_t)row_at(w, first + i * rows) * m.width + k);
	}
	__half *c = p->c[step % STAGES][0] + to;
	const __half *from = (const __half *)m.panel + ((size_t)s.panel * PANEL + row) * m.width + k;
#pragma unroll
	for (uint32_t i = 0; i < PANEL / rows; i++)
		copy_async(c + i * rows * DEPTH, from + (size_t)i * rows * m.width);
}

/* A thread's data of its 4 points, which are 8 apart, then 64. */
struct mine {
	float factor[4];
	float margin[4];            /* KEEP: twice the error of a score */
	float near[4];              /* scores above it are not looked at */
	struct sl_cuda_kmeans_best best[4];  /* KEEP: best scores so far */
};

/* The row, counted from the block's first, of a thread's point p. */
static __device__ __forceinline__ uint32_t row_of(int p)
{
	return threadIdx.x / 128 * 128 + p / 2 * 64 + threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4 + p % 2 * 8;
}

/* At least score + margin in exact arithmetic. */
static __device__ __forceinline__ float above(float score, float margin)
{
	return fmaf(fabsf(score), 0x1p-22f, score + margin * (1 + 0x1p-20f));
}

template <bool ONCE, int TASK>
static __device__ __forceinline__ void
begin(const struct sl_cuda_kmeans &m, const struct work &w, const struct spot &s, bool limited, struct mine *t)
{
#pragma unroll
	for (int p = 0; p < 4 && s.unit < w.units; p++) {
		uint32_t place = w.first + s.unit / w.parts * THREADS + row_of(p), row = row_at(w, place);
		t->factor[p] = score_factor(m, row);
		t->margin[p] = TASK == KEEP ? twice_slack(m, row) : 0;
		t->best[p] = {INFINITY, INFINITY, 0};
		t->near[p] = TASK == KEEP ? (limited ? m.near[row - w.first] : INFINITY) :
					    place < w.end ? m.near[place] : -INFINITY;
	}
}

template <bool ONCE>
static __device__ __forceinline__ void
finish(const struct sl_cuda_kmeans &m, const struct work &w, uint32_t unit, struct mine *t)
{
	uint32_t first = unit / w.parts * THREADS, rows = w.end - w.first;
#pragma unroll
	for (int p = 0; p < 4; p++) {
		merge_four(&t->best[p]);
		if (threadIdx.x % 4 == 0 && first + row_of(p) < rows)
			m.best[(size_t)(unit % w.parts) * rows + first + row_of(p)] = t->best[p];
	}
}

/* Computes scores from the products of a panel, and keeps or collects them. own: the first of the thread's centroids;
 * the others are the next one, and so after every eight. place: of the block's first row. */
template <int TASK>
static __device__ __forceinline__ void
look(const struct sl_cuda_kmeans &m, uint32_t place, uint32_t own, const float2 half[16], float sum[2][64],
     struct mine *t)
{
#pragma unroll
	for (int p = 0; p < 4; p++) {
		float low[4] = {INFINITY, INFINITY, INFINITY, INFINITY};
#pragma unroll
		for (int e = 0; e < 32; e++) {
			float *s = &sum[p / 2][e / 2 * 4 + p % 2 * 2 + e % 2];
			*s = fmaf(*s, t->factor[p], e % 2 ? half[e / 2].y : half[e / 2].x);
			low[e / 8] = fminf(low[e / 8], *s);
		}
		if (fminf(fminf(low[0], low[1]), fminf(low[2], low[3])) > t->near[p])
			continue;
#pragma unroll
		for (int some = 0; some < 4; some++) {
			if (low[some] > t->near[p])
				continue;
#pragma unroll
			for (int e = 8 * some; e < 8 * some + 8; e++) {
				float score = sum[p / 2][e / 2 * 4 + p % 2 * 2 + e % 2];
				if constexpr (TASK == KEEP)
					meet(&t->best[p], score, own + e / 2 * 8 + e % 2);
				else if (score <= t->near[p])
					collect(m, place + row_of(p), own + e / 2 * 8 + e % 2);
			}
		}
		if constexpr (TASK == KEEP)
			t->near[p] = fminf(t->near[p], above(t->best[p].first, t->margin[p]));
	}
#pragma unroll
	for (int p = 0; p < 4 && TASK == KEEP; p++) {
		t->near[p] = fminf(t->near[p], __shfl_xor_sync(~0u, t->near[p], 1));
		t->near[p] = fminf(t->near[p], __shfl_xor_sync(~0u, t->near[p], 2));
	}
}

/* Best scores of the rows first .. end - 1, in best [parts][end - first]; or, with COLLECT, the candidates of the open
 * rows. limited: near [end - first] has bounds; see limit(). Grid: as many blocks as run at the same time. */
template <bool ONCE, int TASK>
static __global__ void __launch_bounds__(THREADS, ONCE ? 2 : 1)
score_groups(const __grid_constant__ struct sl_cuda_kmeans m, uint32_t first, uint32_t end, uint32_t parts,
	     bool limited)
{
	extern __shared__ __align__(1024) char shared[];
	pieces<ONCE> *p = reinterpret_cast<pieces<ONCE> *>(shared);
	struct work w = {TASK == COLLECT ? m.open : NULL, first, TASK == COLLECT ? *m.opens : end, parts, m.lanes / PANEL,
			 (m.width + DEPTH - 1) / DEPTH, 0};
	w.units = (w.end - w.first + THREADS - 1) / THREADS * parts;
	struct spot now = {blockIdx.x, 0, 0, 0, 0, 0}, next;
	uint32_t own = threadIdx.x % 4 * 2, at = 0;
	float sum[2][64];
	struct mine t;
	enter(&now, w);
	next = now;
	for (; at < AHEAD; at++) {
		fetch<ONCE>(m, w, next, at, p);
		copies_commit();
		advance(&next, w);
	}
	begin<ONCE, TASK>(m, w, now, limited, &t);
	for (uint32_t step = 0; now.unit < w.units; step++) {
		copies_wait<AHEAD - 1>();
		group_fence();
		__syncthreads();  /* the piece is there, and all threads have finished the piece before the last one */
		const __half *x = p->x[slot_of<ONCE>(now, step)][threadIdx.x / 128 * 128];
		uint64_t a = group_matrix(shared_address(x)), b = group_matrix(shared_address(p->c[step % STAGES]));
		uint32_t left = m.width - now.depth * DEPTH, last = now.depth + 1 == w.depths;
		group_begin();
		for (uint32_t k = 0; k < DEPTH / 16 && 16 * k < left; k++)
#pragma unroll
			for (int i = 0; i < 2; i++)
				group_multiply(sum[i], a + 2 * k + i * (64 * DEPTH * 2 / 16), b + 2 * k, now.depth || k);
		group_commit();
		fetch<ONCE>(m, w, next, step + AHEAD, p);
		copies_commit();
		advance(&next, w);
		if (!last) {
			group_wait<1>();
			advance(&now, w);
			continue;
		}
		uint32_t panel = now.panel, unit = now.unit, place = w.first + unit / parts * THREADS;
		float2 half[16];
#pragma unroll
		for (int j = 0; j < 16; j++)
			half[j] = *(const float2 *)(m.half + panel * PANEL + own + j * 8);
		group_wait<0>();
		look<TASK>(m, place, panel * PANEL + own, half, sum, &t);
		if (!advance(&now, w))
			continue;
		if constexpr (TASK == KEEP)
			finish<ONCE>(m, w, unit, &t);
		begin<ONCE, TASK>(m, w, now, limited, &t);
	}
	copies_wait<0>();
}

/* near[row - first] = a bound of the best score, plus twice its error: from the score of the centroid of the row's
 * label, which is wrong by at most one error here and one in score_groups(). LANES lanes process a row. */
static __global__ void limit(const __grid_constant__ struct sl_cuda_kmeans m, uint32_t first, uint32_t end)
{
	uint32_t at = first + (blockIdx.x * LIMIT_THREADS + threadIdx.x) / LANES, row = at < end ? at : end - 1;
	uint32_t label = m.label[row], j = label < m.k ? label : 0;
	const uint4 *x = (const uint4 *)((const __half *)m.halves + (size_t)row * m.width);
	const uint4 *c = (const uint4 *)((const __half *)m.panel + (size_t)j * m.width);
	float sum = 0;
	for (uint32_t chunk = threadIdx.x % LANES; chunk < m.width / 8; chunk += LANES) {
		uint4 a = x[chunk], b = c[chunk];
		const __half *one = (const __half *)&a, *two = (const __half *)&b;
#pragma unroll
		for (int e = 0; e < 8; e++)
			sum = fmaf(__half2float(one[e]), __half2float(two[e]), sum);
	}
	float score = fmaf(sum_lanes(sum, LANES), score_factor(m, row), m.half[j]);
	if (at < end && threadIdx.x % LANES == 0)
		m.near[at - first] = label < m.k ? above(score, 2 * twice_slack(m, row)) : INFINITY;
}

/* Returns the number of parts of the panels, at most `most`. The last round of blocks should be nearly full. */
static uint32_t parts_for(uint32_t blocks, uint32_t rows, uint32_t most)
{
	uint32_t best = 1;
	double share = 0;
	for (uint32_t parts = 1; parts <= most && share < 0.95; parts++) {
		double rounds = (double)rows * parts / blocks, now = rounds / ceil(rounds);
		best = now > share ? parts : best;
		share = now > share ? now : share;
	}
	return best;
}

template <bool ONCE>
static cudaError_t
score(const struct sl_cuda_kmeans *m, uint32_t first, uint32_t count, bool collecting, uint32_t *parts,
      cudaStream_t stream)
{
	uint32_t panels = m->lanes / PANEL, blocks = m->groups * (ONCE ? 2 : 1), rows = blocks_for(count, THREADS);
	uint32_t room = (uint32_t)(m->bests / count);
	uint32_t most = ONCE ? panels / UNIT : panels;
	most = most < 8 ? most : 8;
	size_t shared = sizeof(pieces<ONCE>);
	static_assert(!ONCE || UNIT >= AHEAD, "a unit must have as many pieces as are loaded ahead");
	if (collecting) {
		score_groups<ONCE, COLLECT><<<blocks, THREADS, shared, stream>>>(*m, 0, 0, most, true);
		return cudaGetLastError();
	}
	most = most < room ? most : room;
	*parts = ONCE ? parts_for(blocks, rows, most) : most;
	blocks = blocks < rows * *parts ? blocks : rows * *parts;
	uint32_t limiting = blocks_for((uint64_t)count * LANES, LIMIT_THREADS);
	if (ONCE)
		limit<<<limiting, LIMIT_THREADS, 0, stream>>>(*m, first, first + count);
	score_groups<ONCE, KEEP><<<blocks, THREADS, shared, stream>>>(*m, first, first + count, *parts, ONCE);
	return cudaGetLastError();
}

bool sl__cuda_kmeans_by_groups(const struct sl_cuda_kmeans *m)
{
	return m->groups && (m->width <= DEPTH ? m->lanes >= UNIT * PANEL : m->width > 2 * DEPTH && m->lanes >= PANEL);
}

cudaError_t sl__cuda_kmeans_groups_score(const struct sl_cuda_kmeans *m, uint32_t first, uint32_t count,
					 bool collecting, uint32_t *parts,
				cudaStream_t stream)
{
	return m->width <= DEPTH ? score<true>(m, first, count, collecting, parts, stream) :
				   score<false>(m, first, count, collecting, parts, stream);
}

uint32_t sl__cuda_kmeans_groups(void)
{
	int device = 0, many = 0;
	cudaError_t status = cudaGetDevice(&device);
	status = status == cudaSuccess ? cudaDeviceGetAttribute(&many, cudaDevAttrMultiProcessorCount, device) : status;
	status = status == cudaSuccess ?
			 first_error(allow_shared(sizeof(pieces<false>), -1, score_groups<false, KEEP>,
						  score_groups<false, COLLECT>),
				     allow_shared(sizeof(pieces<true>), -1, score_groups<true, KEEP>,
						  score_groups<true, COLLECT>)) :
			 status;
	cudaGetLastError();
	return status == cudaSuccess ? (uint32_t)many : 0;
}
