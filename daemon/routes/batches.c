/* /v1/batches: several jobs by one request. */
#include "daemon/config/daemon.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

void sl_route_batches_get(struct sl_request *r)
{
	sl_reply_json(r, 200, json_pack("{s:o, s:n}", "items", sl_batches_json(sl_request_daemon(r)->jobs), "next"));
}

void sl_route_batches_post(struct sl_request *r)
{
	struct sl_daemon *d = sl_request_daemon(r);
	struct sl_error err;
	json_t *body = NULL;
	if (d->stopping)
		sl_reply_status(r, 503, "The server is shutting down.");
	else if (sl_request_json(r, &body, &err))
		sl_reply_error(r, &err);
	else
		sl_batch_submit(d->jobs, r, body);
	json_decref(body);
}

void sl_route_batch_get(struct sl_request *r)
{
	struct sl_batch *b = sl_batch_of_request(r);
	if (b)
		sl_reply_json(r, 200, sl_batch_json(b));
}

void sl_route_batch_delete(struct sl_request *r)
{
	struct sl_batch *b = sl_batch_of_request(r);
	if (b)
		sl_batch_end_or_delete(b, r);
}
