/* picture_plot.h -- the plots that a picture can hold. Internal to core/picture/. */
#ifndef SL_PICTURE_PLOT_H
#define SL_PICTURE_PLOT_H

#include "core/picture/picture_canvas.h"

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
	uint64_t outside;           /* nodes beyond the rectangle, counted by the plot: they are not drawn */
	int dims;
	uint32_t labels;            /* 0: none */
	const struct sl__rgb *ink;  /* [labels] */
	const uint32_t *by_size;    /* [labels] the largest label first */
	bool light;
	float left, top, width, height;  /* the rectangle to draw in, pixels */
	double from[2], to[2], scale;    /* set by a scatter in 2-D: place `from` is at pixels `to`; pixels a unit */
	float radius;                    /* of a dot, set by a scatter, and in 3-D the corners of its box, pixels */
	float corner[8][3];
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

/* Is a dot, its place in pixels, within the rectangle or in reach of it? Others are not drawn. */
#define SL__DOT_MOST 8.0f  /* pixels: no dot's radius is larger */
bool sl__plot_shows(const struct sl__plot *p, const struct sl__dot *d);

/* The edges of the box around a layout in 3-D, as pairs of corners; bit d of a corner's number says which end of axis d
 * it is at. Without the three that would cross its front: they meet in corner 5, the high end of x and z and the low
 * one of y, where the camera is. */
#define SL__BOX_EDGES 9
extern const uint8_t sl__box_edges[SL__BOX_EDGES][2];

/* 2-D and 3-D. 0 or SL_NOMEM. */
int sl__plot_scatter(struct sl__canvas *c, struct sl__plot *p);

/* 1-D. 0 or SL_NOMEM. */
int sl__plot_profile(struct sl__canvas *c, struct sl__plot *p);

#endif
