/* A request from its header to its end: sl__call_header() checks the header, sl__call_data() takes the body, and
 * sl__call_whole() runs the route's handler. An early error is answered at once if the client waits for "100 Continue"
 * or the body is huge. Otherwise the body is read and discarded first: closing a socket with unread data could destroy
 * the reply before the client reads it. */
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
static void begin(struct sl_request *r, const struct sl__head *head)
{
	const char *method = head->method;
	struct sl_error err;
	if (r->http->d->stopping) {  /* parts that a handler needs may be gone */
		sl_reply_header(r, "Connection", "close");
		sl_reply_status(r, 503, "the server is being stopped");
		return;
	}
	if (strlen(r->target) > SL__TARGET_BYTES) {
		sl_reply_status(r, 414, "the path is too long; it must have at most %d bytes", SL__TARGET_BYTES);
		return;
	}
	if (!sl__sender_check(r, method, &head->fault))
		return;
	if (strstr(r->encoded, "%00")) {
		sl_reply_status(r, 400, "a zero byte is not allowed in a path");
		return;
	}
	if (r->at_base) {  /* files of the dashboard are named relative to the folder */
		sl_reply_location(r, "/");
		sl_reply_empty(r, 308);
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

/* Sends the reply that was prepared, unless it must wait once more. */
static void queue(struct sl_request *r)
{
	struct sl__response *reply = r->reply;
	if (reply && r->slow) {  /* slows down attempts to guess a token */
		r->slow = false;
		sl__connections_delay(r);
		sl__request_delay(r, sl__guess_delay(r->http, &r->client));
		return;
	}
	if (reply && sl__rights_audit(r))
		return;
	if (reply) {
		int class = r->status / 100;
		sl_metric_add(r->http->count[class < 6 ? class : 5], 1);
		sl_log_debug("http", "%s %s: %d", r->route ? r->route->method : "?", r->target, r->status);
	}
	r->reply = NULL;
	sl__exchange_send(r->x, r->status, reply);
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

/* Removes the path of base_url from that of the request: a proxy may have left it there. */
static void remove_base(struct sl_request *r)
{
	const char *base = sl__auth_base(r->http->auth)->path;
	size_t length = strlen(base);
	if (!length || strncmp(r->encoded, base, length) || (r->encoded[length] && r->encoded[length] != '/'))
		return;
	r->based = true;
	r->at_base = !r->encoded[length];
	memmove(r->encoded, r->encoded + length, strlen(r->encoded + length) + 1);
	memmove(r->target, r->target + length, strlen(r->target + length) + 1);
}

static bool keep_target(struct sl_request *r, const struct sl__head *head)
{
	const char *host = NULL, *ignored;
	size_t length = 0, unused;
	const char *path = path_of(head->target, &host, &length);
	if (host && !(r->authority = strndup(host, length)))
		return false;
	r->target = strdup(path);
	if (r->target)
		sl_users_mask_tokens(r->target);
	r->encoded = strdup(path_of(head->encoded, &ignored, &unused));
	if (r->target && r->encoded)
		remove_base(r);
	return r->target && r->encoded;
}

static void free_request(struct sl_request *r)
{
	for (int i = 0; i < r->paths; i++)
		free(r->path[i].value);
	json_decref(r->changes);
	free(r->target);
	free(r->encoded);
	free(r->authority);
	free(r);
}

/* Answers a request that was refused by its header: at once, if its body shall not be read. */
static void refused(struct sl_request *r)
{
	uint64_t bytes;
	if (r->close) {
		queue(r);
		return;
	}
	if (!has_body(r, &bytes))
		return;
	const char *expect = sl_request_header(r, "Expect");
	bool waits = expect && !strcasecmp(expect, "100-continue");
	/* chunked: the length is not known, and it is cut off below */
	if (waits || (bytes != UINT64_MAX && bytes > SL__DRAIN_BYTES))
		queue(r);
}

void *sl__call_header(void *arg, struct sl__exchange *x, const struct sl__head *head)
{
	struct sl__connection *peer = arg;
	struct sl_request *r = calloc(1, sizeof *r);
	if (!r)
		return NULL;
	r->peer = peer;
	r->http = peer->http;
	r->x = x;
	if (!keep_target(r, head)) {
		free_request(r);
		return NULL;
	}
	r->since_ns = uv_hrtime();
	snprintf(r->method, sizeof r->method, "%s", head->method);
	sl__request_id(r);
	sl__exchange_name(x, r->id);
	sl__proxy_client(r);
	sl__connection_request(peer, r);
	sl_list_prepend(&r->http->requests, &r->link);
	r->state = SL__BODY;
	begin(r, head);
	if (r->state != SL__BODY)
		refused(r);
	return r;
}

void sl__call_data(void *request, const char *data, size_t n, const char *fault)
{
	struct sl_request *r = request;
	struct sl_error err;
	sl_metric_add(r->http->received_bytes, (double)n);
	if (r->state == SL__DISCARD) {
		r->received += n;
		if (r->received > SL__DRAIN_BYTES)
			sl__exchange_drop(r->x);
		return;
	}
	if (fault)
		sl_error_set(&err, SL_BADPARAM, "%s", fault);
	if (fault || sl__body_data(r, data, n, &err)) {
		r->received = 0;
		sl__body_free(r);
		sl_reply_error(r, &err);
	}
}

static void handle(struct sl_request *r)
{
	if (sl__rights_check_body(r))
		r->route->handler(r);
}

void sl__call_whole(void *request)
{
	struct sl_request *r = request;
	struct sl_error err;
	if (r->state == SL__DISCARD) {
		queue(r);
		return;
	}
	if (sl__body_end(r, &err)) {
		sl_reply_error(r, &err);
		queue(r);
		return;
	}
	r->state = SL__HANDLING;
	if (r->route->flags & SL_BODY_JSON && sl__document_wait(r, handle))
		return;
	handle(r);
	if (r->state == SL__HANDLING)
		sl_reply_problem(r, SL_INTERNAL, "%s %s was not answered", r->route->method, r->route->pattern);
	if (r->state == SL__REPLIED)
		queue(r);
}

void sl__call_resumed(void *request)
{
	struct sl_request *r = request;
	if (r->state == SL__REPLIED)
		queue(r);
	else
		sl__exchange_drop(r->x);
}

/* The request or its connection has ended. */
void sl__call_ended(void *request, bool aborted)
{
	struct sl_request *r = request;
	sl__request_told(r, aborted);
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
	free_request(r);
}
