/* What a device's thread tells the loop. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/device/device_internal.h"

double sl__now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

void sl_device_event_destroy(struct sl_device_event *e)
{
	if (!e)
		return;
	free(e->trace);
	sl_layout_unref(e->layout);
	free(e->blob);
	free(e->state);
	free(e);
}

/* Without memory for an event there is no way to say so, and a lost one could leave a job
 * for ever: wait until there is some. */
struct sl_device_event *sl__event(enum sl_event_kind kind, uint64_t job)
{
	struct sl_device_event *e;
	while (!(e = calloc(1, sizeof *e)))
		usleep(10000);
	e->kind = kind;
	e->job = job;
	return e;
}

void sl__tell(struct sl_device_thread *t, struct sl_device_event *e)
{
	sl_mailbox_put(&t->events, &e->message);
	uv_async_send(&t->async);
}

void sl__tell_error(struct sl_device_thread *t, uint64_t job, const struct sl_error *err)
{
	struct sl_device_event *e = sl__event(SL_EVENT_FAILED, job);
	e->err = *err;
	sl__tell(t, e);
}

void sl__tell_state(struct sl_device_thread *t, bool asked)
{
	struct sl_device_event *e = sl__event(SL_EVENT_STATE, 0);
	e->asked = asked;
	e->state = calloc(1, sizeof *e->state);
	if (e->state) {
		const struct sl_engine *engine = t->config.engine;
		if (t->device)
			engine->info(t->device, &t->info);
		e->state->info = t->info;
		int count = t->device ? engine->plans(t->device, e->state->plan, SL_PLANS_LISTED) : 0;
		e->state->plan_count = count < SL_PLANS_LISTED ? count : SL_PLANS_LISTED;
		e->state->down = !t->device;
		e->state->restart = !t->device && t->problem.code == SL_DEVLOST;
		e->state->problem = t->problem;
		e->state->evictions = t->evictions;
		e->state->losses = t->losses;
		SL_LIST_EACH(struct sl_resident, r, &t->residents, link) {
			e->state->graphs_resident += r->graph != NULL;
			e->state->graphs_pinned += r->graph && r->pinned;
		}
		SL_LIST_EACH(struct sl_resident_neighbours, b, &t->neighbours, link)
			e->state->neighbours_resident++;
	}
	t->state_told_ms = sl__now_ms();
	sl__tell(t, e);
}

/* Adds status and the trace points from `first` on. */
void sl__add_status(struct sl_task *k, struct sl_device_event *e, int first)
{
	e->status = k->status;
	e->slices = k->slices;
	e->slice_seconds = k->slice_seconds;
	k->slices = 0;
	k->slice_seconds = 0;
	int count;
	const struct sl_trace_point *trace = sl_embedding_trace(k->embedding, &count);
	if (count <= first)
		return;
	e->trace = malloc((size_t)(count - first) * sizeof *trace);
	if (!e->trace)
		return;  /* the next event has them, too */
	memcpy(e->trace, trace + first, (size_t)(count - first) * sizeof *trace);
	e->trace_count = count - first;
	k->trace_sent = count;
}

void sl__tell_progress(struct sl_device_thread *t, struct sl_task *k, enum sl_event_kind kind)
{
	struct sl_device_event *e = sl__event(kind, k->key);
	sl__add_status(k, e, k->trace_sent);
	k->told_ms = sl__now_ms();
	sl__tell(t, e);
}
