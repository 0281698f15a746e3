/* Reads all records when the server starts. */
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "daemon/store/db_internal.h"
#include "daemon/util/log.h"

sqlite3_int64 sl__db_sum(const char *id, const char *document)
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

int sl_db_load(struct sl_db *db, enum sl_db_table table,
	       int (*row)(void *arg, const char *id, json_t *document), void *arg, struct sl_error *err)
{
	char sql[96];
	const char *name = sl__db_tables[table];
	sqlite3_stmt *statement;
	snprintf(sql, sizeof sql, "SELECT id, document, sum FROM %s ORDER BY id", name);
	if (sqlite3_prepare_v2(db->sqlite, sql, -1, &statement, NULL) != SQLITE_OK)
		return sl__db_fail(db, err, "data base");
	int rc = 0, step = SQLITE_ROW, passed_over = 0;
	while (rc >= 0 && (step = sqlite3_step(statement)) == SQLITE_ROW) {
		const char *id = (const char *)sqlite3_column_text(statement, 0);
		const char *text = (const char *)sqlite3_column_text(statement, 1);
		bool sums = id && text && sqlite3_column_int64(statement, 2) == sl__db_sum(id, text);
		json_t *document = sums ? json_loads(text, 0, NULL) : NULL;
		if (!document) {
			sl_log_warning("db", "%s: record %s is damaged and is ignored", sl__db_tables[table], id ? id : "?");
			passed_over++;
			continue;
		}
		rc = row(arg, id, document);
		json_decref(document);
		passed_over += rc > 0;
		if (rc < 0)
			sl_error_set(err, rc, "record %s of %s: %s", id, sl__db_tables[table], sl_error_title(rc));
	}
	if (rc >= 0 && step != SQLITE_DONE)
		rc = sl__db_fail(db, err, "data base");
	sqlite3_finalize(statement);
	return rc < 0 ? rc : passed_over;
}

const char *sl_db_table_name(enum sl_db_table table)
{
	return sl__db_tables[table];
}

static int dump_row(void *arg, const char *id, json_t *document)
{
	return json_object_set(arg, id, document) ? SL_NOMEM : 0;
}

/* Documents are compact, and quotes in their texts are escaped: no name of a job looks like this member. */
static int find_kept(struct sl_db *db, json_t *kept, struct sl_error *err)
{
	sqlite3_stmt *statement;
	if (sqlite3_prepare_v2(db->sqlite, "SELECT id FROM jobs WHERE instr(document, '\"keep\":true') > 0", -1, &statement,
			       NULL) != SQLITE_OK)
		return sl__db_fail(db, err, "data base");
	int step, rc = 0;
	while ((step = sqlite3_step(statement)) == SQLITE_ROW)
		json_array_append_new(kept, json_string((const char *)sqlite3_column_text(statement, 0)));
	if (step != SQLITE_DONE)
		rc = sl__db_fail(db, err, "data base");
	sqlite3_finalize(statement);
	return rc;
}

static int dump(struct sl_db *db, const enum sl_db_table *list, uint64_t *number, json_t *tables, json_t *kept,
		struct sl_error *err)
{
	int rc = sl__db_exec(db, "PRAGMA busy_timeout = 5000; BEGIN", err);
	if (!rc)
		rc = sl__db_read_generation(db, err);
	*number = db->generation.number;
	for (; !rc && *list != SL_DB_TABLES; list++) {
		json_t *rows = json_object();
		if (!rows || json_object_set_new(tables, sl__db_tables[*list], rows))
			return sl_error_memory(err, "the tables");
		rc = sl_db_load(db, *list, dump_row, rows, err);
		rc = rc > 0 ? 0 : rc;
	}
	return rc ? rc : find_kept(db, kept, err);
}

int sl_db_dump(const char *path, const enum sl_db_table *list, uint64_t *number, json_t **tables, json_t **kept,
	       struct sl_error *err)
{
	struct sl_db db = {.path = (char *)path};
	*tables = json_object();
	*kept = json_array();
	int rc = *tables && *kept ? 0 : sl_error_memory(err, "the tables");
	if (!rc && sqlite3_open_v2(path, &db.sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, NULL) != SQLITE_OK)
		rc = sl__db_fail(&db, err, path);
	if (!rc)
		rc = dump(&db, list, number, *tables, *kept, err);
	sqlite3_close(db.sqlite);
	if (rc) {
		json_decref(*tables);
		json_decref(*kept);
		*tables = *kept = NULL;
	}
	return rc;
}

int sl_db_check(struct sl_db *db, struct sl_error *err)
{
	sqlite3_stmt *statement;
	if (sqlite3_prepare_v2(db->sqlite, "PRAGMA integrity_check(1)", -1, &statement, NULL) != SQLITE_OK)
		return sl__db_fail(db, err, "data base");
	int step = sqlite3_step(statement), rc = 0;
	const char *text = step == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
	if (step != SQLITE_ROW)
		rc = sl__db_fail(db, err, "data base");
	else if (!text || strcmp(text, "ok"))
		rc = sl_error_set(err, SL_BADDATA, "data base: %s", text ? text : "it cannot be checked");
	sqlite3_finalize(statement);
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
