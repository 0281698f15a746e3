/* The digest is checked while the arrays are read, piece by piece on all cores. A header's sizes are checked against
 * the file's length before anything is allocated. */
#include "daemon/files/array_file.h"
#include "daemon/store/atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are written as they are in memory");

#define FILE_VERSION 2

/* ---- digests -------------------------------------------------------------------- */

void sl_array_digest(const void *info, const struct sl_array *arrays, int count, unsigned char out[SL_DIGEST_BYTES])
{
	crypto_generichash_state state;
	crypto_generichash_init(&state, NULL, 0, SL_DIGEST_BYTES);
	crypto_generichash_update(&state, info, SL_ARRAY_INFO_BYTES);
	for (int i = 0; i < count; i++)
		sl_digest_add(&state, &arrays[i]);
	crypto_generichash_final(&state, out, SL_DIGEST_BYTES);
}

static void checksum(const struct sl_array_header *h, unsigned char out[16])
{
	crypto_generichash(out, 16, (const unsigned char *)h, offsetof(struct sl_array_header, checksum), NULL, 0);
}

/* ---- writing -------------------------------------------------------------------- */

char *sl__names_join(char *const *name, uint32_t count, uint64_t *bytes)
{
	*bytes = 0;
	for (uint32_t k = 0; k < count; k++)
		*bytes += strlen(name[k]) + 1;
	char *out = malloc(*bytes + 1), *at = out;
	for (uint32_t k = 0; out && k < count; k++)
		at = stpcpy(at, name[k]) + 1;
	return out;
}

int sl_array_file_write(const char *path, const struct sl_array_kind *kind, const void *info,
			const struct sl_array *arrays, int count, const unsigned char digest[SL_DIGEST_BYTES],
			const char *record, uint64_t *bytes, struct sl_error *err)
{
	struct sl_array_header h = {.version = FILE_VERSION, .arrays = (uint32_t)count};
	struct sl_array parts[SL_ARRAYS_MAX + 3] = {{&h, sizeof h}};
	struct sl_seal seal;
	memcpy(h.magic, kind->magic, sizeof h.magic);
	memcpy(h.info, info, sizeof h.info);
	memcpy(h.digest, digest, sizeof h.digest);
	for (int i = 0; i < count; i++)
		h.bytes[i] = arrays[i].bytes;
	checksum(&h, h.checksum);
	for (int i = 0; i < count; i++)
		parts[1 + i] = arrays[i];
	*bytes = sl_seal_parts(&seal, path, parts, count + 1, record);
	return sl_atomic_create(path, parts, count + 3, err);
}

/* ---- reading -------------------------------------------------------------------- */

int sl_array_file_damaged(const char *path, const struct sl_array_kind *kind, const char *how, struct sl_error *err)
{
	const char *slash = strrchr(path, '/');
	return sl_error_at(err, SL_BADDATA, slash ? slash + 1 : path, 0, "%s: the file is damaged: %s", kind->what, how);
}

int sl__names_split(char **name, uint32_t count, const char *joined, uint64_t bytes)
{
	const char *end = joined + bytes;
	for (uint32_t k = 0; k < count; k++) {
		const char *zero = joined < end ? memchr(joined, 0, (size_t)(end - joined)) : NULL;
		if (!zero)
			return SL_BADDATA;
		if (!(name[k] = strdup(joined)))
			return SL_NOMEM;
		joined = zero + 1;
	}
	return 0;
}

/* Checks that the file has the length that its header declares, and an undamaged seal. NULL, or what is wrong. */
static const char *check_length(int fd, const char *path, uint64_t content_bytes)
{
	struct sl_seal seal;
	if (sl_seal_read(fd, path, &seal, NULL, NULL))
		return "its seal is missing or damaged, or it was written as the file of another graph";
	return seal.content_bytes == content_bytes ? NULL : "it is longer or shorter than it should be";
}

/* Returns the length of the content by the header; 0: the header is wrong. */
static uint64_t content_bytes(const struct sl_array_header *h)
{
	uint64_t bytes = sizeof *h;
	if (h->arrays > SL_ARRAYS_MAX)
		return 0;
	for (uint32_t i = 0; i < h->arrays; i++) {
		if (h->bytes[i] > (uint64_t)1 << 48)
			return 0;
		bytes += h->bytes[i];
	}
	return bytes;
}

int sl_array_file_open(const char *path, const struct sl_array_kind *kind, struct sl_array_header *h,
		       struct sl_error *err)
{
	unsigned char sum[16];
	int fd = sl_file_open(path);
	if (fd < 0)
		return sl_array_file_damaged(path, kind, strerror(errno), err);
	const char *how;
	if (sl__read_all(fd, h, sizeof *h) || memcmp(h->magic, kind->magic, sizeof h->magic))
		how = "it has no header";
	else if (checksum(h, sum), memcmp(sum, h->checksum, sizeof sum))
		how = "its header does not match the checksum";
	else if (h->version != FILE_VERSION)
		how = "it is of another version";
	else
		how = check_length(fd, path, content_bytes(h));
	if (!how)
		return fd;
	close(fd);
	return sl_array_file_damaged(path, kind, how, err);
}

int sl_array_file_read(int fd, const char *path, const struct sl_array_kind *kind, const struct sl_array_header *h,
		       const struct sl_array *arrays, struct sl_error *err)
{
	unsigned char digest[SL_DIGEST_BYTES];
	for (uint32_t i = 0; i < h->arrays; i++)
		if (sl__read_all(fd, arrays[i].data, arrays[i].bytes))
			return sl_array_file_damaged(path, kind, "it cannot be read to its end", err);
	sl_array_digest(h->info, arrays, (int)h->arrays, digest);
	if (memcmp(digest, h->digest, sizeof digest))
		return sl_array_file_damaged(path, kind, "its content does not match the digest", err);
	return 0;
}
