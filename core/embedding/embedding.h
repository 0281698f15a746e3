/* embedding.h -- one embedding from its start to its end, on any engine.
 *
 * Takes the parameters of a job through its phases (early exaggeration, rest),
 * resolves "auto", applies the stop rules, keeps the trace. The caller decides how
 * long a slice lasts. Belongs to the thread that owns the device.
 *
 * A run of "auto" iterations begins with the plan of sl_params_settle(), which grows while that lowers the divergence
 * (growth.c): then the run ends with SL_STOP_KL, or, after sl_params_iterations_most(), with SL_STOP_ITERATIONS.
 *
 *   sl_embedding_create(&e, engine, graph, affinities, &params, NULL, &err);
 *   while (!(status.done)) sl_embedding_advance(e, 10.0, &status, &err);
 *   sl_embedding_layout(e, y, &err);
 *   sl_embedding_destroy(e); */
#ifndef SL_EMBEDDING_H
#define SL_EMBEDDING_H

#include "core/engine/engine.h"
#include "core/method/status.h"

struct sl_params;
struct sl_affinities;

#ifdef __cplusplus
extern "C" {
#endif

struct sl_embedding;

/* What "auto" stands for, for n embedded nodes; and what is in force in the iteration after `iteration` others. */
void sl_embedding_settings(const struct sl_params *params, uint32_t n, struct sl_settings *settings);
struct sl_step sl_embedding_step_at(const struct sl_params *params, uint32_t n, int iteration);
/* The iteration at which another step comes, or the end of the run. params: as sl_params_settle() leaves them. */
int sl_embedding_step_until(const struct sl_params *params, int iteration);

/* init: [a->n_user * dims] in the user's order when params->init is SL_INIT_GIVEN, from sl_init_pca()
 * (core/init/init.h) when sl_init_wants_pca() says so, else NULL. Borrows graph and a. With SL_INIT_SPECTRAL
 * the first slices go into the initial layout. */
int sl_embedding_create(struct sl_embedding **out, const struct sl_engine *engine,
			struct sl_device_graph *graph, const struct sl_affinities *a,
			const struct sl_params *params, const float *init, struct sl_error *err);
void sl_embedding_destroy(struct sl_embedding *e);  /* NULL is fine */

/* Runs for about slice_ms of compute time (at least one iteration), or to the end. */
int sl_embedding_advance(struct sl_embedding *e, double slice_ms, struct sl_status *status, struct sl_error *err);

/* The run ends here, as after its last iteration. */
int sl_embedding_stop(struct sl_embedding *e, struct sl_status *status, struct sl_error *err);

/* May it advance side by side with others of its device? Small ones may, where the engine knows how. */
bool sl_embedding_joins(const struct sl_embedding *e);

#define SL_EMBEDDINGS_TOGETHER 128

/* Advances up to SL_EMBEDDINGS_TOGETHER embeddings of one device, all of which join, side by side, for about slice_ms
 * in all. status[i], code[i] and err[i] are those of each; an error returned is one of the device, and then no
 * embedding has got further. How they are grouped changes no result. */
int sl_embedding_advance_together(struct sl_embedding *const *e, int count, double slice_ms, struct sl_status *status,
				  int *code, struct sl_error *each, struct sl_error *err);

/* Steerable parameters change from the next iteration on. */
int sl_embedding_steer(struct sl_embedding *e, const struct sl_params *params, struct sl_error *err);

const struct sl_params *sl_embedding_params(const struct sl_embedding *e);

/* y [a->n_user * dims], the user's order, isolated nodes placed. */
int sl_embedding_layout(struct sl_embedding *e, float *y, struct sl_error *err);

/* A layout on its way from the device while the embedding advances; belongs to the thread of the device. A snapshot
 * is to be finished before its embedding is destroyed. */
struct sl_embedding_snapshot;
/* quantise: as in proto/frame.h. It is not done where the engine cannot, or nodes are isolated: see finish. */
int sl_embedding_snapshot_start(struct sl_embedding *e, bool quantise, struct sl_embedding_snapshot **out,
				struct sl_error *err);
bool sl_embedding_snapshot_ready(struct sl_embedding_snapshot *s);

/* What came, in the engine's node order: sl_affinities_expand() or sl_picked_expand() finish the job on any thread. */
struct sl_picked {
	uint32_t n;
	int dims;
	bool quantised;
	float low[3], extent;    /* when quantised */
	const void *data;        /* [n * dims] uint16 or float, until sl_picked_release() */
	void *own;               /* malloc'd data; NULL: it is the engine's */
	const struct sl_engine *engine;
	struct sl_device_snapshot *held;
};
/* Waits if need be; frees s, also on an error. out NULL: nobody wants it any more. */
int sl_embedding_snapshot_finish(struct sl_embedding_snapshot *s, struct sl_picked *out, struct sl_error *err);
/* To the user's order: out [a->n_user * dims] of the same type. Any thread. */
void sl_picked_expand(const struct sl_affinities *a, const struct sl_picked *p, void *out);
/* Any thread; closing the device waits for it. */
void sl_picked_release(struct sl_picked *p);

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
