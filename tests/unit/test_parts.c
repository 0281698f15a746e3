/* Several files read as one (core/formats/source/parts.c): titles, order of columns, numberings, arrays, errors. */
#include "core/formats/numpy/npy.h"
#include "core/taken/taken.h"
#include "tests/unit/formats_util.h"
#include "tests/unit/points_util.h"
#include "tests/unit/seeds.h"

#define MOST 4

/* Reads texts as one; files are called a.csv, b.csv, ... */
static int read_texts(struct sl_input *in, enum sl_input_kind kind, const char *const *text, struct sl_error *err)
{
	static const char *const names[MOST] = {"a.csv", "b.csv", "c.csv", "d.csv"};
	const struct sl_input_options options = {.kind = kind};
	struct sl_source *part[MOST], *whole;
	int count = 0;
	memset(in, 0, sizeof *in);
	for (; count < MOST && text[count]; count++)
		assert_int_equal(sl_source_open_memory(&part[count], text[count], strlen(text[count]), names[count], err), 0);
	assert_int_equal(sl_source_join(&whole, part, count, err), 0);
	int code = sl_input_read(in, &options, whole, err);
	sl_source_close(whole);
	return code;
}

static bool noted(const struct sl_taken *t, const char *part)
{
	for (uint32_t k = 0; k < t->notes; k++)
		if (strstr(t->note[k].text, part))
			return true;
	return false;
}

static struct sl_points *table_of(const char *const *text)
{
	struct sl_input in;
	struct sl_error err;
	if (read_texts(&in, SL_INPUT_POINTS, text, &err))
		fail_msg("%s", err.detail);
	return in.points;
}

static void titles_are_left_out(void **state)
{
	struct sl_points *p = table_of((const char *const[]){"# one\nx,y,kind\n1.5,2,a\n3,4,b", "x,\"y\", kind\n5,6,b\n",
			"# three\n\nx,y,kind\n7,8,c\n",
							     NULL});
	assert_values(p, 4, 2, (float[]){1.5f, 2, 3, 4, 5, 6, 7, 8});
	assert_int_equal(p->labels, 3);
	assert_string_equal(p->label_title, "kind");
	assert_int_equal(p->label[2], p->label[1]);
	assert_true(noted(p->taken, "3 files are read as one: rows 1 to 2 are of a.csv, rows 3 to 3 are of b.csv, rows 4 "
			"to 4 are of c.csv"));
	sl_points_destroy(p);
}

static void files_without_titles(void **state)
{
	struct sl_points *p = table_of((const char *const[]){"1.5 2\n3 4\n", "1.5 2\n", "5 6", NULL});
	assert_values(p, 4, 2, (float[]){1.5f, 2, 3, 4, 1.5f, 2, 5, 6});
	sl_points_destroy(p);
	p = table_of((const char *const[]){"x;y\n1.5;2\n", "3;4\n", NULL});
	assert_values(p, 2, 2, (float[]){1.5f, 2, 3, 4});
	assert_true(noted(p->taken, "b.csv has no titles"));
	sl_points_destroy(p);
	p = table_of((const char *const[]){"0,1\n2.5,4.5\n1.5,3\n", "0,1\n5.5,6.5\n", NULL});
	assert_values(p, 3, 2, (float[]){2.5f, 4.5f, 1.5f, 3, 5.5f, 6.5f});
	sl_points_destroy(p);
}

static void columns_are_found_by_title(void **state)
{
	struct sl_points *p = table_of((const char *const[]){"name,x,y\n\"a, b\",1.5,2\nc,3,4\n",
			"y,name,x\n6,\"d, e\",5\n", NULL});
	assert_values(p, 3, 2, (float[]){1.5f, 2, 3, 4, 5, 6});
	assert_string_equal(p->name_bytes + p->name_at[2], "d, e");
	assert_true(noted(p->taken, "The columns of b.csv have another order than those of a.csv"));
	sl_points_destroy(p);
}

/* As pandas writes them: each file counts from 0. */
static void numberings_go_on(void **state)
{
	struct sl_points *p = table_of((const char *const[]){",x,y\n0,1.5,2\n1,3,4\n2,5,5.5\n", ",x,y\n0,7,8\n1,9,9.5\n",
			NULL});
	assert_values(p, 5, 2, (float[]){1.5f, 2, 3, 4, 5, 5.5f, 7, 8, 9, 9.5f});
	assert_true(noted(p->taken, "Column 1 counts the rows of each file; it is numbered on"));
	assert_string_equal(p->name_bytes + p->name_at[4], "4");
	sl_points_destroy(p);
	/* a numbering that goes on by itself stays; a coordinate that only begins as one, too */
	p = table_of((const char *const[]){",x,y\n0,1.5,2\n1,3,4\n", ",x,y\n2,7,8\n", NULL});
	assert_values(p, 3, 2, (float[]){1.5f, 2, 3, 4, 7, 8});
	sl_points_destroy(p);
}

static void lists_of_edges(void **state)
{
	struct sl_input in;
	struct sl_error err;
	assert_int_equal(read_texts(&in, SL_INPUT_AUTO, (const char *const[]){"source,target\nann,bob\n",
			"source,target\nbob,eve\nann,eve\n",
								      NULL}, &err), 0);
	assert_non_null(in.graph);
	assert_int_equal(in.graph->n, 3);
	assert_int_equal(in.graph->m, 6);
	sl_input_finish(&in);
}

static void what_differs_is_an_error(void **state)
{
	static const struct {
		const char *text[3], *file, *part;
		int64_t line;
	} bad[] = {
		{{"x,y\n1.5,2\n", "x,z\n3,4\n"}, "b.csv", "There is no column \"y\", which a.csv has", 1},
		{{"x,y\n1.5,2\n", "x,y,z\n3,4,5\n"}, "b.csv", "The column \"z\" is not in a.csv", 1},
		{{"1.5,2\n3,4\n", "x,y\n3,4\n"}, "b.csv", "The file has titles, but a.csv has none", 1},
		{{"1.5,2\n3,4\n", "3,4,5\n"}, "b.csv", "The line has 3 fields; those of a.csv have 2", 1},
		{{"x,y\n1.5,2\n3,4\n", "# remark\nx,y\n5,6\n7,moon\n"}, "b.csv", "\"moon\"", 4},
		{{"x,y\n1.5,2\n3,sun\n", "x,y\n5,6\n"}, "a.csv", "\"sun\"", 3},
		{{",x,y\n0,1.5,2\n1,3,4\n", ",x,y\n0,7,8\n5,9,9\n"}, "b.csv", "Column 1 counts the rows above, but has \"5\"",
				3},
		{{"x,y\n1.5,2\n", "\n"}, "b.csv", "The file has no rows", 0},
		{{"x,y\n1.5,2\n", "%%MatrixMarket matrix coordinate real general\n1 1 0\n"}, "b.csv", "a MatrixMarket file", 0},
	};
	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
		struct sl_input in;
		struct sl_error err = {0};
		int code = read_texts(&in, SL_INPUT_POINTS, bad[k].text, &err);
		if (!code || !strstr(err.detail, bad[k].part) || strcmp(err.file, bad[k].file) != 0 || err.line != bad[k].line)
			fail_msg("%zu: %s:%lld: %s", k, err.file, (long long)err.line, err.detail);
		sl_input_finish(&in);
	}
}

/* Random tables cut into files are the table. */
static void a_table_in_pieces_is_the_table(void **state)
{
	uint64_t seed = fresh_seed();
	char *text[MOST + 1] = {0};
	size_t size;
	float *value = malloc(sizeof *value * 3 * 20000);
	uint32_t n = 0;
	for (int k = 0; k < MOST; k++) {
		FILE *f = open_memstream(&text[k], &size);
		fputs(k % 2 ? "b\tc\ta\n" : "a\tb\tc\n", f);
		uint32_t rows = 1 + (uint32_t)(test_uniform(&seed) * 4000);
		for (uint32_t i = 0; i < rows; i++, n++) {
			float *v = value + 3 * (size_t)n;
			for (int c = 0; c < 3; c++)
				v[c] = (float)((int)(test_uniform(&seed) * 2000) - 1000) / 8;
			fprintf(f, k % 2 ? "%g\t%g\t%g\n" : "%g\t%g\t%g\n", (double)v[k % 2 ? 1 : 0], (double)v[k % 2 ? 2 : 1],
				(double)v[k % 2 ? 0 : 2]);
		}
		fclose(f);
	}
	struct sl_points *p = table_of((const char *const *)text);
	assert_values(p, n, 3, value);
	sl_points_destroy(p);
	for (int k = 0; k < MOST; k++)
		free(text[k]);
	free(value);
}

static void arrays_follow_each_other(void **state)
{
	char a[SL_NPY_HEADER_BYTES + 24], b[SL_NPY_HEADER_BYTES + 12];
	const float x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
	struct sl_source *part[2], *whole;
	struct sl_input in;
	struct sl_error err;
	const struct sl_input_options options = {.kind = SL_INPUT_AUTO};
	for (int wrong = 0; wrong < 2; wrong++) {
		sl_npy_header(a, 2, 3);
		memcpy(a + SL_NPY_HEADER_BYTES, x, 24);
		sl_npy_header(b, wrong ? 3 : 1, wrong ? 1 : 3);
		memcpy(b + SL_NPY_HEADER_BYTES, x + 6, 12);
		assert_int_equal(sl_source_open_memory(&part[0], a, sizeof a, "a.npy", &err), 0);
		assert_int_equal(sl_source_open_memory(&part[1], b, sizeof b, "b.npy", &err), 0);
		assert_int_equal(sl_source_join(&whole, part, 2, &err), 0);
		int code = sl_input_read(&in, &options, whole, &err);
		sl_source_close(whole);
		if (wrong) {
			assert_int_equal(code, SL_BADDATA);
			if (!strstr(err.detail, "The array has 1 column of type"))
				fail_msg("%s", err.detail);
			continue;
		}
		assert_int_equal(code, 0);
		assert_values(in.points, 3, 3, x);
		sl_input_finish(&in);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(titles_are_left_out),
		cmocka_unit_test(files_without_titles),
		cmocka_unit_test(columns_are_found_by_title),
		cmocka_unit_test(numberings_go_on),
		cmocka_unit_test(lists_of_edges),
		cmocka_unit_test(what_differs_is_an_error),
		cmocka_unit_test(a_table_in_pieces_is_the_table),
		cmocka_unit_test(arrays_follow_each_other),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
