/* picture_plot.h -- the plots of pictures: scatter and profile. Internal to core/picture/. */
#ifndef SL_PICTURE_PLOT_H
#define SL_PICTURE_PLOT_H

#include "core/picture/picture_canvas.h"

#define SL__UNPLACED UINT32_MAX  /* instead of a label: the node has no position of its own */

/* One node. at[] first holds its coordinates [dims]; the plot replaces them by pixels x and y and nearness, from 0
 * (far) to 1. */
struct sl__dot {
	float at[3];
	uint32_t label;  /* 0 without labels, or SL__UNPLACED */
};

struct sl__plot {
	struct sl__dot *dot;        /* [n], all finite; the plot may change them. Borrowed */
	uint64_t n, placed;
	uint64_t outside;           /* number of nodes outside the rectangle, which are not drawn; set by the plot */
	int dims;
	uint32_t labels;            /* 0: none */
	const struct sl__rgb *ink;  /* [labels] */
	const uint32_t *by_size;    /* [labels] the largest label first */
	bool light;
	float left, top, width, height;  /* the rectangle to draw in, pixels */
	double from[2], to[2], scale;    /* set by a scatter in 2-D: position `from` is at pixels `to`; pixels per unit */
	float radius;                    /* set by a scatter: radius of a dot, and in 3-D the corners of the box, pixels */
	float corner[8][3];
};

struct sl__range {
	float low, high;
};

/* The range of at[d] over the placed (or the unplaced) nodes, without the outermost 0.05 % on either side unless they
 * widen it only a little. Uses a sample of large layouts. scratch [SL__RANGE_SAMPLE]. No such node: low > high. */
#define SL__RANGE_SAMPLE 32768

/* The range of the placed nodes, or of all nodes if the unplaced ones are close around them, on each axis; view[axes]
 * never has length zero. */
void sl__plot_view(const struct sl__plot *p, int axes, struct sl__range *view, float *scratch);

/* True if a dot at these pixels may touch the rectangle. Others are not drawn. */
#define SL__DOT_MOST 8.0f  /* largest radius of a dot, pixels */
bool sl__plot_shows(const struct sl__plot *p, const struct sl__dot *d);

/* The edges of the box around a layout in 3-D, as pairs of corners; bit d of a corner's number is 1 at the high end of
 * axis d. The three edges in front are left out; they meet in corner 5, which is next to the camera. */
#define SL__BOX_EDGES 9
extern const uint8_t sl__box_edges[SL__BOX_EDGES][2];

/* 2-D and 3-D. 0 or SL_NOMEM. */
int sl__plot_scatter(struct sl__canvas *c, struct sl__plot *p);

/* 1-D. 0 or SL_NOMEM. */
int sl__plot_profile(struct sl__canvas *c, struct sl__plot *p);

#endif
