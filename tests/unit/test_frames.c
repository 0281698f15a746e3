/* Frames of any layout, decoded as in proto/frame.h, give the layout within half a quantisation step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/stream/frames.h"
#include "tests/unit/seeds.h"

#define JOB "01J9ZZZZZZZZZZZZZZZZZZZZZZ"

static uint64_t seed;

/* Uniform in [0, 1): a multiplicative generator is plenty here. */
static double uniform(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(seed >> 11) / 9007199254740992.0;
}

static struct sl_layout *layout(uint32_t n, int dims, double centre, double side)
{
	float *y = malloc((size_t)n * (size_t)dims * sizeof *y);
	assert_non_null(y);
	for (size_t i = 0; i < (size_t)n * (size_t)dims; i++)
		y[i] = (float)(centre + side * (uniform() - 0.5));
	struct sl_layout *l = sl_layout_create_take(y, n, dims, 7, 1.5);
	assert_non_null(l);
	return l;
}

static struct sl_buffer *encode(const struct sl_layout *l, int type, uint32_t most, struct sl_frame_header *h)
{
	float low[3], extent;
	struct sl_frame_form form = {type, most};
	sl_layout_box(l, low, &extent);
	struct sl_buffer *b = sl_frame_encode(l, form, JOB, 42, SL_FRAME_DONE, low, extent);
	assert_non_null(b);
	assert_int_equal(b->bytes, sl_frame_bytes(l->n, l->dims, form));
	memcpy(h, b->data, sizeof *h);
	assert_int_equal(h->version, SL_FRAME_VERSION);
	assert_int_equal(h->dims, l->dims);
	assert_int_equal(h->type, type);
	assert_true(h->extent > 0 && h->stride > 0);
	assert_int_equal(b->bytes, sizeof *h + (size_t)h->n * h->dims * (type == SL_FRAME_F32 ? sizeof(float) : 2));
	return b;
}

/* y [n * dims] of the header */
static void decode(const unsigned char *frame, float *y)
{
	struct sl_frame_header h;
	memcpy(&h, frame, sizeof h);
	const unsigned char *payload = frame + sizeof h;
	size_t count = (size_t)h.n * h.dims;
	if (h.type == SL_FRAME_F32) {
		memcpy(y, payload, count * sizeof *y);
		return;
	}
	double step = (double)h.extent / 65535;
	for (size_t i = 0; i < count; i++) {
		uint16_t v;
		memcpy(&v, payload + i * sizeof v, sizeof v);
		y[i] = (float)(h.low[i % h.dims] + step * v);
	}
}

/* Every coordinate must be within half a step plus the rounding error of floats of that size. */
static void check_back(const struct sl_layout *l, int type, uint32_t most)
{
	struct sl_frame_header h;
	struct sl_buffer *b = encode(l, type, most, &h);
	float *y = malloc((size_t)h.n * h.dims * sizeof *y);
	assert_non_null(y);
	decode(b->data, y);
	for (size_t i = 0; i < h.n; i++)
		for (int k = 0; k < h.dims; k++) {
			double was = l->y[i * h.stride * (size_t)l->dims + (size_t)k], is = y[i * h.dims + (size_t)k];
			double within = type == SL_FRAME_F32 ? 0
				      : (double)h.extent / 65535 * 0.51 + 4 * FLT_EPSILON * fabs(was);
			if (!(fabs(was - is) <= within))
				fail_msg("dims %d, node %zu: %.9g came back as %.9g", l->dims, i, was, is);
		}
	free(y);
	sl_buffer_unref(b);
}

static void comes_back(void **state)
{
	static const uint32_t sizes[] = {1, 2, 3, 17, 1000, 4097};
	static const double sides[] = {1e-4, 1, 60, 1e6};
	for (int dims = 1; dims <= 3; dims++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
			for (size_t k = 0; k < sizeof sides / sizeof *sides; k++) {
				struct sl_layout *l = layout(sizes[i], dims, sides[k] * 0.3, sides[k]);
				for (uint32_t most = 0; most < 1500; most = most * 3 + 1) {
					check_back(l, SL_FRAME_U16, most);
					check_back(l, SL_FRAME_F32, most);
				}
				sl_layout_unref(l);
			}
}

static void header_says_what_it_is(void **state)
{
	struct sl_layout *l = layout(1000, 2, 0, 10);
	struct sl_frame_header h;
	sl_buffer_unref(encode(l, SL_FRAME_U16, 300, &h));
	assert_memory_equal(h.job, JOB, sizeof h.job);
	assert_int_equal(h.version, SL_FRAME_VERSION);
	assert_int_equal(h.dims, 2);
	assert_int_equal(h.type, SL_FRAME_U16);
	assert_int_equal(h.flags, SL_FRAME_FINAL);
	assert_int_equal(h.stride, 4);
	assert_int_equal(h.n, 250);
	assert_int_equal(h.sequence, 42);
	assert_int_equal(h.iteration, 7);
	assert_true(h.kl == 1.5f && h.low[2] == 0);
	assert_int_equal(h.nodes, 1000);
	assert_int_equal(h.header_bytes, sizeof h);
	assert_int_equal(h.end, SL_FRAME_DONE);
	assert_true(h.time_us == l->time_us && h.time_us > 0);
	sl_layout_unref(l);
}

/* A job without a result ends with a header that gives its end, without a payload. */
static void end_without_a_layout(void **state)
{
	struct sl_frame_header h;
	struct sl_buffer *b = sl_frame_encode_end(JOB, 77, 3, 9, 500, NAN, SL_FRAME_FAILED);
	assert_non_null(b);
	assert_int_equal(b->bytes, sizeof h);
	memcpy(&h, b->data, sizeof h);
	assert_memory_equal(h.job, JOB, sizeof h.job);
	assert_true(h.n == 0 && h.nodes == 77 && h.dims == 3 && h.stride == 1 && h.sequence == 9);
	assert_true(h.flags == SL_FRAME_FINAL && h.end == SL_FRAME_FAILED && h.iteration == 500 && h.extent == 1);
	sl_buffer_unref(b);
}

/* The box covers all nodes, including those outside the sample. */
static void box_is_of_all(void **state)
{
	struct sl_layout *l = layout(10, 2, 0, 1);
	struct sl_frame_header h;
	l->y[2 * 9] = 100;
	l->y[2 * 9 + 1] = -100;
	sl_buffer_unref(encode(l, SL_FRAME_U16, 2, &h));
	assert_int_equal(h.stride, 5);
	assert_true(h.low[1] == -100 && h.extent > 99);
	sl_layout_unref(l);
}

static void samples_keep_their_promise(void **state)
{
	for (uint32_t n = 1; n < 400; n += 7)
		for (uint32_t most = 1; most < 450; most += 11) {
			uint32_t stride = sl_frame_stride(n, most);
			assert_true(stride >= 1 && (n + stride - 1) / stride <= most);
			assert_true(stride == 1 || (n + stride - 2) / (stride - 1) > most);  /* no coarser than need be */
		}
	assert_int_equal(sl_frame_stride(1000, 0), 1);
	assert_int_equal(sl_frame_stride(UINT32_MAX, 1), UINT16_MAX);
}

static void coinciding_nodes(void **state)
{
	struct sl_layout *l = layout(50, 2, 3, 0);
	struct sl_frame_header h;
	struct sl_buffer *b = encode(l, SL_FRAME_U16, 0, &h);
	float y[100];
	assert_true(h.extent == 1);
	decode(b->data, y);
	for (int i = 0; i < 100; i++)
		assert_true(y[i] == 3);
	sl_buffer_unref(b);
	sl_layout_unref(l);
}

/* They must not change the box of the others, and must stay within the range of the quantisation. */
static void not_finite(void **state)
{
	for (int dims = 1; dims <= 3; dims++) {
		struct sl_layout *l = layout(100, dims, 0, 2);
		struct sl_frame_header h;
		l->y[0] = NAN;
		l->y[dims] = INFINITY;
		l->y[2 * dims] = -INFINITY;
		sl_buffer_unref(encode(l, SL_FRAME_U16, 0, &h));
		assert_true(h.extent > 1 && h.extent <= 2 && h.low[0] >= -1);
		for (int i = 0; i < 100 * dims; i++)
			l->y[i] = NAN;
		sl_buffer_unref(encode(l, SL_FRAME_U16, 0, &h));
		assert_true(h.extent == 1 && h.low[0] == 0);
		sl_layout_unref(l);
	}
}

/* Values at the nodes: a separate type, a longer header, the same payload. */
static void values_have_a_type_of_their_own(void **state)
{
	enum { N = 50 };
	for (int type = SL_FRAME_U16; type <= SL_FRAME_F32; type++) {
		struct sl_layout *l = layout(N, 2, 0.5, 3);
		float low[3], extent;
		double model_time;
		struct sl_frame_header plain, h;
		sl_layout_box(l, low, &extent);
		struct sl_buffer *of_layout = encode(l, type, 0, &plain);
		l->values = true;
		l->model_time = 12.5;
		struct sl_buffer *b = sl_frame_encode(l, (struct sl_frame_form){type, 0}, JOB, 42, SL_FRAME_DONE, low, extent);
		memcpy(&h, b->data, sizeof h);
		memcpy(&model_time, b->data + SL_FRAME_MODEL_TIME, sizeof model_time);
		assert_int_equal(h.type, type + SL_FRAME_VALUES_U16);
		assert_int_equal(h.header_bytes, SL_FRAME_VALUES_HEADER_BYTES);
		assert_int_equal(b->bytes, of_layout->bytes + 8);
		assert_true(model_time == 12.5);
		assert_memory_equal(b->data + h.header_bytes, of_layout->data + plain.header_bytes, b->bytes - h.header_bytes);
		sl_buffer_unref(b);
		sl_buffer_unref(of_layout);
		sl_layout_unref(l);
	}
}

int main(void)
{
	seed = test_seed(1);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_have_a_type_of_their_own),
		cmocka_unit_test(comes_back),
		cmocka_unit_test(header_says_what_it_is),
		cmocka_unit_test(end_without_a_layout),
		cmocka_unit_test(box_is_of_all),
		cmocka_unit_test(samples_keep_their_promise),
		cmocka_unit_test(coinciding_nodes),
		cmocka_unit_test(not_finite),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
