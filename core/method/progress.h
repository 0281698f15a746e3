/* progress.h -- the progress of a run of a method: its iterations, seconds and trace, and how they are saved. */
#ifndef SL_METHOD_PROGRESS_H
#define SL_METHOD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "core/method/status.h"

/* Zeroed memory is the progress of a new run. */
struct sl_progress {
	int iteration;                 /* iterations done */
	double seconds;                /* compute time so far */
	bool asked;                    /* true: the run was asked to stop */
	struct sl_trace_point *trace;  /* owned */
	int count, room;
};

void sl_progress_finish(struct sl_progress *p);  /* frees the trace */
/* True if the trace has a point for this iteration. It has one for each of the first `dense` iterations, for every
 * tenth up to 10 dense, for every hundredth up to 100 dense, and so on, so its length grows with the logarithm of the
 * iterations. dense: a power of 10. */
bool sl_progress_traced(int iteration, int dense);
/* The first iteration after this one for which the trace has a point. */
int sl_progress_next_traced(int iteration, int dense);
/* Adds a point to the trace, for p->iteration and p->seconds, with the method's measure. NULL: no memory. */
struct sl_trace_point *sl_progress_note(struct sl_progress *p, double measure, struct sl_error *err);

/* A saved state is a header with `magic`, the trace, and the method's own state. sl_progress_save() replaces *out, the
 * method's own state, by the whole; on failure it frees it. sl_progress_load() replaces *p, and advances *saved to the
 * method's own state; SL_BADDATA: the state belongs to another method. */
int sl_progress_save(const struct sl_progress *p, const char magic[8], void **out, uint64_t *bytes,
		     struct sl_error *err);
int sl_progress_load(struct sl_progress *p, const char magic[8], const void **saved, uint64_t *bytes,
		     struct sl_error *err);

#endif
