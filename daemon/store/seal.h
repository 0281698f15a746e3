/* seal.h -- the end of every file of the state folder, with its length, a digest, and the record.
 *
 *   content              in the file's format; readers of .npy files ignore the rest
 *   record               a JSON document, or nothing: the record in the data base, in case it is lost there
 *   seal, 128 bytes      lengths and digests of both, and a checksum of the seal
 *
 * The seal also holds a digest of the file's name, "ID.kind" without further endings. So a file in the place of another
 * one, of another graph, job or kind, counts as damaged.
 *
 * The digest of the content is BLAKE2b-256 of the length and the digests of pieces of 4 MiB, so that all cores work on
 * a large file. Functions block: for pool threads and the start. */
#ifndef SL_SEAL_H
#define SL_SEAL_H

#include <sodium.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "daemon/store/atomic.h"

#define SL_DIGEST_BYTES 32

struct sl_seal {
	char magic[8];
	uint64_t content_bytes, record_bytes;
	unsigned char content[SL_DIGEST_BYTES], record[SL_DIGEST_BYTES];
	unsigned char name[16];      /* zeros: it does not begin with an id */
	unsigned char reserved[8];
	unsigned char checksum[16];  /* of all before it */
};
_Static_assert(sizeof(struct sl_seal) == 128, "the seal has no padding");

/* Makes the seal of a file whose content is these parts, and sets the two elements of parts after them to the record
 * and the seal. Returns the length of the file. path: of the file, whose name may have a further ending (.tmp). record:
 * JSON, or NULL. */
uint64_t sl_seal_parts(struct sl_seal *seal, const char *path, struct sl_array *parts, int count, const char *record);

/* The same for content that is in the file already, from its beginning on; there is no record. */
int sl_seal_file(struct sl_seal *seal, const char *path, int fd, uint64_t content_bytes, struct sl_error *err);

/* The digest of arrays that follow each other in a file. */
void sl_digest_arrays(const struct sl_array *arrays, int count, unsigned char out[SL_DIGEST_BYTES]);
/* Hashes the length and the digests of the pieces of one array into state. */
void sl_digest_add(crypto_generichash_state *state, const struct sl_array *array);

/* Reads the seal at the end of a file. SL_IO: there is none, or it is damaged. *record: malloc'd,
 * zero-terminated, NULL if there is none; record may be NULL. */
int sl_seal_read(int fd, const char *path, struct sl_seal *seal, char **record, struct sl_error *err);
/* Compares the content of a sealed file with its digest; 0 or SL_IO. */
int sl_seal_check(int fd, const char *path, const struct sl_seal *seal, struct sl_error *err);

/* Sets SL_IO with the name of the file, and returns it. */
int sl_seal_damaged(const char *path, const char *how, struct sl_error *err);

/* Identifies a version of a file; it differs after the file was written again. */
struct sl_file_mark {
	uint64_t device, inode, bytes;
	int64_t changed_ns;
};
struct sl_file_mark sl_file_mark(const struct stat *st);
bool sl_file_mark_same(const struct sl_file_mark *a, const struct sl_file_mark *b);

#endif
