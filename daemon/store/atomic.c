/* Write, fsync, rename, fsync of the folder: only then a call has succeeded. Until the folder is synchronised the old
 * file keeps its content under the temporary name (RENAME_EXCHANGE; for a removal, .gone), so that a failure restores
 * it. After a crash at any point the name refers to the whole old file or the whole new one, and names that end in
 * .tmp or .gone are swept at the start (sweep.c). */
#include "daemon/store/atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK (16u << 20)   /* bytes of one read or write */

int sl_atomic_code(int why)
{
	bool full = why == ENOSPC || why == EDQUOT || why == EFBIG;
	return full ? SL_DISKFULL : why == EROFS ? SL_READONLY : SL_IO;
}

int sl_atomic_error(const char *path, const char *what, int why, struct sl_error *err)
{
	const char *slash = strrchr(path, '/');
	int code = sl_atomic_code(why);
	return sl_error_at(err, code, slash ? slash + 1 : path, 0, "The file cannot be %s: %s%s.", what, strerror(why),
			   code == SL_DISKFULL ? "; free some room and try again" : "");
}

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

/* Writes the whole content to a new file and closes it; removes the file if this fails. safe: with fsync(). */
static int fill(int fd, const char *path, const struct sl_array *parts, int count, bool safe, struct sl_error *err)
{
	int bad = fd < 0, why = errno;
	for (int i = 0; i < count && !bad; i++)
		bad = sl__write_all(fd, parts[i].data, parts[i].bytes);
	if (!bad && safe)
		bad = fsync(fd);
	if (bad)
		why = errno;
	if (fd >= 0 && close(fd) && !bad) {
		bad = 1;
		why = errno;
	}
	if (bad && fd >= 0)
		unlink(path);
	return bad ? sl_atomic_error(path, "written", why, err) : 0;
}

int sl_atomic_create(const char *path, const struct sl_array *parts, int count, struct sl_error *err)
{
	return fill(open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), path, parts, count, true, err);
}

static int sync_parent(const char *path, struct sl_error *err)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
	int rc = folder ? sl_atomic_sync_folder(folder, err) : sl_error_memory(err, "a path");
	free(folder);
	return rc;
}

/* An old file gets the temporary name until the folder is synchronised, so that it can be restored if this fails. */
int sl_atomic_place(const char *temporary, const char *path, struct sl_error *err)
{
	struct sl_error ignored;
	bool old = !access(path, F_OK);
	bool exchanged = old && !renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_EXCHANGE);
	int rc = exchanged || !rename(temporary, path) ? sync_parent(path, err)
						       : sl_atomic_error(path, "written", errno, err);
	if (rc && exchanged)
		renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_EXCHANGE);
	else if (rc && !old)
		unlink(path);
	unlink(temporary);
	if (rc)
		sync_parent(path, &ignored);
	return rc;
}

int sl_atomic_replace(const char *path, const struct sl_array *parts, int count, int mode, bool safe,
		      struct sl_error *err)
{
	char *temporary;
	if (asprintf(&temporary, "%s.tmp", path) < 0)
		return sl_error_memory(err, "a path");
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	int rc = fill(fd, temporary, parts, count, safe, err);
	if (!rc && safe) {
		rc = sl_atomic_place(temporary, path, err);
	} else if (!rc && rename(temporary, path)) {
		rc = sl_atomic_error(path, "written", errno, err);
		unlink(temporary);
	}
	free(temporary);
	return rc;
}

/* The file gets another name until the folder is synchronised. A full disk may have no room for that name. */
int sl_atomic_remove(const char *path, struct sl_error *err)
{
	char *aside;
	int rc;
	if (asprintf(&aside, "%s.gone", path) < 0)
		return sl_error_memory(err, "a path");
	if (rename(path, aside) && errno != ENOENT && unlink(path) && errno != ENOENT)
		rc = sl_atomic_error(path, "removed", errno, err);
	else if ((rc = sync_parent(path, err)))
		rename(aside, path);
	else
		unlink(aside);
	free(aside);
	return rc;
}

int sl_atomic_sync_folder(const char *folder, struct sl_error *err)
{
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
	if (fd < 0 || fsync(fd))
		rc = sl_atomic_error(folder, "synchronised", errno, err);
	if (fd >= 0)
		close(fd);
	return rc;
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

int sl__read_at(int fd, void *data, uint64_t bytes, uint64_t at)
{
	char *to = data;
	while (bytes) {
		ssize_t n = pread(fd, to, bytes < CHUNK ? bytes : CHUNK, (off_t)at);
		if (n == 0 || (n < 0 && errno != EINTR))
			return -1;
		if (n > 0) {
			to += n;
			at += (uint64_t)n;
			bytes -= (uint64_t)n;
		}
	}
	return 0;
}

int sl_file_open(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) || S_ISREG(st.st_mode))
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}
