/* picture_canvas.h -- the pixels of a picture, its text, and its PNG. Internal to core/picture/. */
#ifndef SL_PICTURE_CANVAS_H
#define SL_PICTURE_CANVAS_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/picture/picture_colour.h"
#include "core/picture/picture_font.h"
#include "core/picture/picture_text.h"

#define SL__CANVAS_LEVELS 16384

struct sl__canvas {
	int width, height;
	struct sl__theme theme;
	struct sl__font *font;  /* owned */
	uint8_t *pixel;  /* [height][width][3] sRGB; owned */
	float linear[256];                        /* linear light of an sRGB byte */
	uint8_t srgb[SL__CANVAS_LEVELS + 1];      /* sRGB byte of linear light, in steps fine enough for dark colours */
};

/* Makes a canvas filled with the theme's background. 0 or SL_NOMEM. */
int sl__canvas_init(struct sl__canvas *c, int width, int height, struct sl__theme theme);
void sl__canvas_finish(struct sl__canvas *c);

/* One pixel in linear light; x and y are inside. */
static inline struct sl__rgb sl__canvas_get(const struct sl__canvas *c, int x, int y)
{
	const uint8_t *p = c->pixel + 3 * ((size_t)y * (size_t)c->width + (size_t)x);
	return (struct sl__rgb){c->linear[p[0]], c->linear[p[1]], c->linear[p[2]]};
}

static inline uint8_t sl__canvas_level(const struct sl__canvas *c, float v)
{
	v = v > 0 ? v < 1 ? v : 1 : 0;  /* NaN becomes 0 */
	return c->srgb[(int)(v * SL__CANVAS_LEVELS + 0.5f)];
}

static inline void sl__canvas_set(struct sl__canvas *c, int x, int y, struct sl__rgb colour)
{
	uint8_t *p = c->pixel + 3 * ((size_t)y * (size_t)c->width + (size_t)x);
	p[0] = sl__canvas_level(c, colour.r);
	p[1] = sl__canvas_level(c, colour.g);
	p[2] = sl__canvas_level(c, colour.b);
}

/* Mixes colour into one pixel; does nothing outside the canvas. */
void sl__canvas_blend(struct sl__canvas *c, int x, int y, struct sl__rgb colour, float alpha);

/* Draws a disc with soft edges. */
void sl__canvas_disc(struct sl__canvas *c, float x, float y, float radius, struct sl__rgb colour, float alpha);

void sl__canvas_line(struct sl__canvas *c, float x0, float y0, float x1, float y1, float width,
		     struct sl__rgb colour, float alpha);

/* Text. y: the upper edge of capital letters, which are 7 * scale high. A text wider than `width` pixels, or longer
 * than 100 letters, loses its middle, replaced by SL__TEXT_GAP. */
#define SL__CANVAS_EM 9.5f  /* size of the font, pixels, with a scale of 1 */
void sl__canvas_text(struct sl__canvas *c, float x, float y, float scale, float width, struct sl__rgb colour,
		     const char *text);
float sl__canvas_text_width(const struct sl__canvas *c, const char *text, float scale);
/* Shortens the text to this width. Returns out. */
char *sl__canvas_text_fit(const struct sl__canvas *c, const char *text, float width, float scale,
			  char out[SL__TEXT_BYTES]);

/* The caller frees *png with free(). dpi: the resolution that the file tells; 0: none. */
int sl__canvas_png(const struct sl__canvas *c, int dpi, void **png, size_t *bytes, struct sl_error *err);

#endif
