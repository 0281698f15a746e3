/* The endpoints, by path, then by method. */
#include "daemon/routes/routes.h"

const struct sl_route sl_routes[] = {
	{"GET", "/metrics", sl_route_metrics, SL_ROUTE_RESERVE, NULL},
	{"GET", "/v1/devices", sl_route_devices_get, SL_BODY_NONE, NULL},
	{"GET", "/v1/graphs", sl_route_graphs_get, SL_BODY_NONE, "cursor limit name"},
	{"POST", "/v1/graphs", sl_route_graphs_post, SL_BODY_UPLOAD,
	 "directed drop_not_finite format kind label_column metric metric_p name name_column neighbours pca recall"},
	{"DELETE", "/v1/graphs/{graph}", sl_route_graph_delete, SL_BODY_NONE, NULL},
	{"GET", "/v1/graphs/{graph}", sl_route_graph_get, SL_BODY_NONE, NULL},
	{"PATCH", "/v1/graphs/{graph}", sl_route_graph_patch, SL_BODY_JSON, NULL},
	{"POST", "/v1/graphs/{graph}/load", sl_route_graph_load, SL_BODY_NONE, NULL},
	{"POST", "/v1/graphs/{graph}/unload", sl_route_graph_unload, SL_BODY_NONE, NULL},
	{"GET", "/v1/health/live", sl_route_health_live, SL_ROUTE_PUBLIC | SL_ROUTE_RESERVE, NULL},
	{"GET", "/v1/health/ready", sl_route_health_ready, SL_ROUTE_PUBLIC | SL_ROUTE_RESERVE, NULL},
	{"GET", "/v1/jobs", sl_route_jobs_get, SL_BODY_NONE, "cursor graph limit state"},
	{"POST", "/v1/jobs", sl_route_jobs_post, SL_BODY_JSON, NULL},
	{"DELETE", "/v1/jobs/{id}", sl_route_job_delete, SL_BODY_NONE, NULL},
	{"GET", "/v1/jobs/{id}", sl_route_job_get, SL_BODY_NONE, NULL},
	{"PATCH", "/v1/jobs/{id}", sl_route_job_patch, SL_BODY_JSON, NULL},
	{"GET", "/v1/jobs/{id}/events", sl_route_job_events, SL_BODY_NONE, NULL},
	{"GET", "/v1/jobs/{id}/frame", sl_route_job_frame, SL_BODY_NONE, "after max_points type wait"},
	{"GET", "/v1/jobs/{id}/frames", sl_route_job_frames, SL_BODY_NONE, "max_points type"},
	{"GET", "/v1/jobs/{id}/layout", sl_route_job_layout, SL_BODY_NONE, "format"},
	{"GET", "/v1/jobs/{id}/picture.png", sl_route_job_picture, SL_BODY_NONE, "color height light width"},
	{"DELETE", "/v1/jobs/{id}/quality", sl_route_job_quality_delete, SL_BODY_NONE, NULL},
	{"GET", "/v1/jobs/{id}/quality", sl_route_job_quality, SL_BODY_NONE, "k"},
	{"GET", "/v1/jobs/{id}/trace", sl_route_job_trace, SL_BODY_NONE, NULL},
	{"POST", "/v1/jobs/{id}/transform", sl_route_job_transform, SL_BODY_UPLOAD,
	 "exaggeration format iterations learning_rate momentum neighbours perplexity start"},
	{"GET", "/v1/openapi.yaml", sl_route_openapi, SL_ROUTE_PUBLIC, NULL},
	{"DELETE", "/v1/plans", sl_route_plans_delete, SL_BODY_NONE, NULL},
	{"GET", "/v1/plans", sl_route_plans_get, SL_BODY_NONE, NULL},
	{"GET", "/v1/status", sl_route_status, SL_BODY_NONE, NULL},
};

const int sl_routes_count = sizeof sl_routes / sizeof *sl_routes;
