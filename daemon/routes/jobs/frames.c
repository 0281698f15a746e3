/* GET /v1/jobs/{id}/frame and /frames: the layout while it forms, or the values of a signal while they change. GET
 * /v1/events, /v1/jobs/{id}/events: server-sent events. */
#include <string.h>

#include "daemon/config/daemon.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"
#include "daemon/stream/events.h"
#include "daemon/stream/watch.h"

static int read_form(const struct sl_request *r, struct sl_frame_form *form, struct sl_error *err)
{
	const char *type = sl_request_query(r, "type");
	int64_t most = 0;
	form->type = SL_FRAME_U16;
	if (type && !strcmp(type, "f32"))
		form->type = SL_FRAME_F32;
	else if (type && strcmp(type, "u16"))
		return sl_error_field(err, SL_BADPARAM, "?type", "type must be u16 or f32.");
	int code = sl_request_query_int(r, "max_points", 1, UINT32_MAX, &most, err);
	form->max_points = (uint32_t)most;
	return code;
}

void sl_route_job_frame(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	struct sl_frame_form form;
	struct sl_error err;
	int64_t after = 0;
	double wait_s = 25;
	if (!job || (!sl_job_is_watched(job) && sl_job_refuses_layout(job, r)))
		return;
	int code = sl_request_query_int(r, "after", 0, UINT32_MAX, &after, &err);
	if (!code)
		code = sl_request_query_double(r, "wait", 0, 60, &wait_s, &err);
	if (!code)
		code = read_form(r, &form, &err);
	if (code)
		sl_reply_error(r, &err);
	else
		sl_watch_poll(sl_job_watch(job), r, form, (uint32_t)after, (uint64_t)(wait_s * 1e3));
}

void sl_route_job_frames(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	struct sl_frame_form form;
	struct sl_error err;
	if (!job || (!sl_job_is_watched(job) && sl_job_refuses_layout(job, r)))
		return;
	if (read_form(r, &form, &err))
		sl_reply_error(r, &err);
	else
		sl_watch_stream(sl_job_watch(job), r, form);
}

void sl_route_events(struct sl_request *r)
{
	sl_events_follow(sl_request_daemon(r)->events, r);
}

void sl_route_job_events(struct sl_request *r)
{
	if (sl_job_of_request(r))
		sl_events_follow_job(sl_request_daemon(r)->events, r, sl_request_path(r, "id"));
}
