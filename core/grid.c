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
#define BETA_NARROW 2.8
#define DEGREE_NARROW 5

static double semicircle(double x, double beta)
{
	double inside = 1 - x * x;
	return inside > 0 ? exp(beta * (sqrt(inside) - 1)) : 0;
}

/* Gauss-Legendre, 16 nodes on [-1, 1]: those above 0, the others mirror them. */
#define GAUSS 16
static const double gauss_node[GAUSS / 2] = {0.0950125098376374, 0.2816035507792589, 0.4580167776572274,
					     0.6178762444026438, 0.7554044083550030, 0.8656312023878318,
					     0.9445750230732326, 0.9894009349916499};
static const double gauss_weight[GAUSS / 2] = {0.1894506104550685, 0.1826034150449236, 0.1691565193950025,
					       0.1495959888165767, 0.1246289712555339, 0.0951585116824928,
					       0.0622535239386479, 0.0271524594117541};

static double gauss_at(int i) { return i < GAUSS / 2 ? gauss_node[i] : -gauss_node[i - GAUSS / 2]; }

/* The narrow window at x nodes from its middle, and at 0 not normalised: a semicircle's exponential two nodes wide,
 * smoothed twice over one node, i.e. its product with a tent, integrated along the circle's angle. */
static double smoothed(double x)
{
	double sum = 0, bound[3] = {fmin(fmax(x - 1, -1), 1), fmin(fmax(x, -1), 1), fmin(fmax(x + 1, -1), 1)};
	for (int side = 0; side < 2; side++) {
		double from = asin(bound[side]), half = 0.5 * (asin(bound[side + 1]) - from);
		for (int i = 0; i < GAUSS; i++) {
			double angle = from + half * (1 + gauss_at(i)), tent = 1 - fabs(x - sin(angle));
			sum += half * gauss_weight[i % (GAUSS / 2)] * tent * cos(angle) * exp(BETA_NARROW * (cos(angle) - 1));
		}
	}
	return sum;
}

/* x nodes from the middle. */
static double shape(double x, int width)
{
	return width == SL_WINDOW_NARROW ? smoothed(x) / smoothed(0) : semicircle(x * 2 / width, BETA_PER_TAP * width);
}

/* Monomial coefficients of the polynomial through f at the Chebyshev nodes. */
static void fit(double *coefficient, int degree, int tap, int width)
{
	double node[SL_WINDOW_DEGREE + 1], c[SL_WINDOW_DEGREE + 1];
	int count = degree + 1;
	for (int i = 0; i < count; i++) {
		node[i] = cos(PI * (i + 0.5) / count);
		c[i] = shape(tap + 0.5 * (node[i] + 1) - 0.5 * width, width);
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
	w->degree = width == SL_WINDOW_NARROW ? DEGREE_NARROW : SL_WINDOW_DEGREE;
	for (int t = 0; t < width; t++) {
		double c[SL_WINDOW_DEGREE + 1];
		fit(c, w->degree, t, width);
		for (int k = 0; k <= w->degree; k++)
			w->value[k][t] = (float)c[k];
		for (int k = 1; k <= w->degree; k++)
			w->slope[k - 1][t] = (float)(2 * k * c[k]);
	}
}

/* The tap's weight at place x of [0, 1] in its cell, times the cosine. */
static double wave(const struct sl_window *w, int tap, double omega, double x)
{
	double v = 2 * x - 1, p = 0;
	for (int k = w->degree; k >= 0; k--)
		p = p * v + (double)w->value[k][tap];
	return p * cos(omega * (tap + x - 0.5 * w->width));
}

double sl_window_transform(const struct sl_window *w, double omega)
{
	double sum = 0;
	for (int t = 0; t < w->width; t++)
		for (int i = 0; i < GAUSS; i++)
			sum += 0.5 * gauss_weight[i % (GAUSS / 2)] * wave(w, t, omega, 0.5 + 0.5 * gauss_at(i));
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
	return SL_WINDOW_MAX;
}

int sl_grid_narrow_window(int dims, int accuracy)
{
	return dims == 2 && accuracy != SL_FINE ? SL_WINDOW_NARROW : SL_WINDOW_MAX;
}

/* What kernels of larger exponents than 1 are narrower by. */
static double narrowness(double exponent) { return exponent > 1 ? 1 / sqrt(exponent) : 1; }

double sl_grid_kernel_spacing(int dims, int accuracy, double exponent)
{
	return sl_grid_spacing(dims, accuracy) * narrowness(exponent);
}

bool sl_grid_splits(int dims, double exponent) { return dims > 1 && exponent <= 4; }

static const int smallest_side[4] = {0, 64, 24, 16};
static const int largest_side[4] = {0, 1 << 20, 4096, 320};
static const int smallest_near_side[4] = {0, 0, 64, 32}, largest_near_side[4] = {0, 0, 4096, 512};

/* The least product of 2, 3, 5 from `side` on that is a multiple of 8 (3-D: of 2). */
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

/* Powers of two and a few small factors: the others' transforms take no less time than those of the next of these,
 * by measurement. */
static bool fast_side(int side)
{
	while (side % 2 == 0)
		side /= 2;
	return side == 1 || side == 3 || side == 5 || side == 9 || side == 25;
}

static int next_fast_side(int step, int side)
{
	side += (step - side % step) % step;
	while (!fast_side(side))
		side += step;
	return side;
}

/* Nodes that are not available to points: the window's reach, and rounding. */
static int margin(int window) { return window + 1; }

/* spacing: widest * 2^(-k/8), the smallest with which `cells` cells hold extent; k may be negative */
static double fitting_spacing(double widest, double cells, double extent)
{
	return widest * exp2(-floor(8 * log2(widest * cells / extent)) / 8);
}

void sl_grid_choose(struct sl_grid *g, int dims, int accuracy, int window, int fixed_side, double extent)
{
	double widest = sl_grid_spacing(dims, accuracy);
	*g = (struct sl_grid){.dims = dims, .window = window};
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
	g->h = fitting_spacing(widest, g->side - margin(g->window), extent);
}

void sl_grid_choose_kernel(struct sl_grid *g, int dims, int accuracy, int window, int fixed_side, double extent,
			   double exponent)
{
	double narrow = narrowness(exponent);
	sl_grid_choose(g, dims, accuracy, window, fixed_side, extent / narrow);
	g->h *= narrow;
	g->exponent = exponent == 1 ? 0 : exponent;
}

bool sl_grid_equal(const struct sl_grid *a, const struct sl_grid *b)
{
	return a->dims == b->dims && a->side == b->side && a->window == b->window && a->h == b->h && a->part == b->part &&
	       a->split == b->split && a->cutoff == b->cutoff && a->through == b->through && a->fed_side == b->fed_side &&
	       a->exponent == b->exponent;
}

int sl_grid_length(const struct sl_grid *g) { return g->part == SL_GRID_NEAR ? g->side : 2 * g->side; }

/* How a split is cut: K_near is exp(-distant) where its margin ends, K_far's spectrum exp(-high) where the coarse
 * grid's ends. By measurement: what these leave is a fraction of the error of h alone. */
struct cut {
	double distant, high;
};

static struct cut cut_of(int dims, int accuracy)
{
	static const struct cut flat = {7, 7}, fine = {10, 9}, deep[] = {{5, 5}, {9, 9}};
	return accuracy == SL_FINE ? fine : dims < 3 ? flat : deep[accuracy];
}

/* K_near is exp(-split) at most; beyond this it is nothing beside K_far. */
#define SPLIT_MAX 8

/* The margin of a near grid, in coarse spacings. */
static double gap_of(struct cut cut) { return 2 / PI * sqrt(cut.distant * cut.high); }

void sl_grid_split(struct sl_grid *near, struct sl_grid *far, int dims, int accuracy, int window, double h, int side,
		   int coarse)
{
	struct cut cut = cut_of(dims, accuracy);
	/* what the margin leaves of the near grid the coarse one must hold */
	double coarse_h = h * side / (coarse - margin(window) + gap_of(cut)), highest = PI / coarse_h;
	double split = highest * highest / (4 * cut.high);
	*near = (struct sl_grid){.dims = dims, .side = side, .window = window, .h = h, .part = SL_GRID_NEAR,
				 .split = split};
	*far = (struct sl_grid){.dims = dims, .side = coarse, .window = window, .h = coarse_h, .part = SL_GRID_FAR,
				.split = split};
}

void sl_grid_feed(const struct sl_grid *near, struct sl_grid *far)
{
	far->fed_side = near->side;
	far->through = near->h;
}

/* First coarse node that near node x touches, and the weights there. */
static int feed_taps(const struct sl_grid *far, const struct sl_window *w, int x, double *weight)
{
	double at = x * far->through / far->h;
	int first = (int)ceil(at);
	for (int t = 0; t < w->width; t++) {
		weight[t] = 0;
		for (int k = w->degree; k >= 0; k--)
			weight[t] = weight[t] * (2 * (first - at) - 1) + (double)w->value[k][t];
	}
	return first;
}

int sl_grid_gather_init(struct sl_grid_gather *out, const struct sl_grid *far, const struct sl_window *w)
{
	int taps = (int)ceil(w->width * far->h / far->through) + 1;
	double weight[SL_WINDOW_MAX];
	out->taps = taps = taps < far->fed_side ? taps : far->fed_side;
	out->weight = calloc((size_t)far->side * (size_t)taps, sizeof(float));
	out->first = malloc(sizeof(int) * (size_t)far->side);
	if (!out->weight || !out->first) {
		sl_grid_gather_finish(out);
		return SL_NOMEM;
	}
	for (int i = 0; i < far->side; i++) {  /* taps of x <= (i - width) h / through do not reach node i any more */
		int first = (int)floor((i - w->width) * far->h / far->through) + 1, last = far->fed_side - taps;
		out->first[i] = first < 0 ? 0 : first < last ? first : last;
	}
	for (int x = 0; x < far->fed_side; x++) {
		int node = feed_taps(far, w, x, weight);
		for (int t = 0; t < w->width && node + t < far->side; t++) {
			int k = x - out->first[node + t];
			if (k >= 0 && k < taps)
				out->weight[k * far->side + node + t] = (float)weight[t];
		}
	}
	return 0;
}

void sl_grid_gather_finish(struct sl_grid_gather *gather)
{
	free(gather->weight);
	free(gather->first);
	memset(gather, 0, sizeof *gather);
}

/* A larger coarse side leaves more of the near grid to points and costs more; the best grows as side^(2/3), by
 * calculation. Its spacing is at least 3 h. */
static int coarse_side(int dims, double gap, int window, int side)
{
	int most = (int)(side / 3.0 + margin(window) - gap);
	int best = (int)((dims == 3 ? 1.5 : 1.25) * cbrt((double)side * side));
	int coarse = next_fast_side(2, best < most ? best : most);
	if (coarse > most)
		for (coarse = most / 2 * 2; !fast_side(coarse);)
			coarse -= 2;
	return coarse;
}

bool sl_grid_choose_two(struct sl_grid *near, struct sl_grid *far, int dims, int accuracy, int fixed_side,
			double extent, double exponent)
{
	double widest = sl_grid_spacing(dims, accuracy), gap = gap_of(cut_of(dims, accuracy)), cells;
	int window = sl_grid_window(dims, accuracy), largest = largest_near_side[dims], coarse, side;
	if (!sl_grid_splits(dims, exponent) || fixed_side % 2 || (fixed_side && fixed_side < smallest_near_side[dims]))
		return false;
	extent = fmax(extent, 1e-30) * (1 + 1e-5) / narrowness(exponent);
	double least = fmax(ceil(extent / widest) + margin(window), smallest_near_side[dims]);
	side = fixed_side ? fixed_side : next_fast_side(8, least < largest ? (int)least : largest);
	for (;; side = next_fast_side(8, side + 1)) {
		coarse = coarse_side(dims, gap, window, side);
		cells = side * (coarse - margin(window)) / (coarse - margin(window) + gap);
		if (fixed_side || side >= largest || widest * cells >= extent)
			break;
	}
	double h = fitting_spacing(widest, cells, extent) * narrowness(exponent);
	sl_grid_split(near, far, dims, accuracy, window, h, side, coarse);
	near->exponent = far->exponent = exponent == 1 ? 0 : exponent;
	return near->split < SPLIT_MAX;
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

/* Fourier transform of (1 + r^2)^-nu, frequency k > 0: as the integral over s = exp(t) of the Gaussians
 *     s^(nu - 1) exp(-s (1 + r^2)) / Gamma(nu)
 * that make it up, each transformed. (It is a Bessel function, K_(nu - d/2), that the standard library lacks.) The
 * integrand falls doubly exponentially on both sides of its peak, so the trapezoidal rule does. */
static double heavy_transform(int dims, double nu, double k)
{
	double a = nu - 0.5 * dims, c = 0.25 * k * k, peak = 0.5 * (a + sqrt(a * a + 4 * c));
	double middle = log(peak), step = 0.1 / sqrt(peak + c / peak), sum = 0;
	double highest = a * middle - peak - c / peak;
	for (int i = -120; i <= 120; i++) {
		double t = middle + i * step;
		sum += exp(a * t - exp(t) - c * exp(-t) - highest);
	}
	return sum * step * exp(highest + 0.5 * dims * log(PI) - lgamma(nu));
}

/* Fourier transform of K_near: an integral over the widths s of the Gaussians in it, by t = log s. */
#define GAUSSIANS (4 * GAUSS)

struct gaussians {
	double s[GAUSSIANS], weight[GAUSSIANS];
};

/* s > 60 adds nothing. */
static void gaussians_init(struct gaussians *g, int dims, double split, double nu)
{
	double from = log(split), half = (log(60) - from) / (GAUSSIANS / GAUSS) / 2;
	for (int i = 0; i < GAUSSIANS; i++) {
		double s = exp(from + half * (2 * (i / GAUSS) + 1 + gauss_at(i % GAUSS)));
		g->s[i] = s;
		g->weight[i] = half * gauss_weight[i % (GAUSS / 2)] * pow(s, nu) / tgamma(nu) * pow(PI / s, 0.5 * dims) *
			       exp(-s);
	}
}

static double near_transform(const struct gaussians *g, double k)
{
	double sum = 0;
	for (int i = 0; i < GAUSSIANS; i++)
		sum += g->weight[i] * exp(-k * k / (4 * g->s[i]));
	return sum;
}

/* A transform / h^d as a function of |k| on [from, to]: its logarithm is nearly linear between entries. */
#define RADIAL 4096

struct radial {
	double from, scale;
	double log_value[RADIAL + 1];
};

static void radial_init(struct radial *t, const struct sl_grid *g, double from, double to)
{
	struct gaussians near;
	t->from = from;
	t->scale = RADIAL / (to - from);
	if (g->part == SL_GRID_NEAR)
		gaussians_init(&near, g->dims, g->split, g->exponent != 0 ? g->exponent : 1);
#pragma omp parallel for schedule(static)
	for (int i = 0; i <= RADIAL; i++) {
		double k = from + i / t->scale;
		double value = g->part == SL_GRID_NEAR ? near_transform(&near, k) :
			       g->exponent != 0 ? heavy_transform(g->dims, g->exponent, k) : kernel_transform(g->dims, k);
		t->log_value[i] = log(fmax(value, 1e-300)) - g->dims * log(g->h);
	}
}

static double radial_at(const struct radial *t, double k)
{
	double at = (k - t->from) * t->scale;
	int i = at < 0 ? 0 : at >= RADIAL ? RADIAL - 1 : (int)at;
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
static double folded(const struct sl_grid *g, const struct radial *t, const int at[3])
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
		sum += radial_at(t, sqrt(square));
	}
	return sum;
}

/* K_far / K where s (1 + r^2) is x at the split: the regularised incomplete gamma function P(exponent, x), by its
 * series. */
static double far_share(const struct sl_grid *g, double x)
{
	double nu = g->exponent, term = 1, sum = 1;
	if (nu == 0)
		return -expm1(-x);
	if (x > 60)
		return 1;
	for (int k = 1; term > 1e-15 * sum; k++)
		sum += term *= x / (nu + k);
	return sum * exp(nu * log(x) - x) / tgamma(nu + 1);
}

static double smooth_at(const struct sl_grid_near *near, double t)
{
	double value = 0;
	for (int k = SL_NEAR_DEGREE; k >= 0; k--)
		value = value * t + (double)near->value[k];
	return value;
}

/* Samples of K - base, of K_far, or of the smooth kernel. Where all distances are small K is 1 less something tiny,
 * which float keeps only without the 1; where they are large K itself is the smaller one. */
static void sample(const struct sl_grid *g, double base, float *out)
{
	long count = g->side + 1, rows = g->dims == 1 ? 1 : g->dims == 2 ? count : count * count;
	struct sl_grid_near near;
	if (g->part == SL_GRID_SMOOTH)
		sl_grid_near(&near, g);
#pragma omp parallel for schedule(static)
	for (long row = 0; row < rows; row++) {
		double y = g->dims > 1 ? distance(g, (int)(row % count)) : 0;
		double z = g->dims > 2 ? distance(g, (int)(row / count)) : 0;
		for (int i = 0; i < count; i++) {
			double x = distance(g, i), square = x * x + y * y + z * z;
			double value = base != 0 ? -square / (1 + square) : 1 / (1 + square);
			if (g->exponent != 0) {
				double log_value = -g->exponent * log1p(square);
				value = base != 0 ? expm1(log_value) : exp(log_value);
			}
			if (g->part == SL_GRID_FAR)
				value *= far_share(g, g->split * (1 + square));
			if (g->part == SL_GRID_SMOOTH && square < g->cutoff * g->cutoff)
				value = smooth_at(&near, square);
			out[row * count + i] = (float)value;
		}
	}
}

/* What turns the transform of the samples, or nothing (NEAR), into the spectrum. */
struct finish {
	const struct sl_grid *grid;
	const struct radial *radial;  /* what to subtract (WHOLE), or the values themselves (NEAR), or NULL */
	const double *unwindow;       /* [length / 2 + 1] */
	double period;                /* length^dims */
	double zero;                  /* value at frequency 0 */
};

/* One row (all x). Returns its part of the kernel's value at distance 0. */
static double finish_row(struct finish *f, long row, float *values)
{
	const struct sl_grid *g = f->grid;
	int last = sl_grid_length(g) / 2, at[3] = {0, 0, 0};
	long count = last + 1;
	double outer = 1 / f->period, copies_outer = 1, sum = 0;
	double unit = 2 * PI / (sl_grid_length(g) * g->h), square = 0;
	at[1] = g->dims > 1 ? (int)(row % count) : 0;
	at[2] = g->dims > 2 ? (int)(row / count) : 0;
	for (int k = 1; k < g->dims; k++) {
		outer *= f->unwindow[at[k]];
		copies_outer *= at[k] == 0 || at[k] == last ? 1 : 2;
		square += unit * at[k] * unit * at[k];
	}
	for (at[0] = 0; at[0] < count; at[0]++) {
		double value;
		if (g->part == SL_GRID_NEAR)
			value = radial_at(f->radial, sqrt(square + unit * at[0] * unit * at[0]));
		else
			value = (double)values[at[0]] - (f->radial ? folded(g, f->radial, at) : 0);
		sum += value * copies_outer * (at[0] == 0 || at[0] == last ? 1 : 2);
		values[at[0]] = (float)(value * outer * f->unwindow[at[0]]);
		if (row == 0 && at[0] == 0)
			f->zero = value;
	}
	return sum;
}

/* Transform of the near grid's window, through which a far grid sees the points, at frequency i of one dimension. */
static double through(const struct sl_grid *g, const struct sl_window *w, int i)
{
	return g->through > 0 ? sl_window_transform(w, 2 * PI * i / sl_grid_length(g) * g->through / g->h) : 1;
}

void sl_grid_tilt(const struct sl_grid *g, const struct sl_window *w, float *tilt)
{
	for (int i = 0; i <= sl_grid_length(g) / 2; i++)
		tilt[i] = (float)(1 / through(g, w, i));
}

int sl_grid_spectrum(const struct sl_grid *g, const struct sl_window *w,
		     void (*dct)(void *context, float *data), void *context,
		     float *spectrum, double *zero, double *self)
{
	int length = sl_grid_length(g);
	long count = length / 2 + 1, rows = g->dims == 1 ? 1 : g->dims == 2 ? count : count * count;
	/* exp(-pi / 0.15) is nothing */
	bool near = g->part == SL_GRID_NEAR, folds = g->part == SL_GRID_WHOLE && (g->h > 0.15 || g->exponent > 1);
	double base = g->part == SL_GRID_WHOLE && g->h * g->side < 4 ? 1 : 0, highest = PI / g->h;
	struct finish f = {.grid = g, .period = pow(length, g->dims)};
	struct radial *radial = near || folds ? malloc(sizeof *radial) : NULL;
	double *unwindow = malloc(sizeof(double) * (size_t)count), *part = malloc(sizeof(double) * (size_t)rows);
	int code = unwindow && part && (radial || !(near || folds)) ? 0 : SL_NOMEM;
	if (code)
		goto out;
	if (radial)
		radial_init(radial, g, near ? 0 : 0.9 * highest, 1.01 * sqrt(g->dims) * (near ? 1 : 2) * highest);
	for (int i = 0; i < count; i++) {
		double x = sl_window_transform(w, 2 * PI * i / length);
		double near = through(g, w, i);  /* met by charges that come through it, and by a potential that does */
		unwindow[i] = 1 / (x * x * (g->fed_side ? near : near * near));
	}
	f.radial = radial;
	f.unwindow = unwindow;
	if (!near) {
		sample(g, base, spectrum);
		dct(context, spectrum);
	}
#pragma omp parallel for schedule(static)
	for (long row = 0; row < rows; row++)
		part[row] = finish_row(&f, row, spectrum + row * count);
	*self = base;
	for (long row = 0; row < rows; row++)
		*self += part[row] / f.period;
	*zero = base + f.zero / f.period;
	spectrum[0] = 0;
out:
	free(radial);
	free(part);
	free(unwindow);
	return code;
}
