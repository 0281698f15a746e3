/* Readers and writers on good files: every format and variant, plain and compressed. */
#include <fcntl.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <unistd.h>
#include <zip.h>

#include "core/formats/layout.h"
#include "core/formats/npy.h"
#include "core/formats/number.h"
#include "tests/unit/formats_util.h"

/* ---- numbers ---------------------------------------------------------------- */

static void check_number(const char *text)
{
	char line[512];
	const char *p = line;
	float ours = -1, theirs = strtof(text, NULL);

	snprintf(line, sizeof line, "%s\n", text);
	assert_true(sl__parse_float(&p, &ours));
	assert_int_equal(*p, '\n');
	if (memcmp(&ours, &theirs, sizeof ours))
		fail_msg("%s: %.9g instead of %.9g", text, (double)ours, (double)theirs);
}

static void numbers_are_the_nearest_floats(void **state)
{
	static const char *const texts[] = {
		"0", "-0", "1", "+1", "1.", ".5", "-.5e1", "1e10", "1E+10", "1e-10", "3.4028235e38", "3.4028236e38", "1e39", "-1e39",
		"1.17549435e-38", "1e-45", "7e-46", "7.1e-46", "1e-60", "16777217", "16777217.0000000001", "16777219",
		"0.033057851239669422", "8388608.5", "8388609.5", "1.00000005960464477539", "1.000000059604644775390625",
		"1.0000000596046447753906251", "123456789012345678901234567890", "0.00000000000000000000000000001",
		"1e99999", "1e-99999", "0e99999", "00000000000000000000000000001.5", "9007199254740993", "33554433.5",
	};
	char text[64];
	uint64_t seed = 1;

	for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
		check_number(texts[k]);
	for (int k = 0; k < 200000; k++) {
		uint32_t bits;
		float f;
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		bits = (uint32_t)(seed >> 32) & 0x7fffffff;
		memcpy(&f, &bits, 4);
		if (!isfinite(f))
			continue;
		snprintf(text, sizeof text, "%.*g", 1 + k % 20, (double)f);
		check_number(text);
		/* half way between two floats, and next to it */
		snprintf(text, sizeof text, "%.17g", ((double)f + (double)nextafterf(f, FLT_MAX)) / 2);
		check_number(text);
		snprintf(text, sizeof text, "%.*f", k % 12, (double)(bits % 100000) / 997);
		check_number(text);
	}
}

static void numbers_know_where_they_end(void **state)
{
	const char *p, *text;
	uint64_t u;
	float f;

	p = text = "12e+x";
	assert_true(sl__parse_float(&p, &f) && f == 12 && p == text + 2);
	p = text = "x";
	assert_false(sl__parse_float(&p, &f));
	assert_ptr_equal(p, text);
	p = text = ".\n";
	assert_false(sl__parse_float(&p, &f));
	p = "inf ";
	assert_true(sl__parse_float(&p, &f) && isinf(f));
	p = "-Infinity ";
	assert_true(sl__parse_float(&p, &f) && isinf(f) && f < 0 && *p == ' ');
	p = "NaN\n";
	assert_true(sl__parse_float(&p, &f) && isnan(f));
	p = "18446744073709551615 ";
	assert_true(sl__parse_u64(&p, &u) && u == UINT64_MAX && *p == ' ');
	p = text = "18446744073709551616 ";
	assert_false(sl__parse_u64(&p, &u));
	assert_ptr_equal(p, text);
}

/* ---- MatrixMarket -------------------------------------------------------------- */

#define MTX "%%MatrixMarket matrix coordinate "

static void mtx_variants(void **state)
{
	struct sl_graph *g = graph_of(MTX "real general\n% a comment\n\n3 3 3\n2 1 0.5\n1 2 2.5e-1\n3 1 4\n", NULL, "a.mtx");

	assert_sound(g);
	assert_int_equal(g->n, 3);
	assert_int_equal(g->m, 3);
	assert_true(weight_of(g, 1, 0) == .5f && weight_of(g, 0, 1) == .25f && weight_of(g, 2, 0) == 4);
	assert_false(g->symmetric);
	assert_null(g->name_bytes);
	sl_graph_destroy(g);

	static const char *const same[] = {
		MTX "integer symmetric\n3 3 2\n2 1 1\n3 2 1\n",
		MTX "pattern symmetric\n3 3 2\n2 1\n3 2\n",
		MTX "pattern symmetric\n3 3 2\n1 2\n3 2\n",
		MTX "pattern general\n3 3 4\n2 1\n3 2\n1 2\n2 3\n",
		"%%matrixmarket MATRIX Coordinate Pattern SYMMETRIC\r\n%x\r\n3 3 2\r\n2 1\r\n3 2\r\n",
		MTX "real symmetric\n3 3 2\n 2  1 1.0 \n\n\t3\t2 1e0\n% end\n\n",
		MTX "pattern symmetric\n3 3 2\n2 1\n3 2",
		MTX "real general\n3 3 6\n2 1 .5\n2 1 .5\n3 2 1\n1 2 1\n2 3 1\n3 1 0\n",
	};
	g = graph_of(same[0], NULL, "a.mtx");
	assert_true(g->symmetric);
	assert_null(g->weight);
	for (size_t k = 1; k < sizeof same / sizeof *same; k++) {
		struct sl_graph *other = graph_of(same[k], NULL, "no-ending");
		assert_same_graph(g, other);
		sl_graph_destroy(other);
	}
	sl_graph_destroy(g);
}

static void mtx_without_entries(void **state)
{
	struct sl_graph *g = graph_of(MTX "real general\n5 5 0\n", NULL, "a.mtx");

	assert_int_equal(g->n, 5);
	assert_int_equal(g->m, 0);
	assert_int_equal(g->report.isolated, 5);
	sl_graph_destroy(g);
}

/* ---- edge lists ------------------------------------------------------------------ */

static void edges_separators_and_comments(void **state)
{
	static const char *const same[] = {
		"0 1\n1 2\n2 3\n", "0\t1\n1\t2\n2\t3\n", "0,1\n1,2\n2,3\n", "0;1\n1;2\n2;3\n", "0, 1\n1 ,2\n 2 , 3 \n",
		"# a graph\n%\n\n0 1\n  # more\n1 2\n2   3", "0 1\r\n1 2\r\n2 3\r\n", "\"0\",\"1\"\n1,\"2\"\n2,3\n",
		"source,target\n0,1\n1,2\n2,3\n", "From\tTo\n0\t1\n1\t2\n2\t3\n", "apple pear\n0 1\n1 2\n2 3\n",
		"from,to,weight\n0,1,1\n1,2,1.0\n2,3,1e0\n", "\xef\xbb\xbf" "0 1\n1 2\n2 3\n", "2 3\n1 2\n1 0\n", "0 1\n1 2\n2 3\n2 1\n",
		" 0  1 \n1\t2\n2 3\n", "gene A,gene B,score\n0,1,1\n1,2,1\n2,3,.5\n3,2,.5\n",
	};
	struct sl_graph *g = graph_of(same[0], NULL, "a.txt");

	assert_sound(g);
	assert_int_equal(g->n, 4);
	assert_int_equal(g->m, 6);
	assert_true(g->symmetric);
	assert_null(g->name_bytes);
	assert_null(g->weight);
	for (size_t k = 1; k < sizeof same / sizeof *same; k++) {
		struct sl_graph *other = graph_of(same[k], NULL, "a.txt");
		assert_same_graph(g, other);
		sl_graph_destroy(other);
	}
	sl_graph_destroy(g);
}

static void edges_directed_and_weighted(void **state)
{
	struct sl_read_options directed = {.directed = true};
	struct sl_graph *g = graph_of("0 1 .5\n1 2 2\n2 1 3\n1 2 1\n3 3 1\n4 0 0\n", &directed, "a.txt");

	assert_sound(g);
	assert_int_equal(g->n, 5);
	assert_int_equal(g->m, 3);
	assert_false(g->symmetric);
	assert_true(weight_of(g, 0, 1) == .5f && weight_of(g, 1, 2) == 3 && weight_of(g, 2, 1) == 3);
	assert_int_equal(g->report.duplicates, 1);
	assert_int_equal(g->report.self_loops, 1);
	assert_int_equal(g->report.zero_weights, 1);
	assert_int_equal(g->report.isolated, 2);
	sl_graph_destroy(g);
}

static void assert_names(const struct sl_graph *g, const char *const *names, uint32_t n)
{
	assert_int_equal(g->n, n);
	assert_non_null(g->name_bytes);
	for (uint32_t i = 0; i < n; i++)
		assert_string_equal(sl_graph_name(g, i), names[i]);
	assert_null(sl_graph_name(g, n));
}

static void edges_with_names(void **state)
{
	static const char *const fruit[] = {"pear", "apple, red", "the \"fig\"", "p\xc3\xa4"};
	struct sl_graph *g = graph_of("source,target,weight\npear,\"apple, red\",2\n\"the \"\"fig\"\"\",pear,1\np\xc3\xa4,p\xc3\xa4,1\n",
				      NULL, "a.csv");

	assert_sound(g);
	assert_names(g, fruit, 4);
	assert_true(weight_of(g, 0, 1) == 2 && weight_of(g, 0, 2) == 1);
	assert_int_equal(g->report.isolated, 1);
	sl_graph_destroy(g);

	/* numbers until a name comes: order of appearance, the number's text is its name */
	static const char *const mixed[] = {"7", "3", "x", "12", "007"};
	g = graph_of("7 3\n3 x\n12 7\n007 7\n", NULL, "a.txt");
	assert_sound(g);
	assert_names(g, mixed, 5);
	assert_true(weight_of(g, 0, 1) == 1 && weight_of(g, 1, 2) == 1 && weight_of(g, 3, 0) == 1 && weight_of(g, 4, 0) == 1);
	sl_graph_destroy(g);
}

static void edges_with_numbers_that_are_names(void **state)
{
	static const char *const gaps[] = {"3", "7", "100"};
	static const char *const one[] = {"1", "2", "3"};
	static const char *const large[] = {"5", "4000000000", "123456789012345678"};
	struct sl_graph *g = graph_of("100 3\n7 100\n", NULL, "a.txt");

	assert_names(g, gaps, 3);
	assert_true(weight_of(g, 0, 2) == 1 && weight_of(g, 1, 2) == 1 && weight_of(g, 0, 1) == 0);
	sl_graph_destroy(g);

	g = graph_of("3 1\n1 2\n", NULL, "a.txt");
	assert_names(g, one, 3);
	assert_true(weight_of(g, 0, 2) == 1 && weight_of(g, 0, 1) == 1 && weight_of(g, 1, 2) == 0);
	sl_graph_destroy(g);

	/* beyond the bitmap, and beyond 32 bits: still in numeric order */
	for (int k = 0; k < 2; k++) {
		g = graph_of(k ? "123456789012345678 5\n4000000000 5\n" : "4000000000 5\n5 123456789012345678\n", NULL, "a.txt");
		assert_names(g, large, 3);
		assert_true(weight_of(g, 0, 1) == 1 && weight_of(g, 0, 2) == 1 && weight_of(g, 1, 2) == 0);
		sl_graph_destroy(g);
	}
	g = graph_of("4000000000 5\n", NULL, "a.txt");
	assert_names(g, (const char *const[]){"5", "4000000000"}, 2);
	sl_graph_destroy(g);
}

/* Ranks across many words of the bitmap: node i is named 3 i + 1000. */
static void edges_with_many_gaps(void **state)
{
	enum { N = 5000 };
	char *text = malloc(N * 32), *at = text, name[16];
	struct sl_graph *g;

	for (int i = 1; i < N; i++)
		at += sprintf(at, "%d\t%d\n", 3 * ((i * 7) % N) + 1000, 3 * ((i * 7 + 1) % N) + 1000);
	g = graph_of(text, NULL, "a.tsv");
	assert_sound(g);
	assert_int_equal(g->n, N);
	for (uint32_t i = 0; i < N; i++) {
		sprintf(name, "%u", 3 * i + 1000);
		assert_string_equal(sl_graph_name(g, i), name);
		if (i > 0 && i < N - 1)
			assert_true(weight_of(g, i, i + 1) == 1);
	}
	sl_graph_destroy(g);
	free(text);
}

/* A hundred thousand names: the table grows, the order stays. */
static void edges_with_many_names(void **state)
{
	enum { N = 100000 };
	char *text = malloc(N * 40), *at = text, name[32];
	struct sl_graph *g;

	for (uint32_t i = 0; i < N; i++)
		at += sprintf(at, "node-%u\tnode-%u\n", i, i + 1);
	g = graph_of(text, NULL, "a.tsv");
	assert_int_equal(g->n, N + 1);
	assert_int_equal(g->m, 2 * N);
	for (uint32_t i = 0; i <= N; i++) {
		sprintf(name, "node-%u", i);
		assert_string_equal(sl_graph_name(g, i), name);
	}
	assert_int_equal(g->report.leaves, 2);
	assert_int_equal(g->report.components, 1);
	sl_graph_destroy(g);
	free(text);
}

/* ---- SciPy archives ---------------------------------------------------------------- */

struct buffer {
	unsigned char *bytes;
	size_t size;
};

static void add_array(zip_t *zip, const char *name, const char *descr, const char *shape, const void *data, size_t size,
		      bool compressed)
{
	char header[256];
	int length = snprintf(header + 10, 200, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape);
	unsigned char *file = malloc(10 + (size_t)length + size);
	zip_source_t *source;

	memcpy(header, "\x93NUMPY\x01\x00", 8);
	header[8] = (char)length;
	header[9] = 0;
	memcpy(file, header, 10 + (size_t)length);
	memcpy(file + 10 + length, data, size);
	source = zip_source_buffer(zip, file, 10 + (size_t)length + size, 1);
	zip_int64_t index = zip_file_add(zip, name, source, 0);
	assert_true(index >= 0);
	zip_set_file_compression(zip, (zip_uint64_t)index, compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
}

static zip_t *start_zip(zip_source_t **source)
{
	zip_error_t error;

	zip_error_init(&error);
	*source = zip_source_buffer_create(NULL, 0, 0, &error);
	zip_source_keep(*source);
	zip_t *zip = zip_open_from_source(*source, ZIP_TRUNCATE, &error);
	assert_non_null(zip);
	return zip;
}

static struct buffer end_zip(zip_t *zip, zip_source_t *source)
{
	struct buffer out;
	zip_stat_t st;

	assert_int_equal(zip_close(zip), 0);
	zip_source_open(source);
	zip_source_stat(source, &st);
	out.size = st.size;
	out.bytes = malloc(out.size);
	assert_int_equal(zip_source_read(source, out.bytes, out.size), (int)out.size);
	zip_source_close(source);
	zip_source_free(source);
	return out;
}

/* The matrix with a(0, 1) = 2, a(1, 2) = .5, a(2, 0) = 3, a(2, 1) = 1, by rows. */
static struct buffer small_archive(const char *format, bool wide, bool doubles, bool compressed)
{
	static const int32_t ptr4[] = {0, 1, 2, 4}, col4[] = {1, 2, 0, 1}, row4[] = {0, 1, 2, 2};
	static const int32_t cptr4[] = {0, 1, 3, 4}, crow4[] = {2, 0, 2, 1};
	static const double data8[] = {2, .5, 3, 1}, cdata8[] = {3, 2, 1, .5};
	bool csc = !strcmp(format, "csc"), coo = !strcmp(format, "coo");
	const double *d8 = csc ? cdata8 : data8;
	const char *index = wide ? "<i8" : "<i4";
	int64_t shape[] = {3, 3}, a[4], b[4];
	float d4[4];
	zip_source_t *source;
	zip_t *zip = start_zip(&source);
	const int32_t *first = coo ? row4 : csc ? cptr4 : ptr4, *second = coo ? col4 : csc ? crow4 : col4;

	for (int k = 0; k < 4; k++) {
		d4[k] = (float)d8[k];
		a[k] = first[k];
		b[k] = second[k];
	}
	add_array(zip, coo ? "row.npy" : "indptr.npy", index, "(4,)", wide ? (const void *)a : first, wide ? 32 : 16, compressed);
	add_array(zip, coo ? "col.npy" : "indices.npy", index, "(4,)", wide ? (const void *)b : second, wide ? 32 : 16, compressed);
	add_array(zip, "format.npy", "|S3", "()", format, 3, compressed);
	add_array(zip, "shape.npy", "<i8", "(2,)", shape, 16, compressed);
	add_array(zip, "data.npy", doubles ? "<f8" : "<f4", "(4,)", doubles ? (const void *)d8 : d4, doubles ? 32 : 16, compressed);
	return end_zip(zip, source);
}

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

/* ---- sources, compression, limits ------------------------------------------------------ */

static void compression_is_transparent(void **state)
{
	enum { N = 40000 };
	char *text = malloc(N * 40), *at = text + sprintf(text, "%s%d %d %d\n", MTX "real symmetric\n", N, N, N - 1), path[] = "/tmp/slXXXXXX";
	struct sl_graph *plain, *g;
	struct sl_error err;
	size_t size, half, first_size, second_size;

	for (int i = 1; i < N; i++)
		at += sprintf(at, "%d %d %.7f\n", i + 1, i, (double)i / 7);
	size = (size_t)(at - text);
	half = size / 2;
	plain = graph_of(text, NULL, "a.mtx");
	for (int kind = 0; kind < 3; kind++) {
		/* two members, one after the other; gzip's with padding behind; plain as it is */
		unsigned char *first, *second, *both;
		if (kind < 2) {
			first = kind ? zstandard(text, half, &first_size) : gzipped(text, half, &first_size);
			second = kind ? zstandard(text + half, size - half, &second_size)
				      : gzipped(text + half, size - half, &second_size);
			both = calloc(1, first_size + second_size + 512);
			memcpy(both, first, first_size);
			memcpy(both + first_size, second, second_size);
			free(first);
			free(second);
		} else {
			both = malloc(size + 512);
			memcpy(both, text, size);
			first_size = size;
			second_size = 0;
		}
		size_t total = first_size + second_size;
		assert_int_equal(read_memory(&g, NULL, both, total + (kind == 0 ? 512 : 0), "a.mtx", &err), 0);
		assert_same_graph(plain, g);
		sl_graph_destroy(g);
		/* through a file, and through a pipe that gives a few bytes at a time */
		struct sl_source *s;
		strcpy(path, "/tmp/slXXXXXX");
		int fd = mkstemp(path), pipes[2];
		assert_int_equal(write(fd, both, total), (int)total);
		close(fd);
		assert_int_equal(sl_source_open_path(&s, path, "b.mtx", &err), 0);
		assert_int_equal(sl_graph_read(&g, NULL, s, &err), 0);
		assert_int_equal(sl_source_format(s), SL_FORMAT_MTX);
		sl_source_close(s);
		assert_same_graph(plain, g);
		sl_graph_destroy(g);
		unlink(path);
		assert_int_equal(pipe(pipes), 0);
		if (fork() == 0) {
			for (size_t k = 0; k < total;) {
				size_t want = total - k < 1 + k % 3000 ? total - k : 1 + k % 3000;
				ssize_t done = write(pipes[1], both + k, want);
				if (done <= 0)
					_exit(1);
				k += (size_t)done;
			}
			_exit(0);
		}
		close(pipes[1]);
		assert_int_equal(sl_source_open_fd(&s, pipes[0], "c.mtx", &err), 0);
		assert_int_equal(sl_graph_read(&g, NULL, s, &err), 0);
		sl_source_close(s);
		close(pipes[0]);
		assert_same_graph(plain, g);
		sl_graph_destroy(g);
		free(both);
	}
	sl_graph_destroy(plain);
	free(text);
}

static void formats_are_recognised(void **state)
{
	static const struct {
		const char *name, *text;
		enum sl_graph_format format;
	} cases[] = {
		{"x", MTX "pattern general\n1 1 0\n", SL_FORMAT_MTX},
		{"x.txt", MTX "pattern general\n1 1 0\n", SL_FORMAT_MTX},
		{"x", "0 1\n", SL_FORMAT_EDGES},
		{"x.csv.gz", "a,b\nc,d\n", SL_FORMAT_EDGES},
		{"x", "% comment\n0 1\n", SL_FORMAT_EDGES},
	};
	enum sl_graph_format format;
	struct sl_error err;

	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		struct sl_source *s;
		struct sl_graph *g;
		assert_int_equal(sl_source_open_memory(&s, cases[k].text, strlen(cases[k].text), cases[k].name, &err), 0);
		assert_int_equal(sl_graph_read(&g, NULL, s, &err), 0);
		assert_int_equal(sl_source_format(s), cases[k].format);
		sl_source_close(s);
		sl_graph_destroy(g);
	}
	for (int k = 0; k < 4; k++) {
		assert_int_equal(sl_graph_format_parse(sl_graph_format_name((enum sl_graph_format)k), &format, &err), 0);
		assert_int_equal(format, k);
	}
	assert_int_equal(sl_graph_format_parse("graphml", &format, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/format");
	struct sl_source *s;
	assert_int_equal(sl_source_open_path(&s, "/nowhere/at-all.mtx", NULL, &err), SL_NOTFOUND);
	assert_int_equal(sl_source_open_path(&s, "/", NULL, &err), SL_IO);
}

/* A few kilobytes that would become 64 MiB of text, or a size line that promises the world. */
static void limits_hold(void **state)
{
	size_t size = 64 << 20, packed_size;
	char *text = malloc(size);
	struct sl_read_options bytes = {.max_bytes = 1 << 20}, nodes = {.max_nodes = 3}, entries = {.max_entries = 5};
	struct sl_graph *g;
	struct sl_error err;

	assert_non_null(text);
	memset(text, '\n', size);
	memcpy(text, "0 1\n", 4);
	for (int k = 0; k < 2; k++) {
		unsigned char *packed = k ? zstandard(text, size, &packed_size) : gzipped(text, size, &packed_size);
		assert_true(packed_size < size / 500);
		assert_int_equal(read_memory(&g, &bytes, packed, packed_size, "a.txt", &err), SL_TOOBIG);
		assert_non_null(strstr(err.detail, "1048576"));
		assert_non_null(strstr(err.detail, "max_bytes"));
		free(packed);
	}
	free(text);
	static const struct {
		const char *text;
		int nodes, entries;
	} cases[] = {
		{MTX "pattern general\n4000000000 4000000000 0\n", SL_TOOBIG, 1},
		{MTX "pattern general\n3 3 2\n1 2\n2 1\n", 0, 0},
		{MTX "pattern symmetric\n3 3 3\n2 1\n3 1\n3 2\n", 0, SL_TOOBIG},
		{MTX "pattern general\n4 4 2\n1 2\n2 1\n", SL_TOOBIG, 0},
		{MTX "pattern general\n3 3 18446744073709551615\n", SL_BADDATA, SL_TOOBIG},
		{"0 1\n1 2\n", 0, 0},
		{"0 1\n1 2\n2 0\n", 0, SL_TOOBIG},
		{"0 1\n1 2\n2 3\n", SL_TOOBIG, SL_TOOBIG},
		{"a b\nb c\n", 0, 0},
		{"a b\nb c\nc d\n", SL_TOOBIG, SL_TOOBIG},
		{"4000000000 1\n3 2\n", SL_TOOBIG, 0},
	};
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
		for (int which = 0; which < 2; which++) {
			int wanted = which ? cases[k].entries : cases[k].nodes;
			if (wanted > 0)
				continue;
			int rc = read_memory(&g, which ? &entries : &nodes, cases[k].text, strlen(cases[k].text), "a", &err);
			if (rc != wanted)
				fail_msg("%s under %s: %s", cases[k].text, which ? "max_entries" : "max_nodes", err.detail);
			if (rc == SL_TOOBIG)
				assert_non_null(strstr(err.detail, which ? "max_entries" : "max_nodes"));
			sl_graph_destroy(g);
		}
}

/* Lines up to the buffer's size are fine, longer ones are an error, not a bill for memory. */
static void lines_have_a_limit(void **state)
{
	enum { LONG = 200000, TOO_LONG = 400000 };
	char *text = malloc(TOO_LONG + 16);
	struct sl_graph *g;
	struct sl_error err;

	for (int k = 0; k < 2; k++) {
		size_t length = k ? TOO_LONG : LONG;
		memset(text, 'x', length);
		memcpy(text, "a b\nc ", 6);
		memcpy(text + length, "\na c\n", 5);
		assert_int_equal(read_memory(&g, NULL, text, length + 5, "a", &err), k ? SL_BADDATA : 0);
		if (k)
			assert_int_equal(err.line, 2);
		else
			assert_int_equal(strlen(sl_graph_name(g, 3)), LONG - 6);
		sl_graph_destroy(g);
	}
	free(text);
}

static void reading_can_be_cancelled(void **state)
{
	int cancel = 1;
	struct sl_read_options options = {.cancel = &cancel};
	struct buffer b = small_archive("csr", false, false, true);
	struct sl_graph *g;
	struct sl_error err;

	assert_int_equal(read_memory(&g, &options, "0 1\n", 4, "a", &err), SL_CANCELLED);
	assert_int_equal(read_memory(&g, &options, b.bytes, b.size, "a", &err), SL_CANCELLED);
	free(b.bytes);
}

/* ---- labels ----------------------------------------------------------------------------- */

static int read_labels(struct sl_graph *g, const void *bytes, size_t size, struct sl_error *err)
{
	struct sl_source *s;
	int rc;

	assert_int_equal(sl_source_open_memory(&s, bytes, size, "labels", err), 0);
	rc = sl_graph_read_labels(g, NULL, s, err);
	sl_source_close(s);
	return rc;
}

static void assert_labels(const struct sl_graph *g, const char *const *wanted)
{
	assert_non_null(g->label);
	for (uint32_t i = 0; i < g->n; i++) {
		assert_true(g->label[i] < g->labels);
		assert_string_equal(g->label_name[g->label[i]], wanted[i]);
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
	assert_string_equal(csv, "node,x,y,label\n\"a,b\",0.100000001,-1.5,u\n\"c \"\"d\"\"\",1.00000001e-10,3.39999995e+38,\"v,w\"\n"
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

/* ---- real data ------------------------------------------------------------------------------ */

static void real_graphs(void **state)
{
	static const struct {
		const char *name;
		uint32_t n;
		uint64_t m;
		bool symmetric;
		uint32_t isolated, components, largest;
		const char *labels;
		uint32_t classes;
	} files[] = {
		{"pbmc-graph.mtx.gz", 8381, 251430, false, 0, 1, 8381, NULL, 0},
		{"facebook-pages.mtx.gz", 22470, 341646, true, 0, 1, 22470, "facebook-pages-labels-u8.npy", 4},
		{"pubmed.mtx.gz", 19717, 88648, true, 0, 1, 19717, "pubmed-labels-u8.npy", 3},
		{"npm-2016.mtx.gz", 320020, 807678, false, 92009, 94290 - 92009, 221487, NULL, 0},
	};
	const char *folder = data_folder();
	char path[4200];

	if (!folder) {
		print_message("skipped: no data (SPACELAND_DATA)\n");
		skip();
	}
	for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
		struct sl_source *s;
		struct sl_graph *g;
		struct sl_error err;
		snprintf(path, sizeof path, "%s/%s", folder, files[k].name);
		assert_int_equal(sl_source_open_path(&s, path, NULL, &err), 0);
		assert_int_equal(sl_graph_read(&g, NULL, s, &err), 0);
		sl_source_close(s);
		assert_sound(g);
		assert_int_equal(g->n, files[k].n);
		assert_int_equal(g->m, files[k].m);
		assert_int_equal(g->symmetric, files[k].symmetric);
		assert_int_equal(g->report.duplicates + g->report.self_loops + g->report.zero_weights, 0);
		assert_int_equal(g->report.isolated, files[k].isolated);
		assert_int_equal(g->report.components, files[k].components);
		assert_int_equal(g->report.largest_component, files[k].largest);
		if (files[k].labels) {
			snprintf(path, sizeof path, "%s/%s", folder, files[k].labels);
			assert_int_equal(sl_source_open_path(&s, path, NULL, &err), 0);
			assert_int_equal(sl_graph_read_labels(g, NULL, s, &err), 0);
			sl_source_close(s);
			assert_int_equal(g->labels, files[k].classes);
		}
		sl_graph_destroy(g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_the_nearest_floats),
		cmocka_unit_test(numbers_know_where_they_end),
		cmocka_unit_test(mtx_variants),
		cmocka_unit_test(mtx_without_entries),
		cmocka_unit_test(edges_separators_and_comments),
		cmocka_unit_test(edges_directed_and_weighted),
		cmocka_unit_test(edges_with_names),
		cmocka_unit_test(edges_with_numbers_that_are_names),
		cmocka_unit_test(edges_with_many_gaps),
		cmocka_unit_test(edges_with_many_names),
		cmocka_unit_test(npz_variants),
		cmocka_unit_test(npz_types),
		cmocka_unit_test(compression_is_transparent),
		cmocka_unit_test(formats_are_recognised),
		cmocka_unit_test(limits_hold),
		cmocka_unit_test(lines_have_a_limit),
		cmocka_unit_test(reading_can_be_cancelled),
		cmocka_unit_test(labels_of_every_kind),
		cmocka_unit_test(layouts_survive_npy),
		cmocka_unit_test(npy_orders_and_versions),
		cmocka_unit_test(csv_can_be_read_back),
		cmocka_unit_test(writing_can_fail),
		cmocka_unit_test(real_graphs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
