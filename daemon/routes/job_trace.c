/* GET /v1/jobs/{id}/trace: from memory while the job lives, then from its file. */
#include <stdlib.h>

#include "daemon/jobs/jobs_internal.h"
#include "daemon/routes/routes.h"
#include "daemon/store/job_files.h"

struct reading {
	uv_work_t work;
	struct sl_job *job;          /* a reference */
	struct sl_request *request;  /* NULL: the client is gone */
	struct sl_trace_point *trace;
	int count, code;
	struct sl_error err;
};

static void gone(void *arg)
{
	((struct reading *)arg)->request = NULL;
}

static void read_file(uv_work_t *work)
{
	struct reading *t = work->data;
	t->code = sl_job_file_read_trace(t->job->jobs->folder, t->job->id, &t->trace, &t->count, &t->err);
}

static void have_read(uv_work_t *work, int status)
{
	struct reading *t = work->data;
	struct sl_jobs *j = t->job->jobs;
	if (t->request && t->code)
		sl_reply_error(t->request, &t->err);
	else if (t->request)
		sl_reply_json(t->request, 200, sl__trace_json(t->job->id, t->job->params.dims, t->trace, t->count));
	sl__job_unref(t->job);
	free(t->trace);
	free(t);
	sl__works_done(j);
}

void sl_route_job_trace(struct sl_request *r)
{
	struct sl_job *job = sl__job_of_request(r);
	if (!job)
		return;
	if (job->state != SL_JOB_DONE) {
		sl_reply_json(r, 200, sl__trace_json(job->id, job->params.dims, job->trace, job->trace_count));
		return;
	}
	struct reading *t = calloc(1, sizeof *t);
	if (!t) {
		sl_reply_problem(r, SL_NOMEM, "Out of memory for a trace.");
		return;
	}
	t->job = sl__job_ref(job);
	t->request = r;
	t->work.data = t;
	job->jobs->works++;
	sl_request_park(r, gone, t);
	if (uv_queue_work(job->jobs->d->loop, &t->work, read_file, have_read)) {
		t->code = sl_error_set(&t->err, SL_NOMEM, "Out of memory for a trace.");
		have_read(&t->work, 0);
	}
}
