/* /v1/projects, /v1/projects/{project} and the members of one: each request becomes one call (projects.h). */
#include <stdio.h>

#include "daemon/config/daemon.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/recorded.h"
#include "daemon/routes/routes.h"
#include "daemon/users/projects.h"

static json_t *add_use(struct sl_daemon *d, json_t *project)
{
	const char *id = sl_project_id(d->users, json_string_value(json_object_get(project, "name")));
	json_object_set_new(project, "use", sl_jobs_use_of(d->jobs, id));
	return project;
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

/* ---- changes ------------------------------------------------------------------------- */

static json_t *record(const struct sl_recorded *w)
{
	json_t *project = sl_project_json(w->d->users, sl_request_who(w->r), w->name);
	return project ? add_use(w->d, project) : NULL;
}

static int add(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	int rc = sl_project_add(w->d->users, body, sl__recorded_done, w, err);
	if (!rc)
		snprintf(w->name, sizeof w->name, "%s", json_string_value(json_object_get(body, "name")));
	return rc;
}

static int change(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	int rc = sl_project_change(w->d->users, w->name, body, sl__recorded_done, w, err);
	if (!rc && json_object_get(body, "keep"))
		sl_jobs_expiry_changed(w->d->jobs);
	return rc;
}

static int remove_project(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	json_t *project = sl_project_json(w->d->users, sl_request_who(w->r), w->name);
	w->members = json_incref(json_object_get(project, "members"));
	json_decref(project);
	w->rights = true;
	return sl_project_remove(w->d->users, w->name, sl__recorded_done, w, err);
}

static int add_member(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	w->rights = true;
	return sl_project_member(w->d->users, w->name, sl_request_path(w->r, "user"), true, sl__recorded_done, w, err);
}

static int remove_member(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	const char *user = sl_request_path(w->r, "user");
	snprintf(w->ends, sizeof w->ends, "%s", user);
	w->rights = true;
	return sl_project_member(w->d->users, w->name, user, false, sl__recorded_done, w, err);
}

SL_RECORDED_ROUTE(sl_route_projects_post, 201, "project", true, add, record)
SL_RECORDED_ROUTE(sl_route_project_patch, 200, "project", true, change, record)
SL_RECORDED_ROUTE(sl_route_project_delete, 204, "project", false, remove_project, NULL)
SL_RECORDED_ROUTE(sl_route_project_member_put, 200, "project", false, add_member, record)
SL_RECORDED_ROUTE(sl_route_project_member_delete, 204, "project", false, remove_member, NULL)
