/* shim.c -- makes the disk fail at a test's command. Loaded with LD_PRELOAD.
 *
 * $FAULTS names a file. While this file exists, a line "CALL ERRNO PATTERN" (fnmatch) makes each such call on a
 * matching path fail, and "CALL slow PATTERN" makes it take 20 s, slow3 3 s. Calls: fsync, fdatasync, unlink.
 *
 * A handler of SIGHUP that another thread than the first one runs waits for a second before it wakes the loop. */
#include <dlfcn.h>
#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOW_S = 20 };

/* Returns the errno of this call; 0: it does not fail. */
static int fault(const char *call, const char *path)
{
	const char *faults = getenv("FAULTS");
	char name[16], why[16], pattern[1024];
	FILE *file = faults ? fopen(faults, "re") : NULL;
	int found = 0;
	if (!file)
		return 0;
	while (!found && fscanf(file, "%15s %15s %1023s", name, why, pattern) == 3)
		if (!strcmp(name, call) && !fnmatch(pattern, path, 0))
			found = strncmp(why, "slow", 4) ? atoi(why) : why[4] ? -atoi(why + 4) : -SLOW_S;
	fclose(file);
	if (found < 0)
		sleep((unsigned)-found);
	return found > 0 ? found : 0;
}

static int fault_of(const char *call, int fd)
{
	char link[64], path[4096];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = '\0';
	return fault(call, path);
}

#define CALL(call) \
	int call(int fd) \
	{ \
		static int (*real)(int); \
		int why = fault_of(#call, fd); \
		if (!real) \
			real = (int (*)(int))dlsym(RTLD_NEXT, #call); \
		if (!why) \
			return real(fd); \
		errno = why; \
		return -1; \
	}

#pragma GCC visibility push(default)
CALL(fsync)
CALL(fdatasync)

int unlink(const char *path)
{
	static int (*real)(const char *);
	int why = fault("unlink", path);
	if (!real)
		real = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
	if (!why)
		return real(path);
	errno = why;
	return -1;
}

int uv_async_send(void *handle)
{
	static int (*real)(void *);
	sigset_t blocked;
	if (!real)
		real = (int (*)(void *))dlsym(RTLD_NEXT, "uv_async_send");
	if (gettid() != getpid() && !pthread_sigmask(SIG_BLOCK, NULL, &blocked) && sigismember(&blocked, SIGHUP) == 1)
		sleep(1);
	return real(handle);
}
