#include "daemon/routes/routes.h"
#include "daemon/json/json.h"

/* POST /v1/login: a cookie in place of the header, since a browser's EventSource and pictures send no header. */
void sl_route_login(struct sl_request *r)
{
	static const char *const known[] = {"token", NULL};
	struct sl_error err;
	json_t *body = NULL;
	int rc = sl_request_json(r, &body, &err);
	if (!rc)
		rc = sl_json_known(body, known, &err);
	const char *token = json_string_value(json_object_get(body, "token"));
	if (!rc && !token)
		rc = sl_error_field(&err, SL_BADPARAM, "/token", "token must be a string: one of this server's tokens");
	if (rc)
		sl_reply_error(r, &err);
	else
		sl_reply_login(r, token);
	json_decref(body);
}

/* DELETE /v1/login */
void sl_route_logout(struct sl_request *r)
{
	sl_reply_logout(r);
}
