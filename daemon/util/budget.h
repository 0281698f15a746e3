/* budget.h -- a common budget of memory and disk for uploads, which reserve before they allocate.
 *
 * Each upload has a struct sl_account (core/account.h), which counts its reservations and returns all of them
 * however the upload ends. A limit of 0 means no limit. Any thread. */
#ifndef SL_BUDGET_H
#define SL_BUDGET_H

#include <pthread.h>

#include "core/account.h"

struct sl_budget {
	pthread_mutex_t lock;          /* guards the other fields */
	uint64_t limit[SL_RESOURCES], taken[SL_RESOURCES];
};

void sl_budget_init(struct sl_budget *b);
void sl_budget_set(struct sl_budget *b, enum sl_resource what, uint64_t limit);
uint64_t sl_budget_taken(struct sl_budget *b, enum sl_resource what);

/* An account whose reservations count in b; sl_account_close() returns them. */
struct sl_account sl_budget_account(struct sl_budget *b);

#endif
