/* routes.h -- every endpoint's handler, one file each; the table is daemon/routes/table.c. */
#ifndef SL_ROUTES_H
#define SL_ROUTES_H

#include "daemon/http/http.h"

void sl_route_backup_get(struct sl_request *r);
void sl_route_backups_get(struct sl_request *r);
void sl_route_backups_post(struct sl_request *r);
void sl_route_collection_post(struct sl_request *r);
void sl_route_devices_get(struct sl_request *r);
void sl_route_graph_column_delete(struct sl_request *r);
void sl_route_graph_column_get(struct sl_request *r);
void sl_route_graph_column_put(struct sl_request *r);
void sl_route_graph_delete(struct sl_request *r);
void sl_route_graph_edges(struct sl_request *r);
void sl_route_graph_get(struct sl_request *r);
void sl_route_graph_labels(struct sl_request *r);
void sl_route_graph_load(struct sl_request *r);
void sl_route_graph_names(struct sl_request *r);
void sl_route_graph_neighbours(struct sl_request *r);
void sl_route_graph_nodes(struct sl_request *r);
void sl_route_graph_patch(struct sl_request *r);
void sl_route_graph_unload(struct sl_request *r);
void sl_route_graphs_get(struct sl_request *r);
void sl_route_graphs_post(struct sl_request *r);
void sl_route_health_live(struct sl_request *r);
void sl_route_health_ready(struct sl_request *r);
void sl_route_job_delete(struct sl_request *r);
void sl_route_stream_keys(struct sl_request *r);
void sl_route_events(struct sl_request *r);
void sl_route_job_events(struct sl_request *r);
void sl_route_job_frame(struct sl_request *r);
void sl_route_job_frames(struct sl_request *r);
void sl_route_job_get(struct sl_request *r);
void sl_route_job_layout(struct sl_request *r);
void sl_route_job_patch(struct sl_request *r);
void sl_route_job_picture(struct sl_request *r);
void sl_route_job_picture_svg(struct sl_request *r);
void sl_route_job_quality(struct sl_request *r);
void sl_route_job_quality_delete(struct sl_request *r);
void sl_route_job_trace(struct sl_request *r);
void sl_route_job_transform(struct sl_request *r);
void sl_route_jobs_dry_run(struct sl_request *r);
void sl_route_jobs_get(struct sl_request *r);
void sl_route_jobs_post(struct sl_request *r);
void sl_route_layout_delete(struct sl_request *r);
void sl_route_layout_get(struct sl_request *r);
void sl_route_layouts_get(struct sl_request *r);
void sl_route_layouts_post(struct sl_request *r);
void sl_route_metrics(struct sl_request *r);
void sl_route_openapi(struct sl_request *r);
void sl_route_access_get(struct sl_request *r);
void sl_route_access_put(struct sl_request *r);
void sl_route_audit(struct sl_request *r);
void sl_route_me(struct sl_request *r);
void sl_route_user_delete(struct sl_request *r);
void sl_route_user_get(struct sl_request *r);
void sl_route_user_patch(struct sl_request *r);
void sl_route_user_token_delete(struct sl_request *r);
void sl_route_user_tokens_post(struct sl_request *r);
void sl_route_users_get(struct sl_request *r);
void sl_route_users_post(struct sl_request *r);
void sl_route_batches_get(struct sl_request *r);
void sl_route_batches_post(struct sl_request *r);
void sl_route_batch_delete(struct sl_request *r);
void sl_route_batch_get(struct sl_request *r);
void sl_route_links_get(struct sl_request *r);
void sl_route_links_post(struct sl_request *r);
void sl_route_link_delete(struct sl_request *r);
void sl_route_login(struct sl_request *r);
void sl_route_logout(struct sl_request *r);
void sl_route_plans_delete(struct sl_request *r);
void sl_route_plans_get(struct sl_request *r);
void sl_route_project_delete(struct sl_request *r);
void sl_route_project_get(struct sl_request *r);
void sl_route_project_member_delete(struct sl_request *r);
void sl_route_project_member_put(struct sl_request *r);
void sl_route_project_patch(struct sl_request *r);
void sl_route_projects_get(struct sl_request *r);
void sl_route_projects_post(struct sl_request *r);
void sl_route_status(struct sl_request *r);
void sl_route_ui_file(struct sl_request *r);
void sl_route_ui_page(struct sl_request *r);

/* graph_get.c: the graph that {graph} of the path means, by id, name, or the beginning of an id; NULL: answered. */
struct sl_graph_record;
const struct sl_graph_record *sl__graph_of_request(struct sl_request *r);

/* graph_nodes.c: from and count. */
struct sl_nodes_query;
int sl__read_page(const struct sl_request *r, struct sl_nodes_query *q, struct sl_error *err);

/* jobs_post.c: hands the request's body to act(), which answers, unless the server is shutting down. */
void sl__posted(struct sl_request *r, void (*act)(struct sl_daemon *d, struct sl_request *r, const json_t *body));

#endif
