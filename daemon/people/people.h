/* people.h -- what becomes of the things of users who leave: graphs, jobs, batches, layouts and links.
 *
 * Transfer: an administrator gives all things of a user, or some, to another user. They count for the same projects
 * as before, and for the limits of the new owner from then on; nothing ends because these are exceeded.
 *
 * Erasure: a user was deleted together with all data (users.h, `erase`). Each second, what can be removed is:
 * unfinished jobs are cancelled, ended ones deleted, then graphs that no unfinished job of somebody else uses, then
 * layouts. What is in use goes later, also after a restart. Other owners of a thing keep it. The log and the audit log
 * name each removed thing. With the last one the user is forgotten. Loop thread. */
#ifndef SL_PEOPLE_H
#define SL_PEOPLE_H

#include <jansson.h>

#include "core/error.h"
#include "daemon/util/ulid.h"

struct sl_daemon;
struct sl_people;
struct sl_request;

int sl_people_create(struct sl_people **out, struct sl_daemon *d, struct sl_error *err);
void sl_people_close(struct sl_people *p, void (*closed)(void *arg), void *arg);

/* Gives things of the user (a name or an id) to another one, and replies when that is on disk. body: {"to", "things",
 * "dry_run"}; openapi.yaml, transferThings. */
void sl_people_transfer(struct sl_people *p, struct sl_request *r, const char *user, const json_t *body);

/* ---- who has what ---- */

/* What one user has for one project. */
struct sl_holding {
	char user[SL_ULID_BYTES], project[SL_ULID_BYTES];  /* ids; "": nobody, none */
	uint64_t disk_bytes, device_bytes;
	int graphs, jobs, queued_jobs, running_jobs;
};
/* Tells the accounting (users/accounting.h) what disk they hold. */
void sl_people_look(struct sl_daemon *d);
/* The users (by_project false) or projects with what they have and the device time that they have used in 24 hours, the
 * largest `sort` (a member of openapi.yaml, Top) first: an array, new reference. */
json_t *sl_people_top(struct sl_daemon *d, bool by_project, const char *sort);

#endif
