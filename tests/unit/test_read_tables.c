/* Tables of text as other programs write them: quotes, line ends, comments, numberings, formatted numbers. */
#include <math.h>

#include "core/graph/graph.h"
#include "core/taken/taken.h"
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

static void refused_at(const char *text, int64_t line)
{
	struct sl_input_options points = {.kind = SL_INPUT_POINTS};
	struct sl_input in;
	struct sl_error err;
	assert_int_equal(read_input(&in, &points, text, strlen(text), "a.csv", &err), SL_BADDATA);
	assert_int_equal(err.line, line);
}

/* ---- comments -------------------------------------------------------------------------------- */

static void comments_are_above_the_rows(void **state)
{
	/* a row may begin with # or %, also the first one below the header */
	struct sl_points *p = text_of("# by hand\n%x\ntag,x,y\n#art,0.5,1\n%bird,1.5,5\ncat,2.5,3\n#dog,3.5,4\n", NULL);
	assert_values(p, 4, 2, (float[]){0.5f, 1, 1.5f, 5, 2.5f, 3, 3.5f, 4});
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

/* ---- what is taken ----------------------------------------------------------------------------- */

/* Reads a table, and compares what was taken of it. */
static struct sl_points *taken_of(const char *text, const struct sl_input_options *options, const char *wanted)
{
	char line[1024];
	struct sl_points *p = text_of(text, options);
	assert_non_null(p->taken);
	assert_true(sl_taken_adds_up(p->taken));
	assert_string_equal(sl_taken_text(p->taken, line, sizeof line), wanted);
	return p;
}

static bool noted(const struct sl_points *p, bool changes, const char *part)
{
	for (uint32_t k = 0; k < p->taken->notes; k++)
		if (p->taken->note[k].changes == changes && strstr(p->taken->note[k].text, part))
			return true;
	return false;
}

static void each_line_and_column_is_counted(void **state)
{
	struct sl_input_options drop = {.drop_not_finite = true, .ignore_columns = "b"};
	struct sl_points *p = taken_of("# one\n% two\nid,a,b,c,kind\n\nu,5,1,2,x\nv,7,1,NA,y\n\n#3\nw,9,1,4,x\n", &drop,
				       "3 rows of 5 columns: 2 coordinates, 1 name (\"id\"), 1 label (\"kind\"), 1 ignored "
				       "(\"b\"); 1 row left out; 3 comment lines");
	assert_int_equal(p->taken->lines, 9);
	assert_int_equal(p->taken->blank_lines, 2);
	assert_true(noted(p, true, "1 line below the header or the first row begins with #"));
	sl_points_destroy(p);
	p = taken_of("1;2;3;\n4;5;7;\n7;8;1;\n", NULL, "3 rows of 4 columns: 3 coordinates, 1 left out (column 4: empty)");
	sl_points_destroy(p);
}

static void numberings_are_no_coordinates(void **state)
{
	static const char text[] = "cell_id,x,y\n0,5,1.5\n1,7,2\n2,9,3\n3,1,5\n";
	static const float wanted[] = {5, 1.5f, 7, 2, 9, 3, 1, 5}, all[] = {0, 5, 1.5f, 1, 7, 2, 2, 9, 3, 3, 1, 5};
	struct sl_input_options keep = {.keep_columns = "cell_id"}, none = {.name_column = ""};
	struct sl_input_options every = {.keep_columns = "all"};
	struct sl_points *p = taken_of(text, NULL,
				       "4 rows of 3 columns: 2 coordinates, 1 name (\"cell_id\": counts the rows)");
	assert_values(p, 4, 2, wanted);
	assert_string_equal(p->name_bytes + p->name_at[3], "3");
	assert_true(noted(p, true, "Column 1 (\"cell_id\") counts the rows"));
	sl_points_destroy(p);
	p = taken_of(text, &none, "4 rows of 3 columns: 2 coordinates, 1 numbering (\"cell_id\")");
	assert_values(p, 4, 2, wanted);
	assert_null(p->name_at);
	sl_points_destroy(p);
	for (int k = 0; k < 2; k++) {
		p = taken_of(text, k ? &every : &keep, "4 rows of 3 columns: 3 coordinates");
		assert_values(p, 4, 3, all);
		sl_points_destroy(p);
	}
	/* from 1, in the last column, as floats, without a header, with other names */
	p = taken_of("5,1.5,u,1.0\n7,2,v,2.0\n9,3,w,3.0\n", NULL,
		     "3 rows of 4 columns: 2 coordinates, 1 name (column 3), 1 numbering (column 4)");
	assert_values(p, 3, 2, (float[]){5, 1.5f, 7, 2, 9, 3});
	sl_points_destroy(p);
	p = taken_of("Unnamed: 0,x\n7,5\n9,3\n", NULL, "2 rows of 2 columns: 1 coordinate, 1 name (\"Unnamed: 0\")");
	sl_points_destroy(p);
	/* nothing else is left; two rows count up by chance */
	p = taken_of("x,y\n0,0\n1,1\n2,2\n", NULL, "3 rows of 2 columns: 2 coordinates");
	sl_points_destroy(p);
	p = taken_of("x,y\n0,5\n1,3\n", NULL, "2 rows of 2 columns: 2 coordinates");
	sl_points_destroy(p);
}

/* The first lines count, later ones do not. */
static void a_numbering_that_stops_is_refused(void **state)
{
	size_t room = 40000 * 16, size = 0;
	char *text = malloc(room);
	for (unsigned i = 0; i < 40000; i++)
		size += (size_t)snprintf(text + size, room - size, "%u,%u\n", i % 39990, i * 7 % 1000);
	refused(text, "Column 1 counts the rows above, but has \"0\" here");
	free(text);
}

static void formatted_numbers(void **state)
{
	static const struct {
		const char *text;
		float first, last;
	} columns[] = {
		{"x;y\n12%;1\n15,5%;3\n", 12, 15.5f}, {"x;y\n$45,000;1\n$1,000.5;3\n", 45000, 1000.5f},
		{"x;y\n1,234.5;1\n7;3\n", 1234.5f, 7}, {"x;y\n\xe2\x88\x92" "1.5;1\n2.5;3\n", -1.5f, 2.5f},
		{"x;y\n1 234,5;1\n2,5;3\n", 1234.5f, 2.5f}, {"x;y\n1'234.5;1\n2;3\n", 1234.5f, 2},
		{"x;y\n1\xc2\xa0" "234,5;1\n2,5;3\n", 1234.5f, 2.5f},
		{"x;y\n1\xe2\x80\xaf" "234,5;1\n-2,5;3\n", 1234.5f, -2.5f},
		{"x;y\n5,00 \xe2\x82\xac;1\n-7,50 \xe2\x82\xac;3\n", 5, -7.5f}, {"x;y\n1.234;1,5\n12.345;3,5\n", 1234, 12345},
		{"x;y\n(1,200);1.5\n300;3.5\n", -1200, 300}, {"x,y\n\"98,207\",1\n\"5\",3\n", 98207, 5},
		{"x;y\n98,207;1\n5;3\n", 98.207f, 5}, {"x;y\n98,207;1.5\n5;3\n", 98207, 5},
		{"x\ty\n1.5e3\t1,5\n2\t3,5\n", 1500, 2}, {"x y\n1,5 2,5\n3,5 4,5\n", 1.5f, 3.5f}, 
		{"1,5 2,5\n3,5 4,5\n", 1.5f, 3.5f},
		{"x;y\n1.234;1\n2.345;3\n", 1.234f, 2.345f}, {"x;y\n-$5;1\n$-6;3\n", -5, -6},
		{"x;y\nCHF 1'000;1\nCHF 2;3\n", 1000, 2},
	};
	for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
		struct sl_points *p = text_of(columns[k].text, NULL);
		float row[2];
		assert_int_equal(p->d, 2);
		sl_points_rows(p, 0, 1, row);
		if (row[0] != columns[k].first)
			fail_msg("%s: %g", columns[k].text, (double)row[0]);
		sl_points_rows(p, 1, 1, row);
		if (row[0] != columns[k].last)
			fail_msg("%s: %g", columns[k].text, (double)row[0]);
		sl_points_destroy(p);
	}
	struct sl_points *p = text_of("x,y,z\n1,5%,2\n3,7%,9\n", NULL);
	assert_true(noted(p, false, "Column 2 (\"y\"): \"5%\" is read as 5"));
	sl_points_destroy(p);
	/* of different forms, or with a word: labels, which is told */
	p = text_of("x,y,z\n1,5%,2\n3,$7,9\n", NULL);
	assert_true(p->d == 2 && noted(p, true, "Column 2 (\"y\") is no coordinate: \"$7\" is another kind of number"));
	sl_points_destroy(p);
	p = text_of("x,y,z\n1,5%,2\n3,7 kg,9\n4,8%,1\n", NULL);
	assert_true(p->d == 2 && noted(p, true, "Column 2 (\"y\") is no coordinate: \"7 kg\" is no number"));
	sl_points_destroy(p);
	p = text_of("x,y,z\n1,12 kg,2\n3,7 kg,9\n", NULL);
	assert_true(noted(p, true, "\"12 kg\" is no number"));
	sl_points_destroy(p);
	p = text_of("x,y,z\n1,red,2\n3,blue,9\n", NULL);
	assert_int_equal(p->taken->notes, 0);
	sl_points_destroy(p);
	refused("x,y,z\n1,0.5,2\n3,7%,9\n", "Column 2 (\"y\") has \"7%\"");
	refused("x\ty\n1,234\t5\n2,345\t6\n", "Use decimal=point or decimal=comma");
	struct sl_input_options point = {.decimal = '.'}, comma = {.decimal = ','};
	p = text_of("x\ty\n1,234\t5\n2,345\t6\n", &point);
	assert_values(p, 2, 2, (float[]){1234, 5, 2345, 6});
	sl_points_destroy(p);
	p = text_of("x\ty\n1,234\t5\n2,345\t6\n", &comma);
	assert_values(p, 2, 2, (float[]){1.234f, 5, 2.345f, 6});
	sl_points_destroy(p);
}

static void headers(void **state)
{
	/* a label above a missing one is no title */
	struct sl_points *p = text_of("1.5,u\n2.5,\n3.5,v\n", NULL);
	assert_values(p, 3, 1, (float[]){1.5f, 2.5f, 3.5f});
	sl_points_destroy(p);
	/* titles that are years are no row */
	p = text_of("name,2019,2020\nann,1.5,2.5\nbob,3,4\n", NULL);
	assert_values(p, 2, 2, (float[]){1.5f, 2.5f, 3, 4});
	assert_true(noted(p, true, "The first line is taken for titles"));
	sl_points_destroy(p);
	p = text_of("sep=;\nx;y\n1;5\n2;7\n", NULL);  /* as Excel writes it */
	assert_values(p, 2, 2, (float[]){1, 5, 2, 7});
	assert_true(sl_taken_adds_up(p->taken));
	sl_points_destroy(p);
	/* a separator ends the rows only: these are no row names */
	p = text_of("x,y\n1,5,\n2,7,\n", NULL);
	assert_values(p, 2, 2, (float[]){1, 5, 2, 7});
	sl_points_destroy(p);
	refused("a,b,c\n1,2\n3,4\n", "The header has 3 titles");
}

/* ---- table or edges ------------------------------------------------------------------------------ */

static void titles_tell_tables_from_edges(void **state)
{
	static const struct {
		const char *text;
		bool points;
		const char *sign;
		bool told;
	} files[] = {
		{"height,weight,age\n150,50,20\n151,63,21\n152,76,24\n", true, "titles", false},
		{"x y\n0 0\n7 13\n14 26\n", true, "titles", false},
		{"\"x\"\t\"y\"\n0\t0\n7\t13\n", true, "titles", false},
		{"source,target\n1,2\n2,3\n", false, "titles", false},
		{"from;to;weight\n1;2;3\n2;3;4\n", false, "titles", false},
		{"node1 node2\n1 2\n2 3\n", false, "titles", false}, {"tag,x,y\nart,5,7\nbee,6,8\n", true, "titles", false},
		{"1,2\n2,3\n", false, "whole numbers, without titles", true},
		{"1 2 3\n2 3 4\n", false, "whole numbers", true},
		{"1,2\n2,3.5\n", true, "numbers with decimals", false}, {"1,2\n2,-3\n", true, "negative numbers", false},
		{"1 2 0.5\n2 3 0.25\n", false, "whole numbers", true},
		{"ann,bob\nbob,cid\n", false, "two columns of names", false},
		{"5\n6\n8\n", true, "one column of numbers", false},
		{"1,5;2,5\n3,5;4,5\n", true, "numbers with decimals", false},
		{"1,2,3,4\n5,6,7,8\n", true, "4 columns", false},
		{"chr1\t100\t900\nchr2\t150\t800\n", false, "names and whole numbers", true},
		{"n,a,b\nu,1,5\nv,2-,6\nw,3,7\n", true, "titles", false},
		{"n,a,b\nu,v,5\nv,w,6\nw,u,7\n", false, "below other titles", true},
		{"p,q\nTrue,False\nFalse,False\nFalse,True\nTrue,True\n", true, "true and false", false},
		{"head\trelation\ttail\nu\tis\tv\nv\tis\tw\n", false, "titles", false},
	};
	for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
		struct sl_input in;
		struct sl_error err;
		char message[1024];
		if (read_input(&in, NULL, files[k].text, strlen(files[k].text), "a.csv", &err)) {
			/* a table, whose bad value its reader refuses */
			if (files[k].points && (strstr(err.detail, "must be a number") || strstr(err.detail, "write 1 and 0")))
				continue;
			fail_msg("%s: %s", files[k].text, sl_error_format(&err, message, sizeof message));
		}
		const struct sl_taken *t = in.graph ? in.graph->taken : in.points->taken;
		bool told = false;
		for (uint32_t i = 0; i < t->notes; i++)
			told |= t->note[i].changes && strstr(t->note[i].text, "kind=points");
		if ((in.points != NULL) != files[k].points || !strstr(t->sign, files[k].sign) || told != files[k].told)
			fail_msg("%s: %s, %s", files[k].text, sl_input_kind_name(in.kind), t->sign);
		assert_true(sl_taken_adds_up(t));
		sl_input_finish(&in);
	}
}

/* ---- what may be meant otherwise ----------------------------------------------------------------- */

/* Rows made of a format with the row's number, its half, its third part and a fraction of it. */
static char *rows_of(const char *head, const char *format, int rows)
{
	static char text[1 << 16];
	char *to = text + sprintf(text, "%s", head);
	for (int i = 0; i < rows; i++)
		to += sprintf(to, format, i % 3 + 1, i * 37 % 23 * 0.25, 8000 + i * 7);
	return text;
}

static void guesses_are_hinted(void **state)
{
	static const struct {
		const char *head, *format, *told;
		bool changes;
	} files[] = {
		{"", "%d,%g,0.5\n", "Column 1 holds 3 whole numbers alone", false},
		{"", "%d\t%g\t%d\n", "Column 1 holds 3 whole numbers alone", false},
		{"kind,x,y\n", "%d,%g,%d\n", NULL, false},  /* a title says what it is */
		{"", "%3$d,%1$d,%2$g,1.5\n", "Column 1 has another whole number in each row", true},
		{"customer_id,kind,x\n", "%3$d,%1$d,%2$g\n", "Column 1 (\"customer_id\") has another whole number", true},
		{"customerId,kind,x\n", "%3$d,%1$d,%2$g\n", "name_column=1 makes them names", true},
		{"humid,kind,x\n", "%3$d,%1$d,%2$g\n", NULL, false},
		{"x,y,z\n-999,1,2\n", "%d,%g,%d\n", "Column 1 (\"x\") has -999 far below", true},
		{"x,y,z\n-999,1,2\n-900,1,3\n", "%d,%g,%d\n", NULL, false},
		{"x,y,when\n", "%d,%g,2024011%1$d\n", "Column 3 (\"when\") holds dates such as 20240111", true},
		{"x,y,when\n", "%d,%g,2024991%1$d\n", NULL, false},
		{"", "q%1$d\ts%1$d\t%2$g\t%3$d\n", "kind=graph reads them so", false},
		{"x,y,z,on\n", "%d,%g,%d,TRUE\n", "Column 4 (\"on\") holds words such as \"TRUE\"", true},
		{"40 3\n", "w%3$d %1$d %2$g 1\n", "The first line has the numbers of rows and of columns", false},
		{"41 3\n", "w%3$d %1$d %2$g 1\n", "The first line says that the file has 41 rows; it has 40", true},
	};
	for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
		struct sl_points *p = text_of(rows_of(files[k].head, files[k].format, 40), NULL);
		assert_true(sl_taken_adds_up(p->taken));
		if (files[k].told ? !noted(p, files[k].changes, files[k].told) : noted(p, true, "") || noted(p, false, "alone"))
			fail_msg("%s%s: %s", files[k].head, files[k].format, p->taken->notes ? p->taken->note[0].text : "no note");
		sl_points_destroy(p);
	}
	refused("axis,x,y\nstat,mean,std\n,,\n0,1.5,2\n1,2.5,3\n", "column 1 has \"axis\" above its numbers");
	refused("a;b\n12 kg;x\n13 kg;y\n", "has \"12 kg\"");
	refused("a,gr\xf6\xdf" "e\n1,2\n2,4\n", "The title of column 2 is not valid UTF-8");
	refused("a,b\nTrue,False\nFalse,False\n", "write 1 and 0");
	refused("a,b\n1.5,\"two\nlines\n2.5,3\n", "A quoted field is not closed; close it by a quote");
	refused("a,b\n1.5,2\n2.5,\\N\n", "is \\N; coordinates must be finite");
}

static void fields_over_several_lines(void **state)
{
	struct sl_points *p = taken_of("name,x,y,note\n\"a\n1\",1.5,2,\"one,\r\n \"\"two\"\"\"\nb,2.5,3,x\n"
				       "c,3.5,4,\"\n\nz\"\n", NULL,
				       "3 rows of 4 columns: 2 coordinates, 1 name (\"name\"), 1 label (\"note\")");
	assert_values(p, 3, 2, (float[]){1.5f, 2, 2.5f, 3, 3.5f, 4});
	assert_string_equal(p->name_bytes + p->name_at[0], "a 1");
	assert_true(noted(p, false, "4 line breaks inside of quoted fields are read as blanks; the first is in line 2"));
	sl_points_destroy(p);
	/* lines are counted on; a quote that nothing closes joins none */
	refused_at("x,y,note\n1,2,\"a\nb\"\n2,q,c\n", 4);
	refused_at("x,y,note\n1,2,c\n2,3,\"b\n3,4,c\n", 3);
	refused("word\tx\n\"\t1\nb\t2\nc\"\t3\n", "quote");
}

static void words_of_embeddings(void **state)
{
	struct sl_input in;
	struct sl_error err;
	static const char metis[] = "5 2\n% a comment\n2\n1\n4\n3\n\n";  /* "%", "a", "comment" are no vector */
	assert_int_equal(read_input(&in, NULL, metis, strlen(metis), "a.txt", &err), 0);
	assert_true(in.graph && in.graph->n == 5 && in.graph->m == 4);
	sl_input_finish(&in);
	struct sl_points *p = taken_of("5 2\n, 0.5 1\n# 1.5 2\n\" 2.5 3\nnan 3.5 4\n1990 4.5 9\n", NULL,
				       "5 rows of 3 columns: 2 coordinates, 1 name (column 1)");
	assert_values(p, 5, 2, (float[]){0.5f, 1, 1.5f, 2, 2.5f, 3, 3.5f, 4, 4.5f, 9});
	assert_string_equal(p->name_bytes + p->name_at[2], "\"");
	sl_points_destroy(p);
	p = taken_of("#1.2\n3\t2\nNAME\tDescription\ts1\ts2\ng1\tna\t1.5\t2\ng2\tna\t2.5\t3\ng3\tna\t3.5\t4\n", NULL,
		     "3 rows of 4 columns: 2 coordinates, 1 name (\"NAME\"), 1 label (\"Description\"); 1 comment line");
	sl_points_destroy(p);
	p = taken_of("!Title\t\"x\"\n\n!begin\n\"ID\"\t\"a\"\t\"b\"\n\"p_at\"\t1.5\t2\n\"q_at\"\t2.5\t3\n!end\n", NULL,
		     "2 rows of 3 columns: 2 coordinates, 1 name (\"ID\"); 3 comment lines");
	assert_values(p, 2, 2, (float[]){1.5f, 2, 2.5f, 3});
	sl_points_destroy(p);
}

static void columns_of_the_same_title(void **state)
{
	struct sl_input_options label = {.label_column = "x"}, ignore = {.ignore_columns = "x"};
	struct sl_input_options number = {.label_column = "2"};
	static const char text[] = "x,x,y\n1.5,1,2\n2.5,2,4\n3.5,1,6\n";
	struct sl_points *p = text_of(text, &label);
	assert_true(p->d == 2 && noted(p, true, "Columns 1 and 2 have the title \"x\"; it stands for column 1"));
	sl_points_destroy(p);
	p = text_of(text, &ignore);
	assert_true(noted(p, true, "Columns 1 and 2 have the title"));
	sl_points_destroy(p);
	p = text_of(text, &number);
	assert_false(noted(p, true, "have the title"));
	sl_points_destroy(p);
}

/* ---- square matrices ------------------------------------------------------------------------------ */

static void square_matrices(void **state)
{
	static const char edges[] = "0,1,0,0,1\n1,0,1,0,0\n0,1,0,1,0\n0,0,1,0,1\n1,0,0,1,0\n";
	static const char named[] = ",a,b,c,d,e\na,0,1,0,0,2\nb,1,0,1,0,0\nc,0,1,0,1,0\nd,0,0,1,0,1\ne,2,0,0,1,0\n";
	static const char apart[] = "0,3,4,5,6\n3,0,2,2,3\n4,2,0,1,2\n5,2,1,0,1\n6,3,2,1,0\n";
	static const char negative[] = "0,1,0,0\n1,0,-2,0\n0,-2,0,1\n0,0,1,0\n";
	struct sl_input_options graph = {.kind = SL_INPUT_GRAPH};
	struct sl_input in;
	struct sl_error err;
	struct sl_points *p = text_of(edges, NULL);
	assert_true(noted(p, true, "as a matrix of edges is") && noted(p, true, "kind=graph takes it as a graph"));
	sl_points_destroy(p);
	p = text_of(apart, NULL);
	assert_true(noted(p, true, "as a matrix of distances is") && noted(p, true, "values=distances"));
	sl_points_destroy(p);
	p = text_of("1,.5,0,0,0\n.5,1,0,0,0\n0,0,1,-.5,0\n0,0,-.5,1,0\n0,0,0,0,1\n", NULL);
	assert_true(noted(p, true, "as a matrix of correlations is"));
	sl_points_destroy(p);
	assert_int_equal(read_input(&in, &graph, edges, strlen(edges), "a.csv", &err), 0);
	assert_true(in.graph->n == 5 && in.graph->m == 10 && in.graph->symmetric && !in.graph->weight);
	assert_true(sl_taken_adds_up(in.graph->taken));
	sl_input_finish(&in);
	assert_int_equal(read_input(&in, &graph, named, strlen(named), "a.csv", &err), 0);
	assert_true(in.graph->n == 5 && in.graph->m == 10 && in.graph->weight);
	assert_string_equal(sl_graph_name(in.graph, 4), "e");
	sl_input_finish(&in);
	/* one half of a matrix */
	static const char half[] = "0,1,2,1\n0,0,3,1\n0,0,0,1\n0,0,0,0\n";
	assert_int_equal(read_input(&in, &graph, half, strlen(half), "a.csv", &err), 0);
	assert_true(in.graph->m == 12 && in.graph->symmetric);
	assert_non_null(strstr(in.graph->taken->note[0].text, "All values are above the diagonal"));
	sl_input_finish(&in);
	struct sl_input_options directed = {.kind = SL_INPUT_GRAPH, .read.directed = true};
	assert_int_equal(read_input(&in, &directed, half, strlen(half), "a.csv", &err), 0);
	assert_true(in.graph->m == 6 && !in.graph->symmetric);
	sl_input_finish(&in);
	assert_int_equal(read_input(&in, &graph, negative, strlen(negative), "a.csv", &err), SL_BADGRAPH);
	assert_non_null(strstr(err.detail, "Row 2, column 3 of the matrix is -2"));
}

static void one_line_of_words_is_no_graph(void **state)
{
	static const char *const files[] = {"name,age,size\n", "CREATE TABLE cells\n", "a b"};
	struct sl_input_options graph = {.kind = SL_INPUT_GRAPH};
	for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
		struct sl_input in;
		struct sl_error err;
		assert_int_equal(read_input(&in, NULL, files[k], strlen(files[k]), "a.csv", &err), SL_BADDATA);
		assert_non_null(strstr(err.detail, "one line of words alone"));
		assert_int_equal(read_input(&in, &graph, files[k], strlen(files[k]), "a.csv", &err), 0);
		sl_input_finish(&in);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quoted_fields_keep_their_neighbours),
		cmocka_unit_test(quotes_as_r_writes_them),
		cmocka_unit_test(comments_are_above_the_rows),
		cmocka_unit_test(each_line_and_column_is_counted),
		cmocka_unit_test(numberings_are_no_coordinates),
		cmocka_unit_test(a_numbering_that_stops_is_refused),
		cmocka_unit_test(formatted_numbers),
		cmocka_unit_test(headers),
		cmocka_unit_test(titles_tell_tables_from_edges),
		cmocka_unit_test(guesses_are_hinted),
		cmocka_unit_test(fields_over_several_lines),
		cmocka_unit_test(words_of_embeddings),
		cmocka_unit_test(columns_of_the_same_title),
		cmocka_unit_test(square_matrices),
		cmocka_unit_test(one_line_of_words_is_no_graph),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
