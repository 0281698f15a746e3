/* Public links: records of the data base, found by their ids. */
#include "daemon/users/links.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "daemon/users/users_internal.h"
#include "daemon/json/json.h"
#include "daemon/util/seen.h"
#include "daemon/util/time_text.h"

#define MOST_LINKS 100       /* most links of one thing */
#define SECONDS_INITIAL (7 * 86400)
#define SECONDS_MOST (3660 * (int64_t)86400)

struct sl__public_link {
	struct sl_link link, in_linked; /* in its buckets */
	char id[SL_ULID_BYTES], thing[SL_ULID_BYTES];
	char user[SL_ULID_BYTES];       /* id of its maker; "": an administrator by token_file */
	char *name;                     /* shown to users, or NULL */
	json_t *labels;                 /* columns of the graph's labels that it shows: an array of names */
	bool names;                     /* it shows the names of nodes */
	int64_t expires_ms;             /* since 1970 */
	unsigned char hash[SL__TOKEN_HASH];
};

static struct sl_list *bucket(const struct sl_users *u, const char *id)
{
	return (struct sl_list *)&u->links[sl_list_hash(id, SL_ULID_BYTES - 1) % SL__LINK_BUCKETS];
}

static struct sl_list *bucket_of_thing(const struct sl_users *u, const char *thing)
{
	return (struct sl_list *)&u->linked[sl_list_hash(thing, SL_ULID_BYTES - 1) % SL__LINK_BUCKETS];
}

static void insert(struct sl_users *u, struct sl__public_link *l)
{
	sl_list_append(bucket(u, l->id), &l->link);
	sl_list_append(bucket_of_thing(u, l->thing), &l->in_linked);
}

/* id: 26 characters; further ones are ignored. */
static struct sl__public_link *find(const struct sl_users *u, const char *id)
{
	return SL_LIST_FIND(struct sl__public_link, l, bucket(u, id), link, !memcmp(l->id, id, SL_ULID_BYTES - 1));
}

static void destroy(struct sl__public_link *l)
{
	sl_list_unlink(&l->link);
	sl_list_unlink(&l->in_linked);
	json_decref(l->labels);
	free(l->name);
	free(l);
}

void sl__link_drop(struct sl_users *u, const char *id)
{
	struct sl__public_link *l = find(u, id);
	if (l)
		destroy(l);
}

void sl__links_destroy(struct sl_users *u)
{
	for (int i = 0; i < SL__LINK_BUCKETS; i++)
		SL_LIST_EACH(struct sl__public_link, l, &u->links[i], link)
			destroy(l);
}

/* Returns true if its maker may still change the thing, or might but for being disabled or deleted. */
static bool is_of_maker(const struct sl_users *u, const struct sl__public_link *l)
{
	const struct sl__user *maker = l->user[0] ? sl__user_by_id(u, l->user) : NULL;
	if (!l->user[0])
		return true;
	return maker && (maker->role == SL_ROLE_ADMINISTRATOR ||
			 (maker->role == SL_ROLE_USER && sl_users_owns(u, maker->id, l->thing)));
}

static bool is_in(const struct sl_users *u, const struct sl__public_link *l)
{
	const struct sl__user *maker = l->user[0] ? sl__user_by_id(u, l->user) : NULL;
	return !l->user[0] || (maker && !maker->state);
}

static bool good(const struct sl_users *u, const struct sl__public_link *l)
{
	return (int64_t)sl_time_now_ms() < l->expires_ms && is_of_maker(u, l) && is_in(u, l);
}

bool sl__link_identify(const struct sl_users *u, const char *text, struct sl_principal *out)
{
	unsigned char hash[SL__TOKEN_HASH];
	const struct sl__public_link *l = find(u, text + 4);
	sl_users_secret_hash(u, text, hash);
	if (!l || sodium_memcmp(hash, l->hash, sizeof hash) || !good(u, l))
		return false;
	*out = (struct sl_principal){.role = SL_ROLE_LINK, .until_ms = l->expires_ms};
	memcpy(out->thing, l->thing, sizeof out->thing);
	memcpy(out->token, l->id, sizeof out->token);
	memcpy(out->account, l->user, sizeof out->account);
	snprintf(out->name, sizeof out->name, "link-%s", l->id);
	return true;
}

static bool lists(const json_t *names, const char *wanted)
{
	size_t i;
	json_t *name;
	json_array_foreach(names, i, name)
		if (!strcmp(json_string_value(name), wanted))
			return true;
	return false;
}

bool sl__link_shows(const struct sl_users *u, const struct sl_principal *p, const char *column,
		    struct sl_principal *maker)
{
	const struct sl__public_link *l = find(u, p->token);
	const struct sl__user *user = l && l->user[0] ? sl__user_by_id(u, l->user) : NULL;
	*maker = (struct sl_principal){.role = user ? user->role : SL_ROLE_ADMINISTRATOR};
	if (!l || !good(u, l))
		return false;
	memcpy(maker->user, l->user, sizeof maker->user);
	return column ? lists(l->labels, column) : l->names;
}

bool sl__link_still(const struct sl_users *u, const struct sl_principal *p)
{
	const struct sl__public_link *l = find(u, p->token);
	return l && good(u, l);
}

/* ---- records -------------------------------------------------------------------------------- */

static json_t *link_json(const struct sl__public_link *l)
{
	return json_pack("{s:s, s:s, s:s?, s:I, s:I, s:O, s:b}", "id", l->id, "job", l->thing, "name", l->name, "created",
			 (json_int_t)(sl_ulid_time_ms(l->id) / 1000), "expires", (json_int_t)(l->expires_ms / 1000),
			 "labels", l->labels, "names", l->names);
}

static json_t *kept_json(const struct sl__public_link *l)
{
	char hash[2 * SL__TOKEN_HASH + 1];
	json_t *o = link_json(l);
	if (o) {
		json_object_set_new(o, "user", json_string(l->user));
		json_object_set_new(o, "hash", json_string(sodium_bin2hex(hash, sizeof hash, l->hash, sizeof l->hash)));
	}
	return o;
}

int sl__link_load(void *arg, const char *id, json_t *o)
{
	struct sl_users *u = arg;
	const char *thing = json_string_value(json_object_get(o, "job"));
	const char *user = json_string_value(json_object_get(o, "user"));
	const char *hash = json_string_value(json_object_get(o, "hash"));
	const char *name = json_string_value(json_object_get(o, "name"));
	size_t bytes = 0;
	struct sl__public_link *l = calloc(1, sizeof *l);
	if (!l)
		return SL_NOMEM;
	if (!sl_ulid_valid(id) || !thing || !sl_ulid_valid(thing) || !user || strlen(user) >= sizeof l->user || !hash ||
	    sodium_hex2bin(l->hash, sizeof l->hash, hash, strlen(hash), NULL, &bytes, NULL) || bytes != sizeof l->hash) {
		free(l);
		return SL_DB_PASSED_OVER;
	}
	snprintf(l->id, sizeof l->id, "%s", id);
	snprintf(l->thing, sizeof l->thing, "%s", thing);
	snprintf(l->user, sizeof l->user, "%s", user);
	l->expires_ms = json_integer_value(json_object_get(o, "expires")) * 1000;
	l->name = name ? strdup(name) : NULL;
	const json_t *labels = json_object_get(o, "labels");
	l->labels = json_is_array(labels) ? json_deep_copy(labels) : json_array();
	l->names = json_is_true(json_object_get(o, "names"));
	if ((int64_t)sl_time_now_ms() >= l->expires_ms) {
		sl_db_remove(u->db, SL_DB_LINKS, id, NULL, NULL);
		json_decref(l->labels);
		free(l->name);
		free(l);
		return 0;
	}
	insert(u, l);
	return 0;
}

void sl__links_sweep(struct sl_users *u, bool (*exists)(void *arg, const char *id), void *arg)
{
	for (int i = 0; i < SL__LINK_BUCKETS; i++)
		SL_LIST_EACH(struct sl__public_link, l, &u->links[i], link) {
			if (exists(arg, l->thing))
				continue;
			sl_db_remove(u->db, SL_DB_LINKS, l->id, NULL, NULL);
			destroy(l);
		}
}

int sl__links_transfer(struct sl_users *u, const char *thing, const char *from, const char *to)
{
	int count = 0;
	for (int i = 0; i < SL__LINK_BUCKETS; i++)
		SL_LIST_EACH(struct sl__public_link, l, &u->links[i], link) {
			if (strcmp(l->thing, thing) || strcmp(l->user, from))
				continue;
			json_t *before = kept_json(l), *after;
			snprintf(l->user, sizeof l->user, "%s", to);
			after = kept_json(l);
			if (before && after)
				sl__record(u, SL_DB_LINKS, l->id, json_incref(before), after, NULL, NULL);
			count++;
			json_decref(before);
			json_decref(after);
		}
	return count;
}

static bool is_another(void *gone, const char *id)
{
	return strcmp(gone, id);
}

void sl__links_forget(struct sl_users *u, const char *thing)
{
	sl__links_sweep(u, is_another, (void *)thing);
}

/* ---- requests ------------------------------------------------------------------------------- */

json_t *sl_users_links_json(const struct sl_users *u, const char *thing)
{
	json_t *items = json_array();
	SL_LIST_EACH(const struct sl__public_link, l, bucket_of_thing(u, thing), in_linked)
		if (!strcmp(l->thing, thing) && good(u, l))
			json_array_append_new(items, link_json(l));
	return items;
}

/* Links of who is disabled or deleted count: they are valid again when their maker comes back, or their new owner has
 * them, and what they promised until then must be there. */
int64_t sl_users_linked_until(const struct sl_users *u, const char *thing)
{
	int64_t until_ms = 0, now_ms = (int64_t)sl_seen_now_ms();  /* what is deleted does not follow a clock that jumps */
	SL_LIST_EACH(const struct sl__public_link, l, bucket_of_thing(u, thing), in_linked)
		if (!strcmp(l->thing, thing) && l->expires_ms > until_ms && l->expires_ms > now_ms && is_of_maker(u, l))
			until_ms = l->expires_ms;
	return until_ms;
}

bool sl_users_has_link(const struct sl_users *u, const char *thing)
{
	return sl_users_linked_until(u, thing) > 0;
}

/* Removes all expired links, and counts the remaining ones of the thing. */
static int count_links(struct sl_users *u, const char *thing)
{
	int count = 0;
	for (int i = 0; i < SL__LINK_BUCKETS; i++)
		SL_LIST_EACH(struct sl__public_link, l, &u->links[i], link) {
			if ((int64_t)sl_seen_now_ms() >= l->expires_ms) {
				sl_db_remove(u->db, SL_DB_LINKS, l->id, NULL, NULL);
				destroy(l);
			} else {
				count += !strcmp(l->thing, thing);
			}
		}
	return count;
}

/* Reads the columns that a link shows; the caller has checked that they exist. */
static int read_labels(const json_t *body, json_t **out, struct sl_error *err)
{
	const json_t *labels = json_object_get(body, "labels");
	json_t *name;
	size_t i;
	if (labels && (!json_is_array(labels) || json_array_size(labels) > 257))
		return sl_error_field(err, SL_BADPARAM, "/labels", "labels must be an array of names of columns, at most 257");
	json_array_foreach((json_t *)labels, i, name) {
		char pointer[32];
		snprintf(pointer, sizeof pointer, "/labels/%zu", i);
		if (!json_string_value(name) || json_string_length(name) > 200)
			return sl_error_field(err, SL_BADPARAM, pointer, "labels must hold names of columns");
	}
	*out = labels ? json_deep_copy(labels) : json_array();
	return *out ? 0 : sl_error_memory(err, "a link");
}

int sl_users_link_add(struct sl_users *u, const char *thing, const struct sl_principal *maker, const json_t *body,
		      json_t **reply, sl_db_done_fn done, void *arg, struct sl_error *err)
{
	static const char *const known[] = {"seconds", "name", "labels", "names", NULL};
	char text[SL_SECRET_BYTES];
	const char *name = NULL;
	json_t *labels = NULL;
	bool names = false;
	int64_t seconds = SECONDS_INITIAL;
	int rc = sl_json_known(body, known, err);
	if (!rc)
		rc = sl_json_int(body, "seconds", 1, SECONDS_MOST, &seconds, err);
	if (!rc && json_object_get(body, "name"))
		rc = sl_json_name(body, &name, err);
	if (!rc)
		rc = sl_json_bool(body, "names", &names, err);
	if (!rc && count_links(u, thing) >= MOST_LINKS)
		rc = sl_error_set(err, SL_TOOBIG, "a job can have at most %d links; revoke one", MOST_LINKS);
	if (!rc)
		rc = read_labels(body, &labels, err);
	if (rc)
		return rc;
	struct sl__public_link *l = calloc(1, sizeof *l);
	if (!l || (name && !(l->name = strdup(name)))) {
		free(l);
		json_decref(labels);
		return sl_error_memory(err, "a link");
	}
	l->labels = labels;
	l->names = names;
	sl_ulid_make(l->id);
	snprintf(l->thing, sizeof l->thing, "%s", thing);
	snprintf(l->user, sizeof l->user, "%s", maker->user);
	l->expires_ms = ((int64_t)sl_time_now_ms() / 1000 + seconds) * 1000;
	sl_users_secret_make(u, SL_LINK_PREFIX, l->id, text, l->hash);
	*reply = link_json(l);
	const char *base = u->config->base_url;
	json_t *kept = kept_json(l);
	rc = *reply && kept ? sl__record(u, SL_DB_LINKS, l->id, NULL, kept, done, arg) : SL_NOMEM;
	json_decref(kept);
	if (rc) {
		json_decref(*reply);
		*reply = NULL;
		destroy(l);
		return sl_error_set(err, rc, "the link cannot be recorded");
	}
	json_object_set_new(*reply, "link", json_string(text));
	json_object_set_new(*reply, "path", json_sprintf("/?link=%s#/job/%s", text, thing));
	insert(u, l);
	if (base[0])
		json_object_set_new(*reply, "url", json_sprintf("%s%s?link=%s#/job/%s", base,
								base[strlen(base) - 1] == '/' ? "" : "/", text, thing));
	sodium_memzero(text, sizeof text);
	return 0;
}

int sl_users_link_remove(struct sl_users *u, const char *thing, const char *id, sl_db_done_fn done, void *arg,
			 struct sl_error *err)
{
	struct sl__public_link *l = sl_ulid_valid(id) ? find(u, id) : NULL;
	if (!l || strcmp(l->thing, thing))
		return sl_error_set(err, SL_NOTFOUND, "job %s has no link %.64s", thing, id);
	json_t *before = kept_json(l);
	int rc = before ? sl__record(u, SL_DB_LINKS, id, before, NULL, done, arg) : SL_NOMEM;
	if (rc)
		return sl_error_set(err, rc, "the change cannot be recorded");
	destroy(l);
	return 0;
}
