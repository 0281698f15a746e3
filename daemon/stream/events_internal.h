/* events_internal.h -- the ring of events (events_ring.c) and its followers (events.c). Loop thread. */
#ifndef SL_EVENTS_INTERNAL_H
#define SL_EVENTS_INTERNAL_H

#include "daemon/stream/events.h"
#include "daemon/users/users.h"
#include "daemon/util/buffer.h"
#include "daemon/util/list.h"

#define SL__EVENT_ID_BYTES 32
#define SL__EVENT_BUCKETS 1024

struct sl__event {
	struct sl_link link;       /* in its bucket, while it has a text */
	enum sl_events_kind kind;
	bool removed;
	bool last;
	char id[SL__EVENT_ID_BYTES];
	struct sl_buffer *data;    /* JSON; NULL: replaced by a newer one */
	struct sl_rights *rights;  /* to the record that was removed; or NULL */
};

struct sl__event_source {
	const struct sl_event_source *ops;
	void *arg;
};

struct sl__follower {
	struct sl_link link;
	struct sl_events *events;
	struct sl_stream *stream;
	char job[SL__EVENT_ID_BYTES];            /* the job that it follows; "": all */
	struct sl_principal who;
	uint64_t next;                 /* number of the next event */
	bool could_read;               /* before a change of rights */
	bool anew;                     /* starts again with all records */
	/* the records that are sent first */
	struct { enum sl_events_kind kind; char id[SL__EVENT_ID_BYTES]; } *record;
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
	struct sl__event_source source[SL_EVENTS_KINDS];
	struct sl_list followers;
	uint64_t first, next;          /* numbers in the ring: [first, next) */
	uint64_t followed_ms;          /* loop time of the last follower; 0: never */
	uint64_t rights_changed;       /* number of the last change of rights; 0: there was none */
	struct sl__event ring[SL_EVENTS_KEPT];
	struct sl_list bucket[SL__EVENT_BUCKETS];
	void (*closed)(void *arg);
	void *closed_arg;
};

extern const char *const sl__events_name[SL_EVENTS_KINDS];

struct sl__event *sl__event_at(struct sl_events *e, uint64_t number);
/* A new event, which replaces the oldest one if the ring is full. */
struct sl__event *sl__event_add(struct sl_events *e);
/* True if there are followers, or were until a while ago. */
bool sl__events_followed(struct sl_events *e);
void sl__events_forget(struct sl_events *e);  /* all events */

#endif
