/* ptx.cuh -- PTX instructions that CUDA C has no function for. */
#ifndef SL_GPU_PTX_CUH
#define SL_GPU_PTX_CUH

#include <stdint.h>

/* Waits for the kernel before this one, whose writes are then visible; for kernels that launch() queues. Code before
 * the call may run while the kernel before ends. All threads must call it, even those that return at once: a kernel
 * that waits for this one relies on all earlier kernels being complete. */
static __device__ __forceinline__ void await_previous(void)
{
#if __CUDA_ARCH__ >= 900
	asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* 1 / x, with an error of at most 1 ulp. */
static __device__ __forceinline__ float reciprocal(float x)
{
	float r;
	asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
	return r;
}

/* 1 / sqrt(x), with an error of at most 2 ulp. */
static __device__ __forceinline__ float reciprocal_root(float x)
{
	float r;
	asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
	return r;
}

static __device__ __forceinline__ float log2_approximate(float x)
{
	float r;
	asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
	return r;
}

static __device__ __forceinline__ float exp2_approximate(float x)
{
	float r;
	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
	return r;
}

/* A barrier that waits for `threads` threads of the block, in whole warps; id: 1 to 15. */
static __device__ __forceinline__ void barrier(int id, int threads)
{
	asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/* ---- copies into shared memory, 16 bytes each ------------------------------------------------------- */

static __device__ __forceinline__ uint32_t shared_address(const void *p)
{
	return (uint32_t)__cvta_generic_to_shared(p);
}

static __device__ __forceinline__ void copy_async(void *to, const void *from)
{
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from));
}

static __device__ __forceinline__ void copies_commit() { asm volatile("cp.async.commit_group;"); }

template <int N> static __device__ __forceinline__ void copies_wait()
{
	asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

/* ---- matrices of halves, by a warp ------------------------------------------------------------------ */

static __device__ __forceinline__ void load_matrices(uint32_t r[4], uint32_t address)
{
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
		     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}

/* d[16][8] = a[16][16] b[16][8] + c */
static __device__ __forceinline__ void
multiply_matrices(float d[4], const uint32_t a[4], const uint32_t *b, const float c[4])
{
	asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
	    "{%10, %11, %12, %13};"
	    : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "f"(c[0]), "f"(c[1]), "f"(c[2]), "f"(c[3]));
}

/* ---- matrices of double precision, by a warp -------------------------------------------------------- */

/* d[16][8] += a[16][8] b[8][8], rounded as fused operations in double precision. Lane l has of a: row l / 4, column
 * l % 4, then row + 8, then column + 4, then both; of b: row l % 4, column l / 4, then row + 4; of d: row l / 4,
 * columns 2 (l % 4) and the next, then row + 8. */
static __device__ __forceinline__ void multiply_doubles(double d[4], const double a[4], const double b[2])
{
#if __CUDA_ARCH__ >= 900
	asm("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
	    "{%0, %1, %2, %3};"
	    : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
	    : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
#pragma unroll
	for (int half = 0; half < 2; half++)
#pragma unroll
		for (int row = 0; row < 2; row++)
			asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
			    : "+d"(d[2 * row]), "+d"(d[2 * row + 1]) : "d"(a[2 * half + row]), "d"(b[half]));
#endif
}

#endif
