/* Draws a picture: chooses sizes and margins, ranks the labels, calls the plot for the number of dimensions, and adds
 * title and legend (picture_legend.c). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/picture/picture_ellipse.h"
#include "core/picture/picture_internal.h"

#define DEFAULT_SIDE 1200
#define LEAST_SIDE 16
#define MOST_SIDE 8192

static int clamp_side(int side)
{
	side = side == 0 ? DEFAULT_SIDE : side;
	return side < LEAST_SIDE ? LEAST_SIDE : side > MOST_SIDE ? MOST_SIDE : side;
}

/* Adds a label for nodes without one, unless the last label is that. */
static int add_none_label(struct sl__drawing *w, uint32_t *labels)
{
	if (w->options->none && *labels)
		return 0;
	w->name = calloc((size_t)*labels + 1, sizeof *w->name);
	if (!w->name)
		return SL_NOMEM;
	for (uint32_t k = 0; w->options->label_name && k < *labels; k++)
		w->name[k] = w->options->label_name[k];
	w->name[*labels] = "none";
	++*labels;
	w->with_none = *w->options;
	w->with_none.label_name = w->name;
	w->with_none.none = true;
	w->options = &w->with_none;
	return 0;
}

static int collect(struct sl__drawing *w, const float *y, uint64_t n, int dims, const uint32_t *label, uint32_t labels)
{
	struct sl__plot *p = &w->plot;
	p->dot = w->dot = malloc((n + 1) * sizeof *w->dot);
	if (!w->dot)
		return SL_NOMEM;
	for (uint64_t i = 0; i < n; i++) {
		struct sl__dot d = {{0, 0, 0}, !label ? 0 : label[i] == SL_PICTURE_NO_LABEL ? labels - 1 : label[i]};
		bool finite = true;
		for (int k = 0; k < dims; k++) {
			d.at[k] = y[i * (uint64_t)dims + (uint64_t)k];
			finite = finite && isfinite(d.at[k]);
		}
		if (!finite)
			continue;
		if (w->options->placed && !w->options->placed[i])
			d.label = SL__UNPLACED;
		p->placed += d.label != SL__UNPLACED;
		w->dot[p->n++] = d;
	}
	return 0;
}

struct ranked {
	uint64_t count;
	uint32_t label;
};

static int by_count(const void *a, const void *b)
{
	const struct ranked *u = a, *v = b;
	if (u->count != v->count)
		return u->count > v->count ? -1 : 1;
	return (u->label > v->label) - (u->label < v->label);
}

/* Adds the label of nodes without a label, after all others. */
static void add_none(struct sl__drawing *w, uint32_t none, uint64_t count)
{
	memmove(w->by_size + w->used + 1, w->by_size + w->used, (none - w->used) * sizeof *w->by_size);
	w->by_size[w->used] = none;
	w->count[none] = count;
	w->ink[none] = sl__theme(w->options->light).faint;
	w->used += count > 0;
}

/* Gives each label but that of nodes without one its colour: its own, or, the label of most nodes the first.
 * counted: scratch. */
static void colour_labels(struct sl__drawing *w, uint32_t real, const uint32_t *label, uint64_t n,
			  struct ranked *counted)
{
	bool light = w->options->light;
	for (uint32_t l = 0; l < real; l++)
		counted[l] = (struct ranked){.label = l};
	for (uint64_t i = 0; i < n && !w->options->scale; i++)
		if (label[i] < real)
			counted[label[i]].count++;
	if (!w->options->scale && !w->options->ordered)
		qsort(counted, real, sizeof *counted, by_count);
	for (uint32_t r = 0; r < real; r++) {
		uint32_t l = counted[r].label;
		float place = real > 1 ? (float)l / (float)(real - 1) : 0.5f;
		w->ink[l] = w->options->scale ? sl__scale_colour(place, light) :
			    sl__rgb_from_hex(w->options->colour ? w->options->colour[l] : sl_picture_colour(r, light));
	}
}

static int rank_labels(struct sl__drawing *w, uint32_t labels, const uint32_t *label, uint64_t n)
{
	struct ranked *ranked = calloc((size_t)labels + 1, sizeof *ranked);
	w->ink = malloc(((size_t)labels + 1) * sizeof *w->ink);
	w->by_size = malloc(((size_t)labels + 1) * sizeof *w->by_size);
	w->count = malloc(((size_t)labels + 1) * sizeof *w->count);
	w->listed = malloc(((size_t)labels + 1) * sizeof *w->listed);
	if (!ranked || !w->ink || !w->by_size || !w->count || !w->listed) {
		free(ranked);
		return SL_NOMEM;
	}
	uint32_t real = labels - (w->options->none && labels);
	colour_labels(w, real, label, n, ranked);
	for (uint32_t l = 0; l < labels; l++)
		ranked[l] = (struct ranked){.label = l};
	for (uint64_t i = 0; i < w->plot.n; i++)
		if (w->dot[i].label != SL__UNPLACED)
			ranked[w->dot[i].label].count++;
	if (!w->options->scale)
		qsort(ranked, real, sizeof *ranked, by_count);
	for (uint32_t r = 0; r < real; r++) {
		w->by_size[r] = ranked[r].label;
		w->count[ranked[r].label] = ranked[r].count;
		w->used += w->options->scale || ranked[r].count > 0;
	}
	if (real < labels)
		add_none(w, real, ranked[real].count);
	free(ranked);
	w->plot.labels = labels;
	w->plot.ink = w->ink;
	w->plot.by_size = w->by_size;
	return 0;
}

/* ---- text ------------------------------------------------------------------ */

const char *sl__drawing_label(const struct sl__drawing *w, uint32_t label, char number[16])
{
	if (w->options->label_name && w->options->label_name[label])
		return w->options->label_name[label];
	snprintf(number, 16, "%u", label);
	return number;
}

#define SIDE_FOR_OUTSIDE 320  /* pixels; the margin below smaller pictures has no space for a line */

bool sl__drawing_outside(const struct sl__drawing *w, char text[64], float *y)
{
	const struct sl__canvas *c = &w->canvas;
	unsigned long long count = w->plot.outside;
	if (!count || c->width < SIDE_FOR_OUTSIDE || c->height < SIDE_FOR_OUTSIDE)
		return false;
	snprintf(text, 64, "%llu node%s outside of this picture", count, count == 1 ? " lies" : "s lie");
	*y = (float)c->height - 0.5f * w->margin - 4 * w->text;
	return true;
}

/* ---- the picture --------------------------------------------------------------- */

#define POINTS 8.0f  /* size of the text of prints */

static float text_scale(int dpi, int side)
{
	float own = fmaxf((float)side / 640, 1);
	if (dpi <= 0)
		return own;
	float scale = POINTS / 72 * (float)dpi / SL__CANVAS_EM;
	return fminf(fmaxf(scale, 0.75f), fmaxf(own, (float)side / 150));  /* small prints must have space for the map */
}

static int draw(struct sl__drawing *w)
{
	struct sl__canvas *c = &w->canvas;
	int side = c->width < c->height ? c->width : c->height;
	float margin = w->margin = fmaxf(0.035f * (float)side, 3), below = 0;
	w->text = text_scale(w->options->dpi, side);
	sl__legend_plan(w);
	const struct sl__legend legend = w->legend;
	if (w->options->title && *w->options->title)
		below = 11 * w->text;
	struct sl__plot *p = &w->plot;
	p->left = margin;
	p->top = margin;
	p->width = (float)c->width - 2 * margin - (legend.lines ? legend.width + margin : 0);
	p->height = (float)c->height - 2 * margin - below;
	int rc = sl__legend_list(w);
	if (!rc && p->n)
		rc = p->dims == 1 ? sl__plot_profile(c, p) : sl__plot_scatter(c, p);
	if (!rc)
		rc = sl__names_place(w);
	if (rc || w->wordless)
		return rc;
	if (p->dims == 2)
		sl__ellipses_draw(w);
	sl__names_draw(w);
	sl__legend_draw(w);
	if (below > 0)
		sl__canvas_text(c, margin, (float)c->height - margin - 6 * w->text, w->text,
				(float)c->width - 2 * margin,
				sl__rgb_mix(c->theme.background, c->theme.text, 0.7f), w->options->title);
	float y;
	char outside[64];
	if (sl__drawing_outside(w, outside, &y))
		sl__canvas_text(c, margin, y, w->text, (float)c->width - 2 * margin,
				sl__rgb_mix(c->theme.background, c->theme.text, 0.7f), outside);
	return 0;
}

int sl__drawing_make(struct sl__drawing *w, const float *y, uint64_t n, int dims, const uint32_t *label,
		     uint32_t labels, struct sl_error *err)
{
	if (dims < 1 || dims > 3)
		return sl_error_field(err, SL_BADPARAM, "/dims", "dims must be 1, 2 or 3, not %d.", dims);
	if (n >= UINT32_MAX)
		return sl_error_set(err, SL_TOOBIG, "The layout has too many nodes for a picture; it must have fewer "
				    "than 4,294,967,295.");
	bool unlabelled = false;
	for (uint64_t i = 0; label && i < n; i++)
		if (label[i] == SL_PICTURE_NO_LABEL)
			unlabelled = true;
		else if (label[i] >= labels)
			return sl_error_set(err, SL_BADPARAM, "Node %llu has label %u; there are only %u labels.",
					    (unsigned long long)i, label[i], labels);
	int width = clamp_side(w->options->width), height = clamp_side(w->options->height);
	w->plot.dims = dims;
	w->plot.light = w->options->light;
	int rc = sl__canvas_init(&w->canvas, width, height, sl__theme(w->options->light));
	if (!rc && unlabelled)
		rc = add_none_label(w, &labels);
	if (!rc)
		rc = collect(w, y, n, dims, label, labels);
	if (!rc && label)
		rc = rank_labels(w, labels, label, n);
	if (!rc)
		rc = draw(w);
	return rc ? sl_error_set(err, rc, SL_NO_MEMORY "a picture of %llu nodes in %d x %d pixels.",
				 (unsigned long long)n, width, height) : 0;
}

void sl__drawing_finish(struct sl__drawing *w)
{
	sl__canvas_finish(&w->canvas);
	free(w->dot);
	free(w->ink);
	free(w->by_size);
	free(w->listed);
	free(w->count);
	free(w->name);
	free(w->placed);
}

int sl_picture_png(const struct sl_picture_options *options, const float *y, uint64_t n, int dims,
		   const uint32_t *label, uint32_t labels, void **png, size_t *bytes, struct sl_error *err)
{
	static const struct sl_picture_options defaults;
	struct sl__drawing w = {.options = options ? options : &defaults};
	int rc = sl__drawing_make(&w, y, n, dims, label, labels, err);
	if (!rc)
		rc = sl__canvas_png(&w.canvas, w.options->dpi, png, bytes, err);
	sl__drawing_finish(&w);
	return rc;
}
