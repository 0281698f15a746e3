/* The parts of graphs in memory: loads, lends and evicts them. */
#include <stdlib.h>

#include "core/host_memory.h"
#include "daemon/graphs/graphs_internal.h"
#include "daemon/util/log.h"
#include "daemon/store/uses.h"

/* ---- eviction ------------------------------------------------------------------------ */

/* True if nobody uses the part, and it can be loaded from the disk again. */
static bool idle(const struct sl__graph *g, enum sl_content_part part)
{
	const struct sl_content *c = g->part[part].content;
	bool stored = part == SL_PART_DATA || g->record.kind == SL_KIND_NEIGHBOURS || g->found_bytes;
	return c && c->references == 1 && stored;
}

static void unload(struct sl__graph *g, enum sl_content_part part)
{
	sl__content_unref(g->part[part].content);
	g->part[part].content = NULL;
}

/* Drops unused parts, least recently used first, until the others fit. A table of points is dropped before its
 * neighbours, which jobs need more often. */
void sl__graphs_evict(struct sl_graphs *s)
{
	uint64_t limit = (uint64_t)s->d->config.graph_memory_bytes, quarter = sl_host_memory() / 4;
	if (limit > quarter)
		limit = quarter;
	for (;;) {
		struct sl__graph *oldest = NULL;
		enum sl_content_part part = SL_PART_DATA;
		uint64_t bytes = 0;
		for (int i = 0; i < s->count; i++) {
			struct sl__graph *g = s->graph[i];
			for (int p = SL_PARTS - 1; p >= 0 && !g->record.pinned; p--) {
				if (!idle(g, (enum sl_content_part)p))
					continue;
				bytes += g->part[p].content->bytes;
				if (!oldest || g->used < oldest->used || g == oldest) {
					oldest = g;
					part = (enum sl_content_part)p;
				}
			}
		}
		if (!oldest || bytes <= limit)
			return;
		sl_log_debug("graphs", "%s leaves memory", oldest->record.id);
		unload(oldest, part);
	}
}

/* ---- loading --------------------------------------------------------------------------- */

/* Runs the callbacks of waiters, in a separate turn of the loop. */
void sl__graphs_on_deliver(uv_async_t *async)
{
	struct sl_graphs *s = async->data;
	struct sl_list ready = {0};
	if (!s->ready.count)
		return;
	sl_list_move(&ready, &s->ready);
	SL_LIST_EACH(struct sl__waiter, w, &ready, link) {
		w->graph->waiting--;
		w->done(w->arg, w->content, w->content ? NULL : &w->err);
		free(w);
	}
	sl__graphs_evict(s);
	sl__graphs_work_end(s);  /* begun by deliver() */
}

static void deliver(struct sl_graphs *s, struct sl__waiter *w)
{
	if (!s->ready.count) {
		sl__graphs_work_begin(s);
		uv_async_send(&s->deliver);
	}
	sl_list_append(&s->ready, &w->link);
}

struct load {
	struct sl_pool_place work;
	struct sl_graphs *s;
	struct sl__graph *graph;
	enum sl_content_part part;
	enum sl_kind kind;
	char *path;
	struct sl_graph *g;
	struct sl_points *points;
	struct sl_neighbours *neighbours;
	int status;
	struct sl_error err;
};

static void load_work(void *arg)
{
	struct load *l = arg;
	if (l->part == SL_PART_NEIGHBOURS)
		l->status = sl_neighbours_file_read(l->path, &l->neighbours, &l->err);
	else if (l->kind == SL_KIND_GRAPH)
		l->status = sl_graph_file_read(l->path, &l->g, &l->err);
	else
		l->status = sl_points_file_read(l->path, &l->points, &l->err);
}

static void is_damaged(struct sl_graphs *s, struct sl__graph *graph, enum sl_content_part part)
{
	if (part == SL_PART_NEIGHBOURS && graph->record.kind == SL_KIND_POINTS)
		sl__finder_lost(s, graph);
	else
		graph->record.state = SL_GRAPH_DAMAGED;
}

static void load_failed(struct load *l)
{
	sl_log_error("graphs", "%s: %s", l->graph->record.id, l->err.detail);
	if (l->status != SL_BADDATA)
		return;
	l->err.code = SL_IO;  /* a fault of the server, not of the request */
	is_damaged(l->s, l->graph, l->part);
}

void sl_graphs_damaged(struct sl_graphs *s, const char *id, enum sl_content_part part, const struct sl_error *err)
{
	SL_ON_LOOP(s->d);
	struct sl__graph *g = sl__graphs_find(s, id);
	bool searched = g && part == SL_PART_NEIGHBOURS && g->record.search == SL_SEARCH_RUNNING;
	if (!g || searched || g->record.state == SL_GRAPH_DAMAGED)
		return;  /* another job has told it */
	sl_log_error("graphs", "%s: %s", id, err->detail);
	is_damaged(s, g, part);
}

static void load_done(void *arg)
{
	struct load *l = arg;
	struct sl_graphs *s = l->s;
	struct sl__graph *graph = l->graph;
	struct sl__loaded *part = &graph->part[l->part];
	struct sl_content *content = l->status ? NULL : sl__content_take(l->g, l->points, l->neighbours);
	part->loading = false;
	graph->waiting--;
	if (!l->status && !content) {
		sl_graph_destroy(l->g);
		sl_points_destroy(l->points);
		sl_neighbours_destroy(l->neighbours);
		l->status = sl_error_memory(&l->err, "the graph");
	}
	if (l->status) {
		load_failed(l);
	} else if (part->content) {  /* a search has found more neighbours meanwhile */
		sl__content_unref(content);
		content = part->content;
	} else {
		part->content = content;
		graph->used = ++s->tick;
		sl_metric_add(s->m_loads, 1);
	}
	SL_LIST_EACH(struct sl__waiter, w, &part->waiters, link) {
		sl_list_unlink(&w->link);
		w->content = content ? sl__content_ref(content) : NULL;
		w->err = l->err;
		deliver(s, w);
	}
	free(l->path);
	free(l);
	sl__graphs_work_end(s);
}

static int start_load(struct sl_graphs *s, struct sl__graph *graph, enum sl_content_part part)
{
	struct load *l = calloc(1, sizeof *l);
	enum sl_kind kind = graph->record.kind;
	if (!l || !(l->path = sl__graphs_path(s, graph->record.id, sl__graphs_ending(kind, part)))) {
		free(l);
		return SL_NOMEM;
	}
	l->s = s;
	l->graph = graph;
	l->part = part;
	l->kind = kind;
	graph->part[part].loading = true;
	graph->waiting++;
	sl__graphs_work_begin(s);
	sl_pool_run_in(&l->work, s->d->loop, load_work, load_done, l);
	return 0;
}

/* Finds the graph, and the part in which kind graph has all that it has. */
static int find_part(struct sl_graphs *s, const char *id, enum sl_content_part *which, struct sl__graph **out,
		     struct sl_error *err)
{
	struct sl__graph *g = *out = sl__graphs_find(s, id);
	if (!g)
		return sl__graphs_not_found(id, err);
	if (g->record.state == SL_GRAPH_DAMAGED)
		return sl_error_set(err, SL_CONFLICT, "the stored file of graph %s is damaged; upload it again", id);
	if (g->record.kind == SL_KIND_GRAPH)
		*which = SL_PART_DATA;
	if (*which == SL_PART_NEIGHBOURS && !g->record.k)
		return g->record.search == SL_SEARCH_NONE ?
		       sl_error_set(err, SL_CONFLICT, "graph %s was uploaded with neighbours=0, and none are known; "
				    "a job tsne on it, or uploading it again with another number, has them searched", id) :
		       sl_error_set(err, SL_CONFLICT, "the neighbours of graph %s have not been found yet", id);
	return 0;
}

int sl_graphs_file(struct sl_graphs *s, const char *id, enum sl_content_part part, char **path, struct sl_error *err)
{
	SL_ON_LOOP(s->d);
	struct sl__graph *g;
	int code = find_part(s, id, &part, &g, err);
	*path = NULL;
	if (code || (part == SL_PART_NEIGHBOURS && g->record.kind == SL_KIND_POINTS && !g->found_bytes))
		return code;
	if (!(*path = sl__graphs_path(s, id, sl__graphs_ending(g->record.kind, part))))
		return sl_error_memory(err, "the graph");
	g->used = ++s->tick;
	sl_uses_mark(s->d->uses, id);
	return 0;
}

int sl_graphs_acquire(struct sl_graphs *s, const char *id, enum sl_content_part part, sl_graphs_done_fn done, void *arg,
		      struct sl_error *err)
{
	SL_ON_LOOP(s->d);
	struct sl__graph *g;
	int code = find_part(s, id, &part, &g, err);
	if (code)
		return code;
	struct sl__loaded *p = &g->part[part];
	struct sl__waiter *w = calloc(1, sizeof *w);
	if (!w || (!p->content && !p->loading && start_load(s, g, part))) {
		free(w);
		return sl_error_memory(err, "the graph");
	}
	*w = (struct sl__waiter){.graph = g, .done = done, .arg = arg};
	g->waiting++;
	g->used = ++s->tick;
	sl_uses_mark(s->d->uses, id);
	if (p->content) {
		w->content = sl__content_ref(p->content);
		deliver(s, w);
	} else {
		sl_list_append(&p->waiters, &w->link);
	}
	return 0;
}

void sl_graphs_release(struct sl_graphs *s, struct sl_content *c)
{
	SL_ON_LOOP(s->d);
	if (!c)
		return;
	bool idle_now = c->references == 2;
	sl__content_unref(c);
	if (idle_now)
		sl__graphs_evict(s);
}

int sl_graphs_unload(struct sl_graphs *s, const char *id, struct sl_error *err)
{
	struct sl__graph *g = sl__graphs_find(s, id);
	if (!g)
		return sl__graphs_not_found(id, err);
	if (g->record.jobs)
		return sl_error_set(err, SL_CONFLICT, "graph %s is used by %d job%s not finished", id, g->record.jobs,
				    g->record.jobs == 1 ? " that is" : "s that are");
	if (s->on_delete)  /* drops data derived from it, which may hold a reference */
		s->on_delete(s->on_delete_arg, id);
	if (g->search)
		return sl_error_set(err, SL_CONFLICT, "the neighbours of graph %s are being searched", id);
	for (int p = 0; p < SL_PARTS; p++)
		if (g->waiting || (g->part[p].content && !idle(g, (enum sl_content_part)p)))
			return sl_error_set(err, SL_CONFLICT, "graph %s is in use at this moment; try again", id);
	for (int p = 0; p < SL_PARTS; p++)
		unload(g, (enum sl_content_part)p);
	return 0;
}
