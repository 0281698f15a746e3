/* watch_internal.h -- between watch.c, watches.c and readers.c. Loop thread. */
#ifndef SL_WATCH_INTERNAL_H
#define SL_WATCH_INTERNAL_H

#include "daemon/stream/watch.h"
#include "daemon/util/list.h"

struct sl_reader;

struct sl_watches {
	uv_loop_t *loop;
	const struct sl_config *config;
	const struct sl_watches_ops *ops;
	void *arg;
	struct sl_publisher *publisher;  /* NULL: off */
	struct sl_stream_keys *keys;     /* NULL: nobody needs one */
	struct sl_metric *frames;
	struct sl_list live;             /* watches whose jobs have a device */
	struct sl_list recent;           /* that ended not long ago, oldest first */
	uv_timer_t timer;                /* the next snapshot that is due */
	bool newcomers, stopping, destroyed;
	uint64_t newcomers_ms;           /* loop time of the last look */
	int handles;
	void (*closed)(void *arg);
	void *closed_arg;
};

struct sl_reader *sl__reader_first(struct sl_watch *w);
struct sl_reader *sl__reader_next(struct sl_reader *r);
struct sl_frame_form sl__reader_form(const struct sl_reader *r);
/* The sequence number of the frame that it has, or will have. */
uint32_t sl__reader_has(const struct sl_reader *r);
/* It has given away all that it was given: a frame would be sent at once. */
bool sl__reader_hungry(const struct sl_reader *r);
/* May destroy it. */
void sl__reader_give(struct sl_reader *r, struct sl_buffer *frame, uint32_t sequence);
void sl__reader_pass_over(struct sl_reader *r, uint32_t sequence);  /* there was no memory for a frame */
void sl__reader_end(struct sl_reader *r);  /* nothing comes any more; may destroy it */

/* A pump of all watches that have a device, in ms at the latest. */
void sl__watches_schedule(struct sl_watches *all, uint64_t ms);

#endif
