/* Dates as texts and back, and what a column of texts is recognised as. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "core/formats/images/images.h"
#include "core/formats/images/sprites.h"
#include "core/formats/labels/kinds.h"
#include "core/formats/text/date.h"
#include "core/random.h"
#include "tests/unit/seeds.h"

static void dates_are_read(void **state)
{
	static const struct { const char *text; int64_t ms; bool zoneless; } good[] = {
		{"1970-01-01", 0, false}, {"1970-01", 0, false}, {"1970/01/02", 86400000, false}, {"1969-12-31", -86400000,
				false},
		{"2024-02-29", 1709164800000, false}, {"1970-01-01T00:00:01Z", 1000, false}, {"1970-01-01 00:01", 60000, true},
		{"1970-01-01T01:00:00+01:00", 0, false}, {"1970-01-01T00:00:00.25Z", 250, false},
		{"1970-01-01T00:00:00.0009", 0, true}, {"1969-12-31T23:00-0100", 0, false}, {"0000-03-01", -62162035200000,
				false},
		{"1970-01-01T24:00", 86400000, true},
	};
	static const char *const bad[] = {"", "1970", "1970-13-01", "2023-02-29", "1970-01-01T", "1970-01-01T25:00",
			"01/02/2024",
		"1970-1-1", "1970-01/01", "1970-01-01x", "1970-01-01T00:00:00.", "1970-01-01T00:00+", "1970-01-01T24:01",
				"1900-02-29",
		"9999-12-31T24:00", "9999-12-31T23:59-23:59", "0000-01-01T00:00+00:01"};
	static const struct { const char *text; int64_t ms; } end[] = {
		{"1970-01-01", 86399999}, {"1970-01", 2678399999}, {"2024-02", 1709251199999}, {"1970-01-01T00:00:01Z", 1000},
		{"9999-12", 253402300799999},
	};
	for (size_t i = 0; i < sizeof end / sizeof *end; i++) {
		int64_t ms = 1;
		assert_true(sl_date_parse_end(end[i].text, &ms));
		assert_int_equal(ms, end[i].ms);
	}
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		int64_t ms = 1;
		bool zoneless = true;
		assert_true(sl_date_parse(good[i].text, &ms, &zoneless));
		assert_int_equal(ms, good[i].ms);
		assert_int_equal(zoneless, good[i].zoneless);
	}
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		int64_t ms;
		assert_false(sl_date_parse(bad[i], &ms, NULL));
	}
	assert_true(sl_date_is_ambiguous("01/02/2024") && sl_date_is_ambiguous("1.2.24") && !sl_date_is_ambiguous("1.5") &&
		    !sl_date_is_ambiguous("32/02/2024") && !sl_date_is_ambiguous("1/2-2024"));
}

static void dates_come_back(void **state)
{
	uint64_t seed = fresh_seed();
	for (uint64_t i = 0; i < 20000; i++) {
		int64_t most = 62167219200000 + 253402300800000, ms = (int64_t)(sl_random_bits(seed, i) % (uint64_t)most) -
				62167219200000;
		char text[SL_DATE_BYTES];
		int64_t back = 0;
		bool zoneless = true;
		assert_true(sl_date_parse(sl_date_text(ms, text), &back, &zoneless));
		assert_int_equal(back, ms);
		assert_false(zoneless);
	}
}

/* Recognises a column whose values are these texts in turn. */
static struct sl_column_guess guess(const char *const *text, uint32_t texts, uint32_t n)
{
	struct sl_label_column c = {.labels = texts, .text = (char **)(void *)text, .label = malloc(n * sizeof *c.label)};
	struct sl_column_guess out;
	for (uint32_t i = 0; i < n; i++)
		c.label[i] = i % texts;
	sl_column_recognise(&c, n, &out);
	free(c.label);
	return out;
}

#define GUESS(n, ...) guess((const char *const[]){__VA_ARGS__}, sizeof(const char *[]){__VA_ARGS__} / sizeof(char *), n)

static void kinds_are_recognised(void **state)
{
	assert_int_equal(GUESS(6, "1", "-2.5e3", "0.5").kind, SL_COLUMN_NUMBER);
	assert_int_equal(GUESS(6, "007", "012").kind, SL_COLUMN_CATEGORY);
	assert_non_null(strstr(GUESS(6, "007", "012").why, "zeros"));
	assert_int_equal(GUESS(6, "9007199254740993", "2").kind, SL_COLUMN_CATEGORY);
	assert_non_null(strstr(GUESS(6, "9007199254740993", "9007199254740995", "1", "2").why, "2^53"));
	assert_int_equal(GUESS(6, "9007199254740992", "2").kind, SL_COLUMN_NUMBER);
	assert_int_equal(GUESS(6, "2024-01-31", "2024-02").kind, SL_COLUMN_DATE);
	assert_int_equal(GUESS(6, "https://a.b", "HTTP://c").kind, SL_COLUMN_LINK);
	assert_int_equal(GUESS(6, "https://a.b", "javascript:alert(1)").kind, SL_COLUMN_CATEGORY);
	assert_int_equal(GUESS(6, "cat", "dog").kind, SL_COLUMN_CATEGORY);
	struct sl_column_guess most = GUESS(20, "1", "2", "3", "4", "5", "6", "7", "8", "9", "ten");
	assert_true(most.kind == SL_COLUMN_CATEGORY && most.warns && strstr(most.why, "\"ten\""));
	assert_int_equal(GUESS(4, "A text of more than a hundred bytes is no category, since nobody would want to read it "
			"in a legend "
			       "beside a map", "b").kind, SL_COLUMN_TEXT);
}

static void images_are_recognised(void **state)
{
	struct sl_image_head head;
	const unsigned char png[24] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x07\0\0\0\x05";
	const unsigned char gif[12] = "GIF89a\x07\0\x05\0";
	const unsigned char jpeg[32] = "\xff\xd8\xff\xe0\0\x04\0\0\xff\xc2\0\x0b\x08\0\x05\0\x07\x01";
	assert_true(sl_image_look(png, sizeof png, &head) && head.type == SL_IMAGE_PNG && head.width == 7 && head.height ==
			5);
	assert_true(sl_image_look(gif, sizeof gif, &head) && head.type == SL_IMAGE_GIF && head.width == 7 && head.height ==
			5);
	assert_true(sl_image_look(jpeg, sizeof jpeg, &head) && head.type == SL_IMAGE_JPEG && head.width == 7 && head.height
			== 5);
	for (size_t size = 0; size <= sizeof jpeg; size++)   /* also when it is cut off */
		sl_image_look(jpeg, size, &head);
	assert_false(sl_image_look((const unsigned char *)"<svg xmlns=''><script/></svg>", 29, &head));
}

static void sprites_are_means(void **state)
{
	uint8_t grey[16], rgba[64], sheet[4 * 8 * 8] = {0}, *back;
	uint32_t width, height;
	void *png;
	size_t bytes;
	struct sl_error err;
	for (int i = 0; i < 16; i++)
		grey[i] = (uint8_t)(i * 16);
	sl_sprite_expand(grey, 16, 1, rgba);
	sl_sprite_place(rgba, 4, 4, sheet, 8, 4, 4, 2);
	assert_int_equal(sheet[4 * (4 * 8 + 4)], (0 + 16 + 64 + 80) / 4);
	assert_int_equal(sheet[4 * (5 * 8 + 5)], (160 + 176 + 224 + 240) / 4);
	assert_int_equal(sheet[4 * (4 * 8 + 4) + 3], 255);
	assert_int_equal(sheet[4 * (3 * 8 + 4) + 3], 0);
	sl_sprite_place(rgba, 4, 2, sheet, 8, 0, 0, 8);   /* twice as large, in the middle */
	assert_true(!sheet[4 * 8 + 3] && sheet[4 * (2 * 8 + 2)] == 16 && sheet[4 * (5 * 8 + 7)] == 112 && !sheet[4 * 6 * 8 +
			3]);
	assert_int_equal(sl_png_encode(sheet, 8, 8, &png, &bytes, &err), 0);
	assert_int_equal(sl_png_decode(png, bytes, &back, &width, &height, &err), 0);
	assert_true(width == 8 && height == 8 && !memcmp(back, sheet, sizeof sheet));
	free(back);
	assert_int_equal(sl_png_decode(png, bytes / 2, &back, &width, &height, &err), SL_BADDATA);
	free(png);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dates_are_read), cmocka_unit_test(dates_come_back), cmocka_unit_test(kinds_are_recognised),
		cmocka_unit_test(images_are_recognised), cmocka_unit_test(sprites_are_means),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
