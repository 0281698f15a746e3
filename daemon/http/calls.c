/* The callbacks that libmicrohttpd calls for each request: sl__call_access() once with the headers, once for each piece
 * of the body, once at the end, and once more after a suspended connection was resumed. enum sl__state tells these
 * calls apart. An early error is answered at once if the client waits for "100 Continue" or the body is huge. Otherwise
 * the body is read and discarded first: closing a socket with unread data could destroy the reply before the client
 * reads it. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/http/http_internal.h"
#include "daemon/util/log.h"

/* Replies that all connections are in use, except those reserved for health, metrics and administrators. */
static void busy(struct sl_request *r)
{
	sl_reply_header(r, "Connection", "close");
	sl_reply_status(r, 503, "all connections of this server are busy (max_connections)");
}

/* Makes all checks that need only the headers. If one fails, prepares the reply and sets the state SL__DISCARD. */
static void begin(struct sl_request *r, const char *method)
{
	struct sl_error err;
	if (strlen(r->target) > SL__TARGET_BYTES) {
		sl_reply_status(r, 414, "the path is too long; it must have at most %d bytes", SL__TARGET_BYTES);
		return;
	}
	if (!sl__sender_check(r, method))
		return;
	if (strstr(r->encoded, "%00")) {
		sl_reply_status(r, 400, "a zero byte is not allowed in a path");
		return;
	}
	if (!sl__route_find(r, method))
		return;
	bool beyond = r->peer->reserve && !(r->route && r->route->flags & SL_ROUTE_RESERVE);
	if (beyond && !sl__auth_needed(r->http->auth)) {
		busy(r);
		return;
	}
	if (!sl__sender_token(r))
		return;
	if (beyond && (r->who.role != SL_ROLE_ADMINISTRATOR || !sl__connections_admit(r->http))) {
		busy(r);
		return;
	}
	r->peer->privileged = beyond;
	if (!r->route) {  /* only users may learn which paths exist */
		sl__route_missing(r, method);
		return;
	}
	if (!sl__rights_check(r) || !sl__limits_connections(r) || !sl__route_query(r))
		return;
	int rc = sl__body_begin(r, &err);
	if (rc > 0)
		sl__reply_status_header(r, rc, "Content-Type", err.detail);
	else if (rc)
		sl_reply_error(r, &err);
}

static bool has_body(const struct sl_request *r, uint64_t *bytes)
{
	const char *length = sl_request_header(r, "Content-Length");
	*bytes = length ? strtoull(length, NULL, 10) : UINT64_MAX;
	return length ? *bytes > 0 : sl_request_header(r, "Transfer-Encoding") != NULL;
}

static enum MHD_Result queue(struct sl_request *r)
{
	struct MHD_Response *reply = r->reply;
	if (!reply)
		return MHD_NO;
	if (r->slow) {  /* slows down attempts to guess a token */
		r->slow = false;
		sl__connections_delay(r);
		sl__request_delay(r, sl__guess_delay(r->http, &r->client));
		return MHD_YES;
	}
	if (sl__rights_audit(r))
		return MHD_YES;
	int class = r->status / 100;
	sl_metric_add(r->http->count[class < 6 ? class : 5], 1);
	sl_log_debug("http", "%s %s: %d", r->route ? r->route->method : "?", r->target, r->status);
	enum MHD_Result result = MHD_queue_response(r->connection, (unsigned)r->status, reply);
	r->reply = NULL;
	MHD_destroy_response(reply);
	return result;
}

/* Called before libmicrohttpd decodes the path; decoding makes %2F a slash and %00 the end. Returns the initial value
 * of *slot. */
void *sl__call_target(void *cls, const char *uri, struct MHD_Connection *connection)
{
	struct sl__connection *peer = sl__connection_of(connection);
	(void)cls;
	if (peer)
		sl__connection_target(peer, uri);
	return NULL;
}

/* Finds the path in a target. "http://lab.example/v1/jobs" is legal, too: its host replaces that of the header.
 * *length: length of the host. */
static const char *path_of(const char *url, const char **host, size_t *length)
{
	size_t scheme = !strncasecmp(url, "http://", 7) ? 7 : !strncasecmp(url, "https://", 8) ? 8 : 0;
	if (!scheme)
		return url;
	*host = url + scheme;
	*length = strcspn(*host, "/");
	return (*host)[*length] ? *host + *length : "/";
}

/* Masks tokens in a path. A client that puts one there has made a mistake; it must not get into logs or replies. */
static void mask_tokens(char *path)
{
	for (char *at = path; (at = strstr(at, "sp")); at++) {
		if (strncmp(at, SL_TOKEN_PREFIX, 4) && strncmp(at, SL_LINK_PREFIX, 4))
			continue;
		for (at += 4; *at && *at != '/'; at++)
			*at = '*';
		at--;
	}
}

static bool keep_target(struct sl_request *r, const char *url)
{
	const char *host = NULL, *ignored;
	size_t length = 0, unused;
	const char *path = path_of(url, &host, &length);
	if (!r->peer->encoded || (host && !(r->authority = strndup(host, length))))
		return false;
	r->target = strdup(path);
	if (r->target)
		mask_tokens(r->target);
	r->encoded = strdup(path_of(r->peer->encoded, &ignored, &unused));
	return r->target && r->encoded;
}

static enum MHD_Result first_call(struct sl_http *h, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, void **slot)
{
	struct sl__connection *peer = sl__connection_of(connection);
	struct sl_request *r = peer && !peer->leaving ? calloc(1, sizeof *r) : NULL;
	if (!r)
		return MHD_NO;
	r->peer = peer;
	if (!keep_target(r, url)) {
		free(r->encoded);
		free(r->target);
		free(r->authority);
		free(r);
		return MHD_NO;
	}
	r->http = h;
	r->connection = connection;
	r->plain = sl__header_is_plain(connection, method, peer->target_bytes, version);
	r->interim = !strcmp(version, "HTTP/1.1");
	r->since_ns = uv_hrtime();
	snprintf(r->method, sizeof r->method, "%s", method);
	sl__request_id(r);
	sl__proxy_client(r);
	sl__connection_request(peer, r);
	sl_list_prepend(&h->requests, &r->link);
	*slot = r;
	r->state = SL__BODY;
	begin(r, method);
	if (r->state == SL__BODY)
		return MHD_YES;
	uint64_t bytes;
	if (r->close)
		return queue(r);
	if (!has_body(r, &bytes))
		return MHD_YES;
	const char *expect = sl_request_header(r, "Expect");
	bool waits = expect && !strcasecmp(expect, "100-continue");
	/* chunked: the length is not known, and it is cut off below */
	if (waits || (bytes != UINT64_MAX && bytes > SL__DRAIN_BYTES))
		return queue(r);
	return MHD_YES;
}

static enum MHD_Result body_call(struct sl_request *r, const char *data, size_t *bytes)
{
	size_t n = *bytes;
	*bytes = 0;
	sl_metric_add(r->http->received_bytes, (double)n);
	if (r->state == SL__DISCARD) {
		r->received += n;
		return r->received > SL__DRAIN_BYTES ? MHD_NO : MHD_YES;
	}
	struct sl_error err;
	bool plain = !r->chunked || sl__chunk_is_plain(data);
	if (!plain)
		sl_error_set(&err, SL_BADPARAM, "the lines of a body in chunks must end with CR LF; a lone LF is refused");
	if (!plain || sl__body_data(r, data, n, &err)) {
		r->received = 0;
		sl__body_free(r);
		sl_reply_error(r, &err);
	}
	return MHD_YES;
}

static void handle(struct sl_request *r)
{
	if (sl__rights_check_body(r))
		r->route->handler(r);
}

static enum MHD_Result last_call(struct sl_request *r)
{
	struct sl_error err;
	if (sl__body_end(r, &err)) {
		sl_reply_error(r, &err);
		return queue(r);
	}
	r->state = SL__HANDLING;
	if (r->route->flags & SL_BODY_JSON && sl__document_wait(r, handle))
		return MHD_YES;
	handle(r);
	if (r->state == SL__HANDLING)
		sl_reply_problem(r, SL_INTERNAL, "%s %s was not answered", r->route->method, r->route->pattern);
	return r->state == SL__REPLIED && r->reply ? queue(r) : r->state == SL__REPLIED ? MHD_NO : MHD_YES;
}

enum MHD_Result sl__call_access(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
				const char *version, const char *data, size_t *bytes, void **slot)
{
	struct sl_http *h = cls;
	struct sl_request *r = *slot;
	if (!r)
		return first_call(h, connection, url, method, version, slot);
	switch (r->state) {
	case SL__BODY:
		return *bytes ? body_call(r, data, bytes) : last_call(r);
	case SL__DISCARD:
		return *bytes ? body_call(r, data, bytes) : queue(r);
	case SL__REPLIED:
		return queue(r);
	case SL__PARKED:
		return MHD_YES;
	default:
		return MHD_NO;
	}
}

/* Called when the request or its connection has ended. */
void sl__call_completed(void *cls, struct MHD_Connection *connection, void **slot,
			enum MHD_RequestTerminationCode code)
{
	struct sl_request *r = *slot;
	if (!r)
		return;
	*slot = NULL;
	sl__request_told(r, code != MHD_REQUEST_TERMINATED_COMPLETED_OK);
	sl__connection_request(r->peer, NULL);
	uv_timer_stop(&r->peer->timer);
	if (r->state == SL__PARKED && r->gone)
		r->gone(r->arg);
	if (r->stream)
		sl__stream_detach(r->stream);
	sl__reply_free(r);
	sl__body_free(r);
	sl_list_unlink(&r->delayed);
	sl_list_unlink(&r->link);
	sl_list_unlink(&r->parking);
	for (int i = 0; i < r->paths; i++)
		free(r->path[i].value);
	free(r->target);
	free(r->encoded);
	free(r->authority);
	free(r);
}
