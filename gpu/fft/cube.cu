/* The 3-D convolution in five kernels, for transforms of length 1, 3, 5 or 9 times 2^k, up to 640.
 *
 * Rows (x) forward, straight from the fixed-point charges; y forward; z forward, times kernel, z back; y back; rows
 * back to the potential. Nothing is copied in between, and of a padded grid no half that is zero, or of no use, is ever
 * touched: planes and rows of those are not even stored. Against a library's transforms with kernels between them, on
 * one NVIDIA H200: side 320, not padded, 414 us instead of 857; side 64, padded, 14 us, where 56 took 45.
 *
 * The spectrum's planes are [N][N / 2], frequencies of x side by side. Lines along y and z are transformed ABREAST at a
 * time, a neighbour each: they come and go in pieces of 128 bytes, and in shared memory no two meet in a bank. The last
 * frequency of x would leave most of a block idle, so those of all rows, [N], lie behind the others of their plane.
 *
 * Two real rows are transformed as one complex one. Back is done by forward transforms of swapped numbers: they are
 * swapped once, where the kernel is met, and again as the potential is written. */
#define LONGEST 640
#define ODD_PARTS 4
#include "core/sides.h"
#include "gpu/fft/line.cuh"

#include <type_traits>

/* ---- shapes ------------------------------------------------------------------------------------- */

#define ABREAST 16        /* lines along z, and in large planes */
#define ABREAST_SMALL 8   /* in small planes, of which more blocks are wanted */
#define SMALL 192         /* up to this length */

/* By length: how rows are cut, how many pairs of them a block has, and how columns are cut. */
template <int N> struct row_shape;
template <int N> struct plane_shape;  /* lines along y */
template <int N> struct deep_shape;   /* along z */
template <int N> struct wide_shape;   /* columns in double precision */
#define SHAPE(n, e, b, c, d, pairs, f, g, h, i) \
	template <> struct row_shape<n> : cut<n, e, b, c, d> { \
		/* float2 of shared memory a line, so that lines side by side use different banks */ \
		static const int PAIRS = pairs, THREADS = T * pairs, LINE = (SPREAD + 15) / 16 * 16 + (T < 16 ? T : 0); \
		static const int BYTES = PAIRS * LINE * 8; \
		static_assert(THREADS % 32 == 0 && n / 2 % T == 0, "whole warps"); \
	}; \
	template <> struct plane_shape<n> : columns<n, f, g, h, i, n <= SMALL ? ABREAST_SMALL : ABREAST, 768> {}; \
	template <> struct deep_shape<n> : columns<n, f, g, h, i, ABREAST, f < 20 ? 768 : 512> { \
		static const bool TWINS = n >= 256;  /* frequencies y and -y, whose kernel is the same, by one block */ \
	}; \
	template <> struct wide_shape<n> : cut<n, f, g, h, i, 8> { \
		static const int THREADS = T * 8, BYTES = SPREAD * 16; \
	}

/* Lines side by side, and the blocks of them that should fit on one of 132 multiprocessors, where registers should
 * suffice for so many threads. */
template <int n, int e, int b, int c, int d, int lanes, int threads> struct columns : cut<n, e, b, c, d, lanes> {
	static const int THREADS = n / e * lanes, BYTES = cut<n, e, b, c, d, lanes>::SPREAD * 8;
	static const int WAVE = ((n + 1) * ((n / 2 + lanes - 1) / lanes) + 131) / 132;
	static const int MOST = threads / THREADS, FIT = MOST < WAVE ? MOST : WAVE;
	static const bool LATE = WAVE > MOST;
};

/* With others to work meanwhile factors may come late, and leave registers free. */
template <class S>
using column_factors = std::conditional_t<S::LATE, late_factors<S, float2>, all_factors<S, float2>>;

SHAPE(48, 12, 4, 1, 1, 32, 12, 4, 1, 1);
SHAPE(64, 8, 8, 1, 1, 16, 8, 8, 1, 1);
SHAPE(80, 20, 4, 1, 1, 32, 20, 4, 1, 1);
SHAPE(96, 12, 4, 2, 1, 16, 12, 4, 2, 1);
SHAPE(128, 16, 8, 1, 1, 16, 16, 8, 1, 1);
SHAPE(144, 12, 12, 1, 1, 8, 12, 12, 1, 1);
SHAPE(160, 20, 4, 2, 1, 16, 20, 4, 2, 1);
SHAPE(192, 12, 4, 4, 1, 8, 24, 8, 1, 1);
SHAPE(256, 16, 16, 1, 1, 8, 16, 16, 1, 1);
SHAPE(288, 24, 12, 1, 1, 8, 24, 12, 1, 1);
SHAPE(320, 20, 4, 4, 1, 8, 20, 4, 4, 1);
SHAPE(384, 12, 4, 4, 2, 4, 24, 8, 2, 1);
SHAPE(512, 16, 16, 2, 1, 4, 16, 16, 2, 1);
SHAPE(640, 20, 4, 4, 2, 4, 20, 4, 4, 2);
#define FOR_EACH_PADDED(call) \
	call(48) call(64) call(80) call(96) call(128) call(144) call(160) call(192) call(256) call(320) call(384) \
	call(512) call(640)
#define FOR_EACH_OTHER(call) \
	call(64) call(80) call(96) call(128) call(144) call(160) call(192) call(256) call(288) call(320) call(384)
#define FOR_EACH_LENGTH(call) FOR_EACH_PADDED(call) call(288)
/* Of the far ones of pairs of grids. */
#define FOR_EACH_FAR(call) call(48) call(64) call(80) call(96) call(128) call(144) call(160) call(192)

#define IS(n) || length == n
static constexpr bool is_padded(int length) { return false FOR_EACH_PADDED(IS); }
static constexpr bool is_near(int length) { return false FOR_EACH_OTHER(IS); }
static constexpr bool is_far(int length) { return false FOR_EACH_FAR(IS); }
#undef IS
#define CHECK(side) static_assert(is_padded(2 * side), "a side without its transform");
SL_SIDES_3D(CHECK)
SL_SIDES_SMOOTH(CHECK)
#undef CHECK
#define CHECK(side, coarse) static_assert(is_near(side) && is_far(2 * coarse), "a pair without its transforms");
SL_PAIRS_3D(CHECK)
#undef CHECK

/* PADDED: the upper half of each line is zero before and of no use after; the grid has N / 2 nodes a side, else N. */
template <int N, bool PADDED> struct extent {
	static const int SIDE = PADDED ? N / 2 : N, HALF = N / 2, PLANE = N * (HALF + 1), LAST = N * HALF;
	static const int ROW_BLOCKS = SIDE * SIDE / 2 / row_shape<N>::PAIRS;
	/* chunks of a row, and blocks; rows that have blocks along z */
	static const int ACROSS = plane_shape<N>::LANES, PLANE_CHUNKS = (HALF + ACROSS - 1) / ACROSS;
	static const int PLANE_BLOCKS = SIDE * PLANE_CHUNKS + (SIDE + ACROSS - 1) / ACROSS;
	static const int CHUNKS = (HALF + ABREAST - 1) / ABREAST, DEEP = deep_shape<N>::TWINS ? HALF + 1 : N;
	static const int DEEP_BLOCKS = DEEP * CHUNKS + (N + ABREAST - 1) / ABREAST;
	static_assert(SIDE * SIDE / 2 % row_shape<N>::PAIRS == 0, "blocks are full");
	static_assert(DEEP_BLOCKS <= SL_LEVEL_PARTS, "room for the sums");
};

/* ---- rows ------------------------------------------------------------------------------------------ */

static __device__ __forceinline__ float as_float(float x, float) { return x; }
static __device__ __forceinline__ float as_float(uint32_t x, float scale) { return scale * (float)x; }

/* rows_forward transforms rows along x, two real rows as one complex one. in: [side^2] rows of `pitch` charges
 * (cleared if `clear`) or floats; spectrum: planes as the head of this file has them. A block takes 2 PAIRS rows with
 * T threads a pair; shared memory BYTES. 77 us at side 320 without padding (H200), 80 % of the rate of a copy. */
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
 * rows_forward. One block more than rows need adds up part to *z. */
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

/* A thread's line: its first number, how far it is to the next; whether it has one. */
struct line {
	float2 *first;
	size_t step;
	bool mine;
};

/* Lines along y: of a plane, or the last frequency of x in several planes. */
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

/* along_y transforms lines along y in place: forward (of a padded grid the upper half is not there), or BACK (it is
 * of no use). A block takes LANES lines side by side with T threads each; shared memory BYTES. 77 us at side 320
 * (H200). */
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

/* Times the kernel, in place, swapped for the way back; this thread's share of Z, still by frequency x and y. */
template <int N, bool PADDED>
static __device__ __forceinline__ double multiply(float2 *v, const float *s, int t, const float *tilt)
{
	typedef deep_shape<N> S;
	return times_kernel<S>(v, s, [=](int p, float square) {
		return PADDED && tilt ? tilt[p < S::E / 2 ? t + p * S::T : N - t - p * S::T] * square : square;
	});
}

/* convolve_z transforms lines along z in place, multiplies them by the kernel's spectrum [N / 2 + 1]^3 and transforms
 * them back; part[block] is the block's share of Z. A block takes ABREAST lines with T threads each, and with TWINS
 * those of -y, too, whose kernel is the same; shared memory BYTES. 106 us at side 320 (H200). */
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
		for (int way = 0; way < 2; way++) {  /* half the code to fetch */
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

/* One dimension of the cosine transform of a cube of N / 2 + 1 numbers a side, two lines as one complex one; lines'
 * numbers are `stride` apart. In place, and in double precision: a spectrum's high frequencies are a millionth of its
 * low ones, and an error in float is one of the low ones' size. */
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

template <int N> static bool fits(size_t most)
{
	return row_shape<N>::BYTES <= most && plane_shape<N>::BYTES <= most && deep_shape<N>::BYTES <= most &&
	       wide_shape<N>::BYTES <= most;
}

/* Where a block has 99 KiB of shared memory the longest is a library's. */
bool sl__cube_has(int length, bool padded)
{
	const size_t most = shared_most();
#define HAS(n) || (length == n && fits<n>(most))
	return padded ? false FOR_EACH_PADDED(HAS) : false FOR_EACH_OTHER(HAS);
#undef HAS
}

bool sl__cube_has_far(int length) { return is_far(length); }

/* One division of a multiprocessor's memory for all short lengths, fft.cu's: it must run empty before it can have
 * another. In the long ones a block's lines take so much that too few blocks would fit. */
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
	const size_t most = shared_most();
	cudaError_t status = cudaSuccess;
#define INIT(n) make_twiddles<<<(n + 255) / 256, 256>>>(n);
	FOR_EACH_LENGTH(INIT)
#undef INIT
#define INIT(n) \
	if (status == cudaSuccess && fits<n>(most)) \
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

/* The rows, or what follows them, of a grid of that length. */
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
