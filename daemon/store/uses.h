/* uses.h -- the times when graphs and jobs were used last.
 *
 * A request that names a graph or job counts as a use, and so does a job that is computed from it. Uses are kept in
 * memory and recorded later, once for many uses, so that reading writes nothing. So a crash loses the uses of the last
 * SL_USES_EVERY_MS. Loop thread; NULL u is fine. */
#ifndef SL_USES_H
#define SL_USES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

#define SL_USES_EVERY_MS 600000

struct sl_db;
struct sl_uses;

int sl_uses_create(struct sl_uses **out, struct sl_db *db, struct sl_error *err);
void sl_uses_destroy(struct sl_uses *u);
/* Records that the graph or job with this id is used now. */
void sl_uses_mark(struct sl_uses *u, const char *id);
/* The time of its last use, in milliseconds since 1970; 0: never used. */
uint64_t sl_uses_last(const struct sl_uses *u, const char *id);
/* The graph or job was deleted. */
void sl_uses_forget(struct sl_uses *u, const char *id);
/* At the start: forgets graphs and jobs that do not exist. */
void sl_uses_sweep(struct sl_uses *u, bool (*exists)(void *arg, const char *id), void *arg);
/* Writes uses that were not recorded for SL_USES_EVERY_MS; all: all uses that are not recorded. */
void sl_uses_save(struct sl_uses *u, bool all);

#endif
