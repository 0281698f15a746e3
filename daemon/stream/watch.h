/* watch.h -- sends the frames of one job to its readers.
 *
 * A watch belongs to a job, its owner, and serves the job's readers: long polls and chunked
 * streams over HTTP, subscribers over ZeroMQ. When a reader is ready for a newer frame and
 * the last frame is old enough, it requests a snapshot from the owner. It encodes each
 * requested form once, and sends the frames.
 *
 * The owner calls sl_watch_pump() when its state has changed, sl_watch_snapshot() with the
 * requested snapshot, and sl_watch_end() at its end. Then every reader gets the last frame,
 * which says how the job ended, and the end of its stream; later readers get the same. No
 * layout is copied from the device without readers. Loop thread. */
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

#define SL_WATCH_FORMS 4  /* number of forms whose newest frame a watch keeps for the next reader */

/* ---- shared by all watches of a server: frame rate, publisher, timer -------------------- */

struct sl_watches;

struct sl_watches_ops {
	/* The watch of a job by its id (26 characters); NULL: none. */
	struct sl_watch *(*find)(void *arg, const char *job);
	/* Work on the pool begins (by 1) or has ended (by -1); the server waits for it before it stops. */
	void (*work)(void *arg, int by);
};

/* Opens the publisher, unless config->zmq is empty. config and users are borrowed, and read again for each frame. If
 * the server needs tokens, subscribers need keys (CURVE), and get only frames that they may read. */
int sl_watches_create(struct sl_watches **out, uv_loop_t *loop, const struct sl_config *config,
		      const struct sl_users *users, struct sl_metrics *metrics, const struct sl_watches_ops *ops,
		      void *arg, struct sl_error *err);
/* The endpoint of the publisher; NULL: there is none. */
const char *sl_watches_endpoint(const struct sl_watches *all);
/* A key pair for a subscriber and the server's key (keys.h); new reference. NULL: no keys are needed, or no memory. */
json_t *sl_watches_key(struct sl_watches *all, const struct sl_principal *who);
/* Requests no more snapshots. */
void sl_watches_quiesce(struct sl_watches *all);
/* Disconnects the subscribers; closed runs on the loop afterwards. NULL all: closed does not run. */
void sl_watches_close(struct sl_watches *all, void (*closed)(void *arg), void *arg);
/* Call it after sl_watches_close() (closed may run later), when no watch is left. */
void sl_watches_destroy(struct sl_watches *all);

/* ---- one watch --------------------------------------------------------------------------- */

struct sl_watch_status {
	enum { SL_WATCH_IDLE, SL_WATCH_RUNNING, SL_WATCH_PAUSED, SL_WATCH_ENDED } state;
	int end;             /* enum sl_frame_end */
	uint32_t nodes;
	int dims;
	int iteration;
	double measure;
	bool values;         /* true: frames have dims values at each node, at model_time, and no layout */
	double model_time;
};

struct sl_watch_ops {
	void (*status)(void *owner, struct sl_watch_status *out);
	/* Requests a snapshot; the owner then calls sl_watch_snapshot(). quantised: uint16 suffices. False: it will not. */
	bool (*snapshot)(void *owner, bool quantised);
	/* Reads the result of a job that is done: y [nodes * dims], malloc'd. Pool thread. */
	int (*load)(void *owner, float **y, struct sl_error *err);
	/* Count references to the owner: one for each reader, and one during work on the pool. */
	void (*ref)(void *owner);
	void (*unref)(void *owner);
};

/* Embedded in its owner. Fields belong to watch.c and readers.c; `sequence` may be read. */
struct sl_watch {
	struct sl_watches *all;
	const struct sl_watch_ops *ops;
	void *owner;
	const char *job;               /* 26 characters, the owner's */
	struct sl_link link;           /* in sl_watches.live or recent */
	struct sl_list readers;
	uint32_t sequence;             /* of the newest frame; 0: there was none */
	struct sl_layout *layout;      /* of that frame, as long as readers may need it; or NULL */
	bool last;                     /* layout is the result */
	bool snapshotting, encoding, loading, gone;
	uint64_t snapshot_ms;          /* loop time of layout */
	double due_ms;                 /* loop time from which on the next snapshot may be requested */
	uint64_t ended_ms;             /* loop time of the end; 0: not yet, or before the server started */
	uint32_t published;            /* sequence of the last frame that was published */
	uint64_t published_stamp;      /* stamp of the newest subscription at that time */
	uint64_t asked_stamp;          /* stamp of the newest subscription to this job alone */
	struct {
		struct sl_frame_form form;
		uint32_t sequence;
		struct sl_buffer *frame;
	} cache[SL_WATCH_FORMS];
	int cache_next;
};

/* sequence: that of the last frame that a reader may have received before a restart. */
void sl_watch_init(struct sl_watch *w, struct sl_watches *all, const struct sl_watch_ops *ops, void *owner,
		   const char *job, uint32_t sequence);
void sl_watch_finish(struct sl_watch *w);  /* there must be no readers */

/* Checks whether readers need a new frame; the owner calls it when its state has changed. */
void sl_watch_pump(struct sl_watch *w);
/* Passes the requested snapshot, which is borrowed; NULL: there is none. */
void sl_watch_snapshot(struct sl_watch *w, struct sl_layout *layout);
/* The requested snapshot will not come. */
void sl_watch_lost(struct sl_watch *w);
/* Makes the last frame of the job. layout: its result, borrowed; NULL: it has none. Readers get the frame at the next
 * sl_watch_pump(), when the status is SL_WATCH_ENDED. */
void sl_watch_end(struct sl_watch *w, struct sl_layout *layout);
/* The job was deleted: ends the streams of its readers. */
void sl_watch_gone(struct sl_watch *w);

/* ---- readers over HTTP --------------------------------------------------------------------- */

/* Answers r with the newest frame after `after`, or 204 if there is none within wait_ms. */
void sl_watch_poll(struct sl_watch *w, struct sl_request *r, struct sl_frame_form form, uint32_t after,
		   uint64_t wait_ms);
/* Answers r with the values of the newest frame, as .npy or CSV; 204 if there is none in time. */
void sl_watch_values(struct sl_watch *w, struct sl_request *r, bool csv);
/* Answers r with a stream of the frames from now on, each preceded by its length. */
void sl_watch_stream(struct sl_watch *w, struct sl_request *r, struct sl_frame_form form);

#endif
