/* A stored graph is read back unchanged; every flipped bit and missing end is detected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "core/formats/read.h"
#include "daemon/files/graph_file.h"
#include "daemon/store/seal.h"

static struct sl_graph *read_text(const char *text, const char *labels)
{
	struct sl_source *source;
	struct sl_graph *g;
	struct sl_error err;
	assert_int_equal(sl_source_open_memory(&source, text, strlen(text), "test", &err), 0);
	assert_int_equal(sl_graph_read(&g, NULL, source, &err), 0);
	sl_source_close(source);
	if (labels) {
		assert_int_equal(sl_source_open_memory(&source, labels, strlen(labels), "labels", &err), 0);
		assert_int_equal(sl_graph_read_labels(g, NULL, source, &err), 0);
		sl_source_close(source);
	}
	return g;
}

static const char edges[] = "ada\tbob\t0.5\nbob\tcyd\t2\ncyd\tada\t1\ncyd\tdan\t1\n";
static const char numbers[] = "1 2\n2 3\n3 1\n";

static char *path_of(char path[64])
{
	snprintf(path, 64, "/tmp/spaceland-graph-%d.slg", (int)getpid());
	unlink(path);
	return path;
}

static void assert_same(const struct sl_graph *a, const struct sl_graph *b)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->m, b->m);
	assert_int_equal(a->symmetric, b->symmetric);
	assert_memory_equal(a->start, b->start, (a->n + 1) * sizeof *a->start);
	assert_memory_equal(a->node, b->node, a->m * sizeof *a->node);
	assert_int_equal(a->weight != NULL, b->weight != NULL);
	if (a->weight)
		assert_memory_equal(a->weight, b->weight, a->m * sizeof *a->weight);
	assert_int_equal(a->labels, b->labels);
	for (uint32_t i = 0; i < a->n; i++) {
		const char *x = sl_graph_name(a, i), *y = sl_graph_name(b, i);
		assert_int_equal(x != NULL, y != NULL);
		if (x)
			assert_string_equal(x, y);
		if (a->label)
			assert_string_equal(a->label_name[a->label[i]], b->label_name[b->label[i]]);
	}
	assert_memory_equal(&a->report, &b->report, sizeof a->report);
}

static void it_comes_back(void **state)
{
	struct sl_graph *graphs[] = {read_text(edges, "x\ny\nx\nz\n"), read_text(edges, NULL), read_text(numbers, NULL),
				     read_text(numbers, "1\n1\n1\n")};
	for (int i = 0; i < 4; i++) {
		char path[64];
		unsigned char digest[SL_GRAPH_DIGEST_BYTES], again[SL_GRAPH_DIGEST_BYTES];
		struct sl_error err;
		struct sl_graph *back;
		uint64_t bytes;
		sl_graph_digest(graphs[i], digest);
		assert_int_equal(sl_graph_file_write(path_of(path), graphs[i], digest, "{\"a\":1}", &bytes, &err), 0);
		assert_int_equal(sl_graph_file_check(path, digest, &err), 0);
		if (sl_graph_file_read(path, &back, &err))
			fail_msg("%s", err.detail);
		assert_same(graphs[i], back);
		sl_graph_digest(back, again);
		assert_memory_equal(digest, again, sizeof digest);
		sl_graph_destroy(back);
		unlink(path);
	}
	for (int i = 0; i < 4; i++) {
		unsigned char a[SL_GRAPH_DIGEST_BYTES], b[SL_GRAPH_DIGEST_BYTES];
		sl_graph_digest(graphs[i], a);
		sl_graph_digest(graphs[(i + 1) % 4], b);
		assert_memory_not_equal(a, b, sizeof a);
	}
	for (int i = 0; i < 4; i++)
		sl_graph_destroy(graphs[i]);
}

/* file: open at path, with `bytes` bytes of data. It is restored afterwards. */
static void each_change_is_noticed(FILE *file, const char *path, const unsigned char *data, uint64_t bytes)
{
	struct sl_graph *back;
	struct sl_error err;
	for (uint64_t i = 0; i < bytes; i++) {
		fseek(file, (long)i, SEEK_SET);
		fputc(data[i] ^ 0x41, file);
		fflush(file);
		if (sl_graph_file_read(path, &back, &err) != SL_BADDATA)
			fail_msg("byte %d was changed and nobody noticed", (int)i);
		fseek(file, (long)i, SEEK_SET);
		fputc(data[i], file);
		fflush(file);
	}
}

static void every_damage_is_noticed(void **state)
{
	struct sl_graph *g = read_text(edges, "x\ny\nx\nz\n"), *back;
	char path[64];
	unsigned char digest[SL_GRAPH_DIGEST_BYTES], data[4096];
	struct sl_error err;
	uint64_t bytes;
	sl_graph_digest(g, digest);
	assert_int_equal(sl_graph_file_write(path_of(path), g, digest, "{\"a\":1}", &bytes, &err), 0);
	FILE *file = fopen(path, "r+b");
	assert_int_equal(fread(data, 1, sizeof data, file), bytes);
	each_change_is_noticed(file, path, data, bytes);
	assert_int_equal(sl_graph_file_read(path, &back, &err), 0);
	sl_graph_destroy(back);
	for (uint64_t cut = 0; cut < bytes; cut += 7) {
		assert_int_equal(ftruncate(fileno(file), (off_t)cut), 0);
		assert_int_equal(sl_graph_file_read(path, &back, &err), SL_BADDATA);
	}
	fclose(file);
	unlink(path);
	assert_int_equal(sl_graph_file_check(path, digest, &err), SL_BADDATA);
	sl_graph_destroy(g);
}

int main(void)
{
	if (sodium_init() < 0)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_comes_back),
		cmocka_unit_test(every_damage_is_noticed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
