/* Tables of text as other programs write them: quotes, line ends, comments, numberings, formatted numbers. */
#include <math.h>

#include "tests/unit/formats_util.h"
#include "tests/unit/points_util.h"
#include "tests/unit/seeds.h"

/* ---- quotes and line ends ------------------------------------------------------------------ */

/* A table of names and numbers, written with each separator, each field quoted or not, and each line end. */
static void quoted_fields_keep_their_neighbours(void **state)
{
	static const char *const fields[3][4] = {
		{"beta", "gamma", "delta"}, {"one", "10.5", "-2.25", "3"}, {"two", "-11.5", "2.5", "4"},
	};
	static const char separators[] = {',', ';', '\t', ' '}, *const ends[] = {"\n", "\r\n", "\r"};
	static const float wanted[] = {10.5f, -2.25f, 3, -11.5f, 2.5f, 4};
	struct sl_input_options points = {.kind = SL_INPUT_POINTS};
	for (unsigned quotes = 0; quotes < 1u << 12; quotes += test_lightest() ? 7 : 1)
		for (int k = 0; k < 12; k++) {
			char text[400];
			size_t size = 0;
			for (unsigned i = 0; i < 3; i++)
				for (unsigned c = 0; c < 4 && fields[i][c]; c++) {
					const char *quote = quotes >> (i * 4 + c) & 1 ? "\"" : "";
					bool last = c == 3 || !fields[i][c + 1];
					char separator[2] = {separators[k % 4]};
					size += (size_t)snprintf(text + size, sizeof text - size, "%s%s%s%s", quote, fields[i][c], quote,
								 !last ? separator : i < 2 || quotes & 8 ? ends[k / 4] : "");
				}
			struct sl_points *p = points_of(text, size, "table.txt", &points);
			assert_values(p, 2, 3, wanted);
			assert_string_equal(p->name_bytes + p->name_at[1], "two");
			sl_points_destroy(p);
		}
}

static void quotes_as_r_writes_them(void **state)
{
	static const char *const texts[] = {
		"\"x\" \"y\"\n\"a \\\"b\\\"c\" 1.5 2\n\"d\" 3 4\n", "\"x\"\t\"y\"\n\"a \\\"b\\\"c\"\t1.5\t2\n\"d\"\t3\t4\n",
		"\"\",\"x\",\"y\"\n\"a \"\"b\"\"c\",1.5,2\n\"d\",3,4\n",
	};
	for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
		struct sl_points *p = text_of(texts[k], NULL);
		assert_values(p, 2, 2, (float[]){1.5f, 2, 3, 4});
		assert_string_equal(p->name_bytes, "a \"b\"c");
		sl_points_destroy(p);
	}
}

static void refused(const char *text, const char *part)
{
	struct sl_input_options points = {.kind = SL_INPUT_POINTS};
	struct sl_input in;
	struct sl_error err;
	assert_int_equal(read_input(&in, &points, text, strlen(text), "a.csv", &err), SL_BADDATA);
	if (!strstr(err.detail, part))
		fail_msg("%s", err.detail);
}

/* ---- comments -------------------------------------------------------------------------------- */

static void comments_are_above_the_rows(void **state)
{
	/* a row may begin with # or %, also the first one below the header */
	struct sl_points *p = text_of("# by hand\n%x\ntag,x,y\n#art,0.5,1\n%bird,1.5,2\ncat,2.5,3\n#dog,3.5,4\n", NULL);
	assert_values(p, 4, 2, (float[]){0.5f, 1, 1.5f, 2, 2.5f, 3, 3.5f, 4});
	assert_string_equal(p->name_bytes, "#art");
	sl_points_destroy(p);
	p = text_of("\"x\" \"y\"\n#a 1.5 2\n#b 3 4\n", NULL);  /* as R writes row names */
	assert_values(p, 2, 2, (float[]){1.5f, 2, 3, 4});
	sl_points_destroy(p);
	/* numpy.savetxt() writes header and footer with "# " */
	p = text_of("# x y\n1.5 2\n3 4\n# end\n", NULL);
	assert_values(p, 2, 2, (float[]){1.5f, 2, 3, 4});
	sl_points_destroy(p);
	refused("1,2,3\n# 3,4,5\n4,5,6\n", "comments only above the first row");
	refused("a,b,c\n#N/A,2.5,1.5\n1.5,3.5,2\n", "Column 1 (\"a\") is #N/A");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quoted_fields_keep_their_neighbours),
		cmocka_unit_test(quotes_as_r_writes_them),
		cmocka_unit_test(comments_are_above_the_rows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
