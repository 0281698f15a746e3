/* GET /v1/jobs/{id}/labels, /labels/{column}, /names, /nodes: labels and names of a job's nodes, for whoever sees the
 * job: all for those who may read its graph, and what a public link shows for its holders. Others get empty lists. */
#include <string.h>

#include "daemon/config/daemon.h"
#include "daemon/graphs/nodes.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"
#include "daemon/users/users.h"

static bool shows(void *arg, const char *column)
{
	struct sl_request *r = arg;
	struct sl_job *job = sl_job_of_request(r);
	return sl_users_shows(sl_request_daemon(r)->users, sl_request_who(r), sl_job_graph(job), column);
}

void sl_route_job_labels(struct sl_request *r)
{
	struct sl_job *job = sl_job_of_request(r);
	if (!job)
		return;
	struct sl_graphs *graphs = sl_request_daemon(r)->graphs;
	const struct sl_graph_record *g = sl_graphs_find(graphs, sl_job_graph(job));
	json_t *columns = sl_graph_columns_shown(graphs, sl_job_graph(job), shows, r);
	sl_reply_json(r, 200, json_pack("{s:o, s:b}", "columns", columns, "named", g && g->named && shows(r, NULL)));
}

/* True if the request may see the column, or with NULL the names; else it has been answered. */
static bool admits(struct sl_request *r, const struct sl_job *job, const char *column)
{
	if (!sl_graphs_find(sl_request_daemon(r)->graphs, sl_job_graph(job)))
		sl_reply_problem(r, SL_NOTFOUND, "The graph of job %s has been deleted.", sl_job_id(job));
	else if (!shows(r, column))
		sl_reply_problem(r, SL_NOTFOUND, "Job %s shows you no %s%.64s; /v1/jobs/%s/labels lists what it shows.",
				 sl_job_id(job), column ? "column of labels named " : "names", column ? column : "",
				 sl_job_id(job));
	else
		return true;
	return false;
}

void sl_route_job_column(struct sl_request *r)
{
	const char *accept = sl_request_header(r, "Accept");
	struct sl_nodes_query q = {.text = sl_request_path(r, "column"),
				   .binary = accept && strstr(accept, "application/octet-stream")};
	struct sl_error err;
	struct sl_job *job = sl_job_of_request(r);
	if (job && sl__read_page(r, &q, &err))
		sl_reply_error(r, &err);
	else if (job && admits(r, job, q.text))
		sl_nodes_column(sl_request_daemon(r)->graphs, sl_job_graph(job), &q, r);
}

void sl_route_job_names(struct sl_request *r)
{
	struct sl_nodes_query q = {0};
	struct sl_error err;
	struct sl_job *job = sl_job_of_request(r);
	if (job && sl__read_page(r, &q, &err))
		sl_reply_error(r, &err);
	else if (job && admits(r, job, NULL))
		sl_nodes_names(sl_request_daemon(r)->graphs, sl_job_graph(job), &q, r);
}

void sl_route_job_nodes(struct sl_request *r)
{
	struct sl_nodes_query q = {0};
	struct sl_error err;
	struct sl_job *job = sl_job_of_request(r);
	if (job && sl__read_search(r, &q, &err))
		sl_reply_error(r, &err);
	else if (job && admits(r, job, NULL))
		sl_nodes_search(sl_request_daemon(r)->graphs, sl_job_graph(job), &q, r);
}
