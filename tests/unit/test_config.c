/* The configuration: every option round-trips, the shipped file matches the table, errors name the mistake. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/config/config.h"

static struct sl_config defaults(void)
{
	struct sl_config c;
	struct sl_error err;
	assert_int_equal(sl_config_init(&c, &err), 0);
	return c;
}

/* A value that is allowed and not the default. */
static void other_value(const struct sl_option_info *o, char *out, size_t bytes)
{
	switch (o->type) {
	case SL_OPTION_TEXT:
		snprintf(out, bytes, "some thing # with a hash");
		break;
	case SL_OPTION_WORD:
		snprintf(out, bytes, "%s", strcmp(o->words[0], o->initial) ? o->words[0] : o->words[1]);
		break;
	default:
		snprintf(out, bytes, "%.15g", o->min + 1);
	}
}

static void every_option_round_trips(void **state)
{
	for (int i = 0; i < sl_config_count; i++) {
		const struct sl_option_info *o = &sl_config_table[i];
		struct sl_config a = defaults(), b = defaults();
		struct sl_error err;
		char value[128], text_a[256], text_b[256], usual[256], path[] = "/tmp/spaceland-config-XXXXXX";
		sl_config_text(&a, o, usual, sizeof usual);
		other_value(o, value, sizeof value);
		assert_int_equal(sl_config_set(&a, o->name, value, &err), 0);
		sl_config_text(&a, o, text_a, sizeof text_a);
		assert_string_not_equal(text_a, usual);
		FILE *file = fdopen(mkstemp(path), "w");
		sl_config_dump(&a, file);
		fclose(file);
		if (sl_config_read(&b, path, &err))
			fail_msg("%s: %s", o->name, err.detail);
		unlink(path);
		assert_string_equal(sl_config_text(&b, o, text_b, sizeof text_b), text_a);
		sl_config_finish(&a);
		sl_config_finish(&b);
	}
}

/* Lists of names have any length: neither the file nor a reload shortens them. */
static void long_text_round_trips(void **state)
{
	const struct sl_option_info *o = sl_config_find("allowed_hosts");
	struct sl_config a = defaults(), b = defaults(), c = defaults();
	struct sl_error err;
	char hosts[9000], path[] = "/tmp/spaceland-config-XXXXXX";
	for (size_t i = 0; i < sizeof hosts - 1; i++)
		hosts[i] = i % 10 ? 'a' : ',';
	hosts[sizeof hosts - 1] = '\0';
	assert_int_equal(sl_config_set(&a, o->name, hosts, &err), 0);
	FILE *file = fdopen(mkstemp(path), "w");
	sl_config_dump(&a, file);
	fclose(file);
	if (sl_config_read(&b, path, &err))
		fail_msg("%s", err.detail);
	unlink(path);
	assert_string_equal(b.allowed_hosts, hosts);
	assert_true(sl_config_same(&a, &b, o));
	b.allowed_hosts[sizeof hosts - 2] = 'b';
	assert_false(sl_config_same(&a, &b, o));
	sl_config_swap(&b, &c, o);
	assert_string_equal(b.allowed_hosts, "");
	assert_memory_equal(c.allowed_hosts, hosts, sizeof hosts - 2);
	sl_config_finish(&a);
	sl_config_finish(&b);
	sl_config_finish(&c);
}

static void the_shipped_file_is_the_table(void **state)
{
	const char *root = getenv("SPACELAND_ROOT");
	char path[4096], *dumped = NULL, *shipped;
	size_t bytes = 0;
	struct sl_config c = defaults();
	FILE *out = open_memstream(&dumped, &bytes);
	sl_config_dump(&c, out);
	fclose(out);
	snprintf(path, sizeof path, "%s/config/spacelandd.conf", root ? root : ".");
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	shipped = calloc(1, bytes + 4096);
	size_t length = fread(shipped, 1, bytes + 4095, file);
	shipped[length] = '\0';
	fclose(file);
	assert_string_equal(shipped, dumped);
	free(shipped);
	free(dumped);
	sl_config_finish(&c);
}

static int read_text(struct sl_config *c, const char *text, struct sl_error *err)
{
	char path[] = "/tmp/spaceland-config-XXXXXX";
	FILE *file = fdopen(mkstemp(path), "w");
	fputs(text, file);
	fclose(file);
	int rc = sl_config_read(c, path, err);
	unlink(path);
	return rc;
}

static void mistakes_name_line_option_and_range(void **state)
{
	static const struct {
		const char *text, *says;
		int line;
	} cases[] = {
		{"# fine\n\nslice_ms = 0\n", "slice_ms must be a number from 1 to 10000 ms, not '0'", 3},
		{"threads = many\n", "threads must be an integer from 0 to 4096", 1},
		{"threads = 1.5\n", "threads must be an integer", 1},
		{"max_upload_bytes = -1\n", "max_upload_bytes must be a size from 1 KiB to 16 TiB", 1},
		{"max_upload_bytes = 3 bananas\n", "units: KiB, MiB", 1},
		{"log_level = loud\n", "one of error, warning, info, debug, not 'loud'", 1},
		{"listne = x\n", "there is no option 'listne'; did you mean listen?", 1},
		{"\nno_such = 1\n", "there is no option 'no_such'", 2},
		{"threads 4\n", "'name = value' is expected", 1},
		{"zmq = \"tcp://x\n", "closing \"", 1},
		{"zmq = \"a\" b\n", "nothing but a comment", 1},
		{"threads = 1\nthreads = 2\n", "second time", 2},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sl_config c = defaults();
		struct sl_error err;
		assert_int_not_equal(read_text(&c, cases[i].text, &err), 0);
		if (!strstr(err.detail, cases[i].says) || err.line != cases[i].line)
			fail_msg("'%s' gave line %d: %s", cases[i].text, (int)err.line, err.detail);
		sl_config_finish(&c);
	}
}

static void values_are_read_as_written(void **state)
{
	struct sl_config c = defaults();
	struct sl_error err;
	assert_int_equal(read_text(&c, "max_upload_bytes = 3 MiB  # three\nstate_dir=/a#b\nzmq = \"\"\n"
				   "allowed_hosts = \"x # y\" # z\nslice_ms = 2.5", &err), 0);
	assert_int_equal(c.max_upload_bytes, 3 << 20);
	assert_string_equal(c.state_dir, "/a#b");
	assert_string_equal(c.zmq, "");
	assert_string_equal(c.allowed_hosts, "x # y");
	assert_true(c.slice_ms == 2.5);
	sl_config_finish(&c);
}

static void beyond_loopback_tokens_are_needed(void **state)
{
	struct sl_config c = defaults();
	struct sl_error err;
	assert_int_equal(sl_config_check(&c, &err), 0);
	static const char *const open[] = {"0.0.0.0:7070", "[::]:7070", "192.0.2.1:0", "[2001:db8::1]:1"};
	for (int i = 0; i < 4; i++) {
		sl_config_set(&c, "listen", open[i], NULL);
		assert_int_equal(sl_config_check(&c, &err), SL_BADPARAM);
		assert_string_equal(err.pointer, "/listen");
	}
	static const char *const none[] = {"/dev/null", "/dev/zero", "/tmp", "/nowhere/tokens"};
	for (int i = 0; i < 4; i++) {
		sl_config_set(&c, "token_file", none[i], NULL);
		assert_int_equal(sl_config_check(&c, &err), SL_BADPARAM);
		assert_string_equal(err.pointer, "/token_file");
	}
	char tokens[] = "/tmp/spaceland-tokens-XXXXXX";  /* readable by its owner alone */
	close(mkstemp(tokens));
	sl_config_set(&c, "token_file", tokens, NULL);
	assert_int_equal(sl_config_check(&c, &err), 0);
	unlink(tokens);
	static const char *const bad[] = {"nowhere", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "::1:80", "host:80",
					  ":1"};
	for (int i = 0; i < 7; i++) {
		sl_config_set(&c, "listen", bad[i], NULL);
		assert_int_equal(sl_config_check(&c, &err), SL_BADPARAM);
		assert_string_equal(err.pointer, "/listen");
	}
	sl_config_finish(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_option_round_trips),
		cmocka_unit_test(long_text_round_trips),
		cmocka_unit_test(the_shipped_file_is_the_table),
		cmocka_unit_test(mistakes_name_line_option_and_range),
		cmocka_unit_test(values_are_read_as_written),
		cmocka_unit_test(beyond_loopback_tokens_are_needed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
