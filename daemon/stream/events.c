/* Event streams. The ring is an array of events by their number, modulo its size. Every follower keeps the number of
 * its next event. An event that was replaced by a newer one has no text and is skipped. A follower so slow that the
 * ring has overtaken it starts again with all records. Events with a text are also in a hash table by the ids of their
 * records: a batch of a thousand jobs makes thousands of events in one turn, and each looks for older ones.
 *
 * The records at the start are sent without a number; the number follows the last of them. So a follower that is
 * disconnected in between gets all of them again. */
#include "daemon/stream/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/http/http.h"
#include "daemon/users/users.h"
#include "daemon/util/buffer.h"
#include "daemon/util/json.h"
#include "daemon/util/list.h"
#include "daemon/util/time_text.h"

#define ID_BYTES 32
#define BUCKETS 1024
#define HEARTBEAT_MS 15000
#define REMEMBER_MS 60000      /* events are kept for so long after the last follower has left */
#define LAST "-last"           /* behind the number of a job's last event */

struct event {
	struct sl_link link;       /* in its bucket, while it has a text */
	enum sl_events_kind kind;
	bool removed;
	bool last;
	char id[ID_BYTES];
	struct sl_buffer *data;    /* JSON; NULL: replaced by a newer one */
	struct sl_rights *rights;  /* to the record that was removed; or NULL */
};

struct source {
	const struct sl_event_source *ops;
	void *arg;
};

struct follower {
	struct sl_link link;
	struct sl_events *events;
	struct sl_stream *stream;
	char job[ID_BYTES];            /* the job that it follows; "": all */
	struct sl_principal who;
	uint64_t next;                 /* number of the next event */
	bool could_read;               /* before a change of rights */
	bool anew;                     /* starts again with all records */
	/* the records that are sent first */
	struct { enum sl_events_kind kind; char id[ID_BYTES]; } *record;
	size_t records, room, given;
	bool number_due;
	/* being sent */
	char *text;
	size_t bytes, sent;
	bool heartbeat, last;
};

struct sl_events {
	uv_timer_t timer;
	const struct sl_users *users;
	struct source source[SL_EVENTS_KINDS];
	struct sl_list followers;
	uint64_t first, next;          /* numbers in the ring: [first, next) */
	uint64_t followed_ms;          /* loop time of the last follower; 0: never */
	uint64_t rights_changed;       /* number of the last change of rights; 0: there was none */
	struct event ring[SL_EVENTS_KEPT];
	struct sl_list bucket[BUCKETS];
	void (*closed)(void *arg);
	void *closed_arg;
};

static const char *const names[] = {"device", "graph", "job", "progress"};

/* ---- the ring ----------------------------------------------------------------------------- */

static struct event *event_at(struct sl_events *e, uint64_t number)
{
	return &e->ring[number % SL_EVENTS_KEPT];
}

static void drop_text(struct event *event)
{
	sl_list_unlink(&event->link);
	sl_buffer_unref(event->data);
	sl_users_rights_free(event->rights);
	event->data = NULL;
	event->rights = NULL;
}

/* True if a newer event of this kind replaces the older one. A removal also replaces progress. */
static bool replaces(enum sl_events_kind kind, bool removed, const struct event *older, const char *id)
{
	return (older->kind == kind || (removed && kind == SL_EVENTS_JOB && older->kind == SL_EVENTS_PROGRESS)) &&
	       !strcmp(older->id, id);
}

static void forget(struct sl_events *e)
{
	for (uint64_t n = e->first; n < e->next; n++)
		drop_text(event_at(e, n));
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

static bool is_followed(struct sl_events *e)
{
	uint64_t now = uv_now(e->timer.loop);
	if (e->followers.count)
		e->followed_ms = now;
	return e->followed_ms && now - e->followed_ms < REMEMBER_MS;
}

static struct event *add_event(struct sl_events *e)
{
	if (e->next - e->first == SL_EVENTS_KEPT)
		drop_text(event_at(e, e->first++));
	return event_at(e, e->next++);
}

/* Appends an event and takes data. False: data equals that of the record's last event. */
static bool append(struct sl_events *e, enum sl_events_kind kind, const char *id, bool removed, bool last,
		   struct sl_buffer *data)
{
	struct sl_list *bucket = &e->bucket[sl_list_hash(id, ID_BYTES) % BUCKETS];
	SL_LIST_EACH(struct event, older, bucket, link) {
		if (!replaces(kind, removed, older, id))
			continue;
		const struct sl_buffer *text = older->data;
		if (older->kind == kind && text->bytes == data->bytes && !memcmp(text->data, data->data, data->bytes)) {
			sl_buffer_unref(data);
			return false;
		}
		drop_text(older);
	}
	struct event *event = add_event(e);
	*event = (struct event){.kind = kind, .removed = removed, .last = last, .data = data};
	if (removed)
		event->rights = sl_users_rights_copy(e->users, id);
	snprintf(event->id, sizeof event->id, "%s", id);
	sl_list_append(bucket, &event->link);
	return true;
}

void sl_events_changed(struct sl_events *e, enum sl_events_kind kind, const char *id)
{
	const struct source *source = e ? &e->source[kind] : NULL;
	if (!e || !source->ops)
		return;
	if (!is_followed(e)) {
		forget(e);
		e->first = ++e->next;  /* a follower that reconnects later has missed events */
		return;
	}
	json_t *record = source->ops->record(source->arg, id);
	bool removed = !record, last = !record || (source->ops->ended && source->ops->ended(source->arg, id));
	if (removed && kind == SL_EVENTS_PROGRESS)
		return;
	if (removed)
		record = json_pack("{s:s, s:s}", "kind", names[kind], "id", id);
	struct sl_buffer *data = text_of(record);
	json_decref(record);
	if (!data) {
		forget(e);  /* no memory: all followers start again with all records */
		e->first = ++e->next;
	} else if (!append(e, kind, id, removed, last, data)) {
		return;
	}
	SL_LIST_EACH(struct follower, f, &e->followers, link)
		if (f->stream && (!f->job[0] || !strcmp(f->job, id)))
			sl_stream_wake(f->stream);
}

/* ---- sending events to a follower -------------------------------------------------------------- */

static bool take_text(struct follower *f, int length)
{
	if (length < 0)
		f->text = NULL;
	f->bytes = f->text ? (size_t)length : 0;
	return f->text;
}

/* number: the line with the event's number, or "". */
static bool take_record(struct follower *f, const char *event, const char *number, const char *id, const char *json,
			size_t bytes)
{
	struct sl_record_text t = sl_users_tell_text(f->events->users, &f->who, id, json, bytes);
	return take_text(f, asprintf(&f->text, "event: %s\n%sdata: %.*s%s%.*s\n\n", event, number, t.head_bytes, t.head,
				     t.put, t.tail_bytes, t.tail));
}

#define NUMBER_BYTES 48

static const char *number_line(const struct follower *f, uint64_t number, char out[NUMBER_BYTES])
{
	snprintf(out, NUMBER_BYTES, "id: %llu%s\n", (unsigned long long)number, f->last ? LAST : "");
	return out;
}

static void add_record(void *arg, const char *id)
{
	struct follower *f = arg;
	if (f->records == f->room) {
		size_t room = f->room ? 2 * f->room : 64;
		void *grown = realloc(f->record, room * sizeof *f->record);
		if (!grown)
			return;  /* no memory; it is sent when it changes */
		f->record = grown;
		f->room = room;
	}
	snprintf(f->record[f->records++].id, ID_BYTES, "%s", id);
}

static void begin_anew(struct follower *f)
{
	struct sl_events *e = f->events;
	f->records = f->given = 0;
	f->next = e->next;
	f->number_due = true;
	if (f->job[0]) {
		add_record(f, f->job);
		if (f->records)
			f->record[0].kind = SL_EVENTS_JOB;
		return;
	}
	for (int kind = 0; kind < SL_EVENTS_KINDS; kind++) {
		size_t before = f->records;
		if (!e->source[kind].ops || !e->source[kind].ops->each)
			continue;
		e->source[kind].ops->each(e->source[kind].arg, add_record, f);
		for (size_t i = before; i < f->records; i++)
			f->record[i].kind = (enum sl_events_kind)kind;
	}
}

static bool may_read(const struct follower *f, const char *id)
{
	return !sl_users_limited(&f->who) || !sl_users_may(f->events->users, &f->who, SL_VERB_READ, id);
}

/* True if the follower may see the record. Everybody may see devices. */
static bool may_see(const struct follower *f, enum sl_events_kind kind, const char *id)
{
	return f->job[0] || kind == SL_EVENTS_DEVICE || may_read(f, id);
}

/* Removals are for those who could read the record. */
static bool may_hear(const struct follower *f, const struct event *event)
{
	if (!event->removed || f->job[0])
		return may_see(f, event->kind, event->id);
	return !sl_users_limited(&f->who) || sl_users_rights_read(f->events->users, &f->who, event->rights);
}

/* A job's own stream calls its events "state". */
static const char *name_of(const struct follower *f, enum sl_events_kind kind, bool removed)
{
	if (f->job[0] && kind == SL_EVENTS_JOB)
		return "state";
	return removed ? "removed" : names[kind];
}

static bool next_record(struct follower *f)
{
	while (f->given < f->records) {
		size_t i = f->given++;
		enum sl_events_kind kind = f->record[i].kind;
		const struct source *source = &f->events->source[kind];
		if (!source->ops || !may_see(f, kind, f->record[i].id))
			continue;
		json_t *record = source->ops->record(source->arg, f->record[i].id);
		if (!record)
			continue;
		size_t bytes;
		char *json = sl_json_text(record, &bytes);
		json_decref(record);
		f->last = f->job[0] && source->ops->ended && source->ops->ended(source->arg, f->job);
		char number[NUMBER_BYTES];
		bool made = json && take_record(f, name_of(f, kind, false), f->last ? number_line(f, f->next, number) : "",
						f->record[i].id, json, bytes);
		free(json);
		return made;
	}
	return false;
}

/* Sends only an event's number: a browser stores it and delivers no event to the page. */
static bool next_number(struct follower *f)
{
	if (!f->number_due)
		return false;
	f->number_due = false;
	return take_text(f, asprintf(&f->text, "id: %llu\n\n", (unsigned long long)f->next - 1));
}

static bool next_event(struct follower *f)
{
	struct sl_events *e = f->events;
	while (f->next < e->next) {
		const struct event *event = event_at(e, f->next++);
		if (!event->data || (f->job[0] && strcmp(f->job, event->id)))
			continue;
		if (f->job[0] && event->kind != SL_EVENTS_JOB && event->kind != SL_EVENTS_PROGRESS)
			continue;
		if (!may_hear(f, event))
			continue;
		f->last = f->job[0] && event->last;
		if (f->last && event->removed)
			return false;
		char number[NUMBER_BYTES];
		return take_record(f, name_of(f, event->kind, event->removed), number_line(f, f->next - 1, number), event->id,
				   (const char *)event->data->data, event->data->bytes);
	}
	return false;
}

static bool next_heartbeat(struct follower *f)
{
	return f->heartbeat && take_text(f, asprintf(&f->text, ":\n\n"));
}

static bool next_reset(struct follower *f)
{
	if ((f->next >= f->events->first && !f->anew) || f->given < f->records)
		return false;
	f->anew = false;
	begin_anew(f);
	return !f->job[0] && take_text(f, asprintf(&f->text, "event: reset\ndata: {}\n\n"));
}

static bool refill(struct follower *f)
{
	free(f->text);
	f->text = NULL;
	f->bytes = f->sent = 0;
	bool more = next_reset(f) || next_record(f) || next_number(f) || next_event(f) || next_heartbeat(f);
	f->heartbeat = false;
	return more;
}

static ssize_t read_events(void *arg, char *out, size_t max)
{
	struct follower *f = arg;
	if (f->sent == f->bytes) {
		if (f->last)
			return -1;
		if (!refill(f))
			return f->last ? -1 : 0;
	}
	size_t count = f->bytes - f->sent < max ? f->bytes - f->sent : max;
	memcpy(out, f->text + f->sent, count);
	f->sent += count;
	return (ssize_t)count;
}

static void drop(void *arg)
{
	struct follower *f = arg;
	is_followed(f->events);
	sl_list_unlink(&f->link);
	free(f->record);
	free(f->text);
	free(f);
}

static const struct sl_stream_ops stream_ops = {.read = read_events, .drop = drop};

void sl_events_rights_before(struct sl_events *e, const char *id)
{
	SL_LIST_EACH(struct follower, f, &e->followers, link)
		f->could_read = may_read(f, id);
}

/* The change takes a number, by which followers that reconnect show whether they have the records after it. */
void sl_events_rights_changed(struct sl_events *e, const char *id)
{
	*add_event(e) = (struct event){.data = NULL};
	e->rights_changed = e->next - 1;
	SL_LIST_EACH(struct follower, f, &e->followers, link) {
		f->anew |= !f->job[0] && (id ? may_read(f, id) != f->could_read : sl_users_limited(&f->who));
		if (f->anew && f->stream)
			sl_stream_wake(f->stream);
	}
}

/* ---- requests --------------------------------------------------------------------------------- */

/* The number in Last-Event-ID; 0: none. *last: it was the last of a job. */
static uint64_t last_event(struct sl_request *r, bool *last)
{
	const char *text = sl_request_header(r, "Last-Event-ID");
	char *end;
	*last = false;
	if (!text || *text < '0' || *text > '9')
		return 0;
	uint64_t number = strtoull(text, &end, 10);
	*last = !strcmp(end, LAST);
	return *end && !*last ? 0 : number;
}

static void follow(struct sl_events *e, struct sl_request *r, const char *job, uint64_t seen)
{
	struct follower *f = calloc(1, sizeof *f);
	if (!f) {
		sl_reply_problem(r, SL_NOMEM, "Out of memory for an event stream.");
		return;
	}
	f->events = e;
	f->who = *sl_request_who(r);
	snprintf(f->job, sizeof f->job, "%s", job);
	sl_list_append(&e->followers, &f->link);
	is_followed(e);
	if (seen && seen + 1 >= e->first && seen < e->next && (job[0] || seen >= e->rights_changed))
		f->next = seen + 1;  /* 0 without Last-Event-ID; this is before the ring, so all records are sent */
	sl_reply_header(r, "Cache-Control", "no-store");
	struct sl_stream *stream = sl_reply_stream(r, "text/event-stream", &stream_ops, f);
	if (stream)
		f->stream = stream;
}

void sl_events_follow(struct sl_events *e, struct sl_request *r)
{
	bool last;
	uint64_t seen = last_event(r, &last);
	follow(e, r, "", seen);
}

/* A browser reconnects after the end of a stream, unless the reply is 204. */
void sl_events_follow_job(struct sl_events *e, struct sl_request *r, const char *job)
{
	const struct source *source = &e->source[SL_EVENTS_JOB];
	bool last;
	uint64_t seen = last_event(r, &last);
	if (last && source->ops->ended(source->arg, job))
		sl_reply_empty(r, 204);
	else
		follow(e, r, job, last ? 0 : seen);
}

/* ---- life ------------------------------------------------------------------------------------- */

static void on_heartbeat(uv_timer_t *timer)
{
	struct sl_events *e = timer->data;
	SL_LIST_EACH(struct follower, f, &e->followers, link) {
		f->heartbeat = true;
		if (f->stream)
			sl_stream_wake(f->stream);
	}
}

/* Numbers begin with the present time, so that those of an earlier run of the server are smaller. */
int sl_events_create(struct sl_events **out, uv_loop_t *loop, const struct sl_users *users, struct sl_error *err)
{
	struct sl_events *e = calloc(1, sizeof *e);
	if (!e)
		return sl_error_set(err, SL_NOMEM, "Out of memory for the events.");
	e->users = users;
	e->first = e->next = sl_time_now_ms() * 1000;
	uv_timer_init(loop, &e->timer);
	e->timer.data = e;
	uv_timer_start(&e->timer, on_heartbeat, HEARTBEAT_MS, HEARTBEAT_MS);
	*out = e;
	return 0;
}

void sl_events_source(struct sl_events *e, enum sl_events_kind kind, const struct sl_event_source *source, void *arg)
{
	e->source[kind] = (struct source){source, arg};
}

static void on_closed(uv_handle_t *handle)
{
	struct sl_events *e = handle->data;
	void (*closed)(void *) = e->closed;
	void *arg = e->closed_arg;
	free(e);
	closed(arg);
}

void sl_events_close(struct sl_events *e, void (*closed)(void *arg), void *arg)
{
	forget(e);
	e->closed = closed;
	e->closed_arg = arg;
	uv_close((uv_handle_t *)&e->timer, on_closed);
}
