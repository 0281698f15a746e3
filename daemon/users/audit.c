/* The audit log. Each line is appended by one write(), so that it is complete or absent; no line is ever changed or
 * removed. A pool thread calls fsync(), once for the lines of several requests. On a full disk, lines of changes use
 * the room that is reserved for records; one that cannot be written all the same is in the log.
 *
 * Changes are always recorded. Of refusals, which cost a stranger nothing, at most REFUSALS at once and one a second
 * are; the next line about one has the number of those that were left out. Otherwise a client without a token could
 * fill the disk. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/users/users_internal.h"
#include "daemon/util/log.h"
#include "daemon/util/time_text.h"

#define REFUSALS 1000
#define REFUSALS_A_SECOND 1
#define PATH_BYTES 256       /* of the path of a refusal */

static int open_log(const char *path)
{
	return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

void sl__audit_open(struct sl_users *u, const char *state_dir)
{
	if (asprintf(&u->audit_path, "%s/audit.log", state_dir) < 0)
		u->audit_path = NULL;
	u->refusals_left = REFUSALS;
	u->audit_fd = u->audit_path ? open_log(u->audit_path) : -1;
	if (u->audit_fd < 0)
		sl_log_warning("users", "the audit log cannot be opened: %s", strerror(errno));
}

/* Begins a new file if the present one was moved away or removed, as programs that rotate logs do. Not while fsync()
 * uses the descriptor or is due. */
static void follow_rotation(struct sl_users *u)
{
	struct stat here, ours;
	if (u->audit_busy || u->audit_waiting.count || u->audit_fd < 0 || fstat(u->audit_fd, &ours))
		return;
	if (!stat(u->audit_path, &here) ? here.st_dev == ours.st_dev && here.st_ino == ours.st_ino : errno != ENOENT)
		return;
	int fd = open_log(u->audit_path);
	if (fd < 0)
		return;
	close(u->audit_fd);
	u->audit_fd = fd;
}

/* True if the refusal may be recorded; otherwise counts it. */
static bool admit_refusal(struct sl_users *u)
{
	uint64_t now = uv_now(u->loop);
	u->refusals_left += (double)(now - u->refusals_ms) / 1000 * REFUSALS_A_SECOND;
	if (u->refusals_left > REFUSALS)
		u->refusals_left = REFUSALS;
	u->refusals_ms = now;
	if (u->refusals_left < 1) {
		u->omitted++;
		return false;
	}
	u->refusals_left--;
	return true;
}

/* The beginning of the path of a refused request, which may be any bytes, as printable ASCII. */
static const char *plain(char out[PATH_BYTES + 1], const char *path)
{
	size_t i = 0;
	for (; i < PATH_BYTES && path[i]; i++)
		out[i] = path[i] < ' ' || path[i] > '~' ? '?' : path[i];
	out[i] = '\0';
	return out;
}

/* Whatever bytes the text has, the line is written: names of tokens in token_file may have another encoding. */
static json_t *text_or_null(const char *text)
{
	char out[PATH_BYTES + 1];
	json_t *o = text && text[0] ? json_string(text) : json_null();
	return o ? o : json_string(plain(out, text));
}

static const char *object_of(const struct sl_event *e)
{
	const char *last = strrchr(e->path, '/');
	return e->object && e->object[0] ? e->object : last && sl_ulid_valid(last + 1) ? last + 1 : NULL;
}

void sl_users_mask_tokens(char *text)
{
	for (char *at = text; (at = strstr(at, "sp")); at++) {
		if (strncmp(at, SL_TOKEN_PREFIX, 4) && strncmp(at, SL_LINK_PREFIX, 4) &&
		    strncmp(at, SL_WORKER_TOKEN_PREFIX, 4))
			continue;
		for (at += 4; isalnum((unsigned char)*at) || *at == '_' || *at == '-'; at++)
			*at = '*';
		at--;
	}
}

/* Appends the line, or nothing. */
static bool append(const struct sl_users *u, const char *line, size_t length)
{
	struct stat st;
	if (u->audit_fd < 0 || fstat(u->audit_fd, &st))
		return false;
	ssize_t written = write(u->audit_fd, line, length);
	if (written == (ssize_t)length)
		return true;
	if (written > 0 && ftruncate(u->audit_fd, st.st_size))
		sl_log_warning("users", "the audit log ends with a part of a line: %s", strerror(errno));
	if (written >= 0)
		errno = ENOSPC;
	return false;
}

static void write_line(struct sl_users *u, char *line, bool change)
{
	size_t length = strlen(line);
	line[length] = '\n';  /* overwrites the terminating 0 */
	bool written = append(u, line, length + 1) ||
		       (change && errno == ENOSPC && sl_db_give_up_reserve(u->db) && append(u, line, length + 1));
	line[length] = '\0';
	if (!written && (change || !u->audit_failed))
		sl_log_warning("users", "the audit log cannot be written: %s: %s", strerror(errno), line);
	u->audit_failed = !written;
}

void sl_users_audit(struct sl_users *u, const struct sl_event *e)
{
	bool refusal = e->status >= 400;
	char path[PATH_BYTES + 1];
	if (refusal && !admit_refusal(u))
		return;
	json_t *o = json_pack("{s:f, s:o, s:s, s:o, s:s, s:o, s:o, s:s, s:s, s:o, s:o, s:i}", "time",
			      (double)sl_time_now_ms() / 1000, "request", text_or_null(e->request), "user", e->who->name,
			      "user_id", text_or_null(e->who->user), "role", sl__role_names[e->who->role], "token",
			      text_or_null(e->who->token), "token_name", text_or_null(e->who->token_name), "address",
			      e->address, "method", e->method, "path",
			      text_or_null(refusal ? plain(path, e->path) : e->path), "object",
			      text_or_null(object_of(e)), "status", e->status);
	if (o && e->changes)
		json_object_set(o, "changes", (json_t *)e->changes);
	if (o && refusal && u->omitted)
		json_object_set_new(o, "omitted", json_integer(u->omitted));
	u->omitted = refusal ? 0 : u->omitted;
	char *line = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(14)) : NULL;
	json_decref(o);
	follow_rotation(u);
	if (line) {
		sl_users_mask_tokens(line);
		write_line(u, line, !refusal);
	} else {
		sl_log_error("users", SL_NO_MEMORY "a line of the audit log: %s %s", e->method, e->path);
	}
	free(line);
}

/* ---- fsync() ------------------------------------------------------------------------------ */

struct sl__audit_waiter {
	struct sl_link link;
	void (*done)(void *arg);
	void *arg;
};

static void sync_work(void *arg)
{
	const struct sl_users *u = arg;
	if (u->audit_fd >= 0 && fdatasync(u->audit_fd))
		sl_log_warning("users", "the audit log cannot be brought to the disk: %s", strerror(errno));
}

static void start_sync(struct sl_users *u);

static void sync_done(void *arg)
{
	struct sl_users *u = arg;
	struct sl_list done = {0};
	sl_list_move(&done, &u->audit_writing);
	u->audit_busy = false;
	start_sync(u);
	SL_LIST_EACH(struct sl__audit_waiter, w, &done, link) {
		sl_list_unlink(&w->link);
		w->done(w->arg);
		free(w);
	}
	sl__users_end_if_closing(u);
}

static void start_sync(struct sl_users *u)
{
	if (u->audit_busy || !u->audit_waiting.count)
		return;
	sl_list_move(&u->audit_writing, &u->audit_waiting);
	u->audit_busy = true;
	sl_pool_run_in(&u->audit_work, u->loop, sync_work, sync_done, u);
}

int sl_users_audit_sync(struct sl_users *u, void (*done)(void *arg), void *arg)
{
	struct sl__audit_waiter *w = calloc(1, sizeof *w);
	if (!w)
		return SL_NOMEM;
	w->done = done;
	w->arg = arg;
	sl_list_append(&u->audit_waiting, &w->link);
	start_sync(u);
	return 0;
}
