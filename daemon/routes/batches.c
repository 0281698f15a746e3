/* /v1/batches: several jobs by one request. */
#include "daemon/config/daemon.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"
#include "daemon/util/ulid.h"

#define LIMIT 100

void sl_route_batches_get(struct sl_request *r)
{
	const char *cursor = sl_request_query(r, "cursor");
	char next[SL_ULID_BYTES];
	struct sl_error err;
	int64_t limit = LIMIT;
	int rc = sl_request_query_int(r, "limit", 1, 1000, &limit, &err);
	if (!rc && cursor && !sl_ulid_valid(cursor))
		rc = sl_error_field(&err, SL_BADPARAM, "?cursor", "cursor must be the `next` of the page before");
	if (rc) {
		sl_reply_error(r, &err);
		return;
	}
	json_t *items = sl_batches_json(sl_request_daemon(r)->jobs, cursor, (int)limit, next);
	if (next[0])
		sl_reply_header(r, "Link", "</v1/batches?limit=%d&cursor=%s>; rel=\"next\"", (int)limit, next);
	sl_reply_json(r, 200, json_pack("{s:o, s:s?}", "items", items, "next", next[0] ? next : NULL));
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
		sl_reply_json(r, 200, sl_batch_json(b));
}

void sl_route_batch_delete(struct sl_request *r)
{
	struct sl_batch *b = sl_batch_of_request(r);
	if (b)
		sl_batch_end_or_delete(b, r);
}
