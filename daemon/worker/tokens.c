/* Tokens of workers. The document "worker_tokens" of the settings is {"items": [record, ...]}; a record has id, name,
 * hash, created, expires, last_used and engine. There are few, so they are searched one by one. */
#include "daemon/worker/tokens.h"

#include <string.h>

#include <sodium.h>

#include "daemon/json/json.h"
#include "daemon/util/time_text.h"

#define DOCUMENT "worker_tokens"
#define MOST_TOKENS 100
#define USED_EVERY_S 60
#define DAY_S 86400

static int64_t now_s(void)
{
	return (int64_t)(sl_time_now_ms() / 1000);
}

static const json_t *items_of(const struct sl_settings *s)
{
	return json_object_get(sl_settings_get(s, DOCUMENT), "items");
}

static int64_t whole(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static bool is_valid(const json_t *o)
{
	int64_t expires = whole(o, "expires");
	return !expires || now_s() < expires;
}

static bool same_text(const json_t *o, const char *key, const char *text)
{
	const char *value = json_string_value(json_object_get(o, key));
	return value && !strcmp(value, text);
}

void sl_worker_token_make(const struct sl_users *u, char text[SL_SECRET_BYTES],
			  unsigned char hash[SL_SECRET_HASH_BYTES])
{
	char id[SL_ULID_BYTES];
	sl_ulid_make(id);
	sl_users_secret_make(u, SL_WORKER_TOKEN_PREFIX, id, text, hash);
}

static json_t *shown(const json_t *o)
{
	json_t *copy = json_copy((json_t *)o);
	json_object_del(copy, "hash");
	return copy;
}

json_t *sl_worker_tokens_json(const struct sl_settings *s)
{
	json_t *items = json_array();
	size_t i;
	json_t *o;
	json_array_foreach((json_t *)items_of(s), i, o)
		json_array_append_new(items, shown(o));
	return items;
}

/* Records the list, which it takes. */
static int put(struct sl_settings *s, json_t *items, sl_db_done_fn done, void *arg, struct sl_error *err)
{
	json_t *document = json_pack("{s:o}", "items", items);
	int rc = document ? sl_settings_put(s, DOCUMENT, document, done, arg) : SL_NOMEM;
	json_decref(document);
	return rc ? sl_error_set(err, rc, "the tokens of workers cannot be recorded") : 0;
}

static json_t *copy_of(const struct sl_settings *s)
{
	const json_t *items = items_of(s);
	return items ? json_deep_copy(items) : json_array();
}

int sl_worker_token_add(const struct sl_users *u, struct sl_settings *s, const json_t *body, json_t **reply,
			sl_db_done_fn done, void *arg, struct sl_error *err)
{
	static const char *const known[] = {"name", "days", NULL};
	char text[SL_SECRET_BYTES], hex[2 * SL_SECRET_HASH_BYTES + 1], id[SL_ULID_BYTES];
	unsigned char hash[SL_SECRET_HASH_BYTES];
	const char *name = NULL;
	int64_t days = 0;
	int rc = sl_json_known(body, known, err);
	if (!rc && json_object_get(body, "name"))
		rc = sl_json_name(body, &name, err);
	if (!rc)
		rc = sl_json_int(body, "days", 1, 36500, &days, err);
	if (!rc && json_array_size(items_of(s)) >= MOST_TOKENS)
		rc = sl_error_set(err, SL_TOOBIG, "there can be at most %d tokens of workers; revoke one", MOST_TOKENS);
	if (rc)
		return rc;
	sl_worker_token_make(u, text, hash);
	snprintf(id, sizeof id, "%.*s", SL_ULID_BYTES - 1, text + 4);
	sodium_bin2hex(hex, sizeof hex, hash, sizeof hash);
	json_t *items = copy_of(s);
	json_t *o = json_pack("{s:s, s:s?, s:I, s:o, s:n, s:n, s:s}", "id", id, "name", name, "created",
			      (json_int_t)now_s(), "expires", days ? json_integer(now_s() + days * DAY_S) : json_null(),
			      "last_used", "engine", "hash", hex);
	*reply = o ? shown(o) : NULL;
	if (!items || !*reply || json_array_append_new(items, o) ||
	    json_object_set_new(*reply, "token", json_string(text))) {
		json_decref(items);
		json_decref(*reply);
		*reply = NULL;
		return sl_error_memory(err, "a token");
	}
	sodium_memzero(text, sizeof text);
	rc = put(s, items, done, arg, err);
	if (rc) {
		json_decref(*reply);
		*reply = NULL;
	}
	return rc;
}

static json_t *find(json_t *items, const char *id, size_t *at)
{
	size_t i;
	json_t *o;
	json_array_foreach(items, i, o) {
		*at = i;
		if (same_text(o, "id", id))
			return o;
	}
	return NULL;
}

int sl_worker_token_remove(struct sl_settings *s, const char *id, sl_db_done_fn done, void *arg, struct sl_error *err)
{
	json_t *items = copy_of(s);
	size_t at;
	if (!items)
		return sl_error_memory(err, "the tokens of workers");
	if (!find(items, id, &at)) {
		json_decref(items);
		return sl_error_set(err, SL_NOTFOUND, "there is no token %.64s of workers", id);
	}
	json_array_remove(items, at);
	return put(s, items, done, arg, err);
}

static void note_use(struct sl_settings *s, const char *id, const char *engine)
{
	json_t *items = copy_of(s);
	size_t at;
	json_t *o = items ? find(items, id, &at) : NULL;
	struct sl_error err;
	if (!o || (now_s() - whole(o, "last_used") < USED_EVERY_S && same_text(o, "engine", engine))) {
		json_decref(items);
		return;
	}
	json_object_set_new(o, "last_used", json_integer(now_s()));
	json_object_set_new(o, "engine", json_string(engine));
	put(s, items, NULL, NULL, &err);
}

bool sl_worker_token_identify(struct sl_settings *s, const unsigned char hash[SL_SECRET_HASH_BYTES], const char *engine,
			      char id[SL_ULID_BYTES])
{
	char hex[2 * SL_SECRET_HASH_BYTES + 1];
	size_t i;
	json_t *o, *found = NULL;
	sodium_bin2hex(hex, sizeof hex, hash, SL_SECRET_HASH_BYTES);
	json_array_foreach((json_t *)items_of(s), i, o) {
		const char *kept = json_string_value(json_object_get(o, "hash"));
		if (kept && strlen(kept) == sizeof hex - 1 && !sodium_memcmp(kept, hex, sizeof hex - 1) && is_valid(o))
			found = o;
	}
	if (!found)
		return false;
	snprintf(id, SL_ULID_BYTES, "%s", json_string_value(json_object_get(found, "id")));
	note_use(s, id, engine);
	return true;
}

bool sl_worker_token_is_valid(const struct sl_settings *s, const char *id)
{
	size_t at;
	const json_t *o = find((json_t *)items_of(s), id, &at);
	return o && is_valid(o);
}

bool sl_worker_tokens_know(const struct sl_settings *s, const char *engine)
{
	size_t i;
	json_t *o;
	json_array_foreach((json_t *)items_of(s), i, o)
		if (is_valid(o) && same_text(o, "engine", engine))
			return true;
	return false;
}
