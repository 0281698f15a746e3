/* picture.h -- a layout as a picture, PNG or SVG.
 *
 * 2-D: a scatter of soft round points; their size and opacity follow from how many there are, so
 * that eight hundred and a million nodes both show structure. With labels every label has a
 * colour (the largest label the first, and so on) and dense places mix them; without, colour
 * shows density. 3-D: the same from a fixed angle, near points larger and brighter. 1-D: the
 * density along the axis, stacked by label, above a strip of the nodes themselves.
 *
 * A few nodes far out do not shrink the rest: the picture shows the box of all but 0.1 % of
 * the placed nodes, unless all fit nearly as well. Nodes without a position of their own
 * (isolated ones) are faint grey. A line below tells how many nodes lie outside of the picture,
 * if any do and it is at least 320 pixels wide and high. The same input gives the same bytes. */
#ifndef SL_PICTURE_H
#define SL_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A Gaussian, of a label. */
struct sl_picture_ellipse {
	double mean[2];
	double spread[3];          /* covariance: xx, xy, yy */
	uint32_t label;
};

struct sl_picture_options {
	int width, height;         /* pixels, clamped to 16 .. 8192; 0: 1200 */
	bool light;                /* light background; default dark */
	bool legend;               /* names of the labels, as many as fit: numbers in their order, others by size; of a
	                              scale a bar of its colours with numbers. In a column beside the layout */
	const char *legend_title;  /* a line above it: what the colours show; NULL: none. Borrowed */
	const char *title;         /* one line below the picture, or NULL; ASCII, the rest as '?' */
	const uint8_t *placed;     /* [n] 0: node without a position of its own; NULL: all have one. Borrowed */
	const char *const *label_name;  /* [labels] for the legend, or NULL: numbers. Borrowed */
	bool scale;                /* labels are steps from the low to the high end of a scale of colours; the legend has
	                              the names that are not NULL, at equal distances from end to end */
	const struct sl_picture_ellipse *ellipse;  /* [ellipses] drawn in 2-D at one and two standard deviations, where the
	                              label has nodes. Borrowed */
	uint32_t ellipses;
	bool none;                 /* the last label is of nodes that have none: faint, and last in the legend */
};

/* y [n * dims], dims 1 to 3; label [n] below labels, or NULL. The PNG is the caller's to free().
 * Takes about 4 bytes a pixel and 20 bytes a node while it works. Options may be NULL.
 * Positions that are not finite are left out. Any thread; uses OpenMP for large n. */
int sl_picture_png(const struct sl_picture_options *options, const float *y, uint64_t n, int dims,
		   const uint32_t *label, uint32_t labels, void **png, size_t *bytes, struct sl_error *err);

/* The same as SVG: letters are letters, and up to 50,000 nodes in 2-D and 3-D are circles, those of a label a group. */
int sl_picture_svg(const struct sl_picture_options *options, const float *y, uint64_t n, int dims,
		   const uint32_t *label, uint32_t labels, void **svg, size_t *bytes, struct sl_error *err);

/* The colour of the label that is the rank-th largest, as 0xRRGGBB: what the legend of another
 * program should use. The first 24 are distinct by eye, later ones are derived. */
uint32_t sl_picture_colour(uint32_t rank, bool light);

#ifdef __cplusplus
}
#endif
#endif
