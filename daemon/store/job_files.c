#include "daemon/store/job_files.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/formats/npy.h"
#include "daemon/store/array_file.h"

#define MAGIC_TRACE 0x31637274534c5053ull       /* "SPLStrc1" */
#define MAGIC_CHECKPOINT 0x31706b63534c5053ull  /* "SPLSckp1" */

struct header {
	uint64_t magic;
	uint64_t bytes;              /* that follow */
	uint64_t item_bytes;         /* size of one trace point, so that another version's is recognised */
	unsigned char digest[32];    /* BLAKE2b of what follows */
};

const char *const sl_job_file_kinds[] = {"npy", "trace", "initial", "checkpoint", "png", NULL};
const char *const sl_job_file_transient[] = {"initial", "checkpoint", NULL};

char *sl_job_file_path(const char *folder, const char *id, const char *kind)
{
	char *path;
	return asprintf(&path, "%s/%s.%s", folder, id, kind) < 0 ? NULL : path;
}

static int io_error(struct sl_error *err, const char *what, const char *path)
{
	return sl_error_set(err, SL_IO, "%s %s: %s.", what, path, strerror(errno));
}

/* The folder's entry of a renamed file is safe only after this. */
static int sync_folder(const char *folder, struct sl_error *err)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 ? -1 : fsync(fd);
	int code = rc ? io_error(err, "Cannot sync", folder) : 0;
	if (fd >= 0)
		close(fd);
	return code;
}

/* All but the folder's fsync. */
static int write_file(const char *folder, const char *id, const char *kind, const void *head, size_t head_bytes,
		      const void *body, size_t body_bytes, bool safe, struct sl_error *err)
{
	int code = 0, fd = -1;
	char *path = sl_job_file_path(folder, id, kind), *temporary = NULL;
	if (!path || asprintf(&temporary, "%s.tmp", path) < 0) {
		free(path);
		return sl_error_set(err, SL_NOMEM, "Out of memory for a file name.");
	}
	fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
	if (fd < 0 || sl__write_all(fd, head, head_bytes) || sl__write_all(fd, body, body_bytes) || (safe && fsync(fd)))
		code = io_error(err, "Cannot write", temporary);
	if (fd >= 0 && close(fd) && !code)
		code = io_error(err, "Cannot write", temporary);
	if (!code && rename(temporary, path))
		code = io_error(err, "Cannot rename", temporary);
	if (code)
		unlink(temporary);
	free(temporary);
	free(path);
	return code;
}

int sl_job_file_write(const char *folder, const char *id, const char *kind, const void *head, size_t head_bytes,
		      const void *body, size_t body_bytes, bool safe, struct sl_error *err)
{
	int code = write_file(folder, id, kind, head, head_bytes, body, body_bytes, safe, err);
	return code || !safe ? code : sync_folder(folder, err);
}

static void header_fill(struct header *h, uint64_t magic, uint64_t item_bytes, const void *body, size_t bytes)
{
	memset(h, 0, sizeof *h);
	h->magic = magic;
	h->bytes = bytes;
	h->item_bytes = item_bytes;
	crypto_generichash(h->digest, sizeof h->digest, body, bytes, NULL, 0);
}

int sl_job_file_write_result(const char *folder, const char *id, const float *y, uint32_t n, int dims,
			     const struct sl_trace_point *trace, int count, struct sl_error *err)
{
	char npy[SL_NPY_HEADER_BYTES];
	struct header h;
	size_t bytes = (size_t)count * sizeof *trace;
	sl_npy_header(npy, n, (uint64_t)dims);
	header_fill(&h, MAGIC_TRACE, sizeof *trace, trace, bytes);
	int code = write_file(folder, id, "npy", npy, sizeof npy, y, (size_t)n * (size_t)dims * sizeof *y, true, err);
	if (!code)
		code = write_file(folder, id, "trace", &h, sizeof h, trace, bytes, true, err);
	return code ? code : sync_folder(folder, err);
}

int sl_job_file_write_layout(const char *folder, const char *id, const char *kind, const float *y, uint32_t n,
			     int dims, struct sl_error *err)
{
	char npy[SL_NPY_HEADER_BYTES];
	sl_npy_header(npy, n, (uint64_t)dims);
	return sl_job_file_write(folder, id, kind, npy, sizeof npy, y, (size_t)n * (size_t)dims * sizeof *y, true, err);
}

/* The whole file; bytes [*bytes + 1] malloc'd. */
static int read_file(const char *path, unsigned char **out, size_t *bytes, struct sl_error *err)
{
	struct stat st;
	unsigned char *data = NULL;
	int code = 0, fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st)) {
		code = io_error(err, "Cannot read", path);
		goto out;
	}
	size_t size = (size_t)st.st_size, have = 0;
	data = malloc(size + 1);
	if (!data) {
		code = sl_error_set(err, SL_NOMEM, "Out of memory for %s.", path);
		goto out;
	}
	while (have < size) {
		ssize_t got = read(fd, data + have, size - have);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			code = io_error(err, "Cannot read", path);
			goto out;
		}
		have += (size_t)got;
	}
	*out = data;
	*bytes = size;
	data = NULL;
out:
	free(data);
	if (fd >= 0)
		close(fd);
	return code;
}

int sl_job_file_read_layout(const char *folder, const char *id, const char *kind, uint32_t n, int dims, float **y,
			    struct sl_error *err)
{
	char *path = sl_job_file_path(folder, id, kind);
	unsigned char *data = NULL;
	size_t bytes, due = (size_t)n * (size_t)dims * sizeof **y;
	if (!path)
		return sl_error_set(err, SL_NOMEM, "Out of memory for a file name.");
	int code = read_file(path, &data, &bytes, err);
	if (!code && bytes != SL_NPY_HEADER_BYTES + due) {
		code = sl_error_set(err, SL_IO, "%s is damaged: it has %zu bytes, not %zu.", path, bytes,
				    SL_NPY_HEADER_BYTES + due);
		free(data);
	}
	free(path);
	if (code)
		return code;
	memmove(data, data + SL_NPY_HEADER_BYTES, due);
	*y = (float *)(void *)data;
	return 0;
}

/* A file with our header, checked; the body is moved to the start. */
static int read_checked(const char *folder, const char *id, const char *kind, uint64_t magic, uint64_t item_bytes,
			unsigned char **out, size_t *bytes, struct sl_error *err)
{
	char *path = sl_job_file_path(folder, id, kind);
	struct header h;
	unsigned char *data, digest[sizeof h.digest];
	if (!path)
		return sl_error_set(err, SL_NOMEM, "Out of memory for a file name.");
	int code = read_file(path, &data, bytes, err);
	if (code)
		goto out;
	bool fine = *bytes >= sizeof h;
	if (fine) {
		memcpy(&h, data, sizeof h);
		*bytes -= sizeof h;
		crypto_generichash(digest, sizeof digest, data + sizeof h, *bytes, NULL, 0);
		fine = h.magic == magic && h.item_bytes == item_bytes && h.bytes == *bytes &&
		       !memcmp(digest, h.digest, sizeof digest);
	}
	if (fine) {
		memmove(data, data + sizeof h, *bytes);
		*out = data;
	} else {
		free(data);
		code = sl_error_set(err, SL_BADDATA, "%s is damaged, or of another version.", path);
	}
out:
	free(path);
	return code;
}

int sl_job_file_read_trace(const char *folder, const char *id, struct sl_trace_point **trace, int *count,
			   struct sl_error *err)
{
	unsigned char *data = NULL;
	size_t bytes;
	int code = read_checked(folder, id, "trace", MAGIC_TRACE, sizeof **trace, &data, &bytes, err);
	if (code)
		return code;
	*trace = (struct sl_trace_point *)(void *)data;
	*count = (int)(bytes / sizeof **trace);
	return 0;
}

int sl_job_file_write_checkpoint(const char *folder, const char *id, const void *blob, uint64_t bytes,
				 struct sl_error *err)
{
	struct header h;
	header_fill(&h, MAGIC_CHECKPOINT, 1, blob, bytes);
	return sl_job_file_write(folder, id, "checkpoint", &h, sizeof h, blob, bytes, true, err);
}

int sl_job_file_read_checkpoint(const char *folder, const char *id, void **blob, uint64_t *bytes, struct sl_error *err)
{
	unsigned char *data = NULL;
	size_t size;
	int code = read_checked(folder, id, "checkpoint", MAGIC_CHECKPOINT, 1, &data, &size, err);
	if (code)
		return code;
	*blob = data;
	*bytes = size;
	return 0;
}

void sl_job_file_remove(const char *folder, const char *id, const char *const *kinds)
{
	for (; *kinds; kinds++) {
		char *path = sl_job_file_path(folder, id, *kinds);
		if (path)
			unlink(path);
		free(path);
	}
}
