/* The records of users: as they are in the data base, and as clients see them. */
#include "core/meant.h"
#include "daemon/users/users_internal.h"

#include <stdlib.h>
#include <string.h>


/* ---- documents -------------------------------------------------------------------------- */

static json_t *user_json(const struct sl__user *user, bool kept)
{
	json_t *tokens = json_array();
	SL_LIST_EACH(struct sl__token, t, &user->tokens, link)
		json_array_append_new(tokens, sl__token_json(t, kept));
	json_t *o = json_pack("{s:s, s:s, s:s, s:I, s:o, s:o}", "id", user->id, "name", user->name, "role",
			      sl__role_names[user->role], "created", (json_int_t)(sl_ulid_time_ms(user->id) / 1000), "tokens",
			      tokens, "limits", sl__limits_json(&user->account));
	if (o) {
		json_object_set_new(o, "state", json_string(sl__user_states[user->state]));
		json_object_set_new(o, "since", user->state ? json_integer(user->since_ms / 1000) : json_null());
	}
	if (o && user->state == SL_USER_DELETED)
		json_object_set_new(o, "erase", json_boolean(user->erase));
	if (kept && o)
		json_object_set_new(o, "project", json_string(user->project));
	return o;
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
	sl__user_take_out(user);
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

static void load_state(struct sl__user *user, const json_t *document)
{
	const char *state = json_string_value(json_object_get(document, "state"));
	int known = sl_word_index(sl__user_states, SL_USER_DELETED + 1, state);
	if (known >= SL_USER_DISABLED)
		user->state = (enum sl_user_state)known;
	user->since_ms = json_integer_value(json_object_get(document, "since")) * 1000;
	user->erase = json_is_true(json_object_get(document, "erase"));
}

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
	load_state(user, document);
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

json_t *sl_users_list(const struct sl_users *u, bool deleted)
{
	json_t *items = json_array();
	SL_LIST_EACH(struct sl__user, user, &u->all, link)
		if ((user->state == SL_USER_DELETED) == deleted)
			json_array_append_new(items, told_json(u, user));
	return items;
}

json_t *sl_users_json(const struct sl_users *u, const char *name)
{
	struct sl__user *user = sl__user_of(u, name);
	json_t *o = user ? told_json(u, user) : NULL;
	if (o)
		json_object_set_new(o, "things", json_integer(sl__access_owned(u, user->id)));
	return o;
}
