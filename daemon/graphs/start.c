/* Opens the store of graphs when the server starts, and closes it when the server stops. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/graphs/graphs_internal.h"
#include "daemon/graphs/more_labels.h"
#include "daemon/store/db.h"
#include "daemon/store/sweep.h"
#include "daemon/stream/events.h"
#include "daemon/users/bookings.h"
#include "daemon/util/log.h"

/* Finishes an upload that a crash interrupted after the record was written: renames its complete files. */
static int finish_upload(struct sl_graphs *s, const struct sl__graph *g)
{
	int rc = 0;
	for (int p = 0; p < SL_PARTS && !rc; p++) {
		const char *ending = sl__graphs_ending(g->record.kind, (enum sl_content_part)p);
		if (p == SL_PART_NEIGHBOURS && g->record.kind != SL_KIND_NEIGHBOURS)
			continue;
		char *path = sl__graphs_path(s, g->record.id, ending), *from = sl__graphs_temporary(s, g->record.id, ending);
		if (!path || !from)
			rc = SL_NOMEM;
		else if (access(path, F_OK) && !access(from, F_OK) && rename(from, path))
			sl_log_error("graphs", "%s cannot be renamed: %s", from, strerror(errno));
		free(path);
		free(from);
	}
	char *labels = sl__graphs_path(s, g->record.id, "sll"), *from = sl__graphs_temporary(s, g->record.id, "sll");
	if (labels && from)
		sl__more_labels_finish(labels, from, g->record.nodes);
	free(labels);
	free(from);
	return rc;
}

static int load_row(void *arg, const char *id, json_t *document)
{
	struct sl_graphs *s = arg;
	struct sl_error err;
	struct sl__graph *g = sl__graph_from_json(id, document);
	if (!g) {
		sl_log_warning("graphs", "record %s is not valid and is ignored", id);
		return SL_DB_PASSED_OVER;
	}
	bool graph = g->record.kind == SL_KIND_GRAPH;
	char *path = sl__graphs_path(s, id, sl__graphs_ending(g->record.kind, SL_PART_DATA));
	if (!path || finish_upload(s, g) || sl__graphs_insert(s, g)) {
		free(path);
		sl__graph_free(g);
		return SL_NOMEM;
	}
	if (graph ? sl_graph_file_check(path, g->digest, &err) : sl_points_file_check(path, &err)) {
		g->record.state = SL_GRAPH_DAMAGED;
		sl_log_error("graphs", "%s (%s): %s", id, g->record.name, err.detail);
	}
	free(path);
	sl__graph_read_columns(s, g);
	return graph ? 0 : sl__finder_resume(s, g);
}

/* True for values of columns (cNN) that no column names: a crash came before the file of the columns was written. */
static bool is_unnamed(const struct sl__graph *g, const char *kind)
{
	json_t *one;
	size_t i;
	char *end;
	long place = kind[0] == 'c' ? strtol(kind + 1, &end, 10) : -1;
	bool damaged = g->column_bytes && !g->columns;
	json_array_foreach(g->columns, i, one)
		if (json_is_integer(json_object_get(one, "place")) && json_integer_value(json_object_get(one, "place")) ==
				place)
			return false;
	return place >= 0 && !damaged;
}

static enum sl_fate fate(void *arg, const char *id, const char *kind)
{
	struct sl_graphs *s = arg;
	const struct sl__graph *g = sl__graphs_find(s, id);
	if (g)
		return is_unnamed(g, kind) ? SL_FATE_DELETED : SL_FATE_KEPT;
	return sl_db_was_removed(s->d->db, id) ? SL_FATE_DELETED : SL_FATE_LOST;
}

/* An index of texts without a graph is removed: it can be made again. */
static enum sl_fate index_fate(void *arg, const char *id, const char *kind)
{
	return sl__graphs_find(arg, id) ? SL_FATE_KEPT : SL_FATE_DELETED;
}

static void sweep(struct sl_graphs *s, const char *state_dir)
{
	static const char *const indexes[] = {"index", NULL};
	sl_sweep(state_dir, "graphs", sl_graph_file_kinds, fate, s);
	sl_sweep(state_dir, "graphs", indexes, index_fate, s);
}

static void on_collect(void *arg)
{
	struct sl_graphs *s = arg;
	int resident = 0;
	uint64_t bytes = 0;
	for (int i = 0; i < s->count; i++) {
		const struct sl__loaded *part = s->graph[i]->part;
		resident += part[SL_PART_DATA].content || part[SL_PART_NEIGHBOURS].content;
		for (int p = 0; p < SL_PARTS; p++)
			bytes += part[p].content ? part[p].content->bytes : 0;
	}
	sl_metric_set(s->m_graphs, s->count);
	sl_metric_set(s->m_resident, resident);
	sl_metric_set(s->m_bytes, (double)bytes);
	sl_metric_set(s->m_reading, (double)s->line.reading.count);
	sl_metric_set(s->m_waiting, sl_upload_line_waiting(&s->line));
}

static void register_metrics(struct sl_graphs *s)
{
	struct sl_metrics *m = s->d->metrics;
	s->m_graphs = sl_metrics_register(m, SL_GAUGE, "spaceland_graphs", NULL, "Graphs stored.");
	s->m_resident = sl_metrics_register(m, SL_GAUGE, "spaceland_graphs_resident", NULL, "Graphs in host memory.");
	s->m_bytes = sl_metrics_register(m, SL_GAUGE, "spaceland_graphs_resident_bytes", NULL,
					 "Host memory used by graphs.");
	s->m_uploads = sl_metrics_register(m, SL_COUNTER, "spaceland_graph_uploads_total", NULL,
					   "Graphs uploaded and stored.");
	s->m_loads = sl_metrics_register(m, SL_COUNTER, "spaceland_graph_loads_total", NULL,
					 "Graphs read back from disk.");
	s->m_searches = sl_metrics_register(m, SL_COUNTER, "spaceland_searches_total", NULL,
					    "Neighbour searches completed.");
	s->m_search_seconds = sl_metrics_register(m, SL_COUNTER, "spaceland_search_seconds_total", NULL,
						  "Total time of these searches.");
	s->m_search_times = sl_metrics_register(m, SL_HISTOGRAM, SL_PHASE_SECONDS, "phase=\"neighbours\"",
						SL_PHASE_SECONDS_HELP);
	s->m_reading = sl_metrics_register(m, SL_GAUGE, "spaceland_uploads_reading", NULL,
					   "Uploads being read and stored.");
	s->m_waiting = sl_metrics_register(m, SL_GAUGE, "spaceland_uploads_waiting", NULL,
					   "Uploads waiting until others have been read.");
	sl_metrics_on_collect(m, on_collect, s);
}

/* ---- life ------------------------------------------------------------------------- */

static void destroy(struct sl_graphs *s)
{
	if (s->d)
		sl_bookings_on_disk_use(s->d->bookings, NULL, NULL);
	for (int i = 0; i < s->count; i++)
		sl__graph_free(s->graph[i]);
	sl_upload_line_finish(&s->line);
	free(s->graph);
	free(s->folder);
	free(s);
}

static void on_async_closed(uv_handle_t *handle)
{
	struct sl_graphs *s = handle->data;
	void (*closed)(void *) = s->closed;
	void *arg = s->closed_arg;
	destroy(s);
	if (closed)
		closed(arg);
}

static void on_passes_closed(void *arg)
{
	struct sl_graphs *s = arg;
	uv_close((uv_handle_t *)&s->deliver, on_async_closed);
}

/* There is no work left of a store that closes. */
static void on_idle(struct sl_graphs *s)
{
	sl__passes_close(s->passes, on_passes_closed, s);
}

static uint64_t disk_use(void *arg, const char *account)
{
	return sl_graphs_disk_use(arg, account);
}

int sl_graphs_create(struct sl_graphs **out, struct sl_daemon *d, struct sl_error *err)
{
	struct sl_graphs *s = calloc(1, sizeof *s);
	if (!s || asprintf(&s->folder, "%s/graphs", d->state_dir) < 0) {
		if (s)
			destroy(s);
		return sl_error_memory(err, "the graphs");
	}
	s->d = d;
	sl_bookings_on_disk_use(d->bookings, disk_use, s);
	int rc = sl_db_load(d->db, SL_DB_GRAPHS, load_row, s, err);
	if (rc < 0) {
		sl__finders_cancel(s);
		destroy(s);
		return rc;
	}
	s->complete = rc == 0;
	if (rc == 0)
		sweep(s, d->state_dir);
	register_metrics(s);
	sl_events_source(d->events, SL_EVENTS_GRAPH, &sl__graphs_event_source, s);
	s->idle = on_idle;
	if (sl__passes_open(s)) {
		sl__finders_cancel(s);
		destroy(s);
		return sl_error_memory(err, "the graphs");
	}
	uv_async_init(d->loop, &s->deliver, sl__graphs_on_deliver);
	s->deliver.data = s;
	if (s->count)
		sl_log_info("graphs", "%d graphs found", s->count);
	*out = s;
	return 0;
}

void sl_graphs_close(struct sl_graphs *s, void (*closed)(void *arg), void *arg)
{
	s->closing = true;
	__atomic_store_n(&s->cancel, 1, __ATOMIC_RELAXED);
	s->closed = closed;
	s->closed_arg = arg;
	s->active++;  /* so that the count does not become 0 below */
	sl__uploads_cancel(s);
	sl__finders_cancel(s);
	sl__graphs_work_end(s);
}
