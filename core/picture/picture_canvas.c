/* Colours are blended in place. Pixels outside of the picture are left out, so callers need not clip. */
#include "core/picture/picture_canvas.h"

#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>


int sl__canvas_init(struct sl__canvas *c, int width, int height, struct sl__theme theme)
{
	memset(c, 0, sizeof *c);
	c->width = width;
	c->height = height;
	c->theme = theme;
	for (int k = 0; k < 256; k++)
		c->linear[k] = sl__linear_from_srgb((float)k / 255);
	for (int k = 0; k <= SL__CANVAS_LEVELS; k++)
		c->srgb[k] = (uint8_t)(sl__srgb_from_linear((float)k / SL__CANVAS_LEVELS) * 255 + 0.5f);
	size_t row = 3 * (size_t)width;
	c->pixel = malloc(row * (size_t)height);
	c->font = sl__font_open();
	if (!c->pixel || !c->font)
		return SL_NOMEM;
	for (int x = 0; x < width; x++)
		sl__canvas_set(c, x, 0, theme.background);
	for (int y = 1; y < height; y++)
		memcpy(c->pixel + row * (size_t)y, c->pixel, row);
	return 0;
}

void sl__canvas_finish(struct sl__canvas *c)
{
	free(c->pixel);
	c->pixel = NULL;
	sl__font_close(c->font);
	c->font = NULL;
}

void sl__canvas_blend(struct sl__canvas *c, int x, int y, struct sl__rgb colour, float alpha)
{
	if (x < 0 || y < 0 || x >= c->width || y >= c->height || !(alpha > 0))
		return;
	sl__canvas_set(c, x, y, sl__rgb_mix(sl__canvas_get(c, x, y), colour, alpha < 1 ? alpha : 1));
}

void sl__canvas_disc(struct sl__canvas *c, float x, float y, float radius, struct sl__rgb colour, float alpha)
{
	for (int v = (int)floorf(y - radius - 1); v <= (int)ceilf(y + radius + 1); v++)
		for (int u = (int)floorf(x - radius - 1); u <= (int)ceilf(x + radius + 1); u++) {
			float dx = (float)u - x, dy = (float)v - y, cover = radius + 0.5f - sqrtf(dx * dx + dy * dy);
			sl__canvas_blend(c, u, v, colour, alpha * (cover < 1 ? cover : 1));
		}
}

void sl__canvas_line(struct sl__canvas *c, float x0, float y0, float x1, float y1, float width,
		     struct sl__rgb colour, float alpha)
{
	float dx = x1 - x0, dy = y1 - y0, length = sqrtf(dx * dx + dy * dy);
	if (!(length > 0))
		return;
	dx /= length;
	dy /= length;
	int low_x = (int)floorf(fminf(x0, x1) - width), high_x = (int)ceilf(fmaxf(x0, x1) + width);
	int low_y = (int)floorf(fminf(y0, y1) - width), high_y = (int)ceilf(fmaxf(y0, y1) + width);
	for (int v = low_y; v <= high_y; v++)
		for (int u = low_x; u <= high_x; u++) {
			float along = ((float)u - x0) * dx + ((float)v - y0) * dy;
			float across = fabsf(((float)u - x0) * dy - ((float)v - y0) * dx);
			float cover = along < 0 || along > length ? 0 : width / 2 + 0.5f - across;
			sl__canvas_blend(c, u, v, colour, alpha * (cover < 1 ? cover : 1));
		}
}

/* The kerning between the letter `before` (0: none) and the next one. */
static float kern(const struct sl__canvas *c, float em, uint32_t before, uint32_t code)
{
	return before ? sl__font_kern(c->font, em, before, code) : 0;
}

float sl__canvas_text_width(const struct sl__canvas *c, const char *text, float scale)
{
	float width = 0;
	for (uint32_t before = 0, code; *text; text += sl__text_next(text), before = code) {
		code = sl__text_code(text);
		width += kern(c, SL__CANVAS_EM * scale, before, code) + sl__font_advance(c->font, SL__CANVAS_EM * scale, code);
	}
	return width;
}

char *sl__canvas_text_fit(const struct sl__canvas *c, const char *text, float width, float scale,
			  char out[SL__TEXT_BYTES])
{
	int fit = 0, most = sl__text_length(text) + 1;  /* so many letters fit, so many do not */
	sl__text_fit(text, most - 1, SL__TEXT_GAP, out);
	if (sl__canvas_text_width(c, out, scale) <= width)
		return out;
	while (most - fit > 1) {
		int middle = (fit + most) / 2;
		sl__text_fit(text, middle, SL__TEXT_GAP, out);
		if (sl__canvas_text_width(c, out, scale) <= width)
			fit = middle;
		else
			most = middle;
	}
	return sl__text_fit(text, fit, SL__TEXT_GAP, out);
}

static void draw_glyph(struct sl__canvas *c, const struct sl__glyph *g, int x, int y, struct sl__rgb colour)
{
	for (int v = 0; v < g->height; v++)
		for (int u = 0; u < g->width; u++)
			sl__canvas_blend(c, x + g->left + u, y - g->top + v, colour, (float)g->cover[v * g->pitch + u] / 255);
}

void sl__canvas_text(struct sl__canvas *c, float x, float y, float scale, float width, struct sl__rgb colour,
		     const char *text)
{
	char fitting[SL__TEXT_BYTES];
	int base = (int)lroundf(y + 7 * scale);
	float em = SL__CANVAS_EM * scale;
	const char *at = sl__canvas_text_fit(c, text, width, scale, fitting);
	for (uint32_t before = 0, code; *at; at += sl__text_next(at), before = code) {
		struct sl__glyph g;
		code = sl__text_code(at);
		x += kern(c, em, before, code);
		if (!sl__font_glyph(c->font, em, x - floorf(x), code, &g))
			continue;
		draw_glyph(c, &g, (int)floorf(x), base, colour);
		x += g.advance;
	}
}

struct sink {
	uint8_t *data;
	size_t bytes, room;
};

static void sink_write(png_structp png, png_bytep data, png_size_t bytes)
{
	struct sink *s = png_get_io_ptr(png);
	if (s->bytes + bytes > s->room) {
		size_t room = 2 * (s->room + bytes) + 4096;
		uint8_t *grown = realloc(s->data, room);
		if (!grown)
			png_error(png, "no memory");
		s->data = grown;
		s->room = room;
	}
	memcpy(s->data + s->bytes, data, bytes);
	s->bytes += bytes;
}

static void sink_flush(png_structp png)
{
}

static void on_error(png_structp png, png_const_charp message)
{
	longjmp(*png_set_longjmp_fn(png, longjmp, sizeof(jmp_buf)), 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
}

/* The caller owns sink, since longjmp may change local variables. */
static int encode(const struct sl__canvas *c, int dpi, struct sink *sink)
{
	png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
	png_infop info = png ? png_create_info_struct(png) : NULL;
	if (!info || setjmp(png_jmpbuf(png))) {
		png_destroy_write_struct(&png, &info);
		return SL_NOMEM;
	}
	png_set_write_fn(png, sink, sink_write, sink_flush);
	/* for scattered dots better levels and filters save next to nothing */
	png_set_compression_level(png, 1);
	png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
	png_set_IHDR(png, info, (png_uint_32)c->width, (png_uint_32)c->height, 8, PNG_COLOR_TYPE_RGB,
		     PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
	png_uint_32 per_metre = (png_uint_32)lround(dpi / 0.0254);
	if (dpi > 0)
		png_set_pHYs(png, info, per_metre, per_metre, PNG_RESOLUTION_METER);
	png_write_info(png, info);
	for (int y = 0; y < c->height; y++)
		png_write_row(png, c->pixel + 3 * (size_t)y * (size_t)c->width);
	png_write_end(png, info);
	png_destroy_write_struct(&png, &info);
	return 0;
}

int sl__canvas_png(const struct sl__canvas *c, int dpi, void **png, size_t *bytes, struct sl_error *err)
{
	struct sink sink = {0};
	int rc = encode(c, dpi, &sink);
	if (rc) {
		free(sink.data);
		return sl_error_set(err, rc, SL_NO_MEMORY "a picture of %d x %d pixels.", c->width, c->height);
	}
	*png = sink.data;
	*bytes = sink.bytes;
	return 0;
}
