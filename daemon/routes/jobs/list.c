/* GET /v1/jobs: newest first, by pages. */
#include <stdio.h>

#include "daemon/config/daemon.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/listed.h"
#include "daemon/routes/routes.h"
#include "daemon/users/projects.h"

#define LIMIT 100

/* The same request for the next page. */
static void reply_link(struct sl_request *r, int limit, const char *next)
{
	/* names of jobs need quoting: clients add theirs themselves */
	static const char *const names[] = {"state", "graph", "project", "sort"};
	char text[400] = "";
	size_t used = 0;
	for (int i = 0; i < 4; i++) {
		const char *value = sl_request_query(r, names[i]);
		if (value && used < sizeof text)
			used += (size_t)snprintf(text + used, sizeof text - used, "&%s=%s", names[i], value);
	}
	if (used < sizeof text && !sl_request_query(r, "name") && !sl_request_query(r, "user"))
		sl_reply_header(r, "Link", "<%s/v1/jobs?limit=%d&cursor=%s%s>; rel=\"next\"", sl_request_base(r), limit,
				next, text);
}

void sl_route_jobs_get(struct sl_request *r)
{
	struct sl_job_query query = {
		.r = r,
		.state = sl_request_query(r, "state"), .graph = sl_request_query(r, "graph"),
		.name = sl_request_query(r, "name"), .sort = sl_request_query(r, "sort"),
		.cursor = sl_request_query(r, "cursor"),
	};
	const char *project = sl_request_query(r, "project");
	struct sl_jobs *jobs = sl_request_daemon(r)->jobs;
	char next[SL_JOB_CURSOR_BYTES], project_id[SL_ULID_BYTES];
	struct sl_error err;
	char (*ids)[SL_ULID_BYTES];
	size_t count;
	int64_t limit = LIMIT;
	int code = sl_request_query_int(r, "limit", 1, 1000, &limit, &err);
	query.limit = (int)limit;
	if (!code)
		code = sl_request_check_user(r, &err);
	if (!code && project) {
		code = sl_project_of(sl_request_daemon(r)->users, sl_request_who(r), project, "?project", project_id, &err);
		query.project = project_id;
	}
	if (!code)
		code = sl_jobs_list(jobs, &query, &ids, &count, next, &err);
	if (code) {
		sl_reply_error(r, &err);
		return;
	}
	if (next[0])
		reply_link(r, query.limit, next);
	sl__listed(r, ids, count, sl_jobs_record, jobs, next);
}
