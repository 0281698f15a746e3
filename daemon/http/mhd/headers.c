/* What a request says: its headers, cookies and query parameters. They live as long as the request.
 *
 * Query parameters are not looked up by libmicrohttpd, which ignores case, and does not distinguish "?x" from a missing
 * x: the caller compares them. */
#include "daemon/http/mhd/mhd_internal.h"

const char *sl__exchange_header(const struct sl__exchange *x, const char *name)
{
	return MHD_lookup_connection_value(x->socket->connection, MHD_HEADER_KIND, name);
}

const char *sl__exchange_cookie(const struct sl__exchange *x, const char *name)
{
	return MHD_lookup_connection_value(x->socket->connection, MHD_COOKIE_KIND, name);
}

struct each {
	sl__pair_fn call;
	void *arg;
};

static enum MHD_Result on_pair(void *cls, enum MHD_ValueKind kind, const char *key, size_t key_bytes,
			       const char *value, size_t value_bytes)
{
	const struct each *each = cls;
	struct sl__pair pair = {key, value, key_bytes, value_bytes};
	return each->call(each->arg, &pair) ? MHD_YES : MHD_NO;
}

void sl__exchange_headers(const struct sl__exchange *x, sl__pair_fn each, void *arg)
{
	struct each all = {each, arg};
	MHD_get_connection_values_n(x->socket->connection, MHD_HEADER_KIND, on_pair, &all);
}

void sl__exchange_queries(const struct sl__exchange *x, sl__pair_fn each, void *arg)
{
	struct each all = {each, arg};
	MHD_get_connection_values_n(x->socket->connection, MHD_GET_ARGUMENT_KIND, on_pair, &all);
}
