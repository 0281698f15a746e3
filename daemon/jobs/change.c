/* Changing a job: steer, pause, resume, cancel, delete. All members are checked before any change is made.
 * Loop thread. */
#include <stdlib.h>
#include <string.h>

#include "core/meant.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/jobs/record/spec.h"
#include "daemon/json/json.h"
#include "daemon/json/param_json.h"

#define PATIENCE_MS 15000  /* longer than the data base waits for a lock */
#define CANCEL_PATIENCE_MS 30000

static const char *const members[] = {"paused", "cancelled", "stop", "priority", "time_limit", "name", "keep", NULL};

struct change {
	struct sl_work work;  /* with the new parameters */
	int64_t priority;
	double time_limit;    /* seconds; 0: none of its own */
	bool paused, cancelled, stop, keep;
	const char *name;  /* borrowed from the body, or NULL */
};

/* Reads "cancelled". It is allowed in any state, because a second request to cancel changes nothing. */
static int read_cancelled(const json_t *body, bool *cancelled, struct sl_error *err)
{
	int code = sl_json_bool(body, "cancelled", cancelled, err);
	if (!code && !*cancelled && json_object_get(body, "cancelled"))
		code = sl_error_field(err, SL_BADPARAM, "/cancelled", "cancelled must be true: a cancelled job cannot "
				      "go on.");
	if (!code && *cancelled && json_object_size(body) > 1)
		code = sl_error_field(err, SL_BADPARAM, "/cancelled", "cancelled must be the only member: nothing else "
				      "of a job that ends can be changed.");
	return code;
}

/* True if the job has a layout with which it can end: on a device, or in a checkpoint, from which it goes on for that
 * when it has a place. */
static bool has_layout(const struct sl_job *job)
{
	enum sl_stage at = job->life.stage;
	bool waits = at == SL_STAGE_SEARCHING || at == SL_STAGE_WAITING || at == SL_STAGE_HELD ||
		     at == SL_STAGE_PREPARING || at == SL_STAGE_PARKED;
	return sl_stage_is_on_device(at) || sl_stage_is_ending(at) || at == SL_STAGE_MOVING ||
	       (waits && (job->record.has_checkpoint || job->run.carried));
}

/* Reads "stop". Only a job that has a layout can end with it. */
static int read_stop(const struct sl_job *job, const json_t *body, bool *stop, struct sl_error *err)
{
	int code = sl_json_bool(body, "stop", stop, err);
	if (!code && !*stop && json_object_get(body, "stop"))
		code = sl_error_field(err, SL_BADPARAM, "/stop", "stop must be true: a job that has ended cannot go "
				      "on.");
	if (!code && *stop && json_object_size(body) > 1)
		code = sl_error_field(err, SL_BADPARAM, "/stop",
				      "stop must be the only member: nothing else of a job that ends can be changed.");
	if (!code && *stop && !sl__job_ended(job) && !has_layout(job))
		code = sl_error_set(err, SL_CONFLICT,
				    "Job %s has not been on a device and has no layout to keep; use cancelled "
				    "instead.", job->record.id);
	return code;
}

static int cannot_change(const struct sl_param_info *info, struct sl_error *err)
{
	char pointer[96];
	snprintf(pointer, sizeof pointer, "/%s", info->name);
	return sl_error_field(err, SL_CONFLICT, pointer, "%s cannot be changed once a job has been submitted; submit a new "
			      "job.", info->name);
}

/* Reads one parameter into the work. */
static int read_param(struct sl_work *w, const struct sl_param_info *info, const json_t *value, struct sl_error *err)
{
	if (!w->method->steer)
		return cannot_change(info, err);
	return sl_param_from_json(w->method->params, &w->params, info, value, err);
}

static int check_params(const struct sl_job *job, struct change *c, struct sl_error *err)
{
	struct sl_work *w = &c->work;
	const struct sl_method_params wanted = w->params;
	w->params = job->record.work.params;
	int code = sl_param_steer(w->method->params, &w->params, &wanted, err);
	return code ? code : sl_method_check(w->method, &w->params, w->rows, w->columns, err);
}

static int read_change(const struct sl_job *job, const struct sl_principal *who, const json_t *body,
		       struct change *c, struct sl_error *err)
{
	const char *key;
	json_t *value;
	int code = json_object_size(body) ? 0 :
		sl_error_set(err, SL_BADPARAM, "The body changes nothing; it must have paused, cancelled, stop, "
			     "priority, time_limit, name, keep or a steerable parameter.");
	json_object_foreach((json_t *)body, key, value) {
		const struct sl_method *method = job->record.work.method;
		const struct sl_param_info *info = sl_param_find(method->params, key);
		if (!code && !strcmp(key, "engine"))
			code = sl_error_field(err, SL_BADPARAM, "/engine", "The engine of a job cannot be changed; "
					      "submit a new job.");
		else if (!code && info)
			code = read_param(&c->work, info, value, err);
		else if (!code && !sl_word_in(members, key))
			code = sl_param_unknown(method->params, key, members, err);
	}
	if (!code)
		code = sl_json_bool(body, "paused", &c->paused, err);
	if (!code)
		code = read_cancelled(body, &c->cancelled, err);
	if (!code)
		code = read_stop(job, body, &c->stop, err);
	if (!code)
		code = sl_json_int(body, "priority", -10, 10, &c->priority, err);
	if (!code && json_object_get(body, "time_limit"))
		code = sl__job_spec_time_limit(body, &c->time_limit, err);
	if (!code)
		code = sl_json_name(body, &c->name, err);
	if (!code)
		code = sl_json_bool(body, "keep", &c->keep, err);
	if (!code && c->keep)
		code = sl__job_may_keep(job, who, err);
	bool renamed = (size_t)!!c->name + !!json_object_get(body, "keep") == json_object_size(body);
	if (!code && sl__job_ended(job) && !renamed && !(c->cancelled && job->life.state == SL_JOB_CANCELLED))
		code = sl_error_set(err, SL_CONFLICT, "Job %s is %s; of a job that has ended only name and keep can be "
				    "changed.", job->record.id, sl_job_state_name[job->life.state]);
	return code || renamed ? code : check_params(job, c, err);
}

/* True if the record contains the change, so that it may be acknowledged. If a later request has asked for the
 * opposite, only the record matters. */
static bool is_recorded(const struct sl_job *job)
{
	return !job->saving.writes && !sl_stage_is_storing(job->life.stage) && !sl_stage_is_ending(job->life.stage);
}

static bool stands_still(const struct sl_job *job)
{
	return sl__job_ended(job) || (is_recorded(job) && (job->life.state == SL_JOB_PAUSED ||
							   job->life.wish == SL_WISH_RUN));
}

static bool goes_on(const struct sl_job *job)
{
	return sl__job_ended(job) || (is_recorded(job) && (job->life.state != SL_JOB_PAUSED ||
							   job->life.wish == SL_WISH_PAUSE));
}

static void cancel(struct sl_job *job, struct sl_request *r)
{
	sl__job_ref(job);
	sl__job_step(job, SL_ON_CANCEL);
	sl__job_wait_saved(job, r, sl__job_ended, CANCEL_PATIENCE_MS);
	sl__job_unref(job);
}

/* A job that waits in line may wait for long before it can end with the layout of its checkpoint. */
static bool ended_or_waits(const struct sl_job *job)
{
	return sl__job_ended(job) || job->life.stage == SL_STAGE_WAITING || job->life.stage == SL_STAGE_SEARCHING ||
	       job->life.stage == SL_STAGE_PARKED;
}

static void stop(struct sl_job *job, struct sl_request *r)
{
	if (!sl__job_step(job, SL_ON_FINISH))
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "stopping a job.");
	else
		sl__job_wait_saved(job, r, ended_or_waits, CANCEL_PATIENCE_MS);
}

static void set_keep(struct sl_job *job, bool keep)
{
	if (sl__job_ended(job))
		job->jobs->retention.protected += keep - job->record.keep;
	sl__record_keep(&job->record, keep);
}

static void change(struct sl_job *job, struct sl_request *r, const struct change *c, char *name)
{
	sl__job_ref(job);
	set_keep(job, c->keep);
	if (name)
		sl__record_name_take(&job->record, name);
	if (memcmp(&c->work.params, &job->record.work.params, sizeof c->work.params))
		sl__job_steer(job, &c->work);
	if (c->priority != job->place.priority)
		sl__job_set_priority(job, (int)c->priority);
	sl__record_time_limit(&job->record, c->time_limit);
	sl__job_step(job, c->paused ? SL_ON_PAUSE : SL_ON_RESUME);
	sl__job_step(job, SL_ON_CHANGE);
	sl__job_wait_saved(job, r, c->paused ? stands_still : goes_on, PATIENCE_MS);
	sl__job_unref(job);
}

/* Takes name; NULL: it stays. Replies when the record is on the disk. */
static void change_ended(struct sl_job *job, struct sl_request *r, bool keep, char *name)
{
	sl__job_ref(job);
	set_keep(job, keep);
	if (name)
		sl__record_name_take(&job->record, name);
	sl__job_step(job, SL_ON_CHANGE);
	sl__job_changed(job);
	sl__job_wait_saved(job, r, is_recorded, PATIENCE_MS);
	sl__job_unref(job);
}

void sl_job_change(struct sl_job *job, struct sl_request *r, const json_t *body)
{
	struct change c = {.work = job->record.work, .priority = job->place.priority,
			   .time_limit = job->record.time_limit,
			   .paused = job->life.wish == SL_WISH_PAUSE, .keep = job->record.keep};
	struct sl_error err;
	char *name = NULL;
	int code = read_change(job, sl_request_who(r), body, &c, &err);
	if (!code && c.name && !(name = strdup(c.name)))
		code = sl_error_memory(&err, "a name");
	if (code)
		sl_reply_error(r, &err);
	else if (c.cancelled)
		cancel(job, r);
	else if (sl__job_ended(job) && !c.stop)
		change_ended(job, r, c.keep, name);
	else if (c.stop)
		stop(job, r);
	else if (sl__limits_refuse_change(job, r, &c.work))
		free(name);
	else
		change(job, r, &c, name);
}

/* ---- deletion -------------------------------------------------------------------------- */

/* Replies when the removal is safe on disk. */
void sl_job_end_or_delete(struct sl_job *job, struct sl_request *r)
{
	if (!sl__job_ended(job)) {
		cancel(job, r);
		return;
	}
	struct sl_error err;
	struct sl_later *reply = sl_later_create(r, NULL, NULL, job->record.id);
	if (!reply)
		return;
	int code = sl__job_delete(job, sl_later_done, reply);
	if (code)
		sl_error_set(&err, code, SL_NO_MEMORY "deleting a job.");
	sl_later_begun(reply, code, &err);
}
