/* array_file.h -- the format of files that hold arrays.
 *
 *   header, 256 bytes: magic, version, sizes of the arrays, a digest of the content, 128 bytes
 *   that the kind of file defines (points_file.c, neighbours_file.c), and a checksum of the
 *   header itself; then the arrays one after the other, little-endian, as they are in memory; then the seal (seal.h)
 *
 * The digest is BLAKE2b-256 of the 128 bytes and, for each array, of its length and the digests of its pieces of 4 MiB;
 * the pieces let all cores compute the digest of a large array. Reading compares the digest, and so detects damage.
 * Functions block: for pool threads. */
#ifndef SL_ARRAY_FILE_H
#define SL_ARRAY_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"
#include "daemon/store/seal.h"

#define SL_ARRAYS_MAX 8
#define SL_ARRAY_INFO_BYTES 128

struct sl_array_header {
	char magic[8];
	uint32_t version, arrays;
	uint64_t bytes[SL_ARRAYS_MAX];
	unsigned char digest[SL_DIGEST_BYTES];
	unsigned char info[SL_ARRAY_INFO_BYTES];
	unsigned char checksum[16];  /* of all before it */
};
_Static_assert(sizeof(struct sl_array_header) == 256, "the header has no padding");

/* A kind of file: its first 8 bytes, and its name in messages ("the stored points"). */
struct sl_array_kind {
	char magic[8];
	const char *what;
};

/* The digest of content with this info. */
void sl_array_digest(const void *info, const struct sl_array *arrays, int count, unsigned char out[SL_DIGEST_BYTES]);

/* Writes path (which must not exist) and fsyncs it; *bytes: its size. Removes it on error. digest: as
 * sl_array_digest() gave it. record: for the seal, or NULL. */
int sl_array_file_write(const char *path, const struct sl_array_kind *kind, const void *info,
			const struct sl_array *arrays, int count, const unsigned char digest[SL_DIGEST_BYTES],
			const char *record, uint64_t *bytes, struct sl_error *err);

/* Opens the file, and reads and checks the header and the length of the file. Returns a descriptor at the first array,
 * or a negative code; SL_BADDATA: the file is damaged. */
int sl_array_file_open(const char *path, const struct sl_array_kind *kind, struct sl_array_header *header,
		       struct sl_error *err);
/* Reads the arrays, whose sizes are those of the header, and compares the digest. Leaves fd open. */
int sl_array_file_read(int fd, const char *path, const struct sl_array_kind *kind, const struct sl_array_header *header,
		       const struct sl_array *arrays, struct sl_error *err);
/* Sets SL_BADDATA with the name of the file, and returns it. */
int sl_array_file_damaged(const char *path, const struct sl_array_kind *kind, const char *how, struct sl_error *err);

/* ---- also used for other files ---- */

/* _join: all names, each zero-terminated, in one malloc'd block of *bytes; NULL: no memory. _split: fills name[count]
 * with copies, which the caller frees, also after an error; SL_BADDATA, SL_NOMEM. */
char *sl__names_join(char *const *name, uint32_t count, uint64_t *bytes);
int sl__names_split(char **name, uint32_t count, const char *joined, uint64_t bytes);

#endif
