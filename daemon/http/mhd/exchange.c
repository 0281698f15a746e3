/* A request and its reply. libmicrohttpd calls one function for all of it: once with the header, once for each piece of
 * the body, once at its end, and once more after a suspended connection was resumed. `reading` and `parked` tell these
 * calls apart.
 *
 * A connection is suspended after libmicrohttpd's turn, not inside its callback. Inside, libmicrohttpd would remember
 * that it was reading, read on when resumed, and take a half-closed client for one that is gone. */
#include <stdlib.h>
#include <string.h>

#include "daemon/http/mhd/mhd_internal.h"

/* ---- parking ---------------------------------------------------------------------------------- */

void sl__exchange_park(struct sl__exchange *x)
{
	if (!x->suspended && !x->parking.in)
		sl_list_append(&x->socket->mhd->parking, &x->parking);
	x->parked = true;
	x->reading = false;
	sl__socket_parked(x->socket);
}

void sl__exchange_resume(struct sl__exchange *x)
{
	x->parked = false;
	if (x->suspended)
		sl__mhd_resume(x->socket->mhd, x->socket->connection);
	else
		sl__mhd_soon(x->socket->mhd);
	x->suspended = false;
}

void sl__exchanges_suspend(struct sl__mhd *m)
{
	SL_LIST_EACH(struct sl__exchange, x, &m->parking, parking) {
		sl_list_unlink(&x->parking);
		if (!x->parked)
			continue;
		MHD_suspend_connection(x->socket->connection);
		x->suspended = true;
	}
}

/* ---- callbacks ---------------------------------------------------------------------------------- */

/* Called before libmicrohttpd decodes the path; decoding makes %2F a slash and %00 the end. Returns the initial value
 * of *slot. If the query has too many parameters, replies and ends the connection. */
void *sl__exchange_target(void *cls, const char *uri, struct MHD_Connection *connection)
{
	struct sl__socket *s = sl__socket_of(connection);
	int parameters = 0;
	if (!s)
		return NULL;
	free(s->encoded);
	s->target_bytes = strlen(uri);
	s->encoded = strndup(uri, strcspn(uri, "?"));
	for (const char *at = strchr(uri, '?'); at; at = strpbrk(at + 1, "&"))
		parameters++;
	if (parameters > SL__PARAMETERS && !s->leaving)
		sl__refuse_parameters(s);
	return NULL;
}

static void finish(struct sl__exchange *x)
{
	sl_list_unlink(&x->parking);
	free(x->encoded);
	free(x);
}

static enum MHD_Result begin(struct sl__mhd *m, struct MHD_Connection *connection, const char *url,
			     const char *method, const char *version, void **slot)
{
	struct sl__socket *s = sl__socket_of(connection);
	struct sl__exchange *x = s && !s->leaving && s->encoded ? calloc(1, sizeof *x) : NULL;
	if (!x)
		return MHD_NO;
	x->socket = s;
	x->encoded = s->encoded;
	s->encoded = NULL;
	x->head = (struct sl__head){.method = method, .target = url, .encoded = x->encoded,
				    .interim = !strcmp(version, "HTTP/1.1")};
	x->reading = true;
	x->verdict = MHD_YES;
	sl__framing_check(x, method, version);
	sl__socket_begins(s, x);
	x->request = m->ops->header(s->peer, x, &x->head);
	if (x->request) {
		*slot = x;
		return x->verdict;
	}
	sl__socket_begins(s, NULL);
	finish(x);
	return MHD_NO;
}

enum MHD_Result sl__exchange_access(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
				    const char *version, const char *data, size_t *bytes, void **slot)
{
	struct sl__mhd *m = cls;
	struct sl__exchange *x = *slot;
	size_t n = *bytes;
	if (!x)
		return begin(m, connection, url, method, version, slot);
	x->verdict = MHD_YES;
	if (x->parked)
		return MHD_YES;
	if (!x->reading) {
		m->ops->resumed(x->request);
	} else if (n) {
		*bytes = 0;
		x->received += n;
		m->ops->data(x->request, data, n, sl__framing_of_chunk(x, data));
	} else {
		x->reading = false;
		m->ops->whole(x->request);
	}
	return x->verdict;
}

/* Called when the request or its connection has ended. */
void sl__exchange_completed(void *cls, struct MHD_Connection *connection, void **slot,
			    enum MHD_RequestTerminationCode code)
{
	struct sl__mhd *m = cls;
	struct sl__exchange *x = *slot;
	if (!x)
		return;
	*slot = NULL;
	sl__flow_detach(x);
	sl__socket_begins(x->socket, NULL);
	m->ops->ended(x->request, code != MHD_REQUEST_TERMINATED_COMPLETED_OK);
	finish(x);
}

void sl__exchange_send(struct sl__exchange *x, int status, struct sl__response *response)
{
	struct MHD_Response *reply = (struct MHD_Response *)response;
	x->reading = false;
	if (!reply) {
		x->verdict = MHD_NO;
		return;
	}
	/* libmicrohttpd takes a lone LF for the end of a line of chunks and trailers, where a proxy may not: for the proxy
	 * the next request begins elsewhere. So there is none. */
	if (x->head.chunked && !MHD_get_response_header(reply, "Connection"))
		MHD_add_response_header(reply, "Connection", "close");
	x->verdict = MHD_queue_response(x->socket->connection, (unsigned)status, reply);
	MHD_destroy_response(reply);
}

void sl__exchange_drop(struct sl__exchange *x)
{
	x->verdict = MHD_NO;
}

void sl__exchange_name(struct sl__exchange *x, const char *id)
{
	x->id = id;
}

bool sl__exchange_reading(const struct sl__exchange *x)
{
	return x->reading;
}

uint64_t sl__exchange_received(const struct sl__exchange *x)
{
	return x->received;
}
