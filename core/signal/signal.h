/* signal.h -- dynamics on a graph: each node has one or two values, whose change depends on the values of its
 * neighbours.
 *
 *   sl_param_defaults(&sl_signal_table, &params);
 *   params.model = SL_SIGNAL_FITZHUGH_NAGUMO;
 *   sl_coupling_of_graph(&coupling, graph, &err);
 *   sl_signal_create(&s, coupling, &params, NULL, 0, &err);         (takes the coupling)
 *   do sl_signal_advance(s, 100.0, &status, &err); while (!status.done);
 *   sl_signal_values(s, values);
 *   sl_signal_destroy(s);
 *
 * The operator is the graph's Laplacian, of symmetric weights w (core/signal/coupling.h) with degrees d_i = sum_j w_ij:
 *
 *   combinatorial   (L u)_i = sum_j w_ij (u_i - u_j)           the sum of u is conserved by du/dt = - L u
 *   random_walk     (L u)_i = u_i - (1/d_i) sum_j w_ij u_j     the sum of d_i u_i is conserved
 *
 * The models are
 *
 *   heat             du/dt = - D L u
 *   fitzhugh_nagumo  du/dt = - D L u + u - u^3 / 3 - v + I,    dv/dt = epsilon (u + a - b v)        (FitzHugh 1961)
 *   nagumo           du/dt = - D L u + u (1 - u) (u - a) - v + I,   dv/dt = epsilon (u - b v)       (Nagumo et al.
 * 1962)
 *   sir              dS/dt = - beta S p,   dI/dt = beta S p - gamma I       p_i = sum_j w_ij I_j (random_walk: / d_i)
 *   sir_chance       the stochastic model: each node is susceptible, infected or recovered
 *   pagerank         x = alpha W D^-1 x + (1 - alpha) r, by iteration
 *
 * A stimulus adds to the rate of change of u at some nodes for some time (sir: it infects them at that rate). A step
 * ends exactly when a stimulus begins or ends and when a snapshot is due.
 *
 * Values are in double precision. They depend neither on the number of threads nor on slices or interruptions. Values
 * computed by a device differ by rounding. A run belongs to one thread at a time; uses OpenMP. */
#ifndef SL_SIGNAL_H
#define SL_SIGNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "core/param_table.h"

struct sl_coupling;
struct sl_device;
struct sl_engine;
struct sl_signal;

enum sl_signal_model { SL_SIGNAL_HEAT, SL_SIGNAL_FITZHUGH_NAGUMO, SL_SIGNAL_NAGUMO, SL_SIGNAL_SIR, SL_SIGNAL_SIR_CHANCE,
		       SL_SIGNAL_PAGERANK };
enum sl_signal_laplacian { SL_SIGNAL_COMBINATORIAL, SL_SIGNAL_RANDOM_WALK };
enum sl_signal_edges { SL_SIGNAL_WEIGHTS, SL_SIGNAL_AFFINITIES };
enum sl_signal_direction { SL_SIGNAL_ROWS, SL_SIGNAL_COLUMNS, SL_SIGNAL_BOTH };
enum sl_signal_integrator { SL_SIGNAL_EULER, SL_SIGNAL_RUNGE_KUTTA, SL_SIGNAL_BOGACKI_SHAMPINE,
		SL_SIGNAL_DORMAND_PRINCE,
			    SL_SIGNAL_CRANK_NICOLSON };

#define SL_SIGNAL_FIELDS 2          /* the most values at a node */
#define SL_SIGNAL_AUTO (-1e9)       /* stands for the model's own value of a, b or epsilon */

struct sl_signal_params {
	int model, laplacian, edges, integrator;
	int direction;                  /* pagerank: of an entry (i, j) of a graph that is not symmetric */
	int iterations;                 /* the most steps */
	int snapshots;                  /* number of snapshots, equally spaced in time; the last one is at the end */
	int start_hops, stimulus_hops;  /* nodes within so many edges of start_nodes (stimulus_nodes) belong to them */
	double lambda;                  /* of the affinities */
	double step;                    /* length of a step, in time of the model; 0: auto */
	double tolerance;               /* limit of the error of a step (adaptive), or of the change (pagerank) */
	double duration;                /* of the run, in time of the model */
	double diffusion, a, b, epsilon, current;
	double infection, recovery, damping;
	double start_value, stimulus_amplitude, stimulus_start, stimulus_duration;
	struct sl_param_list start_nodes, stimulus_nodes;
	uint64_t seed;
};
extern const struct sl_param_table sl_signal_table;  /* of struct sl_signal_params, the records `params` here */
/* Checks the parameters against n nodes and an initial state of so many columns (0: there is none). 0 or
 * SL_BADPARAM. */
int sl_signal_check(const void *params, uint32_t n, uint32_t columns, struct sl_error *err);
int sl_signal_fields(const void *params);
/* How a run follows the edges of a graph: SL_SIGNAL_BOTH unless the model is pagerank and the graph is directed. */
int sl_signal_direction(const struct sl_signal_params *params, bool symmetric);

struct sl_signal_status {
	int step;                /* steps done so far */
	int steps;               /* expected number of steps in all */
	double time;             /* time of the model */
	double h;                /* present length of a step */
	bool converged;          /* pagerank: the change is below the tolerance */
	bool done;
};

/* Takes the coupling if it returns 0. initial [n][columns]: the initial state in the user's order, copied; for pagerank
 * it is r. NULL: the model's state of rest, except at start_nodes. SL_BADPARAM (/step, /input and others), SL_NOMEM. */
int sl_signal_create(struct sl_signal **out, struct sl_coupling *coupling, const struct sl_signal_params *params,
		     const float *initial, uint32_t columns, struct sl_error *err);
void sl_signal_destroy(struct sl_signal *s);  /* NULL is fine */

/* Lets a device compute the run from now on, by its operation "signal.passes". Call it before the first advance
 * or after sl_signal_load(). The device is borrowed until sl_signal_destroy(); all further calls belong to its thread.
 * After an error the run is unchanged. SL_DEVMEM, SL_DEVLOST, SL_NOMEM. */
int sl_signal_attach(struct sl_signal *s, const struct sl_engine *engine, struct sl_device *device,
		     struct sl_error *err);

/* Computes for about ms milliseconds, but at most to the end of a step (on a device, of several steps); *ended: a step
 * has ended. SL_BADDATA: values have become infinite. */
int sl_signal_advance(struct sl_signal *s, double ms, bool *ended, struct sl_signal_status *status,
		struct sl_error *err);
/* Limits further advances to end at this step, whose values the caller needs. Initially 0: an advance is at most one
 * step. */
void sl_signal_pause_at(struct sl_signal *s, int step);
/* Ends the run with the values of the last whole step. */
void sl_signal_stop(struct sl_signal *s, struct sl_signal_status *status);
/* Changes the steerable parameters from the next step on. */
void sl_signal_steer(struct sl_signal *s, const struct sl_signal_params *params);
/* The measure of the trace, after the last whole step. pagerank: the sum of changes in the newest iteration (NAN before
 * the first). sir: the mean of I over the nodes. Others: the mean of u, with random_walk weighted by degrees (heat
 * conserves it). */
double sl_signal_level(struct sl_signal *s);

/* The values after the last whole step: [n][fields], in the user's order. If the device is lost, these are the values
 * that were fetched last, and the next advance returns SL_DEVLOST. */
void sl_signal_values(struct sl_signal *s, float *out);
void sl_signal_values_exact(struct sl_signal *s, double *out);
/* The snapshots so far: [*count][n][fields] and times [*count], borrowed until the next advance. */
const float *sl_signal_snapshots(const struct sl_signal *s, int *count, const float **times);
/* Transfers the snapshots and times to the caller, who frees them with free(): copying a GiB would take seconds. Then s
 * can only be destroyed. */
float *sl_signal_take_snapshots(struct sl_signal *s, int *count, float **times);

/* Save and load the state after the last whole step. A run that loads the state, with the same coupling, parameters and
 * initial state, ends with the same bytes. The caller frees *out with free(). SL_BADDATA: the state belongs to another
 * run; then s can only be destroyed. */
int sl_signal_save(struct sl_signal *s, void **out, uint64_t *bytes, struct sl_error *err);
int sl_signal_load(struct sl_signal *s, const void *state, uint64_t bytes, struct sl_error *err);

#endif
