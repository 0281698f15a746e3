/* connection.h -- one subscriber in the relay: its connection, an XPUB socket, and the bytes between them.
 *
 * Limits. What a subscriber sends is limited in bytes and in subscriptions a second; a message has at most 1024 bytes;
 * the handshake has a time limit, and so has a frame that is not read. Topics that match no job cost memory in libzmq,
 * so they are limited, too. The bytes of a frame are counted on their way out: when the last one is in the kernel, the
 * daemon is told, and chooses the next frame. So at most one frame is bound to a subscriber. */
#ifndef SL_RELAY_CONNECTION_H
#define SL_RELAY_CONNECTION_H

#include "daemon/relay/relay_internal.h"

/* Takes over fd, also after an error. The daemon is told of it, and of its end. -1: no memory. */
int sl__connection_create(struct sl__relay *r, int fd);
/* NULL: it has ended. */
struct sl__connection *sl__connection_find(struct sl__relay *r, uint64_t id);
/* Ends it without telling the daemon. */
void sl__connection_close(struct sl__connection *c);
void sl__connection_send(struct sl__connection *c, uint64_t frame);
/* Once a second, for all: limits of time, and what they may send until the next second. */
void sl__connections_tick(struct sl__relay *r);

#endif
