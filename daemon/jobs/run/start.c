/* Starts a job that has a place: makes its affinities, reads its initial layout or checkpoint, gives it to the
 * device. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/points/points.h"
#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/files/job_files.h"
#include "daemon/util/crashes.h"
#include "daemon/util/log.h"
#include "daemon/util/pool.h"
#include "daemon/util/time_text.h"

struct loading {
	struct sl_job *job;  /* a reference */
	struct sl_content *points;  /* a reference, if the initial layout is made from them; else NULL */
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

/* Adds P, or the neighbours from which the device makes P. */
static void add_affinities(const struct sl_job *job, struct sl_device_job *add)
{
	add->graph = sl_affinity_key(job->run.affinity);
	add->affinities = sl_affinity_get(job->run.affinity);
	add->neighbours = sl_affinity_neighbours(job->run.affinity);
	add->neighbours_key = sl_affinity_neighbours_key(job->run.affinity);
	add->affinities_params = *sl_affinity_params(job->run.affinity);
}

/* Takes init and checkpoint, or run. */
static void send_to_device(struct sl_job *job, float *init, void *checkpoint, uint64_t bytes, void *run)
{
	struct sl_jobs *j = job->jobs;
	const struct sl_graph_record *g = sl_graphs_find(j->d->graphs, job->record.graph);
	const struct sl_method *method = job->record.work.method;
	struct sl_device_job add = {
		.job = ++j->key, .method = method, .params = job->record.work.params,
		.run = run, .restored = job->record.has_checkpoint || job->run.carried, .init = init, .checkpoint = checkpoint,
		.attach = run && sl__work_helped(&job->record.work, job->place.engine), .moved = job->run.came_from != NULL,
		.checkpoint_bytes = bytes, .nodes = job->record.nodes,
		.columns = method->values ? method->value_columns(&job->record.work.params) : 0,
		.iteration = job->run.carried ? job->run.carried_status.iteration : job->record.checkpoint_iteration,
		.seconds = job->run.carried ? job->run.carried_status.seconds : job->record.checkpoint_seconds,
		.share = sl_project_share(j->d->users, job->record.project), .priority = job->place.priority,
		.paused = job->life.wish == SL_WISH_PAUSE, .finish = job->life.wish == SL_WISH_FINISH,
		.cancel = job->life.wish == SL_WISH_CANCEL,
		.alone = job->run.alone, .pinned = g && g->pinned,
	};
	memcpy(add.id, job->record.id, sizeof add.id);
	snprintf(add.group, sizeof add.group, "%s", job->record.project);
	snprintf(add.client, sizeof add.client, "%s", job->record.user);
	if (job->run.affinity)
		add_affinities(job, &add);
	if (sl_device_add(job->place.device->port, &add)) {
		struct sl_error err;
		sl_error_memory(&err, "starting the job");
		free(init);
		free(checkpoint);
		if (run)
			job->record.work.method->destroy(run);
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

/* Makes a table of points from the layout, which it takes. */
static int make_table(struct loading *l)
{
	const struct sl_work *w = &l->job->record.work;
	size_t values = (size_t)w->rows * w->columns;
	for (size_t at = 0; at < values; at++)
		if (!isfinite(l->init[at]))
			return sl_error_set(&l->init_err, SL_BADDATA, "Row %zu of the layout has a coordinate that is not a "
					    "finite number.", at / w->columns + 1);
	if (!(l->table = calloc(1, sizeof *l->table)))
		return sl_error_memory(&l->init_err, "starting the job");
	*l->table = (struct sl_points){.n = w->rows, .n_user = w->rows, .d = w->columns, .type = SL_POINTS_F32,
				       .value = l->init};
	l->init = NULL;
	return 0;
}

/* Makes the run, and loads its saved state if that can be read. */
static int make_run(struct loading *l)
{
	const struct sl_work *w = &l->job->record.work;
	bool edges = w->origin == SL_OF_EDGES;
	int code = l->has_initial && !edges ? make_table(l) : 0;
	struct sl_method_input in = {.points = l->table ? l->table : l->points ? l->points->points : NULL};
	in.start = l->start;
	in.start_kind = l->start ? w->start : SL_START_NONE;
	if (edges) {
		in.edges = l->points->graph;
		in.init = l->init;
		in.columns = l->init ? w->columns : 0;
	}
	if (!code)
		code = w->method->create(&l->run, &in, &w->params, &l->init_err);
	if (code || !l->checkpoint)
		return code;
	l->checkpoint_code = w->method->load(l->run, l->checkpoint, l->bytes, &l->checkpoint_err);
	free(l->checkpoint);
	l->checkpoint = NULL;
	if (!l->checkpoint_code)
		return 0;
	w->method->destroy(l->run);
	l->run = NULL;
	return w->method->create(&l->run, &in, &w->params, &l->init_err);
}

static void load_files(void *arg)
{
	struct loading *l = arg;
	struct sl_job *job = l->job;
	const struct sl_job_record *r = &job->record;
	const char *folder = job->jobs->folder;
	bool makes_run = r->work.origin != SL_OF_AFFINITIES;  /* else the device's thread makes it, of P */
	sl_crashes_computes(r->id);
	if (l->has_initial)
		l->init_code = sl_job_file_read_layout(folder, r->id, "initial", r->nodes, sl__work_initial_dims(&r->work),
						       &l->init, &l->init_err);
	if (!l->init_code && r->work.start)
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

static void files_loaded(void *arg)
{
	struct loading *l = arg;
	struct sl_job *job = l->job;
	bool edges = job->record.work.origin == SL_OF_EDGES;  /* its run no longer borrows anything */
	if (l->checkpoint_code)
		sl__job_from_the_beginning(job, l->checkpoint_err.detail);
	if (!give_up(job) && l->init_code) {
		sl__job_fail(job, &l->init_err);
	} else if (sl_stage_has_place(job->life.stage)) {
		if (l->run && !edges)
			keep_input(l);
		send_to_device(job, edges ? NULL : l->init, l->checkpoint, l->bytes, l->run);
		if (!edges)
			l->init = NULL;
		l->checkpoint = l->run = NULL;
	}
	loading_free(l);
}

/* Takes points (may be NULL). */
static void load(struct sl_job *job, struct sl_content *points)
{
	struct loading *l = calloc(1, sizeof *l);
	struct sl_error err;
	if (!l) {
		sl_graphs_release(job->jobs->d->graphs, points);
		sl_error_memory(&err, "starting the job");
		sl__job_fail(job, &err);
		return;
	}
	l->job = sl__job_ref(job);
	l->points = points;
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
		load(job, points);
	}
	sl__job_unref(job);
	sl__works_done(j);
}

static enum sl_initial initial_of(const struct sl_job *job)
{
	const struct sl_method_data data = sl__job_data(job);
	return job->record.work.method->initial(&job->record.work.params, &data);
}

/* Gets the job's initial layout or points, then sends the job to its device. */
static void start(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	struct sl_error err;
	if (job->record.work.origin != SL_OF_AFFINITIES && job->record.work.origin != SL_OF_LAYOUT) {
		sl__job_ref(job);
		j->works++;
		if (sl_graphs_acquire(j->d->graphs, job->record.graph, SL_PART_DATA, points_ready, job, &err)) {
			sl__job_fail(job, &err);
			sl__job_unref(job);
			j->works--;
		}
	} else if (job->record.has_initial || job->record.has_checkpoint || job->run.carried) {
		load(job, NULL);
	} else {
		send_to_device(job, NULL, NULL, 0, NULL);
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

/* True if the device makes the affinities from neighbours; false if they are also needed in host memory. */
static bool device_makes(const struct sl_job *job)
{
	const struct sl_engine *engine = job->place.engine->functions;
	const struct sl_graph_record *g = sl_graphs_find(job->jobs->d->graphs, job->record.graph);
	if (!engine->neighbours_put || !engine->neighbours_graph || !g || g->kind == SL_KIND_GRAPH)
		return false;
	return initial_of(job) != SL_INITIAL_WALK || engine->walk_filter;
}

void sl__job_give_place(struct sl_job *job)
{
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
	if (!sl__work_affinities(&job->record.work, &wanted)) {
		start(job);
		return;
	}
	enum sl_affinity_form form = device_makes(job) ? SL_AFFINITY_DEVICE : SL_AFFINITY_HOST;
	sl__job_ref(job);
	const struct sl_job_record *r = &job->record;
	if (sl_affinity_acquire(j->engines->affinities, r->graph, r->id, &wanted, form, affinities_ready, job, &err)) {
		sl__job_fail(job, &err);
		sl__job_unref(job);
	}
}
