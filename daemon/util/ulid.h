/* ulid.h -- ids that sort by the time they were made.
 *
 * 48 bits of milliseconds since 1970 and 80 random bits, in Crockford's base 32: 26
 * characters. Two made in the same millisecond by this process still sort in the order
 * they were made (the random part counts up). Loop thread only. And versions of records. */
#ifndef SL_ULID_H
#define SL_ULID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SL_ULID_BYTES 27  /* 26 characters and the terminator */

/* A new id into out. Returns out. */
char *sl_ulid_make(char out[SL_ULID_BYTES]);

/* True if text is 26 upper-case characters of the alphabet and not beyond the greatest id (7ZZZ...). */
bool sl_ulid_valid(const char *text);

/* True if an id may begin with these bytes; length: at most 26, else it is false. */
bool sl_ulid_begins(const char *text, size_t length);

/* A version of a record: a number that rises with each change of it, also over restarts of the server. Replies and
 * events reach a client in any order, and it keeps the record with the larger version. Larger than all numbers that
 * were returned before; microseconds since 1970 unless the clock was set back. */
int64_t sl_version_next(void);

/* Milliseconds since 1970 when a valid id was made. */
uint64_t sl_ulid_time_ms(const char *text);

#endif
