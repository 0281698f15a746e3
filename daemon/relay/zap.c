/* libzmq asks a socket at a fixed address whether a connection may proceed: a REP socket of this process, which asks
 * the daemon about keys. Requests are answered one after the other. The domain of a request is the id of its
 * connection. */
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "daemon/relay/connection.h"

#define PARTS 8        /* version, id, domain, address, identity, mechanism, key; and one more */
#define ID_BYTES 64

struct request {
	char id[ID_BYTES];
	size_t id_bytes;
	uint64_t connection;
	bool has_key;
	uint8_t key[SL_RELAY_KEY_BYTES];
};

static char request_id[ID_BYTES];   /* of the request that waits for its answer */
static size_t request_id_bytes;

/* Returns false if there is no whole request. */
static bool receive(void *zap, struct request *q)
{
	int n = 0, more = 1;
	*q = (struct request){.connection = 0};
	while (more) {
		zmq_msg_t part;
		zmq_msg_init(&part);
		if (zmq_msg_recv(&part, zap, ZMQ_DONTWAIT) < 0) {
			zmq_msg_close(&part);
			return false;
		}
		const char *data = zmq_msg_data(&part);
		size_t bytes = zmq_msg_size(&part);
		char domain[24] = "";
		if (n == 1 && bytes <= ID_BYTES) {
			memcpy(q->id, data, bytes);
			q->id_bytes = bytes;
		} else if (n == 2 && bytes < sizeof domain) {
			memcpy(domain, data, bytes);
			q->connection = strtoull(domain, NULL, 10);
		} else if (n == 6 && bytes == sizeof q->key) {
			memcpy(q->key, data, bytes);
			q->has_key = true;
		}
		more = zmq_msg_more(&part);
		n += n < PARTS;
		zmq_msg_close(&part);
	}
	return true;
}

static void reply(void *zap, bool may)
{
	const char *const parts[] = {"1.0", NULL, may ? "200" : "400", "", may ? "subscriber" : "", ""};
	for (int i = 0; i < 6; i++)
		zmq_send(zap, i == 1 ? request_id : parts[i], i == 1 ? request_id_bytes : strlen(parts[i]),
			 i < 5 ? ZMQ_SNDMORE : 0);
}

static void authenticate(struct sl__relay *r)
{
	struct request q;
	while (!r->asked && sl__zmq_readable(r->zap) && receive(r->zap, &q)) {
		struct sl__connection *c = sl__connection_find(r, q.connection);
		memcpy(request_id, q.id, q.id_bytes);
		request_id_bytes = q.id_bytes;
		if (c && q.has_key) {
			r->asked = q.connection;
			sl__relay_tell(r, SL_RELAY_KEY, q.connection, 0, q.key, sizeof q.key);
		} else {
			reply(r->zap, false);
		}
	}
}

void sl__zap_answer(struct sl__relay *r, uint64_t id, bool may)
{
	if (!r->asked || r->asked != id)
		return;
	r->asked = 0;
	reply(r->zap, may);
	authenticate(r);
}

static void on_request(uv_poll_t *poll, int status, int events)
{
	authenticate(poll->data);
}

int sl__zap_open(struct sl__relay *r)
{
	if (!(r->zap = zmq_socket(r->context, ZMQ_REP)) || zmq_bind(r->zap, "inproc://zeromq.zap.01") ||
	    uv_poll_init(&r->loop, &r->zap_poll, sl__zmq_fd(r->zap)))
		return -1;
	sl__zmq_set(r->zap, ZMQ_LINGER, 0);
	r->zap_poll.data = r;
	return uv_poll_start(&r->zap_poll, UV_READABLE, on_request);
}
