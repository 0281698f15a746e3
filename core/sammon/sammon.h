/* sammon.h -- layouts whose distances are those of the input: Sammon's mapping and metric multidimensional scaling, of
 * points; and of a graph by the lengths of its shortest paths.
 *
 *   sl_sammon_defaults(&params);
 *   sl_sammon_create(&m, &input, &params, &err);
 *   do sl_sammon_step(m, &status, &err); while (!status.done);
 *   sl_sammon_layout(m, y);
 *   sl_sammon_destroy(m);
 *
 * D_ij is the distance of two points in the input, d_ij in the layout. What is made small is
 *   sammon   sum (D_ij - d_ij)^2 / D_ij  over  sum D_ij      (Sammon, IEEE Trans. Computers C-18, 1969)
 *   metric   sum (D_ij - d_ij)^2  over  sum D_ij^2           (the square of Kruskal's stress 1, Psychometrika 29, 1964)
 *   kamada_kawai   sum (D_ij - d_ij)^2 / D_ij^2  over the number of pairs   (Kamada and Kawai, Inf. Proc. Letters 31,
 *            1989; of graphs)
 * over all pairs i < j. An iteration is a pass over the pairs. One that finds the stress higher is taken back, and the
 * next one takes a shorter step; so the stress in the status never rises (but see below).
 *
 *   newton    Sammon's: the gradient over the absolute value of its own derivative, coordinate by coordinate, times
 *             `step`, his "magic factor"
 *   gradient  steepest descent; the length of a step follows Barzilai and Borwein (IMA J. Numer. Anal. 8, 1988), and is
 *             halved until the stress falls enough (Armijo)
 *   smacof    majorisation (de Leeuw, 1977; Borg and Groenen, Modern Multidimensional Scaling, 2005, chapter 8). With
 *             equal weights that is the Guttman transform. Otherwise the matrix of weights V is replaced by its bound
 *             2 diag(V), and a step goes nearly twice as far as to the minimum of the majorising function, which does
 *             not let the stress rise either (de Leeuw and Heiser, 1980): no system of equations is to be solved
 *
 * Equal rows of a table are one point of the sum of their weights, and have one place in the layout: so no distance is
 * zero. Pairs of different points that have the same place in the layout exert no force on each other.
 *
 * Distances are computed again in each pass, block by block, from float32 coordinates; those of the first blocks, up to
 * SL_SAMMON_CACHE_BYTES, are kept. With more columns than a few they come from inner products, and where these would
 * cancel, from differences. Sums are double precision, in an order that depends on the input alone: neither the number
 * of threads nor how a run is cut into parts changes a byte.
 *
 * Beyond SL_SAMMON_EXACT points an iteration compares each point with about SL_SAMMON_PARTNERS others, the points of
 * its block and of a few other blocks, drawn anew each time: stochastic approximation (Robbins and Monro, 1951). No
 * iteration is taken back; the steps become shorter, 20 / (20 + t) of the first one. The stress is an estimate, from
 * partners that the layout was not fitted to yet. (Partners that stay the same, landmarks above all, let points fall
 * together that are not compared: with 128 landmarks among 1,500 points in 16 dimensions the stress over all pairs was
 * four times as high, with 320 partners each of 2,000 points 1.4 times.)
 *
 * A graph's D_ij are the lengths of shortest paths. All pairs count up to SL_SAMMON_ALL nodes; with more of them, or
 * fewer pivots, each node is compared with its neighbours and with pivots (terms.h: a sparse stress). Components are
 * laid out each by itself, and put beside each other. With smacof the system of V is solved, by conjugate gradients
 * (Gansner, Koren and North, GD 2004); automatic steps go farther than to the minimum of the majorising function, by
 * Barzilai and Borwein's rule in the norm of V. The run ends when ten iterations have lowered the stress by less than
 * ten times the tolerance. Distances come first, in slices, as an iteration does.
 *
 * Belongs to one thread at a time; uses OpenMP. */
#ifndef SL_SAMMON_H
#define SL_SAMMON_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

struct sl_device;
struct sl_engine;
struct sl_graph;
struct sl_param_table;
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
extern const struct sl_param_table sl_sammon_table;
void sl_sammon_defaults(struct sl_sammon_params *params);
/* What the table does not know, of n points, or of n nodes of a graph. */
int sl_sammon_check(const struct sl_sammon_params *params, uint32_t n, struct sl_error *err);
int sl_sammon_check_graph(const struct sl_sammon_params *params, uint32_t n, struct sl_error *err);
/* Partners of each of n points, about; n: all pairs count. */
uint32_t sl_sammon_partners(const struct sl_sammon_params *params, uint32_t n);
/* Memory beside the input; and seconds of an iteration on one thread. */
uint64_t sl_sammon_bytes(const struct sl_sammon_params *params, uint32_t n, uint32_t d);
double sl_sammon_seconds(const struct sl_sammon_params *params, uint32_t n, uint32_t d);
/* Of a graph of n nodes, with so many entries a node: pivots; n: all pairs count. Memory; seconds of an iteration on
 * one thread, and of all distances. */
uint32_t sl_sammon_pivots(const struct sl_sammon_params *params, uint32_t n);
uint64_t sl_sammon_graph_bytes(const struct sl_sammon_params *params, uint32_t n, uint32_t degree);
double sl_sammon_graph_seconds(const struct sl_sammon_params *params, uint32_t n, uint32_t degree, double *distances);

struct sl_sammon_status {
	int iteration;         /* passes that are done */
	double stress;         /* of the layout; NaN before the first pass */
	double gradient_norm;  /* root mean square over the points of the gradient's length; NaN before */
	double step;           /* in force */
	bool converged;
	bool done;
};

/* Borrows points until it is destroyed. start: [points->n][dims] to begin with, copied, or NULL: as params say.
 * SL_BADPARAM (/partners), SL_BADDATA (a start that is not finite), SL_NOMEM. */
int sl_sammon_create(struct sl_sammon **out, const struct sl_points *points, const struct sl_sammon_params *params,
		     const float *start, struct sl_error *err);
/* Of a graph, borrowed for the call. SL_BADPARAM (/lengths, /pivots, ...), SL_NOMEM. */
int sl_sammon_create_graph(struct sl_sammon **out, const struct sl_graph *g, const struct sl_sammon_params *params,
			   struct sl_error *err);
/* From now on the device does the passes over the pairs, by engine->sammon_passes, and is borrowed until the run is
 * destroyed: before the first step, after sl_sammon_load(), not of a graph's run. On the device's thread, as is all
 * else from then on. Stresses are those of the processor to rounding, and the same in every run on the same device.
 * After an error the run is as it was. SL_DEVMEM, SL_DEVLOST, SL_NOMEM. */
int sl_sammon_attach(struct sl_sammon *m, const struct sl_engine *engine, struct sl_device *device,
		     struct sl_error *err);
uint64_t sl_sammon_device_bytes(const struct sl_sammon_params *params, uint32_t n, uint32_t d);
void sl_sammon_destroy(struct sl_sammon *m);  /* NULL is fine */

/* One iteration. Nothing happens after the end. */
int sl_sammon_step(struct sl_sammon *m, struct sl_sammon_status *status, struct sl_error *err);
/* The same in parts: goes on for about ms milliseconds, at most to the end of the iteration (*whole). */
int sl_sammon_advance(struct sl_sammon *m, double ms, bool *whole, struct sl_sammon_status *status,
		      struct sl_error *err);
/* The run ends with the layout that it has. */
void sl_sammon_stop(struct sl_sammon *m, struct sl_sammon_status *status);
/* Another step, for the iterations to come; 0: automatic. */
void sl_sammon_set_step(struct sl_sammon *m, double step);

/* y [points->n][dims]: the layout of the least stress so far, centred, in the units of the input. */
void sl_sammon_layout(const struct sl_sammon *m, float *y);
/* The same of a graph, y [graph->n][dims]: components beside each other, isolated nodes around them. SL_NOMEM. */
int sl_sammon_graph_layout(const struct sl_sammon *m, float *y, struct sl_error *err);
/* The gradient of the stress with respect to the points' coordinates there, [points->n][dims]; of points that are
 * equal, the sum's equal share. For tests. SL_CONFLICT before the first iteration. */
int sl_sammon_gradient(const struct sl_sammon *m, double *gradient, struct sl_error *err);

/* Also within an iteration. The buffer is the caller's to free(). One that is loaded, from the same input, parameters
 * and start, goes on to the same bytes as one that was never interrupted, on the same machine. SL_BADDATA: not a state
 * of such a run; m is as it was. The step may be another one: it is steered to that. */
int sl_sammon_save(const struct sl_sammon *m, void **out, uint64_t *bytes, struct sl_error *err);
int sl_sammon_load(struct sl_sammon *m, const void *state, uint64_t bytes, struct sl_error *err);

#endif
