/* When allocations are requested and given up, and what becomes of their workers.
 *
 * Wanted are as many as there are large jobs, and one for each SMALL_JOBS small ones, up to slurm_max_workers; all
 * that have not ended count as there. They are requested one after the other. Those that wait in Slurm and are not
 * wanted for PATIENCE_MS are cancelled, the newest first; a worker without jobs is told to end after slurm_idle_s.
 *
 * A request that comes to nothing (a refusal, an allocation that ends before its worker has come) delays the next
 * one, up to BACK_OFF_MOST_MS, and is told to the jobs that wait, which do not fail of it: the administrator may mend
 * it. */
#include "daemon/slurm/slurm_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "daemon/upkeep/maintenance.h"
#include "daemon/users/accounting.h"
#include "daemon/util/log.h"
#include "daemon/util/metrics.h"
#include "daemon/util/time_text.h"

#define TICK_MS 1000
#define SMALL_JOBS 64
#define PATIENCE_MS 5000
#define BACK_OFF_MS 10000
#define BACK_OFF_MOST_MS 300000
#define QUIET_S 60             /* between listings while all workers are connected, and nothing else is asked for */
#define LATE_MS 600000         /* an allocation that runs without a worker for so long is given up */
#define RETIRE_S 30            /* for a worker that has no jobs */

/* ---- one allocation ------------------------------------------------------------------------------ */

static void on_come(void *arg, struct sl_remote *w)
{
	struct sl__allocation *a = arg;
	const struct sl_remote_facts *f = sl_remote_facts(w);
	if (a->slurm->closing)
		return;
	a->worker = w;
	a->lost_s = 0;
	if (a->state == SL_SLURM_WAITS)  /* as last listed; the next listing has the very second */
		a->start_s = (int64_t)(sl_time_now_ms() / 1000);
	a->busy_ms = uv_now(a->slurm->d->loop);
	if (!a->node[0])
		snprintf(a->node, sizeof a->node, "%s", f->host);
	if (!a->id)  /* sbatch has not said it */
		a->id = strtoull(f->slurm_job, NULL, 10);
	sl_log_info("slurm", "the worker of job %llu has come from %s", (unsigned long long)a->id, a->node);
	sl__allocation_event(a, SL_ALLOCATION_ON_CAME);
}

static void on_leaves(void *arg, struct sl_remote *w, double seconds)
{
	struct sl__allocation *a = arg;
	a->lost_s = (int64_t)(sl_time_now_ms() / 1000);  /* if Slurm puts it back into its queue, its run ends now */
	sl_log_info("slurm", "job %llu on %s ends within %.0f s: its jobs leave it", (unsigned long long)a->id, a->node,
		    seconds);
}

static void on_gone(void *arg, struct sl_remote *w, bool retired, const char *why)
{
	struct sl__allocation *a = arg;
	if (!w || a->slurm->closing || a->destroyed)
		return;
	a->worker = NULL;
	a->lost_s = a->lost_s ? a->lost_s : (int64_t)(sl_time_now_ms() / 1000);
	sl_log_info("slurm", "the worker of job %llu on %s is gone%s%s", (unsigned long long)a->id, a->node,
		    retired ? "" : ": ", retired ? "" : why);
	sl__allocation_event(a, SL_ALLOCATION_ON_LOST);
}

static const struct sl_remote_ops remote_ops = {.come = on_come, .leaves = on_leaves, .gone = on_gone};

struct sl__allocation *sl__allocation_create(struct sl_slurm *s)
{
	struct sl__allocation *a = calloc(1, sizeof *a);
	if (!a)
		return NULL;
	a->slurm = s;
	a->state = SL_SLURM_WAITS;
	a->since_ms = a->busy_ms = uv_now(s->d->loop);
	return a;
}

void sl__allocation_destroy(struct sl__allocation *a)
{
	sl_list_unlink(&a->link);
	a->destroyed = true;
	sl_remote_unexpect(a->expected);  /* a worker that is still there ends: on_gone() */
	sodium_memzero(a->token, sizeof a->token);
	free(a);
}

void sl__allocation_end_worker(struct sl__allocation *a)
{
	struct sl_error err;
	sl_remote_unexpect(a->expected);  /* on_gone() */
	a->expected = NULL;
	if (sl_remote_expect(a->slurm->d->engines, a->hash, "slurm", 0, &remote_ops, a, &a->expected, &err))
		sl_log_warning("slurm", "job %llu of Slurm cannot come again: %s", (unsigned long long)a->id, err.detail);
}

void sl__slurm_back_off(struct sl_slurm *s)
{
	uint64_t ms = BACK_OFF_MS;
	for (int i = 0; i < s->failures && ms < BACK_OFF_MOST_MS; i++)
		ms *= 2;
	s->failures++;
	s->again_ms = uv_now(s->d->loop) + (ms < BACK_OFF_MOST_MS ? ms : BACK_OFF_MOST_MS);
}

static void count_failure(struct sl__allocation *a, int event)
{
	struct sl_slurm *s = a->slurm;
	if (event != SL_ALLOCATION_ON_REFUSED) {
		snprintf(s->problem, sizeof s->problem, "job %llu of Slurm ended before its worker had come: %s%s",
			 (unsigned long long)a->id, sl_slurm_state_reason(a->state), a->slurm->d->config.slurm_output[0] ?
			 "; see slurm_output" : "; set slurm_output to see what it printed");
		sl_log_warning("slurm", "%s", s->problem);
	}
	sl__slurm_back_off(s);
}

void sl__allocation_settle(struct sl__allocation *a, int64_t end_s)
{
	double rest = (double)(end_s - a->start_s) - a->charged_s;
	if (a->start_s && end_s > a->start_s)
		sl_accounting_allocation(a->slurm->d->users, "", "", rest, a->gpus);
	a->charged_s = 0;
	a->lost_s = 0;
}

void sl_slurm_charged(struct sl_slurm *s, const struct sl_server_device *d, double seconds)
{
	struct sl__allocation *a =
		SL_LIST_FIND(struct sl__allocation, item, &s->allocations, link, item->worker == d->remote);
	if (a)
		a->charged_s += seconds;
}

static void ended(struct sl__allocation *a)
{
	struct sl_slurm *s = a->slurm;
	bool ran = a->state != SL_SLURM_WAITS && a->state != SL_SLURM_RUNS;
	if (a->id && ran)
		sl__allocation_settle(a, a->state == SL_SLURM_MISSING ? a->lost_s : a->end_s);
	sl_log_info("slurm", "job %llu of Slurm (%s) has ended: %s", (unsigned long long)a->id, a->name,
		    a->id ? sl_slurm_state_reason(a->state) : "it was not submitted");
	if (s->submitted != a) {
		sl__allocation_destroy(a);
		sl__book_write(s);
	}
}

void sl__allocation_event(struct sl__allocation *a, int event)
{
	struct sl_slurm *s = a->slurm;
	enum sl_allocation_stage from = a->stage;
	struct sl_allocation_step step = sl_allocation_step(from, event);
	if (step.to != from)
		a->since_ms = uv_now(s->d->loop);
	a->stage = step.to;
	if (event == SL_ALLOCATION_ON_CAME && step.to == SL_ALLOCATION_LIVE) {
		s->failures = 0;
		s->problem[0] = 0;
	}
	if (step.actions & SL_ALLOCATION_DO_COUNT)
		count_failure(a, event);
	if (step.actions & SL_ALLOCATION_DO_DISMISS && a->worker)
		sl_remote_retire(a->worker, RETIRE_S, "it is not needed any more");
	if (step.actions & SL_ALLOCATION_DO_CANCEL && !a->worker)  /* a worker that leaves ends its allocation */
		sl__slurm_cancel(s, a->id);
	if (step.actions & SL_ALLOCATION_DO_FOLLOW)
		s->listener.cancelled(s->arg, a->id, from == SL_ALLOCATION_AWAY ? "" : a->need.job,
				      sl_slurm_state_reason(SL_SLURM_CANCELLED));
	if (step.to == SL_ALLOCATION_ENDED) {
		ended(a);
		sl_slurm_look(s);
	} else if (step.to != from || event == SL_ALLOCATION_ON_SUBMITTED) {
		sl__book_write(s);
	}
}

/* ---- how many ------------------------------------------------------------------------------------ */

static bool is_there(const struct sl__allocation *a)
{
	return a->stage < SL_ALLOCATION_ENDING;
}

static bool waits(const struct sl__allocation *a)
{
	return a->stage == SL_ALLOCATION_QUEUED || a->stage == SL_ALLOCATION_UNSURE;
}

static bool is_requested_for(const struct sl_slurm *s, const char *job)
{
	return SL_LIST_FIND(const struct sl__allocation, a, &s->allocations, link,
			    is_there(a) && !strcmp(a->need.job, job)) != NULL;
}

/* The first job in line for which there is no request yet, with the memory that the largest needs. */
static struct sl_slurm_need next_need(const struct sl_slurm *s, const struct sl_slurm_need *needs, int count)
{
	struct sl_slurm_need need = needs[0];
	for (int i = 0; i < count; i++)
		if (!is_requested_for(s, needs[i].job)) {
			need = needs[i];
			break;
		}
	for (int i = 0; i < count; i++)
		need.bytes = needs[i].bytes > need.bytes ? needs[i].bytes : need.bytes;
	return need;
}

static void request(struct sl_slurm *s, const struct sl_slurm_need *need)
{
	struct sl__allocation *a = sl__allocation_create(s);
	char id[SL_ULID_BYTES];
	struct sl_error err;
	if (!a)
		return;
	snprintf(a->name, sizeof a->name, SL__PREFIX "%s-%s", s->server, sl_ulid_make(id));
	a->need = *need;
	a->gpus = sl__script_gpus(s->d->config.slurm_gres);
	sl_remote_token(s->d->engines, a->token, a->hash);
	sl_list_append(&s->allocations, &a->link);
	if (sl_remote_expect(s->d->engines, a->hash, "slurm", 0, &remote_ops, a, &a->expected, &err)) {
		snprintf(s->problem, sizeof s->problem, "%.250s", err.detail);
		sl_log_warning("slurm", "no allocation is requested: %s", err.detail);
		sl__allocation_event(a, SL_ALLOCATION_ON_REFUSED);
		return;
	}
	sl__book_write(s);
	sl__slurm_submit(s, a);
}

static void give_up_surplus(struct sl_slurm *s, int surplus)
{
	uint64_t now = uv_now(s->d->loop);
	if (surplus <= 0)
		s->surplus_ms = 0;
	else if (!s->surplus_ms)
		s->surplus_ms = now;
	if (surplus <= 0 || now - s->surplus_ms < PATIENCE_MS)
		return;
	for (struct sl_link *l = s->allocations.last, *before; l && surplus > 0; l = before) {
		struct sl__allocation *a = SL_LIST_ITEM(struct sl__allocation, l, link);
		before = l->previous;
		if (!waits(a))
			continue;
		surplus--;
		sl_log_info("slurm", "job %llu of Slurm is not needed any more", (unsigned long long)a->id);
		sl__allocation_event(a, SL_ALLOCATION_ON_UNWANTED);
	}
}

/* Marks those that are needed, and gives up workers that have been idle. */
static void give_up_idle(struct sl_slurm *s, bool any)
{
	uint64_t now = uv_now(s->d->loop), idle_ms = (uint64_t)(s->d->config.slurm_idle_s * 1e3);
	SL_LIST_EACH(struct sl__allocation, a, &s->allocations, link) {
		bool live = a->stage == SL_ALLOCATION_LIVE;
		const struct sl_server_device *d = live && a->worker ? sl_remote_device(a->worker) : NULL;
		if (d ? d->placed > 0 : any)
			a->busy_ms = now;
		bool idle = (live || a->stage == SL_ALLOCATION_AWAY) && now - a->busy_ms > idle_ms;
		bool late = a->stage == SL_ALLOCATION_STARTED && s->answers && now - a->since_ms > LATE_MS;
		if (!idle && !late)
			continue;
		sl_log_info("slurm", "job %llu of Slurm ends: %s", (unsigned long long)a->id, late ?
			    "its worker has not come; see what it printed (slurm_output)" : "it has been idle");
		sl__allocation_event(a, SL_ALLOCATION_ON_UNWANTED);
	}
}

static int wanted(const struct sl_slurm *s, int large, int small)
{
	int most = (int)s->d->config.slurm_max_workers, all = large + (small + SMALL_JOBS - 1) / SMALL_JOBS;
	return all < most ? all : most;
}

static void look(struct sl_slurm *s)
{
	enum { MOST = 128 };
	struct sl_slurm_need needs[MOST];
	int large, small, there = 0;
	if (s->d->stopping || s->closing)
		return;
	bool drains = sl_maintenance_drains(s->d->maintenance);
	int count = s->listener.needs(s->arg, needs, MOST, &large, &small);
	int want = drains ? 0 : wanted(s, large, small);
	SL_LIST_EACH(const struct sl__allocation, a, &s->allocations, link)
		there += is_there(a);
	bool quiet = s->sbatch || (sl__rest_used(s) && !s->rest[0]) || uv_now(s->d->loop) < s->again_ms ||
		     (s->silent_s && !s->answers);
	if (count && want > there && !quiet) {
		const struct sl_slurm_need need = next_need(s, needs, count);
		request(s, &need);
	}
	give_up_idle(s, count > 0 && !drains);
	give_up_surplus(s, there - want);
	sl__slurm_cancel_now(s);
}

/* ---- time ------------------------------------------------------------------------------------------ */

/* True if a listing may tell something that the workers do not; also when one has started. */
static bool must_list(const struct sl_slurm *s)
{
	SL_LIST_EACH(const struct sl__allocation, a, &s->allocations, link)
		if ((a->stage != SL_ALLOCATION_LIVE && a->stage != SL_ALLOCATION_ASKING) ||
		    (a->worker && (sl_remote_is_away(a->worker) || a->state == SL_SLURM_WAITS)))
			return true;
	return s->silent_s != 0;
}

static void list_if_due(struct sl_slurm *s)
{
	uint64_t since = uv_now(s->d->loop) - s->listed_ms;
	double due_s = must_list(s) ? s->interval_s : s->allocations.count ? fmax(QUIET_S, s->interval_s) : INFINITY;
	if (!s->listed_ms || (double)since >= due_s * 1e3)
		sl__slurm_list(s);
}

static void account(struct sl_slurm *s)
{
	bool live = false;
	SL_LIST_EACH(const struct sl__allocation, a, &s->allocations, link) {
		if (!a->worker)
			continue;
		live = true;
		const struct sl_server_device *d = sl_remote_device(a->worker);
		sl_metric_add(s->metric_s, TICK_MS * 1e-3);
		if (!d || !d->placed)
			sl_metric_add(s->metric_idle_s, TICK_MS * 1e-3);
	}
	if (live && uv_now(s->d->loop) - s->booked_ms >= SL_ACCOUNTING_SAVE_MS) {
		s->booked_ms = uv_now(s->d->loop);
		sl__book_write(s);
	}
}

static void on_tick(uv_timer_t *timer)
{
	struct sl_slurm *s = timer->data;
	account(s);
	list_if_due(s);
	look(s);
}

static void on_look(uv_check_t *check)
{
	struct sl_slurm *s = check->data;
	uv_check_stop(check);
	look(s);
}

void sl_slurm_look(struct sl_slurm *s)
{
	if (s && !s->closing)
		uv_check_start(&s->look, on_look);
}

void sl_slurm_reload(struct sl_slurm *s)
{
	if (!s)
		return;
	s->failures = 0;
	s->again_ms = 0;
	s->problem[0] = s->rest[0] = 0;
	s->interval_s = s->d->config.slurm_interval_s;
	s->listed_ms = 0;  /* now */
	sl_slurm_look(s);
}

/* ---- life ------------------------------------------------------------------------------------------ */

static int expect_all(struct sl_slurm *s, struct sl_error *err)
{
	SL_LIST_EACH(struct sl__allocation, a, &s->allocations, link) {
		int code = sl_remote_expect(s->d->engines, a->hash, "slurm", 0, &remote_ops, a, &a->expected, err);
		if (code)
			return code;
	}
	return 0;
}

/* Without ending workers: those that are expected any more, the next run of the server expects. */
void sl_slurm_destroy(struct sl_slurm *s)
{
	if (!s)
		return;
	SL_LIST_EACH(struct sl__allocation, a, &s->allocations, link) {
		a->expected = NULL;
		sl__allocation_destroy(a);
	}
	free(s);
}

int sl_slurm_create(struct sl_slurm **out, struct sl_daemon *d, const struct sl_slurm_listener *listener, void *arg,
		    struct sl_error *err)
{
	*out = NULL;
	if (!d->config.slurm_max_workers)
		return 0;
	struct sl_slurm *s = calloc(1, sizeof *s);
	if (!s)
		return sl_error_memory(err, "the start");
	*s = (struct sl_slurm){.d = d, .listener = *listener, .arg = arg, .interval_s = d->config.slurm_interval_s,
			       .answers = true};
	sl__slurm_register(s);
	int code = sl__book_read(s, err);
	if (!code)
		code = expect_all(s, err);
	if (code) {
		sl_slurm_destroy(s);
		return code;
	}
	uv_timer_init(d->loop, &s->tick);
	uv_check_init(d->loop, &s->look);
	s->tick.data = s->look.data = s;
	s->handles = 2;
	uv_timer_start(&s->tick, on_tick, 0, TICK_MS);
	sl_log_info("slurm", "allocations are named " SL__PREFIX "%s-...; %zu are known from the last run", s->server,
		    s->allocations.count);
	*out = s;
	return 0;
}

void sl__slurm_closed(struct sl_slurm *s)
{
	if (s->closing && !s->handles && !s->writing && !s->reading)
		s->closed(s->closed_arg);
}

static void on_closed(uv_handle_t *handle)
{
	struct sl_slurm *s = handle->data;
	s->handles--;
	sl__slurm_closed(s);
}

void sl_slurm_stop(struct sl_slurm *s, void (*closed)(void *arg), void *arg)
{
	s->closing = true;
	s->closed = closed;
	s->closed_arg = arg;
	sl__slurm_ask_no_more(s);
	uv_close((uv_handle_t *)&s->tick, on_closed);
	uv_close((uv_handle_t *)&s->look, on_closed);
}
