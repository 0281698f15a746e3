/* picture_plot.h -- the plots that a picture can hold. Internal to core/measure/. */
#ifndef SL_PICTURE_PLOT_H
#define SL_PICTURE_PLOT_H

#include "core/measure/picture_canvas.h"

#define SL__UNPLACED UINT32_MAX  /* instead of a label: the node has no position of its own */

/* One node. at[] first holds its coordinates (dims of them), later what the plot makes of them:
 * pixels x and y, and nearness from 0 (far) to 1. */
struct sl__dot {
	float at[3];
	uint32_t label;  /* 0 without labels, or SL__UNPLACED */
};

struct sl__plot {
	struct sl__dot *dot;        /* [n], all finite; the plot may change them. Borrowed */
	uint64_t n, placed;
	int dims;
	uint32_t labels;            /* 0: none */
	const struct sl__rgb *ink;  /* [labels] */
	const uint32_t *by_size;    /* [labels] the largest label first */
	bool light;
	float left, top, width, height;  /* the rectangle to draw in, pixels */
};

struct sl__range {
	float low, high;
};

/* Range of at[d] over the placed (or the unplaced) nodes: without the outermost 0.05 % on
 * either side, unless including all costs little. Large layouts by a sample. scratch:
 * SL__RANGE_SAMPLE floats. No such node: low > high. */
#define SL__RANGE_SAMPLE 32768
struct sl__range sl__plot_range(const struct sl__plot *p, int d, bool placed, float *scratch);

/* The range of the placed nodes, or of all nodes when the unplaced ones are close around
 * them, for each of axes; view[axes] is never empty and never of length zero. */
void sl__plot_view(const struct sl__plot *p, int axes, struct sl__range *view, float *scratch);

/* 2-D and 3-D. 0 or SL_NOMEM. */
int sl__plot_scatter(struct sl__canvas *c, struct sl__plot *p);

/* 1-D. 0 or SL_NOMEM. */
int sl__plot_profile(struct sl__canvas *c, struct sl__plot *p);

#endif
