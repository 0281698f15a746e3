/* embedding.h -- one embedding from its start to its end, on any engine.
 *
 * Takes the parameters of a job through its phases (early exaggeration, rest),
 * resolves "auto", applies the stop rules, keeps the trace. The caller decides how
 * long a slice lasts. Belongs to the thread that owns the device.
 *
 *   sl_embedding_create(&e, engine, graph, affinities, &params, NULL, &err);
 *   while (!(status.done)) sl_embedding_advance(e, 10.0, &status, &err);
 *   sl_embedding_layout(e, y, &err);
 *   sl_embedding_destroy(e); */
#ifndef SL_EMBEDDING_H
#define SL_EMBEDDING_H

#include "core/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sl_embedding;

struct sl_trace_point {
	int iteration;          /* iterations done */
	double seconds;         /* compute time so far */
	double kl, gradient_norm, z;
	float low[3], high[3];
	double h;               /* grid spacing, 0: exact */
	double exaggeration, learning_rate, momentum;  /* in force */
};

enum sl_stop { SL_STOP_NOT_YET, SL_STOP_ITERATIONS, SL_STOP_GRADIENT, SL_STOP_KL, SL_STOP_TIME };
const char *sl_stop_name(enum sl_stop stop);  /* "iterations", "gradient_norm", "kl", "time" */

struct sl_status {
	int iteration;           /* done so far */
	int iterations;          /* asked for */
	double seconds;          /* compute time so far */
	double kl;               /* of the newest trace point, NaN before the first */
	double gradient_norm;
	bool done;
	enum sl_stop stop;
};

/* init: [a->n_user * dims] in the user's order when params->init is SL_INIT_GIVEN or SL_INIT_PCA (then from
 * sl_init_pca(), core/init/init.h), else NULL. Borrows graph and a. With SL_INIT_SPECTRAL the first slices go into the
 * initial layout. */
int sl_embedding_create(struct sl_embedding **out, const struct sl_engine *engine,
			struct sl_device_graph *graph, const struct sl_affinities *a,
			const struct sl_params *params, const float *init, struct sl_error *err);
void sl_embedding_destroy(struct sl_embedding *e);  /* NULL is fine */

/* Runs for about slice_ms of compute time (at least one iteration), or to the end. */
int sl_embedding_advance(struct sl_embedding *e, double slice_ms, struct sl_status *status, struct sl_error *err);

/* Steerable parameters change from the next iteration on. */
int sl_embedding_steer(struct sl_embedding *e, const struct sl_params *params, struct sl_error *err);

const struct sl_params *sl_embedding_params(const struct sl_embedding *e);

/* y [a->n_user * dims], the user's order, isolated nodes placed. */
int sl_embedding_layout(struct sl_embedding *e, float *y, struct sl_error *err);

/* Borrowed until the next advance. */
const struct sl_trace_point *sl_embedding_trace(const struct sl_embedding *e, int *count);

/* A resumed embedding gives the same bytes as one never interrupted, on the same engine
 * and machine. The buffer is the caller's to free(). */
int sl_embedding_save(struct sl_embedding *e, void **out, uint64_t *bytes, struct sl_error *err);
int sl_embedding_load(struct sl_embedding *e, const void *state, uint64_t bytes, struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
