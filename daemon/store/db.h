/* db.h -- the data base of the records of graphs, jobs and users.
 *
 * A row holds one record: its id and a JSON document. While the daemon runs, the structures in memory are
 * authoritative; a restart reads the data base. The loop queues writes, and a pool thread commits all queued writes in
 * one transaction (SQLite with WAL, synchronous FULL), so the loop never waits for a disk. `done` runs on the loop when
 * the row is safe against a crash. Writes take effect in the order in which they were queued. If one fails, all writes
 * that were queued before its `done` runs fail, too. All functions: loop thread. */
#ifndef SL_DB_H
#define SL_DB_H

#include <jansson.h>
#include <stdbool.h>
#include <uv.h>

#include "core/error.h"

struct sl_db;

enum sl_db_table { SL_DB_GRAPHS, SL_DB_JOBS, SL_DB_USERS, SL_DB_ACCESS, SL_DB_USAGE, SL_DB_LINKS, SL_DB_BATCHES,
		   SL_DB_PROJECTS, SL_DB_USES, SL_DB_SETTINGS, SL_DB_ACCOUNTING, SL_DB_TABLES };

/* status: 0 or a negative code; err has the details. */
typedef void (*sl_db_done_fn)(void *arg, int status, const struct sl_error *err);

/* Opens or makes the file; checks its schema. SL_BADFORMAT: another version wrote it, and nothing
 * was changed; SL_BADDATA: it is damaged. Blocks: only for the start. */
int sl_db_open(struct sl_db **out, uv_loop_t *loop, const char *path, struct sl_error *err);

/* Compares the data base with PATH.generation (generation.h). SL_CONFLICT: the data base lacks acknowledged records;
 * with `accept` the loss is logged instead, and not reported again. Call it once, before the first write. */
int sl_db_check_generation(struct sl_db *db, bool accept, struct sl_error *err);
/* The same comparison without writing. *damaged: no line of that file is valid, so nothing can be compared. */
int sl_db_compare_generation(const struct sl_db *db, bool *damaged, struct sl_error *err);

/* True if the disk is full, and the room that was reserved for records is in use (reserve.h). */
bool sl_db_disk_is_full(const struct sl_db *db);
/* The same for each upload: it asks the disk only after the reserve has been given up. */
bool sl_db_uses_reserve(const struct sl_db *db);
/* Gives the reserve up for a file beside the data base that records changes, too. False: there was none. Any thread. */
bool sl_db_give_up_reserve(struct sl_db *db);

/* True if the file is no longer at its path: the state folder was moved, replaced or unmounted. What is written then
 * would be lost at the next start, so changes fail with SL_READONLY. */
bool sl_db_has_moved(const struct sl_db *db);

/* True if the disk is read-only: records are read, and changes fail with SL_READONLY. */
bool sl_db_is_read_only(const struct sl_db *db);

/* True if sl_db_check_generation() has accepted a loss. */
bool sl_db_has_lost_records(const struct sl_db *db);

/* Reads and checks the whole data base. SL_BADDATA: it is damaged. */
int sl_db_check(struct sl_db *db, struct sl_error *err);

/* True if no record was ever written. */
bool sl_db_is_new(const struct sl_db *db);

/* True if the record of this id was removed shortly before the last stop or crash, so that its files may still exist.
 * Only for the start. */
bool sl_db_was_removed(struct sl_db *db, const char *id);

/* Calls row() for each record in the order of ids. Blocks: only for the start. The document is borrowed. If row()
 * returns a negative code, the walk ends and returns it. row() returns SL_DB_PASSED_OVER for an invalid record.
 * Otherwise the walk returns the number of records that are invalid or not JSON, so that the caller does not treat
 * their files as unrecorded. */
#define SL_DB_PASSED_OVER 1
int sl_db_load(struct sl_db *db, enum sl_db_table table,
	       int (*row)(void *arg, const char *id, json_t *document), void *arg, struct sl_error *err);

/* Inserts or replaces a record. The document is serialised at once, so it may change afterwards. done may be NULL. If
 * the function returns an error, done never runs. */
int sl_db_put(struct sl_db *db, enum sl_db_table table, const char *id, const json_t *document,
	      sl_db_done_fn done, void *arg);
/* The same in two steps: makes the text (malloc'd; NULL: no memory), then queues it, which takes the text. */
char *sl_db_text(const json_t *document);
int sl_db_put_text(struct sl_db *db, enum sl_db_table table, const char *id, char *document, sl_db_done_fn done,
		   void *arg);
int sl_db_remove(struct sl_db *db, enum sl_db_table table, const char *id, sl_db_done_fn done, void *arg);

/* Writes between begin and end are one transaction: after a crash all of them are in the data base, or none.
 * sl_db_end() queues them; with keep false it discards them, and their done does not run. Not nested; the caller must
 * not return to the loop in between. */
void sl_db_begin(struct sl_db *db);
void sl_db_end(struct sl_db *db, bool keep);

/* Runs during(arg) on the pool while nothing is written, then copies the data base to the file `to`, which must not
 * exist, and synchronises it. The copy contains all writes queued before. The caller makes one copy at a time. */
int sl_db_copy(struct sl_db *db, const char *to, int (*during)(void *arg, struct sl_error *err), sl_db_done_fn done,
	       void *arg);

/* written(arg, tables) runs on the loop after each batch of writes; bit 1u << TABLE is set for each table in it. */
void sl_db_on_write(struct sl_db *db, void (*written)(void *arg, unsigned tables), void *arg);
/* Reads the tables of the list, which SL_DB_TABLES ends, as of one moment, over a connection of its own: *tables:
 * {NAME: {ID: DOCUMENT}}, and *kept: [ID] of the jobs whose record has "keep"; new references. *number: the data base's
 * generation. Records that are damaged are left out. Any thread; blocks. */
int sl_db_dump(const char *path, const enum sl_db_table *list, uint64_t *number, json_t **tables, json_t **kept,
	       struct sl_error *err);
const char *sl_db_table_name(enum sl_db_table table);
/* The number of the last transaction. Only for the start. */
uint64_t sl_db_generation(const struct sl_db *db);

/* Does the queued writes, then closes the data base; then runs closed (may be NULL) and frees. */
void sl_db_close(struct sl_db *db, void (*closed)(void *arg), void *arg);

#endif
