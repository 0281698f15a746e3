/* events.h -- server-sent events about changes of jobs, graphs and devices.
 *
 * Other parts of the daemon register a source for each kind of record (jobs, graphs,
 * devices), and report which record has changed. The hub gets the record from the source,
 * once for all followers, and keeps its text in a ring of SL_EVENTS_KEPT. An event has a
 * number that increases, also across restarts of the server. A newer event about a record
 * replaces an older one: a slow follower misses intermediate states, never the newest, and
 * the ring holds at most one text for each record.
 *
 * A follower of everything first gets all records, and then the changes. A follower that
 * reconnects with the number of its last event gets the events that it has missed, or all
 * records again if the ring no longer has them. A follower of one job gets its events until
 * the job has ended. When there has been no follower for a minute, no events are made. A
 * follower gets only records that it may read, and hears only of the removal of those. Report a
 * removal while the users still know the rights to the record. Loop thread. */
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
	/* The record with this id, as in replies of the API; NULL: there is none. New reference. */
	json_t *(*record)(void *arg, const char *id);
	/* Calls add() for the id of each record. NULL: new followers get only changes, and no records at first
	 * (progress). */
	void (*each)(void *arg, void (*add)(void *to, const char *id), void *to);
	/* Gives the record a new version (util/ulid.h), which record() then has as `version`; called at each change.
	 * The record may be gone. NULL: records have no versions. */
	void (*stamp)(void *arg, const char *id, int64_t version);
	/* True if the record will no longer change. NULL: never. */
	bool (*ended)(void *arg, const char *id);
};

/* users: borrowed; they decide what a follower may see. */
int sl_events_create(struct sl_events **out, uv_loop_t *loop, const struct sl_users *users, struct sl_error *err);
/* Registers a source, which is borrowed; NULL: removes it. */
void sl_events_source(struct sl_events *e, enum sl_events_kind kind, const struct sl_event_source *source, void *arg);
/* Call it when all followers' connections are closed. closed runs on the loop when e is freed. */
void sl_events_close(struct sl_events *e, void (*closed)(void *arg), void *arg);

/* The record has changed or was deleted. Cheap without followers. NULL e is fine. */
void sl_events_changed(struct sl_events *e, enum sl_events_kind kind, const char *id);

/* Rights to a record change; call the first before, the second after. Followers of all events who may read it now and
 * could not before, or the reverse, start again with all records. The second with id NULL: rights of users have
 * changed, and all who may not read everything start again. */
void sl_events_rights_before(struct sl_events *e, const char *id);
void sl_events_rights_changed(struct sl_events *e, const char *id);

/* Answer a request with a stream of all events, or of the events of one job. */
void sl_events_follow(struct sl_events *e, struct sl_request *r);
void sl_events_follow_job(struct sl_events *e, struct sl_request *r, const char *job);

#endif
