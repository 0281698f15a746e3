/* The requests that are accepted: tables of Host, Origin and Authorization headers. */
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

#include "daemon/http/http_internal.h"

struct header {
	const char *value;
	int status;
};

static struct sl__auth *make(const char *host, uint16_t port, const char *names, const char *tokens)
{
	struct sl_config c;
	struct sl__auth *a;
	struct sl_error err;
	assert_int_equal(sl_config_init(&c, &err), 0);
	sl_config_set(&c, "allowed_hosts", names, NULL);
	sl_config_set(&c, "token_file", tokens, NULL);
	if (sl__auth_create(&a, &c, host, port, &err))
		fail_msg("%s", err.detail);
	sl_config_finish(&c);
	return a;
}

static void check(struct sl__auth *a, int (*fn)(const struct sl__auth *, const char *, char *, size_t),
		  const struct header *headers, size_t count)
{
	char why[256];
	for (size_t i = 0; i < count; i++)
		if (fn(a, headers[i].value, why, sizeof why) != headers[i].status)
			fail_msg("'%s' did not give %d", headers[i].value ? headers[i].value : "(none)", headers[i].status);
	sl__auth_destroy(a);
}
#define CHECK(a, fn, ...) \
	do { \
		static const struct header headers_[] = {__VA_ARGS__}; \
		check(a, fn, headers_, sizeof headers_ / sizeof *headers_); \
	} while (0)

static void hosts(void **state)
{
	CHECK(make("127.0.0.1", 7070, "lab.example, b.example", ""), sl__auth_host,
	      {"127.0.0.1:7070", 0}, {"localhost:7070", 0}, {"LocalHost:7070", 0}, {"lab.example", 0},
	      {"LAB.example:443", 0}, {"b.example", 0}, {NULL, 400}, {"", 400}, {"127.0.0.1", 421},
	      {"127.0.0.1:80", 421}, {"127.0.0.1:7070x", 421}, {"127.0.0.1:+7070", 421}, {"127.0.0.2:7070", 421},
	      {"evil.example:7070", 421}, {"xlab.example", 421}, {"lab.example.evil", 421}, {"[::1]:7070", 421},
	      {"[::1", 421}, {":7070", 421}, {"127.0.0.1:7070@evil.example", 421});
	CHECK(make("::1", 80, "", ""), sl__auth_host, {"[::1]:80", 0}, {"[::1]", 0}, {"localhost", 0}, {"::1", 421},
	      {"[::1]:81", 421}, {"[::1]x", 421});
	CHECK(make("0.0.0.0", 7070, "", ""), sl__auth_host, {"192.0.2.7:7070", 0}, {"[2001:db8::1]:7070", 0},
	      {"localhost:7070", 0}, {"evil.example:7070", 421}, {"192.0.2.7:80", 421});
}

static void origins(void **state)
{
	CHECK(make("127.0.0.1", 7070, "lab.example", ""), sl__auth_origin, {NULL, 0}, {"http://127.0.0.1:7070", 0},
	      {"http://localhost:7070", 0}, {"http://lab.example", 0}, {"https://lab.example", 0},
	      {"https://127.0.0.1:7070", 403}, {"null", 403}, {"", 403}, {"file://", 403}, {"http://evil.example", 403},
	      {"http://127.0.0.1:1", 403}, {"ftp://lab.example", 403}, {"http://lab.example@evil.example", 403});
}

static void tokens(void **state)
{
	char path[] = "/tmp/spaceland-tokens-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");
	fputs("# comment\n\nsecret-token-number-one\nsecret-token-number-two  \n", file);
	fclose(file);
	CHECK(make("127.0.0.1", 7070, "", path), sl__auth_token, {"Bearer secret-token-number-one", 0},
	      {"bearer secret-token-number-two", 0}, {NULL, 401}, {"", 401}, {"Bearer", 401}, {"Bearer ", 401},
	      {"Bearer secret-token-number-on", 401}, {"Bearer secret-token-number-onee", 401}, {"Bearer # comment", 401},
	      {"Basic secret-token-number-one", 401});
	unlink(path);
	CHECK(make("127.0.0.1", 7070, "", ""), sl__auth_token, {NULL, 0}, {"Bearer whatever", 0});
}

static void weak_tokens_are_refused(void **state)
{
	static const char *const files[] = {"", "# nothing\n", "fine-token-of-enough-length\nshort\n"};
	for (int i = 0; i < 3; i++) {
		struct sl_config c;
		struct sl__auth *a;
		struct sl_error err;
		char path[] = "/tmp/spaceland-tokens-XXXXXX";
		FILE *file = fdopen(mkstemp(path), "w");
		fputs(files[i], file);
		fclose(file);
		sl_config_init(&c, &err);
		sl_config_set(&c, "token_file", path, NULL);
		assert_int_equal(sl__auth_create(&a, &c, "127.0.0.1", 1, &err), SL_BADPARAM);
		assert_int_equal(err.line, i == 2 ? 2 : 0);
		sl_config_finish(&c);
		unlink(path);
	}
}

int main(void)
{
	if (sodium_init() < 0)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts),
		cmocka_unit_test(origins),
		cmocka_unit_test(tokens),
		cmocka_unit_test(weak_tokens_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
