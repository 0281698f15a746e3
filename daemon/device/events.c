/* The events that a device's thread sends to the loop. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
	sl_method_result_finish(&e->result);
	free(e->blob);
	free(e->state);
	free(e);
}

struct sl_device_event *sl__event_create(enum sl_event_kind kind)
{
	struct sl_device_event *e = calloc(1, sizeof *e);
	if (!e)
		return NULL;
	e->kind = kind;
	if (kind == SL_EVENT_STATE && !(e->state = calloc(1, sizeof *e->state))) {
		free(e);
		return NULL;
	}
	return e;
}

struct sl_device_event *sl__event_owed(struct sl_device_event **owed, enum sl_event_kind kind, uint64_t job)
{
	struct sl_device_event *e = *owed;
	assert(e);
	*owed = NULL;
	e->kind = kind;
	e->job = job;
	return e;
}

void sl__tell(struct sl_device_thread *t, struct sl_device_event *e)
{
	sl_mailbox_put(&t->events, &e->message);
	uv_async_send(&t->async);
}

void sl__tell_error(struct sl_device_thread *t, struct sl_device_event **owed, uint64_t job,
		    const struct sl_error *err)
{
	struct sl_device_event *e = sl__event_owed(owed, SL_EVENT_FAILED, job);
	e->err = *err;
	sl__tell(t, e);
}

void sl__tell_dropped(struct sl_device_thread *t, struct sl_device_event **owed, uint64_t graph, uint64_t adds)
{
	struct sl_device_event *e = sl__event_owed(owed, SL_EVENT_GRAPH_DROPPED, 0);
	e->graph = graph;
	e->adds = adds;
	sl__tell(t, e);
}

static void tell_state(struct sl_device_thread *t, struct sl_device_event *e)
{
	const struct sl_engine *engine = t->config.engine;
	struct sl_device_state *state = e->state;
	if (t->device)
		engine->info(t->device, &t->info);
	state->info = t->info;
	int count = t->device ? engine->plans(t->device, state->plan, SL_PLANS_LISTED) : 0;
	state->plan_count = count < SL_PLANS_LISTED ? count : SL_PLANS_LISTED;
	state->down = !t->device;
	state->restart = t->stuck;
	state->problem = t->problem;
	state->evictions = t->evictions;
	state->losses = t->losses;
	SL_LIST_EACH(struct sl_resident, r, &t->residents, link) {
		state->graphs_resident += r->graph != NULL;
		state->graphs_pinned += r->graph && r->pinned;
	}
	SL_LIST_EACH(struct sl_resident_neighbours, b, &t->neighbours, link)
		state->neighbours_resident++;
	t->state_told_ms = sl__now_ms();
	t->state_owed = false;
	sl__tell(t, e);
}

void sl__tell_state(struct sl_device_thread *t)
{
	struct sl_device_event *e = sl__event_create(SL_EVENT_STATE);
	t->state_owed = !e;
	if (e)
		tell_state(t, e);
}

void sl__answer_state(struct sl_device_thread *t, struct sl_device_event **owed)
{
	struct sl_device_event *e = sl__event_owed(owed, SL_EVENT_STATE, 0);
	e->asked = true;
	tell_state(t, e);
}

/* Adds the job's status and its trace points from `first` on to the event. */
void sl__add_status(struct sl_task *k, struct sl_device_event *e, int first)
{
	e->status = k->status;
	e->slices = k->slices;
	e->slice_seconds = k->slice_seconds;
	k->slices = 0;
	k->slice_seconds = 0;
	int count;
	const struct sl_trace_point *trace = k->method->trace(k->run, &count);
	if (count <= first)
		return;
	e->trace = malloc((size_t)(count - first) * sizeof *trace);
	if (!e->trace)
		return;  /* the next event contains these trace points, too */
	memcpy(e->trace, trace + first, (size_t)(count - first) * sizeof *trace);
	e->trace_count = count - first;
	k->trace_sent = count;
}

static void tell_progress(struct sl_device_thread *t, struct sl_task *k, struct sl_device_event *e)
{
	e->job = k->key;
	sl__add_status(k, e, k->trace_sent);
	k->told_ms = sl__now_ms();
	sl__tell(t, e);
}

void sl__tell_progress(struct sl_device_thread *t, struct sl_task *k)
{
	struct sl_device_event *e = sl__event_create(SL_EVENT_PROGRESS);
	if (e)
		tell_progress(t, k, e);
}

/* The job paused by itself. Without memory for the event it goes on. */
void sl__tell_held(struct sl_device_thread *t, struct sl_task *k)
{
	struct sl_device_event *e = sl__event_create(SL_EVENT_PAUSED);
	if (!e) {
		sl_scheduler_set_runnable(t->scheduler, &k->scheduled, true);
		return;
	}
	k->holds++;
	tell_progress(t, k, e);
}

void sl__answer_paused(struct sl_device_thread *t, struct sl_task *k, struct sl_device_event **owed)
{
	tell_progress(t, k, sl__event_owed(owed, SL_EVENT_PAUSED, k->key));
}
