/* The content is written as it comes, so a file may be larger than memory; its digest is computed from the file at the
 * end, when it is still in the page cache. */
#include "daemon/files/values_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/store/atomic.h"
#include "daemon/store/seal.h"

#define BUFFER (1u << 20)

struct sl_values_writer {
	char path[4096], temporary[4100];
	int fd;
	uint64_t bytes;
	struct sl_account *account;
	size_t used;
	unsigned char buffer[BUFFER];
};

int sl_values_create(struct sl_values_writer **out, const char *path, struct sl_account *account, struct sl_error *err)
{
	struct sl_values_writer *w = malloc(sizeof *w);
	if (!w)
		return sl_error_memory(err, "a column");
	w->bytes = w->used = 0;
	w->account = account;
	snprintf(w->path, sizeof w->path, "%s", path);
	snprintf(w->temporary, sizeof w->temporary, "%s.tmp", w->path);
	w->fd = open(w->temporary, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (w->fd < 0) {
		int rc = sl_atomic_error(path, "written", errno, err);
		free(w);
		return rc;
	}
	*out = w;
	return 0;
}

static int flush(struct sl_values_writer *w, struct sl_error *err)
{
	if (w->used && sl__write_all(w->fd, w->buffer, w->used))
		return sl_atomic_error(w->path, "written", errno, err);
	w->used = 0;
	return 0;
}

int sl_values_add(struct sl_values_writer *w, const void *data, uint64_t bytes, struct sl_error *err)
{
	int rc = sl_account_take(w->account, SL_DISK, bytes, err);
	if (!rc && (bytes > BUFFER - w->used))
		rc = flush(w, err);
	if (!rc && bytes > BUFFER && sl__write_all(w->fd, data, bytes))
		rc = sl_atomic_error(w->path, "written", errno, err);
	if (!rc && bytes <= BUFFER) {
		memcpy(w->buffer + w->used, data, bytes);
		w->used += bytes;
	}
	w->bytes += rc ? 0 : bytes;
	return rc;
}

uint64_t sl_values_written(const struct sl_values_writer *w)
{
	return w->bytes;
}

void sl_values_abandon(struct sl_values_writer *w)
{
	if (!w)
		return;
	if (w->fd >= 0)
		close(w->fd);
	unlink(w->temporary);
	free(w);
}

int sl_values_finish(struct sl_values_writer *w, char digest[SL_VALUES_DIGEST_BYTES], uint64_t *stored,
		     struct sl_error *err)
{
	struct sl_seal seal;
	int rc = flush(w, err);
	if (!rc)
		rc = sl_seal_file(&seal, w->path, w->fd, w->bytes, err);
	if (!rc && (sl__write_all(w->fd, &seal, sizeof seal) || fsync(w->fd)))
		rc = sl_atomic_error(w->path, "written", errno, err);
	if (!rc)
		rc = sl_atomic_place(w->temporary, w->path, err);
	if (!rc) {
		sodium_bin2hex(digest, SL_VALUES_DIGEST_BYTES, seal.content, sizeof seal.content);
		*stored = w->bytes + sizeof seal;
	}
	sl_values_abandon(w);
	return rc;
}

/* ---- reading ----------------------------------------------------------------------------- */

int sl_values_open(struct sl_values *out, const char *path, const char *digest, uint32_t n, struct sl_error *err)
{
	char hex[SL_VALUES_DIGEST_BYTES];
	struct sl_seal seal;
	*out = (struct sl_values){.fd = sl_file_open(path), .n = n};
	snprintf(out->path, sizeof out->path, "%s", path);
	int rc = out->fd >= 0 ? sl_seal_read(out->fd, path, &seal, NULL, err) : errno == ENOENT ?
		 sl_error_set(err, SL_NOTFOUND, "The column was replaced at this moment; try again.") :
		 sl_atomic_error(path, "read", errno, err);
	if (!rc) {
		sodium_bin2hex(hex, sizeof hex, seal.content, sizeof seal.content);
		out->bytes = seal.content_bytes;
		if (!digest || strcmp(hex, digest) != 0)
			rc = sl_error_set(err, SL_NOTFOUND, "The column was replaced at this moment; try again.");
	}
	if (rc)
		sl_values_close(out);
	return rc;
}

void sl_values_close(struct sl_values *v)
{
	if (v->fd >= 0)
		close(v->fd);
	v->fd = -1;
}

int sl_values_read(const struct sl_values *v, uint64_t from, void *out, uint64_t bytes, struct sl_error *err)
{
	if (from > v->bytes || bytes > v->bytes - from || sl__read_at(v->fd, out, bytes, from))
		return sl_seal_damaged(v->path, "it cannot be read to its end", err);
	return 0;
}

int sl_values_places(const struct sl_values *v, uint32_t from, uint32_t count, struct sl_value_place *out,
		     struct sl_error *err)
{
	uint64_t table = (uint64_t)v->n * sizeof *out, limit = v->bytes - table;
	if (table > v->bytes)
		return sl_seal_damaged(v->path, "its sizes contradict each other", err);
	int rc = sl_values_read(v, limit + (uint64_t)from * sizeof *out, out, (uint64_t)count * sizeof *out, err);
	for (uint32_t i = 0; i < count && !rc; i++)
		if (out[i].bytes != SL_NO_VALUE && (out[i].from > limit || out[i].bytes > limit - out[i].from))
			rc = sl_seal_damaged(v->path, "its sizes contradict each other", err);
	return rc;
}

