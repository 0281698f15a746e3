/* POST /v1/jobs and /v1/jobs/dry-run; GET, PATCH, DELETE /v1/jobs/{id}: DELETE cancels a job that has not ended, and
 * deletes one that has. */
#include "daemon/config/daemon.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

void sl__posted(struct sl_request *r, void (*act)(struct sl_daemon *d, struct sl_request *r, const json_t *body))
{
	struct sl_daemon *d = sl_request_daemon(r);
	struct sl_error err;
	json_t *body = NULL;
	if (d->stopping)
		sl_reply_status(r, 503, "The server is shutting down.");
	else if (sl_request_json(r, &body, &err))
		sl_reply_error(r, &err);
	else
		act(d, r, body);
	json_decref(body);
}

static void submit(struct sl_daemon *d, struct sl_request *r, const json_t *body)
{
	sl_job_submit(d->jobs, r, body);
}

void sl_route_jobs_post(struct sl_request *r)
{
	sl__posted(r, submit);
}

void sl_route_jobs_dry_run(struct sl_request *r)
{
	struct sl_error err;
	json_t *body = NULL;
	if (sl_request_json(r, &body, &err))
		sl_reply_error(r, &err);
	else
		sl_job_estimate(sl_request_daemon(r)->jobs, r, body);
	json_decref(body);
}

void sl_route_job_get(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	if (job)
		sl_reply_json(r, 200, sl_job_json(job));
}

void sl_route_job_patch(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	struct sl_error err;
	json_t *body = NULL;
	if (job && sl_request_json(r, &body, &err))
		sl_reply_error(r, &err);
	else if (job)
		sl_job_change(job, r, body);
	json_decref(body);
}

void sl_route_job_delete(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	if (job)
		sl_job_end_or_delete(job, r);
}
