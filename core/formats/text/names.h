/* names.h -- a set of node names, numbered in the order in which they are added. Internal to core/formats/.
 *
 * The hash function has a random seed from the kernel, so nobody can prepare a file whose names all collide. The
 * numbers do not depend on the seed. */
#ifndef SL_NAMES_H
#define SL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sl_account;

struct sl__names {
	uint32_t n;
	char *bytes;             /* all names, each zero-terminated */
	uint64_t bytes_used, bytes_capacity;
	uint64_t *at;            /* [n + 1] offsets into bytes */
	uint32_t *hash;          /* [n] */
	uint32_t capacity;       /* of at (less one) and hash */
	uint32_t *slot;          /* [slots] name + 1, or 0; slots is a power of two */
	uint64_t slots;
	uint64_t seed[2];
	struct sl_account *account;
};

#define SL__NO_NAME UINT32_MAX

/* account: books the memory (core/account.h), borrowed until the end of the set; NULL: no limit. */
void sl__names_init(struct sl__names *names, struct sl_account *account);
void sl__names_finish(struct sl__names *names);

/* Finds the number of a name, or adds the name if it is new. The text contains no zero byte. 0, SL_NOMEM or
 * SL_TOOBIG. */
int sl__names_add(struct sl__names *names, const char *text, size_t length, uint32_t *out);
/* The number of a name; SL__NO_NAME: the set does not contain it. */
uint32_t sl__names_find(const struct sl__names *names, const char *text, size_t length);

/* Adds a name that is known to be new, without hashing it: sl__names_find() will not find it. */
int sl__names_append(struct sl__names *names, const char *text, size_t length);

/* Gives the names' text and offsets [n + 1] to the caller, to free(), and ends the set. */
void sl__names_give(struct sl__names *names, char **bytes, uint64_t **at);

bool sl__valid_utf8(const char *text, size_t length);  /* also false if the text contains a zero byte */

#endif
