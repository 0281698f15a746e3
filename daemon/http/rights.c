/* Checks a sender's rights (users.h) for all handlers: before the body is read, for the resource in the path; before
 * the handler runs, for resources in the body; and for each reply, to filter lists and to record the owner of a new
 * resource. */
#include <string.h>

#include "daemon/http/http_internal.h"
#include "daemon/users/projects.h"
#include "daemon/util/ulid.h"

#define AUDIT_PATIENCE_MS 10000

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

/* The id in the path; NULL: none, or not checked yet. Only administrators have rights to a path whose id is
 * incomplete. */
static const char *thing_of(const struct sl_request *r)
{
	const char *pattern = r->checked ? r->route->pattern : "";
	return strstr(pattern, "{id}") ? sl_request_path(r, "id") :
	       strstr(pattern, "{graph}") ? sl_request_path(r, "graph") : NULL;
}

bool sl__rights_still(struct sl_request *r)
{
	const char *id = thing_of(r);
	return sl_users_still(r->http->d->users, &r->who) &&
	       (!id || !sl_users_may(r->http->d->users, &r->who, (enum sl_verb)r->route->verb, id));
}

static void refuse(struct sl_request *r, int status)
{
	if (status == 404)
		sl_reply_status(r, 404, "there is no %.64s, or it is not shared with you", thing_of(r));
	else if (status == 403)
		sl_reply_status(r, 403, "%s may not do this: %s", r->who.name,
				r->who.role == SL_ROLE_READER ? "a reader may only read" :
				r->who.role == SL_ROLE_LINK ? "a link shows one job: its record, layout, frames, picture, trace and "
				"events" : "only owners and administrators may");
	else
		sl__reply_status_header(r, 401, "Authorization", "this server needs a token: Authorization: Bearer "
					"TOKEN");
}

bool sl__rights_check(struct sl_request *r)
{
	r->checked = true;
	if (!sl__limits_admit(r))
		return false;
	const char *id = thing_of(r);
	int status = sl_users_may(r->http->d->users, &r->who, (enum sl_verb)r->route->verb, id);
	if (status) {
		refuse(r, status);
		return false;
	}
	return true;
}

/* True for an id, or the beginning of one, in upper or lower case. Present ids begin with 0. */
static bool looks_like_id(const char *text)
{
	size_t length = strspn(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
	return text[0] == '0' && length >= 6 && length < SL_ULID_BYTES && !text[length];
}

/* True if the sender may read every id in the document. */
static bool all_readable(const struct sl_request *r, const json_t *document)
{
	const char *text = json_string_value(document), *key;
	json_t *value;
	size_t i;
	if (text)
		return !looks_like_id(text) || sl_request_sees(r, text);
	if (json_is_array(document))
		json_array_foreach(document, i, value)
			if (!all_readable(r, value))
				return false;
	if (json_is_object(document))
		json_object_foreach((json_t *)document, key, value)
			if (strcmp(key, "name") && strcmp(key, "project") && !all_readable(r, value))
				return false;
	return true;
}

/* Checks rights again after a body has arrived, or while a request waits: meanwhile the token may have been revoked or
 * become a reader's, or sharing may have ended. Returns 0, or the status of the refusal. Tokens of token_file are not
 * checked again, so a reload ends no request. */
static int present_status(struct sl_request *r)
{
	struct sl_users *u = r->http->d->users;
	if (!r->checked || (!r->who.user[0] && r->who.role != SL_ROLE_LINK))
		return 0;
	return sl_users_still(u, &r->who) ? sl_users_may(u, &r->who, (enum sl_verb)r->route->verb, thing_of(r)) : 401;
}

static bool right_lost(struct sl_request *r)
{
	int status = r->received ? present_status(r) : 0;
	if (status)
		refuse(r, status);
	return status;
}

bool sl__rights_lost(struct sl_request *r)
{
	return r->state == SL__PARKED && !r->reply && !strcmp(r->route->method, "GET") && present_status(r);
}

void sl__rights_refuse(struct sl_request *r)
{
	int status = present_status(r);
	sl__reply_free(r);  /* headers of the reply that it does not get */
	refuse(r, status ? status : 404);
}

/* If one of several owners deletes a resource, removes only this owner. */
static bool leave(struct sl_request *r)
{
	struct sl_users *u = r->http->d->users;
	const char *id = thing_of(r);
	struct sl_error err;
	if (!id || r->route->verb != SL_VERB_DELETE || !sl_users_limited(&r->who) || sl_users_owners(u, id) < 2)
		return false;
	struct sl_later *reply = sl_later_create(r, NULL, NULL, id);
	int code = reply ? sl_users_disown(u, id, &r->who, sl_later_done, reply) : 0;
	if (code)
		sl_error_set(&err, code, "The change cannot be recorded.");
	if (reply)
		sl_later_begun(reply, code, &err);
	return true;
}

bool sl__rights_check_body(struct sl_request *r)
{
	if (right_lost(r) || leave(r))
		return false;
	if (!(r->route->flags & SL_BODY_JSON) || !sl_users_limited(&r->who) || !r->body_bytes)
		return true;
	json_t *body = NULL;
	sl__document(r, &body, NULL);  /* the handler reports errors in the body */
	const char *graph = json_string_value(json_object_get(body, "graph"));
	bool seen = !body || (all_readable(r, body) && (!graph || sl_ulid_valid(graph)));
	if (!seen)
		sl_reply_status(r, 404, "the body names a graph or job that is not there, or not shared with you; a graph must "
				"be named by its id");
	return seen;
}

void sl__rights_filter(const struct sl_request *r, json_t *document)
{
	json_t *items = json_object_get(document, "items");
	if (!r->checked || r->route->verb != SL_VERB_LOOK || !sl_users_limited(&r->who) || !json_is_array(items))
		return;
	for (size_t i = json_array_size(items); i-- > 0;) {
		const char *id = json_string_value(json_object_get(json_array_get(items, i), "id"));
		if (id && sl_ulid_valid(id) && !sl_request_sees(r, id))
			json_array_remove(items, i);
	}
}

/* ---- owners -------------------------------------------------------------------------------- */

struct owning {
	struct sl_request *r;  /* NULL: the client is gone */
	int status;
	json_t *document;
};

/* Adds the project to the reply's record, which was made before the resource had an owner. */
static void tell_project(const struct sl_users *u, json_t *document)
{
	const char *project = sl_users_project_of(u, json_string_value(json_object_get(document, "id")));
	if (json_object_get(document, "project"))
		json_object_set_new(document, "project", project ? json_string(project) : json_null());
}

static void owned(void *arg, int status, const struct sl_error *err)
{
	struct owning *o = arg;
	if (o->r)
		tell_project(o->r->http->d->users, o->document);
	if (o->r && status)
		sl_reply_problem(o->r, err->code, "It is stored as %s, but its owner could not be recorded; after a restart "
				 "only administrators would see it: %s", json_string_value(json_object_get(o->document, "id")),
				 err->detail);
	else if (o->r)
		sl__reply_document(o->r, o->status, json_incref(o->document));
	json_decref(o->document);
	free(o);
}

bool sl__rights_own(struct sl_request *r, int status, json_t *document)
{
	struct sl_users *u = r->http->d->users;
	const char *id = json_string_value(json_object_get(document, "id"));
	if (!r->checked || r->route->verb != SL_VERB_CREATE || !id || (!r->who.user[0] && !r->who.project[0]))
		return false;
	if (sl_users_owns(u, r->who.user, id) || (!r->who.user[0] && sl_users_counts_toward_quota(u, r->who.project, id)))
		return false;  /* recorded together with the resource, or before */
	struct owning *o = malloc(sizeof *o);
	if (o)
		*o = (struct owning){r, status, document};
	int rc = o ? sl_users_own(u, id, &r->who, owned, o) : SL_NOMEM;
	if (rc) {
		free(o);
		json_decref(document);
		sl_reply_problem(r, rc, "the owner cannot be recorded");
		return true;
	}
	sl_park(&o->r, 0);
	return true;
}

/* ---- the audit log --------------------------------------------------------------------------- */

/* True for changes and refusals, if the server requires tokens. */
static bool is_event(const struct sl_request *r)
{
	bool change = r->checked && r->route->verb != SL_VERB_OPEN && strcmp(r->route->method, "GET");
	return sl__auth_needed(r->http->auth) && (change || r->status == 401 || r->status == 403);
}

struct audited {
	struct sl_request *r;  /* NULL: the client is gone, or has been answered */
};

static void audited_gone(void *arg)
{
	((struct audited *)arg)->r = NULL;
}

static void audited(void *arg)
{
	struct audited *a = arg;
	if (a->r)
		sl__request_resume(a->r);
	free(a);
}

/* After AUDIT_PATIENCE_MS the client gets its reply although the disk has not answered. */
static void audited_late(void *arg)
{
	struct audited *a = arg;
	struct sl_request *r = a->r;
	a->r = NULL;
	sl__request_resume(r);
}

static bool wait_for_disk(struct sl_request *r)
{
	struct audited *a = malloc(sizeof *a);
	if (!a)
		return false;
	a->r = r;
	if (sl_users_audit_sync(r->http->d->users, audited, a)) {
		free(a);
		return false;
	}
	sl_request_park_for(r, AUDIT_PATIENCE_MS, audited_late, audited_gone, a);
	return true;
}

void sl__rights_tell(struct sl_request *r, const char *method, const char *path, int status)
{
	char address[INET6_ADDRSTRLEN] = "";
	struct sl_event event = {&r->who, sl__address_text(&r->client, address), method, path, status};
	sl_users_audit(r->http->d->users, &event);
}

bool sl__rights_audit(struct sl_request *r)
{
	if (r->audited || !is_event(r))
		return false;
	sl__rights_tell(r, r->route ? r->route->method : "?", r->target, r->status);
	r->audited = true;
	return r->status < 400 && wait_for_disk(r);
}
