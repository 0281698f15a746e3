#include "core/account.h"

#include <stdlib.h>

static _Thread_local struct sl_account *current;

void sl_account_open(struct sl_account *account)
{
	current = account;
}

bool sl_account_is_open(void)
{
	return current;
}

int sl_account_take(enum sl_resource what, uint64_t bytes, struct sl_error *err)
{
	struct sl_error why;
	if (!current || !bytes)
		return 0;
	int rc = current->take(current, what, bytes, &why);
	if (!rc) {
		current->taken[what] += bytes;
		return 0;
	}
	current->refusal = why;
	if (err)
		*err = why;
	return rc;
}

static void give(struct sl_account *account, enum sl_resource what, uint64_t bytes)
{
	if (bytes > account->taken[what])
		bytes = account->taken[what];
	account->taken[what] -= bytes;
	if (bytes)
		account->give(account, what, bytes);
}

void sl_account_give(enum sl_resource what, uint64_t bytes)
{
	if (current)
		give(current, what, bytes);
}

void sl_account_give_all(struct sl_account *account, enum sl_resource what)
{
	give(account, what, account->taken[what]);
}

void sl_account_close(struct sl_account *account)
{
	for (int what = 0; what < SL_RESOURCES; what++)
		give(account, (enum sl_resource)what, account->taken[what]);
	if (current == account)
		current = NULL;
}

void *sl_account_alloc(uint64_t count, uint64_t size)
{
	uint64_t bytes;
	if (__builtin_mul_overflow(count ? count : 1, size, &bytes) || sl_account_take(SL_MEMORY, bytes, NULL))
		return NULL;
	void *out = malloc(bytes);
	if (!out)
		sl_account_give(SL_MEMORY, bytes);
	return out;
}
