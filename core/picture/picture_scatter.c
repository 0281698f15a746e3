/* Scatter plots. Dots are projected to pixels and sorted into bands of BAND rows. A thread draws a band alone, so the
 * order of sums in a pixel is fixed. Each pixel collects the light of the dots that cover it (colour times coverage,
 * and coverage). It shows the mean colour with opacity 1 - exp(-exposure coverage). So no dot hides another by being
 * drawn later, and dense regions saturate instead of clipping.
 *
 * The exposure depends on the overlap at a typical dot, so that sparse layouts have solid dots and dense ones still
 * show differences. Below the dots is a wash: the same light, blurred over a few dozen pixels, which makes regions
 * visible.
 *
 * In 3-D the camera looks at the middle of the layout from a fixed side, with a little perspective. Near dots are
 * larger and have more weight than those behind them, which looks like occlusion but needs no sorting by depth; far
 * dots fade into the background. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/picture/picture_plot.h"

#define BAND 32          /* rows */
#define WASH 6           /* side of a cell of the wash, pixels */
#define SHADES 256

struct light {
	float r, g, b, cover;
};

struct scatter {
	struct sl__canvas *canvas;
	struct sl__plot *plot;
	uint32_t *order;       /* [n] dots by band */
	uint64_t *band_start;  /* [bands + 1] into order */
	int bands;
	bool deep;             /* 3-D */
	bool by_label;
	float radius, exposure;
	float densest;         /* overlap at the densest dots; scales the density colours */
	struct light *wash;    /* [wash_h][wash_w] */
	int wash_w, wash_h;
	struct sl__rgb shade[SHADES];
};

/* ---- 3-D ------------------------------------------------------------------ */

struct camera {
	float centre[3], half[3], size;
	float right[3], up[3], toward[3];  /* unit vectors */
};

static struct camera find_camera(const struct sl__plot *p, float *scratch)
{
	const float turn = 0.62f, tilt = 0.42f;  /* radians */
	struct camera c = {
		.right = {cosf(turn), sinf(turn), 0},
		.up = {-sinf(turn) * sinf(tilt), cosf(turn) * sinf(tilt), cosf(tilt)},
		.toward = {sinf(turn) * cosf(tilt), -cosf(turn) * cosf(tilt), sinf(tilt)},
	};
	struct sl__range view[3];
	sl__plot_view(p, 3, view, scratch);
	for (int d = 0; d < 3; d++) {
		c.centre[d] = 0.5f * view[d].low + 0.5f * view[d].high;
		c.half[d] = 0.5f * view[d].high - 0.5f * view[d].low;
		c.size = fmaxf(c.size, c.half[d]);
	}
	return c;
}

/* Replaces coordinates by positions in the picture's plane, in units of the camera's size, and nearness. */
static void project(const struct camera *c, float at[3])
{
	float a = 0, b = 0, depth = 0;
	for (int d = 0; d < 3; d++) {
		float q = (at[d] - c->centre[d]) / c->size;
		q = fmaxf(fminf(q, 1e6f), -1e6f);
		a += q * c->right[d];
		b += q * c->up[d];
		depth += q * c->toward[d];
	}
	float closer = 1 / (1 - 0.12f * fmaxf(fminf(depth, 1.6f), -1.6f));
	at[0] = a * closer;
	at[1] = b * closer;
	at[2] = fmaxf(fminf(0.5f + 0.42f * depth, 1), 0);
}

const uint8_t sl__box_edges[SL__BOX_EDGES][2] = {
	{0, 1}, {2, 3}, {6, 7}, {0, 2}, {1, 3}, {4, 6}, {0, 4}, {2, 6}, {3, 7},
};

static void project_corners(const struct camera *c, float at[8][3])
{
	for (int k = 0; k < 8; k++) {
		for (int d = 0; d < 3; d++)
			at[k][d] = c->centre[d] + (k >> d & 1 ? 1.02f : -1.02f) * c->half[d];
		project(c, at[k]);
	}
}

static void draw_box(struct sl__canvas *canvas, float at[8][3])
{
	float width = fmaxf((float)(canvas->width < canvas->height ? canvas->width : canvas->height) / 1000, 1);
	for (int k = 0; k < SL__BOX_EDGES; k++) {
		const float *a = at[sl__box_edges[k][0]], *b = at[sl__box_edges[k][1]];
		float closeness = 0.5f * (a[2] + b[2]);
		sl__canvas_line(canvas, a[0], a[1], b[0], b[1], width, canvas->theme.faint, 0.15f + 0.5f * closeness);
	}
}

/* ---- from the plane to pixels ----------------------------------------------- */

/* Converts positions of all dots and of the box's corners (NULL in 2-D) to pixels. */
static void fit(struct sl__plot *p, const struct sl__range view[2], float corner[8][3])
{
	float span_x = view[0].high - view[0].low, span_y = view[1].high - view[1].low;
	double scale = fmin((double)p->width / span_x, (double)p->height / span_y);
	double mid_x = 0.5 * view[0].low + 0.5 * view[0].high, mid_y = 0.5 * view[1].low + 0.5 * view[1].high;
	double to_x = p->left + 0.5 * (p->width - 1), to_y = p->top + 0.5 * (p->height - 1);
	p->from[0] = mid_x;
	p->from[1] = mid_y;
	p->to[0] = to_x;
	p->to[1] = to_y;
	p->scale = scale;
	for (uint64_t i = 0; i < p->n + (corner ? 8 : 0); i++) {
		float *at = i < p->n ? p->dot[i].at : corner[i - p->n];
		at[0] = (float)(to_x + scale * (at[0] - mid_x));
		at[1] = (float)(to_y - scale * (at[1] - mid_y));
		if (!corner)
			at[2] = 1;
	}
}

static float dot_radius(const struct scatter *s, const struct sl__dot *d)
{
	float r = s->deep ? s->radius * (0.65f + 0.7f * d->at[2]) : s->radius;
	return d->label == SL__UNPLACED ? 0.75f * r : r;
}

/* The band of a dot; -1: outside the rectangle. */
static int band_of(const struct scatter *s, const struct sl__dot *d)
{
	float y = d->at[1];
	if (!sl__plot_shows(s->plot, d))
		return -1;
	int band = (int)(y / BAND);
	return y < 0 || band < 0 ? 0 : band < s->bands ? band : s->bands - 1;
}

static int sort_into_bands(struct scatter *s)
{
	struct sl__plot *p = s->plot;
	s->bands = (s->canvas->height + BAND - 1) / BAND;
	s->band_start = calloc((size_t)s->bands + 2, sizeof *s->band_start);
	s->order = malloc((p->n + 1) * sizeof *s->order);
	if (!s->band_start || !s->order)
		return SL_NOMEM;
	for (uint64_t i = 0; i < p->n; i++) {
		int band = band_of(s, &p->dot[i]);
		if (band >= 0)
			s->band_start[band + 2]++;
		else
			p->outside++;
	}
	for (int b = 1; b <= s->bands; b++)
		s->band_start[b + 1] += s->band_start[b];
	for (uint64_t i = 0; i < p->n; i++) {
		int band = band_of(s, &p->dot[i]);
		if (band >= 0)
			s->order[s->band_start[band + 1]++] = (uint32_t)i;
	}
	return 0;
}

/* ---- exposure ----------------------------------------------------------------- */

static int compare_counts(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* Counts the dots in cells of the size of a dot, and takes the counts at a sample of dots. */
static int find_exposure(struct scatter *s)
{
	const struct sl__plot *p = s->plot;
	float cell = fmaxf(1.8f * s->radius, 1.5f);
	size_t w = (size_t)((float)s->canvas->width / cell) + 1, h = (size_t)((float)s->canvas->height / cell) + 1;
	uint32_t *count = calloc(w * h, sizeof *count), *sample = malloc(SL__RANGE_SAMPLE * sizeof *sample), k = 0;
	uint64_t stride = p->n / SL__RANGE_SAMPLE + 1;
	s->exposure = 1;
	s->densest = 1;
	if (!count || !sample) {
		free(count);
		free(sample);
		return SL_NOMEM;
	}
	for (int pass = 0; pass < 2; pass++)
		for (uint64_t i = 0; i < p->n; i += pass ? stride : 1) {
			const struct sl__dot *d = &p->dot[i];
			float x = d->at[0] / cell, y = d->at[1] / cell;
			if (d->label == SL__UNPLACED || !(x >= 0 && y >= 0 && x < (float)w && y < (float)h))
				continue;
			uint32_t *c = &count[(size_t)y * w + (size_t)x];
			if (pass)
				sample[k++] = *c;
			else
				++*c;
		}
	if (k) {
		qsort(sample, k, sizeof *sample, compare_counts);
		s->densest = (float)sample[(uint64_t)(k - 1) * 995 / 1000];
		s->exposure = fmaxf(2.3f * powf((float)sample[k / 2], -0.65f), 0.12f);
	}
	free(count);
	free(sample);
	return 0;
}

/* ---- light ---------------------------------------------------------------------- */

/* The share of its own colour that a dot keeps; closeness is 1 in front and 0 at the back. */
static float fog(float closeness)
{
	return 0.42f + 0.58f * closeness;
}

/* The light of a dot, faded by its distance. If the colour shows density it is not known yet; then r counts the placed
 * dots, and b adds their closeness. */
static struct light dot_light(const struct scatter *s, const struct sl__dot *d)
{
	const struct sl__theme *theme = &s->canvas->theme;
	bool placed = d->label != SL__UNPLACED;
	float weight = (placed ? 1 : 0.3f) * (s->deep ? expf(2.5f * (d->at[2] - 0.6f)) : 1);
	if (!s->by_label)
		return (struct light){placed ? weight : 0, 0, placed ? weight * d->at[2] : 0, weight};
	struct sl__rgb c = placed ? s->plot->ink[d->label] : theme->faint;
	if (s->deep)
		c = sl__rgb_mix(theme->background, c, fog(d->at[2]));
	return (struct light){weight * c.r, weight * c.g, weight * c.b, weight};
}

/* Adds dot d to the rows [top, top + rows) of a band. */
static void add_dot(const struct scatter *s, const struct sl__dot *d, int top, int rows, struct light *band)
{
	float r = dot_radius(s, d), x = d->at[0], y = d->at[1];
	int width = s->canvas->width;
	int v0 = (int)ceilf(y - r - 0.5f), v1 = (int)floorf(y + r + 0.5f);
	int u0 = (int)ceilf(x - r - 0.5f), u1 = (int)floorf(x + r + 0.5f);
	v0 = v0 > top ? v0 : top;
	v1 = v1 < top + rows - 1 ? v1 : top + rows - 1;
	u0 = u0 > 0 ? u0 : 0;
	u1 = u1 < width - 1 ? u1 : width - 1;
	if (v0 > v1 || u0 > u1)
		return;
	struct light l = dot_light(s, d);
	/* small dots add the same light at any position between pixels */
	float full = r < 1 ? 1.25f : 1;
	for (int v = v0; v <= v1; v++) {
		struct light *at = band + (size_t)(v - top) * (size_t)width;
		float dy = (float)v - y;
		for (int u = u0; u <= u1; u++) {
			float dx = (float)u - x, cover = r + 0.5f - sqrtf(dx * dx + dy * dy);
			cover = cover > 1 ? 1 : cover;
			if (cover <= 0)
				continue;
			cover *= full;
			at[u].r += cover * l.r;
			at[u].g += cover * l.g;
			at[u].b += cover * l.b;
			at[u].cover += cover * l.cover;
		}
	}
}

/* The colour of collected light; t: density in [0, 1]. */
static struct sl__rgb shown_colour(const struct scatter *s, const struct light *l, float t)
{
	float share = 1 / l->cover;
	if (s->by_label)
		return (struct sl__rgb){share * l->r, share * l->g, share * l->b};
	struct sl__rgb c = s->shade[(int)(fmaxf(fminf(t, 1), 0) * (SHADES - 1))];
	if (s->deep && l->r > 0)
		c = sl__rgb_mix(s->canvas->theme.background, c, fog(l->b / l->r));
	return sl__rgb_mix(s->canvas->theme.faint, c, share * l->r);
}

/* ---- wash ------------------------------------------------------------------------- */

/* Replaces a line of count cells, step apart, by running means of 2 * half + 1 cells. */
static void blur_line(struct light *line, int count, size_t step, int half, struct light *copy)
{
	struct light sum = {0, 0, 0, 0};
	float norm = 1 / (float)(2 * half + 1);
	for (int i = 0; i < count; i++)
		copy[i] = line[(size_t)i * step];
	for (int i = -half; i < count; i++) {
		if (i + half < count) {
			struct light in = copy[i + half];
			sum.r += in.r, sum.g += in.g, sum.b += in.b, sum.cover += in.cover;
		}
		if (i - half - 1 >= 0) {
			struct light out = copy[i - half - 1];
			sum.r -= out.r, sum.g -= out.g, sum.b -= out.b, sum.cover -= out.cover;
		}
		if (i >= 0)
			line[(size_t)i * step] = (struct light){sum.r * norm, sum.g * norm, sum.b * norm, sum.cover * norm};
	}
}

/* Opacity of the wash at a blurred coverage of `cover` dots per cell. */
static float wash_alpha(const struct scatter *s, float cover)
{
	float dots = cover * 3.2f * s->radius * s->radius / (WASH * WASH);  /* overlapping dots */
	return 0.27f * (1 - expf(-1.6f * s->exposure * dots));
}

/* Converts blurred light to colour times opacity, and opacity. */
static void set_wash_colours(struct scatter *s)
{
	size_t cells = (size_t)s->wash_w * (size_t)s->wash_h;
	for (size_t k = 0; k < cells; k++) {
		struct light *l = &s->wash[k];
		float alpha = l->cover > 1e-4f ? wash_alpha(s, l->cover) : 0;
		struct sl__rgb c = alpha > 0 ? shown_colour(s, l, 0.25f) : s->canvas->theme.background;
		*l = (struct light){alpha * c.r, alpha * c.g, alpha * c.b, alpha};
	}
}

static int make_wash(struct scatter *s)
{
	const struct sl__plot *p = s->plot;
	int w = s->wash_w = s->canvas->width / WASH + 2, h = s->wash_h = s->canvas->height / WASH + 2;
	int half = (w < h ? w : h) / 70 + 1;
	s->wash = calloc((size_t)w * (size_t)h, sizeof *s->wash);
	struct light *copy = malloc((size_t)(w > h ? w : h) * sizeof *copy);
	if (!s->wash || !copy) {
		free(copy);
		return SL_NOMEM;
	}
	for (uint64_t i = 0; i < p->n; i++) {
		const struct sl__dot *d = &p->dot[i];
		float x = d->at[0] / WASH + 0.5f, y = d->at[1] / WASH + 0.5f;
		if (d->label == SL__UNPLACED || !(x >= 0 && y >= 0 && x < (float)w && y < (float)h))
			continue;
		struct light l = dot_light(s, d), *at = &s->wash[(size_t)y * (size_t)w + (size_t)x];
		at->r += l.r, at->g += l.g, at->b += l.b, at->cover += l.cover;
	}
	for (int pass = 0; pass < 3; pass++) {
		for (int y = 0; y < h; y++)
			blur_line(s->wash + (size_t)y * (size_t)w, w, 1, half, copy);
		for (int x = 0; x < w; x++)
			blur_line(s->wash + x, h, (size_t)w, half, copy);
	}
	free(copy);
	set_wash_colours(s);
	return 0;
}

static inline float between(float a, float b, float share_of_b)
{
	return a + share_of_b * (b - a);
}

static struct sl__rgb under_wash(const struct scatter *s, int x, int y, struct sl__rgb background)
{
	float u = (float)x / WASH, v = (float)y / WASH;
	int i = (int)u, j = (int)v;
	float a = u - (float)i, b = v - (float)j;
	const struct light *q = s->wash + (size_t)j * (size_t)s->wash_w + i, *r = q + s->wash_w;
	float rest = 1 - between(between(q[0].cover, q[1].cover, a), between(r[0].cover, r[1].cover, a), b);
	if (rest > 0.996f)
		return background;  /* the same bytes, faster */
	return (struct sl__rgb){
		rest * background.r + between(between(q[0].r, q[1].r, a), between(r[0].r, r[1].r, a), b),
		rest * background.g + between(between(q[0].g, q[1].g, a), between(r[0].g, r[1].g, a), b),
		rest * background.b + between(between(q[0].b, q[1].b, a), between(r[0].b, r[1].b, a), b)};
}

/* ---- a band ------------------------------------------------------------------------- */

static void show_band(struct scatter *s, int top, int rows, const struct light *band)
{
	struct sl__canvas *c = s->canvas;
	float per_log = 1 / logf(1 + fmaxf(s->densest, 3));
	float exposure = s->by_label ? s->exposure : fmaxf(s->exposure, 1.2f);
	for (int v = 0; v < rows; v++)
		for (int u = 0; u < c->width; u++) {
			const struct light *l = &band[(size_t)v * (size_t)c->width + (size_t)u];
			struct sl__rgb old = sl__canvas_get(c, u, top + v);
			struct sl__rgb shown = under_wash(s, u, top + v, old);
			if (l->cover > 0) {
				float t = s->by_label ? 0 : 0.1f + 0.9f * logf(1 + l->r) * per_log;
				shown = sl__rgb_mix(shown, shown_colour(s, l, t), 1 - expf(-exposure * l->cover));
			} else if (!memcmp(&shown, &old, sizeof old)) {
				continue;
			}
			sl__canvas_set(c, u, top + v, shown);
		}
}

static int draw_bands(struct scatter *s)
{
	const struct sl__plot *p = s->plot;
	size_t pixels = (size_t)s->canvas->width * BAND;
	int failed = 0;
#pragma omp parallel reduction(| : failed)
	{
		struct light *band = malloc(pixels * sizeof *band);
		failed = !band;
#pragma omp for schedule(dynamic, 1)
		for (int b = 0; b < s->bands; b++) {
			if (failed)
				continue;
			int top = b * BAND, rows = s->canvas->height - top < BAND ? s->canvas->height - top : BAND;
			memset(band, 0, pixels * sizeof *band);
			/* dots of neighbouring bands reach into this one */
			uint64_t from = s->band_start[b ? b - 1 : 0];
			uint64_t to = s->band_start[b + 2 < s->bands ? b + 2 : s->bands];
			for (uint64_t k = from; k < to; k++)
				add_dot(s, &p->dot[s->order[k]], top, rows, band);
			show_band(s, top, rows, band);
		}
		free(band);
	}
	return failed ? SL_NOMEM : 0;
}

/* ---- all of it ------------------------------------------------------------------------ */

static float choose_radius(const struct sl__plot *p)
{
	double count = p->placed ? (double)p->placed : (double)p->n, area = (double)p->width * p->height;
	double side = fmin(p->width, p->height);
	float r = (float)(0.23 * sqrt(area / fmax(count, 1)));
	float largest = (float)fmin(fmax(0.0065 * side, 1.2), SL__DOT_MOST / 1.4);
	return fmaxf(fminf(r, largest), 0.55f);
}

int sl__plot_scatter(struct sl__canvas *c, struct sl__plot *p)
{
	struct scatter s = {.canvas = c, .plot = p, .deep = p->dims == 3, .by_label = p->labels > 0};
	struct sl__range view[2];
	float corner[8][3];
	float *scratch = malloc(SL__RANGE_SAMPLE * sizeof *scratch);
	int rc = SL_NOMEM;
	if (!scratch)
		goto out;
	for (int k = 0; k < SHADES; k++)
		s.shade[k] = sl__density_colour((float)k / (SHADES - 1), p->light);
	if (s.deep) {
		struct camera camera = find_camera(p, scratch);
		for (uint64_t i = 0; i < p->n; i++)
			project(&camera, p->dot[i].at);
		project_corners(&camera, corner);
	}
	sl__plot_view(p, 2, view, scratch);
	for (int k = 0; s.deep && k < 16; k++) {
		float v = corner[k / 2][k % 2];
		view[k % 2].low = fminf(view[k % 2].low, v);
		view[k % 2].high = fmaxf(view[k % 2].high, v);
	}
	fit(p, view, s.deep ? corner : NULL);
	if (s.deep)
		draw_box(c, corner);
	s.radius = p->radius = choose_radius(p);
	if (s.deep)
		memcpy(p->corner, corner, sizeof corner);
	rc = sort_into_bands(&s);
	if (!rc)
		rc = find_exposure(&s);
	if (!rc)
		rc = make_wash(&s);
	if (!rc)
		rc = draw_bands(&s);
out:
	free(scratch);
	free(s.order);
	free(s.band_start);
	free(s.wash);
	return rc;
}
