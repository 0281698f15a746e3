/* /v1/jobs/{id}/links: public links to a job, for those who may change it. */
#include <stdlib.h>

#include "daemon/config/daemon.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"
#include "daemon/users/links.h"

struct wait {
	struct sl_request *r;  /* NULL: the client is gone */
	struct sl_http *http;
	json_t *reply;         /* NULL: 204 */
	char name[64];         /* of the link, whose streams end; "": it is new */
};

static void done(void *arg, int status, const struct sl_error *err)
{
	struct wait *w = arg;
	if (w->r && status)
		sl_reply_error(w->r, err);
	else if (w->r && w->reply)
		sl_reply_json(w->r, 201, json_incref(w->reply));
	else if (w->r)
		sl_reply_empty(w->r, 204);
	if (!status && w->name[0])
		sl_http_end_user(w->http, w->name);
	json_decref(w->reply);
	free(w);
}

/* NULL: no memory, and the request has been answered. */
static struct wait *begin(struct sl_request *r)
{
	struct wait *w = calloc(1, sizeof *w);
	if (!w) {
		sl_reply_problem(r, SL_NOMEM, "no memory for the request");
		return NULL;
	}
	w->r = r;
	w->http = sl_request_daemon(r)->http;
	return w;
}

static void end(struct wait *w, int rc, const struct sl_error *err)
{
	if (!rc) {
		sl_park(&w->r, 0);
		return;
	}
	sl_reply_error(w->r, err);
	free(w);
}

void sl_route_links_get(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	if (job)
		sl_reply_json(r, 200, json_pack("{s:o, s:n}", "items", sl_users_links_json(sl_request_daemon(r)->users,
						sl_job_id(job)), "next"));
}

void sl_route_links_post(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	struct wait *w = job ? begin(r) : NULL;
	struct sl_error err;
	json_t *body = NULL;
	if (!w)
		return;
	int rc = sl_request_json(r, &body, &err);
	if (!rc)
		rc = sl_users_link_add(sl_request_daemon(r)->users, sl_job_id(job), sl_request_who(r), body, &w->reply, done, w,
				       &err);
	json_decref(body);
	end(w, rc, &err);
}

void sl_route_link_delete(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	struct wait *w = job ? begin(r) : NULL;
	const char *link = sl_request_path(r, "link");
	struct sl_error err;
	if (!w)
		return;
	snprintf(w->name, sizeof w->name, "link-%.26s", link);
	end(w, sl_users_link_remove(sl_request_daemon(r)->users, sl_job_id(job), link, done, w, &err), &err);
}
