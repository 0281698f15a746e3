/* SciPy archives, labels and layouts: reading NumPy arrays and writing them. */
#include <locale.h>

#include "core/formats/layout.h"
#include "core/formats/numpy/npy.h"
#include "tests/unit/archive_util.h"

/* ---- SciPy archives ---------------------------------------------------------------- */

static void npz_variants(void **state)
{
	static const char *const formats[] = {"csr", "csc", "coo"};
	struct sl_graph *wanted = graph_of(MTX "real general\n3 3 4\n1 2 2\n2 3 .5\n3 1 3\n3 2 1\n", NULL, "a.mtx"), *g;
	struct sl_error err;

	for (int k = 0; k < 24; k++) {
		struct buffer b = small_archive(formats[k % 3], k / 3 & 1, k / 6 & 1, k / 12 & 1);
		size_t size;
		assert_int_equal(read_memory(&g, NULL, b.bytes, b.size, "a.npz", &err), 0);
		assert_sound(g);
		assert_same_graph(wanted, g);
		assert_int_equal(g->report.entries_read, 4);
		sl_graph_destroy(g);
		unsigned char *packed = k & 1 ? gzipped(b.bytes, b.size, &size) : zstandard(b.bytes, b.size, &size);
		assert_int_equal(read_memory(&g, NULL, packed, size, "a.npz", &err), 0);
		assert_same_graph(wanted, g);
		sl_graph_destroy(g);
		free(packed);
		free(b.bytes);
	}
	sl_graph_destroy(wanted);
}

/* Every type of weight, big-endian too: 0, 1, 2 where the type can. */
static void npz_types(void **state)
{
	static const struct {
		const char *descr;
		unsigned char data[32];
		size_t size;
		float sum;
	} types[] = {
		{"|b1", {0, 1, 1}, 3, 2},
		{"|u1", {0, 1, 200}, 3, 201},
		{"|i1", {0, 1, 100}, 3, 101},
		{"<u2", {0, 0, 1, 0, 0, 1}, 6, 257},
		{"<i2", {0, 0, 1, 0, 0, 1}, 6, 257},
		{">i2", {0, 0, 0, 1, 1, 0}, 6, 257},
		{"<u4", {0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0}, 12, 257},
		{"<i8", {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 24, 257},
		{"<u8", {0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1}, 24, 257},
		{">f4", {0, 0, 0, 0, 0x3f, 0x80, 0, 0, 0x40, 0, 0, 0}, 12, 3},
		{">f8", {0, 0, 0, 0, 0, 0, 0, 0, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0, 0x40}, 24, 3},
	};
	static const int32_t ptr[] = {0, 1, 2, 3}, col[] = {1, 2, 0};
	static const int64_t shape[] = {3, 3};

	for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
		zip_source_t *source;
		zip_t *zip = start_zip(&source);
		struct sl_graph *g;
		struct sl_error err;
		float sum = 0;

		add_array(zip, "indptr.npy", "<i4", "(4,)", ptr, 16, false);
		add_array(zip, "indices.npy", "<i4", "(3,)", col, 12, false);
		add_array(zip, "format.npy", "<U3", "()", "c\0\0\0s\0\0\0r\0\0\0", 12, false);
		add_array(zip, "shape.npy", "<i8", "(2,)", shape, 16, false);
		add_array(zip, "data.npy", types[k].descr, "(3,)", types[k].data, types[k].size, true);
		struct buffer b = end_zip(zip, source);
		assert_int_equal(read_memory(&g, NULL, b.bytes, b.size, "a.npz", &err), 0);
		assert_int_equal(g->m, 2);
		assert_int_equal(g->report.zero_weights, 1);
		for (uint64_t e = 0; e < g->m; e++)
			sum += g->weight ? g->weight[e] : 1;
		assert_true(sum == types[k].sum);
		sl_graph_destroy(g);
		free(b.bytes);
	}
}

static void graphs_have_names(void **state)
{
	static const char *const formats[] = {"csr", "csc", "coo"};
	static const struct { const char *descr, *shape, *bytes; size_t size; } names[] = {
		{"|S3", "(3,)", "ab\0c\xc3\xa9" "ab\0", 9}, {"<i4", "(3,)", "\7\0\0\0\xff\xff\xff\xff\7\0\0\0", 12},
		{"|S3", "(2,)", "abcdef", 6}, {"<f4", "(3,)", "abcdefabcdef", 12}, {"|S3", "(3,)", "ab\0\xff\xfe\0ab\0", 9},
	};
	for (size_t k = 0; k < sizeof names / sizeof *names * 3; k++) {
		zip_source_t *source;
		zip_t *zip = small_zip(formats[k % 3], false, false, false, &source);
		struct sl_graph *g = NULL;
		struct sl_error err;
		add_array(zip, "names.npy", names[k / 3].descr, names[k / 3].shape, names[k / 3].bytes, names[k / 3].size,
			  k & 1);
		struct buffer b = end_zip(zip, source);
		int rc = read_memory(&g, NULL, b.bytes, b.size, "a.npz", &err);
		assert_int_equal(rc, k / 3 < 2 ? 0 : SL_BADDATA);
		if (rc)
			assert_non_null(strstr(err.detail, k / 3 < 4 ? "a string or an integer for each of the 3 nodes" :
						"Element 1 (counted from 0) is not valid UTF-8"));
		for (uint32_t i = 0; !rc && i < 3; i++)
			assert_string_equal(sl_graph_name(g, i), k / 3 ? i == 1 ? "-1" : "7" : i == 1 ? "c\xc3\xa9" : "ab");
		sl_graph_destroy(g);
		free(b.bytes);
	}
}

/* ---- labels ----------------------------------------------------------------------------- */

static void assert_labels(const struct sl_graph *g, const char *const *wanted)
{
	assert_non_null(g->label);
	for (uint32_t i = 0; i < g->n; i++) {
		assert_true(g->label[i] < g->labels || g->label[i] == SL_UNLABELLED);
		assert_string_equal(sl_graph_label(g, i), wanted[i]);
	}
}

static void labels_of_every_kind(void **state)
{
	struct sl_graph *g = graph_of("a,b\nb,c\nc,d\n", NULL, "a.csv");
	struct sl_error err;
	char npy[512];

	static const char *const colours[] = {"red", "blue", "red", "light green"};
	static const char *const texts[] = {
		"red\nblue\nred\nlight green\n", "red\r\nblue\r\nred\r\nlight green", "red\nblue\nred\nlight green\n\n\n",
		"a\tred\nc\tred\nb\tblue\nd\tlight green\n", "d,light green\na,red\nc,red\nb,blue\n",
		"node,colour\nd,\"light green\"\na,red\nc,red\nb,blue\n",
	};
	for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
		size_t size;
		unsigned char *packed = gzipped(texts[k], strlen(texts[k]), &size);
		assert_int_equal(read_labels(g, texts[k], strlen(texts[k]), &err), 0);
		assert_labels(g, colours);
		assert_int_equal(g->labels, 3);
		assert_int_equal(read_labels(g, packed, size, &err), 0);
		assert_labels(g, colours);
		free(packed);
	}
	assert_int_equal(read_labels(g, "a\tred\nd\tblue\n", 13, &err), 0);
	assert_labels(g, (const char *const[]){"red", "", "", "blue"});
	/* commas are text when no name stands before them */
	assert_int_equal(read_labels(g, "T cell, CD4\nT cell, CD8\nB cell\nB cell\n", 38, &err), 0);
	assert_labels(g, (const char *const[]){"T cell, CD4", "T cell, CD8", "B cell", "B cell"});

	int length = sprintf(npy + 10, "{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }\n");
	memcpy(npy, "\x93NUMPY\x01\x00", 8);
	npy[8] = (char)length;
	npy[9] = 0;
	memcpy(npy + 10 + length, "\x07\x02\x07\x0b", 4);
	assert_int_equal(read_labels(g, npy, 14 + (size_t)length, &err), 0);
	assert_labels(g, (const char *const[]){"7", "2", "7", "11"});
	assert_string_equal(g->label_name[0], "2");
	assert_string_equal(g->label_name[2], "11");

	length = sprintf(npy + 10, "{'descr': '<i8', 'fortran_order': True, 'shape': (4, 1), }\n");
	npy[8] = (char)length;
	memcpy(npy + 10 + length, (const int64_t[]){-1, 5, INT64_MIN, 5}, 32);
	assert_int_equal(read_labels(g, npy, 42 + (size_t)length, &err), 0);
	assert_labels(g, (const char *const[]){"-1", "5", "-9223372036854775808", "5"});

	/* a failure leaves what was there */
	assert_int_equal(read_labels(g, "x\ny\n", 4, &err), SL_BADDATA);
	assert_labels(g, (const char *const[]){"-1", "5", "-9223372036854775808", "5"});
	sl_graph_destroy(g);
}

/* ---- layouts ------------------------------------------------------------------------------ */

static int read_layout(float **y, uint64_t *n, uint64_t *d, const void *bytes, size_t size, struct sl_error *err)
{
	struct sl_source *s;
	int rc;

	assert_int_equal(sl_source_open_memory(&s, bytes, size, "y.npy", err), 0);
	rc = sl_npy_read(y, n, d, NULL, s, err);
	sl_source_close(s);
	return rc;
}

static void layouts_survive_npy(void **state)
{
	float y[15], *back;
	uint64_t n, d;
	struct sl_error err;

	for (int k = 0; k < 15; k++)
		y[k] = (float)k / 7 - 1e-20f;
	for (int dims = 1; dims <= 3; dims++) {
		void *file;
		size_t size;
		uint32_t count = 15 / (uint32_t)dims;
		assert_int_equal(sl_layout_npy(&file, &size, y, count, dims, &err), 0);
		assert_int_equal(size, 128 + 4 * count * (uint32_t)dims);
		assert_int_equal(read_layout(&back, &n, &d, file, size, &err), 0);
		assert_int_equal(n, count);
		assert_int_equal(d, dims);
		assert_memory_equal(back, y, 4 * count * (uint32_t)dims);
		free(back);
		/* through a file too */
		FILE *f = tmpfile();
		char *again = malloc(size);
		assert_int_equal(sl_layout_write_npy(f, y, count, dims, &err), 0);
		rewind(f);
		assert_int_equal(fread(again, 1, size, f), size);
		assert_memory_equal(again, file, size);
		fclose(f);
		free(again);
		free(file);
	}
}

static void npy_orders_and_versions(void **state)
{
	static const double fortran[] = {1, 2, 3, 4, 5, 6};  /* columns of [3][2] */
	char file[512];
	float *y;
	uint64_t n, d;
	struct sl_error err;

	for (int version = 1; version <= 3; version++) {
		int at = version == 1 ? 10 : 12;
		int length = sprintf(file + at, "{\"shape\": (3, 2), 'fortran_order':True,'descr': '<f8'}");
		memcpy(file, "\x93NUMPY", 6);
		file[6] = (char)version;
		file[7] = 0;
		memcpy(file + 8, (const uint32_t[]){(uint32_t)length}, version == 1 ? 2 : 4);
		memcpy(file + at + length, fortran, sizeof fortran);
		assert_int_equal(read_layout(&y, &n, &d, file, (size_t)(at + length) + sizeof fortran, &err), 0);
		assert_int_equal(n, 3);
		assert_int_equal(d, 2);
		assert_memory_equal(y, ((const float[]){1, 4, 2, 5, 3, 6}), 24);
		free(y);
	}
}

static void csv_can_be_read_back(void **state)
{
	static const float y[] = {0.1f, -1.5f, 1e-10f, 3.4e38f, 123456.789f, 0};
	struct sl_graph *g = graph_of("\"a,b\",\"c \"\"d\"\"\"\nx,\"a,b\"\n", NULL, "a.csv");
	struct sl_error err;
	char *csv;
	size_t size;

	assert_int_equal(read_labels(g, "u\nv,w\nu\n", 8, &err), 0);
	/* with a decimal comma in force, if the machine has such a locale */
	setlocale(LC_NUMERIC, "de_DE.UTF-8");
	assert_int_equal(sl_layout_csv(&csv, &size, g, y, 3, 2, &err), 0);
	setlocale(LC_NUMERIC, "C");
	assert_int_equal(strlen(csv), size);
	assert_string_equal(csv,
			"node,x,y,label\n\"a,b\",0.100000001,-1.5,u\n\"c \"\"d\"\"\",1.00000001e-10,3.39999995e+38,\"v,w\"\n"
				 "x,123456.789,0,u\n");
	const char *number = strstr(csv, "123456.789");
	assert_true(strtof(number, NULL) == y[4]);
	free(csv);
	assert_int_equal(sl_layout_csv(&csv, &size, NULL, y, 6, 1, &err), 0);
	assert_true(!strncmp(csv, "node,x\n0,0.1", 12));
	free(csv);
	assert_int_equal(sl_layout_csv(&csv, &size, NULL, y, 2, 3, &err), 0);
	assert_true(!strncmp(csv, "node,x,y,z\n0,", 13));
	free(csv);
	sl_graph_destroy(g);
}

/* A full disk is an error, not a short file. */
static void writing_can_fail(void **state)
{
	static const float y[100000];
	struct sl_error err;
	FILE *full = fopen("/dev/full", "w");

	if (!full) {
		print_message("skipped: no /dev/full\n");
		skip();
	}
	assert_int_equal(sl_layout_write_npy(full, y, 100000, 1, &err), SL_IO);
	fclose(full);
	full = fopen("/dev/full", "w");
	assert_int_equal(sl_layout_write_csv(full, NULL, y, 100000, 1, &err), SL_IO);
	fclose(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(npz_variants),
		cmocka_unit_test(npz_types),
		cmocka_unit_test(graphs_have_names), cmocka_unit_test(labels_of_every_kind),
		cmocka_unit_test(layouts_survive_npy),
		cmocka_unit_test(npy_orders_and_versions),
		cmocka_unit_test(csv_can_be_read_back),
		cmocka_unit_test(writing_can_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
