/* GET, PUT /v1/graphs/{graph}/labels; GET, PUT, PATCH, DELETE /v1/graphs/{graph}/labels/{column} */
#include <string.h>

#include "daemon/config/daemon.h"
#include "daemon/graphs/columns/column_order.h"
#include "daemon/graphs/nodes.h"
#include "daemon/routes/routes.h"
#include "daemon/json/json.h"

void sl_route_graph_labels(struct sl_request *r)
{
	const struct sl_graph_record *g = sl__graph_of_request(r);
	if (g)
		sl_nodes_columns(sl_request_daemon(r)->graphs, g->id, r);
}

void sl_route_graph_column_get(struct sl_request *r)
{
	const char *accept = sl_request_header(r, "Accept");
	struct sl_nodes_query q = {.text = sl_request_path(r, "column"),
				   .binary = accept && strstr(accept, "application/octet-stream")};
	struct sl_error err;
	const struct sl_graph_record *g = sl__graph_of_request(r);
	if (g && sl__read_page(r, &q, &err))
		sl_reply_error(r, &err);
	else if (g)
		sl_nodes_column(sl_request_daemon(r)->graphs, g->id, &q, r);
}

/* column NULL: all columns of the file. */
static void put(struct sl_request *r, const char *column)
{
	const char *kind = sl_request_query(r, "kind");
	struct sl_error err;
	const struct sl_graph_record *g = sl__graph_of_request(r);
	if (g && kind && strcmp(kind, "category") && strcmp(kind, "number")) {
		sl_error_field(&err, SL_BADPARAM, "?kind", "kind must be category or number");
		sl_reply_error(r, &err);
	} else if (g) {
		sl_nodes_put_column(sl_request_daemon(r)->graphs, g->id, column, sl_request_query(r, "column"), kind, r);
	}
}

void sl_route_graph_column_put(struct sl_request *r)
{
	put(r, sl_request_path(r, "column"));
}

void sl_route_graph_labels_put(struct sl_request *r)
{
	put(r, NULL);
}

/* PATCH: {"name": "its new name", "categories": ["in their", "order"], "colors": ["#rrggbb", "#rrggbb"]} */
void sl_route_graph_column_patch(struct sl_request *r)
{
	static const char *const known[] = {"name", "categories", "colors", NULL};
	const struct sl_graph_record *g = sl__graph_of_request(r);
	const char *name = NULL;
	struct sl_error err;
	json_t *body = NULL;
	int rc = g ? sl_request_json(r, &body, &err) : 0;
	if (g && !rc)
		rc = sl_json_known(body, known, &err);
	if (g && !rc)
		rc = sl_json_name(body, &name, &err);
	const struct sl__column_order order = {json_object_get(body, "categories"), json_object_get(body, "colors")};
	if (g && !rc)
		rc = sl__column_order_check(&order, &err);
	if (g && !rc && !name && !order.categories && !order.colors)
		rc = sl_error_set(&err, SL_BADPARAM, "The body changes nothing; it must have name, the column's new name, or "
				  "categories or colors, their order and colours.");
	if (g && rc)
		sl_reply_error(r, &err);
	else if (g)
		sl_nodes_arrange_column(sl_request_daemon(r)->graphs, g->id, sl_request_path(r, "column"),
					order.categories, order.colors, name, r);
	json_decref(body);
}

void sl_route_graph_column_delete(struct sl_request *r)
{
	const struct sl_graph_record *g = sl__graph_of_request(r);
	if (g)
		sl_nodes_delete_column(sl_request_daemon(r)->graphs, g->id, sl_request_path(r, "column"), r);
}
