/* Computes the spectrum of a grid's kernel. */
#include <math.h>
#include <stdlib.h>

#include "core/grid/grid_internal.h"
#include "core/params.h"

/* Modified Bessel function K0, x > 0, by quadrature of exp(-x cosh t), to 1e-12. */
static double bessel_k0(double x)
{
	double top = acosh(1 + 40 / x), step = top / 64, sum = 0.5 * exp(-x);
	for (int i = 1; i <= 64; i++)
		sum += exp(-x * cosh(i * step));
	return sum * step;
}

double sl__kernel_transform(int dims, double k)
{
	return dims == 1 ? PI * exp(-k) : dims == 2 ? 2 * PI * bessel_k0(k) : 2 * PI * PI * exp(-k) / k;
}

/* Fourier transform of (1 + r^2)^-nu, frequency k > 0, computed as the integral over s = exp(t) of the transforms of
 * the Gaussians
 *     s^(nu - 1) exp(-s (1 + r^2)) / Gamma(nu)
 * (It is a Bessel function, K_(nu - d/2), that the standard library lacks.) The integrand falls doubly exponentially on
 * both sides of its peak, so the trapezoidal rule is accurate. */
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

/* Fourier transform of K_near: an integral over the widths s of its Gaussians, with t = log s. */
#define GAUSSIANS (4 * SL__GAUSS)

struct gaussians {
	double s[GAUSSIANS], weight[GAUSSIANS];
};

/* s > 60 is negligible. */
static void gaussians_init(struct gaussians *g, int dims, double split, double nu)
{
	double from = log(split), half = (log(60) - from) / (GAUSSIANS / SL__GAUSS) / 2;
	for (int i = 0; i < GAUSSIANS; i++) {
		double s = exp(from + half * (2 * (i / SL__GAUSS) + 1 + sl__gauss_at(i % SL__GAUSS)));
		g->s[i] = s;
		g->weight[i] = half * sl__gauss_weight(i) * pow(s, nu) / tgamma(nu) * pow(PI / s, 0.5 * dims) *
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

/* A table of a transform / h^d as a function of |k| on [from, to]. Its logarithm is nearly linear between entries. */
#define RADIAL 4096

struct radial {
	double from, scale;
	double log_value[RADIAL + 1];
};

static double log_positive(double value) { return log(fmax(value, 1e-300)); }

/* The logarithm of the transform is analytic but at 0, so the error of its Chebyshev polynomials, below 3^-CHEBYSHEV,
 * is that of doubles. */
#define CHEBYSHEV 40

void sl__log_transforms(int dims, double exponent, double from, double to, int count, double *out)
{
	double value[CHEBYSHEV], c[CHEBYSHEV], half = 0.5 * (to - from);
	for (int i = 0; i < CHEBYSHEV; i++) {
		double k = from + half * (1 + cos(PI * (i + 0.5) / CHEBYSHEV));
		value[i] = log_positive(exponent != 0 ? heavy_transform(dims, exponent, k) : sl__kernel_transform(dims, k));
	}
	for (int n = 0; n < CHEBYSHEV; n++) {
		c[n] = 0;
		for (int i = 0; i < CHEBYSHEV; i++)
			c[n] += (n ? 2.0 : 1.0) / CHEBYSHEV * value[i] * cos(PI * n * (i + 0.5) / CHEBYSHEV);
	}
	for (int i = 0; i <= count; i++) {  /* Clenshaw's recurrence */
		double x = 2.0 * i / count - 1, one = 0, two = 0;
		for (int n = CHEBYSHEV - 1; n > 0; n--) {
			double next = 2 * x * one - two + c[n];
			two = one;
			one = next;
		}
		out[i] = x * one - two + c[0];
	}
}

static void radial_of_kernel(struct radial *t, const struct sl_grid *g, double from, double to)
{
	sl__log_transforms(g->dims, g->exponent, from, to, RADIAL, t->log_value);
	for (int i = 0; i <= RADIAL; i++)
		t->log_value[i] -= g->dims * log(g->h);
}

static void radial_of_near(struct radial *t, const struct sl_grid *g)
{
	struct gaussians near;
	gaussians_init(&near, g->dims, g->split, g->exponent != 0 ? g->exponent : 1);
#pragma omp parallel for schedule(static)
	for (int i = 0; i <= RADIAL; i++)
		t->log_value[i] = log_positive(near_transform(&near, i / t->scale)) - g->dims * log(g->h);
}

/* NEAR: from is 0. */
static void radial_init(struct radial *t, const struct sl_grid *g, double from, double to)
{
	t->from = from;
	t->scale = RADIAL / (to - from);
	if (g->part == SL_GRID_NEAR)
		radial_of_near(t, g);
	else
		radial_of_kernel(t, g, from, to);
}

static double radial_at(const struct radial *t, double k)
{
	double at = (k - t->from) * t->scale;
	int i = at < 0 ? 0 : at >= RADIAL ? RADIAL - 1 : (int)at;
	at -= i;
	return exp(t->log_value[i] * (1 - at) + t->log_value[i + 1] * at);
}

/* The distance of node i of the periodic grid: i h within reach of points. Beyond, its slope falls as a cosine to 0 in
 * the middle of the period; the second half mirrors the first. */
static double distance(const struct sl_grid *g, int i)
{
	double reach = g->side - sl__grid_margin(g->window) + 0.5, gap = g->side - reach;
	if (i <= reach)
		return g->h * i;
	return g->h * (reach + gap * 2 / PI * sin((i - reach) / gap * PI / 2));
}

/* The aliases at frequency (a, b, c) from neighbouring periods, caused by sampling. */
static double folded(const struct sl_grid *g, const struct radial *t, const int at[3])
{
	double unit = PI / (g->side * g->h), own[3], mirrored[3], sum = 0;
	for (int k = 0; k < 3; k++) {
		own[k] = at[k] * unit;
		mirrored[k] = (2 * g->side - at[k]) * unit;
	}
	for (int image = 1; image < 1 << g->dims; image++) {
		double square = 0;
		for (int k = 0; k < g->dims; k++) {
			double x = image >> k & 1 ? mirrored[k] : own[k];
			square += x * x;
		}
		sum += radial_at(t, sqrt(square));
	}
	return sum;
}

/* K_far / K at x = s (1 + r^2), s at the split: the regularised incomplete gamma function P(exponent, x), by its
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

static double smooth_at(const struct sl_grid_cutoff *kernel, double t)
{
	double value = 0;
	for (int k = SL_CUTOFF_DEGREE; k >= 0; k--)
		value = value * t + (double)kernel->value[k];
	return value;
}

/* Samples K - base, K_far, or the smooth kernel. If all distances are small, K - 1 is tiny and would be lost in float
 * beside the 1, so base is 1; if they are large, K itself is the smaller number. */
static void sample(const struct sl_grid *g, double base, float *out)
{
	long count = g->side + 1, rows = g->dims == 1 ? 1 : g->dims == 2 ? count : count * count;
	struct sl_grid_cutoff kernel;
	if (g->part == SL_GRID_SMOOTH)
		sl_grid_cutoff(&kernel, g);
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
				value = smooth_at(&kernel, square);
			out[row * count + i] = (float)value;
		}
	}
}

/* Parameters for computing the spectrum from the transform of the samples, or (NEAR) from radial alone. */
struct finish {
	const struct sl_grid *grid;
	const struct radial *radial;  /* WHOLE: to subtract; NEAR: the values; or NULL */
	const double *unwindow;       /* [length / 2 + 1] */
	double period;                /* length^dims */
	double zero;                  /* value at frequency 0 */
};

/* Computes one row (all x). Returns its part of the kernel's value at distance 0. */
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

/* The transform of the near grid's window, by which a far grid gets its charges, at frequency i of one dimension. */
static double through(const struct sl_grid *g, const struct sl_window *w, int i)
{
	return g->through > 0 ? sl_window_transform(w, 2 * PI * i / sl_grid_length(g) * g->through / g->h) : 1;
}

void sl_grid_tilt(const struct sl_grid *g, const struct sl_window *w, float *tilt)
{
	for (int i = 0; i <= sl_grid_length(g) / 2; i++)
		tilt[i] = (float)(1 / through(g, w, i));
}

int sl_grid_spectrum(const struct sl_grid *g, const struct sl_window *w, void (*dct)(void *context, float *data),
		     void *context, float *spectrum, double *zero, double *self)
{
	int length = sl_grid_length(g);
	long count = length / 2 + 1, rows = g->dims == 1 ? 1 : g->dims == 2 ? count : count * count;
	/* exp(-pi / 0.15) is negligible */
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
#pragma omp parallel for schedule(static) if (count > 1000)
	for (int i = 0; i < count; i++) {
		double x = sl_window_transform(w, 2 * PI * i / length);
		double factor = through(g, w, i);  /* applies to the charges and to the potential */
		unwindow[i] = 1 / (x * x * (g->fed_side ? factor : factor * factor));
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
