/* shim.c -- records a program's file operations, so that a test can build the files that a power cut would have left.
 *
 * Loaded with LD_PRELOAD. Calls on files below $POWER_FOLDER are executed one at a time and then appended to
 * $POWER_LOG:
 *
 *   record   struct record, then `length` bytes: the path, two paths with a zero between them, or the data
 *
 * Writes to mapped memory are not recorded: the next start makes SQLite's index of its log (-shm) again. */
#undef _FILE_OFFSET_BITS  /* this file defines both names of each call */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum kind { OPEN = 1, WRITE, TRUNCATE, SYNC, RENAME, UNLINK, MKDIR, RMDIR, CLOSE, LINK };

struct record {
	uint64_t ns;      /* CLOCK_MONOTONIC, after the call */
	int32_t kind, fd, flags;
	uint32_t length;
	int64_t at;       /* WRITE: offset; TRUNCATE: size */
};

enum { DESCRIPTORS = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool ours[DESCRIPTORS];  /* below the folder */
static int log_fd = -1;
static char folder[4096];
static size_t folder_length;

#define REAL(name) \
	static __typeof__(name) *real; \
	if (!real) \
		real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("POWER_LOG"), *of = getenv("POWER_FOLDER");
	if (!path || !of)
		return;
	snprintf(folder, sizeof folder, "%s", of);
	folder_length = strlen(folder);
	log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static void note_two(enum kind kind, int fd, int flags, int64_t at, const void *data, size_t length, const void *more,
		     size_t more_length)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	struct record r = {(uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec, kind, fd, flags,
			   (uint32_t)(length + more_length), at};
	struct iovec parts[] = {{&r, sizeof r}, {(void *)data, length}, {(void *)more, more_length}};
	int kept = errno;
	if (writev(log_fd, parts, 3) < 0)
		abort();
	errno = kept;
}

static void note(enum kind kind, int fd, int flags, int64_t at, const void *data, size_t length)
{
	note_two(kind, fd, flags, at, data, length, NULL, 0);
}

/* Makes the absolute path; false: not below the folder. */
static bool absolute(int at, const char *path, char out[4096])
{
	if (log_fd < 0)
		return false;
	if (path[0] == '/') {
		snprintf(out, 4096, "%s", path);
	} else {
		char link[64], base[2048];
		snprintf(link, sizeof link, at == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", at);
		ssize_t n = readlink(link, base, sizeof base - 1);
		base[n > 0 ? n : 0] = '\0';
		snprintf(out, 4096, "%s/%s", base, path);
	}
	return !strncmp(out, folder, folder_length) && (out[folder_length] == '/' || !out[folder_length]);
}

static bool tracked(int fd)
{
	return log_fd >= 0 && fd >= 0 && fd < DESCRIPTORS && ours[fd];
}

static int open_at(int at, const char *path, int flags, mode_t mode)
{
	REAL(openat64);
	char full[4096];
	if (!absolute(at, path, full))
		return real(at, path, flags, mode);
	pthread_mutex_lock(&lock);
	int fd = real(at, path, flags, mode);
	if (fd >= 0 && fd < DESCRIPTORS) {
		ours[fd] = true;
		note(OPEN, fd, flags, 0, full, strlen(full));
	}
	pthread_mutex_unlock(&lock);
	return fd;
}

#pragma GCC visibility push(default)

#define MODE(flags) \
	mode_t mode = 0; \
	if ((flags) & (O_CREAT | O_TMPFILE)) { \
		va_list more; \
		va_start(more, flags); \
		mode = va_arg(more, mode_t); \
		va_end(more); \
	}

int open(const char *path, int flags, ...) { MODE(flags) return open_at(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) return open_at(AT_FDCWD, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE(flags) return open_at(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE(flags) return open_at(at, path, flags, mode); }

int close(int fd)
{
	REAL(close);
	if (!tracked(fd))
		return real(fd);
	pthread_mutex_lock(&lock);
	ours[fd] = false;
	note(CLOSE, fd, 0, 0, NULL, 0);
	int rc = real(fd);
	pthread_mutex_unlock(&lock);
	return rc;
}

ssize_t write(int fd, const void *data, size_t bytes)
{
	REAL(write);
	if (!tracked(fd))
		return real(fd, data, bytes);
	pthread_mutex_lock(&lock);
	ssize_t n = real(fd, data, bytes);
	if (n > 0)
		note(WRITE, fd, 0, (int64_t)lseek(fd, 0, SEEK_CUR) - n, data, (size_t)n);
	pthread_mutex_unlock(&lock);
	return n;
}

static ssize_t write_at(int fd, const void *data, size_t bytes, off64_t at)
{
	REAL(pwrite64);
	if (!tracked(fd))
		return real(fd, data, bytes, at);
	pthread_mutex_lock(&lock);
	ssize_t n = real(fd, data, bytes, at);
	if (n > 0)
		note(WRITE, fd, 0, at, data, (size_t)n);
	pthread_mutex_unlock(&lock);
	return n;
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t at) { return write_at(fd, data, bytes, at); }
ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t at) { return write_at(fd, data, bytes, at); }

static int truncate_fd(int fd, off64_t bytes)
{
	REAL(ftruncate64);
	if (!tracked(fd))
		return real(fd, bytes);
	pthread_mutex_lock(&lock);
	int rc = real(fd, bytes);
	if (!rc)
		note(TRUNCATE, fd, 0, bytes, NULL, 0);
	pthread_mutex_unlock(&lock);
	return rc;
}

int ftruncate(int fd, off_t bytes) { return truncate_fd(fd, bytes); }
int ftruncate64(int fd, off64_t bytes) { return truncate_fd(fd, bytes); }

/* Does not call fsync(): only the order of calls matters. */
static int sync_fd(int fd)
{
	pthread_mutex_lock(&lock);
	note(SYNC, fd, 0, 0, NULL, 0);
	pthread_mutex_unlock(&lock);
	return 0;
}

int fsync(int fd)
{
	REAL(fsync);
	return tracked(fd) ? sync_fd(fd) : real(fd);
}

int fdatasync(int fd)
{
	REAL(fdatasync);
	return tracked(fd) ? sync_fd(fd) : real(fd);
}

int renameat2(int from_at, const char *from, int to_at, const char *to, unsigned flags)
{
	REAL(renameat2);
	char a[4096], b[4096];
	if (!absolute(from_at, from, a) || !absolute(to_at, to, b))
		return real(from_at, from, to_at, to, flags);
	pthread_mutex_lock(&lock);
	int rc = real(from_at, from, to_at, to, flags);
	if (!rc)
		note_two(RENAME, -1, (int)flags, 0, a, strlen(a) + 1, b, strlen(b));
	pthread_mutex_unlock(&lock);
	return rc;
}

int renameat(int from_at, const char *from, int to_at, const char *to)
{
	return renameat2(from_at, from, to_at, to, 0);
}

int rename(const char *from, const char *to) { return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int at, const char *path, int flags)
{
	REAL(unlinkat);
	char full[4096];
	if (!absolute(at, path, full))
		return real(at, path, flags);
	pthread_mutex_lock(&lock);
	int rc = real(at, path, flags);
	if (!rc)
		note(flags & AT_REMOVEDIR ? RMDIR : UNLINK, -1, 0, 0, full, strlen(full));
	pthread_mutex_unlock(&lock);
	return rc;
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int mkdir(const char *path, mode_t mode)
{
	REAL(mkdir);
	char full[4096];
	if (!absolute(AT_FDCWD, path, full))
		return real(path, mode);
	pthread_mutex_lock(&lock);
	int rc = real(path, mode);
	if (!rc)
		note(MKDIR, -1, 0, 0, full, strlen(full));
	pthread_mutex_unlock(&lock);
	return rc;
}

int link(const char *from, const char *to)
{
	REAL(link);
	char a[4096], b[4096];
	if (!absolute(AT_FDCWD, from, a) || !absolute(AT_FDCWD, to, b))
		return real(from, to);
	pthread_mutex_lock(&lock);
	int rc = real(from, to);
	if (!rc)
		note_two(LINK, -1, 0, 0, a, strlen(a) + 1, b, strlen(b));
	pthread_mutex_unlock(&lock);
	return rc;
}
