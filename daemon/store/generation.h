/* generation.h -- the file beside the data base by which the daemon detects lost records.
 *
 * Each transaction of the data base has a number. After the transaction is on disk, and before a client gets its
 * acknowledgement, the number is written to this file. A data base with a smaller number, or another ID, lacks records
 * that were acknowledged: it is an older copy, or new.
 *
 * The file has two lines, "ID NUMBER CRC\n", where ID is that of the data base and CRC is the CRC-32 of the text before
 * it. Numbers are written to the two lines alternately. The file is not synchronised: a power cut may leave an older
 * number, which is harmless, or interrupt the write of one line. That line then fails its checksum, and the other line
 * counts. One thread at a time. */
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
	SL_GENERATION_DAMAGED,  /* no line is valid; a power cut cannot cause this */
	SL_GENERATION_READ,     /* *out: the newest generation of a valid line */
};
enum sl_generation_found sl_generation_read(const char *path, struct sl_generation *out);

/* Replaces the file by one with g, safely, and opens it. On a full disk the file is unchanged (which is logged).
 * Returns the descriptor for later numbers; -1: they cannot be written. */
int sl_generation_open(const char *path, const struct sl_generation *g);
/* Best effort: fd may be -1. */
void sl_generation_write(int fd, const struct sl_generation *g);

#endif
