/* Names decide what is the daemon's: ID.KIND of a listed kind. Everything else stays, also links and folders.
 * Descriptors of folders are used throughout, so that a folder that is replaced meanwhile is not followed. */
#include "daemon/store/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/util/log.h"
#include "daemon/util/ulid.h"

#define LOST "lost+found"

enum { ID = SL_ULID_BYTES - 1 };

/* Copies the 26 characters at `name` to id if they are an id; otherwise returns false. */
static bool take_id(const char *name, char id[SL_ULID_BYTES])
{
	if (strnlen(name, ID) < ID)
		return false;
	memcpy(id, name, ID);
	id[ID] = '\0';
	return sl_ulid_valid(id);
}

static bool listed(const char *const *list, const char *text, size_t length)
{
	for (; *list; list++)
		if (strlen(*list) == length && !strncmp(*list, text, length))
			return true;
	return false;
}

static enum sl_name classify(const char *name, const char *const *kinds, char id[SL_ULID_BYTES])
{
	if (!take_id(name, id) || name[ID] != '.')
		return SL_NAME_FOREIGN;
	const char *kind = name + ID + 1;
	size_t length = strcspn(kind, ".");
	const char *ending = kind + length;
	if (!listed(kinds, kind, length))
		return SL_NAME_FOREIGN;
	if (!*ending)
		return SL_NAME_WHOLE;
	return !strcmp(ending, ".tmp") ? SL_NAME_TEMPORARY : !strcmp(ending, ".gone") ? SL_NAME_GONE : SL_NAME_FOREIGN;
}

static bool regular(DIR *dir, const char *name)
{
	struct stat st;
	return !fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) && S_ISREG(st.st_mode);
}

/* True for a symbolic link to a regular file. */
static bool linked(DIR *dir, const char *name)
{
	struct stat st;
	return !fstatat(dirfd(dir), name, &st, AT_SYMLINK_NOFOLLOW) && S_ISLNK(st.st_mode) &&
	       !fstatat(dirfd(dir), name, &st, 0) && S_ISREG(st.st_mode);
}

static DIR *open_below(const char *state_dir, const char *folder)
{
	char *path;
	if (asprintf(&path, "%s/%s", state_dir, folder) < 0)
		return NULL;
	DIR *dir = opendir(path);
	free(path);
	return dir;
}

static void remove_file(DIR *dir, const char *folder, const char *name)
{
	if (unlinkat(dirfd(dir), name, 0) && errno != ENOENT)
		sl_log_warning("store", "%s/%s is left over: %s", folder, name, strerror(errno));
}

/* Renames a file without replacing another. Where the file system cannot do this at once, it tests first, which is safe
 * since no other program makes files in lost+found/. */
static int move(DIR *dir, const char *name, int at, const char *to)
{
	int rc = renameat2(dirfd(dir), name, at, to, RENAME_NOREPLACE);
	if (!rc || errno != EINVAL)
		return rc;
	if (faccessat(at, to, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		return -1;
	}
	return renameat(dirfd(dir), name, at, to);
}

/* Moves a file to lost+found/. If the name is taken, a number is added. */
static bool move_to_lost(DIR *dir, const char *state_dir, const char *folder, const char *name)
{
	char *lost, to[300];
	if (asprintf(&lost, "%s/" LOST, state_dir) < 0)
		return false;
	int at = mkdir(lost, 0700) && errno != EEXIST ? -1 : open(lost, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = -1;
	free(lost);
	for (int i = 0; at >= 0 && i < 1000; i++) {
		snprintf(to, sizeof to, i ? "%s.%d" : "%s", name, i);
		if (!(rc = move(dir, name, at, to)) || errno != EEXIST)
			break;
	}
	if (rc)
		sl_log_warning("store", "%s/%s has no record; it stays, since it cannot be moved to " LOST "/: %s", folder,
			       name, strerror(errno));
	else
		sl_log_warning("store", "%s/%s has no record and is now " LOST "/%s", folder, name, to);
	if (at >= 0)
		close(at);
	return !rc;
}

int sl_sweep(const char *state_dir, const char *folder, const char *const *kinds,
	     enum sl_fate (*fate)(void *arg, const char *id, const char *kind), void *arg)
{
	DIR *dir = open_below(state_dir, folder);
	int lost = 0;
	if (!dir)
		return 0;
	for (struct dirent *e; (e = readdir(dir));) {
		char id[SL_ULID_BYTES];
		enum sl_name what = classify(e->d_name, kinds, id);
		if (what == SL_NAME_FOREIGN || !regular(dir, e->d_name))
			continue;
		enum sl_fate is = what == SL_NAME_WHOLE ? fate(arg, id, e->d_name + ID + 1) : SL_FATE_DELETED;
		if (is == SL_FATE_DELETED)
			remove_file(dir, folder, e->d_name);
		else if (is == SL_FATE_LOST)
			lost += move_to_lost(dir, state_dir, folder, e->d_name);
	}
	closedir(dir);
	return lost;
}

int sl_sweep_each(const char *state_dir, const char *folder, const char *const *kinds, enum sl_name wanted,
		  void (*fn)(void *arg, const char *folder, const char *name, const char *id), void *arg)
{
	DIR *dir = open_below(state_dir, folder);
	int count = 0;
	if (!dir)
		return 0;
	for (struct dirent *e; (e = readdir(dir));) {
		char id[SL_ULID_BYTES];
		bool link = wanted == SL_NAME_LINK;
		if (classify(e->d_name, kinds, id) != (link ? SL_NAME_WHOLE : wanted) ||
		    !(link ? linked : regular)(dir, e->d_name))
			continue;
		count++;
		if (fn)
			fn(arg, folder, e->d_name, id);
	}
	closedir(dir);
	return count;
}

static bool is_temporary(const char *name, const char *const *prefixes)
{
	char id[SL_ULID_BYTES];
	const char *dash = strchr(name, '-');
	return dash && listed(prefixes, name, (size_t)(dash - name)) && take_id(dash + 1, id) &&
	       (dash[1 + ID] == '\0' || dash[1 + ID] == '.');
}

void sl_sweep_temporary(const char *state_dir, const char *folder, const char *const *prefixes)
{
	DIR *dir = open_below(state_dir, folder);
	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));)
		if (is_temporary(e->d_name, prefixes) && regular(dir, e->d_name))
			remove_file(dir, folder, e->d_name);
	closedir(dir);
}
