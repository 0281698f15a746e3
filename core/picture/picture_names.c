/* Names of labels on the map. Each is to stand where most nodes of its label are: the middle of the densest cells of a
 * coarse grid, since the mean of a cluster in two parts lies in neither. A label that is not that of most nodes there
 * has no name on the map, since it would mislead; the dashboard has the same rule (clients/web/src/core/marks.ts). The
 * largest labels come first; a name that would cover another one moves up or down by a line or two, or is left out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/picture/picture_internal.h"

#define CELLS 48            /* of the grid on each side */
#define MOST 60             /* names */
#define SHARE 0.002f        /* of all placed nodes that a label must have */
#define WIDEST 0.3f         /* of the plot's width */
#define CROWD 24            /* nodes among which it is decided whether a label prevails, if there are so many */
#define FARTHEST 4          /* cells on each side in which they are looked for */

/* The cell of a dot, or -1 outside the plot. */
static int cell_of(const struct sl__plot *p, const struct sl__dot *d)
{
	float x = (d->at[0] - p->left) / p->width, y = (d->at[1] - p->top) / p->height;
	return x >= 0 && y >= 0 && x < 1 && y < 1 ? (int)(y * CELLS) * CELLS + (int)(x * CELLS) : -1;
}

/* The number of nodes in the cells around (x, y), `reach` on each side. */
static uint32_t around(const uint32_t *grid, int x, int y, int reach)
{
	uint32_t sum = 0;
	for (int v = y - reach; v <= y + reach; v++)
		for (int u = x - reach; u <= x + reach; u++)
			sum += u >= 0 && v >= 0 && u < CELLS && v < CELLS ? grid[v * CELLS + u] : 0;
	return sum;
}

/* The mean of the label's nodes in and around its densest cell. dot [count]: the indices of its nodes. False: none of
 * them is inside the plot. */
static bool middle_of(const struct sl__plot *p, const uint32_t *dot, uint64_t count, uint32_t *grid, float at[2])
{
	int best = -1;
	uint32_t most = 0, found = 0;
	double sum[2] = {0, 0};
	memset(grid, 0, CELLS * CELLS * sizeof *grid);
	for (uint64_t k = 0; k < count; k++) {
		int cell = cell_of(p, &p->dot[dot[k]]);
		if (cell >= 0)
			grid[cell]++;
	}
	for (int cell = 0; cell < CELLS * CELLS; cell++) {
		uint32_t nodes = grid[cell] ? around(grid, cell % CELLS, cell / CELLS, 1) : 0;
		if (nodes > most) {
			most = nodes;
			best = cell;
		}
	}
	for (uint64_t k = 0; best >= 0 && k < count; k++) {
		const struct sl__dot *d = &p->dot[dot[k]];
		int cell = cell_of(p, d);
		if (cell < 0 || abs(cell % CELLS - best % CELLS) > 1 || abs(cell / CELLS - best / CELLS) > 1)
			continue;
		sum[0] += (double)d->at[0];
		sum[1] += (double)d->at[1];
		found++;
	}
	at[0] = found ? (float)(sum[0] / found) : 0;
	at[1] = found ? (float)(sum[1] / found) : 0;
	return found > 0;
}

/* True if a label of `count` nodes has most of those around a place: of enough of them, or of few if most of its own
 * are there. own: the nodes of the label in each cell, and behind them those of all labels. */
static bool prevails(const struct sl__plot *p, const uint32_t *own, uint64_t count, const float at[2])
{
	const uint32_t *all = own + CELLS * CELLS;
	int cell = cell_of(p, &(struct sl__dot){.at = {at[0], at[1]}}), x = cell % CELLS, y = cell / CELLS, reach = 1;
	if (cell < 0)
		return true;
	while (reach < FARTHEST && around(all, x, y, reach) < CROWD)
		reach++;
	uint32_t near = around(own, x, y, 1);
	return 2 * around(own, x, y, reach) >= around(all, x, y, reach) ||
		(2 * near >= around(all, x, y, 1) && 2 * (uint64_t)near >= count);
}

static bool is_free(const struct sl__drawing *w, float left, float top, float width)
{
	float high = 12 * w->text, gap = 3 * w->text;
	for (uint32_t k = 0; k < w->placed_names; k++) {
		const struct sl__map_name *o = &w->placed[k];
		if (left < o->left + o->width + gap && o->left < left + width + gap && fabsf(top - o->top) < high)
			return false;
	}
	return true;
}

/* Adds the name around (x, y), if there is space for it. */
static void place(struct sl__drawing *w, uint32_t label, const char *own, const float at[2])
{
	static const float shifts[] = {0, -1, 1, -2, 2};
	const struct sl__plot *p = &w->plot;
	char number[16], fitting[SL__TEXT_BYTES];
	sl__canvas_text_fit(&w->canvas, own ? own : sl__drawing_label(w, label, number), WIDEST * p->width,
			    w->text, fitting);
	float width = sl__canvas_text_width(&w->canvas, fitting, w->text);
	float left = fminf(fmaxf(at[0] - width / 2, p->left), p->left + p->width - width);
	if (!(width > 0))
		return;
	for (size_t k = 0; k < sizeof shifts / sizeof *shifts; k++) {
		float top = at[1] + (12 * shifts[k] - 3.5f) * w->text;
		top = fminf(fmaxf(top, p->top), p->top + p->height - 9 * w->text);
		if (!is_free(w, left, top, width))
			continue;
		w->placed[w->placed_names++] = (struct sl__map_name){.label = label, .text = own, .left = left,
								    .top = top, .width = width};
		return;
	}
}

/* Sorts the indices of placed dots by label, in [n]; start [labels + 1]. */
static void sort_dots(const struct sl__plot *p, uint64_t *start, uint32_t *dot)
{
	for (uint64_t i = 0; i < p->n; i++)
		if (p->dot[i].label != SL__UNPLACED)
			start[p->dot[i].label + 1]++;
	for (uint32_t l = 0; l < p->labels; l++)
		start[l + 1] += start[l];
	for (uint64_t i = p->n; i-- > 0;)
		if (p->dot[i].label != SL__UNPLACED)
			dot[--start[p->dot[i].label + 1]] = (uint32_t)i;
	/* start[l + 1] is now where label l begins */
}

/* Counts the nodes that have a label in each cell. */
static void count_all(const struct sl__plot *p, uint32_t none, uint32_t *all)
{
	memset(all, 0, CELLS * CELLS * sizeof *all);
	for (uint64_t i = 0; i < p->n; i++) {
		const struct sl__dot *d = &p->dot[i];
		int cell = d->label != SL__UNPLACED && d->label != none ? cell_of(p, d) : -1;
		if (cell >= 0)
			all[cell]++;
	}
}

/* Names of their own that are within the plot. */
static void place_own(struct sl__drawing *w)
{
	const struct sl__plot *p = &w->plot;
	const struct sl_picture_options *o = w->options;
	for (uint32_t k = 0; k < o->map_names && w->placed_names < MOST; k++) {
		const struct sl_picture_map_name *m = &o->map_name[k];
		float at[2] = {(float)(p->to[0] + p->scale * (m->at[0] - p->from[0])),
			       (float)(p->to[1] - p->scale * (m->at[1] - p->from[1]))};
		if (at[0] >= p->left && at[1] >= p->top && at[0] < p->left + p->width && at[1] < p->top + p->height)
			place(w, 0, m->text, at);
	}
}

int sl__names_place(struct sl__drawing *w)
{
	const struct sl__plot *p = &w->plot;
	const struct sl_picture_options *o = w->options;
	bool own = o->map_names && p->dims == 2 && p->placed;
	if (own || o->names)
		w->placed = malloc(MOST * sizeof *w->placed);
	if ((own || o->names) && !w->placed)
		return SL_NOMEM;
	if (own)
		place_own(w);
	if (!o->names || !p->labels || o->scale || p->dims == 1 || !p->placed)
		return 0;
	uint64_t *start = calloc((size_t)p->labels + 2, sizeof *start);
	uint32_t *dot = malloc((p->n + 1) * sizeof *dot), *grid = malloc(2 * CELLS * CELLS * sizeof *grid);
	int rc = start && dot && grid && w->placed ? 0 : SL_NOMEM;
	uint32_t none = o->none ? p->labels - 1 : SL__UNPLACED;
	if (!rc) {
		sort_dots(p, start, dot);
		count_all(p, none, grid + CELLS * CELLS);
	}
	for (uint32_t r = 0; !rc && r < w->used && w->placed_names < MOST; r++) {
		uint32_t l = w->by_size[r];
		float at[2];
		if (l != none && w->count[l] && (float)w->count[l] >= SHARE * (float)p->placed &&
		    middle_of(p, dot + start[l + 1], w->count[l], grid, at) && prevails(p, grid, w->count[l], at))
			place(w, l, NULL, at);
	}
	free(start);
	free(dot);
	free(grid);
	return rc;
}

void sl__names_draw(struct sl__drawing *w)
{
	struct sl__canvas *c = &w->canvas;
	float halo = 1.2f * w->text;
	char number[16];
	for (uint32_t k = 0; k < w->placed_names; k++) {
		const struct sl__map_name *m = &w->placed[k];
		const char *name = m->text ? m->text : sl__drawing_label(w, m->label, number);
		for (int turn = 0; turn < 12; turn++) {
			float x = halo * cosf((float)turn * 0.5235988f), y = halo * sinf((float)turn * 0.5235988f);
			sl__canvas_text(c, m->left + x, m->top + y, w->text, m->width + 1, c->theme.background, name);
		}
		sl__canvas_text(c, m->left, m->top, w->text, m->width + 1, c->theme.text, name);
	}
}
