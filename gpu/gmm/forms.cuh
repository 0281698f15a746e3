/* forms.cuh -- what forms.cu and steps.cu share: the order of the products of a point. */
#ifndef SL_GPU_GMM_FORMS_CUH
#define SL_GPU_GMM_FORMS_CUH

#include "gpu/device/launch.cuh"
#include "gpu/gmm/gmm.h"

#define ONE SL_GM_SIDE                   /* column of a point that is 1 */
#define ZERO (SL_GM_SIDE + 1)            /* and 0 */
#define EIGHTS (SL_GM_PRODUCTS / 8)
#define GROUP SL_GM_GROUP

/* Returns the columns of z whose product is product f: the first, and the second << 8. */
static __device__ uint32_t factors_of(uint32_t d, uint32_t f)
{
	uint32_t squares = d * (d + 1) / 2, i = 0;
	if (f >= squares)
		return f < squares + d ? f - squares | ONE << 8 : f == squares + d ? ONE | ONE << 8 : ZERO | ZERO << 8;
	for (; f >= d - i; i++)
		f -= d - i;
	return i | (i + f) << 8;
}

#endif
