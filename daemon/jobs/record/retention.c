/* How long jobs that have ended are kept: result_retention_s and max_finished_jobs.
 *
 * Three things are never removed by these rules: jobs that their owner or their project keeps, jobs with a valid public
 * link, and jobs that others wait for or that are being read.
 *
 * Deletion cannot be undone, so options that would delete results sooner than the present ones do not take effect by
 * themselves. Those in force are recorded; others, after a reload or a start, are pending until an administrator
 * confirms them, unless they delete nothing within PROMISE_MS. Each removal has a line in the log and in the audit log.
 * Loop thread. */
#include <math.h>
#include <string.h>

#include "daemon/jobs/jobs_internal.h"
#include "daemon/upkeep/settings.h"
#include "daemon/json/json.h"
#include "daemon/util/log.h"
#include "daemon/util/seen.h"
#include "daemon/util/time_text.h"

#define SETTING "retention"
#define PROMISE_MS (24 * 3600 * 1e3)  /* what `expires` has said of the next day holds, unless somebody confirms */
#define REMIND_MS (24 * 3600 * 1000)  /* how often the log repeats that options are pending */
#define DAY_MS (24 * 3600 * 1e3)

static struct sl__retention_rule wanted(const struct sl_jobs *j)
{
	return (struct sl__retention_rule){j->d->config.result_retention_s, j->d->config.max_finished_jobs};
}

static bool same(const struct sl__retention_rule *a, const struct sl__retention_rule *b)
{
	return a->seconds == b->seconds && a->most == b->most;
}

bool sl_job_is_kept(struct sl_jobs *j, const char *id)
{
	const struct sl_job *job = sl__job_find(j, id);
	return job && sl__job_is_kept(job);
}

bool sl_jobs_need_graph(const struct sl_jobs *j, const char *graph)
{
	SL_LIST_EACH(const struct sl_job, job, &j->all, listed.all)
		if (!strcmp(job->record.graph, graph) && sl__job_is_protected(job))
			return true;
	return false;
}

/* ---- all jobs ----------------------------------------------------------------------------- */

/* How many jobs too many there are. */
static int64_t excess_of(const struct sl_jobs *j, const struct sl__retention_rule *rule)
{
	int64_t ended = j->count[SL_JOB_DONE] + j->count[SL_JOB_FAILED] + j->count[SL_JOB_CANCELLED];
	return rule->most > 0 ? ended - j->retention.protected - rule->most : 0;
}

/* Calls act() for each job that the rule removes until this time, the oldest first; returns their number. spared: a
 * job that is passed over, or NULL; then only the number of jobs counts, so that the end of a job does not go through
 * all of them. act may be NULL. */
static int64_t each_due(struct sl_jobs *j, const struct sl__retention_rule *rule, double until_ms,
			const struct sl_job *spared, void (*act)(struct sl_job *job, const char *option))
{
	int64_t excess = excess_of(j, rule), due = 0;
	bool by_age = !spared && rule->seconds > 0;
	if (excess <= 0 && !by_age)
		return 0;
	SL_LIST_EACH(struct sl_job, job, &j->all, listed.all) {
		if (excess <= 0 && !by_age)
			break;
		if (job == spared || !sl__job_ended(job) || sl_stage_is_deleted(job->life.stage) || sl__job_is_protected(job))
			continue;
		bool old = by_age && sl__job_expires_by(job, rule) <= until_ms;
		if (excess <= 0 && !old)
			continue;  /* a younger job may have ended before this one */
		due++;
		excess--;
		if (act)
			act(job, old ? "result_retention_s" : "max_finished_jobs");
	}
	return due;
}

static void remove_job(struct sl_job *job, const char *option)
{
	struct sl_jobs *j = job->jobs;
	struct sl_principal who = {.role = SL_ROLE_ADMINISTRATOR};
	char path[64], ended[SL_TIME_BYTES];
	if (job->listed.awaited || job->references > 1)
		return;  /* another job starts after it, or it is being read: the next time */
	snprintf(who.name, sizeof who.name, "%s", option);
	snprintf(path, sizeof path, "/v1/jobs/%s", job->record.id);
	struct sl_event event = {.who = &who, .address = "", .method = "DELETE", .path = path, .status = 204};
	sl_users_audit(j->d->users, &event);
	sl_log_info("jobs", "removing job %s, which ended %s (%s)", job->record.id,
		    sl_time_text(job->record.finished_ms, ended), option);
	sl__job_delete(job, NULL, NULL);
}

static void mark_awaited(struct sl_jobs *j, bool awaited)
{
	SL_LIST_EACH(const struct sl_job, job, &j->dependants, listed.dependants) {
		struct sl_job *other = job->record.after_met ? NULL : sl__job_find(j, job->record.after);
		if (other)
			other->listed.awaited = awaited;
	}
}

void sl__jobs_retain(struct sl_jobs *j, const struct sl_job *spared)
{
	if (sl_db_is_read_only(j->d->db))
		return;
	if (!spared)
		sl_jobs_look_at_retention(j);
	mark_awaited(j, true);
	each_due(j, &j->retention.rule, (double)sl_seen_now_ms(), spared, remove_job);
	mark_awaited(j, false);
}

/* ---- changed options ---------------------------------------------------------------------- */

static json_t *rule_json(const struct sl__retention_rule *rule)
{
	return json_pack("{s:f, s:I}", "result_retention_s", rule->seconds, "max_finished_jobs", (json_int_t)rule->most);
}

/* Puts the rule into force. done (or NULL) runs when it is recorded; not if this returns an error. */
static int adopt(struct sl_jobs *j, const struct sl__retention_rule *rule, sl_db_done_fn done, void *arg)
{
	json_t *o = rule_json(rule);
	int code = o ? sl_settings_put(j->d->settings, SETTING, o, done, arg) : SL_NOMEM;
	json_decref(o);
	if (code)
		return code;
	j->retention.rule = *rule;
	j->retention.pending = 0;
	sl_jobs_expiry_changed(j);
	return 0;
}

void sl_jobs_expiry_changed(struct sl_jobs *j)
{
	SL_LIST_EACH(struct sl_job, job, &j->all, listed.all)
		if (sl__job_ended(job))
			sl__job_changed(job);
}

void sl__retention_start(struct sl_jobs *j)
{
	const json_t *o = sl_settings_get(j->d->settings, SETTING);
	j->retention.rule = wanted(j);
	if (!o) {
		if (!sl_db_is_read_only(j->d->db))
			adopt(j, &j->retention.rule, NULL, NULL);
		return;
	}
	j->retention.rule.seconds = json_number_value(json_object_get(o, "result_retention_s"));
	j->retention.rule.most = json_integer_value(json_object_get(o, "max_finished_jobs"));
}

static void count_protected(struct sl_jobs *j)
{
	j->retention.protected = 0;
	SL_LIST_EACH(const struct sl_job, job, &j->all, listed.all)
		j->retention.protected += sl__job_ended(job) && sl__job_is_protected(job);
}

/* When the rule removes this job: at once if it is among the `excess` oldest, else by its age, and not before its last
 * public link ends. until_ms as above. */
static double removal_ms(const struct sl_job *job, const struct sl__retention_rule *rule, double until_ms,
			 int64_t *excess)
{
	bool by_number = *excess > 0 && !sl__job_is_protected(job);
	double ms = by_number ? 0 : rule->seconds > 0 ? sl__job_expires_by(job, rule) : INFINITY;
	*excess -= ms <= until_ms && !sl__job_is_protected(job);
	return ms;
}

/* Jobs that the wanted options remove within PROMISE_MS, and sooner than those in force. */
static int64_t count_more(struct sl_jobs *j, const struct sl__retention_rule *want)
{
	const struct sl__retention_rule *now = &j->retention.rule;
	double until_ms = (double)sl_seen_now_ms() + PROMISE_MS;
	int64_t excess = excess_of(j, want), present = excess_of(j, now), more = 0;
	SL_LIST_EACH(const struct sl_job, job, &j->all, listed.all) {
		if (!sl__job_ended(job) || sl_stage_is_deleted(job->life.stage) || sl__job_is_kept(job))
			continue;
		double ms = removal_ms(job, want, until_ms, &excess);
		more += ms <= until_ms && ms < removal_ms(job, now, until_ms, &present);
	}
	return more;
}

void sl_jobs_look_at_retention(struct sl_jobs *j)
{
	struct sl__retention *r = &j->retention;
	struct sl__retention_rule want = wanted(j);
	uint64_t now = uv_now(j->d->loop);
	count_protected(j);
	int64_t more = same(&want, &r->rule) ? 0 : count_more(j, &want);
	if (more <= 0) {
		if (!sl_db_is_read_only(j->d->db) && !same(&want, &r->rule))
			adopt(j, &want, NULL, NULL);
		r->pending = 0;
		return;
	}
	bool new = !r->pending || !same(&want, &r->asked);
	if (new)
		r->since_ms = sl_time_now_ms();
	if (new || now - r->told_ms >= REMIND_MS) {
		sl_log_warning("jobs", "result_retention_s = %.10g, max_finished_jobs = %lld would delete %lld result%s "
			       "within a day; %.10g and %lld stay in force. Confirm by: spaceland admin retention --confirm",
			       want.seconds, (long long)want.most, (long long)more, more == 1 ? "" : "s", r->rule.seconds,
			       (long long)r->rule.most);
		r->told_ms = now;
	}
	r->asked = want;
	r->pending = more;
}

int sl_jobs_confirm_retention(struct sl_jobs *j, const json_t *body, const char *who, sl_db_done_fn done, void *arg,
			      struct sl_error *err)
{
	static const char *const known[] = {"result_retention_s", "max_finished_jobs", NULL};
	struct sl__retention_rule said = {.seconds = -1, .most = -1};
	const json_t *seconds = json_object_get(body, "result_retention_s");
	int rc = sl_json_known(body, known, err);
	if (!rc && !json_is_number(seconds))
		rc = sl_error_field(err, SL_BADPARAM, "/result_retention_s", "result_retention_s must be the pending number of "
				    "seconds, as GET /v1/retention has it");
	said.seconds = json_number_value(seconds);
	if (!rc)
		rc = sl_json_int(body, "max_finished_jobs", 0, INT64_MAX, &said.most, err);
	if (!rc && said.most < 0)
		rc = sl_error_field(err, SL_BADPARAM, "/max_finished_jobs", "max_finished_jobs must be the pending number, as "
				    "GET /v1/retention has it");
	if (rc)
		return rc;
	sl_jobs_look_at_retention(j);
	if (!j->retention.pending)
		return sl_error_set(err, SL_CONFLICT, "Nothing is to be confirmed: the options in force are those of the "
				    "configuration.");
	if (!same(&said, &j->retention.asked))
		return sl_error_set(err, SL_CONFLICT, "The configuration now has result_retention_s = %.10g and "
				    "max_finished_jobs = %lld, not what you confirm; look again at what they would delete.",
				    j->retention.asked.seconds, (long long)j->retention.asked.most);
	sl_log_info("jobs", "%s has confirmed: result_retention_s = %.10g, max_finished_jobs = %lld, which deletes %lld "
		    "results within a day", who, said.seconds, (long long)said.most, (long long)j->retention.pending);
	rc = adopt(j, &said, done, arg);
	return rc ? sl_error_set(err, rc, "the confirmation cannot be recorded") : 0;
}

static int64_t count_until(struct sl_jobs *j, double ms)
{
	return each_due(j, &j->retention.rule, (double)sl_seen_now_ms() + ms, NULL, NULL);
}

json_t *sl_jobs_retention_json(struct sl_jobs *j)
{
	struct sl__retention *r = &j->retention;
	sl_jobs_look_at_retention(j);
	json_t *o = rule_json(&r->rule), *pending = r->pending ? rule_json(&r->asked) : json_null();
	if (r->pending) {
		json_object_set_new(pending, "jobs", json_integer((json_int_t)r->pending));
		json_object_set_new(pending, "since", sl_json_time(r->since_ms));
	}
	json_object_set_new(o, "pending", pending);
	json_object_set_new(o, "protected", json_integer((json_int_t)r->protected));
	json_object_set_new(o, "expire_in_a_day", json_integer((json_int_t)count_until(j, DAY_MS)));
	json_object_set_new(o, "expire_in_a_week", json_integer((json_int_t)count_until(j, 7 * DAY_MS)));
	return o;
}

/* ---- keep ----------------------------------------------------------------------------------- */

int sl__job_may_keep(const struct sl_job *job, const struct sl_principal *who, struct sl_error *err)
{
	const struct sl_jobs *j = job->jobs;
	int64_t most = j->retention.rule.most, of_user = sl_users_part(j->d->users, who->account, most), kept = 0;
	if (job->record.keep || most <= 0 || of_user >= most)
		return 0;
	SL_LIST_EACH(const struct sl_job, other, &j->all, listed.all)
		kept += other->record.keep && !strcmp(other->record.user, job->record.user);
	if (kept < of_user)
		return 0;
	return sl_error_field(err, SL_CONFLICT, "/keep", "%lld of your jobs are kept already; a user may keep %lld, "
			      "a quarter of max_finished_jobs. Set keep of another one to false.", (long long)kept,
			      (long long)of_user);
}
