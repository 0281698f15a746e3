/* What is told of allocations: why jobs wait, which allocation a device has, and metrics. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "daemon/slurm/slurm_internal.h"
#include "daemon/util/metrics.h"
#include "daemon/util/time_text.h"

/* Slurm's words for why a job waits that say little to those who do not know Slurm. */
static const char *meaning(const char *reason)
{
	static const struct { const char *word, *text; } words[] = {
		{"Resources", "no node is free"},
		{"Priority", "other jobs come first"},
		{"Dependency", "it depends on another job"},
		{"BeginTime", "it may not begin yet"},
		{"JobHeldUser", "it is held"},
		{"JobHeldAdmin", "an administrator holds it"},
		{"Licenses", "a licence is not free"},
		{"ReqNodeNotAvail", "the nodes that it needs are not available"},
		{"PartitionDown", "its partition is down"},
		{"PartitionTimeLimit", "slurm_time_s is above the partition's limit"},
		{"Reservation", "it waits for a reservation"},
	};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strncmp(reason, words[i].word, strlen(words[i].word)))
			return words[i].text;
	return NULL;
}

/* The allocation that tells most about this job: its own, else the one that is expected first. */
static const struct sl__allocation *telling(const struct sl_slurm *s, const char *job)
{
	const struct sl__allocation *best = NULL;
	SL_LIST_EACH(const struct sl__allocation, a, &s->allocations, link) {
		if (a->stage >= SL_ALLOCATION_ENDING)
			continue;
		if (!strcmp(a->need.job, job))
			return a;
		bool sooner = best && a->start_s && (!best->start_s || a->start_s < best->start_s);
		best = !best || sooner ? a : best;
	}
	return best;
}

static void tell_queued(const struct sl__allocation *a, char *text, size_t bytes)
{
	const char *reason = a->reason[0] && strcmp(a->reason, "None") ? a->reason : NULL;
	const char *means = reason ? meaning(reason) : NULL;
	char start[64] = "";
	time_t at = (time_t)a->start_s;
	struct tm day;
	if (a->start_s && gmtime_r(&at, &day))
		strftime(start, sizeof start, ". Slurm expects that it starts on %Y-%m-%d at %H:%M UTC", &day);
	snprintf(text, bytes, "Slurm job %llu is in the queue%s%s%s%s%s.", (unsigned long long)a->id, reason ? ": " : "",
		 reason ? reason : "", means ? ", which means: " : "", means ? means : "", start);
}

static void tell_none(const struct sl_slurm *s, char *text, size_t bytes)
{
	uint64_t now = uv_now(s->d->loop);
	if (s->problem[0])
		snprintf(text, bytes, "There is no allocation: %.200s. The server tries again in %.0f s.", s->problem,
			 s->again_ms > now ? (double)(s->again_ms - now) * 1e-3 : 0.0);
	else
		snprintf(text, bytes, "An allocation will be requested from Slurm.");
}

void sl_slurm_why(const struct sl_slurm *s, const char *job, char *text, size_t bytes, double *expected_s)
{
	const struct sl__allocation *a = telling(s, job);
	*expected_s = NAN;
	if (s->silent_s && (!a || a->stage != SL_ALLOCATION_LIVE)) {
		snprintf(text, bytes, "slurmctld does not answer (%.200s).", s->no_answer);
		return;
	}
	if (!a) {
		tell_none(s, text, bytes);
		return;
	}
	switch (a->stage) {
	case SL_ALLOCATION_ASKING:
	case SL_ALLOCATION_UNSURE:
		snprintf(text, bytes, "An allocation is being requested from Slurm.");
		break;
	case SL_ALLOCATION_QUEUED:
		tell_queued(a, text, bytes);
		if (a->start_s)
			*expected_s = fmax(0, (double)a->start_s - (double)sl_time_now_ms() * 1e-3);
		break;
	case SL_ALLOCATION_STARTED:
		snprintf(text, bytes, "Slurm job %llu has started on %s; its worker has not connected yet.",
			 (unsigned long long)a->id, a->node[0] ? a->node : "a node");
		break;
	case SL_ALLOCATION_AWAY:
		snprintf(text, bytes, "The worker of Slurm job %llu is not connected; Slurm will tell what became of it.",
			 (unsigned long long)a->id);
		break;
	default:
		snprintf(text, bytes, "All workers in Slurm's allocations are full, or their devices are not open%s%.200s.",
			 s->silent_s ? "; slurmctld does not answer: " : s->problem[0] ? "; there is no further allocation: " : "",
			 s->silent_s ? s->no_answer : s->problem);
		break;
	}
}

bool sl_slurm_facts(const struct sl_slurm *s, const struct sl_server_device *d, struct sl_slurm_facts *out)
{
	if (!s || !d || !d->remote)
		return false;
	const struct sl__allocation *a =
		SL_LIST_FIND(const struct sl__allocation, item, &s->allocations, link, item->worker == d->remote);
	if (!a)
		return false;
	*out = (struct sl_slurm_facts){.job = a->id, .gpus = a->gpus};
	memcpy(out->node, a->node, sizeof out->node);
	return true;
}

/* ---- metrics -------------------------------------------------------------------------------------- */

static void collect(void *slurm)
{
	const struct sl_slurm *s = slurm;
	int count[SL_ALLOCATION_STAGES] = {0};
	SL_LIST_EACH(const struct sl__allocation, a, &s->allocations, link)
		count[a->stage]++;
	for (int i = 0; i < SL_ALLOCATION_ENDED; i++)
		sl_metric_set(s->metric_stage[i], count[i]);
	sl_metric_set(s->metric_answers, s->silent_s ? 0 : 1);
}

void sl__slurm_register(struct sl_slurm *s)
{
	struct sl_metrics *m = s->d->metrics;
	for (int i = 0; i < SL_ALLOCATION_ENDED; i++) {
		char label[64];
		snprintf(label, sizeof label, "stage=\"%s\"", sl_allocation_stage_name((enum sl_allocation_stage)i));
		s->metric_stage[i] = sl_metrics_register(m, SL_GAUGE, "spaceland_slurm_allocations", label,
							 "Allocations in Slurm.");
	}
	s->metric_answers = sl_metrics_register(m, SL_GAUGE, "spaceland_slurm_up", NULL,
						"1: slurmctld has answered the last listing; 0: it does not answer.");
	s->metric_queries = sl_metrics_register(m, SL_COUNTER, "spaceland_slurm_listings_total", NULL,
						"Listings of Slurm's queue (squeue).");
	s->metric_requests = sl_metrics_register(m, SL_COUNTER, "spaceland_slurm_requests_total", NULL,
						 "Requests for allocations (sbatch).");
	s->metric_refused = sl_metrics_register(m, SL_COUNTER, "spaceland_slurm_refusals_total", NULL,
						"Requests for allocations that Slurm has refused.");
	s->metric_s = sl_metrics_register(m, SL_COUNTER, "spaceland_slurm_worker_seconds_total", NULL,
					  "Time of all workers in allocations.");
	s->metric_idle_s = sl_metrics_register(m, SL_COUNTER, "spaceland_slurm_idle_seconds_total", NULL,
					       "The part of this time without any job.");
	sl_metrics_on_collect(m, collect, s);
}
