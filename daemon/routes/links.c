/* /v1/jobs/{id}/links: public links to a job, for those who may change it. */
#include <stdio.h>

#include "daemon/config/daemon.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/recorded.h"
#include "daemon/routes/routes.h"
#include "daemon/users/links.h"

void sl_route_links_get(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	if (job)
		sl_reply_json(r, 200, json_pack("{s:o, s:n}", "items", sl_users_links_json(sl_request_daemon(r)->users,
						sl_job_id(job)), "next"));
}

static int add(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	return sl_users_link_add(w->d->users, sl_job_id(sl_job_of_request(w->r)), sl_request_who(w->r), body, &w->reply,
				 sl__recorded_done, w, err);
}

static int remove_link(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	snprintf(w->ends, sizeof w->ends, "link-%.26s", w->name);
	return sl_users_link_remove(w->d->users, sl_job_id(sl_job_of_request(w->r)), w->name, sl__recorded_done, w, err);
}

void sl_route_links_post(struct sl_request *r)
{
	static const struct sl_recorded_kind kind = {201, "link", true, add, NULL};
	if (sl_job_of_request(r))
		sl__recorded(r, &kind);
}

void sl_route_link_delete(struct sl_request *r)
{
	static const struct sl_recorded_kind kind = {204, "link", false, remove_link, NULL};
	if (sl_job_of_request(r))
		sl__recorded(r, &kind);
}
