/* /v1/jobs/{id}/links: public links to a job, for those who may change it. */
#include <stdio.h>
#include <string.h>

#include "daemon/graphs/nodes.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/recorded.h"
#include "daemon/routes/routes.h"
#include "daemon/stream/events.h"
#include "daemon/users/links.h"

void sl_route_links_get(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	if (job)
		sl_reply_json(r, 200, json_pack("{s:o, s:n}", "items", sl_users_links_json(sl_request_daemon(r)->users,
						sl_job_id(job)), "next"));
}

static bool all(void *arg, const char *column)
{
	return true;
}

static bool has(const json_t *columns, const char *name)
{
	size_t i;
	json_t *one;
	json_array_foreach((json_t *)columns, i, one)
		if (!strcmp(json_string_value(json_object_get(one, "name")), name))
			return true;
	return !strcmp(name, SL_DEGREE);
}

/* A link shows columns that there are, of a graph that its maker may read. */
static int check_shown(const struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	const char *graph = sl_job_graph(sl_job_of_request(w->r));
	const json_t *labels = json_object_get(body, "labels");
	bool wants = json_array_size(labels) || json_is_true(json_object_get(body, "names"));
	json_t *columns, *name;
	size_t i;
	int rc = 0;
	err->code = 0;
	if (wants && !sl_users_shows(w->d->users, sl_request_who(w->r), graph, NULL))
		return sl_error_field(err, SL_BADPARAM, "/labels", "You may not read graph %s, so a link of yours cannot show "
				      "its labels or names.", graph);
	columns = sl_graph_columns_shown(w->d->graphs, graph, all, NULL);
	json_array_foreach((json_t *)labels, i, name) {
		char pointer[32];
		snprintf(pointer, sizeof pointer, "/labels/%zu", i);
		if (!rc && json_is_string(name) && !has(columns, json_string_value(name)))
			rc = sl_error_field(err, SL_BADPARAM, pointer, "Graph %s has no column of labels named %.64s; "
					    "/v1/graphs/%s/labels lists them.", graph, json_string_value(name), graph);
	}
	json_decref(columns);
	return rc;
}

static int add(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	if (check_shown(w, body, err))
		return err->code;
	const char *id = sl_job_id(sl_job_of_request(w->r));
	sl_events_changed(w->d->events, SL_EVENTS_JOB, id);  /* it may be kept longer */
	return sl_users_link_add(w->d->users, id, sl_request_who(w->r), body, &w->reply, sl__recorded_done, w, err);
}

static int remove_link(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	snprintf(w->ends, sizeof w->ends, "link-%.26s", w->name);
	const char *id = sl_job_id(sl_job_of_request(w->r));
	sl_events_changed(w->d->events, SL_EVENTS_JOB, id);
	return sl_users_link_remove(w->d->users, id, w->name, sl__recorded_done, w, err);
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
