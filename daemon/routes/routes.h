/* routes.h -- every endpoint's handler, one file each; the table is daemon/routes.c. */
#ifndef SL_ROUTES_H
#define SL_ROUTES_H

#include "daemon/http.h"

void sl_route_graph_delete(struct sl_request *r);
void sl_route_graph_get(struct sl_request *r);
void sl_route_graph_load(struct sl_request *r);
void sl_route_graph_patch(struct sl_request *r);
void sl_route_graph_unload(struct sl_request *r);
void sl_route_graphs_get(struct sl_request *r);
void sl_route_graphs_post(struct sl_request *r);
void sl_route_health_live(struct sl_request *r);
void sl_route_health_ready(struct sl_request *r);
void sl_route_metrics(struct sl_request *r);
void sl_route_openapi(struct sl_request *r);
void sl_route_status(struct sl_request *r);

#endif
