/* A job that has got a place: its affinities, its initial layout or checkpoint, and then the device. */
#include <stdlib.h>
#include <string.h>

#include "core/init/init.h"
#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/files/job_files.h"
#include "daemon/util/log.h"
#include "daemon/util/pool.h"

struct loading {
	struct sl_job *job;  /* a reference */
	struct sl_content *points;  /* a reference, when the initial layout comes from them; else NULL */
	bool has_initial, has_checkpoint;  /* of the job, which changes while its files are read */
	float *init;
	void *checkpoint;
	uint64_t bytes;
	int init_code, checkpoint_code;
	struct sl_error init_err, checkpoint_err;
};

static bool give_up(struct sl_job *job)
{
	if (job->jobs->stopping) {  /* its record says queued (or paused) still */
		sl__job_release_place(job);
		job->stage = SL_STAGE_HELD;
		return true;
	}
	if (job->cancel) {
		sl__job_release_place(job);
		sl__job_end(job, SL_JOB_CANCELLED, NULL);
		sl__jobs_pump(job->jobs);
		return true;
	}
	return false;
}

static void fail_and_pump(struct sl_job *job, const struct sl_error *err)
{
	sl__job_release_place(job);
	sl__job_fail(job, err);
	sl__jobs_pump(job->jobs);
}

/* Takes init and checkpoint. */
static void send_to_device(struct sl_job *job, float *init, void *checkpoint, uint64_t bytes)
{
	struct sl_jobs *j = job->jobs;
	const struct sl_graph_record *g = sl_graphs_find(j->d->graphs, job->graph);
	struct sl_device_job add = {
		.job = ++j->key, .graph = sl_affinity_key(job->affinity), .params = job->params,
		.affinities = sl_affinity_get(job->affinity), .neighbours = sl_affinity_neighbours(job->affinity),
		.neighbours_key = sl_affinity_neighbours_key(job->affinity),
		.affinities_params = *sl_affinity_params(job->affinity),
		.init = init, .checkpoint = checkpoint, .checkpoint_bytes = bytes,
		.iteration = job->checkpoint_iteration, .seconds = job->checkpoint_seconds,
		.share = sl_project_share(j->d->users, job->project), .priority = job->priority, .paused = job->pause,
		.alone = job->alone, .pinned = g && g->pinned,
	};
	snprintf(add.group, sizeof add.group, "%s", job->project);
	snprintf(add.client, sizeof add.client, "%s", job->user);
	if (sl_device_add(job->device->thread, &add)) {
		struct sl_error err;
		sl_error_set(&err, SL_NOMEM, "Out of memory for starting the job.");
		free(init);
		free(checkpoint);
		fail_and_pump(job, &err);
		return;
	}
	sl_affinity_lend(job->affinity, job->device->number);
	job->key = add.job;
	job->stage = SL_STAGE_DEVICE;
	sl_list_prepend(&j->on_device, &job->on_device);
	job->checkpointed_ms = uv_now(j->d->loop);
	if (!job->started_ms) {
		job->started_ms = sl__wall_ms();
		sl_metric_observe(j->metric_wait, ((double)job->started_ms - (double)job->created_ms) * 1e-3);
	}
	if (job->pause)
		sl__job_activate(job, -1);  /* sl__job_release_place() knows it by the state */
	else
		sl__job_set_state(job, SL_JOB_RUNNING);
	sl_watch_pump(&job->watch);
}

/* Principal axes of the points. */
static int make_init(struct loading *l)
{
	const struct sl_points *p = l->points->points;
	l->init = malloc(((size_t)p->n_user * (size_t)l->job->params.dims + 1) * sizeof *l->init);
	if (!l->init)
		return sl_error_set(&l->init_err, SL_NOMEM, "Out of memory for an initial layout of %u nodes.", p->n_user);
	return sl_init_pca(p, l->job->params.dims, l->init, &l->init_err);
}

static void load_files(void *arg)
{
	struct loading *l = arg;
	struct sl_job *job = l->job;
	const char *folder = job->jobs->folder;
	if (l->has_initial)
		l->init_code = sl_job_file_read_layout(folder, job->id, "initial", job->nodes, job->params.dims,
						       &l->init, &l->init_err);
	else if (l->points)
		l->init_code = make_init(l);
	if (l->has_checkpoint)
		l->checkpoint_code = sl_job_file_read_checkpoint(folder, job->id, &l->checkpoint, &l->bytes,
								 &l->checkpoint_err);
}

static void files_loaded(void *arg)
{
	struct loading *l = arg;
	struct sl_job *job = l->job;
	struct sl_jobs *j = job->jobs;
	sl_graphs_release(j->d->graphs, l->points);
	if (l->checkpoint_code)
		sl__job_from_the_beginning(job, l->checkpoint_err.detail);
	if (give_up(job)) {
		free(l->init);
		free(l->checkpoint);
	} else if (l->init_code) {
		free(l->init);
		free(l->checkpoint);
		fail_and_pump(job, &l->init_err);
	} else {
		send_to_device(job, l->init, l->checkpoint, l->bytes);
	}
	free(l);
	sl__job_unref(job);
	sl__works_done(j);
}

/* Takes points (may be NULL). */
static void load(struct sl_job *job, struct sl_content *points)
{
	struct loading *l = calloc(1, sizeof *l);
	struct sl_error err;
	if (!l) {
		sl_graphs_release(job->jobs->d->graphs, points);
		sl_error_set(&err, SL_NOMEM, "Out of memory for starting the job.");
		fail_and_pump(job, &err);
		return;
	}
	l->job = sl__job_ref(job);
	l->points = points;
	l->has_initial = job->has_initial;
	l->has_checkpoint = job->has_checkpoint;
	job->jobs->works++;
	sl_pool_run(job->jobs->d->loop, load_files, files_loaded, l);
}

/* The stored neighbours turned out to be damaged, and are being searched again. */
static bool wait_for_search(struct sl_job *job)
{
	const struct sl_graph_record *g = sl_graphs_find(job->jobs->d->graphs, job->graph);
	if (!g || g->kind != SL_KIND_POINTS || g->search != SL_SEARCH_RUNNING ||
	    g->k >= sl__job_neighbours(&job->params, g))
		return false;
	sl__job_release_place(job);
	sl__job_enqueue(job);
	sl__jobs_pump(job->jobs);
	return true;
}

static void points_ready(void *arg, struct sl_content *points, const struct sl_error *err)
{
	struct sl_job *job = arg;
	struct sl_jobs *j = job->jobs;
	if (give_up(job)) {
		sl_graphs_release(j->d->graphs, points);
	} else if (!points) {
		fail_and_pump(job, err);
	} else {
		load(job, points);
	}
	sl__job_unref(job);
	sl__works_done(j);
}

/* What the job starts from, then the device. */
static void start(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	struct sl_error err;
	const struct sl_graph_record *g = sl_graphs_find(j->d->graphs, job->graph);
	if (sl_init_wants_pca(&job->params, g && g->kind == SL_KIND_POINTS)) {
		sl__job_ref(job);
		j->works++;
		if (sl_graphs_acquire(j->d->graphs, job->graph, SL_PART_DATA, points_ready, job, &err)) {
			fail_and_pump(job, &err);
			sl__job_unref(job);
			j->works--;
		}
	} else if (job->has_initial || job->has_checkpoint) {
		load(job, NULL);
	} else {
		send_to_device(job, NULL, NULL, 0);
	}
}

static void affinities_ready(void *arg, struct sl_affinity *entry, const struct sl_error *err)
{
	struct sl_job *job = arg;
	job->affinity = entry;
	if (!give_up(job)) {
		if (err && !wait_for_search(job))
			fail_and_pump(job, err);
		else if (!err)
			start(job);
	}
	sl__jobs_shutdown_step(job->jobs);
	sl__job_unref(job);
}

/* Does the device make the affinities from neighbours? Not when something else needs them on the host. */
static bool device_makes(const struct sl_job *job)
{
	const struct sl_engine *engine = job->engine->functions;
	const struct sl_graph_record *g = sl_graphs_find(job->jobs->d->graphs, job->graph);
	if (!engine->neighbours_put || !engine->neighbours_graph || !g || g->kind == SL_KIND_GRAPH)
		return false;
	return job->params.init != SL_INIT_SPECTRAL || engine->walk_filter;
}

void sl__job_place(struct sl_job *job, struct sl_server_device *device)
{
	struct sl_jobs *j = job->jobs;
	struct sl_error err;
	enum sl_affinity_form form = device_makes(job) ? SL_AFFINITY_DEVICE : SL_AFFINITY_HOST;
	job->stage = SL_STAGE_PREPARING;
	job->placed_ns = uv_hrtime();
	job->device = device;
	memcpy(job->device_id, device->id, sizeof job->device_id);
	sl__job_activate(job, 1);
	j->placed++;
	device->placed++;
	sl__job_book(job, 1);
	sl__job_ref(job);
	if (sl_affinity_acquire(j->engines->affinities, job->graph, &job->params, form, affinities_ready, job, &err)) {
		fail_and_pump(job, &err);
		sl__job_unref(job);
	}
}
