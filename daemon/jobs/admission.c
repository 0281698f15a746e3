/* Admission: which waiting job gets a place on which device, and giving the place up. Loop thread. */
#include <stddef.h>

#include "daemon/jobs/jobs_internal.h"

#define PATIENCE_MS 5000  /* that the first of a line waits for memory before others are held back for it */

static void leave_device(struct sl_job *job)
{
	struct sl_job **at = &job->jobs->on_device;
	while (*at && *at != job)
		at = &(*at)->next_on_device;
	if (*at)
		*at = job->next_on_device;
}

/* Gives the place up. */
void sl__job_release_place(struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	leave_device(job);
	sl_affinity_release(j->engines->affinities, job->affinity);
	job->affinity = NULL;
	j->placed--;
	job->device->placed--;
	j->used_bytes -= job->bytes;
	if (job->stage != SL_STAGE_DEVICE || job->state != SL_JOB_PAUSED)
		sl__job_activate(job, -1);
	job->device = NULL;
}

void sl__job_activate(struct sl_job *job, int by)
{
	job->jobs->active += by;
	job->device->active += by;
}

struct sl_job *sl__job_of_waiting(struct sl_waiting *w)
{
	return (struct sl_job *)((char *)w - offsetof(struct sl_job, waiting));
}

/* The first of a line comes in whatever it takes when nothing else runs; on a device of its own, when the host has the
 * memory that it needs. */
static bool first_may_pass(const struct sl_server_engine *e, const struct sl_server_device *d, uint64_t free_bytes)
{
	const struct sl_job *first = sl__job_of_waiting(e->backlog.first);
	return d->active == 0 && (first->jobs->active == 0 || first->bytes <= free_bytes);
}

/* Host memory is all engines': where the jobs of one take it again and again, those of another would wait for ever. So
 * after a while they wait, too, until the one that lacks it has come in. */
static bool held_back(struct sl_jobs *j, const struct sl_server_engine *e)
{
	uint64_t now = uv_now(j->d->loop);
	for (int i = 0; i < SL_ENGINES_COUNT; i++) {
		const struct sl_server_engine *o = &j->engines->engine[i];
		if (o != e && o->short_ms && now - o->short_ms >= PATIENCE_MS && (!e->short_ms || o->short_ms < e->short_ms))
			return true;
	}
	return false;
}

static void pump_engine(struct sl_jobs *j, struct sl_server_engine *e)
{
	struct sl_server_device *d;
	if (!e->backlog.first)
		e->short_ms = 0;
	while ((d = sl_server_engine_room(e)) && !held_back(j, e)) {
		uint64_t free_bytes = j->memory_bytes > j->used_bytes ? j->memory_bytes - j->used_bytes : 0;
		struct sl_waiting *w = sl_backlog_take(&e->backlog, free_bytes, first_may_pass(e, d, free_bytes));
		if (!w) {
			if (!e->short_ms && d->active == 0)
				e->short_ms = uv_now(j->d->loop);
			return;
		}
		e->short_ms = 0;
		struct sl_job *job = sl__job_of_waiting(w);
		sl__job_place(job, sl_server_engine_best(e, job->graph, &job->params));
	}
}

void sl__jobs_pump(struct sl_jobs *j)
{
	if (!j->stopping)
		sl__measurements_pump(j);
	for (int i = 0; i < SL_ENGINES_COUNT && !j->stopping; i++)
		pump_engine(j, &j->engines->engine[i]);
}
