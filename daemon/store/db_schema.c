/* The tables, their versions, and the statements that write to them. */
#include <stdio.h>

#include "daemon/store/db_internal.h"

#define SCHEMA_VERSION 1

const char *const sl__db_tables[SL_DB_TABLES] = {"graphs", "jobs", "users", "access", "usage", "links", "batches",
						 "projects", "uses", "settings"};

/* Statement i upgrades a data base from version i to version i + 1. */
static const char *const migrations[SCHEMA_VERSION] = {
	"CREATE TABLE graphs (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE jobs (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;",
};

/* Tables that older versions ignore. removed: ids of the records removed last. */
static const char additions[] =
	"CREATE TABLE IF NOT EXISTS users (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS access (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS usage (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS links (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS batches (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS projects (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS uses (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS settings (id TEXT PRIMARY KEY, document TEXT NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE IF NOT EXISTS generation (id TEXT NOT NULL, number INTEGER NOT NULL);"
	"CREATE TABLE IF NOT EXISTS removed (number INTEGER PRIMARY KEY, id TEXT NOT NULL);";

static int version(struct sl_db *db, int *out, struct sl_error *err)
{
	sqlite3_stmt *statement;
	if (sqlite3_prepare_v2(db->sqlite, "PRAGMA user_version", -1, &statement, NULL) != SQLITE_OK)
		return sl__db_fail(db, err, "data base");
	int rc = sqlite3_step(statement) == SQLITE_ROW ? 0 : sl__db_fail(db, err, "data base");
	*out = sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	return rc;
}

static int migrate(struct sl_db *db, struct sl_error *err)
{
	int at = 0, rc = version(db, &at, err);
	if (!rc && (at < 0 || at > SCHEMA_VERSION))
		rc = sl_error_at(err, SL_BADFORMAT, db->path, 0,
				 "it was written by a newer version of spacelandd (schema %d, this one knows %d)", at,
				 SCHEMA_VERSION);
	for (; !rc && at < SCHEMA_VERSION; at++) {
		char pragma[64];
		snprintf(pragma, sizeof pragma, "PRAGMA user_version = %d", at + 1);
		rc = sl__db_exec(db, "BEGIN IMMEDIATE", err);
		if (!rc)
			rc = sl__db_exec(db, migrations[at], err);
		if (!rc)
			rc = sl__db_exec(db, pragma, err);
		if (!rc)
			rc = sl__db_exec(db, "COMMIT", err);
	}
	return rc;
}

bool sl__db_has(struct sl_db *db, const char *table, const char *column)
{
	return sqlite3_table_column_metadata(db->sqlite, NULL, table, column, NULL, NULL, NULL, NULL, NULL) == SQLITE_OK;
}

static int add_sums(struct sl_db *db, struct sl_error *err)
{
	int rc = 0;
	for (int i = 0; i < SL_DB_TABLES && !rc; i++) {
		char sql[80];
		snprintf(sql, sizeof sql, "ALTER TABLE %s ADD COLUMN sum INTEGER", sl__db_tables[i]);
		if (!sl__db_has(db, sl__db_tables[i], "sum"))
			rc = sl__db_exec(db, sql, err);
	}
	return rc;
}

int sl__db_upgrade(struct sl_db *db, struct sl_error *err)
{
	int rc = migrate(db, err);
	if (!rc)
		rc = sl__db_exec(db, additions, err);
	return rc ? rc : add_sums(db, err);
}

int sl__db_is_current(struct sl_db *db, bool *current, struct sl_error *err)
{
	int at = 0, rc = version(db, &at, err);
	*current = !rc && at == SCHEMA_VERSION;
	return rc;
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
