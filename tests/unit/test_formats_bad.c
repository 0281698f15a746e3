/* The malformed files of tests/bad/: each row of a table has a file, its error and, in some rows, the text of the
 * error; then the same for compressed files. Columns, separated by tabs: file, format, error, line (0: none), member of
 * an archive (-: none), detail (-: not asserted). */
#include "core/formats/numpy/npy.h"
#include "core/formats/read_points.h"
#include "tests/unit/formats_util.h"

struct row {
	char *file, *format, *error, *line, *member, *detail;
};

static const char *root(void)
{
	const char *given = getenv("SPACELAND_ROOT");
	return given ? given : ".";
}

static char *load(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	char *bytes;

	if (!f)
		fail_msg("%s cannot be opened", path);
	fseek(f, 0, SEEK_END);
	*size = (size_t)ftell(f);
	rewind(f);
	bytes = malloc(*size + 1);
	assert_int_equal(fread(bytes, 1, *size, f), *size);
	bytes[*size] = 0;
	fclose(f);
	return bytes;
}

static bool next_row(char **at, struct row *row)
{
	char **field[] = {&row->file, &row->format, &row->error, &row->line, &row->member, &row->detail};

	for (char *line; (line = strsep(at, "\n"));) {
		if (!*line || *line == '#')
			continue;
		for (size_t k = 0; k < 6; k++) {
			*field[k] = strsep(&line, "\t");
			if (!*field[k])
				fail_msg("a row has only %zu columns", k);
		}
		return true;
	}
	return false;
}

typedef int read_file(const struct row *row, struct sl_source *s, struct sl_error *err);

static int read_graph(const struct row *row, struct sl_source *s, struct sl_error *err)
{
	struct sl_read_options options = {0};
	struct sl_graph *g;
	int rc;

	assert_int_equal(sl_graph_format_parse(row->format, &options.format, NULL), 0);
	rc = sl_graph_read(&g, &options, s, err);
	assert_true(rc == 0 || g == NULL);
	sl_graph_destroy(g);
	return rc;
}

/* format "labels": for a graph with nodes a, b, c; "npy": a layout. */
static int read_other(const struct row *row, struct sl_source *s, struct sl_error *err)
{
	int rc;

	if (!strcmp(row->format, "npy")) {
		uint64_t n, d;
		float *y;
		rc = sl_npy_read(&y, &n, &d, NULL, s, err);
		assert_true(rc == 0 || y == NULL);
		free(y);
	} else {
		struct sl_graph *g = graph_of("a,b\nb,c\n", NULL, "abc.csv");
		rc = sl_graph_read_labels(g, NULL, s, err);
		assert_true(rc == 0 || g->label == NULL);
		sl_graph_destroy(g);
	}
	return rc;
}

/* "points", "neighbours" or "auto"; "drop": points, rows that are not finite left out. */
static int read_any(const struct row *row, struct sl_source *s, struct sl_error *err)
{
	struct sl_input_options options = {0};
	struct sl_input input;

	options.drop_not_finite = !strcmp(row->format, "drop");
	assert_int_equal(sl_input_kind_parse(options.drop_not_finite ? "points" : row->format, &options.kind, NULL), 0);
	int rc = sl_input_read(&input, &options, s, err);
	assert_int_equal(rc == 0, input.graph || input.points || input.neighbours);
	sl_input_finish(&input);
	return rc;
}

/* Returns 1 if the error differs from the row; then prints the row that would match. */
static int check(const struct row *row, read_file *read, const void *bytes, size_t size, const char *how)
{
	struct sl_source *s;
	struct sl_error err = {0};
	char file[256], line[24];
	int rc;

	assert_int_equal(sl_source_open_memory(&s, bytes, size, row->file, &err), 0);
	rc = read(row, s, &err);
	sl_source_close(s);
	snprintf(file, sizeof file, strcmp(row->member, "-") ? "%s: %s" : "%s", row->file, row->member);
	snprintf(line, sizeof line, "%lld", (long long)err.line);
	if (rc && rc == err.code && !strcmp(sl_error_name(rc), row->error) && !strcmp(line, row->line) &&
	    !strcmp(err.file, file) && strchr(err.detail, ' ') &&
	    (!strcmp(row->detail, "-") || !strcmp(err.detail, row->detail)))
		return 0;
	const char *colon = strstr(err.file, ": ");
	print_error("%s: instead of the expected row, this came:\n%s\t%s\t%s\t%s\t%s\t%s\n", how, row->file, row->format,
		    sl_error_name(rc), line, colon ? colon + 2 : "-", err.detail);
	return 1;
}

static void walk(const char *table, const char *folder, read_file *read, int at_least)
{
	char path[4096];
	size_t size, packed_size;
	int rows = 0, failed = 0;
	struct row row;

	snprintf(path, sizeof path, "%s/tests/bad/%s", root(), table);
	char *text = load(path, &size), *at = text;
	while (next_row(&at, &row)) {
		snprintf(path, sizeof path, "%s/tests/bad/%s/%s", root(), folder, row.file);
		char *bytes = load(path, &size);
		int before = failed;
		failed += check(&row, read, bytes, size, "plain");
		bool packed = size > 3 && (!memcmp(bytes, "\x1f\x8b", 2) || !memcmp(bytes, "\x28\xb5\x2f\xfd", 4));
		/* Files that are already compressed, and damaged in the compression, are not compressed again. */
		if (!packed && failed == before) {
			unsigned char *gz = gzipped(bytes, size, &packed_size);
			failed += check(&row, read, gz, packed_size, "under gzip");
			free(gz);
		}
		free(bytes);
		rows++;
	}
	free(text);
	if (failed)
		fail_msg("%d of %d files", failed, rows);
	assert_true(rows >= at_least);
}

static void bad_graphs(void **state) { walk("graphs.tsv", "graphs", read_graph, 60); }
static void bad_points_and_neighbours(void **state) { walk("points.tsv", "points", read_any, 80); }
static void bad_labels_and_layouts(void **state) { walk("others.tsv", "others", read_other, 20); }

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_graphs),
		cmocka_unit_test(bad_labels_and_layouts),
		cmocka_unit_test(bad_points_and_neighbours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
