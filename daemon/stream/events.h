/* events.h -- what happens on the server, as server-sent events to whoever follows.
 *
 * Rooms give a source for each kind of record they keep (jobs, graphs, devices), and say
 * which record has changed. The hub asks the source for the record, once for all followers,
 * and keeps the text in a ring of SL_EVENTS_KEPT. An event has a number that counts up, also
 * over a restart of the server. A newer event about a record takes the place of an older
 * one: a slow follower misses what was in between, never the newest, and the ring holds one
 * text for each record at most.
 *
 * A follower of all gets every record first, and then the changes; one that comes back with
 * the number of its last event gets what it has missed, or every record again when that is
 * no longer in the ring. A follower of one job gets that job until it has ended. Nothing is
 * rendered while nobody follows and nobody has for a minute. A follower gets only records
 * that it may read. Loop thread. */
#ifndef SL_EVENTS_H
#define SL_EVENTS_H

#include <jansson.h>
#include <stdbool.h>
#include <uv.h>

#include "core/error.h"

#define SL_EVENTS_KEPT 4096

struct sl_events;
struct sl_request;
struct sl_users;

enum sl_events_kind { SL_EVENTS_DEVICE, SL_EVENTS_GRAPH, SL_EVENTS_JOB, SL_EVENTS_PROGRESS, SL_EVENTS_KINDS };

struct sl_event_source {
	/* The record with this id, as the interface gives it; NULL: there is none. New reference. */
	json_t *(*record)(void *arg, const char *id);
	/* Calls add for the id of each record. NULL: what is new is told, and nothing at first (progress). */
	void (*each)(void *arg, void (*add)(void *to, const char *id), void *to);
	/* True if nothing happens to the record any more. NULL: never. */
	bool (*ended)(void *arg, const char *id);
};

/* users decide what a follower may see; borrowed. */
int sl_events_create(struct sl_events **out, uv_loop_t *loop, const struct sl_users *users, struct sl_error *err);
/* source is borrowed, and asked from now on; NULL: no more. */
void sl_events_source(struct sl_events *e, enum sl_events_kind kind, const struct sl_event_source *source, void *arg);
/* All followers have gone (their connections are closed). closed runs on the loop when it is freed. */
void sl_events_close(struct sl_events *e, void (*closed)(void *arg), void *arg);

/* The record has changed, or is there no more. Cheap when nobody follows. NULL e is fine. */
void sl_events_changed(struct sl_events *e, enum sl_events_kind kind, const char *id);

/* Answer a request with a stream of all events, or of those of one job. */
void sl_events_follow(struct sl_events *e, struct sl_request *r);
void sl_events_follow_job(struct sl_events *e, struct sl_request *r, const char *job);

#endif
