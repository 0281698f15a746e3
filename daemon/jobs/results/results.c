/* Replies with the results of a job: its layout in three formats, and its trace. Loop thread, except make(). */
#include "daemon/jobs/jobs_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/formats/numpy/npy.h"
#include "core/meant.h"
#include "daemon/files/job_files.h"
#include "daemon/graphs/nodes.h"
#include "daemon/jobs/results/text.h"
#include "daemon/store/atomic.h"
#include "daemon/util/buffer.h"
#include "daemon/json/json.h"
#include "daemon/util/pool.h"

static const char *const form_name[] = {"npy", "csv", "json"};
const char *const sl__layout_type[] = {"application/octet-stream", "text/csv; charset=utf-8", "application/json"};

int sl_layout_form_of_request(const struct sl_request *r, enum sl_layout_form *form, struct sl_error *err)
{
	const char *text = sl_request_query(r, "format");
	int found = text ? sl_word_index(form_name, 3, text) : SL_LAYOUT_NPY;
	*form = found < 0 ? SL_LAYOUT_NPY : (enum sl_layout_form)found;
	return found < 0 ? sl_error_field(err, SL_BADPARAM, "?format", "format must be one of npy, csv, json.") : 0;
}

bool sl_job_refuses_layout(const struct sl_job *job, struct sl_request *r)
{
	const struct sl_method *method = job->record.work.method;
	if (method->layout)
		return false;
	sl_reply_problem(r, SL_CONFLICT, "Job %s is of method %s, which gives no layout. Its results are at "
			 "/v1/jobs/%s/results/%s.", job->record.id, method->name, job->record.id, method->results[0].name);
	return true;
}

bool sl__result_missing(struct sl_job *job, struct sl_request *r)
{
	if (job->record.has_layout && sl__job_ended(job))
		return false;
	if (sl_job_refuses_layout(job, r))
		return true;
	sl_reply_problem(r, SL_CONFLICT, "Job %s is %s; it has a result when it is done. /v1/jobs/%s/frame has the "
			 "layout of a running job.", job->record.id, sl_job_state_name[job->life.state], job->record.id);
	return true;
}

static void reply(struct sl_result *result)
{
	if (result->code) {
		sl_reply_error(result->request, &result->err);
	} else if (result->fd >= 0) {
		if (result->mark.bytes)
			result->job->readers.checked = result->mark;
		sl_reply_file(result->request, result->content_type, result->etag, result->fd, result->bytes);
		result->fd = -1;
	} else {
		sl_reply_buffer(result->request, result->content_type, result->etag[0] ? result->etag : NULL,
				sl_buffer_ref(result->text));
	}
}

static void finish(void *arg)
{
	struct sl_result *result = arg;
	struct sl_jobs *j = result->job->jobs;
	if (result->request)
		reply(result);
	sl_graphs_release(j->d->graphs, result->content);
	sl_graphs_release(j->d->graphs, result->neighbours);
	sl__job_unref(result->job);
	if (result->fd >= 0)
		close(result->fd);
	free(result->columns_path);
	json_decref(result->cluster_names);
	if (result->account.give)
		sl_account_close(&result->account);
	free(result->y);
	sl_buffer_unref(result->text);
	free(result);
	sl__works_done(j);
}

static void work(void *arg)
{
	struct sl_result *result = arg;
	if (result->dims)
		result->code = sl_job_file_read_layout(result->folder, result->id, "npy", result->nodes, result->dims,
						       &result->y, &result->err);
	if (!result->code)
		result->code = result->make(result);
}

static bool wanted(void *arg)
{
	const struct sl_result *result = arg;
	return result->request != NULL;
}

static void start(struct sl_result *result)
{
	sl_pool_answer(result->job->jobs->d->loop, sl_request_whose(result->request), wanted, work, finish, result);
}

static void neighbours_loaded(void *arg, struct sl_content *c, const struct sl_error *err)
{
	struct sl_result *result = arg;
	if (c) {
		result->neighbours = c;
		start(result);
		return;
	}
	result->code = err->code;
	result->err = *err;
	finish(result);
}

/* Texts of layouts have the names and labels that their reader may see. */
static void mask(struct sl_result *result, const struct sl_graph *nodes)
{
	const struct sl_daemon *d = result->job->jobs->d;
	const struct sl_principal *who = result->request ? sl_request_who(result->request) : NULL;
	result->shown = *nodes;
	if (!who || !sl_users_shows(d->users, who, result->graph_id, NULL))
		result->shown.name_bytes = NULL;
	if (!who || (!result->picture.width && !sl_users_shows(d->users, who, result->graph_id, result->own_labels)))
		result->shown.label = NULL;
	result->names = &result->shown;
	size_t length = strlen(result->etag);   /* readers see different texts */
	if (length && !result->shown.name_bytes && nodes->name_bytes)
		snprintf(result->etag + length, sizeof result->etag - length, "-nameless");
	length = strlen(result->etag);
	if (length && !result->shown.label && nodes->label)
		snprintf(result->etag + length, sizeof result->etag - length, "-plain");
}

static void graph_loaded(void *arg, struct sl_content *c, const struct sl_error *err)
{
	struct sl_result *result = arg;
	struct sl_graphs *graphs = result->job->jobs->d->graphs;
	result->content = c;  /* if it is NULL, indices instead of names */
	if (c)
		mask(result, &c->nodes);
	if (!c || !sl_column_needs_neighbours(graphs, result->graph_id, result->picture.column)) {
		start(result);
		return;
	}
	result->code = sl_graphs_acquire(graphs, result->graph_id, SL_PART_NEIGHBOURS, neighbours_loaded, result,
					 &result->err);
	if (result->code)
		finish(result);
}

/* NULL: no memory; the request has been answered. */
static struct sl_result *begin(struct sl_job *job, struct sl_request *r, const struct sl_result *with)
{
	struct sl_result *result = malloc(sizeof *result);
	if (!result) {
		json_decref(with->cluster_names);
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "a reply.");
		return NULL;
	}
	*result = *with;
	result->fd = -1;
	result->folder = job->jobs->folder;
	memcpy(result->id, job->record.id, sizeof result->id);
	result->request = r;
	result->job = sl__job_ref(job);
	job->jobs->works++;
	sl_park(&result->request, 0);
	return result;
}

void sl__result_reply(struct sl_job *job, struct sl_request *r, const struct sl_result *with)
{
	struct sl_result *result = begin(job, r, with);
	if (result)
		start(result);
}

void sl__result_reply_layout(struct sl_job *job, struct sl_request *r, const struct sl_result *with)
{
	struct sl_jobs *j = job->jobs;
	struct sl_result *result = begin(job, r, with);
	if (!result)
		return;
	memcpy(result->graph_id, job->record.graph, sizeof result->graph_id);
	result->nodes = job->record.nodes;
	result->dims = sl__work_dims(&job->record.work);
	struct sl_affinities_params wanted;
	result->drop_leaf_edges = sl__work_affinities(&job->record.work, &wanted) && wanted.drop_leaf_edges;
	const struct sl_graph_record *graph = sl_graphs_find(j->d->graphs, job->record.graph);
	if (graph)
		snprintf(result->own_labels, sizeof result->own_labels, "%s", graph->label_title);
	if (graph && result->picture.column[0])
		result->columns_path = sl_graphs_columns_path(j->d->graphs, graph->id);
	if (sl_graphs_acquire(j->d->graphs, job->record.graph, SL_PART_DATA, graph_loaded, result, NULL))
		start(result);
}

/* ---- layouts ----------------------------------------------------------------------------- */

static int make_csv(struct sl_result *r)
{
	return sl__layout_reply_csv(&r->text, r->names, r->y, r->nodes, r->dims, &r->err);
}

static int make_json(struct sl_result *r)
{
	return sl__layout_reply_json(&r->text, r->id, r->graph_id, r->names, r->y, r->nodes, r->dims, -1, &r->err);
}

/* ---- the file unchanged, after it was checked ----------------------------------------- */

static uint64_t layout_bytes(const struct sl_job *job)
{
	const struct sl_job_record *r = &job->record;
	return SL_NPY_HEADER_BYTES + (uint64_t)r->nodes * (uint64_t)sl__work_dims(&r->work) * sizeof(float);
}

static int make_file(struct sl_result *r)
{
	char *path = sl_job_file_path(r->folder, r->id, "npy");
	struct stat st;
	int code;
	if (!path)
		return sl_error_memory(&r->err, "a file name");
	r->fd = sl_file_open(path);
	if (r->fd < 0 || fstat(r->fd, &st)) {
		code = sl_seal_damaged(path, strerror(errno), &r->err);
	} else {
		code = sl_job_file_check_layout(r->fd, path, r->job->record.nodes, sl__work_dims(&r->job->record.work),
						&r->err);
		r->bytes = layout_bytes(r->job);
		r->mark = sl_file_mark(&st);
	}
	free(path);
	return code;
}

static void reply_npy(struct sl_job *job, struct sl_request *r)
{
	struct sl_result result = {.make = make_file, .content_type = sl__layout_type[SL_LAYOUT_NPY]};
	char *path = sl_job_file_path(job->jobs->folder, job->record.id, "npy");
	int fd = path ? sl_file_open(path) : -1;
	struct stat st;
	bool same = false;
	free(path);
	snprintf(result.etag, sizeof result.etag, "%s-npy", job->record.id);
	if (fd >= 0 && !fstat(fd, &st)) {
		struct sl_file_mark mark = sl_file_mark(&st);
		same = mark.bytes && sl_file_mark_same(&mark, &job->readers.checked);
	}
	if (same) {
		sl_reply_file(r, result.content_type, result.etag, fd, layout_bytes(job));
		return;
	}
	if (fd >= 0)
		close(fd);
	sl__result_reply(job, r, &result);
}

/* ---- the layout in any form ------------------------------------------------------------------------- */

void sl_job_reply_layout(struct sl_job *job, struct sl_request *r, enum sl_layout_form form)
{
	struct sl_result result = {.make = form == SL_LAYOUT_CSV ? make_csv : make_json,
				   .content_type = sl__layout_type[form]};
	if (sl__result_missing(job, r))
		return;
	if (form == SL_LAYOUT_NPY) {
		reply_npy(job, r);
		return;
	}
	snprintf(result.etag, sizeof result.etag, "%s-%s", job->record.id, form_name[form]);
	sl__result_reply_layout(job, r, &result);
}

/* ---- the trace: from memory while the job lives, then from its file --------------------------------- */

static int make_trace(struct sl_result *r)
{
	struct sl_trace_point *trace;
	int count, code = sl_job_file_read_trace(r->folder, r->id, &trace, &count, &r->err);
	if (code)
		return code;
	json_t *document = sl__trace_json(r->job, trace, count);
	size_t length = 0;
	char *text = sl_json_text(document, &length);
	code = text ? sl_buffer_of(&r->text, text, length, &r->err)
		    : sl_error_memory(&r->err, "the trace of job %s", r->id);
	json_decref(document);
	free(trace);
	return code;
}

void sl_job_reply_trace(struct sl_job *job, struct sl_request *r)
{
	if (!(job->record.has_layout || job->record.has_results) || !sl__job_ended(job)) {
		sl_reply_json(r, 200, sl__trace_json(job, job->record.trace, job->record.trace_count));
		return;
	}
	sl__result_reply(job, r, &(struct sl_result){.make = make_trace, .content_type = "application/json"});
}
