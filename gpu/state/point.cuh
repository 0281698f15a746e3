/* point.cuh -- points in device memory, and the kernel of the repulsion. */
#ifndef SL_GPU_POINT_CUH
#define SL_GPU_POINT_CUH

#include "gpu/device/ptx.cuh"

/* Calls one of launch(1), launch(2), launch(3). */
#define BY_DIMS(dims, launch) do { \
	if ((dims) == 1) \
		launch(1); \
	else if ((dims) == 2) \
		launch(2); \
	else \
		launch(3); \
} while (0)

template <int D> struct padded { static const int stride = D == 3 ? 4 : D; };

/* x^exponent for x >= 1, exponent < 0, with an error of at most 2e-7 |exponent|. */
static __device__ __forceinline__ float power(float x, float exponent)
{
	return exp2_approximate(exponent * log2_approximate(x));
}

/* The kernel for r2 = 1 + |y_i - y_j|^2, and the factor of y_i - y_j in the force. HEAVY: the kernel is (1 + r^2)^-nu,
 * steeper = -(nu + 1); else nu is 1. */
template <bool HEAVY> static __device__ __forceinline__ float kernel(float r2, float steeper, float *steep)
{
	if (HEAVY) {
		*steep = power(r2, steeper);
		return *steep * r2;
	}
	float q = reciprocal(r2);
	*steep = q * q;
	return q;
}

template <int D> static __device__ __forceinline__ void load_point(const float *y, uint32_t i, float *out)
{
	if (D == 1) {
		out[0] = y[i];
	} else if (D == 2) {
		float2 v = reinterpret_cast<const float2 *>(y)[i];
		out[0] = v.x;
		out[1] = v.y;
	} else {
		float4 v = reinterpret_cast<const float4 *>(y)[i];
		out[0] = v.x;
		out[1] = v.y;
		out[2] = v.z;
	}
}

#endif
