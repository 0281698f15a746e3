/* The audit log: changes and refusals. The reply to a change waits until its line is on disk, but not forever. */
#include <stdlib.h>

#include "daemon/http/http_internal.h"

#define AUDIT_PATIENCE_MS 10000

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
	bool own = status == r->status;
	struct sl_event event = {.who = &r->who, .address = sl__address_text(&r->client, address), .method = method,
				 .path = path, .status = status, .request = r->id, .object = own ? r->object : NULL,
				 .changes = own && status < 400 ? r->changes : NULL};
	sl_users_audit(r->http->d->users, &event);
}

bool sl__rights_audit(struct sl_request *r)
{
	if (r->audited || !sl__rights_is_event(r))
		return false;
	sl__rights_tell(r, r->route ? r->route->method : "?", r->target, r->status);
	r->audited = true;
	return r->status < 400 && wait_for_disk(r);
}
