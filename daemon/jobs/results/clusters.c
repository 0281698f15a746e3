/* The named clusters of a layout, and the names that people give them: the newest one of each cluster, in the job's
 * record. */
#include <string.h>
#include <time.h>

#include "daemon/graphs/rows/clusters/clusters.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/json/json.h"
#include "daemon/users/users.h"

#define NAMES_MOST 400

/* Finds the job whose labels are the clusters. */
static int find_labels(const struct sl_job *job, const struct sl_request *r, const char *id,
		       struct sl_clusters_query *q, struct sl_error *err)
{
	struct sl_job *from;
	int code = sl__job_match(job->jobs, id, &from, err);
	if (code || !sl_request_sees(r, from->record.id))
		return sl_error_field(err, SL_BADPARAM, "?clusters_of", "There is no job %.64s; clusters_of needs the id of a "
				      "job kmeans or gmm.", id);
	if (sl_method_result_index(from->record.work.method, "labels") < 0)
		return sl_error_field(err, SL_BADPARAM, "?clusters_of", "Job %s is of method %s, which gives no labels; "
				      "jobs kmeans and gmm do.", from->record.id, from->record.work.method->name);
	if (!from->record.has_results || !sl__job_ended(from))
		return sl_error_field(err, SL_CONFLICT, "?clusters_of", "Job %s is %s; it has clusters when it is done.",
				      from->record.id, sl_job_state_name[from->life.state]);
	if (strcmp(from->record.graph, job->record.graph) != 0)
		return sl_error_field(err, SL_BADPARAM, "?clusters_of", "The clusters of job %s are of graph %s; this "
				      "layout is of graph %s.", from->record.id, from->record.graph, job->record.graph);
	q->from = from->record.id;
	q->array = "labels";
	return 0;
}

/* Answers unless the job has a layout, and its graph is there. */
static bool refuses(struct sl_job *job, struct sl_request *r)
{
	if (sl__result_missing(job, r))
		return true;
	if (sl_graphs_find(job->jobs->d->graphs, job->record.graph))
		return false;
	sl_reply_problem(r, SL_CONFLICT, "Graph %s of job %s has been deleted, and with it the columns that name clusters.",
			 job->record.graph, job->record.id);
	return true;
}

void sl_job_reply_clusters(struct sl_job *job, struct sl_request *r, const char *columns, const char *from, int level)
{
	struct sl_clusters_query q = {.folder = job->jobs->folder, .job = job->record.id, .graph = job->record.graph,
				      .dims = sl__work_dims(&job->record.work), .columns = columns,
				      .given = job->record.cluster_names, .level = level};
	q.blind = sl_users_may(job->jobs->d->users, sl_request_who(r), SL_VERB_READ, job->record.graph) != 0;
	struct sl_error err;
	if (refuses(job, r))
		return;
	if (from && find_labels(job, r, from, &q, &err))
		sl_reply_error(r, &err);
	else
		sl_clusters_reply(job->jobs->d->graphs, &q, r);
}

/* ---- names by hand --------------------------------------------------------------------------------------- */

/* *name: borrowed, NULL: the automatic one again. */
static int read_name(const json_t *body, const char **name, struct sl_error *err)
{
	const json_t *value = json_object_get(body, "name");
	*name = json_string_value(value);
	if (!value || json_object_size(body) != 1 || (!*name && !json_is_null(value)))
		return sl_error_field(err, SL_BADPARAM, "/name", "The body must have name and nothing else: a text, or null "
				      "for the automatic name.");
	if (!*name)
		return 0;
	if (!**name || strlen(*name) >= SL_CLUSTER_NAME_BYTES)
		return sl_error_field(err, SL_BADPARAM, "/name", "name must have 1 to %d bytes; null gives the automatic name "
				      "back.", SL_CLUSTER_NAME_BYTES - 1);
	for (const unsigned char *c = (const unsigned char *)*name; *c; c++)
		if (*c < 32 || *c == 127)
			return sl_error_field(err, SL_BADPARAM, "/name", "name must be one line without control characters.");
	return 0;
}

/* The names with this one instead of the former one; new reference. NULL: no memory. */
static json_t *changed(const struct sl_job *job, const char *cluster, json_t *record)
{
	json_t *list = json_array(), *one;
	size_t i;
	json_array_foreach(job->record.cluster_names, i, one)
		if (strcmp(json_string_value(json_object_get(one, "cluster")), cluster))
			json_array_append(list, one);
	if (record)
		json_array_append(list, record);
	return list;
}

static json_t *record_of(const struct sl_request *r, const char *cluster, const char *name)
{
	const struct sl_principal *who = sl_request_who(r);
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return json_pack("{s:s, s:o, s:o, s:I}", "cluster", cluster, "name", name ? json_string(name) : json_null(), "by",
			 who->name[0] ? json_string(who->name) : json_null(), "at",
			 (json_int_t)now.tv_sec * 1000 + now.tv_nsec / 1000000);
}

void sl_job_name_cluster(struct sl_job *job, struct sl_request *r, const char *cluster, const json_t *body)
{
	struct sl_error err;
	const char *name;
	if (refuses(job, r))
		return;
	if (!sl_cluster_id(cluster, job->record.nodes)) {
		sl_reply_problem(r, SL_NOTFOUND, "Job %s has no cluster \"%.40s\"; /v1/jobs/%s/clusters lists them.",
				 job->record.id, cluster, job->record.id);
		return;
	}
	if (read_name(body, &name, &err)) {
		sl_reply_error(r, &err);
		return;
	}
	if (name && json_array_size(job->record.cluster_names) >= NAMES_MOST) {
		sl_reply_problem(r, SL_CONFLICT, "Job %s has %d names given by hand, as many as there may be; take some back.",
				 job->record.id, NAMES_MOST);
		return;
	}
	json_t *record = record_of(r, cluster, name);
	json_t *names = record ? changed(job, cluster, name ? record : NULL) : NULL;
	json_decref(record);
	if (!names) {
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "the name.");
		return;
	}
	struct sl_later *later = sl_later_create(r, NULL, NULL, job->record.id);
	if (!later) {
		json_decref(names);
		return;
	}
	json_t *before = json_incref(job->record.cluster_names);
	sl__record_cluster_names_take(&job->record, names);
	json_t *document = sl__job_document(job);
	int code = document ? sl_db_put(job->jobs->d->db, SL_DB_JOBS, job->record.id, document, sl_later_done, later) :
		SL_NOMEM;
	json_decref(document);
	if (code) {
		sl__record_cluster_names_take(&job->record, before);
		sl_error_set(&err, code, SL_NO_MEMORY "a change.");
	} else {
		json_decref(before);
	}
	sl_later_begun(later, code, &err);
}
