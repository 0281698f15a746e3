/* /v1/projects, /v1/projects/{project} and the members of one: the requests become one call each (projects.h), whose
 * record must be on the disk before the reply. */
#include <stdlib.h>
#include <string.h>

#include "daemon/config/daemon.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"
#include "daemon/users/projects.h"

struct wait {
	struct sl_request *r;  /* NULL: the client is gone */
	struct sl_daemon *d;
	int status;
	json_t *less;          /* names of users who may read less from now on: what they have open ends; or NULL */
	char name[64];
};

static json_t *add_use(struct sl_daemon *d, json_t *project)
{
	const char *id = sl_project_id(d->users, json_string_value(json_object_get(project, "name")));
	json_object_set_new(project, "use", sl_jobs_use_of(d->jobs, id));
	return project;
}

static void done(void *arg, int status, const struct sl_error *err)
{
	struct wait *w = arg;
	bool told = w->r && !status && w->status != 204;
	json_t *project = told ? sl_project_json(w->d->users, sl_request_who(w->r), w->name) : NULL, *name;
	size_t i;
	if (w->r && status)
		sl_reply_error(w->r, err);
	else if (w->r && project)
		sl_reply_json(w->r, w->status, add_use(w->d, project));
	else if (w->r && w->status != 204)
		sl_reply_problem(w->r, SL_NOTFOUND, "project %s was removed at this moment", w->name);
	else if (w->r)
		sl_reply_empty(w->r, 204);
	json_array_foreach(w->less, i, name)
		if (!status)
			sl_http_end_user(w->d->http, json_string_value(name));
	json_decref(w->less);
	free(w);
}

/* NULL: no memory, and the request has been answered. */
static struct wait *begin(struct sl_request *r, int status)
{
	struct wait *w = calloc(1, sizeof *w);
	const char *name = sl_request_path(r, "project");
	if (!w) {
		sl_reply_problem(r, SL_NOMEM, "no memory for the request");
		return NULL;
	}
	w->r = r;
	w->d = sl_request_daemon(r);
	w->status = status;
	snprintf(w->name, sizeof w->name, "%s", name ? name : "");
	return w;
}

/* After the call: waits for its done, or tells the error. */
static void end(struct wait *w, int rc, const struct sl_error *err, json_t *body)
{
	json_decref(body);
	if (!rc) {
		sl_park(&w->r, 0);
		return;
	}
	sl_reply_error(w->r, err);
	json_decref(w->less);
	free(w);
}

void sl_route_projects_get(struct sl_request *r)
{
	struct sl_daemon *d = sl_request_daemon(r);
	json_t *items = sl_projects_list(d->users, sl_request_who(r)), *project;
	size_t i;
	json_array_foreach(items, i, project)
		add_use(d, project);
	sl_reply_json(r, 200, json_pack("{s:o, s:n}", "items", items, "next"));
}

void sl_route_project_get(struct sl_request *r)
{
	struct sl_daemon *d = sl_request_daemon(r);
	const char *name = sl_request_path(r, "project");
	json_t *project = sl_project_json(d->users, sl_request_who(r), name);
	if (project)
		sl_reply_json(r, 200, add_use(d, project));
	else
		sl_reply_problem(r, SL_NOTFOUND, "there is no project %.64s of which you are a member", name);
}

void sl_route_projects_post(struct sl_request *r)
{
	struct wait *w = begin(r, 201);
	struct sl_error err;
	json_t *body = NULL;
	if (!w)
		return;
	int rc = sl_request_json(r, &body, &err);
	if (!rc)
		rc = sl_project_add(w->d->users, body, done, w, &err);
	if (!rc)
		snprintf(w->name, sizeof w->name, "%s", json_string_value(json_object_get(body, "name")));
	end(w, rc, &err, body);
}

void sl_route_project_patch(struct sl_request *r)
{
	struct wait *w = begin(r, 200);
	struct sl_error err;
	json_t *body = NULL;
	if (!w)
		return;
	int rc = sl_request_json(r, &body, &err);
	if (!rc)
		rc = sl_project_change(w->d->users, w->name, body, done, w, &err);
	end(w, rc, &err, body);
}

void sl_route_project_delete(struct sl_request *r)
{
	struct wait *w = begin(r, 204);
	struct sl_error err;
	if (!w)
		return;
	json_t *project = sl_project_json(w->d->users, sl_request_who(r), w->name);
	w->less = json_incref(json_object_get(project, "members"));
	json_decref(project);
	end(w, sl_project_remove(w->d->users, w->name, done, w, &err), &err, NULL);
}

void sl_route_project_member_put(struct sl_request *r)
{
	struct wait *w = begin(r, 200);
	struct sl_error err;
	if (w)
		end(w, sl_project_member(w->d->users, w->name, sl_request_path(r, "user"), true, done, w, &err), &err, NULL);
}

void sl_route_project_member_delete(struct sl_request *r)
{
	struct wait *w = begin(r, 204);
	const char *user = sl_request_path(r, "user");
	struct sl_error err;
	if (!w)
		return;
	w->less = json_pack("[s]", user);
	end(w, sl_project_member(w->d->users, w->name, user, false, done, w, &err), &err, NULL);
}
