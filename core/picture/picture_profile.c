/* 1-D: the density of the nodes along the axis, smoothed by a Gaussian kernel over BINS bins, stacked by label with the
 * largest at the bottom. A strip below shows each node as a thin line, mixed like the dots of a scatter. Without labels
 * the colour shows the density, too. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/picture/picture_plot.h"

#define LAYERS 64  /* most labels with their own layer; the others share a grey one */

struct profile {
	struct sl__canvas *canvas;
	struct sl__plot *plot;
	int bins, layers;
	float *density;   /* [layers][bins] */
	uint32_t *layer;  /* [labels] */
	float *apart;     /* [bins] unplaced nodes */
};

/* Smooths by a Gaussian with a standard deviation of sigma bins, approximated by three running means. */
static void smooth(float *line, int count, float sigma, float *copy)
{
	int half = (int)(0.5f * sqrtf(4 * sigma * sigma + 1));  /* three boxes of variance ((2 half + 1)^2 - 1) / 12 */
	if (half < 1)
		half = 1;
	for (int pass = 0; pass < 3; pass++) {
		double sum = 0;
		memcpy(copy, line, (size_t)count * sizeof *copy);
		for (int i = -half; i < count; i++) {
			sum += i + half < count ? copy[i + half] : 0;
			sum -= i - half - 1 >= 0 ? copy[i - half - 1] : 0;
			if (i >= 0)
				line[i] = (float)fmax(sum / (2 * half + 1), 0);
		}
	}
}

static void count_bins(struct profile *f, const struct sl__range *view)
{
	struct sl__plot *p = f->plot;
	double scale = (f->bins - 1) / ((double)view->high - view->low);
	for (uint64_t i = 0; i < p->n; i++) {
		const struct sl__dot *d = &p->dot[i];
		double x = scale * ((double)d->at[0] - view->low);
		if (!(x >= 0 && x <= f->bins - 1)) {
			p->outside++;
			continue;
		}
		int k = (int)x;
		float share = (float)(x - k);
		float *row = d->label == SL__UNPLACED ? f->apart :
			     f->density + (size_t)(p->labels ? f->layer[d->label] : 0) * (size_t)f->bins;
		row[k] += 1 - share;
		if (k + 1 < f->bins)
			row[k + 1] += share;
	}
}

static struct sl__rgb layer_colour(const struct profile *f, int layer)
{
	const struct sl__plot *p = f->plot;
	if ((uint32_t)layer >= p->labels || layer >= LAYERS)
		return f->canvas->theme.faint;
	return p->ink[p->by_size[layer]];
}

/* Draws one column of pixels of the stacked profile, with smooth edges. */
static void draw_column(struct profile *f, int bin, float highest, float floor_y, float room)
{
	const struct sl__plot *p = f->plot;
	int x = (int)p->left + bin;
	float base = floor_y, whole = 0, fade = p->light ? 0.08f : 0.25f;
	for (int l = 0; l < f->layers; l++)
		whole += f->density[(size_t)l * (size_t)f->bins + (size_t)bin];
	for (int l = 0; l < f->layers; l++) {
		float tall = f->density[(size_t)l * (size_t)f->bins + (size_t)bin] / highest * room, top = base - tall;
		struct sl__rgb c = p->labels ? layer_colour(f, l)
					     : sl__density_colour(0.15f + 0.85f * whole / highest, p->light);
		for (int y = (int)floorf(top); y <= (int)floorf(base) && tall > 0; y++) {
			float cover = fminf(base, (float)y + 1) - fmaxf(top, (float)y);
			float depth = ((float)y - (floor_y - room)) / room;  /* fades a little towards the axis */
			sl__canvas_blend(f->canvas, x, y, c, cover * (1 - fade * fmaxf(depth, 0)));
		}
		base = top;
	}
}

static void draw_strip(struct profile *f, const float *raw, float highest, int bin, int top, int bottom)
{
	const struct sl__plot *p = f->plot;
	struct sl__rgb sum = {0, 0, 0};
	float cover = 0;
	for (int l = 0; l < f->layers; l++) {
		float v = raw[(size_t)l * (size_t)f->bins + (size_t)bin];
		struct sl__rgb c = p->labels ? layer_colour(f, l)
					     : sl__density_colour(0.25f + 0.75f * v / highest, p->light);
		sum.r += v * c.r, sum.g += v * c.g, sum.b += v * c.b;
		cover += v;
	}
	float alpha = 1 - expf(-2.3f * cover / fmaxf(0.15f * highest, 1));
	struct sl__rgb mean = cover > 0 ? (struct sl__rgb){sum.r / cover, sum.g / cover, sum.b / cover} : sum;
	float faint = 0.5f * (1 - expf(-f->apart[bin]));
	for (int y = top; y < bottom; y++) {
		sl__canvas_blend(f->canvas, (int)p->left + bin, y, f->canvas->theme.faint, faint);
		sl__canvas_blend(f->canvas, (int)p->left + bin, y, mean, alpha);
	}
}

static void draw(struct profile *f, float *raw, float *copy)
{
	const struct sl__plot *p = f->plot;
	size_t size = (size_t)f->layers * (size_t)f->bins;
	float strip = fmaxf(floorf(0.09f * p->height), 6), gap = fmaxf(floorf(0.015f * p->height), 2);
	float floor_y = floorf(p->top + p->height - strip - gap), room = floor_y - p->top, highest = 0, raw_highest = 0;
	memcpy(raw, f->density, size * sizeof *raw);
	for (int l = 0; l < f->layers; l++)
		smooth(f->density + (size_t)l * (size_t)f->bins, f->bins, fmaxf((float)f->bins / 260, 1), copy);
	for (int k = 0; k < f->bins; k++) {
		float sum = 0, raw_sum = 0;
		for (int l = 0; l < f->layers; l++) {
			sum += f->density[(size_t)l * (size_t)f->bins + (size_t)k];
			raw_sum += raw[(size_t)l * (size_t)f->bins + (size_t)k];
		}
		highest = fmaxf(highest, sum);
		raw_highest = fmaxf(raw_highest, raw_sum);
	}
	if (!(highest > 0))
		highest = 1;
	raw_highest = fmaxf(raw_highest, 1);
	for (int k = 0; k < f->bins; k++) {
		draw_column(f, k, highest, floor_y, room);
		draw_strip(f, raw, raw_highest, k, (int)(floor_y + gap), (int)(p->top + p->height));
	}
	sl__canvas_line(f->canvas, p->left, floor_y, p->left + p->width, floor_y, 1, f->canvas->theme.faint, 0.8f);
}

int sl__plot_profile(struct sl__canvas *c, struct sl__plot *p)
{
	struct profile f = {.canvas = c, .plot = p, .bins = (int)p->width > 2 ? (int)p->width : 2};
	f.layers = p->labels ? (int)(p->labels < LAYERS ? p->labels : LAYERS + 1) : 1;
	size_t size = (size_t)f.layers * (size_t)f.bins;
	struct sl__range view;
	float *raw = malloc(size * sizeof *raw), *copy = malloc((size_t)f.bins * sizeof *copy);
	float *scratch = malloc(SL__RANGE_SAMPLE * sizeof *scratch);
	int rc = SL_NOMEM;
	f.density = calloc(size, sizeof *f.density);
	f.apart = calloc((size_t)f.bins, sizeof *f.apart);
	f.layer = malloc(((size_t)p->labels + 1) * sizeof *f.layer);
	if (!raw || !copy || !scratch || !f.density || !f.apart || !f.layer)
		goto out;
	for (uint32_t r = 0; r < p->labels; r++)
		f.layer[p->by_size[r]] = r < LAYERS ? r : LAYERS;
	sl__plot_view(p, 1, &view, scratch);
	float margin = 0.02f * (view.high - view.low);  /* the ends of the curve fade out inside */
	view.low -= margin;
	view.high += margin;
	count_bins(&f, &view);
	draw(&f, raw, copy);
	rc = 0;
out:
	free(raw);
	free(copy);
	free(scratch);
	free(f.density);
	free(f.apart);
	free(f.layer);
	return rc;
}
