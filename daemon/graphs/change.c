/* Changes and deletes the records of graphs. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "daemon/files/columns_file.h"
#include "daemon/graphs/graphs_internal.h"
#include "daemon/graphs/rows/text_index.h"
#include "daemon/store/db.h"
#include "daemon/store/uses.h"
#include "daemon/users/users.h"
#include "daemon/util/log.h"

struct change {
	struct sl_graphs *s;
	sl_db_done_fn done;
	void *arg;
	struct sl_pool_place work;
	char *path[SL_PARTS + 1];  /* files to be removed: those of the parts, and of labels */
	struct sl__graph *graph;  /* their graph, until its record is removed */
	char removed[SL_ULID_BYTES];  /* its id */
	char id[SL_ULID_BYTES];  /* graph that gets a name (NULL: unchanged) or is pinned (-1: unchanged) */
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
	if (c->done)
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
		sl_error_memory(err, "the change");
		return NULL;
	}
	c->s = s;
	c->done = done;
	c->arg = arg;
	sl__graphs_work_begin(s);
	return c;
}

/* The change is on disk: makes it visible. Changes take effect in the order of the requests. */
static void change_recorded(void *arg, int status, const struct sl_error *err)
{
	struct change *c = arg;
	struct sl__graph *g = sl__graphs_find(c->s, c->id);
	if (g) {
		g->changing--;
		g->next_name = NULL;
	}
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

int sl__graph_put(struct sl_graphs *s, struct sl__graph *g, sl_db_done_fn done, void *arg)
{
	struct sl_graph_record old = g->record;
	if (g->next_name) {  /* the visible record does not change yet */
		g->record.name = (char *)g->next_name;
		g->record.pinned = g->next_pinned;
	}
	json_t *document = sl__graph_json(s, g, false);
	g->record.name = old.name;
	g->record.pinned = old.pinned;
	int rc = document ? sl_db_put(s->d->db, SL_DB_GRAPHS, g->record.id, document, done, arg) : SL_NOMEM;
	json_decref(document);
	return rc;
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
	int rc = c ? 0 : SL_NOMEM;
	if (!rc && name && !(c->name = strdup(name)))
		rc = SL_NOMEM;
	if (!rc) {
		memcpy(c->id, g->record.id, sizeof c->id);
		c->pinned = pinned;
		g->next_name = c->name ? c->name : g->record.name;
		g->next_pinned = pinned >= 0 ? pinned : g->record.pinned;
		rc = sl__graph_put(s, g, change_recorded, c);
	}
	if (rc)
		g->next_name = NULL;
	if (rc && c) {
		change_free(c);
		sl__graphs_work_end(s);
	}
	if (rc)
		return sl_error_set(err, rc, SL_NO_MEMORY "the change.");
	g->changing++;
	return 0;
}

static void delete_work(void *arg)
{
	struct change *c = arg;
	for (int p = 0; p <= SL_PARTS; p++)
		if (c->path[p] && unlink(c->path[p]) && errno != ENOENT)
			sl_log_warning("graphs", "%s is left over: %s", c->path[p], strerror(errno));
	sl_columns_clear_places(c->path[SL_PARTS], &(struct sl_columns){.count = 0});
	sl__index_remove(c->s, c->removed);
}

static void delete_done(void *arg)
{
	change_finish(arg);
}

/* The record could not be removed: puts the graph back into the table. */
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

/* The removal of the record is on disk: removes the files. */
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
		return sl_error_memory(err, "the change");
	}
	sl__finder_forget(s, g);
	sl__graphs_take_out(s, g);
	memcpy(c->removed, g->record.id, sizeof c->removed);
	c->graph = g;
	return 0;
}

/* ---- holds: they are in the record, so that they survive a restart ------------------------- */

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

int sl_hold_check(const char *hold, const char *field, struct sl_error *err)
{
	size_t length = strlen(hold);
	if (length && length < SL_HOLD_BYTES && strspn(hold, LETTERS) == length)
		return 0;
	return sl_error_field(err, SL_BADPARAM, field, "hold must have 1 to %d letters of A to Z, a to z, digits, '-' "
			      "and '_'", SL_HOLD_BYTES - 1);
}

static size_t place_of(const struct sl__graph *g, const char *hold)
{
	size_t count = json_array_size(g->holds);
	for (size_t i = 0; i < count; i++)
		if (!strcmp(json_string_value(json_array_get(g->holds, i)), hold))
			return i;
	return count;
}

int sl__graph_hold(struct sl__graph *g, const char *hold)
{
	bool was_kept = g->kept;
	if (hold && place_of(g, hold) < json_array_size(g->holds))
		return 0;
	if (!hold || json_array_size(g->holds) >= SL_HOLDS_MOST) {
		g->kept = true;
		return !was_kept;
	}
	if (!g->holds && !(g->holds = json_array()))
		return SL_NOMEM;
	return json_array_append_new(g->holds, json_string(hold)) ? SL_NOMEM : 1;
}

int sl_graphs_hold(struct sl_graphs *s, const char *id, const char *hold,
		   void (*done)(void *arg, int status, const struct sl_error *err), void *arg, struct sl_error *err)
{
	struct sl__graph *g = sl__graphs_find(s, id);
	if (!g)
		return sl__graphs_not_found(id, err);
	/* written also if it is not new: an earlier request may not have reached the disk yet */
	int rc = sl__graph_hold(g, hold) < 0 || sl__graph_put(s, g, done, arg) ? SL_NOMEM : 0;
	sl__graph_changed(s, id);
	return rc ? sl_error_set(err, rc, SL_NO_MEMORY "the hold.") : 0;
}

int sl_graphs_let_go(struct sl_graphs *s, const char *id, const char *hold, bool in_use,
		     void (*done)(void *arg, int status, const struct sl_error *err), void *arg, struct sl_error *err)
{
	struct sl__graph *g = sl__graphs_find(s, id);
	if (!g)
		return sl__graphs_not_found(id, err);
	size_t at = place_of(g, hold);
	bool held = at < json_array_size(g->holds);
	if (held)
		json_array_remove(g->holds, at);
	if (held && !json_array_size(g->holds) && !g->kept) {
		if (!in_use && !g->record.pinned && !g->record.jobs && !sl_graphs_delete(s, id, done, arg, err))
			return 0;
		g->kept = true;
	}
	sl__graph_changed(s, id);
	return sl__graph_put(s, g, done, arg) ? sl_error_memory(err, "the change") : 0;
}
