/* The table of graphs. Records are in an array ordered by id. ULIDs ascend, so a new record goes to the end, a page is
 * a slice, and a search is a bisection. */
#include "daemon/graphs/graphs.h"

#include <string.h>

#include "core/taken/taken.h"
#include "daemon/graphs/graphs_internal.h"
#include "daemon/http/http.h"
#include "daemon/store/uses.h"
#include "daemon/users/users.h"
#include "daemon/stream/events.h"
#include "daemon/util/ulid.h"

/* ---- records ------------------------------------------------------------------------ */

/* The position of the first id that is not less than id. */
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

struct sl_taken *sl_graphs_taken(struct sl_graphs *s, const char *id)
{
	SL_ON_LOOP(s->d);
	struct sl__graph *g = sl__graphs_find(s, id);
	return g ? sl_taken_copy(g->taken) : NULL;
}

struct sl__graph *sl__graphs_find_twin(struct sl_graphs *s, const unsigned char digest[SL_GRAPH_DIGEST_BYTES],
				       const char *label_title, const char *user)
{
	const struct sl_users *users = s->d->users;
	for (int i = 0; i < s->count; i++) {
		const struct sl_graph_record *r = &s->graph[i]->record;
		if (r->state == SL_GRAPH_READY && !memcmp(s->graph[i]->digest, digest, SL_GRAPH_DIGEST_BYTES) &&
		    !strcmp(r->labels ? r->label_title : "", label_title) &&
		    (user[0] ? sl_users_owns(users, user, r->id) : !sl_users_owners(users, r->id)))
			return s->graph[i];
	}
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
	g->version = sl_version_next();
	sl__graph_changed(s, g->record.id);
	return 0;
}

void sl__graphs_take_out(struct sl_graphs *s, struct sl__graph *g)
{
	int at = position(s, g->record.id);
	s->count--;
	memmove(s->graph + at, s->graph + at + 1, (size_t)(s->count - at) * sizeof *s->graph);
	sl__graph_changed(s, g->record.id);
}

/* ---- the source of the event streams -------------------------------------------------- */

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

static void event_stamp(void *arg, const char *id, int64_t version)
{
	struct sl__graph *g = sl__graphs_find(arg, id);
	if (g)
		g->version = version;
}

const struct sl_event_source sl__graphs_event_source = {
	.record = event_record, .each = event_each, .stamp = event_stamp,
};

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
	return g ? sl__graph_json(s, g, true) : NULL;
}

json_t *sl_graphs_list(struct sl_graphs *s, const struct sl_request *r, const char *cursor, int limit, const char *name,
		       char next[SL_ULID_BYTES])
{
	json_t *items = json_array();
	int at = cursor ? position(s, cursor) : s->count;
	struct sl__graph *last = NULL;
	next[0] = '\0';
	while (items && --at >= 0) {
		struct sl__graph *g = s->graph[at];
		if ((name && strcmp(name, g->record.name)) || !sl_request_lists(r, g->record.id))
			continue;
		if (limit-- == 0) {  /* there are more: the next page begins after the last record of this one */
			snprintf(next, SL_ULID_BYTES, "%s", last->record.id);
			break;
		}
		json_array_append_new(items, sl__graph_json(s, g, true));
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
	if (sl_ulid_valid(text)) {  /* rights refer to ids, so a text that looks like an id is never a name */
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
		sl_error_set(err, SL_CONFLICT, "%d graphs %s %.64s; name one by its id", names ? names : prefixes,
			     names ? "are called" : "have ids that begin with", text);
	else
		sl__graphs_not_found(text, err);
	return NULL;
}
