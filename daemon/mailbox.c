#include "daemon/mailbox.h"

#include <stddef.h>

void sl_mailbox_init(struct sl_mailbox *box)
{
	pthread_mutex_init(&box->lock, NULL);
	pthread_cond_init(&box->filled, NULL);
	box->head = NULL;
	box->tail = &box->head;
}

void sl_mailbox_finish(struct sl_mailbox *box)
{
	pthread_cond_destroy(&box->filled);
	pthread_mutex_destroy(&box->lock);
}

void sl_mailbox_put(struct sl_mailbox *box, struct sl_message *m)
{
	m->next = NULL;
	pthread_mutex_lock(&box->lock);
	*box->tail = m;
	box->tail = &m->next;
	pthread_cond_signal(&box->filled);
	pthread_mutex_unlock(&box->lock);
}

static struct sl_message *take_locked(struct sl_mailbox *box)
{
	struct sl_message *all = box->head;
	box->head = NULL;
	box->tail = &box->head;
	return all;
}

struct sl_message *sl_mailbox_take(struct sl_mailbox *box)
{
	pthread_mutex_lock(&box->lock);
	struct sl_message *all = take_locked(box);
	pthread_mutex_unlock(&box->lock);
	return all;
}

struct sl_message *sl_mailbox_wait(struct sl_mailbox *box)
{
	pthread_mutex_lock(&box->lock);
	while (!box->head)
		pthread_cond_wait(&box->filled, &box->lock);
	struct sl_message *all = take_locked(box);
	pthread_mutex_unlock(&box->lock);
	return all;
}
