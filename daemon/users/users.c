/* Users: reads their records when the server starts, and gives them as JSON. */
#include "daemon/users/users_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "daemon/store/atomic.h"
#include "daemon/util/log.h"

const char *const sl__role_names[] = {"none", "reader", "user", "administrator", "link", NULL};

/* Requests look for their users, so that is fast also if there are thousands. */
static struct sl_list *bucket(const struct sl_list *buckets, const char *text)
{
	return (struct sl_list *)&buckets[sl_list_hash(text, strlen(text)) % SL__USER_BUCKETS];
}

struct sl__user *sl__user_by_id(const struct sl_users *u, const char *id)
{
	return SL_LIST_FIND(struct sl__user, user, bucket(u->user_ids, id), by_id, !strcmp(user->id, id));
}

struct sl__user *sl__user_by_name(const struct sl_users *u, const char *name)
{
	return SL_LIST_FIND(struct sl__user, user, bucket(u->user_names, name), by_name, !strcmp(user->name, name));
}

const char *sl__user_id(const struct sl_users *u, const char *name)
{
	const struct sl__user *user = sl__user_by_name(u, name);
	return user ? user->id : NULL;
}

/* ---- documents -------------------------------------------------------------------------- */

static json_t *user_json(const struct sl__user *user, bool kept)
{
	json_t *tokens = json_array();
	SL_LIST_EACH(struct sl__token, t, &user->tokens, link)
		json_array_append_new(tokens, sl__token_json(t, kept));
	json_t *o = json_pack("{s:s, s:s, s:s, s:I, s:o, s:o}", "id", user->id, "name", user->name, "role",
			      sl__role_names[user->role], "created", (json_int_t)(sl_ulid_time_ms(user->id) / 1000), "tokens",
			      tokens, "limits", sl__limits_json(&user->account));
	if (kept && o)
		json_object_set_new(o, "project", json_string(user->project));
	return o;
}

enum sl_role sl__role_of(const char *text)
{
	for (int i = SL_ROLE_READER; text && i <= SL_ROLE_ADMINISTRATOR; i++)
		if (!strcmp(text, sl__role_names[i]))
			return (enum sl_role)i;
	return SL_ROLE_NONE;
}

struct sl_principal sl__user_principal(const struct sl__user *user)
{
	struct sl_principal p = {.role = user->role};
	memcpy(p.user, user->id, sizeof p.user);
	memcpy(p.account, user->id, sizeof p.account);
	memcpy(p.name, user->name, sizeof p.name);
	return p;
}

void sl__user_destroy(struct sl__user *user)
{
	sl_list_unlink(&user->link);
	sl_list_unlink(&user->by_id);
	sl_list_unlink(&user->by_name);
	SL_LIST_EACH(struct sl__token, t, &user->tokens, link)
		sl__token_destroy(t);
	free(user);
}

json_t *sl__user_document(const struct sl__user *user)
{
	return user_json(user, true);
}

int sl__user_put(struct sl_users *u, const struct sl__user *user, json_t *before, sl_db_done_fn done, void *arg)
{
	json_t *document = sl__user_document(user);
	if (!document) {
		json_decref(before);
		return SL_NOMEM;
	}
	int rc = sl__record(u, SL_DB_USERS, user->id, before, document, done, arg);
	json_decref(document);
	return rc;
}

void sl__user_drop(struct sl_users *u, const char *id)
{
	struct sl__user *user = sl__user_by_id(u, id);
	if (user)
		sl__user_destroy(user);
}

void sl__user_insert(struct sl_users *u, struct sl__user *user)
{
	struct sl__user *after = SL_LIST_FIRST(struct sl__user, &u->all, link);
	while (after && strcmp(after->name, user->name) < 0)
		after = SL_LIST_NEXT(struct sl__user, after, link);
	sl_list_insert(&u->all, after ? &after->link : NULL, &user->link);
	sl_list_append(bucket(u->user_ids, user->id), &user->by_id);
	sl_list_append(bucket(u->user_names, user->name), &user->by_name);
}

/* ---- the start ---------------------------------------------------------------------------- */

int sl__user_load(void *arg, const char *id, json_t *document)
{
	struct sl_users *u = arg;
	const char *name = json_string_value(json_object_get(document, "name"));
	const char *project = json_string_value(json_object_get(document, "project"));
	enum sl_role role = sl__role_of(json_string_value(json_object_get(document, "role")));
	json_t *token;
	size_t i;
	int rc = 0;
	if (!name || !role || strlen(name) >= sizeof ((struct sl__user *)0)->name || !sl_ulid_valid(id))
		return SL_DB_PASSED_OVER;
	struct sl__user *user = calloc(1, sizeof *user);
	if (!user)
		return SL_NOMEM;
	snprintf(user->id, sizeof user->id, "%s", id);
	snprintf(user->name, sizeof user->name, "%s", name);
	user->role = role;
	sl__account_init(&user->account, user, NULL);
	sl__limits_read(&user->account, json_object_get(document, "limits"), NULL);  /* ignores unknown limits */
	snprintf(user->project, sizeof user->project, "%s", project && sl_ulid_valid(project) ? project : "");
	json_array_foreach(json_object_get(document, "tokens"), i, token)
		if (!rc)
			rc = sl__token_load(u, user, token);
	if (rc)
		sl__user_destroy(user);
	else
		sl__user_insert(u, user);
	return rc;
}

/* Returns the answer to requests, with the names of projects. */
static json_t *told_json(const struct sl_users *u, const struct sl__user *user)
{
	json_t *o = user_json(user, false);
	sl__add_projects(u, user, o);
	return o;
}

/* The file users.key: the key and, except in files of older versions, its checksum. */
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
	bool whole = bytes == (ssize_t)sizeof file->key ? !sodium_is_zero(file->key, sizeof file->key) :
		     bytes == (ssize_t)sizeof *file && !sodium_memcmp(right.sum, file->sum, sizeof right.sum);
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
	sodium_memzero(u->key, sizeof u->key);
	if (u->audit_fd >= 0)
		close(u->audit_fd);
	free(u->audit_path);
	free(u);
}

int sl_users_create(struct sl_users **out, uv_loop_t *loop, struct sl_db *db, const struct sl_config *config,
		    const char *state_dir, struct sl_error *err)
{
	struct sl_users *u = calloc(1, sizeof *u);
	if (!u)
		return sl_error_set(err, SL_NOMEM, "no memory for the users");
	u->loop = loop;
	u->db = db;
	u->config = config;
	u->audit_fd = -1;
	bool made = false;
	int rc = read_key(u, state_dir, &made, err);
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

json_t *sl_users_list(const struct sl_users *u)
{
	json_t *items = json_array();
	SL_LIST_EACH(struct sl__user, user, &u->all, link)
		json_array_append_new(items, told_json(u, user));
	return items;
}

json_t *sl_users_json(const struct sl_users *u, const char *name)
{
	struct sl__user *user = sl__user_by_name(u, name);
	return user ? told_json(u, user) : NULL;
}
