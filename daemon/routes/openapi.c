#include <string.h>

#include "daemon/routes/routes.h"
#include "daemon/util/buffer.h"

#include "openapi_yaml.h"  /* made from proto/openapi.yaml by scripts/embed.py, with a zero behind it */

/* GET /v1/openapi.yaml: the contract. */
void sl_route_openapi(struct sl_request *r)
{
	const size_t bytes = sizeof openapi_yaml - 1;
	struct sl_buffer *b = sl_buffer_create(bytes);
	if (!b) {
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "the document.");
		return;
	}
	memcpy(b->data, openapi_yaml, bytes);
	sl_reply_buffer(r, "application/yaml", "openapi-" SL_VERSION, b);
}
