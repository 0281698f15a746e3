/* The daemon's side of a worker: its process, and what would be lost with it.
 *
 * The port keeps a record of each job on the worker and of each graph that it has been given, each with the event that
 * tells of its loss; so a loss needs no memory. Events wait in a queue until the loop calls, as those of a thread
 * do. */
#include "daemon/worker/port_internal.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/util/crashes.h"
#include "daemon/util/log.h"
#include "daemon/processes/spawn.h"

#define TICK_MS 100
#define BACKOFF_MS 500
#define BACKOFF_MAX_MS 60000
#define SILENT_MS 60000      /* a worker that says nothing for so long is ended */
#define WAITING_MOST (4ull << 30)  /* bytes that wait to be sent to a worker of another machine */
#define ANSWER_MS 500        /* then requests for the state are answered with the last one known */
#define OPEN_MS 120000       /* and one that does not open its device at the start of the server */

/* ---- events ------------------------------------------------------------------------------------- */

static void tell(struct sl__port *p, struct sl_device_event *e)
{
	e->message.next = NULL;
	*p->events_end = &e->message;
	p->events_end = &e->message.next;
	uv_async_send(&p->wake);
}

static void on_wake(uv_async_t *async)
{
	struct sl__port *p = async->data;
	struct sl_message *m = p->events;
	p->events = NULL;
	p->events_end = &p->events;
	while (m) {
		struct sl_device_event *e = (struct sl_device_event *)m;
		m = m->next;
		p->on_event(p->arg, e);
	}
}

/* Tells the state, once for each request; without memory the next tick tries again. */
void sl__port_tell_state(struct sl__port *p)
{
	p->state.restart = false;
	do {
		struct sl_device_event *e = sl__event_create(SL_EVENT_STATE);
		p->state_owed = !e;
		if (!e)
			return;
		*e->state = p->state;
		e->state->losses += p->losses;
		e->asked = p->asked > 0;
		p->asked -= e->asked;
		tell(p, e);
	} while (p->asked > 0);
}

void sl__port_tell_stopped(struct sl__port *p, const struct sl_error *err)
{
	struct sl_device_event *e = p->stopped ? NULL : sl__event_create(SL_EVENT_STOPPED);
	if (!e)
		return;  /* the tick tries again */
	p->stopped = true;
	if (err)
		e->err = *err;
	tell(p, e);
}

/* ---- records ------------------------------------------------------------------------------------- */

static struct sl__port_job *job_find(const struct sl__port *p, uint64_t key)
{
	return SL_LIST_FIND(struct sl__port_job, job, &p->jobs, link, job->key == key);
}

static void job_free(struct sl__port_job *job)
{
	sl_list_unlink(&job->link);
	sl_device_event_destroy(job->lost);
	free(job->file[0]);
	free(job->file[1]);
	free(job);
}

static struct sl__port_given *given_find(const struct sl__port *p, uint64_t graph)
{
	return SL_LIST_FIND(struct sl__port_given, g, &p->given, link, g->graph == graph);
}

static void given_free(struct sl__port_given *g)
{
	sl_list_unlink(&g->link);
	sl_device_event_destroy(g->dropped);
	free(g);
}

static struct sl__port_given *give(struct sl__port *p, uint64_t graph)
{
	struct sl__port_given *g = given_find(p, graph);
	if (!g && (g = calloc(1, sizeof *g))) {
		g->graph = graph;
		if (!(g->dropped = sl__event_create(SL_EVENT_GRAPH_DROPPED))) {
			free(g);
			return NULL;
		}
		sl_list_append(&p->given, &g->link);
	}
	return g;
}

/* Records the job; false: no memory. */
static bool record(struct sl__port *p, const struct sl_device_job *add)
{
	bool graph = add->source.origin == SL_OF_AFFINITIES;
	struct sl__port_given *g = graph ? give(p, add->graph) : NULL;
	struct sl__port_job *job = graph && !g ? NULL : calloc(1, sizeof *job);
	if (!job || !(job->lost = sl__event_create(SL_EVENT_LOST))) {
		if (g && !g->adds)
			given_free(g);
		free(job);
		return false;
	}
	job->key = add->job;
	job->method = add->method;
	memcpy(job->id, add->id, sizeof job->id);
	job->nodes = add->nodes;
	job->dims = add->method->dims ? add->method->dims(&add->params) : 0;
	job->columns = add->columns;
	sl__port_limit(job, add);
	job->asked[SL__PAUSE] = add->paused;
	job->asked[SL__CANCEL] = add->cancel;
	job->told_ms = uv_now(p->loop);
	job->file[0] = add->source.data && p->channel.end ? strdup(add->source.data) : NULL;
	job->file[1] = add->source.neighbours && p->channel.end ? strdup(add->source.neighbours) : NULL;
	sl_list_append(&p->jobs, &job->link);
	if (g)
		g->adds++;
	return true;
}

/* ---- the loss of a worker -------------------------------------------------------------------------- */

static void lose_job(struct sl__port_job *job, const struct sl_error *problem)
{
	struct sl_device_event *e = job->lost;
	int number, crashes = sl_crashes_of(job->id, &number);
	job->lost = NULL;
	e->job = job->key;
	e->status = job->status;
	e->err = *problem;
	e->suspect = crashes > 0;
	if (crashes >= SL_CRASHES_LIMIT) {
		e->kind = SL_EVENT_FAILED;
		sl_error_set(&e->err, SL_INTERNAL, "The worker of its device crashed twice while it computed this job (signal "
			     "%d, %s). Please report this; submit the job again to try again.", number, strsignal(number));
	}
}

/* Gives all jobs and graphs back to the loop; when the port stops, only the graphs. */
void sl__port_lose_all(struct sl__port *p)
{
	if (p->jobs.count || p->calls.count)
		sl_crashes_look_again();
	SL_LIST_EACH(struct sl__port_job, job, &p->jobs, link) {
		struct sl_device_event *e = job->lost;
		if (!p->stopping) {
			lose_job(job, &p->state.problem);
			tell(p, e);
		}
		job_free(job);
	}
	SL_LIST_EACH(struct sl__port_given, g, &p->given, link) {
		struct sl_device_event *e = g->dropped;
		g->dropped = NULL;
		e->graph = g->graph;
		e->adds = g->adds;
		given_free(g);
		tell(p, e);
	}
	sl__port_lose_calls(p);
}

static void back_off(struct sl__port *p)
{
	uint64_t now = uv_now(p->loop);
	bool again = p->lost_ms && !p->progressed && now - p->lost_ms < BACKOFF_MAX_MS;
	p->backoff_ms = again ? fmin(2.0 * (double)p->backoff_ms, BACKOFF_MAX_MS) : BACKOFF_MS;
	p->retry_ms = now + (again ? p->backoff_ms : 0);
	p->lost_ms = now;
	p->progressed = false;
}

static void has_exited(struct sl__port *p, int status)
{
	char why[200];
	p->pid = 0;
	while (p->wire && sl_wire_wait(p->wire, 0))  /* its last words */
		;
	bool was_lost = p->state.restart;
	if (p->why[0])
		snprintf(why, sizeof why, "%s", p->why);
	else if (WIFSIGNALED(status))
		snprintf(why, sizeof why, "it was ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(why, sizeof why, "it ended with status %d", WEXITSTATUS(status));
	p->why[0] = 0;
	sl_wire_close(p->wire);
	p->wire = NULL;
	if (p->stopping || !p->open) {
		sl__port_lose_all(p);
		if (!p->open && !p->open_err.code)
			sl_error_set(&p->open_err, SL_NODEVICE, "The worker of %s does not start: %s.", p->options.id, why);
		sl__port_tell_stopped(p, p->open ? NULL : &p->open_err);
		return;
	}
	p->losses += p->state.losses + !was_lost;
	p->state.losses = 0;
	back_off(p);
	if (!was_lost || !p->state.problem.code)
		sl_error_set(&p->state.problem, SL_DEVLOST, "The worker of %s has ended: %s.", p->options.id, why);
	p->state.down = true;
	p->state.graphs_resident = p->state.graphs_pinned = p->state.neighbours_resident = p->state.plan_count = 0;
	sl_log_error("device", "the worker of %s has ended: %s", p->options.id, why);
	sl__port_tell_state(p);  /* first: jobs that come back do not start there again at once */
	sl__port_lose_all(p);
}

void sl__port_end(struct sl__port *p, const char *why)
{
	if (p->channel.end && !p->ending) {
		p->ending = true;
		snprintf(p->why, sizeof p->why, "%.150s", why);
		p->channel.end(p->channel.arg, why);  /* before its socket closes, which would end it without this reason */
		sl_wire_close(p->wire);
		p->wire = NULL;
	}
	if (!p->pid)
		return;
	if (!p->why[0])
		snprintf(p->why, sizeof p->why, "%.150s", why);
	kill(p->pid, SIGKILL);
}

void sl_worker_end(struct sl_device_port *port, const char *why)
{
	sl__port_end((struct sl__port *)port, why);
}

static void reap(struct sl__port *p)
{
	int status;
	if (p->pid && waitpid(p->pid, &status, WNOHANG) == p->pid)
		has_exited(p, status);
}

static void on_child(uv_signal_t *handle, int number)
{
	reap(handle->data);
}

/* ---- messages of the worker -------------------------------------------------------------------------- */

static void on_state(struct sl__port *p, struct sl_device_event *e)
{
	p->state = *e->state;
	p->open = p->open || !e->state->down || p->config.patient;
	e->state->restart = false;  /* the worker ends, and is started again */
	e->state->losses += p->losses;
	if (e->asked && p->asked)
		p->asked--;
	tell(p, e);
}

static bool ends(const struct sl_device_event *e)
{
	return e->kind == SL_EVENT_DONE || e->kind == SL_EVENT_FAILED || e->kind == SL_EVENT_CANCELLED ||
	       e->kind == SL_EVENT_LOST || (e->kind == SL_EVENT_LEFT && e->blob);
}

static void on_device_event(struct sl__port *p, struct sl_device_event *e)
{
	struct sl__port_job *job = e->job ? job_find(p, e->job) : NULL;
	p->progressed = p->progressed || e->kind == SL_EVENT_DONE || (e->kind == SL_EVENT_CHECKPOINT && e->blob);
	struct sl__port_given *g = e->kind == SL_EVENT_GRAPH_DROPPED ? given_find(p, e->graph) : NULL;
	if (e->kind == SL_EVENT_STATE) {
		on_state(p, e);
		return;
	}
	if (e->kind == SL_EVENT_STOPPED && p->open && !p->stopping) {  /* it cannot open the device again; it ends */
		p->state.problem = e->err;
		p->state.restart = true;
		sl_device_event_destroy(e);
		return;
	}
	if (e->kind == SL_EVENT_STOPPED) {
		p->open_err = e->err;
		p->stopped = true;
		sl__port_lose_all(p);
		tell(p, e);
		return;
	}
	if ((e->job && !job) || (e->kind == SL_EVENT_GRAPH_DROPPED && (!g || e->adds > g->adds))) {
		sl_device_event_destroy(e);  /* what the daemon has not asked for */
		return;
	}
	const char *wrong = job && p->channel.end ? sl__port_wrong(p, job, e) : NULL;
	if (wrong) {
		sl__port_end(p, wrong);
		sl_device_event_destroy(e);
		return;
	}
	if (job)
		job->status = e->status;
	if (job && ends(e))
		job_free(job);
	if (g && !(g->adds -= e->adds))
		given_free(g);
	tell(p, e);
}

static void on_message(void *arg, struct sl_wire_message *m)
{
	struct sl__port *p = arg;
	struct sl_device_event *e;
	struct sl_error err;
	p->beat_ms = uv_now(p->loop);
	if (p->ending) {
		sl_wire_message_destroy(m);
		return;
	}
	if (!strcmp(sl_wire_kind(m), "beat")) {
		p->silent_s = sl_wire_real_value(json_object_get(m->head, "silent_s"));
	} else if (p->channel.end && !strcmp(sl_wire_kind(m), "fetch")) {
		sl__port_fetch(p, m);
	} else if (!strcmp(sl_wire_kind(m), "answer")) {
		const char *wrong = sl__port_answer(p, m);
		if (wrong)
			sl__port_end(p, wrong);
	} else {
		uint64_t key = (uint64_t)json_integer_value(json_object_get(m->head, "job"));
		const struct sl__port_job *job = key ? job_find(p, key) : NULL;
		if (sl_event_of_message(m, job ? job->method : NULL, &e, &err))
			sl__port_end(p, err.detail);
		else
			on_device_event(p, e);
	}
	sl_wire_message_destroy(m);
}

static void on_ended(void *arg, const char *why)
{
	struct sl__port *p = arg;
	if (p->channel.end && strcmp(why, "it has closed the connection"))
		sl__port_end(p, why);
	sl_wire_close(p->wire);
	p->wire = NULL;
	if (!p->pid)
		return;
	if (strcmp(why, "it has closed the connection"))
		sl__port_end(p, why);
	kill(p->pid, SIGKILL);  /* if it has not ended by itself; its exit status tells why */
	reap(p);
}

/* ---- the start of a worker ------------------------------------------------------------------------------ */

static struct sl_wire_message *hello(const struct sl__port *p)
{
	const struct sl_device_config *c = &p->config;
	struct sl_wire_message *m = sl_wire_message_create("hello");
	if (m)
		json_object_update_new(m->head, json_pack(
			"{s:i, s:s, s:s, s:s, s:s, s:i, s:i, s:I, s:i, s:I, s:I, s:f, s:f, s:b, s:I, s:i}",
			"protocol", SL_WORKER_PROTOCOL, "version", SL_VERSION, "id", p->options.id,
			"state_dir", p->channel.end ? "" : p->options.state_dir, "engine", c->engine->name,
			"index", c->options.index, "gpus", c->options.gpus,
			"divide_nodes", (json_int_t)c->options.divide_nodes,
			"threads", c->options.threads, "plan_bytes", (json_int_t)c->options.plan_bytes,
			"memory_bytes", (json_int_t)c->options.memory_bytes, "slice_ms", c->slice_ms, "slow_ms", c->slow_ms,
			"patient", c->patient || p->open, "input_bytes", (json_int_t)p->options.input_bytes,
			"log_level", (int)sl_log_level()));
	return m;
}

static int start(struct sl__port *p)
{
	static const struct sl_wire_ops ops = {.message = on_message, .ended = on_ended};
	int end, code = sl_spawn_self(SL_WORKER_ARGUMENT, SOCK_STREAM, SL_WORKER_FD, &end, &p->pid);
	if (code)
		return code;
	if (sl_wire_open(&p->wire, p->loop, end, &ops, p)) {
		sl__port_end(p, "there is no memory for its connection");
		return 0;
	}
	p->beat_ms = uv_now(p->loop);
	p->silent_s = 0;
	sl_wire_send(p->wire, hello(p));
	return 0;
}

static void start_again(struct sl__port *p)
{
	int code = start(p);
	if (!code)
		return;
	sl_log_error("device", "the worker of %s cannot be started: %s", p->options.id, strerror(code));
	p->losses++;
	back_off(p);
}

static void on_tick(uv_timer_t *timer)
{
	struct sl__port *p = timer->data;
	uint64_t now = uv_now(p->loop);
	p->asked_ms = !p->asked ? 0 : p->asked_ms ? p->asked_ms : now;
	if (p->state_owed || (p->asked_ms && now - p->asked_ms > ANSWER_MS))
		sl__port_tell_state(p);
	bool there = p->wire && (p->pid || (p->channel.end && !p->away));
	if (there && now - p->beat_ms > SILENT_MS)
		sl__port_end(p, "it has not answered for a minute");
	if (there && p->silent_s > p->options.patience_s)
		sl__port_end(p, "its device has not ended a slice for too long");
	if (p->wire && sl_wire_waiting(p->wire) > WAITING_MOST && p->channel.end)
		sl__port_end(p, "it takes no messages");
	if (p->channel.end)
		return;
	if (!p->pid && p->stopping)
		sl__port_tell_stopped(p, NULL);
	else if (!p->pid && p->open && now >= p->retry_ms)
		start_again(p);
}

/* ---- commands ----------------------------------------------------------------------------------------------- */

/* There is no worker: jobs go back to the loop. */
static int post_to_none(struct sl__port *p, const struct sl_command *c)
{
	if (c->kind == SL__ADD) {
		if (!record(p, c->add))
			return SL_NOMEM;
		sl__device_job_destroy(c->add);
		sl__port_lose_all(p);
	} else if (c->kind == SL__ASK_STATE || c->kind == SL__PLANS_CLEAR) {
		p->asked++;
		sl__port_tell_state(p);
	} else if (c->kind == SL__STOP) {
		p->stopping = true;
		if (!p->pid && !p->channel.end)
			sl__port_tell_stopped(p, NULL);
	}
	return 0;
}

static int post(struct sl_device_port *port, const struct sl_command *c)
{
	struct sl__port *p = (struct sl__port *)port;
	struct sl__port_job *job = job_find(p, c->key);
	if (!p->wire)
		return post_to_none(p, c);
	if (c->kind == SL__STEER && !job)
		return 0;
	if (c->kind == SL__ADD && !record(p, c->add))
		return SL_NOMEM;
	if (job && c->kind != SL__ADD)
		job->asked[c->kind]++;
	if (c->kind == SL__STEER)
		sl__port_limit_trace(job, &c->params);
	p->asked += c->kind == SL__ASK_STATE || c->kind == SL__PLANS_CLEAR;
	p->stopping = p->stopping || c->kind == SL__STOP;
	if (p->away && (c->kind == SL__ASK_STATE || c->kind == SL__PLANS_CLEAR)) {
		sl__port_tell_state(p);
		return 0;
	}
	if (c->kind == SL__ADD && sl__port_has_found(p, c->add->neighbours_key))
		c->add->source.unstored = NULL;  /* it has them */
	sl_wire_send(p->wire, sl_command_message(c, job ? job->method : NULL));
	if (c->kind == SL__ADD)
		sl__device_job_destroy(c->add);
	return 0;
}

/* ---- life ------------------------------------------------------------------------------------------------------ */

void sl__port_release(struct sl__port *p)
{
	if (--p->handles)
		return;
	void (*closed)(void *) = p->closed;
	void *arg = p->closed_arg;
	for (struct sl_message *m = p->events, *next; m; m = next) {
		next = m->next;
		sl_device_event_destroy((struct sl_device_event *)m);
	}
	SL_LIST_EACH(struct sl__port_job, job, &p->jobs, link)
		job_free(job);
	SL_LIST_EACH(struct sl__port_given, g, &p->given, link)
		given_free(g);
	free(p);
	if (closed)
		closed(arg);
}

static void on_closed(uv_handle_t *handle)
{
	sl__port_release(handle->data);
}

static void destroy(struct sl_device_port *port, void (*closed)(void *arg), void *arg)
{
	struct sl__port *p = (struct sl__port *)port;
	p->closed = closed;
	p->closed_arg = arg;
	sl_wire_close(p->wire);
	p->wire = NULL;
	sl__port_lose_calls(p);
	if (p->pid) {
		kill(p->pid, SIGKILL);
		while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	uv_close((uv_handle_t *)&p->wake, on_closed);
	uv_close((uv_handle_t *)&p->child, on_closed);
	uv_close((uv_handle_t *)&p->tick, on_closed);
}

/* Until the first STATE or STOPPED. The events wait until the loop runs. */
static int opened(struct sl_device_port *port, struct sl_error *err)
{
	struct sl__port *p = (struct sl__port *)port;
	while (!p->open && !p->stopped && p->wire && sl_wire_wait(p->wire, OPEN_MS))
		;
	if (p->open)
		return 0;
	if (!p->open_err.code)
		sl_error_set(&p->open_err, SL_NODEVICE, "The worker of %s did not open its device.", p->options.id);
	if (err)
		*err = p->open_err;
	return p->open_err.code;
}

static double silent_s(const struct sl_device_port *port)
{
	const struct sl__port *p = (const struct sl__port *)port;
	return p->wire ? p->silent_s : 0;
}

static struct sl__port *create(uv_loop_t *loop, const struct sl_device_config *config,
				  const struct sl_worker_options *options, sl_device_event_fn on_event, void *arg)
{
	static const struct sl_port_functions functions = {.post = post, .opened = opened, .silent_s = silent_s,
							   .destroy = destroy};
	struct sl__port *p = calloc(1, sizeof *p);
	if (!p)
		return NULL;
	*p = (struct sl__port){.port.functions = &functions, .loop = loop, .config = *config, .options = *options,
				  .on_event = on_event, .arg = arg, .backoff_ms = BACKOFF_MS};
	p->events_end = &p->events;
	uv_async_init(loop, &p->wake, on_wake);
	uv_signal_init(loop, &p->child);
	uv_timer_init(loop, &p->tick);
	p->wake.data = p->child.data = p->tick.data = p;
	p->handles = 3;
	uv_timer_start(&p->tick, on_tick, TICK_MS, TICK_MS);
	return p;
}

int sl_worker_start(struct sl_device_port **out, uv_loop_t *loop, const struct sl_device_config *config,
		    const struct sl_worker_options *options, sl_device_event_fn on_event, void *arg, struct sl_error *err)
{
	struct sl__port *p = create(loop, config, options, on_event, arg);
	if (!p)
		return sl_error_memory(err, "a worker");
	uv_signal_start(&p->child, on_child, SIGCHLD);
	int code = start(p);
	if (code) {
		sl_error_set(err, SL_NODEVICE, "The worker of %s cannot be started: %s.", options->id, strerror(code));
		destroy(&p->port, NULL, NULL);
		return SL_NODEVICE;
	}
	*out = &p->port;
	return 0;
}

int sl_worker_take(struct sl_device_port **out, uv_loop_t *loop, const struct sl_device_config *config,
		   const struct sl_worker_options *options, int fd, const struct sl_worker_channel *channel,
		   sl_device_event_fn on_event, void *arg, struct sl_error *err)
{
	static const struct sl_wire_ops ops = {.message = on_message, .ended = on_ended, .most = sl__port_most};
	struct sl__port *p = create(loop, config, options, on_event, arg);
	if (!p) {
		close(fd);
		return sl_error_memory(err, "a worker");
	}
	p->channel = *channel;
	if (sl_wire_open(&p->wire, loop, fd, &ops, p)) {
		destroy(&p->port, NULL, NULL);
		return sl_error_memory(err, "a worker");
	}
	p->beat_ms = uv_now(loop);
	sl_wire_send(p->wire, hello(p));
	*out = &p->port;
	return 0;
}
