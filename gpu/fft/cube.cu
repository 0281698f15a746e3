/* The 3-D convolution in five kernels, for transforms of length 1, 3, 5 or 9 times 2^k, up to 640.
 *
 * The kernels: (1) transform rows (along x), directly from the fixed-point charges; (2) transform along y; (3)
 * transform along z, multiply by the kernel's spectrum, transform back along z; (4) back along y; (5) back along x to
 * the potential. Nothing is copied in between. In a padded grid, the upper half of each line is zero before and unused
 * after: these rows and planes are neither computed nor stored. Compared with cuFFT's transforms and kernels between
 * them, on one NVIDIA H200: side 320 without padding takes 414 us instead of 857; side 64 with padding takes 14 us,
 * where cuFFT took 45 us for side 56.
 *
 * The spectrum's planes are [N][N / 2]; frequencies of x are adjacent. ABREAST adjacent lines along y or z are
 * transformed together, so global memory is accessed in pieces of 128 bytes, without bank conflicts in shared memory.
 * The last frequency of x would leave most of a block idle; so the last frequencies of all rows, [N], are stored behind
 * their plane.
 *
 * Two real rows are transformed as one complex row. An inverse transform is a forward transform of numbers whose real
 * and imaginary parts are swapped. They are swapped once at the multiplication by the kernel, and again when the
 * potential is written.
 *
 * Times in this file: one NVIDIA H200, until 2026-11-23; commands: docs/notes/gpu-layout.md. */
#include "gpu/fft/cube_shapes.cuh"

/* ---- rows ------------------------------------------------------------------------------------------ */

static __device__ __forceinline__ float as_float(float x, float) { return x; }
static __device__ __forceinline__ float as_float(uint32_t x, float scale) { return scale * (float)x; }

/* rows_forward transforms rows along x, two real rows as one complex one. in: [side^2] rows of `pitch` charges (cleared
 * if `clear`) or floats; spectrum: planes as described at the head of this file. A block takes 2 PAIRS rows with T
 * threads per pair; shared memory BYTES. 77 us at side 320 without padding (H200), at 80 % of the bandwidth of a
 * copy. */
template <int N, bool PADDED, class IN>
static __global__ void __launch_bounds__(row_shape<N>::THREADS)
rows_forward(IN *__restrict__ in, int pitch, bool clear, float2 *__restrict__ spectrum,
	     const struct sl_level *__restrict__ o, const struct sl_report *r)
{
	extern __shared__ float2 shared[];
	typedef row_shape<N> S;
	typedef extent<N, PADDED> X;
	const int T = S::T, side = X::SIDE, FULL = PADDED ? S::E / 2 : S::E, HALF = N / 2;
	int l = (int)threadIdx.x / T, t = (int)threadIdx.x % T, row = 2 * ((int)blockIdx.x * S::PAIRS + l);
	float2 *line = shared + l * S::LINE, *own = line + place<S>(t), v[S::E];
	IN *from = in + (size_t)row * pitch + t, re[FULL], im[FULL];
	struct all_factors<S, float2> f;
	f.load(t);
	await_previous();
	bool go = r->state == SL_GO;
	float scale = o->weight_inverse;
#pragma unroll
	for (int p = 0; p < FULL; p++) {  /* all loads before the first store */
		re[p] = from[p * T];
		im[p] = from[pitch + p * T];
	}
	if (!go)
		return;
#pragma unroll
	for (int p = 0; p < FULL && clear; p++)
		from[p * T] = from[pitch + p * T] = 0;
#pragma unroll
	for (int p = 0; p < S::E; p++)
		v[p] = p < FULL ? make_float2(as_float(re[p % FULL], scale), as_float(im[p % FULL], scale)) : make_float2(0, 0);
	transform<S, PADDED>(v, t, line, l, f);
#pragma unroll
	for (int p = 0; p < S::E; p++)
		own[p * apart<S>(T)] = v[p];
	line_sync<S>(l);
	const float2 *low = own, *high = line + place<S>(N - t);
	float2 *plane = spectrum + (size_t)(row / side) * X::PLANE, *out = plane + row % side * HALF + t;
#pragma unroll
	for (int i = 0; i < S::E / 2; i++) {
		float4 both = parted(low[i * apart<S>(T)], i || t ? high[-i * apart<S>(T)] : line[0]);
		out[i * T] = make_float2(both.x, both.y);
		out[HALF + i * T] = make_float2(both.z, both.w);
	}
	if (t == 0) {
		float2 both = line[place<S>(HALF)];
		float4 *last = (float4 *)(plane + X::LAST + row % side);
		*last = make_float4(both.x, 0, both.y, 0);
	}
}

/* rows_inverse takes rows of swapped numbers back to potential [side^2][side]; launch and shared memory as for
 * rows_forward. One additional block sums part to *z. */
template <int N, bool PADDED>
static __global__ void __launch_bounds__(row_shape<N>::THREADS)
rows_inverse(float2 *__restrict__ spectrum, float *__restrict__ potential, const struct sl_level *__restrict__ o,
	     const struct sl_report *r, const double *part, double *z)
{
	extern __shared__ float2 shared[];
	typedef row_shape<N> S;
	typedef extent<N, PADDED> X;
	const int T = S::T, side = X::SIDE, FULL = PADDED ? S::E / 2 : S::E, HALF = N / 2;
	int l = (int)threadIdx.x / T, t = (int)threadIdx.x % T, row = 2 * ((int)blockIdx.x * S::PAIRS + l);
	float2 *line = shared + l * S::LINE, *low = line + place<S>(t), *high = line + place<S>(N - t), v[S::E];
	struct all_factors<S, float2> f;
	f.load(t);
	await_previous();
	bool go = r->state == SL_GO;
	if (blockIdx.x == X::ROW_BLOCKS) {
		if (!go)
			return;
		double sum = sum_parts(part, X::DEEP_BLOCKS);
		if (threadIdx.x == 0)
			*z = o->constant + sum;
		return;
	}
	const float2 *plane = spectrum + (size_t)(row / side) * X::PLANE, *in = plane + row % side * HALF + t;
	float4 last = t ? make_float4(0, 0, 0, 0) : *(const float4 *)(plane + X::LAST + row % side);
	float2 a[S::E / 2], b[S::E / 2];
#pragma unroll
	for (int i = 0; i < S::E / 2; i++) {
		a[i] = in[i * T];
		b[i] = in[HALF + i * T];
	}
	if (!go)
		return;
#pragma unroll
	for (int i = 0; i < S::E / 2; i++) {
		low[i * apart<S>(T)] = make_float2(a[i].x + b[i].y, a[i].y - b[i].x);
		if (i || t)
			high[-i * apart<S>(T)] = make_float2(b[i].y - a[i].x, a[i].y + b[i].x);  /* a row's spectrum is Hermitian */
	}
	if (t == 0)
		line[place<S>(HALF)] = make_float2(last.x + last.w, last.y - last.z);
	line_sync<S>(l);
#pragma unroll
	for (int p = 0; p < S::E; p++)
		v[p] = low[p * apart<S>(T)];
	line_sync<S>(l);
	transform<S, false>(v, t, line, l, f);
	float *out = potential + (size_t)row * side + t;
#pragma unroll
	for (int p = 0; p < FULL; p++) {
		out[p * T] = v[p].y;
		out[side + p * T] = v[p].x;
	}
}

/* ---- y and z -------------------------------------------------------------------------------------------- */

/* A thread's line: its first number, the step to the next number, and whether the thread has a line. */
struct line {
	float2 *first;
	size_t step;
	bool mine;
};

/* The line along y of a thread: one of a plane, or the last frequency of x of one of several planes. */
template <int N, bool PADDED> static __device__ __forceinline__ struct line line_along_y(float2 *spectrum)
{
	typedef extent<N, PADDED> X;
	int block = (int)blockIdx.x, lane = (int)threadIdx.x % X::ACROSS, rest = block - X::SIDE * X::PLANE_CHUNKS;
	if (rest < 0) {
		int z = block / X::PLANE_CHUNKS, x = block % X::PLANE_CHUNKS * X::ACROSS + lane;
		return {spectrum + (size_t)z * X::PLANE + x, X::HALF, x < X::HALF};
	}
	int z = rest * X::ACROSS + lane;
	return {spectrum + (size_t)z * X::PLANE + X::LAST, 1, z < X::SIDE};
}

/* along_y transforms lines along y in place, forward or BACK. In a padded grid it does not read the upper half forward,
 * and does not write it back. A block takes LANES adjacent lines with T threads each; shared memory BYTES. 77 us at
 * side 320 (H200). */
template <int N, bool PADDED, bool BACK>
static __global__ void __launch_bounds__(plane_shape<N>::THREADS, plane_shape<N>::FIT)
along_y(float2 *__restrict__ spectrum, const struct sl_report *r)
{
	extern __shared__ float2 shared[];
	typedef plane_shape<N> S;
	const int T = S::T, COME = PADDED && !BACK ? S::E / 2 : S::E, GO = PADDED && BACK ? S::E / 2 : S::E;
	int t = (int)threadIdx.x / S::LANES;
	struct line line = line_along_y<N, PADDED>(spectrum);
	float2 *own = line.first + t * line.step, v[S::E];
	size_t step = T * line.step;
	column_factors<S> f;
	f.load(t);
	await_previous();
	bool go = r->state == SL_GO;
#pragma unroll
	for (int p = 0; p < S::E; p++)
		v[p] = p < COME && line.mine ? own[p * step] : make_float2(0, 0);
	if (!go)
		return;
	transform<S, PADDED && !BACK>(v, t, shared + threadIdx.x % S::LANES, 0, f);
#pragma unroll
	for (int p = 0; p < GO; p++)
		if (line.mine)
			own[p * step] = v[p];
}

/* Multiplies by the kernel in place and swaps for the way back. Returns this thread's share of Z, not yet weighted by
 * the frequencies of x and y. */
template <int N, bool PADDED>
static __device__ __forceinline__ double multiply(float2 *v, const float *s, int t, const float *tilt)
{
	typedef deep_shape<N> S;
	return times_kernel<S>(v, s, [=](int p, float square) {
		return PADDED && tilt ? tilt[p < S::E / 2 ? t + p * S::T : N - t - p * S::T] * square : square;
	});
}

/* convolve_z transforms lines along z in place, multiplies them by the kernel's spectrum [N / 2 + 1]^3 and transforms
 * them back; part[block] is the block's share of Z. A block takes ABREAST lines with T threads each; with TWINS also
 * the lines of -y, which have the same kernel. Shared memory BYTES. 106 us at side 320 (H200). */
template <int N, bool PADDED>
static __global__ void __launch_bounds__(deep_shape<N>::THREADS, deep_shape<N>::FIT)
convolve_z(float2 *__restrict__ spectrum, const struct sl_level *__restrict__ o, const struct sl_report *r,
	   double *part)
{
	extern __shared__ float2 shared[];
	typedef deep_shape<N> S;
	typedef extent<N, PADDED> X;
	const int T = S::T, FULL = PADDED ? S::E / 2 : S::E, HALF = N / 2, COUNT = HALF + 1;
	int lane = (int)threadIdx.x % ABREAST, t = (int)threadIdx.x / ABREAST, block = (int)blockIdx.x;
	int rest = block - X::DEEP * X::CHUNKS;
	int x = rest < 0 ? block % X::CHUNKS * ABREAST + lane : HALF;
	int y = rest < 0 ? block / X::CHUNKS : rest * ABREAST + lane;
	bool mine = rest < 0 ? x < HALF : y < N, twins = S::TWINS && rest < 0 && y % HALF;
	int folded = y <= HALF ? y : N - y;
	const int SQUARE = COUNT * COUNT;
	const float *kernel = o->spectrum + (mine ? folded * COUNT + x : 0), *tilt = PADDED ? o->tilt : NULL;
	const float *low = kernel + t * SQUARE, *high = kernel + (N - t) * SQUARE;
	float2 *base = spectrum + (size_t)t * X::PLANE + (rest < 0 ? y * HALF + x : X::LAST + y);
	float s[S::E], weight = tilt && mine ? tilt[x] * tilt[folded] : 1;
	double sum = 0;
	column_factors<S> f;
	f.load(t);
#pragma unroll
	for (int p = 0; p < S::E; p++)
		s[p] = mine ? p < S::E / 2 ? low[p * T * SQUARE] : high[-p * T * SQUARE] : 0;
	await_previous();
	bool go = r->state == SL_GO;
#pragma unroll 1
	for (int twin = 0; twin <= twins; twin++) {
		float2 *own = base + (twin ? (N - 2 * y) * HALF : 0), v[S::E];
#pragma unroll
		for (int p = 0; p < S::E; p++)
			v[p] = mine && p < FULL ? own[p * T * X::PLANE] : make_float2(0, 0);
		if (!go)
			return;
#pragma unroll 1
		for (int way = 0; way < 2; way++) {  /* forward, back: a loop halves the code to fetch */
			transform<S, false>(v, t, shared + lane, 0, f);
			if (!way)
				sum += multiply<N, PADDED>(v, s, t, tilt);
		}
#pragma unroll
		for (int p = 0; p < FULL; p++)
			if (mine)
				own[p * T * X::PLANE] = v[p];
	}
	sum = block_sum(sum * (double)weight * (x == 0 || x == HALF ? 1 : 2));
	if (threadIdx.x == 0)
		part[block] = sum;
}

/* ---- spectra -------------------------------------------------------------------------------------------- */

/* One dimension of the cosine transform of a cube of side N / 2 + 1, two lines as one complex line; the numbers of a
 * line are `stride` apart. In place, in double precision: the high frequencies of a kernel's spectrum are a millionth
 * of the low ones, and float's rounding error is relative to the low ones. */
template <int N>
static __global__ void __launch_bounds__(wide_shape<N>::THREADS) cosines(float *data, int stride)
{
	extern __shared__ double2 wide[];
	typedef wide_shape<N> S;
	const int T = S::T, COUNT = N / 2 + 1, SQUARE = COUNT * COUNT;
	int lane = (int)threadIdx.x % S::LANES, t = (int)threadIdx.x / S::LANES;
	float *of[2];
	bool mine[2];
	double2 v[S::E];
	struct all_factors<S, double2> f;
	f.load(t);
#pragma unroll
	for (int k = 0; k < 2; k++) {
		int line = ((int)blockIdx.x * 2 + k) * S::LANES + lane;
		mine[k] = line < SQUARE;
		of[k] = data + (size_t)(line / stride) * stride * COUNT + line % stride;
	}
#pragma unroll
	for (int p = 0; p < S::E; p++) {
		int i = t + p * T;
		size_t at = (size_t)(i < COUNT ? i : N - i) * stride;
		v[p] = make_double2(mine[0] ? of[0][at] : 0, mine[1] ? of[1][at] : 0);
	}
	transform<S, false>(v, t, wide + lane, 0, f);
#pragma unroll
	for (int p = 0; p < S::E; p++) {
		size_t at = (size_t)(t + p * T) * stride;
		if (t + p * T < COUNT && mine[0])
			of[0][at] = (float)v[p].x;
		if (t + p * T < COUNT && mine[1])
			of[1][at] = (float)v[p].y;
	}
}

/* ---- launchers --------------------------------------------------------------------------------------------- */

template <int N> static bool fits(size_t shared_bytes)
{
	return row_shape<N>::BYTES <= shared_bytes && plane_shape<N>::BYTES <= shared_bytes &&
	       deep_shape<N>::BYTES <= shared_bytes && wide_shape<N>::BYTES <= shared_bytes;
}

/* On devices whose blocks have 99 KiB of shared memory, cuFFT transforms the longest length. */
bool sl__cube_has(int length, bool padded)
{
	const size_t shared_bytes = shared_most();
#define HAS(n) || (length == n && fits<n>(shared_bytes))
	return padded ? false FOR_EACH_PADDED(HAS) : false FOR_EACH_OTHER(HAS);
#undef HAS
}

bool sl__cube_has_far(int length) { return is_far(length); }

/* All short lengths request the same shared-memory configuration as square.cu: a multiprocessor must be idle before it
 * can change it. Long lines need more shared memory, since otherwise too few blocks would fit. */
static constexpr int shared_percent(int length) { return length < 384 ? 44 : 75; }

template <int N, bool PADDED> static cudaError_t prepare(void)
{
	const int row = row_shape<N>::BYTES, column = plane_shape<N>::BYTES, percent = shared_percent(N);
	cudaError_t far = cudaSuccess, padded = cudaSuccess;
	if constexpr (PADDED && is_far(N))
		far = allow_shared(row, percent, rows_forward<N, true, float>);
	if constexpr (PADDED)
		padded = first_error(allow_shared(column, percent, along_y<N, true, true>),
				     allow_shared(wide_shape<N>::BYTES, percent, cosines<N>));
	return first_error(allow_shared(row, percent, rows_forward<N, PADDED, uint32_t>, rows_inverse<N, PADDED>), far,
			   padded, allow_shared(column, percent, along_y<N, PADDED, false>),
			   allow_shared(deep_shape<N>::BYTES, percent, convolve_z<N, PADDED>));
}

cudaError_t sl__cube_init(void)
{
	const size_t shared_bytes = shared_most();
	cudaError_t status = cudaSuccess;
#define INIT(n) make_twiddles<<<(n + 255) / 256, 256>>>(n);
	FOR_EACH_LENGTH(INIT)
#undef INIT
#define INIT(n) \
	if (status == cudaSuccess && fits<n>(shared_bytes)) \
		status = prepare<n, IS_PADDED>();
#define IS_PADDED true
	FOR_EACH_PADDED(INIT)
#undef IS_PADDED
#define IS_PADDED false
	FOR_EACH_OTHER(INIT)
#undef IS_PADDED
#undef INIT
	return status == cudaSuccess ? cudaGetLastError() : status;
}

template <int N, bool PADDED>
static cudaError_t forward(const struct sl_grid_memory *g, const struct sl_orders *o, const struct sl_report *r,
			   cudaStream_t stream)
{
	typedef row_shape<N> S;
	const struct sl_level *level = &o->level[g->level];
	const uint32_t blocks = extent<N, PADDED>::ROW_BLOCKS;
	if (!g->level)
		launch(rows_forward<N, PADDED, uint32_t>, blocks, S::THREADS, S::BYTES, stream, (uint32_t *)g->charges,
		       2 * g->pairs, !g->coarse, g->spectrum, level, r);
	else if constexpr (PADDED && is_far(N))
		launch(rows_forward<N, true, float>, blocks, S::THREADS, S::BYTES, stream, g->input, g->side, false,
		       g->spectrum, level, r);
	else
		return cudaErrorInvalidValue;
	return cudaGetLastError();
}

template <int N, bool PADDED>
static void convolve(const struct sl_grid_memory *g, const struct sl_orders *o, struct sl_report *r, double *part,
		     cudaStream_t stream)
{
	typedef row_shape<N> R;
	typedef plane_shape<N> Y;
	typedef deep_shape<N> Z;
	typedef extent<N, PADDED> X;
	const struct sl_level *level = &o->level[g->level];
	part += g->level * SL_LEVEL_PARTS;
	launch(along_y<N, PADDED, false>, X::PLANE_BLOCKS, Y::THREADS, Y::BYTES, stream, g->spectrum, r);
	launch(convolve_z<N, PADDED>, X::DEEP_BLOCKS, Z::THREADS, Z::BYTES, stream, g->spectrum, level, r, part);
	launch(along_y<N, PADDED, PADDED>, X::PLANE_BLOCKS, Y::THREADS, Y::BYTES, stream, g->spectrum, r);
	launch(rows_inverse<N, PADDED>, X::ROW_BLOCKS + 1, R::THREADS, R::BYTES, stream, g->spectrum, g->potential, level,
	       r, part, &r->level_z[g->level]);
}

/* Queues the kernels for a grid of that length: the forward rows, or all that follow them. */
static cudaError_t queue(bool rows, const struct sl_grid_memory *g, const struct sl_orders *o, struct sl_report *r,
			 double *part, cudaStream_t stream)
{
#define CASE(n) \
	case n: \
		if (rows) \
			return forward<n, IS_PADDED>(g, o, r, stream); \
		convolve<n, IS_PADDED>(g, o, r, part, stream); \
		break;
	if (g->length != g->side) {
#define IS_PADDED true
		switch (g->length) {
		FOR_EACH_PADDED(CASE)
		default: return cudaErrorInvalidValue;
		}
#undef IS_PADDED
	} else {
#define IS_PADDED false
		switch (g->length) {
		FOR_EACH_OTHER(CASE)
		default: return cudaErrorInvalidValue;
		}
#undef IS_PADDED
	}
#undef CASE
	return cudaGetLastError();
}

cudaError_t sl__cube_rows(const struct sl_grid_memory *g, const struct sl_orders *o, const struct sl_report *r,
			  cudaStream_t stream)
{
	return queue(true, g, o, (struct sl_report *)r, NULL, stream);  /* rows only read it */
}

cudaError_t sl__cube_convolve(const struct sl_grid_memory *g, const struct sl_orders *o, struct sl_report *r,
			      double *part, cudaStream_t stream)
{
	return queue(false, g, o, r, part, stream);
}

template <int N> static void transform_octant(float *octant, cudaStream_t stream)
{
	typedef wide_shape<N> S;
	const int count = N / 2 + 1;
	uint32_t blocks = blocks_for((uint64_t)count * count, 2 * S::LANES);
	for (int stride = 1; stride <= count * count; stride *= count)
		cosines<N><<<blocks, S::THREADS, S::BYTES, stream>>>(octant, stride);
}

cudaError_t sl__cube_cosines(int length, float *octant, cudaStream_t stream)
{
	switch (length) {
#define CASE(n) case n: transform_octant<n>(octant, stream); break;
	FOR_EACH_PADDED(CASE)
#undef CASE
	default: return cudaErrorInvalidValue;
	}
	return cudaGetLastError();
}
