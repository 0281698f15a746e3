/* db_internal.h -- what the files of the data base share: db.c (opening and closing), db_schema.c (tables, versions,
 * statements), db_generation.c, db_read.c (records at the start), db_write.c (the queue of writes), db_copy.c.
 *
 * One connection, used by the loop at the start only and afterwards by one piece of pool work at a time: a batch of
 * writes or a copy. */
#ifndef SL_DB_INTERNAL_H
#define SL_DB_INTERNAL_H

#include <sqlite3.h>

#include "daemon/store/db.h"
#include "daemon/store/generation.h"
#include "daemon/util/list.h"
#include "daemon/util/pool.h"

/* A change that waits, or is being written. */
struct sl__db_write {
	struct sl_link link;
	enum sl_db_table table;
	char id[32];
	char *document;  /* NULL: remove */
	sl_db_done_fn done;
	void *arg;
};

/* A copy that somebody wants: it has its turn between two batches. */
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
	struct sl_generation generation;
	int generation_fd;      /* -1: not written */
	struct sl_list waiting, writing;  /* struct sl__db_write */
	struct sl_list written;  /* the same: their callbacks run over several turns of the loop, in this order */
	bool telling;
	bool begun;             /* a transaction is put together: nothing is written meanwhile */
	size_t before;          /* ... and so many wait that are not part of it */
	struct sl_pool_place work;
	bool exclusive;         /* nobody else may read it meanwhile: takes no room on a full disk */
	struct sl__db_copy *copy;      /* NULL: none is wanted */
	bool read_only;         /* nothing is prepared for writing */
	bool lost_records;
	bool busy, closing;
	int status;             /* of the batch: set by the pool, read by the loop after it */
	struct sl_error err;
	void (*closed)(void *arg);
	void *closed_arg;
};

/* ---- db.c --------------------------------------------------------------------- */

/* The connection's last error as a problem; `what` failed. Returns its code. */
int sl__db_fail(struct sl_db *db, struct sl_error *err, const char *what);
int sl__db_exec(struct sl_db *db, const char *sql, struct sl_error *err);
/* A statement without rows, which is then free for the next values. */
int sl__db_run(struct sl_db *db, sqlite3_stmt *statement, struct sl_error *err);
void sl__db_destroy(struct sl_db *db);

/* ---- db_schema.c -------------------------------------------------------------- */

extern const char *const sl__db_tables[SL_DB_TABLES];  /* their names */

/* Brings the tables to this version's form. */
int sl__db_upgrade(struct sl_db *db, struct sl_error *err);
/* *current: it can be read as it is, though tables and columns that were added later may be missing. For a disk that
 * is read-only. */
int sl__db_is_current(struct sl_db *db, bool *current, struct sl_error *err);
bool sl__db_has(struct sl_db *db, const char *table, const char *column);
/* The statements that write. */
int sl__db_prepare(struct sl_db *db, struct sl_error *err);
void sl__db_finalize(struct sl_db *db);

/* ---- db_generation.c ---------------------------------------------------------- */

/* *there: the data base has a generation, which is db->generation now. */
int sl__db_read_generation(struct sl_db *db, bool *there, struct sl_error *err);
/* The same, and a data base without one gets its first. */
int sl__db_make_generation(struct sl_db *db, struct sl_error *err);
/* In a transaction: records the number. */
int sl__db_next_generation(struct sl_db *db, uint64_t number, struct sl_error *err);

/* ---- db_read.c ---------------------------------------------------------------- */

/* A record's checksum: a damaged record is not taken for a good one. */
sqlite3_int64 sl__db_sum(const char *id, const char *document);

/* ---- db_write.c --------------------------------------------------------------- */

/* Starts the next piece of work, if there is one and none is under way: a copy, else a batch. */
void sl__db_start(struct sl_db *db);
/* After a piece of work. db may be gone then. */
void sl__db_end_if_closing(struct sl_db *db);

/* ---- db_copy.c ---------------------------------------------------------------- */

/* Pool thread: db->copy. */
void sl__db_on_copy(void *db);
void sl__db_on_copied(void *db);

#endif
