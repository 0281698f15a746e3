#include "daemon/util/metrics.h"

#include "daemon/config/daemon.h"
#include "daemon/routes/routes.h"
#include "daemon/util/buffer.h"

#include <string.h>

/* GET /metrics: Prometheus' text format. */
void sl_route_metrics(struct sl_request *r)
{
	uint64_t bytes;
	char *text = sl_metrics_print(sl_request_daemon(r)->metrics, &bytes);
	struct sl_buffer *b = text ? sl_buffer_create(bytes) : NULL;
	if (b) {
		memcpy(b->data, text, bytes);
		sl_reply_buffer(r, "text/plain; version=0.0.4; charset=utf-8", NULL, b);
	} else {
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "the metrics.");
	}
	free(text);
}
