/* generation.h -- the file beside the data base that tells whether records were lost.
 *
 * Each transaction of the data base has a number. When it is safe, and before anybody is told so, the number goes into
 * the file as well. A data base with a smaller number, or another ID, lacks records that were acknowledged: it is an
 * older copy, or new.
 *
 * The file has two lines, "ID NUMBER CRC\n", where ID is the data base's own and CRC is the CRC-32 of what is before
 * it. Numbers go to the lines in turn. The file is not synchronised: a power cut may leave an older number, which is
 * harmless, or tear the write of one line. A torn line fails its checksum; the other one then counts. Versions before
 * there were checksums wrote a single line "ID NUMBER\n"; it is read. One thread at a time. */
#ifndef SL_GENERATION_H
#define SL_GENERATION_H

#include <stdint.h>

#include "core/error.h"
#include "daemon/util/ulid.h"

struct sl_generation {
	char id[SL_ULID_BYTES];
	uint64_t number;
};

enum sl_generation_found {
	SL_GENERATION_NONE,     /* there is no such file, or it cannot be read (which is logged) */
	SL_GENERATION_DAMAGED,  /* no line is whole: a power cut does not do this */
	SL_GENERATION_READ,     /* *out is the last one whose line is whole */
};
enum sl_generation_found sl_generation_read(const char *path, struct sl_generation *out);

/* Replaces the file by one of g, safely, and opens it. On a full disk it stays as it is (which is logged). The
 * descriptor to write later numbers to; -1: none can be written. */
int sl_generation_open(const char *path, const struct sl_generation *g);
/* Best effort: fd may be -1. */
void sl_generation_write(int fd, const struct sl_generation *g);

#endif
