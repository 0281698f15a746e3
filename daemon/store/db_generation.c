/* The generation of a data base, which shows that it was lost or replaced by an older copy (generation.h). */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/store/db_internal.h"
#include "daemon/util/log.h"
#include "daemon/util/ulid.h"

int sl__db_read_generation(struct sl_db *db, struct sl_error *err)
{
	sqlite3_stmt *statement;
	if (sqlite3_prepare_v2(db->sqlite, "SELECT id, number FROM generation", -1, &statement, NULL) != SQLITE_OK)
		return sl__db_fail(db, err, "data base");
	int step = sqlite3_step(statement), rc = 0;
	const char *id = step == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
	if (step != SQLITE_ROW && step != SQLITE_DONE)
		rc = sl__db_fail(db, err, "data base");
	else if (!id)
		rc = sl_error_at(err, SL_BADDATA, db->path, 0, "the data base has no generation");
	if (id) {
		snprintf(db->generation.id, sizeof db->generation.id, "%s", id);
		db->generation.number = (uint64_t)sqlite3_column_int64(statement, 1);
	}
	sqlite3_finalize(statement);
	return rc;
}

int sl__db_make_generation(struct sl_db *db, struct sl_error *err)
{
	sqlite3_stmt *statement;
	char id[SL_ULID_BYTES];
	if (sqlite3_prepare_v2(db->sqlite, "INSERT INTO generation (id, number) VALUES (?, 0)", -1, &statement, NULL) !=
	    SQLITE_OK)
		return sl__db_fail(db, err, "data base");
	sqlite3_bind_text(statement, 1, sl_ulid_make(id), -1, SQLITE_STATIC);
	int rc = sl__db_run(db, statement, err);
	sqlite3_finalize(statement);
	return rc ? rc : sl__db_read_generation(db, err);
}

/* Records the next number. Call within a transaction. */
int sl__db_next_generation(struct sl_db *db, uint64_t number, struct sl_error *err)
{
	sqlite3_bind_int64(db->count, 1, (sqlite3_int64)number);
	return sl__db_run(db, db->count, err);
}

uint64_t sl_db_generation(const struct sl_db *db)
{
	return db->generation.number;
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

/* Compares the data base with PATH.generation. *file: the generation in that file, if *found is SL_GENERATION_READ. */
static int compare(const struct sl_db *db, const char *path, enum sl_generation_found *found,
		   struct sl_generation *file, struct sl_error *err)
{
	*found = sl_generation_read(path, file);
	bool lost = *found == SL_GENERATION_READ &&
		    (strcmp(file->id, db->generation.id) || file->number > db->generation.number);
	return lost ? lost_records(db, file, err) : 0;
}

static char *path_of_generation(const struct sl_db *db, struct sl_error *err)
{
	char *path;
	if (asprintf(&path, "%s.generation", db->path) >= 0)
		return path;
	sl_error_memory(err, "a path");
	return NULL;
}

int sl_db_compare_generation(const struct sl_db *db, bool *damaged, struct sl_error *err)
{
	struct sl_generation file;
	enum sl_generation_found found = SL_GENERATION_NONE;
	char *path = path_of_generation(db, err);
	int rc = path ? compare(db, path, &found, &file, err) : SL_NOMEM;
	*damaged = found == SL_GENERATION_DAMAGED;
	free(path);
	return rc;
}

int sl_db_check_generation(struct sl_db *db, bool accept, struct sl_error *err)
{
	struct sl_generation file;
	enum sl_generation_found found;
	char *path = path_of_generation(db, err);
	if (!path)
		return SL_NOMEM;
	int rc = compare(db, path, &found, &file, err);
	if (found == SL_GENERATION_DAMAGED)
		sl_log_warning("db", "%s is damaged; it is written anew", path);
	if (rc && accept) {
		db->lost_records = true;
		sl_log_warning("db", "%s lacks records that were acknowledged; this is accepted", db->path);
		if (db->generation.number <= file.number)
			db->generation.number = file.number + 1;  /* the file's greatest number counts */
		rc = db->read_only ? 0 : sl__db_next_generation(db, db->generation.number, err);
	}
	if (!rc && !db->read_only)
		db->generation_fd = sl_generation_open(path, &db->generation);
	free(path);
	return rc;
}
