/* particles.h */
#ifndef SL_GPU_PARTICLES_H
#define SL_GPU_PARTICLES_H

#include <stdint.h>

struct sl_particles {
	uint32_t n;
	int dims;
	float *y, *velocity, *gain;     /* [n * stride] */
	float *attraction, *repulsion;  /* [n * stride] */
	uint32_t *rounded;              /* y as rounded.cuh has it: 2-D one word a point, 3-D two; or NULL */
	const float *mass;              /* [n] sum_j p_ij */
};
#endif
