/* collect.h -- keeps the state folder within max_state_bytes.
 *
 * Twice a minute a worker adds up the files of the folder. When they are more, the results of ended jobs, and
 * graphs, go in the order of their last use, the oldest first, until nine tenths of the bound are reached. What
 * stays: pinned graphs, graphs of jobs that have not ended, jobs that others wait for or that are being read, jobs
 * with a public link, and whatever was used within collect_after_s. Each that goes is told in the log and in the
 * audit log. Loop thread. */
#ifndef SL_COLLECT_H
#define SL_COLLECT_H

#include <jansson.h>

#include "core/error.h"

struct sl_collect;
struct sl_daemon;
struct sl_request;

int sl_collect_create(struct sl_collect **out, struct sl_daemon *d, struct sl_error *err);
/* When no work of it is under way any more; then runs closed. */
void sl_collect_close(struct sl_collect *c, void (*closed)(void *arg), void *arg);
/* body: openapi.yaml, CollectionRequest. Answers with what has gone, or would go. */
void sl_collect_now(struct sl_collect *c, struct sl_request *r, const json_t *body);

#endif
