/* The endpoints, by path, then by method. */
#include "daemon/routes/routes.h"

const struct sl_route sl_routes[] = {
	{"GET", "/metrics", sl_route_metrics, SL_BODY_NONE, NULL},
	{"GET", "/v1/graphs", sl_route_graphs_get, SL_BODY_NONE, "cursor limit name"},
	{"POST", "/v1/graphs", sl_route_graphs_post, SL_BODY_UPLOAD, "directed format name"},
	{"DELETE", "/v1/graphs/{graph}", sl_route_graph_delete, SL_BODY_NONE, NULL},
	{"GET", "/v1/graphs/{graph}", sl_route_graph_get, SL_BODY_NONE, NULL},
	{"PATCH", "/v1/graphs/{graph}", sl_route_graph_patch, SL_BODY_JSON, NULL},
	{"POST", "/v1/graphs/{graph}/load", sl_route_graph_load, SL_BODY_NONE, NULL},
	{"POST", "/v1/graphs/{graph}/unload", sl_route_graph_unload, SL_BODY_NONE, NULL},
	{"GET", "/v1/health/live", sl_route_health_live, SL_ROUTE_PUBLIC, NULL},
	{"GET", "/v1/health/ready", sl_route_health_ready, SL_ROUTE_PUBLIC, NULL},
	{"GET", "/v1/openapi.yaml", sl_route_openapi, SL_ROUTE_PUBLIC, NULL},
	{"GET", "/v1/status", sl_route_status, SL_BODY_NONE, NULL},
};

const int sl_routes_count = sizeof sl_routes / sizeof *sl_routes;
