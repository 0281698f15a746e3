/* The thread of a device. Between two slices it executes all commands that have arrived, in order. Without work it
 * sleeps in the mailbox. A slice ends early if a command waits (tasks.c), so a new small job waits for a part of a
 * slice at most. Jobs too small to fill the device share a slice (core/embedding/embedding.h).
 *
 * The thread reports the progress of a job at most every PROGRESS_MS (tasks.c), and its end. It runs at a lower
 * priority than the rest of the daemon, so requests are answered at once even if all cores compute. (nice +5; on Linux
 * this is a property of a thread, which the OpenMP workers that it starts inherit.) */
#include "daemon/device/device_internal.h"

#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/util/crashes.h"
#include "daemon/util/log.h"

#define NICE 5
#define BACKOFF_MS 500.0       /* wait before the second try to open a device that failed */
#define BACKOFF_MAX_MS 60000.0
#define OWED_MS 100.0          /* wait before the next try to send the state, if there was no memory for it */

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
	sl_log_error("device", "the device cannot be opened, next attempt in %.1f s: %s", t->backoff_ms * 1e-3,
		     why->detail);
	back_off(t);
}

/* Tries to open the device. After each failure the wait before the next try becomes longer. */
static void reopen(struct sl_device_thread *t)
{
	struct sl_error err = {0};
	int code = t->config.engine->open(&t->device, &t->config.options, &err);
	t->stuck = code == SL_DEVLOST;
	if (code) {
		t->device = NULL;
		not_yet(t, &err);
	} else {
		sl_log_info("device", "the device is open again");
		memset(&t->problem, 0, sizeof t->problem);
		sl__graphs_return(t);
	}
	sl__tell_state(t);
}

/* Gives all jobs back to the loop, which sends them again with their last checkpoints. Then opens the device again, at
 * once if it has run well for a while or a job has made progress. */
static void lose(struct sl_device_thread *t)
{
	double now = sl__now_ms();
	bool again = t->losses && !t->progressed && now - t->lost_ms < BACKOFF_MAX_MS;
	t->lost_ms = now;
	t->progressed = false;
	t->losses++;
	if (!again)
		t->backoff_ms = BACKOFF_MS;
	sl_log_error("device", "the device is lost: %s", t->problem.detail);
	SL_LIST_EACH(struct sl_task, k, &t->tasks, link) {
		struct sl_device_event *e = sl__event_owed(&k->ended, SL_EVENT_LOST, k->key);
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
	sl__tell_state(t);
}

/* ---- commands ---------------------------------------------------------------- */

/* A later failure is not the same one again. */
static void made_progress(struct sl_device_thread *t, struct sl_task *k)
{
	k->alone = false;
	t->progressed = true;
}

static void do_checkpoint(struct sl_device_thread *t, struct sl_task *k, struct sl_command *c)
{
	struct sl_device_event *e = sl__event_owed(&c->owed.answer, SL_EVENT_CHECKPOINT, c->key);
	if (k) {
		e->status = k->status;
		sl_crashes_computes(k->id);
		if (sl__note(t, &e->err, k->method->save(k->run, &e->blob, &e->bytes, &e->err)))
			e->blob = NULL;
		if (e->blob && !k->scheduled.runnable)
			e->layout = sl__picture_of(k);
		sl_crashes_computes(NULL);
		if (e->blob && k->status.iteration > k->began)
			made_progress(t, k);
	}
	sl__tell(t, e);
}

static void finish(struct sl_device_thread *t, struct sl_task *k)
{
	struct sl_error err;
	if (sl__note(t, &err, k->method->stop(k->run, &k->status, &err))) {
		sl__task_fail(t, k, &err);
	} else if (k->status.done) {
		sl__task_leave(t, k, SL_EVENT_DONE);
	} else {  /* after some more slices, even if it is paused */
		sl_scheduler_set_runnable(t->scheduler, &k->scheduled, true);
	}
}

static void do_job(struct sl_device_thread *t, struct sl_task *k, struct sl_command *c)
{
	struct sl_error err;
	switch (c->kind) {
	case SL__STEER:
		if (k->method->steer && k->method->steer(k->run, &c->params, &err))
			sl_log_warning("device", "steering was refused: %s", err.detail);
		break;
	case SL__PRIORITY:
		sl_scheduler_set_priority(t->scheduler, &k->scheduled, c->priority);
		break;
	case SL__PAUSE:
		sl_scheduler_set_runnable(t->scheduler, &k->scheduled, false);
		sl__answer_paused(t, k, &c->owed.answer);
		break;
	case SL__RESUME:
		if (c->holds == k->holds)
			sl_scheduler_set_runnable(t->scheduler, &k->scheduled, true);
		break;
	case SL__LEAVE:
		sl__task_move_off(t, k, &c->owed.answer);
		break;
	case SL__CANCEL:
		sl__task_leave(t, k, SL_EVENT_CANCELLED);
		break;
	case SL__FINISH:
		finish(t, k);
		break;
	default:
		break;
	}
}

static void give_back(struct sl_device_thread *t, const struct sl_device_job *job, struct sl_owed *owed, bool suspect)
{
	struct sl_device_event *e = sl__event_owed(&owed->ended, SL_EVENT_LOST, job->job);
	e->err = t->problem;
	e->suspect = suspect;
	sl__tell(t, e);
}

/* Adds a job. While the device is lost, the job goes back to the loop, which keeps it until a device is usable. */
static void do_add(struct sl_device_thread *t, struct sl_device_job *job, struct sl_owed *owed)
{
	struct sl_error err = {0};
	if (t->device && !t->lost) {
		sl_crashes_computes(job->id);
		int code = sl__task_add(t, job, owed, &err);
		if (code == SL_DEVLOST && !job->alone)
			give_back(t, job, owed, true);
		else if (code)
			sl__tell_error(t, &owed->ended, job->job, &err);
		else if (job->cancel)
			sl__task_leave(t, sl__task_find(t, job->job), SL_EVENT_CANCELLED);
		else if (job->finish)
			finish(t, sl__task_find(t, job->job));
		sl_crashes_computes(NULL);
		return;
	}
	give_back(t, job, owed, false);
	if (job->affinities)  /* give them back, though they were not used */
		sl__tell_dropped(t, &owed->dropped, job->graph, 1);
}

static void do_command(struct sl_device_thread *t, struct sl_command *c)
{
	struct sl_resident *r;
	struct sl_task *k = sl__task_find(t, c->key);
	switch (c->kind) {
	case SL__ADD:
		do_add(t, c->add, &c->owed);
		break;
	case SL__SNAPSHOT:
		if (k && k->method->layout)
			sl__snapshot_start(t, k, c->quantise, &c->owed.answer);
		else if (k && k->method->values)
			sl__snapshot_values(t, k, &c->owed.answer);
		else
			sl__tell(t, sl__event_owed(&c->owed.answer, SL_EVENT_SNAPSHOT, c->key));
		break;
	case SL__EXPANDED:
		r = sl__resident_find(t, c->key);
		if (r)
			sl__resident_unuse(t, r);
		break;
	case SL__PIN:
		r = sl__resident_find(t, c->key);
		if (r)
			r->pinned = c->pinned;
		break;
	case SL__CHECKPOINT:
		do_checkpoint(t, k, c);
		break;
	case SL__CHARGE:
		sl_scheduler_charge_elsewhere(t->scheduler, c->group, c->client, c->ms);
		break;
	case SL__DROP_GRAPH:
		r = sl__resident_find(t, c->key);
		if (r && r->jobs)
			r->drop = true;
		else if (r)
			sl__resident_drop(t, r);
		break;
	case SL__DROP_NEIGHBOURS:
		if (sl__resident_neighbours_find(t, c->key))
			sl__resident_neighbours_drop(t, sl__resident_neighbours_find(t, c->key));
		break;
	case SL__PLANS_CLEAR:
		if (t->device)
			t->config.engine->plans_clear(t->device);
		sl__answer_state(t, &c->owed.answer);
		break;
	case SL__ASK_STATE:
		sl__answer_state(t, &c->owed.answer);
		break;
	case SL__STOP:
		t->stop = true;
		break;
	default:
		if (!k)
			break;
		sl_crashes_computes(k->id);
		do_job(t, k, c);
		sl_crashes_computes(NULL);
	}
}

static void take_commands(struct sl_device_thread *t, bool sleep)
{
	struct sl_message *m;
	if (sleep)
		atomic_store(&t->turned_ms, 0);
	if (sleep && (!t->device || t->state_owed))
		m = sl_mailbox_wait_for(&t->commands, t->state_owed ? OWED_MS : t->retry_ms - sl__now_ms());
	else
		m = sleep ? sl_mailbox_wait(&t->commands) : sl_mailbox_take(&t->commands);
	atomic_store(&t->turned_ms, sl__now_ms());
	while (m) {
		struct sl_command *c = (struct sl_command *)m;
		m = m->next;
		do_command(t, c);
		sl__command_destroy(c);
		atomic_store(&t->turned_ms, sl__now_ms());
	}
}

/* ---- the thread ---------------------------------------------------------------- */

static int thread_open(struct sl_device_thread *t)
{
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICE);
	if (t->config.options.threads > 0)
		omp_set_num_threads(t->config.options.threads);
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

static void tell_stopped(struct sl_device_thread *t)
{
	sl__tell(t, sl__event_owed(&t->stopped, SL_EVENT_STOPPED, 0));
}

void *sl__thread_main(void *arg)
{
	struct sl_device_thread *t = arg;
	sl_crashes_thread("device");
	int code = t->open_code = thread_open(t);
	uv_sem_post(&t->ready);
	if (code) {
		sl__expander_destroy(t->expander);
		sl_scheduler_destroy(t->scheduler);
		t->stopped->err = t->open_err;
		tell_stopped(t);
		return NULL;
	}
	sl__tell_state(t);
	while (!t->stop) {
		struct sl_scheduled *next = sl_scheduler_pick(t->scheduler);
		if (next)
			sl__run_slice(t, (struct sl_task *)next);
		while (sl__snapshots_poll(t) && !next && !t->lost)
			usleep(50);  /* the device is idle, and a reader waits for the snapshot */
		take_commands(t, !next && !t->lost);
		if (t->lost)
			lose(t);
		else if (!t->device && sl__now_ms() >= t->retry_ms)
			reopen(t);
		else if (t->state_owed)
			sl__tell_state(t);
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
	tell_stopped(t);
	return NULL;
}
