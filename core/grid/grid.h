/* grid.h -- the regular grid on which repulsive forces are computed, as numbers: its
 * window, its spacing, the spectrum of its kernel. Engines share it; it holds no
 * engine state and every function is pure.
 *
 * Method. n points carry charge 1. Each is spread over the w^d grid nodes around it
 * with a separable window; the grid is convolved by FFT with K(r) = 1 / (1 + r^2);
 * the potential phi is read back with the window's derivative. Since
 *     sum_j (y_i - y_j) / (1 + |y_i - y_j|^2)^2 = -1/2 grad phi(y_i)
 * one forward and one inverse transform of one channel give all d components of the
 * force (analytic differentiation, as in smooth particle-mesh Ewald, Essmann et al.,
 * J. Chem. Phys. 103, 8577 (1995)), and Z comes out of the spectrum by Parseval's
 * theorem. The window's transform is divided out of the kernel's spectrum twice.
 *
 * Three things make this as accurate as a transform per component:
 *   - the spectrum is that of K cut off at the grid's highest frequency. Sampling K would
 *     fold what lies beyond back into it (known in closed form here, so it is subtracted);
 *   - the mean of the potential (the zero frequency) is left out: it exerts no force, and
 *     in a layout that has not spread yet it is 1e8 times what does;
 *   - beyond the distances that occur K is continued smoothly to the period's end, so that
 *     the periodic kernel has no kink to ring at.
 *
 * Two grids instead of a padded one. K decays slowly, so a periodic convolution needs a grid twice as wide as
 * the layout in each dimension, half of it empty. But K is a sum of Gaussians,
 *     1 / (1 + r^2) = integral over s > 0 of exp(-s (1 + r^2)),
 * and cut at s = S it falls into K_near = exp(-S (1 + r^2)) / (1 + r^2), which ends within a few units and needs no
 * padding but a margin that wide, and K_far = K - K_near, whose spectrum ends at a few sqrt(S) and which a grid
 * several times coarser holds (padded, but that one is small). Force, potential and Z are the sums of both. The idea of
 * splitting is Ewald's; that both parts are convolutions on grids is that of the multilevel summation method
 * (Hardy et al., J. Chem. Theory Comput. 11, 766 (2015)), and so is the way from one grid to the other: an engine may
 * spread points on both grids, or, where there are many, spread the fine grid's nodes on the coarse one with the same
 * window and take its potential back the same way; that costs nothing a point.
 *
 * Pairs and a grid. Where points are few, in a wide 3-D layout, the near part of the kernel is summed over the pairs
 * closer than a cut-off instead, and one coarse padded grid holds the rest (particle-particle particle-mesh, Hockney
 * and Eastwood, Computer Simulation Using Particles, 1988). The near part is then no Gaussian's share but what leaves
 * the grid least that it cannot hold, see sl_grid_cutoff(). */
#ifndef SL_GRID_H
#define SL_GRID_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SL_WINDOW_MAX 6     /* widest window, in grid nodes */
#define SL_WINDOW_NARROW 4  /* another family, see below */
#define SL_WINDOW_LANES 8   /* coefficients are padded with zeros to this many taps */
#define SL_WINDOW_DEGREE 9

/* Window of w taps: "exponential of semicircle" (Barnett, Magland, af Klinteberg, SIAM J.
 * Sci. Comput. 41 (2019)), exp(beta (sqrt(1 - x^2) - 1)), as one polynomial a tap.
 * A point at u (in grid units) touches nodes i0 .. i0 + w - 1 with
 * i0 = ceil(u - w/2); with v = 2 (i0 - u + w/2) - 1 in [-1, 1)
 *     weight of node i0 + t:          sum_k value[k][t] v^k
 *     derivative by (node - u):       sum_k slope[k][t] v^k
 * The narrow one (w = 4) is another: exp(beta (sqrt(1 - x^2) - 1)) two nodes wide, smoothed twice over one node. Like a
 * B-spline's, its transform has double zeros at the frequencies that alias to 0, so that the potential's smooth part,
 * in a wide layout far larger than what differs between neighbours, leaves no ripples, the error of narrow windows. */
struct sl_window {
	int width;
	int degree;   /* of value; slope has one less */
	float value[SL_WINDOW_DEGREE + 1][SL_WINDOW_LANES];
	float slope[SL_WINDOW_DEGREE][SL_WINDOW_LANES];
};

/* width 4 (narrow), 5 or 6 */
void sl_window_init(struct sl_window *w, int width);

/* Fourier transform of the window at angular frequency omega (per grid unit). */
double sl_window_transform(const struct sl_window *w, double omega);

/* Which part of the kernel a grid holds. */
enum sl_grid_part {
	SL_GRID_WHOLE,  /* all of it, padded to twice the side */
	SL_GRID_NEAR,   /* s > split, periodic, not padded */
	SL_GRID_FAR,    /* s < split, padded to twice the side */
	SL_GRID_SMOOTH, /* all but a near part that ends at `cutoff` and is summed over pairs; padded */
};

/* What a grid is chosen by; equal values, equal spectra. */
struct sl_grid {
	int dims;
	int side;     /* grid nodes a side */
	int window;   /* width */
	double h;     /* spacing */
	int part;     /* enum sl_grid_part */
	double split; /* S of NEAR and FAR, else 0 */
	double cutoff; /* of SMOOTH, else 0 */
	double exponent;  /* the kernel is (1 + r^2)^-exponent; 0 stands for 1 */
	double through; /* FAR: spacing of the finer grid that charges come and the potential goes by; 0: none */
	int fed_side;   /* FAR: that grid's side when only the charges come by it and the potential is read at the
			 * points, else 0 */
};

bool sl_grid_equal(const struct sl_grid *a, const struct sl_grid *b);

/* Length of the transforms: side (NEAR) or twice that. */
int sl_grid_length(const struct sl_grid *g);

/* Widest spacing and window of an accuracy (SL_DRAFT, SL_NORMAL, SL_FINE). */
double sl_grid_spacing(int dims, int accuracy);
int sl_grid_window(int dims, int accuracy);
/* For engines that it pays for: the narrow window, in 2-D but for SL_FINE, in 3-D for SL_DRAFT. Force errors at the
 * same spacing are 1.1 to 2.5 times as large. */
int sl_grid_narrow_window(int dims, int accuracy);
/* The same for SMOOTH grids: narrow but for SL_FINE. */
int sl_grid_smooth_window(int accuracy);
/* That spacing for the kernel (1 + r^2)^-exponent, which narrows, and the spacing with it, for exponents above 1. */
double sl_grid_kernel_spacing(int dims, int accuracy, double exponent);
/* May this kernel be shared out between two grids? */
bool sl_grid_splits(int dims, double exponent);

/* The grid for a layout whose longest side is extent: the smallest side on the ladder that
 * keeps h within the accuracy, then the smallest h on its ladder that fits. fixed_side > 0:
 * that side, and the spacing that follows. Beyond the largest side h grows. */
void sl_grid_choose(struct sl_grid *out, int dims, int accuracy, int window, int fixed_side, double extent);

/* The same for the kernel (1 + r^2)^-exponent. Its spectrum falls as exp(-k) for all exponents up to 1. */
void sl_grid_choose_kernel(struct sl_grid *out, int dims, int accuracy, int window, int fixed_side, double extent,
			   double exponent);

/* The same on two grids. The fine side is even, the coarse one, a function of it, what makes the transforms of both
 * cost least; its spacing is at least 3 h. The largest fine side exceeds that of a padded grid. False where two
 * grids make no sense: in 1-D, with an odd or small fixed_side, for a layout so narrow that nothing of K is near, for
 * exponents above 4. */
bool sl_grid_choose_two(struct sl_grid *near, struct sl_grid *far, int dims, int accuracy, int fixed_side,
			double extent, double exponent);

/* Longest side of a layout that fits grid g; a layout on two grids must fit the far one. */
double sl_grid_reach(const struct sl_grid *g);

/* Splits the kernel between a grid of `side` nodes with spacing h and a coarser one of `coarse` nodes that reaches
 * as far. Errors of the split stay well below those of h at that accuracy. */
void sl_grid_split(struct sl_grid *near, struct sl_grid *far, int dims, int accuracy, int window, double h, int side,
		   int coarse);

/* Lets the far grid take its charges from the near grid's nodes instead of the points: near node x is spread as a point
 * at x * near->h / far->h is. Seen from there the layout's corner is at window / 2 of the near grid. The potential is
 * read at the points. */
void sl_grid_feed(const struct sl_grid *near, struct sl_grid *far);

/* For a grid that is fed: tilt[length / 2 + 1], one over the near window's transform at each frequency of one
 * dimension; spectrum * tilt * |charges|^2 adds up to Z. */
void sl_grid_tilt(const struct sl_grid *g, const struct sl_window *w, float *tilt);

/* Near part of the kernel beside a SMOOTH grid, as a function of t = r^2 up to cutoff^2, where value and slope are 0:
 *     near = 1 / (1 + t) - sum_k value[k] t^k,    -d near / dt = 1 / (1 + t)^2 + sum_k slope[k] t^k */
#define SL_CUTOFF_DEGREE 5
struct sl_grid_cutoff {
	float value[SL_CUTOFF_DEGREE + 1], slope[SL_CUTOFF_DEGREE];
};
void sl_grid_cutoff(struct sl_grid_cutoff *out, const struct sl_grid *g);

/* A SMOOTH grid of that side for layouts of that extent: its spacing, from a ladder of eighth octaves, and the cut-off
 * that the accuracy and the window ask for beside it. 2-D (the wide window alone) and 3-D. */
void sl_grid_smooth(struct sl_grid *out, int dims, int accuracy, int window, int side, double extent);

/* The same spreading seen from the coarse nodes: node i gets sum_k weight[k * side + i] * charge[first[i] + k]. */
struct sl_grid_gather {
	int taps;
	float *weight;  /* [taps * side] */
	int *first;     /* [side], so that first + taps <= fed_side */
};
/* 0 or SL_NOMEM. */
int sl_grid_gather_init(struct sl_grid_gather *out, const struct sl_grid *far, const struct sl_window *w);
void sl_grid_gather_finish(struct sl_grid_gather *gather);

/* The kernel's spectrum, window divided out, normalised for unnormalised transforms:
 * spectrum[(length / 2 + 1)^dims], frequency 0 .. length / 2 in each dimension (all others follow
 * by symmetry), x fastest; zero at frequency 0.
 *     potential = inverse(spectrum * forward(charges)) + constant
 *     Z = zero * n^2 - self * n + sum_k spectrum[k] |forward(charges)[k]|^2
 * where self, close to 1, is what one point contributes to the sum by itself. dct
 * transforms [(side + 1)^dims] in place, type I in each dimension, unnormalised (FFTW's
 * REDFT00); NEAR needs none (NULL). Uses OpenMP threads; the result does not depend on their number. Returns 0 or
 * SL_NOMEM. */
int sl_grid_spectrum(const struct sl_grid *g, const struct sl_window *w,
		     void (*dct)(void *context, float *data), void *context,
		     float *spectrum, double *zero, double *self);

/* The longest side of a layout of n nodes, on the mean over a usual run: for forecasts. */
double sl_grid_usual_extent(int dims, double n);

#ifdef __cplusplus
}
#endif
#endif
