/* Hard links make the moment: between the first and the last link no record is written, and files never change after
 * they are written. What the copied data base does not name is dropped from the links, never from the state. */
#include "daemon/files/backup_copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "daemon/files/columns_file.h"
#include "daemon/files/graph_file.h"
#include "daemon/files/job_files.h"
#include "daemon/store/atomic.h"
#include "daemon/store/db_ids.h"
#include "daemon/store/sweep.h"

#define CHUNK (8u << 20)   /* bytes copied between two tests of `cancel` */
#define STAGE "backup.tmp"

static const char *const folders[] = {"graphs", "jobs"};
/* Files copied with the data base. The generation file is not: it could be newer than the copy; the start makes it. */
static const char *const others[] = {"users.key", "people.json", "audit.log"};

enum { PATH = 4096 };

static void join(char out[PATH], const char *a, const char *b, const char *c)
{
	int n = snprintf(out, PATH, "%s/%s%s%s", a, b, c ? "/" : "", c ? c : "");
	if (n >= PATH)
		out[0] = '\0';  /* the file does not exist */
}

static bool cancelled(const struct sl_backup_copy *b, struct sl_error *err)
{
	if (!__atomic_load_n(&b->cancel, __ATOMIC_RELAXED))
		return false;
	sl_error_set(err, SL_CANCELLED, "The server is stopping.");
	return true;
}

/* ---- folders ------------------------------------------------------------------------------ */

/* Removes a folder made by a backup: its regular files, then the folder. */
static void remove_folder(const char *path)
{
	DIR *dir = opendir(path);
	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));)
		unlinkat(dirfd(dir), e->d_name, 0);
	closedir(dir);
	rmdir(path);
}

/* Removes the folders of files that a backup in this folder has. */
static void remove_folders(const char *in)
{
	char path[PATH];
	for (int i = 0; i < 2; i++) {
		join(path, in, folders[i], NULL);
		remove_folder(path);
	}
}

void sl_backup_clean(const char *state_dir)
{
	char stage[PATH];
	join(stage, state_dir, STAGE, NULL);
	remove_folders(stage);
	rmdir(stage);
}

/* The data base goes first: what is left after a crash is no backup any more. */
void sl_backup_remove(const char *folder)
{
	char path[PATH];
	join(path, folder, "spacelandd.db", NULL);
	unlink(path);
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		join(path, folder, others[i], NULL);
		unlink(path);
	}
	remove_folders(folder);
	rmdir(folder);
}

void sl_backup_abandon(struct sl_backup_copy *b)
{
	sl_backup_clean(b->state_dir);
	if (!b->part[0])
		return;
	remove_folders(b->part);
	remove_folder(b->part);
}

/* Fails unless nothing has this name, or an empty folder. */
static int check_free(const char *folder, struct sl_error *err)
{
	struct stat st;
	if (lstat(folder, &st))
		return errno == ENOENT ? 0 : sl_atomic_error(folder, "looked at", errno, err);
	if (!S_ISDIR(st.st_mode))
		return sl_error_field(err, SL_CONFLICT, "/name", "%s exists and is not a folder; choose another "
				      "name", folder);
	DIR *dir = opendir(folder);
	bool empty = dir != NULL;
	for (struct dirent *e; dir && (e = readdir(dir));)
		empty = empty && (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."));
	if (dir)
		closedir(dir);
	return empty ? 0 : sl_error_field(err, SL_CONFLICT, "/name", "the folder %s is not empty; choose another name",
					  folder);
}

int sl_backup_begin(struct sl_backup_copy *b, struct sl_error *err)
{
	int rc = check_free(b->folder, err);
	if (rc)
		return rc;
	int n = snprintf(b->part, sizeof b->part, "%s.part", b->folder);
	rc = n < PATH ? mkdir(b->part, 0700) : -1;
	if (rc) {
		char part[PATH];
		int why = n < PATH ? errno : ENAMETOOLONG;
		memcpy(part, b->part, sizeof part);
		b->part[0] = '\0';
		return why == EEXIST ? sl_error_field(err, SL_CONFLICT, "/name", "%s is left over from an incomplete "
						      "backup: remove it, or choose another name", part)
				     : sl_atomic_error(part, "made", why, err);
	}
	return 0;
}

/* ---- links ---------------------------------------------------------------------------------- */

struct linking {
	struct sl_backup_copy *b;
	int code;
	struct sl_error *err;
};

static void link_one(void *arg, const char *folder, const char *name, const char *id)
{
	struct linking *l = arg;
	char from[PATH], stage[PATH], to[PATH];
	struct stat st;
	if (l->code)
		return;
	join(from, l->b->state_dir, folder, name);
	join(stage, l->b->state_dir, STAGE, folder);
	join(to, stage, name, NULL);
	if (!link(from, to) && !stat(to, &st)) {
		__atomic_fetch_add(&l->b->files, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&l->b->bytes, (uint64_t)st.st_size, __ATOMIC_RELAXED);
	} else if (errno != ENOENT) {  /* ENOENT: the file was removed or renamed since the folder was read */
		l->code = sl_atomic_error(from, "linked", errno, l->err);
	}
}

/* A hard link would be one to the symbolic link, whose file is elsewhere. */
static void refuse_one(void *arg, const char *folder, const char *name, const char *id)
{
	struct linking *l = arg;
	if (!l->code)
		l->code = sl_error_set(l->err, SL_CONFLICT, "%s/%s/%s is a symbolic link, so the backup would not have its "
				       "content; put the file itself there.", l->b->state_dir, folder, name);
}

int sl_backup_link(struct sl_backup_copy *b, struct sl_error *err)
{
	const char *const *kinds[] = {sl_graph_file_kinds, sl_job_file_kinds()};
	struct linking l = {b, 0, err};
	char stage[PATH], path[PATH];
	sl_backup_clean(b->state_dir);
	join(stage, b->state_dir, STAGE, NULL);
	if (mkdir(stage, 0700))
		return sl_atomic_error(stage, "made", errno, err);
	for (int i = 0; i < 2 && !l.code; i++) {
		join(path, stage, folders[i], NULL);
		if (mkdir(path, 0700))
			return sl_atomic_error(path, "made", errno, err);
		sl_sweep_each(b->state_dir, folders[i], kinds[i], SL_NAME_LINK, refuse_one, &l);
		/* A graph's file gets its final name after its record is made. Final names come second, so that a file
		 * that is renamed meanwhile is found. */
		sl_columns_lock();
		sl_sweep_each(b->state_dir, folders[i], kinds[i], SL_NAME_TEMPORARY, link_one, &l);
		sl_sweep_each(b->state_dir, folders[i], kinds[i], SL_NAME_WHOLE, link_one, &l);
		sl_columns_unlock();
	}
	return l.code;
}

struct pruning {
	struct sl_backup_copy *b;
	struct sl_db_ids *ids;
	enum sl_db_table table;
};

static void drop(struct pruning *p, const char *path)
{
	struct stat st;
	if (lstat(path, &st) || unlink(path))
		return;
	__atomic_fetch_sub(&p->b->files, 1, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&p->b->bytes, (uint64_t)st.st_size, __ATOMIC_RELAXED);
}

static void prune_one(void *arg, const char *folder, const char *name, const char *id)
{
	struct pruning *p = arg;
	char stage[PATH], path[PATH];
	if (sl_db_ids_have(p->ids, p->table, id))
		return;
	join(stage, p->b->state_dir, folder, NULL);
	join(path, stage, name, NULL);
	drop(p, path);
}

/* Gives an unfinished file its final name if it belongs to a graph with a record, since it is complete then; else
 * removes it. */
static void name_or_drop(void *arg, const char *folder, const char *name, const char *id)
{
	struct pruning *p = arg;
	char stage[PATH], path[PATH], whole[PATH];
	join(stage, p->b->state_dir, folder, NULL);
	join(path, stage, name, NULL);
	snprintf(whole, sizeof whole, "%.*s", (int)(strlen(path) - strlen(".tmp")), path);
	if (p->table != SL_DB_GRAPHS || !sl_db_ids_have(p->ids, p->table, id) ||
	    renameat2(AT_FDCWD, path, AT_FDCWD, whole, RENAME_NOREPLACE))
		drop(p, path);
}

int sl_backup_prune(struct sl_backup_copy *b, struct sl_error *err)
{
	struct pruning p = {.b = b};
	char path[PATH];
	join(path, b->part, "spacelandd.db", NULL);
	int rc = sl_db_ids_open(&p.ids, path, err);
	if (rc)
		return rc;
	p.table = SL_DB_GRAPHS;
	sl_sweep_each(b->state_dir, STAGE "/graphs", sl_graph_file_kinds, SL_NAME_TEMPORARY, name_or_drop, &p);
	sl_sweep_each(b->state_dir, STAGE "/graphs", sl_graph_file_kinds, SL_NAME_WHOLE, prune_one, &p);
	p.table = SL_DB_JOBS;
	sl_sweep_each(b->state_dir, STAGE "/jobs", sl_job_file_kinds(), SL_NAME_TEMPORARY, name_or_drop, &p);
	sl_sweep_each(b->state_dir, STAGE "/jobs", sl_job_file_kinds(), SL_NAME_WHOLE, prune_one, &p);
	sl_db_ids_close(p.ids);
	return 0;
}

/* ---- copies --------------------------------------------------------------------------------- */

static int copy_bytes(struct sl_backup_copy *b, int in, const char *from, int out, const char *to, char *buffer,
		      struct sl_error *err)
{
	for (;;) {
		if (cancelled(b, err))
			return SL_CANCELLED;
		ssize_t n = read(in, buffer, CHUNK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return sl_atomic_error(from, "read", errno, err);
		if (!n)
			return 0;
		if (sl__write_all(out, buffer, (uint64_t)n))
			return sl_atomic_error(to, "written", errno, err);
		__atomic_fetch_add(&b->bytes_done, (uint64_t)n, __ATOMIC_RELAXED);
	}
}

static int copy_file(struct sl_backup_copy *b, const char *from, const char *to, struct sl_error *err)
{
	char *buffer = malloc(CHUNK);
	int in = open(from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), rc = 0;
	int out = in < 0 ? -1 : open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (!buffer)
		rc = sl_error_memory(err, "a copy");
	else if (in < 0 || out < 0)
		rc = sl_atomic_error(in < 0 ? from : to, in < 0 ? "read" : "written", errno, err);
	else
		rc = copy_bytes(b, in, from, out, to, buffer, err);
	if (!rc && fsync(out))
		rc = sl_atomic_error(to, "synchronised", errno, err);
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	free(buffer);
	return rc;
}

static int not_hidden(const struct dirent *e) { return e->d_name[0] != '.'; }

/* Copies a folder to another disk. Removes each link after its copy, so that files which the daemon deletes meanwhile
 * free their space. */
static int copy_folder(struct sl_backup_copy *b, const char *from, const char *to, struct sl_error *err)
{
	char source[PATH], target[PATH];
	struct dirent **entry = NULL;  /* read completely first, since files are removed below */
	int count = scandir(from, &entry, not_hidden, NULL);
	int rc = count < 0 ? sl_atomic_error(from, "read", errno, err) : 0;
	if (!rc && mkdir(to, 0700))
		rc = sl_atomic_error(to, "made", errno, err);
	for (int i = 0; i < count; i++) {
		if (!rc) {
			join(source, from, entry[i]->d_name, NULL);
			join(target, to, entry[i]->d_name, NULL);
			rc = copy_file(b, source, target, err);
			unlink(source);
			__atomic_fetch_add(&b->files_done, 1, __ATOMIC_RELAXED);
		}
		free(entry[i]);
	}
	free(entry);
	return rc ? rc : sl_atomic_sync_folder(to, err);
}

static int check_room(const struct sl_backup_copy *b, struct sl_error *err)
{
	struct statvfs st;
	if (statvfs(b->part, &st) || (uint64_t)st.f_bavail * st.f_frsize >= b->bytes)
		return 0;
	return sl_error_set(err, SL_DISKFULL, "The backup takes %llu bytes; the disk of %s has %llu left.",
			    (unsigned long long)b->bytes, b->folder, (unsigned long long)st.f_bavail * st.f_frsize);
}

static int move_or_copy(struct sl_backup_copy *b, struct sl_error *err)
{
	char stage[PATH], from[PATH], to[PATH];
	int rc = 0;
	join(stage, b->state_dir, STAGE, NULL);
	for (int i = 0; i < 2 && !rc; i++) {
		join(from, stage, folders[i], NULL);
		join(to, b->part, folders[i], NULL);
		if (!rename(from, to)) {
			rc = sl_atomic_sync_folder(to, err);
			continue;
		}
		rc = errno == EXDEV ? check_room(b, err) : sl_atomic_error(to, "written", errno, err);
		if (!rc)
			rc = copy_folder(b, from, to, err);
	}
	if (!rc) {  /* files that were renamed are not counted one by one */
		__atomic_store_n(&b->files_done, b->files, __ATOMIC_RELAXED);
		__atomic_store_n(&b->bytes_done, b->bytes, __ATOMIC_RELAXED);
	}
	return rc;
}

static int copy_others(struct sl_backup_copy *b, struct sl_error *err)
{
	char from[PATH], to[PATH];
	uint64_t bytes = b->bytes_done;  /* only files of graphs and jobs are counted */
	int rc = 0;
	for (size_t i = 0; i < sizeof others / sizeof *others && !rc; i++) {
		join(from, b->state_dir, others[i], NULL);
		join(to, b->part, others[i], NULL);
		if (access(from, F_OK) == 0)
			rc = copy_file(b, from, to, err);
	}
	__atomic_store_n(&b->bytes_done, bytes, __ATOMIC_RELAXED);
	return rc;
}

int sl_backup_finish(struct sl_backup_copy *b, struct sl_error *err)
{
	char parent[PATH];
	int rc = cancelled(b, err) ? SL_CANCELLED : move_or_copy(b, err);
	if (!rc)
		rc = copy_others(b, err);
	if (!rc)
		rc = sl_atomic_sync_folder(b->part, err);
	if (!rc && rename(b->part, b->folder))
		rc = sl_atomic_error(b->folder, "made", errno, err);
	if (rc)
		return rc;
	snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(b->folder, '/') - b->folder), b->folder);
	b->part[0] = '\0';
	sl_backup_clean(b->state_dir);
	return sl_atomic_sync_folder(parent[0] ? parent : "/", err);
}
