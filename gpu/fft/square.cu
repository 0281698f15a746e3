/* The 2-D convolution in three kernels, for transforms of length 2^k, 3 * 2^k or 5 * 2^k, up to 4,096.
 *
 * In a padded grid, half of each row and column is zero before the convolution and unused after it. The kernels: (1)
 * transform the rows that hold charges, directly from the fixed-point charges, and clear these; (2) transform the
 * columns, multiply by the kernel's spectrum and transform back, all on one multiprocessor; (3) transform the rows
 * back. Compared with cuFFT's two transforms of the padded grid, this takes a quarter of the memory traffic, three
 * launches instead of seven, and no plans.
 *
 * All three kernels are bound by latency. So each loads the data that do not depend on the kernel before it, and only
 * then waits for that kernel; the threads of a line belong to one warp if that pays. The spectrum is stored by columns:
 * a column is one piece of memory. Blocks of several pairs of rows transpose through shared memory, and separate there
 * the two real rows that were transformed as one complex row.
 *
 * Times in this file: one NVIDIA H200, until 2026-11-25; commands: docs/notes/gpu-layout.md. */
#include "gpu/fft/rows.cuh"

/* ---- rows ------------------------------------------------------------------------------------------ */

/* rows_forward transforms the rows of the charges, two real rows as one complex row, and separates their spectra.
 * charges [side][words] fixed point, cleared; spectrum [N / 2 + 1][side] by columns. Without padding it also writes
 * half [side][coarse]: the rows spread over the coarse grid along x, by FEEDERS threads of their own. A block takes 2
 * PAIRS rows with T threads per pair; shared memory ROW_BYTES, or FEED_BYTES without padding. Bound by latency: 6.6 us
 * at side 1,024 (H200). */
template <int N, bool PADDED>
static __global__ void __launch_bounds__(shape<N>::T * shape<N>::PAIRS + (PADDED ? 0 : FEEDERS))
rows_forward(uint32_t *__restrict__ charges, int words, float2 *__restrict__ spectrum, float *half, int coarse,
	     const struct sl_level *__restrict__ o, const struct sl_report *r)
{
	extern __shared__ float2 shared[];
	typedef shape<N> S;
	const int T = S::T, P = S::PAIRS, FULL = extent<N, PADDED>::E, side = extent<N, PADDED>::SIDE;
	const int W = raw<N>::SIDE_BY_SIDE;
	int l = (int)threadIdx.x / T, t = (int)threadIdx.x % T, first = 2 * (int)blockIdx.x * P, row = first + 2 * l;
	float2 *as_came = shared + P * S::LINE;
	if (!PADDED && l >= P) {
		restrict_rows<N>(as_came, (int)threadIdx.x - P * T, first, half, coarse, o + 1, r);
		return;
	}
	struct all_factors<S, float2> f;
	float2 v[S::E];
	f.load(t);
	await_previous();
#pragma unroll
	for (int p = FULL; p < S::E; p++)
		v[p] = make_float2(0, 0);
	bool go = r->state == SL_GO;
	float scale = o->weight_inverse;
	uint32_t *own = charges + (size_t)row * words + t;
#pragma unroll
	for (int p = 0; p < FULL; p++) {  /* all loads before the first store */
		uint32_t re = own[p * T], im = own[words + p * T];
		v[p] = make_float2(__uint_as_float(re), __uint_as_float(im));
	}
	if (!PADDED)
		as_came += l / W * W * S::RAW + l % W + raw_place<N>(t);
#pragma unroll
	for (int p = 0; p < FULL; p++) {
		v[p].x = scale * (float)__float_as_uint(v[p].x);
		v[p].y = scale * (float)__float_as_uint(v[p].y);
		if (!PADDED)
			as_came[p * (T + T / raw<N>::GAP) * W] = v[p];
	}
	if (!PADDED)
		__syncthreads();
	if (!go)
		return;
#pragma unroll
	for (int p = 0; p < FULL; p++)
		own[p * T] = own[words + p * T] = 0;
	float2 *line = shared + l * S::LINE, *out = line + place<S>(t);
	transform<S, PADDED>(v, t, line, l, f);
#pragma unroll
	for (int p = 0; p < S::E; p++)
		out[p * (T + T / S::PAD)] = v[p];
	threads_sync(P * T);
	part_rows<S, P>(shared, first, spectrum, side);
}

#define FED 48
template <int N> struct fed {
	static const int COLUMNS = N <= 1024 ? 1 : N <= 2048 ? 2 : 4, THREADS = N / 2 / COLUMNS;
};

/* rows_fed is rows_forward for level 1. It gathers two rows of the coarse grid from half [side of near][side] along
 * y, with weights [taps][side] in pieces of FED, and transforms them. A block takes two rows with N / 2 / COLUMNS
 * threads, of which T transform; shared memory LINE numbers. */
template <int N>
static __global__ void __launch_bounds__(fed<N>::THREADS)
rows_fed(const float *__restrict__ half, float2 *__restrict__ spectrum, const struct sl_level *__restrict__ o,
	 const struct sl_report *r)
{
	extern __shared__ float2 shared[];
	__shared__ float weights[2][FED];
	typedef shape<N> S;
	const int T = S::T, side = N / 2, COLUMNS = fed<N>::COLUMNS, THREADS = fed<N>::THREADS;
	int x = (int)threadIdx.x, row = 2 * (int)blockIdx.x, taps = o->gather_taps;
	int first = o->gather_first[row], second = o->gather_first[row + 1], count = second + taps - first;
	const float *weight = o->gather_weight + row;
	struct all_factors<S, float2> f;
	float2 sum[COLUMNS] = {}, v[S::E];
	if (x < T)
		f.load(x);
	for (int from = 0; from < count; from += FED) {
		if (from)
			__syncthreads();
		for (int at = x; at < 2 * FED; at += THREADS) {
			int which = at / FED, k = from + at % FED - which * (second - first);
			weights[which][at % FED] = k >= 0 && k < taps ? weight[k * side + which] : 0;
		}
		if (!from)
			await_previous();
#pragma unroll
		for (int c = 0; c < COLUMNS; c++) {
			float own[FED];
#pragma unroll
			for (int k = 0; k < FED; k++)
				own[k] = from + k < count ? half[(size_t)(first + from + k) * side + x + c * THREADS] : 0;
			if (c == 0)
				__syncthreads();
#pragma unroll
			for (int k = 0; k < FED; k++) {
				sum[c].x = fmaf(weights[0][k], own[k], sum[c].x);
				sum[c].y = fmaf(weights[1][k], own[k], sum[c].y);
			}
		}
	}
#pragma unroll
	for (int c = 0; c < COLUMNS; c++)
		shared[place<S>(x + c * THREADS)] = sum[c];
	__syncthreads();
	if (x >= T || r->state != SL_GO)
		return;
	const float2 *in = shared + place<S>(x);
#pragma unroll
	for (int p = 0; p < S::E; p++)
		v[p] = p < S::E / 2 ? in[p * (T + T / S::PAD)] : make_float2(0, 0);
	line_sync<S>(0);
	transform<S, true>(v, x, shared, 0, f);
	float2 *out = shared + place<S>(x);
#pragma unroll
	for (int p = 0; p < S::E; p++)
		out[p * (T + T / S::PAD)] = v[p];
	line_sync<S>(0);
	part_rows<S, 1>(shared, row, spectrum, side);
}

/* rows_inverse takes spectrum [N / 2 + 1][side] back to potential [side][side]: pairs of rows are combined to one
 * complex row each in shared memory (ROW_BYTES) and transformed. One additional block sums part[parts] to *z. A block
 * has T PAIRS threads. */
template <int N, bool PADDED>
static __global__ void __launch_bounds__(shape<N>::T * shape<N>::PAIRS)
rows_inverse(const float2 *__restrict__ spectrum, float *__restrict__ potential, const struct sl_level *__restrict__ o,
	     const struct sl_report *r, const double *part, uint32_t parts, double *z)
{
	extern __shared__ float2 shared[];
	typedef shape<N> S;
	const int T = S::T, P = S::PAIRS, FULL = extent<N, PADDED>::E, side = extent<N, PADDED>::SIDE;
	const int ITEMS = N / 2 / T, STEP = T + T / S::PAD;
	int l = (int)threadIdx.x / T, t = (int)threadIdx.x % T, first = 2 * (int)blockIdx.x * P, row = first + 2 * l;
	struct all_factors<S, float2> f;
	float2 v[S::E];
	f.load(t);
	await_previous();
	bool go = r->state == SL_GO;
	if (first >= side) {
		if (!go)
			return;
		double sum = sum_parts(part, parts);
		if (threadIdx.x == 0)
			*z = o->constant + sum;
		return;
	}
	int pair = (int)threadIdx.x % P, k = (int)threadIdx.x / P;  /* and every T-th from there on */
	const float4 *in = (const float4 *)(spectrum + (size_t)k * side + first) + pair;
	float4 both[ITEMS + 1];
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
		both[i] = in[(size_t)i * T * side / 2];
	both[ITEMS] = k ? make_float4(0, 0, 0, 0) : in[(size_t)N / 2 * side / 2];
	if (!go)
		return;
	float2 *line = shared + pair * S::LINE, *low = line + place<S>(k), *high = line + place<S>(N - k);
#pragma unroll
	for (int i = 0; i < ITEMS; i++) {
		float4 b = both[i];
		low[i * STEP] = make_float2(b.y + b.z, b.x - b.w);  /* swapped: the inverse by the forward transform */
		if (i || k)
			high[-i * STEP] = make_float2(b.z - b.y, b.x + b.w);  /* a row's spectrum is Hermitian */
	}
	if (k == 0)
		line[place<S>(N / 2)] = make_float2(both[ITEMS].y + both[ITEMS].z, both[ITEMS].x - both[ITEMS].w);
	__syncthreads();
	line = shared + l * S::LINE;
	const float2 *own = line + place<S>(t);
#pragma unroll
	for (int p = 0; p < S::E; p++)
		v[p] = own[p * (T + T / S::PAD)];
	line_sync<S>(l);
	transform<S, false>(v, t, line, l, f);
	float *out = potential + (size_t)row * side + t;
#pragma unroll
	for (int p = 0; p < FULL; p++) {
		out[p * T] = v[p].y;
		out[side + p * T] = v[p].x;
	}
}

/* ---- columns ------------------------------------------------------------------------------------------ */

/* Multiplies by the kernel in place and swaps for the inverse. Returns this thread's share of Z. kernel, tilt: of the
 * column. */
template <int N, bool PADDED>
static __device__ __forceinline__ double
multiply(float2 *v, const float *s, int t, const float *tilt, float tilt_x)
{
	typedef shape<N> S;
	return times_kernel<S>(v, s, [=](int p, float square) {
		int y = t + p * S::T;
		return PADDED && tilt ? tilt_x * tilt[y <= N / 2 ? y : N - y] * square : square;
	});
}

/* convolve_columns transforms the columns of spectrum [N / 2 + 1][side] in place, multiplies them by the kernel's
 * spectrum and transforms them back; part[block] is the block's share of Z. The kernel's spectrum is symmetric, so a
 * row of it is the column. A block takes LINES columns with T threads each; shared memory COLUMN_BYTES. With
 * rows_inverse 9.7 us at side 1,024 (H200), bound by latency and by fetching code, which is why both ways share one
 * loop. */
template <int N, bool PADDED>
static __global__ void __launch_bounds__(shape<N>::T * shape<N>::LINES, shape<N>::FIT)
convolve_columns(float2 *__restrict__ spectrum, const struct sl_level *__restrict__ o, const struct sl_report *r,
		 double *part)
{
	extern __shared__ float2 shared[];
	typedef shape<N> S;
	const int T = S::T, FULL = extent<N, PADDED>::E, side = extent<N, PADDED>::SIDE, last = N / 2;
	int l = (int)threadIdx.x / T, t = (int)threadIdx.x % T, x = (int)blockIdx.x * S::LINES + l;
	float2 *line = shared + l * S::LINE, *own = spectrum + (size_t)x * side + t, v[S::E];
	bool mine = x <= last;
	struct all_factors<S, float2> f;
	const float *kernel = o->spectrum + (size_t)(mine ? x : 0) * (last + 1), *tilt = PADDED ? o->tilt : NULL;
	float tilt_x = tilt && mine ? tilt[x] : 1, s[S::E];
	f.load(t);
#pragma unroll
	for (int p = 0; p < S::E; p++) {  /* the kernel's spectrum is symmetric: a row of it is the column */
		int y = t + p * T;
		s[p] = mine ? kernel[y <= last ? y : N - y] : 0;
	}
	await_previous();
	bool go = r->state == SL_GO;
#pragma unroll
	for (int p = 0; p < S::E; p++)
		v[p] = mine && p < FULL ? own[p * T] : make_float2(0, 0);
	if (!go)
		return;
	double sum = 0;
#pragma unroll 1
	for (int way = 0; way < 2; way++) {  /* forward, back: a loop halves the code to fetch */
		transform<S, false>(v, t, line, l, f);
		if (!way)
			sum = multiply<N, PADDED>(v, s, t, tilt, tilt_x);
	}
	if (mine) {
#pragma unroll
		for (int p = 0; p < FULL; p++)
			own[p * T] = swapped(v[p]);
	}
	if (x != 0 && x != last)
		sum *= 2;
	sum = block_sum(sum);
	if (threadIdx.x == 0)
		part[blockIdx.x] = sum;
}

/* One dimension of the cosine transform of a square of side N / 2 + 1. Lines are `step` apart, the numbers of a line
 * `stride`. In place, in double precision: the high frequencies of a kernel's spectrum are a millionth of the low ones,
 * and float's rounding error is relative to the low ones. */
template <int N>
static __global__ void __launch_bounds__(shape<N>::T * shape<N>::LINES) cosines(float *data, int step, int stride)
{
	extern __shared__ double2 wide[];
	typedef shape<N> S;
	const int E = S::E, T = S::T, side = N / 2;
	int l = (int)threadIdx.x / T, t = (int)threadIdx.x % T, row = (int)blockIdx.x * S::LINES + l;
	struct all_factors<S, double2> f;
	double2 v[E];
	bool mine = row <= side;
	f.load(t);
#pragma unroll
	for (int p = 0; p < E; p++) {
		int k = t + p * T;
		v[p] = make_double2(mine ? data[(size_t)row * step + (size_t)(k <= side ? k : N - k) * stride] : 0, 0);
	}
	transform<S, false>(v, t, wide + l * S::LINE, l, f);
	if (T > 32)
		line_sync<S>(l);
#pragma unroll
	for (int p = 0; p < E; p++)
		if (mine && t + p * T <= side)
			data[(size_t)row * step + (size_t)(t + p * T) * stride] = (float)v[p].x;
}

/* ---- launchers --------------------------------------------------------------------------------------------- */

/* All lengths need at most 99 KiB of shared memory per block. */
static bool square_has(int length, bool padded)
{
	const size_t shared_bytes = shared_most();
#define PADDED(n) || (length == n && extent<n, true>::BYTES <= shared_bytes)
#define NEAR(n) || (length == n && extent<n, false>::BYTES <= shared_bytes)
	return padded ? false FOR_EACH_PADDED(PADDED) : false FOR_EACH_NEAR(NEAR);
#undef PADDED
#undef NEAR
}

bool sl__fft_has(int dims, int length, bool padded)
{
	return dims == 3 ? sl__cube_has(length, padded) : dims == 2 && square_has(length, padded);
}

bool sl__fft_has_far(int dims, int length)
{
	bool far = dims == 3 ? sl__cube_has_far(length) : is_far(length);
	return far && sl__fft_has(dims, length, true);
}

/* All kernels request the same shared-memory configuration: a multiprocessor must be idle before it can change it. */
#define SHARED_PERCENT 44

template <int N, bool PADDED> static cudaError_t prepare(void)
{
	typedef shape<N> S;
	cudaError_t cosine = cudaSuccess;
	if constexpr (PADDED)
		cosine = allow_shared(S::COSINE_BYTES, SHARED_PERCENT, cosines<N>);
	return first_error(allow_shared(PADDED ? S::ROW_BYTES : S::FEED_BYTES, SHARED_PERCENT, rows_forward<N, PADDED>),
			   allow_shared(S::ROW_BYTES, SHARED_PERCENT, rows_inverse<N, PADDED>),
			   allow_shared(S::COLUMN_BYTES, SHARED_PERCENT, convolve_columns<N, PADDED>), cosine);
}

cudaError_t sl__fft_init(void)
{
	cudaError_t status = cudaSuccess;
#define PADDED(n) \
	make_twiddles<<<(n + 255) / 256, 256>>>(n); \
	if (status == cudaSuccess && square_has(n, true)) \
		status = prepare<n, true>();
#define NEAR(n) \
	if (status == cudaSuccess && square_has(n, false)) \
		status = prepare<n, false>();
#define FAR(n) \
	if (status == cudaSuccess && square_has(n, true)) \
		status = allow_shared(shape<n>::LINE * 8, SHARED_PERCENT, rows_fed<n>);
	FOR_EACH_PADDED(PADDED)
	FOR_EACH_NEAR(NEAR)
	FOR_EACH_FAR(FAR)
#undef PADDED
#undef NEAR
#undef FAR
	if (status == cudaSuccess)
		status = cudaGetLastError();
	return status == cudaSuccess ? sl__cube_init() : status;
}

/* The arguments of the functions below, which exist for each length. */
struct job {
	const struct sl_grid_memory *g;
	const float *half;  /* the near grid's, at level 1 */
	const struct sl_orders *o;
	struct sl_report *r;
	double *part;
	cudaStream_t stream;
};

template <int N, bool PADDED> static void forward(const struct job *j)
{
	typedef shape<N> S;
	const struct sl_grid_memory *g = j->g;
	const int threads = S::T * S::PAIRS + (PADDED ? 0 : FEEDERS), bytes = PADDED ? S::ROW_BYTES : S::FEED_BYTES;
	launch(rows_forward<N, PADDED>, blocks_for((uint64_t)g->side / 2, S::PAIRS), threads, bytes, j->stream,
	       (uint32_t *)g->charges, 2 * g->pairs, g->spectrum, g->half, g->coarse, &j->o->level[0], j->r);
}

template <int N> static void forward_far(const struct job *j)
{
	launch(rows_fed<N>, (uint32_t)j->g->side / 2, fed<N>::THREADS, shape<N>::LINE * 8, j->stream, j->half,
	       j->g->spectrum, &j->o->level[1], j->r);
}

template <int N, bool PADDED> static void convolve(const struct job *j)
{
	typedef shape<N> S;
	const struct sl_grid_memory *g = j->g;
	const struct sl_level *level = &j->o->level[g->level];
	double *part = j->part + g->level * SL_LEVEL_PARTS;
	uint32_t rows = blocks_for((uint64_t)g->side / 2, S::PAIRS), columns = blocks_for((uint64_t)N / 2 + 1, S::LINES);
	launch(convolve_columns<N, PADDED>, columns, S::T * S::LINES, S::COLUMN_BYTES, j->stream, g->spectrum, level, j->r,
	       part);
	launch(rows_inverse<N, PADDED>, rows + 1, S::T * S::PAIRS, S::ROW_BYTES, j->stream, g->spectrum, g->potential,
	       level, j->r, part, columns, &j->r->level_z[g->level]);
}

/* Calls the function of a length: the forward rows, or the kernels after them. */
static cudaError_t by_length(bool rows, const struct job *j)
{
#define PADDED(n) case n: rows ? forward<n, true>(j) : convolve<n, true>(j); break;
#define NEAR(n) case n: rows ? forward<n, false>(j) : convolve<n, false>(j); break;
#define FAR(n) case n: forward_far<n>(j); break;
	const int length = j->g->length;
	if (rows && j->g->level)
		switch (length) {
		FOR_EACH_FAR(FAR)
		default: return cudaErrorInvalidValue;
		}
	else if (length != j->g->side)
		switch (length) {
		FOR_EACH_PADDED(PADDED)
		default: return cudaErrorInvalidValue;
		}
	else
		switch (length) {
		FOR_EACH_NEAR(NEAR)
		default: return cudaErrorInvalidValue;
		}
#undef PADDED
#undef NEAR
#undef FAR
	return cudaGetLastError();
}

cudaError_t sl__fft_rows(const struct sl_grid_memory *g, const struct sl_grid_memory *near, const struct sl_orders *o,
			 const struct sl_report *r, cudaStream_t stream)
{
	const struct job job = {g, near->half, o, (struct sl_report *)r, NULL, stream};  /* rows only read the report */
	return g->dims == 3 ? sl__cube_rows(g, o, r, stream) : by_length(true, &job);
}

cudaError_t sl__fft_convolve(const struct sl_grid_memory *g, const struct sl_orders *o, struct sl_report *r,
			     double *part, cudaStream_t stream)
{
	const struct job job = {g, NULL, o, r, part, stream};
	return g->dims == 3 ? sl__cube_convolve(g, o, r, part, stream) : by_length(false, &job);
}

cudaError_t sl__fft_cosines(int dims, int length, float *octant, cudaStream_t stream)
{
	int side = length / 2;
	if (dims == 3)
		return sl__cube_cosines(length, octant, stream);
	switch (length) {
#define CASE(n) case n: \
	for (int k = 0; k < 2; k++) \
		cosines<n><<<blocks_for(side + 1, shape<n>::LINES), shape<n>::T * shape<n>::LINES, shape<n>::COSINE_BYTES, \
			     stream>>>(octant, k ? 1 : side + 1, k ? side + 1 : 1); \
	break;
	FOR_EACH_PADDED(CASE)
#undef CASE
	default: return cudaErrorInvalidValue;
	}
	return cudaGetLastError();
}
