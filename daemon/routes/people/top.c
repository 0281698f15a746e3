#include <string.h>

#include "daemon/people/people.h"
#include "daemon/routes/routes.h"

/* GET /v1/top: who has and uses most. */
void sl_route_top(struct sl_request *r)
{
	static const char *const sorts[] = {"device_seconds", "device_bytes", "disk_bytes", "running_jobs", "queued_jobs",
					    "jobs", "graphs", NULL};
	const char *by = sl_request_query(r, "by"), *sort = sl_request_query(r, "sort");
	struct sl_error err;
	int i = 0;
	bool projects = by && !strcmp(by, "project");
	while (sort && sorts[i] && strcmp(sort, sorts[i]))
		i++;
	if (by && !projects && strcmp(by, "user")) {
		sl_error_field(&err, SL_BADPARAM, "?by", "by must be user or project");
		sl_reply_error(r, &err);
	} else if (!sorts[i]) {
		sl_error_field(&err, SL_BADPARAM, "?sort", "sort must be device_seconds, device_bytes, disk_bytes, "
			       "running_jobs, queued_jobs, jobs or graphs");
		sl_reply_error(r, &err);
	} else {
		json_t *items = sl_people_top(sl_request_daemon(r), projects, sorts[i]);
		sl_reply_json(r, 200, items ? json_pack("{s:o}", "items", items) : NULL);
	}
}
