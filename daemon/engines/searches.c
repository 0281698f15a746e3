/* Lets workers search neighbours and compute principal axes, so that no GPU is opened in the daemon's own process.
 *
 * A search goes to the local worker of the preferred engine with the fewest searches; while all of these are starting
 * again, it waits. Where no worker of this machine could search, one of another machine does it, if one is there that
 * can. If the device or the worker is lost, the search begins anew in the next process or on another device, once; then
 * the graph store searches on the CPU. So a fault costs one repetition, and jobs of other devices do not notice.
 *
 * What a worker of another machine has found is checked on the pool before anybody uses it. Principal axes are computed
 * on this machine only, since their points have no file yet. Loop thread. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/neighbours/neighbours.h"
#include "core/points/points.h"
#include "daemon/engines/engines_internal.h"
#include "daemon/graphs/graphs.h"
#include "daemon/util/log.h"
#include "daemon/util/pool.h"
#include "daemon/worker/calls.h"
#include "daemon/worker/codec.h"
#include "daemon/worker/worker.h"

#define TRIES 2           /* on devices that fail */
#define PATIENCE_MS 30000 /* for a device that is being opened again */

struct sl_device_search {
	struct sl_worker_call call;      /* first */
	struct sl_link link;             /* in sl_engines.searches */
	struct sl_engines *all;
	struct sl_search_request r;      /* path and id: owned */
	struct sl_server_device *device; /* that searches; NULL: it waits for one */
	uint64_t since_ms;               /* it waits since */
	int failures;
	bool answered;                   /* what was found has been given away */
	/* the check */
	struct sl_pool_place work;
	bool checking, ended;
	struct sl_neighbours *found;
	double seconds;
	char wrong[80];
};

/* ---- devices ------------------------------------------------------------------------------------------ */

/* A worker of this machine that searches, or will when it is open again. */
static bool searches_here(const struct sl_server_device *d)
{
	return d->worker && !d->remote && d->port && d->engine == d->engines->preferred &&
	       d->engine->functions && d->engine->functions->neighbours_find &&
	       (d->stage == SL_DEVICE_OPEN || d->stage == SL_DEVICE_OPENING);
}

static bool searches_elsewhere(const struct sl_server_device *d)
{
	return d->remote && d->port && d->stage == SL_DEVICE_OPEN && d->engine->functions &&
	       d->engine->functions->neighbours_find;
}

static bool is_up(const struct sl_server_device *d)
{
	return d->stage == SL_DEVICE_OPEN && !d->state.down && !d->leaving;
}

static int load(const struct sl_engines *all, const struct sl_server_device *d)
{
	int count = 0;
	SL_LIST_EACH(const struct sl_device_search, x, &all->searches, link)
		count += x->device == d && !x->answered;
	return count;
}

/* The device that searches next. NULL: none is up; *wait: one of this machine will be. */
static struct sl_server_device *choose(const struct sl_engines *all, bool *wait)
{
	struct sl_server_device *best = NULL;
	bool here = false;
	SL_EACH_DEVICE(all, d)
		here = here || searches_here(d);
	SL_EACH_DEVICE(all, d)
		if ((here ? searches_here(d) : searches_elsewhere(d)) && is_up(d) && (!best || load(all, d) < load(all, best)))
			best = d;
	*wait = here;
	return best;
}

static bool able(void *arg)
{
	const struct sl_engines *all = arg;
	bool wait;
	return !all->d->stopping && (choose(all, &wait) || wait);
}

/* ---- searches ----------------------------------------------------------------------------------------- */

static void search_free(struct sl_device_search *x)
{
	sl_worker_call_end(&x->call);
	sl_list_unlink(&x->link);
	sl_neighbours_destroy(x->found);
	free((char *)x->r.path);
	free((char *)x->r.id);
	free(x);
}

static void give_up(struct sl_device_search *x, const struct sl_error *err)
{
	x->answered = true;
	x->device = NULL;
	x->r.answered(x->r.to, NULL, 0, err);  /* which ends it */
}

static void pump(struct sl_engines *all);

/* The device is lost, and with it the search: again, or not. */
static void lost(struct sl_device_search *x, const struct sl_error *err)
{
	if (x->all->d->stopping)
		return;  /* the graph store ends it */
	if (++x->failures >= TRIES) {
		give_up(x, err);
		return;
	}
	sl_log_warning("graphs", "%s: the search of neighbours begins anew: %s", x->r.id, err->detail);
	x->since_ms = uv_now(x->all->d->loop);
	pump(x->all);
}

static int check_rows(const struct sl_neighbours *nb, const struct sl_points *p, char *wrong, size_t bytes)
{
	uint32_t *seen = calloc(p->n, sizeof *seen);  /* the last row, plus 1, that has this neighbour */
	const char *what = NULL;
	for (uint32_t i = 0; seen && i < nb->n && !what; i++) {
		const uint32_t *index = nb->index + (size_t)i * nb->k;
		const float *distance = nb->distance + (size_t)i * nb->k;
		for (uint32_t j = 0; j < nb->k && !what; j++) {
			if (index[j] >= p->n || index[j] == i || seen[index[j]] == i + 1)
				what = "neighbours that are no other points";
			else if (!(distance[j] >= 0) || !isfinite(distance[j]) || (j && distance[j] < distance[j - 1]))
				what = "distances that are no ascending numbers";
			else
				seen[index[j]] = i + 1;
		}
	}
	for (uint64_t i = 0; nb->axes && i < (uint64_t)nb->n * SL_AXES && !what; i++)
		what = isfinite(nb->axes[i]) ? NULL : "axes that are not finite";
	snprintf(wrong, bytes, "%s", what ? what : "");
	int code = seen ? 0 : SL_NOMEM;
	free(seen);
	return code;
}

static void check_work(void *arg)
{
	struct sl_device_search *x = arg;
	if (check_rows(x->found, x->r.points, x->wrong, sizeof x->wrong))
		snprintf(x->wrong, sizeof x->wrong, "more than there is memory for");
}

static void hand_over(struct sl_device_search *x)
{
	struct sl_neighbours *found = x->found;
	x->found = NULL;
	x->answered = true;
	x->r.answered(x->r.to, found, x->seconds, NULL);
}

static void check_done(void *arg)
{
	struct sl_device_search *x = arg;
	struct sl_error err;
	char why[120];
	x->checking = false;
	if (x->ended) {
		search_free(x);
	} else if (!x->wrong[0]) {
		hand_over(x);
	} else {
		snprintf(why, sizeof why, "it has sent %s", x->wrong);
		sl_error_set(&err, SL_DEVLOST, "The worker of %s has sent %s.", x->device->id, x->wrong);
		if (x->call.at)
			sl_worker_end(x->device->port, why);
		sl_worker_call_end(&x->call);
		sl_neighbours_destroy(x->found);
		x->found = NULL;
		x->device = NULL;
		lost(x, &err);
	}
}

/* What an answer has; NULL: it lacks something. */
static struct sl_neighbours *take_found(struct sl_device_search *x, struct sl_wire_message *m)
{
	const struct sl_points *p = x->r.points;
	const struct sl_neighbours_params *params = &x->r.params;
	struct sl_neighbours *nb = calloc(1, sizeof *nb);
	const char *method = json_string_value(json_object_get(m->head, "method"));
	if (!nb)
		return NULL;
	nb->n = p->n;
	nb->n_user = p->n_user;
	nb->k = params->k < p->n - 1 ? params->k : p->n - 1;
	nb->metric = params->metric;
	nb->p = params->p;
	nb->recall = sl_wire_real_value(json_object_get(m->head, "recall"));
	nb->recall = nb->recall >= 0 && nb->recall <= 1 ? nb->recall : 0;
	snprintf(nb->method, sizeof nb->method, "%.31s", method ? method : "");
	for (char *c = nb->method; *c; c++)
		*c = (unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f ? '?' : *c;
	uint64_t values = (uint64_t)nb->n * nb->k;
	nb->index = sl_wire_take(m, "index", values * sizeof *nb->index);
	nb->distance = sl_wire_take(m, "distance", values * sizeof *nb->distance);
	nb->axes = sl_wire_take(m, "axes", (uint64_t)nb->n * SL_AXES * sizeof *nb->axes);
	nb->user = p->user ? malloc((size_t)p->n * sizeof *nb->user) : NULL;
	if (nb->user)
		memcpy(nb->user, p->user, (size_t)p->n * sizeof *nb->user);
	if (nb->index && nb->distance && nb->axes && (nb->user || !p->user))
		return nb;
	sl_neighbours_destroy(nb);
	return NULL;
}

static void answered(struct sl_worker_call *call, struct sl_wire_message *m, const struct sl_error *err)
{
	struct sl_device_search *x = (struct sl_device_search *)call;
	struct sl_server_device *d = x->device;
	struct sl_error told = {.code = 0};
	if (m)
		sl_wire_error_value(json_object_get(m->head, "error"), &told);
	x->device = NULL;
	if (!m || told.code == SL_DEVLOST) {
		sl_worker_call_end(call);
		lost(x, m ? &told : err);
		return;
	}
	if (!told.code && !(x->found = take_found(x, m))) {
		sl_error_set(&told, SL_DEVLOST, "The worker of %s has sent neighbours of another size.", d->id);
		sl_worker_end(d->port, "it has sent neighbours of another size");
		sl_worker_call_end(call);
		lost(x, &told);
		return;
	}
	if (told.code) {
		give_up(x, &told);
		return;
	}
	double seconds = sl_wire_real_value(json_object_get(m->head, "seconds"));
	double most = (double)(uv_now(x->all->d->loop) - x->since_ms) * 1e-3 + 1;
	x->seconds = seconds >= 0 ? fmin(seconds, most) : 0;
	x->device = d;
	if (d->remote) {
		x->checking = true;
		sl_pool_run_in(&x->work, x->all->d->loop, check_work, check_done, x);
	} else {
		hand_over(x);
	}
}

static void progress(struct sl_worker_call *call, double share)
{
	const struct sl_device_search *x = (const struct sl_device_search *)call;
	x->r.progress(x->r.to, share);
}

/* False: the worker is not there now. */
static bool send_to(struct sl_device_search *x, struct sl_server_device *d)
{
	const struct sl_neighbours_params *p = &x->r.params;
	uint64_t n = x->r.points->n, k = p->k < n - 1 ? p->k : n - 1;
	struct sl_wire_message *m = sl_worker_call_message("find");
	struct sl_error err;
	if (m)
		json_object_update_new(m->head, json_pack("{s:s, s:s, s:I, s:I, s:i, s:o, s:o}", "graph", x->r.id,
			"file", x->r.path, "key", (json_int_t)sl_affinity_neighbours_name(x->r.id, (uint32_t)k),
			"k", (json_int_t)k, "metric", p->metric, "p", sl_wire_real(p->p), "recall", sl_wire_real(p->recall)));
	x->call = (struct sl_worker_call){
		.answered = answered, .progress = progress, .file = x->r.path, .stays = true,
		.key = sl_affinity_neighbours_name(x->r.id, (uint32_t)k),
		.part = {{"index", n * k * sizeof(uint32_t)}, {"distance", n * k * sizeof(float)},
			 {"axes", n * SL_AXES * sizeof(float)}},
	};
	if (sl_worker_call(d->port, &x->call, m, &err))
		return false;
	x->device = d;
	x->since_ms = uv_now(x->all->d->loop);
	return true;
}

/* Sends the searches that wait. */
static void pump(struct sl_engines *all)
{
	struct sl_error err;
	uint64_t now = uv_now(all->d->loop);
	bool wait;
	if (all->d->stopping)
		return;
	SL_LIST_EACH(struct sl_device_search, x, &all->searches, link) {
		if (x->device || x->answered || x->checking)
			continue;
		struct sl_server_device *d = choose(all, &wait);
		if (d && send_to(x, d))
			continue;
		if (wait && now - x->since_ms < PATIENCE_MS)
			continue;
		sl_error_set(&err, SL_NODEVICE, "No device that searches is open now.");
		give_up(x, &err);
		pump(all);  /* the list may have changed */
		return;
	}
}

static struct sl_device_search *search(void *arg, const struct sl_search_request *r)
{
	struct sl_engines *all = arg;
	struct sl_device_search *x = calloc(1, sizeof *x);
	bool wait;
	if (!x)
		return NULL;
	x->all = all;
	x->r = *r;
	x->r.path = strdup(r->path);
	x->r.id = strdup(r->id);
	x->since_ms = uv_now(all->d->loop);
	sl_list_append(&all->searches, &x->link);
	struct sl_server_device *d = x->r.path && x->r.id ? choose(all, &wait) : NULL;
	if ((d && send_to(x, d)) || (x->r.path && x->r.id && wait))
		return x;
	search_free(x);
	return NULL;
}

static void end(struct sl_device_search *x)
{
	if (x->checking)
		x->ended = true;
	else
		search_free(x);
}

void sl_engines_look(struct sl_engines *all)
{
	pump(all);
}

/* ---- principal axes -------------------------------------------------------------------------------------- */

/* A step that a worker computes. That of OPEN is the session: it stays until CLOSE. */
struct step {
	struct sl_worker_call call;      /* first */
	struct sl_server_device *device;
	struct sl_device_pass *pass;
	int pending;                     /* the answer, and what the message borrows */
	struct sl_error err;
};

static void step_end(struct step *step)
{
	struct sl_device_pass *p = step->pass;
	if (--step->pending)
		return;
	struct sl_error err = step->err;
	if (p->what == SL_PASS_OPEN && !err.code)
		p->session = step;
	else
		free(step);
	p->done(p, err.code ? &err : NULL);
}

static void released(void *arg)
{
	step_end(arg);
}

static void take_answer(struct step *step, struct sl_wire_message *m)
{
	struct sl_device_pass *p = step->pass;
	sl_wire_error_value(json_object_get(m->head, "error"), &step->err);
	if (step->err.code || !p->out)
		return;
	void *values = sl_wire_take(m, "values", p->out_bytes);
	if (values)
		memcpy(p->out, values, p->out_bytes);
	else
		sl_error_set(&step->err, SL_BADDATA, "The worker has sent values of another size.");
	p->total = sl_wire_real_value(json_object_get(m->head, "total"));
	free(values);
}

static void pass_answered(struct sl_worker_call *call, struct sl_wire_message *m, const struct sl_error *err)
{
	struct step *step = (struct step *)call;
	if (m)
		take_answer(step, m);
	else
		step->err = *err;
	if (step->pass->what != SL_PASS_OPEN || step->err.code)
		sl_worker_call_end(call);
	step_end(step);
}

static struct sl_wire_message *pass_message(const struct sl_device_pass *p, struct step *step)
{
	static const char *const names[] = {"points", "mean", "covariance", "apply", "project"};
	const struct step *session = p->session;
	const struct sl_points *points = p->points;
	struct sl_wire_message *m = sl_worker_call_message(names[p->what]);
	if (!m)
		return NULL;
	m->released = released;
	m->released_arg = step;
	step->pending++;
	if (p->what == SL_PASS_OPEN) {
		uint64_t bytes = (uint64_t)points->n * points->d * (points->type == SL_POINTS_U8 ? 1 : sizeof(float));
		json_object_update_new(m->head, json_pack("{s:I, s:I, s:b}", "n", (json_int_t)points->n, "d",
							  (json_int_t)points->d, "bytes", points->type == SL_POINTS_U8));
		sl_wire_put_borrowed(m, "values", points->value, bytes);
		return m;
	}
	json_object_update_new(m->head, json_pack("{s:I, s:I}", "of", (json_int_t)sl_worker_call_number(&session->call),
						  "width", (json_int_t)p->width));
	sl_wire_put_borrowed(m, "values", p->in, p->in_bytes);
	sl_wire_put_borrowed(m, "mean", p->mean, p->mean_bytes);
	return m;
}

/* A worker of this machine that is up and has such passes. */
static struct sl_server_device *with_passes(const struct sl_engines *all)
{
	SL_EACH_DEVICE(all, d)
		if (searches_here(d) && is_up(d) && d->engine->functions->points_passes)
			return d;
	return NULL;
}

static void pass(void *arg, struct sl_device_pass *p)
{
	const struct sl_engines *all = arg;
	struct step *session = p->session, *step = NULL;
	struct sl_error err;
	if (p->what == SL_PASS_CLOSE) {
		sl_worker_call_end(&session->call);
		free(session);
		p->done(p, NULL);
		return;
	}
	struct sl_server_device *d = session ? session->call.at ? session->device : NULL : with_passes(all);
	if (d && !(step = calloc(1, sizeof *step)))
		sl_error_memory(&err, "principal axes");
	else if (!d)
		sl_error_set(&err, session ? SL_DEVLOST : SL_NODEVICE, "The worker with the points %s.",
			     session ? "has ended" : "does not exist");
	if (!step) {
		p->done(p, &err);
		return;
	}
	step->pass = p;
	step->device = d;
	step->pending = 1;
	step->call = (struct sl_worker_call){.answered = pass_answered, .stays = p->what == SL_PASS_OPEN,
					     .part = {{"values", p->out_bytes}}};
	if (sl_worker_call(d->port, &step->call, pass_message(p, step), &step->err))
		step_end(step);
}

/* ---- life ------------------------------------------------------------------------------------------------ */

void sl_engines_computers(struct sl_engines *all, struct sl_graphs_computers *out)
{
	const struct sl_server_engine *e = all->preferred;
	const struct sl_server_device *d = sl_server_engine_first(all->preferred);
	bool workers = strcmp(all->d->config.workers, "off") != 0;
	*out = (struct sl_graphs_computers){.arg = all, .gpus = 1};
	if (workers) {
		out->able = able;
		out->search = search;
		out->end = end;
		out->pass = pass;
		return;
	}
	if (e->elsewhere || e->awaited)
		return;
	out->engine = e->functions;
	out->index = d->first_gpu;
	out->gpus = d->gpus;
	out->memory_bytes = (uint64_t)all->d->config.device_memory_bytes;
}
