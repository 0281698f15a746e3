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
	if (sl__user_by_name(u, name))
		return sl_error_field(err, SL_CONFLICT, "/name", "there already is a user %s", name);
	if (u->all.count >= MOST_USERS)
		return sl_error_set(err, SL_TOOBIG, "there can be at most %d users", MOST_USERS);
	struct sl__user *user = calloc(1, sizeof *user);
	if (!user)
		return sl_error_memory(err, "a user");
	sl_ulid_make(user->id);
	snprintf(user->name, sizeof user->name, "%s", name);
	user->role = role;
	sl__account_init(&user->account, user, NULL);
	int rc = sl__user_put(u, user, NULL, done, arg);
	if (rc) {
		sl__user_destroy(user);
		return sl_error_set(err, rc, "the user cannot be recorded");
	}
	sl__user_insert(u, user);
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

int sl_users_change(struct sl_users *u, const char *name, const json_t *body, sl_db_done_fn done, void *arg,
		    struct sl_error *err)
{
	static const char *const known[] = {"role", "limits", "project", NULL};
	struct sl__user *user = sl__user_by_name(u, name);
	if (!user)
		return sl__user_not_found(name, err);
	json_t *document = sl__user_document(user);
	enum sl_role before = user->role;
	double limits[SL_LIMITS];
	char project[SL_ULID_BYTES];
	memcpy(limits, user->account.limit, sizeof limits);
	memcpy(project, user->project, sizeof project);
	int rc = document ? sl_json_known(body, known, err) : sl_error_memory(err, "the change");
	if (!rc)
		rc = read_role(body, &user->role, err);
	if (!rc && json_object_get(body, "limits"))
		rc = sl__limits_read(&user->account, json_object_get(body, "limits"), err);
	if (!rc)
		rc = read_project(u, user, body, err);
	if (!rc && (rc = sl__user_put(u, user, json_incref(document), done, arg)))
		sl_error_set(err, rc, "the change cannot be recorded");
	if (rc) {
		user->role = before;
		memcpy(user->account.limit, limits, sizeof limits);
		memcpy(user->project, project, sizeof project);
	}
	json_decref(document);
	return rc;
}

int sl_users_remove(struct sl_users *u, const char *name, sl_db_done_fn done, void *arg, struct sl_error *err)
{
	struct sl__user *user = sl__user_by_name(u, name);
	if (!user)
		return sl__user_not_found(name, err);
	json_t *document = sl__user_document(user);
	int rc = document ? sl__record(u, SL_DB_USERS, user->id, document, NULL, done, arg) : SL_NOMEM;
	if (rc)
		return sl_error_set(err, rc, "the change cannot be recorded");
	sl__user_destroy(user);  /* its tokens become invalid at once */
	return 0;
}

/* ---- logged in by a proxy --------------------------------------------------------------- */

static int check_role(const char *text, enum sl_role *role, struct sl_error *err)
{
	*role = text ? sl__role_of(text) : SL_ROLE_NONE;
	return *role || !text ? 0 : sl_error_field(err, SL_BADPARAM, "/role", "the proxy sent the role '%.32s'; it "
						   "must be reader, user or administrator", text);
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
	if (!user && (rc = add(u, name, told ? told : sl__role_of(fresh), NULL, NULL, err)))
		return rc;
	user = sl__user_by_name(u, name);
	if (*news == SL_PROXY_NEW_ROLE) {
		json_t *before = sl__user_document(user);
		user->role = told;
		if (before)
			sl__user_put(u, user, before, NULL, NULL);
	}
	*out = sl__user_principal(user);
	out->until_ms = (int64_t)sl_time_now_ms() + PROXY_MS;
	out->proxy = true;
	return 0;
}
