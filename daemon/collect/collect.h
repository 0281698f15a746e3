/* collect.h -- keeps the state folder within max_state_bytes.
 *
 * Twice a minute a worker adds the sizes of the folder's files. If the sum exceeds max_state_bytes, results of ended
 * jobs and graphs are removed, least recently used first, until the folder is at nine tenths of the limit. Never
 * removed are pinned graphs, graphs of jobs that have not ended, jobs that others wait for or that are being read, jobs
 * that are kept or have a public link, with their graphs, and graphs and jobs that were used within collect_after_s.
 * The log and the audit log name each removed job or graph. Loop thread. */
#ifndef SL_COLLECT_H
#define SL_COLLECT_H

#include <jansson.h>

#include "core/error.h"
#include "daemon/store/db.h"

struct sl_collect;
struct sl_daemon;
struct sl_request;

int sl_collect_create(struct sl_collect **out, struct sl_daemon *d, struct sl_error *err);
/* Calls closed when its work in progress has ended. */
void sl_collect_close(struct sl_collect *c, void (*closed)(void *arg), void *arg);
/* Collects now. body: openapi.yaml, CollectionRequest. The reply lists what was removed or, in a dry run, would be. */
void sl_collect_now(struct sl_collect *c, struct sl_request *r, const json_t *body);

/* Options that would remove more than those in force must be confirmed, as those of jobs (jobs/record/retention.c):
 * compares them, takes over what removes nothing more, or logs what is to be confirmed. */
void sl_collect_look(struct sl_collect *c);
json_t *sl_collect_retention_json(const struct sl_collect *c);  /* openapi.yaml: StateRetention; new reference */
/* Puts the pending options into force. body: openapi.yaml, StateConfirmation. done runs when that is recorded, unless
 * the function returns an error. */
int sl_collect_confirm(struct sl_collect *c, const json_t *body, const char *who, sl_db_done_fn done, void *arg,
		       struct sl_error *err);

#endif
