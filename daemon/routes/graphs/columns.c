/* GET, PUT /v1/graphs/{graph}/columns; GET, PUT, DELETE /v1/graphs/{graph}/columns/{column}; GET .../images/{node},
 * .../sprites; GET /v1/graphs/{graph}/rows */
#include <stdlib.h>
#include <string.h>

#include "daemon/config/daemon.h"
#include "daemon/graphs/nodes.h"
#include "daemon/graphs/rows/rows.h"
#include "daemon/routes/routes.h"

#define ACROSS 16   /* default number of thumbnails in a row of a sheet */

static bool wants_bytes(const struct sl_request *r)
{
	const char *accept = sl_request_header(r, "Accept");
	return accept && strstr(accept, "application/octet-stream");
}

void sl_route_graph_columns(struct sl_request *r)
{
	const struct sl_graph_record *g = sl__graph_of_request(r);
	if (g)
		sl_rows_columns(sl_request_daemon(r)->graphs, g->id, r);
}

void sl_route_graph_columns_put(struct sl_request *r)
{
	const struct sl_graph_record *g = sl__graph_of_request(r);
	if (g)
		sl_rows_put(sl_request_daemon(r)->graphs, g->id, NULL, sl_request_query(r, "column"), sl_request_query(r,
				"kind"), r);
}

void sl_route_graph_values_put(struct sl_request *r)
{
	const struct sl_graph_record *g = sl__graph_of_request(r);
	if (g)
		sl_rows_put(sl_request_daemon(r)->graphs, g->id, sl_request_path(r, "column"), sl_request_query(r, "column"),
			    sl_request_query(r, "kind"), r);
}

void sl_route_graph_values_get(struct sl_request *r)
{
	struct sl_nodes_query page = {0};
	struct sl_error err;
	const struct sl_graph_record *g = sl__graph_of_request(r);
	int rc = g ? sl__read_page(r, &page, &err) : 0;
	if (g && rc)
		sl_reply_error(r, &err);
	else if (g)
		sl_rows_column(sl_request_daemon(r)->graphs, g->id, &(struct sl_values_query){
			       .column = sl_request_path(r, "column"), .from = (uint32_t)page.from, .count = (uint32_t)page.count,
			       .binary = wants_bytes(r)}, r);
}

void sl_route_graph_image(struct sl_request *r)
{
	const struct sl_graph_record *g = sl__graph_of_request(r);
	const char *text = sl_request_path(r, "node");
	char *end;
	unsigned long node = *text >= '0' && *text <= '9' ? strtoul(text, &end, 10) : 0;
	if (g && (*text < '0' || *text > '9' || *end || node > UINT32_MAX))
		sl_reply_problem(r, SL_NOTFOUND, "node is \"%.40s\"; it must be a node's number, counted from 0", text);
	else if (g)
		sl_rows_image(sl_request_daemon(r)->graphs, g->id, sl_request_path(r, "column"), (uint32_t)node, r);
}

void sl_route_graph_sprites(struct sl_request *r)
{
	int64_t from = 0, count = 256, side = SL_SPRITE_SIDE, across = ACROSS;
	struct sl_error err;
	const struct sl_graph_record *g = sl__graph_of_request(r);
	int rc = sl_request_query_int(r, "from", 0, UINT32_MAX, &from, &err);
	if (!rc)
		rc = sl_request_query_int(r, "count", 1, SL_SPRITES_MOST, &count, &err);
	if (!rc)
		rc = sl_request_query_int(r, "size", 8, SL_SPRITE_SIDE_MOST, &side, &err);
	if (!rc)
		rc = sl_request_query_int(r, "across", 1, 256, &across, &err);
	if (g && rc)
		sl_reply_error(r, &err);
	else if (g)
		sl_rows_sprites(sl_request_daemon(r)->graphs, g->id, &(struct sl_sprites_query){
				.column = sl_request_path(r, "column"), .nodes = sl_request_query(r, "nodes"), .from = (uint32_t)from,
				.count = (uint32_t)count, .side = (uint32_t)side, .across = (uint32_t)across}, r);
}

void sl_route_graph_rows(struct sl_request *r)
{
	int64_t limit = SL_ROWS_COUNT, cut = 0;
	struct sl_error err;
	const struct sl_graph_record *g = sl__graph_of_request(r);
	int rc = sl_request_query_int(r, "limit", 1, SL_ROWS_MOST, &limit, &err);
	if (!rc)
		rc = sl_request_query_int(r, "cut", 0, UINT32_MAX / 2, &cut, &err);
	if (g && rc)
		sl_reply_error(r, &err);
	else if (g)
		sl_rows_find(sl_request_daemon(r)->graphs, g->id, &(struct sl_rows_query){
			     .search = sl_request_query(r, "search"), .in = sl_request_query(r, "in"),
			     .range = sl_request_query(r, "range"), .category = sl_request_query(r, "category"),
			     .sort = sl_request_query(r, "sort"), .columns = sl_request_query(r, "columns"),
			     .nodes = sl_request_query(r, "nodes"), .cursor = sl_request_query(r, "cursor"),
			     .limit = (uint32_t)limit, .cut = (uint32_t)cut, .ids = wants_bytes(r)}, r);
}
