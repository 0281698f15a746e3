/* Adds, changes and removes users: for an administrator, or for a proxy that has logged a user in. */
#include "daemon/users/users_internal.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/json/json.h"
#include "daemon/util/time_text.h"

#define MOST_USERS 10000
#define PROXY_MS (12 * 3600 * (int64_t)1000)  /* time that streams stay open without a new login by the proxy */

static int read_role(const json_t *body, enum sl_role *role, struct sl_error *err)
{
	const char *text = NULL;
	int rc = sl_json_string(body, "role", &text, err);
	if (rc || !text)
		return rc;
	*role = sl__role_of(text);
	return *role ? 0 : sl_error_field(err, SL_BADPARAM, "/role", "role must be reader, user or administrator, not "
					  "'%.32s'", text);
}

static int add(struct sl_users *u, const char *name, enum sl_role role, sl_db_done_fn done, void *arg,
	       struct sl_error *err)
{
	char normal[SL_USER_NAME_BYTES];
	int rc = sl__name_read(name, normal, err);
	if (rc)
		return rc;
	if (sl__user_by_name(u, name))
		return sl_error_field(err, SL_CONFLICT, "/name", "there already is a user %s", name);
	if (u->all.count >= MOST_USERS)
		return sl_error_set(err, SL_TOOBIG, "there can be at most %d users", MOST_USERS);
	struct sl__user *user = calloc(1, sizeof *user);
	if (!user)
		return sl_error_memory(err, "a user");
	sl_ulid_make(user->id);
	snprintf(user->name, sizeof user->name, "%s", normal);
	user->role = role;
	sl__account_init(&user->account, user, NULL);
	rc = sl__user_put(u, user, NULL, done, arg);
	if (rc) {
		sl__user_destroy(user);
		return sl_error_set(err, rc, "the user cannot be recorded");
	}
	sl__user_insert(u, user);
	return 0;
}

/* ---- deleted users ------------------------------------------------------------------ */

/* Those of this name; *last: the last one. */
static int count_deleted(const struct sl_users *u, const char *name, struct sl__user **last)
{
	char wanted[SL_USER_NAME_BYTES], own[SL_USER_NAME_BYTES];
	int count = 0;
	sl__name_fold(name, wanted);
	SL_LIST_EACH(struct sl__user, user, &u->all, link) {
		if (user->state != SL_USER_DELETED)
			continue;
		sl__name_fold(user->name, own);
		if (!strcmp(own, wanted)) {
			*last = user;
			count++;
		}
	}
	return count;
}

static int find_deleted(const struct sl_users *u, const char *name, const json_t *which, struct sl__user **out,
			struct sl_error *err)
{
	const char *id = json_string_value(which);
	int count = count_deleted(u, name, out);
	if (id)
		*out = sl_ulid_valid(id) ? sl__user_by_id(u, id) : NULL;
	if (id && (!*out || (*out)->state != SL_USER_DELETED))
		return sl_error_field(err, SL_NOTFOUND, "/restore", "there is no deleted user %s with the id %.32s", name, id);
	if (!count)
		return sl_error_field(err, SL_NOTFOUND, "/restore", "there is no deleted user %s", name);
	if (!id && count > 1)
		return sl_error_field(err, SL_CONFLICT, "/restore", "%d deleted users were called %s; give restore the id of "
				      "one of them (GET /v1/users?state=deleted)", count, name);
	return 0;
}

/* Puts a user, whose fields have changed, in the place of its name, and records it. Undoes nothing. */
static int put_changed(struct sl_users *u, struct sl__user *user, json_t *before, sl_db_done_fn done, void *arg)
{
	sl__user_take_out(user);
	sl__user_insert(u, user);
	return sl__user_put(u, user, json_incref(before), done, arg);
}

/* As it was before a change that cannot be recorded. */
static void restore_fields(struct sl_users *u, struct sl__user *user, const struct sl__user *was)
{
	sl__user_take_out(user);
	memcpy(user->name, was->name, sizeof user->name);
	memcpy(user->project, was->project, sizeof user->project);
	memcpy(user->account.limit, was->account.limit, sizeof user->account.limit);
	user->role = was->role;
	user->state = was->state;
	user->since_ms = was->since_ms;
	user->erase = was->erase;
	sl__user_insert(u, user);
}

static int restore(struct sl_users *u, struct sl__user *user, enum sl_role role, sl_db_done_fn done, void *arg,
		   struct sl_error *err)
{
	const struct sl__user was = *user;
	json_t *before = sl__user_document(user);
	if (sl__user_by_name(u, user->name)) {
		json_decref(before);
		return sl_error_field(err, SL_CONFLICT, "/name", "there already is a user %s; rename that one first, or "
				      "transfer the things of the deleted one", user->name);
	}
	user->state = SL_USER_ACTIVE;
	user->since_ms = 0;
	user->erase = false;
	user->role = role ? role : user->role;
	int rc = before ? put_changed(u, user, before, done, arg) : SL_NOMEM;
	json_decref(before);
	if (!rc)
		return 0;
	restore_fields(u, user, &was);
	return sl_error_set(err, rc, "the user cannot be recorded");
}

/* Reads "restore": true, or an id; NULL: not wanted. */
static int read_restore(const json_t *body, const json_t **out, struct sl_error *err)
{
	const json_t *value = json_object_get(body, "restore");
	*out = json_is_true(value) || json_is_string(value) ? value : NULL;
	if (!value || *out || json_is_false(value))
		return 0;
	return sl_error_field(err, SL_BADPARAM, "/restore", "restore must be true, false, or the id of a deleted user");
}

int sl_users_add(struct sl_users *u, const json_t *body, int *earlier, sl_db_done_fn done, void *arg,
		 struct sl_error *err)
{
	static const char *const known[] = {"name", "role", "restore", NULL};
	const char *name = NULL;
	const json_t *which = NULL;
	struct sl__user *deleted = NULL;
	char normal[SL_USER_NAME_BYTES];
	enum sl_role role = SL_ROLE_NONE;
	int rc = sl_json_known(body, known, err);
	*earlier = 0;
	if (!rc)
		rc = sl_json_string(body, "name", &name, err);
	if (!rc)
		rc = sl__name_read(name, normal, err);
	if (!rc)
		rc = read_role(body, &role, err);
	if (!rc)
		rc = read_restore(body, &which, err);
	if (!rc && which)
		rc = find_deleted(u, name, which, &deleted, err);
	if (rc)
		return rc;
	if (which)
		return restore(u, deleted, role, done, arg, err);
	*earlier = count_deleted(u, name, &deleted);
	return add(u, name, role ? role : SL_ROLE_USER, done, arg, err);
}

/* Reads the user's default project. */
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

/* The caller puts the user in the place of the new name. */
static int read_name(const struct sl_users *u, struct sl__user *user, const json_t *body, struct sl_error *err)
{
	const char *name = NULL;
	int rc = sl_json_string(body, "name", &name, err);
	if (rc || !json_object_get(body, "name"))
		return rc;
	const struct sl__user *other = name ? sl__user_by_name(u, name) : NULL;
	char normal[SL_USER_NAME_BYTES];
	rc = sl__name_read(name, normal, err);
	if (!rc && other && other != user)
		rc = sl_error_field(err, SL_CONFLICT, "/name", "there already is a user %s", name);
	if (!rc && user->state == SL_USER_DELETED)
		rc = sl_error_field(err, SL_CONFLICT, "/name", "user %s was deleted; restore the user first", user->name);
	if (!rc)
		snprintf(user->name, sizeof user->name, "%s", normal);
	return rc;
}

static int read_disabled(struct sl__user *user, const json_t *body, struct sl_error *err)
{
	bool before = user->state == SL_USER_DISABLED, disabled = before;
	int rc = sl_json_bool(body, "disabled", &disabled, err);
	if (rc || !json_object_get(body, "disabled"))
		return rc;
	if (user->state == SL_USER_DELETED)
		return sl_error_field(err, SL_CONFLICT, "/disabled", "user %s was deleted; restore the user first", user->name);
	user->state = disabled ? SL_USER_DISABLED : SL_USER_ACTIVE;
	if (disabled != before)
		user->since_ms = disabled ? (int64_t)sl_time_now_ms() : 0;
	return 0;
}

int sl_users_change(struct sl_users *u, const char *name, const json_t *body, sl_db_done_fn done, void *arg,
		    struct sl_error *err)
{
	static const char *const known[] = {"name", "role", "disabled", "limits", "project", NULL};
	struct sl__user *user = sl__user_of(u, name);
	if (!user)
		return sl__user_not_found(name, err);
	json_t *document = sl__user_document(user);
	const struct sl__user was = *user;
	int rc = document ? sl_json_known(body, known, err) : sl_error_memory(err, "the change");
	sl__user_take_out(user);
	if (!rc)
		rc = read_role(body, &user->role, err);
	if (!rc)
		rc = read_disabled(user, body, err);
	if (!rc && json_object_get(body, "limits"))
		rc = sl__limits_read(&user->account, json_object_get(body, "limits"), err);
	if (!rc)
		rc = read_project(u, user, body, err);
	if (!rc)
		rc = read_name(u, user, body, err);
	if (!rc && (rc = put_changed(u, user, document, done, arg)))
		sl_error_set(err, rc, "the change cannot be recorded");
	if (rc)
		restore_fields(u, user, &was);
	else if (strcmp(was.name, user->name) != 0)
		sl__accounting_renamed(u, user->id, user->name);
	json_decref(document);
	return rc;
}

/* Keeps the record of a user who owns things, without tokens. */
static int set_deleted(struct sl_users *u, struct sl__user *user, bool erase, sl_db_done_fn done, void *arg)
{
	const struct sl__user was = *user;
	json_t *before = sl__user_document(user), *after = NULL;
	if (user->state != SL_USER_DELETED)
		user->since_ms = (int64_t)sl_time_now_ms();
	user->state = SL_USER_DELETED;
	user->erase = erase;
	if (before && (after = sl__user_document(user)) && !json_object_set_new(after, "tokens", json_array()) &&
	    !sl__record(u, SL_DB_USERS, user->id, json_incref(before), after, done, arg)) {
		SL_LIST_EACH(struct sl__token, t, &user->tokens, link)
			sl__token_destroy(t);
		sl__user_take_out(user);
		sl__user_insert(u, user);
		json_decref(before);
		json_decref(after);
		return 0;
	}
	user->state = was.state;
	user->since_ms = was.since_ms;
	user->erase = was.erase;
	json_decref(before);
	json_decref(after);
	return SL_NOMEM;
}

static int forget(struct sl_users *u, struct sl__user *user, sl_db_done_fn done, void *arg)
{
	json_t *document = sl__user_document(user);
	int rc = document ? sl__record(u, SL_DB_USERS, user->id, document, NULL, done, arg) : SL_NOMEM;
	u->any_gone = true;  /* a job may have been submitted by this user and be owned by another one */
	if (!rc)
		sl__user_destroy(user);  /* its tokens become invalid at once */
	return rc;
}

int sl_users_remove(struct sl_users *u, const char *name, bool erase, sl_db_done_fn done, void *arg,
		    struct sl_error *err)
{
	struct sl__user *user = sl__user_of(u, name);
	if (!user)
		return sl__user_not_found(name, err);
	int rc = sl__access_owned(u, user->id) ? set_deleted(u, user, erase, done, arg) : forget(u, user, done, arg);
	return rc ? sl_error_set(err, rc, "the change cannot be recorded") : 0;
}

void sl_users_each_erased(struct sl_users *u, void (*each)(void *arg, const char *id), void *arg)
{
	SL_LIST_EACH(struct sl__user, user, &u->all, link)
		if (user->erase)
			each(arg, user->id);
}

bool sl_users_bury(struct sl_users *u, const char *id)
{
	struct sl__user *user = sl__user_by_id(u, id);
	return user && user->state == SL_USER_DELETED && !sl__access_owned(u, id) && !forget(u, user, NULL, NULL);
}

void sl_users_bury_all(struct sl_users *u)
{
	SL_LIST_EACH(struct sl__user, user, &u->all, link)
		sl_users_bury(u, user->id);
}

/* ---- logged in by a proxy --------------------------------------------------------------- */

static int check_role(const char *text, enum sl_role *role, struct sl_error *err)
{
	*role = text ? sl__role_of(text) : SL_ROLE_NONE;
	return *role || !text ? 0 : sl_error_field(err, SL_BADPARAM, "/role", "the proxy sent the role '%.32s'; it "
						   "must be reader, user or administrator", text);
}

/* The role of the user's groups, or of new users; NONE: the user is refused. */
static enum sl_role role_of(const struct sl_proxy_login *l, enum sl_role told)
{
	enum sl_role given = l->groups && l->group_roles[0] ? sl__groups_role(l->groups, l->group_roles) : SL_ROLE_NONE;
	if (told || !l->groups || !l->group_roles[0])
		return told;
	return given ? given : l->fresh ? sl__role_of(l->fresh) : SL_ROLE_NONE;
}

static int may_enter(const struct sl__user *user, const struct sl_proxy_login *l, enum sl_role role,
		     struct sl_error *err)
{
	bool by_groups = l->groups && l->group_roles[0];
	if (user && user->state == SL_USER_DISABLED)
		return sl_error_set(err, SL_CONFLICT, "user %.64s is disabled; an administrator lets the user in again with "
				    "spaceland user enable", user->name);
	if (by_groups && !role)
		return sl_error_set(err, SL_NOTFOUND, "none of the groups of %.64s has a role here (proxy_group_roles)",
				    l->name);
	if (!user && !l->fresh && !by_groups)
		return sl_error_set(err, SL_NOTFOUND, "there is no user %.64s; an administrator adds one with spaceland user "
				    "add, or lets the server do so by proxy_new_users", l->name);
	return 0;
}

int sl_users_by_proxy(struct sl_users *u, const struct sl_proxy_login *l, struct sl_principal *out,
		      enum sl_proxy_news *news, struct sl_error *err)
{
	struct sl__user *user = sl__user_by_name(u, l->name);
	char normal[SL_USER_NAME_BYTES];
	enum sl_role role;
	int rc = check_role(l->role, &role, err);
	if (!rc && !user)
		rc = sl__name_read(l->name, normal, err);
	role = rc ? SL_ROLE_NONE : role_of(l, role);
	if (!rc)
		rc = may_enter(user, l, role, err);
	if (rc)
		return rc;
	*news = !user ? SL_PROXY_NEW_USER : role && role != user->role ? SL_PROXY_NEW_ROLE : SL_PROXY_NOTHING;
	if (!user && (rc = add(u, l->name, role ? role : sl__role_of(l->fresh), NULL, NULL, err)))
		return rc;
	user = sl__user_by_name(u, l->name);
	if (*news == SL_PROXY_NEW_ROLE) {
		json_t *before = sl__user_document(user);
		user->role = role;
		if (before)
			sl__user_put(u, user, before, NULL, NULL);
	}
	if (l->groups && sl__groups_join(u, user, l->groups, l->group_projects) && *news == SL_PROXY_NOTHING)
		*news = SL_PROXY_NEW_PROJECTS;
	*out = sl__user_principal(user);
	out->until_ms = (int64_t)sl_time_now_ms() + PROXY_MS;
	out->proxy = true;
	return 0;
}
