/* db_ids.h -- finds out which records a copy of the data base has. Any thread; one at a time for each object. */
#ifndef SL_DB_IDS_H
#define SL_DB_IDS_H

#include <stdbool.h>

#include "core/error.h"
#include "daemon/store/db.h"

struct sl_db_ids;

/* path: a data base that nobody writes, without a log (WAL). */
int sl_db_ids_open(struct sl_db_ids **out, const char *path, struct sl_error *err);
/* True if the copy has the record, or if reading it fails. */
bool sl_db_ids_have(struct sl_db_ids *ids, enum sl_db_table table, const char *id);
void sl_db_ids_close(struct sl_db_ids *ids);  /* NULL is fine */

#endif
