/* The table of endpoints as the HTTP server reads it. */
#include "daemon/routes/routes.h"
#include "daemon/users/users.h"

#define ROUTE(method, pattern, name, verb, flags, query) \
	{method, pattern, sl_route_##name, SL_VERB_##verb, flags, query},
const struct sl_route sl_routes[] = {SL_ROUTES(ROUTE)};

const int sl_routes_count = sizeof sl_routes / sizeof *sl_routes;
