/* See published.h. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/gpu/published.h"

#define THREADS 128
#define TILE 32

struct published {
	uint32_t n, d;
	float *x, *y, *out, *far;   /* out [5][n]: forces, curves, stress; far [n][n] or NULL */
	double *sum;
};

struct view {
	uint32_t n, d;
	const float *x, *y;
	float *out;
	const float *far;
};

static __device__ float distance_of(const float *a, const float *b, uint32_t d)
{
	float sum = 0;
	for (uint32_t k = 0; k < d; k++)
		sum += (a[k] - b[k]) * (a[k] - b[k]);
	return sqrtf(sum);
}

struct five {
	float value[5];
};

static __device__ void add_pair(struct five *s, float far, float yi0, float yi1, float yj0, float yj1)
{
	float a = yi0 - yj0, b = yi1 - yj1, square = a * a + b * b;
	if (!(far > 0))
		return;
	float w = 1 / far, near = sqrtf(square), off = far - near;
	s->value[4] += w * off * off;
	if (!(near > 1e-12f))
		return;
	float ratio = far / near, c = w * (1 - ratio), e = w * ratio / square;
	s->value[0] += c * a;
	s->value[1] += c * b;
	s->value[2] += c + e * a * a;
	s->value[3] += c + e * b * b;
}

static __device__ void put(const struct view &v, uint32_t i, const struct five &s)
{
	for (int k = 0; k < 5; k++)
		v.out[(size_t)k * v.n + i] = s.value[k];
}

static __global__ void by_point(struct view v)
{
	uint32_t i = blockIdx.x * THREADS + threadIdx.x;
	struct five s = {};
	if (i >= v.n)
		return;
	for (uint32_t j = 0; j < v.n; j++)
		if (j != i)
			add_pair(&s, distance_of(v.x + (size_t)i * v.d, v.x + (size_t)j * v.d, v.d), v.y[2 * i], v.y[2 * i + 1],
				 v.y[2 * j], v.y[2 * j + 1]);
	put(v, i, s);
}

static __global__ void by_pair(struct view v)
{
	uint32_t j = blockIdx.x * THREADS + threadIdx.x;
	for (uint32_t i = blockIdx.y; j < v.n && i < v.n; i += gridDim.y) {
		struct five s = {};
		if (i == j)
			continue;
		add_pair(&s, v.far[(size_t)i * v.n + j], v.y[2 * j], v.y[2 * j + 1], v.y[2 * i], v.y[2 * i + 1]);
		for (int k = 0; k < 5; k++)
			atomicAdd(v.out + (size_t)k * v.n + j, s.value[k]);
	}
}

static __global__ void by_block(struct view v)
{
	__shared__ float part[5][THREADS];
	uint32_t i = blockIdx.x;
	struct five s = {};
	for (uint32_t j = threadIdx.x; j < v.n; j += THREADS)
		if (j != i)
			add_pair(&s, distance_of(v.x + (size_t)i * v.d, v.x + (size_t)j * v.d, v.d), v.y[2 * i], v.y[2 * i + 1],
				 v.y[2 * j], v.y[2 * j + 1]);
	for (int k = 0; k < 5; k++)
		part[k][threadIdx.x] = s.value[k];
	for (uint32_t half = THREADS / 2; half; half /= 2) {
		__syncthreads();
		for (int k = 0; k < 5 && threadIdx.x < half; k++)
			part[k][threadIdx.x] += part[k][threadIdx.x + half];
	}
	for (int k = 0; k < 5 && threadIdx.x == 0; k++)
		s.value[k] = part[k][0];
	if (threadIdx.x == 0)
		put(v, i, s);
}

/* Shared memory: own rows [d][THREADS], others [d][TILE], their layout [2][TILE]. */
static __global__ void by_tiles(struct view v)
{
	extern __shared__ float shared[];
	float *own = shared, *other = own + v.d * THREADS, *y = other + v.d * TILE;
	uint32_t i = blockIdx.x * THREADS + threadIdx.x, row = i < v.n ? i : v.n - 1;
	struct five s = {};
	for (uint32_t k = 0; k < v.d; k++)
		own[k * THREADS + threadIdx.x] = v.x[(size_t)row * v.d + k];
	for (uint32_t from = 0; from < v.n; from += TILE) {
		__syncthreads();
		for (uint32_t at = threadIdx.x; at < TILE * v.d; at += THREADS) {
			uint32_t j = from + at / v.d;
			other[at % v.d * TILE + at / v.d] = j < v.n ? v.x[(size_t)j * v.d + at % v.d] : 0;
		}
		for (uint32_t at = threadIdx.x; at < 2 * TILE; at += THREADS)
			y[at] = from + at / 2 < v.n ? v.y[2 * (size_t)from + at] : 0;
		__syncthreads();
		for (uint32_t j = 0; j < TILE && from + j < v.n; j++) {
			float sum = 0;
			for (uint32_t k = 0; k < v.d; k++) {
				float off = own[k * THREADS + threadIdx.x] - other[k * TILE + j];
				sum += off * off;
			}
			if (from + j != i)
				add_pair(&s, sqrtf(sum), v.y[2 * (size_t)row], v.y[2 * (size_t)row + 1], y[2 * j], y[2 * j + 1]);
		}
	}
	if (i < v.n)
		put(v, i, s);
}

static __global__ void fill_matrix(struct view v, float *far)
{
	uint32_t j = blockIdx.x * THREADS + threadIdx.x;
	for (uint32_t i = blockIdx.y; j < v.n && i < v.n; i += gridDim.y)
		far[(size_t)i * v.n + j] = distance_of(v.x + (size_t)i * v.d, v.x + (size_t)j * v.d, v.d);
}

/* One block. */
static __global__ void add_up(struct view v, double *out)
{
	__shared__ double part[THREADS];
	double sum = 0;
	for (uint32_t i = threadIdx.x; i < v.n; i += THREADS)
		sum += (double)v.out[4 * (size_t)v.n + i];
	part[threadIdx.x] = sum;
	__syncthreads();
	for (uint32_t t = 1; t < THREADS && threadIdx.x == 0; t++)
		sum += part[t];
	if (threadIdx.x == 0)
		*out = sum;
}

static bool good(cudaError_t status)
{
	if (status != cudaSuccess)
		printf("published: %s\n", cudaGetErrorString(status));
	return status == cudaSuccess;
}

void published_close(struct published *p)
{
	if (!p)
		return;
	cudaFree(p->x);
	cudaFree(p->y);
	cudaFree(p->out);
	cudaFree(p->far);
	cudaFree(p->sum);
	free(p);
}

struct published *published_open(const float *x, uint32_t n, uint32_t d)
{
	struct published *p = (struct published *)calloc(1, sizeof *p);
	if (!p)
		return NULL;
	p->n = n;
	p->d = d;
	if (good(cudaMalloc(&p->x, (size_t)n * d * sizeof(float))) &&
	    good(cudaMalloc(&p->y, (size_t)n * 2 * sizeof(float))) &&
	    good(cudaMalloc(&p->out, (size_t)n * 5 * sizeof(float))) && good(cudaMalloc(&p->sum, sizeof(double))) &&
	    good(cudaMemcpy(p->x, x, (size_t)n * d * sizeof(float), cudaMemcpyHostToDevice)))
		return p;
	published_close(p);
	return NULL;
}

static struct view view_of(const struct published *p)
{
	return (struct view){p->n, p->d, p->x, p->y, p->out, p->far};
}

static bool make_matrix(struct published *p)
{
	if (p->far)
		return true;
	if (cudaMalloc(&p->far, (size_t)p->n * p->n * sizeof(float)) != cudaSuccess) {
		cudaGetLastError();
		p->far = NULL;
		return false;
	}
	fill_matrix<<<dim3((p->n + THREADS - 1) / THREADS, 1024), THREADS>>>(view_of(p), p->far);
	return good(cudaDeviceSynchronize());
}

static cudaError_t queue(struct published *p, int way)
{
	struct view v = view_of(p);
	uint32_t blocks = (p->n + THREADS - 1) / THREADS;
	size_t shared = (p->d * (THREADS + TILE) + 2 * TILE) * sizeof(float);
	cudaError_t status = cudaSuccess;
	if (way == PUBLISHED_POINT)
		by_point<<<blocks, THREADS>>>(v);
	else if (way == PUBLISHED_BLOCK)
		by_block<<<p->n, THREADS>>>(v);
	else if (way == PUBLISHED_TILES) {
		status = cudaFuncSetAttribute((const void *)by_tiles, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
		if (status == cudaSuccess)
			by_tiles<<<blocks, THREADS, shared>>>(v);
	} else {
		status = cudaMemsetAsync(p->out, 0, (size_t)p->n * 5 * sizeof(float));
		if (status == cudaSuccess)
			by_pair<<<dim3(blocks, p->n < 65535 ? p->n : 65535), THREADS>>>(v);
	}
	return status == cudaSuccess ? cudaGetLastError() : status;
}

bool published_pass(struct published *p, int way, const float *y, int repeat, double *ms, double *sum)
{
	cudaEvent_t begin, end;
	float took = 0;
	if ((way == PUBLISHED_TILES && p->d > PUBLISHED_MOST) || (way == PUBLISHED_PAIR && !make_matrix(p)))
		return false;
	if (!good(cudaMemcpy(p->y, y, (size_t)p->n * 2 * sizeof(float), cudaMemcpyHostToDevice)) ||
	    !good(cudaEventCreate(&begin)) || !good(cudaEventCreate(&end)) || !good(queue(p, way)) ||
	    !good(cudaEventRecord(begin)))
		return false;
	for (int k = 0; k < repeat; k++)
		if (!good(queue(p, way)))
			return false;
	if (!good(cudaEventRecord(end)) || !good(cudaEventSynchronize(end)) ||
	    !good(cudaEventElapsedTime(&took, begin, end)))
		return false;
	cudaEventDestroy(begin);
	cudaEventDestroy(end);
	add_up<<<1, THREADS>>>(view_of(p), p->sum);
	*ms = (double)took / repeat;
	bool fine = good(cudaMemcpy(sum, p->sum, sizeof *sum, cudaMemcpyDeviceToHost));
	*sum /= 2;  /* each pair was counted twice */
	return fine;
}
