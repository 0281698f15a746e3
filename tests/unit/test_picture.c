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
				assert_true(l == b ? found > 80 : found == 0);  /* the third has 500 points */
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

static char *draw_svg(const struct sl_picture_options *o, const float *y, uint64_t n, int dims, const uint32_t *label,
		      uint32_t labels);

/* The first n colours stay apart for people with any kind of colour vision: distances in OKLab (deltaEOK of CSS Color
 * 4; about .02 is just noticeable) under Machado, Oliveira and Fernandes' simulation (2009, severity 1). */
static void colour_seen(uint32_t hex, int vision, float lab[3])
{
	static const float as_seen[4][9] = {
		{1, 0, 0, 0, 1, 0, 0, 0, 1},
		{.152286f, 1.052583f, -.204868f, .114503f, .786281f, .099216f, -.003882f, -.048116f, 1.051998f},
		{.367322f, .860646f, -.227968f, .280085f, .672501f, .047413f, -.011820f, .042940f, .968881f},
		{1.255528f, -.076749f, -.178779f, -.078411f, .930809f, .147602f, .004733f, .691367f, .303900f},
	};
	struct sl__rgb c = sl__rgb_from_hex(hex);
	const float *m = as_seen[vision];
	float v[3], lms[3];
	for (int k = 0; k < 3; k++)
		v[k] = fminf(fmaxf(m[3 * k] * c.r + m[3 * k + 1] * c.g + m[3 * k + 2] * c.b, 0), 1);
	lms[0] = cbrtf(.4122214708f * v[0] + .5363325363f * v[1] + .0514459929f * v[2]);
	lms[1] = cbrtf(.2119034982f * v[0] + .6806995451f * v[1] + .1073969566f * v[2]);
	lms[2] = cbrtf(.0883024619f * v[0] + .2817188376f * v[1] + .6299787005f * v[2]);
	lab[0] = .2104542553f * lms[0] + .7936177850f * lms[1] - .0040720468f * lms[2];
	lab[1] = 1.9779984951f * lms[0] - 2.4285922050f * lms[1] + .4505937099f * lms[2];
	lab[2] = .0259040371f * lms[0] + .7827717662f * lms[1] - .8086757660f * lms[2];
}

static float seen_apart(uint32_t a, uint32_t b)
{
	float least = 9, u[3], v[3];
	for (int vision = 0; vision < 4; vision++) {
		colour_seen(a, vision, u);
		colour_seen(b, vision, v);
		least = fminf(least, hypotf(hypotf(u[0] - v[0], u[1] - v[1]), u[2] - v[2]));
	}
	return least;
}

static void test_colours_differ_for_all_kinds_of_colour_vision(void **state)
{
	static const struct {
		uint32_t classes;
		float apart;
	} wanted[] = {{2, .25f}, {3, .17f}, {5, .13f}, {8, .095f}, {12, .075f}, {20, .055f}, {30, .045f}};
	for (int light = 0; light < 2; light++) {
		struct sl__theme theme = sl__theme(light);
		for (uint32_t a = 0, k = 0; a < 30; a++) {
			uint32_t own = sl_picture_colour(a, light);
			while (a >= wanted[k].classes)
				k++;
			for (uint32_t b = 0; b < a; b++)
				assert_true(seen_apart(own, sl_picture_colour(b, light)) > wanted[k].apart);
			assert_true(seen_apart(own, sl__rgb_to_hex(theme.background)) > .15f);
			assert_true(seen_apart(own, sl__rgb_to_hex(theme.faint)) > .06f);
		}
	}
	assert_int_not_equal(sl_picture_colour(64, false), sl_picture_colour(65, false));
	assert_int_equal(sl_picture_colour(100, false), sl_picture_colour(100, false));
}

/* A label's colour does not depend on whether its nodes are placed: it is the dashboard's. */
static void test_colours_go_by_all_nodes(void **state)
{
	static uint32_t label[600];
	static uint8_t placed[600];
	static const char *const name[] = {"many", "few"};
	float *y = clusters(600, 2, label);
	for (int i = 0; i < 600; i++) {
		label[i] = i >= 400;
		placed[i] = i % 10 == 0 || i >= 400;
	}
	struct sl_picture_options o = {.placed = placed, .label_name = name};
	struct sl__drawing w = {.options = &o};
	struct sl_error err;
	assert_int_equal(sl__drawing_make(&w, y, 600, 2, label, 2, &err), 0);
	assert_int_equal(w.by_size[0], 1);
	assert_int_equal(sl__rgb_to_hex(w.ink[0]), sl_picture_colour(0, false));
	assert_int_equal(sl__rgb_to_hex(w.ink[1]), sl_picture_colour(1, false));
	sl__drawing_finish(&w);
	free(y);
}

/* A label whose nodes are nowhere most of those around has no name; a small one has, where most of its nodes are. */
static void test_no_name_amid_others(void **state)
{
	enum { N = 2400, LABELS = 5 };
	static uint32_t label[N];
	static float y[2 * N];
	static const char *const name[LABELS] = {"mixed a", "mixed b", "mixed c", "alone", "few"};
	uint64_t seed = test_seed(22);
	for (uint32_t i = 0; i < N; i++) {
		label[i] = i % 4;
		y[2 * i] = (label[i] == 3 ? 20 : 0) + 4 * (float)test_uniform(&seed);
		y[2 * i + 1] = 4 * (float)test_uniform(&seed);
	}
	for (uint32_t i = 0; i < 8; i++) {
		label[4 * i] = 4;  /* five close together and far from the rest, three amid it */
		y[8 * i] = i < 5 ? 10 + 0.1f * (float)i : y[8 * i];
	}
	struct sl_picture_options o = {.names = true, .label_name = name, .width = 900, .height = 700};
	char *svg = draw_svg(&o, y, N, 2, label, LABELS);
	assert_non_null(strstr(svg, ">alone</text>"));
	assert_non_null(strstr(svg, ">few</text>"));
	assert_null(strstr(svg, ">mixed a</text>"));
	assert_null(strstr(svg, ">mixed c</text>"));
	free(svg);
}

/* Names stand in their clusters, inside the plot, and none covers another. */
static void test_names_on_the_map(void **state)
{
	enum { N = 3000, LABELS = 30 };
	static uint32_t label[N];
	static float y[2 * N];
	static char text[LABELS][40];
	const char *name[LABELS];
	uint64_t seed = test_seed(21);
	for (uint32_t i = 0; i < N; i++) {
		label[i] = i % LABELS;
		y[2 * i] = 10 * (float)(label[i] % 6) + (float)test_uniform(&seed);
		y[2 * i + 1] = 10 * (float)(label[i] / 6) + (float)test_uniform(&seed);
	}
	for (int l = 0; l < LABELS; l++) {
		snprintf(text[l], sizeof text[l], l % 7 ? "type %d" : "a type with a long name, %d", l);
		name[l] = text[l];
	}
	for (int k = 0; k < 4; k++) {
		struct sl_picture_options o = {.width = k < 2 ? 1000 : 240, .height = k < 2 ? 800 : 200, .names = true,
					       .label_name = name, .light = k % 2, .legend = k % 2};
		struct sl__drawing w = {.options = &o};
		struct sl_error err;
		assert_int_equal(sl__drawing_make(&w, y, N, 2, label, LABELS, &err), 0);
		const struct sl__plot *p = &w.plot;
		assert_true(k < 2 ? w.placed_names == LABELS : w.placed_names > 2);
		for (uint32_t a = 0; a < w.placed_names; a++) {
			const struct sl__map_name *m = &w.placed[a];
			assert_true(m->left >= p->left - 1 && m->left + m->width <= p->left + p->width + 1);
			assert_true(m->top >= p->top - 1 && m->top + 7 * w.text <= p->top + p->height + 1);
			float x = 0, v = 0;
			for (uint64_t i = 0; i < p->n; i++)
				if (p->dot[i].label == m->label) {
					x += p->dot[i].at[0] / (N / LABELS);
					v += p->dot[i].at[1] / (N / LABELS);
				}
			assert_true(x > m->left - 2 && x < m->left + m->width + 2);
			assert_true(fabsf(v - m->top - 3.5f * w.text) < 30 * w.text);
			for (uint32_t b = 0; b < a; b++) {
				const struct sl__map_name *q = &w.placed[b];
				assert_false(m->left < q->left + q->width && q->left < m->left + m->width &&
					     fabsf(m->top - q->top) < 9 * w.text);
			}
		}
		sl__drawing_finish(&w);
	}
	struct sl_picture_options o = {.names = true, .label_name = name};
	char *with = draw_svg(&o, y, N, 2, label, LABELS);
	o.names = false;
	char *without = draw_svg(&o, y, N, 2, label, LABELS);
	assert_non_null(strstr(with, ">type 1</text>"));
	assert_null(strstr(without, ">type 1</text>"));
	free(with);
	free(without);
}

/* The resolution is in the file, and makes text larger. */
static void test_resolution(void **state)
{
	float y[4] = {0, 0, 1, 1};
	struct sl_picture_options o = {.width = 900, .height = 900, .dpi = 300};
	struct sl__drawing w = {.options = &o};
	void *png = NULL;
	size_t bytes = 0;
	struct sl_error err;
	assert_int_equal(sl__drawing_make(&w, y, 2, 2, NULL, 0, &err), 0);
	assert_true(fabsf(w.text * SL__CANVAS_EM - 8.0f / 72 * 300) < .1f);
	sl__drawing_finish(&w);
	assert_int_equal(sl_picture_png(&o, y, 2, 2, NULL, 0, &png, &bytes, &err), 0);
	static const uint8_t wanted[] = {'p', 'H', 'Y', 's', 0, 0, 0x2e, 0x23, 0, 0, 0x2e, 0x23, 1};  /* 11811 a metre */
	assert_non_null(memmem(png, bytes, wanted, sizeof wanted));
	free(png);
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

/* The font has the letters of many alphabets; it shows those that it lacks as '?'. */
static void test_letters_beyond_ascii(void **state)
{
	static const char *const known[] = {"\xc3\xa9", "\xc3\x89", "\xc3\x9f", "\xc5\x81", "\xce\xbb", "\xce\xa9",
					    "\xd0\x96", "\xd1\x89", "\xe2\x80\x93", "\xc2\xb5", "\xe2\x82\xac", "\xe2\x88\x9e",
					    "\xd8\xb4", "\xd4\xb1"};
	struct sl__font *font = sl__font_open();
	assert_non_null(font);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		assert_true(sl__font_has(font, sl__text_code(known[i])));
	uint32_t japanese = sl__text_code("\xe6\x97\xa5");
	assert_false(sl__font_has(font, japanese));
	assert_true(sl__font_advance(font, 20, japanese) == sl__font_advance(font, 20, '?'));
	/* letters have their own widths, which grow with the size; AV is narrower than its letters */
	assert_true(sl__font_advance(font, 20, 'W') > 2 * sl__font_advance(font, 20, 'i'));
	assert_true(fabsf(sl__font_advance(font, 40, 'W') - 2 * sl__font_advance(font, 20, 'W')) < .05f);
	assert_true(sl__font_kern(font, 40, 'A', 'V') < -1);
	sl__font_close(font);
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
		cmocka_unit_test(test_colours_differ_for_all_kinds_of_colour_vision),
		cmocka_unit_test(test_colours_go_by_all_nodes),
		cmocka_unit_test(test_no_name_amid_others),
		cmocka_unit_test(test_names_on_the_map),
		cmocka_unit_test(test_resolution),
		cmocka_unit_test(test_svg_has_circles_and_words),
		cmocka_unit_test(test_svg_of_many_nodes_is_an_image),
		cmocka_unit_test(test_letters_beyond_ascii), cmocka_unit_test(test_letters_beyond_ascii_are_drawn),
		cmocka_unit_test(test_the_middle_of_long_text_goes),
		cmocka_unit_test(test_bad_input),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
