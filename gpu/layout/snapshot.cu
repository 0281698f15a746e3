/* Copies a layout without its padding, as floats or quantised to 16 bits (proto/frame.h). */
#include "gpu/device/launch.cuh"
#include "gpu/layout/layout.h"
#include "gpu/state/point.cuh"

#define BLOCK 256

/* pack writes out [n * D]: the positions y [n * stride] as floats, times s.unit, or quantised to 16 bits. At most 264
 * blocks; bound by memory. Test: tests/gpu/test_small.c, test_cuda.c. */
template <int D>
static __global__ void __launch_bounds__(BLOCK)
pack(uint32_t n, const float *__restrict__ y, struct sl_packing s, void *__restrict__ out)
{
	for (uint32_t i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK) {
		float place[3];
		load_point<D>(y, i, place);
#pragma unroll
		for (int k = 0; k < D; k++) {
			size_t at = (size_t)i * D + k;
			if (s.quantise) {
				float v = fmaf(place[k] - s.low[k], s.scale, 0.5f);
				((uint16_t *)out)[at] = (uint16_t)fminf(fmaxf(v, 0.f), 65535.f);  /* NaN becomes 0 */
			} else {
				((float *)out)[at] = s.unit == 1 ? place[k] : (float)((double)place[k] * s.unit);
			}
		}
	}
}

cudaError_t sl__pack(const struct sl_particles *p, struct sl_packing s, void *out, cudaStream_t stream)
{
	uint32_t blocks = blocks_for(p->n, BLOCK);
	blocks = blocks < 264 ? blocks : 264;
#define LAUNCH(d) pack<d><<<blocks, BLOCK, 0, stream>>>(p->n, p->y, s, out)
	BY_DIMS(p->dims, LAUNCH);
#undef LAUNCH
	return cudaGetLastError();
}
