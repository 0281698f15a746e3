/* Ids are well formed, distinct, and sort by the time they were made. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sodium.h>

#include "daemon/util/time_text.h"
#include "daemon/util/ulid.h"

static void they_ascend(void **state)
{
	char before[SL_ULID_BYTES] = "", now[SL_ULID_BYTES];
	for (int i = 0; i < 100000; i++) {
		sl_ulid_make(now);
		assert_true(sl_ulid_valid(now));
		if (strcmp(before, now) >= 0)
			fail_msg("%s came before %s", before, now);
		memcpy(before, now, sizeof now);
	}
}

static void they_know_their_time(void **state)
{
	char id[SL_ULID_BYTES];
	uint64_t before = sl_time_now_ms();
	sl_ulid_make(id);
	/* those of the test above may have counted a little ahead */
	assert_true(sl_ulid_time_ms(id) + 1 >= before && sl_ulid_time_ms(id) <= sl_time_now_ms() + 1);
	assert_int_equal(sl_ulid_time_ms("01ARZ3NDEKTSV4RRFFQ69G5FAV"), 1469922850259);
}

static void others_are_refused(void **state)
{
	static const char *const bad[] = {"", "01ARZ3NDEKTSV4RRFFQ69G5FA", "01ARZ3NDEKTSV4RRFFQ69G5FAVX",
					  "81ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FAI",
					  "01arz3ndektsv4rrffq69g5fav", "../../../../../../etc/pass"};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(sl_ulid_valid(bad[i]));
	assert_false(sl_ulid_valid(NULL));
}

int main(void)
{
	if (sodium_init() < 0)
		return 1;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_ascend),
		cmocka_unit_test(they_know_their_time),
		cmocka_unit_test(others_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
