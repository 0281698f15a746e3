/* The parts that all formats share: sources, compression, recognition, limits; real data. */
#include <unistd.h>

#include "tests/unit/archive_util.h"

/* ---- sources, compression, limits ------------------------------------------------------ */

static void compression_is_transparent(void **state)
{
	enum { N = 40000 };
	char *text = malloc(N * 40), *at = text + sprintf(text, "%s%d %d %d\n", MTX "real symmetric\n", N, N, N - 1),
			path[] = "/tmp/slXXXXXX";
	struct sl_graph *plain, *g;
	struct sl_error err;
	size_t size, half, first_size, second_size;

	for (int i = 1; i < N; i++)
		at += sprintf(at, "%d %d %.7f\n", i + 1, i, (double)i / 7);
	size = (size_t)(at - text);
	half = size / 2;
	plain = graph_of(text, NULL, "a.mtx");
	for (int kind = 0; kind < 3; kind++) {
		/* two concatenated members; for gzip followed by padding; plain data unchanged */
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
		snprintf(path, sizeof path, "/dev/fd/%d", pipes[0]);
		assert_int_equal(sl_source_open_path(&s, path, "c.mtx", &err), 0);
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
		cmocka_unit_test(compression_is_transparent),
		cmocka_unit_test(formats_are_recognised),
		cmocka_unit_test(limits_hold),
		cmocka_unit_test(lines_have_a_limit),
		cmocka_unit_test(reading_can_be_cancelled),
		cmocka_unit_test(real_graphs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
