/* /v1/batches: several jobs by one request. */
#include "daemon/config/daemon.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/listed.h"
#include "daemon/routes/routes.h"

void sl_route_batches_get(struct sl_request *r)
{
	char next[SL_ULID_BYTES];
	struct sl_page page;
	if (sl__page_read(r, &page))
		sl__page_reply(r, "/v1/batches", &page,
			       sl_batches_json(sl_request_daemon(r)->jobs, r, page.cursor, page.limit, next), next);
}

static void submit(struct sl_daemon *d, struct sl_request *r, const json_t *body)
{
	sl_batch_submit(d->jobs, r, body);
}

void sl_route_batches_post(struct sl_request *r)
{
	sl__posted(r, submit);
}

void sl_route_batch_get(struct sl_request *r)
{
	struct sl_batch *b = sl_batch_of_request(r);
	if (b)
		sl_reply_json(r, 200, sl_batch_json(b, r));
}

void sl_route_batch_delete(struct sl_request *r)
{
	struct sl_batch *b = sl_batch_of_request(r);
	if (b)
		sl_batch_end_or_delete(b, r);
}
