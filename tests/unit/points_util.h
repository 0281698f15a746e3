/* points_util.h -- reads points from memory. After cmocka.h. */
#ifndef SL_TEST_POINTS_UTIL_H
#define SL_TEST_POINTS_UTIL_H

#include <string.h>

#include "core/formats/read_points.h"

static inline int read_input(struct sl_input *in, const struct sl_input_options *options, const void *bytes,
			     size_t size, const char *name, struct sl_error *err)
{
	struct sl_source *s;
	memset(err, 0, sizeof *err);
	assert_int_equal(sl_source_open_memory(&s, bytes, size, name, err), 0);
	int rc = sl_input_read(in, options, s, err);
	sl_source_close(s);
	assert_int_equal(rc, err->code);
	assert_int_equal(rc == 0, in->graph || in->points || in->neighbours);
	return rc;
}

static inline struct sl_points *points_of(const void *bytes, size_t size, const char *name,
					  const struct sl_input_options *options)
{
	struct sl_input in;
	struct sl_error err;
	char message[1024];
	if (read_input(&in, options, bytes, size, name, &err))
		fail_msg("%s", sl_error_format(&err, message, sizeof message));
	assert_int_equal(in.kind, SL_INPUT_POINTS);
	return in.points;
}

static inline struct sl_points *text_of(const char *text, const struct sl_input_options *options)
{
	struct sl_input_options points = options ? *options : (struct sl_input_options){0};
	points.kind = SL_INPUT_POINTS;
	return points_of(text, strlen(text), "points.csv", &points);
}

static inline void assert_values(const struct sl_points *p, uint32_t n, uint32_t d, const float *wanted)
{
	float row[64];
	assert_int_equal(p->n, n);
	assert_int_equal(p->d, d);
	for (uint32_t i = 0; i < n; i++) {
		sl_points_rows(p, i, 1, row);
		assert_memory_equal(row, wanted + (size_t)i * d, d * sizeof *row);
	}
}

#endif
