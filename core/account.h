/* account.h -- reserves memory and disk space before they are used.
 *
 * Who reads a client's upload gives the source an account (sl_source_set_account()). Readers then reserve all memory
 * that grows with the input before they allocate it, so a small file that unpacks to a huge one is refused before it
 * exhausts the machine's memory. What they make on the way (names, builders, tables) points to the same account.
 * Without an account, NULL, every request is granted: that is for users' own files. An account belongs to one thread at
 * a time; take() and give() lock the state that they share. Free memory before you give it back: others may have it at
 * once. */
#ifndef SL_ACCOUNT_H
#define SL_ACCOUNT_H

#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum sl_resource { SL_MEMORY, SL_DISK, SL_RESOURCES };
#define SL_OWNER_BYTES 32

struct sl_account {
	/* 0; SL_TOOBIG: so much is never granted; SL_NOMEM or SL_DISKFULL: not now. err gives the reason. */
	int (*take)(struct sl_account *account, enum sl_resource what, uint64_t bytes, struct sl_error *err);
	void (*give)(struct sl_account *account, enum sl_resource what, uint64_t bytes);
	void *of[SL_RESOURCES];        /* for take and give: where it counts */
	char owner[SL_OWNER_BYTES];    /* for take and give: a user, or "" */
	uint64_t part[SL_RESOURCES];   /* what all accounts of the owner may take together; 0: no limit */
	uint64_t taken[SL_RESOURCES];  /* bytes that are reserved now */
	struct sl_error refusal;       /* the last refusal; code 0: none. Its text says more than the caller's SL_NOMEM */
};

/* Reserves bytes; call it before the allocation. account NULL: grants them. err may be NULL. Any thread, when nobody
 * else uses the account. */
int sl_account_take(struct sl_account *account, enum sl_resource what, uint64_t bytes, struct sl_error *err);
/* Gives bytes back that were freed before the end of the work. account NULL: does nothing. */
void sl_account_give(struct sl_account *account, enum sl_resource what, uint64_t bytes);
/* Moves a reservation to an account of the same owner and kind, which may be all zero before. */
void sl_account_move(struct sl_account *to, struct sl_account *from, enum sl_resource what, uint64_t bytes);
/* Gives back all of one resource. Any thread, when nobody uses the account. */
void sl_account_give_all(struct sl_account *account, enum sl_resource what);
/* Gives back everything; all zero is fine. Any thread, when the work is over. */
void sl_account_close(struct sl_account *account);

/* Reserves and allocates count items of `size` bytes. NULL: refused, or no memory. The caller frees it with free().
 * account NULL: only allocates. */
void *sl_account_alloc(struct sl_account *account, uint64_t count, uint64_t size);
void *sl_account_zeros(struct sl_account *account, uint64_t count, uint64_t size);  /* all bytes 0 */

#ifdef __cplusplus
}
#endif
#endif
