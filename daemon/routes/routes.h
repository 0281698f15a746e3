/* routes.h -- the table of endpoints. Each endpoint, or a few that belong together, has a file in the room of its
 * subject: graphs/, jobs/, people/ or server/. */
#ifndef SL_ROUTES_H
#define SL_ROUTES_H

#include "daemon/http/http.h"

/* Every endpoint: X(method, path, handler, verb, flags, query parameters). {x} in a path matches one segment. The verb
 * is the right that a request needs (users.h), on the thing whose id is {id} or {graph} in the path, if there is one;
 * tests/api/test_users.py compares it with the OpenAPI file. The handler of `jobs_get` is sl_route_jobs_get(). */
#define SL_ROUTES(X) \
	X("GET", "/", ui_page, OPEN, SL_BODY_NONE, "embed") \
	X("GET", "/metrics", metrics, LOOK, SL_ROUTE_RESERVE, NULL) \
	X("GET", "/ui/{file}", ui_file, OPEN, SL_BODY_NONE, NULL) \
	X("GET", "/v1/access/{id}", access_get, READ, SL_BODY_NONE, NULL) \
	X("PUT", "/v1/access/{id}", access_put, CHANGE, SL_BODY_JSON, NULL) \
	X("GET", "/v1/accounting", accounting, LOOK, SL_BODY_NONE, "by format from project to user") \
	X("GET", "/v1/audit", audit, MANAGE, SL_BODY_NONE, "limit object since until user") \
	X("GET", "/v1/backups", backups_get, MANAGE, SL_BODY_NONE, NULL) \
	X("POST", "/v1/backups", backups_post, MANAGE, SL_BODY_JSON, NULL) \
	X("GET", "/v1/backups/{name}", backup_get, MANAGE, SL_BODY_NONE, NULL) \
	X("GET", "/v1/batches", batches_get, LOOK, SL_BODY_NONE, "cursor limit user") \
	X("POST", "/v1/batches", batches_post, CREATE, SL_BODY_JSON, NULL) \
	X("DELETE", "/v1/batches/{id}", batch_delete, DELETE, SL_BODY_NONE, NULL) \
	X("GET", "/v1/batches/{id}", batch_get, READ, SL_BODY_NONE, NULL) \
	X("POST", "/v1/collection", collection_post, MANAGE, SL_BODY_JSON | SL_BODY_OPTIONAL, NULL) \
	X("GET", "/v1/devices", devices_get, LOOK, SL_BODY_NONE, NULL) \
	X("GET", "/v1/events", events, LOOK, SL_BODY_NONE, NULL) \
	X("GET", "/v1/graphs", graphs_get, LOOK, SL_BODY_NONE, "cursor limit name user") \
	X("POST", "/v1/graphs", graphs_post, CREATE, SL_BODY_UPLOAD, \
	  "decimal directed drop_not_finite format hold ignore_columns isolated keep_columns kind label_column " \
	  "labels_column labels_name metric metric_p name name_column neighbours pca project recall source target " \
	  "transpose values weight") \
	X("DELETE", "/v1/graphs/{graph}", graph_delete, DELETE, SL_BODY_NONE, NULL) \
	X("GET", "/v1/graphs/{graph}", graph_get, READ, SL_BODY_NONE, NULL) \
	X("PATCH", "/v1/graphs/{graph}", graph_patch, CHANGE, SL_BODY_JSON, NULL) \
	X("GET", "/v1/graphs/{graph}/columns", graph_columns, READ, SL_BODY_NONE, NULL) \
	X("PUT", "/v1/graphs/{graph}/columns", graph_columns_put, CHANGE, SL_BODY_UPLOAD, "column kind") \
	X("DELETE", "/v1/graphs/{graph}/columns/{column}", graph_column_delete, CHANGE, SL_BODY_NONE, NULL) \
	X("GET", "/v1/graphs/{graph}/columns/{column}", graph_values_get, READ, SL_BODY_NONE, "count from") \
	X("PUT", "/v1/graphs/{graph}/columns/{column}", graph_values_put, CHANGE, SL_BODY_UPLOAD, "column kind") \
	X("GET", "/v1/graphs/{graph}/columns/{column}/images/{node}", graph_image, READ, SL_BODY_NONE, NULL) \
	X("GET", "/v1/graphs/{graph}/columns/{column}/sprites", graph_sprites, READ, SL_BODY_NONE, \
	  "across count from nodes size") \
	X("GET", "/v1/graphs/{graph}/edges", graph_edges, READ, SL_BODY_NONE, "count node strongest") \
	X("DELETE", "/v1/graphs/{graph}/holds/{hold}", graph_hold_delete, DELETE, SL_BODY_NONE, NULL) \
	X("PUT", "/v1/graphs/{graph}/holds/{hold}", graph_hold_put, CHANGE, SL_BODY_NONE, NULL) \
	X("GET", "/v1/graphs/{graph}/labels", graph_labels, READ, SL_BODY_NONE, NULL) \
	X("DELETE", "/v1/graphs/{graph}/labels/{column}", graph_column_delete, CHANGE, SL_BODY_NONE, NULL) \
	X("GET", "/v1/graphs/{graph}/labels/{column}", graph_column_get, READ, SL_BODY_NONE, "count from") \
	X("PUT", "/v1/graphs/{graph}/labels", graph_labels_put, CHANGE, SL_BODY_UPLOAD, "column kind") \
	X("PATCH", "/v1/graphs/{graph}/labels/{column}", graph_column_patch, CHANGE, SL_BODY_JSON, NULL) \
	X("PUT", "/v1/graphs/{graph}/labels/{column}", graph_column_put, CHANGE, SL_BODY_UPLOAD, "column kind") \
	X("POST", "/v1/graphs/{graph}/load", graph_load, CHANGE, SL_BODY_NONE, NULL) \
	X("GET", "/v1/graphs/{graph}/names", graph_names, READ, SL_BODY_NONE, "count from") \
	X("GET", "/v1/graphs/{graph}/neighbours", graph_neighbours, READ, SL_BODY_NONE, "count node") \
	X("GET", "/v1/graphs/{graph}/nodes", graph_nodes, READ, SL_BODY_NONE, "limit search") \
	X("GET", "/v1/graphs/{graph}/rows", graph_rows, READ, SL_BODY_NONE, \
	  "category columns cursor cut in limit nodes range search sort") \
	X("POST", "/v1/graphs/{graph}/unload", graph_unload, CHANGE, SL_BODY_NONE, NULL) \
	X("POST", "/v1/graphs/dry-run", graphs_dry_run, LOOK, SL_BODY_UPLOAD, \
	  "decimal directed drop_not_finite format ignore_columns isolated keep_columns kind label_column metric " \
	  "metric_p name name_column neighbours pca recall source target transpose values weight") \
	X("GET", "/v1/health/live", health_live, OPEN, SL_ROUTE_RESERVE, NULL) \
	X("GET", "/v1/health/ready", health_ready, OPEN, SL_ROUTE_RESERVE, NULL) \
	X("GET", "/v1/jobs", jobs_get, LOOK, SL_BODY_NONE, "cursor graph limit name project sort state user") \
	X("POST", "/v1/jobs", jobs_post, CREATE, SL_BODY_JSON, NULL) \
	X("DELETE", "/v1/jobs/{id}", job_delete, DELETE, SL_BODY_NONE, NULL) \
	X("GET", "/v1/jobs/{id}", job_get, WATCH, SL_BODY_NONE, NULL) \
	X("PATCH", "/v1/jobs/{id}", job_patch, CHANGE, SL_BODY_JSON, NULL) \
	X("GET", "/v1/jobs/{id}/clusters", job_clusters, READ, SL_BODY_NONE, "clusters_of columns level") \
	X("PATCH", "/v1/jobs/{id}/clusters/{cluster}", job_cluster_patch, CHANGE, SL_BODY_JSON, NULL) \
	X("GET", "/v1/jobs/{id}/events", job_events, WATCH, SL_BODY_NONE, NULL) \
	X("GET", "/v1/jobs/{id}/frame", job_frame, WATCH, SL_BODY_NONE, "after max_points type wait") \
	X("GET", "/v1/jobs/{id}/frames", job_frames, WATCH, SL_BODY_NONE, "max_points type") \
	X("GET", "/v1/jobs/{id}/labels", job_labels, WATCH, SL_BODY_NONE, NULL) \
	X("GET", "/v1/jobs/{id}/labels/{column}", job_column, WATCH, SL_BODY_NONE, "count from") \
	X("GET", "/v1/jobs/{id}/layout", job_layout, WATCH, SL_BODY_NONE, "format") \
	X("GET", "/v1/jobs/{id}/links", links_get, CHANGE, SL_BODY_NONE, NULL) \
	X("POST", "/v1/jobs/{id}/links", links_post, CHANGE, SL_BODY_JSON | SL_BODY_OPTIONAL, NULL) \
	X("DELETE", "/v1/jobs/{id}/links/{link}", link_delete, CHANGE, SL_BODY_NONE, NULL) \
	X("GET", "/v1/jobs/{id}/names", job_names, WATCH, SL_BODY_NONE, "count from") \
	X("GET", "/v1/jobs/{id}/nodes", job_nodes, WATCH, SL_BODY_NONE, "limit search") \
	X("GET", "/v1/jobs/{id}/picture.png", job_picture, WATCH, SL_BODY_NONE, \
	  "clusters color dpi height layout legend light names width") \
	X("GET", "/v1/jobs/{id}/picture.svg", job_picture_svg, WATCH, SL_BODY_NONE, \
	  "clusters color dpi height layout legend light names width") \
	X("POST", "/v1/jobs/{id}/predict", job_predict, READ, SL_BODY_UPLOAD, \
	  "decimal format give ignore_columns keep_columns label_column name_column transpose") \
	X("DELETE", "/v1/jobs/{id}/quality", job_quality_delete, CHANGE, SL_BODY_NONE, NULL) \
	X("GET", "/v1/jobs/{id}/quality", job_quality, READ, SL_BODY_NONE, "k") \
	X("GET", "/v1/jobs/{id}/results/{name}", job_result, WATCH, SL_BODY_NONE, "format") \
	X("GET", "/v1/jobs/{id}/sample", job_sample, READ, SL_BODY_NONE, "count format give seed") \
	X("GET", "/v1/jobs/{id}/trace", job_trace, WATCH, SL_BODY_NONE, NULL) \
	X("POST", "/v1/jobs/{id}/transform", job_transform, READ, SL_BODY_UPLOAD, \
	  "decimal exaggeration format ignore_columns iterations keep_columns label_column learning_rate momentum " \
	  "name_column neighbours perplexity start transpose") \
	X("GET", "/v1/jobs/{id}/values", job_values, WATCH, SL_BODY_NONE, "format") \
	X("POST", "/v1/jobs/dry-run", jobs_dry_run, LOOK, SL_BODY_JSON, NULL) \
	X("GET", "/v1/layouts", layouts_get, LOOK, SL_BODY_NONE, "user") \
	X("POST", "/v1/layouts", layouts_post, CREATE, SL_BODY_UPLOAD, "dims") \
	X("DELETE", "/v1/layouts/{id}", layout_delete, DELETE, SL_BODY_NONE, NULL) \
	X("GET", "/v1/layouts/{id}", layout_get, READ, SL_BODY_NONE, NULL) \
	X("DELETE", "/v1/login", logout, OPEN, SL_BODY_NONE, NULL) \
	X("POST", "/v1/login", login, OPEN, SL_BODY_JSON, NULL) \
	X("GET", "/v1/maintenance", maintenance_get, LOOK, SL_BODY_NONE, NULL) \
	X("DELETE", "/v1/maintenance/banner", banner_delete, MANAGE, SL_BODY_NONE, NULL) \
	X("PUT", "/v1/maintenance/banner", banner_put, MANAGE, SL_BODY_JSON, NULL) \
	X("DELETE", "/v1/maintenance/drain", drain_delete, MANAGE, SL_BODY_NONE, NULL) \
	X("PUT", "/v1/maintenance/drain", drain_put, MANAGE, SL_BODY_JSON | SL_BODY_OPTIONAL, NULL) \
	X("GET", "/v1/me", me, LOOK, SL_BODY_NONE, NULL) \
	X("GET", "/v1/me/tokens", me_tokens_get, LOOK, SL_BODY_NONE, NULL) \
	X("POST", "/v1/me/tokens", me_tokens_post, LOOK, SL_BODY_JSON | SL_BODY_OPTIONAL, NULL) \
	X("DELETE", "/v1/me/tokens/{token}", me_token_delete, LOOK, SL_BODY_NONE, NULL) \
	X("GET", "/v1/methods", methods, OPEN, SL_BODY_NONE, NULL) \
	X("GET", "/v1/openapi.yaml", openapi, OPEN, SL_BODY_NONE, NULL) \
	X("DELETE", "/v1/plans", plans_delete, MANAGE, SL_BODY_NONE, NULL) \
	X("GET", "/v1/plans", plans_get, LOOK, SL_BODY_NONE, NULL) \
	X("GET", "/v1/projects", projects_get, LOOK, SL_BODY_NONE, NULL) \
	X("POST", "/v1/projects", projects_post, MANAGE, SL_BODY_JSON, NULL) \
	X("DELETE", "/v1/projects/{project}", project_delete, MANAGE, SL_BODY_NONE, NULL) \
	X("GET", "/v1/projects/{project}", project_get, LOOK, SL_BODY_NONE, NULL) \
	X("PATCH", "/v1/projects/{project}", project_patch, MANAGE, SL_BODY_JSON, NULL) \
	X("DELETE", "/v1/projects/{project}/members/{user}", project_member_delete, MANAGE, SL_BODY_NONE, NULL) \
	X("PUT", "/v1/projects/{project}/members/{user}", project_member_put, MANAGE, SL_BODY_NONE, NULL) \
	X("GET", "/v1/retention", retention_get, LOOK, SL_BODY_NONE, NULL) \
	X("POST", "/v1/retention", retention_post, MANAGE, SL_BODY_JSON, NULL) \
	X("GET", "/v1/status", status, LOOK, SL_BODY_NONE, NULL) \
	X("POST", "/v1/stream/keys", stream_keys, LOOK, SL_BODY_NONE, NULL) \
	X("GET", "/v1/top", top, MANAGE, SL_BODY_NONE, "by sort") \
	X("GET", "/v1/users", users_get, MANAGE, SL_BODY_NONE, "state") \
	X("POST", "/v1/users", users_post, MANAGE, SL_BODY_JSON, NULL) \
	X("DELETE", "/v1/users/{user}", user_delete, MANAGE, SL_BODY_NONE, "data") \
	X("GET", "/v1/users/{user}", user_get, MANAGE, SL_BODY_NONE, NULL) \
	X("PATCH", "/v1/users/{user}", user_patch, MANAGE, SL_BODY_JSON, NULL) \
	X("DELETE", "/v1/users/{user}/tokens", user_tokens_delete, MANAGE, SL_BODY_NONE, NULL) \
	X("POST", "/v1/users/{user}/tokens", user_tokens_post, MANAGE, SL_BODY_JSON | SL_BODY_OPTIONAL, NULL) \
	X("DELETE", "/v1/users/{user}/tokens/{token}", user_token_delete, MANAGE, SL_BODY_NONE, NULL) \
	X("POST", "/v1/users/{user}/transfer", user_transfer, MANAGE, SL_BODY_JSON, NULL) \
	X("GET", "/v1/workers/tokens", worker_tokens_get, MANAGE, SL_BODY_NONE, NULL) \
	X("POST", "/v1/workers/tokens", worker_tokens_post, MANAGE, SL_BODY_JSON | SL_BODY_OPTIONAL, NULL) \
	X("DELETE", "/v1/workers/tokens/{token}", worker_token_delete, MANAGE, SL_BODY_NONE, NULL)

#define SL__DECLARE(method, pattern, name, verb, flags, query) void sl_route_##name(struct sl_request *r);
SL_ROUTES(SL__DECLARE)
#undef SL__DECLARE

/* graphs/graph.c: the graph of {graph} in the path: an id, a name, or the beginning of an id. NULL: the request has
 * been answered with an error. */
struct sl_graph_record;
const struct sl_graph_record *sl__graph_of_request(struct sl_request *r);

/* graphs/nodes.c: reads `from` and `count` of the query. */
struct sl_nodes_query;
int sl__read_page(const struct sl_request *r, struct sl_nodes_query *q, struct sl_error *err);
/* The same for `search` and `limit`. */
int sl__read_search(const struct sl_request *r, struct sl_nodes_query *q, struct sl_error *err);

/* server/stream_keys.c: where the sender of a request may subscribe to frames. A publisher that is bound to all
 * addresses is at the name by which the request came. NULL: there is none. */
#define SL__STREAM_BYTES 512
const char *sl__stream_endpoint(const struct sl_request *r, char out[SL__STREAM_BYTES]);

/* jobs/job.c: calls act() with the request's body; act() replies. If the server is shutting down, replies with
 * that. */
void sl__posted(struct sl_request *r, void (*act)(struct sl_daemon *d, struct sl_request *r, const json_t *body));

#endif
