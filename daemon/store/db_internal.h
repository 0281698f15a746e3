/* db_internal.h -- structures and functions that the files of the data base share: db.c (opening and closing),
 * db_schema.c (tables, versions, statements), db_generation.c, db_read.c (records at the start), db_write.c (the queue
 * of writes), db_copy.c.
 *
 * There is one connection. The loop uses it only at the start; afterwards one work item of the pool at a time uses it:
 * a batch of writes or a copy. */
#ifndef SL_DB_INTERNAL_H
#define SL_DB_INTERNAL_H

#include <sqlite3.h>
#include <sys/types.h>

#include "daemon/store/db.h"
#include "daemon/store/generation.h"
#include "daemon/util/list.h"
#include "daemon/util/pool.h"

/* A change that is queued or being written. */
struct sl__db_write {
	struct sl_link link;
	enum sl_db_table table;
	char id[32];
	char *document;  /* NULL: remove */
	sl_db_done_fn done;
	void *arg;
};

/* A requested copy, which is made between two batches of writes. */
struct sl__db_copy {
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
	dev_t device;           /* of the file that was opened */
	ino_t inode;
	struct sl_generation generation;
	int generation_fd;      /* -1: not written */
	struct sl_list waiting, writing;  /* struct sl__db_write */
	struct sl_list written;  /* struct sl__db_write: their callbacks run in several turns of the loop, in this order */
	bool telling;
	bool begun;             /* between sl_db_begin() and sl_db_end(): nothing is written */
	size_t before;          /* number of queued writes that are not part of that transaction */
	struct sl_pool_place work;
	bool exclusive;         /* exclusive locking mode, which needs no room on a full disk; no other program may read */
	struct sl__db_copy *copy;      /* the requested copy, or NULL */
	bool read_only;         /* there are no statements for writing */
	bool lost_records;
	int gave_up;            /* atomic; 1: the reserve was given up, and may not have been made again */
	bool busy, closing;
	void (*written_fn)(void *arg, unsigned tables);  /* or NULL */
	void *written_arg;
	int status;             /* of the batch: set by the pool, read by the loop after it */
	struct sl_error err;
	void (*closed)(void *arg);
	void *closed_arg;
};

/* ---- db.c --------------------------------------------------------------------- */

/* Sets err to the connection's last error; `what` failed. Returns its code. */
int sl__db_fail(struct sl_db *db, struct sl_error *err, const char *what);
int sl__db_exec(struct sl_db *db, const char *sql, struct sl_error *err);
/* Executes a statement without rows, and resets it for the next values. */
int sl__db_run(struct sl_db *db, sqlite3_stmt *statement, struct sl_error *err);
void sl__db_destroy(struct sl_db *db);

/* ---- db_schema.c -------------------------------------------------------------- */

extern const char *const sl__db_tables[SL_DB_TABLES];  /* their names */

/* SL_BADFORMAT: the data base has another schema. *empty: it has no tables yet. Changes nothing. */
int sl__db_check_version(struct sl_db *db, bool *empty, struct sl_error *err);
/* Makes the tables and the first generation, in one transaction. */
int sl__db_make_tables(struct sl_db *db, struct sl_error *err);
/* Prepares the statements that write. */
int sl__db_prepare(struct sl_db *db, struct sl_error *err);
void sl__db_finalize(struct sl_db *db);

/* ---- db_generation.c ---------------------------------------------------------- */

/* Reads db->generation. */
int sl__db_read_generation(struct sl_db *db, struct sl_error *err);
/* The same; a data base without a generation gets its first. */
int sl__db_make_generation(struct sl_db *db, struct sl_error *err);
/* Records the number, within a transaction. */
int sl__db_next_generation(struct sl_db *db, uint64_t number, struct sl_error *err);

/* ---- db_read.c ---------------------------------------------------------------- */

/* The checksum of a record, by which damage is detected. */
sqlite3_int64 sl__db_sum(const char *id, const char *document);

/* ---- db_write.c --------------------------------------------------------------- */

/* Starts the next work item, if there is one and none is in progress: a copy, else a batch. */
void sl__db_start(struct sl_db *db);
/* Call it after a work item. It may free db. */
void sl__db_end_if_closing(struct sl_db *db);

/* ---- db_copy.c ---------------------------------------------------------------- */

/* Makes db->copy. Pool thread. */
void sl__db_on_copy(void *db);
void sl__db_on_copied(void *db);

#endif
