/* grid.h -- the regular grid on which repulsive forces are computed: its window, its spacing, the spectrum of its
 * kernel. Engines share these functions, which are pure and hold no state.
 *
 * Method. n points carry charge 1. Each charge is spread over the w^d grid nodes around the point with a separable
 * window. The grid is convolved by FFT with K(r) = 1 / (1 + r^2). The forces are read from the potential phi with the
 * derivative of the window. Since
 *     sum_j (y_i - y_j) / (1 + |y_i - y_j|^2)^2 = -1/2 grad phi(y_i)
 * one forward and one inverse transform of one channel give all d components of the force (analytic differentiation, as
 * in smooth particle-mesh Ewald, Essmann et al., J. Chem. Phys. 103, 8577 (1995)), and Parseval's theorem gives Z from
 * the spectrum. The kernel's spectrum is divided by the window's transform twice, once for spreading and once for
 * reading.
 *
 * Three measures make this as accurate as a transform per component:
 *   - The spectrum is that of K, cut off at the grid's highest frequency. Sampling K would alias the frequencies beyond
 *     it; they are known in closed form here and are subtracted.
 *   - The mean of the potential (the zero frequency) is left out. It exerts no force, and in a layout that has not
 *     spread yet it is 1e8 times larger than the part that does.
 *   - Beyond the distances that occur, K is continued smoothly to the end of the period. A kink of the periodic kernel
 *     would cause oscillations.
 *
 * Two grids instead of a padded one. K decays slowly, so a periodic convolution needs a grid twice as wide as the
 * layout in each dimension, half of it empty. But K is a sum of Gaussians,
 *     1 / (1 + r^2) = integral over s > 0 of exp(-s (1 + r^2)).
 * The part s > S of this integral is K_near = exp(-S (1 + r^2)) / (1 + r^2). It vanishes beyond a few units, so its
 * grid needs no padding, only a margin of that width. The other part is K_far = K - K_near. Its spectrum vanishes
 * beyond a few sqrt(S), so its grid can be several times coarser; it is padded, but small. Force, potential and Z are
 * the sums of both parts. The splitting is Ewald's idea. Convolving both parts on grids is that of the multilevel
 * summation method (Hardy et al., J. Chem. Theory Comput. 11, 766 (2015)), and so is the transfer between the grids: an
 * engine may spread points on both grids, or spread the nodes of the fine grid on the coarse one with the same window
 * and read the potential back in the same way. The second has no cost per point.
 *
 * Pairs and a grid. If points are few in a wide layout, the near part of the kernel is summed over the pairs closer
 * than a cut-off, and one coarse padded grid computes the rest (particle-particle particle-mesh, Hockney and Eastwood,
 * Computer Simulation Using Particles, 1988). The near part is then not K_near, but the function that makes the error
 * of the coarse grid least; see sl_grid_cutoff(). */
#ifndef SL_GRID_H
#define SL_GRID_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SL_WINDOW_MAX 6     /* widest window, in grid nodes */
#define SL_WINDOW_NARROW 4  /* the narrow window, of another family; see below */
#define SL_WINDOW_LANES 8   /* coefficients are padded with zeros to this many taps */
#define SL_WINDOW_DEGREE 9

/* Window of w taps: "exponential of semicircle" (Barnett, Magland, af Klinteberg, SIAM J. Sci. Comput. 41 (2019)),
 * exp(beta (sqrt(1 - x^2) - 1)), as one polynomial a tap. A point at u (in grid units) touches nodes i0 .. i0 + w - 1
 * with i0 = ceil(u - w/2); with v = 2 (i0 - u + w/2) - 1 in [-1, 1)
 *     weight of node i0 + t:          sum_k value[k][t] v^k
 *     derivative by (node - u):       sum_k slope[k][t] v^k
 * The narrow window (w = 4) is exp(beta (sqrt(1 - x^2) - 1)), two nodes wide, smoothed twice over one node. Its
 * transform has double zeros at the frequencies that alias to 0, as that of a B-spline. In a wide layout the smooth
 * part of the potential is far larger than the differences between neighbouring nodes; with other narrow windows it
 * causes ripples, and with this one it does not. */
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

/* The part of the kernel that a grid computes. */
enum sl_grid_part {
	SL_GRID_WHOLE,  /* all of it, padded to twice the side */
	SL_GRID_NEAR,   /* s > split, periodic, not padded */
	SL_GRID_FAR,    /* s < split, padded to twice the side */
	SL_GRID_SMOOTH, /* all but the near part, which ends at `cutoff` and is summed over pairs; padded */
};

/* The properties of a grid. Grids of equal values have equal spectra. */
struct sl_grid {
	int dims;
	int side;     /* grid nodes a side */
	int window;   /* width */
	double h;     /* spacing */
	int part;     /* enum sl_grid_part */
	double split; /* S of NEAR and FAR, else 0 */
	double cutoff; /* of SMOOTH, else 0 */
	double exponent;  /* the kernel is (1 + r^2)^-exponent; 0 stands for 1 */
	double through; /* FAR: spacing of the finer grid with which charges and potential are exchanged; 0: none */
	int fed_side;   /* FAR: side of that finer grid, if it only supplies the charges and the potential is read at the
			 * points; else 0 */
};

bool sl_grid_equal(const struct sl_grid *a, const struct sl_grid *b);

/* Length of the transforms: side (NEAR) or twice that. */
int sl_grid_length(const struct sl_grid *g);

/* x^k, for k >= 0: the nodes of a grid with x a side. */
static inline uint64_t sl__power(uint64_t x, int k) { return k ? x * sl__power(x, k - 1) : 1; }

/* The widest spacing, and the window, that give an accuracy (SL_DRAFT, SL_NORMAL, SL_FINE). */
double sl_grid_spacing(int dims, int accuracy);
int sl_grid_window(int dims, int accuracy);
/* The window for engines that run faster with the narrow one: narrow in 2-D except for SL_FINE, and in 3-D for
 * SL_DRAFT. Force errors at the same spacing are 1.1 to 2.5 times as large. */
int sl_grid_narrow_window(int dims, int accuracy);
/* The same for SMOOTH grids: narrow except for SL_FINE. */
int sl_grid_smooth_window(int accuracy);
/* The widest spacing for the kernel (1 + r^2)^-exponent. For exponents above 1 the kernel is narrower, and so is the
 * spacing. */
double sl_grid_kernel_spacing(int dims, int accuracy, double exponent);
/* True if this kernel can be divided between two grids. */
bool sl_grid_splits(int dims, double exponent);

/* Chooses the grid for a layout whose longest side is extent: the smallest allowed side that keeps h within the
 * accuracy, then the smallest allowed h with which the layout fits. fixed_side > 0: this side, and the spacing that it
 * needs. A layout too wide for the largest side gets a wider h. */
void sl_grid_choose(struct sl_grid *out, int dims, int accuracy, int window, int fixed_side, double extent);

/* The same for the kernel (1 + r^2)^-exponent. Its spectrum falls as exp(-k) for all exponents up to 1. */
void sl_grid_choose_kernel(struct sl_grid *out, int dims, int accuracy, int window, int fixed_side, double extent,
			   double exponent);

/* The same for two grids. The fine side is even. The coarse side is a function of the fine one, chosen so that the
 * transforms of both cost least; its spacing is at least 3 h. The largest fine side exceeds that of a padded grid.
 * False if two grids are of no use: in 1-D, with an odd or small fixed_side, if the layout is narrower than the near
 * part, and for exponents above 4. */
bool sl_grid_choose_two(struct sl_grid *near, struct sl_grid *far, int dims, int accuracy, int fixed_side,
			double extent, double exponent);

/* The longest side of a layout that fits grid g; a layout on two grids must fit the far one. */
double sl_grid_reach(const struct sl_grid *g);

/* Divides the kernel between a grid of `side` nodes with spacing h and a coarser one of `coarse` nodes and the same
 * width. The error of the split is well below that of the spacing h at that accuracy. */
void sl_grid_split(struct sl_grid *near, struct sl_grid *far, int dims, int accuracy, int window, double h, int side,
		   int coarse);

/* Makes the far grid take its charges from the nodes of the near grid instead of the points: near node x is spread like
 * a point at x * near->h / far->h. In these coordinates the corner of the layout is at window / 2 of the near grid. The
 * potential is still read at the points. */
void sl_grid_feed(const struct sl_grid *near, struct sl_grid *far);

/* For a far grid after sl_grid_feed(): tilt[length / 2 + 1] is 1 / transform of the near window, at each frequency of
 * one dimension. The sum of spectrum * tilt * |charges|^2 gives Z. */
void sl_grid_tilt(const struct sl_grid *g, const struct sl_window *w, float *tilt);

/* The near part of the kernel beside a SMOOTH grid, as a function of t = r^2 up to cutoff^2, where value and slope are
 * 0:
 *     near = 1 / (1 + t) - sum_k value[k] t^k,    -d near / dt = 1 / (1 + t)^2 + sum_k slope[k] t^k */
#define SL_CUTOFF_DEGREE 5
struct sl_grid_cutoff {
	float value[SL_CUTOFF_DEGREE + 1], slope[SL_CUTOFF_DEGREE];
};
void sl_grid_cutoff(struct sl_grid_cutoff *out, const struct sl_grid *g);

/* 2-D layouts of at most this extent have no smooth grids. With pairs from the end of early exaggeration on, pubmed
 * ended after 1,000 iterations at a KL divergence of 2.655 and a recall of 0.37, instead of 2.602 and 0.47. With
 * exact sums it did so, too. The cause is not known: the leaves of a hub lie upon one another at that time, and the
 * rounding of a grid may separate them sooner. */
#define SL_GRID_FLAT_LEAST 300

/* Makes a SMOOTH grid of that side for layouts of that extent: its spacing, rounded up to a power of 2^(1/8), and the
 * cut-off that the accuracy needs with the window. 2-D (only the wide window) and 3-D. */
void sl_grid_smooth(struct sl_grid *out, int dims, int accuracy, int window, int side, double extent);

/* The spreading of sl_grid_feed() as a sum for each far node in one dimension: node i gets
 * sum_k weight[k * side + i] * charge[first[i] + k]. */
struct sl_grid_gather {
	int taps;
	float *weight;  /* [taps * side] */
	int *first;     /* [side]; first[i] + taps <= fed_side */
};
/* 0 or SL_NOMEM. */
int sl_grid_gather_init(struct sl_grid_gather *out, const struct sl_grid *far, const struct sl_window *w);
void sl_grid_gather_finish(struct sl_grid_gather *gather);

/* Computes the kernel's spectrum, divided by the window's transform twice and scaled for transforms that are not
 * normalised: spectrum[(length / 2 + 1)^dims], frequencies 0 .. length / 2 in each dimension (the others follow by
 * symmetry), x fastest; 0 at frequency 0.
 *     potential = inverse(spectrum * forward(charges)) + constant
 *     Z = zero * n^2 - self * n + sum_k spectrum[k] |forward(charges)[k]|^2
 * where self, close to 1, is the contribution of one point by itself to the sum. dct transforms [(side + 1)^dims] in
 * place, type I in each dimension, unnormalised (FFTW's REDFT00); NULL for NEAR grids. Uses OpenMP; the result does not
 * depend on the number of threads. Returns 0 or SL_NOMEM. */
int sl_grid_spectrum(const struct sl_grid *g, const struct sl_window *w, void (*dct)(void *context, float *data),
		     void *context, float *spectrum, double *zero, double *self);

/* The longest side of a layout of n nodes, averaged over a typical run; for forecasts. */
double sl_grid_usual_extent(int dims, double n);

#ifdef __cplusplus
}
#endif
#endif
