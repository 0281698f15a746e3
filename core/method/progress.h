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
double sl_progress_clock_ms(void);  /* milliseconds of the monotonic clock */

/* A saved state is a header with `magic`, the trace, and the method's own state. sl_progress_save() frees `state`; the
 * caller frees *out. sl_progress_read() fills *p, and sets *state to the method's own state within `saved`; SL_BADDATA:
 * the state belongs to another method. */
int sl_progress_save(const struct sl_progress *p, const char magic[8], void *state, uint64_t state_bytes, void **out,
		     uint64_t *bytes, struct sl_error *err);
int sl_progress_read(struct sl_progress *p, const char magic[8], const void *saved, uint64_t bytes, const void **state,
		     uint64_t *state_bytes, struct sl_error *err);
/* With code 0, that is if the method's own state was loaded: replaces *p by *read. Otherwise frees *read. Returns
 * code. */
int sl_progress_take(struct sl_progress *p, struct sl_progress *read, int code);

#endif
