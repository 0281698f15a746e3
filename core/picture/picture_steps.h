/* picture_steps.h -- numbers as the labels of a picture: steps of a scale, and one for nodes without a number. */
#ifndef SL_PICTURE_STEPS_H
#define SL_PICTURE_STEPS_H

#include <stdint.h>

#include "core/error.h"

/* For the options `scale` and `none` of a picture. */
struct sl_picture_steps {
	uint32_t *label;   /* [n] */
	uint32_t labels;
	char **name;       /* [labels] a few have one, for the legend */
};

/* x [n]; NaN and infinities are no numbers. The outermost half percents share the ends of the scale, so that a few far
 * numbers cost no colour. Any thread. */
int sl_picture_steps_create(struct sl_picture_steps *out, const float *x, uint64_t n, struct sl_error *err);
void sl_picture_steps_finish(struct sl_picture_steps *s);

#endif
