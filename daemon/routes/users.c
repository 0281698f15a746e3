/* /v1/me, /v1/users, /v1/users/{user} and the tokens of one: the requests become one call each (users.h), whose record
 * must be on the disk before the reply. */
#include <stdlib.h>
#include <string.h>

#include "daemon/config/daemon.h"
#include "daemon/jobs/jobs.h"
#include "daemon/routes/routes.h"
#include "daemon/users/limits.h"
#include "daemon/users/projects.h"

struct wait {
	struct sl_request *r;  /* NULL: the client is gone */
	struct sl_users *users;
	struct sl_http *http;
	int status;
	bool ends;             /* fewer rights: what the user has open ends */
	json_t *reply;         /* NULL: the user's record, or nothing with 204 */
	char name[64];
};

static void done(void *arg, int status, const struct sl_error *err)
{
	struct wait *w = arg;
	if (w->r && status)
		sl_reply_error(w->r, err);
	else if (w->r && w->status == 204)
		sl_reply_empty(w->r, 204);
	else if (w->r)
		sl_reply_json(w->r, w->status, w->reply ? json_incref(w->reply) : sl_users_json(w->users, w->name));
	if (!status && w->ends)  /* after the reply, which may be to that user */
		sl_http_end_user(w->http, w->name);
	json_decref(w->reply);
	free(w);
}

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
	sl_users_add_projects(sl_request_daemon(r)->users, who->user, me);
	if (limits)
		me = add_use(r, me, who->user);
	else
		json_object_set_new(me, "use", json_null());
	sl_reply_json(r, 200, me);
}

/* The request's user, whom the reply is about; NULL: no memory, and the request has been answered. */
static struct wait *begin(struct sl_request *r, int status)
{
	struct wait *w = calloc(1, sizeof *w);
	const char *name = sl_request_path(r, "user");
	if (!w) {
		sl_reply_problem(r, SL_NOMEM, "no memory for the request");
		return NULL;
	}
	w->r = r;
	w->users = sl_request_daemon(r)->users;
	w->http = sl_request_daemon(r)->http;
	w->status = status;
	snprintf(w->name, sizeof w->name, "%s", name ? name : "");
	return w;
}

/* After the call: waits for its done, or tells the error. */
static void end(struct wait *w, int rc, const struct sl_error *err, json_t *body)
{
	json_decref(body);
	if (!rc) {
		sl_park(&w->r, 0);
		return;
	}
	sl_reply_error(w->r, err);
	free(w);
}

void sl_route_users_get(struct sl_request *r)
{
	sl_reply_json(r, 200, json_pack("{s:o, s:n}", "items", sl_users_list(sl_request_daemon(r)->users), "next"));
}

void sl_route_users_post(struct sl_request *r)
{
	struct wait *w = begin(r, 201);
	struct sl_error err;
	json_t *body = NULL;
	if (!w)
		return;
	int rc = sl_request_json(r, &body, &err);
	if (!rc)
		rc = sl_users_add(w->users, body, done, w, &err);
	if (!rc)
		snprintf(w->name, sizeof w->name, "%s", json_string_value(json_object_get(body, "name")));
	end(w, rc, &err, body);
}

void sl_route_user_get(struct sl_request *r)
{
	const char *name = sl_request_path(r, "user");
	json_t *user = sl_users_json(sl_request_daemon(r)->users, name);
	if (user)
		sl_reply_json(r, 200, add_use(r, user, json_string_value(json_object_get(user, "id"))));
	else
		sl_reply_problem(r, SL_NOTFOUND, "there is no user %.64s", name);
}

void sl_route_user_patch(struct sl_request *r)
{
	struct wait *w = begin(r, 200);
	struct sl_error err;
	json_t *body = NULL;
	if (!w)
		return;
	int rc = sl_request_json(r, &body, &err);
	w->ends = json_object_get(body, "role");
	if (!rc)
		rc = sl_users_change(w->users, w->name, body, done, w, &err);
	end(w, rc, &err, body);
}

void sl_route_user_delete(struct sl_request *r)
{
	struct wait *w = begin(r, 204);
	struct sl_error err;
	if (!w)
		return;
	w->ends = true;
	end(w, sl_users_remove(w->users, w->name, done, w, &err), &err, NULL);
}

void sl_route_user_tokens_post(struct sl_request *r)
{
	struct wait *w = begin(r, 201);
	struct sl_error err;
	json_t *body = NULL;
	if (!w)
		return;
	int rc = sl_request_json(r, &body, &err);
	if (!rc)
		rc = sl_users_token_add(w->users, w->name, body, &w->reply, done, w, &err);
	end(w, rc, &err, body);
}

void sl_route_user_token_delete(struct sl_request *r)
{
	struct wait *w = begin(r, 204);
	struct sl_error err;
	if (!w)
		return;
	w->ends = true;
	end(w, sl_users_token_remove(w->users, w->name, sl_request_path(r, "token"), done, w, &err), &err, NULL);
}
