/* Numbers requests, logs them if request_log is set, and counts their times for /metrics. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/http/http_internal.h"
#include "daemon/util/log.h"
#include "daemon/util/ulid.h"

#define PATH_BYTES 512  /* of a line in the log */

/* Uses the client's request id, if it has sent one, so that the logs of both sides can be matched. */
void sl__request_id(struct sl_request *r)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~:/+=@-";
	const char *given = sl_request_header(r, "X-Request-Id");
	size_t length = given ? strlen(given) : 0;
	if (length && length < sizeof r->id && strspn(given, allowed) == length)
		memcpy(r->id, given, length + 1);
	else
		sl_ulid_make(r->id);
}

/* Adds the duration to the metrics; streams do not count, since they last long by design. */
static void observe(struct sl_request *r, double seconds)
{
	struct sl_http *h = r->http;
	if (!r->route || r->streamed || !r->status || !h->seconds)
		return;
	struct sl_metric **metric = &h->seconds[r->route - sl_routes];
	if (!*metric) {
		char labels[160];
		snprintf(labels, sizeof labels, "method=\"%s\",route=\"%s\"", r->route->method, r->route->pattern);
		*metric = sl_metrics_register(h->d->metrics, SL_HISTOGRAM, "spaceland_http_request_seconds", labels,
					      "From the header of a request to the end of its reply, waiting included; "
					      "streams are not counted.");
	}
	sl_metric_observe(*metric, seconds);
}

const char *sl__address_text(const struct in6_addr *a, char text[INET6_ADDRSTRLEN])
{
	bool four = IN6_IS_ADDR_V4MAPPED(a);
	return inet_ntop(four ? AF_INET : AF_INET6, four ? (const void *)&a->s6_addr[12] : a, text, INET6_ADDRSTRLEN);
}

/* Copies printable ASCII, cut to size. */
static void plain(char *out, const char *text, size_t bytes)
{
	size_t i = 0;
	for (; text[i] && i + 1 < bytes; i++)
		out[i] = (signed char)text[i] < 32 ? '?' : text[i];
	out[i] = '\0';
}

static void write_line(const struct sl_request *r, double seconds, bool aborted)
{
	char path[PATH_BYTES + 1], method[sizeof r->method], address[INET6_ADDRSTRLEN] = "";
	plain(path, r->target, sizeof path);
	plain(method, r->method, sizeof method);
	json_t *o = json_pack("{s:s, s:s, s:s?, s:s, s:i, s:I, s:f, s:s?, s:s?, s:b}", "id", r->id, "method", method,
			      "route", r->route ? r->route->pattern : NULL, "path", path, "status", r->status, "bytes",
			      r->head ? (json_int_t)0 : (json_int_t)r->sent, "seconds", seconds,
			      "user", r->who.name[0] ? r->who.name : NULL,
			      "address", sl__address_text(&r->client, address), "aborted", aborted);
	char *text = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
	if (text)
		sl_log_info("request", "%s", text);
	free(text);
	json_decref(o);
}

void sl__request_told(struct sl_request *r, bool aborted)
{
	const char *wanted = r->http->d->config.request_log;
	double seconds = (double)(uv_hrtime() - r->since_ns) * 1e-9;
	observe(r, seconds);
	if (!strcmp(wanted, "all") || (!strcmp(wanted, "problems") && (r->status >= 400 || !r->status)))
		write_line(r, seconds, aborted);
}
