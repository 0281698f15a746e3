/* The loop's side of a device's thread: it sends commands and receives events. */
#include "daemon/device/device_internal.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

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

static int opened(struct sl_device_port *port, struct sl_error *err)
{
	struct sl_device_thread *t = (struct sl_device_thread *)port;
	uv_sem_wait(&t->ready);
	if (t->open_code && err)
		*err = t->open_err;
	return t->open_code;
}

static void destroy(struct sl_device_port *port, void (*closed)(void *arg), void *arg)
{
	struct sl_device_thread *t = (struct sl_device_thread *)port;
	pthread_join(t->thread, NULL);
	t->closed = closed;
	t->closed_arg = arg;
	uv_close((uv_handle_t *)&t->async, on_closed);
}

static double silent_s(const struct sl_device_port *port)
{
	const struct sl_device_thread *t = (const struct sl_device_thread *)port;
	double turned_ms = atomic_load(&t->turned_ms);
	return turned_ms > 0 ? fmax(sl__now_ms() - turned_ms, 0) * 1e-3 : 0;
}

/* Allocates the events with which the thread will answer the command. */
static bool promise(struct sl_command *c)
{
	bool state = c->kind == SL__ASK_STATE || c->kind == SL__PLANS_CLEAR;
	struct sl_owed *owed = &c->owed;
	if (sl__command_answered(c->kind) && !(owed->answer = sl__event_create(state ? SL_EVENT_STATE : SL_EVENT_PROGRESS)))
		return false;
	return c->kind != SL__ADD || ((owed->ended = sl__event_create(SL_EVENT_FAILED)) &&
				      (owed->dropped = sl__event_create(SL_EVENT_GRAPH_DROPPED)));
}

static int post(struct sl_device_port *port, const struct sl_command *command)
{
	struct sl_device_thread *t = (struct sl_device_thread *)port;
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

static const struct sl_port_functions functions = {.post = post, .opened = opened, .silent_s = silent_s,
						   .destroy = destroy};

int sl_device_thread_start(struct sl_device_port **out, uv_loop_t *loop, const struct sl_device_config *config,
			   sl_device_event_fn on_event, void *arg, struct sl_error *err)
{
	struct sl_device_thread *t = calloc(1, sizeof *t);
	if (!t || !(t->stopped = sl__event_create(SL_EVENT_STOPPED))) {
		free(t);
		return sl_error_memory(err, "a device");
	}
	t->port.functions = &functions;
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
	*out = &t->port;
	return 0;
}
