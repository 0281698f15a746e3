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
#include "daemon/stream/events_internal.h"
#include "daemon/json/json.h"
#include "daemon/util/time_text.h"

#define HEARTBEAT_MS 15000
#define LAST "-last"           /* behind the number of a job's last event */

/* ---- sending events to a follower -------------------------------------------------------------- */

static bool take_text(struct sl__follower *f, int length)
{
	if (length < 0)
		f->text = NULL;
	f->bytes = f->text ? (size_t)length : 0;
	return f->text;
}

/* number: the line with the event's number, or "". */
static bool take_record(struct sl__follower *f, const char *event, const char *number, const char *id, const char *json,
			size_t bytes)
{
	char *own;
	size_t own_bytes;
	if (sl_users_quality_text(f->events->users, &f->who, json, bytes, &own, &own_bytes))
		return take_text(f, -1);
	struct sl_record_text t = sl_users_tell_text(f->events->users, &f->who, id, own ? own : json,
						     own ? own_bytes : bytes);
	bool made = take_text(f, asprintf(&f->text, "event: %s\n%sdata: %.*s%s%.*s\n\n", event, number, t.head_bytes,
					  t.head, t.put, t.tail_bytes, t.tail));
	free(own);
	return made;
}

#define NUMBER_BYTES 48

static const char *number_line(const struct sl__follower *f, uint64_t number, char out[NUMBER_BYTES])
{
	snprintf(out, NUMBER_BYTES, "id: %llu%s\n", (unsigned long long)number, f->last ? LAST : "");
	return out;
}

static void add_record(void *arg, const char *id)
{
	struct sl__follower *f = arg;
	if (f->records == f->room) {
		size_t room = f->room ? 2 * f->room : 64;
		void *grown = realloc(f->record, room * sizeof *f->record);
		if (!grown)
			return;  /* no memory; it is sent when it changes */
		f->record = grown;
		f->room = room;
	}
	snprintf(f->record[f->records++].id, SL__EVENT_ID_BYTES, "%s", id);
}

static void begin_anew(struct sl__follower *f)
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

static bool may_read(const struct sl__follower *f, const char *id)
{
	return !sl_users_limited(&f->who) || !sl_users_may(f->events->users, &f->who, SL_VERB_READ, id);
}

/* True if the follower may see the record. Everybody may see devices. */
static bool may_see(const struct sl__follower *f, enum sl_events_kind kind, const char *id)
{
	return f->job[0] || kind == SL_EVENTS_DEVICE || may_read(f, id);
}

/* Removals are for those who could read the record. */
static bool may_hear(const struct sl__follower *f, const struct sl__event *event)
{
	if (!event->removed || f->job[0])
		return may_see(f, event->kind, event->id);
	return !sl_users_limited(&f->who) || sl_users_rights_read(f->events->users, &f->who, event->rights);
}

/* A job's own stream calls its events "state". */
static const char *name_of(const struct sl__follower *f, enum sl_events_kind kind, bool removed)
{
	if (f->job[0] && kind == SL_EVENTS_JOB)
		return "state";
	return removed ? "removed" : sl__events_name[kind];
}

static bool next_record(struct sl__follower *f)
{
	while (f->given < f->records) {
		size_t i = f->given++;
		enum sl_events_kind kind = f->record[i].kind;
		const struct sl__event_source *source = &f->events->source[kind];
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
static bool next_number(struct sl__follower *f)
{
	if (!f->number_due)
		return false;
	f->number_due = false;
	return take_text(f, asprintf(&f->text, "id: %llu\n\n", (unsigned long long)f->next - 1));
}

static bool next_event(struct sl__follower *f)
{
	struct sl_events *e = f->events;
	while (f->next < e->next) {
		const struct sl__event *event = sl__event_at(e, f->next++);
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

static bool next_heartbeat(struct sl__follower *f)
{
	return f->heartbeat && take_text(f, asprintf(&f->text, ":\n\n"));
}

static bool next_reset(struct sl__follower *f)
{
	if ((f->next >= f->events->first && !f->anew) || f->given < f->records)
		return false;
	f->anew = false;
	begin_anew(f);
	return !f->job[0] && take_text(f, asprintf(&f->text, "event: reset\ndata: {}\n\n"));
}

static bool refill(struct sl__follower *f)
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
	struct sl__follower *f = arg;
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
	struct sl__follower *f = arg;
	sl__events_followed(f->events);
	sl_list_unlink(&f->link);
	free(f->record);
	free(f->text);
	free(f);
}

static const struct sl_stream_ops stream_ops = {.read = read_events, .drop = drop};

void sl_events_rights_before(struct sl_events *e, const char *id)
{
	SL_LIST_EACH(struct sl__follower, f, &e->followers, link)
		f->could_read = may_read(f, id);
}

/* The change takes a number, by which followers that reconnect show whether they have the records after it. */
void sl_events_rights_changed(struct sl_events *e, const char *id)
{
	*sl__event_add(e) = (struct sl__event){.data = NULL};
	e->rights_changed = e->next - 1;
	SL_LIST_EACH(struct sl__follower, f, &e->followers, link) {
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
	struct sl__follower *f = calloc(1, sizeof *f);
	if (!f) {
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "an event stream.");
		return;
	}
	f->events = e;
	f->who = *sl_request_who(r);
	snprintf(f->job, sizeof f->job, "%s", job);
	sl_list_append(&e->followers, &f->link);
	sl__events_followed(e);
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
	const struct sl__event_source *source = &e->source[SL_EVENTS_JOB];
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
	SL_LIST_EACH(struct sl__follower, f, &e->followers, link) {
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
		return sl_error_memory(err, "the events");
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
	e->source[kind] = (struct sl__event_source){source, arg};
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
	sl__events_forget(e);
	e->closed = closed;
	e->closed_arg = arg;
	uv_close((uv_handle_t *)&e->timer, on_closed);
}
