/* /v1/me, /v1/users, /v1/users/{user} and the tokens of one: each request becomes one call (users.h). */
#include <string.h>

#include "daemon/config/daemon.h"
#include "daemon/jobs/jobs.h"
#include "daemon/people/people.h"
#include "daemon/routes/recorded.h"
#include "daemon/routes/routes.h"
#include "daemon/users/limits.h"
#include "daemon/users/projects.h"

static json_t *add_use(struct sl_request *r, json_t *user, const char *id)
{
	struct sl_daemon *d = sl_request_daemon(r);
	json_t *use = user ? sl_jobs_use_of(d->jobs, id) : NULL;
	if (use)
		json_object_set_new(use, "streams", json_integer(sl_http_user_streams(d->http, id)));
	if (user)
		json_object_set_new(user, "use", use);
	return user;
}

/* GET /v1/me */
void sl_route_me(struct sl_request *r)
{
	static const char *const roles[] = {"none", "reader", "user", "administrator"};
	const struct sl_principal *who = sl_request_who(r);
	json_t *limits = sl_users_limits_json(sl_request_daemon(r)->users, who->user, false);
	json_t *me = json_pack("{s:s?, s:s, s:o}", "name", who->name[0] ? who->name : NULL, "role", roles[who->role],
			       "limits", limits ? limits : json_null());
	json_object_set_new(me, "in_force", sl_users_limits_in_force(sl_request_daemon(r)->users, who->user));
	sl_users_add_projects(sl_request_daemon(r)->users, who->user, me);
	json_object_set_new(me, "token", sl_users_token_used(sl_request_daemon(r)->users, who));
	if (limits)
		me = add_use(r, me, who->user);
	else
		json_object_set_new(me, "use", json_null());
	sl_reply_json(r, 200, me);
}

void sl_route_users_get(struct sl_request *r)
{
	const char *state = sl_request_query(r, "state");
	struct sl_error err;
	if (state && strcmp(state, "deleted")) {
		sl_error_field(&err, SL_BADPARAM, "?state", "state must be deleted; without it, all other users are listed");
		sl_reply_error(r, &err);
		return;
	}
	sl_reply_json(r, 200, json_pack("{s:o, s:n}", "items", sl_users_list(sl_request_daemon(r)->users, state), "next"));
}

void sl_route_user_get(struct sl_request *r)
{
	const char *name = sl_request_path(r, "user");
	json_t *user = sl_users_json(sl_request_daemon(r)->users, name);
	const char *id = json_string_value(json_object_get(user, "id"));
	if (user) {
		json_object_set_new(user, "in_force", sl_users_limits_in_force(sl_request_daemon(r)->users, id));
		sl_reply_json(r, 200, add_use(r, user, id));
	}
	else
		sl_reply_problem(r, SL_NOTFOUND, "there is no user %.64s", name);
}

/* ---- changes ------------------------------------------------------------------------- */

static json_t *record(const struct sl_recorded *w)
{
	return sl_users_json(w->d->users, w->name);
}

static int add(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	int earlier, rc = sl_users_add(w->d->users, body, &earlier, sl__recorded_done, w, err);
	if (!rc && earlier)
		sl_reply_header(w->r, "Spaceland-Note", "\"This is a new person: what a deleted user of this name owns stays "
				"theirs. To bring that user back, use restore.\"");
	else if (!rc && !w->d->config.token_file[0])
		sl_reply_header(w->r, "Spaceland-Note", "\"The server needs no tokens: whoever reaches it is an administrator. "
				"Set token_file in its configuration, so that users have rights and limits of their own.\"");
	w->rights = json_object_get(body, "restore");
	if (!rc)
		snprintf(w->name, sizeof w->name, "%s", json_string_value(json_object_get(body, "name")));
	return rc;
}

/* The path may have the user's id. */
static void end_streams(struct sl_recorded *w)
{
	const char *id = sl_users_id(w->d->users, w->name), *name = id ? sl_users_name(w->d->users, id) : NULL;
	snprintf(w->ends, sizeof w->ends, "%s", name ? name : "");
}

static int change(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	const char *fresh = json_string_value(json_object_get(body, "name"));
	w->rights = json_object_get(body, "role") || json_object_get(body, "disabled") || fresh;
	if (w->rights)
		end_streams(w);
	int rc = sl_users_change(w->d->users, w->name, body, sl__recorded_done, w, err);
	if (!rc && fresh)
		snprintf(w->name, sizeof w->name, "%s", fresh);
	return rc;
}

static int remove_user(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	const char *data = sl_request_query(w->r, "data");
	bool erase = data && !strcmp(data, "delete");
	if (data && !erase && strcmp(data, "keep"))
		return sl_error_field(err, SL_BADPARAM, "?data", "data must be keep or delete");
	end_streams(w);
	w->rights = true;
	return sl_users_remove(w->d->users, w->name, erase, sl__recorded_done, w, err);
}

static int remove_tokens(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	end_streams(w);
	return sl_users_tokens_remove(w->d->users, w->name, sl__recorded_done, w, err);
}

static int add_token(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	return sl_users_token_add(w->d->users, w->name, body, &w->reply, sl__recorded_done, w, err);
}

static int remove_token(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	end_streams(w);
	return sl_users_token_remove(w->d->users, w->name, sl_request_path(w->r, "token"), sl__recorded_done, w, err);
}

SL_RECORDED_ROUTE(sl_route_users_post, 201, "user", true, add, record)
SL_RECORDED_ROUTE(sl_route_user_patch, 200, "user", true, change, record)
SL_RECORDED_ROUTE(sl_route_user_delete, 204, "user", false, remove_user, NULL)
SL_RECORDED_ROUTE(sl_route_user_tokens_delete, 204, "user", false, remove_tokens, NULL)
SL_RECORDED_ROUTE(sl_route_user_tokens_post, 201, "user", true, add_token, record)
SL_RECORDED_ROUTE(sl_route_user_token_delete, 204, "user", false, remove_token, NULL)

void sl_route_user_transfer(struct sl_request *r)
{
	struct sl_error err;
	json_t *body = NULL;
	if (sl_request_json(r, &body, &err))
		sl_reply_error(r, &err);
	else
		sl_people_transfer(sl_request_daemon(r)->people, r, sl_request_path(r, "user"), body);
	json_decref(body);
}

/* ---- the sender's own tokens ------------------------------------------------------------ */

void sl_route_me_tokens_get(struct sl_request *r)
{
	struct sl_error err;
	json_t *items = sl_users_own_tokens(sl_request_daemon(r)->users, sl_request_who(r), &err);
	if (items)
		sl_reply_json(r, 200, json_pack("{s:o}", "tokens", items));
	else
		sl_reply_error(r, &err);
}

static int add_own(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	return sl_users_own_token_add(w->d->users, sl_request_who(w->r), body, &w->reply, sl__recorded_done, w, err);
}

static int remove_own(struct sl_recorded *w, const json_t *body, struct sl_error *err)
{
	snprintf(w->ends, sizeof w->ends, "%s", sl_request_who(w->r)->name);
	return sl_users_own_token_remove(w->d->users, sl_request_who(w->r), w->name, sl__recorded_done, w, err);
}

SL_RECORDED_ROUTE(sl_route_me_tokens_post, 201, "token", true, add_own, NULL)
SL_RECORDED_ROUTE(sl_route_me_token_delete, 204, "token", false, remove_own, NULL)
