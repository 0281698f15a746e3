/* Opens the copy read-only, and has a prepared statement for each table. */
#include "daemon/store/db_ids.h"

#include <stdlib.h>

#include <sqlite3.h>

struct sl_db_ids {
	sqlite3 *sqlite;
	sqlite3_stmt *find[2];  /* graphs, jobs */
};

int sl_db_ids_open(struct sl_db_ids **out, const char *path, struct sl_error *err)
{
	static const char *const sql[] = {"SELECT 1 FROM graphs WHERE id = ?", "SELECT 1 FROM jobs WHERE id = ?"};
	struct sl_db_ids *ids = calloc(1, sizeof *ids);
	if (!ids)
		return sl_error_memory(err, "the data base");
	bool fine = sqlite3_open_v2(path, &ids->sqlite, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
		    sqlite3_exec(ids->sqlite, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL) == SQLITE_OK;
	for (int i = 0; i < 2 && fine; i++)
		fine = sqlite3_prepare_v2(ids->sqlite, sql[i], -1, &ids->find[i], NULL) == SQLITE_OK;
	if (!fine) {
		sl_error_set(err, SL_IO, "%s: %s", path, sqlite3_errmsg(ids->sqlite));
		sl_db_ids_close(ids);
		return SL_IO;
	}
	*out = ids;
	return 0;
}

bool sl_db_ids_have(struct sl_db_ids *ids, enum sl_db_table table, const char *id)
{
	sqlite3_stmt *find = ids->find[table];
	sqlite3_bind_text(find, 1, id, -1, SQLITE_STATIC);
	bool have = sqlite3_step(find) != SQLITE_DONE;
	sqlite3_reset(find);
	return have;
}

void sl_db_ids_close(struct sl_db_ids *ids)
{
	if (!ids)
		return;
	sqlite3_finalize(ids->find[0]);
	sqlite3_finalize(ids->find[1]);
	sqlite3_close(ids->sqlite);
	free(ids);
}
