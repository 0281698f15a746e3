
#include "daemon/config/daemon.h"
#include "daemon/graphs/graphs.h"
#include "daemon/engines/engines.h"
#include "daemon/routes/routes.h"
#include "daemon/json/json.h"

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
