/* Batches as JSON. */
#include <string.h>

#include "daemon/jobs/results/batch/batch_internal.h"
#include "daemon/users/users.h"
#include "daemon/util/time_text.h"

static json_t *value_or_null(json_t *value)
{
	return value ? json_incref(value) : json_null();
}

/* False for a job that is not, or no longer, shared with the sender although the batch is. */
static bool is_seen(const struct sl_batch *b, const struct sl_request *r, size_t i)
{
	const char *id = sl__batch_job_id(b, i);
	return !sl__job_find(b->jobs, id) || sl_request_sees(r, id);
}

/* A deleted job has only its parameters. */
static json_t *job_json(const struct sl_batch *b, const struct sl_request *r, size_t i)
{
	static const char *const members[] = {"iteration", "iterations", "kl", "seconds", NULL};
	const struct sl_job *job = sl__job_find(b->jobs, sl__batch_job_id(b, i));
	json_t *progress = job ? sl__job_progress_json(job) : NULL;
	json_t *quality = job ? job->record.quality : NULL;
	json_t *o = json_pack("{s:s, s:O, s:s?, s:s?, s:o, s:o}", "id", sl__batch_job_id(b, i),
			      "parameters", json_object_get(json_array_get(b->each, i), "parameters"),
			      "state", job ? sl_job_state_name[job->life.state] : NULL,
			      "stop", job && job->life.state == SL_JOB_DONE ? sl_stop_name(job->record.status.stop) : NULL,
			      "quality", quality ? sl_users_quality(b->jobs->d->users, sl_request_who(r), job->record.graph,
								    quality) : json_null(),
			      "problem", value_or_null(job ? job->record.problem : NULL));
	for (int m = 0; members[m]; m++)
		json_object_set_new(o, members[m], value_or_null(json_object_get(progress, members[m])));
	json_decref(progress);
	return o;
}

static json_t *states_json(const struct sl_batch *b, const struct sl_request *r)
{
	int count[SL_JOB_STATES] = {0};
	json_t *o = json_object();
	for (size_t i = 0; i < json_array_size(b->each); i++) {
		const struct sl_job *job = sl__job_find(b->jobs, sl__batch_job_id(b, i));
		if (job && is_seen(b, r, i))
			count[job->life.state]++;
	}
	for (int i = 0; i < SL_JOB_STATES; i++)
		json_object_set_new(o, sl_job_state_name[i], json_integer(count[i]));
	return o;
}

static json_t *summary(const struct sl_batch *b, const struct sl_request *r)
{
	char text[SL_TIME_BYTES];
	json_t *o = json_pack("{s:s, s:s?, s:s, s:s, s:o}", "id", b->id, "name", b->name, "graph", b->graph, "created",
			      sl_time_text(b->created_ms, text), "states", states_json(b, r));
	if (o)
		sl_users_add_owner(b->jobs->d->users, b->id, o);
	return o;
}

json_t *sl_batch_json(const struct sl_batch *b, const struct sl_request *r)
{
	json_t *o = summary(b, r), *jobs = json_array();
	for (size_t i = 0; i < json_array_size(b->each); i++)
		if (is_seen(b, r, i))
			json_array_append_new(jobs, job_json(b, r, i));
	json_object_set_new(o, "jobs", jobs);
	return o;
}

json_t *sl_batches_json(const struct sl_jobs *j, const struct sl_request *r, const char *cursor, int limit,
			char next[SL_ULID_BYTES])
{
	const struct sl_batch *last = NULL;
	json_t *items = json_array();
	next[0] = '\0';
	SL_LIST_EACH_BACK(const struct sl_batch, b, &j->batches, link) {
		if (!b->recorded || (cursor && strcmp(b->id, cursor) >= 0) || !sl_request_lists(r, b->id))
			continue;
		if (limit-- == 0) {
			memcpy(next, last->id, SL_ULID_BYTES);
			break;
		}
		json_array_append_new(items, summary(b, r));
		last = b;
	}
	return items;
}
