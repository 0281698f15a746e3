/* rounded.cuh -- positions in fewer bytes, as fractions of the grids' reach: 16 bits per coordinate in 2-D, 21 in 3-D.
 *
 * The kernel that moves a point also writes its rounded position, relative to the corner of the next grids. If a point
 * lies outside these grids, the run stops before its rounded position is read. */
#ifndef SL_GPU_ROUNDED_CUH
#define SL_GPU_ROUNDED_CUH

#include "gpu/device/launch.cuh"
#include "gpu/layout/layout.h"
#include "gpu/state/point.cuh"

template <int D> struct rounding {
	static const int BITS = D == 3 ? 21 : 16;
	float low[3], step, inverse;
};

template <int D> static __device__ __forceinline__ struct rounding<D> rounding_of(const float *corner, float reach)
{
	const float code_max = (float)((1 << rounding<D>::BITS) - 1);
	struct rounding<D> c;
#pragma unroll
	for (int k = 0; k < D; k++)
		c.low[k] = corner[k];
	c.step = reach / code_max;
	c.inverse = code_max / reach;
	return c;
}

/* place: the position of point i */
template <int D>
static __device__ __forceinline__ void
store_rounded(uint32_t *out, uint32_t i, const struct rounding<D> &c, const float *place)
{
	const float code_max = (float)((1 << rounding<D>::BITS) - 1);
	uint32_t q[3] = {0, 0, 0};
#pragma unroll
	for (int k = 0; k < D; k++)
		q[k] = (uint32_t)fminf(fmaxf(rintf((place[k] - c.low[k]) * c.inverse), 0), code_max);
	if (D == 2)
		out[i] = q[0] | q[1] << 16;
	else if (D == 3)
		reinterpret_cast<uint2 *>(out)[i] = make_uint2(q[0] | q[2] << 21, q[1] | q[2] >> 11 << 21);
}

template <int D>
static __device__ __forceinline__ void
load_rounded(const uint32_t *rounded, uint32_t j, const struct rounding<D> &c, float *out)
{
	if (D == 2) {
		uint32_t q = __ldg(rounded + j);
		out[0] = fmaf((float)(q & 0xffff), c.step, c.low[0]);
		out[1] = fmaf((float)(q >> 16), c.step, c.low[1]);
	} else if (D == 3) {
		uint2 q = __ldg(reinterpret_cast<const uint2 *>(rounded) + j);
		out[0] = fmaf((float)(q.x & 0x1fffff), c.step, c.low[0]);
		out[1] = fmaf((float)(q.y & 0x1fffff), c.step, c.low[1]);
		out[2] = fmaf((float)(q.x >> 21 | q.y >> 21 << 11), c.step, c.low[2]);
	}
}

#endif
