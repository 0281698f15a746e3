/* signal.h -- dynamics on a graph: one or two values at each node that change by those of its neighbours.
 *
 *   sl_signal_defaults(&params);
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
 *   random_walk     (L u)_i = u_i - (1/d_i) sum_j w_ij u_j     the sum of d_i u_i is
 *
 * and the models are
 *
 *   heat             du/dt = - D L u
 *   fitzhugh_nagumo  du/dt = - D L u + u - u^3 / 3 - v + I,    dv/dt = epsilon (u + a - b v)        (FitzHugh 1961)
 *   nagumo           du/dt = - D L u + u (1 - u) (u - a) - v + I,   dv/dt = epsilon (u - b v)       (Nagumo et al.
 * 1962)
 *   sir              dS/dt = - beta S p,   dI/dt = beta S p - gamma I       p_i = sum_j w_ij I_j (random_walk: / d_i)
 *   sir_chance       the same with chance: each node is susceptible, infected or recovered
 *   pagerank         x = alpha W D^-1 x + (1 - alpha) r, by iteration
 *
 * A stimulus adds to the rate of change of u at some nodes for some time (sir: it infects them at that rate). Steps end
 * exactly where a stimulus begins or ends and where a snapshot is due.
 *
 * Values are in double precision. The number of threads, slices and interruptions change no byte; those of a device
 * differ by rounding. Belongs to one thread at a time; uses OpenMP. */
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
enum sl_signal_integrator { SL_SIGNAL_EULER, SL_SIGNAL_RUNGE_KUTTA, SL_SIGNAL_BOGACKI_SHAMPINE,
		SL_SIGNAL_DORMAND_PRINCE,
			    SL_SIGNAL_CRANK_NICOLSON };

#define SL_SIGNAL_FIELDS 2          /* values at a node, at most */
#define SL_SIGNAL_AUTO (-1e9)       /* of a, b and epsilon: by the model */

struct sl_signal_params {
	int model, laplacian, edges, integrator;
	int iterations;                 /* steps at most */
	int snapshots;                  /* at equal distances in time, the last one at the end */
	int start_hops, stimulus_hops;
	double lambda;                  /* of the affinities */
	double step;                    /* of time; 0: auto */
	double tolerance;               /* of the error of a step (adaptive); of the change (pagerank) */
	double duration;                /* of time */
	double diffusion, a, b, epsilon, current;
	double infection, recovery, damping;
	double start_value, stimulus_amplitude, stimulus_start, stimulus_duration;
	struct sl_param_list start_nodes, stimulus_nodes;
	uint64_t seed;
};
extern const struct sl_param_table sl_signal_table;
void sl_signal_defaults(struct sl_signal_params *params);
/* What the table does not know, for n nodes; columns: of an initial state, 0: none is given. */
int sl_signal_check(const struct sl_signal_params *params, uint32_t n, uint32_t columns, struct sl_error *err);
int sl_signal_fields(const struct sl_signal_params *params);

struct sl_signal_status {
	int step;                /* done so far */
	int steps;               /* that are expected in all */
	double time;             /* of the model */
	double h;                /* the step in force */
	bool converged;          /* pagerank: the change is below the tolerance */
	bool done;
};

/* Takes the coupling if it succeeds. initial [n][columns], the user's order, copied; or NULL: the model's state of
 * rest, but for start_nodes. Of pagerank it is r. SL_BADPARAM (/step, /input and so on), SL_NOMEM. */
int sl_signal_create(struct sl_signal **out, struct sl_coupling *coupling, const struct sl_signal_params *params,
		     const float *initial, uint32_t columns, struct sl_error *err);
void sl_signal_destroy(struct sl_signal *s);  /* NULL is fine */

/* From now on the device computes, by engine->signal_passes, and is borrowed until the run is destroyed: before the
 * first advance or after load(). All calls are then on the device's thread. After an error the run is as it was.
 * SL_DEVMEM, SL_DEVLOST, SL_NOMEM. */
int sl_signal_attach(struct sl_signal *s, const struct sl_engine *engine, struct sl_device *device,
		     struct sl_error *err);

/* Goes on for about ms milliseconds, at most to the end of a step, on a device perhaps of several; *whole: it came to
 * the end of one. SL_BADDATA: values have become infinite. */
int sl_signal_advance(struct sl_signal *s, double ms, bool *whole, struct sl_signal_status *status,
		struct sl_error *err);
/* An advance does not go beyond this step, whose values are wanted. At first 0: each advance is one step. */
void sl_signal_pause_at(struct sl_signal *s, int step);
/* The run ends with the values that it has, those of the last whole step. */
void sl_signal_stop(struct sl_signal *s, struct sl_signal_status *status);
/* Parameters that are steerable change from the next step on. */
void sl_signal_steer(struct sl_signal *s, const struct sl_signal_params *params);
/* As of the last whole step. pagerank: the sum of changes in the newest iteration (NAN before the first). Else a mean
 * over the nodes: of u, with random_walk weighted by degrees (what heat conserves); of sir the mean of I. */
double sl_signal_level(struct sl_signal *s);

/* After the last whole step: [n][fields], the user's order. If the device is lost, those fetched before, and the next
 * advance says so. */
void sl_signal_values(struct sl_signal *s, float *out);
void sl_signal_values_exact(struct sl_signal *s, double *out);
/* Those recorded so far: [*count][n][fields], borrowed until the next advance; times [*count]. */
const float *sl_signal_snapshots(const struct sl_signal *s, int *count, const float **times);
/* The caller frees them, and the times. A copy of a GiB would take seconds. Then s can only be destroyed. */
float *sl_signal_take_snapshots(struct sl_signal *s, int *count, float **times);

/* As of the last whole step. The buffer is the caller's to free(). One that is loaded, of the same coupling, parameters
 * and initial state, goes on to the same bytes. SL_BADDATA: not a state of such a run; then s can only be destroyed. */
int sl_signal_save(struct sl_signal *s, void **out, uint64_t *bytes, struct sl_error *err);
int sl_signal_load(struct sl_signal *s, const void *state, uint64_t bytes, struct sl_error *err);

#endif
