/* picture_internal.h -- a picture as it is put together, and written as PNG or SVG. Internal to core/picture/. */
#ifndef SL_PICTURE_INTERNAL_H
#define SL_PICTURE_INTERNAL_H

#include "core/picture/picture.h"
#include "core/picture/picture_plot.h"

struct sl__legend {
	uint32_t lines;  /* labels shown; 0: there is no legend */
	bool more;       /* one more line says how many others there are */
	uint32_t rest;   /* how many are not */
	float left, top, width, line, chip, indent;  /* chip: side of a colour's place; indent: from left to the text */
	int letters;     /* that fit a line */
	const char *title;  /* above it, or NULL */
	int title_letters;
	bool bar;        /* of a scale: its colours are a bar, and the lines its numbers from the highest down */
	float bar_height;
	uint32_t every;  /* of a bar: each so manieth number has room */
};

struct sl__drawing {
	const struct sl_picture_options *options;
	bool wordless;          /* legend and title are left out */
	struct sl__canvas canvas;
	struct sl__plot plot;
	struct sl__dot *dot;
	struct sl__rgb *ink;    /* [labels] */
	uint32_t *by_size;      /* [labels] */
	uint32_t *listed;       /* [labels] the first of by_size as the legend lists them */
	uint64_t *count;        /* [labels] placed nodes of each */
	uint32_t used;          /* labels that have any, the first in by_size */
	struct sl__legend legend;
	float text, margin;     /* pixels a dot of the font; pixels */
};

/* All of it but for the file. 0, or an error that says why. */
int sl__drawing_make(struct sl__drawing *w, const float *y, uint64_t n, int dims, const uint32_t *label,
		     uint32_t labels, struct sl_error *err);
void sl__drawing_finish(struct sl__drawing *w);
/* The name of a label, or its number. */
const char *sl__drawing_label(const struct sl__drawing *w, uint32_t label, char number[16]);
/* The line below a picture that does not show all nodes, and its upper edge in pixels; false: none is due. */
bool sl__drawing_outside(const struct sl__drawing *w, char text[64], float *y);

/* ---- the legend (picture_legend.c) -------------------------------------------------- */

/* Chooses w->legend: how many lines it has, and where. The labels have been ranked. */
void sl__legend_plan(struct sl__drawing *w);
/* Fills w->listed. 0 or SL_NOMEM. */
int sl__legend_list(struct sl__drawing *w);
void sl__legend_draw(struct sl__drawing *w);
/* The upper edge of line r, pixels; false: it has no room. */
bool sl__legend_line(const struct sl__drawing *w, uint32_t r, float *y);
/* "12 others" */
const char *sl__legend_rest(const struct sl__legend *g, char text[48]);

/* ---- text (picture_text.c) --------------------------------------------------------- */

#define SL__TEXT_BYTES 512

/* Characters of UTF-8; a byte that is none counts as one. */
int sl__text_length(const char *text);
/* At most `most` characters: a longer text loses its middle, where `gap` stands then. out[SL__TEXT_BYTES] */
char *sl__text_fit(const char *text, int most, const char *gap, char *out);
/* The bytes of the character that text begins with; 1 for a byte that is no UTF-8. */
int sl__text_next(const char *text);
/* Its code point; '?' for a byte that is no UTF-8. */
uint32_t sl__text_code(const char *text);

#endif
