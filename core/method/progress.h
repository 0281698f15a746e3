/* progress.h -- the progress of a run of a method: its iterations, seconds and trace, and their part of a saved
 * state. */
#ifndef SL_METHOD_PROGRESS_H
#define SL_METHOD_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "core/method/status.h"

/* Zeroed memory is the progress of a new run. */
struct sl_progress {
	int iteration;                 /* done */
	double seconds;                /* of computing */
	bool asked;                    /* the run was asked to stop */
	struct sl_trace_point *trace;  /* owned */
	int count, room;
};

void sl_progress_finish(struct sl_progress *p);  /* frees the trace */
/* True if the trace has a point for this iteration: each of the first `dense`, then every tenth up to ten times as
 * many, and so on. So the length of the trace grows with the logarithm of the iterations. dense: a power of 10. */
bool sl_progress_traced(int iteration, int dense);
/* The first iteration after this one that the trace has a point for. */
int sl_progress_next_traced(int iteration, int dense);
/* Adds a point to the trace, for p->iteration and p->seconds, with the method's measure. NULL: no memory. */
struct sl_trace_point *sl_progress_note(struct sl_progress *p, double measure, struct sl_error *err);
double sl_progress_clock_ms(void);  /* of a clock that only goes forwards */

/* A saved state is a header with `magic`, the trace, and the method's own state. sl_progress_save() frees `state`; the
 * caller frees *out. sl_progress_read() makes *p, and finds the method's own state in `saved`; SL_BADDATA for a state
 * of another method. */
int sl_progress_save(const struct sl_progress *p, const char magic[8], void *state, uint64_t state_bytes, void **out,
		     uint64_t *bytes, struct sl_error *err);
int sl_progress_read(struct sl_progress *p, const char magic[8], const void *saved, uint64_t bytes, const void **state,
		     uint64_t *state_bytes, struct sl_error *err);
/* What was read takes the place of *p if the method's own state was loaded (code 0); otherwise it is freed. Returns
 * code. */
int sl_progress_take(struct sl_progress *p, struct sl_progress *read, int code);

#endif
