/* Asks Slurm: sbatch, squeue and scancel as processes, one of each at a time, so that the loop never waits; or
 * slurmrestd (rest.c). Their answers become events of allocations. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "daemon/slurm/slurm_internal.h"
#include "daemon/util/log.h"
#include "daemon/util/metrics.h"
#include "daemon/util/time_text.h"

#define LIMIT_MS 60000                 /* of a process; without slurmctld they give up after 10 s by themselves */
#define LISTING_MOST (32u << 20)       /* bytes: about 100,000 jobs */
#define TEXT_MOST 4096
#define INTERVAL_MOST_S 60.0

/* What Slurm's programs say if slurmctld, or munged, does not answer. Then what they asked for may have happened, or
 * not. */
static bool is_no_answer(const struct sl_child_result *r)
{
	static const char *const words[] = {
		"Unable to contact slurm controller", "Socket timed out", "Zero Bytes were transmitted", "connect failure",
		"Connection refused", "Connection timed out", "Communication connection failure", "in standby mode",
		"authentication error", "Munge", "Unable to establish", "Unexpected message", "Transport endpoint",
		"temporarily unable", "temporarily unavailable", "Resource temporarily",
	};
	if (r->started)
		return false;
	if (r->timed_out || r->signal)
		return true;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(r->errors, words[i]))
			return true;
	return false;
}

static void note_answer(struct sl_slurm *s)
{
	if (s->silent_s)
		sl_log_info("slurm", "slurmctld answers again");
	s->silent_s = 0;
	s->answers = true;
	s->no_answer[0] = 0;
	s->interval_s = s->d->config.slurm_interval_s;
}

static void note_silence(struct sl_slurm *s, const char *why)
{
	snprintf(s->no_answer, sizeof s->no_answer, "%s", why);
	if (!s->silent_s) {
		s->silent_s = (int64_t)(sl_time_now_ms() / 1000);
		sl_log_warning("slurm", "Slurm does not answer; running workers go on, and new allocations wait: %s",
			       s->no_answer);
	}
	s->answers = false;
	s->interval_s = 2 * s->interval_s < INTERVAL_MOST_S ? 2 * s->interval_s : INTERVAL_MOST_S;
}

/* ---- sbatch ---------------------------------------------------------------------------------- */

void sl__slurm_submitted(struct sl_slurm *s, enum sl__verdict verdict, uint64_t id, const char *why)
{
	struct sl__allocation *a = s->submitted;
	s->sbatch = NULL;
	s->submitted = NULL;
	a->settled_ms = uv_now(s->d->loop);
	sodium_memzero(a->token, sizeof a->token);
	if (verdict == SL__GRANTED) {
		a->id = id;
		note_answer(s);
		sl_log_info("slurm", "%s is job %llu of Slurm, for job %s", a->name, (unsigned long long)id, a->need.job);
		sl__allocation_event(a, SL_ALLOCATION_ON_SUBMITTED);
	} else if (verdict == SL__NO_ANSWER) {
		note_silence(s, why);
		sl__slurm_back_off(s);
		sl__allocation_event(a, SL_ALLOCATION_ON_NO_ANSWER);
	} else {
		snprintf(s->problem, sizeof s->problem, "%s", why);
		sl_log_warning("slurm", "an allocation for job %s is refused: %s", a->need.job, s->problem);
		sl_metric_add(s->metric_refused, 1);
		sl__allocation_event(a, SL_ALLOCATION_ON_REFUSED);
	}
}

static void on_submitted(void *arg, const struct sl_child_result *r)
{
	char why[300];
	uint64_t id = sl_child_succeeded(r) ? strtoull(r->out, NULL, 10) : 0;
	sl__slurm_submitted(arg, id ? SL__GRANTED : is_no_answer(r) ? SL__NO_ANSWER : SL__REFUSED, id,
			    sl_child_problem(r, "sbatch", why, sizeof why));
}

static bool fail(struct sl_slurm *s, struct sl__allocation *a, const char *why)
{
	snprintf(s->problem, sizeof s->problem, "%.250s", why);
	sl_log_warning("slurm", "no allocation for job %s: %s", a->need.job, why);
	sl__allocation_event(a, SL_ALLOCATION_ON_REFUSED);
	return false;
}

static bool run_sbatch(struct sl_slurm *s, const struct sl__arguments *arguments, const char *script)
{
	char token[SL_SECRET_BYTES + 32];
	snprintf(token, sizeof token, "SPACELAND_WORKER_TOKEN=%s", s->submitted->token);
	const char *const environment[] = {token, NULL};
	const struct sl_child_spec spec = {.argv = (const char *const *)arguments->argv, .environment = environment,
					   .input = script, .most_bytes = TEXT_MOST, .limit_ms = LIMIT_MS};
	s->sbatch = sl_child_run(s->d->loop, &spec, on_submitted, s);
	sodium_memzero(token, sizeof token);
	return s->sbatch;
}

void sl__slurm_submit(struct sl_slurm *s, struct sl__allocation *a)
{
	char place[SL_REMOTE_PLACE_BYTES], pin[SL_REMOTE_PIN_BYTES], own[4096];
	struct sl_error err;
	struct sl__arguments arguments;
	ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
	own[length > 0 ? length : 0] = 0;
	const struct sl__script script = {
		.config = &s->d->config, .a = a, .place = place, .pin = pin,
		.program = s->d->config.slurm_program[0] ? s->d->config.slurm_program : own,
	};
	if (sl_remote_place(s->d->engines, place, pin, &err)) {
		fail(s, a, err.detail);
		return;
	}
	if (!sl__script_arguments(&script, &arguments)) {
		fail(s, a, "sbatch has too many arguments, or there is no memory for them");
		return;
	}
	char *text = sl__script_text(&script), why[300] = "there is no memory for sbatch";
	s->submitted = a;
	bool runs = text && (sl__rest_used(s) ? sl__rest_submit(s, &arguments, text, a->token, why, sizeof why) :
						run_sbatch(s, &arguments, text));
	free(text);
	sl__arguments_finish(&arguments);
	if (runs) {
		sl_metric_add(s->metric_requests, 1);
	} else {
		s->submitted = NULL;
		fail(s, a, why);
	}
}

/* ---- squeue ---------------------------------------------------------------------------------- */

static bool is_ours(const struct sl_slurm *s, const char *name)
{
	size_t prefix = strlen(SL__PREFIX), server = strlen(s->server);
	return !strncmp(name, SL__PREFIX, prefix) && !strncmp(name + prefix, s->server, server) &&
	       name[prefix + server] == '-';
}

static struct sl__allocation *named(struct sl_slurm *s, const char *name)
{
	return SL_LIST_FIND(struct sl__allocation, a, &s->allocations, link, !strcmp(a->name, name));
}

static void take_line(struct sl__allocation *a, const struct sl_squeue_line *line)
{
	bool new_id = !a->id;
	a->id = line->id;
	a->state = line->state;
	if (a->start_s != line->start_s && line->state == SL_SLURM_WAITS)
		sl__allocation_settle(a, a->lost_s);  /* it was put back into the queue */
	a->start_s = line->start_s;
	a->end_s = line->end_s;
	memcpy(a->reason, line->reason, sizeof a->reason);
	if (line->node[0] || line->state == SL_SLURM_WAITS)
		memcpy(a->node, line->node, sizeof a->node);
	if (new_id)
		sl__book_write(a->slurm);
}

/* It is cancelled, and another one requested: the node that could not start it may be drained by now. */
static void give_up_stuck(struct sl__allocation *a)
{
	struct sl_slurm *s = a->slurm;
	snprintf(s->problem, sizeof s->problem, "Slurm could not start job %llu, and holds it (%s); scontrol show "
		 "job tells more", (unsigned long long)a->id, a->reason);
	sl_log_warning("slurm", "%s; another one is requested", s->problem);
	sl__slurm_back_off(s);
	sl__allocation_event(a, SL_ALLOCATION_ON_UNWANTED);
}

/* Its worker is not heard, and Slurm says that it does not run any more: both agree, so its jobs need not wait until
 * the grace of the worker is over. A missing answer is none. */
static void agree(struct sl__allocation *a)
{
	bool runs = a->state == SL_SLURM_RUNS || a->state == SL_SLURM_MISSING;
	if (a->stage != SL_ALLOCATION_LIVE || runs || !a->worker || !sl_remote_is_away(a->worker))
		return;
	sl_log_info("slurm", "job %llu of Slurm does not run any more (%s), and its worker is not heard",
		    (unsigned long long)a->id, sl_slurm_state_reason(a->state));
	sl__allocation_end_worker(a);
	sl__allocation_event(a, SL_ALLOCATION_ON_LISTED + (int)a->state);
}

static void read_listing(struct sl_slurm *s, const char *text)
{
	struct sl_squeue_line line;
	SL_LIST_EACH(struct sl__allocation, a, &s->allocations, link) {
		a->state = SL_SLURM_MISSING;
		a->stuck = false;
	}
	while (sl_squeue_next(&text, &line)) {
		if (!is_ours(s, line.name))
			continue;
		struct sl__allocation *a = named(s, line.name);
		if (a) {
			take_line(a, &line);
			a->stuck = sl_squeue_is_stuck(&line);
		} else if (line.state == SL_SLURM_WAITS || line.state == SL_SLURM_RUNS) {
			sl_log_warning("slurm", "job %llu of Slurm (%s) belongs to no allocation: it is cancelled",
				       (unsigned long long)line.id, line.name);
			sl__slurm_cancel(s, line.id);
		}
	}
	SL_LIST_EACH(struct sl__allocation, a, &s->allocations, link)
		if (a->state != SL_SLURM_MISSING || a->settled_ms < s->begun_ms)
			sl__allocation_event(a, SL_ALLOCATION_ON_LISTED + (int)a->state);
	SL_LIST_EACH(struct sl__allocation, a, &s->allocations, link)
		agree(a);
	SL_LIST_EACH(struct sl__allocation, a, &s->allocations, link)
		if (a->stuck && a->stage == SL_ALLOCATION_QUEUED)
			give_up_stuck(a);
}

void sl__slurm_listed(struct sl_slurm *s, const char *lines, const char *why)
{
	s->listed_ms = uv_now(s->d->loop);
	if (why)
		note_silence(s, why);
	else
		note_answer(s);
	if (lines)
		read_listing(s, lines);
	sl__slurm_cancel_now(s);
}

static void on_listed(void *arg, const struct sl_child_result *r)
{
	struct sl_slurm *s = arg;
	char why[300];
	bool good = sl_child_succeeded(r);
	s->squeue = NULL;
	sl__slurm_listed(s, good ? r->out : NULL, good ? NULL : sl_child_problem(r, "squeue", why, sizeof why));
}

void sl__slurm_list(struct sl_slurm *s)
{
	if (s->squeue || s->reading)
		return;
	s->begun_ms = s->listed_ms = uv_now(s->d->loop);
	sl_metric_add(s->metric_queries, 1);
	if (sl__rest_used(s)) {
		sl__rest_list(s);
		return;
	}
	char path[4200], user[32];
	snprintf(user, sizeof user, "--user=%u", (unsigned)getuid());
	const char *const argv[] = {sl__script_path(&s->d->config, "squeue", path, sizeof path), "--noheader", user,
				    "--states=all", "--format=" SL_SQUEUE_FORMAT, NULL};
	const char *const environment[] = {SL_SQUEUE_TIMES, NULL};
	const struct sl_child_spec spec = {.argv = argv, .environment = environment, .most_bytes = LISTING_MOST,
					   .limit_ms = LIMIT_MS};
	s->squeue = sl_child_run(s->d->loop, &spec, on_listed, s);
}

/* ---- scancel ---------------------------------------------------------------------------------- */

/* If it fails, the next listing has the allocation still, and it is cancelled again. */
void sl__slurm_cancelled(struct sl_slurm *s, const char *why)
{
	s->scancel = NULL;
	if (why)
		sl_log_warning("slurm", "scancel: %s", why);
	sl__slurm_cancel_now(s);
}

static void on_cancelled(void *arg, const struct sl_child_result *r)
{
	char why[300];
	sl__slurm_cancelled(arg, sl_child_succeeded(r) ? NULL : sl_child_problem(r, "scancel", why, sizeof why));
}

void sl__slurm_cancel(struct sl_slurm *s, uint64_t id)
{
	for (int i = 0; i < s->cancels; i++)
		if (s->cancel[i] == id)
			return;
	if (id && s->cancels < SL__CANCELS)
		s->cancel[s->cancels++] = id;
}

void sl__slurm_cancel_now(struct sl_slurm *s)
{
	char path[4200], ids[SL__CANCELS][24];
	const char *argv[SL__CANCELS + 2];
	int count = s->cancels;
	bool unable = sl__rest_used(s) && !s->rest[0];  /* its version is not known yet */
	if (s->scancel || !count || s->closing || unable)
		return;
	s->cancels = 0;
	if (sl__rest_used(s)) {
		sl__rest_cancel(s, s->cancel, count);
		return;
	}
	argv[0] = sl__script_path(&s->d->config, "scancel", path, sizeof path);
	for (int i = 0; i < count; i++) {
		snprintf(ids[i], sizeof ids[i], "%llu", (unsigned long long)s->cancel[i]);
		argv[i + 1] = ids[i];
	}
	argv[count + 1] = NULL;
	const struct sl_child_spec spec = {.argv = argv, .most_bytes = TEXT_MOST, .limit_ms = LIMIT_MS};
	s->scancel = sl_child_run(s->d->loop, &spec, on_cancelled, s);
}

void sl__slurm_ask_no_more(struct sl_slurm *s)
{
	sl_child_drop(s->sbatch);
	sl_child_drop(s->squeue);
	sl_child_drop(s->scancel);
	s->sbatch = s->squeue = s->scancel = NULL;
}
