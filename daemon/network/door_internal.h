/* door_internal.h -- the two threads of the door (door.h): door.c is the side of the daemon's loop, door_thread.c has
 * the connections. They exchange messages by mailboxes. */
#ifndef SL_DOOR_INTERNAL_H
#define SL_DOOR_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "daemon/device/mailbox.h"
#include "daemon/util/list.h"
#include "daemon/network/door.h"
#include "daemon/network/tunnel.h"

#define SL__DOOR_SECRET_BYTES 32

enum sl__door_what { ADMIT, REFUSE, END, STOP, GREETED, AWAY, NOTE, ENDED, STOPPED };

struct sl__door_message {
	struct sl_message message;  /* first */
	enum sl__door_what what;
	uint64_t id, session;
	int fd;
	double grace_s;
	bool flag;
	char address[SL_DOOR_PLACE];
	char secret[2 * SL__DOOR_SECRET_BYTES + 1];
	char why[240];
	json_t *text;               /* owned; never shared by threads */
};

struct sl_door {
	/* the daemon's loop */
	uv_async_t wake;
	const struct sl_door_ops *ops;
	void *arg;
	uint64_t sessions_made;
	void (*closed)(void *arg);
	void *closed_arg;
	/* both */
	pthread_t thread;
	struct sl_mailbox to_thread, to_loop;
	_Atomic uint64_t connections, gone, crowded;
	/* the thread */
	uv_loop_t loop;
	uv_async_t called;
	uv_timer_t tick;
	uv_poll_t listening;
	int fd;
	struct sl_tls_keys *keys;
	struct sl_list strangers, sessions;
	uint64_t strangers_made;
	bool stopping, full;
};

/* A message without content; the receiver frees it, with what it holds. */
struct sl__door_message *sl__door_message(enum sl__door_what what, uint64_t id);
void sl__door_message_free(struct sl__door_message *m);
void sl__door_tell(struct sl_door *d, struct sl__door_message *m);  /* to the daemon's loop */

/* door_thread.c: starts the thread, which listens at d->fd. False: it could not be started. */
bool sl__door_thread_start(struct sl_door *d);

#endif
