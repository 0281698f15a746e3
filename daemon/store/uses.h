/* uses.h -- when graphs and jobs were used last.
 *
 * Whoever uses a thing says so: a request that names it, a job that is computed from it. That is kept in memory, and
 * recorded a while later, once for many uses, so that reading writes nothing: a crash forgets the uses of the last
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
/* The thing with this id is used now. */
void sl_uses_mark(struct sl_uses *u, const char *id);
/* When, in milliseconds since 1970; 0: not since it was made. */
uint64_t sl_uses_last(const struct sl_uses *u, const char *id);
/* The thing is gone. */
void sl_uses_forget(struct sl_uses *u, const char *id);
/* At the start: of things that are not there. */
void sl_uses_sweep(struct sl_uses *u, bool (*exists)(void *arg, const char *id), void *arg);
/* Records what has not been recorded for a while; all: whatever has not. */
void sl_uses_save(struct sl_uses *u, bool all);

#endif
