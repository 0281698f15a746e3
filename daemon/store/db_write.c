/* The queue of writes. `writing` is the batch in progress, `waiting` the writes that came since. A batch is one
 * transaction. If it fails, all its writes fail, and so do the waiting ones, since their documents may contain the
 * failed changes. Callbacks run in the order of the writes; if there are many, in several turns of the loop, since the
 * callbacks of a thousand jobs would block it for too long. */
#include <stdlib.h>

#include "daemon/store/db_internal.h"
#include "daemon/store/reserve.h"
#include "daemon/util/log.h"
#include "daemon/util/turns.h"

#define REMOVED_KEPT 10000  /* ids of removed records that are remembered */

static int write_one(struct sl_db *db, const struct sl__db_write *w, struct sl_error *err)
{
	sqlite3_stmt *statement = w->document ? db->put[w->table] : db->remove[w->table];
	sqlite3_bind_text(statement, 1, w->id, -1, SQLITE_STATIC);
	if (w->document) {
		sqlite3_bind_text(statement, 2, w->document, -1, SQLITE_STATIC);
		sqlite3_bind_int64(statement, 3, sl__db_sum(w->id, w->document));
	}
	int rc = sl__db_run(db, statement, err);
	if (rc || w->document)
		return rc;
	sqlite3_bind_text(db->remember, 1, w->id, -1, SQLITE_STATIC);
	if ((rc = sl__db_run(db, db->remember, err)))
		return rc;
	sqlite3_bind_int64(db->forget, 1, sqlite3_last_insert_rowid(db->sqlite) - REMOVED_KEPT);
	return sl__db_run(db, db->forget, err);
}

static int write_batch(struct sl_db *db)
{
	if (db->read_only)
		return sl_error_set(&db->err, SL_READONLY, "The disk is read-only, so nothing can be recorded.");
	if (sl_db_has_moved(db))
		return sl_error_set(&db->err, SL_READONLY, "%s is not the file that the server opened: the state folder was "
				    "moved, replaced or unmounted while the server ran. Nothing can be recorded until it "
				    "is restarted.", db->path);
	int rc = sl__db_exec(db, "BEGIN IMMEDIATE", &db->err);
	SL_LIST_EACH(struct sl__db_write, w, &db->writing, link)
		rc = rc ? rc : write_one(db, w, &db->err);
	if (!rc)
		rc = sl__db_next_generation(db, db->generation.number + 1, &db->err);
	if (!rc)
		rc = sl__db_exec(db, "COMMIT", &db->err);
	if (rc)
		sqlite3_exec(db->sqlite, "ROLLBACK", NULL, NULL, NULL);
	return rc;
}

/* Pool thread. Writes the batch in one transaction; on a full disk, gives up the reserve and tries again. */
static void on_work(void *arg)
{
	struct sl_db *db = arg;
	int rc = write_batch(db);
	if (rc == SL_DISKFULL && sl_db_give_up_reserve(db))
		rc = write_batch(db);
	if (!rc) {
		db->generation.number++;
		sl_generation_write(db->generation_fd, &db->generation);
		sl_reserve_keep(db->folder);
	}
	db->status = rc;
}

static void tell(struct sl__db_write *w, int rc, const struct sl_error *err)
{
	sl_list_unlink(&w->link);
	if (w->done)
		w->done(w->arg, rc, err);
	free(w->document);
	free(w);
}

static bool tell_next(void *arg)
{
	struct sl_db *db = arg;
	struct sl__db_write *w = SL_LIST_FIRST(struct sl__db_write, &db->written, link);
	if (w)
		tell(w, 0, NULL);
	return !db->written.count;
}

static void all_told(void *arg)
{
	struct sl_db *db = arg;
	db->telling = false;
	sl__db_end_if_closing(db);
}

static void on_done(void *arg)
{
	struct sl_db *db = arg;
	struct sl_list failed = {0};
	int rc = db->status;
	struct sl_error err = db->err;
	unsigned tables = 0;
	SL_LIST_EACH(const struct sl__db_write, w, &db->writing, link)
		tables |= 1u << w->table;
	sl_list_move(rc ? &failed : &db->written, &db->writing);
	if (!rc && tables && db->written_fn)
		db->written_fn(db->written_arg, tables);
	if (rc)
		sl_list_move(&failed, &db->waiting);
	db->busy = false;
	if (rc)
		sl_log_error("db", "%s", err.detail);
	/* a pool thread writes the next batch while the callbacks of this one run */
	sl__db_start(db);
	while (rc && !tell_next(db))
		;
	SL_LIST_EACH(struct sl__db_write, w, &failed, link)
		tell(w, rc, &err);
	if (!db->telling) {
		db->telling = true;
		sl_turns(db->loop, tell_next, all_told, db);
	}
}

void sl__db_end_if_closing(struct sl_db *db)
{
	if (!db->closing || db->busy || db->telling)
		return;
	void (*closed)(void *) = db->closed;
	void *closed_arg = db->closed_arg;
	sl__db_destroy(db);
	if (closed)
		closed(closed_arg);
}

void sl__db_start(struct sl_db *db)
{
	if (db->busy || (!db->copy && (db->begun || !db->waiting.count)))
		return;
	if (db->copy) {
		db->busy = true;
		sl_pool_run_in(&db->work, db->loop, sl__db_on_copy, sl__db_on_copied, db);
		return;
	}
	sl_list_move(&db->writing, &db->waiting);
	db->busy = true;
	sl_pool_run_in(&db->work, db->loop, on_work, on_done, db);
}

static int queue(struct sl_db *db, enum sl_db_table table, const char *id, char *document, sl_db_done_fn done,
		 void *arg)
{
	struct sl__db_write *w = calloc(1, sizeof *w);
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
	sl__db_start(db);
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
		struct sl__db_write *w = SL_LIST_LAST(struct sl__db_write, &db->waiting, link);
		sl_list_unlink(&w->link);
		free(w->document);
		free(w);
	}
	db->begun = false;
	sl__db_start(db);
}

char *sl_db_text(const json_t *document)
{
	return json_dumps(document, JSON_COMPACT);
}

int sl_db_put_text(struct sl_db *db, enum sl_db_table table, const char *id, char *document, sl_db_done_fn done,
		   void *arg)
{
	return document ? queue(db, table, id, document, done, arg) : SL_NOMEM;
}

int sl_db_put(struct sl_db *db, enum sl_db_table table, const char *id, const json_t *document, sl_db_done_fn done,
	      void *arg)
{
	return sl_db_put_text(db, table, id, sl_db_text(document), done, arg);
}

int sl_db_remove(struct sl_db *db, enum sl_db_table table, const char *id, sl_db_done_fn done, void *arg)
{
	return queue(db, table, id, NULL, done, arg);
}

void sl_db_on_write(struct sl_db *db, void (*written)(void *arg, unsigned tables), void *arg)
{
	db->written_fn = written;
	db->written_arg = arg;
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
	/* on_done() closes the data base; it needs work to run after */
	db->busy = true;
	sl_pool_run_in(&db->work, db->loop, on_nothing, on_done, db);
}
