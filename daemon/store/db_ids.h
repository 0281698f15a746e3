/* db_ids.h -- which records a copy of the data base has. Any thread; one at a time for each. */
#ifndef SL_DB_IDS_H
#define SL_DB_IDS_H

#include <stdbool.h>

#include "core/error.h"
#include "daemon/store/db.h"

struct sl_db_ids;

/* A file that nobody writes, and that has no log beside it. */
int sl_db_ids_open(struct sl_db_ids **out, const char *path, struct sl_error *err);
/* When that cannot be found out: true. */
bool sl_db_ids_have(struct sl_db_ids *ids, enum sl_db_table table, const char *id);
void sl_db_ids_close(struct sl_db_ids *ids);  /* NULL is fine */

#endif
