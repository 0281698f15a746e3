/* Budgets: limits, parts of owners, moves between accounts, and what refusals say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "daemon/util/budget.h"
#include "tests/unit/seeds.h"

#define MIB ((uint64_t)1 << 20)

static struct sl_budget memory, disk;

static int setup(void **state)
{
	sl_budget_init(&memory, "memory that uploads may use (upload_memory_bytes)", "uploads");
	sl_budget_init(&disk, "disk that uploads may use", "uploads");
	sl_budget_set(&memory, 100 * MIB);
	sl_budget_set(&disk, 50 * MIB);
	return 0;
}

static void refused(struct sl_account *a, enum sl_resource what, uint64_t bytes, int code, const char *words)
{
	struct sl_error err = {0};
	assert_int_equal(sl_account_take(a, what, bytes, &err), code);
	if (!strstr(err.detail, words))
		fail_msg("'%s' does not say '%s'", err.detail, words);
	assert_int_equal(a->refusal.code, code);
}

static void limits(void **state)
{
	struct sl_account a = sl_budget_account(&memory, &disk, "ann"), b = sl_budget_account(&memory, &disk, "");
	assert_int_equal(sl_account_take(&a, SL_MEMORY, 60 * MIB, NULL), 0);
	assert_int_equal(sl_account_take(&b, SL_MEMORY, 40 * MIB, NULL), 0);
	assert_int_equal(sl_budget_taken(&memory), 100 * MIB);
	refused(&b, SL_MEMORY, 1, SL_NOMEM, "Other uploads now use 60 MiB of the 100 MiB");
	refused(&b, SL_MEMORY, 61 * MIB, SL_TOOBIG, "more than the 100 MiB of memory");
	refused(&b, SL_DISK, UINT64_MAX - 5, SL_TOOBIG, "disk");
	assert_int_equal(sl_account_take(&b, SL_DISK, 30 * MIB, NULL), 0);
	refused(&a, SL_DISK, 30 * MIB, SL_DISKFULL, "30 MiB of the 50 MiB");
	sl_account_close(&a);
	sl_account_close(&a);  /* twice is fine */
	assert_int_equal(sl_budget_taken(&memory), 40 * MIB);
	sl_account_close(&b);
	assert_int_equal(sl_budget_taken(&memory) + sl_budget_taken(&disk), 0);
}

static void parts(void **state)
{
	struct sl_account a = sl_budget_account(&memory, &disk, "ann"), b = a, c = sl_budget_account(&memory, &disk, "bob");
	a.part[SL_MEMORY] = b.part[SL_MEMORY] = c.part[SL_MEMORY] = 25 * MIB;
	assert_int_equal(sl_account_take(&a, SL_MEMORY, 20 * MIB, NULL), 0);
	assert_int_equal(sl_account_take(&b, SL_MEMORY, 4 * MIB, NULL), 0);
	refused(&b, SL_MEMORY, 2 * MIB, SL_NOMEM, "Your uploads now use 20 MiB, and a user may take at most 25 MiB");
	refused(&b, SL_MEMORY, 22 * MIB, SL_TOOBIG, "more than the 25 MiB that one user may take");
	assert_int_equal(sl_account_take(&c, SL_MEMORY, 25 * MIB, NULL), 0);  /* another's part is untouched */
	sl_account_close(&a);
	assert_int_equal(sl_account_take(&b, SL_MEMORY, 21 * MIB, NULL), 0);
	sl_account_close(&b);
	sl_account_close(&c);
	assert_int_equal(sl_budget_taken(&memory), 0);
	assert_int_equal(memory.shares.count, 0);
}

/* Two owners who take all that they may leave room for the small requests of a third, but not for large ones. */
static void the_last_part(void **state)
{
	struct sl_account a = sl_budget_account(&memory, &disk, "ann"), b = sl_budget_account(&memory, &disk, "bob");
	struct sl_account c = sl_budget_account(&memory, &disk, "cat");
	a.part[SL_MEMORY] = b.part[SL_MEMORY] = c.part[SL_MEMORY] = 75 * MIB;
	assert_int_equal(sl_account_take(&a, SL_MEMORY, 75 * MIB, NULL), 0);
	refused(&b, SL_MEMORY, 20 * MIB, SL_NOMEM, "try again later");
	assert_int_equal(sl_account_take(&b, SL_MEMORY, 12 * MIB, NULL), 0);
	refused(&b, SL_MEMORY, MIB, SL_NOMEM, "try again later");
	refused(&c, SL_MEMORY, 8 * MIB, SL_NOMEM, "try again later");
	assert_int_equal(sl_account_take(&c, SL_MEMORY, 3 * MIB, NULL), 0);
	sl_account_close(&a);
	sl_account_close(&b);
	sl_account_close(&c);
	assert_int_equal(sl_budget_taken(&memory), 0);
}

static void moves(void **state)
{
	struct sl_account a = sl_budget_account(&memory, &disk, "ann"), b = {0};
	sl_account_take(&a, SL_MEMORY, 10 * MIB, NULL);
	sl_account_take(&a, SL_DISK, 2 * MIB, NULL);
	sl_account_move(&b, &a, SL_MEMORY, 7 * MIB);
	sl_account_move(&b, &a, SL_DISK, UINT64_MAX);  /* all that there is */
	assert_int_equal(a.taken[SL_MEMORY], 3 * MIB);
	assert_int_equal(b.taken[SL_MEMORY], 7 * MIB);
	assert_int_equal(b.taken[SL_DISK], 2 * MIB);
	sl_account_close(&a);
	assert_int_equal(sl_budget_taken(&memory), 7 * MIB);
	sl_account_close(&b);
	assert_int_equal(sl_budget_taken(&memory) + sl_budget_taken(&disk), 0);
}

/* Whatever accounts do, the budget has the sum of what they have, and never more than its limit. */
static void any_order(void **state)
{
	static const char *const owner[] = {"", "ann", "bob", "cat"};
	struct sl_account account[8];
	uint64_t r = 12345;
	for (int i = 0; i < 8; i++) {
		account[i] = sl_budget_account(&memory, &disk, owner[i % 4]);
		account[i].part[SL_MEMORY] = i % 4 ? 40 * MIB : 0;
	}
	for (int step = 0; step < 20000; step++) {
		r = r * 6364136223846793005u + 1442695040888963407u;
		struct sl_account *a = &account[r >> 33 & 7], *same = &account[(r >> 33 & 7) ^ 4];
		uint64_t bytes = r >> 40;
		switch (r >> 36 & 3) {
		case 0: sl_account_give(a, SL_MEMORY, bytes); break;
		case 1: sl_account_move(same, a, SL_MEMORY, bytes); break;
		default: sl_account_take(a, SL_MEMORY, bytes, NULL);
		}
		uint64_t sum = 0;
		for (int i = 0; i < 8; i++)
			sum += account[i].taken[SL_MEMORY];
		assert_int_equal(sl_budget_taken(&memory), sum);
		assert_true(sum <= 100 * MIB);
		for (int i = 1; i < 4; i++)
			assert_true(account[i].taken[SL_MEMORY] + account[i + 4].taken[SL_MEMORY] <= 40 * MIB);
	}
	for (int i = 0; i < 8; i++)
		sl_account_close(&account[i]);
	assert_int_equal(sl_budget_taken(&memory), 0);
	assert_int_equal(memory.shares.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(limits, setup),
		cmocka_unit_test_setup(parts, setup),
		cmocka_unit_test_setup(the_last_part, setup),
		cmocka_unit_test_setup(moves, setup),
		cmocka_unit_test_setup(any_order, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
