/* Starts jobs on a device, runs their slices, and ends them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "daemon/device/device_internal.h"
#include "daemon/util/crashes.h"

#define PROGRESS_MS 50.0
#define STATE_MS 250.0
#define KEPT 0.9  /* weight of the slice before in note_slowness() */
#define PARTS 4  /* of a slice; it ends after one of them if a command waits */

struct sl_task *sl__task_find(struct sl_device_thread *t, uint64_t key)
{
	return SL_LIST_FIND(struct sl_task, k, &t->tasks, link, k->key == key);
}

void sl__task_end(struct sl_device_thread *t, struct sl_task *k)
{
	sl_list_unlink(&k->link);
	sl_scheduler_remove(t->scheduler, &k->scheduled);
	sl__snapshot_finish(t, k);
	k->method->destroy(k->run);
	sl__resident_unuse(t, k->resident);
	sl_device_event_destroy(k->ended);  /* not NULL if the event was not sent */
	free(k);
	if ((!t->tasks.count || sl__now_ms() - t->state_told_ms > STATE_MS) && !t->lost)
		sl__tell_state(t);
}

/* Makes a run on the affinities of a resident graph, dropping idle graphs when the device's memory is short. */
static int run_create(struct sl_device_thread *t, struct sl_task *k, const struct sl_device_job *job,
		      struct sl_error *err)
{
	struct sl_method_input in = {.engine = t->config.engine, .graph = k->resident->graph,
				     .affinities = k->resident->affinities, .init = job->init};
	int code;
	do {
		code = sl__note(t, err, k->method->create(&k->run, &in, &job->params, err));
	} while (code == SL_DEVMEM && sl__drop_something(t, 0));
	if (code)
		k->run = NULL;
	return code;
}

/* Makes the run and loads the job's checkpoint, if it has one. */
static int run_restore(struct sl_device_thread *t, struct sl_task *k, const struct sl_device_job *job,
		       struct sl_error *err)
{
	int code = run_create(t, k, job, err);
	if (code || !job->checkpoint)
		return code;
	code = sl__note(t, err, k->method->load(k->run, job->checkpoint, job->checkpoint_bytes, err));
	if (code == SL_DEVLOST)
		return code;
	if (!code) {
		/* The job's parameters contain all changes, also those since the checkpoint. */
		struct sl_error ignored;
		k->method->steer(k->run, &job->params, &ignored);
		k->restored = true;
		return 0;
	}
	/* The checkpoint is from another machine or version. The job starts from the beginning. */
	k->checkpoint_error = *err;
	k->method->destroy(k->run);
	return run_create(t, k, job, err);
}

/* Attaches the run to the device. If the device's memory is too small, the run continues on the CPU, unless the job was
 * moved here. */
static int run_attach(struct sl_device_thread *t, struct sl_task *k, const struct sl_device_job *job,
		      struct sl_error *err)
{
	int code;
	do {
		code = sl__note(t, err, k->method->attach(k->run, t->config.engine, t->device, err));
	} while (code == SL_DEVMEM && sl__drop_something(t, 0));
	if (code != SL_DEVMEM || job->moved)
		return code;
	k->unaided = *err;
	return 0;
}

/* Takes the run that came with the job, or makes one on a graph in the device's memory. */
static int task_run(struct sl_device_thread *t, struct sl_task *k, struct sl_device_job *job, struct sl_owed *owed,
		    struct sl_error *err)
{
	if (job->run) {
		k->run = job->run;
		job->run = NULL;
		k->restored = job->restored;
		k->nodes = job->nodes;
		k->columns = job->columns;
		return job->attach ? run_attach(t, k, job, err) : 0;
	}
	int code = sl__resident_use(t, job, &owed->dropped, &k->resident, err);
	if (!code)
		code = run_restore(t, k, job, err);
	if (!code && k->method->embedding)
		k->embedding = k->method->embedding(k->run);
	return code;
}

/* Sets the status until the first slice ends, from the restored trace. */
static int task_status_init(struct sl_task *k, const struct sl_device_job *job, struct sl_error *err)
{
	int count;
	if (!k->embedding)
		return k->method->advance(k->run, 0, &k->status, err);
	const struct sl_trace_point *trace = k->method->trace(k->run, &count);
	k->status = (struct sl_status){
		.iteration = k->restored ? job->iteration : 0, .seconds = k->restored ? job->seconds : 0,
		.iterations = sl_embedding_params(k->embedding)->iterations,
		.measure = count ? trace[count - 1].measure : NAN, .gradient_norm = count ? trace[count - 1].gradient_norm :
			NAN,
	};
	return 0;
}

static void tell_started(struct sl_device_thread *t, struct sl_task *k, struct sl_device_event **owed)
{
	struct sl_device_event *e = sl__event_owed(owed, SL_EVENT_STARTED, k->key);
	sl__add_status(k, e, 0);
	e->err = k->checkpoint_error;
	e->unaided = k->unaided;
	k->told_ms = sl__now_ms();
	sl__tell(t, e);
}

int sl__task_add(struct sl_device_thread *t, struct sl_device_job *job, struct sl_owed *owed, struct sl_error *err)
{
	struct sl_task *k = calloc(1, sizeof *k);
	if (!k) {
		struct sl_resident *r = NULL;
		if (!job->run)
			sl__resident_use(t, job, &owed->dropped, &r, err);
		sl__resident_unuse(t, r);
		return sl_error_memory(err, "a job");
	}
	k->key = job->job;
	memcpy(k->id, job->id, sizeof k->id);
	k->method = job->method;
	k->alone = job->alone;
	int code = task_run(t, k, job, owed, err);
	if (!code)
		code = task_status_init(k, job, err);
	if (!code)
		code = sl_scheduler_add(t->scheduler, &k->scheduled, job->group, job->share, job->client, job->priority,
					k->status.seconds * 1e3, err);
	if (code) {
		k->method->destroy(k->run);
		sl__resident_unuse(t, k->resident);
		free(k);
		return code;
	}
	if (job->paused)
		sl_scheduler_set_runnable(t->scheduler, &k->scheduled, false);
	k->began = k->status.iteration;
	k->ended = owed->ended;
	owed->ended = NULL;
	sl_list_prepend(&t->tasks, &k->link);
	tell_started(t, k, &owed->answer);
	if (sl__now_ms() - t->state_told_ms > STATE_MS)
		sl__tell_state(t);
	return 0;
}

void sl__task_move_off(struct sl_device_thread *t, struct sl_task *k, struct sl_device_event **owed)
{
	struct sl_device_event *e = sl__event_owed(owed, SL_EVENT_LEFT, k->key);
	if (sl__note(t, &e->err, k->method->save(k->run, &e->blob, &e->bytes, &e->err))) {
		e->blob = NULL;
		sl__tell(t, e);
		return;
	}
	sl__add_status(k, e, 0);
	sl__task_end(t, k);
	sl__tell(t, e);
}

void sl__task_leave(struct sl_device_thread *t, struct sl_task *k, enum sl_event_kind kind)
{
	struct sl_error err = {0};
	struct sl_method_result result = {0};
	struct sl_layout *layout = k->method->layout ? sl__layout_of(k, &err) : NULL;
	int code = k->method->layout && !layout ? err.code : 0;
	if (code)
		sl__note(t, &err, code);
	if (!code && k->method->result && (code = k->method->result(k->run, &result, &err)))
		result.count = 0;
	if (code && kind == SL_EVENT_DONE) {
		sl__task_fail(t, k, &err);
		return;
	}
	t->progressed = t->progressed || kind == SL_EVENT_DONE;
	struct sl_device_event *e = sl__event_owed(&k->ended, kind, k->key);
	sl__add_status(k, e, 0);
	e->layout = layout;
	e->result = result;
	sl__tell(t, e);
	sl__task_end(t, k);
}

void sl__task_fail(struct sl_device_thread *t, struct sl_task *k, const struct sl_error *err)
{
	if (err->code == SL_DEVLOST && !k->alone) {
		k->suspect = true;
		return;
	}
	sl__tell_error(t, &k->ended, k->key, err);
	sl__task_end(t, k);
}

/* Called after a slice of `ms` milliseconds, which `count` jobs shared: charges the job, and reports its state or
 * end. */
static void slice_done(struct sl_device_thread *t, struct sl_task *k, double ms, int count, int code,
		       const struct sl_error *err)
{
	sl_scheduler_charge(t->scheduler, &k->scheduled, ms, ms / count);
	k->slices++;
	k->slice_seconds += ms / count * 1e-3;
	if (code) {
		sl__task_fail(t, k, err);
	} else if (k->status.done) {
		sl__task_leave(t, k, SL_EVENT_DONE);
	} else if (k->status.held) {
		sl_scheduler_set_runnable(t->scheduler, &k->scheduled, false);
		sl__tell_held(t, k);
	} else if (sl__now_ms() - k->told_ms >= PROGRESS_MS) {
		sl__tell_progress(t, k);
	}
}

static double longest_ms(const struct sl_device_thread *t, const struct sl_task *k)
{
	const struct sl_affinities *a = k->resident ? k->resident->affinities : NULL;
	const struct sl_engine *engine = t->config.engine;
	struct sl_settings settings;
	double iteration = 0, slow = t->config.slow_ms > 0 ? t->config.slow_ms : SL_SLOW_MS;
	if (!k->embedding)
		return fmax(slow, SL_SLOW_SLICES * t->config.slice_ms);
	sl_embedding_settings(sl_embedding_params(k->embedding), a->n, &settings);
	if (engine->iteration_seconds)
		iteration = 1e3 * engine->iteration_seconds(&settings, a->n, a->m, 1);
	return fmax(slow, fmax(SL_SLOW_SLICES * t->config.slice_ms, SL_SLOW_ITERATIONS * iteration));
}

/* Returns an error if the second slice in a row was too slow. One slow slice may be due to other load of the machine.
 * Only for slices in which the job was alone on the device. */
static int watch(struct sl_device_thread *t, struct sl_task *k, double ms, struct sl_error *err)
{
	double before = k->slow_ms, longest = ms > SL_SLOW_SLICES * t->config.slice_ms ? longest_ms(t, k) : INFINITY;
	k->slow_ms = ms > longest ? ms : 0;
	if (!(ms > longest) || !(before > 0) || k->status.done)
		return 0;
	return sl_error_set(err, SL_TOOBIG, "Two slices in a row took %.3g s and %.3g s. The limit%s is %.3g s, so that "
			    "other jobs get their turn. %s", 1e-3 * before, 1e-3 * ms, k->embedding ? " for this job" : "",
			    1e-3 * longest, k->method->relief);
}

static double processor_ms(void)
{
	struct timespec t;
	return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) ? 0 : (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Tells the scheduler how much longer slices take because other programs use the processors. A GPU has no such
 * programs, and its thread waits without a processor. */
static void note_slowness(struct sl_device_thread *t, double ms, double since_processor_ms)
{
	if (strcmp(t->info.kind, "cpu") != 0)
		return;
	t->ran_ms = KEPT * t->ran_ms + ms;
	t->computed_ms = KEPT * t->computed_ms + processor_ms() - since_processor_ms;
	sl_scheduler_set_slowness(t->scheduler, t->computed_ms > 0 ? t->ran_ms / t->computed_ms : 1);
}

/* Runs a slice in parts, so that a new small job waits for a part of it and not for its end. */
static void run_alone(struct sl_device_thread *t, struct sl_task *k)
{
	struct sl_error err = {0};
	double start = sl__now_ms(), processor = processor_ms(), ms = 0, part_ms = t->config.slice_ms / PARTS;
	int code;
	do {
		code = sl__note(t, &err, k->method->advance(k->run, fmin(part_ms, t->config.slice_ms - ms), &k->status, &err));
		if (code == SL_DEVMEM && sl__drop_something(t, 0))  /* a growing layout may need a larger grid */
			code = 0;
		ms = sl__now_ms() - start;
	} while (!code && !k->status.done && !k->status.held && ms < t->config.slice_ms &&
		 !sl_mailbox_filled(&t->commands));
	note_slowness(t, ms, processor);
	if (!code)
		code = watch(t, k, ms, &err);
	slice_done(t, k, ms, 1, code, &err);
}

static int further_behind(const void *a, const void *b)
{
	const struct sl_task *x = *(struct sl_task *const *)a, *y = *(struct sl_task *const *)b;
	return sl_scheduler_before(&x->scheduled, &y->scheduled) ? -1 : sl_scheduler_before(&y->scheduled, &x->scheduled);
}

static bool may_join(const struct sl_task *k)
{
	return k->scheduled.runnable && !k->alone && k->embedding && sl_embedding_joins(k->embedding);
}

/* Stores the picked task and those that may share its slice in t->together; if there are too many, those that
 * are next. They use capacity that would be idle, so the fair order does not apply to them. */
static int gather(struct sl_device_thread *t, struct sl_task *picked)
{
	struct sl_task *all[4 * SL_EMBEDDINGS_TOGETHER] = {NULL};
	int count = 0;
	SL_LIST_EACH(struct sl_task, k, &t->tasks, link)
		if (k != picked && count < 4 * SL_EMBEDDINGS_TOGETHER && may_join(k))
			all[count++] = k;
	if (count >= SL_EMBEDDINGS_TOGETHER)
		qsort(all, (size_t)count, sizeof *all, further_behind);
	count = count < SL_EMBEDDINGS_TOGETHER ? count + 1 : SL_EMBEDDINGS_TOGETHER;
	t->together[0] = picked;
	for (int i = 1; i < count; i++)
		t->together[i] = all[i - 1];
	return count;
}

/* Each job is charged the whole time, its client only its part. If the device fails, all jobs of the slice are suspect;
 * lose() reports it to them. */
static void run_together(struct sl_device_thread *t, int count)
{
	struct sl_embedding *e[SL_EMBEDDINGS_TOGETHER];
	struct sl_status status[SL_EMBEDDINGS_TOGETHER];
	struct sl_error err, *each = calloc((size_t)count, sizeof *each);
	int code[SL_EMBEDDINGS_TOGETHER];
	for (int i = 0; i < count; i++)
		e[i] = t->together[i]->embedding;
	double start = sl__now_ms();
	int failed = SL_NOMEM;
	if (each)
		failed = sl__note(t, &err, sl_embedding_advance_together(e, count, t->config.slice_ms, status, code, each,
									 &err));
	double ms = sl__now_ms() - start;
	if (failed && !t->lost)
		run_alone(t, t->together[0]);
	for (int i = 0; i < count && (t->lost || !failed); i++) {
		if (failed) {
			t->together[i]->suspect = true;
			continue;
		}
		t->together[i]->status = status[i];
		slice_done(t, t->together[i], ms, count, sl__note(t, &each[i], code[i]), &each[i]);
	}
	free(each);
}

void sl__run_slice(struct sl_device_thread *t, struct sl_task *picked)
{
	int count = may_join(picked) ? gather(t, picked) : 1;
	sl_crashes_computes(picked->id);
	for (int i = 1; i < count; i++)
		sl_crashes_computes_also(t->together[i]->id);
	if (count > 1)
		run_together(t, count);
	else
		run_alone(t, picked);
	sl_crashes_computes(NULL);
}
