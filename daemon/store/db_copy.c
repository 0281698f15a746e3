/* Copies the data base, between two batches of writes. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/store/atomic.h"
#include "daemon/store/db_internal.h"

static int copy_to(struct sl_db *db, const char *to, struct sl_error *err)
{
	sqlite3_stmt *statement;
	int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), rc;  /* SQLite accepts an empty file */
	if (fd < 0)
		return sl_atomic_error(to, "written", errno, err);
	if (sqlite3_prepare_v2(db->sqlite, "VACUUM INTO ?", -1, &statement, NULL) != SQLITE_OK) {
		rc = sl__db_fail(db, err, "data base");
	} else {
		sqlite3_bind_text(statement, 1, to, -1, SQLITE_STATIC);
		rc = sl__db_run(db, statement, err);
		sqlite3_finalize(statement);
	}
	if (!rc && fsync(fd))
		rc = sl_atomic_error(to, "synchronised", errno, err);
	close(fd);
	return rc;
}

/* Pool thread. */
void sl__db_on_copy(void *arg)
{
	struct sl_db *db = arg;
	db->status = db->copy->during(db->copy->arg, &db->err);
	if (!db->status)
		db->status = copy_to(db, db->copy->to, &db->err);
}

void sl__db_on_copied(void *arg)
{
	struct sl_db *db = arg;
	struct sl__db_copy *copy = db->copy;
	struct sl_error err = db->err;
	int rc = db->status;
	db->copy = NULL;
	db->busy = false;
	sl__db_start(db);
	copy->done(copy->arg, rc, rc ? &err : NULL);
	free(copy->to);
	free(copy);
	sl__db_end_if_closing(db);
}

int sl_db_copy(struct sl_db *db, const char *to, int (*during)(void *arg, struct sl_error *err), sl_db_done_fn done,
	       void *arg)
{
	struct sl__db_copy *copy = db->copy || db->closing ? NULL : calloc(1, sizeof *copy);
	char *path = copy ? strdup(to) : NULL;
	if (!path) {
		free(copy);
		return SL_NOMEM;
	}
	*copy = (struct sl__db_copy){path, during, done, arg};
	db->copy = copy;
	sl__db_start(db);
	return 0;
}
