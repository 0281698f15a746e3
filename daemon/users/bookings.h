/* bookings.h -- the budgets in which everything counts that clients make the server hold: bodies of requests, what is
 * read from them, and files of both. Reserve before you allocate; the account of the use gives back what it took.
 *
 *   kind      memory                                  opened by
 *   BODY      request_memory_bytes; a user: a         http/body for every request, before its body arrives; goes with
 *             quarter of it                           the body when a handler takes it (struct sl_uploaded)
 *   READING   upload_memory_bytes; a user: three      whoever parses: uploads, labels, layouts, new points, JSON
 *             quarters of it
 *
 * Both share the disk: half of what is free, a quarter of max_state_bytes, a user half of that, and no more than the
 * user's disk_bytes leaves. Functions: loop thread; the accounts: any thread. */
#ifndef SL_BOOKINGS_H
#define SL_BOOKINGS_H

#include "core/account.h"

struct sl_bookings;
struct sl_daemon;

enum sl_booking { SL_BOOK_BODY, SL_BOOK_READING, SL_BOOK_DISK };

/* Needs d->config, d->metrics and d->tmp_dir; d->users before an account is opened. */
int sl_bookings_create(struct sl_bookings **out, struct sl_daemon *d, struct sl_error *err);
void sl_bookings_destroy(struct sl_bookings *b);  /* NULL is fine; after all accounts are closed */

/* An account of a user, or of nobody, "". */
struct sl_account sl_bookings_account(struct sl_bookings *b, enum sl_booking kind, const char *user);
/* Sets the part of the disk that the owner of an account of a body may take; call it before the first byte. */
void sl_bookings_disk_part(struct sl_bookings *b, struct sl_account *account);
/* Bytes of a budget: BODY and READING: memory. */
uint64_t sl_bookings_limit(struct sl_bookings *b, enum sl_booking of);
uint64_t sl_bookings_taken(struct sl_bookings *b, enum sl_booking of);

/* Who tells what a user's graphs, jobs and layouts have on the disk: a part of the server above this one. */
void sl_bookings_on_disk_use(struct sl_bookings *b, uint64_t (*fn)(void *arg, const char *account), void *arg);
uint64_t sl_bookings_disk_use(const struct sl_bookings *b, const char *account);

#endif
