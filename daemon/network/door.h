/* door.h -- the port on which workers of other machines connect.
 *
 * A thread with a loop of its own accepts connections, does TLS, and carries the bytes of each admitted worker to and
 * from a local socket (tunnel.h); so handshakes of strangers and the encryption of layouts cost the daemon's loop
 * nothing. A stranger has a few seconds to finish the handshake and to greet (proto/worker.md); strangers are few at a
 * time, and when they are too many, the one that waits longest from the address with the most is dropped. The daemon's
 * loop decides about each greeting. A worker that comes again within the grace is known by its secret.
 *
 * Functions and callbacks: loop thread. */
#ifndef SL_DOOR_H
#define SL_DOOR_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "core/error.h"

#define SL_DOOR_SESSIONS 256     /* workers at a time */
#define SL_DOOR_STRANGERS 64     /* connections that have not been admitted */
#define SL_DOOR_GREETING 4096    /* most bytes of a greeting */
#define SL_DOOR_PLACE 64

struct sl_door;

struct sl_door_ops {
	/* A worker has greeted: sl_door_admit() or sl_door_refuse() follows. greeting: an object, borrowed. */
	void (*greeted)(void *arg, uint64_t stranger, const char *address, const json_t *greeting);
	/* An admitted worker is not connected any more, or is connected again ("": why). */
	void (*away)(void *arg, uint64_t session, bool away, const char *why);
	/* A worker's own message to the door: an object, borrowed. */
	void (*note)(void *arg, uint64_t session, const json_t *note);
	/* It is over: of itself (last: what it said, an object or NULL), or after sl_door_end(). The local socket is
	 * closed. */
	void (*ended)(void *arg, uint64_t session, const char *why, const json_t *last);
};

struct sl_door_options {
	const char *host;        /* an address */
	uint16_t port;
	const char *certificate, *key;  /* files */
};

/* Listens. *port: the one that was bound; pin: of its certificate (SL_TLS_PIN_BYTES). */
int sl_door_create(struct sl_door **out, uv_loop_t *loop, const struct sl_door_options *options,
		   const struct sl_door_ops *ops, void *arg, uint16_t *port, char *pin, struct sl_error *err);
/* Ends all sessions. `closed` runs on the loop when the thread has ended and the handle is closed. */
void sl_door_close(struct sl_door *d, void (*closed)(void *arg), void *arg);

/* Admits a stranger that has greeted. Returns the local socket, the caller's, or -1; *session names it. grace_s: how
 * long it may be away. */
int sl_door_admit(struct sl_door *d, uint64_t stranger, double grace_s, uint64_t *session);
/* Tells a stranger why not, and closes its connection. again: it may try once more later. */
void sl_door_refuse(struct sl_door *d, uint64_t stranger, const char *why, bool again);
/* Ends a session: the worker is told why, and whether it may come again. ended() follows. */
void sl_door_end(struct sl_door *d, uint64_t session, const char *why, bool again);

/* For metrics; all since the start. */
struct sl_door_counts {
	uint64_t connections;    /* accepted */
	uint64_t strangers;      /* of them, ended before they were admitted */
	uint64_t crowded;        /* of those, dropped since there were too many */
};
struct sl_door_counts sl_door_counts(const struct sl_door *d);

#endif
