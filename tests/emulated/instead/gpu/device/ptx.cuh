/* ptx.cuh -- instead of gpu/device/ptx.cuh: the same instructions, on the processor. */
#ifndef SL_GPU_PTX_CUH
#define SL_GPU_PTX_CUH

#include <cuda_fp16.h>

static inline void await_previous(void) {}  /* kernels run one after the other */

static inline float reciprocal(float x) { return 1 / x; }
static inline float reciprocal_root(float x) { return 1 / sqrtf(x); }
static inline float log2_approximate(float x) { return log2f(x); }
static inline float exp2_approximate(float x) { return exp2f(x); }

static inline void barrier(int id, int threads) { emulated::block_barrier(id, (unsigned)threads, 0); }
static inline void barrier_arrive(int id, int threads) { emulated::block_arrive(id, (unsigned)threads); }

/* ---- copies into shared memory, which are there when they are waited for -------------------------- */

static inline uint32_t shared_address(const void *p)
{
	return (uint32_t)((const char *)p - (const char *)emulated::dynamic_shared());
}

static inline void copy_async(void *to, const void *from) { memcpy(to, from, 16); }
static inline void copies_commit() {}
template <int N> static inline void copies_wait() {}

/* ---- matrices of halves, by a warp ------------------------------------------------------------------ */

/* r[m] of lane l: the halves 2 (l % 4) and the next of row l / 4 of matrix m, whose row i is at the address that lane
 * 8 m + i has. */
static inline void load_matrices(uint32_t r[4], uint32_t address)
{
	const char *all = emulated::warp_exchange(emulated::LOAD_MATRICES, ~0u, &address, sizeof address);
	int lane = emulated::lane();
	for (int m = 0; m < 4; m++) {
		uint32_t at;
		memcpy(&at, all + LANE_BYTES * (8 * m + lane / 4), sizeof at);
		memcpy(&r[m], (const char *)emulated::dynamic_shared() + at + lane % 4 * 4, sizeof r[m]);
	}
}

/* d[16][8] = a[16][16] b[16][8] + c. Lane l has of a: rows l / 4 (and + 8), columns 2 (l % 4), the next (and + 8); of
 * b: rows as a's columns, column l / 4; of c and d: rows as a's, columns 2 (l % 4) and the next. */
static inline void multiply_matrices(float d[4], const uint32_t a[4], const uint32_t *b, const float c[4])
{
	float mine[12];
	for (int i = 0; i < 12; i++) {
		__half h;
		memcpy(&h, (const char *)(i < 8 ? a : b) + i % 8 * 2, sizeof h);
		mine[i] = __half2float(h);
	}
	const char *all = emulated::warp_exchange(emulated::MULTIPLY, ~0u, mine, sizeof mine);
	int lane = emulated::lane();
	auto at = [all](int lane, int i) {
		float x;
		memcpy(&x, all + LANE_BYTES * lane + 4 * i, sizeof x);
		return x;
	};
	float out[4];
	for (int e = 0; e < 4; e++) {
		int row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
		float sum = c[e];
		for (int k = 0; k < 16; k++) {
			int owner = row % 8 * 4 + k % 8 / 2, pair = row / 8 + k / 8 * 2;
			sum += at(owner, 2 * pair + k % 2) * at(column * 4 + k % 8 / 2, 8 + k / 8 * 2 + k % 2);
		}
		out[e] = sum;
	}
	memcpy(d, out, sizeof out);
}

/* ---- matrices of halves, by a group of four warps -------------------------------------------------------- */

static inline void group_fence() {}
static inline void group_begin() {}
static inline void group_commit() {}
template <int N> static inline void group_wait() {}

static inline uint64_t group_matrix(uint32_t address)
{
	return (uint64_t)1 << 62 | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 16 | (address >> 4 & 0x3fff);
}

/* The half at row, column of a matrix. */
static inline float group_half(uint64_t matrix, int row, int column)
{
	uint32_t at = (uint32_t)(matrix & 0x3fff) << 4;
	at += (uint32_t)(row / 8 * 1024 + row % 8 * 128 + column * 2);
	at ^= (at >> 7 & 7) << 4;
	__half h;
	memcpy(&h, (const char *)emulated::dynamic_shared() + at, sizeof h);
	return __half2float(h);
}

/* d[64][128] = a[64][16] b[128][16]', plus d if `add`: at once. */
static inline void group_multiply(float d[64], uint64_t a, uint64_t b, bool add)
{
	int lane = emulated::lane(), warp = (int)(emulated::self->number / 32 % 4);
	for (int h = 0; h < 2; h++) {
		float row[16];
		for (int k = 0; k < 16; k++)
			row[k] = group_half(a, 16 * warp + lane / 4 + 8 * h, k);
		for (int j = 0; j < 16; j++)
			for (int e = 0; e < 2; e++) {
				float sum = add ? d[4 * j + 2 * h + e] : 0;
				for (int k = 0; k < 16; k++)
					sum += row[k] * group_half(b, 8 * j + lane % 4 * 2 + e, k);
				d[4 * j + 2 * h + e] = sum;
			}
	}
}

/* d[16][8] += a[16][8] b[8][8] in double precision. Lane l has of a: row l / 4, column l % 4, then row + 8, then column
 * + 4, then both; of b: row l % 4, column l / 4, then row + 4; of d: row l / 4, columns 2 (l % 4) and the next, then
 * row + 8. */
static inline void multiply_doubles(double d[4], const double a[4], const double b[2])
{
	double mine[6] = {a[0], a[1], a[2], a[3], b[0], b[1]};
	const char *all = emulated::warp_exchange(emulated::MULTIPLY, ~0u, mine, sizeof mine);
	int lane = emulated::lane();
	auto at = [all](int lane, int i) {
		double x;
		memcpy(&x, all + LANE_BYTES * lane + 8 * i, sizeof x);
		return x;
	};
	double out[4];
	for (int e = 0; e < 4; e++) {
		int row = lane / 4 + e / 2 * 8, column = lane % 4 * 2 + e % 2;
		out[e] = d[e];
		for (int k = 0; k < 8; k++)
			out[e] = fma(at(row % 8 * 4 + k % 4, row / 8 + k / 4 * 2), at(column * 4 + k % 4, 4 + k / 4), out[e]);
	}
	memcpy(d, out, sizeof out);
}

#endif
