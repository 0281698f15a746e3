/* How the potential is found is chosen once, when the field is made: sums over all points (few points, or a layout
 * too wide for a grid), a plain grid whose nodes hold the potential, or a smooth grid for what is far and pairs
 * within a cut-off for what is near. The choice and all values depend on the points alone, so a field gives the same
 * numbers on any number of threads. */
#include "core/cpu/field.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu/cpu.h"
#include "core/exponentials.h"
#include "core/params.h"
#include "core/vector.h"

#define SUMMED 1000      /* points */
#define MARGIN 2.0       /* beyond the points, in units of the kernel, and this share of their extent: */
#define MARGIN_SHARE 0.05
#define WIDEST 1e15      /* squares of cut-offs are floats */
#define GRID_NODE 100.0  /* ns that a node of a plain grid takes, with its transform */

struct sl_field {
	uint32_t n;
	int dims;
	double nu;
	float *y;            /* summed: [dims][n]; else NULL */
	struct sl_plans plans;
	struct sl_plan *plan;
	struct sl_work work; /* its grid holds the potential */
	double low[3];       /* corner of the grid */
	double constant;     /* added to the grid's potential */
	struct sl_cutoff cutoff;  /* of a smooth grid: its points in cells; else n is 0 */
};

void sl_field_destroy(struct sl_field *f)
{
	if (!f)
		return;
	sl__cpu_plans_give(&f->plans, f->plan);
	sl__cpu_plans_clear(&f->plans);
	sl__work_finish(&f->work);
	sl__cutoff_finish(&f->cutoff);
	free(f->y);
	free(f);
}

/* Sets the grid's corner. Returns the longest side of the points' box with margins. */
static double bounds(struct sl_field *f, const float *y)
{
	double extent = 0, high[3];
	for (int k = 0; k < f->dims; k++) {
		f->low[k] = INFINITY;
		high[k] = -INFINITY;
		for (uint32_t i = 0; i < f->n; i++) {
			double x = (double)y[i * (size_t)f->dims + (size_t)k];
			f->low[k] = fmin(f->low[k], x);
			high[k] = fmax(high[k], x);
		}
		extent = fmax(extent, high[k] - f->low[k]);
	}
	double margin = MARGIN + MARGIN_SHARE * extent;
	for (int k = 0; k < f->dims; k++)
		f->low[k] = (double)(float)(f->low[k] - margin);
	return extent + 2 * margin;
}

static void fill(struct sl_field *f, struct sl_bins *bins, const float *y)
{
	const struct sl_grid *g = &f->plan->grid;
	const struct sl_cpu_kernels *kernels = sl_cpu_kernels();
	float low[3] = {0};
	for (int k = 0; k < f->dims; k++)
		low[k] = (float)f->low[k];
	memset(f->work.grid, 0, sizeof(float) * sl__grid_floats(g));
#pragma omp parallel
	{
		sl__bins_fill(bins, g, y, low);
		for (int odd = 0; odd < 2; odd++) {
#pragma omp for schedule(dynamic, 1)
			for (int s = odd; s < bins->strips; s += 2)
				kernels->spread(&f->plan->window, g->dims, g->side, sl__grid_stride(g),
						bins->t + bins->first[s] * (size_t)g->dims,
						bins->first[s + 1] - bins->first[s], f->work.grid);
		}
		sl__convolve(&f->work, kernels, f->plan, f->work.grid);
	}
}

static int on_grid(struct sl_field *f, const struct sl_grid *g, const float *y, struct sl_error *err)
{
	struct sl_bins bins = {0};
	int code = sl__cpu_plans_take(&f->plans, g, &f->plan, err);
	if (!code)
		code = sl__cpu_work_reserve(&f->work, f->plan, NULL, omp_get_max_threads(), err);
	if (!code)
		code = sl__bins_init(&bins, f->n, f->dims, err);
	if (!code)
		code = sl__bins_reserve(&bins, g, err);
	if (!code) {
		fill(f, &bins, y);
		f->constant = f->plan->zero * f->n;
	}
	sl__bins_finish(&bins);
	return code;
}

/* Whether the layout is too wide for a plain grid, whose spacing is therefore larger than the accuracy allows. */
static bool too_wide(const struct sl_grid *g, double nu)
{
	return g->h > 1.01 * sl_grid_kernel_spacing(g->dims, SL_FINE, nu);
}

/* Pairs within a cut-off beside a smooth grid, if that takes less time than `grid`, the plain one, or if the layout is
 * too wide for that; *grid is then the smooth one. In 3-D a plain grid may take seconds and a gigabyte. */
static int near_pairs(struct sl_field *f, struct sl_grid *grid, const float *y, double extent, struct sl_error *err)
{
	float low[3] = {(float)f->low[0], (float)f->low[1], (float)f->low[2]};
	double most = too_wide(grid, 1) ? INFINITY : GRID_NODE * pow(grid->side, f->dims);
	int code = sl__cutoff_init(&f->cutoff, f->n, f->dims, err);
	if (code)
		return code;
	if (!sl__cutoff_choose(&f->cutoff, y, low, extent, SL_FINE, most, grid)) {
		sl__cutoff_finish(&f->cutoff);
		return 0;
	}
	code = sl__cutoff_reserve(&f->cutoff, grid, low, extent, err);
	if (!code)
#pragma omp parallel
		sl__cutoff_sort(&f->cutoff, y);
	return code;
}

static int summed(struct sl_field *f, const float *y, struct sl_error *err)
{
	size_t n = f->n, d = (size_t)f->dims;
	f->y = malloc(sizeof *y * n * d + 1);
	if (!f->y)
		return sl_error_memory(err, "the field of %u points", f->n);
	for (size_t k = 0; k < d; k++)
		for (size_t i = 0; i < n; i++)
			f->y[k * n + i] = y[i * d + k];
	return 0;
}

/* The most grid nodes a point. With more, as in wide layouts in 3-D, the grid takes longer than sums for as many new
 * points as there are old ones, in 100 iterations: 0.4 ns a pair, 1.6 with powers. */
static double nodes_a_point(double nu)
{
	return nu == 1 ? 4000 : 16000;
}

int sl_field_create(struct sl_field **out, uint32_t n, int dims, double nu, const float *y, struct sl_error *err)
{
	struct sl_field *f = calloc(1, sizeof *f);
	struct sl_grid g;
	int code = 0;
	if (!f)
		return sl_error_memory(err, "the field of %u points", n);
	f->n = n;
	f->dims = dims;
	f->nu = nu;
	sl__cpu_plans_init(&f->plans, UINT64_MAX);
	if (n > SUMMED) {
		double extent = bounds(f, y);
		sl_grid_choose_kernel(&g, dims, SL_FINE, sl_grid_window(dims, SL_FINE), 0, extent, nu);
		if (dims > 1 && nu == 1 && extent < WIDEST)
			code = near_pairs(f, &g, y, extent, err);
	}
	bool sums = n <= SUMMED ||
		    (!f->cutoff.n && (too_wide(&g, nu) || pow(g.side, dims) > nodes_a_point(nu) * n));
	if (!code && sums)
		code = summed(f, y, err);
	else if (!code)
		code = on_grid(f, &g, y, err);
	if (code) {
		sl_field_destroy(f);
		return code;
	}
	*out = f;
	return 0;
}

VECTOR_MATH static void add_points(const struct sl_field *f, const double *at, double sum[4])
{
	const bool flat = f->dims < 3, line = f->dims < 2;
	const float *restrict y0 = f->y, *restrict y1 = line ? y0 : y0 + f->n, *restrict y2 = flat ? y0 : y1 + f->n;
	const double nu = f->nu, a0 = at[0], a1 = line ? 0 : at[1], a2 = flat ? 0 : at[2];
	const double has1 = line ? 0 : 1, has2 = flat ? 0 : 1;
	double phi = 0, p0 = 0, p1 = 0, p2 = 0;
	if (nu == 1) {
#pragma omp simd reduction(+ : phi, p0, p1, p2)
		for (uint32_t j = 0; j < f->n; j++) {
			double x0 = a0 - (double)y0[j], x1 = has1 * (a1 - (double)y1[j]), x2 = has2 * (a2 - (double)y2[j]);
			double q = 1 / (1 + x0 * x0 + x1 * x1 + x2 * x2), steep = q * q;
			phi += q;
			p0 += steep * x0;
			p1 += steep * x1;
			p2 += steep * x2;
		}
	} else {
#pragma omp simd reduction(+ : phi, p0, p1, p2)
		for (uint32_t j = 0; j < f->n; j++) {
			double x0 = a0 - (double)y0[j], x1 = has1 * (a1 - (double)y1[j]), x2 = has2 * (a2 - (double)y2[j]);
			double r2 = 1 + x0 * x0 + x1 * x1 + x2 * x2, q = sl__exp_of(-nu * sl__log_of(r2)), steep = q / r2;
			phi += q;
			p0 += steep * x0;
			p1 += steep * x1;
			p2 += steep * x2;
		}
	}
	sum[0] = phi;
	sum[1] = p0;
	sum[2] = p1;
	sum[3] = p2;
}

static double sum_at(const struct sl_field *f, const double *at, double *push)
{
	double sum[4];
	add_points(f, at, sum);
	memcpy(push, sum + 1, sizeof *push * (size_t)f->dims);
	return sum[0];
}

/* Weights and slopes of one dimension's taps; returns the first node. */
static int taps(const struct sl_window *w, double t, double *weight, double *slope)
{
	int first = (int)ceil(t);
	double v = 2 * (first - t) - 1;
	for (int tap = 0; tap < w->width; tap++) {
		double sum = (double)w->value[w->degree][tap], rise = (double)w->slope[w->degree - 1][tap];
		for (int k = w->degree - 1; k >= 0; k--)
			sum = sum * v + (double)w->value[k][tap];
		for (int k = w->degree - 2; k >= 0; k--)
			rise = rise * v + (double)w->slope[k][tap];
		weight[tap] = sum;
		slope[tap] = rise;
	}
	return first;
}

double sl_field_at(const struct sl_field *f, const double *at, double *push)
{
	if (f->y)
		return sum_at(f, at, push);
	const struct sl_grid *g = &f->plan->grid;
	const struct sl_window *w = &f->plan->window;
	double weight[3][SL_WINDOW_MAX] = {{1}, {1}, {1}}, slope[3][SL_WINDOW_MAX] = {{0}}, phi = 0, rise[3] = {0};
	int first[3] = {0}, count[3] = {1, 1, 1};
	float inside[3];
	for (int k = 0; k < g->dims; k++) {
		double t = (at[k] - f->low[k]) / g->h, most = g->side - g->window - 1;
		t = t > 0 ? (t < most ? t : most) : 0;
		first[k] = taps(w, t, weight[k], slope[k]);
		count[k] = g->window;
		inside[k] = (float)(f->low[k] + t * g->h);
	}
	size_t stride = (size_t)sl__grid_stride(g), side = (size_t)g->side;
	for (int c = 0; c < count[2]; c++)
		for (int b = 0; b < count[1]; b++) {
			const float *row = f->work.grid + ((size_t)(first[2] + c) * side + (size_t)(first[1] + b)) * stride +
					   (size_t)first[0];
			double plain = 0, sloped = 0;
			for (int a = 0; a < g->window; a++) {
				plain += weight[0][a] * (double)row[a];
				sloped += slope[0][a] * (double)row[a];
			}
			phi += weight[2][c] * weight[1][b] * plain;
			rise[0] += weight[2][c] * weight[1][b] * sloped;
			rise[1] += weight[2][c] * slope[1][b] * plain;
			rise[2] += slope[2][c] * weight[1][b] * plain;
		}
	for (int k = 0; k < g->dims; k++)
		push[k] = rise[k] * 0.5 / (g->h * f->nu);
	phi += f->constant;
	if (f->cutoff.n) {
		double sum[4] = {0};
		sl_cpu_kernels()->cutoff_at(&f->cutoff.cells, &f->cutoff.near, inside, sum);
		for (int k = 0; k < g->dims; k++)
			push[k] += sum[k];
		phi += sum[3];
	}
	return phi > 1e-30 ? phi : 1e-30;
}
