/* Batches: several jobs by one request, on one graph, with different parameters. All jobs are accepted or none: the
 * records of all jobs, of the batch and of their owners are one transaction. The batch has the ids of its jobs, and
 * each job's record has the batch's id. The batch is deleted with its last job. Loop thread. */
#include <stdlib.h>
#include <string.h>

#include "daemon/jobs/results/batch/batch_internal.h"
#include "daemon/json/json.h"
#include "daemon/util/log.h"

void sl__batch_destroy(struct sl_batch *b)
{
	if (!b)
		return;
	sl_list_unlink(&b->link);
	free(b->name);
	free(b->key);
	free(b->hash);
	json_decref(b->each);
	free(b);
}

void sl__batch_insert(struct sl_batch *b)
{
	struct sl_link *newer = NULL;
	SL_LIST_EACH_BACK(struct sl_batch, other, &b->jobs->batches, link) {
		if (strcmp(other->id, b->id) < 0)
			break;
		newer = &other->link;
	}
	sl_list_insert(&b->jobs->batches, newer, &b->link);
}

void sl__batches_destroy(struct sl_jobs *j)
{
	SL_LIST_EACH(struct sl_batch, b, &j->batches, link)
		sl__batch_destroy(b);
}

struct sl_batch *sl__batch_find(const struct sl_jobs *j, const char *id)
{
	SL_LIST_EACH_BACK(struct sl_batch, b, &j->batches, link)
		if (!strcmp(b->id, id))
			return b;
	return NULL;
}

bool sl_batches_have(const struct sl_jobs *j, const char *id)
{
	return sl__batch_find(j, id) != NULL;
}

struct sl_batch *sl_batch_of_request(struct sl_request *r)
{
	struct sl_batch *b = sl__batch_find(sl_request_daemon(r)->jobs, sl_request_path(r, "id"));
	if (!b)
		sl_reply_problem(r, SL_NOTFOUND, "There is no batch %.64s.", sl_request_path(r, "id"));
	return b;
}

int sl_batch_share(struct sl_jobs *j, const char *id, const json_t *body, sl_db_done_fn done, void *arg,
		   struct sl_error *err)
{
	const struct sl_batch *b = sl__batch_find(j, id);
	struct sl_error ignored;
	if (!b)
		return sl_error_set(err, SL_NOTFOUND, "There is no batch %.64s.", id);
	sl_db_begin(j->d->db);
	int code = sl_users_share(j->d->users, id, body, done, arg, err);
	for (size_t i = 0; i < json_array_size(b->each) && !code; i++) {
		const char *job = sl__batch_job_id(b, i);
		if (sl__job_find(j, job) && sl_users_share(j->d->users, job, body, NULL, NULL, &ignored))
			sl_log_warning("jobs", "%s is not shared with its batch %s: %s", job, id, ignored.detail);
	}
	sl_db_end(j->d->db, !code);
	return code;
}

json_t *sl__batch_document(const struct sl_batch *b)
{
	return json_pack("{s:s?, s:s, s:s, s:I, s:O, s:s?, s:s?}", "name", b->name, "graph", b->graph, "user", b->user,
			 "created", (json_int_t)b->created_ms, "each", b->each, "key", b->key, "hash", b->hash);
}

static bool each_is_good(const json_t *each)
{
	const json_t *one;
	size_t i;
	json_array_foreach(each, i, one) {
		const char *id = json_string_value(json_object_get(one, "job"));
		if (!id || !sl_ulid_valid(id) || !json_is_object(json_object_get(one, "parameters")))
			return false;
	}
	return json_is_array(each);
}

int sl__batch_load(void *arg, const char *id, json_t *o)
{
	struct sl_jobs *j = arg;
	const char *graph = json_string_value(json_object_get(o, "graph"));
	const char *user = json_string_value(json_object_get(o, "user"));
	if (!sl_ulid_valid(id) || !graph || !sl_ulid_valid(graph) || !user || !each_is_good(json_object_get(o, "each")))
		return SL_DB_PASSED_OVER;
	struct sl_batch *b = calloc(1, sizeof *b);
	if (!b)
		return SL_NOMEM;
	b->jobs = j;
	snprintf(b->id, sizeof b->id, "%s", id);
	snprintf(b->graph, sizeof b->graph, "%s", graph);
	snprintf(b->user, sizeof b->user, "%s", user);
	b->name = sl_json_copy(o, "name");
	b->key = sl_json_copy(o, "key");
	b->hash = sl_json_copy(o, "hash");
	b->created_ms = (uint64_t)json_integer_value(json_object_get(o, "created"));
	b->each = json_incref(json_object_get(o, "each"));
	b->recorded = true;
	sl__batch_insert(b);
	return 0;
}

void sl__batch_owner_changed(struct sl_jobs *j, const char *id)
{
	struct sl_batch *b = sl__batch_find(j, id);
	const char *user = b ? sl__owner_of(j, id, b->user) : NULL;
	if (!b || !strcmp(b->user, user))
		return;
	snprintf(b->user, sizeof b->user, "%s", user);
	json_t *document = b->recorded ? sl__batch_document(b) : NULL;
	if (document)
		sl_db_put(j->d->db, SL_DB_BATCHES, b->id, document, NULL, NULL);
	json_decref(document);
}

/* ---- without jobs --------------------------------------------------------------------------- */

static bool has_jobs(const struct sl_batch *b)
{
	for (size_t i = 0; i < json_array_size(b->each); i++)
		if (sl__job_find(b->jobs, sl__batch_job_id(b, i)))
			return true;
	return false;
}

static void remove_record(struct sl_batch *b)
{
	sl_db_remove(b->jobs->d->db, SL_DB_BATCHES, b->id, NULL, NULL);
	sl_users_forget(b->jobs->d->users, b->id);
	sl__batch_destroy(b);
}

void sl__batch_job_gone(struct sl_jobs *j, const char *id)
{
	struct sl_batch *b = sl__batch_find(j, id);
	if (b && b->recorded && !has_jobs(b) && !b->waiters.count)
		remove_record(b);
}

void sl__batches_sweep(struct sl_jobs *j)
{
	SL_LIST_EACH(struct sl_batch, b, &j->batches, link)
		if (!has_jobs(b))
			remove_record(b);
}
