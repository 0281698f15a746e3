/* Starts a job that has a place: makes its affinities, reads its initial layout or checkpoint, gives it to the
 * device. */
#include <stdlib.h>
#include <string.h>

#include "core/points/points.h"
#include "daemon/device/make_run.h"
#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/files/job_files.h"
#include "daemon/util/crashes.h"
#include "daemon/util/pool.h"

struct loading {
	struct sl_job *job;  /* a reference */
	bool worker;         /* its device is a worker, which makes the run itself */
	struct sl_content *points;  /* a reference, if the run is made from them here; else NULL */
	char *file;                 /* the stored points or graph, if a worker makes the run; else NULL */
	bool has_initial, has_checkpoint;  /* copies of the job's fields, which may change while its files are read */
	const void *carried;        /* borrowed from the job: the state to load, instead of a checkpoint */
	uint64_t carried_bytes;
	float *init;
	double *start;
	struct sl_points *table;    /* the layout from which the run is computed */
	void *run;                  /* the run that the device's thread will advance */
	void *checkpoint;
	uint64_t bytes;
	int init_code, checkpoint_code;
	struct sl_error init_err, checkpoint_err;
};

/* Between two steps: true if the preparation ends here, since the server stops or the job was cancelled. A job that
 * moves to another device ends there, with its layout. */
static bool give_up(struct sl_job *job)
{
	sl__job_step(job, job->jobs->stopping ? SL_ON_STOPS : SL_ON_BETWEEN);
	if (job->jobs->stopping && job->run.carried)
		sl__job_keep_carried(job);
	return !sl_stage_has_place(job->life.stage);
}

static enum sl_initial initial_of(const struct sl_job *job)
{
	const struct sl_method_data data = sl__job_data(job);
	return job->record.work.method->initial(&job->record.work.params, &data);
}

/* True if the device makes the affinities; false if the host does, or needs them in its memory. */
static bool device_makes(const struct sl_job *job)
{
	const struct sl_engine *engine = job->place.engine->functions;
	const struct sl_graph_record *g = sl_graphs_find(job->jobs->d->graphs, job->record.graph);
	bool graph = g && g->kind == SL_KIND_GRAPH;
	if (!g || (graph ? !sl_engine_makes_graph(engine, g->entries) : !engine->neighbours_put ||
			!engine->neighbours_graph))
		return false;
	return initial_of(job) != SL_INITIAL_WALK || engine->walk_filter;
}

static char *copy_of(const char *text)
{
	return text ? strdup(text) : NULL;
}

/* Adds P, or the neighbours or edges from which the device makes P; for a worker, the file from which it makes
 * either. */
static void add_affinities(const struct sl_job *job, struct sl_device_job *add)
{
	const char *file = sl_affinity_file(job->run.affinity);
	bool points = sl_affinity_of_points(job->run.affinity);
	add->source.graph = !points;
	add->source.on_device = device_makes(job);
	*(points ? &add->source.neighbours : &add->source.data) = copy_of(file);
	if (job->place.device->worker && !file)
		add->source.unstored = sl_affinity_neighbours(job->run.affinity);
	add->graph = sl_affinity_key(job->run.affinity);
	add->affinities = sl_affinity_get(job->run.affinity);
	add->neighbours = sl_affinity_neighbours(job->run.affinity);
	add->edges = sl_affinity_edges(job->run.affinity);
	add->neighbours_key = sl_affinity_neighbours_key(job->run.affinity);
	add->affinities_params = *sl_affinity_params(job->run.affinity);
}

/* Takes what was prepared: init, checkpoint and source, or run. */
static void send_to_device(struct sl_job *job, const struct sl_device_job *prepared)
{
	struct sl_jobs *j = job->jobs;
	const struct sl_graph_record *g = sl_graphs_find(j->d->graphs, job->record.graph);
	const struct sl_method *method = job->record.work.method;
	struct sl_device_job add = {
		.job = ++j->key, .method = job->record.work.method, .params = job->record.work.params,
		.run = prepared->run, .restored = job->record.has_checkpoint || job->run.carried, .init = prepared->init,
		.init_bytes = prepared->init_bytes, .checkpoint = prepared->checkpoint,
		.checkpoint_bytes = prepared->checkpoint_bytes, .source = prepared->source,
		.attach = job->record.work.origin != SL_OF_AFFINITIES && sl__work_helped(&job->record.work, job->place.engine),
		.moved = job->run.came_from != NULL, .nodes = job->record.nodes,
		.columns = method->values ? method->value_columns(&job->record.work.params) : 0,
		.iteration = job->run.carried ? job->run.carried_status.iteration : job->record.checkpoint_iteration,
		.seconds = job->run.carried ? job->run.carried_status.seconds : job->record.checkpoint_seconds,
		.share = sl_project_share(j->d->users, job->record.project), .priority = job->place.priority,
		.paused = job->life.wish == SL_WISH_PAUSE, .finish = job->life.wish == SL_WISH_FINISH,
		.cancel = job->life.wish == SL_WISH_CANCEL,
		.alone = job->run.alone, .pinned = g && g->pinned,
	};
	add.most_state = sl__work_prepared_bytes(&job->record.work, job->record.nodes, 0) +
			 sl__work_device_bytes(&job->record.work, job->place.engine, job->record.nodes);
	add.input_columns = job->record.work.origin == SL_OF_EDGES ? 0 : job->record.work.columns;
	add.most_result = sl__work_disk_bytes(&job->record.work, job->record.nodes);
	memcpy(add.id, job->record.id, sizeof add.id);
	snprintf(add.group, sizeof add.group, "%s", job->record.project);
	snprintf(add.client, sizeof add.client, "%s", job->record.user);
	add.source.origin = job->record.work.origin;
	if (!job->place.device->port) {  /* a worker of another machine, gone meanwhile: the job waits for another one */
		sl_device_job_finish(&add);
		sl__move_over(job);
		sl__job_step(job, SL_ON_UNPLACED);
		return;
	}
	if (job->run.affinity)
		add_affinities(job, &add);
	if (sl_device_add(job->place.device->port, &add)) {
		struct sl_error err;
		sl_error_memory(&err, "starting the job");
		sl_device_job_finish(&add);
		sl__job_fail(job, &err);
		return;
	}
	if (job->run.affinity)
		sl_affinity_lend(job->run.affinity, job->place.device->number);
	job->run.key = add.job;
	job->run.holds = 0;
	sl_list_prepend(&j->on_device, &job->run.on_device);
	job->run.checkpointed_ms = job->run.settled_ms = uv_now(j->d->loop);
	if (!job->record.started_ms) {
		sl__record_started(&job->record);
		sl_metric_observe(j->metric_wait, ((double)job->record.started_ms - (double)job->record.created_ms) * 1e-3);
	}
	sl__job_step(job, SL_ON_SENT);
}

/* Makes the run, and loads its saved state if that can be read. */
static int make_run(struct loading *l)
{
	const struct sl_work *w = &l->job->record.work;
	struct sl_run_input in = {
		.method = w->method, .params = &w->params, .origin = w->origin,
		.points = l->points ? l->points->points : NULL, .graph = l->points ? l->points->graph : NULL,
		.init = l->has_initial ? l->init : NULL, .rows = w->rows, .columns = w->columns,
		.start = l->start, .start_kind = w->start,
		.checkpoint = l->checkpoint, .checkpoint_bytes = l->bytes,
	};
	struct sl_made_run made;
	int code = sl_run_make(&in, &made, &l->init_err);
	l->init = l->has_initial ? in.init : l->init;
	l->run = made.run;
	l->table = made.table;
	l->checkpoint_code = made.checkpoint_err.code;
	l->checkpoint_err = made.checkpoint_err;
	free(l->checkpoint);
	l->checkpoint = NULL;
	return code;
}

static void load_files(void *arg)
{
	struct loading *l = arg;
	struct sl_job *job = l->job;
	const char *folder = job->jobs->folder;
	const struct sl_job_record *r = &job->record;
	bool makes_run = r->work.origin != SL_OF_AFFINITIES && !l->worker;  /* else the device's thread makes it, of P */
	sl_crashes_computes(job->record.id);
	if (l->has_initial)
		l->init_code = sl_job_file_read_layout(folder, job->record.id, "initial", job->record.nodes,
						       sl__work_initial_dims(&job->record.work), &l->init, &l->init_err);
	if (!l->init_code && job->record.work.start)
		l->init_code = sl_job_file_read_start(folder, r->id, sl__work_start_rows(&r->work, r->nodes),
						      sl__work_start_columns(&r->work), &l->start, &l->init_err);
	if (l->carried && (l->checkpoint = malloc(l->carried_bytes))) {
		memcpy(l->checkpoint, l->carried, l->carried_bytes);
		l->bytes = l->carried_bytes;
	} else if (l->carried) {
		l->init_code = sl_error_memory(&l->init_err, "moving the job");
	} else if (l->has_checkpoint) {
		l->checkpoint_code = sl_job_file_read_checkpoint(folder, job->record.id, &l->checkpoint, &l->bytes,
								 &l->checkpoint_err);
	}
	if (makes_run && !l->init_code)
		l->init_code = make_run(l);
	sl_crashes_computes(NULL);
}

static void loading_free(struct loading *l)
{
	struct sl_jobs *j = l->job->jobs;
	if (l->run)
		l->job->record.work.method->destroy(l->run);
	free(l->init);
	free(l->start);
	free(l->file);
	free(l->checkpoint);
	sl_points_destroy(l->table);
	sl_graphs_release(j->d->graphs, l->points);
	sl__job_unref(l->job);
	free(l);
	sl__works_done(j);
}

/* The inputs that the run borrows belong to the job as long as it has a place. */
static void keep_input(struct loading *l)
{
	l->job->run.content = l->points;
	l->job->run.table = l->table;
	l->points = NULL;
	l->table = NULL;
}

static void send_loaded(struct loading *l)
{
	const struct sl_job *job = l->job;
	const struct sl_work *w = &job->record.work;
	struct sl_device_job prepared = {
		.init = l->init, .run = l->run, .checkpoint = l->checkpoint, .checkpoint_bytes = l->bytes,
		.init_bytes = l->init ? (uint64_t)job->record.nodes * sl__work_initial_dims(w) * sizeof *l->init : 0,
	};
	l->init = NULL;
	l->run = l->checkpoint = NULL;
	if (l->worker) {
		prepared.source = (struct sl_device_source){
			.graph = w->origin == SL_OF_EDGES, .data = l->file, .rows = w->rows, .columns = w->columns,
			.start = l->start, .start_kind = w->start,
			.start_bytes = (uint64_t)sl__work_start_rows(w, job->record.nodes) * sl__work_start_columns(w) *
				       sizeof *l->start,
		};
		l->file = NULL;
		l->start = NULL;
	}
	send_to_device(l->job, &prepared);
}

static void files_loaded(void *arg)
{
	struct loading *l = arg;
	struct sl_job *job = l->job;
	bool edges = l->run && job->record.work.origin == SL_OF_EDGES;  /* its run no longer borrows anything */
	if (l->checkpoint_code)
		sl__job_from_the_beginning(job, l->checkpoint_err.detail);
	if (!give_up(job) && l->init_code) {
		sl__job_fail(job, &l->init_err);
	} else if (sl_stage_has_place(job->life.stage)) {
		if (l->run && !edges)
			keep_input(l);
		if (edges) {
			free(l->init);
			l->init = NULL;
		}
		send_loaded(l);
	}
	loading_free(l);
}

/* Takes points and file (either may be NULL). */
static void load(struct sl_job *job, struct sl_content *points, char *file)
{
	struct loading *l = calloc(1, sizeof *l);
	struct sl_error err;
	if (!l) {
		sl_graphs_release(job->jobs->d->graphs, points);
		free(file);
		sl_error_memory(&err, "starting the job");
		sl__job_fail(job, &err);
		return;
	}
	l->job = sl__job_ref(job);
	l->points = points;
	l->file = file;
	l->worker = job->place.device->worker;
	l->has_initial = job->record.has_initial;
	l->has_checkpoint = job->record.has_checkpoint;
	l->carried = job->run.carried;
	l->carried_bytes = job->run.carried_bytes;
	job->jobs->works++;
	sl_pool_run(job->jobs->d->loop, load_files, files_loaded, l);
}

/* Waits if the stored neighbours are damaged and are searched again. */
static bool wait_for_search(struct sl_job *job)
{
	const struct sl_graph_record *g = sl_graphs_find(job->jobs->d->graphs, job->record.graph);
	if (!g || g->kind != SL_KIND_POINTS || g->search != SL_SEARCH_RUNNING ||
	    g->k >= sl__work_neighbours(&job->record.work, g))
		return false;
	sl__move_over(job);
	sl__job_step(job, SL_ON_UNPLACED);
	return true;
}

static void points_ready(void *arg, struct sl_content *points, const struct sl_error *err)
{
	struct sl_job *job = arg;
	struct sl_jobs *j = job->jobs;
	if (give_up(job)) {
		sl_graphs_release(j->d->graphs, points);
	} else if (!points) {
		sl__job_fail(job, err);
	} else {
		load(job, points, NULL);
	}
	sl__job_unref(job);
	sl__works_done(j);
}

/* Gets the job's initial layout or points, then sends the job to its device. */
static void start(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	struct sl_error err;
	bool stored = job->record.work.origin == SL_OF_POINTS || job->record.work.origin == SL_OF_EDGES;
	char *file = NULL;
	if (stored && job->place.device->worker) {
		if (sl_graphs_file(j->d->graphs, job->record.graph, SL_PART_DATA, &file, &err))
			sl__job_fail(job, &err);
		else
			load(job, NULL, file);
	} else if (stored) {
		sl__job_ref(job);
		j->works++;
		if (sl_graphs_acquire(j->d->graphs, job->record.graph, SL_PART_DATA, points_ready, job, &err)) {
			sl__job_fail(job, &err);
			sl__job_unref(job);
			j->works--;
		}
	} else if (job->record.has_initial || job->record.has_checkpoint || job->run.carried) {
		load(job, NULL, NULL);
	} else {
		send_to_device(job, &(struct sl_device_job){0});
	}
}

static void affinities_ready(void *arg, struct sl_affinity *entry, const struct sl_error *err)
{
	struct sl_job *job = arg;
	job->run.affinity = entry;
	if (!give_up(job)) {
		if (err && !wait_for_search(job))
			sl__job_fail(job, err);
		else if (!err)
			start(job);
	}
	job->jobs->worked(job->jobs);
	sl__job_unref(job);
}

void sl__job_give_place(struct sl_job *job)
{
	sl__allocated_gives_place(job);
	sl_list_unlink(&job->run.on_device);
	sl__job_checkpoint(job, SL_CHECKPOINT_ON_GONE);
	sl_affinity_release(job->jobs->engines->affinities, job->run.affinity);
	job->run.affinity = NULL;
	sl__job_release_input(job);
	sl_queue_give(&job->jobs->queue, &job->place);
}

void sl__job_prepare(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	struct sl_error err;
	struct sl_affinities_params wanted;
	sl__allocated_placed(job);
	if (!sl__work_affinities(&job->record.work, &wanted)) {
		start(job);
		return;
	}
	bool worker = job->place.device->worker;
	enum sl_affinity_form form = device_makes(job) ? (worker ? SL_AFFINITY_WORKER_DEVICE : SL_AFFINITY_DEVICE) :
							 (worker ? SL_AFFINITY_WORKER : SL_AFFINITY_HOST);
	const struct sl_job_record *r = &job->record;
	sl__job_ref(job);
	if (sl_affinity_acquire(j->engines->affinities, r->graph, r->id, &wanted, form, affinities_ready, job, &err)) {
		sl__job_fail(job, &err);
		sl__job_unref(job);
	}
}
