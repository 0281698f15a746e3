/* generation.h -- the file beside the data base that tells whether records were lost.
 *
 * Each transaction of the data base has a number. When it is safe, and before anybody is told so, the number goes into
 * the file as well: "ID NUMBER\n", where ID is the data base's own. A data base with a smaller number, or another ID,
 * lacks records that were acknowledged: it is an older copy, or new. The file is not synchronised: after a power cut it
 * may be older than the data base, which is harmless. One thread at a time. */
#ifndef SL_GENERATION_H
#define SL_GENERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "core/error.h"
#include "daemon/util/ulid.h"

struct sl_generation {
	char id[SL_ULID_BYTES];
	uint64_t number;
};

/* false: there is no such file, or it is damaged (which is logged). */
bool sl_generation_read(const char *path, struct sl_generation *out);

/* The descriptor to write to, made if need be; -1: it cannot be (which is logged). */
int sl_generation_open(const char *path);
/* Best effort: fd may be -1. */
void sl_generation_write(int fd, const struct sl_generation *g);

#endif
