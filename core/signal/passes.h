/* passes.h -- steps of signals, done by an engine that has a device (signal_passes of struct sl_engine).
 * core/signal/device.c uses them in place of the passes of this room.
 *
 * The weights and the values stay on the device; values come back by get(). Rows are those of the coupling, in its
 * order. Values are in double precision. Sums differ from those of the processor by rounding alone, and are the same in
 * every run: nothing depends on the order in which threads arrive. All calls are on the device's thread, return when
 * the work is done, and give 0 or a negative code with err (SL_DEVLOST, SL_DEVMEM, SL_INTERNAL), after which the passes
 * can only be closed. */
#ifndef SL_SIGNAL_PASSES_H
#define SL_SIGNAL_PASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_coupling;

#define SL__SIGNAL_STAGES 7

/* Numbers of the models' equations, for the step under way. */
struct sl__rates {
	int model;
	bool random_walk;
	double diffusion, a, b, epsilon, current, infection, recovery;
	double stimulus;               /* amplitude; 0: it is off */
};

struct sl__tableau {
	int stages;
	bool adaptive;                 /* the last stage is at the new values; error has the weights of the error */
	double order;                  /* of the error estimate, plus 1 */
	double real;                   /* stable for steps from 0 to this, times 1 / the largest eigenvalue */
	double a[SL__SIGNAL_STAGES][SL__SIGNAL_STAGES];  /* a[s]: from the slopes before it to stage s; the last row:
			to the end */
	double error[SL__SIGNAL_STAGES];
};

/* What a device gets of a run; host memory, borrowed until the passes are closed. */
struct sl_signal_table {
	const struct sl_coupling *coupling;
	const struct sl__tableau *tableau;  /* of explicit methods, else NULL */
	int model, fields;
	bool random_walk;
	const uint8_t *stimulated;     /* [n], or NULL */
	const double *restart;         /* [n], pagerank */
	double damping;
	uint64_t seed;
};

/* Conjugate gradients end when the residual is this part of the right side, both divided by the diagonal; and after so
 * many iterations in any case. */
#define SL__CG_CLOSE 1e-11
#define SL__CG_MOST 10000
#define SL_SIGNAL_RANKS 256            /* iterations of pagerank in one call, at most */

struct sl_signal_passes {
	void *arg;
	void (*close)(void *arg);

	/* The values after the last whole step, y[field][n] in host memory. After put() the slope at the values is not
	 * known. */
	int (*put)(void *arg, const double *const *y, struct sl_error *err);
	int (*get)(void *arg, double *const *y, struct sl_error *err);
	/* The sum over the nodes of u, with random_walk weighted by degrees; of sir that of I. */
	int (*level)(void *arg, double *sum, struct sl_error *err);

	/* Explicit methods with steps of h, and sir with chance: `count` steps, the first of which is number `step`. */
	int (*steps)(void *arg, const struct sl__rates *rates, double h, int step, int count, struct sl_error *err);
	/* Adaptive steps. The new values and *error, the largest of their relative errors (core/signal/explicit.c), NAN
	 * becoming INFINITY; known: the slope at the values is, from the trial before or from the step accepted last. */
	int (*trial)(void *arg, const struct sl__rates *rates, double h, bool known, double *error,
		     struct sl_error *err);
	/* The values of the trial become those after the last whole step. */
	void (*accept)(void *arg);
	/* Crank and Nicolson's step of h. *solved is false if the conjugate gradients found no solution. */
	int (*solve)(void *arg, const struct sl__rates *rates, double h, bool *solved, struct sl_error *err);
	/* pagerank: `count` iterations, or fewer if the change falls below the tolerance: *done of them, and change[*done],
	 * that of each. */
	int (*rank)(void *arg, double tolerance, int count, double *change, int *done, struct sl_error *err);
};

#ifdef __cplusplus
}
#endif
#endif
