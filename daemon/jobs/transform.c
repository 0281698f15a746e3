/* Places new points in the layout of a job that is done. The thread pool places some rows in each turn
 * (queue/fair_queue.h), because it uses all cores. Nothing is stored. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/layout.h"
#include "core/host_memory.h"
#include "core/embedding/transform.h"
#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/jobs/results/text.h"
#include "daemon/files/job_files.h"
#include "daemon/util/buffer.h"
#include "daemon/jobs/queue/fair_queue.h"
#include "daemon/users/users.h"

#define FIRST_ROWS 256               /* rows of the first turn */
#define TIMEOUT_MS (3600 * 1000)  /* time limit of the request; placements normally end much earlier */
#define MOST_STEPS 1e9       /* new points times iterations: some minutes */
#define MOST_PRODUCTS 2e13   /* new points times points times columns */
#define NEIGHBOUR_BYTES 8.0  /* index and distance */
#define TEXT_ROW_BYTES 120.0 /* three numbers, a name, and their text while it grows */

struct placement {
	struct sl_link link;                /* in sl_jobs.placements */
	struct sl_fair_entry place;
	struct sl_job *job;                 /* a reference */
	struct sl_request *request;         /* NULL: the client is gone */
	struct sl_transform_params params;
	enum sl_layout_form form;
	int cancel;                         /* the client is gone; read by the worker */
	struct sl_uploaded file;
	struct sl_content *data_part, *neighbours;  /* references */
	uint32_t projected;                 /* columns before the projection on principal axes; 0: none */
	/* from the first turn on */
	struct sl_points *fresh;
	float *y, *out;                     /* the layout; the new positions, the first `ready` rows of them complete */
	uint32_t ready, rows;               /* rows of the next turn */
	struct sl_fair_pace pace;
	struct sl_buffer *reply;
	int code;
	struct sl_error err;
};

static void answer(struct placement *p)
{
	if (p->code == SL_CANCELLED) {
		sl_reply_status(p->request, 503, "The server is stopping.");
	} else if (p->code) {
		sl_reply_error(p->request, &p->err);
	} else {
		if (p->projected)
			sl_reply_header(p->request, "Spaceland-Projected", "%u", p->projected);
		sl_reply_buffer(p->request, sl__layout_type[p->form], NULL, sl_buffer_ref(p->reply));
	}
}

/* Frees what only the worker uses. Any thread. */
static void free_work(struct placement *p)
{
	sl_points_destroy(p->fresh);
	free(p->y);
	free(p->out);
	p->fresh = NULL;
	p->y = p->out = NULL;
}

static void drop(struct placement *p)
{
	sl_uploaded_finish(&p->file);
	sl_buffer_unref(p->reply);
	free(p);
}

/* The placement has ended or failed, and has left the queue. */
static void finish(void *arg)
{
	struct placement *p = arg;
	struct sl_jobs *j = p->job->jobs;
	sl_list_unlink(&p->link);
	if (p->request)
		answer(p);
	free_work(p);
	sl_graphs_release(j->d->graphs, p->neighbours);
	sl_graphs_release(j->d->graphs, p->data_part);
	sl__job_unref(p->job);
	drop(p);
	sl__works_done(j);
}

/* Ends a placement before its first turn, with an error. */
static void fail(struct placement *p, const struct sl_error *err)
{
	p->err = *err;
	p->code = err->code;
	sl_fair_queue_leave(&p->place);
	finish(p);
}

/* ---- on the pool ----------------------------------------------------------------------- */

/* Checks that neighbours and reply leave enough memory for the jobs. */
static int check_memory(struct placement *p, const struct sl_points *fresh)
{
	double memory = (double)sl_host_memory();
	double k = fmin(fmax(ceil(3 * p->params.perplexity), p->params.neighbours), p->data_part->points->n);
	double row = k * NEIGHBOUR_BYTES + (p->form == SL_LAYOUT_NPY ? 0 : TEXT_ROW_BYTES);
	if (fresh->n * row > memory / 2)
		return sl_error_set(&p->err, SL_TOOBIG, "%u new points with %.0f neighbours each need more than half of the "
				    "server's memory; send at most %.0f at a time.", fresh->n, k, memory / 2 / row);
	return 0;
}

static int check_size(struct placement *p, const struct sl_points *fresh)
{
	const struct sl_points *points = p->data_part->points;
	double each = ((double)points->n + p->projected) * points->d, products = fresh->n * each;
	double steps = (double)fresh->n * p->params.iterations;
	if (products > MOST_PRODUCTS)
		return sl_error_set(&p->err, SL_TOOBIG, "%u new points among %u of %u columns are too many for one "
				    "request; send at most %.0f.", fresh->n, points->n, points->d,
				    MOST_PRODUCTS / each);
	if (steps > MOST_STEPS)
		return sl_error_set(&p->err, SL_TOOBIG, "%u new points and %d iterations are too many for one request; "
				    "with so many iterations send at most %.0f points.", fresh->n, p->params.iterations,
				    MOST_STEPS / p->params.iterations);
	return check_memory(p, fresh);
}

static int make_reply(struct placement *p, const struct sl_points *fresh, const float *y)
{
	int dims = p->job->work.params.dims;
	const struct sl_graph nodes = {.n = fresh->n_user, .name_bytes = fresh->name_bytes, .name_at = fresh->name_at};
	void *npy;
	size_t size;
	if (p->form == SL_LAYOUT_CSV)
		return sl__layout_reply_csv(&p->reply, &nodes, y, fresh->n_user, dims, &p->err);
	if (p->form == SL_LAYOUT_JSON)
		return sl__layout_reply_json(&p->reply, p->job->id, p->job->graph, NULL, y, fresh->n_user, dims, p->projected,
					     &p->err);
	int code = sl_layout_npy(&npy, &size, y, fresh->n_user, dims, &p->err);
	return code ? code : sl_buffer_of(&p->reply, npy, size, &p->err);
}

/* Prepares the first turn. If rows were left out, all rows are computed in one turn, because only the whole result can
 * be brought into the order of the user's rows. */
static int prepare(struct placement *p)
{
	const struct sl_job *job = p->job;  /* the fields that are read no longer change */
	const struct sl_neighbours *nb = p->neighbours->neighbours;
	p->params.metric = nb->metric;
	p->params.p = nb->p;
	p->params.dof = job->work.params.dof;
	p->params.cancel = &p->cancel;
	int code = sl_read_new_points(&p->fresh, &p->file, &job->jobs->d->config, &p->cancel, &p->err);
	sl_uploaded_finish(&p->file);
	if (!code && sl_transform_projects(p->data_part->points, p->fresh))
		p->projected = p->fresh->d;
	if (!code)
		code = check_size(p, p->fresh);
	if (!code)
		code = sl_job_file_read_layout(job->jobs->folder, job->id, "npy", job->nodes, job->work.params.dims, &p->y,
					       &p->err);
	if (!code && !(p->out = malloc(sizeof *p->out * p->fresh->n_user * (size_t)job->work.params.dims)))
		code = sl_error_set(&p->err, SL_NOMEM, "Out of memory for a layout of %u points.", p->fresh->n_user);
	if (!code) {
		p->rows = p->fresh->user ? p->fresh->n_user : FIRST_ROWS;
		p->place.bytes = sl_points_bytes(p->fresh) + (uint64_t)(p->fresh->n_user * TEXT_ROW_BYTES);
	}
	return code;
}

static int place_rows(struct placement *p)
{
	const struct sl_points *all = p->fresh;
	int dims = p->job->work.params.dims;
	uint32_t rows = p->rows < all->n_user - p->ready ? p->rows : all->n_user - p->ready;
	size_t number = all->type == SL_POINTS_U8 ? 1 : sizeof(float);
	const struct sl_points some = {.n = rows, .n_user = rows, .d = all->d, .type = all->type,
				       .value = (char *)all->value + (size_t)p->ready * all->d * number};
	uint64_t since = uv_hrtime();
	int code = sl_transform(p->data_part->points, all->user ? all : &some, dims, p->y, &p->params,
				p->out + (size_t)p->ready * (size_t)dims, &p->err);
	p->rows = sl_fair_pace_amount(&p->pace, rows, (double)(uv_hrtime() - since) / 1e9);
	p->ready += rows;
	return code;
}

/* One turn: places some rows. */
static bool turn(void *arg)
{
	struct placement *p = arg;
	if (!p->fresh)
		p->code = prepare(p);
	if (!p->code)
		p->code = place_rows(p);
	return !p->code && p->ready < p->fresh->n_user;
}

static void write_reply(void *arg)
{
	struct placement *p = arg;
	if (!p->code)
		p->code = make_reply(p, p->fresh, p->out);
	free_work(p);
}

/* ---- acquiring its inputs, one after the other --------------------------------------------- */

static void neighbours_loaded(void *arg, struct sl_content *c, const struct sl_error *err)
{
	struct placement *p = arg;
	p->neighbours = c;
	if (c)
		sl_fair_queue_ready(&p->place);
	else
		fail(p, err);
}

static void data_loaded(void *arg, struct sl_content *c, const struct sl_error *err)
{
	struct placement *p = arg;
	struct sl_error problem;
	p->data_part = c;
	if (!c)
		fail(p, err);
	else if (sl_graphs_acquire(p->job->jobs->d->graphs, p->job->graph, SL_PART_NEIGHBOURS, neighbours_loaded, p,
				   &problem))
		fail(p, &problem);
}

static void begin(void *arg)
{
	struct placement *p = arg;
	struct sl_jobs *j = p->job->jobs;
	struct sl_error err;
	if (j->stopping || p->cancel) {
		sl_error_set(&err, SL_CANCELLED, "The server is stopping.");
		fail(p, &err);
	} else if (sl_graphs_acquire(j->d->graphs, p->job->graph, SL_PART_DATA, data_loaded, p, &err)) {
		fail(p, &err);
	}
}

void sl__placements_cancel(struct sl_jobs *j)
{
	SL_LIST_EACH(struct placement, p, &j->placements, link)
		__atomic_store_n(&p->cancel, 1, __ATOMIC_RELAXED);
}

/* ---- the request --------------------------------------------------------------------------- */

/* A waiting placement frees its upload at once: clients that disconnect and send again must not fill the memory. */
static void gone(void *arg)
{
	struct placement *p = arg;
	p->request = NULL;
	__atomic_store_n(&p->cancel, 1, __ATOMIC_RELAXED);
	if (p->place.begun)
		return;
	struct sl_jobs *j = p->job->jobs;
	sl_fair_queue_leave(&p->place);
	sl_list_unlink(&p->link);
	sl__job_unref(p->job);
	drop(p);
	sl__works_done(j);
}

/* Checks that the job's input is points whose table the server has. */
static int check_kind(struct sl_job *job, struct sl_error *err)
{
	const struct sl_graph_record *g = sl_graphs_find(job->jobs->d->graphs, job->graph);
	if (!g)
		return sl_error_set(err, SL_CONFLICT, "Graph %s of job %s has been deleted, so new points cannot find "
				    "their neighbours in it.", job->graph, job->id);
	if (g->kind != SL_KIND_POINTS)
		return sl_error_set(err, SL_CONFLICT, "Job %s lays out %s; new points can be placed only in a layout of points "
				    "that were uploaded as a table.", job->id,
				    g->kind == SL_KIND_GRAPH ? "a graph" : "neighbours without their points");
	if (sl__on_points(job->work.method))
		return sl_error_set(err, SL_CONFLICT, "Job %s is of method %s; new points can be placed only in a layout "
				    "of tsne.", job->id, job->work.method->name);
	return 0;
}

void sl_job_transform(struct sl_job *job, struct sl_request *r, const struct sl_transform_params *params,
		      enum sl_layout_form form)
{
	struct sl_error err;
	if (sl__result_missing(job, r))
		return;
	struct placement *p = calloc(1, sizeof *p);
	int code = p ? 0 : sl_error_set(&err, SL_NOMEM, "Out of memory for a request.");
	if (!code)
		code = check_kind(job, &err);
	if (!code)
		code = sl_uploaded_take(r, &p->file, &err);
	if (code) {
		sl_reply_error(r, &err);
		if (p)
			drop(p);
		return;
	}
	struct sl_jobs *j = job->jobs;
	p->params = *params;
	p->form = form;
	p->job = sl__job_ref(job);
	p->request = r;
	j->works++;
	p->place = (struct sl_fair_entry){.begin = begin, .turn = turn, .rest = write_reply, .done = finish, .arg = p,
					  .loop = j->d->loop, .bytes = 4 * p->file.bytes};
	sl_list_append(&j->placements, &p->link);
	sl_request_park_for(r, TIMEOUT_MS, NULL, gone, p);
	sl_fair_queue_join(&j->fair_queue, &p->place, sl_request_who(r)->user);
}
