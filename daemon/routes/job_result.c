#include "daemon/routes/job_result.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/graphs/graphs.h"
#include "daemon/store/job_files.h"

bool sl__result_missing(struct sl_job *job, struct sl_request *r)
{
	if (job->state == SL_JOB_DONE)
		return false;
	sl_reply_problem(r, SL_CONFLICT, "Job %s is %s; it has a result when it is done. /v1/jobs/%s/frame has the "
			 "layout of a running job.", job->id, sl__job_state_name[job->state], job->id);
	return true;
}

static void gone(void *arg)
{
	((struct sl_result *)arg)->request = NULL;
}

static void reply(struct sl_result *result)
{
	if (result->code) {
		sl_reply_error(result->request, &result->err);
		return;
	}
	struct sl_buffer *b = sl_buffer_create(result->size);
	if (!b) {
		sl_reply_problem(result->request, SL_NOMEM, "Out of memory for a reply of %zu bytes.", result->size);
		return;
	}
	memcpy(b->data, result->bytes, result->size);
	sl_reply_buffer(result->request, result->content_type, result->etag, b);
}

static void finish(struct sl_result *result)
{
	struct sl_jobs *j = result->job->jobs;
	if (result->request)
		reply(result);
	sl_graphs_release(j->d->graphs, result->content);
	sl__job_unref(result->job);
	free(result->y);
	free(result->bytes);
	free(result);
	sl__works_done(j);
}

static void work(uv_work_t *work)
{
	struct sl_result *result = work->data;
	result->code = sl_job_file_read_layout(result->folder, result->id, "npy", result->nodes, result->dims, &result->y,
					       &result->err);
	if (!result->code)
		result->code = result->make(result);
}

static void worked(uv_work_t *work, int status)
{
	finish(work->data);
}

static void start(struct sl_result *result)
{
	result->work.data = result;
	if (uv_queue_work(result->job->jobs->d->loop, &result->work, work, worked)) {
		result->code = sl_error_set(&result->err, SL_NOMEM, "Out of memory for a reply.");
		finish(result);
	}
}

static void graph_loaded(void *arg, struct sl_content *c, const struct sl_error *err)
{
	struct sl_result *result = arg;
	result->content = c;  /* without it: numbers instead of names */
	result->names = c ? &c->nodes : NULL;
	start(result);
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
	result->dims = job->params.dims;
	result->drop_leaf_edges = job->params.drop_leaf_edges;
	result->request = r;
	result->job = sl__job_ref(job);
	j->works++;
	sl_request_park(r, gone, result);
	if (sl_graphs_acquire(j->d->graphs, job->graph, SL_PART_DATA, graph_loaded, result, NULL))
		start(result);
}
