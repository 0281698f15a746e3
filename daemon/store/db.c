/* Opens and closes the data base, also on a full disk and on a read-only disk. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "daemon/store/atomic.h"
#include "daemon/store/db_internal.h"
#include "daemon/store/reserve.h"
#include "daemon/util/log.h"

/* Returns SQLite's error code, with SQLITE_FULL or SQLITE_READONLY also where SQLite reports only an input or output
 * error: for a full disk, it returns SQLITE_FULL after write(), but not after fsync() or open(). sqlite3_system_errno()
 * does not have the error of an fsync() by COMMIT (SQLite 3.40), so errno is used first. */
static int code_of(sqlite3 *db)
{
	int code = sqlite3_errcode(db) & 0xff, why = errno ? errno : sqlite3_system_errno(db);
	if (code != SQLITE_IOERR && code != SQLITE_CANTOPEN)
		return code;
	switch (sl_atomic_code(why)) {
	case SL_DISKFULL: return SQLITE_FULL;
	case SL_READONLY: return SQLITE_READONLY;
	default: return code;
	}
}

int sl__db_fail(struct sl_db *db, struct sl_error *err, const char *what)
{
	switch (code_of(db->sqlite)) {
	case SQLITE_FULL:
		return sl_error_set(err, SL_DISKFULL, "%s: %s; free some room and try again", what,
				    sqlite3_errstr(SQLITE_FULL));
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return sl_error_set(err, SL_LOCKED, "%s: %s; another program has it open and must close it", what,
				    sqlite3_errmsg(db->sqlite));
	case SQLITE_READONLY:
		return sl_error_set(err, SL_READONLY, "%s: %s", what, sqlite3_errstr(SQLITE_READONLY));
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return sl_error_set(err, SL_BADDATA, "%s: %s; spacelandd --repair-state rebuilds it", what,
				    sqlite3_errmsg(db->sqlite));
	default:
		return sl_error_set(err, SL_IO, "%s: %s", what, sqlite3_errmsg(db->sqlite));
	}
}

int sl__db_exec(struct sl_db *db, const char *sql, struct sl_error *err)
{
	errno = 0;
	return sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : sl__db_fail(db, err, "data base");
}

int sl__db_run(struct sl_db *db, sqlite3_stmt *statement, struct sl_error *err)
{
	errno = 0;
	int step = sqlite3_step(statement), rc = step == SQLITE_DONE ? 0 : sl__db_fail(db, err, "data base");
	sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
	return rc;
}

static void close_sqlite(struct sl_db *db)
{
	sl__db_finalize(db);
	if (sqlite3_close(db->sqlite) != SQLITE_OK)
		sl_log_warning("db", "not closed cleanly: %s", sqlite3_errmsg(db->sqlite));
	db->sqlite = NULL;
}

void sl__db_destroy(struct sl_db *db)
{
	close_sqlite(db);
	if (db->generation_fd >= 0)
		close(db->generation_fd);
	free(db->path);
	free(db->folder);
	free(db);
}

/* ---- the start ------------------------------------------------------------------ */

static bool disk_is_read_only(const char *folder)
{
	struct statvfs st;
	return !statvfs(folder, &st) && st.f_flag & ST_RDONLY;
}

/* Returns SQLite's URI of a file, malloc'd; NULL: no memory. */
static char *uri_of(const char *path, const char *query)
{
	char *uri = malloc(3 * strlen(path) + strlen(query) + 6), *at = uri;
	if (!uri)
		return NULL;
	at += sprintf(at, "file:");
	for (; *path; path++)
		at += sprintf(at, strchr("?#%", *path) ? "%%%02X" : "%c", (unsigned char)*path);
	strcpy(at, query);
	return uri;
}

/* Opens a data base on a read-only disk. If it has a write-ahead log, SQLite must keep the log's index in memory, for
 * which it requires an exclusive lock, which a read-only file cannot have; so it is opened without locks. This is safe
 * since no other process uses the state folder. Without a log it is opened as an immutable file. */
static int open_read_only(struct sl_db *db, struct sl_error *err)
{
	char *log, *uri = NULL;
	struct stat st;
	if (asprintf(&log, "%s-wal", db->path) < 0)
		return sl_error_memory(err, "the data base");
	bool logged = !stat(log, &st) && st.st_size > 0;
	free(log);
	if (!(uri = uri_of(db->path, logged ? "?mode=ro&vfs=unix-none" : "?mode=ro&immutable=1")))
		return sl_error_memory(err, "the data base");
	int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX;
	bool empty = false;
	int rc = sqlite3_open_v2(uri, &db->sqlite, flags, NULL) == SQLITE_OK ? 0 : sl__db_fail(db, err, db->path);
	free(uri);
	if (!rc)
		rc = sl__db_exec(db, "PRAGMA locking_mode = EXCLUSIVE", err);
	if (!rc)
		rc = sl__db_check_version(db, &empty, err);
	if (!rc && empty)
		rc = sl_error_at(err, SL_READONLY, db->path, 0, "it has no tables, and the disk is read-only");
	return rc ? rc : sl__db_read_generation(db, err);
}

static int open_sqlite(struct sl_db *db, struct sl_error *err)
{
	db->read_only = disk_is_read_only(db->folder);
	if (db->read_only)
		return open_read_only(db, err);
	mode_t mask = umask(0077);  /* SQLite makes its other files with the mode of the first */
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, rc = 0;
	bool empty = false;
	if (sqlite3_open_v2(db->path, &db->sqlite, flags, NULL) != SQLITE_OK)
		rc = sl__db_fail(db, err, db->path);
	if (!rc && db->exclusive)
		rc = sl__db_exec(db, "PRAGMA locking_mode = EXCLUSIVE", err);
	if (!rc)
		rc = sl__db_check_version(db, &empty, err);
	if (!rc)
		rc = sl__db_exec(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000", err);
	umask(mask);
	if (!rc && chmod(db->path, 0600))
		sl_log_warning("db", "%s can be read by others: %s", db->path, strerror(errno));
	if (!rc)
		rc = empty ? sl__db_make_tables(db, err) : sl__db_read_generation(db, err);
	return rc ? rc : sl__db_prepare(db, err);
}

int sl_db_open(struct sl_db **out, uv_loop_t *loop, const char *path, struct sl_error *err)
{
	struct sl_db *db = calloc(1, sizeof *db);
	const char *slash = strrchr(path, '/');
	if (!db)
		return sl_error_memory(err, "the data base");
	db->loop = loop;
	db->generation_fd = -1;
	db->path = strdup(path);
	db->folder = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
	int rc = db->path && db->folder ? open_sqlite(db, err) : sl_error_memory(err, "the data base");
	bool full = rc && rc != SL_BADDATA && rc != SL_BADFORMAT && rc != SL_NOMEM && sl_reserve_is_needed(db->folder);
	for (int i = 0; full && rc && i < 2; i++) {  /* first with the room of the reserve, then without -shm */
		db->exclusive = !sl_reserve_give_up(db->folder);
		close_sqlite(db);
		rc = open_sqlite(db, err);
	}
	if (rc) {
		sl__db_destroy(db);
		return rc;
	}
	struct stat st;
	if (!stat(db->path, &st)) {
		db->device = st.st_dev;
		db->inode = st.st_ino;
	}
	sl_reserve_keep(db->folder);
	db->gave_up = sl_reserve_is_used(db->folder);
	*out = db;
	return 0;
}

bool sl_db_has_moved(const struct sl_db *db)
{
	struct stat st;
	return stat(db->path, &st) || st.st_dev != db->device || st.st_ino != db->inode;
}

bool sl_db_is_read_only(const struct sl_db *db)
{
	return db->read_only || disk_is_read_only(db->folder);
}

bool sl_db_has_lost_records(const struct sl_db *db)
{
	return db->lost_records;
}

bool sl_db_disk_is_full(const struct sl_db *db)
{
	return sl_reserve_is_used(db->folder);
}

bool sl_db_give_up_reserve(struct sl_db *db)
{
	__atomic_store_n(&db->gave_up, 1, __ATOMIC_RELAXED);
	return sl_reserve_give_up(db->folder);
}

bool sl_db_uses_reserve(const struct sl_db *db)
{
	return __atomic_load_n(&db->gave_up, __ATOMIC_RELAXED) && sl_reserve_is_used(db->folder);
}
