/* account.h -- reserving memory and disk before they are used.
 *
 * Code that works for others, on an upload for example, opens an account for its thread. Readers reserve memory that
 * grows with the input before they allocate it, so a small file that unpacks to a huge one is refused early instead
 * of exhausting the machine's memory. Without an account every request is granted. An account belongs to one thread
 * at a time; take() and give() lock the state that they share. */
#ifndef SL_ACCOUNT_H
#define SL_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sl_resource { SL_MEMORY, SL_DISK, SL_RESOURCES };

struct sl_account {
	/* 0, or a code with err telling why not: SL_TOOBIG (never), SL_NOMEM, SL_DISKFULL (not now). */
	int (*take)(struct sl_account *account, enum sl_resource what, uint64_t bytes, struct sl_error *err);
	void (*give)(struct sl_account *account, enum sl_resource what, uint64_t bytes);
	void *arg;
	uint64_t taken[SL_RESOURCES];  /* bytes, not given back yet */
	struct sl_error refusal;       /* the last one, code 0: none. Better than "no memory", which callers tell */
};

/* Makes this the thread's account; NULL: none. */
void sl_account_open(struct sl_account *account);

/* True if this thread has an account: then the input may be from an untrusted client. */
bool sl_account_is_open(void);

/* Before allocation. err may be NULL. */
int sl_account_take(enum sl_resource what, uint64_t bytes, struct sl_error *err);
/* What is freed while the work goes on. */
void sl_account_give(enum sl_resource what, uint64_t bytes);
/* All of one resource. Any thread, when nobody uses the account. */
void sl_account_give_all(struct sl_account *account, enum sl_resource what);
/* Gives back all that is taken. Any thread, when the work is over. */
void sl_account_close(struct sl_account *account);

/* Memory for count items of this size, or NULL: refused, or there is none. */
void *sl_account_alloc(uint64_t count, uint64_t size);

#ifdef __cplusplus
}
#endif
#endif
