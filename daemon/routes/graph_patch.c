#include <string.h>

#include "daemon/config/daemon.h"
#include "daemon/graphs/graphs.h"
#include "daemon/engines/engines.h"
#include "daemon/routes/routes.h"
#include "daemon/util/json.h"

struct wait {
	struct sl_request *r;  /* NULL: the client is gone */
	struct sl_graphs *graphs;
	char id[SL_ULID_BYTES];
};

static void done(void *arg, int status, const struct sl_error *err)
{
	struct wait *w = arg;
	if (w->r && status)
		sl_reply_error(w->r, err);
	else if (w->r && !sl_graphs_find(w->graphs, w->id))
		sl_reply_problem(w->r, SL_NOTFOUND, "graph %s was deleted at this moment", w->id);
	else if (w->r)
		sl_reply_json(w->r, 200, sl_graphs_json(w->graphs, w->id));
	free(w);
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

/* PATCH /v1/graphs/{graph}: rename, pin. */
void sl_route_graph_patch(struct sl_request *r)
{
	const struct sl_graph_record *g = sl__graph_of_request(r);
	if (!g)
		return;
	const char *name = NULL, *id = g->id;
	struct sl_graphs *graphs = sl_request_daemon(r)->graphs;
	struct wait *w = NULL;
	struct sl_error err;
	json_t *body = NULL;
	int pinned = -1, rc = 0;
	if (!rc)
		rc = sl_request_json(r, &body, &err);
	if (!rc)
		rc = read_change(body, &name, &pinned, &err);
	if (!rc && !(w = malloc(sizeof *w)))
		rc = sl_error_set(&err, SL_NOMEM, "no memory for the change");
	if (!rc) {
		w->r = r;
		w->graphs = graphs;
		snprintf(w->id, sizeof w->id, "%s", id);
		rc = sl_graphs_change(graphs, id, name, pinned, done, w, &err);
		if (!rc && pinned >= 0)
			sl_engines_graph_pinned(sl_request_daemon(r)->engines, id, pinned);
	}
	json_decref(body);
	if (rc) {
		sl_reply_error(r, &err);
		free(w);
		return;
	}
	sl_park(&w->r, 0);
}
