/* rows.cuh -- device functions that read P (struct sl_matrix in matrix.h). */
#ifndef SL_GPU_ROWS_CUH
#define SL_GPU_ROWS_CUH

#include <cuda_runtime_api.h>

#include "gpu/state/matrix.h"

/* The entries of one piece, unpacked. The weights must still be multiplied by the row's scale. */
template <bool WIDE> struct piece {
	static const int ENTRIES = WIDE ? 2 : 4;
	uint32_t node[ENTRIES];
	float weight[ENTRIES];
};

static __device__ __forceinline__ uint32_t word(uint4 v, int k)
{
	return k == 0 ? v.x : k == 1 ? v.y : k == 2 ? v.z : v.w;
}

template <bool WIDE>
static __device__ __forceinline__ void open_piece(uint4 v, int bits, struct piece<WIDE> *out)
{
	const uint32_t mask = (1u << bits) - 1;
#pragma unroll
	for (int k = 0; k < piece<WIDE>::ENTRIES; k++) {
		out->node[k] = WIDE ? word(v, 2 * k) : word(v, k) >> bits;
		float q = (float)(word(v, k) & mask);
		out->weight[k] = WIDE ? __uint_as_float(word(v, 2 * k + 1)) : q * q;
	}
}

template <bool WIDE> static __device__ __forceinline__ float row_scale(const struct sl_matrix &a, uint32_t i)
{
	return WIDE ? 1 : a.scale[i];
}

#endif
