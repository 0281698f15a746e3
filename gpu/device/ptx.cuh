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

/* Arrives at such a barrier, as one of the `threads`, without waiting. */
static __device__ __forceinline__ void barrier_arrive(int id, int threads)
{
	asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
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

/* ---- matrices of halves, by a group of four warps: compute capability 9.0, machine code of sm_90a ------- */

/* The matrices are in shared memory in rows of 64 halves; in row r the chunk c of 16 bytes is at c ^ r % 8. Eight rows
 * begin at a multiple of 1,024 bytes. Multiplications run asynchronously, in order:
 * group_begin(), some group_multiply(), group_commit(); group_wait<N>() waits until at most N commits are unfinished.
 * After threads have written to shared memory, each calls group_fence() before the barrier. */
static __device__ __forceinline__ void group_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
static __device__ __forceinline__ void group_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
static __device__ __forceinline__ void group_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

template <int N> static __device__ __forceinline__ void group_wait()
{
	asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(N) : "memory");
}

/* Describes a matrix in shared memory from this address on; adding 2 advances it by 16 columns. */
static __device__ __forceinline__ uint64_t group_matrix(uint32_t address)
{
	return (uint64_t)1 << 62 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 16 | (address >> 4 & 0x3fff);
}

#define SL_FOUR(d, i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3])
#define SL_SIXTEEN(d, i) SL_FOUR(d, i), SL_FOUR(d, i + 4), SL_FOUR(d, i + 8), SL_FOUR(d, i + 12)

/* d[64][128] = a[64][16] b[128][16]', plus d if `add`. Lane l of warp w in its group has rows 16 w + l / 4 (h = 0) and
 * 8 more (h = 1): d[4 j + 2 h + e] is of row h, column 8 j + l % 4 * 2 + e. */
static __device__ __forceinline__ void group_multiply(float d[64], uint64_t a, uint64_t b, bool add)
{
	asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\nwgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 "
	    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
	    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
	    "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
	    "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
	    "%64, %65, p, 1, 1, 0, 0;\n}\n"
	    : SL_SIXTEEN(d, 0), SL_SIXTEEN(d, 16), SL_SIXTEEN(d, 32), SL_SIXTEEN(d, 48)
	    : "l"(a), "l"(b), "r"((int)add));
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
