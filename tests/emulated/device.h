/* device.h -- the part of CUDA C that kernels use, for kernels compiled for the CPU.
 *
 * Included before each translated file of gpu/ (translate.py). A kernel's threads are fibers (blocks.cc): each runs
 * until it waits for others, at a barrier of the block or an operation of the warp; a thread that can never continue is
 * reported. Blocks run in parallel on a few system threads. A system thread runs one block at a time, so shared memory
 * belongs to that thread. */
#ifndef SL_EMULATED_DEVICE_H
#define SL_EMULATED_DEVICE_H

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <functional>
#include <type_traits>
#include <utility>

#include "tests/emulated/blocks.h"

#undef __forceinline__
#undef __shared__
#undef __launch_bounds__
#undef __noinline__
#undef __grid_constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __shared__ static thread_local
#define __launch_bounds__(...)
#define __grid_constant__

#define __log2f log2f  /* the C library also has a __log2f */

/* ---- where a thread is ------------------------------------------------------------------- */

namespace emulated {

#define PART(what) struct { operator unsigned() const { return (unsigned)self->what; } }
#define PLACE(name, what) \
	struct name { \
		PART(what.x) x; \
		PART(what.y) y; \
		PART(what.z) z; \
	}
PLACE(thread_place, index);
PLACE(block_place, block->index);
PLACE(block_size, block->threads);
PLACE(grid_size, block->blocks);
#undef PLACE
#undef PART

} // namespace emulated

static const emulated::thread_place threadIdx;
static const emulated::block_place blockIdx;
static const emulated::block_size blockDim;
static const emulated::grid_size gridDim;

/* ---- launches --------------------------------------------------------------------------- */

namespace emulated {

/* kernel<<<blocks, threads, shared, stream>>>(arguments) is
 * launched(kernel, blocks, threads, shared, stream)(arguments). */
template <class... P> struct launched {
	void (*kernel)(P...);
	struct shape shape;
	cudaStream_t stream;
	launched(void (*kernel)(P...), dim3 blocks, dim3 threads, size_t shared = 0, cudaStream_t stream = 0)
		: kernel(kernel), shape{blocks, threads, shared, 1}, stream(stream) {}
	template <class... A> void operator()(A &&...arguments) const
	{
		void (*code)(P...) = kernel;
		std::function<void()> body = [code, ... values = P(std::forward<A>(arguments))] { code(values...); };
		launch((const void *)kernel, shape, stream, body);
	}
};

} // namespace emulated

template <class... P, class... A>
static inline cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t *c, void (*kernel)(P...), A &&...arguments)
{
	struct emulated::shape shape = {c->gridDim, c->blockDim, c->dynamicSmemBytes, 1};
	for (unsigned i = 0; i < c->numAttrs; i++)
		if (c->attrs[i].id == cudaLaunchAttributeClusterDimension)
			shape.cluster = c->attrs[i].val.clusterDim.x;
	std::function<void()> body = [kernel, ... values = P(std::forward<A>(arguments))] { kernel(values...); };
	return emulated::launch((const void *)kernel, shape, c->stream, body);
}

template <class T> static inline cudaError_t cudaFuncSetAttribute(T *kernel, cudaFuncAttribute what, int value)
{
	return cudaFuncSetAttribute((const void *)kernel, what, value);
}

template <class T>
static inline cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, T *, const cudaLaunchConfig_t *)
{
	*size = 16;
	return cudaSuccess;
}

template <class T> static inline cudaError_t cudaMemcpyToSymbol(T &symbol, const void *from, size_t bytes)
{
	memcpy((void *)&symbol, from, bytes);
	return cudaSuccess;
}

/* ---- barriers ------------------------------------------------------------------------------ */

static inline void __syncthreads() { emulated::block_barrier(0, 0, 0); }
static inline int __syncthreads_or(int x) { return emulated::block_barrier(0, 0, x != 0); }
static inline void __syncwarp(unsigned mask = ~0u) { emulated::warp_exchange(emulated::SYNC, mask, NULL, 0); }
static inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

/* ---- warps ----------------------------------------------------------------------------------- */

namespace emulated {

/* Returns x of lane `from`, once all lanes of the warp have arrived. */
template <class T> static inline T shuffle(operation what, unsigned mask, T x, int from)
{
	const char *all = warp_exchange(what, mask, &x, sizeof x);
	T y;
	memcpy(&y, all + LANE_BYTES * (from & 31), sizeof y);
	return y;
}

static inline int lane() { return (int)(self->number % 32); }

/* Last and first lane of the group of `width` lanes that exchange data. */
static inline int group(int width) { return lane() & ~(width - 1); }

template <class T, class F> static inline T reduce(operation what, unsigned mask, T x, F add)
{
	uint32_t came;
	const char *all = warp_exchange(what, mask, &x, sizeof x, &came);
	bool any = false;
	T sum = x;
	for (int i = 0; i < 32; i++) {
		T y;
		if (!(came & 1u << i))
			continue;
		memcpy(&y, all + LANE_BYTES * i, sizeof y);
		sum = any ? add(sum, y) : y;
		any = true;
	}
	return sum;
}

} // namespace emulated

template <class T> static inline T __shfl_sync(unsigned mask, T x, int from, int width = 32)
{
	return emulated::shuffle(emulated::SHUFFLE, mask, x, emulated::group(width) + (from & (width - 1)));
}
template <class T> static inline T __shfl_xor_sync(unsigned mask, T x, int bits, int width = 32)
{
	int to = emulated::lane() ^ bits;
	return emulated::shuffle(emulated::SHUFFLE, mask, x, to < emulated::group(width) + width ? to : emulated::lane());
}
template <class T> static inline T __shfl_up_sync(unsigned mask, T x, unsigned by, int width = 32)
{
	int to = emulated::lane() - (int)by;
	return emulated::shuffle(emulated::SHUFFLE, mask, x, to >= emulated::group(width) ? to : emulated::lane());
}
template <class T> static inline T __shfl_down_sync(unsigned mask, T x, unsigned by, int width = 32)
{
	int to = emulated::lane() + (int)by;
	return emulated::shuffle(emulated::SHUFFLE, mask, x, to < emulated::group(width) + width ? to : emulated::lane());
}
static inline unsigned __ballot_sync(unsigned mask, int x)
{
	unsigned bit = x ? 1u << emulated::lane() : 0;
	return emulated::reduce(emulated::VOTE, mask, bit, [](unsigned a, unsigned b) { return a | b; });
}
template <class T> static inline unsigned __match_any_sync(unsigned mask, T x)
{
	uint32_t came;
	const char *all = emulated::warp_exchange(emulated::VOTE, mask, &x, sizeof x, &came);
	unsigned same = 0;
	for (int i = 0; i < 32; i++)
		if (came & 1u << i && !memcmp(all + LANE_BYTES * i, &x, sizeof x))
			same |= 1u << i;
	return same;
}
static inline int __any_sync(unsigned mask, int x) { return __ballot_sync(mask, x) != 0; }
static inline unsigned __reduce_add_sync(unsigned mask, unsigned x)
{
	return emulated::reduce(emulated::REDUCE, mask, x, [](unsigned a, unsigned b) { return a + b; });
}
static inline unsigned __reduce_min_sync(unsigned mask, unsigned x)
{
	return emulated::reduce(emulated::REDUCE, mask, x, [](unsigned a, unsigned b) { return a < b ? a : b; });
}
static inline unsigned __reduce_max_sync(unsigned mask, unsigned x)
{
	return emulated::reduce(emulated::REDUCE, mask, x, [](unsigned a, unsigned b) { return a > b ? a : b; });
}

/* ---- atomics ------------------------------------------------------------------------------------- */

template <class T, class V> static inline T atomicAdd(T *to, V x)
{
	return __atomic_fetch_add(to, (T)x, __ATOMIC_RELAXED);
}
template <class T, class V> static inline T atomicOr(T *to, V x)
{
	return __atomic_fetch_or(to, (T)x, __ATOMIC_RELAXED);
}
template <class T, class F> static inline T emulated_atomic(T *to, F next)
{
	T old = __atomic_load_n(to, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(to, &old, next(old), false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return old;
}
template <class T, class V> static inline T atomicMin(T *to, V x)
{
	return emulated_atomic(to, [x](T old) { return old < (T)x ? old : (T)x; });
}
template <class T, class V> static inline T atomicMax(T *to, V x)
{
	return emulated_atomic(to, [x](T old) { return old > (T)x ? old : (T)x; });
}
static inline unsigned atomicInc(unsigned *to, unsigned most)
{
	return emulated_atomic(to, [most](unsigned old) { return old >= most ? 0 : old + 1; });
}
template <class T> static inline T atomicCAS(T *to, T expected, T x)
{
	__atomic_compare_exchange_n(to, &expected, x, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return expected;
}

/* ---- small things ------------------------------------------------------------------------------- */

template <class T> static inline T __ldg(const T *p) { return *p; }
template <class T> static inline T __ldcg(const T *p) { return *p; }
template <class T> static inline T __ldcs(const T *p) { return *p; }

static inline unsigned __float_as_uint(float x)
{
	unsigned bits;
	memcpy(&bits, &x, sizeof bits);
	return bits;
}
static inline float __uint_as_float(unsigned bits)
{
	float x;
	memcpy(&x, &bits, sizeof x);
	return x;
}
static inline long long __double_as_longlong(double x)
{
	long long bits;
	memcpy(&bits, &x, sizeof bits);
	return bits;
}
static inline int __double2loint(double x) { return (int)__double_as_longlong(x); }
static inline int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
static inline double __hiloint2double(int high, int low)
{
	long long bits = (long long)high << 32 | (unsigned)low;
	double x;
	memcpy(&x, &bits, sizeof x);
	return x;
}
static inline float __double2float_ru(double x)
{
	float y = (float)x;
	return (double)y < x ? nextafterf(y, INFINITY) : y;
}
static inline void sincospi(double x, double *sine, double *cosine)
{
	*sine = sin(M_PI * x);
	*cosine = cos(M_PI * x);
}
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }

template <class A, class B> static inline std::common_type_t<A, B> min(A a, B b)
{
	typedef std::common_type_t<A, B> T;
	return (T)b < (T)a ? (T)b : (T)a;
}
template <class A, class B> static inline std::common_type_t<A, B> max(A a, B b)
{
	typedef std::common_type_t<A, B> T;
	return (T)a < (T)b ? (T)b : (T)a;
}

#endif
