/* Places new points in the layout of a job that is done, some rows in each turn (rows.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/layout.h"
#include "core/host_memory.h"
#include "core/embedding/transform.h"
#include "daemon/files/job_files.h"
#include "daemon/graphs/graphs.h"
#include "daemon/jobs/results/rows.h"
#include "daemon/jobs/results/text.h"
#include "daemon/util/buffer.h"

#define FIRST_ROWS 256               /* rows of the first turn */
#define MOST_STEPS 1e9       /* new points times iterations: some minutes */
#define MOST_PRODUCTS 2e13   /* new points times points times columns */
#define NEIGHBOUR_BYTES 8.0  /* index and distance */
#define TEXT_ROW_BYTES 120.0 /* three numbers, a name, and their text while it grows */

struct placement {
	struct sl__rows q;
	struct sl_transform_params params;
	struct sl_content *data_part, *neighbours;  /* references */
	uint32_t projected;                 /* columns before the projection on principal axes; 0: none */
	/* from the first turn on */
	struct sl_points *fresh;
	float *y, *out;                     /* the layout; the new positions, the first q.ready rows of them complete */
};

static void head(struct sl__rows *q)
{
	const struct placement *p = (struct placement *)q;
	if (p->projected)
		sl_reply_header(q->request, "Spaceland-Projected", "%u", p->projected);
}

static void free_work(struct sl__rows *q)
{
	struct placement *p = (struct placement *)q;
	sl_points_destroy(p->fresh);
	free(p->y);
	free(p->out);
	p->fresh = NULL;
	p->y = p->out = NULL;
}

static void release(struct sl__rows *q)
{
	const struct placement *p = (struct placement *)q;
	struct sl_graphs *graphs = q->job->jobs->d->graphs;
	sl_graphs_release(graphs, p->neighbours);
	sl_graphs_release(graphs, p->data_part);
}

/* ---- on the pool ----------------------------------------------------------------------- */

/* Checks that neighbours and reply leave enough memory for the jobs. */
static int check_memory(struct placement *p, const struct sl_points *fresh)
{
	double memory = (double)sl_host_memory();
	double k = fmin(fmax(ceil(3 * p->params.perplexity), p->params.neighbours), p->data_part->points->n);
	double row = k * NEIGHBOUR_BYTES + (p->q.form == SL_LAYOUT_NPY ? 0 : TEXT_ROW_BYTES);
	if (fresh->n * row > memory / 2)
		return sl_error_set(&p->q.err, SL_TOOBIG, "%u new points with %.0f neighbours each need more than half of the "
				    "server's memory; send at most %.0f at a time.", fresh->n, k, memory / 2 / row);
	return 0;
}

static int check_size(struct placement *p, const struct sl_points *fresh)
{
	const struct sl_points *points = p->data_part->points;
	double each = ((double)points->n + p->projected) * points->d, products = fresh->n * each;
	double steps = (double)fresh->n * p->params.iterations;
	if (products > MOST_PRODUCTS)
		return sl_error_set(&p->q.err, SL_TOOBIG, "%u new points among %u of %u columns are too many for one "
				    "request; send at most %.0f.", fresh->n, points->n, points->d,
				    MOST_PRODUCTS / each);
	if (steps > MOST_STEPS)
		return sl_error_set(&p->q.err, SL_TOOBIG, "%u new points and %d iterations are too many for one request; "
				    "with so many iterations send at most %.0f points.", fresh->n, p->params.iterations,
				    MOST_STEPS / p->params.iterations);
	return check_memory(p, fresh);
}

static int write_layout(struct sl__rows *q)
{
	const struct placement *p = (struct placement *)q;
	const struct sl_points *fresh = p->fresh;
	int dims = sl__work_dims(&q->job->record.work);
	const struct sl_graph nodes = {.n = fresh->n_user, .name_bytes = fresh->name_bytes, .name_at = fresh->name_at};
	void *npy;
	size_t size;
	if (q->form == SL_LAYOUT_CSV)
		return sl__layout_reply_csv(&q->reply, &nodes, p->out, fresh->n_user, dims, &q->err);
	if (q->form == SL_LAYOUT_JSON)
		return sl__layout_reply_json(&q->reply, q->job->record.id, q->job->record.graph, NULL, p->out, fresh->n_user,
					     dims, p->projected, &q->err);
	int code = sl_layout_npy(&npy, &size, p->out, fresh->n_user, dims, &q->err);
	return code ? code : sl_buffer_of(&q->reply, npy, size, &q->err);
}

/* If rows were left out, all rows are computed in one turn, because only the whole result can be brought into the order
 * of the user's rows. */
static int prepare(struct sl__rows *q)
{
	struct placement *p = (struct placement *)q;
	const struct sl_job *job = q->job;
	const struct sl_neighbours *nb = p->neighbours->neighbours;
	struct sl_settings settings;
	sl__work_settings(&job->record.work, job->record.nodes, &settings);
	int dims = sl__work_dims(&job->record.work);
	p->params.metric = nb->metric;
	p->params.p = nb->p;
	p->params.dof = settings.dof;
	p->params.cancel = &q->cancel;
	const struct sl_points *old = p->data_part->points;
	q->how.axes = old->pca ? old->d : 0;
	int code = sl__rows_read(q, old->center, old->center_columns, &p->fresh);
	if (!code && sl_transform_projects(p->data_part->points, p->fresh))
		p->projected = p->fresh->d;
	if (!code)
		code = check_size(p, p->fresh);
	if (!code)
		code = sl_job_file_read_layout(job->jobs->folder, job->record.id, "npy", job->record.nodes, dims, &p->y,
					       &q->err);
	if (!code && !(p->out = malloc(sizeof *p->out * p->fresh->n_user * (size_t)dims)))
		code = sl_error_memory(&q->err, "a layout of %u points", p->fresh->n_user);
	if (code)
		return code;
	q->count = p->fresh->n_user;
	if (p->fresh->user)
		q->next = q->count;
	q->place.bytes = sl_points_bytes(p->fresh) + (uint64_t)(q->count * TEXT_ROW_BYTES);
	return 0;
}

static int place_rows(struct sl__rows *q, uint32_t rows)
{
	struct placement *p = (struct placement *)q;
	int dims = sl__work_dims(&q->job->record.work);
	const struct sl_points some = sl__rows_part(q, p->fresh, rows);
	return sl_transform(p->data_part->points, p->fresh->user ? p->fresh : &some, dims, p->y, &p->params,
			    p->out + (size_t)q->ready * (size_t)dims, &q->err);
}

/* ---- acquiring its inputs, one after the other --------------------------------------------- */

static void neighbours_loaded(void *arg, struct sl_content *c, const struct sl_error *err)
{
	struct placement *p = arg;
	p->neighbours = c;
	if (c)
		sl_fair_queue_ready(&p->q.place);
	else
		sl__rows_fail(&p->q, err);
}

static void data_loaded(void *arg, struct sl_content *c, const struct sl_error *err)
{
	struct placement *p = arg;
	const struct sl_job *job = p->q.job;
	struct sl_error problem;
	p->data_part = c;
	if (!c)
		sl__rows_fail(&p->q, err);
	else if (sl_graphs_acquire(job->jobs->d->graphs, job->record.graph, SL_PART_NEIGHBOURS, neighbours_loaded, p,
				   &problem))
		sl__rows_fail(&p->q, &problem);
}

static void begin(struct sl__rows *q)
{
	struct sl_error err;
	if (sl_graphs_acquire(q->job->jobs->d->graphs, q->job->record.graph, SL_PART_DATA, data_loaded, q, &err))
		sl__rows_fail(q, &err);
}

static const struct sl__rows_kind kind = {
	.first = FIRST_ROWS, .begin = begin, .prepare = prepare, .compute = place_rows, .write = write_layout,
	.head = head, .free_work = free_work, .release = release,
};

/* ---- the request --------------------------------------------------------------------------- */

/* Checks that the job's input is points whose table the server has. */
static int check_kind(struct sl_job *job, struct sl_error *err)
{
	const struct sl_graph_record *g = sl_graphs_find(job->jobs->d->graphs, job->record.graph);
	if (!g)
		return sl_error_set(err, SL_CONFLICT, "Graph %s of job %s has been deleted, so new points cannot find "
				    "their neighbours in it.", job->record.graph, job->record.id);
	if (g->kind != SL_KIND_POINTS)
		return sl_error_set(err, SL_CONFLICT, "Job %s lays out %s; new points can be placed only in a layout of points "
				    "that were uploaded as a table.", job->record.id,
				    g->kind == SL_KIND_GRAPH ? "a graph" : "neighbours without their points");
	char known[200] = "";
	for (int i = 0; sl_methods[i]; i++)
		if (sl_methods[i]->transform)
			snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", *known ? ", " : "",
				 sl_methods[i]->name);
	if (!job->record.work.method->transform)
		return sl_error_set(err, SL_CONFLICT, "Job %s is of method %s; new points can be placed only in a layout "
				    "of %s.", job->record.id, job->record.work.method->name, known);
	return 0;
}

void sl_job_transform(struct sl_job *job, struct sl_request *r, const struct sl_transform_params *params,
		      enum sl_layout_form form)
{
	struct sl_error err;
	if (sl__result_missing(job, r))
		return;
	if (!sl_request_sees(r, job->record.graph) && sl_graphs_find(job->jobs->d->graphs, job->record.graph)) {
		sl_reply_status(r, 404, "New points find their neighbours among the points of graph %s, which is not shared "
				"with you. Ask its owner to share it.", job->record.graph);
		return;
	}
	if (check_kind(job, &err)) {
		sl_reply_error(r, &err);
		return;
	}
	struct placement *p = sl__rows_create(job, r, &kind, sizeof *p, form);
	if (!p || !sl__rows_take(&p->q, true))
		return;
	p->params = *params;
	sl__rows_join(&p->q);
}
