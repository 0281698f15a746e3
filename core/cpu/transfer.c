/* Transfers charges from the fine grid to the coarse one, and the potential back.
 *
 * For the coarse grid, each node of the fine grid is a point with a charge; back, the coarse potential is read at each
 * node of the fine grid. A weight is a product of one weight for each dimension, so each pass takes one dimension,
 * along contiguous rows of x: towards the coarse grid the slowest dimension first, back the slowest last. The time does
 * not depend on the number of points: a pass takes six multiply-adds for each fine node. The order of sums depends only
 * on the grids. */
#include "core/cpu/cpu.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#define VECTOR 16  /* floats; rows are padded to that */

/* ---- weights -------------------------------------------------------------------------- */

static double polynomial(const struct sl_window *w, int tap, double v)
{
	double sum = 0;
	for (int k = w->degree; k >= 0; k--)
		sum = sum * v + (double)w->value[k][tap];
	return sum;
}

void sl__transfer_finish(struct sl_transfer *t)
{
	free(t->first);
	free(t->from);
	free(t->weight);
	free(t->share);
	memset(t, 0, sizeof *t);
}

uint64_t sl__transfer_bytes(const struct sl_transfer *t, const struct sl_grid *g)
{
	return (uint64_t)t->fine * (sizeof(int) + SL_WINDOW_LANES * sizeof(float)) +
	       (uint64_t)g->side * (sizeof(int) + (uint64_t)t->taps * sizeof(float));
}

/* Fine node j lies at (j - window / 2) h of the points' coordinates; see struct sl_window. */
static void by_fine_node(struct sl_transfer *t, const struct sl_grid *g, const struct sl_window *w)
{
	for (int j = 0; j < t->fine; j++) {
		double at = (j - 0.5 * g->window) * g->through / g->h;
		t->first[j] = at > 0 ? (int)ceil(at) : 0;
		double v = 2 * (t->first[j] - at) - 1;
		for (int k = 0; k < g->window; k++)
			t->weight[j * SL_WINDOW_LANES + k] = (float)polynomial(w, k, v);
	}
}

static void by_coarse_node(struct sl_transfer *t, const struct sl_grid *g)
{
	for (int c = 0; c < g->side; c++) {
		int j = 0;
		while (j < t->fine && t->first[j] + g->window <= c)
			j++;
		/* all taps stay within the row */
		t->from[c] = j < t->columns - t->taps ? j : t->columns - t->taps;
		for (; j < t->fine && t->first[j] <= c; j++)
			t->share[c * t->taps + j - t->from[c]] = t->weight[j * SL_WINDOW_LANES + c - t->first[j]];
	}
}

int sl__transfer_init(struct sl_transfer *t, const struct sl_grid *g, const struct sl_window *w)
{
	double ratio = g->h / g->through;
	size_t side = (size_t)g->side;
	memset(t, 0, sizeof *t);
	t->fine = (int)((g->side - g->window) * ratio + 0.5 * g->window) + 1;
	t->taps = ((int)(g->window * ratio) + 1 + SL_WINDOW_LANES - 1) / SL_WINDOW_LANES * SL_WINDOW_LANES;
	t->columns = ((t->fine > t->taps ? t->fine : t->taps) + VECTOR - 1) / VECTOR * VECTOR;
	t->first = malloc(sizeof *t->first * (size_t)t->fine);
	t->from = malloc(sizeof *t->from * side);
	t->weight = calloc((size_t)t->fine * SL_WINDOW_LANES, sizeof *t->weight);
	t->share = calloc(side * (size_t)t->taps, sizeof *t->share);
	if (!t->first || !t->from || !t->weight || !t->share) {
		sl__transfer_finish(t);
		return SL_NOMEM;
	}
	by_fine_node(t, g, w);
	by_coarse_node(t, g);
	return 0;
}

/* ---- charges ------------------------------------------------------------------------------ */

struct levels {
	const struct sl_cpu_kernels *kernels;
	const struct sl_transfer *t;
	size_t side, fine, coarse, columns, taps;
	size_t stride, coarse_stride;  /* of the grids' rows */
	float *expanded;               /* [coarse][coarse][columns], or [coarse][columns]: x fine, the others coarse */
	float *rows;                   /* 3-D: [coarse][fine][columns]: z coarse, the others fine */
};

size_t sl__transfer_floats(const struct sl_transfer *t, const struct sl_grid *g)
{
	size_t coarse = (size_t)g->side, rows = sl__power(coarse, g->dims - 1);
	return (rows + (g->dims == 3 ? coarse * (size_t)t->fine : 0)) * (size_t)t->columns;
}

static struct levels levels_of(struct sl_work *work, const struct sl_cpu_kernels *kernels, const struct sl_plan *near,
			       const struct sl_plan *far)
{
	struct levels l = {.kernels = kernels, .t = &far->transfer};
	l.side = (size_t)near->grid.side;
	l.fine = (size_t)l.t->fine;
	l.coarse = (size_t)far->grid.side;
	l.columns = (size_t)l.t->columns;
	l.taps = (size_t)l.t->taps;
	l.stride = (size_t)sl__grid_stride(&near->grid);
	l.coarse_stride = (size_t)sl__grid_stride(&far->grid);
	l.expanded = (float *)work->spectrum;
	l.rows = l.expanded + sl__power(l.coarse, near->grid.dims - 1) * l.columns;
	return l;
}

/* Computes coarse node c of a dimension: a weighted sum of fine rows from `in` on, `step` floats apart. */
static void sum_rows(const struct levels *l, const float *in, size_t step, size_t c, float *out)
{
	size_t from = (size_t)l->t->from[c], rows = l->fine - from < l->taps ? l->fine - from : l->taps;
	l->kernels->combine(in + from * step, step, l->t->share + c * l->taps, (int)rows, (int)l->columns, out, 0);
}

/* Computes fine node j of a dimension from the coarse rows. add: adds it to out. */
static void spread_rows(const struct levels *l, const float *in, size_t step, size_t j, float *out, int add)
{
	l->kernels->combine(in + (size_t)l->t->first[j] * step, step, l->t->weight + j * SL_WINDOW_LANES, SL_WINDOW_MAX,
			    (int)l->columns, out, add);
}

void sl__transfer_charges(struct sl_work *work, const struct sl_cpu_kernels *kernels, const struct sl_plan *near,
			  const struct sl_plan *far)
{
	struct levels l = levels_of(work, kernels, near, far);
	bool solid = near->grid.dims == 3;
	size_t planes = solid ? l.coarse : 1;
	float *row = work->scratch + work->scratch_floats * (size_t)omp_get_thread_num();
	if (solid) {
#pragma omp for schedule(static)
		for (size_t y = 0; y < l.fine; y++)
			for (size_t c = 0; c < l.coarse; c++)
				sum_rows(&l, work->grid + y * l.stride, l.side * l.stride, c,
					 l.rows + (c * l.fine + y) * l.columns);
	}
	const float *in = solid ? l.rows : work->grid;
	size_t step = solid ? l.columns : l.stride;
#pragma omp for schedule(static)
	for (size_t task = 0; task < planes * l.coarse; task++) {
		sum_rows(&l, in + task / l.coarse * l.fine * step, step, task % l.coarse, row);
		kernels->gather(row, l.t->from, l.t->share, (int)l.taps, (int)l.coarse, work->coarse + task * l.coarse_stride);
	}
}

/* ---- potential ---------------------------------------------------------------------------- */

void sl__transfer_potential(struct sl_work *work, const struct sl_cpu_kernels *kernels, const struct sl_plan *near,
			    const struct sl_plan *far)
{
	struct levels l = levels_of(work, kernels, near, far);
	bool solid = near->grid.dims == 3;
	size_t planes = solid ? l.coarse : 1;
#pragma omp for schedule(static)
	for (size_t task = 0; task < planes * l.coarse; task++)
		kernels->scatter(work->coarse + task * l.coarse_stride, l.t->from, l.t->share, (int)l.taps, (int)l.coarse,
				 (int)l.columns, l.expanded + task * l.columns);
	if (!solid) {
#pragma omp for schedule(static)
		for (size_t y = 0; y < l.fine; y++)
			spread_rows(&l, l.expanded, l.columns, y, work->grid + y * l.stride, 1);
		return;
	}
#pragma omp for schedule(static)
	for (size_t task = 0; task < l.coarse * l.fine; task++)
		spread_rows(&l, l.expanded + task / l.fine * l.coarse * l.columns, l.columns, task % l.fine,
			    l.rows + task * l.columns, 0);
#pragma omp for schedule(static)
	for (size_t task = 0; task < l.fine * l.fine; task++) {
		size_t z = task / l.fine, y = task % l.fine;
		spread_rows(&l, l.rows + y * l.columns, l.fine * l.columns, z, work->grid + (z * l.side + y) * l.stride, 1);
	}
}
