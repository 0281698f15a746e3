/* Transforms uploaded points for the scanning kernels: subtracts the mean, which keeps products small, multiplies by a
 * power of two, which keeps them within the range of half precision, and rounds. A side holds the rounding error of
 * each of its rows. For points of bytes the mean is a whole number, so they are exact in half precision. Bound by
 * memory. Test: tests/gpu/test_scan.c. */
#include <cuda_fp16.h>

#include "gpu/device/launch.cuh"
#include "gpu/neighbours/scan/scan.h"

#define BLOCK 256

static __device__ __forceinline__ float value_at(const struct sl_table &t, uint32_t row, uint32_t column)
{
	size_t at = (size_t)row * t.d + column;
	return t.type == SL_POINTS_U8 ? (float)((const uint8_t *)t.value)[at] : ((const float *)t.value)[at];
}

/* A block sums its share of the rows, column by column. With fewer columns than threads, several threads share the rows
 * of a column. */
static __global__ void __launch_bounds__(BLOCK)
sum_columns(struct sl_table t, double *part, uint32_t *largest)
{
	__shared__ double sums[BLOCK];
	uint32_t lanes = t.d < BLOCK ? BLOCK / t.d : 1, width = t.d < BLOCK ? t.d : BLOCK;
	uint32_t lane = threadIdx.x / width, column = threadIdx.x % width;
	uint32_t from = (uint32_t)((uint64_t)t.n * blockIdx.x / gridDim.x);
	uint32_t to = (uint32_t)((uint64_t)t.n * (blockIdx.x + 1) / gridDim.x);
	float most = 0;
	for (uint32_t first = 0; first < t.d; first += width) {
		double sum = 0;
		if (lane < lanes && first + column < t.d)
			for (uint32_t i = from + lane; i < to; i += lanes) {
				float x = value_at(t, i, first + column) * (t.inverse ? t.inverse[i] : 1);
				sum += x;
				most = fmaxf(most, fabsf(x));
			}
		__syncthreads();
		sums[threadIdx.x] = sum;
		__syncthreads();
		if (lane == 0 && first + column < t.d) {
			for (uint32_t l = 1; l < lanes; l++)
				sum += sums[l * width + column];
			part[(size_t)blockIdx.x * t.d + first + column] = sum;
		}
	}
	atomicMax(largest, __float_as_uint(most));
}

/* sum[c] += part[0][c] + part[1][c] + ..., in this order. One thread per column. */
static __global__ void add_parts(uint32_t d, const double *part, double *sum)
{
	uint32_t c = blockIdx.x * blockDim.x + threadIdx.x;
	if (c >= d)
		return;
	double x = sum[c];
	for (uint32_t b = 0; b < SL_FRAME_PARTS; b++)
		x += part[(size_t)b * d + c];
	sum[c] = x;
}

cudaError_t sl__frame_add(const struct sl_frame *f, const struct sl_table *t, double *part, cudaStream_t stream)
{
	sum_columns<<<SL_FRAME_PARTS, BLOCK, 0, stream>>>(*t, part, f->largest);
	return each(t->d, add_parts, stream, t->d, part, f->sum);
}

static __device__ __forceinline__ bool centred(int metric) { return metric == SL_EUCLIDEAN || metric == SL_COSINE; }

/* The mean of each column; thread 0 also chooses the scale, and clears the worst errors. One thread per column. */
static __global__ void settle(struct sl_frame f, double total, bool bytes)
{
	uint32_t c = blockIdx.x * blockDim.x + threadIdx.x;
	if (c < f.d) {
		double mean = centred(f.metric) ? f.sum[c] / total : 0;
		f.mean[c] = (float)(bytes && f.metric != SL_COSINE ? rint(mean) : mean);
	}
	if (c)
		return;
	float largest = __uint_as_float(*f.largest), scale = 1;
	if (f.metric == SL_LP) {  /* a sum of d powers of twice the largest is a float32 number */
		if (largest > 0)
			scale = exp2f((float)((126 - log2((double)f.d)) / f.p)) / (2 * largest);
	} else if (!(bytes && f.metric != SL_COSINE) && (centred(f.metric) || f.metric == SL_INNER_PRODUCT)) {
		int exponent = 0;
		if (largest > 0)
			frexpf(largest, &exponent);
		int power = 13 - exponent;  /* |x - mean| < 2^(exponent + 1) */
		scale = ldexpf(1, power < 100 ? power > -100 ? power : -100 : 100);
	}
	*f.scale = scale;
	f.worst[0] = f.worst[1] = f.worst[2] = f.worst[3] = 0;
}

cudaError_t sl__frame_settle(const struct sl_frame *f, uint64_t total, enum sl_points_type type, cudaStream_t stream)
{
	return each(f->d, settle, stream, *f, (double)total, type == SL_POINTS_U8);
}

/* inverse[i] = 1 / |row i|, or 0 for a row of zeros. One warp per row. */
static __global__ void __launch_bounds__(BLOCK) inverse_norms(struct sl_table t, float *inverse)
{
	uint32_t i = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
	if (i >= t.n)
		return;
	double sum = 0;
	for (uint32_t c = lane; c < t.d; c += 32) {
		double x = value_at(t, i, c);
		sum += x * x;
	}
	sum = sum_lanes(sum);
	if (lane == 0)
		inverse[i] = sum > 0 ? (float)(1 / sqrt(sum)) : 0;
}

cudaError_t sl__inverse_norms(const struct sl_table *t, float *inverse, cudaStream_t stream)
{
	return each_warp(t->n, inverse_norms, stream, *t, inverse);
}

/* One warp per position. */
static __global__ void __launch_bounds__(BLOCK)
fill(struct sl_frame f, struct sl_table t, const uint32_t *which, uint32_t stride, bool columns, struct sl_side out)
{
	uint32_t i = blockIdx.x * (BLOCK / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
	if (i >= out.count)
		return;
	uint32_t row = which ? which[i] : i < t.n ? (uint32_t)((uint64_t)i * stride % t.n) : SL_NOBODY;
	bool somebody = row != SL_NOBODY && !(t.number && t.number[row] == SL_NOBODY);
	float scale = *f.scale, inverse = somebody && t.inverse ? t.inverse[row] : 1;
	__half *half = (__half *)out.value + (size_t)i * (uint32_t)out.width;
	float *full = (float *)out.value + (size_t)i * (uint32_t)out.width;
	double square = 0, lost = 0;
	uint32_t used = out.precision == SL_SPLIT ? 3 * f.d : f.d;
	for (uint32_t c = lane; c < f.d; c += 32) {
		if (out.precision == SL_FULL) {
			full[c] = somebody ? value_at(t, row, c) * inverse * scale : 0;
			continue;
		}
		float x = somebody ? (value_at(t, row, c) * inverse - f.mean[c]) * scale : 0;
		__half high = __float2half_rn(x);
		float kept = __half2float(high);
		half[c] = high;
		if (out.precision == SL_SPLIT) {
			__half low = __float2half_rn(x - kept);
			kept += __half2float(low);
			half[f.d + c] = columns ? low : high;
			half[2 * f.d + c] = columns ? high : low;
		}
		square += (double)kept * kept;
		lost += (double)(x - kept) * (x - kept);
	}
	for (uint32_t c = used + lane; c < (uint32_t)out.width; c += 32)
		if (out.precision == SL_FULL)
			full[c] = 0;
		else
			half[c] = __float2half_rn(0);
	square = sum_lanes(square);
	lost = sum_lanes(lost);
	if (lane)
		return;
	/* the difference from the mean was already rounded */
	float norm = (float)sqrt(square), error = (float)sqrt(lost) + norm * (t.type == SL_POINTS_U8 ? 0 : 0x1p-24f);
	out.index[i] = !somebody ? SL_NOBODY : t.number ? t.number[row] : t.first + row;
	if (out.norm)
		out.norm[i] = make_float2(norm, error);
	if (!columns)
		return;
	double bias = centred(f.metric) ? -0.5 * square : 0;
	if (f.metric == SL_COSINE && inverse == 0)  /* a row of zeros counts as perpendicular to every other */
		bias -= (out.precision == SL_FULL ? 1 : 0.5) * (double)scale * scale;
	out.bias[i] = somebody ? (float)bias : -INFINITY;
	if (out.precision != SL_FULL && somebody) {
		uint32_t *worst = f.worst + (out.precision == SL_SPLIT ? 2 : 0);
		atomicMax(worst, __float_as_uint(error));
		atomicMax(worst + 1, __float_as_uint(norm));
	}
}

cudaError_t sl__side_fill(const struct sl_frame *f, const struct sl_table *t, const uint32_t *which, uint32_t stride,
			  bool columns, const struct sl_side *out, cudaStream_t stream)
{
	return each_warp(out->count, fill, stream, *f, *t, which, stride, columns, *out);
}
