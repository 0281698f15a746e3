/* picture_internal.h -- a drawing, from which the PNG and the SVG are written. Internal to core/picture/. */
#ifndef SL_PICTURE_INTERNAL_H
#define SL_PICTURE_INTERNAL_H

#include "core/picture/picture.h"
#include "core/picture/picture_plot.h"

struct sl__legend {
	uint32_t lines;  /* labels shown; 0: there is no legend */
	bool more;       /* another line gives the number of the other labels */
	uint32_t rest;   /* labels that are not shown */
	float left, top, width, line, chip, indent;  /* chip: side of a square of colour; indent: from left to the text */
	const char *title;  /* the line above the legend, or NULL */
	bool bar;        /* scales: colours form a bar, and the lines are numbers, the highest first */
	float bar_height;
	uint32_t every;  /* scales: every so many numbers one is shown */
};

/* A name on the map. */
struct sl__map_name {
	uint32_t label;
	const char *text;        /* NULL: the label's */
	float left, top, width;  /* of its capital letters, pixels */
};

struct sl__drawing {
	const struct sl_picture_options *options;
	bool wordless;          /* without legend and title */
	struct sl__canvas canvas;
	struct sl__plot plot;
	struct sl__dot *dot;
	struct sl__rgb *ink;    /* [labels] */
	uint32_t *by_size;      /* [labels] */
	uint32_t *listed;       /* [labels] the largest labels in the order of the legend */
	uint64_t *count;        /* [labels] placed nodes of each */
	uint32_t used;          /* labels with nodes, which come first in by_size */
	struct sl_picture_options with_none;  /* options points here if the label of nodes without a label was added */
	const char **name;      /* [labels] of with_none, or NULL */
	struct sl__legend legend;
	struct sl__map_name *placed;  /* [placed_names] names on the map */
	uint32_t placed_names;
	float text, margin;     /* scale of text (picture_canvas.h); pixels */
};

/* Draws all of the picture, in memory. */
int sl__drawing_make(struct sl__drawing *w, const float *y, uint64_t n, int dims, const uint32_t *label,
		     uint32_t labels, struct sl_error *err);
void sl__drawing_finish(struct sl__drawing *w);
/* The name of a label, or its number. */
const char *sl__drawing_label(const struct sl__drawing *w, uint32_t label, char number[16]);
/* The line that counts the nodes outside the picture, and its upper edge in pixels; false: no such line. */
bool sl__drawing_outside(const struct sl__drawing *w, char text[64], float *y);

/* ---- the legend (picture_legend.c) -------------------------------------------------- */

/* Chooses the lines and the place of the legend, w->legend. Call it after ranking the labels. */
void sl__legend_plan(struct sl__drawing *w);
/* Fills w->listed. 0 or SL_NOMEM. */
int sl__legend_list(struct sl__drawing *w);
void sl__legend_draw(struct sl__drawing *w);
/* The upper edge of line r, in pixels; false: no space for it. */
bool sl__legend_line(const struct sl__drawing *w, uint32_t r, float *y);
/* "12 others" */
const char *sl__legend_rest(const struct sl__legend *g, char text[48]);

/* ---- names on the map (picture_names.c) --------------------------------------------- */

/* Chooses the places of the names, w->placed, if options ask for them. Call it after the plot. 0 or SL_NOMEM. */
int sl__names_place(struct sl__drawing *w);
void sl__names_draw(struct sl__drawing *w);

#endif
