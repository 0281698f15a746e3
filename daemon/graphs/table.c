/* The store. Records are kept in an array by id: ULIDs ascend, so that a new one goes to the
 * end, pages are slices, and a search is a bisection. */
#include "daemon/graphs/graphs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "daemon/graphs/graphs_internal.h"
#include "daemon/store/db.h"
#include "daemon/store/uses.h"
#include "daemon/users/users.h"
#include "daemon/store/state_dir.h"
#include "daemon/store/sweep.h"
#include "daemon/stream/events.h"
#include "daemon/util/log.h"

/* ---- records ------------------------------------------------------------------------ */

/* Position of the first id that is not less. */
static int position(const struct sl_graphs *s, const char *id)
{
	int low = 0, high = s->count;
	while (low < high) {
		int middle = (low + high) / 2;
		if (strcmp(s->graph[middle]->record.id, id) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct sl__graph *sl__graphs_find(struct sl_graphs *s, const char *id)
{
	int at = position(s, id);
	return at < s->count && !strcmp(s->graph[at]->record.id, id) ? s->graph[at] : NULL;
}

const struct sl_graph_record *sl_graphs_find(struct sl_graphs *s, const char *id)
{
	SL_ON_LOOP(s->d);
	struct sl__graph *g = sl__graphs_find(s, id);
	return g ? &g->record : NULL;
}

struct sl__graph *sl__graphs_find_digest(struct sl_graphs *s, const unsigned char digest[SL_GRAPH_DIGEST_BYTES])
{
	for (int i = 0; i < s->count; i++)
		if (s->graph[i]->record.state == SL_GRAPH_READY && !memcmp(s->graph[i]->digest, digest, SL_GRAPH_DIGEST_BYTES))
			return s->graph[i];
	return NULL;
}

int sl__graphs_insert(struct sl_graphs *s, struct sl__graph *g)
{
	if (s->count == s->room) {
		int room = s->room ? 2 * s->room : 64;
		struct sl__graph **bigger = realloc(s->graph, (size_t)room * sizeof *bigger);
		if (!bigger)
			return SL_NOMEM;
		s->graph = bigger;
		s->room = room;
	}
	int at = position(s, g->record.id);
	memmove(s->graph + at + 1, s->graph + at, (size_t)(s->count - at) * sizeof *s->graph);
	s->graph[at] = g;
	s->count++;
	sl__graph_changed(s, g->record.id);
	return 0;
}

static void take_out(struct sl_graphs *s, struct sl__graph *g)
{
	int at = position(s, g->record.id);
	s->count--;
	memmove(s->graph + at, s->graph + at + 1, (size_t)(s->count - at) * sizeof *s->graph);
	sl__graph_changed(s, g->record.id);
}

/* ---- what the event streams tell ------------------------------------------------------ */

static json_t *event_record(void *arg, const char *id)
{
	return sl_graphs_json(arg, id);
}

static void event_each(void *arg, void (*add)(void *to, const char *id), void *to)
{
	struct sl_graphs *s = arg;
	for (int i = 0; i < s->count; i++)
		add(to, s->graph[i]->record.id);
}

static const struct sl_event_source event_source = {.record = event_record, .each = event_each};

void sl__graph_changed(struct sl_graphs *s, const char *id)
{
	sl_events_changed(s->d->events, SL_EVENTS_GRAPH, id);
}

void sl_graphs_each(struct sl_graphs *s, void (*each)(void *arg, const struct sl_graph_record *g), void *arg)
{
	for (int i = 0; i < s->count; i++)
		each(arg, &s->graph[i]->record);
}

int sl_graphs_count(const struct sl_graphs *s)
{
	return s->count;
}

char *sl__graphs_path(const struct sl_graphs *s, const char *id, const char *ending)
{
	char *path;
	return asprintf(&path, "%s/%s.%s", s->folder, id, ending) < 0 ? NULL : path;
}

char *sl__graphs_temporary(const struct sl_graphs *s, const char *id, const char *ending)
{
	char *path;
	return asprintf(&path, "%s/%s.%s.tmp", s->folder, id, ending) < 0 ? NULL : path;
}

const char *sl__graphs_ending(enum sl_kind kind, enum sl_content_part part)
{
	return part == SL_PART_NEIGHBOURS ? "sln" : kind == SL_KIND_GRAPH ? "slg" : "slp";
}

json_t *sl_graphs_json(struct sl_graphs *s, const char *id)
{
	struct sl__graph *g = sl__graphs_find(s, id);
	return g ? sl__graph_json(g, true) : NULL;
}

json_t *sl_graphs_list(struct sl_graphs *s, const char *cursor, int limit, const char *name, char next[SL_ULID_BYTES])
{
	json_t *items = json_array();
	int at = cursor ? position(s, cursor) : s->count;
	struct sl__graph *last = NULL;
	next[0] = '\0';
	while (items && --at >= 0) {
		struct sl__graph *g = s->graph[at];
		if (name && strcmp(name, g->record.name))
			continue;
		if (limit-- == 0) {  /* there is one more: the next page begins below the last one given */
			snprintf(next, SL_ULID_BYTES, "%s", last->record.id);
			break;
		}
		json_array_append_new(items, sl__graph_json(g, true));
		last = g;
	}
	return items;
}

int sl__graphs_not_found(const char *id, struct sl_error *err)
{
	return sl_error_set(err, SL_NOTFOUND, "there is no graph %.64s", id);
}

void sl_graphs_use(struct sl_graphs *s, const char *id)
{
	struct sl__graph *g = sl__graphs_find(s, id);
	if (!g)
		return;
	g->record.jobs++;
	sl_uses_mark(s->d->uses, id);
	sl__graph_changed(s, id);
}

void sl_graphs_unuse(struct sl_graphs *s, const char *id)
{
	struct sl__graph *g = sl__graphs_find(s, id);
	if (!g)
		return;
	g->record.jobs--;
	sl_uses_mark(s->d->uses, id);
	sl__graph_changed(s, id);
}

void sl_graphs_on_disk_use(struct sl_graphs *s, uint64_t (*fn)(void *arg, const char *user), void *arg)
{
	s->on_disk_use = fn;
	s->on_disk_use_arg = arg;
}

bool sl_graphs_complete(const struct sl_graphs *s)
{
	return s->complete;
}

uint64_t sl_graphs_disk_use(struct sl_graphs *s, const char *account)
{
	uint64_t bytes = s->on_disk_use ? s->on_disk_use(s->on_disk_use_arg, account) : 0;
	for (int i = 0; i < s->count; i++) {
		const struct sl__graph *g = s->graph[i];
		if (sl_users_pays(s->d->users, account, g->record.id))
			bytes += g->record.file_bytes + g->found_bytes;
	}
	return bytes + sl__uploads_bytes(s, account);
}

void sl_graphs_on_delete(struct sl_graphs *s, void (*fn)(void *arg, const char *id), void *arg)
{
	s->on_delete = fn;
	s->on_delete_arg = arg;
}

/* ---- by name and by the beginning of an id ---------------------------------------------- */

#define PREFIX_MIN 6

static bool begins_so(const char *id, const char *prefix, size_t length)
{
	return length >= PREFIX_MIN && length < SL_ULID_BYTES && !strncasecmp(id, prefix, length);
}

const struct sl_graph_record *sl_graphs_resolve(struct sl_graphs *s, const char *text, struct sl_error *err)
{
	size_t length = strlen(text);
	const struct sl_graph_record *named = NULL, *prefixed = NULL;
	int names = 0, prefixes = 0;
	struct sl__graph *g = sl__graphs_find(s, text);
	if (g)
		return &g->record;
	if (sl_ulid_valid(text)) {  /* rights are on ids: no name may look like one */
		sl__graphs_not_found(text, err);
		return NULL;
	}
	for (int i = 0; i < s->count; i++) {
		const struct sl_graph_record *r = &s->graph[i]->record;
		bool name = !strcmp(r->name, text), prefix = begins_so(r->id, text, length);
		names += name;
		prefixes += prefix;
		named = name ? r : named;
		prefixed = prefix ? r : prefixed;
	}
	if (names == 1 || (!names && prefixes == 1))
		return names ? named : prefixed;
	if (names || prefixes)
		sl_error_set(err, SL_CONFLICT, "%d graphs %s %.64s; the id tells which", names ? names : prefixes,
			     names ? "are called" : "have ids that begin with", text);
	else
		sl__graphs_not_found(text, err);
	return NULL;
}

/* ---- changes ------------------------------------------------------------------------ */

struct change {
	struct sl_graphs *s;
	sl_db_done_fn done;
	void *arg;
	struct sl_pool_place work;
	char *path[SL_PARTS + 1];  /* of files to be removed: of the parts, and the labels */
	struct sl__graph *graph;  /* of them, until its record is gone */
	char id[SL_ULID_BYTES];  /* of a graph that gets a name (NULL: keeps its) or is pinned (-1: as it is) */
	char *name;
	int pinned;
	int status;
	struct sl_error err;
};

static void change_free(struct change *c)
{
	for (int p = 0; p <= SL_PARTS; p++)
		free(c->path[p]);
	sl__graph_free(c->graph);
	free(c->name);
	free(c);
}

static void change_finish(struct change *c)
{
	struct sl_graphs *s = c->s;
	c->done(c->arg, c->status, c->status ? &c->err : NULL);
	change_free(c);
	sl__graphs_work_end(s);
}

static void change_done(void *arg, int status, const struct sl_error *err)
{
	struct change *c = arg;
	c->status = status;
	if (err)
		c->err = *err;
	change_finish(c);
}

static struct change *change_begin(struct sl_graphs *s, sl_db_done_fn done, void *arg, struct sl_error *err)
{
	struct change *c = calloc(1, sizeof *c);
	if (!c) {
		sl_error_set(err, SL_NOMEM, "no memory for the change");
		return NULL;
	}
	c->s = s;
	c->done = done;
	c->arg = arg;
	sl__graphs_work_begin(s);
	return c;
}

/* The change is safe: from now on it is seen. Changes take effect in the order in which they were asked for. */
static void change_recorded(void *arg, int status, const struct sl_error *err)
{
	struct change *c = arg;
	struct sl__graph *g = sl__graphs_find(c->s, c->id);
	if (g)
		g->changing--;
	if (g && !status && c->name) {
		free(g->record.name);
		g->record.name = c->name;
		c->name = NULL;
	}
	if (g && !status && c->pinned >= 0)
		g->record.pinned = c->pinned;
	if (!c->s->closing)
		sl__graphs_evict(c->s);
	if (!status)
		sl__graph_changed(c->s, c->id);
	change_done(c, status, err);
}

/* The record as it will be; what is seen meanwhile stays. */
static json_t *changed_document(struct sl__graph *g, char *name, int pinned)
{
	char *old_name = g->record.name;
	bool old_pinned = g->record.pinned;
	g->record.name = name ? name : old_name;
	g->record.pinned = pinned >= 0 ? pinned : old_pinned;
	json_t *document = sl__graph_json(g, false);
	g->record.name = old_name;
	g->record.pinned = old_pinned;
	return document;
}

int sl_graphs_change(struct sl_graphs *s, const char *id, const char *name, int pinned, sl_db_done_fn done, void *arg,
		     struct sl_error *err)
{
	struct sl__graph *g = sl__graphs_find(s, id);
	if (!g)
		return sl__graphs_not_found(id, err);
	if (g->changing)
		return sl_error_set(err, SL_CONFLICT, "graph %s is being changed at this moment; try again", id);
	struct change *c = change_begin(s, done, arg, err);
	json_t *document = NULL;
	int rc = c ? 0 : SL_NOMEM;
	if (!rc && name && !(c->name = strdup(name)))
		rc = SL_NOMEM;
	if (!rc) {
		memcpy(c->id, g->record.id, sizeof c->id);
		c->pinned = pinned;
		document = changed_document(g, c->name, pinned);
		rc = document ? sl_db_put(s->d->db, SL_DB_GRAPHS, id, document, change_recorded, c) : SL_NOMEM;
	}
	json_decref(document);
	if (rc && c) {
		change_free(c);
		sl__graphs_work_end(s);
	}
	if (rc)
		return sl_error_set(err, rc, "no memory for the change");
	g->changing++;
	return 0;
}

static void delete_work(void *arg)
{
	struct change *c = arg;
	for (int p = 0; p <= SL_PARTS; p++)
		if (c->path[p] && unlink(c->path[p]) && errno != ENOENT)
			sl_log_warning("graphs", "%s is left over: %s", c->path[p], strerror(errno));
}

static void delete_done(void *arg)
{
	change_finish(arg);
}

/* The record could not be removed, so the graph is back. */
static void put_back(struct change *c, const struct sl_error *err)
{
	struct sl__graph *g = c->graph;
	sl_log_error("graphs", "%s cannot be deleted: %s", g->record.id, err->detail);
	if (c->s->closing || sl__graphs_insert(c->s, g))
		return;
	c->graph = NULL;
	if (g->record.search == SL_SEARCH_RUNNING)  /* it was cancelled */
		sl__finder_begin(c->s, g, g->record.wanted);
}

/* The record is gone for good: now the file may go. */
static void delete_recorded(void *arg, int status, const struct sl_error *err)
{
	struct change *c = arg;
	if (status) {
		put_back(c, err);
		change_done(c, status, err);
		return;
	}
	sl_log_info("graphs", "%s (%s) deleted", c->graph->record.id, c->graph->record.name);
	sl_users_forget(c->s->d->users, c->graph->record.id);
	sl_uses_forget(c->s->d->uses, c->graph->record.id);
	sl__graph_free(c->graph);
	c->graph = NULL;
	sl_pool_run_in(&c->work, c->s->d->loop, delete_work, delete_done, c);
}

int sl_graphs_delete(struct sl_graphs *s, const char *id, sl_db_done_fn done, void *arg, struct sl_error *err)
{
	struct sl__graph *g = sl__graphs_find(s, id);
	if (!g)
		return sl__graphs_not_found(id, err);
	if (g->record.jobs)
		return sl_error_set(err, SL_CONFLICT, "graph %s is used by %d job%s not finished; cancel %s first", id,
				    g->record.jobs, g->record.jobs == 1 ? " that is" : "s that are",
				    g->record.jobs == 1 ? "it" : "them");
	if (s->on_delete)
		s->on_delete(s->on_delete_arg, id);
	if (g->waiting)
		return sl_error_set(err, SL_CONFLICT, "graph %s is in use at this moment; try again", id);
	struct change *c = change_begin(s, done, arg, err);
	if (!c)
		return SL_NOMEM;
	bool failed = !(c->path[SL_PARTS] = sl__graphs_path(s, id, "sll"));
	for (int p = 0; p < SL_PARTS; p++)
		failed |= !(c->path[p] = sl__graphs_path(s, id, sl__graphs_ending(g->record.kind, (enum sl_content_part)p)));
	if (failed || sl_db_remove(s->d->db, SL_DB_GRAPHS, id, delete_recorded, c)) {
		change_free(c);
		sl__graphs_work_end(s);
		return sl_error_set(err, SL_NOMEM, "no memory for the change");
	}
	sl__finder_forget(s, g);
	take_out(s, g);
	c->graph = g;
	return 0;
}

void sl__graphs_work_begin(struct sl_graphs *s)
{
	s->active++;
}

static void on_async_closed(uv_handle_t *handle)
{
	struct sl_graphs *s = handle->data;
	void (*closed)(void *) = s->closed;
	void *arg = s->closed_arg;
	for (int i = 0; i < s->count; i++)
		sl__graph_free(s->graph[i]);
	free(s->graph);
	free(s->folder);
	free(s->temporary_folder);
	free(s);
	if (closed)
		closed(arg);
}

void sl__graphs_work_end(struct sl_graphs *s)
{
	if (--s->active == 0 && s->closing && !s->ready.count)
		uv_close((uv_handle_t *)&s->deliver, on_async_closed);
}

/* ---- start and end --------------------------------------------------------------------- */

/* A crash came between the record and the renaming of a file that was complete. */
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
	return rc;
}

static int load_row(void *arg, const char *id, json_t *document)
{
	struct sl_graphs *s = arg;
	struct sl_error err;
	struct sl__graph *g = sl__graph_from_json(id, document);
	if (!g) {
		sl_log_warning("graphs", "record %s makes no sense and is passed over", id);
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
	return graph ? 0 : sl__finder_resume(s, g);
}

static enum sl_fate fate(void *arg, const char *id, const char *kind)
{
	struct sl_graphs *s = arg;
	if (sl__graphs_find(s, id))
		return SL_FATE_KEPT;
	return sl_db_was_removed(s->d->db, id) ? SL_FATE_DELETED : SL_FATE_LOST;
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
	sl_metric_set(s->m_reading, s->line.reading);
	sl_metric_set(s->m_waiting, sl_upload_line_waiting(&s->line));
	for (int what = 0; what < SL_RESOURCES; what++)
		sl_metric_set(s->m_booked[what], (double)sl_budget_taken(&s->budget, (enum sl_resource)what));
}

static void register_metrics(struct sl_graphs *s)
{
	struct sl_metrics *m = s->d->metrics;
	s->m_graphs = sl_metrics_register(m, SL_GAUGE, "spaceland_graphs", NULL, "Graphs that are kept.");
	s->m_resident = sl_metrics_register(m, SL_GAUGE, "spaceland_graphs_resident", NULL, "Graphs in host memory.");
	s->m_bytes = sl_metrics_register(m, SL_GAUGE, "spaceland_graphs_resident_bytes", NULL,
					 "Host memory of graphs.");
	s->m_uploads = sl_metrics_register(m, SL_COUNTER, "spaceland_graph_uploads_total", NULL,
					   "Graphs uploaded and kept.");
	s->m_loads = sl_metrics_register(m, SL_COUNTER, "spaceland_graph_loads_total", NULL,
					 "Graphs read back from disk.");
	s->m_searches = sl_metrics_register(m, SL_COUNTER, "spaceland_searches_total", NULL,
					    "Searches of neighbours that found them.");
	s->m_search_seconds = sl_metrics_register(m, SL_COUNTER, "spaceland_search_seconds_total", NULL,
						  "Time that those searches took.");
	s->m_search_times = sl_metrics_times(m, SL_PHASE_SECONDS, "phase=\"neighbours\"", SL_PHASE_SECONDS_HELP);
	s->m_reading = sl_metrics_register(m, SL_GAUGE, "spaceland_uploads_reading", NULL,
					   "Uploads that are read and stored now.");
	s->m_waiting = sl_metrics_register(m, SL_GAUGE, "spaceland_uploads_waiting", NULL,
					   "Uploads that wait until others have been read.");
	s->m_booked[SL_MEMORY] = sl_metrics_register(m, SL_GAUGE, "spaceland_upload_booked_bytes", "of=\"memory\"",
						     "Memory and disk that uploads have taken.");
	s->m_booked[SL_DISK] = sl_metrics_register(m, SL_GAUGE, "spaceland_upload_booked_bytes", "of=\"disk\"",
						   "Memory and disk that uploads have taken.");
	sl_metrics_on_collect(m, on_collect, s);
}

int sl_graphs_create(struct sl_graphs **out, struct sl_daemon *d, struct sl_error *err)
{
	struct sl_graphs *s = calloc(1, sizeof *s);
	if (!s || asprintf(&s->folder, "%s/graphs", d->state_dir) < 0 ||
	    asprintf(&s->temporary_folder, "%s/tmp", d->state_dir) < 0) {
		free(s ? s->folder : NULL);
		free(s);
		return sl_error_set(err, SL_NOMEM, "no memory for the graphs");
	}
	s->d = d;
	sl_budget_init(&s->budget);
	int rc = sl_db_load(d->db, SL_DB_GRAPHS, load_row, s, err);
	if (rc < 0) {
		sl__finders_cancel(s);
		for (int i = 0; i < s->count; i++)
			sl__graph_free(s->graph[i]);
		free(s->graph);
		free(s->folder);
		free(s->temporary_folder);
		free(s);
		return rc;
	}
	s->complete = rc == 0;
	if (rc == 0)
		sl_sweep(d->state_dir, "graphs", sl_graph_file_kinds, fate, s);
	register_metrics(s);
	sl_events_source(d->events, SL_EVENTS_GRAPH, &event_source, s);
	uv_async_init(d->loop, &s->deliver, sl__graphs_on_deliver);
	s->deliver.data = s;
	if (s->count)
		sl_log_info("graphs", "%d graphs are there", s->count);
	*out = s;
	return 0;
}

void sl_graphs_close(struct sl_graphs *s, void (*closed)(void *arg), void *arg)
{
	s->closing = true;
	s->closed = closed;
	s->closed_arg = arg;
	s->active++;  /* nobody below is the last one */
	sl__uploads_cancel(s);
	sl__finders_cancel(s);
	sl__graphs_work_end(s);
}
