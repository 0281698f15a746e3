/* Refuses a request whose sender lacks a right, or has lost it while the request waited. */
#include "daemon/http/http_internal.h"

void sl__rights_deny(struct sl_request *r, int status)
{
	if (status == 404)
		sl_reply_status(r, 404, "there is no %.64s, or it is not shared with you", sl__rights_thing(r));
	else if (status == 403)
		sl_reply_status(r, 403, "%s may not do this: %s", r->who.name,
				r->who.role == SL_ROLE_READER ? "a reader may only read" :
				r->who.role == SL_ROLE_LINK ? "a link shows one job: its record, layout, frames, picture, trace and "
				"events" : "only owners and administrators may");
	else
		sl__reply_status_header(r, 401, "Authorization", "this server needs a token: Authorization: Bearer "
					"TOKEN");
}

void sl__rights_refuse(struct sl_request *r)
{
	int status = sl__rights_now(r);
	sl__reply_free(r);  /* headers of the reply that it does not get */
	sl__rights_deny(r, status ? status : 404);
}
