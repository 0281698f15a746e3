/* relay.h -- the relay: a process that holds the connections of ZeroMQ subscribers, and libzmq.
 *
 * libzmq ends its process when it has no memory or loses a descriptor, and a fault in it would be one of the whole
 * server; so it runs in a process of its own, which the daemon starts and restarts (keeper.h). If it ends, subscribers
 * connect again, and nobody else notices. It knows nothing of users, jobs or rights: it tells the daemon who has
 * connected, with which key, and what they subscribe to; and the daemon tells it which frame goes to which subscriber.
 *
 * Each subscriber has an XPUB socket of its own, so a message goes to this subscriber alone, and closing the socket
 * ends it. libzmq cannot take over a connection, so the relay accepts the connection, lets the XPUB socket connect to
 * the relay over a local socket, and passes the bytes on both ways (connection.h). ZMTP and CURVE are libzmq's. */
#ifndef SL_RELAY_H
#define SL_RELAY_H

#define SL_RELAY_ARGUMENT "--relay"  /* of spacelandd: run as the relay; only the daemon uses it */
#define SL_RELAY_FD 3                /* its end of the channel */

/* Runs until the daemon's end of the channel is closed. Returns the exit status. */
int sl_relay_main(void);

#endif
