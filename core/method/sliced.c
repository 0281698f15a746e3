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
		sl_error_set(err, SL_NOMEM, "There is no memory for %s.", what);
	return s;
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
			code = s->ops->note(run, sl_progress_traced(p->iteration, s->ops->dense), err);
		left -= sl_clock_ms() - began;
	}
	tell(s, status);
	return code;
}

int sl_sliced_stop(void *run, struct sl_status *status, struct sl_error *err)
{
	struct sl_sliced *s = run;
	s->progress.asked = !s->done;
	s->ops->stop(run);
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
	int code = s->ops->save(run, out, bytes, err);
	return code ? code : sl_progress_save(&s->progress, s->ops->magic, out, bytes, err);
}

int sl_sliced_load(void *run, const void *state, uint64_t bytes, struct sl_error *err)
{
	struct sl_sliced *s = run;
	bool ended;
	int code = sl_progress_load(&s->progress, s->ops->magic, &state, &bytes, err);
	if (!code)
		code = s->ops->load(run, state, bytes, err);
	return code ? code : s->ops->compute(run, 0, &ended, err);
}
