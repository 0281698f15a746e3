/* Begins and ends the room: the key of the tokens' digests (users.key), and the records of users, projects, rights,
 * links and usage, in this order, since each refers to those before. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "daemon/store/atomic.h"
#include "daemon/users/users_internal.h"
#include "daemon/util/log.h"

/* The file users.key: the key and its checksum. */
struct key_file {
	unsigned char key[sizeof ((struct sl_users *)0)->key];
	unsigned char sum[16];
};

static void add_sum(struct key_file *file)
{
	crypto_generichash(file->sum, sizeof file->sum, file->key, sizeof file->key, NULL, 0);
}

static int make_key(struct sl_users *u, const char *path, struct sl_error *err)
{
	struct key_file file;
	struct sl_array part = {&file, sizeof file};
	randombytes_buf(u->key, sizeof u->key);
	memcpy(file.key, u->key, sizeof file.key);
	add_sum(&file);
	int rc = sl_atomic_replace(path, &part, 1, 0600, true, err);
	sodium_memzero(&file, sizeof file);
	return rc;
}

static bool is_whole(const struct key_file *file, ssize_t bytes)
{
	struct key_file right = *file;
	add_sum(&right);
	bool whole = bytes == (ssize_t)sizeof *file && !sodium_memcmp(right.sum, file->sum, sizeof right.sum);
	sodium_memzero(&right, sizeof right);
	return whole;
}

/* Reads users.key; makes it at the first start, and sets *made. */
static int read_key(struct sl_users *u, const char *state_dir, bool *made, struct sl_error *err)
{
	char path[4200];
	struct key_file file = {{0}, {0}};
	char more;
	snprintf(path, sizeof path, "%s/users.key", state_dir);
	int fd = sl_file_open(path);
	*made = fd < 0 && errno == ENOENT;
	if (*made)
		return make_key(u, path, err);
	ssize_t n = fd < 0 ? -1 : read(fd, &file, sizeof file);
	int why = errno;
	if (n == (ssize_t)sizeof file && read(fd, &more, 1) == 1)
		n++;
	if (fd >= 0)
		close(fd);
	if (n < 0)
		return sl_error_at(err, SL_IO, path, 0, "the key of the users' tokens cannot be read: %s", strerror(why));
	bool whole = is_whole(&file, n);
	memcpy(u->key, file.key, sizeof u->key);
	sodium_memzero(&file, sizeof file);
	if (whole)
		return 0;
	return sl_error_at(err, SL_IO, path, 0, "the key of the users' tokens is damaged, so no token or link would be "
			   "valid. Restore this file from a backup. If there is none, remove it and start again: then every user "
			   "needs a new token, which an administrator makes with a token of token_file");
}

/* Without its file the key is a new one, and tokens made with the old one are void. */
static void tell_new_key(const struct sl_users *u, const char *state_dir)
{
	size_t tokens = 0;
	SL_LIST_EACH(const struct sl__user, user, &u->all, link)
		tokens += user->tokens.count;
	if (tokens)
		sl_log_warning("users", "%s/users.key was missing, so a new one was made, and the %zu tokens of users are "
			       "void, as are all public links. Stop the server and restore the file from a backup, or make "
			       "new tokens with a token of token_file (spaceland user token NAME)", state_dir, tokens);
}

static void destroy(struct sl_users *u)
{
	SL_LIST_EACH(struct sl__user, user, &u->all, link)
		sl__user_destroy(user);
	sl__projects_destroy(u);
	sl__access_destroy(u);
	sl__links_destroy(u);
	sl__accounting_destroy(u);
	sodium_memzero(u->key, sizeof u->key);
	if (u->audit_fd >= 0)
		close(u->audit_fd);
	free(u->audit_path);
	free(u);
}

int sl_users_check(const struct sl_config *c, struct sl_error *err)
{
	int rc = sl_groups_check(c->proxy_group_roles, true, err);
	bool roles = rc;
	if (!rc)
		rc = sl_groups_check(c->proxy_group_projects, false, err);
	if (rc)
		snprintf(err->pointer, sizeof err->pointer, "/%s", roles ? "proxy_group_roles" : "proxy_group_projects");
	return rc;
}

int sl_users_create(struct sl_users **out, uv_loop_t *loop, struct sl_db *db, const struct sl_config *config,
		    const char *state_dir, struct sl_error *err)
{
	struct sl_users *u = calloc(1, sizeof *u);
	if (!u)
		return sl_error_memory(err, "the users");
	u->loop = loop;
	u->db = db;
	u->config = config;
	u->audit_fd = -1;
	bool made = false;
	int rc = sl_users_check(config, err);
	if (!rc)
		rc = read_key(u, state_dir, &made, err);
	if (!rc)
		rc = sl_db_load(db, SL_DB_USERS, sl__user_load, u, err);
	if (rc >= 0)
		rc = sl_db_load(db, SL_DB_PROJECTS, sl__project_load, u, err);
	if (rc >= 0)
		rc = sl_db_load(db, SL_DB_ACCESS, sl__access_load, u, err);
	if (rc >= 0)
		rc = sl_db_load(db, SL_DB_LINKS, sl__link_load, u, err);
	if (rc >= 0)
		rc = sl_db_load(db, SL_DB_USAGE, sl__usage_load, u, err);
	if (rc >= 0)
		rc = sl_db_load(db, SL_DB_ACCOUNTING, sl__accounting_load, u, err);
	if (rc < 0) {
		destroy(u);
		return rc;
	}
	if (made)
		tell_new_key(u, state_dir);
	sl__audit_open(u, state_dir);
	*out = u;
	return 0;
}

void sl__users_end_if_closing(struct sl_users *u)
{
	void (*closed)(void *) = u->closed;
	void *arg = u->closed_arg;
	if (!closed || u->audit_busy)
		return;
	destroy(u);
	closed(arg);
}

void sl_users_close(struct sl_users *u, void (*closed)(void *arg), void *arg)
{
	u->closed = closed;
	u->closed_arg = arg;
	sl__users_end_if_closing(u);
}
