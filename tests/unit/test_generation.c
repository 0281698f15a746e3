/* After a power cut with torn or lost writes, the generation file has a number that was written: never a greater one or
 * a mixture of two. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/store/generation.h"

#define ID "01J00000000000000000000001"
#define OTHER_ID "01J00000000000000000000002"

static char folder[] = "/tmp/spaceland-generation-XXXXXX", path[64];

struct content {
	char bytes[256];
	size_t count;
};

static struct sl_generation generation(const char *id, uint64_t number)
{
	struct sl_generation g = {.number = number};
	snprintf(g.id, sizeof g.id, "%s", id);
	return g;
}

static struct content content(void)
{
	struct content c;
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	c.count = fread(c.bytes, 1, sizeof c.bytes, f);
	fclose(f);
	return c;
}

static void put(const struct content *c)
{
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(c->bytes, 1, c->count, f), c->count);
	fclose(f);
}

static void put_text(const char *text)
{
	struct content c = {.count = strlen(text)};
	memcpy(c.bytes, text, c.count);
	put(&c);
}

static void assert_number(uint64_t number)
{
	struct sl_generation g;
	assert_int_equal(sl_generation_read(path, &g), SL_GENERATION_READ);
	assert_string_equal(g.id, ID);
	assert_int_equal(g.number, number);
}

static void assert_found(enum sl_generation_found found)
{
	struct sl_generation g;
	assert_int_equal(sl_generation_read(path, &g), found);
}

/* Makes a file with several numbers, the last one written as the daemon does. */
static struct content written(uint64_t first, uint64_t last)
{
	struct sl_generation g = generation(ID, first);
	int fd = sl_generation_open(path, &g);
	assert_true(fd >= 0);
	while (g.number++ < last)
		sl_generation_write(fd, &g);
	close(fd);
	return content();
}

static void the_last_number_is_read(void **state)
{
	unlink(path);
	assert_found(SL_GENERATION_NONE);
	for (uint64_t last = 97; last < 103; last++) {
		written(97, last);
		assert_number(last);
	}
	written(UINT64_MAX - 1, UINT64_MAX - 1);
	assert_number(UINT64_MAX - 1);
}

/* The first bytes of a write are on the disk. 199 and 200: mixing their digits would give 299. */
static void a_torn_write_leaves_the_number_before(void **state)
{
	static const uint64_t numbers[] = {2, 10, 100, 200, 1000, 4000};
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		uint64_t n = numbers[i] - 1;
		struct content before = written(n - 1, n), after = written(n - 1, n + 1);
		assert_int_equal(before.count, after.count);
		for (size_t torn = 0; torn <= after.count; torn++) {
			struct content c = before;
			memcpy(c.bytes, after.bytes, torn);
			put(&c);
			assert_number(memcmp(c.bytes, after.bytes, c.count) ? n : n + 1);
		}
		for (size_t torn = 0; torn <= after.count; torn++) {  /* the last bytes came first */
			struct content c = before;
			memcpy(c.bytes + torn, after.bytes + torn, after.count - torn);
			put(&c);
			assert_number(memcmp(c.bytes, after.bytes, c.count) ? n : n + 1);
		}
	}
}

/* Each line may be from any moment. */
static void lost_writes_leave_an_older_number(void **state)
{
	enum { FIRST = 95, COUNT = 10 };
	struct content at[COUNT] = {written(FIRST, FIRST)};
	struct sl_generation g = generation(ID, FIRST);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	for (int i = 1; i < COUNT; i++) {
		g.number++;
		sl_generation_write(fd, &g);
		at[i] = content();
	}
	close(fd);
	for (int one = 0; one < COUNT; one++)
		for (int other = 0; other < COUNT; other++) {
			struct content c = at[one];
			memcpy(c.bytes + c.count / 2, at[other].bytes + c.count / 2, c.count - c.count / 2);
			put(&c);
			assert_int_equal(sl_generation_read(path, &g), SL_GENERATION_READ);
			assert_in_range(g.number, FIRST + (one < other ? one : other), FIRST + (one < other ? other : one));
		}
}

static void a_damaged_line_is_passed_over(void **state)
{
	struct content whole = written(41, 42);
	for (size_t bit = 0; bit < 8 * whole.count; bit++) {
		struct content c = whole;
		c.bytes[bit / 8] = (char)(c.bytes[bit / 8] ^ 1 << bit % 8);
		put(&c);
		assert_number(bit / 8 < whole.count / 2 ? 41 : 42);  /* even numbers are in the first line */
	}
	for (size_t at = 0; at < whole.count / 2; at++) {
		struct content c = whole;
		c.bytes[at]++;
		c.bytes[at + whole.count / 2]++;
		put(&c);
		assert_found(SL_GENERATION_DAMAGED);
	}
	for (size_t count = 0; count < whole.count; count++) {
		struct content c = whole;
		c.count = count;
		put(&c);
		if (count < whole.count / 2)
			assert_found(SL_GENERATION_DAMAGED);
		else
			assert_number(42);
	}
}

/* If a loss was accepted on a full disk, one line may be that of the previous data base. */
static void of_two_data_bases_the_greater_number_counts(void **state)
{
	struct sl_generation other = generation(OTHER_ID, 6);
	int fd = sl_generation_open(path, &other);
	struct sl_generation g = generation(ID, 7);
	sl_generation_write(fd, &g);
	close(fd);
	assert_number(7);
}

static void a_file_without_checksums_is_damaged(void **state)
{
	put_text(ID " 00000000000000000123\n");
	assert_found(SL_GENERATION_DAMAGED);
	put_text("");
	assert_found(SL_GENERATION_DAMAGED);
}

int main(void)
{
	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof path, "%s/generation", folder);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_number_is_read),
		cmocka_unit_test(a_torn_write_leaves_the_number_before),
		cmocka_unit_test(lost_writes_leave_an_older_number),
		cmocka_unit_test(a_damaged_line_is_passed_over),
		cmocka_unit_test(of_two_data_bases_the_greater_number_counts),
		cmocka_unit_test(a_file_without_checksums_is_damaged),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	rmdir(folder);
	return failed;
}
