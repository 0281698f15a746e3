/* The 2-D convolution in three kernels, for transforms of length 2^k, 3 * 2^k or 5 * 2^k, up to 4,096.
 *
 * Half of each row and column of a padded grid is zero before and of no use after. So: rows forward (only those that
 * hold something, straight from the fixed-point charges, which are cleared on the way), columns forward, times kernel,
 * and back without leaving the multiprocessor, rows inverse. Compared with a library's two transforms of the padded
 * grid that is a quarter of the memory traffic and three launches instead of seven; and nothing has to be planned.
 *
 * Each line is transformed by T = N / E threads that hold E numbers each, thread t those at t + p T: Stockham's
 * algorithm, whose last pass leaves them in the very same places. Between passes they trade through shared memory,
 * padded by one in eight against bank conflicts. Twiddle factors come from tables made in double precision. */
#include "gpu/device.cuh"

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

template <class V> static __device__ __forceinline__ void fft2(V *a)
{
	V b = sub(a[0], a[1]);
	a[0] = add(a[0], a[1]);
	a[1] = b;
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

template <class V> static __device__ __forceinline__ void fft4(V *a)
{
	V p = add(a[0], a[2]), q = sub(a[0], a[2]), r = add(a[1], a[3]), s = turned(sub(a[1], a[3]));
	a[0] = add(p, r);
	a[1] = add(q, s);
	a[2] = sub(p, r);
	a[3] = sub(q, s);
}

template <class V> static __device__ __forceinline__ void fft8(V *a)
{
	const decltype(a->x) c = 0.70710678118654752;
	V even[4] = {a[0], a[2], a[4], a[6]}, odd[4] = {a[1], a[3], a[5], a[7]};
	fft4(even);
	fft4(odd);
	odd[1] = {c * (odd[1].x + odd[1].y), c * (odd[1].y - odd[1].x)};
	odd[2] = turned(odd[2]);
	odd[3] = {c * (odd[3].y - odd[3].x), -c * (odd[3].x + odd[3].y)};
#pragma unroll
	for (int k = 0; k < 4; k++) {
		a[k] = add(even[k], odd[k]);
		a[k + 4] = sub(even[k], odd[k]);
	}
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

template <int R, class V> static __device__ __forceinline__ void small_fft(V *a)
{
	if (R == 2)
		fft2(a);
	else if (R == 3)
		fft3(a);
	else if (R == 4)
		fft4(a);
	else if (R == 5)
		fft5(a);
	else
		fft8(a);
}

/* ---- lines ------------------------------------------------------------------------------------- */

/* Length, numbers a thread, radices of the passes (1: none). */
template <int N> struct shape;
#define SHAPE(n, e, a, b, c, d, f, g) \
	template <> struct shape<n> { \
		static const int E = e, T = n / e, R1 = a, R2 = b, R3 = c, R4 = d, R5 = f, R6 = g; \
		/* float2 of shared memory a line: 4 modulo 16, so that four lines side by side use different banks */ \
		static const int LINE = (n + n / 8 + 15) / 16 * 16 + 4; \
		/* pairs of rows in a block; columns in a block: four complex numbers are a 32-byte sector */ \
		static const int ROWS = T >= 64 ? 1 : 64 / T, COLUMNS = T <= 256 ? 4 : 2; \
		static const int ROW_BYTES = ROWS * LINE * 8, COLUMN_BYTES = COLUMNS * LINE * 8; \
		static const size_t MOST_BYTES = COLUMN_BYTES > 2 * ROW_BYTES ? COLUMN_BYTES : 2 * ROW_BYTES; \
		static_assert(a * b * c * d * f * g == n, "radices"); \
	}
SHAPE(64, 8, 8, 8, 1, 1, 1, 1);
SHAPE(128, 8, 8, 4, 4, 1, 1, 1);
SHAPE(192, 12, 4, 4, 4, 3, 1, 1);
SHAPE(256, 8, 8, 8, 4, 1, 1, 1);
SHAPE(320, 20, 4, 4, 4, 5, 1, 1);
SHAPE(384, 24, 8, 4, 4, 3, 1, 1);
SHAPE(512, 8, 8, 8, 8, 1, 1, 1);
SHAPE(640, 20, 4, 4, 4, 5, 2, 1);
SHAPE(768, 12, 4, 4, 4, 4, 3, 1);
SHAPE(1024, 8, 8, 8, 4, 4, 1, 1);
SHAPE(1280, 20, 4, 4, 4, 4, 5, 1);
SHAPE(1536, 24, 8, 8, 8, 3, 1, 1);
SHAPE(2048, 8, 8, 8, 8, 4, 1, 1);
SHAPE(2560, 20, 4, 4, 4, 4, 5, 2);
SHAPE(3072, 24, 8, 8, 8, 2, 3, 1);
SHAPE(4096, 8, 8, 8, 8, 8, 1, 1);
#define FOR_EACH_LENGTH(call) \
	call(64) call(128) call(192) call(256) call(320) call(384) call(512) call(640) call(768) call(1024) call(1280) \
	call(1536) call(2048) call(2560) call(3072) call(4096)

#define TWIDDLES (3 * 8192)
/* exp(-2 pi i k / N) at N + k, those of multiples of 3 and 5 after those of powers of two. */
static __host__ __device__ constexpr int twiddles_at(int n) { return n + (n % 3 == 0 ? 8192 : n % 5 == 0 ? 16384 : 0); }
static __device__ float2 twiddles[TWIDDLES];
static __device__ double2 double_twiddles[TWIDDLES];

template <int N> static __device__ __forceinline__ float2 twiddle(int k, float2)
{
	return twiddles[twiddles_at(N) + k];
}
template <int N> static __device__ __forceinline__ double2 twiddle(int k, double2)
{
	return double_twiddles[twiddles_at(N) + k];
}

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

static __device__ __forceinline__ int padded_index(int i) { return i + (i >> 3); }

/* One pass: butterflies of R numbers; transforms of NS numbers are done. */
template <int N, int R, int NS, bool LAST, class V>
static __device__ __forceinline__ void pass(V *v, int t, V *line)
{
	const int E = shape<N>::E, T = shape<N>::T, M = E / R;
#pragma unroll
	for (int m = 0; m < M; m++) {
		int j = t + m * T, k = j % NS, to = (j / NS) * (NS * R) + k;
		V a[R];
#pragma unroll
		for (int r = 0; r < R; r++)
			a[r] = v[m + r * M];
		if (NS > 1) {
			V power[R];
			power[1] = twiddle<N>(k * (N / (NS * R)), V());
#pragma unroll
			for (int r = 1; r < R; r++) {
				if (r > 1)
					power[r] = times(power[r / 2], power[r - r / 2]);
				a[r] = times(a[r], power[r]);
			}
		}
		small_fft<R>(a);
#pragma unroll
		for (int r = 0; r < R; r++)
			if (LAST)
				v[m + r * M] = a[r];
			else
				line[padded_index(to + r * NS)] = a[r];
	}
	if (LAST)
		return;
	__syncthreads();
#pragma unroll
	for (int p = 0; p < E; p++)
		v[p] = line[padded_index(t + p * T)];
	__syncthreads();
}

template <int N, int R, int NS, bool LAST, bool NONE> struct passes {
	template <class V> static __device__ __forceinline__ void run(V *v, int t, V *line)
	{
		pass<N, R, NS, LAST>(v, t, line);
	}
};
template <int N, int R, int NS, bool LAST> struct passes<N, R, NS, LAST, true> {
	template <class V> static __device__ __forceinline__ void run(V *, int, V *) {}
};

/* The whole block: forward transform of each line, v[p] being number t + p T. */
template <int N, class V> static __device__ __forceinline__ void transform(V *v, int t, V *line)
{
	typedef shape<N> S;
	const int A = S::R1, B = A * S::R2, C = B * S::R3, D = C * S::R4, F = D * S::R5;
	passes<N, S::R1, 1, A == N, S::R1 == 1>::run(v, t, line);
	passes<N, S::R2, A, B == N, S::R2 == 1>::run(v, t, line);
	passes<N, S::R3, B, C == N, S::R3 == 1>::run(v, t, line);
	passes<N, S::R4, C, D == N, S::R4 == 1>::run(v, t, line);
	passes<N, S::R5, D, F == N, S::R5 == 1>::run(v, t, line);
	passes<N, S::R6, F, true, S::R6 == 1>::run(v, t, line);
}

/* ---- rows ------------------------------------------------------------------------------------------ */

/* PADDED: the upper half of each line is zero before and of no use after; the grid has N / 2 nodes a side, else N. */
template <int N, bool PADDED> struct extent {
	static const int SIDE = PADDED ? N / 2 : N, E = PADDED ? shape<N>::E / 2 : shape<N>::E;
};

/* From the transform of two real rows in shared memory, one the real and one the imaginary part, to that of each. */
template <int N>
static __device__ __forceinline__ void part_rows(const float2 *line, int t, float2 *first, float2 *second)
{
	for (int k = t; k <= N / 2; k += shape<N>::T) {
		float2 z = line[padded_index(k)], w = line[padded_index(k ? N - k : 0)];
		first[k] = make_float2(0.5f * (z.x + w.x), 0.5f * (z.y - w.y));
		second[k] = make_float2(0.5f * (z.y + w.y), 0.5f * (w.x - z.x));
	}
}

/* Charges of two rows in shared memory to the coarse grid along x. */
template <int N>
static __device__ __forceinline__ void
restrict_rows(const float2 *line, int t, float *half, int coarse, const struct sl_level *far)
{
	const float *weight = far->gather_weight;
	int taps = far->gather_taps;
	for (int x = t; x < coarse; x += shape<N>::T) {
		int first = far->gather_first[x];
		float2 sum = make_float2(0, 0);
#pragma unroll 16
		for (int k = 0; k < taps; k++) {
			float w = weight[k * coarse + x];
			float2 c = line[padded_index(first + k)];
			sum.x = fmaf(w, c.x, sum.x);
			sum.y = fmaf(w, c.y, sum.y);
		}
		half[x] = sum.x;
		half[coarse + x] = sum.y;
	}
}

/* Two real rows as one complex one. half: of level 0 of two, else NULL. */
template <int N, bool PADDED>
static __global__ void __launch_bounds__(shape<N>::T * shape<N>::ROWS)
rows_forward(uint32_t *__restrict__ charges, int words, float2 *__restrict__ spectrum, int pitch, float *half,
	     int coarse, const struct sl_level *__restrict__ o, const struct sl_report *r)
{
	extern __shared__ float2 shared[];
	const int E = shape<N>::E, T = shape<N>::T, FULL = extent<N, PADDED>::E, side = extent<N, PADDED>::SIDE;
	int l = (int)threadIdx.x / T, t = (int)threadIdx.x % T, row = 2 * ((int)blockIdx.x * shape<N>::ROWS + l);
	float2 *line = shared + l * shape<N>::LINE, v[E];
	if (r->state != SL_GO)
		return;
	bool mine = row < side;
	float scale = o->weight_inverse;
#pragma unroll
	for (int p = 0; p < E; p++)
		v[p] = make_float2(0, 0);
	size_t at = (size_t)row * words + t;  /* all loads before the first store */
	uint32_t own[FULL][2];
#pragma unroll
	for (int p = 0; p < FULL; p++) {
		own[p][0] = mine ? charges[at + p * T] : 0;
		own[p][1] = mine ? charges[at + words + p * T] : 0;
	}
#pragma unroll
	for (int p = 0; p < FULL; p++) {
		v[p] = make_float2(scale * (float)own[p][0], scale * (float)own[p][1]);
		if (mine)
			charges[at + p * T] = charges[at + words + p * T] = 0;
	}
	if (!PADDED && half) {
#pragma unroll
		for (int p = 0; p < E; p++)
			line[padded_index(t + p * T)] = v[p];
		__syncthreads();
		if (mine)
			restrict_rows<N>(line, t, half + (size_t)row * coarse, coarse, o + 1);
		__syncthreads();
	}
	transform<N>(v, t, line);
	__syncthreads();
#pragma unroll
	for (int p = 0; p < E; p++)
		line[padded_index(t + p * T)] = v[p];
	__syncthreads();
	if (mine)
		part_rows<N>(line, t, spectrum + (size_t)row * pitch, spectrum + (size_t)(row + 1) * pitch);
}

/* Threads of a block that makes two rows of the coarse grid: many to gather, the first T of them to transform. */
template <int N> struct fed {
	static const int THREADS = shape<N>::T > 256 ? shape<N>::T : 256;
};

/* Level 1: near->half to the coarse grid along y, two rows a block, and their transform. */
template <int N>
static __global__ void __launch_bounds__(fed<N>::THREADS)
rows_fed(const float *__restrict__ half, float2 *__restrict__ spectrum, int pitch,
	 const struct sl_level *__restrict__ o, const struct sl_report *r)
{
	extern __shared__ float2 shared[];
	const int E = shape<N>::E, T = shape<N>::T, side = N / 2;
	const float *weight = o->gather_weight;
	int t = (int)threadIdx.x, row = 2 * (int)blockIdx.x, taps = o->gather_taps;
	if (r->state != SL_GO)
		return;
	const float *first = half + (size_t)o->gather_first[row] * side;
	const float *second = half + (size_t)o->gather_first[row + 1] * side;
	for (int x = t; x < side; x += fed<N>::THREADS) {
		float2 sum = make_float2(0, 0);
#pragma unroll 8
		for (int k = 0; k < taps; k++) {
			sum.x = fmaf(weight[k * side + row], first[(size_t)k * side + x], sum.x);
			sum.y = fmaf(weight[k * side + row + 1], second[(size_t)k * side + x], sum.y);
		}
		shared[padded_index(x)] = sum;
	}
	__syncthreads();
	if (t >= T)
		return;  /* barriers do not wait for those that have left */
	float2 v[E];
#pragma unroll
	for (int p = 0; p < E; p++)
		v[p] = p < E / 2 ? shared[padded_index(t + p * T)] : make_float2(0, 0);
	__syncthreads();
	transform<N>(v, t, shared);
	__syncthreads();
#pragma unroll
	for (int p = 0; p < E; p++)
		shared[padded_index(t + p * T)] = v[p];
	__syncthreads();
	part_rows<N>(shared, t, spectrum + (size_t)row * pitch, spectrum + (size_t)(row + 1) * pitch);
}

template <int N, bool PADDED>
static __global__ void __launch_bounds__(shape<N>::T * shape<N>::ROWS)
rows_inverse(const float2 *__restrict__ spectrum, int pitch, float *__restrict__ potential, const struct sl_report *r)
{
	extern __shared__ float2 shared[];
	const int E = shape<N>::E, T = shape<N>::T, FULL = extent<N, PADDED>::E, side = extent<N, PADDED>::SIDE;
	int l = (int)threadIdx.x / T, t = (int)threadIdx.x % T, row = 2 * ((int)blockIdx.x * shape<N>::ROWS + l);
	float2 v[E];
	if (r->state != SL_GO)
		return;
	bool mine = row < side;
	const float2 *first = spectrum + (size_t)row * pitch, *second = first + pitch;
#pragma unroll
	for (int p = 0; p < E; p++) {
		int k = t + p * T;
		bool mirrored = k > N / 2;
		k = mirrored ? N - k : k;
		v[p] = make_float2(0, 0);
		if (!mine)
			continue;
		float2 a = first[k], b = second[k];
		float sign = mirrored ? -1.f : 1.f;  /* a row's spectrum is Hermitian */
		v[p] = swapped(make_float2(a.x - sign * b.y, sign * a.y + b.x));
	}
	transform<N>(v, t, shared + l * shape<N>::LINE);
	if (!mine)
		return;
#pragma unroll
	for (int p = 0; p < FULL; p++) {
		potential[(size_t)row * side + t + p * T] = v[p].y;
		potential[(size_t)(row + 1) * side + t + p * T] = v[p].x;
	}
}

/* ---- columns ------------------------------------------------------------------------------------------ */

template <int N, bool PADDED>
static __global__ void __launch_bounds__(shape<N>::T * shape<N>::COLUMNS)
convolve_columns(float2 *__restrict__ spectrum, int pitch, const struct sl_level *__restrict__ o,
		 const struct sl_report *r, double *z, uint32_t *arrived, double *part)
{
	extern __shared__ float2 shared[];
	const int E = shape<N>::E, T = shape<N>::T, C = shape<N>::COLUMNS, FULL = extent<N, PADDED>::E, last = N / 2;
	int c = (int)threadIdx.x % C, t = (int)threadIdx.x / C, x = (int)blockIdx.x * C + c;
	float2 *line = shared + c * shape<N>::LINE, v[E];
	if (r->state != SL_GO)
		return;
	bool mine = x <= last;
#pragma unroll
	for (int p = 0; p < E; p++)
		v[p] = p < FULL && mine ? spectrum[(size_t)(t + p * T) * pitch + x] : make_float2(0, 0);
	transform<N>(v, t, line);
	__syncthreads();
	const float *kernel = o->spectrum, *tilt = PADDED ? o->tilt : NULL;
	float tilt_x = tilt && mine ? tilt[x] : 1;
	double sum = 0;
#pragma unroll
	for (int p = 0; p < E; p++) {
		int y = t + p * T;
		y = y <= last ? y : N - y;
		float s = mine ? kernel[(size_t)y * (last + 1) + x] : 0;
		float square = s * (v[p].x * v[p].x + v[p].y * v[p].y);
		sum += (double)(tilt ? tilt_x * tilt[y] * square : square);
		v[p] = make_float2(s * v[p].y, s * v[p].x);
	}
	if (x != 0 && x != last)
		sum *= 2;
	transform<N>(v, t, line);
#pragma unroll
	for (int p = 0; p < FULL; p++)
		if (mine)
			spectrum[(size_t)(t + p * T) * pitch + x] = swapped(v[p]);
	sum = block_sum(sum);
	if (threadIdx.x == 0)
		part[blockIdx.x] = sum;
	if (last_block(arrived)) {
		sum = sum_parts(part, gridDim.x);
		if (threadIdx.x == 0)
			*z = o->constant + sum;
	}
}

/* One dimension of the cosine transform of a square of N / 2 + 1 numbers a side; lines `step` apart, their numbers
 * `stride`. In place. In double precision: a spectrum's high frequencies are a millionth of its low ones, and an
 * error in float is one of the low ones' size. */
template <int N>
static __global__ void __launch_bounds__(shape<N>::T * shape<N>::ROWS) cosines(float *data, int step, int stride)
{
	extern __shared__ double2 wide[];
	const int E = shape<N>::E, T = shape<N>::T, side = N / 2;
	int l = (int)threadIdx.x / T, t = (int)threadIdx.x % T, row = (int)blockIdx.x * shape<N>::ROWS + l;
	double2 v[E];
	bool mine = row <= side;
#pragma unroll
	for (int p = 0; p < E; p++) {
		int k = t + p * T;
		v[p] = make_double2(mine ? data[(size_t)row * step + (size_t)(k <= side ? k : N - k) * stride] : 0, 0);
	}
	__syncthreads();
	transform<N>(v, t, wide + l * shape<N>::LINE);
#pragma unroll
	for (int p = 0; p < E; p++)
		if (mine && t + p * T <= side)
			data[(size_t)row * step + (size_t)(t + p * T) * stride] = (float)v[p].x;
}

/* ---- launchers --------------------------------------------------------------------------------------------- */

/* Where a block has 99 KiB of shared memory 3,072 is a library's. */
bool sl__fft_has(int length)
{
	const size_t most = shared_most();
#define HAS(n) || (length == n && shape<n>::MOST_BYTES <= most)
	return false FOR_EACH_LENGTH(HAS);
#undef HAS
}

int sl__fft_pitch(int length) { return (length / 2 + 1 + 3) / 4 * 4; }

template <int N> static cudaError_t allow_shared(void)
{
	cudaError_t status = cudaSuccess;
	const void *rows[] = {(const void *)rows_forward<N, true>, (const void *)rows_inverse<N, true>,
			      (const void *)rows_forward<N, false>, (const void *)rows_inverse<N, false>};
	const void *columns[] = {(const void *)convolve_columns<N, true>, (const void *)convolve_columns<N, false>};
	const cudaFuncAttribute most = cudaFuncAttributeMaxDynamicSharedMemorySize;
	for (int i = 0; i < 4 && status == cudaSuccess; i++)
		status = cudaFuncSetAttribute(rows[i], most, shape<N>::ROW_BYTES);
	if (status == cudaSuccess)
		status = cudaFuncSetAttribute((const void *)rows_fed<N>, most, shape<N>::LINE * 8);
	for (int i = 0; i < 2 && status == cudaSuccess; i++)
		status = cudaFuncSetAttribute(columns[i], most, shape<N>::COLUMN_BYTES);
	if (status == cudaSuccess)
		status = cudaFuncSetAttribute((const void *)cosines<N>, most, 2 * shape<N>::ROW_BYTES);
	return status;
}

cudaError_t sl__fft_init(void)
{
	cudaError_t status = cudaSuccess;
#define INIT(n) \
	make_twiddles<<<(n + 255) / 256, 256>>>(n); \
	if (status == cudaSuccess && sl__fft_has(n)) \
		status = allow_shared<n>();
	FOR_EACH_LENGTH(INIT)
#undef INIT
	return status == cudaSuccess ? cudaGetLastError() : status;
}

template <int N>
static void forward(const struct sl_grid_memory *g, const struct sl_grid_memory *near, const struct sl_orders *o,
		    const struct sl_report *r, cudaStream_t stream)
{
	const struct sl_level *level = &o->level[g->level];
	const int pitch = sl__fft_pitch(N), threads = shape<N>::T * shape<N>::ROWS;
	uint32_t pairs = (uint32_t)g->side / 2, rows = blocks_for(pairs, shape<N>::ROWS);
	if (g->level)
		rows_fed<N><<<pairs, fed<N>::THREADS, shape<N>::LINE * 8, stream>>>(near->half, g->spectrum, pitch, level, r);
	else if (g->length != g->side)
		rows_forward<N, true><<<rows, threads, shape<N>::ROW_BYTES, stream>>>(
			(uint32_t *)g->charges, 2 * g->pairs, g->spectrum, pitch, NULL, 0, level, r);
	else
		rows_forward<N, false><<<rows, threads, shape<N>::ROW_BYTES, stream>>>(
			(uint32_t *)g->charges, 2 * g->pairs, g->spectrum, pitch, g->half, g->coarse, level, r);
}

cudaError_t sl__fft_rows(const struct sl_grid_memory *g, const struct sl_grid_memory *near, const struct sl_orders *o,
			 const struct sl_report *r, cudaStream_t stream)
{
	switch (g->length) {
#define CASE(n) case n: forward<n>(g, near, o, r, stream); break;
	FOR_EACH_LENGTH(CASE)
#undef CASE
	default: return cudaErrorInvalidValue;
	}
	return cudaGetLastError();
}

template <int N, bool PADDED>
static void convolve(const struct sl_grid_memory *g, const struct sl_orders *o, struct sl_report *r, double *part,
		     cudaStream_t stream)
{
	const int pitch = sl__fft_pitch(N), threads = shape<N>::T * shape<N>::ROWS;
	uint32_t rows = blocks_for((uint64_t)g->side / 2, shape<N>::ROWS);
	uint32_t columns = blocks_for((uint64_t)N / 2 + 1, shape<N>::COLUMNS);
	convolve_columns<N, PADDED><<<columns, shape<N>::T * shape<N>::COLUMNS, shape<N>::COLUMN_BYTES, stream>>>(
		g->spectrum, pitch, &o->level[g->level], r, &r->level_z[g->level], &r->arrived[g->level],
		part + g->level * SL_LEVEL_PARTS);
	rows_inverse<N, PADDED><<<rows, threads, shape<N>::ROW_BYTES, stream>>>(g->spectrum, pitch, g->potential, r);
}

cudaError_t sl__fft_convolve(const struct sl_grid_memory *g, const struct sl_orders *o, struct sl_report *r,
			     double *part, cudaStream_t stream)
{
	bool padded = g->length != g->side;
	switch (g->length) {
#define CASE(n) \
	case n: \
		if (padded) \
			convolve<n, true>(g, o, r, part, stream); \
		else \
			convolve<n, false>(g, o, r, part, stream); \
		break;
	FOR_EACH_LENGTH(CASE)
#undef CASE
	default: return cudaErrorInvalidValue;
	}
	return cudaGetLastError();
}

cudaError_t sl__fft_cosines(int length, float *octant, cudaStream_t stream)
{
	int side = length / 2;
	switch (length) {
#define CASE(n) case n: \
	for (int k = 0; k < 2; k++) \
		cosines<n><<<blocks_for(side + 1, shape<n>::ROWS), shape<n>::T * shape<n>::ROWS, 2 * shape<n>::ROW_BYTES, \
			     stream>>>(octant, k ? 1 : side + 1, k ? side + 1 : 1); \
	break;
	FOR_EACH_LENGTH(CASE)
#undef CASE
	default: return cudaErrorInvalidValue;
	}
	return cudaGetLastError();
}
