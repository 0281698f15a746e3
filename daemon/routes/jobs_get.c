/* GET /v1/jobs: newest first, by pages. */
#include <string.h>

#include "daemon/jobs/jobs_internal.h"
#include "daemon/routes/routes.h"

#define LIMIT 100

void sl_route_jobs_get(struct sl_request *r)
{
	const char *cursor = sl_request_query(r, "cursor"), *state = sl_request_query(r, "state");
	const char *graph = sl_request_query(r, "graph"), *next = NULL;
	struct sl_error err;
	int64_t limit = LIMIT;
	int code = sl_request_query_int(r, "limit", 1, 1000, &limit, &err);
	if (!code && cursor && !sl_ulid_valid(cursor))
		code = sl_error_field(&err, SL_BADPARAM, "?cursor", "cursor must be the `next` of the page before.");
	if (!code && state && sl__job_state_parse(state) < 0)
		code = sl_error_field(&err, SL_BADPARAM, "?state",
				      "state must be one of queued, running, paused, done, failed, cancelled.");
	if (!code && graph && !sl_ulid_valid(graph))
		code = sl_error_field(&err, SL_BADPARAM, "?graph", "graph must be the id of a graph, 26 characters.");
	if (code) {
		sl_reply_error(r, &err);
		return;
	}
	json_t *items = json_array();
	int wanted = state ? sl__job_state_parse(state) : -1;
	for (struct sl_job *job = sl_request_daemon(r)->jobs->newest; job; job = job->older) {
		if ((cursor && strcmp(job->id, cursor) >= 0) || (wanted >= 0 && (int)job->state != wanted) ||
		    (graph && strcmp(job->graph, graph)))
			continue;
		if ((int64_t)json_array_size(items) == limit) {  /* there is one more: the last one given is the cursor */
			next = json_string_value(json_object_get(json_array_get(items, (size_t)limit - 1), "id"));
			break;
		}
		json_array_append_new(items, sl__job_json(job));
	}
	if (next)
		sl_reply_header(r, "Link", "</v1/jobs?limit=%d&cursor=%s%s%s%s%s>; rel=\"next\"", (int)limit, next,
				state ? "&state=" : "", state ? state : "", graph ? "&graph=" : "", graph ? graph : "");
	sl_reply_json(r, 200, json_pack("{s:O, s:s?}", "items", items, "next", next));
	json_decref(items);
}
