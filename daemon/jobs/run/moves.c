/* Moves a running job to another device of its engine: the device saves the state of the run, as for a checkpoint, and
 * forgets the job; the other one restores it. So a job that has moved ends with the same bytes. queue/moves.c decides,
 * once a second, which job moves; this file tells which ones may. One job moves at a time, and rests after that.
 *
 * Devices must be of the same kind. Requests during a move (cancel, pause, stop, new parameters) are executed on the
 * new device. If that lacks memory, the job returns to the old device and stays there. Loop thread. */
#include <string.h>

#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/upkeep/maintenance.h"
#include "daemon/util/log.h"

#define EVERY_MS 1000
#define LASTING_S 2.0     /* jobs that will end sooner do not move, and do not count as load */
#define PREPARATIONS 10   /* the same for jobs that will end within so many times their preparation time */
#define SETTLED_MS 1000   /* a job stays at least so long after its start on a device */
#define REST_MS 10000     /* the same after a move */
#define STAYS_MS 600000   /* time before a job that could not move may move again */
#define NOTES 10          /* moves of a job that are noted in its record */

/* ---- which job may move --------------------------------------------------------------- */

static struct sl_job *job_of(const struct sl_place *p)
{
	return SL_LIST_ITEM(struct sl_job, (struct sl_link *)&p->placed, place.placed);
}

bool sl__place_lasts(const struct sl_place *p)
{
	const struct sl_job *job = job_of(p);
	double left_s = job->life.stage == SL_STAGE_RUNNING && job->life.wish == SL_WISH_RUN ? sl__job_remaining_s(job) : 0;
	return left_s >= LASTING_S && !(left_s < PREPARATIONS * job->record.preparation_s);
}

static bool may_leave(const struct sl_job *job)
{
	uint64_t now = uv_now(job->jobs->d->loop), since = now - job->run.settled_ms;
	return now >= job->run.stays_ms && !job->run.alone && since >= (job->record.moves ? REST_MS : SETTLED_MS);
}

/* True if the device is of the same kind as the job's and has room, perhaps after dropping unused graphs. */
static bool may_come(const struct sl_job *job, const struct sl_server_device *to)
{
	const struct sl_device_info *info = &to->state.info;
	const struct sl_graph_record *g = sl_graphs_find(job->jobs->d->graphs, job->record.graph);
	uint64_t room = info->memory_budget ? info->memory_budget : info->memory_total;
	uint64_t graph = 8 * sl__work_entries(&job->record.work, g);
	if (strcmp(job->place.device->state.info.name, info->name) != 0 ||
	    !sl_server_device_has_room(to, sl__job_small(job)))
		return false;
	return !room || info->embedding_bytes + job->place.device_bytes + graph <= room;
}

static void stay(struct sl_job *job)
{
	job->run.stays_ms = uv_now(job->jobs->d->loop) + STAYS_MS;
}

bool sl__place_may_move(const struct sl_place *p, const struct sl_server_device *to)
{
	return may_leave(job_of(p)) && may_come(job_of(p), to);
}

void sl__place_move(struct sl_place *p, struct sl_server_device *to)
{
	struct sl_job *job = job_of(p);
	if (!sl__job_step(job, SL_ON_LEAVE))
		return;  /* no memory: tries again a second later */
	job->jobs->mover = job;
	job->run.bound_for = to;
}

void sl__jobs_balance(struct sl_jobs *j)
{
	uint64_t now = uv_now(j->d->loop);
	if (now - j->balanced_ms < EVERY_MS || j->mover || j->stopping)
		return;
	j->balanced_ms = now;
	sl_queue_balance(&j->queue);
}

/* ---- the move ------------------------------------------------------------------------- */

void sl__job_on_left(struct sl_job *job, struct sl_device_event *e)
{
	struct sl_jobs *j = job->jobs;
	struct sl_server_device *from = job->place.device, *to = job->run.bound_for;
	if (!e->blob) {
		sl_log_warning("jobs", "%s stays on %s: %s", job->record.id, from->id, e->err.detail);
		stay(job);
		sl__move_over(job);
		sl__job_step(job, SL_ON_STAYED);
		return;
	}
	sl_watch_lost(&job->readers.watch);  /* a snapshot requested after this will not come */
	sl__job_step(job, SL_ON_LEFT);
	job->run.carried = e->blob;
	job->run.carried_bytes = e->bytes;
	job->run.carried_status = e->status;
	e->blob = NULL;
	bool room = to && sl_server_device_has_room(to, sl__job_small(job));
	if (j->stopping || sl_maintenance_is_due(j->d->maintenance) || (from->leaving && !room)) {
		j->saved = j->saved || from->leaving;
		sl__move_over(job);
		sl__job_step(job, SL_ON_STOPS);
		sl__job_keep_carried(job);
		return;
	}
	job->run.came_from = from;
	sl__job_place(job, room ? to : from);
	j->pump(j);
}

void sl__job_arrived(struct sl_job *job)
{
	const struct sl_server_device *from = job->run.came_from, *to = job->place.device;
	if (from == to) {
		stay(job);
	} else {
		sl_metric_add(job->jobs->metric_moves, 1);
		sl_log_info("jobs", "%s moved from %s to %s at iteration %d", job->record.id, from->id, to->id,
			    job->record.status.iteration);
		sl__record_moved(&job->record);
		if (job->record.moves <= NOTES)
			sl__record_note(&job->record, "At iteration %d the job moved from %s, which had more to do, to %s.",
					job->record.status.iteration, from->id, to->id);
	}
	sl__move_over(job);
	sl__job_record_change(job);
	if (job->life.stage == SL_STAGE_PAUSED)
		sl__job_checkpoint(job, SL_CHECKPOINT_ON_NEWER);
}

bool sl__job_go_back(struct sl_job *job, const struct sl_error *err)
{
	struct sl_server_device *back = job->run.came_from;
	if (!back || back == job->place.device || err->code != SL_DEVMEM || job->jobs->stopping)
		return false;
	sl_log_info("jobs", "%s goes back to %s: %s", job->record.id, back->id, err->detail);
	sl__job_step(job, SL_ON_BACK);
	stay(job);
	if (sl_server_device_has_room(back, sl__job_small(job))) {
		sl__job_place(job, back);
	} else {
		sl__move_over(job);
		job->place.waiting.bytes = job->place.bytes;
		sl__job_step(job, SL_ON_READY);
	}
	job->jobs->pump(job->jobs);
	return true;
}
