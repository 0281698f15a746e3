/* The legend, in a column beside the plot: the colours and names of the largest labels, and the number of the others;
 * or, for a scale, a bar of its colours with numbers beside it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/picture/picture_internal.h"

/* True if the label is a whole number of at most 15 digits, as classes often are. */
static bool whole_number(const char *text, double *value)
{
	size_t sign = text[0] == '-', digits = strspn(text + sign, "0123456789");
	if (digits == 0 || digits > 15 || text[sign + digits])
		return false;
	*value = atof(text);
	return true;
}

struct numbered {
	double value;
	uint32_t label;
};

static int by_value(const void *a, const void *b)
{
	const struct numbered *u = a, *v = b;
	if (u->value != v->value)
		return u->value < v->value ? -1 : 1;
	return (u->label > v->label) - (u->label < v->label);
}

static int by_place(const void *a, const void *b)
{
	const uint32_t *u = a, *v = b;
	return (*u > *v) - (*u < *v);
}

static bool in_legend(const struct sl__drawing *w, uint32_t label)
{
	return !w->options->scale || (w->options->label_name && w->options->label_name[label]);
}

/* The number of labels to list. */
static uint32_t legend_entries(const struct sl__drawing *w)
{
	uint32_t count = 0;
	for (uint32_t r = 0; r < w->used; r++)
		count += in_legend(w, w->by_size[r]);
	return count;
}

/* Lists the `count` largest labels: in the order that they have, else numbers in ascending order, others by size; for a
 * scale the highest number first. */
static int list_labels(struct sl__drawing *w, uint32_t count)
{
	uint32_t numbers = 0;
	char text[16];
	if (!count)
		return 0;
	if (w->options->scale) {  /* the highest first, the label of nodes without a number last */
		uint32_t listed = 0;
		for (uint32_t r = w->plot.labels - w->options->none; r-- > 0 && listed < count;)
			if (in_legend(w, r))
				w->listed[listed++] = r;
		if (listed < count)
			w->listed[listed] = w->plot.labels - 1;
		return 0;
	}
	if (w->options->none && w->by_size[count - 1] + 1 == w->plot.labels) {   /* it stays last */
		w->listed[count - 1] = w->by_size[count - 1];
		return list_labels(w, count - 1);
	}
	memcpy(w->listed, w->by_size, count * sizeof *w->listed);
	if (w->options->ordered) {
		qsort(w->listed, count, sizeof *w->listed, by_place);
		return 0;
	}
	struct numbered *list = malloc((size_t)count * sizeof *list);
	if (!list)
		return SL_NOMEM;
	while (numbers < count && whole_number(sl__drawing_label(w, w->by_size[numbers], text), &list[numbers].value)) {
		list[numbers].label = w->by_size[numbers];
		numbers++;
	}
	if (numbers == count) {
		qsort(list, count, sizeof *list, by_value);
		for (uint32_t r = 0; r < count; r++)
			w->listed[r] = list[r].label;
	}
	free(list);
	return 0;
}

int sl__legend_list(struct sl__drawing *w)
{
	return list_labels(w, w->legend.lines);
}

/* ---- places ---------------------------------------------------------------- */

#define BAR_LINES 3.0f  /* between two numbers of a bar, if space allows */
#define LEAST_LINES 0.8f

/* Chooses the height of the bar and the numbers to show, within `room` pixels. */
static void plan_bar(struct sl__legend *g, uint32_t numbers, float room)
{
	uint32_t gaps = numbers - 1;
	g->bar_height = fminf((float)gaps * BAR_LINES * g->line, room);
	g->every = g->bar_height < (float)gaps * LEAST_LINES * g->line ? gaps : 1;  /* only the ends */
}

static float text_width(const struct sl__drawing *w, const struct sl__legend *g)
{
	float widest = 0;
	char number[16];
	for (uint32_t r = 0, k = 0; r < w->used && k < g->lines; r++) {
		if (!in_legend(w, w->by_size[r]))
			continue;
		widest = fmaxf(widest, sl__canvas_text_width(&w->canvas, sl__drawing_label(w, w->by_size[r], number), w->text));
		k++;
	}
	return widest;
}

void sl__legend_plan(struct sl__drawing *w)
{
	struct sl__legend *g = &w->legend;
	const struct sl_picture_options *o = w->options;
	*g = (struct sl__legend){.line = 13 * w->text, .chip = 7 * w->text, .indent = 13 * w->text, .top = w->margin};
	float widest = 0.3f * (float)w->canvas.width;
	uint32_t room = (uint32_t)(((float)w->canvas.height - 2 * w->margin) / g->line), entries = legend_entries(w);
	bool title = o->legend_title && *o->legend_title && room > 3;
	room -= title;
	if (!o->legend || !entries || room < 2 || w->canvas.width < 160) {
		*g = (struct sl__legend){0};
		return;
	}
	uint32_t none = o->scale && o->none && w->by_size[w->used - 1] + 1 == w->plot.labels;
	g->title = title ? o->legend_title : NULL;
	g->top += title ? g->line : 0;
	g->bar = o->scale && entries - none > 1 && room > 2;
	g->lines = g->bar || entries <= room ? entries : room - 1;
	g->rest = entries - g->lines;
	g->more = g->rest > 0;
	if (g->bar)
		plan_bar(g, entries - none, ((float)room - (float)none - 0.5f) * g->line);
	g->width = text_width(w, g) + g->indent;
	if (g->more)
		g->width = fmaxf(g->width, sl__canvas_text_width(&w->canvas, "10000 others", w->text) + g->indent);
	if (title)
		g->width = fmaxf(g->width, sl__canvas_text_width(&w->canvas, g->title, w->text));
	g->width = fminf(ceilf(g->width + 1), widest);
	g->left = (float)w->canvas.width - w->margin - g->width;
}

bool sl__legend_line(const struct sl__drawing *w, uint32_t r, float *y)
{
	const struct sl__legend *g = &w->legend;
	bool none = w->options->none && w->listed[r] + 1 == w->plot.labels;
	uint32_t numbers = g->lines - (w->options->none && w->listed[g->lines - 1] + 1 == w->plot.labels);
	*y = g->top + (float)r * g->line;
	if (!g->bar)
		return true;
	if (none) {
		*y = g->top + g->bar_height + g->line;
		return true;
	}
	*y = g->top + g->bar_height * (float)r / (float)(numbers - 1);  /* letters are 7 dots high */
	return r % g->every == 0;
}

/* ---- pixels ---------------------------------------------------------------- */

static void draw_bar(struct sl__drawing *w)
{
	const struct sl__legend *g = &w->legend;
	struct sl__canvas *c = &w->canvas;
	int x0 = (int)g->left, x1 = (int)(g->left + g->chip + 0.5f), y0 = (int)(g->top + 3.5f * w->text);
	int height = (int)(g->bar_height + 0.5f) > 1 ? (int)(g->bar_height + 0.5f) : 2;
	for (int v = 0; v < height; v++) {
		struct sl__rgb ink = sl__scale_colour(1 - (float)v / (float)(height - 1), w->options->light);
		for (int x = x0; x < x1; x++)
			sl__canvas_blend(c, x, y0 + v, ink, 1);
	}
}

void sl__legend_draw(struct sl__drawing *w)
{
	const struct sl__legend *g = &w->legend;
	struct sl__canvas *c = &w->canvas;
	struct sl__rgb text = c->theme.text;
	float y;
	char number[48];
	if (!g->lines)
		return;
	if (g->title)
		sl__canvas_text(c, g->left, g->top - g->line, w->text, g->width, text, g->title);
	if (g->bar)
		draw_bar(w);
	for (uint32_t r = 0; r < g->lines; r++) {
		uint32_t l = w->listed[r];
		if (!sl__legend_line(w, r, &y))
			continue;
		if (!g->bar || (w->options->none && l + 1 == w->plot.labels))
			sl__canvas_disc(c, g->left + 0.5f * g->chip, y + 3.5f * w->text, 0.45f * g->chip, w->ink[l], 1);
		sl__canvas_text(c, g->left + g->indent, y, w->text, g->width - g->indent, text,
				sl__drawing_label(w, l, number));
	}
	if (g->more)
		sl__canvas_text(c, g->left + g->indent, g->top + (float)g->lines * g->line, w->text,
				g->width - g->indent, sl__rgb_mix(c->theme.background, text, 0.5f), sl__legend_rest(g, number));
}

const char *sl__legend_rest(const struct sl__legend *g, char text[48])
{
	snprintf(text, 48, g->rest == 1 ? "%u other" : "%u others", g->rest);
	return text;
}
