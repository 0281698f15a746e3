/* db.h -- the records of graphs, jobs and users, on disk.
 *
 * One row per record: id and a JSON document. While the daemon runs, the structures in memory are authoritative;
 * a restart reads the data base. The loop queues writes, and a pool thread commits all queued
 * writes in one transaction (WAL, synchronous FULL), so the loop never waits for a disk. `done` runs
 * on the loop once the row survives a crash. Writes take effect in the order they were queued; when one fails, all that
 * were queued before its `done` runs fail, too. All functions: loop thread. */
#ifndef SL_DB_H
#define SL_DB_H

#include <jansson.h>
#include <stdbool.h>
#include <uv.h>

#include "core/error.h"

struct sl_db;

enum sl_db_table { SL_DB_GRAPHS, SL_DB_JOBS, SL_DB_USERS, SL_DB_ACCESS, SL_DB_USAGE, SL_DB_LINKS, SL_DB_BATCHES,
		   SL_DB_PROJECTS, SL_DB_USES, SL_DB_TABLES };

/* status: 0 or a negative code, with err telling more. */
typedef void (*sl_db_done_fn)(void *arg, int status, const struct sl_error *err);

/* Opens or makes the file; checks or migrates its schema. SL_BADDATA: it is damaged. Blocks: for the start only. */
int sl_db_open(struct sl_db **out, uv_loop_t *loop, const char *path, struct sl_error *err);

/* Compares the data base with PATH.generation (generation.h). If it lacks records that were acknowledged: SL_CONFLICT,
 * or with accept the loss is logged and forgotten. To be called once, before anything is written. */
int sl_db_check_generation(struct sl_db *db, bool accept, struct sl_error *err);
/* The same comparison; writes nothing. *damaged: no line of that file is whole, so it tells nothing. */
int sl_db_compare_generation(const struct sl_db *db, bool *damaged, struct sl_error *err);

/* The disk is full: even the room that was kept for records is being used (reserve.h). */
bool sl_db_disk_is_full(const struct sl_db *db);

/* The disk is read-only: records are read, and no change is recorded (SL_READONLY). */
bool sl_db_is_read_only(const struct sl_db *db);

/* sl_db_check_generation() has accepted a loss. */
bool sl_db_has_lost_records(const struct sl_db *db);

/* SL_BADDATA: it is damaged. Reads all of it. */
int sl_db_check(struct sl_db *db, struct sl_error *err);

/* Nothing was ever written to it. */
bool sl_db_is_new(const struct sl_db *db);

/* Was the record of this id removed a short while before the last end? Its files may be left over then. For the
 * start only. */
bool sl_db_was_removed(struct sl_db *db, const char *id);

/* Calls row for each record in the order of ids. Blocks: for the start only. The document
 * is borrowed. A row that returns a negative code ends the walk, which returns it; SL_DB_PASSED_OVER
 * says that the record makes no sense. The walk returns how many do not (or are no JSON), so that
 * the caller does not treat their files as unrecorded. */
#define SL_DB_PASSED_OVER 1
int sl_db_load(struct sl_db *db, enum sl_db_table table,
	       int (*row)(void *arg, const char *id, json_t *document), void *arg, struct sl_error *err);

/* Insert or replace. The document is written out at once, so it may change afterwards.
 * done may be NULL. When it returns an error, done never runs. */
int sl_db_put(struct sl_db *db, enum sl_db_table table, const char *id, const json_t *document,
	      sl_db_done_fn done, void *arg);
/* The same in two parts: the text (malloc'd; NULL: no memory), and queueing it, which takes the text. */
char *sl_db_text(const json_t *document);
int sl_db_put_text(struct sl_db *db, enum sl_db_table table, const char *id, char *document, sl_db_done_fn done,
		   void *arg);
int sl_db_remove(struct sl_db *db, enum sl_db_table table, const char *id, sl_db_done_fn done, void *arg);

/* Writes between begin and end are one transaction: after a crash either all are there or none. They are queued at
 * the end; with keep false they are discarded and their done does not run. Not nested, and no return to the loop in
 * between. */
void sl_db_begin(struct sl_db *db);
void sl_db_end(struct sl_db *db, bool keep);

/* Runs during(arg) on the pool while nothing is written, then copies the data base to the file `to`, which must not
 * exist and is synchronised. It contains all writes queued before. The caller makes one copy at a time. */
int sl_db_copy(struct sl_db *db, const char *to, int (*during)(void *arg, struct sl_error *err), sl_db_done_fn done,
	       void *arg);

/* Carries out what is queued, then closes; then runs closed (may be NULL) and frees. */
void sl_db_close(struct sl_db *db, void (*closed)(void *arg), void *arg);

#endif
