/* GET and POST /v1/layouts, GET and DELETE /v1/layouts/{id} */
#include "daemon/config/daemon.h"
#include "daemon/layouts/layouts.h"
#include "daemon/routes/routes.h"

void sl_route_layouts_get(struct sl_request *r)
{
	struct sl_error err;
	if (sl_request_check_user(r, &err))
		sl_reply_error(r, &err);
	else
		sl_reply_json(r, 200, sl_layouts_list(sl_request_daemon(r)->layouts));
}

void sl_route_layouts_post(struct sl_request *r)
{
	const struct sl_daemon *d = sl_request_daemon(r);
	if (d->stopping)
		sl_reply_status(r, 503, "The server is shutting down.");
	else
		sl_layouts_upload(d->layouts, r);
}

void sl_route_layout_get(struct sl_request *r)
{
	json_t *layout = sl_layouts_json(sl_request_daemon(r)->layouts, sl_request_path(r, "id"));
	if (layout)
		sl_reply_json(r, 200, layout);
	else
		sl_layouts_not_found(r, sl_request_path(r, "id"));
}

void sl_route_layout_delete(struct sl_request *r)
{
	sl_layouts_delete(sl_request_daemon(r)->layouts, sl_request_path(r, "id"), r);
}
