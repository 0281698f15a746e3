/* A picture as SVG, for papers and drawing programs. Text stays text. Up to CIRCLES_MOST nodes are circles, grouped by
 * label; more nodes, and profiles, become an embedded image. */
#include <stdio.h>
#include <stdlib.h>

#include "core/picture/picture_ellipse.h"
#include "core/picture/picture_internal.h"

#define CIRCLES_MOST 50000  /* with more, drawing programs become slow */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void base64(const uint8_t *bytes, size_t count, FILE *out)
{
	for (size_t i = 0; i < count; i += 3) {
		uint32_t v = (uint32_t)bytes[i] << 16;
		v |= i + 1 < count ? (uint32_t)bytes[i + 1] << 8 : 0;
		v |= i + 2 < count ? bytes[i + 2] : 0;
		fputc(digits[v >> 18], out);
		fputc(digits[v >> 12 & 63], out);
		fputc(i + 1 < count ? digits[v >> 6 & 63] : '=', out);
		fputc(i + 2 < count ? digits[v & 63] : '=', out);
	}
}

/* Prints the text of an element or attribute; characters that XML does not allow become '?'. */
static void print_text(const char *text, FILE *out)
{
	for (int bytes; *text; text += bytes) {
		unsigned char first = (unsigned char)*text, second = (unsigned char)text[1];
		bytes = sl__text_next(text);
		bool surrogate = bytes == 3 && first == 0xed && second >= 0xa0;
		bool none = bytes == 3 && first == 0xef && second == 0xbf && (unsigned char)text[2] >= 0xbe;
		if (*text == '&' || *text == '<' || *text == '>' || *text == '"')
			fputs(*text == '&' ? "&amp;" : *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : "&quot;", out);
		else if (first < ' ' || first == 0x7f || (bytes == 1 && first >= 0x80) || surrogate || none)
			fputc(first < ' ' ? ' ' : '?', out);
		else
			fprintf(out, "%.*s", bytes, text);
	}
}

/* ---- circles -------------------------------------------------------------------------- */

static float radius_of(const struct sl__plot *p, const struct sl__dot *d)
{
	float r = p->dims == 3 ? p->radius * (0.65f + 0.7f * d->at[2]) : p->radius;
	return d->label == SL__UNPLACED ? 0.75f * r : r;
}

static void circle(const struct sl__plot *p, const struct sl__dot *d, const char *colour, FILE *out)
{
	fprintf(out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\"%s/>\n", (double)d->at[0] + 0.5, (double)d->at[1] + 0.5,
		(double)radius_of(p, d), colour);
}

/* name NULL: none */
static void open_group(const char *name, struct sl__rgb colour, FILE *out)
{
	fprintf(out, "<g fill=\"#%06x\" fill-opacity=\".85\">", sl__rgb_to_hex(colour));
	if (name) {
		fputs("<title>", out);
		print_text(name, out);
		fputs("</title>", out);
	}
	fputs("\n", out);
}

/* Prints a group of circles for each label, the largest label first. */
static void groups(const struct sl__drawing *w, FILE *out)
{
	const struct sl__plot *p = &w->plot;
	char number[16];
	for (uint32_t r = 0; r < w->used; r++) {
		uint32_t l = w->by_size[r];
		if (!w->count[l])
			continue;
		bool step = w->options->scale && l + 1 < p->labels;   /* steps need no name */
		open_group(step ? NULL : sl__drawing_label(w, l, number), w->ink[l], out);
		for (uint64_t i = 0; i < p->n; i++)
			if (p->dot[i].label == l && sl__plot_shows(p, &p->dot[i]))
				circle(p, &p->dot[i], "", out);
		fputs("</g>\n", out);
	}
}

static int by_nearness(const void *a, const void *b)
{
	const struct sl__dot *u = a, *v = b;
	return (u->at[2] > v->at[2]) - (u->at[2] < v->at[2]);
}

/* Prints circles with individual colours: in 3-D from far to near; without labels in the colours of the density, which
 * are read from the pixels. */
static void circles(struct sl__drawing *w, FILE *out)
{
	struct sl__plot *p = &w->plot;
	const struct sl__canvas *c = &w->canvas;
	char colour[24];
	if (p->dims == 3)
		qsort(p->dot, p->n, sizeof *p->dot, by_nearness);
	fputs("<g fill-opacity=\".85\">\n", out);
	for (uint64_t i = 0; i < p->n; i++) {
		const struct sl__dot *d = &p->dot[i];
		if (d->label == SL__UNPLACED || !sl__plot_shows(p, d))
			continue;
		int x = (int)(d->at[0] + 0.5f), y = (int)(d->at[1] + 0.5f);
		x = x < 0 ? 0 : x < c->width ? x : c->width - 1;
		y = y < 0 ? 0 : y < c->height ? y : c->height - 1;
		struct sl__rgb ink = p->labels ? sl__rgb_mix(c->theme.background, p->ink[d->label], 0.42f + 0.58f * d->at[2]) :
						 sl__canvas_get(c, x, y);
		snprintf(colour, sizeof colour, " fill=\"#%06x\"", sl__rgb_to_hex(ink));
		circle(p, d, colour, out);
	}
	fputs("</g>\n", out);
}

static void draw_box(const struct sl__drawing *w, FILE *out)
{
	const struct sl__plot *p = &w->plot;
	fprintf(out, "<g stroke=\"#%06x\" stroke-opacity=\".5\">\n", sl__rgb_to_hex(w->canvas.theme.faint));
	for (int k = 0; k < SL__BOX_EDGES; k++) {
		const float *a = p->corner[sl__box_edges[k][0]], *b = p->corner[sl__box_edges[k][1]];
		fprintf(out, "<path d=\"M%.1f %.1fL%.1f %.1f\"/>\n", (double)a[0], (double)a[1], (double)b[0], (double)b[1]);
	}
	fputs("</g>\n", out);
}

static void all_circles(struct sl__drawing *w, FILE *out)
{
	const struct sl__plot *p = &w->plot;
	if (p->dims == 3)
		draw_box(w, out);
	if (p->placed < p->n) {
		open_group("without a place of their own", w->canvas.theme.faint, out);
		for (uint64_t i = 0; i < p->n; i++)
			if (p->dot[i].label == SL__UNPLACED && sl__plot_shows(p, &p->dot[i]))
				circle(p, &p->dot[i], "", out);
		fputs("</g>\n", out);
	}
	if (p->labels && p->dims == 2)
		groups(w, out);
	else
		circles(w, out);
}

/* ---- the rest ------------------------------------------------------------------------- */

static int image(const struct sl__drawing *w, FILE *out, struct sl_error *err)
{
	void *png = NULL;
	size_t bytes = 0;
	int rc = sl__canvas_png(&w->canvas, 0, &png, &bytes, err);
	if (rc)
		return rc;
	fprintf(out, "<image width=\"%d\" height=\"%d\" href=\"data:image/png;base64,", w->canvas.width, w->canvas.height);
	base64(png, bytes, out);
	fputs("\"/>\n", out);
	free(png);
	return 0;
}

static void print_line(const struct sl__drawing *w, float x, float y, float width, const char *text, FILE *out)
{
	char fitting[SL__TEXT_BYTES];
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">", (double)x, (double)(y + 7 * w->text));
	print_text(sl__canvas_text_fit(&w->canvas, text, width, w->text, fitting), out);
	fputs("</text>\n", out);
}

#define STOPS 16  /* of the gradient for a scale */

static void bar(const struct sl__drawing *w, FILE *out)
{
	const struct sl__legend *g = &w->legend;
	fputs("<linearGradient id=\"scale\" x1=\"0\" y1=\"1\" x2=\"0\" y2=\"0\">", out);
	for (int k = 0; k <= STOPS; k++)
		fprintf(out, "<stop offset=\"%g\" stop-color=\"#%06x\"/>", (double)k / STOPS,
			sl__rgb_to_hex(sl__scale_colour((float)k / STOPS, w->options->light)));
	fputs("</linearGradient>\n", out);
	fprintf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"url(#scale)\"/>\n", (double)g->left,
		(double)(g->top + 3.5f * w->text), (double)g->chip, (double)g->bar_height);
}

static void legend(const struct sl__drawing *w, FILE *out)
{
	const struct sl__legend *g = &w->legend;
	float y;
	char number[48];
	if (g->title)
		print_line(w, g->left, g->top - g->line, g->width, g->title, out);
	if (g->bar)
		bar(w, out);
	for (uint32_t r = 0; r < g->lines; r++) {
		uint32_t l = w->listed[r];
		if (!sl__legend_line(w, r, &y))
			continue;
		if (!g->bar || (w->options->none && l + 1 == w->plot.labels))
			fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"#%06x\"/>",
				(double)(g->left + 0.5f * g->chip), (double)(y + 3.5f * w->text), (double)(0.45f * g->chip),
				sl__rgb_to_hex(w->ink[l]));
		print_line(w, g->left + g->indent, y, g->width - g->indent, sl__drawing_label(w, l, number), out);
	}
	if (g->more)
		print_line(w, g->left + g->indent, g->top + (float)g->lines * g->line, g->width - g->indent,
			   sl__legend_rest(g, number), out);
}

static void map_names(const struct sl__drawing *w, FILE *out)
{
	char number[16];
	if (!w->placed_names)
		return;
	fprintf(out, "<g font-family=\"DejaVu Sans, Verdana, sans-serif\" font-size=\"%.1f\" fill=\"#%06x\" "
		"stroke=\"#%06x\" stroke-width=\"%.1f\" stroke-linejoin=\"round\" paint-order=\"stroke\">\n",
		(double)(SL__CANVAS_EM * w->text), sl__rgb_to_hex(w->canvas.theme.text),
		sl__rgb_to_hex(w->canvas.theme.background), (double)(2.4f * w->text));
	for (uint32_t k = 0; k < w->placed_names; k++)
		print_line(w, w->placed[k].left, w->placed[k].top, w->placed[k].width + 1,
			   w->placed[k].text ? w->placed[k].text : sl__drawing_label(w, w->placed[k].label, number), out);
	fputs("</g>\n", out);
}

static void words(const struct sl__drawing *w, FILE *out)
{
	const struct sl__canvas *c = &w->canvas;
	float y;
	char number[64];
	fprintf(out, "<g font-family=\"DejaVu Sans, Verdana, sans-serif\" font-size=\"%.1f\" fill=\"#%06x\">\n",
		(double)(SL__CANVAS_EM * w->text), sl__rgb_to_hex(c->theme.text));
	legend(w, out);
	if (w->options->title && *w->options->title)
		print_line(w, w->margin, (float)c->height - w->margin - 6 * w->text,
			   (float)c->width - 2 * w->margin, w->options->title, out);
	if (sl__drawing_outside(w, number, &y))
		print_line(w, w->margin, y, (float)c->width - 2 * w->margin, number, out);
	fputs("</g>\n", out);
}

static int write(struct sl__drawing *w, FILE *out, struct sl_error *err)
{
	const struct sl__canvas *c = &w->canvas;
	int rc = 0;
	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n",
		c->width, c->height, c->width, c->height);
	fprintf(out, "<rect width=\"100%%\" height=\"100%%\" fill=\"#%06x\"/>\n", sl__rgb_to_hex(c->theme.background));
	if (w->plot.dims == 1 || w->plot.n > CIRCLES_MOST)
		rc = image(w, out, err);
	else
		all_circles(w, out);
	if (w->plot.dims == 2)
		sl__ellipses_svg(w, out);
	map_names(w, out);
	words(w, out);
	fputs("</svg>\n", out);
	return rc;
}

int sl_picture_svg(const struct sl_picture_options *options, const float *y, uint64_t n, int dims,
		   const uint32_t *label, uint32_t labels, void **svg, size_t *bytes, struct sl_error *err)
{
	static const struct sl_picture_options defaults;
	struct sl__drawing w = {.options = options ? options : &defaults, .wordless = true};
	char *text = NULL;
	FILE *out = NULL;
	int rc = sl__drawing_make(&w, y, n, dims, label, labels, err);
	if (!rc && !(out = open_memstream(&text, bytes)))
		rc = sl_error_memory(err, "a picture of %llu nodes", (unsigned long long)n);
	if (out)
		rc = write(&w, out, err);
	if (out && (ferror(out) | fclose(out)) && !rc)
		rc = sl_error_memory(err, "a picture of %llu nodes", (unsigned long long)n);
	sl__drawing_finish(&w);
	if (rc)
		free(text);
	else
		*svg = text;
	return rc;
}
