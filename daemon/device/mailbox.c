/* A linked list under a mutex; the reader takes the whole list at once, so the lock is held for a few instructions
 * however many messages there are. */
#include "daemon/device/mailbox.h"

#include <errno.h>
#include <stddef.h>
#include <time.h>

void sl_mailbox_init(struct sl_mailbox *box)
{
	pthread_mutex_init(&box->lock, NULL);
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&box->filled, &attributes);
	pthread_condattr_destroy(&attributes);
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

bool sl_mailbox_filled(struct sl_mailbox *box)
{
	pthread_mutex_lock(&box->lock);
	bool filled = box->head;
	pthread_mutex_unlock(&box->lock);
	return filled;
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

struct sl_message *sl_mailbox_wait_for(struct sl_mailbox *box, double ms)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	double seconds = (double)until.tv_sec + 1e-9 * (double)until.tv_nsec + 1e-3 * (ms > 0 ? ms : 0);
	until.tv_sec = (time_t)seconds;
	until.tv_nsec = (long)(1e9 * (seconds - (double)until.tv_sec));
	pthread_mutex_lock(&box->lock);
	while (!box->head && pthread_cond_timedwait(&box->filled, &box->lock, &until) != ETIMEDOUT)
		;
	struct sl_message *all = take_locked(box);
	pthread_mutex_unlock(&box->lock);
	return all;
}
