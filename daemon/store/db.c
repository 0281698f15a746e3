/* One connection, used by the loop at the start only and afterwards by one piece of pool
 * work at a time: `writing` is the batch under way, `waiting` what came since. A batch is one
 * transaction; if it fails as a whole, each of its writes is told so. */
#include "daemon/store/db.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <sodium.h>
#include <sqlite3.h>

#include "daemon/store/atomic.h"
#include "daemon/store/generation.h"
#include "daemon/store/reserve.h"
#include "daemon/util/list.h"
#include "daemon/util/log.h"
#include "daemon/util/pool.h"

#define SCHEMA_VERSION 1
#define REMOVED_KEPT 10000  /* ids of removed records that are remembered */

static const char *const tables[SL_DB_TABLES] = {"graphs", "jobs", "users", "access", "usage", "links", "batches",
							 "projects"};

/* Statement number i brings a data base of version i to version i + 1. */
static const char *const migrations[SCHEMA_VERSION] = {
	"CREATE TABLE graphs (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE jobs (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;",
};

/* Tables that older versions do not know and need not. removed: ids whose record was removed last. */
static const char additions[] =
	"CREATE TABLE IF NOT EXISTS users (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS access (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS usage (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS links (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS batches (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS projects (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS generation (id TEXT NOT NULL, number INTEGER NOT NULL);"
	"CREATE TABLE IF NOT EXISTS removed (number INTEGER PRIMARY KEY, id TEXT NOT NULL);";

struct write {
	struct sl_link link;
	enum sl_db_table table;
	char id[32];
	char *document;  /* NULL: remove */
	sl_db_done_fn done;
	void *arg;
};

/* A copy that somebody wants: it has its turn between two batches. */
struct copy {
	char *to;
	int (*during)(void *arg, struct sl_error *err);
	sl_db_done_fn done;
	void *arg;
};

struct sl_db {
	uv_loop_t *loop;
	sqlite3 *sqlite;
	sqlite3_stmt *put[SL_DB_TABLES], *remove[SL_DB_TABLES], *remember, *forget, *count;
	char *path, *folder;    /* folder: that of path */
	struct sl_generation generation;
	int generation_fd;      /* -1: not written */
	struct sl_list waiting, writing;  /* struct write */
	bool begun;             /* a transaction is put together: nothing is written meanwhile */
	size_t before;          /* ... and so many wait that are not part of it */
	struct sl_pool_place work;
	bool exclusive;         /* nobody else may read it meanwhile: takes no room on a full disk */
	struct copy *copy;      /* NULL: none is wanted */
	bool read_only;         /* nothing is prepared for writing */
	bool lost_records;
	bool busy, closing;
	int status;             /* of the batch: set by the pool, read by the loop after it */
	struct sl_error err;
	void (*closed)(void *arg);
	void *closed_arg;
};

static int fail(struct sl_db *db, struct sl_error *err, const char *what)
{
	switch (sqlite3_errcode(db->sqlite) & 0xff) {
	case SQLITE_FULL:
		return sl_error_set(err, SL_DISKFULL, "%s: %s; free some room and try again", what,
				    sqlite3_errmsg(db->sqlite));
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return sl_error_set(err, SL_LOCKED, "%s: %s; another program has it open and must let it go", what,
				    sqlite3_errmsg(db->sqlite));
	case SQLITE_READONLY:
		return sl_error_set(err, SL_READONLY, "%s: %s", what, sqlite3_errmsg(db->sqlite));
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return sl_error_set(err, SL_BADDATA, "%s: %s; spacelandd --repair-state makes it anew", what,
				    sqlite3_errmsg(db->sqlite));
	default:
		return sl_error_set(err, SL_IO, "%s: %s", what, sqlite3_errmsg(db->sqlite));
	}
}

static int exec(struct sl_db *db, const char *sql, struct sl_error *err)
{
	return sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : fail(db, err, "data base");
}

static int version(struct sl_db *db, int *out, struct sl_error *err)
{
	sqlite3_stmt *statement;
	if (sqlite3_prepare_v2(db->sqlite, "PRAGMA user_version", -1, &statement, NULL) != SQLITE_OK)
		return fail(db, err, "data base");
	int rc = sqlite3_step(statement) == SQLITE_ROW ? 0 : fail(db, err, "data base");
	*out = sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	return rc;
}

static int migrate(struct sl_db *db, const char *path, struct sl_error *err)
{
	int at = 0, rc = version(db, &at, err);
	if (!rc && (at < 0 || at > SCHEMA_VERSION))
		rc = sl_error_at(err, SL_BADFORMAT, path, 0,
				 "it was written by a newer version of spacelandd (schema %d, this one knows %d)", at,
				 SCHEMA_VERSION);
	for (; !rc && at < SCHEMA_VERSION; at++) {
		char pragma[64];
		snprintf(pragma, sizeof pragma, "PRAGMA user_version = %d", at + 1);
		rc = exec(db, "BEGIN IMMEDIATE", err);
		if (!rc)
			rc = exec(db, migrations[at], err);
		if (!rc)
			rc = exec(db, pragma, err);
		if (!rc)
			rc = exec(db, "COMMIT", err);
	}
	return rc;
}

/* Of a record, so that one that was damaged is not taken for good. */
static sqlite3_int64 sum_of(const char *id, const char *document)
{
	crypto_generichash_state state;
	unsigned char digest[16];
	sqlite3_int64 sum;
	crypto_generichash_init(&state, NULL, 0, sizeof digest);
	crypto_generichash_update(&state, (const unsigned char *)id, strlen(id) + 1);
	crypto_generichash_update(&state, (const unsigned char *)document, strlen(document));
	crypto_generichash_final(&state, digest, sizeof digest);
	memcpy(&sum, digest, sizeof sum);
	return sum;
}

static int add_sums(struct sl_db *db, struct sl_error *err)
{
	int rc = 0;
	for (int i = 0; i < SL_DB_TABLES && !rc; i++) {
		char sql[80];
		snprintf(sql, sizeof sql, "ALTER TABLE %s ADD COLUMN sum INTEGER", tables[i]);
		if (sqlite3_table_column_metadata(db->sqlite, NULL, tables[i], "sum", NULL, NULL, NULL, NULL, NULL) !=
		    SQLITE_OK)
			rc = exec(db, sql, err);
	}
	return rc;
}

static int prepare(struct sl_db *db, struct sl_error *err)
{
	for (int i = 0; i < SL_DB_TABLES; i++) {
		char put[128], remove[128];
		snprintf(put, sizeof put, "INSERT OR REPLACE INTO %s (id, document, sum) VALUES (?, ?, ?)", tables[i]);
		snprintf(remove, sizeof remove, "DELETE FROM %s WHERE id = ?", tables[i]);
		if (sqlite3_prepare_v2(db->sqlite, put, -1, &db->put[i], NULL) != SQLITE_OK ||
		    sqlite3_prepare_v2(db->sqlite, remove, -1, &db->remove[i], NULL) != SQLITE_OK)
			return fail(db, err, "data base");
	}
	if (sqlite3_prepare_v2(db->sqlite, "INSERT INTO removed (id) VALUES (?)", -1, &db->remember, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db->sqlite, "DELETE FROM removed WHERE number <= ?", -1, &db->forget, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db->sqlite, "UPDATE generation SET number = ?", -1, &db->count, NULL) != SQLITE_OK)
		return fail(db, err, "data base");
	return 0;
}

static void close_sqlite(struct sl_db *db)
{
	for (int i = 0; i < SL_DB_TABLES; i++) {
		sqlite3_finalize(db->put[i]);
		sqlite3_finalize(db->remove[i]);
		db->put[i] = db->remove[i] = NULL;
	}
	sqlite3_finalize(db->remember);
	sqlite3_finalize(db->forget);
	sqlite3_finalize(db->count);
	db->remember = db->forget = db->count = NULL;
	if (sqlite3_close(db->sqlite) != SQLITE_OK)
		sl_log_warning("db", "not closed cleanly: %s", sqlite3_errmsg(db->sqlite));
	db->sqlite = NULL;
}

static void destroy(struct sl_db *db)
{
	close_sqlite(db);
	if (db->generation_fd >= 0)
		close(db->generation_fd);
	free(db->path);
	free(db->folder);
	free(db);
}

/* ---- the generation ------------------------------------------------------------- */

static int run_one(struct sl_db *db, sqlite3_stmt *statement, struct sl_error *err)
{
	int step = sqlite3_step(statement), rc = step == SQLITE_DONE ? 0 : fail(db, err, "data base");
	sqlite3_reset(statement);
	sqlite3_clear_bindings(statement);
	return rc;
}

/* A data base of before there were generations has records and is not new: it begins at 1. */
static const char first_generation[] =
	"INSERT INTO generation (id, number) SELECT ?, EXISTS (SELECT 1 FROM graphs) OR EXISTS (SELECT 1 FROM jobs)";

static int read_generation(struct sl_db *db, bool *there, struct sl_error *err)
{
	sqlite3_stmt *statement;
	if (sqlite3_prepare_v2(db->sqlite, "SELECT id, number FROM generation", -1, &statement, NULL) != SQLITE_OK)
		return fail(db, err, "data base");
	int step = sqlite3_step(statement), rc = 0;
	const char *id = step == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
	*there = step == SQLITE_ROW;
	if (step != SQLITE_ROW && step != SQLITE_DONE)
		rc = fail(db, err, "data base");
	if (id) {
		snprintf(db->generation.id, sizeof db->generation.id, "%s", id);
		db->generation.number = (uint64_t)sqlite3_column_int64(statement, 1);
	}
	sqlite3_finalize(statement);
	return rc;
}

static int make_generation(struct sl_db *db, struct sl_error *err)
{
	sqlite3_stmt *statement;
	char id[SL_ULID_BYTES];
	bool there;
	int rc = read_generation(db, &there, err);
	if (rc || there)
		return rc;
	if (sqlite3_prepare_v2(db->sqlite, first_generation, -1, &statement, NULL) != SQLITE_OK)
		return fail(db, err, "data base");
	sqlite3_bind_text(statement, 1, sl_ulid_make(id), -1, SQLITE_STATIC);
	rc = run_one(db, statement, err);
	sqlite3_finalize(statement);
	return rc ? rc : read_generation(db, &there, err);
}

/* In a transaction: the next number. */
static int next_generation(struct sl_db *db, uint64_t number, struct sl_error *err)
{
	sqlite3_bind_int64(db->count, 1, (sqlite3_int64)number);
	return run_one(db, db->count, err);
}

bool sl_db_is_new(const struct sl_db *db)
{
	return db->generation.number == 0;
}

static int lost_records(const struct sl_db *db, const struct sl_generation *file, struct sl_error *err)
{
	const char *what = sl_db_is_new(db) ? "it is new" : strcmp(file->id, db->generation.id) ? "it is another one" :
			   "it is an older copy";
	return sl_error_at(err, SL_CONFLICT, db->path, 0,
			   "records are missing in the data base: %s (its generation is %" PRIu64 "; %s.generation has %" PRIu64
			   "). Put the right one back, with its -wal file; or let spacelandd --repair-state make the "
			   "records anew from the files; or start once with --accept-lost-records: then files without a "
			   "record go to lost+found/", what, db->generation.number, db->path, file->number);
}

int sl_db_check_generation(struct sl_db *db, bool accept, struct sl_error *err)
{
	struct sl_generation file;
	char *path;
	int rc = 0;
	if (asprintf(&path, "%s.generation", db->path) < 0)
		return sl_error_set(err, SL_NOMEM, "no memory for a path");
	bool lost = sl_generation_read(path, &file) &&
		    (strcmp(file.id, db->generation.id) || file.number > db->generation.number);
	if (lost && !accept) {
		rc = lost_records(db, &file, err);
	} else if (lost) {
		db->lost_records = true;
		sl_log_warning("db", "%s lacks records that were acknowledged; this is accepted", db->path);
		db->generation.number = file.number > db->generation.number ? file.number : db->generation.number;
		rc = db->read_only ? 0 : next_generation(db, db->generation.number, err);
	}
	if (!rc && !db->read_only) {
		db->generation_fd = sl_generation_open(path);
		sl_generation_write(db->generation_fd, &db->generation);
	}
	free(path);
	return rc;
}

bool sl_db_was_removed(struct sl_db *db, const char *id)
{
	sqlite3_stmt *statement;
	if (sqlite3_prepare_v2(db->sqlite, "SELECT 1 FROM removed WHERE id = ?", -1, &statement, NULL) != SQLITE_OK)
		return false;
	sqlite3_bind_text(statement, 1, id, -1, SQLITE_STATIC);
	bool found = sqlite3_step(statement) == SQLITE_ROW;
	sqlite3_finalize(statement);
	return found;
}

/* ---- the start ------------------------------------------------------------------ */

static bool disk_is_read_only(const char *folder)
{
	struct statvfs st;
	return !statvfs(folder, &st) && st.f_flag & ST_RDONLY;
}

/* A URI of SQLite. */
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

/* With a log: its index is kept in memory, which takes an exclusive lock that a read-only file cannot have. Nobody else
 * uses the state folder, so no lock is needed. Without a log: as a file that nobody changes. */
static int open_read_only(struct sl_db *db, struct sl_error *err)
{
	char *log, *uri = NULL;
	struct stat st;
	if (asprintf(&log, "%s-wal", db->path) < 0)
		return sl_error_set(err, SL_NOMEM, "no memory for the data base");
	bool logged = !stat(log, &st) && st.st_size > 0;
	free(log);
	if (!(uri = uri_of(db->path, logged ? "?mode=ro&vfs=unix-none" : "?mode=ro&immutable=1")))
		return sl_error_set(err, SL_NOMEM, "no memory for the data base");
	int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX, at = 0;
	int rc = sqlite3_open_v2(uri, &db->sqlite, flags, NULL) == SQLITE_OK ? 0 : fail(db, err, db->path);
	free(uri);
	if (!rc)
		rc = exec(db, "PRAGMA locking_mode = EXCLUSIVE", err);
	if (!rc)
		rc = version(db, &at, err);
	bool there = false, known = at == SCHEMA_VERSION;
	for (int i = 0; i < SL_DB_TABLES && !rc; i++)
		known = known && sqlite3_table_column_metadata(db->sqlite, NULL, tables[i], "sum", NULL, NULL, NULL, NULL,
							       NULL) == SQLITE_OK;
	if (!rc && known)
		rc = read_generation(db, &there, err);
	if (!rc && !there)
		rc = sl_error_at(err, SL_READONLY, db->path, 0, "it was written by another version of spacelandd and cannot be "
				 "brought up to date, since the disk is read-only");
	return rc;
}

static int open_sqlite(struct sl_db *db, struct sl_error *err)
{
	db->read_only = disk_is_read_only(db->folder);
	if (db->read_only)
		return open_read_only(db, err);
	mode_t mask = umask(0077);  /* SQLite makes its other files with the mode of the first */
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, rc = 0;
	if (sqlite3_open_v2(db->path, &db->sqlite, flags, NULL) != SQLITE_OK)
		rc = fail(db, err, db->path);
	if (!rc && db->exclusive)
		rc = exec(db, "PRAGMA locking_mode = EXCLUSIVE", err);
	if (!rc)
		rc = exec(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 5000", err);
	umask(mask);
	if (!rc && chmod(db->path, 0600))
		sl_log_warning("db", "%s can be read by others: %s", db->path, strerror(errno));
	if (!rc)
		rc = migrate(db, db->path, err);
	if (!rc)
		rc = exec(db, additions, err);
	if (!rc)
		rc = add_sums(db, err);
	if (!rc)
		rc = make_generation(db, err);
	return rc ? rc : prepare(db, err);
}

int sl_db_open(struct sl_db **out, uv_loop_t *loop, const char *path, struct sl_error *err)
{
	struct sl_db *db = calloc(1, sizeof *db);
	const char *slash = strrchr(path, '/');
	if (!db)
		return sl_error_set(err, SL_NOMEM, "no memory for the data base");
	db->loop = loop;
	db->generation_fd = -1;
	db->path = strdup(path);
	db->folder = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
	int rc = db->path && db->folder ? open_sqlite(db, err) : sl_error_set(err, SL_NOMEM, "no memory for the data base");
	bool full = rc && rc != SL_BADDATA && rc != SL_NOMEM && sl_reserve_is_needed(db->folder);
	for (int i = 0; full && rc && i < 2; i++) {  /* with the room of the reserve; then without the file -shm */
		db->exclusive = !sl_reserve_give_up(db->folder);
		close_sqlite(db);
		rc = open_sqlite(db, err);
	}
	if (rc) {
		destroy(db);
		return rc;
	}
	sl_reserve_keep(db->folder);
	*out = db;
	return 0;
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

int sl_db_load(struct sl_db *db, enum sl_db_table table,
	       int (*row)(void *arg, const char *id, json_t *document), void *arg, struct sl_error *err)
{
	char sql[96];
	sqlite3_stmt *statement;
	snprintf(sql, sizeof sql, "SELECT id, document, sum FROM %s ORDER BY id", tables[table]);
	if (sqlite3_prepare_v2(db->sqlite, sql, -1, &statement, NULL) != SQLITE_OK)
		return fail(db, err, "data base");
	int rc = 0, step = SQLITE_ROW, passed_over = 0;
	while (rc >= 0 && (step = sqlite3_step(statement)) == SQLITE_ROW) {
		const char *id = (const char *)sqlite3_column_text(statement, 0);
		const char *text = (const char *)sqlite3_column_text(statement, 1);
		bool sums = id && text && (sqlite3_column_type(statement, 2) == SQLITE_NULL ||
					   sqlite3_column_int64(statement, 2) == sum_of(id, text));
		json_t *document = sums ? json_loads(text, 0, NULL) : NULL;
		if (!document) {
			sl_log_warning("db", "%s: record %s is damaged and is passed over", tables[table], id ? id : "?");
			json_decref(document);
			passed_over++;
			continue;
		}
		rc = row(arg, id, document);
		json_decref(document);
		passed_over += rc > 0;
		if (rc < 0)
			sl_error_set(err, rc, "record %s of %s: %s", id, tables[table], sl_error_title(rc));
	}
	if (rc >= 0 && step != SQLITE_DONE)
		rc = fail(db, err, "data base");
	sqlite3_finalize(statement);
	return rc < 0 ? rc : passed_over;
}

int sl_db_check(struct sl_db *db, struct sl_error *err)
{
	sqlite3_stmt *statement;
	if (sqlite3_prepare_v2(db->sqlite, "PRAGMA integrity_check(1)", -1, &statement, NULL) != SQLITE_OK)
		return fail(db, err, "data base");
	int step = sqlite3_step(statement), rc = 0;
	const char *text = step == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
	if (step != SQLITE_ROW)
		rc = fail(db, err, "data base");
	else if (!text || strcmp(text, "ok"))
		rc = sl_error_set(err, SL_BADDATA, "data base: %s", text ? text : "it cannot be checked");
	sqlite3_finalize(statement);
	return rc;
}

/* ---- writing -------------------------------------------------------------------- */

static int write_one(struct sl_db *db, const struct write *w, struct sl_error *err)
{
	sqlite3_stmt *statement = w->document ? db->put[w->table] : db->remove[w->table];
	sqlite3_bind_text(statement, 1, w->id, -1, SQLITE_STATIC);
	if (w->document) {
		sqlite3_bind_text(statement, 2, w->document, -1, SQLITE_STATIC);
		sqlite3_bind_int64(statement, 3, sum_of(w->id, w->document));
	}
	int rc = run_one(db, statement, err);
	if (rc || w->document)
		return rc;
	sqlite3_bind_text(db->remember, 1, w->id, -1, SQLITE_STATIC);
	if ((rc = run_one(db, db->remember, err)))
		return rc;
	sqlite3_bind_int64(db->forget, 1, sqlite3_last_insert_rowid(db->sqlite) - REMOVED_KEPT);
	return run_one(db, db->forget, err);
}

static int write_batch(struct sl_db *db)
{
	if (db->read_only)
		return sl_error_set(&db->err, SL_READONLY, "The disk is read-only, so nothing can be recorded.");
	int rc = exec(db, "BEGIN IMMEDIATE", &db->err);
	SL_LIST_EACH(struct write, w, &db->writing, link)
		rc = rc ? rc : write_one(db, w, &db->err);
	if (!rc)
		rc = next_generation(db, db->generation.number + 1, &db->err);
	if (!rc)
		rc = exec(db, "COMMIT", &db->err);
	if (rc)
		sqlite3_exec(db->sqlite, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

/* Pool thread: one transaction. On a full disk a second try with the room of the reserve. */
static void on_work(void *arg)
{
	struct sl_db *db = arg;
	int rc = write_batch(db);
	if (rc == SL_DISKFULL && sl_reserve_give_up(db->folder))
		rc = write_batch(db);
	if (!rc) {
		db->generation.number++;
		sl_generation_write(db->generation_fd, &db->generation);
		sl_reserve_keep(db->folder);
	}
	db->status = rc;
}

static void start(struct sl_db *db);
static void end_if_closing(struct sl_db *db);

static void on_done(void *arg)
{
	struct sl_db *db = arg;
	struct sl_list written = {0};
	int rc = db->status;
	struct sl_error err = db->err;
	sl_list_move(&written, &db->writing);
	db->busy = false;
	if (rc)
		sl_log_error("db", "%s", err.detail);
	/* the next batch is on its way while these are told */
	start(db);
	SL_LIST_EACH(struct write, w, &written, link) {
		if (w->done)
			w->done(w->arg, rc, rc ? &err : NULL);
		free(w->document);
		free(w);
	}
	end_if_closing(db);
}

static void end_if_closing(struct sl_db *db)
{
	if (!db->closing || db->busy)
		return;
	void (*closed)(void *) = db->closed;
	void *closed_arg = db->closed_arg;
	destroy(db);
	if (closed)
		closed(closed_arg);
}

static int copy_to(struct sl_db *db, const char *to, struct sl_error *err)
{
	sqlite3_stmt *statement;
	int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), rc;  /* an empty one will do for SQLite */
	if (fd < 0)
		return sl_atomic_error(to, "written", errno, err);
	if (sqlite3_prepare_v2(db->sqlite, "VACUUM INTO ?", -1, &statement, NULL) != SQLITE_OK) {
		rc = fail(db, err, "data base");
	} else {
		sqlite3_bind_text(statement, 1, to, -1, SQLITE_STATIC);
		rc = run_one(db, statement, err);
		sqlite3_finalize(statement);
	}
	if (!rc && fsync(fd))
		rc = sl_atomic_error(to, "synchronised", errno, err);
	close(fd);
	return rc;
}

/* Pool thread. */
static void on_copy(void *arg)
{
	struct sl_db *db = arg;
	db->status = db->copy->during(db->copy->arg, &db->err);
	if (!db->status)
		db->status = copy_to(db, db->copy->to, &db->err);
}

static void on_copied(void *arg)
{
	struct sl_db *db = arg;
	struct copy *copy = db->copy;
	struct sl_error err = db->err;
	int rc = db->status;
	db->copy = NULL;
	db->busy = false;
	start(db);
	copy->done(copy->arg, rc, rc ? &err : NULL);
	free(copy->to);
	free(copy);
	end_if_closing(db);
}

int sl_db_copy(struct sl_db *db, const char *to, int (*during)(void *arg, struct sl_error *err), sl_db_done_fn done,
	       void *arg)
{
	struct copy *copy = db->copy || db->closing ? NULL : calloc(1, sizeof *copy);
	char *path = copy ? strdup(to) : NULL;
	if (!path) {
		free(copy);
		return SL_NOMEM;
	}
	*copy = (struct copy){path, during, done, arg};
	db->copy = copy;
	start(db);
	return 0;
}

static void start(struct sl_db *db)
{
	if (db->busy || (!db->copy && (db->begun || !db->waiting.count)))
		return;
	if (db->copy) {
		db->busy = true;
		sl_pool_run_in(&db->work, db->loop, on_copy, on_copied, db);
		return;
	}
	sl_list_move(&db->writing, &db->waiting);
	db->busy = true;
	sl_pool_run_in(&db->work, db->loop, on_work, on_done, db);
}

static int queue(struct sl_db *db, enum sl_db_table table, const char *id, char *document, sl_db_done_fn done,
		 void *arg)
{
	struct write *w = calloc(1, sizeof *w);
	if (!w || db->closing) {
		free(w);
		free(document);
		return SL_NOMEM;
	}
	w->table = table;
	snprintf(w->id, sizeof w->id, "%s", id);
	w->document = document;
	w->done = done;
	w->arg = arg;
	sl_list_append(&db->waiting, &w->link);
	start(db);
	return 0;
}

void sl_db_begin(struct sl_db *db)
{
	db->begun = true;
	db->before = db->waiting.count;
}

void sl_db_end(struct sl_db *db, bool keep)
{
	while (!keep && db->waiting.count > db->before) {
		struct write *w = SL_LIST_LAST(struct write, &db->waiting, link);
		sl_list_unlink(&w->link);
		free(w->document);
		free(w);
	}
	db->begun = false;
	start(db);
}

int sl_db_put(struct sl_db *db, enum sl_db_table table, const char *id, const json_t *document, sl_db_done_fn done,
	      void *arg)
{
	char *text = json_dumps(document, JSON_COMPACT);
	return text ? queue(db, table, id, text, done, arg) : SL_NOMEM;
}

int sl_db_remove(struct sl_db *db, enum sl_db_table table, const char *id, sl_db_done_fn done, void *arg)
{
	return queue(db, table, id, NULL, done, arg);
}

static void on_nothing(void *arg)
{
	struct sl_db *db = arg;
	db->status = 0;
}

void sl_db_close(struct sl_db *db, void (*closed)(void *arg), void *arg)
{
	db->closing = true;
	db->closed = closed;
	db->closed_arg = arg;
	if (db->busy)
		return;
	/* on_done closes; it needs something to be done */
	db->busy = true;
	sl_pool_run_in(&db->work, db->loop, on_nothing, on_done, db);
}
