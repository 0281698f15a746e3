/* Tokens of users. A token is "spt_", its id, "_" and 43 random characters. It is found by its id, and
 * compared by a keyed hash of the whole token. */
#include "daemon/users/users_internal.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "daemon/json/json.h"
#include "daemon/util/time_text.h"

#define SECRET_BYTES 32
#define USED_EVERY_MS 60000
#define MOST_TOKENS 100
#define DAY_MS (86400 * (int64_t)1000)

/* ---- records ---------------------------------------------------------------------------- */

static json_t *time_json(int64_t ms)
{
	return ms ? json_integer(ms / 1000) : json_null();
}

/* kept: for the record, with the hash; otherwise for replies. */
json_t *sl__token_json(const struct sl__token *t, bool kept)
{
	char hash[2 * SL__TOKEN_HASH + 1];
	json_t *o = json_pack("{s:s, s:s?, s:I, s:o, s:o}", "id", t->id, "name", t->name, "created",
			      (json_int_t)(sl_ulid_time_ms(t->id) / 1000), "expires", time_json(t->expires_ms), "last_used",
			      time_json(t->used_ms));
	if (kept && o)
		json_object_set_new(o, "hash", json_string(sodium_bin2hex(hash, sizeof hash, t->hash, sizeof t->hash)));
	return o;
}

void sl__token_destroy(struct sl__token *t)
{
	sl_list_unlink(&t->link);
	sl_list_unlink(&t->by_id);
	free(t->name);
	free(t);
}

static struct sl_list *bucket(const struct sl_users *u, const char *id)
{
	return (struct sl_list *)&u->tokens[sl_list_hash(id, SL_ULID_BYTES - 1) % SL__USER_BUCKETS];
}

/* t->id is set. */
static void give(struct sl_users *u, struct sl__user *user, struct sl__token *t)
{
	t->user = user;
	sl_list_append(&user->tokens, &t->link);
	sl_list_append(bucket(u, t->id), &t->by_id);
}

int sl__token_load(struct sl_users *u, struct sl__user *user, const json_t *o)
{
	const char *id = json_string_value(json_object_get(o, "id")), *hash = json_string_value(json_object_get(o, "hash"));
	const char *name = json_string_value(json_object_get(o, "name"));
	size_t bytes = 0;
	struct sl__token *t = calloc(1, sizeof *t);
	if (!t)
		return SL_NOMEM;
	snprintf(t->id, sizeof t->id, "%s", id ? id : "");
	give(u, user, t);
	if (!id || !sl_ulid_valid(id) || !hash ||
	    sodium_hex2bin(t->hash, sizeof t->hash, hash, strlen(hash), NULL, &bytes, NULL) || bytes != sizeof t->hash)
		return SL_DB_PASSED_OVER;
	t->expires_ms = json_integer_value(json_object_get(o, "expires")) * 1000;
	t->used_ms = json_integer_value(json_object_get(o, "last_used")) * 1000;
	return name && !(t->name = strdup(name)) ? SL_NOMEM : 0;
}

/* ---- authentication --------------------------------------------------------------------- */

void sl_users_secret_hash(const struct sl_users *u, const char *token, unsigned char out[SL_SECRET_HASH_BYTES])
{
	crypto_generichash(out, SL__TOKEN_HASH, (const unsigned char *)token, strlen(token), u->key, sizeof u->key);
}

void sl_users_secret_make(const struct sl_users *u, const char *prefix, const char *id, char text[SL_SECRET_BYTES],
			  unsigned char hash[SL_SECRET_HASH_BYTES])
{
	unsigned char secret[SECRET_BYTES];
	randombytes_buf(secret, sizeof secret);
	int at = snprintf(text, SL__TOKEN_LENGTH + 1, "%s%s_", prefix, id);
	sodium_bin2base64(text + at, SL__TOKEN_LENGTH + 1 - (size_t)at, secret, sizeof secret,
			  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	sl_users_secret_hash(u, text, hash);
	sodium_memzero(secret, sizeof secret);
}

_Static_assert(SL_SECRET_BYTES > SL__TOKEN_LENGTH && SL_SECRET_HASH_BYTES == SL__TOKEN_HASH, "a token fits");

static struct sl__token *find_token(const struct sl_users *u, const char *id)
{
	return SL_LIST_FIND(struct sl__token, t, bucket(u, id), by_id, !memcmp(t->id, id, SL_ULID_BYTES - 1));
}

bool sl_users_identify(struct sl_users *u, const char *token, struct sl_principal *out)
{
	unsigned char hash[SL__TOKEN_HASH];
	int64_t now = (int64_t)sl_time_now_ms();
	if (strlen(token) != SL__TOKEN_LENGTH)
		return false;
	if (!strncmp(token, SL_LINK_PREFIX, 4))
		return sl__link_identify(u, token, out);
	if (strncmp(token, SL_TOKEN_PREFIX, 4))
		return false;
	struct sl__token *t = find_token(u, token + 4);
	sl_users_secret_hash(u, token, hash);
	if (!t || sodium_memcmp(hash, t->hash, sizeof hash))
		return false;
	struct sl__user *user = t->user;
	bool expired = t->expires_ms && now >= t->expires_ms;
	if (user->state || expired) {
		*out = (struct sl_principal){.role = SL_ROLE_NONE, .until_ms = user->state ? 0 : t->expires_ms};
		memcpy(out->name, user->name, sizeof out->name);
		return false;
	}
	if (now < t->used_ms || now - t->used_ms > USED_EVERY_MS) {
		json_t *before = sl__user_document(user);
		t->used_ms = now;
		if (before)
			sl__user_put(u, user, before, NULL, NULL);
	}
	*out = sl__user_principal(user);
	memcpy(out->token, t->id, sizeof out->token);
	sl_json_copy_text(out->token_name, sizeof out->token_name, t->name ? t->name : "");
	out->until_ms = t->expires_ms;
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
	if (!user || user->state)
		return false;
	p->role = user->role;
	if (p->proxy)
		return true;
	const struct sl__token *t = find_token(u, p->token);
	return t && t->user == user;
}

/* ---- changes ---------------------------------------------------------------------------- */

const char *sl_principal_called(const struct sl_principal *who)
{
	return who->name[0] ? who->name : who->token_name[0] ? who->token_name : "an administrator";
}

/* Reads {"name", "days", ...}; *days 0: not given. *label: borrowed from the body, or NULL. */
static int read_token(const json_t *body, const char *const *known, const char **label, int64_t *days,
		      struct sl_error *err)
{
	int rc = sl_json_known(body, known, err);
	if (!rc && json_object_get(body, "name"))
		rc = sl_json_name(body, label, err);
	if (!rc)
		rc = sl_json_int(body, "days", 1, 36500, days, err);
	return rc;
}

/* Records a new token. before (taken): the user's document before the change, of which this is a part. */
static int make(struct sl_users *u, struct sl__user *user, json_t *before, const char *label, int64_t expires_ms,
		json_t **reply, sl_db_done_fn done, void *arg, struct sl_error *err)
{
	char text[SL_SECRET_BYTES];
	struct sl__token *t = calloc(1, sizeof *t);
	if (!t || !before || (label && !(t->name = strdup(label)))) {
		free(t);
		json_decref(before);
		return sl_error_memory(err, "a token");
	}
	sl_ulid_make(t->id);
	t->expires_ms = expires_ms;
	sl_users_secret_make(u, SL_TOKEN_PREFIX, t->id, text, t->hash);
	give(u, user, t);
	*reply = sl__token_json(t, false);
	if (*reply)
		json_object_set_new(*reply, "token", json_string(text));
	sodium_memzero(text, sizeof text);
	int rc = *reply ? sl__user_put(u, user, json_incref(before), done, arg) : SL_NOMEM;
	json_decref(before);
	if (!rc)
		return 0;
	json_decref(*reply);
	*reply = NULL;
	sl__token_destroy(t);
	return sl_error_set(err, rc, "the token cannot be recorded");
}

static int refuse_more(const struct sl__user *user, struct sl_error *err)
{
	if (user->tokens.count < MOST_TOKENS)
		return 0;
	return sl_error_set(err, SL_TOOBIG, "a user can have at most %d tokens; revoke one", MOST_TOKENS);
}

int sl_users_token_add(struct sl_users *u, const char *name, const json_t *body, json_t **reply, sl_db_done_fn done,
		       void *arg, struct sl_error *err)
{
	static const char *const known[] = {"name", "days", NULL};
	const char *label = NULL;
	int64_t days = 0;
	struct sl__user *user = sl__user_of(u, name);
	if (!user)
		return sl__user_not_found(name, err);
	if (user->state == SL_USER_DELETED)
		return sl_error_set(err, SL_CONFLICT, "user %s was deleted; restore the user first", user->name);
	int rc = read_token(body, known, &label, &days, err);
	if (!rc)
		rc = refuse_more(user, err);
	if (rc)
		return rc;
	return make(u, user, sl__user_document(user), label, days ? (int64_t)sl_time_now_ms() + days * DAY_MS : 0, reply,
		    done, arg, err);
}

/* ---- a user's own tokens ------------------------------------------------------------------ */

static struct sl__user *own_user(const struct sl_users *u, const struct sl_principal *who, struct sl_error *err)
{
	struct sl__user *user = who->user[0] ? sl__user_by_id(u, who->user) : NULL;
	if (!user)
		sl_error_set(err, SL_NOTFOUND, "your token belongs to no user, so you have no tokens here; an administrator "
			     "makes tokens for users with spaceland user token");
	return user;
}

static struct sl__token *own_token(const struct sl_users *u, const struct sl__user *user, const char *id)
{
	struct sl__token *t = sl_ulid_valid(id) ? find_token(u, id) : NULL;
	return t && t->user == user ? t : NULL;
}

/* The life that a new token gets: the one of the token that makes or is replaced, unless fewer days are wanted. */
static int read_life(const struct sl__token *maker, int64_t days, int64_t *expires_ms, struct sl_error *err)
{
	int64_t now = (int64_t)sl_time_now_ms();
	int64_t most = maker && maker->expires_ms ? maker->expires_ms - (int64_t)sl_ulid_time_ms(maker->id) : 0;
	if (most && days * DAY_MS > most + DAY_MS)
		return sl_error_field(err, SL_BADPARAM, "/days", "days must be at most %lld, the life of the token that you "
				      "use; an administrator makes others", (long long)((most + DAY_MS / 2) / DAY_MS));
	*expires_ms = days ? now + days * DAY_MS : most ? now + most : 0;
	return 0;
}

json_t *sl_users_own_tokens(const struct sl_users *u, const struct sl_principal *who, struct sl_error *err)
{
	const struct sl__user *user = own_user(u, who, err);
	json_t *items = user ? json_array() : NULL;
	if (!user)
		return NULL;
	SL_LIST_EACH(const struct sl__token, t, &user->tokens, link)
		json_array_append_new(items, sl__token_json(t, false));
	return items;
}

json_t *sl_users_token_used(const struct sl_users *u, const struct sl_principal *who)
{
	const struct sl__user *user = who->user[0] && !who->proxy ? sl__user_by_id(u, who->user) : NULL;
	const struct sl__token *t = user ? own_token(u, user, who->token) : NULL;
	return t ? sl__token_json(t, false) : json_null();
}

int sl_users_own_token_add(struct sl_users *u, const struct sl_principal *who, const json_t *body, json_t **reply,
			   sl_db_done_fn done, void *arg, struct sl_error *err)
{
	static const char *const known[] = {"name", "days", "replaces", "overlap_seconds", NULL};
	const char *label = NULL, *replaced = NULL;
	int64_t days = 0, overlap = 3600, expires_ms = 0, before_ms = 0;
	struct sl__user *user = own_user(u, who, err);
	struct sl__token *old = NULL;
	if (!user)
		return SL_NOTFOUND;
	const struct sl__token *maker = own_token(u, user, who->token);
	int rc = read_token(body, known, &label, &days, err);
	if (!rc && json_object_get(body, "replaces"))
		rc = sl_json_string(body, "replaces", &replaced, err);
	if (!rc)
		rc = sl_json_int(body, "overlap_seconds", 0, 30 * 86400, &overlap, err);
	if (!rc && replaced && !(old = own_token(u, user, strcmp(replaced, "this") ? replaced : who->token)))
		rc = sl_error_field(err, SL_NOTFOUND, "/replaces", "replaces must be the id of a token of yours, or this: "
				    "the one that you use");
	if (!rc)
		rc = refuse_more(user, err);
	if (!rc)
		rc = read_life(maker ? maker : old, days, &expires_ms, err);
	if (rc)
		return rc;
	json_t *before = sl__user_document(user);
	int64_t end_ms = (int64_t)sl_time_now_ms() + overlap * 1000;
	if (old && (!old->expires_ms || old->expires_ms > end_ms)) {
		before_ms = old->expires_ms;
		old->expires_ms = end_ms;
	} else {
		old = NULL;  /* it ends before */
	}
	const char *id = replaced && strcmp(replaced, "this") ? replaced : who->token;
	const struct sl__token *named = replaced ? own_token(u, user, id) : NULL;
	rc = make(u, user, before, label ? label : named ? named->name : NULL, expires_ms, reply, done, arg, err);
	if (rc && old)
		old->expires_ms = before_ms;
	return rc;
}

int sl_users_own_token_remove(struct sl_users *u, const struct sl_principal *who, const char *token,
			      sl_db_done_fn done, void *arg, struct sl_error *err)
{
	const struct sl__user *user = own_user(u, who, NULL);
	if (!user)
		return sl_error_set(err, SL_NOTFOUND, "you have no token %.64s; your token belongs to no user", token);
	return sl_users_token_remove(u, user->id, token, done, arg, err);
}

int sl_users_token_remove(struct sl_users *u, const char *name, const char *token, sl_db_done_fn done, void *arg,
			  struct sl_error *err)
{
	struct sl__user *user = sl__user_of(u, name);
	if (!user)
		return sl__user_not_found(name, err);
	SL_LIST_EACH(struct sl__token, t, &user->tokens, link) {
		if (strcmp(t->id, token))
			continue;
		json_t *before = sl__user_document(user);
		sl_list_unlink(&t->link);
		int rc = before ? sl__user_put(u, user, before, done, arg) : SL_NOMEM;
		if (rc) {
			sl_list_append(&user->tokens, &t->link);  /* it has stayed in its bucket */
			return sl_error_set(err, rc, "the change cannot be recorded");
		}
		sl__token_destroy(t);
		return 0;
	}
	return sl_error_set(err, SL_NOTFOUND, "user %s has no token %.64s", name, token);
}

int sl_users_tokens_remove(struct sl_users *u, const char *name, sl_db_done_fn done, void *arg, struct sl_error *err)
{
	struct sl__user *user = sl__user_of(u, name);
	if (!user)
		return sl__user_not_found(name, err);
	json_t *before = sl__user_document(user), *after = before ? json_copy(before) : NULL;
	int rc = after && !json_object_set_new(after, "tokens", json_array()) ?
		 sl__record(u, SL_DB_USERS, user->id, json_incref(before), after, done, arg) : SL_NOMEM;
	if (!rc)
		SL_LIST_EACH(struct sl__token, t, &user->tokens, link)
			sl__token_destroy(t);
	json_decref(before);
	json_decref(after);
	return rc ? sl_error_set(err, rc, "the change cannot be recorded") : 0;
}
