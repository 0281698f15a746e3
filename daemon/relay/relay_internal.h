/* relay_internal.h -- what the files of the relay's process share. Its loop's thread. */
#ifndef SL_RELAY_INTERNAL_H
#define SL_RELAY_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "daemon/relay/channel.h"
#include "daemon/util/list.h"

#define SL_RELAY_SLOTS 65536      /* an id has the slot of its connection in its lowest bits */

struct sl__frames;
struct sl__connection;

struct sl__relay {
	uv_loop_t loop;
	struct sl_channel *channel;
	void *context;                     /* of libzmq */
	struct sl__frames *frames;
	/* accept.c */
	int listening_fd;                  /* -1: not known yet */
	uv_poll_t listening;
	bool curve;                        /* new connections need keys */
	uint8_t secret_key[SL_RELAY_KEY_BYTES];
	size_t most;                       /* connections, with those that are being closed */
	uint64_t next_id;
	/* zap.c */
	void *zap;
	uv_poll_t zap_poll;
	uint64_t asked;                    /* the connection whose key the daemon is asked about; 0: none */
	/* connection.c */
	struct sl_list connections;
	size_t count_before;               /* their number at the last tick */
	int trims;                         /* ticks in which freed memory is given back */
	size_t closing;                    /* number of those that are not freed yet */
	struct sl__connection *slot[SL_RELAY_SLOTS];
};

/* ---- relay.c ---- */

/* Tells the daemon something about a connection. text: at most SL_RELAY_TEXT_BYTES - 1 bytes; NULL: none. */
void sl__relay_tell(struct sl__relay *r, enum sl_relay_kind kind, uint64_t id, uint32_t number, const void *text,
		    size_t bytes);
/* False as long as the daemon takes no messages; then nothing is read from subscribers. */
bool sl__relay_heard(const struct sl__relay *r);

/* ---- accept.c ---- */

void sl__accept_start(struct sl__relay *r, int fd);
/* To be called once a second: goes on after a lack of places or descriptors. */
void sl__accept_resume(struct sl__relay *r);

/* ---- zap.c: authentication, as libzmq asks for it (rfc.zeromq.org/spec/27) ---- */

int sl__zap_open(struct sl__relay *r);
void sl__zap_answer(struct sl__relay *r, uint64_t id, bool may);

/* ---- frames.c ---- */

struct sl__frames *sl__frames_create(void);
/* Maps the shared memory of fd and closes it. Failures show when the frame is sent. */
void sl__frames_add(struct sl__frames *all, uint64_t number, size_t bytes, int fd);
void sl__frames_drop(struct sl__frames *all, uint64_t number);
/* Sends a frame to an XPUB socket without copying it. Returns 0: libzmq has it; 1: nobody subscribes to it any more;
 * -1: there is no such frame, or no memory. *bytes: its length. */
int sl__frames_send(struct sl__frames *all, uint64_t number, void *xpub, size_t *bytes);

/* ---- reasons.c ---- */

/* Why a handshake failed, in words for the log, by the event of a monitor of libzmq. */
const char *sl__reason(uint16_t event, uint32_t value);
/* What monitors of libzmq 4.3 do not report. */
extern const char sl__reason_of_metadata[];

/* ---- libzmq.c: small calls of libzmq ---- */

void sl__zmq_set(void *socket, int option, int value);
int sl__zmq_fd(void *socket);
/* True if a message can be received. The descriptor of a socket only signals changes, so this must be asked after each
 * call of libzmq. */
bool sl__zmq_readable(void *socket);

#endif
