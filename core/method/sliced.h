/* sliced.h -- runs in slices: what is the same in all methods that compute iteration by iteration.
 *
 * A method's run begins with a struct sl_sliced and tells by a struct sl_sliced_ops how it computes; time, trace, stops
 * and saved states are done here. The method's entries in struct sl_method are then the functions below:
 *
 *   struct run { struct sl_sliced slices; struct sl_kmeans *kmeans; ... };
 *   const struct sl_method sl_method_kmeans = {.name = "kmeans", ..., SL_SLICED};
 *
 * The trace has a point for each of the first `dense` iterations, then for every tenth up to ten times as many, and so
 * on; so its memory grows with the logarithm of the iterations. A run belongs to one thread at a time. */
#ifndef SL_METHOD_SLICED_H
#define SL_METHOD_SLICED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "core/method/progress.h"
#include "core/method/status.h"

struct sl_sliced {
	struct sl_progress progress;      /* compute() keeps its iteration up to date */
	const struct sl_sliced_ops *ops;
	bool done;                        /* set by compute() and stop() */
};

/* Functions of a method; run is its own structure. */
struct sl_sliced_ops {
	char magic[8];          /* begins saved states, and tells them from those of other methods and versions */
	int dense;              /* a power of 10 */
	/* Computes for about ms milliseconds, at most to the end of an iteration that counts; *ended is then true. ms 0:
	 * computes nothing, but brings the run's own status up to date. */
	int (*compute)(void *run, double ms, bool *ended, struct sl_error *err);
	/* Called after an iteration that counts. due: the trace has a point for it, which this function adds by
	 * sl_progress_note(). NULL: the point has the measure that tell() tells. */
	int (*note)(void *run, bool due, struct sl_error *err);
	/* Completes a status: iterations, the measure and why it is done, unless the iterations are used
	 * up. */
	void (*tell)(const void *run, struct sl_status *status);
	void (*stop)(void *run);  /* ends the run, now or after some more slices. NULL: it ends now */
	/* NULL, both: the run's state is its number of iterations. */
	int (*save)(const void *run, void **out, uint64_t *bytes, struct sl_error *err);
	int (*load)(void *run, const void *state, uint64_t bytes, struct sl_error *err);
	void (*finish)(void *run);  /* frees what the run owns, but not the run itself; also of a run that is half made */
};

/* Defines stop and load of a struct run with the members `slices`, `of`, a struct sl_NAME of its own, and `status`, a
 * struct sl_NAME_status, by the functions sl_NAME_stop() and sl_NAME_load(); and what SL_SLICED_KEPT() defines. */
#define SL_SLICED_OF(name) \
	static void stop(void *run) \
	{ \
		struct run *r = run; \
		sl_##name##_stop(r->of, &r->status); \
		r->slices.done = r->status.done; \
	} \
	static int load(void *run, const void *state, uint64_t bytes, struct sl_error *err) \
	{ \
		return sl_##name##_load(((struct run *)run)->of, state, bytes, err); \
	} \
	SL_SLICED_KEPT(name)

/* Defines save, finish and attach of a struct run with the member `of` likewise. */
#define SL_SLICED_KEPT(name) \
	static int save(const void *run, void **out, uint64_t *bytes, struct sl_error *err) \
	{ \
		return sl_##name##_save(((const struct run *)run)->of, out, bytes, err); \
	} \
	static void finish(void *run) \
	{ \
		sl_##name##_destroy(((struct run *)run)->of); \
	} \
	static int attach(void *run, const struct sl_engine *engine, struct sl_device *device, struct sl_error *err) \
	{ \
		return sl_##name##_attach(((struct run *)run)->of, engine, device, err); \
	} \
	_Static_assert(sizeof(struct sl_##name##_params) <= SL_METHOD_PARAMS_BYTES, "a record of parameters has no room")

/* The members of struct sl_sliced_ops that are these. */
#define SL_SLICED_OPS .stop = stop, .save = save, .load = load, .finish = finish

/* The members of struct sl_method that are the functions below. */
#define SL_SLICED .destroy = sl_sliced_destroy, .advance = sl_sliced_advance, .stop = sl_sliced_stop, \
	.trace = sl_sliced_trace, .save = sl_sliced_save, .load = sl_sliced_load

/* A zeroed run of so many bytes; what: "k-means", for the error. NULL: SL_NOMEM. */
void *sl_sliced_create(const struct sl_sliced_ops *ops, size_t bytes, const char *what, struct sl_error *err);
/* The end of create(): hands the run out or, after an error, destroys it. Returns code. */
int sl_sliced_made(void *run, int code, void **out);
void sl_sliced_destroy(void *run);  /* NULL is fine */
int sl_sliced_advance(void *run, double slice_ms, struct sl_status *status, struct sl_error *err);
int sl_sliced_stop(void *run, struct sl_status *status, struct sl_error *err);
const struct sl_trace_point *sl_sliced_trace(const void *run, int *count);
int sl_sliced_save(void *run, void **out, uint64_t *bytes, struct sl_error *err);
int sl_sliced_load(void *run, const void *state, uint64_t bytes, struct sl_error *err);

#endif
