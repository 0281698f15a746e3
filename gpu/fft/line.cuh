/* line.cuh -- the Fourier transform of one line of N numbers by a few threads.
 *
 * T = N / E threads hold E numbers each; thread t holds the numbers t + p T. The method is Stockham's algorithm, which
 * leaves the result in the same places. The first pass transforms all numbers of a thread. Between passes the threads
 * exchange numbers through shared memory, which is padded against bank conflicts. If a line has at most 32 threads,
 * they belong to one warp and only that warp is synchronised. Otherwise, or if adjacent threads have different lines,
 * the whole block is.
 *
 * Define before including this file: LONGEST, the longest line; ODD_PARTS, how many of the factors 1, 3, 5, 9 the
 * lengths have. */
#ifndef SL_GPU_FFT_CUH
#define SL_GPU_FFT_CUH

#include "gpu/device/launch.cuh"
#include "gpu/fft/fft_internal.h"

/* ---- small transforms ----------------------------------------------------------------------- */

/* V: float2 or double2. */
template <class V> static __device__ __forceinline__ V add(V a, V b) { return {a.x + b.x, a.y + b.y}; }
template <class V> static __device__ __forceinline__ V sub(V a, V b) { return {a.x - b.x, a.y - b.y}; }
template <class V> static __device__ __forceinline__ V times(V a, V b)
{
	return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x};
}
static __device__ __forceinline__ float2 swapped(float2 a) { return make_float2(a.y, a.x); }
/* times -i */
template <class V> static __device__ __forceinline__ V turned(V a) { return {a.y, -a.x}; }

/* Sine and cosine of pi / 2 x for constants |x| <= 1 / 2, by their series. */
static __host__ __device__ constexpr double sine_near_zero(double x)
{
	double y = x * x * 2.4674011002723397;
	return x * 1.5707963267948966 * (1 - y / 6 * (1 - y / 20 * (1 - y / 42 * (1 - y / 72 * (1 - y / 110 * (1 - y / 156 *
	       (1 - y / 210)))))));
}
static __host__ __device__ constexpr double cosine_near_zero(double x)
{
	double y = x * x * 2.4674011002723397;
	return 1 - y / 2 * (1 - y / 12 * (1 - y / 30 * (1 - y / 56 * (1 - y / 90 * (1 - y / 132 * (1 - y / 182)))))); 
}
/* cos(2 pi k / n) and sin(2 pi k / n), 0 <= k < n. quarter_of(): the nearest quarter of the circle. */
static __host__ __device__ constexpr int quarter_of(int k, int n) { return (8 * k + n) / (2 * n); }
static __host__ __device__ constexpr double from_quarter(int k, int n)
{
	return (double)(4 * k - quarter_of(k, n) * n) / n;
}
static __host__ __device__ constexpr double cosine_of(int k, int n)
{
	return quarter_of(k, n) % 4 == 0 ? cosine_near_zero(from_quarter(k, n)) :
	       quarter_of(k, n) % 4 == 1 ? -sine_near_zero(from_quarter(k, n)) :
	       quarter_of(k, n) % 4 == 2 ? -cosine_near_zero(from_quarter(k, n)) : sine_near_zero(from_quarter(k, n));
}
static __host__ __device__ constexpr double sine_of(int k, int n)
{
	return quarter_of(k, n) % 4 == 0 ? sine_near_zero(from_quarter(k, n)) :
	       quarter_of(k, n) % 4 == 1 ? cosine_near_zero(from_quarter(k, n)) :
	       quarter_of(k, n) % 4 == 2 ? -sine_near_zero(from_quarter(k, n)) : -cosine_near_zero(from_quarter(k, n));
}

/* a exp(-2 pi i k / n). k and n are constants after loops are unrolled. */
template <class V> static __device__ __forceinline__ V rotated(V a, int k, int n)
{
	const decltype(a.x) c = cosine_of(k, n), s = sine_of(k, n), half = 0.70710678118654752;
	if (k == 0)
		return a;
	if (8 * k == n)
		return {half * (a.x + a.y), half * (a.y - a.x)};
	if (4 * k == n)
		return turned(a);
	if (8 * k == 3 * n)
		return {half * (a.y - a.x), -half * (a.x + a.y)};
	return {a.x * c + a.y * s, a.y * c - a.x * s};
}

/* Separates two real rows that were transformed as one complex row. From z at frequency k and w at -k it gives the
 * numbers of both rows at k. */
static __device__ __forceinline__ float4 parted(float2 z, float2 w)
{
	return make_float4(0.5f * (z.x + w.x), 0.5f * (z.y - w.y), 0.5f * (z.y + w.y), 0.5f * (w.x - z.x));
}

/* HALF: the upper half of the numbers counts as zero and is not read. */
template <bool HALF, class V> static __device__ __forceinline__ void fft4(V *a)
{
	V p = HALF ? a[0] : add(a[0], a[2]), q = HALF ? a[0] : sub(a[0], a[2]);
	V r = HALF ? a[1] : add(a[1], a[3]), s = turned(HALF ? a[1] : sub(a[1], a[3]));
	a[0] = add(p, r);
	a[1] = add(q, s);
	a[2] = sub(p, r);
	a[3] = sub(q, s);
}

template <class V> static __device__ __forceinline__ void fft3(V *a)
{
	const decltype(a->x) half = 0.5, sine = 0.86602540378443865;
	V sum = add(a[1], a[2]), diff = sub(a[1], a[2]), middle = {a[0].x - half * sum.x, a[0].y - half * sum.y};
	V side = {sine * diff.y, -sine * diff.x};
	a[0] = add(a[0], sum);
	a[1] = add(middle, side);
	a[2] = sub(middle, side);
}

template <class V> static __device__ __forceinline__ void fft5(V *a)
{
	const decltype(a->x) c1 = 0.30901699437494742, c2 = -0.80901699437494742, s1 = 0.95105651629515357,
			     s2 = 0.58778525229247313;
	V p = add(a[1], a[4]), q = sub(a[1], a[4]), r = add(a[2], a[3]), s = sub(a[2], a[3]), first = a[0];
	V m = {first.x + c1 * p.x + c2 * r.x, first.y + c1 * p.y + c2 * r.y};
	V n = {first.x + c2 * p.x + c1 * r.x, first.y + c2 * p.y + c1 * r.y};
	V u = turned(V{s1 * q.x + s2 * s.x, s1 * q.y + s2 * s.y}), v = turned(V{s2 * q.x - s1 * s.x, s2 * q.y - s1 * s.y});
	a[0] = {first.x + p.x + r.x, first.y + p.y + r.y};
	a[1] = add(m, u);
	a[2] = add(n, v);
	a[3] = sub(n, v);
	a[4] = sub(m, u);
}

template <int R, bool HALF, class V> static __device__ __forceinline__ void small_fft(V *a);

/* The transform of A B numbers: B transforms of A numbers, each of every B-th number, then A transforms of B. */
template <int A, int B, bool HALF, class V> static __device__ __forceinline__ void composed(V *a)
{
	V part[B][A];
#pragma unroll
	for (int n = 0; n < B; n++) {
#pragma unroll
		for (int k = 0; k < A; k++)
			part[n][k] = a[n + B * k];
		small_fft<A, HALF>(part[n]);
	}
#pragma unroll
	for (int k = 0; k < A; k++) {
		V across[B];
#pragma unroll
		for (int n = 0; n < B; n++)
			across[n] = rotated(part[n][k], n * k, A * B);
		small_fft<B, false>(across);
#pragma unroll
		for (int n = 0; n < B; n++)
			a[k + A * n] = across[n];
	}
}

template <int R, bool HALF, class V> static __device__ __forceinline__ void small_fft(V *a)
{
	if constexpr (R == 2) {
		V b = HALF ? a[0] : sub(a[0], a[1]);
		a[0] = HALF ? a[0] : add(a[0], a[1]);
		a[1] = b;
	} else if constexpr (R == 3) {
		fft3(a);
	} else if constexpr (R == 4) {
		fft4<HALF>(a);
	} else if constexpr (R == 5) {
		fft5(a);
	} else if constexpr (R == 16) {
		composed<4, 4, HALF>(a);
	} else if constexpr (R == 32) {
		composed<8, 4, HALF>(a);
	} else if constexpr (R % 3 == 0) {
		composed<R / 3, 3, HALF>(a);
	} else if constexpr (R % 5 == 0) {
		composed<R / 5, 5, HALF>(a);
	} else {
		composed<R / 2, 2, HALF>(a);
	}
}

/* ---- lines ------------------------------------------------------------------------------------- */

/* The table of twiddle factors: exp(-2 pi i k / N) at N + k. Lengths 3, 5 and 9 times 2^k follow the powers of two. */
#define TWIDDLES (2 * LONGEST)
static __host__ __device__ constexpr int twiddles_at(int n)
{
	return n + TWIDDLES * (n % 9 == 0 ? 3 : n % 5 == 0 ? 2 : n % 3 == 0 ? 1 : 0);
}
static __device__ float2 twiddles[ODD_PARTS * TWIDDLES];
static __device__ double2 double_twiddles[ODD_PARTS * TWIDDLES];

template <int N> static __device__ __forceinline__ float2 twiddle(int k, float2)
{
	return twiddles[twiddles_at(N) + k];
}
template <int N> static __device__ __forceinline__ double2 twiddle(int k, double2)
{
	return double_twiddles[twiddles_at(N) + k];
}

/* Writes the factors of length n, exp(-2 pi i k / n), in both precisions. One thread per k. */
static __global__ void make_twiddles(int n)
{
	int k = (int)(blockIdx.x * blockDim.x + threadIdx.x);
	if (k >= n)
		return;
	double sine, cosine;
	sincospi(-2.0 * k / n, &sine, &cosine);
	int at = twiddles_at(n) + k;
	twiddles[at] = make_float2((float)cosine, (float)sine);
	double_twiddles[at] = make_double2(cosine, sine);
}

/* The largest power of two that divides n, at most power_max. */
static __host__ __device__ constexpr int twos_of(int n, int power_max)
{
	return n % 2 || power_max == 1 ? 1 : 2 * twos_of(n / 2, power_max / 2);
}

/* How threads share a line of n numbers. e: numbers per thread, which is the radix of the first pass; then the radices
 * of the other passes. LANES adjacent lines are interleaved: number i of all of them, then number i + 1. */
template <int n, int e, int b, int c, int d, int lanes = 1> struct cut {
	static const int N = n, E = e, T = n / e, R2 = b, R3 = c, R4 = d, LANES = lanes;
	static const int PAD = twos_of(e, twos_of(T, T));  /* a free place after so many numbers of a lane */
	static const int SPREAD = (lanes < 16 ? n + n / PAD : n) * lanes;
	static const bool WARPS = lanes == 1 && (T % 32 == 0 || 32 % T == 0);  /* a line can be synchronised alone */
	static_assert(e * b * c * d == n, "radices");
};

/* The distance in shared memory from number i of a line to number i + d, if i or d is a multiple of PAD. */
template <class S> static __device__ __forceinline__ constexpr int apart(int d)
{
	return (S::LANES < 16 ? d + d / S::PAD : d) * S::LANES;
}

/* The place of number i of a line in shared memory. */
template <class S> static __device__ __forceinline__ int place(int i) { return apart<S>(i); }

/* A barrier for the threads of a line, or of the block. id: number of the line in the block, below 15. */
template <class S> static __device__ __forceinline__ void line_sync(int id)
{
	if (!S::WARPS)
		__syncthreads();
	else if (S::T <= 32)
		__syncwarp();
	else
		barrier(id + 1, S::T);
}

/* The twiddle factors of a pass. All powers follow from the first, fourth and sixteenth by few products. */
static __host__ __device__ constexpr int bases_of(int r) { return r == 1 ? 0 : r < 8 ? 1 : r <= 16 ? 2 : 3; }

template <class S, int R, int NS, class V> struct factors {
	static const int M = S::E / R, COUNT = bases_of(R);
	V base[M * COUNT + !COUNT];
	__device__ __forceinline__ void load(int t)
	{
#pragma unroll
		for (int m = 0; m < M; m++)
#pragma unroll
			for (int i = 0; i < COUNT; i++)
				base[m * COUNT + i] = twiddle<S::N>(((t + m * S::T) % NS * (S::N / (NS * R))) << 2 * i, V());
	}
	__device__ __forceinline__ void apply(V *a, int m) const
	{
		V power[R];
#pragma unroll
		for (int r = 1; r < R; r++) {
			int top = R < 8 || r < 4 ? 1 : r < 16 ? 4 : 16;
			if (r == top)
				power[r] = base[m * COUNT + (top == 1 ? 0 : top == 4 ? 1 : 2)];
			else
				power[r] = r % top ? times(power[r - r % top], power[r % top]) : times(power[top], power[r - top]);
			a[r] = times(a[r], power[r]);
		}
	}
};

/* All factors of a thread, loaded in advance: they depend only on the thread's number. */
template <class S, class V> struct all_factors {
	factors<S, S::R2, S::E, V> second;
	factors<S, S::R3, S::E * S::R2, V> third;
	factors<S, S::R4, S::E * S::R2 * S::R3, V> fourth;
	__device__ __forceinline__ void load(int t)
	{
		second.load(t);
		third.load(t);
		fourth.load(t);
	}
	template <class F> __device__ __forceinline__ const F &of(const F &pass, int) const { return pass; }
};

/* The same factors, loaded pass by pass. This saves registers; other warps hide the latency. */
template <class S, class V> struct late_factors {
	factors<S, S::R2, S::E, V> second;
	factors<S, S::R3, S::E * S::R2, V> third;
	factors<S, S::R4, S::E * S::R2 * S::R3, V> fourth;
	__device__ __forceinline__ void load(int) {}
	template <class F> __device__ __forceinline__ F of(const F &, int t) const
	{
		F pass;
		pass.load(t);
		return pass;
	}
};

/* Exchanges the numbers of a line between threads after a pass of radix R. NS: product of the radices done so far. */
template <class S, int R, int NS, class V>
static __device__ __forceinline__ void trade(V *v, int t, V *line, int id)
{
	const int M = S::E / R, BEFORE = NS / R;
#pragma unroll
	for (int m = 0; m < M; m++) {
		int j = t + m * S::T, k = j % BEFORE, to = place<S>((j / BEFORE) * NS + k);
#pragma unroll
		for (int r = 0; r < R; r++)
			line[to + (BEFORE == 1 ? apart<S>(r) : r * apart<S>(BEFORE))] = v[m + r * M];
	}
	line_sync<S>(id);
	int from = place<S>(t);
#pragma unroll
	for (int p = 0; p < S::E; p++)
		v[p] = line[from + p * apart<S>(S::T)];
	line_sync<S>(id);
}

template <class S, int R, int NS, class V>
static __device__ __forceinline__ void pass(V *v, const factors<S, R, NS, V> &f)
{
	const int M = S::E / R;
#pragma unroll
	for (int m = 0; m < M; m++) {
		V a[R];
#pragma unroll
		for (int r = 0; r < R; r++)
			a[r] = v[m + r * M];
		f.apply(a, m);
		small_fft<R, false>(a);
#pragma unroll
		for (int r = 0; r < R; r++)
			v[m + r * M] = a[r];
	}
}

/* The forward transform of a line; v[p] is number t + p T. HALF: the upper half counts as zero and is not read. */
template <class S, bool HALF, class V, class F>
static __device__ __forceinline__ void transform(V *v, int t, V *line, int id, const F &f)
{
	const int A = S::E, B = A * S::R2, C = B * S::R3;
	if constexpr (S::R2 == S::E && S::R3 == 1) {  /* both passes are alike: a loop halves the code to fetch */
#pragma unroll 1
		for (int q = 0; q < 2; q++) {
			if (q)
				f.of(f.second, t).apply(v, 0);
			small_fft<A, false>(v);
			if (!q)
				trade<S, A, A>(v, t, line, id);
		}
		return;
	}
	small_fft<A, HALF>(v);
	if constexpr (S::R2 > 1) {
		const auto &own = f.of(f.second, t);
		trade<S, A, A>(v, t, line, id);
		pass<S, S::R2, A>(v, own);
	}
	if constexpr (S::R3 > 1) {
		const auto &own = f.of(f.third, t);
		trade<S, S::R2, B>(v, t, line, id);
		pass<S, S::R3, B>(v, own);
	}
	if constexpr (S::R4 > 1) {
		const auto &own = f.of(f.fourth, t);
		trade<S, S::R3, C>(v, t, line, id);
		pass<S, S::R4, C>(v, own);
	}
}

/* Multiplies by the kernel s in place and swaps for the way back. Returns the sum of by_tilt(p, s |v|^2) over p. */
template <class S, class F>
static __device__ __forceinline__ double times_kernel(float2 *v, const float *s, F by_tilt)
{
	const int GROUP = 4;
	double sum = 0;
#pragma unroll
	for (int q = 0; q < S::E; q += GROUP) {
		float some = 0;
#pragma unroll
		for (int p = q; p < q + GROUP; p++) {
			some += by_tilt(p, s[p] * (v[p].x * v[p].x + v[p].y * v[p].y));
			v[p] = make_float2(s[p] * v[p].y, s[p] * v[p].x);
		}
		sum += (double)some;
	}
	return sum;
}

#endif
