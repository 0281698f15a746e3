/* Limits of users and projects on jobs: whether a new job is accepted.
 * Accepted jobs stay: a lower limit makes them wait and ends none. Loop thread. */
#include <stdio.h>
#include <string.h>

#include "daemon/jobs/record/spec.h"
#include "daemon/layouts/layouts.h"
#include "daemon/upkeep/maintenance.h"

#define DRAIN_RETRY_S 300

static uint64_t disk_bytes(const struct sl_job *job)
{
	bool has = !sl__job_ended(job) || job->record.has_layout || job->record.has_results;
	return has ? sl__work_disk_bytes(&job->record.work, job->record.nodes) : 0;
}

uint64_t sl__limits_disk_bytes(void *arg, const char *account)
{
	const struct sl_jobs *j = arg;
	uint64_t bytes = sl_layouts_disk_use(j->d->layouts, account);
	SL_LIST_EACH(const struct sl_job, job, &j->all, listed.all)
		if (sl__job_counts_for(job, account))
			bytes += disk_bytes(job);
	return bytes;
}

void sl_jobs_each_holding(const struct sl_jobs *j, void (*each)(void *arg, const struct sl_job_holding *h), void *arg)
{
	SL_LIST_EACH(const struct sl_job, job, &j->all, listed.all) {
		bool placed = job->place.device, queued = !sl__job_ended(job) && job->life.state != SL_JOB_RUNNING;
		struct sl_job_holding h = {
			.id = job->record.id, .user = job->record.user, .project = job->record.project, .queued = queued,
			.running = placed, .disk_bytes = disk_bytes(job), .device_bytes = placed ? job->place.device_bytes : 0,
		};
		each(arg, &h);
	}
}

static int count_queued(const struct sl_jobs *j, const char *account)
{
	int count = 0;
	SL_LIST_EACH(const struct sl_job, job, &j->unfinished, listed.unfinished)
		count += job->life.state != SL_JOB_RUNNING && sl__job_counts_for(job, account);
	return count;
}

uint64_t sl__limits_search_bytes(const struct sl_job_spec *spec)
{
	const struct sl_graph_record *g = spec->graph;
	uint32_t k = g->kind == SL_KIND_POINTS ? sl__work_neighbours(&spec->work, g) : 0;
	return k ? sl_graphs_search_bytes(g, k) : 0;
}

/* True if that search exceeds the limit of another user, to whom the points belong. */
static bool owner_exceeds(struct sl_jobs *j, const struct sl_job_spec *spec)
{
	struct sl_limit_hit hit;
	const char *id = spec->graph->id;
	uint64_t more = sl__limits_search_bytes(spec);
	for (int i = 0; more && i < sl_users_owners(j->d->users, id); i++)
		if (sl_graphs_exceed(j->d->graphs, sl_users_owner(j->d->users, id, i), more, &hit))
			return true;
	return false;
}

static bool exceeds(struct sl_jobs *j, const char *account, const struct sl_job_spec *spec, int count,
		    struct sl_limit_hit *hit)
{
	const struct sl_users *u = j->d->users;
	double device = (double)sl__work_device_bytes(&spec->work, spec->engine, spec->graph->nodes);
	if (!account[0])
		return false;
	if (sl_users_device_time_is_over(u, account, hit) ||
	    sl_users_exceeds(u, account, SL_LIMIT_DEVICE_BYTES, 0, device, hit))
		return true;
	if (sl_users_limit(u, account, SL_LIMIT_QUEUED_JOBS) > 0 &&
	    sl_users_exceeds(u, account, SL_LIMIT_QUEUED_JOBS, count_queued(j, account), count, hit))
		return true;
	uint64_t search = sl_users_counts_toward_quota(u, account, spec->graph->id) ? sl__limits_search_bytes(spec) : 0;
	return sl_graphs_exceed(j->d->graphs, account,
				search + sl__work_disk_bytes(&spec->work, spec->graph->nodes) * (uint64_t)count, hit);
}

static int count_unfinished(const struct sl_jobs *j, const char *account)
{
	int count = 0;
	SL_LIST_EACH(const struct sl_job, job, &j->unfinished, listed.unfinished)
		count += !strcmp(job->record.user, account);
	return count;
}

/* The beginning of the refusal of a batch; "" for one job. */
static const char *with_more(int more, char *text, size_t bytes)
{
	if (more > 1)
		snprintf(text, bytes, "This batch has %d jobs, and ", more);
	return more > 1 ? text : "";
}

/* Clients that wait for the end of a maintenance need not ask often. */
static bool refuse_work(struct sl_jobs *j, struct sl_request *r)
{
	if (j->d->ending) {
		sl_reply_status(r, 503, "The server is being stopped; submit the job again when it is back.");
		return true;
	}
	if (!sl_maintenance_drains(j->d->maintenance))
		return false;
	sl_reply_header(r, "Retry-After", "%d", DRAIN_RETRY_S);
	sl_reply_status(r, 503, "%s", sl_maintenance_why(j->d->maintenance));
	return true;
}

bool sl__limits_refuse_number(struct sl_jobs *j, struct sl_request *r, int more)
{
	const struct sl_principal *who = sl_request_who(r);
	int64_t most = j->d->config.max_jobs, of_user = sl_users_part(j->d->users, who->account, most);
	int64_t all = j->count[SL_JOB_QUEUED] + j->count[SL_JOB_RUNNING] + j->count[SL_JOB_PAUSED];
	char batch[64];
	if (refuse_work(j, r))
		return true;
	if (of_user < most) {
		int own = count_unfinished(j, who->account);
		if (own + more > of_user) {
			sl_reply_status(r, 429, "%s%d of your jobs have not finished yet. A user may have %lld, a quarter of those "
					"that the server takes (max_jobs).", with_more(more, batch, sizeof batch), own,
					(long long)of_user);
			return true;
		}
	}
	if (all + more <= most)
		return false;
	sl_reply_status(r, 429, "%s%lld jobs have not finished yet, and no more than %lld are allowed (max_jobs).",
			with_more(more, batch, sizeof batch), (long long)all, (long long)most);
	return true;
}

bool sl__limits_refuse(struct sl_jobs *j, struct sl_request *r, const struct sl_job_spec *spec, int count)
{
	struct sl_limit_hit hit;
	const struct sl_principal *who = sl_request_who(r);
	if (sl__limits_refuse_number(j, r, count))
		return true;
	if (exceeds(j, who->account, spec, count, &hit) || exceeds(j, who->project, spec, count, &hit)) {
		sl_reply_limit(r, &hit);
		return true;
	}
	if (!owner_exceeds(j, spec))
		return false;
	sl_reply_status(r, 413, "this perplexity needs another search of neighbours, which would exceed the limit "
			"disk_bytes of the user to whom the points belong");
	return true;
}

bool sl__limits_refuse_change(struct sl_job *job, struct sl_request *r, const struct sl_work *to)
{
	struct sl_limit_hit hit;
	struct sl_graphs *graphs = job->jobs->d->graphs;
	uint64_t now = sl__work_disk_bytes(&job->record.work, job->record.nodes);
	uint64_t then = sl__work_disk_bytes(to, job->record.nodes);
	if (then <= now || (!sl_graphs_exceed(graphs, job->record.user, then - now, &hit) &&
			    !sl_graphs_exceed(graphs, job->record.project, then - now, &hit)))
		return false;
	sl_reply_limit(r, &hit);
	return true;
}

json_t *sl_jobs_use_of(struct sl_jobs *j, const char *account)
{
	int running;
	uint64_t bytes;
	sl_share_running(&j->queue, account, &running, &bytes);
	return json_pack("{s:f, s:I, s:I, s:i, s:i}", "device_seconds", sl_users_device_seconds(j->d->users, account),
			 "device_bytes", (json_int_t)bytes, "disk_bytes", (json_int_t)sl_graphs_disk_use(j->d->graphs, account),
			 "queued_jobs", count_queued(j, account), "running_jobs", running);
}
