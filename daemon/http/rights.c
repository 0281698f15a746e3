/* Questions about a sender's rights (users.h): to the resource in the path, while the request waits, and to what a
 * reply lists. Nothing here replies. */
#include <string.h>

#include "daemon/http/http_internal.h"
#include "daemon/users/projects.h"
#include "daemon/util/ulid.h"

const struct sl_principal *sl_request_who(const struct sl_request *r)
{
	return &r->who;
}

const char *sl_request_whose(const struct sl_request *r)
{
	return !r ? "" : r->who.user[0] ? r->who.user : r->who.token;
}

bool sl_request_sees(const struct sl_request *r, const char *id)
{
	return !sl_users_may(r->http->d->users, &r->who, SL_VERB_READ, id);
}

bool sl_request_lists(const struct sl_request *r, const char *id)
{
	const struct sl_users *u = r->http->d->users;
	const char *name = sl_request_query(r, "user"), *user = name ? sl_users_id(u, name) : NULL;
	return (!name || (user && sl_users_owns(u, user, id))) && sl_request_sees(r, id);
}

int sl_request_check_user(const struct sl_request *r, struct sl_error *err)
{
	const char *name = sl_request_query(r, "user");
	return !name || sl_users_id(r->http->d->users, name) ? 0 :
	       sl_error_field(err, SL_NOTFOUND, "?user", "there is no user %.64s", name);
}

void sl_request_tell(const struct sl_request *r, json_t *record)
{
	sl_users_tell(r->http->d->users, &r->who, record);
}

int sl_request_for(struct sl_request *r, const char *name, const char *pointer, struct sl_error *err)
{
	return sl_project_of(r->http->d->users, &r->who, name, pointer, r->who.project, err);
}

int sl_request_body_for(struct sl_request *r, const json_t *body, struct sl_error *err)
{
	const json_t *project = json_object_get(body, "project");
	const char *name = json_is_null(project) ? "" : json_string_value(project);
	if (project && (!name || (!name[0] && !json_is_null(project))))
		return sl_error_field(err, SL_BADPARAM, "/project", "project must be the name of a project, or null for none");
	return sl_request_for(r, name, "/project", err);
}

const char *sl__rights_thing(const struct sl_request *r)
{
	const char *pattern = r->checked ? r->route->pattern : "";
	return strstr(pattern, "{id}") ? sl_request_path(r, "id") :
	       strstr(pattern, "{graph}") ? sl_request_path(r, "graph") : NULL;
}

bool sl__rights_still(struct sl_request *r)
{
	const char *id = sl__rights_thing(r);
	return sl_users_still(r->http->d->users, &r->who) &&
	       (!id || !sl_users_may(r->http->d->users, &r->who, (enum sl_verb)r->route->verb, id));
}

int sl__rights_now(struct sl_request *r)
{
	struct sl_users *u = r->http->d->users;
	if (!r->checked || (!r->who.user[0] && r->who.role != SL_ROLE_LINK))
		return 0;
	if (!sl_users_still(u, &r->who))
		return 401;
	return sl_users_may(u, &r->who, (enum sl_verb)r->route->verb, sl__rights_thing(r));
}

bool sl__rights_lost(struct sl_request *r)
{
	return r->state == SL__PARKED && !r->reply && !strcmp(r->route->method, "GET") && sl__rights_now(r);
}

void sl__rights_filter(const struct sl_request *r, json_t *document)
{
	json_t *items = json_object_get(document, "items");
	bool all = !sl_users_limited(&r->who) && !sl_request_query(r, "user");
	if (!r->checked || r->route->verb != SL_VERB_LOOK || all || !json_is_array(items))
		return;
	for (size_t i = json_array_size(items); i-- > 0;) {
		const char *id = json_string_value(json_object_get(json_array_get(items, i), "id"));
		if (id && sl_ulid_valid(id) && !sl_request_lists(r, id))
			json_array_remove(items, i);
	}
}

/* ---- for the audit log ---- */

/* True for changes and refusals, if the server requires tokens. */
bool sl__rights_is_event(const struct sl_request *r)
{
	bool change = r->checked && r->route->verb != SL_VERB_OPEN && strcmp(r->route->method, "GET");
	return sl__auth_needed(r->http->auth) && (change || r->status == 401 || r->status == 403);
}

void sl__rights_note_reply(struct sl_request *r, int status, const json_t *document)
{
	const char *id = json_string_value(json_object_get(document, "id"));
	const char *name = json_string_value(json_object_get(document, "name"));
	if (status >= 300 || sl_ulid_valid(r->object) || !r->checked || !sl__rights_is_event(r))
		return;
	if (id && sl_ulid_valid(id))
		snprintf(r->object, sizeof r->object, "%s", id);
	else if (name && !r->object[0])
		snprintf(r->object, sizeof r->object, "%s", name);
}
