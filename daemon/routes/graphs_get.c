#include "daemon/config/daemon.h"
#include "daemon/graphs/graphs.h"
#include "daemon/routes/routes.h"

#define LIMIT 100

/* GET /v1/graphs: newest first, by pages. */
void sl_route_graphs_get(struct sl_request *r)
{
	struct sl_error err;
	int64_t limit = LIMIT;
	char next[SL_ULID_BYTES];
	const char *cursor = sl_request_query(r, "cursor"), *name = sl_request_query(r, "name");
	int rc = sl_request_query_int(r, "limit", 1, 1000, &limit, &err);
	if (!rc && cursor && !sl_ulid_valid(cursor))
		rc = sl_error_field(&err, SL_BADPARAM, "?cursor", "cursor must be the `next` of the page before");
	if (rc) {
		sl_reply_error(r, &err);
		return;
	}
	json_t *items = sl_graphs_list(sl_request_daemon(r)->graphs, cursor, (int)limit, name, next);
	if (next[0])
		sl_reply_header(r, "Link", "</v1/graphs?limit=%d&cursor=%s>; rel=\"next\"", (int)limit, next);
	sl_reply_json(r, 200, json_pack("{s:o, s:s?}", "items", items, "next", next[0] ? next : NULL));
}
