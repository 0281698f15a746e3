/* The file's blocks are allocated (posix_fallocate), not only its length. It comes back only when the disk has room
 * for two of it, so that it does not flicker. */
#include "daemon/store/reserve.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "daemon/util/log.h"

#define BYTES (4 << 20)   /* enough for thousands of records with SQLite's log */

static char *path_of(const char *state_dir)
{
	char *path;
	return asprintf(&path, "%s/reserve", state_dir) < 0 ? NULL : path;
}

static bool is_there(const char *state_dir)
{
	char *path = path_of(state_dir);
	bool there = path && access(path, F_OK) == 0;
	free(path);
	return there;
}

static bool has_room(const char *state_dir)
{
	struct statvfs st;
	return statvfs(state_dir, &st) || (uint64_t)st.f_bavail * st.f_frsize >= 2ull * BYTES;
}

bool sl_reserve_is_needed(const char *state_dir)
{
	return !has_room(state_dir);
}

void sl_reserve_keep(const char *state_dir)
{
	char *path = path_of(state_dir);
	int fd = path && !is_there(state_dir) && has_room(state_dir) ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC,
									    0600) : -1;
	if (fd >= 0 && posix_fallocate(fd, 0, BYTES))
		unlink(path);
	if (fd >= 0)
		close(fd);
	free(path);
}

bool sl_reserve_give_up(const char *state_dir)
{
	char *path = path_of(state_dir);
	bool given = path && unlink(path) == 0;
	free(path);
	if (given)
		sl_log_error("store", "the disk is full: the reserve in %s is given up for records; make room", state_dir);
	return given;
}

bool sl_reserve_is_used(const char *state_dir)
{
	return !is_there(state_dir) && !has_room(state_dir);
}
