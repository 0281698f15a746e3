/* names.h -- a set of node names, each with its number in order of arrival. Internal.
 *
 * The hash is seeded from the kernel, so that nobody can prepare a file whose names all
 * collide. What comes out does not depend on the seed. */
#ifndef SL_NAMES_H
#define SL_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
};

#define SL__NO_NAME UINT32_MAX

void sl__names_init(struct sl__names *names);
void sl__names_finish(struct sl__names *names);

/* The number of the name, which is added if it is new. 0 or SL_NOMEM, SL_TOOBIG. The text has no zero. */
int sl__names_add(struct sl__names *names, const char *text, size_t length, uint32_t *out);
/* SL__NO_NAME if there is none. */
uint32_t sl__names_find(const struct sl__names *names, const char *text, size_t length);

/* Adds a name that is known to be new; a set filled like this cannot find. */
int sl__names_append(struct sl__names *names, const char *text, size_t length);

/* Gives the names' text and offsets [n + 1] to the caller, to free(), and ends the set. */
void sl__names_give(struct sl__names *names, char **bytes, uint64_t **at);

bool sl__valid_utf8(const char *text, size_t length);  /* false for a zero byte, too */

#endif
