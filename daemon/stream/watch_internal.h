/* watch_internal.h -- structures and functions that watch.c, watches.c and readers.c share. Loop thread. */
#ifndef SL_WATCH_INTERNAL_H
#define SL_WATCH_INTERNAL_H

#include "daemon/stream/watch.h"
#include "daemon/util/list.h"

struct sl_watches {
	uv_loop_t *loop;
	const struct sl_config *config;
	const struct sl_watches_ops *ops;
	void *arg;
	struct sl_publisher *publisher;  /* NULL: off */
	struct sl_stream_keys *keys;     /* of subscribers, on a server with tokens; NULL: no publisher */
	struct sl_metric *frames;
	struct sl_list live;             /* struct sl_watch: their jobs have a device */
	struct sl_list recent;           /* struct sl_watch: their jobs ended not long ago; the oldest first */
	uv_timer_t timer;                /* for the next snapshot that is due */
	bool newcomers, stopping, destroyed;
	uint64_t newcomers_ms;           /* loop time of the last check for new subscriptions */
	int handles;
	void (*closed)(void *arg);
	void *closed_arg;
};

/* One reader over HTTP: a long poll or a stream. readers.c */
struct sl_reader {
	struct sl_link link;           /* in sl_watch.readers */
	struct sl_watch *watch;        /* a reference to its owner */
	struct sl_frame_form form;
	uint32_t sequence;             /* sequence number of the last frame that it was given, or that passed it over */
	struct sl_request *request;    /* a long poll; else a stream: */
	enum { SL__AS_FRAME, SL__AS_NPY, SL__AS_CSV } as;  /* long poll: the format of the reply */
	struct sl_stream *stream;
	struct sl_buffer *waiting;     /* the next frame */
	struct sl_buffer *sending;
	size_t sent;                   /* bytes of it that were sent, including the length */
	bool end;                      /* the stream ends after `waiting` */
};

/* True if all its data was sent, so that a new frame would be sent at once. */
bool sl__reader_hungry(const struct sl_reader *r);
/* May destroy it. */
void sl__reader_give(struct sl_reader *r, struct sl_buffer *frame, uint32_t sequence);
void sl__reader_end(struct sl_reader *r);  /* ends its stream; may destroy it */

/* Pumps all live watches in at most ms milliseconds. */
void sl__watches_schedule(struct sl_watches *all, uint64_t ms);

#endif
