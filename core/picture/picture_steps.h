/* picture_steps.h -- converts numbers to labels of a picture: steps of a scale, and a label for nodes without a
 * number. */
#ifndef SL_PICTURE_STEPS_H
#define SL_PICTURE_STEPS_H

#include <stdint.h>

#include "core/error.h"

/* For the options `scale` and `none` of a picture. */
struct sl_picture_steps {
	uint32_t *label;   /* [n] */
	uint32_t labels;
	char **name;       /* [labels] names for the legend; most are NULL */
};

/* x [n]; a node with NaN or infinity has no number. The lowest and highest 0.5 % of the numbers get the colours of the
 * ends, so that outliers do not stretch the scale. Any thread. */
int sl_picture_steps_create(struct sl_picture_steps *out, const float *x, uint64_t n, struct sl_error *err);
void sl_picture_steps_finish(struct sl_picture_steps *s);

#endif
