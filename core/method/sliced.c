/* Runs in slices. Slices only divide the work: they change no byte of a result. Time for notes counts for the slice,
 * but not for the run. */
#include "core/method/sliced.h"

#include <math.h>
#include <stdlib.h>

#include "core/clock.h"

void *sl_sliced_create(const struct sl_sliced_ops *ops, size_t bytes, const char *what, struct sl_error *err)
{
	struct sl_sliced *s = calloc(1, bytes);
	if (s)
		s->ops = ops;
	else
		sl_error_memory(err, "%s", what);
	return s;
}

int sl_sliced_made(void *run, int code, void **out)
{
	if (code)
		sl_sliced_destroy(run);
	else
		*out = run;
	return code;
}

void sl_sliced_destroy(void *run)
{
	struct sl_sliced *s = run;
	if (!s)
		return;
	s->ops->finish(run);
	sl_progress_finish(&s->progress);
	free(s);
}

static void tell(const struct sl_sliced *s, struct sl_status *status)
{
	*status = (struct sl_status){.iteration = s->progress.iteration, .seconds = s->progress.seconds, .measure = NAN,
				     .gradient_norm = NAN, .done = s->done};
	s->ops->tell(s, status);
	if (s->done && s->progress.asked)
		status->stop = SL_STOP_ASKED;
	else if (s->done && status->stop == SL_STOP_NOT_YET)
		status->stop = SL_STOP_ITERATIONS;
}

static int note(struct sl_sliced *s, struct sl_error *err)
{
	struct sl_status status;
	bool due = sl_progress_traced(s->progress.iteration, s->ops->dense);
	if (s->ops->note)
		return s->ops->note(s, due, err);
	tell(s, &status);
	return !due || sl_progress_note(&s->progress, status.measure, err) ? 0 : SL_NOMEM;
}

int sl_sliced_advance(void *run, double slice_ms, struct sl_status *status, struct sl_error *err)
{
	struct sl_sliced *s = run;
	struct sl_progress *p = &s->progress;
	double left = slice_ms;
	bool ended = false;
	int code = left > 0 || s->done ? 0 : s->ops->compute(run, 0, &ended, err);
	while (!code && !s->done && left > 0) {
		double began = sl_clock_ms();
		ended = false;
		code = s->ops->compute(run, left, &ended, err);
		p->seconds += (sl_clock_ms() - began) * 1e-3;
		if (!code && ended)
			code = note(s, err);
		left -= sl_clock_ms() - began;
	}
	tell(s, status);
	return code;
}

int sl_sliced_stop(void *run, struct sl_status *status, struct sl_error *err)
{
	struct sl_sliced *s = run;
	s->progress.asked = !s->done;
	if (s->ops->stop)
		s->ops->stop(run);
	else
		s->done = true;
	tell(s, status);
	return 0;
}

const struct sl_trace_point *sl_sliced_trace(const void *run, int *count)
{
	const struct sl_progress *p = &((const struct sl_sliced *)run)->progress;
	*count = p->count;
	return p->trace;
}

int sl_sliced_save(void *run, void **out, uint64_t *bytes, struct sl_error *err)
{
	const struct sl_sliced *s = run;
	int code = 0;
	*bytes = 0;
	*out = NULL;
	if (s->ops->save)
		code = s->ops->save(run, out, bytes, err);
	return code ? code : sl_progress_save(&s->progress, s->ops->magic, out, bytes, err);
}

int sl_sliced_load(void *run, const void *state, uint64_t bytes, struct sl_error *err)
{
	struct sl_sliced *s = run;
	bool ended;
	int code = sl_progress_load(&s->progress, s->ops->magic, &state, &bytes, err);
	if (!code && s->ops->load)
		code = s->ops->load(run, state, bytes, err);
	else if (!code && bytes)
		code = sl_error_set(err, SL_BADDATA, "The state does not belong to this method.");
	return code ? code : s->ops->compute(run, 0, &ended, err);
}
