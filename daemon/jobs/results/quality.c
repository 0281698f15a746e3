/* Measures the quality of finished layouts, at the first request for it. The thread pool measures one job at a time,
 * since this uses all cores for some seconds; the result is kept in the job's record. Further requests for a
 * measurement in progress wait for it. The first measurement in line books the memory for making P on the host, as jobs
 * do, and starts when that memory is free; later jobs wait meanwhile. */
#include <stdlib.h>
#include <time.h>

#include "core/measure/quality.h"
#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/files/job_files.h"
#include "daemon/store/db.h"
#include "daemon/users/users.h"
#include "daemon/json/json.h"
#include "daemon/util/pool.h"

/* A request that waits for a measurement. */
struct client {
	struct sl_link link;
	struct sl_request *request;         /* NULL: the client is gone */
};

struct measurement {
	struct sl_link link;                /* in sl_jobs.measurements */
	struct sl_job *job;                 /* a reference */
	struct sl_list clients;
	int k;
	bool booked, started, recording;
	uint64_t bytes;                     /* of host memory, while it is booked */
	int cancel;                         /* read by the worker */
	struct sl_content *data, *neighbours;  /* references */
	struct sl_affinity *affinity;       /* a reference */
	struct sl_quality quality;
	double seconds;
	int code;
	struct sl_error err;
};

static json_t *quality_json(const struct measurement *m)
{
	const struct sl_quality *q = &m->quality;
	json_t *o = json_object();
	json_object_set_new(o, "job", json_string(m->job->record.id));
	json_object_set_new(o, "nodes", json_integer(q->nodes));
	json_object_set_new(o, "k", json_integer(q->k));
	json_object_set_new(o, "kl", sl_json_number(q->kl));
	json_object_set_new(o, "kl_error", sl_json_number(q->kl_error));
	json_object_set_new(o, "recall", sl_json_number(q->recall));
	json_object_set_new(o, "recall_nodes", json_integer(q->recall_queries));
	json_object_set_new(o, "recall_k", json_integer(q->recall_k));
	json_object_set_new(o, "trustworthiness", sl_json_number(q->trustworthiness));
	json_object_set_new(o, "trustworthiness_nodes", json_integer(q->trust_queries));
	json_object_set_new(o, "trustworthiness_k", json_integer(q->trust_k));
	json_object_set_new(o, "silhouette", sl_json_number(q->silhouette));
	json_object_set_new(o, "silhouette_nodes", json_integer(q->silhouette_queries));
	const struct sl_graph_record *g = sl_graphs_find(m->job->jobs->d->graphs, m->job->record.graph);
	json_object_set_new(o, "silhouette_column", g && q->silhouette_queries ? json_string(g->label_title) :
							 json_null());
	json_object_set_new(o, "seconds", json_real(m->seconds));
	return o;
}

/* Answers all requests that wait for the measurement. err: NULL if it has succeeded. */
static json_t *shown(const struct sl_job *job, const struct sl_request *r)
{
	return sl_users_quality(job->jobs->d->users, sl_request_who(r), job->record.graph, job->record.quality);
}

static void answer(struct measurement *m, const struct sl_error *err)
{
	struct sl_job *job = m->job;
	SL_LIST_EACH(struct client, c, &m->clients, link) {
		sl_list_unlink(&c->link);
		if (c->request && err && err->code == SL_CANCELLED && job->jobs->stopping)
			sl_reply_status(c->request, 503, "The server is stopping.");
		else if (c->request && err)
			sl_reply_error(c->request, err);
		else if (c->request)
			sl_reply_json(c->request, 200, shown(job, c->request));
		free(c);
	}
}

/* ---- its end ------------------------------------------------------------------------------ */

static void finish(struct measurement *m);

static struct measurement *being_recorded(const struct sl_job *job)
{
	return SL_LIST_FIND(struct measurement, m, &job->jobs->measurements, link, m->job == job && m->recording);
}

static void recorded(void *arg, int status, const struct sl_error *err)
{
	struct sl_job *job = arg;
	struct sl_jobs *j = job->jobs;
	struct measurement *m = being_recorded(job);
	if (status)
		sl__record_quality_take(&job->record, NULL);
	if (status && m) {
		m->err = *err;
		m->code = status;
	}
	if (m)
		finish(m);
	sl__job_unref(job);
	sl__works_done(j);
}

/* Records the result. True: the requests are answered when it is on disk. */
static bool record(struct measurement *m)
{
	struct sl_job *job = m->job;
	if (m->code || m->cancel || m->recording || sl_stage_is_deleted(job->life.stage))
		return false;
	sl__record_quality_take(&job->record, quality_json(m));
	m->recording = !sl__job_save(job, recorded);
	if (m->recording)
		return true;
	sl__record_quality_take(&job->record, NULL);
	m->code = sl_error_set(&m->err, SL_NOMEM, "The measurement cannot be recorded.");
	return false;
}

/* The measurement has ended or failed. */
static void finish(struct measurement *m)
{
	struct sl_job *job = m->job;
	struct sl_jobs *j = job->jobs;
	if (record(m))
		return;
	sl_list_unlink(&m->link);
	answer(m, m->code ? &m->err : NULL);
	if (m->booked)
		j->queue.used_bytes -= m->bytes;
	sl_affinity_release(j->engines->affinities, m->affinity);
	sl_graphs_release(j->d->graphs, m->neighbours);
	sl_graphs_release(j->d->graphs, m->data);
	sl__job_unref(job);
	free(m);
	j->pump(j);  /* also starts the next measurement */
	sl__works_done(j);
}

/* True between two steps if the measurement was cancelled. */
static bool give_up(struct measurement *m)
{
	if (!m->cancel)
		return false;
	m->code = SL_CANCELLED;
	finish(m);
	return true;
}

static void fail(struct measurement *m, const struct sl_error *err)
{
	m->err = *err;
	m->code = err->code;
	finish(m);
}

/* ---- on the pool ---------------------------------------------------------------------- */

static void measure(void *arg)
{
	struct measurement *m = arg;
	const struct sl_job *job = m->job;  /* the fields that are read no longer change */
	struct timespec began, ended;
	float *y = NULL;
	clock_gettime(CLOCK_MONOTONIC, &began);
	m->code = sl_job_file_read_layout(job->jobs->folder, job->record.id, "npy", job->record.nodes,
					  sl__work_dims(&job->record.work), &y, &m->err);
	const struct sl_points *points = m->data->points && m->data->points->d ? m->data->points : NULL;
	const struct sl_neighbours *nb = m->neighbours ? m->neighbours->neighbours : NULL;
	struct sl_settings settings;
	bool kernel = sl__work_settings(&job->record.work, job->record.nodes, &settings);
	struct sl_quality_input in = {
		.dims = sl__work_dims(&job->record.work), .dof = kernel ? settings.dof : 1, .y = y, .n_user = job->record.nodes,
		.a = m->affinity ? sl_affinity_get(m->affinity) : NULL, .neighbours = nb, .points = nb ? points : NULL,
		.metric = nb ? nb->metric : 0, .p = nb ? nb->p : 0,
		.label = m->data->nodes.label, .labels = m->data->nodes.labels, .k = m->k,
		.cancel = &m->cancel,
	};
	if (!m->code)
		m->code = sl_quality_measure(&in, &m->quality, &m->err);
	free(y);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	m->seconds = (double)(ended.tv_sec - began.tv_sec) + 1e-9 * (double)(ended.tv_nsec - began.tv_nsec);
}

static void measured(void *arg)
{
	finish(arg);
}

/* ---- acquiring its inputs, one after the other -------------------------------------------- */

static void affinities_ready(void *arg, struct sl_affinity *entry, const struct sl_error *err)
{
	struct measurement *m = arg;
	m->affinity = entry;
	if (give_up(m))
		return;
	if (entry)
		sl_pool_run(m->job->jobs->d->loop, measure, measured, m);
	else
		fail(m, err);
}

static void get_affinities(struct measurement *m)
{
	struct sl_error err;
	struct sl_affinities_params wanted;
	if (!sl__work_affinities(&m->job->record.work, &wanted)) {  /* without P there is no KL divergence */
		sl_pool_run(m->job->jobs->d->loop, measure, measured, m);
		return;
	}
	if (sl_affinity_acquire(m->job->jobs->engines->affinities, m->job->record.graph, m->job->record.id, &wanted,
				SL_AFFINITY_HOST, affinities_ready, m, &err))
		fail(m, &err);
}

static void neighbours_loaded(void *arg, struct sl_content *c, const struct sl_error *err)
{
	struct measurement *m = arg;
	m->neighbours = c;
	if (give_up(m))
		return;
	if (c)
		get_affinities(m);
	else
		fail(m, err);
}

static void data_loaded(void *arg, struct sl_content *c, const struct sl_error *err)
{
	struct measurement *m = arg;
	struct sl_error problem;
	m->data = c;
	if (give_up(m))
		return;
	if (!c)
		fail(m, err);
	else if (c->graph)
		get_affinities(m);
	else if (sl_graphs_acquire(m->job->jobs->d->graphs, m->job->record.graph, SL_PART_NEIGHBOURS, neighbours_loaded, m,
				   &problem))
		fail(m, &problem);
}

/* The memory for making P, if it is not in memory. */
static uint64_t memory(const struct measurement *m)
{
	const struct sl_job *job = m->job;
	struct sl_jobs *j = job->jobs;
	const struct sl_graph_record *g = sl_graphs_find(j->d->graphs, job->record.graph);
	struct sl_affinities_params wanted;
	if (!g || !sl__work_affinities(&job->record.work, &wanted) ||
	    sl_affinity_ready(j->engines->affinities, job->record.graph, &wanted))
		return 0;
	return sl__work_affinities_bytes(&job->record.work, job->record.nodes, sl__work_entries(&job->record.work, g));
}

/* Books the memory of the measurement. If no job computes, it may start whatever memory it needs. */
static bool book(struct measurement *m)
{
	struct sl_jobs *j = m->job->jobs;
	if (!m->booked) {
		m->booked = true;
		m->bytes = memory(m);
		j->queue.used_bytes += m->bytes;
	}
	return m->bytes == 0 || j->queue.used_bytes <= j->queue.memory_bytes || j->queue.active == 0;
}

/* Starts the first measurement in line, unless it is running. */
void sl__measurements_pump(struct sl_jobs *j)
{
	struct measurement *m = SL_LIST_FIRST(struct measurement, &j->measurements, link);
	struct sl_error err;
	if (!m || m->started || m->cancel)
		return;
	if (j->stopping) {
		sl_error_set(&err, SL_CANCELLED, "The server is stopping.");
		fail(m, &err);
		return;
	}
	if (!book(m))
		return;
	m->started = true;
	if (sl_graphs_acquire(j->d->graphs, m->job->record.graph, SL_PART_DATA, data_loaded, m, &err)) {
		if (err.code == SL_NOTFOUND)
			sl_error_set(&err, SL_CONFLICT, "Graph %s of job %s has been deleted, so there is nothing to measure its "
				     "layout against.", m->job->record.graph, m->job->record.id);
		fail(m, &err);
	}
}

void sl__measurements_cancel(struct sl_jobs *j, const struct sl_job *job)
{
	struct sl_error err;
	sl_error_set(&err, SL_CANCELLED, "The measurement was cancelled.");
	SL_LIST_EACH(struct measurement, m, &j->measurements, link) {
		if (job && m->job != job)
			continue;
		__atomic_store_n(&m->cancel, 1, __ATOMIC_RELAXED);
		answer(m, &err);  /* a running measurement ends soon, and the requests need not wait for that */
	}
	struct measurement *m = SL_LIST_FIRST(struct measurement, &j->measurements, link);
	while (m) {
		if (!m->cancel || m->started) {
			m = SL_LIST_NEXT(struct measurement, m, link);
			continue;
		}
		m->code = SL_CANCELLED;
		finish(m);
		m = SL_LIST_FIRST(struct measurement, &j->measurements, link);  /* answering may have changed the list */
	}
}

/* ---- the request ------------------------------------------------------------------------- */

static struct measurement *in_line(struct sl_job *job, int k)
{
	SL_LIST_EACH(struct measurement, known, &job->jobs->measurements, link)
		if (known->job == job && known->k == k && !known->cancel)
			return known;
	struct measurement *m = calloc(1, sizeof *m);
	if (!m)
		return NULL;
	m->job = sl__job_ref(job);
	m->k = k;
	job->jobs->works++;
	sl_list_append(&job->jobs->measurements, &m->link);
	return m;
}

void sl_job_reply_quality(struct sl_job *job, struct sl_request *r, int k)
{
	if (sl__result_missing(job, r))
		return;
	const json_t *last = job->record.quality;
	if (last && !being_recorded(job) && json_integer_value(json_object_get(last, "k")) == k) {
		sl_reply_json(r, 200, shown(job, r));
		return;
	}
	struct client *c = calloc(1, sizeof *c);
	struct measurement *m = c ? in_line(job, k) : NULL;
	if (!m) {
		free(c);
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "a measurement.");
		return;
	}
	c->request = r;
	sl_list_append(&m->clients, &c->link);
	sl_park(&c->request, 0);
	sl__measurements_pump(job->jobs);
}

void sl_job_forget_quality(struct sl_job *job, struct sl_request *r)
{
	struct sl_error err;
	sl__measurements_cancel(job->jobs, job);
	if (!job->record.quality) {
		sl_reply_empty(r, 204);
		return;
	}
	struct sl_later *later = sl_later_create(r, NULL, NULL, job->record.id);
	if (!later)
		return;
	json_t *before = json_incref(job->record.quality);
	sl__record_quality_take(&job->record, NULL);
	json_t *document = sl__job_document(job);
	int code = document ? sl_db_put(job->jobs->d->db, SL_DB_JOBS, job->record.id, document, sl_later_done, later) :
		SL_NOMEM;
	json_decref(document);
	if (code) {
		sl__record_quality_take(&job->record, before);
		sl_error_set(&err, code, SL_NO_MEMORY "a change.");
	} else {
		json_decref(before);
	}
	sl_later_begun(later, code, &err);
}
