/* picture.h -- a layout as a picture, PNG or SVG.
 *
 * 2-D: a scatter plot of soft discs, whose size and opacity depend on the number of nodes, so that both eight hundred
 * and a million nodes show structure. Each label has a colour (the largest label gets the first colour); where dots
 * overlap, colours mix. Without labels the colour shows the density. 3-D: the same from a fixed angle, with near points
 * larger and brighter. 1-D: the density along the axis, stacked by label, above a strip with a line for each node.
 *
 * Outliers do not shrink the rest: the picture shows the box of all but 0.1 % of the placed nodes, unless all fit
 * nearly as well. Nodes without a position of their own (isolated ones) are faint grey. A line below gives the number
 * of nodes outside the picture, if there are any and the picture is at least 320 pixels wide and high. The same input
 * gives the same bytes. Colours go by the number of nodes that have the label, placed or not, as in the dashboard. */
#ifndef SL_PICTURE_H
#define SL_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The Gaussian of a label. */
struct sl_picture_ellipse {
	double mean[2];
	double spread[3];          /* covariance: xx, xy, yy */
	uint32_t label;
};

/* A name of its own on the map, such as a cluster's. */
struct sl_picture_map_name {
	const char *text;
	double at[2];              /* in units of the layout */
};

struct sl_picture_options {
	int width, height;         /* pixels, clamped to 16 .. 8192; 0: 1200 */
	bool light;                /* light background; default dark */
	bool legend;               /* a column beside the layout: names of the labels, as many as fit (numbers in their
	                              order, others by size); for a scale, a bar of its colours with numbers */
	bool names;                /* 2-D and 3-D: the labels' names on the map, where most of their nodes are, as many as
	                              fit without overlap; not for a scale */
	const struct sl_picture_map_name *map_name;  /* [map_names] 2-D: other names on the map, before those of labels; the
	                              first ones have precedence. Borrowed */
	uint32_t map_names;
	int dpi;                   /* resolution, for print: the size of text is 8 points, and the PNG tells it; 0: not
	                              given, text grows with the picture */
	const char *legend_title;  /* a line above the legend; NULL: none. Borrowed */
	const char *title;         /* one line below the picture, or NULL; characters that the font lacks become '?' */
	const uint8_t *placed;     /* [n] 0: node without a position of its own; NULL: all have one. Borrowed */
	const char *const *label_name;  /* [labels] for the legend, or NULL: numbers. Borrowed */
	bool scale;                /* labels are steps of a scale of colours, from low to high; the legend shows the names
	                              that are not NULL, at equal distances */
	const struct sl_picture_ellipse *ellipse;  /* [ellipses] drawn in 2-D at one and two standard deviations, if the
	                              label has nodes. Borrowed */
	uint32_t ellipses;
	bool ordered;              /* labels have an order, which is that of the legend and of their colours */
	const uint32_t *colour;    /* [labels] 0xRRGGBB, or NULL: by rank; not read for nodes without a label. Borrowed */
	bool none;                 /* the last label stands for nodes without a label: faint, and last in the legend.
	                              Nodes with SL_PICTURE_NO_LABEL have it, too; if it is false, they get such a label */
};

#define SL_PICTURE_NO_LABEL UINT32_MAX

/* y [n * dims], dims 1 to 3; label [n], less than labels or SL_PICTURE_NO_LABEL, or NULL. Options may be NULL.
 * Positions that are not finite are left out. The caller frees *png with free(). Takes about 4 bytes a pixel and 20
 * bytes a node. Any thread; uses OpenMP for large n. */
int sl_picture_png(const struct sl_picture_options *options, const float *y, uint64_t n, int dims,
		   const uint32_t *label, uint32_t labels, void **png, size_t *bytes, struct sl_error *err);

/* The same as SVG, with text as text. Up to 50,000 nodes in 2-D and 3-D are circles, in a group for each label. */
int sl_picture_svg(const struct sl_picture_options *options, const float *y, uint64_t n, int dims,
		   const uint32_t *label, uint32_t labels, void **svg, size_t *bytes, struct sl_error *err);

/* The colour of the rank-th largest label, as 0xRRGGBB, for legends of other programs. The first 64 are chosen for
 * people with any kind of colour vision (scripts/palette.py); later ones are derived. */
uint32_t sl_picture_colour(uint32_t rank, bool light);

#ifdef __cplusplus
}
#endif
#endif
