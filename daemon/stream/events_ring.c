/* The ring of events: records that have changed, with their versions. events.c describes it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/http/http.h"
#include "daemon/stream/events_internal.h"
#include "daemon/json/json.h"
#include "daemon/util/ulid.h"

#define REMEMBER_MS 60000      /* events are kept for so long after the last follower has left */

const char *const sl__events_name[SL_EVENTS_KINDS] = {"device", "graph", "job", "progress"};

struct sl__event *sl__event_at(struct sl_events *e, uint64_t number)
{
	return &e->ring[number % SL_EVENTS_KEPT];
}

static void drop_text(struct sl__event *event)
{
	sl_list_unlink(&event->link);
	sl_buffer_unref(event->data);
	sl_users_rights_free(event->rights);
	event->data = NULL;
	event->rights = NULL;
}

/* True if a newer event of this kind replaces the older one. A removal also replaces progress. */
static bool replaces(enum sl_events_kind kind, bool removed, const struct sl__event *older, const char *id)
{
	return (older->kind == kind || (removed && kind == SL_EVENTS_JOB && older->kind == SL_EVENTS_PROGRESS)) &&
	       !strcmp(older->id, id);
}

void sl__events_forget(struct sl_events *e)
{
	for (uint64_t n = e->first; n < e->next; n++)
		drop_text(sl__event_at(e, n));
	e->first = e->next;
}

static struct sl_buffer *text_of(json_t *record)
{
	size_t bytes = 0;
	char *text = sl_json_text(record, &bytes);
	struct sl_buffer *b = text ? sl_buffer_create(bytes) : NULL;
	if (b)
		memcpy(b->data, text, bytes);
	free(text);
	return b;
}

bool sl__events_followed(struct sl_events *e)
{
	uint64_t now = uv_now(e->timer.loop);
	if (e->followers.count)
		e->followed_ms = now;
	return e->followed_ms && now - e->followed_ms < REMEMBER_MS;
}

struct sl__event *sl__event_add(struct sl_events *e)
{
	if (e->next - e->first == SL_EVENTS_KEPT)
		drop_text(sl__event_at(e, e->first++));
	return sl__event_at(e, e->next++);
}

static struct sl_list *bucket_of(struct sl_events *e, const char *id)
{
	return &e->bucket[sl_list_hash(id, SL__EVENT_ID_BYTES) % SL__EVENT_BUCKETS];
}

/* True if data equals that of the record's last event. */
static bool is_known(struct sl_events *e, enum sl_events_kind kind, const char *id, const struct sl_buffer *data)
{
	SL_LIST_EACH(struct sl__event, older, bucket_of(e, id), link)
		if (older->kind == kind && !strcmp(older->id, id) && older->data->bytes == data->bytes &&
		    !memcmp(older->data->data, data->data, data->bytes))
			return true;
	return false;
}

/* Appends an event and takes data. */
static void append(struct sl_events *e, enum sl_events_kind kind, const char *id, bool removed, bool last,
		   struct sl_buffer *data)
{
	struct sl_list *bucket = bucket_of(e, id);
	SL_LIST_EACH(struct sl__event, older, bucket, link)
		if (replaces(kind, removed, older, id))
			drop_text(older);
	struct sl__event *event = sl__event_add(e);
	*event = (struct sl__event){.kind = kind, .removed = removed, .last = last, .data = data};
	if (removed)
		event->rights = sl_users_rights_copy(e->users, id);
	snprintf(event->id, sizeof event->id, "%s", id);
	sl_list_append(bucket, &event->link);
}

/* Gives the record its next version, and returns its text with that; NULL: no memory. */
static struct sl_buffer *stamped(const struct sl__event_source *source, const char *id, json_t *record)
{
	int64_t version = sl_version_next();
	source->ops->stamp(source->arg, id, version);
	json_object_set_new(record, "version", json_integer(version));
	return text_of(record);
}

void sl_events_changed(struct sl_events *e, enum sl_events_kind kind, const char *id)
{
	const struct sl__event_source *source = e ? &e->source[kind] : NULL;
	if (!e || !source->ops)
		return;
	if (!sl__events_followed(e)) {
		sl__events_forget(e);
		e->first = ++e->next;  /* a follower that reconnects later has missed events */
		if (source->ops->stamp)
			source->ops->stamp(source->arg, id, sl_version_next());
		return;
	}
	json_t *record = source->ops->record(source->arg, id);
	bool removed = !record, last = !record || (source->ops->ended && source->ops->ended(source->arg, id));
	if (removed && kind == SL_EVENTS_PROGRESS)
		return;
	if (removed)
		record = json_pack("{s:s, s:s, s:I}", "kind", sl__events_name[kind], "id", id, "version",
				   (json_int_t)sl_version_next());
	struct sl_buffer *data = text_of(record);
	bool known = data && is_known(e, kind, id, data);
	if (data && !known && !removed && source->ops->stamp) {
		sl_buffer_unref(data);
		data = stamped(source, id, record);
	}
	json_decref(record);
	if (!data) {
		sl__events_forget(e);  /* no memory: all followers start again with all records */
		e->first = ++e->next;
	} else if (known) {
		sl_buffer_unref(data);
		return;
	} else {
		append(e, kind, id, removed, last, data);
	}
	SL_LIST_EACH(struct sl__follower, f, &e->followers, link)
		if (f->stream && (!f->job[0] || !strcmp(f->job, id)))
			sl_stream_wake(f->stream);
}
