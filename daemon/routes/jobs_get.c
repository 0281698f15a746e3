/* GET /v1/jobs: newest first, by pages. */
#include "daemon/daemon.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"

#define LIMIT 100

void sl_route_jobs_get(struct sl_request *r)
{
	const char *state = sl_request_query(r, "state"), *graph = sl_request_query(r, "graph"), *next;
	struct sl_job_query query = {.state = state, .graph = graph, .cursor = sl_request_query(r, "cursor")};
	struct sl_error err;
	json_t *items;
	int64_t limit = LIMIT;
	int code = sl_request_query_int(r, "limit", 1, 1000, &limit, &err);
	query.limit = (int)limit;
	if (!code)
		code = sl_jobs_list(sl_request_daemon(r)->jobs, &query, &items, &next, &err);
	if (code) {
		sl_reply_error(r, &err);
		return;
	}
	if (next)
		sl_reply_header(r, "Link", "</v1/jobs?limit=%d&cursor=%s%s%s%s%s>; rel=\"next\"", query.limit, next,
				state ? "&state=" : "", state ? state : "", graph ? "&graph=" : "", graph ? graph : "");
	sl_reply_json(r, 200, json_pack("{s:O, s:s?}", "items", items, "next", next));
	json_decref(items);
}
