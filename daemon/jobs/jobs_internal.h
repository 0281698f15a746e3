/* jobs_internal.h -- what the files about jobs share. Loop thread. */
#ifndef SL_JOBS_INTERNAL_H
#define SL_JOBS_INTERNAL_H

#include <string.h>
#include <uv.h>

#include "core/embedding/embedding.h"
#include "daemon/config/daemon.h"
#include "daemon/device/device.h"
#include "daemon/device/scheduler.h"
#include "daemon/engines/affinity_cache.h"
#include "daemon/engines/engines.h"
#include "daemon/graphs/graphs.h"
#include "daemon/http/http.h"
#include "daemon/jobs/jobs.h"
#include "daemon/store/db.h"
#include "daemon/store/seal.h"
#include "daemon/stream/events.h"
#include "daemon/stream/watch.h"
#include "daemon/users/limits.h"
#include "daemon/users/projects.h"
#include "daemon/util/list.h"
#include "daemon/util/metrics.h"
#include "daemon/util/ulid.h"

#define SL__BUCKETS 4096

enum sl_job_state { SL_JOB_QUEUED, SL_JOB_RUNNING, SL_JOB_PAUSED, SL_JOB_DONE, SL_JOB_FAILED, SL_JOB_CANCELLED,
		    SL_JOB_STATES };
extern const char *const sl__job_state_name[];

/* Where a job is, as seen from inside. */
enum sl_job_stage {
	SL_STAGE_HELD,       /* paused before it had a place */
	SL_STAGE_AFTER,      /* waits for another job, or copies its layout */
	SL_STAGE_SEARCHING,  /* the neighbours of its points are being searched */
	SL_STAGE_WAITING,    /* in the backlog */
	SL_STAGE_PREPARING,  /* has a place; its affinities and files are being made ready */
	SL_STAGE_DEVICE,     /* the device thread has it */
	SL_STAGE_SAVING,     /* ended; its result or record is on the way to the disk */
	SL_STAGE_ENDED,
};


struct sl_job {
	struct sl_jobs *jobs;
	struct sl_link in_all, in_bucket;  /* in sl_jobs.all, and in one of sl_jobs.bucket */
	int references;      /* the table's and one for each piece of work that is under way */

	/* the record */
	char id[SL_ULID_BYTES];
	char graph[SL_ULID_BYTES];
	char *name;          /* or NULL */
	char user[SL_ULID_BYTES];  /* who submitted it; "": nobody was asked */
	char project[SL_ULID_BYTES];  /* that it is for; "": none */
	char *idempotency_key, *idempotency_hash;  /* or NULL */
	char batch[SL_ULID_BYTES];  /* that it is of, or "" */
	char after[SL_ULID_BYTES];  /* the job that it starts after, or "" */
	char from[SL_ULID_BYTES];   /* the same if its layout is still to be copied into the initial one, or "" */
	bool after_met;      /* that job is done */
	enum sl_job_state state;
	int priority;
	struct sl_params params;
	const char *asked;   /* engine asked for, one of sl_engine_words */
	struct sl_server_engine *engine;  /* that computes it */
	char device_id[24];  /* where it is, was last, or will be most likely; "cuda0" */
	uint32_t nodes;
	uint64_t created_ms, started_ms, finished_ms;   /* since 1970; 0: not yet */
	struct sl_status status;
	json_t *problem;     /* or NULL */
	json_t *quality;     /* as measured last, or NULL */
	json_t *notes;       /* an array of sentences, or NULL */
	double preparation_s;  /* from its place to the device; NAN: not there yet */
	bool has_initial;    /* its file exists */
	bool has_layout;     /* it has ended, and its layout is on the disk */
	bool has_checkpoint;
	int checkpoint_iteration;
	double checkpoint_seconds;

	/* the trace, kept until the job has ended (then it is on disk) */
	struct sl_trace_point *trace;
	int trace_count, trace_room;

	/* the way through */
	enum sl_job_stage stage;
	uint64_t key;                    /* for the device; a new one each time it is added */
	struct sl_link on_device;        /* in sl_jobs.on_device */
	struct sl_server_device *device;   /* where it has a place; else NULL */
	struct sl_waiting waiting;       /* in its engine's line */
	int ahead;                       /* jobs before it there, and their seconds: as of the last view of the line */
	double ahead_s;
	uint64_t bytes;                  /* of host memory that it counts for while it has a place */
	uint64_t device_bytes;           /* of device memory, in the same way */
	uint64_t placed_ns;              /* uv_hrtime() when it got it */
	struct sl_affinity *affinity;    /* a reference, while it has a place */
	bool pause, cancel;              /* asked for */
	bool copying;                    /* its initial layout */
	int saves;                       /* of the record, under way */
	struct sl_error unsaved;         /* why the last of them has failed; code 0: it has not */
	struct sl_link again;            /* in sl_jobs.unsaved: what failed is tried again */
	enum sl_job_state end;           /* SAVING: how it ended */
	struct sl_layout *last;          /* SAVING: its last layout, until that is on the disk; or NULL */
	bool awaited;                    /* for one look at all: another job is to start after it */
	bool deleted;                    /* out of the table */
	bool checkpointing;              /* asked for, or being written */
	bool writing_checkpoint;         /* the latter */
	bool alone;                      /* it ran when the device failed, beside others */
	bool checkpoint_again;           /* at the end: one more after that */
	uint64_t checkpointed_ms;        /* loop time of the last one */
	uint64_t recorded_iteration;     /* already counted in the metrics */

	/* watchers */
	struct sl_list waiters;          /* waiters.c: requests that wait for the job to change */
	uint64_t progressed_ms;          /* loop time when its progress was told last */
	struct sl_watch watch;           /* its layout and who follows that; watched.c */
	struct sl_file_mark checked;     /* the file of the layout that was found undamaged */
};

/* How long the jobs of a line wait, as of one turn of the loop. */
struct sl__line_view {
	uint64_t turn_ms, changes;           /* loop time; changes of the line */
	int running;                         /* jobs that have a place */
	double left_s[SL_PLACES_SMALL];      /* that they still take, the least first */
	double all_s;                        /* the sum of that */
};

struct sl_jobs {
	struct sl_daemon *d;
	struct sl_list all;                  /* struct sl_job by id, which is by age: the oldest first */
	struct sl_list bucket[SL__BUCKETS];  /* struct sl_job by a hash of their ids */
	int count[SL_JOB_STATES];
	char *folder;                        /* STATE/jobs */
	struct sl_engines *engines;
	struct sl__line_view view[SL_ENGINES_COUNT][2];  /* admission.c: of engine, and 1: its line of small jobs */
	struct sl_watches *watches;          /* who follows layouts; frames go out there */
	uint64_t key;
	struct sl_list on_device;            /* struct sl_job: jobs that a device's thread has */
	int active;                          /* jobs that have a place and are not paused */
	int placed;                          /* jobs that have a place */
	uint64_t used_bytes, memory_bytes;   /* of host memory, by jobs with a place and measurements of quality */
	uint64_t small_bytes;                /* ... of these, by small jobs */
	uv_timer_t tick;                     /* heartbeats, checkpoints, retention: once a second */
	struct sl_list measurements;         /* quality.c: of layouts, in line; the first is under way */
	struct sl_list batches;              /* queue/batch.c: struct sl_batch, the oldest first */
	struct sl_list shares;               /* shares.c: device time that users and projects have had */
	struct sl_list unsaved;              /* ending.c: jobs of which something could not be recorded */
	struct sl_list placements;           /* transform.c: of new points, in the same way */
	int ticks;
	int works;                           /* pool, data base, graph store: callbacks to come */
	/* the end */
	bool stopping;
	int closing;                         /* handles, threads */
	uint64_t stop_deadline_ms;
	void (*done)(void *arg);
	void *done_arg;
	struct sl_metric *metric_state[SL_JOB_STATES], *metric_iterations, *metric_slices, *metric_slice_seconds,
			  *metric_ended[3], *metric_wait, *metric_iterating;
};

static inline bool sl__job_ended(const struct sl_job *job)
{
	return job->state >= SL_JOB_DONE;
}

/* ---- table.c ------------------------------------------------------------- */

struct sl_job *sl__job_find(struct sl_jobs *j, const char *id);  /* NULL: none */
/* By id, or its first 6 characters or more. SL_NOTFOUND; SL_CONFLICT: several. */
int sl__job_match(struct sl_jobs *j, const char *text, struct sl_job **out, struct sl_error *err);
struct sl_job *sl__job_create(struct sl_jobs *j, const char *id);  /* not in the table yet */
void sl__job_insert(struct sl_job *job);
struct sl_job *sl__job_ref(struct sl_job *job);
void sl__job_unref(struct sl_job *job);
void sl__job_set_state(struct sl_job *job, enum sl_job_state state);
/* An ended one: at once it is in no list any more. done (or NULL) runs when it is gone for good, or is back since its
 * record could not be removed; not after an error here. */
int sl__job_delete(struct sl_job *job, sl_db_done_fn done, void *arg);
/* Writes the record; done may be NULL: then job->saves counts until it is safe. */
int sl__job_save(struct sl_job *job, enum sl_job_state state, void (*done)(void *arg, int status,
									   const struct sl_error *err));
void sl__works_done(struct sl_jobs *j);  /* one less */
void sl__job_notify(struct sl_job *job);  /* its state has changed */

/* ---- waiters.c: requests that wait for a job to change ------------------------ */

/* The request is answered with the job when met() holds, or after timeout_ms. */
void sl__job_wait(struct sl_job *job, struct sl_request *r, bool (*met)(const struct sl_job *job), int status,
		  uint64_t timeout_ms);
/* The same for a change of the job: if it could not be recorded the answer is why. */
void sl__job_wait_saved(struct sl_job *job, struct sl_request *r, bool (*met)(const struct sl_job *job),
			uint64_t timeout_ms);
void sl__job_answer_waiters(struct sl_job *job);

/* ---- control.c ----------------------------------------------------------- */

/* Puts a job that is in the table in line, and lets in who has room. */
void sl__job_enqueue(struct sl_job *job);
void sl__job_pause(struct sl_job *job);
void sl__job_resume(struct sl_job *job);
void sl__job_cancel(struct sl_job *job);
void sl__job_set_priority(struct sl_job *job, int priority);
void sl__job_steer(struct sl_job *job, const struct sl_params *params);
void sl__jobs_on_search(void *arg, const char *graph);  /* arg: the struct sl_jobs; a graph's search has ended */
/* Host memory that a job takes beside what is there already, but for its embedding. */
uint64_t sl__job_host_bytes(const struct sl_params *params, uint32_t nodes, uint64_t entries);
/* Entries of P, or a guess before the neighbours are there; and neighbours a point that these parameters need. */
uint64_t sl__job_entries(const struct sl_params *params, const struct sl_graph_record *graph);
uint32_t sl__job_neighbours(const struct sl_params *params, const struct sl_graph_record *graph);
void sl__job_note(struct sl_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- spec.c: what a request wants a job to be ------------------------------ */

struct sl_layout_record;

struct sl_job_spec {
	const struct sl_graph_record *graph;
	struct sl_params params;
	const char *name;         /* borrowed from the body, or NULL */
	const char *asked;        /* engine; one of sl_engine_words */
	struct sl_server_engine *engine;
	int64_t priority;
	bool dry_run;
	const json_t *rows;       /* given initial layout, borrowed, or NULL */
	const struct sl_job *source;  /* the job whose layout is the initial one, or NULL */
	const struct sl_job *after;   /* the job that it starts after, or NULL */
	const struct sl_layout_record *layout;  /* the uploaded layout that is, or NULL */
};
bool sl__job_spec_knows(const char *member);  /* Is it one of a request for a job? */
/* Everything but the rows is checked. */
int sl__job_spec_read(struct sl_jobs *j, const json_t *body, struct sl_job_spec *spec, struct sl_error *err);
/* The rows, checked: *out [nodes * dims] is the caller's to free(). */
int sl__job_spec_rows(const struct sl_job_spec *spec, float **out, struct sl_error *err);
json_t *sl__job_spec_estimate(const struct sl_job_spec *spec);  /* openapi.yaml: Estimate; new reference */

/* ---- results.c: replies made from a finished job's files, on the pool ------------------------ */

struct sl_result {
	/* for make(), on the pool; all read-only */
	const char *folder;
	char id[SL_ULID_BYTES], graph_id[SL_ULID_BYTES];
	uint32_t nodes;
	int dims;
	bool drop_leaf_edges;
	const struct sl_graph *names;   /* and labels of the nodes; NULL: the graph has been deleted */
	struct sl_content *content;     /* a reference; NULL with names */
	float *y;                       /* [nodes * dims] */
	struct sl_picture_form picture;
	/* what make() fills */
	void *bytes;                    /* malloc'd */
	size_t size;
	struct sl_error err;
	/* the loop's */
	struct sl_request *request;     /* NULL: the client is gone */
	int (*make)(struct sl_result *result);
	const char *content_type;
	char etag[64];
	struct sl_job *job;             /* a reference */
	int code;
};

/* Answers r with what make() makes; make() returns 0 or an error code. Copies `with`. */
void sl__result_reply(struct sl_job *job, struct sl_request *r, const struct sl_result *with);
/* 409 unless the job is done; true: answered. */
bool sl__result_missing(struct sl_job *job, struct sl_request *r);

extern const char *const sl__layout_type[];  /* media type, by enum sl_layout_form */
int sl__layout_csv(void **out, size_t *size, const struct sl_graph *names, const float *y, uint32_t n, int dims,
		   struct sl_error *err);
json_t *sl__layout_json(const char *job, const char *graph, const float *y, uint32_t n, int dims);
/* The text of it, malloc'd; steals object. */
int sl__layout_text(void **out, size_t *size, json_t *object, uint32_t n, struct sl_error *err);

/* ---- quality.c, transform.c ---------------------------------------------------------- */

void sl__measurements_pump(struct sl_jobs *j);  /* the first in line may have room now */
/* Those of this job, or all (NULL): who waits for them is told. */
void sl__measurements_cancel(struct sl_jobs *j, const struct sl_job *job);
void sl__placements_cancel(struct sl_jobs *j);  /* they end soon */

/* ---- engine.c --------------------------------------------------------------- */

/* Its engine, and the device that is most likely. */
void sl__job_set_engine(struct sl_job *job, const char *asked, struct sl_server_engine *engine);
/* At the start, of a job that had not ended: the engine asked for, or the one that has saved it; where that is gone,
 * the one that jobs get, from the beginning. */
void sl__job_take_up_engine(struct sl_job *job);
/* Its checkpoint is of no use. */
void sl__job_from_the_beginning(struct sl_job *job, const char *why);
/* Who waits in its line goes elsewhere, or fails. arg: the struct sl_jobs, as in all listeners. */
void sl__jobs_on_engine_gone(void *arg, struct sl_server_engine *e, const struct sl_error *why);

/* ---- admission.c, device_events.c, ending.c, checkpoint.c ---- */

void sl__jobs_pump(struct sl_jobs *j);                  /* lets in who has room */
void sl__job_place(struct sl_job *job, struct sl_server_device *device);  /* start.c: it has room */
struct sl_job *sl__job_of_waiting(struct sl_waiting *w);
int sl__job_small(const struct sl_job *job);            /* 1: it has a small job's line and places; else 0 */
void sl__job_join_line(struct sl_job *job, uint64_t bytes);
void sl__job_leave_line(struct sl_job *job);
double sl__job_expected_wait(const struct sl_job *job); /* seconds until it has a place; NAN: nobody knows */
json_t *sl__job_waiting_json(const struct sl_job *job); /* openapi.yaml: Waiting, or null; new reference */
void sl__job_book(struct sl_job *job, int by);          /* its host memory: 1 or -1 */
void sl__job_activate(struct sl_job *job, int by);      /* 1 or -1: it counts as active, or does no longer */
void sl__job_release_place(struct sl_job *job);
void sl__jobs_on_device_event(void *arg, struct sl_server_device *d, struct sl_device_event *e);
void sl__job_end(struct sl_job *job, enum sl_job_state state, struct sl_layout *layout);  /* records, then tells */
void sl__job_checkpoint(struct sl_job *job);
void sl__job_on_checkpoint(struct sl_job *job, struct sl_device_event *e);  /* takes its blob */
void sl__job_fail(struct sl_job *job, const struct sl_error *err);
/* Something of the job could not be recorded (err NULL: the data base is closed): whoever waits for it is told,
 * and it is tried again by sl__jobs_save_again(). */
void sl__job_unsaved(struct sl_job *job, const struct sl_error *err);
void sl__jobs_save_again(struct sl_jobs *j);
void sl__jobs_forget_unsaved(struct sl_jobs *j);        /* the server stops */
void sl__jobs_retain(struct sl_jobs *j, const struct sl_job *keep);
void sl__jobs_shutdown_step(struct sl_jobs *j);         /* jobs.c: something has finished */
void sl__job_remove_files(struct sl_job *job, const char *const *kinds);
uint64_t sl__wall_ms(void);

/* ---- shares.c: among projects and users ---------------------------------------------------- */

void sl__share_place(struct sl_job *job, int by);           /* it has one, 1, or gives it back, -1 */
/* Its user, or its project, has all the places for large jobs that one may have: "user", "project", or NULL. */
const char *sl__share_is_full(const struct sl_job *job);
void sl__share_charge(struct sl_job *job, double seconds);  /* of device time */
/* Jobs of a user or project that have a place, and the device memory that they take. */
void sl__share_running(struct sl_jobs *j, const char *account, int *jobs, uint64_t *device_bytes);
void sl__shares_destroy(struct sl_jobs *j);
/* Which large job is next? False: the line decides, since there are no users. *next NULL: none may come in now. */
bool sl__share_next(struct sl_jobs *j, struct sl_server_engine *e, struct sl_waiting **next);

/* ---- queue/limits.c: of users and projects ---------------------------------------------------- */

/* So many jobs like this one are too many for who sends the request: then it is answered. */
bool sl__limits_refuse(struct sl_jobs *j, struct sl_request *r, const struct sl_job_spec *spec, int count);
/* Does the job have to wait since its user or project has as much as it may? */
bool sl__limits_held(const struct sl_job *job, struct sl_limit_hit *hit);
/* The same for each one of a line, into its `held`. */
void sl__limits_hold(struct sl_jobs *j, struct sl_backlog *line);
/* Disk that jobs of a user or project take; arg: the struct sl_jobs. */
uint64_t sl__limits_disk_bytes(void *arg, const char *account);
/* Is the job of this user, or for this project? */
static inline bool sl__job_counts_for(const struct sl_job *job, const char *account)
{
	return account[0] && (!strcmp(job->user, account) || !strcmp(job->project, account));
}

/* ---- submission.c ------------------------------------------------------------------ */

/* One that is not in the table yet, with a new id; key and hash may be NULL. NULL: no memory. */
struct sl_job *sl__job_of_spec(struct sl_jobs *j, const struct sl_job_spec *spec, const char *key, const char *hash);
void sl__hash_body(const struct sl_request *r, char out[65]);

/* ---- queue/batch.c ------------------------------------------------------------------- */

int sl__batch_load(void *arg, const char *id, json_t *document);
void sl__batches_sweep(struct sl_jobs *j);                  /* at the start: those without a job go */
void sl__batches_destroy(struct sl_jobs *j);
void sl__batch_changed(struct sl_jobs *j, const char *id);  /* the state of one of its jobs has */
void sl__batch_job_gone(struct sl_jobs *j, const char *id); /* one was deleted */

/* ---- queue/after.c: jobs that start when another one is done -------------------------- */

/* May it go on? If not, it waits (stage AFTER), or has failed. */
bool sl__after_ready(struct sl_job *job);
void sl__after_taken_up(struct sl_job *job);   /* at the start: one that is paused may have to fail */
void sl__after_ended(struct sl_job *other);  /* who waits for it goes on, or fails */

/* ---- record.c ------------------------------------------------------------- */

int sl__job_iterations(const struct sl_job *job);  /* asked for, or with "auto" planned so far */
json_t *sl__job_progress_json(const struct sl_job *job);
json_t *sl__job_document(const struct sl_job *job, enum sl_job_state state);  /* for the data base */
/* The same as text, for the seal of a file; checkpoint: progress that the file has, or NULL. malloc'd; NULL: no
 * memory. */
char *sl__job_record(const struct sl_job *job, enum sl_job_state state, const struct sl_status *checkpoint);
int sl__job_from_document(struct sl_jobs *j, const char *id, json_t *document, struct sl_job **out);
json_t *sl__params_json(const struct sl_params *p);
/* One member of a request into p; err->pointer names it. */
int sl__params_from_json(struct sl_params *p, const struct sl_param_info *info, const json_t *value,
			 struct sl_error *err);
json_t *sl__trace_json(const char *id, int dims, const struct sl_trace_point *trace, int count);
/* An unknown member: names it and the nearest known one. */
int sl__unknown_member(const char *key, const char *const *also_known, struct sl_error *err);
int sl__job_state_parse(const char *text);  /* -1: none */

/* ---- watched.c -------------------------------------------------------------- */

extern const struct sl_watches_ops sl__watches_ops;    /* arg: the struct sl_jobs */
extern const struct sl_watch_ops sl__job_watch_ops;    /* owner: the struct sl_job */

/* ---- followed.c ------------------------------------------------------------------ */

void sl__jobs_be_followed(struct sl_jobs *j);    /* gives its sources to the event streams */
void sl__job_changed(const struct sl_job *job);  /* its record */
void sl__job_progressed(struct sl_job *job);     /* tells it a few times a second */

#endif
