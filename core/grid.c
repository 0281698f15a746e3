/* The numbers behind core/grid.h; all in double precision, once per grid. */
#include "core/grid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/params.h"

#define PI 3.14159265358979323846

/* ---- window ------------------------------------------------------------------- */

/* Steeper windows alias less, shallower ones need less of a correction; by measurement of
 * force errors at the spacings below. */
#define BETA_PER_TAP 2.5

static double semicircle(double x, double beta)
{
	double inside = 1 - x * x;
	return inside > 0 ? exp(beta * (sqrt(inside) - 1)) : 0;
}

/* Monomial coefficients of the polynomial through f at the Chebyshev nodes. */
static void fit(double *coefficient, int degree, int tap, int width)
{
	double node[SL_WINDOW_DEGREE + 1], c[SL_WINDOW_DEGREE + 1];
	int count = degree + 1;
	for (int i = 0; i < count; i++) {
		node[i] = cos(PI * (i + 0.5) / count);
		c[i] = semicircle((tap + 0.5 * (node[i] + 1) - 0.5 * width) * 2 / width, BETA_PER_TAP * width);
	}
	for (int k = 1; k < count; k++)  /* divided differences */
		for (int i = count - 1; i >= k; i--)
			c[i] = (c[i] - c[i - 1]) / (node[i] - node[i - k]);
	memset(coefficient, 0, sizeof(double) * (size_t)count);
	for (int k = count - 1; k >= 0; k--) {  /* p <- p * (v - node[k]) + c[k] */
		for (int i = count - 1; i > 0; i--)
			coefficient[i] = coefficient[i - 1] - node[k] * coefficient[i];
		coefficient[0] = c[k] - node[k] * coefficient[0];
	}
}

void sl_window_init(struct sl_window *w, int width)
{
	memset(w, 0, sizeof *w);
	w->width = width;
	w->degree = SL_WINDOW_DEGREE;
	for (int t = 0; t < width; t++) {
		double c[SL_WINDOW_DEGREE + 1];
		fit(c, w->degree, t, width);
		for (int k = 0; k <= w->degree; k++)
			w->value[k][t] = (float)c[k];
		for (int k = 1; k <= w->degree; k++)
			w->slope[k - 1][t] = (float)(2 * k * c[k]);
	}
}

double sl_window_transform(const struct sl_window *w, double omega)
{
	/* Gauss-Legendre with 16 nodes on each tap's piece */
	static const double x[8] = {0.0950125098376374, 0.2816035507792589, 0.4580167776572274, 0.6178762444026438,
				    0.7554044083550030, 0.8656312023878318, 0.9445750230732326, 0.9894009349916499};
	static const double weight[8] = {0.1894506104550685, 0.1826034150449236, 0.1691565193950025, 0.1495959888165767,
					 0.1246289712555339, 0.0951585116824928, 0.0622535239386479, 0.0271524594117541};
	double sum = 0;
	for (int t = 0; t < w->width; t++)
		for (int i = 0; i < 16; i++) {
			double v = i < 8 ? x[i] : -x[i - 8], p = 0;
			for (int k = w->degree; k >= 0; k--)
				p = p * v + (double)w->value[k][t];
			sum += 0.5 * weight[i % 8] * p * cos(omega * (t + 0.5 * (v + 1) - 0.5 * w->width));
		}
	return sum;
}

/* ---- choice of a grid ------------------------------------------------------------ */

double sl_grid_spacing(int dims, int accuracy)
{
	static const double spacing[4][3] = {{0}, {0.35, 0.25, 0.2}, {0.44, 0.35, 0.25}, {0.9, 0.6, 0.38}};
	return spacing[dims][accuracy];
}

int sl_grid_window(int dims, int accuracy)
{
	return 6;
}

static const int smallest_side[4] = {0, 64, 24, 16};
static const int largest_side[4] = {0, 1 << 20, 4096, 320};

/* Products of 2, 3, 5 whose transforms are fast: multiples of 8 (3-D: of 2). */
static int good_side(int dims, int side)
{
	int step = dims == 3 ? 2 : 8;
	for (side += (step - side % step) % step;; side += step) {
		int rest = side;
		while (rest % 2 == 0)
			rest /= 2;
		while (rest % 3 == 0)
			rest /= 3;
		while (rest % 5 == 0)
			rest /= 5;
		if (rest == 1)
			return side;
	}
}

/* Nodes that are not available to points: the window's reach, and rounding. */
static int margin(int window) { return window + 1; }

void sl_grid_choose(struct sl_grid *g, int dims, int accuracy, int fixed_side, double extent)
{
	double widest = sl_grid_spacing(dims, accuracy);
	g->dims = dims;
	g->window = sl_grid_window(dims, accuracy);
	extent = fmax(extent, 1e-30) * (1 + 1e-5);  /* float rounding must not lead over the edge */
	if (fixed_side) {
		g->side = fixed_side;
	} else {
		double cells = ceil(extent / widest) + margin(g->window);
		int side = cells < largest_side[dims] ? (int)cells : largest_side[dims];
		g->side = good_side(dims, side > smallest_side[dims] ? side : smallest_side[dims]);
		if (g->side > largest_side[dims])
			g->side = largest_side[dims];
	}
	/* spacing: widest * 2^(-k/8), the smallest that fits; k may be negative */
	double k = floor(8 * log2(widest * (g->side - margin(g->window)) / extent));
	g->h = widest * exp2(-k / 8);
}

double sl_grid_reach(const struct sl_grid *g)
{
	return g->h * (g->side - margin(g->window));
}

/* ---- spectrum ---------------------------------------------------------------------- */

/* Modified Bessel function K0, x > 0: by quadrature of exp(-x cosh t), to 1e-12. */
static double bessel_k0(double x)
{
	double top = acosh(1 + 40 / x), step = top / 64, sum = 0.5 * exp(-x);
	for (int i = 1; i <= 64; i++)
		sum += exp(-x * cosh(i * step));
	return sum * step;
}

/* Fourier transform of 1 / (1 + r^2) in d dimensions. */
static double kernel_transform(int dims, double k)
{
	return dims == 1 ? PI * exp(-k) : dims == 2 ? 2 * PI * bessel_k0(k) : 2 * PI * PI * exp(-k) / k;
}

#define TAIL 1024

/* kernel_transform / h^d on [from, to], for interpolation in k: log of it is nearly linear. */
struct tail {
	double from, scale;
	double log_value[TAIL + 1];
};

static void tail_init(struct tail *t, int dims, double h)
{
	double from = 0.9 * PI / h, to = 1.01 * sqrt(dims) * 2 * PI / h;
	t->from = from;
	t->scale = TAIL / (to - from);
	for (int i = 0; i <= TAIL; i++)
		t->log_value[i] = log(kernel_transform(dims, from + i / t->scale)) - dims * log(h);
}

static double tail_at(const struct tail *t, double k)
{
	double at = (k - t->from) * t->scale;
	int i = at < 0 ? 0 : at >= TAIL ? TAIL - 1 : (int)at;
	at -= i;
	return exp(t->log_value[i] * (1 - at) + t->log_value[i + 1] * at);
}

/* Distance that node i of the periodic grid stands for: i h as far as points reach; beyond, its
 * slope falls as a cosine to 0 at the period's middle, whence it returns as it came. */
static double distance(const struct sl_grid *g, int i)
{
	double reach = g->side - margin(g->window) + 0.5, gap = g->side - reach;
	if (i <= reach)
		return g->h * i;
	return g->h * (reach + gap * 2 / PI * sin((i - reach) / gap * PI / 2));
}

/* What sampling folded into frequency (a, b, c) from the neighbouring periods. */
static double folded(const struct sl_grid *g, const struct tail *t, const int at[3])
{
	double unit = PI / (g->side * g->h), near[3], far[3], sum = 0;
	for (int k = 0; k < 3; k++) {
		near[k] = at[k] * unit;
		far[k] = (2 * g->side - at[k]) * unit;
	}
	for (int image = 1; image < 1 << g->dims; image++) {
		double square = 0;
		for (int k = 0; k < g->dims; k++) {
			double x = image >> k & 1 ? far[k] : near[k];
			square += x * x;
		}
		sum += tail_at(t, sqrt(square));
	}
	return sum;
}

/* Samples of K - base. Where all distances are small K is 1 less something tiny, which float
 * keeps only without the 1; where they are large K itself is the smaller one. */
static void sample(const struct sl_grid *g, double base, float *out)
{
	long count = g->side + 1, rows = g->dims == 1 ? 1 : g->dims == 2 ? count : count * count;
#pragma omp parallel for schedule(static)
	for (long row = 0; row < rows; row++) {
		double y = g->dims > 1 ? distance(g, (int)(row % count)) : 0;
		double z = g->dims > 2 ? distance(g, (int)(row / count)) : 0;
		for (int i = 0; i < count; i++) {
			double x = distance(g, i), square = x * x + y * y + z * z;
			out[row * count + i] = (float)(base != 0 ? -square / (1 + square) : 1 / (1 + square));
		}
	}
}

/* From the transform of the samples to the spectrum, one row (all x) at a time. Returns the row's
 * part of the kernel's value at distance 0. */
static double finish_row(const struct sl_grid *g, const struct tail *tail, const double *unwindow, double period,
			 long row, float *values)
{
	long count = g->side + 1;
	int at[3] = {0, g->dims > 1 ? (int)(row % count) : 0, g->dims > 2 ? (int)(row / count) : 0};
	double outer = 1 / period, copies_outer = 1, sum = 0;
	for (int k = 1; k < g->dims; k++) {
		outer *= unwindow[at[k]];
		copies_outer *= at[k] == 0 || at[k] == g->side ? 1 : 2;
	}
	for (at[0] = 0; at[0] < count; at[0]++) {
		double value = (double)values[at[0]] - (tail ? folded(g, tail, at) : 0);
		sum += value * copies_outer * (at[0] == 0 || at[0] == g->side ? 1 : 2);
		values[at[0]] = (float)(value * outer * unwindow[at[0]]);
	}
	return sum;
}

int sl_grid_spectrum(const struct sl_grid *g, const struct sl_window *w,
		     void (*dct)(void *context, float *data), void *context,
		     float *spectrum, double *zero, double *self)
{
	long count = g->side + 1, rows = g->dims == 1 ? 1 : g->dims == 2 ? count : count * count;
	double period = pow(2.0 * g->side, g->dims), base = g->h * g->side < 4 ? 1 : 0;
	struct tail *tail = NULL;
	double *unwindow = malloc(sizeof(double) * (size_t)count), *part = malloc(sizeof(double) * (size_t)rows);
	int code = unwindow && part ? 0 : SL_NOMEM;
	if (!code && g->h > 0.15) {  /* else exp(-pi / h) is nothing */
		tail = malloc(sizeof *tail);
		code = tail ? 0 : SL_NOMEM;
	}
	if (code)
		goto out;
	if (tail)
		tail_init(tail, g->dims, g->h);
	for (int i = 0; i < count; i++) {
		double x = sl_window_transform(w, PI * i / g->side);
		unwindow[i] = 1 / (x * x);
	}
	sample(g, base, spectrum);
	dct(context, spectrum);
	double at_zero = (double)spectrum[0];
#pragma omp parallel for schedule(static)
	for (long row = 0; row < rows; row++)
		part[row] = finish_row(g, tail, unwindow, period, row, spectrum + row * count);
	*self = base;
	for (long row = 0; row < rows; row++)
		*self += part[row] / period;
	*zero = base + at_zero / period;
	spectrum[0] = 0;
out:
	free(tail);
	free(part);
	free(unwindow);
	return code;
}
