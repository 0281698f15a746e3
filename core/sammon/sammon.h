/* sammon.h -- layouts whose distances approximate those of the input: Sammon's mapping and metric multidimensional
 * scaling of points, and of graphs with the lengths of shortest paths as distances.
 *
 *   sl_param_defaults(&sl_sammon_table, &params);
 *   sl_sammon_create(&m, &input, &params, &err);
 *   do sl_sammon_step(m, &status, &err); while (!status.done);
 *   sl_sammon_layout(m, y);
 *   sl_sammon_destroy(m);
 *
 * D_ij is the distance of two points in the input, d_ij in the layout. A run minimises one of these stresses:
 *   sammon   sum (D_ij - d_ij)^2 / D_ij  over  sum D_ij      (Sammon, IEEE Trans. Computers C-18, 1969)
 *   metric   sum (D_ij - d_ij)^2  over  sum D_ij^2           (the square of Kruskal's stress 1, Psychometrika 29, 1964)
 *   kamada_kawai   sum (D_ij - d_ij)^2 / D_ij^2  over the number of pairs   (Kamada and Kawai, Inf. Proc. Letters 31,
 *            1989; of graphs)
 * Sums are over all pairs i < j. An iteration is a pass over the pairs. If the stress has risen, the iteration is
 * undone, and the next one uses a shorter step. So the stress in the status never rises (for an exception see below).
 *
 *   newton    Sammon's method: each coordinate moves by its gradient, divided by the absolute value of the second
 *             derivative, times `step`, his "magic factor"
 *   gradient  steepest descent; the length of a step follows Barzilai and Borwein (IMA J. Numer. Anal. 8, 1988), and is
 *             halved until the stress falls enough (Armijo)
 *   smacof    majorisation (de Leeuw, 1977; Borg and Groenen, Modern Multidimensional Scaling, 2005, chapter 8). With
 *             equal weights this is the Guttman transform. With others, the matrix of weights V is replaced by its
 *             bound 2 diag(V), so that no system of equations has to be solved. A step goes nearly twice as far as the
 *             minimum of the majorising function; the stress cannot rise at that length either (de Leeuw and Heiser,
 *             1980)
 *
 * Equal rows of a table are one point, whose weight is the sum of theirs, with one position in the layout. So no input
 * distance is zero. Pairs of different points with the same position exert no force on each other.
 *
 * Each pass computes the distances again, block by block, from float32 coordinates; only those of the first blocks, up
 * to SL_SAMMON_CACHE_BYTES, are stored. With more than a few columns they come from inner products, except where these
 * cancel; otherwise from differences. Sums are in double precision, in an order that depends only on the input. So
 * neither the number of threads nor the division into slices changes a byte.
 *
 * Beyond SL_SAMMON_EXACT points an iteration compares each point with about SL_SAMMON_PARTNERS others: those of its own
 * block and of a few other blocks, which are drawn again for each iteration (stochastic approximation, Robbins and
 * Monro, 1951). No iteration is undone. Steps become shorter: step t is 20 / (20 + t) of the first. The stress is an
 * estimate, from partners to which the layout was not fitted yet. (With the same partners in all iterations, points
 * that are never compared collapse: with 128 landmarks among 1,500 points in 16 dimensions the stress over all pairs
 * was four times as high, with 320 fixed partners for each of 2,000 points 1.4 times.)
 *
 * For a graph, D_ij are the lengths of shortest paths. Up to SL_SAMMON_ALL nodes, all pairs count. With more nodes, or
 * with fewer pivots, each node is compared with its neighbours and with pivots (a sparse stress; terms.h). Each
 * component is laid out by itself; the components are placed side by side. smacof solves the system of V by conjugate
 * gradients (Gansner, Koren and North, GD 2004). Automatic steps go beyond the minimum of the majorising function, by
 * the rule of Barzilai and Borwein in the norm of V. A run ends when ten iterations have lowered the stress by less
 * than ten times the tolerance. The distances are computed before the first iteration, in slices.
 *
 * A run belongs to one thread at a time; uses OpenMP. */
#ifndef SL_SAMMON_H
#define SL_SAMMON_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "core/param_table.h"

struct sl_device;
struct sl_engine;
struct sl_graph;
struct sl_points;
struct sl_sammon;

#define SL_SAMMON_EXACT 100000u
#define SL_SAMMON_PARTNERS 4096u
#define SL_SAMMON_CACHE_BYTES (256ull << 20)
#define SL_SAMMON_ALL 4096u    /* nodes of a graph of which all pairs count */
#define SL_SAMMON_PIVOTS 200u  /* of a part of a graph with more */

enum sl_sammon_stress { SL_SAMMON_SAMMON, SL_SAMMON_METRIC, SL_SAMMON_KAMADA_KAWAI, SL_SAMMON_STRESS_AUTO };
enum sl_sammon_optimiser { SL_SAMMON_AUTO, SL_SAMMON_NEWTON, SL_SAMMON_GRADIENT, SL_SAMMON_SMACOF };
enum sl_sammon_start { SL_SAMMON_START_AUTO, SL_SAMMON_START_PCA, SL_SAMMON_START_RANDOM, SL_SAMMON_START_CLASSICAL };
enum sl_sammon_lengths { SL_SAMMON_UNIT, SL_SAMMON_WEIGHTS, SL_SAMMON_INVERSE };

struct sl_sammon_params {
	int stress;            /* enum sl_sammon_stress */
	int dims;              /* of the layout, 1 to 3 */
	int optimiser;         /* enum sl_sammon_optimiser */
	int start;             /* enum sl_sammon_start */
	int partners;          /* points; 0: automatic */
	int lengths;           /* enum sl_sammon_lengths, of a graph's edges */
	int pivots;            /* graphs; 0: automatic */
	int iterations;        /* most passes */
	double step;           /* 0: automatic */
	double tolerance;      /* the run ends when an iteration lowers the stress by less than this times the stress */
	uint64_t seed;         /* of a random start, of partners, and of the first pivots */
};
extern const struct sl_param_table sl_sammon_table;  /* of struct sl_sammon_params, the records `params` here */
/* Check the parameters against n points, or n nodes of a graph. 0 or SL_BADPARAM. */
int sl_sammon_check(const struct sl_sammon_params *params, uint32_t n, struct sl_error *err);
int sl_sammon_check_graph(const struct sl_sammon_params *params, uint32_t n, struct sl_error *err);
/* The approximate number of partners of each of n points; n: all pairs count. */
uint32_t sl_sammon_partners(const struct sl_sammon_params *params, uint32_t n);
/* Bytes of host memory beside the input; and seconds of an iteration on one thread. */
uint64_t sl_sammon_bytes(const void *params, uint32_t n, uint32_t d);
double sl_sammon_seconds(const struct sl_sammon_params *params, uint32_t n, uint32_t d);
/* For a graph of n nodes with `degree` entries a node: the number of pivots (n: all pairs count); bytes of host memory;
 * seconds of an iteration on one thread, and *distances, the seconds of computing all distances. */
uint32_t sl_sammon_pivots(const struct sl_sammon_params *params, uint32_t n);
uint64_t sl_sammon_graph_bytes(const void *params, uint32_t n, uint32_t degree);
double sl_sammon_graph_seconds(const struct sl_sammon_params *params, uint32_t n, uint32_t degree, double *distances);

struct sl_sammon_status {
	int iteration;         /* passes that are done */
	double stress;         /* of the layout; NaN before the first pass */
	double gradient_norm;  /* root mean square over the points of the gradient's length; NaN before */
	double step;           /* in force */
	bool converged;
	bool done;
};

/* Borrows points until sl_sammon_destroy(). start: the initial layout [points->n][dims], copied; NULL: params->start.
 * SL_BADPARAM (/partners), SL_BADDATA (the start is not finite), SL_NOMEM. */
int sl_sammon_create(struct sl_sammon **out, const struct sl_points *points, const struct sl_sammon_params *params,
		     const float *start, struct sl_error *err);
/* Makes a run for a graph, which is borrowed only for this call. SL_BADPARAM (/lengths, /pivots, ...), SL_NOMEM. */
int sl_sammon_create_graph(struct sl_sammon **out, const struct sl_graph *g, const struct sl_sammon_params *params,
			   struct sl_error *err);
/* Lets a device do the passes over the pairs from now on, by its operation "sammon.passes". Call it before the first
 * step or after sl_sammon_load(); not for runs of graphs. The device is borrowed until sl_sammon_destroy(). This call
 * and all later ones belong to the device's thread. Stresses equal the processor's up to rounding, and are the same in
 * every run on the same device. After an error the run is unchanged. SL_DEVMEM, SL_DEVLOST, SL_NOMEM. */
int sl_sammon_attach(struct sl_sammon *m, const struct sl_engine *engine, struct sl_device *device,
		     struct sl_error *err);
uint64_t sl_sammon_device_bytes(const void *params, uint32_t n, uint32_t d);
void sl_sammon_destroy(struct sl_sammon *m);  /* NULL is fine */

/* Does one iteration; does nothing after the end. */
int sl_sammon_step(struct sl_sammon *m, struct sl_sammon_status *status, struct sl_error *err);
/* The same in parts: computes for about ms milliseconds, but at most to the end of the iteration (*ended is then
 * true). */
int sl_sammon_advance(struct sl_sammon *m, double ms, bool *ended, struct sl_sammon_status *status,
		      struct sl_error *err);
/* Ends the run with its present layout. */
void sl_sammon_stop(struct sl_sammon *m, struct sl_sammon_status *status);
/* Changes the step of the following iterations; 0: automatic. */
void sl_sammon_set_step(struct sl_sammon *m, double step);

/* y [points->n][dims]: the layout of the least stress so far, centred, in the units of the input. */
void sl_sammon_layout(const struct sl_sammon *m, float *y);
/* The same for a graph, y [graph->n][dims]: components side by side, isolated nodes around them. SL_NOMEM. */
int sl_sammon_graph_layout(const struct sl_sammon *m, float *y, struct sl_error *err);
/* For tests: the gradient of the stress of that layout with respect to the coordinates, [points->n][dims]; equal points
 * get equal shares of their sum. SL_CONFLICT before the first iteration. */
int sl_sammon_gradient(const struct sl_sammon *m, double *gradient, struct sl_error *err);

/* Save and load a state, also within an iteration. On the same machine, a run that loads the state, with the same
 * input, parameters and start, ends with the same bytes as one that was never interrupted. The caller frees *out with
 * free(). Only params->step may differ; it applies from then on. SL_BADDATA: the state belongs to another run; m is
 * unchanged. */
int sl_sammon_save(const struct sl_sammon *m, void **out, uint64_t *bytes, struct sl_error *err);
int sl_sammon_load(struct sl_sammon *m, const void *state, uint64_t bytes, struct sl_error *err);

#endif
