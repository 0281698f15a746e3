/* Users and tokens. A token is "spt_", its id, "_" and 43 random characters; the id finds it, the hash proves it. */
#include "daemon/users/users_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "daemon/store/atomic.h"
#include "daemon/util/json.h"
#include "daemon/util/log.h"
#include "daemon/util/time_text.h"

#define SECRET_BYTES 32
#define USED_EVERY_MS 60000
#define MOST_USERS 10000
#define MOST_TOKENS 100
#define DAY_MS (86400 * (int64_t)1000)
#define PROXY_MS (DAY_MS / 2)  /* that streams stay open without asking the proxy again */

const char *const sl__role_names[] = {"none", "reader", "user", "administrator", "link", NULL};

struct sl__user *sl__user_by_id(const struct sl_users *u, const char *id)
{
	SL_LIST_EACH(struct sl__user, user, &u->all, link)
		if (!strcmp(user->id, id))
			return user;
	return NULL;
}

struct sl__user *sl__user_by_name(const struct sl_users *u, const char *name)
{
	SL_LIST_EACH(struct sl__user, user, &u->all, link)
		if (!strcmp(user->name, name))
			return user;
	return NULL;
}

/* ---- documents -------------------------------------------------------------------------- */

static json_t *time_json(int64_t ms)
{
	return ms ? json_integer(ms / 1000) : json_null();
}

/* As kept, with the hash; or as told. */
static json_t *token_json(const struct sl__token *t, bool kept)
{
	char hash[2 * SL__TOKEN_HASH + 1];
	json_t *o = json_pack("{s:s, s:s?, s:I, s:o, s:o}", "id", t->id, "name", t->name, "created",
			      (json_int_t)(sl_ulid_time_ms(t->id) / 1000), "expires", time_json(t->expires_ms), "last_used",
			      time_json(t->used_ms));
	if (kept && o)
		json_object_set_new(o, "hash", json_string(sodium_bin2hex(hash, sizeof hash, t->hash, sizeof t->hash)));
	return o;
}

static json_t *user_json(const struct sl__user *user, bool kept)
{
	json_t *tokens = json_array();
	SL_LIST_EACH(struct sl__token, t, &user->tokens, link)
		json_array_append_new(tokens, token_json(t, kept));
	json_t *o = json_pack("{s:s, s:s, s:s, s:I, s:o, s:o}", "id", user->id, "name", user->name, "role",
			      sl__role_names[user->role], "created", (json_int_t)(sl_ulid_time_ms(user->id) / 1000), "tokens",
			      tokens, "limits", sl__limits_json(&user->account));
	if (kept && o)
		json_object_set_new(o, "project", json_string(user->project));
	return o;
}

static enum sl_role role_of(const char *text)
{
	for (int i = SL_ROLE_READER; text && i <= SL_ROLE_ADMINISTRATOR; i++)
		if (!strcmp(text, sl__role_names[i]))
			return (enum sl_role)i;
	return SL_ROLE_NONE;
}

static void token_destroy(struct sl__token *t)
{
	sl_list_unlink(&t->link);
	free(t->name);
	free(t);
}

static void user_destroy(struct sl__user *user)
{
	sl_list_unlink(&user->link);
	SL_LIST_EACH(struct sl__token, t, &user->tokens, link)
		token_destroy(t);
	free(user);
}

static int put(struct sl_users *u, const struct sl__user *user, sl_db_done_fn done, void *arg)
{
	json_t *document = user_json(user, true);
	int rc = document ? sl_db_put(u->db, SL_DB_USERS, user->id, document, done, arg) : SL_NOMEM;
	json_decref(document);
	return rc;
}

static void insert(struct sl_users *u, struct sl__user *user)
{
	struct sl__user *after = SL_LIST_FIRST(struct sl__user, &u->all, link);
	while (after && strcmp(after->name, user->name) < 0)
		after = SL_LIST_NEXT(struct sl__user, after, link);
	sl_list_insert(&u->all, after ? &after->link : NULL, &user->link);
}

/* ---- the start ---------------------------------------------------------------------------- */

static int load_token(struct sl__user *user, const json_t *o)
{
	const char *id = json_string_value(json_object_get(o, "id")), *hash = json_string_value(json_object_get(o, "hash"));
	const char *name = json_string_value(json_object_get(o, "name"));
	size_t bytes = 0;
	struct sl__token *t = calloc(1, sizeof *t);
	if (!t)
		return SL_NOMEM;
	sl_list_append(&user->tokens, &t->link);
	if (!id || !sl_ulid_valid(id) || !hash ||
	    sodium_hex2bin(t->hash, sizeof t->hash, hash, strlen(hash), NULL, &bytes, NULL) || bytes != sizeof t->hash)
		return SL_DB_PASSED_OVER;
	snprintf(t->id, sizeof t->id, "%s", id);
	t->expires_ms = json_integer_value(json_object_get(o, "expires")) * 1000;
	t->used_ms = json_integer_value(json_object_get(o, "last_used")) * 1000;
	return name && !(t->name = strdup(name)) ? SL_NOMEM : 0;
}

static int load_user(void *arg, const char *id, json_t *document)
{
	struct sl_users *u = arg;
	const char *name = json_string_value(json_object_get(document, "name"));
	const char *project = json_string_value(json_object_get(document, "project"));
	enum sl_role role = role_of(json_string_value(json_object_get(document, "role")));
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
	sl__limits_read(&user->account, json_object_get(document, "limits"), NULL);  /* of another version: passed over */
	snprintf(user->project, sizeof user->project, "%s", project && sl_ulid_valid(project) ? project : "");
	json_array_foreach(json_object_get(document, "tokens"), i, token)
		if (!rc)
			rc = load_token(user, token);
	if (rc)
		user_destroy(user);
	else
		insert(u, user);
	return rc;
}

/* As told: with the names of projects. */
static json_t *told_json(const struct sl_users *u, const struct sl__user *user)
{
	json_t *o = user_json(user, false);
	sl__add_projects(u, user, o);
	return o;
}

/* Made at the first start. */
static int read_key(struct sl_users *u, const char *state_dir, struct sl_error *err)
{
	char path[4200];
	snprintf(path, sizeof path, "%s/users.key", state_dir);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		randombytes_buf(u->key, sizeof u->key);
		struct sl_array part = {u->key, sizeof u->key};
		return sl_atomic_replace(path, &part, 1, 0600, true, err);
	}
	ssize_t n = fd < 0 ? -1 : read(fd, u->key, sizeof u->key);
	int why = errno;
	if (fd >= 0)
		close(fd);
	if (n == (ssize_t)sizeof u->key)
		return 0;
	return sl_error_at(err, SL_IO, path, 0, "the key of the users' tokens cannot be read: %s",
			   n < 0 ? strerror(why) : "it is too short");
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
	int rc = read_key(u, state_dir, err);
	if (!rc)
		rc = sl_db_load(db, SL_DB_USERS, load_user, u, err);
	if (rc >= 0)
		rc = sl_db_load(db, SL_DB_PROJECTS, sl__project_load, u, err);
	if (rc >= 0)
		rc = sl_db_load(db, SL_DB_ACCESS, sl__access_load, u, err);
	if (rc >= 0)
		rc = sl_db_load(db, SL_DB_LINKS, sl__link_load, u, err);
	if (rc >= 0)
		rc = sl_db_load(db, SL_DB_USAGE, sl__usage_load, u, err);
	if (rc < 0) {
		sl_users_destroy(u);
		return rc;
	}
	sl__audit_open(u, state_dir);
	*out = u;
	return 0;
}

void sl_users_destroy(struct sl_users *u)
{
	if (!u)
		return;
	SL_LIST_EACH(struct sl__user, user, &u->all, link)
		user_destroy(user);
	sl__projects_destroy(u);
	sl__access_destroy(u);
	sl__links_destroy(u);
	sodium_memzero(u->key, sizeof u->key);
	if (u->audit_fd >= 0)
		close(u->audit_fd);
	free(u->audit_path);
	free(u);
}

/* ---- who is it? ----------------------------------------------------------------------------- */

void sl__token_hash(const struct sl_users *u, const char *token, unsigned char out[SL__TOKEN_HASH])
{
	crypto_generichash(out, SL__TOKEN_HASH, (const unsigned char *)token, strlen(token), u->key, sizeof u->key);
}

void sl__token_make(const struct sl_users *u, const char *prefix, const char *id, char text[SL__TOKEN_LENGTH + 1],
		    unsigned char hash[SL__TOKEN_HASH])
{
	unsigned char secret[SECRET_BYTES];
	randombytes_buf(secret, sizeof secret);
	int at = snprintf(text, SL__TOKEN_LENGTH + 1, "%s%s_", prefix, id);
	sodium_bin2base64(text + at, SL__TOKEN_LENGTH + 1 - (size_t)at, secret, sizeof secret,
			  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sl__token_hash(u, text, hash);
	sodium_memzero(secret, sizeof secret);
}

static struct sl__token *find_token(const struct sl_users *u, const char *id, struct sl__user **of)
{
	SL_LIST_EACH(struct sl__user, user, &u->all, link)
		SL_LIST_EACH(struct sl__token, t, &user->tokens, link)
			if (!memcmp(t->id, id, SL_ULID_BYTES - 1)) {
				*of = user;
				return t;
			}
	return NULL;
}

bool sl_users_identify(struct sl_users *u, const char *token, struct sl_principal *out)
{
	unsigned char hash[SL__TOKEN_HASH];
	struct sl__user *user;
	int64_t now = (int64_t)sl_time_now_ms();
	if (strlen(token) != SL__TOKEN_LENGTH)
		return false;
	if (!strncmp(token, SL__LINK_PREFIX, 4))
		return sl__link_identify(u, token, out);
	if (strncmp(token, SL__TOKEN_PREFIX, 4))
		return false;
	struct sl__token *t = find_token(u, token + 4, &user);
	sl__token_hash(u, token, hash);
	if (!t || sodium_memcmp(hash, t->hash, sizeof hash) || (t->expires_ms && now >= t->expires_ms))
		return false;
	if (now - t->used_ms > USED_EVERY_MS) {
		t->used_ms = now;
		put(u, user, NULL, NULL);
	}
	out->role = user->role;
	memcpy(out->user, user->id, sizeof out->user);
	memcpy(out->account, user->id, sizeof out->account);
	memcpy(out->token, t->id, sizeof out->token);
	out->until_ms = t->expires_ms;
	memcpy(out->name, user->name, sizeof out->name);
	return true;
}

void sl_users_administrator(const struct sl_users *u, struct sl_principal *out)
{
	*out = (struct sl_principal){.role = SL_ROLE_ADMINISTRATOR, .file = u->file};
}

void sl_users_file_changed(struct sl_users *u)
{
	u->file++;
}

bool sl_users_still(const struct sl_users *u, struct sl_principal *p)
{
	const struct sl__user *user = p->user[0] ? sl__user_by_id(u, p->user) : NULL;
	if (p->until_ms && (int64_t)sl_time_now_ms() >= p->until_ms)
		return false;
	if (p->role == SL_ROLE_LINK)
		return sl__link_still(u, p);
	if (!p->user[0])
		return p->role == SL_ROLE_ADMINISTRATOR && p->file == u->file;
	if (!user)
		return false;
	p->role = user->role;
	if (p->proxy)
		return true;
	SL_LIST_EACH(struct sl__token, t, &user->tokens, link)
		if (!strcmp(t->id, p->token))
			return true;
	return false;
}

/* ---- changes ----------------------------------------------------------------------------------- */

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

static int read_role(const json_t *body, enum sl_role *role, struct sl_error *err)
{
	const char *text = NULL;
	int rc = sl_json_string(body, "role", &text, err);
	if (rc || !text)
		return rc;
	*role = role_of(text);
	return *role ? 0 : sl_error_field(err, SL_BADPARAM, "/role", "role must be reader, user or administrator, not "
					  "'%.32s'", text);
}

int sl__name_check(const char *name, struct sl_error *err)
{
	size_t length = name ? strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.@") : 0;
	if (!length || name[length] || length >= sizeof ((struct sl__user *)0)->name || !strcmp(name, ".") ||
	    !strcmp(name, ".."))
		return sl_error_field(err, SL_BADPARAM, "/name", "name must be 1 to 63 letters, digits and the signs - _ . @, "
				      "but not . or .., which no path can name");
	return 0;
}

static int not_found(const char *name, struct sl_error *err)
{
	return sl_error_set(err, SL_NOTFOUND, "there is no user %.64s", name);
}

static int add(struct sl_users *u, const char *name, enum sl_role role, sl_db_done_fn done, void *arg,
	       struct sl_error *err)
{
	if (sl__user_by_name(u, name))
		return sl_error_field(err, SL_CONFLICT, "/name", "there is a user %s already", name);
	if (u->all.count >= MOST_USERS)
		return sl_error_set(err, SL_TOOBIG, "there may be %d users, not more", MOST_USERS);
	struct sl__user *user = calloc(1, sizeof *user);
	if (!user)
		return sl_error_set(err, SL_NOMEM, "no memory for a user");
	sl_ulid_make(user->id);
	snprintf(user->name, sizeof user->name, "%s", name);
	user->role = role;
	sl__account_init(&user->account, user, NULL);
	int rc = put(u, user, done, arg);
	if (rc) {
		user_destroy(user);
		return sl_error_set(err, rc, "the user cannot be recorded");
	}
	insert(u, user);
	return 0;
}

int sl_users_add(struct sl_users *u, const json_t *body, sl_db_done_fn done, void *arg, struct sl_error *err)
{
	static const char *const known[] = {"name", "role", NULL};
	const char *name = NULL;
	enum sl_role role = SL_ROLE_USER;
	int rc = sl_json_known(body, known, err);
	if (!rc)
		rc = sl_json_string(body, "name", &name, err);
	if (!rc)
		rc = sl__name_check(name, err);
	if (!rc)
		rc = read_role(body, &role, err);
	if (rc)
		return rc;
	return add(u, name, role, done, arg, err);
}

/* Its default one. */
static int read_project(const struct sl_users *u, struct sl__user *user, const json_t *body, struct sl_error *err)
{
	const json_t *value = json_object_get(body, "project");
	const char *name = json_string_value(value);
	const struct sl__project *p = name ? sl__project_by_name(u, name) : NULL;
	if (!value)
		return 0;
	if (!json_is_null(value) && (!p || !sl__is_member(u, p->id, user->id)))
		return sl_error_field(err, SL_BADPARAM, "/project", "project must be the name of a project of which %s is a "
				      "member, or null for none", user->name);
	snprintf(user->project, sizeof user->project, "%s", p ? p->id : "");
	return 0;
}

int sl_users_change(struct sl_users *u, const char *name, const json_t *body, sl_db_done_fn done, void *arg,
		    struct sl_error *err)
{
	static const char *const known[] = {"role", "limits", "project", NULL};
	struct sl__user *user = sl__user_by_name(u, name);
	if (!user)
		return not_found(name, err);
	enum sl_role before = user->role;
	double limits[SL_LIMITS];
	char project[SL_ULID_BYTES];
	memcpy(limits, user->account.limit, sizeof limits);
	memcpy(project, user->project, sizeof project);
	int rc = sl_json_known(body, known, err);
	if (!rc)
		rc = read_role(body, &user->role, err);
	if (!rc && json_object_get(body, "limits"))
		rc = sl__limits_read(&user->account, json_object_get(body, "limits"), err);
	if (!rc)
		rc = read_project(u, user, body, err);
	if (!rc && (rc = put(u, user, done, arg)))
		sl_error_set(err, rc, "the change cannot be recorded");
	if (rc) {
		user->role = before;
		memcpy(user->account.limit, limits, sizeof limits);
		memcpy(user->project, project, sizeof project);
	}
	return rc;
}

int sl_users_remove(struct sl_users *u, const char *name, sl_db_done_fn done, void *arg, struct sl_error *err)
{
	struct sl__user *user = sl__user_by_name(u, name);
	if (!user)
		return not_found(name, err);
	int rc = sl_db_remove(u->db, SL_DB_USERS, user->id, done, arg);
	if (rc)
		return sl_error_set(err, rc, "the change cannot be recorded");
	sl_db_remove(u->db, SL_DB_USAGE, user->id, NULL, NULL);
	sl__projects_forget_user(u, user->id);
	user_destroy(user);  /* its tokens end at once */
	return 0;
}

int sl_users_token_add(struct sl_users *u, const char *name, const json_t *body, json_t **reply, sl_db_done_fn done,
		       void *arg, struct sl_error *err)
{
	static const char *const known[] = {"name", "days", NULL};
	char text[SL__TOKEN_LENGTH + 1];
	const char *label = NULL;
	int64_t days = 0;
	struct sl__user *user = sl__user_by_name(u, name);
	if (!user)
		return not_found(name, err);
	int rc = sl_json_known(body, known, err);
	if (!rc && json_object_get(body, "name"))
		rc = sl_json_name(body, &label, err);
	if (!rc)
		rc = sl_json_int(body, "days", 1, 36500, &days, err);
	if (rc)
		return rc;
	if (user->tokens.count >= MOST_TOKENS)
		return sl_error_set(err, SL_TOOBIG, "a user may have %d tokens, not more; revoke one", MOST_TOKENS);
	struct sl__token *t = calloc(1, sizeof *t);
	if (!t || (label && !(t->name = strdup(label)))) {
		free(t);
		return sl_error_set(err, SL_NOMEM, "no memory for a token");
	}
	sl_ulid_make(t->id);
	t->expires_ms = days ? (int64_t)sl_time_now_ms() + days * DAY_MS : 0;
	sl__token_make(u, SL__TOKEN_PREFIX, t->id, text, t->hash);
	sl_list_append(&user->tokens, &t->link);
	*reply = token_json(t, false);
	if (*reply)
		json_object_set_new(*reply, "token", json_string(text));
	sodium_memzero(text, sizeof text);
	rc = *reply ? put(u, user, done, arg) : SL_NOMEM;
	if (!rc)
		return 0;
	json_decref(*reply);
	*reply = NULL;
	token_destroy(t);
	return sl_error_set(err, rc, "the token cannot be recorded");
}

int sl_users_token_remove(struct sl_users *u, const char *name, const char *token, sl_db_done_fn done, void *arg,
			  struct sl_error *err)
{
	struct sl__user *user = sl__user_by_name(u, name);
	if (!user)
		return not_found(name, err);
	SL_LIST_EACH(struct sl__token, t, &user->tokens, link) {
		if (strcmp(t->id, token))
			continue;
		sl_list_unlink(&t->link);
		int rc = put(u, user, done, arg);
		if (rc) {
			sl_list_append(&user->tokens, &t->link);
			return sl_error_set(err, rc, "the change cannot be recorded");
		}
		token_destroy(t);
		return 0;
	}
	return sl_error_set(err, SL_NOTFOUND, "user %s has no token %.64s", name, token);
}

/* ---- logged in by a proxy ------------------------------------------------------------------------ */

static int check_role(const char *text, enum sl_role *role, struct sl_error *err)
{
	*role = text ? role_of(text) : SL_ROLE_NONE;
	return *role || !text ? 0 : sl_error_field(err, SL_BADPARAM, "/role", "the proxy tells the role '%.32s'; reader, "
						   "user or administrator would be right", text);
}

int sl_users_by_proxy(struct sl_users *u, const char *name, const char *role, const char *fresh,
		      struct sl_principal *out, enum sl_proxy_news *news, struct sl_error *err)
{
	struct sl__user *user = sl__user_by_name(u, name);
	enum sl_role told;
	int rc = check_role(role, &told, err);
	if (!rc && !user && !fresh)
		rc = sl_error_set(err, SL_NOTFOUND, "there is no user %.64s; an administrator adds one with spaceland user "
				  "add, or lets the server do so by proxy_new_users", name);
	if (!rc && !user)
		rc = sl__name_check(name, err);
	if (rc)
		return rc;
	*news = !user ? SL_PROXY_NEW_USER : told && told != user->role ? SL_PROXY_NEW_ROLE : SL_PROXY_NOTHING;
	if (!user && (rc = add(u, name, told ? told : role_of(fresh), NULL, NULL, err)))
		return rc;
	user = sl__user_by_name(u, name);
	if (*news == SL_PROXY_NEW_ROLE) {
		user->role = told;
		put(u, user, NULL, NULL);
	}
	*out = (struct sl_principal){.role = user->role, .until_ms = (int64_t)sl_time_now_ms() + PROXY_MS, .proxy = true};
	memcpy(out->user, user->id, sizeof out->user);
	memcpy(out->account, user->id, sizeof out->account);
	memcpy(out->name, user->name, sizeof out->name);
	return 0;
}
