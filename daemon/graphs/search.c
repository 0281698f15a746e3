/* Searches neighbours in the background:
 *
 *   loop: the search is queued; at most SEARCHES_MAX run at a time, and only one large one, so that a small table does
 *         not wait for ten million rows
 *   worker: if a device in another process can search, it does (struct sl_graphs_computers), as soon as the points have
 *         a file, which it reads
 *   pool: else, or if the device could not: sl_neighbours_find(), or with workers off the engine's search; then the
 *         points' principal axes, for initial layouts
 *   loop: jobs that waited for the neighbours continue
 *   pool: write graphs/ID.sln.tmp, fsync, rename to graphs/ID.sln, fsync the folder
 *
 * The file contains its description, so no record changes. It only saves time: after a crash, or if the file is
 * damaged, the neighbours are searched again. If it cannot be written, the server tries again from time to time;
 * meanwhile the neighbours stay in memory. A larger search, for a job with a larger perplexity, replaces content and
 * file; holders of references to the old content keep it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/engine/engine.h"
#include "daemon/graphs/graphs_internal.h"
#include "daemon/store/atomic.h"
#include "daemon/util/crashes.h"
#include "daemon/util/log.h"

#define SEARCHES_MAX 2
#define YOUNG 100000             /* millionths: with less progress a search restarts if more neighbours are needed */
#define LARGE 5e10               /* a search is large if all pairs have at least so many differences of coordinates */
#define LP_COST 20               /* cost of a difference with metric Lp, which needs a power */

/* AWAITING: a device will search when the points have a file; FOUND: not stored, no record yet; UNSTORED: the file
 * could not be written */
enum stage { QUEUED, AWAITING, LOADING, FINDING, FOUND, STORING, UNSTORED };

struct sl__finder {
	struct sl_link link;           /* in sl_graphs.searches */
	struct sl_graphs *s;
	struct sl__graph *graph;       /* NULL: deleted */
	char id[SL_ULID_BYTES];
	enum stage stage;
	uint32_t again;                /* k of the next search, if more neighbours are needed already; or 0 */
	bool large;
	struct sl_content *points;     /* a reference, from LOADING on */
	struct sl_content *found;      /* a reference, while it is stored */
	struct sl_neighbours_params params;
	struct sl_device_search *device;  /* of a worker, until its result is stored; or NULL */
	int cancel;                    /* read by the pool */
	int progress;                  /* in millionths; written by the pool */
	/* used by the pool: */
	struct sl_pool_place work;
	struct sl_graphs_computers by;
	struct sl_neighbours *result;
	double seconds;
	char *temporary, *path;
	uint64_t bytes;
	int status;
	struct sl_error err;
	unsigned failures;             /* failed attempts to store the result */
};

static void pump(struct sl_graphs *s);

static void let_go(struct sl__finder *q)
{
	if (q->device)
		q->s->by.end(q->device);
	q->device = NULL;
}

static void search_free(struct sl__finder *q)
{
	sl_list_unlink(&q->link);
	let_go(q);
	if (q->graph)
		q->graph->search = NULL;
	sl__content_unref(q->points);
	sl__content_unref(q->found);
	sl_neighbours_destroy(q->result);
	free(q->temporary);
	free(q->path);
	free(q);
}

static void tell(struct sl_graphs *s, const char *id)
{
	sl__graph_changed(s, id);
	if (s->on_search && !s->closing)
		s->on_search(s->on_search_arg, id);
}

/* Called when a search has ended: starts the next one of this graph, and others that may run now. */
static void search_end(struct sl__finder *q)
{
	struct sl_graphs *s = q->s;
	struct sl__graph *g = q->graph;
	uint32_t again = q->again;
	search_free(q);
	if (g && again > g->record.k && !s->closing)
		sl__finder_begin(s, g, again);
	sl__graphs_evict(s);
	pump(s);
}

static void search_fail(struct sl__finder *q)
{
	struct sl_graphs *s = q->s;
	struct sl__graph *g = q->graph;
	char id[SL_ULID_BYTES];
	memcpy(id, q->id, sizeof id);
	if (g && !s->closing && q->status == SL_CANCELLED && q->again) {
		search_end(q);  /* which begins the larger one */
		return;
	}
	if (g && !s->closing) {
		sl_log_error("graphs", "%s: neighbours: %s", id, q->err.detail);
		g->problem = q->err;
		g->record.search = g->record.k ? SL_SEARCH_READY : SL_SEARCH_FAILED;
		g->record.wanted = g->record.k;
		q->again = 0;
	}
	search_end(q);
	tell(s, id);
}

/* ---- storing ---------------------------------------------------------------------- */

static void store_work(void *arg)
{
	struct sl__finder *q = arg;
	unlink(q->temporary);
	q->status = sl_neighbours_file_write(q->temporary, q->found->neighbours, q->seconds, &q->bytes, &q->err);
	if (!q->status)
		q->status = sl_atomic_place(q->temporary, q->path, &q->err);
}

static void remove_work(void *arg)
{
	struct sl__finder *q = arg;
	unlink(q->path);
}

static void removed(void *arg)
{
	struct sl__finder *q = arg;
	struct sl_graphs *s = q->s;
	search_end(q);
	sl__graphs_work_end(s);
}

static void stored(void *arg)
{
	struct sl__finder *q = arg;
	struct sl_graphs *s = q->s;
	if (!q->graph) {  /* deleted while it was written */
		sl_pool_run_in(&q->work, s->d->loop, remove_work, removed, q);
		return;
	}
	bool again = q->status && !q->again && !s->closing;
	if (q->status && !q->failures++)
		sl_log_error("graphs", "%s: %s", q->id, q->err.detail);
	if (!q->status)
		q->graph->found_bytes = q->bytes;
	if (again)
		q->stage = UNSTORED;
	else
		search_end(q);
	sl__graphs_work_end(s);
}

/* ---- finding ------------------------------------------------------------------------ */

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void on_progress(void *arg, double share)
{
	struct sl__finder *q = arg;
	int value = (int)(1e6 * fmin(fmax(share, 0), 1));
	__atomic_store_n(&q->progress, value, __ATOMIC_RELAXED);
}

/* Searches on the pool; on the CPU if the GPU does not know the metric or has too little memory. */
static void find_work(void *arg)
{
	struct sl__finder *q = arg;
	double start = now_s();
	sl_crashes_computes(q->id);
	const struct sl_points *view, *points = q->points->points;
	int refused = sl_distance_points(&view, points, q->params.metric, &q->err);
	q->status = refused ? refused : SL_BADPARAM;
	bool engine = q->by.engine && q->by.engine->neighbours_find;
	if (engine && !refused)
		q->status = q->by.engine->neighbours_find(q->by.index, q->by.memory_bytes, view, &q->params, &q->result,
							  &q->err);
	if (q->status && q->status != SL_CANCELLED && !refused) {
		if (engine && q->status != SL_BADPARAM)
			sl_log_warning("graphs", "%s: neighbours are searched on the CPU: %s", q->id, q->err.detail);
		on_progress(q, 0);
		q->status = sl_neighbours_find(&q->result, view, &q->params, &q->err);
	}
	if (!q->status)
		q->status = sl_neighbours_axes(q->result, points, &q->cancel, &q->err);
	if (!refused)
		sl_points_uncentred_end(view, points);
	q->seconds = now_s() - start;
	sl_crashes_computes(NULL);
}

/* Stores the neighbours; sl__graphs_work_end() follows at the end. */
static void store(struct sl__finder *q)
{
	q->stage = STORING;
	sl_pool_run_in(&q->work, q->s->d->loop, store_work, stored, q);
}

static void find_done(void *arg)
{
	struct sl__finder *q = arg;
	struct sl_graphs *s = q->s;
	struct sl__graph *g = q->graph;
	if (!q->status && !(q->found = sl__content_take(NULL, NULL, q->result)))
		q->status = sl_error_memory(&q->err, "the neighbours");
	if (q->found)
		q->result = NULL;
	if (q->status || !g || s->closing) {
		search_fail(q);
		sl__graphs_work_end(s);
		return;
	}
	sl_crashes_forget(q->id);
	struct sl_neighbours_summary found = sl_neighbours_summary_of(q->found->neighbours, q->seconds);
	sl__graph_found(g, &found);
	g->record.search = q->again > found.k ? SL_SEARCH_RUNNING : SL_SEARCH_READY;
	g->problem.code = 0;
	g->found_bytes = 0;
	sl__content_unref(g->part[SL_PART_NEIGHBOURS].content);
	g->part[SL_PART_NEIGHBOURS].content = sl__content_ref(q->found);
	sl_metric_add(s->m_searches, 1);
	sl_metric_add(s->m_search_seconds, q->seconds);
	sl_metric_observe(s->m_search_times, q->seconds);
	sl_log_info("graphs", "%s: %u neighbours a point, %s, recall %.4f, %.3f s", q->id, found.k, found.method,
		    found.recall, q->seconds);
	q->stage = FOUND;
	if (sl__graphs_find(s, q->id))
		store(q);
	tell(s, q->id);
	pump(s);
}

/* Searches in this process; sl__graphs_work_begin() was called. */
static void find_here(struct sl__finder *q)
{
	struct sl_graphs *s = q->s;
	q->by = s->by;
	q->params.gpus = s->by.gpus;
	q->params.cancel = &q->cancel;
	q->params.progress = on_progress;
	q->params.arg = q;
	sl_pool_run_in(&q->work, s->d->loop, find_work, find_done, q);
}

static void device_answered(void *arg, struct sl_neighbours *neighbours, double seconds, const struct sl_error *err)
{
	struct sl__finder *q = arg;
	if (neighbours) {
		q->result = neighbours;
		q->seconds = seconds;
		q->status = 0;
		find_done(q);
		return;
	}
	let_go(q);
	if (err->code != SL_BADPARAM)
		sl_log_warning("graphs", "%s: neighbours are searched on the CPU: %s", q->id, err->detail);
	on_progress(q, 0);
	find_here(q);
}

/* Lets a device search, if one can. */
static void find(struct sl__finder *q)
{
	struct sl_graphs *s = q->s;
	struct sl_search_request r = {.id = q->id, .points = q->points->points, .params = q->params, .to = q,
				      .progress = on_progress, .answered = device_answered};
	bool able = s->by.search && s->by.able(s->by.arg);
	if (able && !sl__graphs_find(s, q->id)) {
		q->stage = AWAITING;
		return;
	}
	q->stage = FINDING;
	sl__graphs_work_begin(s);
	char *path = able ? sl__graphs_path(s, q->id, sl__graphs_ending(SL_KIND_POINTS, SL_PART_DATA)) : NULL;
	r.path = path;
	q->device = path ? s->by.search(s->by.arg, &r) : NULL;
	free(path);
	if (!q->device)
		find_here(q);
}

static void nothing(void *arg)
{
}

/* Ends a search that runs, soon: then find_done() runs. */
static void stop(struct sl__finder *q)
{
	__atomic_store_n(&q->cancel, 1, __ATOMIC_RELAXED);
	if (q->stage != FINDING || !q->device)
		return;
	let_go(q);
	q->status = sl_error_set(&q->err, SL_CANCELLED, "The search was cancelled.");
	sl_pool_run_in(&q->work, q->s->d->loop, nothing, find_done, q);
}

static void points_loaded(void *arg, struct sl_content *c, const struct sl_error *err)
{
	struct sl__finder *q = arg;
	q->points = c;
	if (!c)
		q->err = *err;
	if (!c || !q->graph || q->s->closing)
		search_fail(q);
	else
		find(q);
}

/* Starts a search by loading its points. Searches in line hold no points, because there may be many. */
static void start(struct sl__finder *q)
{
	struct sl_content *points = q->graph->part[SL_PART_DATA].content;
	q->stage = LOADING;
	if (!q->points && points)
		q->points = sl__content_ref(points);
	if (q->points)
		find(q);
	else if (sl_graphs_acquire(q->s, q->id, SL_PART_DATA, points_loaded, q, &q->err))
		search_fail(q);
}

/* Starts the searches that may run now. */
static void pump(struct sl_graphs *s)
{
	int running = 0, large = 0;
	if (!s->searching || s->closing)
		return;
	SL_LIST_EACH(struct sl__finder, q, &s->searches, link) {
		bool runs = q->stage == LOADING || q->stage == FINDING;
		running += runs;
		large += runs && q->large;
	}
	SL_LIST_EACH(struct sl__finder, q, &s->searches, link) {
		if (running >= SEARCHES_MAX)
			return;
		if (q->stage != QUEUED || (q->large && large))
			continue;
		start(q);
		pump(s);  /* the list may have changed */
		return;
	}
}

/* ---- functions for the store ---------------------------------------------------------- */

static bool has_crashed(struct sl__graph *g);

int sl__finder_begin(struct sl_graphs *s, struct sl__graph *g, uint32_t k)
{
	if (has_crashed(g))
		return 0;
	uint32_t most = g->record.points - 1;
	if (k > most)
		k = most;
	if (k > g->record.wanted)
		g->record.wanted = k;
	struct sl__finder *q = g->search;
	if (q && q->stage == UNSTORED)
		search_free(q);
	if ((q = g->search)) {
		if (q->stage == QUEUED || q->stage == AWAITING)
			q->params.k = k > q->params.k ? k : q->params.k;
		else if (k > q->params.k && k > q->again)
			q->again = k;
		if (q->stage == FINDING && q->again && __atomic_load_n(&q->progress, __ATOMIC_RELAXED) < YOUNG)
			stop(q);
		g->record.search = SL_SEARCH_RUNNING;
		return 0;
	}
	if (!(q = calloc(1, sizeof *q)))
		return SL_NOMEM;
	q->s = s;
	q->graph = g;
	memcpy(q->id, g->record.id, sizeof q->id);
	q->params = g->wanted;
	q->params.k = k;
	q->large = (double)g->record.points * g->record.points * g->record.columns *
		   (g->wanted.metric == SL_LP ? LP_COST : 1) > LARGE;
	q->path = sl__graphs_path(s, q->id, sl__graphs_ending(SL_KIND_POINTS, SL_PART_NEIGHBOURS));
	q->temporary = sl__graphs_temporary(s, q->id, sl__graphs_ending(SL_KIND_POINTS, SL_PART_NEIGHBOURS));
	if (!q->path || !q->temporary) {
		free(q->path);
		free(q->temporary);
		free(q);
		return SL_NOMEM;
	}
	g->search = q;
	g->problem.code = 0;
	g->record.search = SL_SEARCH_RUNNING;
	sl_list_append(&s->searches, &q->link);
	pump(s);
	return 0;
}

int sl__finder_resume(struct sl_graphs *s, struct sl__graph *g)
{
	struct sl_neighbours_summary found;
	struct sl_error err;
	uint64_t bytes;
	char *path = sl__graphs_path(s, g->record.id, sl__graphs_ending(g->record.kind, SL_PART_NEIGHBOURS));
	if (!path)
		return SL_NOMEM;
	g->record.wanted = g->wanted.k;
	g->record.search = SL_SEARCH_READY;
	bool axes = false;
	int rc = sl_neighbours_file_check(path, &found, &axes, &bytes, &err);
	bool there = !rc || access(path, F_OK) == 0;
	if (!rc && (found.n != g->record.points || found.n_user != g->record.nodes))
		rc = sl_error_set(&err, SL_BADDATA, "the stored neighbours are those of another table");
	if (!rc && !axes && g->record.kind == SL_KIND_POINTS)
		rc = sl_error_set(&err, SL_BADDATA, "the stored neighbours lack the points' principal axes");
	if (rc && there)
		sl_log_error("graphs", "%s: %s", g->record.id, err.detail);
	free(path);
	if (!rc) {
		sl__graph_found(g, &found);
		g->found_bytes = bytes;
		return 0;
	}
	if (g->record.kind == SL_KIND_NEIGHBOURS) {
		g->record.state = SL_GRAPH_DAMAGED;
		return 0;
	}
	if (!g->wanted.k)
		g->record.search = SL_SEARCH_NONE;  /* a job that wants some starts a search */
	return g->record.state == SL_GRAPH_DAMAGED || !g->wanted.k ? 0 : sl__finder_begin(s, g, g->wanted.k);
}

void sl__finder_lost(struct sl_graphs *s, struct sl__graph *g)
{
	uint32_t k = g->record.k;
	g->record.k = 0;
	g->record.entries = 0;
	g->found_bytes = 0;
	if (sl__finder_begin(s, g, k)) {
		sl_error_memory(&g->problem, "a search of neighbours");
		g->record.search = SL_SEARCH_FAILED;
	}
}

/* Removes a search; one that runs on the pool is cancelled and ends soon. */
void sl__finder_forget(struct sl_graphs *s, struct sl__graph *g)
{
	struct sl__finder *q = g->search;
	if (!q)
		return;
	q->graph = NULL;
	g->search = NULL;
	stop(q);
	if (q->stage == QUEUED || q->stage == AWAITING || q->stage == UNSTORED) {
		search_free(q);
	} else if (q->stage == FOUND) {
		search_end(q);
		sl__graphs_work_end(s);
	}
}

void sl__finder_recorded(struct sl_graphs *s, struct sl__graph *g)
{
	if (g->search && g->search->stage == FOUND) {
		store(g->search);
	} else if (g->search && g->search->stage == AWAITING) {
		g->search->stage = QUEUED;
		pump(s);
	}
}

double sl__finder_progress(const struct sl__graph *g)
{
	if (g->record.search == SL_SEARCH_READY)
		return 1;
	return g->search ? __atomic_load_n(&g->search->progress, __ATOMIC_RELAXED) * 1e-6 : 0;
}

void sl__finders_cancel(struct sl_graphs *s)
{
	SL_LIST_EACH(struct sl__finder, q, &s->searches, link) {
		stop(q);
		if (q->stage == QUEUED || q->stage == AWAITING || q->stage == UNSTORED)
			search_free(q);
	}
}

void sl_graphs_store_again(struct sl_graphs *s)
{
	SL_LIST_EACH(struct sl__finder, q, &s->searches, link)
		if (q->stage == UNSTORED) {
			sl__graphs_work_begin(s);
			store(q);
		}
}

/* ---- functions for jobs ------------------------------------------------------------------ */

enum sl_search_state sl_graphs_want(struct sl_graphs *s, const char *id, uint32_t k, struct sl_error *err)
{
	SL_ON_LOOP(s->d);
	struct sl__graph *g = sl__graphs_find(s, id);
	if (!g || g->record.kind == SL_KIND_GRAPH)
		return SL_SEARCH_READY;  /* acquiring it reports the error */
	struct sl_graph_record *r = &g->record;
	uint32_t most = r->points - 1;
	if (k > most)
		k = most;
	if (r->k && r->k >= k)
		return SL_SEARCH_READY;
	if (r->kind == SL_KIND_NEIGHBOURS) {
		sl_error_field(err, SL_BADPARAM, "/perplexity", "The upload has %u neighbours of each point, but %u "
			       "are needed: three times the perplexity.", r->k, k);
		return SL_SEARCH_FAILED;
	}
	if (sl__finder_begin(s, g, k)) {
		sl_error_memory(err, "a search of neighbours");
		return SL_SEARCH_FAILED;
	}
	if (r->search != SL_SEARCH_RUNNING) {  /* it failed at once: the points cannot be read */
		*err = g->problem;
		return SL_SEARCH_FAILED;
	}
	return SL_SEARCH_RUNNING;
}

const struct sl_error *sl_graphs_search_problem(struct sl_graphs *s, const char *id)
{
	struct sl__graph *g = sl__graphs_find(s, id);
	return g && g->record.search != SL_SEARCH_RUNNING && g->problem.code ? &g->problem : NULL;
}

void sl_graphs_on_search(struct sl_graphs *s, void (*fn)(void *arg, const char *id), void *arg)
{
	s->on_search = fn;
	s->on_search_arg = arg;
}

/* The server stops: what a device searches waits for the next start. */
static void leave_devices(struct sl_graphs *s)
{
	SL_LIST_EACH(struct sl__finder, q, &s->searches, link) {
		if (q->stage == FINDING && q->device) {
			q->stage = QUEUED;
			sl__graphs_work_end(s);
		}
		let_go(q);
	}
}

void sl_graphs_compute_by(struct sl_graphs *s, const struct sl_graphs_computers *by)
{
	s->searching = by != NULL;
	if (!by)
		leave_devices(s);
	s->by = by ? *by : (struct sl_graphs_computers){.engine = NULL};
	pump(s);
}

/* True if searches in these points have crashed the server too often: then sets the problem and `search`. */
static bool has_crashed(struct sl__graph *g)
{
	int number;
	if (sl_crashes_of(g->record.id, &number) < SL_CRASHES_LIMIT)
		return false;
	sl_error_set(&g->problem, SL_INTERNAL, "The server crashed twice while it searched the neighbours of these points "
		     "(signal %d, %s). Please report this; upload the points again to try again.", number, strsignal(number));
	sl_log_warning("graphs", "%s: %s", g->record.id, g->problem.detail);
	g->record.search = g->record.k ? SL_SEARCH_READY : SL_SEARCH_FAILED;
	return true;
}
