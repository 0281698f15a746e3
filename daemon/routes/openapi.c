#include <string.h>

#include "daemon/frames.h"
#include "daemon/routes/routes.h"

#include "openapi_yaml.h"  /* made from proto/openapi.yaml by embed.py */

/* GET /v1/openapi.yaml: the contract. */
void sl_route_openapi(struct sl_request *r)
{
	struct sl_buffer *b = sl_buffer_create(sizeof openapi_yaml);
	if (!b) {
		sl_reply_problem(r, SL_NOMEM, "no memory for the document");
		return;
	}
	memcpy(b->data, openapi_yaml, sizeof openapi_yaml);
	sl_reply_buffer(r, "application/yaml", "openapi-" SL_VERSION, b);
}
