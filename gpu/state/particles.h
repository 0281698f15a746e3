/* particles.h -- a layout in device memory. A point is padded to `stride` floats: 1, 2 and 4 in 1-D, 2-D and 3-D. */
#ifndef SL_GPU_PARTICLES_H
#define SL_GPU_PARTICLES_H

#include <stdint.h>

struct sl_particles {
	uint32_t n;
	uint32_t all;                   /* nodes of the layout: n, or more if these are the nodes of one rank */
	int dims;
	float *y, *velocity, *gain;     /* [n * stride] */
	float *attraction, *repulsion;  /* [n * stride] */
	uint32_t *rounded;              /* y rounded (rounded.cuh): one word a point in 2-D, two in 3-D; or NULL */
	const float *mass;              /* [n] sum_j p_ij */
};
#endif
