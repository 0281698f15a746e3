/* budget.h -- a common budget of memory and disk for uploads, which reserve before they allocate.
 *
 * A limit of 0 is none. A struct sl_account (core/account.h) for each upload counts its reservations, so that
 * all are returned however the upload ends. Any thread. */
#ifndef SL_BUDGET_H
#define SL_BUDGET_H

#include <pthread.h>

#include "core/account.h"

struct sl_budget {
	pthread_mutex_t lock;          /* guards the rest */
	uint64_t limit[SL_RESOURCES], taken[SL_RESOURCES];
	uint64_t most[SL_RESOURCES];   /* taken at the same time since the start */
};

void sl_budget_init(struct sl_budget *b);
void sl_budget_set(struct sl_budget *b, enum sl_resource what, uint64_t limit);
uint64_t sl_budget_taken(struct sl_budget *b, enum sl_resource what);

/* An account that books here; sl_account_close() gives back. */
struct sl_account sl_budget_account(struct sl_budget *b);

#endif
