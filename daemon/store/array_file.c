#include "daemon/store/array_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are written as they are in memory");

#define FILE_VERSION 1
#define CHUNK (16u << 20)   /* bytes of one read or write */
#define PIECE (4u << 20)    /* bytes of one digest */

/* ---- digests -------------------------------------------------------------------- */

/* The digests of the array's pieces, in order, go into state. */
static void hash_array(crypto_generichash_state *state, const struct sl_array *a)
{
	enum { BATCH = 64 };
	unsigned char digest[BATCH][SL_DIGEST_BYTES];
	uint64_t pieces = (a->bytes + PIECE - 1) / PIECE;
	crypto_generichash_update(state, (const unsigned char *)&a->bytes, sizeof a->bytes);
	for (uint64_t first = 0; first < pieces; first += BATCH) {
		int count = (int)(pieces - first < BATCH ? pieces - first : BATCH);
#pragma omp parallel for schedule(dynamic) if (count > 1)
		for (int i = 0; i < count; i++) {
			uint64_t at = (first + (uint64_t)i) * PIECE, left = a->bytes - at;
			crypto_generichash(digest[i], SL_DIGEST_BYTES, (const unsigned char *)a->data + at,
					   left < PIECE ? left : PIECE, NULL, 0);
		}
		crypto_generichash_update(state, digest[0], (unsigned long long)count * SL_DIGEST_BYTES);
	}
}

void sl_array_digest(const void *info, const struct sl_array *arrays, int count, unsigned char out[SL_DIGEST_BYTES])
{
	crypto_generichash_state state;
	crypto_generichash_init(&state, NULL, 0, SL_DIGEST_BYTES);
	crypto_generichash_update(&state, info, SL_ARRAY_INFO_BYTES);
	for (int i = 0; i < count; i++)
		hash_array(&state, &arrays[i]);
	crypto_generichash_final(&state, out, SL_DIGEST_BYTES);
}

static void checksum(const struct sl_array_header *h, unsigned char out[16])
{
	crypto_generichash(out, 16, (const unsigned char *)h, offsetof(struct sl_array_header, checksum), NULL, 0);
}

/* ---- writing -------------------------------------------------------------------- */

int sl__write_all(int fd, const void *data, uint64_t bytes)
{
	const char *at = data;
	while (bytes) {
		ssize_t n = write(fd, at, bytes < CHUNK ? bytes : CHUNK);
		if (n < 0 && errno != EINTR)
			return -1;
		if (n > 0) {
			at += n;
			bytes -= (uint64_t)n;
		}
	}
	return 0;
}

int sl__write_new_file(const char *path, const void *header, size_t header_bytes, const struct sl_array *arrays,
		       int count)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int bad = fd < 0 || sl__write_all(fd, header, header_bytes);
	for (int i = 0; i < count && !bad; i++)
		bad = sl__write_all(fd, arrays[i].data, arrays[i].bytes);
	bad = bad || fsync(fd);
	int why = errno;
	if (fd >= 0) {
		close(fd);
		if (bad)
			unlink(path);
	}
	return bad ? why : 0;
}

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
			uint64_t *bytes, struct sl_error *err)
{
	struct sl_array_header h = {.version = FILE_VERSION, .arrays = (uint32_t)count};
	memcpy(h.magic, kind->magic, sizeof h.magic);
	memcpy(h.info, info, sizeof h.info);
	memcpy(h.digest, digest, sizeof h.digest);
	*bytes = sizeof h;
	for (int i = 0; i < count; i++) {
		h.bytes[i] = arrays[i].bytes;
		*bytes += arrays[i].bytes;
	}
	checksum(&h, h.checksum);
	int why = sl__write_new_file(path, &h, sizeof h, arrays, count);
	return why ? sl_error_set(err, SL_IO, "%s cannot be written: %s", kind->what, strerror(why)) : 0;
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

int sl__read_all(int fd, void *data, uint64_t bytes)
{
	char *at = data;
	while (bytes) {
		ssize_t n = read(fd, at, bytes < CHUNK ? bytes : CHUNK);
		if (n == 0 || (n < 0 && errno != EINTR))
			return -1;
		if (n > 0) {
			at += n;
			bytes -= (uint64_t)n;
		}
	}
	return 0;
}

/* Does the header say how long the file is? */
static bool fits(const struct sl_array_header *h, uint64_t size)
{
	uint64_t bytes = sizeof *h;
	if (h->arrays > SL_ARRAYS_MAX)
		return false;
	for (uint32_t i = 0; i < h->arrays; i++) {
		if (h->bytes[i] > (uint64_t)1 << 48)
			return false;
		bytes += h->bytes[i];
	}
	return bytes == size;
}

int sl_array_file_open(const char *path, const struct sl_array_kind *kind, struct sl_array_header *h,
		       struct sl_error *err)
{
	unsigned char sum[16];
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return sl_array_file_damaged(path, kind, strerror(errno), err);
	const char *how = NULL;
	if (fstat(fd, &st) || sl__read_all(fd, h, sizeof *h) || memcmp(h->magic, kind->magic, sizeof h->magic))
		how = "it has no header";
	else if (checksum(h, sum), memcmp(sum, h->checksum, sizeof sum))
		how = "its header does not match the checksum";
	else if (h->version != FILE_VERSION)
		how = "it is of another version";
	else if (!fits(h, (uint64_t)st.st_size))
		how = "it is longer or shorter than it should be";
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
