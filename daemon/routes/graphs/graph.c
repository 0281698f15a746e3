/* GET, POST /v1/graphs; GET, PATCH, DELETE /v1/graphs/{graph}; PUT, DELETE .../holds/{hold}. Replies to changes come
 * when they are safe on disk. */
#include <string.h>

#include "daemon/config/daemon.h"
#include "daemon/engines/engines.h"
#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs.h"
#include "daemon/json/json.h"
#include "daemon/routes/listed.h"
#include "daemon/routes/routes.h"
#include "daemon/store/uses.h"
#include "daemon/users/links.h"

void sl_route_graphs_get(struct sl_request *r)
{
	char next[SL_ULID_BYTES];
	struct sl_page page;
	if (sl__page_read(r, &page))
		sl__page_reply(r, "/v1/graphs", &page,
			       sl_graphs_list(sl_request_daemon(r)->graphs, r, page.cursor, page.limit,
					      sl_request_query(r, "name"), next), next);
}

/* POST /v1/graphs/dry-run: previews how the beginning of a file would be read. */
void sl_route_graphs_dry_run(struct sl_request *r)
{
	sl_graphs_preview(sl_request_daemon(r)->graphs, r);
}

/* POST /v1/graphs: replies when the graph is checked and safe on disk. */
void sl_route_graphs_post(struct sl_request *r)
{
	const struct sl_daemon *d = sl_request_daemon(r);
	if (d->stopping)
		sl_reply_status(r, 503, "the server is being stopped");
	else
		sl_graphs_upload(d->graphs, r);
}

/* GET /v1/graphs/{graph} */
void sl_route_graph_get(struct sl_request *r)
{
	const struct sl_graph_record *g = sl__graph_of_request(r);
	if (g)
		sl_reply_json(r, 200, sl_graphs_json(sl_request_daemon(r)->graphs, g->id));
}

const struct sl_graph_record *sl__graph_of_request(struct sl_request *r)
{
	struct sl_error err;
	struct sl_graphs *graphs = sl_request_daemon(r)->graphs;
	const struct sl_graph_record *g = sl_graphs_resolve(graphs, sl_request_path(r, "graph"), &err);
	if (!g)
		sl_reply_error(r, &err);
	else
		sl_uses_mark(sl_request_daemon(r)->uses, g->id);
	return g;
}

static json_t *tell(void *graphs, const char *id)
{
	return sl_graphs_json(graphs, id);
}

static int read_change(const json_t *body, const char **name, int *pinned, struct sl_error *err)
{
	static const char *const known[] = {"name", "pinned", NULL};
	bool pin = false;
	int rc = sl_json_known(body, known, err);
	if (!rc)
		rc = sl_json_name(body, name, err);
	if (!rc)
		rc = sl_json_bool(body, "pinned", &pin, err);
	if (rc)
		return rc;
	if (json_object_get(body, "pinned"))
		*pinned = pin;
	if (!json_object_size(body))
		return sl_error_set(err, SL_BADPARAM, "nothing to change; known fields: name, pinned");
	return 0;
}

/* PATCH /v1/graphs/{graph}: renames or pins a graph. */
void sl_route_graph_patch(struct sl_request *r)
{
	const struct sl_graph_record *g = sl__graph_of_request(r);
	if (!g)
		return;
	struct sl_daemon *d = sl_request_daemon(r);
	const char *name = NULL;
	struct sl_error err;
	json_t *body = NULL;
	int pinned = -1, rc;
	struct sl_later *reply = sl_later_create(r, tell, d->graphs, g->id);
	if (!reply)
		return;
	rc = sl_request_json(r, &body, &err);
	if (!rc)
		rc = read_change(body, &name, &pinned, &err);
	if (!rc)
		rc = sl_graphs_change(d->graphs, g->id, name, pinned, sl_later_done, reply, &err);
	if (!rc && pinned >= 0)
		sl_engines_graph_pinned(d->engines, g->id, pinned);
	json_decref(body);
	sl_later_begun(reply, rc, &err);
}

void sl_route_graph_hold_put(struct sl_request *r)
{
	struct sl_daemon *d = sl_request_daemon(r);
	struct sl_error err;
	const struct sl_graph_record *g = sl__graph_of_request(r);
	const char *hold = sl_request_path(r, "hold");
	struct sl_later *reply = g ? sl_later_create(r, tell, d->graphs, g->id) : NULL;
	if (!reply)
		return;
	int rc = sl_hold_check(hold, NULL, &err);
	sl_later_begun(reply, rc ? rc : sl_graphs_hold(d->graphs, g->id, hold, sl_later_done, reply, &err), &err);
}

/* Replies when the change, or the removal of the graph, is safe on disk. */
void sl_route_graph_hold_delete(struct sl_request *r)
{
	struct sl_daemon *d = sl_request_daemon(r);
	struct sl_error err;
	const struct sl_graph_record *g = sl__graph_of_request(r);
	const char *hold = sl_request_path(r, "hold");
	struct sl_later *reply = g ? sl_later_create(r, NULL, NULL, g->id) : NULL;
	if (!reply)
		return;
	int rc = sl_hold_check(hold, NULL, &err);
	bool in_use = !rc && (sl_jobs_on_graph(d->jobs, g->id) || sl_users_has_link(d->users, g->id));
	sl_later_begun(reply, rc ? rc : sl_graphs_let_go(d->graphs, g->id, hold, in_use, sl_later_done, reply, &err), &err);
}

/* Names the jobs that hold the graph, and whose they are: its owner may not see them otherwise. */
static void name_jobs(const struct sl_daemon *d, const struct sl_graph_record *g, struct sl_error *err)
{
	size_t length = strlen(err->detail);
	if (err->code == SL_CONFLICT && g->jobs)
		sl_jobs_name_users_of(d->jobs, g->id, err->detail + length, sizeof err->detail - length);
}

/* DELETE /v1/graphs/{graph}: replies when the removal is safe on disk. */
void sl_route_graph_delete(struct sl_request *r)
{
	struct sl_error err;
	struct sl_daemon *d = sl_request_daemon(r);
	const struct sl_graph_record *g = sl__graph_of_request(r);
	struct sl_later *reply = g ? sl_later_create(r, NULL, NULL, g->id) : NULL;
	if (!reply)
		return;
	int code = sl_graphs_delete(d->graphs, g->id, sl_later_done, reply, &err);
	if (code)
		name_jobs(d, g, &err);
	sl_later_begun(reply, code, &err);
}
