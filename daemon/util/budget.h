/* budget.h -- how much of the host's memory, or of the disk, one kind of use may take. Users of it reserve before they
 * allocate.
 *
 * Each use has a struct sl_account (core/account.h), which counts its reservations and returns all of them however the
 * use ends. The accounts of one owner together have at most `part` of the account, and the last eighth is for owners
 * who hold little. A limit of 0 means no limit. Any thread. */
#ifndef SL_BUDGET_H
#define SL_BUDGET_H

#include <pthread.h>

#include "core/account.h"
#include "daemon/util/list.h"

struct sl_budget {
	pthread_mutex_t lock;    /* guards the other fields */
	uint64_t limit, taken;
	struct sl_list shares;   /* struct share: what each owner has taken, if not 0 */
	const char *use;         /* for messages: "memory that uploads may use (upload_memory_bytes)" */
	const char *users;       /* "uploads" */
};

void sl_budget_init(struct sl_budget *b, const char *use, const char *users);
void sl_budget_set(struct sl_budget *b, uint64_t limit);
uint64_t sl_budget_limit(struct sl_budget *b);
uint64_t sl_budget_taken(struct sl_budget *b);

/* An account whose reservations count in these budgets; sl_account_close() returns them. owner: "" for nobody, whose
 * accounts have no part. */
struct sl_account sl_budget_account(struct sl_budget *memory, struct sl_budget *disk, const char *owner);

#endif
