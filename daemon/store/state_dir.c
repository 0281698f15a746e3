/* A lock on the folder itself keeps a second daemon out; it ends with the process, however that ends. */
#include "daemon/store/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/store/atomic.h"
#include "daemon/store/sweep.h"

/* Prefixes of the daemon's files in tmp/. */
static const char *const temporary[] = {"upload", NULL};

static int format_default(char **out)
{
	const char *systemd = getenv("STATE_DIRECTORY"), *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int n;
	if (systemd && *systemd)  /* several folders are separated by colons */
		n = asprintf(out, "%.*s", (int)strcspn(systemd, ":"), systemd);
	else if (geteuid() == 0)
		n = asprintf(out, "/var/lib/spaceland");
	else if (xdg && xdg[0] == '/')
		n = asprintf(out, "%s/spaceland", xdg);
	else
		n = asprintf(out, "%s/.local/state/spaceland", home && *home ? home : "");
	return n < 0 ? SL_NOMEM : 0;
}

static const char *const folders[] = {"graphs", "jobs", "layouts", "tmp"};

/* Another attempt can help if a disk fails or is full, but not if its path or its rights are wrong. */
static int code_of(int number)
{
	return number == EACCES || number == EPERM || number == EROFS || number == ENOTDIR || number == ELOOP ||
	       number == ENAMETOOLONG ? SL_BADPARAM : SL_IO;
}

static const char *remedy(int number)
{
	return number == EROFS ? ". If spacelandd is a service of systemd, its unit needs ReadWritePaths= with this "
	       "folder (systemctl edit spacelandd)." : "";
}

/* mkdir -p */
static int make_path(char *path, struct sl_error *err)
{
	for (char *at = path + 1; ; at++) {
		if (*at != '/' && *at)
			continue;
		char kept = *at;
		*at = '\0';
		int rc = mkdir(path, 0700) && errno != EEXIST ? errno : 0;
		if (rc)
			return sl_error_field(err, code_of(rc), "/state_dir", "the folder %s cannot be made: %s%s", path,
					      strerror(rc), remedy(rc));
		*at = kept;
		if (!kept)
			return 0;
	}
}

/* Makes a folder in the state folder. On a read-only disk a missing folder is no error; it counts as empty. */
static int make_below(const char *dir, const char *name, struct sl_error *err)
{
	char *path;
	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return sl_error_memory(err, "a path");
	int rc = make_path(path, err);
	if (rc && access(dir, W_OK) && errno == EROFS)
		rc = 0;
	free(path);
	return rc;
}

/* Locks the folder itself instead of a file in it, which could be removed and would then admit a second daemon. */
static int lock(const char *dir, int *out, struct sl_error *err)
{
	int rc = 0, fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		rc = sl_error_field(err, code_of(errno), "/state_dir", "%s cannot be opened: %s", dir, strerror(errno));
	else if (flock(fd, LOCK_EX | LOCK_NB))
		rc = sl_error_field(err, SL_CONFLICT, "/state_dir",
				    "another spacelandd uses the state folder %s; stop it, or choose another folder "
				    "(--state-dir)", dir);
	if (rc && fd >= 0)
		close(fd);
	else if (!rc)
		*out = fd;
	return rc;
}

/* Requires that the folder was used before, so that a mistyped name does not become a folder. */
static int check_used(const char *dir, struct sl_error *err)
{
	static const char *const signs[] = {"spacelandd.db", "graphs", "jobs"};
	int found = 0;
	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
		char *path;
		if (asprintf(&path, "%s/%s", dir, signs[i]) < 0)
			return sl_error_memory(err, "a path");
		found += !access(path, F_OK);
		free(path);
	}
	return found ? 0 : sl_error_field(err, SL_NOTFOUND, "/state_dir", "%s is not the state folder of a spacelandd: it "
					  "has no records, graphs or jobs", dir);
}

/* Root becomes the owner of the folder, so that files made in it belong to the daemon; unless the owner cannot enter
 * the folder, as in a copy below /root. */
static void become_owner(const char *dir)
{
	struct stat st;
	if (geteuid() || stat(dir, &st) || !st.st_uid || setegid(st.st_gid))
		return;
	if (!seteuid(st.st_uid) && !euidaccess(dir, R_OK | W_OK | X_OK))
		return;
	if (seteuid(0) || setegid(0))
		abort();
}

int sl_state_dir_open(const char *configured, bool make, char **out, int *lock_fd, struct sl_error *err)
{
	char *path = NULL, *real = NULL;
	int rc = 0;
	if (configured[0])
		path = strdup(configured);
	else
		rc = format_default(&path);
	if (rc || !path)
		return sl_error_memory(err, "a path");
	rc = make ? make_path(path, err) : 0;
	if (!rc && !(real = realpath(path, NULL)))
		rc = sl_error_field(err, SL_IO, "/state_dir", "%s: %s", path, strerror(errno));
	free(path);
	*lock_fd = -1;
	if (!rc && !make)
		rc = check_used(real, err);
	if (!rc && !make)
		become_owner(real);
	if (!rc)
		rc = lock(real, lock_fd, err);
	for (size_t i = 0; !rc && i < sizeof folders / sizeof *folders; i++)
		rc = make_below(real, folders[i], err);
	if (!rc)
		rc = sl_atomic_sync_folder(real, err);  /* otherwise a power cut could remove a new folder with its content */
	if (rc) {
		if (*lock_fd >= 0)
			close(*lock_fd);
		free(real);
		return rc;
	}
	*out = real;
	return 0;
}

void sl_state_dir_clean(const char *dir)
{
	sl_sweep_temporary(dir, "tmp", temporary);
}

int sl_state_dir_announce(const char *dir, const char *address, struct sl_error *err)
{
	char *path = NULL, *line = NULL;
	int rc;
	if (asprintf(&path, "%s/spacelandd.addr", dir) < 0)
		path = NULL;
	if (asprintf(&line, "%s\n", address) < 0)
		line = NULL;
	if (path && line)
		rc = sl_atomic_replace(path, &(struct sl_array){line, strlen(line)}, 1, 0644, false, err);
	else
		rc = sl_error_memory(err, "a path");
	free(path);
	free(line);
	return rc;
}

bool sl_state_dir_address(const char *configured, char *out, size_t bytes)
{
	char *dir = NULL, *path = NULL;
	if (configured[0])
		dir = strdup(configured);
	else if (format_default(&dir))
		dir = NULL;
	if (!dir || asprintf(&path, "%s/spacelandd.addr", dir) < 0)
		path = NULL;
	FILE *file = path ? fopen(path, "re") : NULL;
	bool read = file && fgets(out, (int)bytes, file);
	if (file)
		fclose(file);
	free(path);
	free(dir);
	return read;
}
