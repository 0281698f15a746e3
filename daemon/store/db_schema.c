/* The tables, their version, and the statements that write to them. */
#include <stdio.h>

#include "daemon/store/db_internal.h"

/* Raise it with every change that makes this version misread the records or files of the one before. Until a version
 * has been released, the start then refuses older state folders; afterwards it must convert those of the release. */
#define SCHEMA_VERSION 3

const char *const sl__db_tables[SL_DB_TABLES] = {"graphs", "jobs", "users", "access", "usage", "links", "batches",
						 "projects", "uses", "settings", "accounting"};

/* Beside the tables of records. removed: ids of the records removed last. */
static const char others[] = "CREATE TABLE generation (id TEXT NOT NULL, number INTEGER NOT NULL);"
			     "CREATE TABLE removed (number INTEGER PRIMARY KEY, id TEXT NOT NULL);";

/* Executes a query whose reply is one number. */
static int number_of(struct sl_db *db, const char *query, int *out, struct sl_error *err)
{
	sqlite3_stmt *statement;
	if (sqlite3_prepare_v2(db->sqlite, query, -1, &statement, NULL) != SQLITE_OK)
		return sl__db_fail(db, err, "data base");
	int rc = sqlite3_step(statement) == SQLITE_ROW ? 0 : sl__db_fail(db, err, "data base");
	*out = sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	return rc;
}

int sl__db_check_version(struct sl_db *db, bool *empty, struct sl_error *err)
{
	int at = 0, tables = 0, rc = number_of(db, "PRAGMA user_version", &at, err);
	if (!rc)
		rc = number_of(db, "SELECT count(*) FROM sqlite_schema", &tables, err);
	*empty = !at && !tables;
	if (rc || *empty || at == SCHEMA_VERSION)
		return rc;
	return sl_error_at(err, SL_BADFORMAT, db->path, 0, "Another version of spacelandd wrote this state folder (its "
			   "schema is %d, that of this version %d). Use the version that wrote it, or an empty state "
			   "folder. Nothing was changed.", at, SCHEMA_VERSION);
}

int sl__db_make_tables(struct sl_db *db, struct sl_error *err)
{
	char sql[160];
	int rc = sl__db_exec(db, "BEGIN IMMEDIATE", err);
	for (int i = 0; i < SL_DB_TABLES && !rc; i++) {
		snprintf(sql, sizeof sql, "CREATE TABLE %s (id TEXT PRIMARY KEY, document TEXT NOT NULL, sum INTEGER NOT NULL) "
			 "WITHOUT ROWID", sl__db_tables[i]);
		rc = sl__db_exec(db, sql, err);
	}
	if (!rc)
		rc = sl__db_exec(db, others, err);
	if (!rc)
		rc = sl__db_make_generation(db, err);
	snprintf(sql, sizeof sql, "PRAGMA user_version = %d; COMMIT", SCHEMA_VERSION);
	return rc ? rc : sl__db_exec(db, sql, err);
}

int sl__db_prepare(struct sl_db *db, struct sl_error *err)
{
	for (int i = 0; i < SL_DB_TABLES; i++) {
		char put[128], remove[128];
		snprintf(put, sizeof put, "INSERT OR REPLACE INTO %s (id, document, sum) VALUES (?, ?, ?)", sl__db_tables[i]);
		snprintf(remove, sizeof remove, "DELETE FROM %s WHERE id = ?", sl__db_tables[i]);
		if (sqlite3_prepare_v2(db->sqlite, put, -1, &db->put[i], NULL) != SQLITE_OK ||
		    sqlite3_prepare_v2(db->sqlite, remove, -1, &db->remove[i], NULL) != SQLITE_OK)
			return sl__db_fail(db, err, "data base");
	}
	if (sqlite3_prepare_v2(db->sqlite, "INSERT INTO removed (id) VALUES (?)", -1, &db->remember, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db->sqlite, "DELETE FROM removed WHERE number <= ?", -1, &db->forget, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db->sqlite, "UPDATE generation SET number = ?", -1, &db->count, NULL) != SQLITE_OK)
		return sl__db_fail(db, err, "data base");
	return 0;
}

void sl__db_finalize(struct sl_db *db)
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
}
