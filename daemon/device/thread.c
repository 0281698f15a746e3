/* Between two slices the thread takes all commands that have come, in order. With nothing
 * to run it sleeps in the mailbox; there is no timer anywhere, so a new small job waits
 * for the rest of the present slice at most. Jobs too small to fill the device have their slices
 * together (core/embedding/embedding.h).
 *
 * Progress is told at most every PROGRESS_MS a job (tasks.c), and when a job ends. The thread runs
 * at a lower priority than the rest of the daemon (nice +5, which on Linux is a property
 * of a thread, and which OpenMP's workers, being started from here, inherit): on a machine
 * whose cores are all busy computing, requests are still answered at once. */
#include "daemon/device/device_internal.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "daemon/util/log.h"

#define NICE 5
#define BACKOFF_MS 500.0       /* before the second try to open a device that failed */
#define BACKOFF_MAX_MS 60000.0

enum command_kind { ADD, STEER, PRIORITY, PAUSE, RESUME, CANCEL, FINISH, SNAPSHOT, CHECKPOINT, DROP_GRAPH,
		    DROP_NEIGHBOURS, PIN, EXPANDED, ASK_STATE, PLANS_CLEAR, STOP };

struct command {
	struct sl_message message;
	enum command_kind kind;
	uint64_t key;                /* of the job or graph */
	struct sl_params params;
	int priority;
	bool quantise, pinned;
	struct sl_device_job *add;   /* owned */
};

/* ---- a device that fails -------------------------------------------------------------- */

int sl__note(struct sl_device_thread *t, const struct sl_error *err, int code)
{
	if (code == SL_DEVLOST && !t->lost) {
		t->lost = true;
		t->problem = *err;
	}
	return code;
}

static void back_off(struct sl_device_thread *t)
{
	t->retry_ms = sl__now_ms() + t->backoff_ms;
	t->backoff_ms = fmin(2 * t->backoff_ms, BACKOFF_MAX_MS);
}

static void not_yet(struct sl_device_thread *t, const struct sl_error *why)
{
	t->problem = *why;
	sl_log_error("device", "the device does not open, next try in %.1f s: %s", t->backoff_ms * 1e-3, why->detail);
	back_off(t);
}

/* Tries to open the device; if it does not, the next try comes later than this one did. */
static void reopen(struct sl_device_thread *t)
{
	struct sl_error err = {0};
	if (t->config.engine->open(&t->device, &t->config.options, &err)) {
		t->device = NULL;
		not_yet(t, &err);
	} else {
		sl_log_info("device", "the device is open again");
		memset(&t->problem, 0, sizeof t->problem);
		sl__graphs_return(t);
	}
	sl__tell_state(t, false);
}

/* All jobs go back to the loop, which brings them again with their last checkpoints; then a new start, at once if the
 * device has run well for a while. */
static void lose(struct sl_device_thread *t)
{
	double now = sl__now_ms();
	bool again = t->losses && now - t->lost_ms < BACKOFF_MAX_MS;
	t->lost_ms = now;
	t->losses++;
	if (!again)
		t->backoff_ms = BACKOFF_MS;
	sl_log_error("device", "the device is lost: %s", t->problem.detail);
	SL_LIST_EACH(struct sl_task, k, &t->tasks, link) {
		struct sl_device_event *e = sl__event(SL_EVENT_LOST, k->key);
		e->status = k->status;
		e->err = t->problem;
		e->suspect = k->suspect;
		sl__task_end(t, k);
		sl__tell(t, e);
	}
	sl__graphs_leave(t);
	t->config.engine->close(t->device);
	t->device = NULL;
	t->lost = false;
	if (!again) {
		reopen(t);
		return;
	}
	back_off(t);
	sl__tell_state(t, false);
}

/* ---- commands ---------------------------------------------------------------- */

static void job_destroy(struct sl_device_job *job)
{
	if (!job)
		return;
	free(job->init);
	free(job->checkpoint);
	free(job);
}

static void do_checkpoint(struct sl_device_thread *t, struct sl_task *k, uint64_t key)
{
	struct sl_device_event *e = sl__event(SL_EVENT_CHECKPOINT, key);
	if (k) {
		e->status = k->status;
		if (sl__note(t, &e->err, sl_embedding_save(k->embedding, &e->blob, &e->bytes, &e->err)))
			e->blob = NULL;
	}
	sl__tell(t, e);
}

static void do_job(struct sl_device_thread *t, struct sl_task *k, const struct command *c)
{
	struct sl_error err;
	switch (c->kind) {
	case STEER:
		if (sl_embedding_steer(k->embedding, &c->params, &err))
			sl_log_warning("device", "steering was refused: %s", err.detail);
		break;
	case PRIORITY:
		sl_scheduler_set_priority(t->scheduler, &k->scheduled, c->priority);
		break;
	case PAUSE:
		sl_scheduler_set_runnable(t->scheduler, &k->scheduled, false);
		sl__tell_progress(t, k, SL_EVENT_PAUSED);
		break;
	case RESUME:
		sl_scheduler_set_runnable(t->scheduler, &k->scheduled, true);
		break;
	case CANCEL:
		sl__task_leave(t, k, SL_EVENT_CANCELLED);
		break;
	case FINISH:
		if (sl__note(t, &err, sl_embedding_stop(k->embedding, &k->status, &err))) {
			sl__tell_error(t, k->key, &err);
			sl__task_end(t, k);
		} else {
			sl__task_leave(t, k, SL_EVENT_DONE);
		}
		break;
	default:
		break;
	}
}

/* A job that comes while the device is away goes back; the loop keeps it until there is one. */
static void do_add(struct sl_device_thread *t, const struct sl_device_job *job)
{
	struct sl_error err = {0};
	if (t->device && !t->lost) {
		if (sl__task_add(t, job, &err))
			sl__tell_error(t, job->job, &err);
		return;
	}
	struct sl_device_event *e = sl__event(SL_EVENT_LOST, job->job);
	e->err = t->problem;
	sl__tell(t, e);
	if (job->affinities) {  /* never used, but lent */
		e = sl__event(SL_EVENT_GRAPH_DROPPED, 0);
		e->graph = job->graph;
		e->adds = 1;
		sl__tell(t, e);
	}
}

static void do_command(struct sl_device_thread *t, struct command *c)
{
	struct sl_resident *r;
	struct sl_task *k = sl__task_find(t, c->key);
	switch (c->kind) {
	case ADD:
		do_add(t, c->add);
		break;
	case SNAPSHOT:
		if (k)
			sl__snapshot_start(t, k, c->quantise);
		else
			sl__tell(t, sl__event(SL_EVENT_SNAPSHOT, c->key));
		break;
	case EXPANDED:
		r = sl__resident_find(t, c->key);
		if (r)
			sl__resident_unuse(t, r);
		break;
	case PIN:
		r = sl__resident_find(t, c->key);
		if (r)
			r->pinned = c->pinned;
		break;
	case CHECKPOINT:
		do_checkpoint(t, k, c->key);
		break;
	case DROP_GRAPH:
		r = sl__resident_find(t, c->key);
		if (r && r->jobs)
			r->drop = true;
		else if (r)
			sl__resident_drop(t, r);
		break;
	case DROP_NEIGHBOURS:
		if (sl__resident_neighbours_find(t, c->key))
			sl__resident_neighbours_drop(t, sl__resident_neighbours_find(t, c->key));
		break;
	case PLANS_CLEAR:
		if (t->device)
			t->config.engine->plans_clear(t->device);
		sl__tell_state(t, true);
		break;
	case ASK_STATE:
		sl__tell_state(t, true);
		break;
	case STOP:
		t->stop = true;
		break;
	default:
		if (k)
			do_job(t, k, c);
	}
}

static void take_commands(struct sl_device_thread *t, bool sleep)
{
	struct sl_message *m;
	if (sleep)
		atomic_store(&t->turned_ms, 0);
	if (sleep && !t->device)
		m = sl_mailbox_wait_for(&t->commands, t->retry_ms - sl__now_ms());
	else
		m = sleep ? sl_mailbox_wait(&t->commands) : sl_mailbox_take(&t->commands);
	atomic_store(&t->turned_ms, sl__now_ms());
	while (m) {
		struct command *c = (struct command *)m;
		m = m->next;
		do_command(t, c);
		job_destroy(c->add);
		free(c);
		atomic_store(&t->turned_ms, sl__now_ms());
	}
}

/* ---- the thread ---------------------------------------------------------------- */

static int thread_open(struct sl_device_thread *t)
{
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
	int code = sl_scheduler_create(&t->scheduler, &t->open_err);
	t->backoff_ms = BACKOFF_MS;
	if (!code)
		code = sl__expander_create(&t->expander, t, &t->open_err);
	snprintf(t->info.kind, sizeof t->info.kind, "%.*s", (int)strcspn(t->config.engine->name, "-"),
		 t->config.engine->name);  /* hybrid-double is hybrid */
	if (!code)
		code = t->config.engine->open(&t->device, &t->config.options, &t->open_err);
	if (code && t->expander && t->config.patient) {
		t->device = NULL;
		not_yet(t, &t->open_err);
		code = 0;
	}
	return code;
}

static void *thread_main(void *arg)
{
	struct sl_device_thread *t = arg;
	pthread_setname_np(pthread_self(), "device");
	int code = t->open_code = thread_open(t);
	uv_sem_post(&t->ready);
	if (code) {
		sl__expander_destroy(t->expander);
		sl_scheduler_destroy(t->scheduler);
		struct sl_device_event *e = sl__event(SL_EVENT_STOPPED, 0);
		e->err = t->open_err;
		sl__tell(t, e);
		return NULL;
	}
	sl__tell_state(t, false);
	while (!t->stop) {
		struct sl_scheduled *next = sl_scheduler_pick(t->scheduler);
		if (next)
			sl__run_slice(t, (struct sl_task *)next);
		while (sl__snapshots_poll(t) && !next && !t->lost)
			usleep(50);  /* nothing runs: somebody waits for it */
		take_commands(t, !next && !t->lost);
		if (t->lost)
			lose(t);
		else if (!t->device && sl__now_ms() >= t->retry_ms)
			reopen(t);
	}
	atomic_store(&t->turned_ms, 0);
	SL_LIST_EACH(struct sl_task, k, &t->tasks, link)
		sl__task_end(t, k);
	sl__expander_destroy(t->expander);
	SL_LIST_EACH(struct sl_resident, r, &t->residents, link)
		sl__resident_drop(t, r);
	SL_LIST_EACH(struct sl_resident_neighbours, b, &t->neighbours, link)
		sl__resident_neighbours_drop(t, b);
	if (t->device)
		t->config.engine->close(t->device);
	sl_scheduler_destroy(t->scheduler);
	sl__tell(t, sl__event(SL_EVENT_STOPPED, 0));
	return NULL;
}

/* ---- the loop's side ------------------------------------------------------------- */

/* Wake-ups coalesce: take all there is. */
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
		job_destroy(((struct command *)m)->add);
		free(m);
	}
	sl_mailbox_finish(&t->events);
	sl_mailbox_finish(&t->commands);
	uv_sem_destroy(&t->ready);
	free(t);
	if (closed)
		closed(arg);
}

int sl_device_thread_start(struct sl_device_thread **out, uv_loop_t *loop, const struct sl_device_config *config,
			   sl_device_event_fn on_event, void *arg, struct sl_error *err)
{
	struct sl_device_thread *t = calloc(1, sizeof *t);
	if (!t)
		return sl_error_set(err, SL_NOMEM, "Out of memory for a device.");
	t->config = *config;
	t->on_event = on_event;
	t->arg = arg;
	if (uv_async_init(loop, &t->async, on_async)) {
		free(t);
		return sl_error_set(err, SL_INTERNAL, "A device's wake-up could not be made.");
	}
	t->async.data = t;
	sl_mailbox_init(&t->commands);
	sl_mailbox_init(&t->events);
	uv_sem_init(&t->ready, 0);
	if (pthread_create(&t->thread, NULL, thread_main, t)) {
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
		sl_device_thread_destroy(t, NULL, NULL);  /* its event is never told */
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

static int post(struct sl_device_thread *t, const struct command *command)
{
	struct command *c = malloc(sizeof *c);
	if (!c)
		return SL_NOMEM;
	*c = *command;
	sl_mailbox_put(&t->commands, &c->message);
	return 0;
}

int sl_device_add(struct sl_device_thread *t, const struct sl_device_job *job)
{
	struct sl_device_job *copy = malloc(sizeof *copy);
	if (!copy)
		return SL_NOMEM;
	*copy = *job;
	int code = post(t, &(struct command){.kind = ADD, .key = job->job, .add = copy});
	if (code)
		free(copy);
	return code;
}

int sl_device_steer(struct sl_device_thread *t, uint64_t job, const struct sl_params *params)
{
	return post(t, &(struct command){.kind = STEER, .key = job, .params = *params});
}

int sl_device_set_priority(struct sl_device_thread *t, uint64_t job, int priority)
{
	return post(t, &(struct command){.kind = PRIORITY, .key = job, .priority = priority});
}

int sl_device_snapshot(struct sl_device_thread *t, uint64_t job, bool quantise)
{
	return post(t, &(struct command){.kind = SNAPSHOT, .key = job, .quantise = quantise});
}

int sl_device_pin_graph(struct sl_device_thread *t, uint64_t graph, bool pinned)
{
	return post(t, &(struct command){.kind = PIN, .key = graph, .pinned = pinned});
}

/* Without memory for the message: again until there is some, or the graph would stay for ever. */
void sl__post_expanded(struct sl_device_thread *t, uint64_t graph)
{
	while (post(t, &(struct command){.kind = EXPANDED, .key = graph}))
		usleep(10000);
}

static int send_plain(struct sl_device_thread *t, enum command_kind kind, uint64_t key)
{
	return post(t, &(struct command){.kind = kind, .key = key});
}

int sl_device_pause(struct sl_device_thread *t, uint64_t job) { return send_plain(t, PAUSE, job); }
int sl_device_resume(struct sl_device_thread *t, uint64_t job) { return send_plain(t, RESUME, job); }
int sl_device_cancel(struct sl_device_thread *t, uint64_t job) { return send_plain(t, CANCEL, job); }
int sl_device_finish(struct sl_device_thread *t, uint64_t job) { return send_plain(t, FINISH, job); }
int sl_device_checkpoint(struct sl_device_thread *t, uint64_t job) { return send_plain(t, CHECKPOINT, job); }
int sl_device_drop_graph(struct sl_device_thread *t, uint64_t graph) { return send_plain(t, DROP_GRAPH, graph); }
int sl_device_drop_neighbours(struct sl_device_thread *t, uint64_t key) { return send_plain(t, DROP_NEIGHBOURS, key); }
int sl_device_ask_state(struct sl_device_thread *t) { return send_plain(t, ASK_STATE, 0); }
int sl_device_plans_clear(struct sl_device_thread *t) { return send_plain(t, PLANS_CLEAR, 0); }
int sl_device_stop(struct sl_device_thread *t) { return send_plain(t, STOP, 0); }
