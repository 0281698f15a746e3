/* Readers of points and of neighbours, from NumPy arrays, archives and texts; recognition of a file's kind. Malformed
 * files are in tests/bad/ (test_formats_bad.c). */
#include <math.h>

#include "core/graph/graph.h"
#include "tests/unit/archive_util.h"
#include "tests/unit/points_util.h"

/* ---- arrays ---------------------------------------------------------------------------- */

static size_t make_npy(unsigned char *out, const char *descr, bool fortran, const char *shape, const void *data, size_t
		size)
{
	int length = snprintf((char *)out + 10, 200, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr,
			      fortran ? "True" : "False", shape);
	memcpy(out, "\x93NUMPY\x01\x00", 8);
	out[8] = (unsigned char)length;
	out[9] = 0;
	memcpy(out + 10 + length, data, size);
	return 10 + (size_t)length + size;
}

/* The table 0 1 2 / 3 4 100 in every type, both orders, compressed or not. */
static void every_type_of_array(void **state)
{
	static const float wanted[] = {0, 1, 2, 3, 4, 100};
	static const struct {
		const char *descr;
		int size;
		unsigned char value[6][8];
	} types[] = {
		{"|u1", 1, {{0}, {1}, {2}, {3}, {4}, {100}}},
		{"|i1", 1, {{0}, {1}, {2}, {3}, {4}, {100}}},
		{"<i2", 2, {{0}, {1}, {2}, {3}, {4}, {100}}},
		{">i2", 2, {{0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 100}}},
		{"<u4", 4, {{0}, {1}, {2}, {3}, {4}, {100}}},
		{"<i8", 8, {{0}, {1}, {2}, {3}, {4}, {100}}},
		{"<f2", 2, {{0}, {0, 0x3c}, {0, 0x40}, {0, 0x42}, {0, 0x44}, {0x40, 0x56}}},
		{">f2", 2, {{0}, {0x3c}, {0x40}, {0x42}, {0x44}, {0x56, 0x40}}},
		{"<f4", 4, {{0}, {0, 0, 0x80, 0x3f}, {0, 0, 0, 0x40}, {0, 0, 0x40, 0x40}, {0, 0, 0x80, 0x40}, {0, 0, 0xc8,
				0x42}}},
		{">f4", 4, {{0}, {0x3f, 0x80}, {0x40}, {0x40, 0x40}, {0x40, 0x80}, {0x42, 0xc8}}},
		{"<f8", 8, {{0}, {0, 0, 0, 0, 0, 0, 0xf0, 0x3f}, {0, 0, 0, 0, 0, 0, 0, 0x40}, {0, 0, 0, 0, 0, 0, 8, 0x40},
			    {0, 0, 0, 0, 0, 0, 0x10, 0x40}, {0, 0, 0, 0, 0, 0, 0x59, 0x40}}},
	};
	for (size_t t = 0; t < sizeof types / sizeof *types; t++)
		for (int variant = 0; variant < 6; variant++) {
			unsigned char data[48], file[512];
			size_t bytes = (size_t)types[t].size, size, packed_size;
			bool fortran = variant & 1;
			for (size_t i = 0; i < 2; i++)
				for (size_t k = 0; k < 3; k++)
					memcpy(data + (fortran ? k * 2 + i : i * 3 + k) * bytes, types[t].value[i * 3 + k], bytes);
			size = make_npy(file, types[t].descr, fortran, "(2, 3)", data, 6 * bytes);
			unsigned char *packed = variant / 2 == 1 ? gzipped(file, size, &packed_size)
					      : variant / 2 == 2 ? zstandard(file, size, &packed_size) : NULL;
			struct sl_points *p = points_of(packed ? packed : file, packed ? packed_size : size, "a", NULL);
			assert_values(p, 2, 3, wanted);
			assert_int_equal(p->type, t ? SL_POINTS_F32 : SL_POINTS_U8);
			assert_int_equal(p->n_user, 2);
			assert_null(p->user);
			sl_points_destroy(p);
			free(packed);
		}
}

static void half_precision_is_exact(void **state)
{
	/* smallest subnormal, largest subnormal, smallest normal, largest, -0.5, 1/3 rounded */
	static const uint16_t half[6] = {0x0001, 0x03ff, 0x0400, 0x7bff, 0xb800, 0x3555};
	static const float wanted[6] = {0x1p-24f, 0x1.ff8p-15f, 0x1p-14f, 65504, -0.5f, 0.333251953125f};
	unsigned char file[256];
	size_t size = make_npy(file, "<f2", false, "(6,)", half, sizeof half);
	struct sl_points *p = points_of(file, size, "a.npy", NULL);
	assert_values(p, 6, 1, wanted);
	sl_points_destroy(p);
}

static void rows_that_are_not_finite_are_dropped_when_asked_for(void **state)
{
	float x[5][2] = {{1, 2}, {NAN, 3}, {4, 5}, {6, -INFINITY}, {7, 8}};
	static const float wanted[] = {1, 2, 4, 5, 7, 8};
	for (int fortran = 0; fortran < 2; fortran++) {
		float turned[10];
		unsigned char file[256];
		for (int i = 0; i < 5; i++)
			for (int k = 0; k < 2; k++)
				turned[fortran ? k * 5 + i : i * 2 + k] = x[i][k];
		size_t size = make_npy(file, "<f4", fortran, "(5, 2)", turned, sizeof turned);
		struct sl_input_options drop = {.drop_not_finite = true};
		struct sl_points *p = points_of(file, size, "a.npy", &drop);
		assert_values(p, 3, 2, wanted);
		assert_int_equal(p->n_user, 5);
		assert_int_equal(p->report.not_finite, 2);
		assert_true(p->user[0] == 0 && p->user[1] == 2 && p->user[2] == 4);
		sl_points_destroy(p);
		struct sl_input in;
		struct sl_error err;
		assert_int_equal(read_input(&in, NULL, file, size, "a.npy", &err), SL_BADDATA);
		assert_non_null(strstr(err.detail, fortran ? "Row 1, column 0" : "Row 1, column 0"));
	}
}

static void oddities_are_counted(void **state)
{
	struct sl_points *p = text_of("1,2,0,5\n0,2,-0,0\n1,2,0,5\n0,2,0,0\n1,2,-0,5\n", NULL);
	assert_int_equal(p->report.duplicates, 3);
	assert_int_equal(p->report.zero_rows, 0);
	assert_int_equal(p->report.constant_columns, 2);
	sl_points_destroy(p);
	p = text_of("0,0,0,0\n1,0,0,0\n0,-0,0,0\n", NULL);
	assert_int_equal(p->report.duplicates, 1);
	assert_int_equal(p->report.zero_rows, 2);
	assert_int_equal(p->report.constant_columns, 3);
	sl_points_destroy(p);
	unsigned char file[256], bytes[40] = {0};
	bytes[39] = 1;
	size_t size = make_npy(file, "|u1", false, "(4, 10)", bytes, 40);
	p = points_of(file, size, "a.npy", NULL);
	assert_int_equal(p->report.duplicates, 2);
	assert_int_equal(p->report.zero_rows, 3);
	assert_int_equal(p->report.constant_columns, 9);
	sl_points_destroy(p);
}

/* ---- archives --------------------------------------------------------------------------- */

static void archives_of_arrays(void **state)
{
	static const float x[] = {1, 2, 3, 4, 5, 6};
	static const int32_t labels[] = {7, -1, 7};
	static const uint32_t names[3][3] = {{'a'}, {0xe9, 'b'}, {0x1f600, 'c', 'd'}};
	static const char *const titles[] = {"X", "x", "points", "data", "arr_0"};
	for (int k = 0; k < 5; k++) {
		char member[32];
		zip_source_t *source;
		zip_t *zip = start_zip(&source);
		snprintf(member, sizeof member, "%s.npy", titles[k]);
		add_array(zip, "other.npy", "<f4", "(6,)", x, sizeof x, false);
		add_array(zip, member, "<f4", "(3, 2)", x, sizeof x, k & 1);
		add_array(zip, "names.npy", "<U3", "(3,)", names, sizeof names, true);
		add_array(zip, k == 2 ? "y.npy" : "labels.npy", "<i4", "(3,)", labels, sizeof labels, true);
		struct buffer b = end_zip(zip, source);
		struct sl_points *p = points_of(b.bytes, b.size, "a.npz", NULL);
		assert_values(p, 3, 2, x);
		assert_string_equal(p->name_bytes + p->name_at[1], "\xc3\xa9" "b");
		assert_string_equal(p->name_bytes + p->name_at[2], "\xf0\x9f\x98\x80" "cd");
		assert_int_equal(p->labels, 2);
		assert_string_equal(p->label_name[p->label[0]], "7");
		assert_string_equal(p->label_name[p->label[1]], "-1");
		assert_int_equal(p->label[0], p->label[2]);
		sl_points_destroy(p);
		free(b.bytes);
	}
}

/* ---- texts -------------------------------------------------------------------------------- */

static void texts_with_and_without_a_header(void **state)
{
	static const float wanted[] = {1, 2.5f, -3e4f, 4, 5, 6};
	static const char *const texts[] = {
		"1,2.5,-3e4\n4,5,6\n",
		"1\t2.5\t-3e4\n4\t5\t6",
		"1;2.5;-3e4\r\n4;5;6\r\n",
		"  1   2.5 -3e4 \n\n 4 5  6\n",
		"# a comment\nx,y,z\n1,2.5,-3e4\n# another\n4,5,6\n",
		"\xef\xbb\xbf" "\"x\",\"y, \"\"z\"\"\",z\n\"1\",2.5,-3e4\n4, \"5\" ,6\n",
		"0,1,2\n1,2.5,-3e4\n4,5,6\n",
	};
	for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
		struct sl_points *p = text_of(texts[k], NULL);
		assert_values(p, 2, 3, wanted);
		assert_null(p->name_bytes);
		assert_null(p->label);
		sl_points_destroy(p);
	}
}

static void columns_of_names_and_labels(void **state)
{
	static const float wanted[] = {1, 2, 3, 4, 5, 6};
	static const struct {
		const char *text, *name_column, *label_column;
		bool names, labels;
	} cases[] = {
		{"name,x,y,class\na,1,2,u\nb,3,4,v\nc,5,6,u\n", NULL, NULL, true, true},
		{"x,y,label,id\n1,2,u,a\n3,4,v,b\n5,6,u,c\n", NULL, NULL, true, true},
		{"a,1,2,u\nb,3,4,v\nc,5,6,u\n", NULL, NULL, true, true},
		{"u,1,2\nv,3,4\nu,5,6\n", NULL, NULL, false, true},
		{"a,1,2\nb,3,4\nc,5,6\n", NULL, NULL, true, false},
		{"x,y,kind\n1,2,u\n3,4,v\n5,6,u\n", NULL, NULL, false, true},
		{"\"\",\"V1\",\"V2\"\n\"a\",1,2\n\"b\",3,4\n\"c\",5,6\n", NULL, NULL, true, false},
		{"V1,V2\na,1,2\nb,3,4\nc,5,6\n", NULL, NULL, true, false},
		{"x,kind,y\n1,u,2\n3,v,4\n5,u,6\n", NULL, "kind", false, true},
		{"1,u,2\n3,v,4\n5,u,6\n", NULL, "2", false, true},
		{"a,1,u,2\nb,3,v,4\nc,5,u,6\n", "1", "3", true, true},
	};
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		struct sl_input_options options = {.name_column = cases[k].name_column, .label_column = cases[k].label_column};
		struct sl_points *p = text_of(cases[k].text, &options);
		assert_values(p, 3, 2, wanted);
		assert_int_equal(p->name_bytes != NULL, cases[k].names);
		assert_int_equal(p->label != NULL, cases[k].labels);
		if (cases[k].names) {
			assert_string_equal(p->name_bytes + p->name_at[0], "a");
			assert_string_equal(p->name_bytes + p->name_at[2], "c");
		}
		if (cases[k].labels) {
			assert_int_equal(p->labels, 2);
			assert_string_equal(p->label_name[p->label[1]], "v");
			assert_int_equal(p->label[0], p->label[2]);
		}
		sl_points_destroy(p);
	}
}

static void further_columns_of_labels(void **state)
{
	static const float wanted[] = {1, 2, 3, 4, 5, 6};
	struct sl_input_options options = {.label_column = "c,a"};
	struct sl_points *p = text_of("a,x,b,y,c\nu,1,p,2,r\nv,3,q,4,s\nu,5,q,6,s\n", NULL);
	assert_values(p, 3, 2, wanted);
	assert_string_equal(p->label_name[p->label[0]], "r");
	assert_int_equal(p->more_count, 2);
	assert_string_equal(p->more[0].title, "a");
	assert_string_equal(p->more[1].title, "b");
	assert_string_equal(p->more[1].label_name[p->more[1].label[2]], "q");
	sl_points_destroy(p);
	p = text_of("a,x,b,y,c\nu,1,p,2,r\nv,3,q,4,s\nu,5,q,6,s\n", &options);
	assert_int_equal(p->labels, 2);
	assert_string_equal(p->label_name[p->label[0]], "r");
	assert_int_equal(p->more_count, 1);
	assert_string_equal(p->more[0].title, "a");
	sl_points_destroy(p);
}

static void numbers_that_are_not_known(void **state)
{
	static const float wanted[] = {1, 2, 7, 8};
	struct sl_input_options drop = {.drop_not_finite = true};
	struct sl_points *p = text_of("x,y,class\n1,2,u\n3,,v\nNA,4,w\n7,8,u\nnan,1e99,v\n", &drop);
	assert_values(p, 2, 2, wanted);
	assert_int_equal(p->n_user, 5);
	assert_int_equal(p->report.not_finite, 3);
	assert_int_equal(p->labels, 3);
	assert_string_equal(p->label_name[p->label[2]], "w");
	sl_points_destroy(p);
}

/* A column that is missing in the first row is what its first value is. Comments, quotes and ends of lines count. */
static void later_rows_tell_what_a_column_is(void **state)
{
	static const char *const texts[] = {
		"x,y,kind\n1,2,\n3,4,\n5,6,u\n", "1,2,\n3,4,\n5,6,u\n", "x,y,kind\r\n1,2,\r\n3,4,\r\n5,6,\"u\"\r\n",
		"# a comment\n\nx,y,kind\n1,2,\n# 3,4\n3,4,\n\n5,6,u", "x;y;kind\n1;2;\n3;4;\n5;6;u\n",
		"\"x\",\"y\",\"kind\"\n\"1\",\"2\",\"\"\n3,4,\n5,6,u\n",
	};
	static const float wanted[] = {1, 2, 3, 4, 5, 6}, numbers[] = {1, 7, 8};
	struct sl_input_options drop = {.drop_not_finite = true};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct sl_points *p = text_of(texts[i], NULL);
		assert_values(p, 3, 2, wanted);
		assert_string_equal(p->label_name[p->label[2]], "u");
		assert_int_equal(p->label[0], SL_UNLABELLED);
		sl_points_destroy(p);
	}
	struct sl_points *p = text_of("x,y,z\n1,2,\n1,7,8\n1,7,8\n", &drop);
	assert_values(p, 2, 3, (float[]){numbers[0], numbers[1], numbers[2], 1, 7, 8});
	assert_null(p->label);
	sl_points_destroy(p);
}

static void equal_names_stay(void **state)
{
	struct sl_points *p = text_of("name,x,y\na,1,2\na,3,4\nb,5,6\n", NULL);
	assert_string_equal(p->name_bytes + p->name_at[1], "a");
	assert_string_equal(p->name_bytes + p->name_at[2], "b");
	sl_points_destroy(p);
}

/* ---- recognition ---------------------------------------------------------------------------- */

static void what_a_file_is_taken_for(void **state)
{
	static const struct {
		const char *text, *name;
		enum sl_input_kind kind;
	} cases[] = {
		{"1,2\n2,3\n", "a.csv", SL_INPUT_GRAPH}, {"1,2,0.5\n2,3,0.25\n", "a.csv", SL_INPUT_GRAPH},
		{"a b\nb c\n", "a.txt", SL_INPUT_GRAPH}, {"source,target\na,b\n", "a.csv", SL_INPUT_GRAPH},
		{"1.5,2\n2,3\n", "a.csv", SL_INPUT_POINTS}, {"x,y\n1.0,2.0\n2,3\n", "a.csv", SL_INPUT_POINTS},
		{"1,2,3,4\n2,3,4,5\n", "a.csv", SL_INPUT_POINTS}, {"# x\n1 2 3 4\n2 3 4 5\n", "a.txt", SL_INPUT_POINTS},
		{MTX "pattern general\n2 2 1\n1 2\n", "a.mtx", SL_INPUT_GRAPH},
		{"1.5,2,3,4\n2,3,4,5\n", "a.mtx", SL_INPUT_GRAPH},
	};
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		struct sl_input in;
		struct sl_error err;
		int rc = read_input(&in, NULL, cases[k].text, strlen(cases[k].text), cases[k].name, &err);
		assert_int_equal(in.kind, cases[k].kind);
		assert_int_equal(rc == 0, k != 9);
		sl_input_finish(&in);
	}
	for (int kind = 0; kind <= SL_INPUT_NEIGHBOURS; kind++) {
		enum sl_input_kind back;
		assert_int_equal(sl_input_kind_parse(sl_input_kind_name((enum sl_input_kind)kind), &back, NULL), 0);
		assert_int_equal(back, kind);
	}
}

static void formats_by_name(void **state)
{
	static const struct {
		const char *format;
		enum sl_input_kind given, then;
		int rc;
	} cases[] = {
		{"auto", SL_INPUT_AUTO, SL_INPUT_AUTO, 0}, {"csv", SL_INPUT_AUTO, SL_INPUT_POINTS, 0},
		{"npy", SL_INPUT_POINTS, SL_INPUT_POINTS, 0}, {"npz", SL_INPUT_NEIGHBOURS, SL_INPUT_NEIGHBOURS, 0},
		{"edges", SL_INPUT_AUTO, SL_INPUT_GRAPH, 0}, {"mtx", SL_INPUT_NEIGHBOURS, SL_INPUT_NEIGHBOURS, 0},
		{"csv", SL_INPUT_GRAPH, SL_INPUT_GRAPH, SL_BADPARAM}, {"edges", SL_INPUT_POINTS, SL_INPUT_POINTS, SL_BADPARAM},
		{"mtx", SL_INPUT_POINTS, SL_INPUT_POINTS, 0}, {"xls", SL_INPUT_AUTO, SL_INPUT_AUTO, SL_BADPARAM},
	};
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		struct sl_input_options options = {.kind = cases[k].given};
		struct sl_error err = {0};
		assert_int_equal(sl_input_format_parse(cases[k].format, &options, &err), cases[k].rc);
		assert_int_equal(options.kind, cases[k].then);
		assert_string_equal(err.pointer, cases[k].rc ? "/format" : "");
	}
}

/* ---- neighbours -------------------------------------------------------------------------------- */

static struct buffer neighbour_arrays(bool wide)
{
	static const int32_t index[] = {0, 2, 1, 1, 0, -1, 0, 2, 1};
	static const float distance[] = {0, 3, 1, 0, 1, 9, 3, 0, 3};
	int64_t index8[9];
	double distance8[9];
	zip_source_t *source;
	zip_t *zip = start_zip(&source);
	for (int k = 0; k < 9; k++) {
		index8[k] = index[k];
		distance8[k] = (double)distance[k];
	}
	add_array(zip, "indices.npy", wide ? "<i8" : "<i4", "(3, 3)", wide ? (const void *)index8 : index, wide ? 72 : 36,
			true);
	add_array(zip, "distances.npy", wide ? "<f8" : "<f4", "(3, 3)", wide ? (const void *)distance8 : distance,
		  wide ? 72 : 36, false);
	return end_zip(zip, source);
}

static void assert_row(const struct sl_neighbours *nb, uint32_t i, uint32_t count, const uint32_t *index, const float
		*distance)
{
	for (uint32_t e = 0; e < nb->k; e++) {
		assert_int_equal(nb->index[i * nb->k + e], e < count ? index[e] : SL_NO_NEIGHBOUR);
		assert_true(nb->distance[i * nb->k + e] == (e < count ? distance[e] : INFINITY));
	}
}

static void neighbours_out_of_two_arrays(void **state)
{
	for (int wide = 0; wide < 2; wide++) {
		struct buffer b = neighbour_arrays(wide);
		struct sl_input in;
		struct sl_error err;
		assert_int_equal(read_input(&in, NULL, b.bytes, b.size, "a.npz", &err), 0);
		assert_int_equal(in.kind, SL_INPUT_NEIGHBOURS);
		const struct sl_neighbours *nb = in.neighbours;
		assert_int_equal(nb->n, 3);
		assert_int_equal(nb->k, 2);
		assert_int_equal(nb->short_rows, 1);
		assert_row(nb, 0, 2, (uint32_t[]){1, 2}, (float[]){1, 3});
		assert_row(nb, 1, 1, (uint32_t[]){0}, (float[]){1});
		assert_row(nb, 2, 2, (uint32_t[]){0, 1}, (float[]){3, 3});
		assert_string_equal(nb->method, "given");
		sl_input_finish(&in);
		free(b.bytes);
	}
}

/* Distances 0 (equal points) are there; entry (i, j) belongs to row i; the diagonal does not count. */
static void neighbours_out_of_a_distance_matrix(void **state)
{
	static const char mtx[] = MTX "real general\n4 4 7\n1 2 0\n1 3 5\n2 1 0\n2 2 0\n3 4 2\n3 1 4\n4 3 2\n";
	static const int32_t ptr[] = {0, 2, 4, 6, 7}, col[] = {1, 2, 0, 1, 3, 0, 2};
	static const double data[] = {0, 5, 0, 0, 2, 4, 2};
	static const int64_t shape[] = {4, 4};
	zip_source_t *source;
	zip_t *zip = start_zip(&source);
	add_array(zip, "indptr.npy", "<i4", "(5,)", ptr, sizeof ptr, true);
	add_array(zip, "indices.npy", "<i4", "(7,)", col, sizeof col, true);
	add_array(zip, "format.npy", "|S3", "()", "csr", 3, true);
	add_array(zip, "shape.npy", "<i8", "(2,)", shape, sizeof shape, true);
	add_array(zip, "data.npy", "<f8", "(7,)", data, sizeof data, true);
	struct buffer b = end_zip(zip, source);
	struct sl_input_options options = {.kind = SL_INPUT_NEIGHBOURS};
	for (int k = 0; k < 2; k++) {
		struct sl_input in;
		struct sl_error err;
		assert_int_equal(read_input(&in, &options, k ? b.bytes : (const void *)mtx, k ? b.size : sizeof mtx - 1, "a",
				&err), 0);
		const struct sl_neighbours *nb = in.neighbours;
		assert_int_equal(nb->n, 4);
		assert_int_equal(nb->k, 2);
		assert_int_equal(nb->short_rows, 2);
		assert_row(nb, 0, 2, (uint32_t[]){1, 2}, (float[]){0, 5});
		assert_row(nb, 1, 1, (uint32_t[]){0}, (float[]){0});
		assert_row(nb, 2, 2, (uint32_t[]){3, 0}, (float[]){2, 4});
		assert_row(nb, 3, 1, (uint32_t[]){2}, (float[]){2});
		sl_input_finish(&in);
	}
	free(b.bytes);
	static const char ones[] = MTX "integer symmetric\n3 3 2\n2 1 1\n3 2 1\n";
	struct sl_input in;
	struct sl_error err;
	assert_int_equal(read_input(&in, &options, ones, sizeof ones - 1, "a", &err), 0);
	assert_row(in.neighbours, 1, 2, (uint32_t[]){0, 2}, (float[]){1, 1});
	sl_input_finish(&in);
}

/* ---- limits and labels ---------------------------------------------------------------------------- */

static void limits_hold(void **state)
{
	static const float x[12] = {1, 2, 3};
	unsigned char file[256];
	size_t size = make_npy(file, "<f4", false, "(4, 3)", x, sizeof x);
	static const char text[] = "1,2,3.5\n4,5,6\n7,8,9\n1,2,3\n";
	static const struct sl_read_options limits[] = {{.max_nodes = 3}, {.max_entries = 11}, {.max_bytes = 20}};
	const int cancel = 1;
	for (int k = 0; k < 4; k++)
		for (int table = 0; table < 2; table++) {
			struct sl_input_options options = {.kind = SL_INPUT_POINTS};
			struct sl_input in;
			struct sl_error err;
			options.read = k < 3 ? limits[k] : (struct sl_read_options){.cancel = &cancel};
			assert_int_equal(read_input(&in, &options, table ? (const void *)text : file, table ? sizeof text - 1 :
					size,
						    "a", &err), k < 3 ? SL_TOOBIG : SL_CANCELLED);
		}
	struct sl_input_options enough = {.kind = SL_INPUT_POINTS, .read = {.max_nodes = 4, .max_entries = 12}};
	sl_points_destroy(points_of(file, size, "a", &enough));
	sl_points_destroy(points_of(text, sizeof text - 1, "a", &enough));
}

static void labels_of_points(void **state)
{
	struct sl_input_options drop = {.drop_not_finite = true};
	struct sl_points *p = text_of("1,2.5\nnan,4\n5,6\n", &drop);
	struct sl_source *s;
	struct sl_error err;
	assert_int_equal(sl_source_open_memory(&s, "u\nv\nu\n", 6, "labels", &err), 0);
	assert_int_equal(sl_points_read_labels(p, NULL, s, &err), 0);
	sl_source_close(s);
	assert_int_equal(p->labels, 2);
	assert_string_equal(p->label_name[p->label[1]], "v");
	assert_int_equal(sl_source_open_memory(&s, "u\nv\n", 4, "labels", &err), 0);
	assert_int_equal(sl_points_read_labels(p, NULL, s, &err), SL_BADDATA);
	sl_source_close(s);
	assert_int_equal(p->labels, 2);
	sl_points_destroy(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_of_array),
		cmocka_unit_test(half_precision_is_exact),
		cmocka_unit_test(rows_that_are_not_finite_are_dropped_when_asked_for),
		cmocka_unit_test(oddities_are_counted),
		cmocka_unit_test(archives_of_arrays),
		cmocka_unit_test(texts_with_and_without_a_header),
		cmocka_unit_test(columns_of_names_and_labels),
		cmocka_unit_test(further_columns_of_labels), cmocka_unit_test(numbers_that_are_not_known),
		cmocka_unit_test(later_rows_tell_what_a_column_is),
		cmocka_unit_test(equal_names_stay),
		cmocka_unit_test(what_a_file_is_taken_for),
		cmocka_unit_test(formats_by_name),
		cmocka_unit_test(neighbours_out_of_two_arrays),
		cmocka_unit_test(neighbours_out_of_a_distance_matrix),
		cmocka_unit_test(limits_hold),
		cmocka_unit_test(labels_of_points),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
