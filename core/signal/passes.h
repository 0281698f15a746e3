/* passes.h -- the interface of an engine that does the steps of signals on its device, its operation
 * "signal.passes". core/signal/device.c uses it in place of the passes on the processor.
 *
 * The weights and the values stay on the device; get() copies the values to the host. Rows are those of the coupling,
 * in its order. Values are in double precision. Sums differ from those of the processor only by rounding, and are the
 * same in every run: they do not depend on the order of threads. All calls belong to the device's thread, return when
 * the work is finished, and return 0 or a negative code with err (SL_DEVLOST, SL_DEVMEM, SL_INTERNAL); after an error
 * the passes can only be closed. */
#ifndef SL_SIGNAL_PASSES_H
#define SL_SIGNAL_PASSES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/engine/engine.h"
#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_coupling;

#define SL__SIGNAL_STAGES 7

/* The coefficients of the model's equations in the present step. */
struct sl__rates {
	int model;
	bool random_walk;
	double diffusion, a, b, epsilon, current, infection, recovery;
	double stimulus;               /* amplitude; 0: it is off */
};

struct sl__tableau {
	int stages;
	bool adaptive;                 /* the last stage is at the new values; `error` has the weights of the error */
	double order;                  /* order of the error estimate, plus 1 */
	double real;                   /* steps up to real / (largest eigenvalue) are stable */
	/* a[s]: weights of the earlier slopes in stage s; the row after the last stage: in the new values */
	double a[SL__SIGNAL_STAGES][SL__SIGNAL_STAGES];
	double error[SL__SIGNAL_STAGES];
};

/* The data of a run that the device needs; in host memory, borrowed until the passes are closed. */
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

/* Conjugate gradients end when the residual is less than this part of the right side, both divided by the diagonal, or
 * after SL__CG_MOST iterations. */
#define SL__CG_CLOSE 1e-11
#define SL__CG_MOST 10000
#define SL_SIGNAL_RANKS 256            /* iterations of pagerank in one call, at most */

struct sl_signal_passes {
	void *arg;
	void (*close)(void *arg);

	/* Copy the values after the last whole step, y[field][n] in host memory, to the device and back. After put() the
	 * slope at the values is not known. */
	int (*put)(void *arg, const double *const *y, struct sl_error *err);
	int (*get)(void *arg, double *const *y, struct sl_error *err);
	/* The sum of u over the nodes, with random_walk weighted by degrees; for sir the sum of I. */
	int (*level)(void *arg, double *sum, struct sl_error *err);

	/* Explicit methods with fixed steps of h, and sir_chance: does `count` steps, beginning with number `step`. */
	int (*steps)(void *arg, const struct sl__rates *rates, double h, int step, int count, struct sl_error *err);
	/* Adaptive methods: computes the values after a step of h, and *error, the largest of their relative errors
	 * (core/signal/explicit.c); NAN becomes INFINITY. known: the device has the slope at the present values, from the
	 * previous trial or the last accepted step. */
	int (*trial)(void *arg, const struct sl__rates *rates, double h, bool known, double *error,
		     struct sl_error *err);
	/* Makes the values of the last trial the present values. */
	void (*accept)(void *arg);
	/* Does a step of h by Crank and Nicolson's method. *solved is false if conjugate gradients found no solution. */
	int (*solve)(void *arg, const struct sl__rates *rates, double h, bool *solved, struct sl_error *err);
	/* pagerank: does `count` iterations, or fewer if the change falls below the tolerance. *done: how many;
	 * change[*done]: the change in each. */
	int (*rank)(void *arg, double tolerance, int count, double *change, int *done, struct sl_error *err);
};

/* Opens the steps on a device, to which the weights are copied. Weights and values stay there until out->close().
 * Device's thread. SL_DEVMEM, SL_DEVLOST, SL_NOMEM. */
typedef int sl_signal_open(struct sl_device *device, const struct sl_signal_table *table, struct sl_signal_passes *out,
			   struct sl_error *err);
#define SL_SIGNAL_PASSES "signal.passes"  /* the name of this operation of an engine */

/* NULL: the engine has no such operation. */
static inline sl_signal_open *sl_signal_opener(const struct sl_engine *engine)
{
	return (sl_signal_open *)sl_engine_operation(engine, SL_SIGNAL_PASSES);
}

#ifdef __cplusplus
}
#endif
#endif
