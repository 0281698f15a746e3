/* Frames in shared memory. libzmq sends them from there, in its own thread, and frees its reference when the last byte
 * is sent; so references are counted atomically. */
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zmq.h>

#include "daemon/relay/relay_internal.h"

#define BUCKETS 256

struct frame {
	struct sl_link link;
	uint64_t number;
	atomic_int references;
	size_t bytes;
	void *data;
};

struct sl__frames {
	struct sl_list bucket[BUCKETS];
};

static _Thread_local bool freed_here;

struct sl__frames *sl__frames_create(void)
{
	return calloc(1, sizeof(struct sl__frames));
}

static struct frame *find(struct sl__frames *all, uint64_t number)
{
	return SL_LIST_FIND(struct frame, f, &all->bucket[number % BUCKETS], link, f->number == number);
}

static void unref(struct frame *f)
{
	if (atomic_fetch_sub(&f->references, 1) > 1)
		return;
	munmap(f->data, f->bytes);
	free(f);
}

void sl__frames_add(struct sl__frames *all, uint64_t number, size_t bytes, int fd)
{
	if (fd < 0)
		return;
	void *data = mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	struct frame *f = data == MAP_FAILED ? NULL : calloc(1, sizeof *f);
	close(fd);
	if (f) {
		f->number = number;
		f->references = 1;
		f->bytes = bytes;
		f->data = data;
		sl_list_append(&all->bucket[number % BUCKETS], &f->link);
	} else if (data != MAP_FAILED) {
		munmap(data, bytes);
	}
}

void sl__frames_drop(struct sl__frames *all, uint64_t number)
{
	struct frame *f = find(all, number);
	if (!f)
		return;
	sl_list_unlink(&f->link);
	unref(f);
}

static void on_free(void *data, void *hint)
{
	unref(hint);
	freed_here = true;  /* of the thread that frees it: the loop's, if nobody has subscribed */
}

int sl__frames_send(struct sl__frames *all, uint64_t number, void *xpub, size_t *bytes)
{
	struct frame *f = find(all, number);
	zmq_msg_t m;
	if (!f || zmq_msg_init_data(&m, f->data, f->bytes, on_free, f))
		return -1;
	atomic_fetch_add(&f->references, 1);
	*bytes = f->bytes;
	freed_here = false;
	if (zmq_msg_send(&m, xpub, ZMQ_DONTWAIT) < 0)
		zmq_msg_close(&m);
	return freed_here;
}
