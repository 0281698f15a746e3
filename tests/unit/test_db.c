/* Records are read in order after the data base was closed; writes take effect in the order of the queue; the loop is
 * empty at the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/store/db.h"

static char folder[] = "/tmp/spaceland-db-XXXXXX", path[64];

static void on_done(void *arg, int status, const struct sl_error *err)
{
	assert_int_equal(status, 0);
	++*(int *)arg;
}

struct rows {
	int count;
	char text[256];
};

static int on_row(void *arg, const char *id, json_t *document)
{
	struct rows *rows = arg;
	size_t used = strlen(rows->text);
	rows->count++;
	snprintf(rows->text + used, sizeof rows->text - used, "%s=%d ", id,
		 (int)json_integer_value(json_object_get(document, "v")));
	return 0;
}

static void put(struct sl_db *db, enum sl_db_table table, const char *id, int v, int *done)
{
	json_t *document = json_pack("{s:i}", "v", v);
	assert_int_equal(sl_db_put(db, table, id, document, on_done, done), 0);
	json_decref(document);
}

static void records_survive(void **state)
{
	uv_loop_t loop;
	struct sl_db *db;
	struct sl_error err;
	struct rows rows = {0}, jobs = {0};
	int done = 0;
	uv_loop_init(&loop);
	assert_int_equal(sl_db_open(&db, &loop, path, &err), 0);
	put(db, SL_DB_GRAPHS, "b", 1, &done);
	put(db, SL_DB_GRAPHS, "c", 2, &done);
	put(db, SL_DB_GRAPHS, "a", 3, &done);
	put(db, SL_DB_JOBS, "a", 9, &done);
	put(db, SL_DB_GRAPHS, "b", 4, &done);
	assert_int_equal(sl_db_remove(db, SL_DB_GRAPHS, "c", on_done, &done), 0);
	assert_int_equal(sl_db_remove(db, SL_DB_GRAPHS, "none", on_done, &done), 0);
	assert_int_equal(done, 0);  /* callbacks never run within the call */
	sl_db_close(db, NULL, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(done, 7);
	assert_int_equal(sl_db_open(&db, &loop, path, &err), 0);
	assert_int_equal(sl_db_load(db, SL_DB_GRAPHS, on_row, &rows, &err), 0);
	assert_int_equal(sl_db_load(db, SL_DB_JOBS, on_row, &jobs, &err), 0);
	assert_string_equal(rows.text, "a=3 b=4 ");
	assert_string_equal(jobs.text, "a=9 ");
	sl_db_close(db, NULL, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static void what_is_no_data_base_is_refused(void **state)
{
	uv_loop_t loop;
	struct sl_db *db;
	struct sl_error err;
	char other[96];
	uv_loop_init(&loop);
	snprintf(other, sizeof other, "%s/other", folder);
	FILE *file = fopen(other, "w");
	for (int i = 0; i < 1000; i++)
		fputs("this is a letter, not a data base\n", file);
	fclose(file);
	assert_int_equal(sl_db_open(&db, &loop, other, &err), SL_BADDATA);
	assert_true(strlen(err.detail) > 0);
	snprintf(other, sizeof other, "%s/no/such/folder", folder);
	assert_int_equal(sl_db_open(&db, &loop, other, &err), SL_IO);
	assert_int_equal(uv_loop_close(&loop), 0);
}

static int make_folder(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof path, "%s/test.db", folder);
	return 0;
}

static int remove_folder(void **state)
{
	char command[128];
	snprintf(command, sizeof command, "rm -r %s", folder);
	return system(command);
}

/* Writes of a rolled-back transaction have no effect; earlier ones stay. */
static void transactions(void **state)
{
	uv_loop_t loop;
	struct sl_db *db;
	struct sl_error err;
	struct rows rows = {0};
	int done = 0, never = 0;
	uv_loop_init(&loop);
	assert_int_equal(sl_db_open(&db, &loop, path, &err), 0);
	put(db, SL_DB_USAGE, "a", 1, &done);
	put(db, SL_DB_USAGE, "b", 2, &done);  /* waits while a is written */
	sl_db_begin(db);
	put(db, SL_DB_USAGE, "c", 3, &never);
	put(db, SL_DB_USAGE, "b", 4, &never);
	sl_db_end(db, false);
	sl_db_begin(db);
	put(db, SL_DB_USAGE, "d", 5, &done);
	put(db, SL_DB_USAGE, "e", 6, &done);
	sl_db_end(db, true);
	sl_db_close(db, NULL, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
	assert_int_equal(done, 4);
	assert_int_equal(never, 0);
	uv_loop_init(&loop);
	assert_int_equal(sl_db_open(&db, &loop, path, &err), 0);
	assert_int_equal(sl_db_load(db, SL_DB_USAGE, on_row, &rows, &err), 0);
	assert_string_equal(rows.text, "a=1 b=2 d=5 e=6 ");
	sl_db_close(db, NULL, NULL);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_survive), cmocka_unit_test(transactions),
		cmocka_unit_test(what_is_no_data_base_is_refused),
	};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
