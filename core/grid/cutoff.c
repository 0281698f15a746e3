/* Computes the polynomial that splits the kernel between a smooth grid and pairs within a cut-off.
 *
 * Up to the cut-off c the grid's kernel is a polynomial P of t = r^2. At c it continues K = 1 / (1 + t) with the same
 * value and slope; otherwise P is free. The error of the grid comes from frequencies above its highest one, and from
 * the aliases of lower ones that the window leaves. P minimises the forces of this error between points at random
 * positions. This is a linear least-squares problem with few unknowns, in the absolute value of the frequency. A
 * Gaussian split (Ewald's) has no free coefficients and needs a cut-off about twice as long for the same error on a
 * given grid. The advantage of functions with compact support is known (Hockney and Eastwood, Computer Simulation Using
 * Particles, 1988, chapter 8). */
#include <math.h>

#include "core/grid/grid_internal.h"
#include "core/params.h"

#define FREE (SL_CUTOFF_DEGREE - 1)  /* unknowns: P has degree SL_CUTOFF_DEGREE and two conditions */
#define RADII 96                   /* nodes of the quadrature over r */
#define WAVES 160                  /* frequencies, up to WAVE_MOST times the grid's highest */
#define WAVE_MOST 5.0

/* Polynomials in x = (r / c)^2: the fixed part, and those of the unknowns, (1 - x)^2 (2 x - 1)^j. */
static double part_of(int j, double x)
{
	double value = (1 - x) * (1 - x);
	while (j-- > 0)
		value *= 2 * x - 1;
	return value;
}

/* Quadrature for transforms of functions that are 0 beyond the cut-off: sum_i wave_of(r_i) weight_i f_i. */
struct radii {
	double r[RADII], weight[RADII], basis[FREE][RADII], fixed[RADII];
};

/* The midpoint rule after a substitution that makes the integrand vanish at both ends; as accurate as Gauss's rule for
 * smooth functions. */
static void radii_init(struct radii *q, double cutoff)
{
	double end = 1 / (1 + cutoff * cutoff), slope = -end * end * cutoff * cutoff;
	for (int i = 0; i < RADII; i++) {
		double s = (i + 0.5) / RADII, x, r = cutoff * s * s * s * (10 - 15 * s + 6 * s * s);
		q->r[i] = r;
		q->weight[i] = cutoff / RADII * 30 * s * s * (1 - s) * (1 - s);
		x = r * r / (cutoff * cutoff);
		q->fixed[i] = 1 / (1 + r * r) - end - slope * (x - 1);
		for (int j = 0; j < FREE; j++)
			q->basis[j][i] = part_of(j, x);
	}
}

/* The share of an error at frequency k that affects forces: 1 above the grid's highest frequency; below it, the share
 * of the nearest alias that spreading and reading leave. */
static double share_of(const struct sl_grid *g, const struct sl_window *w, double k)
{
	double omega = k * g->h;
	if (omega >= PI)
		return 1;
	double alias = sl_window_transform(w, 2 * PI - omega) / sl_window_transform(w, omega);
	return 2 * alias * alias;
}

/* Solves a x = b for symmetric positive a; overwrites both, b by x. */
static void solve(double a[FREE][FREE], double b[FREE])
{
	for (int i = 0; i < FREE; i++)
		for (int row = i + 1; row < FREE; row++) {
			double factor = a[row][i] / a[i][i];
			for (int k = i; k < FREE; k++)
				a[row][k] -= factor * a[i][k];
			b[row] -= factor * b[i];
		}
	for (int i = FREE - 1; i >= 0; i--) {
		for (int k = i + 1; k < FREE; k++)
			b[i] -= a[i][k] * b[k];
		b[i] /= a[i][i];
	}
}

/* A wave of frequency k at distance r, integrated over all directions. */
static double wave_of(int dims, double k, double r)
{
	return dims == 2 ? 2 * PI * r * j0(k * r) : 4 * PI / k * r * sin(k * r);
}

/* Computes a and b of the normal equations. */
static void equations(const struct sl_grid *g, const struct radii *q, double a[FREE][FREE], double b[FREE])
{
	struct sl_window w;
	sl_window_init(&w, g->window);
	for (int step = 0; step < WAVES; step++) {
		double k = PI / g->h * WAVE_MOST * (step + 0.5) / WAVES, column[FREE] = {0};
		double base = sl__kernel_transform(g->dims, k);
		for (int i = 0; i < RADII; i++) {
			double wave = q->weight[i] * wave_of(g->dims, k, q->r[i]);
			base -= wave * q->fixed[i];
			for (int j = 0; j < FREE; j++)
				column[j] += wave * q->basis[j][i];
		}
		double weight = share_of(g, &w, k) * pow(k, g->dims + 1);  /* |force|^2 times k^(d - 1) */
		for (int j = 0; j < FREE; j++) {
			for (int l = 0; l < FREE; l++)
				a[j][l] += weight * column[j] * column[l];
			b[j] -= weight * column[j] * base;
		}
	}
}

/* p += factor * (low + high x) * other, by coefficients of powers of x; other has `count`. */
static void add_product(double *p, const double *other, int count, double low, double high, double factor)
{
	for (int k = 0; k < count; k++) {
		p[k] += factor * low * other[k];
		p[k + 1] += factor * high * other[k];
	}
}

void sl_grid_cutoff(struct sl_grid_cutoff *out, const struct sl_grid *g)
{
	double a[FREE][FREE] = {{0}}, b[FREE] = {0}, square = g->cutoff * g->cutoff, end = 1 / (1 + square);
	double p[SL_CUTOFF_DEGREE + 1] = {end + end * end * square, -end * end * square};
	struct radii q;
	radii_init(&q, g->cutoff);
	equations(g, &q, a, b);
	solve(a, b);
	double power[SL_CUTOFF_DEGREE + 1] = {1, -2, 1};  /* (1 - x)^2 (2 x - 1)^j */
	for (int j = 0; j < FREE; j++) {
		double next[SL_CUTOFF_DEGREE + 2] = {0};
		for (int k = 0; k <= j + 2; k++)
			p[k] += b[j] * power[k];
		add_product(next, power, j + 3, -1, 2, 1);
		for (int k = 0; k <= SL_CUTOFF_DEGREE; k++)
			power[k] = next[k];
	}
	double scale = 1;
	for (int k = 0; k <= SL_CUTOFF_DEGREE; k++, scale /= square) {
		out->value[k] = (float)(p[k] * scale);
		if (k)
			out->slope[k - 1] = (float)(k * p[k] * scale);
	}
}

/* Measured. With wide windows, for force errors of at most 3e-2, 8e-3 and 2e-3 in late layouts, which have few points
 * within a cut-off. With narrow windows, by the final layouts of runs: the errors of narrow windows act as noise that
 * keeps points apart, and with the shorter cut-offs of wide ones KL divergences are up to 1.4 % higher. */
static const double cutoff_in_spacings[] = {[SL_DRAFT] = 1.2, [SL_NORMAL] = 1.6, [SL_FINE] = 2.2};
static const double cutoff_in_spacings_flat[] = {[SL_DRAFT] = 1.6, [SL_NORMAL] = 2.0, [SL_FINE] = 2.6};
static const double cutoff_in_spacings_narrow[] = {[SL_DRAFT] = 1.6, [SL_NORMAL] = 1.8, [SL_FINE] = 2.2};

void sl_grid_smooth(struct sl_grid *out, int dims, int accuracy, int window, int side, double extent)
{
	double least = fmax(extent, 1e-30) * (1 + 1e-5) / (side - window - 1);
	double h = exp2(ceil(8 * log2(least)) / 8);
	const double *cutoff = dims == 2 ? cutoff_in_spacings_flat :
			       window == SL_WINDOW_NARROW ? cutoff_in_spacings_narrow : cutoff_in_spacings;
	*out = (struct sl_grid){.dims = dims, .side = side, .window = window, .h = h, .part = SL_GRID_SMOOTH,
				.cutoff = cutoff[accuracy] * h};
}
