/* Replies with the results of a job: its layout in three formats, and its trace. Loop thread, except make(). */
#include "daemon/jobs/jobs_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/formats/numpy/npy.h"
#include "daemon/files/job_files.h"
#include "daemon/graphs/nodes.h"
#include "daemon/jobs/results/text.h"
#include "daemon/store/atomic.h"
#include "daemon/util/buffer.h"
#include "daemon/util/log.h"
#include "daemon/util/pool.h"

static const char *const form_name[] = {"npy", "csv", "json"};
const char *const sl__layout_type[] = {"application/octet-stream", "text/csv; charset=utf-8", "application/json"};

int sl_layout_form_of_request(const struct sl_request *r, enum sl_layout_form *form, struct sl_error *err)
{
	const char *text = sl_request_query(r, "format");
	*form = SL_LAYOUT_NPY;
	for (int i = 0; i < 3 && text; i++)
		if (!strcmp(text, form_name[i])) {
			*form = (enum sl_layout_form)i;
			return 0;
		}
	return text ? sl_error_field(err, SL_BADPARAM, "?format", "format must be one of npy, csv, json.") : 0;
}

bool sl_job_refuses_layout(const struct sl_job *job, struct sl_request *r)
{
	const struct sl_method *method = job->work.method;
	if (method->layout)
		return false;
	sl_reply_problem(r, SL_CONFLICT, "Job %s is of method %s, which gives no layout. Its results are at "
			 "/v1/jobs/%s/results/%s.", job->id, method->name, job->id, method->results[0]);
	return true;
}

bool sl__result_missing(struct sl_job *job, struct sl_request *r)
{
	if (job->has_layout && sl__job_ended(job))
		return false;
	if (sl_job_refuses_layout(job, r))
		return true;
	sl_reply_problem(r, SL_CONFLICT, "Job %s is %s; it has a result when it is done. /v1/jobs/%s/frame has the "
			 "layout of a running job.", job->id, sl__job_state_name[job->state], job->id);
	return true;
}

static void reply(struct sl_result *result)
{
	if (result->code) {
		sl_reply_error(result->request, &result->err);
		return;
	}
	sl_reply_buffer(result->request, result->content_type, result->etag, sl_buffer_ref(result->text));
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
	free(result->columns_path);
	free(result->y);
	sl_buffer_unref(result->text);
	free(result);
	sl__works_done(j);
}

static void work(void *arg)
{
	struct sl_result *result = arg;
	result->code = sl_job_file_read_layout(result->folder, result->id, "npy", result->nodes, result->dims, &result->y,
					       &result->err);
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

static void graph_loaded(void *arg, struct sl_content *c, const struct sl_error *err)
{
	struct sl_result *result = arg;
	struct sl_graphs *graphs = result->job->jobs->d->graphs;
	result->content = c;  /* if it is NULL, indices instead of names */
	result->names = c ? &c->nodes : NULL;
	if (!c || !sl_column_needs_neighbours(graphs, result->graph_id, result->picture.column)) {
		start(result);
		return;
	}
	result->code = sl_graphs_acquire(graphs, result->graph_id, SL_PART_NEIGHBOURS, neighbours_loaded, result,
					 &result->err);
	if (result->code)
		finish(result);
}

void sl__result_reply(struct sl_job *job, struct sl_request *r, const struct sl_result *with)
{
	struct sl_jobs *j = job->jobs;
	struct sl_result *result = malloc(sizeof *result);
	if (!result) {
		sl_reply_problem(r, SL_NOMEM, "Out of memory for a reply.");
		return;
	}
	*result = *with;
	result->folder = j->folder;
	memcpy(result->id, job->id, sizeof result->id);
	memcpy(result->graph_id, job->graph, sizeof result->graph_id);
	result->nodes = job->nodes;
	result->dims = sl__work_dims(&job->work);
	result->drop_leaf_edges = job->work.params.drop_leaf_edges;
	result->request = r;
	result->job = sl__job_ref(job);
	const struct sl_graph_record *graph = sl_graphs_find(j->d->graphs, job->graph);
	if (graph)
		snprintf(result->own_labels, sizeof result->own_labels, "%s", graph->label_title);
	if (graph && result->picture.column[0])
		result->columns_path = sl_graphs_columns_path(j->d->graphs, graph->id);
	j->works++;
	sl_park(&result->request, 0);
	if (sl_graphs_acquire(j->d->graphs, job->graph, SL_PART_DATA, graph_loaded, result, NULL))
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

struct layout_file {
	struct sl_job *job;      /* a reference */
	struct sl_request *r;    /* NULL: the client is gone */
	char *path;
	int fd, code;
	struct sl_error err;
};

static void check(void *arg)
{
	struct layout_file *s = arg;
	s->code = sl_job_file_check_layout(s->fd, s->path, s->job->nodes, sl__work_dims(&s->job->work), &s->err);
}

static void serve(struct layout_file *s)
{
	char etag[64];
	snprintf(etag, sizeof etag, "%s-npy", s->job->id);
	sl_reply_file(s->r, "application/octet-stream", etag, s->fd, SL_NPY_HEADER_BYTES + (uint64_t)s->job->nodes *
		      (uint64_t)sl__work_dims(&s->job->work) * sizeof(float));
	s->fd = -1;
}

static void layout_file_free(struct layout_file *s)
{
	struct sl_jobs *j = s->job->jobs;
	if (s->fd >= 0)
		close(s->fd);
	sl__job_unref(s->job);
	free(s->path);
	free(s);
	sl__works_done(j);
}

static void checked(void *arg)
{
	struct layout_file *s = arg;
	struct stat st;
	if (!s->code && !fstat(s->fd, &st))
		s->job->checked = sl_file_mark(&st);
	if (s->code)
		sl_log_error("jobs", "%s: %s", s->job->id, s->err.detail);
	if (s->r && s->code)
		sl_reply_error(s->r, &s->err);
	else if (s->r)
		serve(s);
	layout_file_free(s);
}

static void reply_npy(struct sl_job *job, struct sl_request *r)
{
	struct layout_file *s = calloc(1, sizeof *s);
	struct stat st = {0};
	if (!s || !(s->path = sl_job_file_path(job->jobs->folder, job->id, "npy"))) {
		free(s);
		sl_reply_problem(r, SL_NOMEM, "Out of memory for a reply.");
		return;
	}
	s->r = r;
	s->job = sl__job_ref(job);
	job->jobs->works++;
	s->fd = sl_file_open(s->path);
	struct sl_file_mark mark = s->fd >= 0 && !fstat(s->fd, &st) ? sl_file_mark(&st) : (struct sl_file_mark){0};
	if (s->fd < 0 || !mark.bytes) {
		sl_seal_damaged(s->path, s->fd < 0 ? strerror(errno) : "it is empty", &s->err);
		sl_reply_error(r, &s->err);
		layout_file_free(s);
	} else if (sl_file_mark_same(&mark, &job->checked)) {
		serve(s);
		layout_file_free(s);
	} else {
		sl_park(&s->r, 0);
		sl_pool_run(job->jobs->d->loop, check, checked, s);
	}
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
	snprintf(result.etag, sizeof result.etag, "%s-%s", job->id, form_name[form]);
	sl__result_reply(job, r, &result);
}

/* ---- the trace: from memory while the job lives, then from its file --------------------------------- */

struct reading {
	struct sl_job *job;          /* a reference */
	struct sl_request *request;  /* NULL: the client is gone */
	struct sl_trace_point *trace;
	int count, code;
	struct sl_error err;
};

static bool trace_wanted(void *arg)
{
	const struct reading *t = arg;
	return t->request != NULL;
}

static void read_trace(void *arg)
{
	struct reading *t = arg;
	t->code = sl_job_file_read_trace(t->job->jobs->folder, t->job->id, &t->trace, &t->count, &t->err);
}

static void trace_read(void *arg)
{
	struct reading *t = arg;
	struct sl_jobs *j = t->job->jobs;
	if (t->request && t->code)
		sl_reply_error(t->request, &t->err);
	else if (t->request)
		sl_reply_json(t->request, 200, sl__trace_json(t->job, t->trace, t->count));
	sl__job_unref(t->job);
	free(t->trace);
	free(t);
	sl__works_done(j);
}

void sl_job_reply_trace(struct sl_job *job, struct sl_request *r)
{
	if (!(job->has_layout || job->has_results) || !sl__job_ended(job)) {
		sl_reply_json(r, 200, sl__trace_json(job, job->trace, job->trace_count));
		return;
	}
	struct reading *t = calloc(1, sizeof *t);
	if (!t) {
		sl_reply_problem(r, SL_NOMEM, "Out of memory for a trace.");
		return;
	}
	t->job = sl__job_ref(job);
	t->request = r;
	job->jobs->works++;
	sl_park(&t->request, 0);
	sl_pool_answer(job->jobs->d->loop, sl_request_whose(r), trace_wanted, read_trace, trace_read, t);
}
