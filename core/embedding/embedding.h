/* embedding.h -- one embedding from its start to its end, on any engine.
 *
 * An embedding runs through the phases of a job (early exaggeration, then the rest), replaces "auto" by values, applies
 * the stop rules and keeps the trace. The caller decides how long a slice lasts. An embedding belongs to the thread
 * that owns the device. Functions return 0 or a negative code with err, unless stated otherwise.
 *
 * A run of "auto" iterations begins with the plan of sl_params_settle(). The plan is extended as long as that lowers
 * the divergence (growth.c). Then the run ends with SL_STOP_KL or, after sl_params_iterations_most(), with
 * SL_STOP_ITERATIONS.
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

/* Beyond so many nodes a run of "auto" iterations has the budget of its engine, if that has one. */
#define SL_EMBEDDING_LARGE 50000

/* The settings for n embedded nodes, with "auto" replaced by values; and the step of iteration number `iteration`,
 * counted from 0. */
void sl_embedding_settings(const struct sl_params *params, uint32_t n, struct sl_settings *settings);
struct sl_step sl_embedding_step_at(const struct sl_params *params, uint32_t n, int iteration);
/* The next iteration after `iteration` at which the step changes, or the end of the run. params: after
 * sl_params_settle(). */
int sl_embedding_step_until(const struct sl_params *params, int iteration);

/* init: [a->n_user * dims] in the user's order if params->init is SL_INIT_GIVEN, else NULL. Borrows graph and a until
 * sl_embedding_destroy(). With SL_INIT_SPECTRAL the first slices compute the initial layout. */
int sl_embedding_create(struct sl_embedding **out, const struct sl_engine *engine,
			struct sl_device_graph *graph, const struct sl_affinities *a,
			const struct sl_params *params, const float *init, struct sl_error *err);
void sl_embedding_destroy(struct sl_embedding *e);  /* NULL is fine */

/* Runs for about slice_ms of compute time (at least one iteration), or to the end. */
int sl_embedding_advance(struct sl_embedding *e, double slice_ms, struct sl_status *status, struct sl_error *err);

/* Ends the run here, as if this was its last iteration. */
int sl_embedding_stop(struct sl_embedding *e, struct sl_status *status, struct sl_error *err);

/* True if the embedding may advance side by side with others of its device: if it is small and the engine can do it. */
bool sl_embedding_joins(const struct sl_embedding *e);

#define SL_EMBEDDINGS_TOGETHER 128

/* Advances up to SL_EMBEDDINGS_TOGETHER embeddings of one device side by side, for about slice_ms in all. All must be
 * such that sl_embedding_joins(). status[i], code[i] and each[i] belong to embedding i. The function returns errors of
 * the device; then no embedding has advanced. The grouping changes no result. */
int sl_embedding_advance_together(struct sl_embedding *const *e, int count, double slice_ms, struct sl_status *status,
				  int *code, struct sl_error *each, struct sl_error *err);

/* Changes the steerable parameters from the next iteration on. SL_BADPARAM: another parameter differs. */
int sl_embedding_steer(struct sl_embedding *e, const struct sl_params *params, struct sl_error *err);

const struct sl_params *sl_embedding_params(const struct sl_embedding *e);

/* Copies the layout to y [a->n_user * dims], in the user's order, with isolated nodes placed apart. */
int sl_embedding_layout(struct sl_embedding *e, float *y, struct sl_error *err);

/* A copy of the layout that the device makes while the embedding advances. It belongs to the thread of the device, and
 * must be finished before its embedding is destroyed. */
struct sl_embedding_snapshot;
/* quantise: as in proto/frame.h. Ignored if the engine cannot do it or nodes are isolated; see sl_picked.quantised. */
int sl_embedding_snapshot_start(struct sl_embedding *e, bool quantise, struct sl_embedding_snapshot **out,
				struct sl_error *err);
bool sl_embedding_snapshot_ready(struct sl_embedding_snapshot *s);

/* A finished snapshot, in the engine's node order. Any thread may convert it with sl_picked_expand(). */
struct sl_picked {
	uint32_t n;
	int dims;
	bool quantised;
	float low[3], extent;    /* if quantised */
	const void *data;        /* [n * dims] uint16 or float, valid until sl_picked_release() */
	void *own;               /* data, if it was malloc'd; NULL: data belongs to the engine */
	const struct sl_engine *engine;
	struct sl_device_snapshot *held;  /* the engine's snapshot that holds data, or NULL */
};
/* Waits for the copy, and frees s, also on an error. out NULL: discards the copy. */
int sl_embedding_snapshot_finish(struct sl_embedding_snapshot *s, struct sl_picked *out, struct sl_error *err);
/* Converts to the user's order: out [a->n_user * dims] of the same type. Any thread. */
void sl_picked_expand(const struct sl_affinities *a, const struct sl_picked *p, void *out);
/* Frees the data. Any thread; closing the device waits for this call. */
void sl_picked_release(struct sl_picked *p);

/* The trace, borrowed until the next call of sl_embedding_advance(). */
const struct sl_trace_point *sl_embedding_trace(const struct sl_embedding *e, int *count);

/* Save and load the whole state. A resumed embedding gives the same bytes as one that was never interrupted, on the
 * same engine and machine. The caller frees *out with free(). */
int sl_embedding_save(struct sl_embedding *e, void **out, uint64_t *bytes, struct sl_error *err);
int sl_embedding_load(struct sl_embedding *e, const void *state, uint64_t bytes, struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
