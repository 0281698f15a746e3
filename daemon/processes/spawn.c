/* Uses posix_spawn(). */
#include "daemon/processes/spawn.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/socket.h>
#include <unistd.h>

extern char **environ;

/* Runs it with `fd` as descriptor `as`. */
static int spawn(const char *argument, int fd, int as, pid_t *pid)
{
	char *const argv[] = {(char *)"spacelandd", (char *)argument, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none;
	sigemptyset(&none);
	if (posix_spawn_file_actions_init(&files))
		return ENOMEM;
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	int code = posix_spawn_file_actions_adddup2(&files, fd, as);
	if (!code)
		code = posix_spawn(pid, "/proc/self/exe", &files, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	if (code)
		*pid = 0;
	return code;
}

int sl_spawn_self(const char *argument, int type, int as, int *end, pid_t *pid)
{
	int ends[2];
	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends))
		return errno;
	int code = spawn(argument, ends[1], as, pid);
	close(ends[1]);
	if (code)
		close(ends[0]);
	else
		*end = ends[0];
	return code;
}
