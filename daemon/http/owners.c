/* Makes the sender the owner of what a request has created, before its reply is sent. */
#include <stdlib.h>

#include "daemon/http/http_internal.h"

struct owning {
	struct sl_request *r;  /* NULL: the client is gone */
	int status;
	json_t *document;
};

/* Adds the project to the reply's record, which was made before the resource had an owner. */
static void tell_project(const struct sl_users *u, json_t *document)
{
	const char *project = sl_users_project_of(u, json_string_value(json_object_get(document, "id")));
	if (json_object_get(document, "owner"))
		sl_users_add_owner(u, json_string_value(json_object_get(document, "id")), document);
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
