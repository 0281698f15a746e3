/* What a job waits for before it is in line; its priority and parameters while it runs. Loop thread. */
#include <string.h>

#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs_internal.h"

/* True if the neighbours that the job needs are known. Otherwise it waits for them, without a place, or fails. */
static bool neighbours_ready(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	const struct sl_graph_record *g = sl_graphs_find(j->d->graphs, job->record.graph);
	struct sl_error err;
	uint32_t needed = sl__work_neighbours(&job->record.work, g);
	if (!needed)
		return true;
	switch (sl_graphs_want(j->d->graphs, job->record.graph, needed, &err)) {
	case SL_SEARCH_RUNNING:
		sl__job_step(job, SL_ON_MUST_SEARCH);
		return false;
	case SL_SEARCH_FAILED:
		sl__job_fail(job, &err);
		return false;
	default:
		return true;
	}
}

void sl__job_check(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	const struct sl_graph_record *g = sl_graphs_find(j->d->graphs, job->record.graph);
	if (j->stopping) {
		sl__job_step(job, SL_ON_STOPS);
		return;
	}
	if (!sl__after_ready(job) || !neighbours_ready(job))
		return;
	uint64_t bytes = sl__work_host_bytes(&job->record.work, job->place.engine, job->record.nodes,
					     sl__work_entries(&job->record.work, g));
	/* a worker elsewhere has memory of its own; its result comes here */
	job->place.away_bytes = job->place.engine->elsewhere ? bytes : 0;
	job->place.bytes = !job->place.away_bytes ? bytes :
			   2 * sl__work_disk_bytes(&job->record.work, job->record.nodes);
	job->place.waiting.bytes = job->place.bytes;
	sl__job_step(job, SL_ON_READY);
}

/* Called when a search has ended: waiting jobs continue, or wait for the next, larger search. */
void sl__jobs_on_search(void *arg, const char *graph)
{
	struct sl_jobs *j = arg;
	const struct sl_graph_record *g = sl_graphs_find(j->d->graphs, graph);
	const struct sl_error *problem = sl_graphs_search_problem(j->d->graphs, graph);
	if (j->stopping || !g)
		return;
	SL_LIST_EACH(struct sl_job, job, &j->unfinished, listed.unfinished) {
		if (job->life.stage != SL_STAGE_SEARCHING || strcmp(job->record.graph, graph))
			continue;
		uint32_t k = sl__work_neighbours(&job->record.work, g);
		if (g->k >= k || g->k >= g->points - 1)
			sl__job_step(job, SL_ON_SEARCHED);
		else if (problem)
			sl__job_fail(job, problem);
	}
}

void sl__job_set_priority(struct sl_job *job, int priority)
{
	if (job->life.stage == SL_STAGE_WAITING)
		sl_queue_set_priority(&job->place, priority);
	job->place.priority = priority;
	if (sl_stage_is_on_device(job->life.stage))
		sl_device_set_priority(job->place.device->port, job->run.key, priority);
}

void sl__job_steer(struct sl_job *job, const struct sl_work *work)
{
	sl__record_params(&job->record, &work->params);
	if (sl_stage_is_on_device(job->life.stage))
		sl_device_steer(job->place.device->port, job->run.key, &work->params, work->method->params_bytes);
}
