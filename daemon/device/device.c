/* The loop's side of a device's thread: it sends commands and receives events. */
#include "daemon/device/device_internal.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static void job_destroy(struct sl_device_job *job)
{
	if (!job)
		return;
	if (job->run)
		job->method->destroy(job->run);
	free(job->init);
	free(job->checkpoint);
	free(job);
}

void sl__command_destroy(struct sl_command *c)
{
	if (!c)
		return;
	job_destroy(c->add);
	sl_device_event_destroy(c->owed.answer);
	sl_device_event_destroy(c->owed.ended);
	sl_device_event_destroy(c->owed.dropped);
	free(c);
}

/* libuv may merge several wake-ups into one call, so this takes all events. */
static void on_async(uv_async_t *async)
{
	struct sl_device_thread *t = async->data;
	struct sl_message *m = sl_mailbox_take(&t->events);
	while (m) {
		struct sl_device_event *e = (struct sl_device_event *)m;
		m = m->next;
		t->on_event(t->arg, e);
	}
}

static void on_closed(uv_handle_t *handle)
{
	struct sl_device_thread *t = handle->data;
	void (*closed)(void *) = t->closed;
	void *arg = t->closed_arg;
	for (struct sl_message *m = sl_mailbox_take(&t->events), *next; m; m = next) {
		next = m->next;
		sl_device_event_destroy((struct sl_device_event *)m);
	}
	for (struct sl_message *m = sl_mailbox_take(&t->commands), *next; m; m = next) {
		next = m->next;
		sl__command_destroy((struct sl_command *)m);
	}
	sl_mailbox_finish(&t->events);
	sl_mailbox_finish(&t->commands);
	uv_sem_destroy(&t->ready);
	sl_device_event_destroy(t->stopped);
	free(t);
	if (closed)
		closed(arg);
}

int sl_device_thread_start(struct sl_device_thread **out, uv_loop_t *loop, const struct sl_device_config *config,
			   sl_device_event_fn on_event, void *arg, struct sl_error *err)
{
	struct sl_device_thread *t = calloc(1, sizeof *t);
	if (!t || !(t->stopped = sl__event_create(SL_EVENT_STOPPED))) {
		free(t);
		return sl_error_memory(err, "a device");
	}
	t->config = *config;
	t->on_event = on_event;
	t->arg = arg;
	if (uv_async_init(loop, &t->async, on_async)) {
		sl_device_event_destroy(t->stopped);
		free(t);
		return sl_error_set(err, SL_INTERNAL, "A device's wake-up could not be made.");
	}
	t->async.data = t;
	sl_mailbox_init(&t->commands);
	sl_mailbox_init(&t->events);
	uv_sem_init(&t->ready, 0);
	if (pthread_create(&t->thread, NULL, sl__thread_main, t)) {
		uv_close((uv_handle_t *)&t->async, on_closed);
		return sl_error_set(err, SL_NOMEM, "A device's thread could not be started.");
	}
	*out = t;
	return 0;
}

int sl_device_thread_opened(struct sl_device_thread *t, struct sl_error *err)
{
	uv_sem_wait(&t->ready);
	if (t->open_code && err)
		*err = t->open_err;
	return t->open_code;
}

int sl_device_thread_create(struct sl_device_thread **out, uv_loop_t *loop, const struct sl_device_config *config,
			    sl_device_event_fn on_event, void *arg, struct sl_error *err)
{
	struct sl_device_thread *t = NULL;
	int code = sl_device_thread_start(&t, loop, config, on_event, arg, err);
	if (code)
		return code;
	code = sl_device_thread_opened(t, err);
	if (code)
		sl_device_thread_destroy(t, NULL, NULL);  /* its event is never sent */
	else
		*out = t;
	return code;
}

void sl_device_thread_destroy(struct sl_device_thread *t, void (*closed)(void *arg), void *arg)
{
	pthread_join(t->thread, NULL);
	t->closed = closed;
	t->closed_arg = arg;
	uv_close((uv_handle_t *)&t->async, on_closed);
}

double sl_device_silent_s(const struct sl_device_thread *t)
{
	double turned_ms = atomic_load(&t->turned_ms);
	return turned_ms > 0 ? fmax(sl__now_ms() - turned_ms, 0) * 1e-3 : 0;
}

static bool answered(enum sl_command_kind kind)
{
	return kind == SL__ADD || kind == SL__PAUSE || kind == SL__SNAPSHOT || kind == SL__CHECKPOINT ||
	       kind == SL__LEAVE || kind == SL__ASK_STATE || kind == SL__PLANS_CLEAR;
}

/* Allocates the events with which the thread will answer the command. */
static bool promise(struct sl_command *c)
{
	bool state = c->kind == SL__ASK_STATE || c->kind == SL__PLANS_CLEAR;
	struct sl_owed *owed = &c->owed;
	if (answered(c->kind) && !(owed->answer = sl__event_create(state ? SL_EVENT_STATE : SL_EVENT_PROGRESS)))
		return false;
	return c->kind != SL__ADD || ((owed->ended = sl__event_create(SL_EVENT_FAILED)) &&
				      (owed->dropped = sl__event_create(SL_EVENT_GRAPH_DROPPED)));
}

/* Takes command->add if it returns 0. */
static int post(struct sl_device_thread *t, const struct sl_command *command)
{
	struct sl_command *c = malloc(sizeof *c);
	if (!c)
		return SL_NOMEM;
	*c = *command;
	if (!promise(c)) {
		c->add = NULL;
		sl__command_destroy(c);
		return SL_NOMEM;
	}
	sl_mailbox_put(&t->commands, &c->message);
	return 0;
}

int sl_device_add(struct sl_device_thread *t, const struct sl_device_job *job)
{
	struct sl_device_job *copy = malloc(sizeof *copy);
	if (!copy)
		return SL_NOMEM;
	*copy = *job;
	int code = post(t, &(struct sl_command){.kind = SL__ADD, .key = job->job, .add = copy});
	if (code)
		free(copy);
	return code;
}

int sl_device_steer(struct sl_device_thread *t, uint64_t job, const void *params, size_t bytes)
{
	struct sl_command c = {.kind = SL__STEER, .key = job};
	memcpy(&c.params, params, bytes);
	return post(t, &c);
}

int sl_device_set_priority(struct sl_device_thread *t, uint64_t job, int priority)
{
	return post(t, &(struct sl_command){.kind = SL__PRIORITY, .key = job, .priority = priority});
}

int sl_device_snapshot(struct sl_device_thread *t, uint64_t job, bool quantise)
{
	return post(t, &(struct sl_command){.kind = SL__SNAPSHOT, .key = job, .quantise = quantise});
}

int sl_device_pin_graph(struct sl_device_thread *t, uint64_t graph, bool pinned)
{
	return post(t, &(struct sl_command){.kind = SL__PIN, .key = graph, .pinned = pinned});
}

int sl_device_charge(struct sl_device_thread *t, const char *group, const char *client, double ms)
{
	struct sl_command c = {.kind = SL__CHARGE, .ms = ms};
	snprintf(c.group, sizeof c.group, "%s", group);
	snprintf(c.client, sizeof c.client, "%s", client);
	return post(t, &c);
}

static int send_plain(struct sl_device_thread *t, enum sl_command_kind kind, uint64_t key)
{
	return post(t, &(struct sl_command){.kind = kind, .key = key});
}

int sl_device_pause(struct sl_device_thread *t, uint64_t job) { return send_plain(t, SL__PAUSE, job); }

int sl_device_resume(struct sl_device_thread *t, uint64_t job, unsigned holds)
{
	return post(t, &(struct sl_command){.kind = SL__RESUME, .key = job, .holds = holds});
}

int sl_device_cancel(struct sl_device_thread *t, uint64_t job) { return send_plain(t, SL__CANCEL, job); }
int sl_device_finish(struct sl_device_thread *t, uint64_t job) { return send_plain(t, SL__FINISH, job); }
int sl_device_checkpoint(struct sl_device_thread *t, uint64_t job) { return send_plain(t, SL__CHECKPOINT, job); }
int sl_device_leave(struct sl_device_thread *t, uint64_t job) { return send_plain(t, SL__LEAVE, job); }
int sl_device_drop_graph(struct sl_device_thread *t, uint64_t graph) { return send_plain(t, SL__DROP_GRAPH, graph); }
int sl_device_drop_neighbours(struct sl_device_thread *t, uint64_t key)
{
	return send_plain(t, SL__DROP_NEIGHBOURS, key);
}

int sl_device_ask_state(struct sl_device_thread *t) { return send_plain(t, SL__ASK_STATE, 0); }
int sl_device_plans_clear(struct sl_device_thread *t) { return send_plain(t, SL__PLANS_CLEAR, 0); }
int sl_device_stop(struct sl_device_thread *t) { return send_plain(t, SL__STOP, 0); }
