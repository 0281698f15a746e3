/* The JSON writer: jansson reads the same values back; where required, the bytes equal jansson's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "daemon/json/json.h"
#include "tests/unit/seeds.h"

static void same(json_t *value)
{
	size_t length;
	char *text = sl_json_text(value, &length), *due = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY |
								     JSON_REAL_PRECISION(15));
	assert_non_null(text);
	assert_int_equal(length, strlen(text));
	assert_string_equal(text, due);
	free(text);
	free(due);
	json_decref(value);
}

static void values(void **state)
{
	size_t length;
	assert_null(sl_json_text(NULL, &length));
	same(json_null());
	same(json_true());
	same(json_false());
	same(json_array());
	same(json_object());
	same(json_pack("{s:[i, f, s, n, b, {}], s:{s:[]}}", "a", 1, 0.5, "x", 1, "b", "c"));
	const json_int_t whole[] = {0, 1, -1, 10, -10, 999999, INT64_MAX, INT64_MIN, INT64_MIN + 1};
	for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
		same(json_integer(whole[i]));
}

static void strings(void **state)
{
	char all[160];
	for (int c = 1; c < 128; c++)
		all[c - 1] = (char)c;
	same(json_stringn(all, 127));
	same(json_stringn("a\0b", 3));
	same(json_string("l\xc3\xa4ufer \xf0\x9f\x8c\x8d / \\ \""));
	same(json_string(""));
	char *large = malloc(100001);
	memset(large, '\n', 100000);
	large[100000] = '\0';
	same(json_string(large));
	same(json_pack("{s:[s]}", large, large));
	free(large);
}

/* Jansson writes 1e20 where printf says 1e+20: both are read as the same number. */
static void reads_back(double value)
{
	size_t length;
	json_t *real = json_real(value);
	char *text = sl_json_text(real, &length), due[40];
	snprintf(due, sizeof due, "%.15g", value);
	json_t *again = json_loads(text, JSON_DECODE_ANY, NULL);
	if (!json_is_real(again) || json_real_value(again) != strtod(due, NULL) ||
	    signbit(json_real_value(again)) != signbit(value))
		fail_msg("%s for %.17g", text, value);
	free(text);
	json_decref(real);
	json_decref(again);
}

static void reals(void **state)
{
	const double some[] = {0.0, -0.0, 1, -1, 0.5, -0.5, 0.8, 0.1, 1.0 / 3, -1e-6, 1e-6, 1e-7, 123456.789,
			       999999999.999999, 1e9, 1e15, 1e16, -1e20, 1e300, 5e-324, 2.5e-7,
			       0.30000000000000004, 3.0000005, 1e6, 12, 100};
	uint64_t random = test_seed(1);
	for (size_t i = 0; i < sizeof some / sizeof *some; i++)
		reads_back(some[i]);
	same(json_pack("[f, f, f, f, f, f]", 0.0, -0.0, 12.0, -0.25, 0.8, 100.0));
	for (int i = 0; i < (test_lightest() ? 20000 : 200000); i++) {
		double value;
		uint64_t bits = test_random(&random);
		memcpy(&value, &bits, sizeof value);
		if (isfinite(value))
			reads_back(value);
		reads_back((double)(int64_t)(bits >> 20) * (i % 2 ? 1e-6 : -1e-3));
	}
}

/* An error names the fault for the client, not the JSON library. */
static void zero_characters(void **state)
{
	static const char *const texts[] = {"{\"a\": \"x\\u0000\"}", "{\"a\\u0000\": 1}"};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct sl_error err = {0};
		json_t *value = NULL;
		assert_int_equal(sl_json_object(&value, texts[i], strlen(texts[i]), "body", NULL, &err), SL_BADPARAM);
		assert_null(value);
		assert_non_null(strstr(err.detail, "must not hold the zero character"));
		assert_null(strstr(err.detail, "JSON_ALLOW"));
	}
}

/* ---- the memory of trees ---- */

static size_t held, peak;

static void *counted_malloc(size_t bytes)
{
	void *p = malloc(bytes);
	held += malloc_usable_size(p) + sizeof(size_t);
	peak = held > peak ? held : peak;
	return p;
}

static void counted_free(void *p)
{
	held -= p ? malloc_usable_size(p) + sizeof(size_t) : 0;
	free(p);
}

/* The bytes that jansson takes for a text at most; the booked ones are no fewer, and not many times as many. */
static void booked(const char *text, size_t bytes)
{
	json_error_t why;
	json_set_alloc_funcs(counted_malloc, counted_free);
	held = peak = 0;
	json_decref(json_loadb(text, bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why));
	json_set_alloc_funcs(malloc, free);
	assert_int_equal(held, 0);
	uint64_t most = sl_json_tree_bytes(text, bytes);
	if (most < peak || most > 6 * peak + 4096 + 4 * bytes)
		fail_msg("%.40s...: %zu bytes take %zu, and %llu are booked", text, bytes, peak, (unsigned long long)most);
}

/* start, then as many pieces as fill so many bytes, then end. %d in a piece is its number. */
static void booked_filled(const char *start, const char *piece, const char *end, size_t bytes)
{
	char *text = malloc(bytes + 4096), *at = text + sprintf(text, "%s", start);
	for (int i = 0; at < text + bytes; i++) {
		const char *number = strstr(piece, "%d");
		at += number ? sprintf(at, "%.*s%d%s", (int)(number - piece), piece, i, number + 2) : sprintf(at, "%s", piece);
	}
	at += sprintf(at, "%s", end);
	booked(text, (size_t)(at - text));
	free(text);
}

static void trees(void **state)
{
	static const char *const piece[][3] = {
		{"[", "[],", "0]"}, {"[", "{},", "0]"}, {"[", "0,", "0]"}, {"[", "\"\",", "0]"}, {"[", "0.5,", "0]"},
		{"[", "\"%d\",", "0]"}, {"{", "\"%d\":0,", "\"a\":0}"}, {"[", "{\"\":0},", "0]"}, {"[", "[0],", "0]"},
		{"[", "[0,1,2,3,4,5,6,7,8],", "0]"}, {"\"", "a", "\""}, {"\"", "\\u0041", "\""}, {"", "9", ""},
		{"", "[", ""}, {"", "{\"a\":", ""}, {"[\"", "a", "\"]"}, {"{", "\"%d\":{\"a\":[]},", "\"a\":0}"},
		{"[", "true,", "0]"}, {"{\"a\":[", "[{\"b\":\"c\"}],", "0]}"}, {"{\"", "a", "\":0}"},
	};
	static const size_t bytes[] = {1, 100, 3000, 70000, 1000000};
	for (size_t i = 0; i < sizeof piece / sizeof *piece; i++)
		for (size_t k = 0; k < sizeof bytes / sizeof *bytes; k++)
			booked_filled(piece[i][0], piece[i][1], piece[i][2], bytes[k]);
}

struct purse {
	struct sl_account account;
	uint64_t most;
};

static int take(struct sl_account *account, enum sl_resource what, uint64_t bytes, struct sl_error *err)
{
	const struct purse *p = account->of[what];
	return bytes > p->most ? sl_error_set(err, SL_TOOBIG, "too much") : 0;
}

static void give(struct sl_account *account, enum sl_resource what, uint64_t bytes)
{
}

static void trees_are_booked(void **state)
{
	static const char text[] = "{\"a\": [[], [], []]}";
	struct sl_error err = {0};
	json_t *value = NULL;
	struct purse p = {.account = {.take = take, .give = give}, .most = 100};
	p.account.of[SL_MEMORY] = &p;
	assert_int_equal(sl_json_object(&value, text, strlen(text), "body", &p.account, &err), SL_TOOBIG);
	p.most = 10000;
	assert_int_equal(sl_json_object(&value, text, strlen(text), "body", &p.account, &err), 0);
	assert_true(p.account.taken[SL_MEMORY] > 500);
	sl_account_close(&p.account);
	json_decref(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values),
		cmocka_unit_test(zero_characters),
		cmocka_unit_test(strings),
		cmocka_unit_test(reals),
		cmocka_unit_test(trees),
		cmocka_unit_test(trees_are_booked),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
