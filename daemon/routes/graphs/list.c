/* GET /v1/graphs: newest first, by pages. */
#include "daemon/config/daemon.h"
#include "daemon/graphs/graphs.h"
#include "daemon/routes/listed.h"
#include "daemon/routes/routes.h"

void sl_route_graphs_get(struct sl_request *r)
{
	char next[SL_ULID_BYTES];
	struct sl_page page;
	if (sl__page_read(r, &page))
		sl__page_reply(r, "/v1/graphs", &page,
			       sl_graphs_list(sl_request_daemon(r)->graphs, r, page.cursor, page.limit,
					      sl_request_query(r, "name"), next), next);
}
