#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/error.h"
#include "core/taken/taken.h"

static void a_table_adds_up_and_is_told(void **state)
{
	char line[512];
	struct sl_taken *t = sl_taken_create();
	assert_non_null(t);
	t->lines = 604;
	t->header_lines = 1;
	t->comment_lines = 2;
	t->blank_lines = 1;
	t->rows = 600;
	t->rows_used = 597;
	t->rows_left_out = 3;
	sl_taken_add_columns(t, 1, 1, SL_TAKEN_NUMBERING, "cell_id", "counts 0, 1, 2");
	for (uint32_t c = 2; c < 1000; c++)
		sl_taken_add_columns(t, c, 1, SL_TAKEN_COORDINATE, "x", NULL);
	sl_taken_add_columns(t, 1000, 1, SL_TAKEN_LEFT_OUT, NULL, "words");
	assert_true(sl_taken_adds_up(t));
	assert_int_equal(t->columns, 1000);
	assert_int_equal(t->listed, 3);
	assert_int_equal(t->column[1].first, 2);
	assert_int_equal(t->column[1].last, 999);
	assert_string_equal(sl_taken_text(t, line, sizeof line),
			    "600 rows of 1000 columns: 998 coordinates, 1 numbering (\"cell_id\": counts 0, 1, 2), "
			    "1 left out (column 1000: words); 3 rows left out; 2 comment lines");
	t->rows_left_out = 2;
	assert_false(sl_taken_adds_up(t));
	t->rows_left_out = 3;
	t->comment_lines = 3;
	assert_false(sl_taken_adds_up(t));
	t->comment_lines = 2;
	t->by_role[SL_TAKEN_LABEL]++;
	assert_false(sl_taken_adds_up(t));
	sl_taken_destroy(t);
}

static void lists_are_bounded_and_counts_are_complete(void **state)
{
	struct sl_taken *t = sl_taken_create();
	char line[40];
	assert_non_null(t);
	for (uint32_t c = 1; c <= 500; c++)
		sl_taken_add_columns(t, c, 1, SL_TAKEN_LABEL, "word", NULL);
	for (int k = 0; k < 100; k++)
		sl_taken_add_note(t, k == 0, "note %d", k % 50);
	assert_int_equal(t->listed, SL_TAKEN_LISTED);
	assert_int_equal(t->by_role[SL_TAKEN_LABEL], 500);
	assert_int_equal(t->notes, SL_TAKEN_NOTES);
	/* each of the first was given twice, and is no loss the second time */
	assert_int_equal(t->notes_lost, 100 - 2 * SL_TAKEN_NOTES);
	assert_true(t->note[0].changes && !t->note[1].changes);
	assert_true(sl_taken_adds_up(t));
	sl_taken_text(t, line, sizeof line);
	assert_int_equal(strlen(line), sizeof line - 1);
	sl_taken_destroy(t);
}

static void titles_are_cut_between_characters(void **state)
{
	char title[200] = "";
	struct sl_taken *t = sl_taken_create();
	assert_non_null(t);
	for (int k = 0; k < 40; k++)
		strcat(title, "\u00fc");
	strcat(title, "x");
	sl_taken_add_columns(t, 1, 1, SL_TAKEN_NAME, title, NULL);
	assert_int_equal(strlen(t->column[0].title), 62);
	assert_memory_equal(t->column[0].title, title, 62);
	sl_taken_destroy(t);
}

static void each_role_has_a_name(void **state)
{
	for (int k = 0; k < SL_TAKEN_ROLE_COUNT; k++) {
		enum sl_taken_role role = SL_TAKEN_ROLE_COUNT;
		assert_true(sl_taken_role_parse(sl_taken_role_name((enum sl_taken_role)k), &role));
		assert_int_equal(role, k);
	}
	enum sl_taken_role role;
	assert_false(sl_taken_role_parse("coordinates", &role));
}

static void a_copy_is_equal(void **state)
{
	struct sl_taken *t = sl_taken_create();
	assert_non_null(t);
	sl_taken_add_note(t, true, "column %d was left out", 3);
	struct sl_taken *copy = sl_taken_copy(t);
	assert_non_null(copy);
	assert_memory_equal(t, copy, sizeof *t);
	assert_null(sl_taken_copy(NULL));
	sl_taken_destroy(copy);
	sl_taken_destroy(t);
}

/* What follows a 1 is singular, unless it is the user's or the number is another one. */
static void one_is_singular(void **state)
{
	static const char *const cases[][2] = {
		{"1 columns, 2 columns, 11 columns, 0.1 columns, 1.5 rows",
		 "1 column, 2 columns, 11 columns, 0.1 columns, 1.5 rows"},
		{"1 entries; 1 principal axes of 1 new points", "1 entry; 1 principal axis of 1 new point"},
		{"row 1 has values, \"1 nodes\" of 1 nodes", "row 1 has values, \"1 nodes\" of 1 node"},
		{"column1 rows, -1 rows, 1 of 2 rows, 1,000 rows", "column1 rows, -1 rows, 1 of 2 rows, 1,000 rows"},
		{"1 rowsteads", "1 rowsteads"}, {"1 ", "1 "}, {"", ""}, {"1", "1"},
	};
	(void)state;
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		char text[160];
		snprintf(text, sizeof text, "%s", cases[k][0]);
		sl_singular(text);
		assert_string_equal(text, cases[k][1]);
	}
	struct sl_error err;
	sl_error_set(&err, SL_BADDATA, "It has %d rows.", 1);
	assert_string_equal(err.detail, "It has 1 row.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_adds_up_and_is_told),
		cmocka_unit_test(lists_are_bounded_and_counts_are_complete),
		cmocka_unit_test(titles_are_cut_between_characters),
		cmocka_unit_test(each_role_has_a_name),
		cmocka_unit_test(a_copy_is_equal),
		cmocka_unit_test(one_is_singular),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
