/* An account counts what its owner reserved; take() and give() decide, and lock what accounts share.
 *
 * free() leaves small blocks with the allocator, where no account counts them: after large requests that was as much as
 * the budgets themselves. So whenever KEPT_BYTES were given back, by all accounts together, the last to give returns
 * the free pages to the system first; only then can others reserve those bytes. */
#include "core/account.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define KEPT_BYTES (8u << 20)

static _Atomic uint64_t kept;  /* bytes given back since memory was last returned to the system */

int sl_account_take(struct sl_account *account, enum sl_resource what, uint64_t bytes, struct sl_error *err)
{
	struct sl_error why;
	if (!account || !bytes)
		return 0;
	int rc = account->take(account, what, bytes, &why);
	if (!rc) {
		account->taken[what] += bytes;
		return 0;
	}
	account->refusal = why;
	if (err)
		*err = why;
	return rc;
}

static void return_memory(uint64_t bytes)
{
	if (atomic_fetch_add(&kept, bytes) + bytes < KEPT_BYTES)
		return;
	atomic_store(&kept, 0);
	malloc_trim(0);
}

void sl_account_give(struct sl_account *account, enum sl_resource what, uint64_t bytes)
{
	if (!account)
		return;
	if (bytes > account->taken[what])
		bytes = account->taken[what];
	account->taken[what] -= bytes;
	if (!bytes)
		return;
	if (what == SL_MEMORY)
		return_memory(bytes);
	account->give(account, what, bytes);
}

void sl_account_give_all(struct sl_account *account, enum sl_resource what)
{
	sl_account_give(account, what, account->taken[what]);
}

void sl_account_move(struct sl_account *to, struct sl_account *from, enum sl_resource what, uint64_t bytes)
{
	if (!to->give) {
		*to = *from;
		memset(to->taken, 0, sizeof to->taken);
		to->refusal = (struct sl_error){0};
	}
	bytes = bytes < from->taken[what] ? bytes : from->taken[what];
	from->taken[what] -= bytes;
	to->taken[what] += bytes;
}

void sl_account_close(struct sl_account *account)
{
	for (int what = 0; what < SL_RESOURCES; what++)
		sl_account_give(account, (enum sl_resource)what, account->taken[what]);
}

void *sl_account_alloc(struct sl_account *account, uint64_t count, uint64_t size)
{
	uint64_t bytes;
	if (__builtin_mul_overflow(count ? count : 1, size, &bytes) || sl_account_take(account, SL_MEMORY, bytes, NULL))
		return NULL;
	void *out = malloc(bytes);
	if (!out)
		sl_account_give(account, SL_MEMORY, bytes);
	return out;
}

void *sl_account_zeros(struct sl_account *account, uint64_t count, uint64_t size)
{
	uint64_t bytes;
	if (__builtin_mul_overflow(count ? count : 1, size, &bytes) || sl_account_take(account, SL_MEMORY, bytes, NULL))
		return NULL;
	void *out = calloc(count ? count : 1, size);
	if (!out)
		sl_account_give(account, SL_MEMORY, bytes);
	return out;
}
