/* Jobs in line: they join and leave it, take their places, and tell why they wait and for how long. Who is next is
 * decided by queue/queue.h. Loop thread. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/sort.h"
#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/json/json.h"
#include "daemon/slurm/slurm.h"
#include "daemon/upkeep/maintenance.h"

#define LOOK_AHEAD 1000   /* jobs of a line whose times are added; the others are assumed to take as long on average */

void sl__job_place(struct sl_job *job, struct sl_server_device *device)
{
	job->place.device = device;
	sl__job_step(job, job->run.carried ? SL_ON_PLACED_CARRYING : SL_ON_PLACED);
}

void sl__place_start(struct sl_place *p)
{
	struct sl_job *job = SL_LIST_ITEM(struct sl_job, &p->waiting.link, place.waiting.link);
	struct sl_affinities_params wanted;
	bool affinities = sl__work_affinities(&job->record.work, &wanted);
	sl__job_place(job, sl_server_engine_best(p->engine, p->small, job->record.graph, affinities ? &wanted : NULL));
}

void sl__job_take_place(struct sl_job *job)
{
	sl__record_device(&job->record, job->place.device->id);
	sl_queue_take(&job->jobs->queue, &job->place);
}

void sl__job_activate(struct sl_job *job)
{
	sl_queue_activate(&job->jobs->queue, &job->place, 1);
}

void sl__job_deactivate(struct sl_job *job)
{
	sl_queue_activate(&job->jobs->queue, &job->place, -1);
}

void sl__job_join_line(struct sl_job *job)
{
	sl__move_over(job);
	job->place.device_bytes = sl__work_device_bytes(&job->record.work, job->place.engine, job->record.nodes);
	sl_queue_join(&job->place);
}

void sl__job_leave_line(struct sl_job *job)
{
	sl_queue_leave(&job->place);
}

/* ---- why a job waits ------------------------------------------------------------------- */

double sl__job_remaining_s(const struct sl_job *job)
{
	int left = sl__job_iterations(job) - job->record.status.iteration;
	const struct sl_graph_record *g = sl_graphs_find(job->jobs->d->graphs, job->record.graph);
	struct sl_settings settings;
	if (!sl__work_settings(&job->record.work, job->record.nodes, &settings))
		return fmax(0, sl__job_forecast(job) - job->record.status.seconds);
	const struct sl_status *s = &job->record.status;
	double each = s->iteration > 0 && s->seconds > 0 ? s->seconds / s->iteration :
		      sl_server_engine_seconds(job->place.engine, &settings, job->record.nodes,
					       sl__work_entries(&job->record.work, g));
	return left > 0 && each > 0 ? left * each : 0;
}

/* The waiting times of the job's line. They are computed at most once in a turn of the loop, because a list of jobs
 * needs them for each job. */
static const struct sl__line_view *view_line(const struct sl_job *job)
{
	struct sl_jobs *j = job->jobs;
	const struct sl_server_engine *e = job->place.engine;
	int small = sl__job_small(job), ahead = 0;
	const struct sl_backlog *line = &e->line[small];
	struct sl__line_view *v = &j->view[e - j->engines->engine][small];
	double ahead_s = 0;
	if (v->turn_ms == uv_now(j->d->loop) && v->changes == line->changes)
		return v;
	*v = (struct sl__line_view){.turn_ms = uv_now(j->d->loop), .changes = line->changes};
	SL_LIST_EACH(struct sl_waiting, w, &line->waiting, link) {
		struct sl_job *o = sl__job_of_waiting(w);
		o->place.ahead = ahead;
		o->place.ahead_s = ahead > LOOK_AHEAD ? ahead_s * ahead / LOOK_AHEAD : ahead_s;
		ahead_s += ahead++ < LOOK_AHEAD ? sl__job_remaining_s(o) : 0;
	}
	SL_LIST_EACH(const struct sl_job, o, &j->on_device, run.on_device)
		if (v->running < SL_PLACES_SMALL && o->place.engine == e && o->life.state == SL_JOB_RUNNING &&
		    sl__job_small(o) == small)
			v->all_s += v->left_s[v->running++] = sl__job_remaining_s(o);
	qsort(v->left_s, (size_t)v->running, sizeof *v->left_s, sl_by_double);
	return v;
}

/* Seconds until a place becomes free for a job in line, if the running jobs share the device and end one after the
 * other. */
static double until_place(const struct sl_job *job)
{
	const struct sl__line_view *v = view_line(job);
	int devices = sl_server_engine_width(job->place.engine);
	int places = (sl__job_small(job) ? SL_PLACES_SMALL : SL_PLACES_LARGE) * devices;
	int to_end = v->running + job->place.ahead - places + 1;
	double sum = 0;
	if (to_end <= 0)
		return 0;
	for (int i = 0; i < v->running && i < to_end; i++)
		sum += i + 1 == to_end ? v->left_s[i] * (v->running - i) : v->left_s[i];
	return (to_end > v->running ? v->all_s + job->place.ahead_s : sum) / devices;
}

/* Seconds until it has a place; NAN: unknown. */
static double expected_wait(const struct sl_job *job)
{
	if (job->life.stage == SL_STAGE_PREPARING || job->life.stage == SL_STAGE_MOVING)
		return 0;
	return job->life.stage != SL_STAGE_WAITING || job->place.waiting.held ? NAN : until_place(job);
}

/* *expected_s: changed if it is known better. */
static const char *why_in_line(const struct sl_job *job, char *text, size_t room, double *expected_s)
{
	const struct sl_server_engine *e = job->place.engine;
	int small = sl__job_small(job), open = 0, places = 0;
	struct sl_limit_hit hit;
	if (sl_maintenance_drains(job->jobs->d->maintenance)) {
		snprintf(text, room, "It starts after the maintenance of the server.");
		return "maintenance";
	}
	for (int i = 0; i < e->devices; i++) {
		const struct sl_server_device *d = &e->device[i];
		open += d->stage == SL_DEVICE_OPEN && !d->state.down;
		places += d->active[small];
	}
	if (sl_queue_holds(&job->jobs->queue, &job->place, &hit)) {
		sl_limit_text(&hit, text, room);
		text[0] = (char)toupper(text[0]);
		return hit.limit == SL_LIMIT_OWNER ? "owner" : "limit";
	}
	if (!open && job->jobs->d->slurm && !strcmp(e->name, SL_ENGINE_SLURM)) {
		sl_slurm_why(job->jobs->d->slurm, job->record.id, text, room, expected_s);
		return "slurm";
	}
	if (!open) {
		snprintf(text, room, "No device of engine %s is open now.", e->name);
		return "device";
	}
	const char *full = sl_share_is_full(&job->jobs->queue, &job->place);
	if (places < open * (small ? SL_PLACES_SMALL : SL_PLACES_LARGE) && full) {
		snprintf(text, room, "Its %s has all the places that one %s may have for %s jobs.", full, full,
			 small ? "small" : "large");
		return "place";
	}
	if (places >= open * (small ? SL_PLACES_SMALL : SL_PLACES_LARGE)) {
		snprintf(text, room, "All %d places of engine %s for %s jobs are taken.", places, e->name,
			 small ? "small" : "large");
		return "place";
	}
	if (job->place.waiting.bytes == UINT64_MAX)
		snprintf(text, room, "It needs more device memory than is free.");
	else
		snprintf(text, room, "It needs %.0f MiB of host memory; %.0f MiB are free.",
			 (double)job->place.waiting.bytes / 1048576,
			 (double)sl_queue_free_bytes(&job->jobs->queue, small) / 1048576);
	return "memory";
}

json_t *sl__job_waiting_json(const struct sl_job *job)
{
	char text[600] = "";
	const char *reason;
	json_t *at = json_null();
	double wait_s = expected_wait(job);
	if (job->life.state != SL_JOB_QUEUED && !sl_stage_is_ending(job->life.stage))
		return json_null();
	switch (job->life.stage) {
	case SL_STAGE_NO_ROOM:
		reason = "disk";
		snprintf(text, sizeof text, "There was no room for a copy of the layout of job %s; the server tries again.",
			 job->record.after);
		break;
	case SL_STAGE_AFTER:
	case SL_STAGE_COPYING:
		reason = "after";
		snprintf(text, sizeof text, "It starts when job %s is done.", job->record.after);
		break;
	case SL_STAGE_SEARCHING:
		reason = "search";
		snprintf(text, sizeof text, "The neighbours of its points are being searched.");
		break;
	case SL_STAGE_PARKED:
		if (!sl_maintenance_drains(job->jobs->d->maintenance))
			return json_null();
		reason = "maintenance";
		snprintf(text, sizeof text, "It is saved, and goes on after the maintenance of the server.");
		break;
	case SL_STAGE_WAITING:
		reason = why_in_line(job, text, sizeof text, &wait_s);
		view_line(job);
		at = json_integer(job->place.ahead + 1);
		break;
	case SL_STAGE_PREPARING:
	case SL_STAGE_MOVING:
		reason = "affinities";
		snprintf(text, sizeof text, "Its %s being made.", job->record.work.method->affinities ? "affinities are" :
			 "run is");
		break;
	case SL_STAGE_SAVING:
	case SL_STAGE_RECORDING:
	case SL_STAGE_OUTDATED:
	case SL_STAGE_UNSAVED:
		if (!job->saving.problem.code)
			return json_null();
		reason = "disk";
		snprintf(text, sizeof text, "Its end could not be recorded; the server tries again: "
			 "%.200s", job->saving.problem.detail);
		break;
	default:
		return json_null();
	}
	return json_pack("{s:s, s:s, s:o, s:o}", "reason", reason, "detail", text, "position", at, "expected_seconds",
			 sl_json_number(wait_s));
}
