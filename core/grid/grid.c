/* Computes the constants of core/grid/grid.h, once per grid, in double precision. */
#include "core/grid/grid_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/params.h"
#include "core/sides.h"


/* ---- window ------------------------------------------------------------------- */

/* A larger value aliases less, a smaller one needs less correction. Chosen by measuring force errors at the spacings
 * below. */
#define BETA_PER_TAP 2.5
#define BETA_NARROW 2.8
#define DEGREE_NARROW 5

static double semicircle(double x, double beta)
{
	double inside = 1 - x * x;
	return inside > 0 ? exp(beta * (sqrt(inside) - 1)) : 0;
}

/* Gauss-Legendre, 16 nodes on [-1, 1]: those above 0, the others mirror them. */
static const double gauss_node[SL__GAUSS / 2] = {0.0950125098376374, 0.2816035507792589, 0.4580167776572274,
					     0.6178762444026438, 0.7554044083550030, 0.8656312023878318,
					     0.9445750230732326, 0.9894009349916499};
static const double gauss_weight[SL__GAUSS / 2] = {0.1894506104550685, 0.1826034150449236, 0.1691565193950025,
					       0.1495959888165767, 0.1246289712555339, 0.0951585116824928,
					       0.0622535239386479, 0.0271524594117541};

double sl__gauss_at(int i) { return i < SL__GAUSS / 2 ? gauss_node[i] : -gauss_node[i - SL__GAUSS / 2]; }

double sl__gauss_weight(int i) { return gauss_weight[i % (SL__GAUSS / 2)]; }

/* The narrow window at x nodes from its middle, not normalised: the exponential of a semicircle, two nodes wide,
 * smoothed twice over one node. That is its product with a tent function, integrated over the angle of the circle. */
static double smoothed(double x)
{
	double sum = 0, bound[3] = {fmin(fmax(x - 1, -1), 1), fmin(fmax(x, -1), 1), fmin(fmax(x + 1, -1), 1)};
	for (int side = 0; side < 2; side++) {
		double from = asin(bound[side]), half = 0.5 * (asin(bound[side + 1]) - from);
		for (int i = 0; i < SL__GAUSS; i++) {
			double angle = from + half * (1 + sl__gauss_at(i)), tent = 1 - fabs(x - sin(angle));
			sum += half * sl__gauss_weight(i) * tent * cos(angle) * exp(BETA_NARROW * (cos(angle) - 1));
		}
	}
	return sum;
}

/* The window at x nodes from its middle. */
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

/* The tap's weight at position x of its cell, in [0, 1], times the cosine. */
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
		for (int i = 0; i < SL__GAUSS; i++)
			sum += 0.5 * sl__gauss_weight(i) * wave(w, t, omega, 0.5 + 0.5 * sl__gauss_at(i));
	return sum;
}

/* ---- choice of a grid ------------------------------------------------------------ */

double sl_grid_spacing(int dims, int accuracy)
{
	static const double spacing[4][3] = {{0}, {0.35, 0.25, 0.2}, {0.42, 0.35, 0.25}, {0.65, 0.5, 0.36}};
	return spacing[dims][accuracy];
}

int sl_grid_window(int dims, int accuracy)
{
	return SL_WINDOW_MAX;
}

int sl_grid_narrow_window(int dims, int accuracy)
{
	bool bears = dims == 2 ? accuracy != SL_FINE : dims == 3 && accuracy == SL_DRAFT;
	return bears ? SL_WINDOW_NARROW : SL_WINDOW_MAX;
}

int sl_grid_smooth_window(int accuracy) { return accuracy == SL_FINE ? SL_WINDOW_MAX : SL_WINDOW_NARROW; }

/* The width of kernels with larger exponents, relative to that of exponent 1. */
static double narrowness(double exponent) { return exponent > 1 ? 1 / sqrt(exponent) : 1; }

double sl_grid_kernel_spacing(int dims, int accuracy, double exponent)
{
	return sl_grid_spacing(dims, accuracy) * narrowness(exponent);
}

bool sl_grid_splits(int dims, double exponent) { return dims > 1 && exponent <= 4; }

static const int smallest_side[4] = SL_SIDES_LEAST, largest_side[4] = SL_SIDES_MOST;
static const int smallest_near_side[4] = SL_SIDES_NEAR_LEAST, largest_near_side[4] = SL_SIDES_NEAR_MOST;

/* The least product of 2, 3 and 5 that is at least `side` and a multiple of 8 (3-D: of 2). */
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

/* True for powers of two times a few small factors. By measurement, other sides take no less time than the next of
 * these. */
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

/* The smallest spacing widest * 2^(-k/8) with which `cells` cells contain extent; k may be negative. */
static double fitting_spacing(double widest, double cells, double extent)
{
	return widest * exp2(-floor(8 * log2(widest * cells / extent)) / 8);
}

void sl_grid_choose(struct sl_grid *g, int dims, int accuracy, int window, int fixed_side, double extent)
{
	double widest = sl_grid_spacing(dims, accuracy);
	*g = (struct sl_grid){.dims = dims, .window = window};
	extent = fmax(extent, 1e-30) * (1 + 1e-5);  /* so that rounding to float does not cross the edge */
	if (fixed_side) {
		g->side = fixed_side;
	} else {
		double cells = ceil(extent / widest) + sl__grid_margin(g->window);
		int side = cells < largest_side[dims] ? (int)cells : largest_side[dims];
		g->side = good_side(dims, side > smallest_side[dims] ? side : smallest_side[dims]);
		if (g->side > largest_side[dims])
			g->side = largest_side[dims];
	}
	g->h = fitting_spacing(widest, g->side - sl__grid_margin(g->window), extent);
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

/* Where a split is cut off: K_near is exp(-distant) at the end of its margin, the spectrum of K_far is exp(-high) at
 * the end of the coarse grid's. By measurement this adds only a fraction of the error due to h. */
struct cut {
	double distant, high;
};

static struct cut cut_of(int dims, int accuracy)
{
	static const struct cut flat = {7, 7}, fine = {10, 9}, deep[] = {{5, 5}, {9, 9}};
	return accuracy == SL_FINE ? fine : dims < 3 ? flat : deep[accuracy];
}

/* K_near is at most exp(-split), which is negligible beyond this value. */
#define SPLIT_MAX 8

/* The margin of a near grid, in coarse spacings. */
static double gap_of(struct cut cut) { return 2 / PI * sqrt(cut.distant * cut.high); }

void sl_grid_split(struct sl_grid *near, struct sl_grid *far, int dims, int accuracy, int window, double h, int side,
		   int coarse)
{
	struct cut cut = cut_of(dims, accuracy);
	/* the coarse grid must contain the near grid without its margin */
	double coarse_h = h * side / (coarse - sl__grid_margin(window) + gap_of(cut)), highest = PI / coarse_h;
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

/* Returns the first coarse node that near node x touches, and fills the weights. */
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
	for (int i = 0; i < far->side; i++) {  /* taps of x <= (i - width) h / through do not reach node i */
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

/* A larger coarse side leaves more of the near grid to points, and takes more time. By calculation the best side grows
 * as side^(2/3). Its spacing is at least 3 h. */
static int coarse_side(int dims, double gap, int window, int side)
{
	int most = (int)(side / 3.0 + sl__grid_margin(window) - gap);
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
	double least = fmax(ceil(extent / widest) + sl__grid_margin(window), smallest_near_side[dims]);
	side = fixed_side ? fixed_side : next_fast_side(8, least < largest ? (int)least : largest);
	for (;; side = next_fast_side(8, side + 1)) {
		coarse = coarse_side(dims, gap, window, side);
		cells = side * (coarse - sl__grid_margin(window)) / (coarse - sl__grid_margin(window) + gap);
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
	return g->h * (g->side - sl__grid_margin(g->window));
}

double sl_grid_usual_extent(int dims, double n)
{
	return dims == 1 ? n / 100 : dims == 2 ? 1.2 * sqrt(n) : 2.2 * cbrt(n);
}
