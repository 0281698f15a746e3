/* mailbox.h -- a queue of messages from any thread to one reader.
 *
 * A message is any struct that begins with struct sl_message. sl_mailbox_put() transfers
 * ownership of the message, and of all memory that it points to, to the reader. The reader
 * takes all messages at once, in order, so that coalesced wake-ups (uv_async, eventfd) lose
 * none.
 *
 * The lock guards head and tail only; no other lock is ever taken with it. */
#ifndef SL_MAILBOX_H
#define SL_MAILBOX_H

#include <pthread.h>
#include <stdbool.h>

struct sl_message {
	struct sl_message *next;  /* the queue's */
};

struct sl_mailbox {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	struct sl_message *head, **tail;
};

void sl_mailbox_init(struct sl_mailbox *box);
void sl_mailbox_finish(struct sl_mailbox *box);  /* must be empty */

/* Any thread. Takes m. */
void sl_mailbox_put(struct sl_mailbox *box, struct sl_message *m);

/* True if a message waits. */
bool sl_mailbox_filled(struct sl_mailbox *box);

/* The reader: all messages in order, NULL when there is none. */
struct sl_message *sl_mailbox_take(struct sl_mailbox *box);

/* The same, but sleeps until there is one. */
struct sl_message *sl_mailbox_wait(struct sl_mailbox *box);

/* The same, for at most ms milliseconds; then NULL. */
struct sl_message *sl_mailbox_wait_for(struct sl_mailbox *box, double ms);

#endif
