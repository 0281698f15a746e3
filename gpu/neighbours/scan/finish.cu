/* The last step: computes the distances of a row's list from the points themselves, sorts them, and decides whether the
 * list may have missed a neighbour. Let T be the distance between rounded points that belongs to the row's bound, and
 * e_row, e_column the norms of the rounding errors. By the triangle inequality, a column outside the list is at least T
 * - e_row - e_column away. So the row is certain if its k-th distance is below that. A column near enough to matter has
 * a norm of at most |row| + distance, which bounds e_column. Inner products have no triangle inequality; there the
 * error of x.y is at most |x| e_y + e_x |y|.
 *
 * Times in this file: one NVIDIA H200, until 2026-11-25; commands: docs/notes/gpu-points.md. */
#include "gpu/neighbours/scan/scan.h"
#include "gpu/neighbours/sort/select.cuh"

#define WARPS 4
#define TOGETHER 4  /* columns whose distances are computed at the same time */

template <typename T, int METRIC>
static __device__ __forceinline__ void term(T x, T y, float ix, float iy, float *sum, double *product)
{
	if (METRIC == SL_INNER_PRODUCT) {
		*product += (double)x * (double)y;
	} else if (METRIC == SL_COSINE) {
		float d = (float)x * ix - (float)y * iy;
		*sum = fmaf(d, d, *sum);
	} else {
		float d = fabsf((float)x - (float)y);
		*sum = METRIC == SL_EUCLIDEAN ? fmaf(d, d, *sum) :
		       METRIC == SL_LINF || METRIC == SL_LP ? fmaxf(*sum, d) : *sum + d;
	}
}

template <typename T> static __device__ float power_mean(const T *x, const T *y, uint32_t d, float largest, float p)
{
	float sum = 0;
	if (largest == 0)
		return 0;
	for (uint32_t c = threadIdx.x % 32; c < d; c += 32)
		sum += powf(fabsf((float)x[c] - (float)y[c]) / largest, p);
	return largest * powf(sum_lanes(sum), 1 / p);
}

/* Distances of `count` <= TOGETHER columns, in all lanes. */
template <typename T, int METRIC>
static __device__ __forceinline__ void distances(const struct sl_finish &f, const T *x, float ix,
						 const uint32_t *column, float *out)
{
	const T *y[TOGETHER];
	float sum[TOGETHER] = {}, iy[TOGETHER];
	double product[TOGETHER] = {};
	uint32_t d = f.rows.d;
#pragma unroll
	for (int u = 0; u < TOGETHER; u++) {
		uint32_t j = column[u] == SL_NOBODY ? 0 : f.slot ? f.slot[column[u]] : column[u] - f.columns.first;
		y[u] = (const T *)f.columns.value + (size_t)j * d;
		iy[u] = METRIC == SL_COSINE ? f.columns.inverse[j] : 0;
	}
	for (uint32_t c = threadIdx.x % 32; c < d; c += 32) {
		T a = x[c];
#pragma unroll
		for (int u = 0; u < TOGETHER; u++)
			term<T, METRIC>(a, y[u][c], ix, iy[u], &sum[u], &product[u]);
	}
#pragma unroll
	for (int u = 0; u < TOGETHER; u++) {
		for (int step = 16; step; step >>= 1) {
			if (METRIC == SL_INNER_PRODUCT)
				product[u] += __shfl_xor_sync(~0u, product[u], step);
			else if (METRIC == SL_LINF || METRIC == SL_LP)
				sum[u] = fmaxf(sum[u], __shfl_xor_sync(~0u, sum[u], step));
			else
				sum[u] += __shfl_xor_sync(~0u, sum[u], step);
		}
		if (METRIC == SL_INNER_PRODUCT)
			out[u] = (float)-product[u];
		else if (METRIC == SL_EUCLIDEAN)
			out[u] = sqrtf(sum[u]);
		else if (METRIC == SL_COSINE)
			out[u] = ix == 0 || iy[u] == 0 ? 1 : 0.5f * sum[u];
		else if (METRIC == SL_LP)
			out[u] = power_mean(x, y[u], d, sum[u], (float)f.frame.p);
		else
			out[u] = sum[u];
	}
}

/* True if a column outside the list can be among the k nearest. far: the k-th distance. */
template <int METRIC> static __device__ bool certain(const struct sl_finish &f, uint32_t row, float far)
{
	float bound = f.lists.bound[row].score, scale = *f.frame.scale;
	if (bound == -INFINITY)
		return true;
	float2 norm = f.side.norm[row];
	bool split = f.side.precision == SL_SPLIT;
	float worst = __uint_as_float(f.frame.worst[split ? 2 : 0]);
	float longest = __uint_as_float(f.frame.worst[split ? 3 : 1]);
	float rounding = (float)(f.accumulate + 8) * 0x1p-23f;
	if (METRIC == SL_INNER_PRODUCT) {
		float slack = norm.x * worst + norm.y * longest + rounding * norm.x * longest;
		return -far * scale * scale * (1 - 0x1p-22f * (far < 0 ? 1 : -1)) > bound + slack;
	}
	float reach = (METRIC == SL_COSINE ? sqrtf(2 * far) : far) * scale * (1 + 0x1p-20f);
	float other = norm.x + reach, slack = 2 * rounding * (norm.x * other + other * other);
	float limit = sqrtf(fmaxf(0, norm.x * norm.x - 2 * bound - slack));
	float loss = fminf(worst, other * (split ? 0x1p-21f : 0x1p-11f) + sqrtf((float)f.frame.d) * 0x1p-25f);
	return limit - norm.y - loss > reach;
}

/* finish writes for each row the k nearest of its list, by distances of the points themselves, to f.index and
 * f.distance, and lists the rows that are not certain. One warp per row; shared memory: `size` keys per warp. 2.3 ms
 * for 131,072 rows of 114 candidates (H200). */
template <typename T, int METRIC>
static __global__ void __launch_bounds__(WARPS * 32) finish(const __grid_constant__ struct sl_finish f, uint32_t size)
{
	extern __shared__ __align__(16) uint64_t keys[];
	uint32_t row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
	uint64_t *key = keys + (size_t)(threadIdx.x / 32) * size;
	if (row >= f.side.count || f.side.index[row] == SL_NOBODY)
		return;
	uint32_t self = f.side.index[row], keep = f.lists.keep;
	uint32_t place = !f.rows.number ? self - f.rows.first : f.which ? f.which[row] : row;
	const T *x = (const T *)f.rows.value + (size_t)place * f.rows.d;
	float ix = METRIC == SL_COSINE ? f.rows.inverse[place] : 0;
	const uint2 *list = f.lists.entry + (size_t)row * f.lists.capacity;
	size_t out = (size_t)(f.rows.number ? place : f.base == SL_NOBODY ? row : self - f.base) * f.k;
	/* all columns are equally far: the first ones are the nearest */
	bool nowhere = METRIC == SL_COSINE && ix == 0 && !f.slot;
	for (uint32_t i = lane; i < size; i += 32)
		key[i] = UINT64_MAX;
	__syncwarp();
	for (uint32_t from = 0; from < keep; from += TOGETHER) {
		uint32_t column[TOGETHER];
		float distance[TOGETHER];
		bool some = false;
#pragma unroll
		for (int u = 0; u < TOGETHER; u++) {
			uint32_t i = from + u;
			column[u] = i >= keep ? SL_NOBODY : !nowhere ? list[i].y :
				    i < f.columns.n ? f.columns.first + i : SL_NOBODY;
			if (column[u] == self || (f.slot && column[u] != SL_NOBODY && f.slot[column[u]] == SL_NOBODY))
				column[u] = SL_NOBODY;
			some |= column[u] != SL_NOBODY;
		}
		if (!some)
			continue;
		distances<T, METRIC>(f, x, ix, column, distance);
#pragma unroll
		for (int u = 0; u < TOGETHER; u++)
			if (lane == u && column[u] != SL_NOBODY)
				key[from + u] = (uint64_t)ordered(distance[u]) << 32 | column[u];
	}
	if (f.merge)
		for (uint32_t i = lane; i < f.k; i += 32)
			if (f.index[out + i] != SL_NOBODY)
				key[keep + i] = (uint64_t)ordered(f.distance[out + i]) << 32 | f.index[out + i];
	group_sort<32>(key, size);
	if (f.merge) {  /* a repeated pass merges with its own results */
		bool twice = false;
		for (uint32_t from = size; from; from -= 32) {
			uint32_t i = from - 32 + lane;
			uint64_t mine = key[i], before = i ? key[i - 1] : 0;
			__syncwarp();
			if (i && mine == before && mine != UINT64_MAX) {
				key[i] = UINT64_MAX;
				twice = true;
			}
			__syncwarp();
		}
		if (__any_sync(~0u, twice))
			group_sort<32>(key, size);
	}
	for (uint32_t i = lane; i < f.k; i += 32) {
		f.index[out + i] = (uint32_t)key[i];
		f.distance[out + i] = key[i] == UINT64_MAX ? INFINITY : unordered((uint32_t)(key[i] >> 32));
	}
	if (lane || !f.certify)
		return;
	uint64_t last = key[f.k - 1];
	bool sure = f.complete && (nowhere || certain<METRIC>(f, row, last == UINT64_MAX ? INFINITY :
							      unordered((uint32_t)(last >> 32))));
	if (!f.complete)  /* an approximate search needs no certainty */
		sure = last != UINT64_MAX;
	if (!sure)
		f.doubtful[atomicAdd(f.doubtful_count, 1)] = place;
}

static uint32_t size_of(const struct sl_finish *f)
{
	uint32_t size = 32, need = f->lists.keep + TOGETHER + (f->merge ? f->k : 0);
	while (size < need)
		size *= 2;
	return size;
}

template <typename T, int METRIC> static cudaError_t launch(const struct sl_finish *f, cudaStream_t stream)
{
	uint32_t size = size_of(f), warps = size <= 512 ? WARPS : 1;
	finish<T, METRIC><<<blocks_for(f->side.count, warps), warps * 32, warps * size * sizeof(uint64_t), stream>>>(
		*f, size);
	return cudaGetLastError();
}

template <typename T> static cudaError_t by_metric(const struct sl_finish *f, cudaStream_t stream)
{
	switch (f->frame.metric) {
	case SL_EUCLIDEAN: return launch<T, SL_EUCLIDEAN>(f, stream);
	case SL_COSINE: return launch<T, SL_COSINE>(f, stream);
	case SL_INNER_PRODUCT: return launch<T, SL_INNER_PRODUCT>(f, stream);
	case SL_L1: return launch<T, SL_L1>(f, stream);
	case SL_LINF: return launch<T, SL_LINF>(f, stream);
	default: return launch<T, SL_LP>(f, stream);
	}
}

cudaError_t sl__finish(const struct sl_finish *f, cudaStream_t stream)
{
	if (!f->side.count)
		return cudaSuccess;
	return f->rows.type == SL_POINTS_U8 ? by_metric<uint8_t>(f, stream) : by_metric<float>(f, stream);
}

/* Lists of up to SL_LIST_MAX / 2 entries need more shared memory than CUDA allows without a request. */
template <typename T> static cudaError_t allow(void)
{
	return allow_shared(SL_LIST_MAX / 2 * sizeof(uint64_t), -1, finish<T, SL_EUCLIDEAN>, finish<T, SL_COSINE>,
			    finish<T, SL_INNER_PRODUCT>, finish<T, SL_L1>, finish<T, SL_LINF>, finish<T, SL_LP>);
}

cudaError_t sl__finish_init(void) { return first_error(allow<uint8_t>(), allow<float>()); }

/* Replaces the negative products of each row by the row's largest product minus each. One warp per row. Rounding may
 * make different products equal, so the row is sorted once more. */
static __global__ void __launch_bounds__(32) finish_products(uint32_t *index, float *distance, uint32_t k,
								      uint32_t size)
{
	extern __shared__ __align__(16) uint64_t keys[];
	size_t row = (size_t)blockIdx.x * k;
	float most = distance[row];
	for (uint32_t i = threadIdx.x; i < size; i += 32)
		keys[i] = i < k && index[row + i] != SL_NOBODY ?
			  (uint64_t)ordered(distance[row + i] - most) << 32 | index[row + i] : UINT64_MAX;
	group_sort<32>(keys, size);
	for (uint32_t i = threadIdx.x; i < k; i += 32)
		if (keys[i] != UINT64_MAX) {
			index[row + i] = (uint32_t)keys[i];
			distance[row + i] = unordered((uint32_t)(keys[i] >> 32));
		}
}

cudaError_t sl__finish_products(uint32_t *index, float *distance, uint32_t rows, uint32_t k, cudaStream_t stream)
{
	uint32_t size = 32;
	while (size < k)
		size *= 2;
	finish_products<<<rows, 32, size * sizeof(uint64_t), stream>>>(index, distance, k, size);
	return cudaGetLastError();
}
