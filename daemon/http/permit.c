/* Checks a sender's rights for all handlers: before the body is read, for the resource in the path, and before the
 * handler runs, for resources in the body. False: the request has been answered. */
#include <string.h>

#include "core/meant.h"
#include "daemon/http/http_internal.h"
#include "daemon/util/ulid.h"

#define BODY_MOST (64 << 10)  /* longer bodies are not in the log */
#define MEMBER_BYTES 200      /* longer members of bodies are replaced by their length */
#define MEMBERS_MOST 100

/* True for an id, or the beginning of one, in upper or lower case. Present ids begin with 0. */
static bool looks_like_id(const char *text)
{
	size_t length = strspn(text, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
	return text[0] == '0' && length >= 6 && length < SL_ULID_BYTES && !text[length];
}

/* Members that hold names of people, projects, tokens, columns or categories, which may look like ids: 012345 is a
 * postcode, or a student. */
static bool is_no_thing(const char *key)
{
	static const char *const members[] = {"name", "project", "projects", "readers", "replaces", "labels", "categories",
					      NULL};
	return sl_word_in(members, key);
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
			if (!is_no_thing(key) && !all_readable(r, value))
				return false;
	return true;
}

static bool right_lost(struct sl_request *r)
{
	int status = r->received ? sl__rights_now(r) : 0;
	if (status)
		sl__rights_deny(r, status);
	return status;
}

/* If one of several owners deletes a resource, removes only this owner. */
static bool leave(struct sl_request *r)
{
	struct sl_users *u = r->http->d->users;
	const char *id = sl__rights_thing(r);
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

/* ---- for the audit log ---- */

/* The members of the body; a long one is replaced by its length. */
static json_t *shortened(const json_t *body)
{
	json_t *o = json_object(), *value;
	const char *key;
	json_object_foreach((json_t *)body, key, value) {
		size_t bytes = json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
		if (json_object_size(o) < MEMBERS_MOST)
			json_object_set_new(o, key, bytes > MEMBER_BYTES ? json_sprintf("(%zu bytes)", bytes) :
					    json_deep_copy(value));
	}
	return o;
}

/* The id of the user in the path, who may have another name afterwards. */
static const char *user_of(const struct sl_request *r, const char *name)
{
	const char *id = sl_users_id(r->http->d->users, name);
	return id ? id : name;
}

static void note_change(struct sl_request *r)
{
	const char *pattern = r->route->pattern, *object = sl__rights_thing(r);
	json_t *body = NULL;
	if (!sl__rights_is_event(r))
		return;
	if (!object && strstr(pattern, "/users/{user}") == pattern + 3)
		object = user_of(r, sl_request_path(r, "user"));
	else if (!object && strstr(pattern, "{project}"))
		object = sl_request_path(r, "project");
	snprintf(r->object, sizeof r->object, "%s", object ? object : "");
	if (r->route->flags & SL_BODY_JSON && r->body_bytes && r->body_bytes <= BODY_MOST)
		sl__document(r, &body, NULL);
	if (json_is_object(body) && !r->changes)
		r->changes = shortened(body);
}

bool sl__rights_check_body(struct sl_request *r)
{
	if (right_lost(r))
		return false;
	const struct sl_daemon *d = r->http->d;
	if (d->stopping || (d->ending && strcmp(r->route->method, "GET") != 0)) {
		sl_reply_status(r, 503, "the server is being stopped");  /* parts are gone; no record might be written */
		return false;
	}
	note_change(r);
	if (leave(r))
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

bool sl__rights_check(struct sl_request *r)
{
	r->checked = true;
	if (!sl__limits_admit(r))
		return false;
	const char *id = sl__rights_thing(r);
	int status = sl_users_may(r->http->d->users, &r->who, (enum sl_verb)r->route->verb, id);
	if (status) {
		sl__rights_deny(r, status);
		return false;
	}
	return true;
}
