/* Pictures decode, have the requested size, and show the layout. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <omp.h>
#include <png.h>

#include "core/picture/picture.h"
#include "core/picture/picture_font.h"
#include "core/picture/picture_internal.h"
#include "tests/unit/graphs.h"

struct image {
	int width, height;
	uint8_t *rgb;
};

static struct image decode(const void *png, size_t bytes)
{
	png_image p = {.version = PNG_IMAGE_VERSION};
	assert_true(png_image_begin_read_from_memory(&p, png, bytes));
	p.format = PNG_FORMAT_RGB;
	struct image out = {(int)p.width, (int)p.height, malloc(PNG_IMAGE_SIZE(p))};
	assert_true(png_image_finish_read(&p, NULL, out.rgb, 0, NULL));
	return out;
}

static struct image draw(const struct sl_picture_options *o, const float *y, uint64_t n, int dims,
			 const uint32_t *label, uint32_t labels)
{
	void *png = NULL;
	size_t bytes = 0;
	struct sl_error err;
	int rc = sl_picture_png(o, y, n, dims, label, labels, &png, &bytes, &err);
	if (rc)
		print_message("%s\n", err.detail);
	assert_int_equal(rc, 0);
	struct image out = decode(png, bytes);
	free(png);
	return out;
}

/* Pixels in a box whose colour is within `near` (sum of absolute differences) of 0xRRGGBB. */
static int count(const struct image *m, int x0, int y0, int x1, int y1, uint32_t colour, int near)
{
	int found = 0;
	for (int y = y0; y < y1; y++)
		for (int x = x0; x < x1; x++) {
			const uint8_t *p = m->rgb + 3 * ((size_t)y * (size_t)m->width + (size_t)x);
			found += abs(p[0] - (int)(colour >> 16)) + abs(p[1] - (int)(colour >> 8 & 255)) +
				 abs(p[2] - (int)(colour & 255)) <= near;
		}
	return found;
}

static uint32_t pixel(const struct image *m, int x, int y)
{
	const uint8_t *p = m->rgb + 3 * ((size_t)y * (size_t)m->width + (size_t)x);
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

/* three clusters at left, right, top; the first label the largest */
static float *clusters(uint32_t n, int dims, uint32_t *label)
{
	static const float centre[3][3] = {{-10, -5, 0}, {10, -5, 0}, {0, 10, 0}};
	float *y = malloc((size_t)n * (size_t)dims * sizeof *y);
	uint64_t seed = test_seed(4);
	for (uint32_t i = 0; i < n; i++) {
		label[i] = i % 6 < 3 ? 0 : i % 6 < 5 ? 1 : 2;
		for (int d = 0; d < dims; d++)
			y[i * (size_t)dims + (size_t)d] = centre[label[i]][d] + (float)(2 * test_uniform(&seed) - 1);
	}
	return y;
}

static void test_sizes(void **state)
{
	static const struct {
		int width, height, expect_width, expect_height;
	} sizes[] = {{0, 0, 1200, 1200}, {300, 200, 300, 200}, {1, 64, 16, 64}, {64, 100000, 64, 8192}, {-5, 65, 16, 65}};
	uint32_t label[200];
	for (int dims = 1; dims <= 3; dims++)
		for (int k = 0; k < 5; k++)
			for (int light = 0; light < 2; light++) {
				struct sl_picture_options o = {.width = sizes[k].width, .height = sizes[k].height,
							       .light = light, .legend = true, .title = "two hundred nodes"};
				float *y = clusters(200, dims, label);
				struct image m = draw(&o, y, 200, dims, k & 1 ? label : NULL, 3);
				assert_int_equal(m.width, sizes[k].expect_width);
				assert_int_equal(m.height, sizes[k].expect_height);
				uint32_t corner = pixel(&m, 0, 0), all = (uint32_t)(m.width * m.height);
				assert_true(light ? (corner & 255) > 200 : (corner & 255) < 50);
				assert_true(count(&m, 0, 0, m.width, m.height, corner, 30) < (int)all);
				free(m.rgb);
				free(y);
			}
}

static void test_labels_have_their_colours(void **state)
{
	enum { N = 3000 };
	static uint32_t label[N];
	for (int light = 0; light < 2; light++) {
		struct sl_picture_options o = {.width = 600, .height = 600, .light = light};
		float *y = clusters(N, 2, label);
		struct image m = draw(&o, y, N, 2, label, 3);
		/* left, right, and top of the picture: y points up */
		static const int box[3][4] = {{0, 300, 300, 600}, {300, 300, 600, 600}, {150, 0, 450, 300}};
		for (int l = 0; l < 3; l++)
			for (int b = 0; b < 3; b++) {
				int found = count(&m, box[b][0], box[b][1], box[b][2], box[b][3],
						  sl_picture_colour((uint32_t)l, light), 60);
				assert_true(l == b ? found > 150 : found == 0);  /* the third has 500 points */
			}
		free(m.rgb);
		free(y);
	}
}

static void test_far_nodes_do_not_shrink_the_rest(void **state)
{
	enum { N = 6000 };
	static uint32_t label[N];
	struct sl_picture_options o = {.width = 400, .height = 400};
	float *y = clusters(N, 2, label);
	struct image before = draw(&o, y, N, 2, label, 3);
	y[0] = 1e6f;
	y[3] = -1e30f;
	y[4] = NAN;
	struct image after = draw(&o, y, N, 2, label, 3);
	int was = count(&before, 0, 0, 400, 400, pixel(&before, 0, 0), 30);
	int is = count(&after, 0, 0, 400, 400, pixel(&after, 0, 0), 30);
	assert_true(abs(was - is) < 400 * 400 / 8);
	free(before.rgb);
	free(after.rgb);
	free(y);
}

/* Below the plot there is only the line with this note. */
static void test_nodes_outside_are_counted(void **state)
{
	enum { N = 6000 };
	static uint32_t label[N];
	void *svg;
	size_t bytes;
	struct sl_error err;
	for (int dims = 1; dims <= 3; dims++) {
		for (int far = 0; far < 3; far++) {
			struct sl_picture_options o = {.width = 400, .height = 400};
			float *y = clusters(N, dims, label);
			for (int i = 0; i < far; i++)
				y[dims * i] = i ? -1e30f : 1e6f;
			struct image m = draw(&o, y, N, dims, label, 3);
			int below = 400 * 12 - count(&m, 0, 388, 400, 400, pixel(&m, 0, 0), 8);
			assert_true(far ? below > 100 : below == 0);
			free(m.rgb);
			assert_int_equal(sl_picture_svg(&o, y, N, dims, label, 3, &svg, &bytes, &err), 0);
			assert_true(!strstr(svg, "outside") == !far);
			assert_true(far != 1 || strstr(svg, ">1 node lies outside of this picture<"));
			assert_true(far != 2 || strstr(svg, ">2 nodes lie outside of this picture<"));
			free(svg);
			o.width = 300;
			assert_int_equal(sl_picture_svg(&o, y, N, dims, label, 3, &svg, &bytes, &err), 0);
			assert_null(strstr(svg, "outside"));
			free(svg);
			free(y);
		}
	}
}

static void test_unplaced_nodes_are_grey(void **state)
{
	enum { N = 2000 };
	static uint32_t label[2 * N];
	static uint8_t placed[2 * N];
	float *y = malloc(2 * 2 * N * sizeof *y), *inner = clusters(N, 2, label);
	memcpy(y, inner, 2 * N * sizeof *y);
	for (int i = 0; i < 2 * N; i++) {
		placed[i] = i < N;
		if (i >= N) {
			y[2 * i] = 18 * cosf((float)i);
			y[2 * i + 1] = 2.5f + 18 * sinf((float)i);
			label[i] = 0;
		}
	}
	struct sl_picture_options o = {.width = 500, .height = 500, .placed = placed};
	struct image m = draw(&o, y, 2 * N, 2, label, 3);
	/* the leftmost part of the ring is drawn, without a label's colour */
	uint32_t background = pixel(&m, 0, 0);
	int drawn = 60 * 100 - count(&m, 0, 200, 60, 300, background, 8);
	assert_true(drawn > 50);
	assert_int_equal(count(&m, 0, 200, 60, 300, sl_picture_colour(0, false), 120), 0);
	free(m.rgb);
	free(inner);
	free(y);
}

static void test_threads_do_not_matter(void **state)
{
	enum { N = 50000 };
	uint32_t *label = malloc(N * sizeof *label);
	int before = omp_get_max_threads();
	for (int dims = 1; dims <= 3; dims++) {
		void *first = NULL, *again = NULL;
		size_t bytes = 0, more = 0;
		float *y = clusters(N, dims, label);
		omp_set_num_threads(1);
		assert_int_equal(sl_picture_png(NULL, y, N, dims, label, 3, &first, &bytes, NULL), 0);
		omp_set_num_threads(3);
		assert_int_equal(sl_picture_png(NULL, y, N, dims, label, 3, &again, &more, NULL), 0);
		assert_int_equal(bytes, more);
		assert_memory_equal(first, again, bytes);
		free(first);
		free(again);
		free(y);
	}
	omp_set_num_threads(before);
	free(label);
}

static void test_degenerate_layouts(void **state)
{
	static const float same[9] = {3, 3, 3, 3, 3, 3, 3, 3, 3}, none[3] = {NAN, NAN, NAN};
	static const float huge[6] = {-3e38f, -3e38f, -3e38f, 3e38f, 3e38f, 3e38f};
	static const uint8_t apart[3] = {0, 0, 0};
	struct sl_picture_options o = {.width = 100, .height = 100, .legend = true};
	for (int dims = 1; dims <= 3; dims++)
		for (int k = 0; k < 6; k++) {
			o.placed = k == 4 ? apart : NULL;
			const float *y = k == 3 ? none : k == 5 ? huge : same;
			uint64_t n = k < 3 ? (uint64_t)k : k == 3 ? 1 : k == 5 ? 2 : 3;
			struct image m = draw(&o, y, n, dims, NULL, 0);
			assert_int_equal(m.width, 100);
			int background = count(&m, 0, 0, 100, 100, pixel(&m, 0, 0), 3);
			if (k == 0 || k == 3)
				assert_int_equal(background, 100 * 100);
			if (k == 1 || k == 2)
				assert_true(background < 100 * 100);
			free(m.rgb);
		}
}

static void test_many_labels_and_odd_names(void **state)
{
	enum { N = 4000, LABELS = 1000 };
	static uint32_t label[N];
	static const char *names[LABELS];
	float *y = clusters(N, 2, label);
	for (int i = 0; i < N; i++)
		label[i] = (uint32_t)i % LABELS;
	for (int l = 0; l < LABELS; l++)
		names[l] = l % 3 == 0 ? "" : l % 3 == 1 ? "na\xc3\xafve \x01"
						       : "a name that is much longer than there is room for in it";
	struct sl_picture_options o = {.width = 700, .height = 500, .legend = true, .label_name = names, .title = ""};
	for (int dims = 1; dims <= 2; dims++) {
		struct image m = draw(&o, y, N, dims, label, LABELS);
		/* the legend's text is at the right */
		assert_true(count(&m, 550, 0, 700, 500, pixel(&m, 0, 0), 30) < 150 * 500 - 500);
		free(m.rgb);
	}
	free(y);
}

/* Numbers in their order, whatever their number of digits; others the largest first. */
static void test_legend_is_in_order(void **state)
{
	static const char *const name[][3] = {{"10", "9", "-2"}, {"a", "c", "b"}, {"10", "9", "2b"}};
	static const uint32_t rank[][3] = {{2, 1, 0}, {0, 1, 2}, {0, 1, 2}};
	uint32_t label[600];
	float *y = clusters(600, 2, label);
	for (int k = 0; k < 3; k++) {
		struct sl_picture_options o = {.width = 640, .height = 640, .legend = true, .label_name = name[k]};
		struct image m = draw(&o, y, 600, 2, label, 3);
		for (int line = 0; line < 3; line++) {
			int top = 22 + 13 * line;
			assert_true(count(&m, 580, top, 640, top + 8, sl_picture_colour(rank[k][line], false), 20) > 10);
		}
		free(m.rgb);
	}
	free(y);
}

/* The bar of a scale has its colours in order, the lowest at the bottom; no point of the layout is drawn there. */
static void test_scale_has_a_bar(void **state)
{
	enum { N = 2000, STEPS = 64 };
	static const int sizes[][2] = {{1024, 1024}, {640, 400}, {320, 120}, {200, 90}};
	static float y[2 * N];
	static uint32_t label[N];
	const char *name[STEPS + 1] = {[0] = "0", [16] = "1", [32] = "2", [47] = "3", [63] = "4", [STEPS] = "none"};
	uint64_t seed = test_seed(8);
	for (uint32_t i = 0; i < N; i++) {
		y[2 * i] = (float)test_uniform(&seed);
		y[2 * i + 1] = (float)test_uniform(&seed);
		label[i] = i % 10 ? i % STEPS : STEPS;
	}
	for (int k = 0; k < 4; k++)
		for (int light = 0; light < 2; light++) {
			struct sl_picture_options o = {.width = sizes[k][0], .height = sizes[k][1], .light = light, .legend = true,
						       .legend_title = "speed", .label_name = name, .scale = true, .none = true};
			struct sl__drawing w = {.options = &o};
			struct sl_error err;
			assert_int_equal(sl__drawing_make(&w, y, N, 2, label, STEPS + 1, &err), 0);
			const struct sl__legend *g = &w.legend;
			assert_true(g->bar && g->bar_height > 20 && g->left > w.plot.left + w.plot.width + 1);
			float top, at, last = -100;
			for (uint32_t r = 0; r < g->lines; r++) {
				if (!sl__legend_line(&w, r, &at))
					continue;
				assert_true(at > last + 6 * w.text && at + 7 * w.text <= (float)o.height);   /* lines do not overlap */
				last = at;
			}
			int x = (int)(g->left + 2), y0 = (int)(g->top + 3.5f * w.text) + 1, y1 = y0 + (int)g->bar_height - 3;
			assert_true(sl__legend_line(&w, 0, &top) && fabsf(top - g->top) < 1);
			for (int row = y0; row <= y1; row++) {
				uint8_t *p = w.canvas.pixel + 3 * ((size_t)row * (size_t)w.canvas.width + (size_t)x);
				uint32_t want = sl__rgb_to_hex(sl__scale_colour(1 - (float)(row - y0 + 1) / g->bar_height, light));
				assert_true(abs(p[0] - (int)(want >> 16)) + abs(p[1] - (int)(want >> 8 & 255)) +
					    abs(p[2] - (int)(want & 255)) < 40);
			}
			sl__drawing_finish(&w);
		}
}

static void test_colours_are_distinct(void **state)
{
	for (int light = 0; light < 2; light++)
		for (uint32_t a = 0; a < 24; a++)
			for (uint32_t b = 0; b < a; b++) {
				uint32_t u = sl_picture_colour(a, light), v = sl_picture_colour(b, light);
				int apart = abs((int)(u >> 16) - (int)(v >> 16)) +
					    abs((int)(u >> 8 & 255) - (int)(v >> 8 & 255)) + abs((int)(u & 255) - (int)(v & 255));
				assert_true(apart > 40);
			}
	assert_int_not_equal(sl_picture_colour(24, false), sl_picture_colour(25, false));
	assert_int_equal(sl_picture_colour(100, false), sl_picture_colour(100, false));
}

static char *draw_svg(const struct sl_picture_options *o, const float *y, uint64_t n, int dims, const uint32_t *label,
		      uint32_t labels)
{
	void *svg = NULL;
	size_t bytes = 0;
	struct sl_error err;
	assert_int_equal(sl_picture_svg(o, y, n, dims, label, labels, &svg, &bytes, &err), 0);
	assert_int_equal(strlen(svg), bytes);
	return svg;
}

static int occurrences(const char *text, const char *part)
{
	int found = 0;
	for (; (text = strstr(text, part)); text++)
		found++;
	return found;
}

static void test_svg_has_circles_and_words(void **state)
{
	static const float y[] = {0, 0, 1, 1, 2, 0, 3, 2, 1, 3, 0, 2};
	static const uint32_t label[] = {0, 0, 0, 1, 1, 1};
	static const uint8_t placed[] = {1, 1, 1, 1, 1, 0};
	static const char *const names[] = {
		"a <b> & \"c\"\x01\xff", "a name that is so long that its middle has to go: Gr\xc3\xb6\xc3\x9f""e",
	};
	const struct sl_picture_options o = {
		.width = 400, .height = 300, .legend = true, .placed = placed, .label_name = names, .light = true,
	};
	for (int dims = 2; dims <= 3; dims++) {
		char *svg = draw_svg(&o, y, dims == 2 ? 6 : 4, dims, label, 2);
		assert_non_null(strstr(svg, "width=\"400\" height=\"300\""));
		assert_int_equal(occurrences(svg, "<circle"), (dims == 2 ? 6 : 4) + 2);
		assert_non_null(strstr(svg, ">a &lt;b&gt; &amp; &quot;c&quot; ?</text>"));
		assert_non_null(strstr(svg, "\xe2\x80\xa6"));
		assert_non_null(strstr(svg, "\xc3\x9f""e</text>"));
		assert_int_equal(occurrences(svg, "<g fill=\"#"), dims == 2 ? 3 : 0);
		assert_null(strstr(svg, "<image"));
		free(svg);
	}
}

static void test_svg_of_many_nodes_is_an_image(void **state)
{
	uint64_t n = 50001;
	float *y = calloc(n, 2 * sizeof *y);
	for (uint64_t i = 0; i < n; i++) {
		y[2 * i] = (float)(i % 211);
		y[2 * i + 1] = (float)(i / 211);
	}
	const struct sl_picture_options o = {.width = 100, .height = 100};
	char *svg = draw_svg(&o, y, n, 2, NULL, 0), *line = draw_svg(&o, y, 100, 1, NULL, 0);
	assert_int_equal(occurrences(svg, "<image"), 1);
	assert_int_equal(occurrences(svg, "<circle"), 0);
	assert_int_equal(occurrences(line, "<image"), 1);
	assert_non_null(strstr(svg, "data:image/png;base64,iVBORw0KGgo"));
	free(svg);
	free(line);
	free(y);
}

/* Letters of non-English alphabets have their own shapes in the legend. */
static void test_letters_beyond_ascii(void **state)
{
	static const char *const known[] = {"\xc3\xa9", "\xc3\x89", "\xc3\x9f", "\xc5\x81", "\xce\xbb", "\xce\xa9",
					    "\xd0\x96", "\xd1\x89", "\xe2\x80\x93", "\xc2\xb5", "\xe2\x82\xac", "\xe2\x88\x9e"};
	enum { KNOWN = sizeof known / sizeof *known };
	uint8_t unknown[SL__FONT_ROWS], row[KNOWN][SL__FONT_ROWS];
	sl__font_glyph(sl__text_code("\xe6\x97\xa5"), unknown);  /* Japanese */
	sl__font_glyph('?', row[0]);
	assert_memory_equal(unknown, row[0], sizeof unknown);
	for (int i = 0; i < KNOWN; i++) {
		sl__font_glyph(sl__text_code(known[i]), row[i]);
		assert_memory_not_equal(unknown, row[i], sizeof unknown);
		for (int k = 0; k < i; k++)
			assert_memory_not_equal(row[k], row[i], sizeof unknown);
	}
	for (int i = 1; i < sl__glyphs_count; i++)
		assert_true(sl__glyphs[i - 1].code < sl__glyphs[i].code);
	assert_int_equal(sl__text_code("\xff"), '?');
}

/* ... and is drawn: its pixels are in the picture. */
static void test_letters_beyond_ascii_are_drawn(void **state)
{
	static const char *const name[][1] = {{"\xd0\x96\xd0\x96"}, {"??"}, {"\xe6\x97\xa5\xe6\x97\xa5"}};
	uint32_t label[600] = {0};
	float *y = clusters(600, 2, label);
	struct image m[3];
	memset(label, 0, sizeof label);
	for (int k = 0; k < 3; k++) {
		struct sl_picture_options o = {.width = 640, .height = 640, .legend = true, .label_name = name[k]};
		m[k] = draw(&o, y, 600, 2, label, 1);
	}
	assert_memory_not_equal(m[0].rgb, m[1].rgb, 640 * 640 * 3);
	assert_memory_equal(m[1].rgb, m[2].rgb, 640 * 640 * 3);
	for (int k = 0; k < 3; k++)
		free(m[k].rgb);
	free(y);
}

static void test_the_middle_of_long_text_goes(void **state)
{
	static const struct {
		const char *text;
		int most;
		const char *fits;
	} cases[] = {
		{"abcdefghij", 10, "abcdefghij"}, {"abcdefghij", 9, "abcd..hij"}, {"abcdefghij", 4, "a..j"},
		{"abcdefghij", 3, "a.."},
		{"abcdefghij", 2, ""}, {"abcdefghij", 0, ""}, {"", 5, ""},
		{"\xc3\xa4\xc3\xb6\xc3\xbc\xe2\x82\xac""abc", 5, "\xc3\xa4\xc3\xb6..c"},
		{"\xc3\xa4\xff""b", 3, "\xc3\xa4\xff""b"},
	};
	char out[SL__TEXT_BYTES];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_string_equal(sl__text_fit(cases[i].text, cases[i].most, "..", out), cases[i].fits);
	assert_int_equal(sl__text_length("\xc3\xa4\xff""b"), 3);
	assert_int_equal(sl__text_next("\xe2\x82"), 1);
}

static void test_bad_input(void **state)
{
	float y[4] = {0, 0, 1, 1};
	uint32_t label[2] = {0, 2};
	void *png = NULL;
	size_t bytes;
	struct sl_error err;
	assert_int_equal(sl_picture_png(NULL, y, 1, 4, NULL, 0, &png, &bytes, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/dims");
	assert_int_equal(sl_picture_png(NULL, y, 2, 2, label, 2, &png, &bytes, &err), SL_BADPARAM);
	assert_non_null(strstr(err.detail, "Node 1 has label 2"));
	assert_null(png);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_labels_have_their_colours),
		cmocka_unit_test(test_far_nodes_do_not_shrink_the_rest),
		cmocka_unit_test(test_nodes_outside_are_counted),
		cmocka_unit_test(test_unplaced_nodes_are_grey),
		cmocka_unit_test(test_threads_do_not_matter),
		cmocka_unit_test(test_degenerate_layouts),
		cmocka_unit_test(test_many_labels_and_odd_names),
		cmocka_unit_test(test_legend_is_in_order),
		cmocka_unit_test(test_scale_has_a_bar),
		cmocka_unit_test(test_colours_are_distinct),
		cmocka_unit_test(test_svg_has_circles_and_words),
		cmocka_unit_test(test_svg_of_many_nodes_is_an_image),
		cmocka_unit_test(test_letters_beyond_ascii), cmocka_unit_test(test_letters_beyond_ascii_are_drawn),
		cmocka_unit_test(test_the_middle_of_long_text_goes),
		cmocka_unit_test(test_bad_input),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
