/* watch.h -- the layout of one job as its readers see it, and who gets which frame.
 *
 * A watch belongs to a job (its owner, of which it knows nothing) and stands between that and
 * the readers: long polls and chunked streams over HTTP, subscribers over ZeroMQ. It asks the
 * owner for a snapshot when a reader could take a newer frame and the last one is old enough,
 * encodes each form that somebody lacks once, and hands the frames out.
 *
 * The owner calls sl_watch_pump() when its state has changed, sl_watch_snapshot() with what
 * it was asked for, and sl_watch_end() at its end. From then on every reader gets the last
 * frame, which says how the job ended, and then the end of its stream; late comers get the
 * same. Nothing leaves the device while nobody looks. Loop thread. */
#ifndef SL_WATCH_H
#define SL_WATCH_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "core/error.h"
#include "daemon/config/config.h"
#include "daemon/device/layout.h"
#include "daemon/stream/frames.h"
#include "daemon/util/buffer.h"
#include "daemon/util/list.h"
#include "daemon/util/metrics.h"

struct sl_principal;
struct sl_publisher;
struct sl_request;
struct sl_users;
struct sl_watch;

#define SL_WATCH_FORMS 4  /* whose newest frames a watch keeps for the next reader */

/* ---- what all watches of a server share: frame rate, publisher, timer ------------------- */

struct sl_watches;

struct sl_watches_ops {
	/* The watch of a job by its id (26 characters); NULL: none. */
	struct sl_watch *(*find)(void *arg, const char *job);
	/* Work on the pool begins (1) or is done (-1): the server waits for it before it ends. */
	void (*work)(void *arg, int by);
};

/* Opens the publisher, unless config->zmq is empty. config is borrowed, and read again for each frame; so are
 * users. Where tokens are needed subscribers need keys (CURVE), and get what they may read. */
int sl_watches_create(struct sl_watches **out, uv_loop_t *loop, const struct sl_config *config,
		      const struct sl_users *users, struct sl_metrics *metrics, const struct sl_watches_ops *ops,
		      void *arg, struct sl_error *err);
/* Where frames are published; NULL: nowhere. */
const char *sl_watches_endpoint(const struct sl_watches *all);
/* A key pair for a subscriber and the server's key (keys.h); new reference. NULL: none are needed, or there is no
 * memory. */
json_t *sl_watches_key(struct sl_watches *all, const struct sl_principal *who);
/* No snapshots any more. */
void sl_watches_quiesce(struct sl_watches *all);
/* Disconnects the subscribers; closed runs on the loop when that is done. NULL all: it does not run. */
void sl_watches_close(struct sl_watches *all, void (*closed)(void *arg), void *arg);
/* After that (closed may still be to come), when no watch is left. */
void sl_watches_destroy(struct sl_watches *all);

/* ---- one watch --------------------------------------------------------------------------- */

struct sl_watch_status {
	enum { SL_WATCH_IDLE, SL_WATCH_RUNNING, SL_WATCH_PAUSED, SL_WATCH_ENDED } state;
	int end;             /* enum sl_frame_end */
	uint32_t nodes;
	int dims;
	int iteration;
	double kl;
	bool values;         /* at the nodes, dims of each, at model_time: no layout */
	double model_time;
};

struct sl_watch_ops {
	void (*status)(void *owner, struct sl_watch_status *out);
	/* Asks for a snapshot, which comes by sl_watch_snapshot(). quantised: uint16 will do. False: it will not come. */
	bool (*snapshot)(void *owner, bool quantised);
	/* Reads the result of a job that is done: y [nodes * dims], malloc'd. Pool thread. */
	int (*load)(void *owner, float **y, struct sl_error *err);
	/* References to the owner: one for each reader, and while work is under way. */
	void (*ref)(void *owner);
	void (*unref)(void *owner);
};

/* Embedded in its owner. Fields belong to watch.c and readers.c; `sequence` may be read. */
struct sl_watch {
	struct sl_watches *all;
	const struct sl_watch_ops *ops;
	void *owner;
	const char *job;               /* 26 characters, the owner's */
	struct sl_link link;           /* among those that have a device, or ended not long ago */
	struct sl_list readers;
	uint32_t sequence;             /* of the newest frame; 0: there was none */
	struct sl_layout *layout;      /* of that frame, while somebody may want it; or NULL */
	bool last;                     /* layout is the result */
	bool snapshotting, encoding, loading, gone;
	uint64_t snapshot_ms;          /* loop time of layout */
	double due_ms;                 /* loop time at which the next one may be asked for */
	uint64_t ended_ms;             /* loop time of the end; 0: not yet, or before the server started */
	uint32_t published;            /* sequence of the frame published last, */
	uint64_t published_stamp;      /* and the newest subscription then */
	uint64_t asked_stamp;          /* the newest subscription to this job alone */
	struct {
		struct sl_frame_form form;
		uint32_t sequence;
		struct sl_buffer *frame;
	} cache[SL_WATCH_FORMS];
	int cache_next;
};

/* sequence: the last one that a reader may have seen already. */
void sl_watch_init(struct sl_watch *w, struct sl_watches *all, const struct sl_watch_ops *ops, void *owner,
		   const char *job, uint32_t sequence);
void sl_watch_finish(struct sl_watch *w);  /* it has no readers any more */

/* Something has changed that may make a new frame wanted. */
void sl_watch_pump(struct sl_watch *w);
/* The snapshot asked for. Borrows it; NULL: there is none. */
void sl_watch_snapshot(struct sl_watch *w, struct sl_layout *layout);
/* A snapshot that was asked for will not come. */
void sl_watch_lost(struct sl_watch *w);
/* The last frame of the job gets its number: layout (borrowed) is its result, NULL: it has none. Readers are told by
 * the next sl_watch_pump(), when the status is SL_WATCH_ENDED. */
void sl_watch_end(struct sl_watch *w, struct sl_layout *layout);
/* The job is deleted: readers are told the end. */
void sl_watch_gone(struct sl_watch *w);

/* ---- readers over HTTP --------------------------------------------------------------------- */

/* Answers r with the newest frame after `after`, or 204 when there is none in time. */
void sl_watch_poll(struct sl_watch *w, struct sl_request *r, struct sl_frame_form form, uint32_t after,
		   uint64_t wait_ms);
/* Answers r with the values of the newest frame, as .npy or CSV; 204 when there is none in time. */
void sl_watch_values(struct sl_watch *w, struct sl_request *r, bool csv);
/* Answers r with the frames from now on, each after its length. */
void sl_watch_stream(struct sl_watch *w, struct sl_request *r, struct sl_frame_form form);

#endif
