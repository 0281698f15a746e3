/* settings.h -- what administrators set while the server runs, and what must be remembered over restarts beside the
 * records of graphs, jobs and users: one document by name, in the data base. Loop thread; NULL s is fine. */
#ifndef SL_SETTINGS_H
#define SL_SETTINGS_H

#include <jansson.h>

#include "daemon/store/db.h"

struct sl_settings;

int sl_settings_create(struct sl_settings **out, struct sl_db *db, struct sl_error *err);
void sl_settings_destroy(struct sl_settings *s);
/* Borrowed; NULL: it was never set, or was removed. */
const json_t *sl_settings_get(const struct sl_settings *s, const char *name);
/* Sets a document, which the caller keeps; NULL removes it. It holds at once, and done (or NULL) runs when it is on the
 * disk. If that fails, the document stays as set until the next start. An error: nothing has changed, and done does not
 * run. */
int sl_settings_put(struct sl_settings *s, const char *name, const json_t *document, sl_db_done_fn done, void *arg);

#endif
