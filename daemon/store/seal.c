/* The digest is a tree of one level: pieces of PIECE bytes are hashed on all cores, and the digests of the pieces are
 * hashed in order; so it does not depend on the number of threads. A seal is the last 128 bytes. Its magic number and
 * its own checksum are looked at first, then the name, then the lengths, and the content last, because that takes
 * long. */
#include "daemon/store/seal.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "daemon/util/ulid.h"

#define PIECE (4u << 20)    /* bytes of one digest */

static const char magic[8] = "SLSEAL1\n";

/* ---- digests -------------------------------------------------------------------------- */

/* The bytes of one digest: arrays in memory, or a file. A piece may extend from one array into the next. */
struct bytes {
	const struct sl_array *arrays;
	int count;
	int fd;
	uint64_t size;
};

/* Hashes the bytes [from, from + length) of the concatenated arrays. */
static void feed_arrays(crypto_generichash_state *state, const struct bytes *b, uint64_t from, uint64_t length)
{
	for (int i = 0; i < b->count && length; i++) {
		const struct sl_array *a = &b->arrays[i];
		if (from >= a->bytes) {
			from -= a->bytes;
			continue;
		}
		uint64_t here = a->bytes - from < length ? a->bytes - from : length;
		crypto_generichash_update(state, (const unsigned char *)a->data + from, here);
		from = 0;
		length -= here;
	}
}

static int digest_piece(const struct bytes *b, uint64_t from, unsigned char out[SL_DIGEST_BYTES])
{
	uint64_t length = b->size - from < PIECE ? b->size - from : PIECE;
	crypto_generichash_state state;
	crypto_generichash_init(&state, NULL, 0, SL_DIGEST_BYTES);
	if (b->arrays) {
		feed_arrays(&state, b, from, length);
	} else {
		unsigned char *piece = malloc(length);
		if (!piece || sl__read_at(b->fd, piece, length, from)) {
			free(piece);
			return -1;
		}
		crypto_generichash_update(&state, piece, length);
		free(piece);
	}
	crypto_generichash_final(&state, out, SL_DIGEST_BYTES);
	return 0;
}

/* Hashes the length and the digests of the pieces, in order, into state. */
static int feed(crypto_generichash_state *state, const struct bytes *b)
{
	enum { BATCH = 64 };
	unsigned char digest[BATCH][SL_DIGEST_BYTES];
	uint64_t pieces = (b->size + PIECE - 1) / PIECE;
	int failed = 0;
	crypto_generichash_update(state, (const unsigned char *)&b->size, sizeof b->size);
	for (uint64_t first = 0; first < pieces && !failed; first += BATCH) {
		int count = (int)(pieces - first < BATCH ? pieces - first : BATCH);
#pragma omp parallel for schedule(dynamic) reduction(| : failed) if (count > 1)
		for (int i = 0; i < count; i++)
			failed |= digest_piece(b, (first + (uint64_t)i) * PIECE, digest[i]) != 0;
		crypto_generichash_update(state, digest[0], (unsigned long long)count * SL_DIGEST_BYTES);
	}
	return failed ? -1 : 0;
}

static int digest_bytes(const struct bytes *b, unsigned char out[SL_DIGEST_BYTES])
{
	crypto_generichash_state state;
	crypto_generichash_init(&state, NULL, 0, SL_DIGEST_BYTES);
	int rc = feed(&state, b);
	crypto_generichash_final(&state, out, SL_DIGEST_BYTES);
	return rc;
}

void sl_digest_add(crypto_generichash_state *state, const struct sl_array *array)
{
	feed(state, &(struct bytes){.arrays = array, .count = 1, .size = array->bytes});
}

void sl_digest_arrays(const struct sl_array *arrays, int count, unsigned char out[SL_DIGEST_BYTES])
{
	struct bytes b = {.arrays = arrays, .count = count};
	for (int i = 0; i < count; i++)
		b.size += arrays[i].bytes;
	digest_bytes(&b, out);
}

/* ---- seals ---------------------------------------------------------------------------- */

/* Digests the name of a file, "ID.kind" without further endings. Zeros if it does not begin with an id. */
static void digest_name(const char *path, unsigned char out[16])
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t length = strcspn(name, ".");
	memset(out, 0, 16);
	if (length != SL_ULID_BYTES - 1 || !name[length])
		return;
	length += 1 + strcspn(name + length + 1, ".");
	crypto_generichash(out, 16, (const unsigned char *)name, length, NULL, 0);
}

static bool is_of_another(const struct sl_seal *seal, const char *path)
{
	unsigned char name[sizeof seal->name];
	digest_name(path, name);
	return memcmp(seal->name, name, sizeof name);
}

static void checksum(const struct sl_seal *seal, unsigned char out[16])
{
	crypto_generichash(out, 16, (const unsigned char *)seal, offsetof(struct sl_seal, checksum), NULL, 0);
}

uint64_t sl_seal_parts(struct sl_seal *seal, const char *path, struct sl_array *parts, int count, const char *record)
{
	memset(seal, 0, sizeof *seal);
	memcpy(seal->magic, magic, sizeof magic);
	sl_digest_arrays(parts, count, seal->content);
	digest_name(path, seal->name);
	for (int i = 0; i < count; i++)
		seal->content_bytes += parts[i].bytes;
	seal->record_bytes = record ? strlen(record) : 0;
	crypto_generichash(seal->record, sizeof seal->record, (const unsigned char *)record, seal->record_bytes, NULL, 0);
	checksum(seal, seal->checksum);
	parts[count] = (struct sl_array){(void *)record, seal->record_bytes};
	parts[count + 1] = (struct sl_array){seal, sizeof *seal};
	return seal->content_bytes + seal->record_bytes + sizeof *seal;
}

int sl_seal_file(struct sl_seal *seal, const char *path, int fd, uint64_t content_bytes, struct sl_error *err)
{
	memset(seal, 0, sizeof *seal);
	memcpy(seal->magic, magic, sizeof magic);
	if (digest_bytes(&(struct bytes){.fd = fd, .size = content_bytes}, seal->content))
		return sl_atomic_error(path, "read", errno, err);
	digest_name(path, seal->name);
	seal->content_bytes = content_bytes;
	crypto_generichash(seal->record, sizeof seal->record, NULL, 0, NULL, 0);
	checksum(seal, seal->checksum);
	return 0;
}

int sl_seal_damaged(const char *path, const char *how, struct sl_error *err)
{
	const char *slash = strrchr(path, '/');
	return sl_error_at(err, SL_IO, slash ? slash + 1 : path, 0, "The stored file is damaged: %s.", how);
}

static int read_record(int fd, const char *path, const struct sl_seal *seal, char **out, struct sl_error *err)
{
	unsigned char digest[SL_DIGEST_BYTES];
	char *record = malloc(seal->record_bytes + 1);
	int rc = 0;
	if (!record)
		return sl_error_memory(err, "a record of %llu bytes", (unsigned long long)seal->record_bytes);
	if (sl__read_at(fd, record, seal->record_bytes, seal->content_bytes))
		rc = sl_seal_damaged(path, "its record cannot be read", err);
	crypto_generichash(digest, sizeof digest, (const unsigned char *)record, seal->record_bytes, NULL, 0);
	if (!rc && memcmp(digest, seal->record, sizeof digest))
		rc = sl_seal_damaged(path, "its record does not match the digest", err);
	record[seal->record_bytes] = '\0';
	if (rc || !out || !seal->record_bytes)
		free(record);
	else
		*out = record;
	return rc;
}

int sl_seal_read(int fd, const char *path, struct sl_seal *seal, char **record, struct sl_error *err)
{
	unsigned char sum[16];
	struct stat st;
	if (record)
		*record = NULL;
	if (fstat(fd, &st))
		return sl_seal_damaged(path, "it cannot be read", err);
	uint64_t size = (uint64_t)st.st_size;
	if (size < sizeof *seal)
		return sl_seal_damaged(path, "it has no seal", err);
	if (sl__read_at(fd, seal, sizeof *seal, size - sizeof *seal))
		return sl_seal_damaged(path, "it cannot be read", err);
	if (memcmp(seal->magic, magic, sizeof magic))
		return sl_seal_damaged(path, "it has no seal", err);
	checksum(seal, sum);
	if (memcmp(sum, seal->checksum, sizeof sum))
		return sl_seal_damaged(path, "its seal does not match the checksum", err);
	if (is_of_another(seal, path))
		return sl_seal_damaged(path, "it was written as the file of another graph or job, or of another kind", err);
	uint64_t left = size - sizeof *seal;
	if (seal->content_bytes > left || seal->record_bytes != left - seal->content_bytes)
		return sl_seal_damaged(path, "it is longer or shorter than it should be", err);
	return read_record(fd, path, seal, record, err);
}

int sl_seal_check(int fd, const char *path, const struct sl_seal *seal, struct sl_error *err)
{
	unsigned char digest[SL_DIGEST_BYTES];
	if (digest_bytes(&(struct bytes){.fd = fd, .size = seal->content_bytes}, digest))
		return sl_seal_damaged(path, "it cannot be read to its end", err);
	return memcmp(digest, seal->content, sizeof digest) ? sl_seal_damaged(path, "its content does not match the digest",
									      err) : 0;
}

struct sl_file_mark sl_file_mark(const struct stat *st)
{
	return (struct sl_file_mark){(uint64_t)st->st_dev, (uint64_t)st->st_ino, (uint64_t)st->st_size,
				     (int64_t)st->st_ctim.tv_sec * 1000000000 + st->st_ctim.tv_nsec};
}

bool sl_file_mark_same(const struct sl_file_mark *a, const struct sl_file_mark *b)
{
	return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes && a->changed_ns == b->changed_ns;
}
