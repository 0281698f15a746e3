/* formats_util.h -- reads small files from strings, for the tests of core/formats/. */
#ifndef FORMATS_UTIL_H
#define FORMATS_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include <cmocka.h>

#include "core/formats/read.h"

#define MTX "%%MatrixMarket matrix coordinate "

static inline int read_memory(struct sl_graph **g, const struct sl_read_options *options, const void *bytes,
		size_t size,
			      const char *name, struct sl_error *err)
{
	struct sl_source *s;
	int rc;

	memset(err, 0, sizeof *err);
	*g = NULL;
	rc = sl_source_open_memory(&s, bytes, size, name, err);
	if (rc)
		return rc;
	rc = sl_graph_read(g, options, s, err);
	sl_source_close(s);
	assert_int_equal(rc, err->code);
	assert_true(rc == 0 ? *g != NULL : *g == NULL);
	return rc;
}

/* Reads the graph in text; fails the test if that is not possible. */
static inline struct sl_graph *graph_of(const char *text, const struct sl_read_options *options, const char *name)
{
	struct sl_graph *g;
	struct sl_error err;
	char message[1024];

	if (read_memory(&g, options, text, strlen(text), name, &err))
		fail_msg("%s", sl_error_format(&err, message, sizeof message));
	return g;
}

static inline unsigned char *gzipped(const void *bytes, size_t size, size_t *out_size)
{
	z_stream z = {0};
	unsigned char *out;

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	*out_size = deflateBound(&z, size) + 64;
	out = malloc(*out_size);
	assert_non_null(out);
	z.next_in = (Bytef *)(uintptr_t)bytes;
	z.avail_in = (uInt)size;
	z.next_out = out;
	z.avail_out = (uInt)*out_size;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	*out_size = z.total_out;
	deflateEnd(&z);
	return out;
}

static inline unsigned char *zstandard(const void *bytes, size_t size, size_t *out_size)
{
	unsigned char *out = malloc(ZSTD_compressBound(size));

	assert_non_null(out);
	*out_size = ZSTD_compress(out, ZSTD_compressBound(size), bytes, size, 3);
	assert_false(ZSTD_isError(*out_size));
	return out;
}

/* Compares structure, weights and names, but not the report. */
static inline void assert_same_graph(const struct sl_graph *a, const struct sl_graph *b)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->m, b->m);
	assert_int_equal(a->symmetric, b->symmetric);
	assert_memory_equal(a->start, b->start, (a->n + 1) * sizeof *a->start);
	if (a->m)
		assert_memory_equal(a->node, b->node, a->m * sizeof *a->node);
	assert_int_equal(!a->weight, !b->weight);
	if (a->weight)
		assert_memory_equal(a->weight, b->weight, a->m * sizeof *a->weight);
	assert_int_equal(!a->name_bytes, !b->name_bytes);
	for (uint32_t i = 0; a->name_bytes && i < a->n; i++)
		assert_string_equal(sl_graph_name(a, i), sl_graph_name(b, i));
}

/* The weight of entry (row i, column j): 0 if there is none, 1 in an unweighted graph. */
static inline float weight_of(const struct sl_graph *g, uint32_t i, uint32_t j)
{
	for (uint64_t k = g->start[j]; k < g->start[j + 1]; k++)
		if (g->node[k] == i)
			return g->weight ? g->weight[k] : 1;
	return 0;
}

/* Checks the invariants of core/graph/graph.h. */
static inline void assert_sound(const struct sl_graph *g)
{
	assert_true(g->n > 0);
	assert_int_equal(g->start[0], 0);
	assert_int_equal(g->start[g->n], g->m);
	for (uint32_t j = 0; j < g->n; j++) {
		assert_true(g->start[j] <= g->start[j + 1]);
		for (uint64_t k = g->start[j]; k < g->start[j + 1]; k++) {
			assert_true(g->node[k] < g->n);
			assert_int_not_equal(g->node[k], j);
			assert_true(k == g->start[j] || g->node[k - 1] < g->node[k]);
			assert_true(!g->weight || (g->weight[k] > 0 && g->weight[k] <= 3.40282347e38f));
		}
	}
}

static inline int read_labels(struct sl_graph *g, const void *bytes, size_t size, struct sl_error *err)
{
	struct sl_source *s;
	int rc;

	assert_int_equal(sl_source_open_memory(&s, bytes, size, "labels", err), 0);
	rc = sl_graph_read_labels(g, NULL, s, err);
	sl_source_close(s);
	return rc;
}

/* The folder of real data, or NULL. */
static inline const char *data_folder(void)
{
	static char path[4096];
	const char *given = getenv("SPACELAND_DATA"), *root = getenv("SPACELAND_ROOT");
	FILE *readme;

	if (given && *given)
		return given;
	snprintf(path, sizeof path - 16, "%s/../shared/data", root ? root : ".");
	size_t length = strlen(path);
	strcat(path, "/README.md");
	readme = fopen(path, "r");
	if (!readme)
		return NULL;
	fclose(readme);
	path[length] = 0;
	return path;
}

#endif
