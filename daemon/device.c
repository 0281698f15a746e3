/* Between two slices the thread takes all commands that have come, in order. With nothing
 * to run it sleeps in the mailbox; there is no timer anywhere, so a new small job waits
 * for the rest of the present slice at most.
 *
 * Progress is told at most every PROGRESS_MS a job, and when a job ends. The thread runs
 * at a lower priority than the rest of the daemon (nice +5, which on Linux is a property
 * of a thread, and which OpenMP's workers, being started from here, inherit): on a machine
 * whose cores are all busy computing, requests are still answered at once. */
#include "daemon/device.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "daemon/log.h"
#include "daemon/scheduler.h"

#define PROGRESS_MS 50.0
#define STATE_MS 250.0
#define NICE 5

enum command_kind { ADD, STEER, PRIORITY, PAUSE, RESUME, CANCEL, SNAPSHOT, CHECKPOINT, DROP_GRAPH,
		    DROP_NEIGHBOURS, ASK_STATE, PLANS_CLEAR, STOP };

struct command {
	struct sl_message message;
	enum command_kind kind;
	uint64_t key;                /* of the job or graph */
	struct sl_params params;
	int priority;
	struct sl_device_job *add;   /* owned */
};

/* A graph on the device. */
struct resident {
	struct resident *next;
	uint64_t key;
	const struct sl_affinities *affinities;  /* lent by the loop, or summary */
	struct sl_affinities *summary;           /* of a graph made on the device; owned, or NULL */
	struct sl_device_graph *graph;           /* NULL: not put yet */
	uint64_t adds;
	uint64_t used;                           /* when, for eviction */
	int jobs;
	bool drop;                               /* asked for while jobs use it */
};

/* Neighbours on the device: P of any perplexity follows. */
struct near {
	struct near *next;
	uint64_t key;
	struct sl_device_neighbours *neighbours;
	uint64_t used;
};

struct task {
	struct sl_scheduled scheduled;  /* first: a pick is cast to its task */
	struct task *next;
	uint64_t key;
	struct resident *resident;
	struct sl_embedding *embedding;
	struct sl_status status;
	bool restored;                  /* from a checkpoint */
	int trace_sent;
	double told_ms;                 /* when progress was told last */
	uint64_t slices;                /* since then */
	double slice_seconds;
};

struct sl_device_thread {
	/* shared: the mailboxes lock themselves, the async may be sent by any thread */
	struct sl_mailbox commands, events;
	uv_async_t async;
	pthread_t thread;
	struct sl_device_config config;
	/* the loop's */
	sl_device_event_fn on_event;
	void *arg;
	void (*closed)(void *arg);
	void *closed_arg;
	/* the opening: written by the thread before ready is posted */
	uv_sem_t ready;
	int open_code;
	struct sl_error open_err;
	/* the thread's */
	struct sl_device *device;
	struct sl_scheduler *scheduler;
	struct task *tasks;
	struct resident *residents;
	struct near *nears;
	uint64_t clock;
	double state_told_ms;
	bool stop;
};

static double now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- events -------------------------------------------------------------- */

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
static struct sl_device_event *event(enum sl_event_kind kind, uint64_t job)
{
	struct sl_device_event *e;
	while (!(e = calloc(1, sizeof *e)))
		usleep(10000);
	e->kind = kind;
	e->job = job;
	return e;
}

static void tell(struct sl_device_thread *t, struct sl_device_event *e)
{
	sl_mailbox_put(&t->events, &e->message);
	uv_async_send(&t->async);
}

static void tell_error(struct sl_device_thread *t, uint64_t job, const struct sl_error *err)
{
	struct sl_device_event *e = event(SL_EVENT_FAILED, job);
	e->err = *err;
	tell(t, e);
}

static void tell_state(struct sl_device_thread *t, bool asked)
{
	struct sl_device_event *e = event(SL_EVENT_STATE, 0);
	e->asked = asked;
	e->state = calloc(1, sizeof *e->state);
	if (e->state) {
		const struct sl_engine *engine = t->config.engine;
		engine->info(t->device, &e->state->info);
		int count = engine->plans(t->device, e->state->plan, SL_PLANS_LISTED);
		e->state->plan_count = count < SL_PLANS_LISTED ? count : SL_PLANS_LISTED;
		for (struct resident *r = t->residents; r; r = r->next)
			e->state->graphs_resident += r->graph != NULL;
		for (struct near *b = t->nears; b; b = b->next)
			e->state->neighbours_resident++;
	}
	t->state_told_ms = now_ms();
	tell(t, e);
}

/* Adds status and the trace points from `first` on. */
static void add_status(struct task *k, struct sl_device_event *e, int first)
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

static void tell_progress(struct sl_device_thread *t, struct task *k, enum sl_event_kind kind)
{
	struct sl_device_event *e = event(kind, k->key);
	add_status(k, e, k->trace_sent);
	k->told_ms = now_ms();
	tell(t, e);
}

/* NULL with err. */
static struct sl_layout *layout_of(struct task *k, struct sl_error *err)
{
	const struct sl_affinities *a = k->resident->affinities;
	int dims = sl_embedding_params(k->embedding)->dims;
	float *y = malloc(((size_t)a->n_user * (size_t)dims + 1) * sizeof *y);
	if (!y) {
		sl_error_set(err, SL_NOMEM, "Out of memory for a layout of %u nodes.", a->n_user);
		return NULL;
	}
	if (sl_embedding_layout(k->embedding, y, err)) {
		free(y);
		return NULL;
	}
	struct sl_layout *l = sl_layout_create_take(y, a->n_user, dims, k->status.iteration, k->status.kl);
	if (!l)
		sl_error_set(err, SL_NOMEM, "Out of memory for a layout.");
	return l;
}

/* ---- graphs ---------------------------------------------------------------- */

static struct resident *resident_find(struct sl_device_thread *t, uint64_t key)
{
	struct resident *r = t->residents;
	while (r && r->key != key)
		r = r->next;
	return r;
}

static void resident_drop(struct sl_device_thread *t, struct resident *r)
{
	struct resident **at = &t->residents;
	while (*at != r)
		at = &(*at)->next;
	*at = r->next;
	if (r->graph)
		t->config.engine->graph_drop(r->graph);
	sl_affinities_destroy(r->summary);
	struct sl_device_event *e = event(SL_EVENT_GRAPH_DROPPED, 0);
	e->graph = r->key;
	e->adds = r->adds;
	tell(t, e);
	free(r);
}

static struct resident *least_recent(struct sl_device_thread *t)
{
	struct resident *oldest = NULL;
	for (struct resident *r = t->residents; r; r = r->next)
		if (!r->jobs && (!oldest || r->used < oldest->used))
			oldest = r;
	return oldest;
}

static void near_drop(struct sl_device_thread *t, struct near *b)
{
	struct near **at = &t->nears;
	while (*at != b)
		at = &(*at)->next;
	*at = b->next;
	t->config.engine->neighbours_drop(b->neighbours);
	free(b);
}

static struct near *near_find(struct sl_device_thread *t, uint64_t key)
{
	struct near *b = t->nears;
	while (b && b->key != key)
		b = b->next;
	return b;
}

/* Makes room on the device: an idle graph, else neighbours, but for those of `keep`. */
static bool drop_something(struct sl_device_thread *t, uint64_t keep)
{
	struct resident *victim = least_recent(t);
	struct near *oldest = NULL;
	if (victim) {
		resident_drop(t, victim);
		return true;
	}
	for (struct near *b = t->nears; b; b = b->next)
		if (b->key != keep && (!oldest || b->used < oldest->used))
			oldest = b;
	if (oldest)
		near_drop(t, oldest);
	return oldest != NULL;
}

/* The job's neighbours on the device. */
static int near_use(struct sl_device_thread *t, const struct sl_device_job *job, struct near **out,
		    struct sl_error *err)
{
	struct near *b = near_find(t, job->neighbours_key);
	int code = 0;
	if (!b) {
		if (!(b = calloc(1, sizeof *b)))
			return sl_error_set(err, SL_NOMEM, "Out of memory for neighbours.");
		code = t->config.engine->neighbours_put(t->device, job->neighbours, &b->neighbours, err);
		if (code) {
			free(b);
			return code;
		}
		b->key = job->neighbours_key;
		b->next = t->nears;
		t->nears = b;
	}
	b->used = ++t->clock;
	*out = b;
	return 0;
}

/* P on the device: as the loop made it, or from neighbours. */
static int resident_put(struct sl_device_thread *t, struct resident *r, const struct sl_device_job *job,
			struct sl_error *err)
{
	struct near *b = NULL;
	if (!job->neighbours)
		return t->config.engine->graph_put(t->device, r->affinities, &r->graph, err);
	int code = near_use(t, job, &b, err);
	if (!code)
		code = t->config.engine->neighbours_graph(b->neighbours, &job->affinities_params, &r->summary, &r->graph, err);
	r->affinities = r->summary;
	return code;
}

/* The graph with one more job on it; room for it is made by dropping others. On an error
 * the loop is told that it has the affinities back. */
static int resident_use(struct sl_device_thread *t, const struct sl_device_job *job, struct resident **out,
			struct sl_error *err)
{
	struct resident *r = resident_find(t, job->graph);
	if (!r) {
		while (!(r = calloc(1, sizeof *r)))
			usleep(10000);  /* as in event(): it holds what the loop lent */
		r->key = job->graph;
		r->affinities = job->affinities;
		r->next = t->residents;
		t->residents = r;
	}
	r->adds++;
	r->used = ++t->clock;
	r->drop = false;
	r->jobs++;
	int code = 0;
	while (!r->graph && (code = resident_put(t, r, job, err))) {
		r->graph = NULL;
		r->summary = NULL;
		if (code != SL_DEVMEM || !drop_something(t, job->neighbours_key))
			break;
	}
	*out = r;
	return code;
}

static void resident_unuse(struct sl_device_thread *t, struct resident *r)
{
	if (--r->jobs == 0 && (r->drop || !r->graph))
		resident_drop(t, r);
}

/* ---- jobs ------------------------------------------------------------------ */

static struct task *task_find(struct sl_device_thread *t, uint64_t key)
{
	struct task *k = t->tasks;
	while (k && k->key != key)
		k = k->next;
	return k;
}

static void task_end(struct sl_device_thread *t, struct task *k)
{
	struct task **at = &t->tasks;
	while (*at != k)
		at = &(*at)->next;
	*at = k->next;
	sl_scheduler_remove(t->scheduler, &k->scheduled);
	sl_embedding_destroy(k->embedding);
	resident_unuse(t, k->resident);
	free(k);
	if (!t->tasks || now_ms() - t->state_told_ms > STATE_MS)
		tell_state(t, false);
}

/* Makes the embedding, dropping idle graphs when the device's memory is short. */
static int task_embed(struct sl_device_thread *t, struct task *k, const struct sl_device_job *job, struct sl_error *err)
{
	int code;
	for (;;) {
		code = sl_embedding_create(&k->embedding, t->config.engine, k->resident->graph,
					   k->resident->affinities, &job->params, job->init, err);
		if (code != SL_DEVMEM || !drop_something(t, 0))
			break;
	}
	if (code || !job->checkpoint)
		return code;
	if (!sl_embedding_load(k->embedding, job->checkpoint, job->checkpoint_bytes, err)) {
		/* What was steered since the checkpoint, or before it, is in the job's parameters. */
		struct sl_error ignored;
		sl_embedding_steer(k->embedding, &job->params, &ignored);
		k->restored = true;
		return 0;
	}
	/* Not this machine's or this version's any more: from the start. */
	sl_log_warning("device", "a checkpoint is of no use, the job starts again: %s", err->detail);
	sl_embedding_destroy(k->embedding);
	k->embedding = NULL;
	return sl_embedding_create(&k->embedding, t->config.engine, k->resident->graph, k->resident->affinities,
				   &job->params, job->init, err);
}

/* Until the first slice tells better; the trace is what sl_embedding_load restored. */
static void task_status_init(struct task *k, const struct sl_device_job *job)
{
	int count;
	const struct sl_trace_point *trace = sl_embedding_trace(k->embedding, &count);
	k->status = (struct sl_status){
		.iteration = k->restored ? job->iteration : 0, .seconds = k->restored ? job->seconds : 0,
		.iterations = job->params.iterations,
		.kl = count ? trace[count - 1].kl : NAN, .gradient_norm = count ? trace[count - 1].gradient_norm : NAN,
	};
}

static int task_add(struct sl_device_thread *t, const struct sl_device_job *job, struct sl_error *err)
{
	struct task *k = calloc(1, sizeof *k);
	struct resident *r;
	int code = resident_use(t, job, &r, err);
	if (!code && !k)
		code = sl_error_set(err, SL_NOMEM, "Out of memory for a job.");
	if (code)
		goto out;
	k->key = job->job;
	k->resident = r;
	code = task_embed(t, k, job, err);
	if (code)
		goto out;
	task_status_init(k, job);
	code = sl_scheduler_add(t->scheduler, &k->scheduled, job->client, job->share, job->priority,
				k->status.seconds * 1e3, err);
	if (code)
		goto out;
	if (job->paused)
		sl_scheduler_set_runnable(t->scheduler, &k->scheduled, false);
	k->next = t->tasks;
	t->tasks = k;
	tell_progress(t, k, SL_EVENT_STARTED);
	if (now_ms() - t->state_told_ms > STATE_MS)
		tell_state(t, false);
	return 0;
out:
	if (k)
		sl_embedding_destroy(k->embedding);
	free(k);
	resident_unuse(t, r);
	return code;
}

static void task_finish(struct sl_device_thread *t, struct task *k)
{
	struct sl_error err;
	struct sl_layout *layout = layout_of(k, &err);
	if (!layout) {
		tell_error(t, k->key, &err);
	} else {
		struct sl_device_event *e = event(SL_EVENT_DONE, k->key);
		add_status(k, e, 0);
		e->layout = layout;
		tell(t, e);
	}
	task_end(t, k);
}

static void run_slice(struct sl_device_thread *t, struct task *k)
{
	struct sl_error err = {0};
	double start = now_ms();
	int code = sl_embedding_advance(k->embedding, t->config.slice_ms, &k->status, &err);
	double end = now_ms();
	sl_scheduler_charge(t->scheduler, &k->scheduled, end - start);
	k->slices++;
	k->slice_seconds += (end - start) * 1e-3;
	if (code) {
		tell_error(t, k->key, &err);
		task_end(t, k);
	} else if (k->status.done) {
		task_finish(t, k);
	} else if (end - k->told_ms >= PROGRESS_MS) {
		tell_progress(t, k, SL_EVENT_PROGRESS);
	}
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

static void do_snapshot(struct sl_device_thread *t, struct task *k, uint64_t key)
{
	struct sl_device_event *e = event(SL_EVENT_SNAPSHOT, key);
	if (k) {
		e->status = k->status;
		e->layout = layout_of(k, &e->err);
	}
	tell(t, e);
}

static void do_checkpoint(struct sl_device_thread *t, struct task *k, uint64_t key)
{
	struct sl_device_event *e = event(SL_EVENT_CHECKPOINT, key);
	if (k) {
		e->status = k->status;
		if (sl_embedding_save(k->embedding, &e->blob, &e->bytes, &e->err))
			e->blob = NULL;
	}
	tell(t, e);
}

static void do_cancel(struct sl_device_thread *t, struct task *k)
{
	tell_progress(t, k, SL_EVENT_CANCELLED);
	task_end(t, k);
}

static void do_job(struct sl_device_thread *t, struct task *k, const struct command *c)
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
		tell_progress(t, k, SL_EVENT_PAUSED);
		break;
	case RESUME:
		sl_scheduler_set_runnable(t->scheduler, &k->scheduled, true);
		break;
	case CANCEL:
		do_cancel(t, k);
		break;
	default:
		break;
	}
}

static void do_command(struct sl_device_thread *t, struct command *c)
{
	struct sl_error err = {0};
	struct resident *r;
	struct task *k = task_find(t, c->key);
	switch (c->kind) {
	case ADD:
		if (task_add(t, c->add, &err))
			tell_error(t, c->add->job, &err);
		break;
	case SNAPSHOT:
		do_snapshot(t, k, c->key);
		break;
	case CHECKPOINT:
		do_checkpoint(t, k, c->key);
		break;
	case DROP_GRAPH:
		r = resident_find(t, c->key);
		if (r && r->jobs)
			r->drop = true;
		else if (r)
			resident_drop(t, r);
		break;
	case DROP_NEIGHBOURS:
		if (near_find(t, c->key))
			near_drop(t, near_find(t, c->key));
		break;
	case PLANS_CLEAR:
		t->config.engine->plans_clear(t->device);
		tell_state(t, true);
		break;
	case ASK_STATE:
		tell_state(t, true);
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
	struct sl_message *m = sleep ? sl_mailbox_wait(&t->commands) : sl_mailbox_take(&t->commands);
	while (m) {
		struct command *c = (struct command *)m;
		m = m->next;
		do_command(t, c);
		job_destroy(c->add);
		free(c);
	}
}

/* ---- the thread ---------------------------------------------------------------- */

static int thread_open(struct sl_device_thread *t)
{
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
	int code = sl_scheduler_create(&t->scheduler, &t->open_err);
	if (!code)
		code = t->config.engine->open(&t->device, &t->config.options, &t->open_err);
	return code;
}

static void *thread_main(void *arg)
{
	struct sl_device_thread *t = arg;
	pthread_setname_np(pthread_self(), "device");
	int code = t->open_code = thread_open(t);
	uv_sem_post(&t->ready);
	if (code) {
		sl_scheduler_destroy(t->scheduler);
		return NULL;
	}
	tell_state(t, false);
	while (!t->stop) {
		struct sl_scheduled *next = sl_scheduler_pick(t->scheduler);
		if (next)
			run_slice(t, (struct task *)next);
		take_commands(t, !next);
	}
	while (t->tasks)
		task_end(t, t->tasks);
	while (t->residents)
		resident_drop(t, t->residents);
	while (t->nears)
		near_drop(t, t->nears);
	t->config.engine->close(t->device);
	sl_scheduler_destroy(t->scheduler);
	tell(t, event(SL_EVENT_STOPPED, 0));
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

int sl_device_thread_create(struct sl_device_thread **out, uv_loop_t *loop, const struct sl_device_config *config,
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
	uv_sem_wait(&t->ready);
	if (t->open_code) {
		int code = t->open_code;
		if (err)
			*err = t->open_err;
		sl_device_thread_destroy(t, NULL, NULL);
		return code;
	}
	*out = t;
	return 0;
}

void sl_device_thread_destroy(struct sl_device_thread *t, void (*closed)(void *arg), void *arg)
{
	pthread_join(t->thread, NULL);
	t->closed = closed;
	t->closed_arg = arg;
	uv_close((uv_handle_t *)&t->async, on_closed);
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

static int send_plain(struct sl_device_thread *t, enum command_kind kind, uint64_t key)
{
	return post(t, &(struct command){.kind = kind, .key = key});
}

int sl_device_pause(struct sl_device_thread *t, uint64_t job) { return send_plain(t, PAUSE, job); }
int sl_device_resume(struct sl_device_thread *t, uint64_t job) { return send_plain(t, RESUME, job); }
int sl_device_cancel(struct sl_device_thread *t, uint64_t job) { return send_plain(t, CANCEL, job); }
int sl_device_snapshot(struct sl_device_thread *t, uint64_t job) { return send_plain(t, SNAPSHOT, job); }
int sl_device_checkpoint(struct sl_device_thread *t, uint64_t job) { return send_plain(t, CHECKPOINT, job); }
int sl_device_drop_graph(struct sl_device_thread *t, uint64_t graph) { return send_plain(t, DROP_GRAPH, graph); }
int sl_device_drop_neighbours(struct sl_device_thread *t, uint64_t key) { return send_plain(t, DROP_NEIGHBOURS, key); }
int sl_device_ask_state(struct sl_device_thread *t) { return send_plain(t, ASK_STATE, 0); }
int sl_device_plans_clear(struct sl_device_thread *t) { return send_plain(t, PLANS_CLEAR, 0); }
int sl_device_stop(struct sl_device_thread *t) { return send_plain(t, STOP, 0); }
