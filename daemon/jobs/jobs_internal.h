/* jobs_internal.h -- struct sl_job, struct sl_jobs, and the functions that files of this room share. Loop thread. */
#ifndef SL_JOBS_INTERNAL_H
#define SL_JOBS_INTERNAL_H

#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "core/embedding/embedding.h"
#include "core/method/method.h"
#include "daemon/config/daemon.h"
#include "daemon/device/device.h"
#include "daemon/device/scheduler.h"
#include "daemon/engines/affinity_cache.h"
#include "daemon/engines/engines.h"
#include "daemon/graphs/graphs.h"
#include "daemon/http/http.h"
#include "daemon/jobs/jobs.h"
#include "daemon/jobs/machine.h"
#include "daemon/jobs/record/record.h"
#include "daemon/store/db.h"
#include "daemon/store/seal.h"
#include "daemon/stream/events.h"
#include "daemon/stream/watch.h"
#include "daemon/users/limits.h"
#include "daemon/users/projects.h"
#include "daemon/util/list.h"
#include "daemon/util/metrics.h"
#include "daemon/queue/fair_queue.h"
#include "daemon/queue/queue.h"
#include "daemon/util/ulid.h"

#define SL__BUCKETS 4096

/* Its run on a device. Owner: the files of run/. */
struct sl_job_run {
	/* start.c */
	uint64_t key;                    /* names the job to the device; a new one each time it is added */
	struct sl_link on_device;        /* in sl_jobs.on_device */
	struct sl_affinity *affinity;    /* a reference, while it has a place */
	struct sl_content *content;      /* a reference to the points that its run borrows, while it has a place */
	struct sl_points *table;         /* or the layout that its run borrows as points; owned */
	uint64_t settled_ms;             /* loop time when it was sent to its device */
	/* device_events.c */
	unsigned holds;                  /* pauses of its own that its device has reported under this key */
	bool alone;                      /* it was computed when the device failed, and has made no progress since */
	uint64_t recorded_iteration;     /* iterations already counted in the metrics */
	/* checkpoint.c */
	enum sl_checkpoint_stage checkpointing;
	uint64_t checkpointed_ms;        /* loop time of the last checkpoint */
	/* allocated.c */
	uint64_t charged_ms;             /* loop time until which its part of an allocation is counted; 0: it has none */
	uint64_t left_slurm;             /* the allocation of Slurm that it has left, until it starts again; or 0 */
	/* moves.c: moving to another device of its engine */
	struct sl_server_device *bound_for;  /* the device to which it moves; or NULL */
	struct sl_server_device *came_from;  /* the device that it has left, until it starts on another; or NULL */
	void *carried;                   /* malloc'd: the state of its run during a move; or NULL */
	uint64_t carried_bytes;
	struct sl_status carried_status;
	uint64_t stays_ms;               /* after a failed move: loop time before which it does not move again; or 0 */
	/* ending.c, until they are on the disk */
	struct sl_layout *last;          /* its last layout; or NULL */
	struct sl_method_result result;  /* its arrays; count 0: none */
};

/* Writes of its record. Owner: record/saving.c. */
struct sl_job_saving {
	int writes;                      /* in progress */
	struct sl_error problem;         /* of the last write; code 0: none */
	struct sl_link again;            /* in sl_jobs.unsaved: the write is to be repeated */
};

/* Where the table has it. Owner: table.c. */
struct sl_job_listed {
	struct sl_link all, bucket;      /* in sl_jobs.all, and in one of sl_jobs.bucket */
	struct sl_link keys;             /* in one of sl_jobs.keys, if it has an idempotency_key */
	struct sl_link unfinished;       /* in sl_jobs.unfinished, if it has not ended */
	struct sl_link dependants;       /* in sl_jobs.dependants, if it starts after another one and has not ended */
	enum sl_job_state counted;       /* the state in which it is counted in sl_jobs.count */
	bool awaited;                    /* another job starts after it; only valid within one pass over the jobs */
};

/* Clients that follow it. */
struct sl_job_readers {
	struct sl_list waiters;          /* record/waiters.c: requests that wait for the job to change */
	uint64_t progressed_ms;          /* record/followed.c: loop time when its progress was last published */
	struct sl_watch watch;           /* run/watched.c: its layout and the readers of its frames */
	struct sl_file_mark checked;     /* results/results.c: version of the layout's file whose seal was checked last */
};

struct sl_job {
	struct sl_jobs *jobs;
	int references;                  /* one for the table, and one for each piece of work in progress */
	struct sl_machine life;          /* steps.c: its stage, wish and state; only sl__job_step() changes it */
	struct sl_job_listed listed;     /* table.c */
	struct sl_job_record record;     /* record/record.h: what is stored and shown */
	struct sl_place place;           /* admission.c, queue/queue.h: in a line, or on a device */
	struct sl_job_run run;           /* run/: its run on a device */
	struct sl_job_saving saving;     /* record/saving.c: writes of its record */
	struct sl_job_readers readers;
};

/* The waiting times of a line, as of one turn of the loop. */
struct sl__line_view {
	uint64_t turn_ms, changes;           /* loop time; the line's count of changes */
	int running;                         /* jobs that have a place */
	double left_s[SL_PLACES_SMALL];      /* the seconds that each of them still takes, in ascending order */
	double all_s;                        /* the sum of left_s */
};

/* The options result_retention_s and max_finished_jobs, and those of them that are in force (record/retention.c). */
struct sl__retention_rule {
	double seconds;   /* 0: jobs are kept without limit */
	int64_t most;     /* 0: any number */
};
struct sl__retention {
	struct sl__retention_rule rule, asked;  /* in force; asked for and not confirmed */
	int64_t pending;      /* jobs that `asked` would delete in addition; 0: nothing is to be confirmed */
	uint64_t since_ms;    /* since 1970: when this was noticed */
	uint64_t told_ms;     /* loop time of the last line about it in the log */
	int64_t protected;    /* ended jobs that are not removed, as of the last look */
};

struct sl_jobs {
	struct sl_daemon *d;
	struct sl_list all;                  /* struct sl_job by id, which is by age: the oldest first */
	struct sl_list bucket[SL__BUCKETS];  /* struct sl_job by a hash of their ids */
	struct sl_list keys[SL__BUCKETS];    /* struct sl_job by a hash of their idempotency_key */
	struct sl_list unfinished;           /* those that have not ended, the oldest first */
	struct sl_list dependants;           /* those that start after another one */
	int count[SL_JOB_STATES];
	char *folder;                        /* STATE/jobs */
	struct sl_engines *engines;
	struct sl__line_view view[SL_ENGINES_COUNT][2];  /* admission.c: by engine; [1]: its line of small jobs */
	struct sl_watches *watches;          /* the readers of frames */
	uint64_t key;                        /* the last sl_job.key */
	struct sl_list on_device;            /* struct sl_job: jobs that a device's thread has */
	uv_timer_t tick;                     /* once a second: heartbeats, checkpoints, retention */
	struct sl_list measurements;         /* results/quality.c: measurements in line; the first is in progress */
	struct sl_list batches;              /* results/batch/: struct sl_batch, the oldest first */
	struct sl_queue queue;
	struct sl_job *mover;                /* run/moves.c: the one job that is moving to another device; or NULL */
	uint64_t balanced_ms;                /* loop time when moves were last considered */
	struct sl_list unsaved;              /* run/ending.c: jobs with a write that failed */
	struct sl_list rows;                 /* results/rows.c: placements of new points, predictions, samples */
	struct sl_fair_queue fair_queue;     /* the order in which they compute */
	struct sl__retention retention;
	bool saved;                          /* jobs may be PARKED because a drain was due (upkeep/maintenance.h) */
	uint64_t ticked_ms;                  /* loop time of the last tick */
	int ticks;
	int works;                           /* callbacks to come from the pool, the data base, the graph store */
	/* set by jobs.c, for its parts: */
	void (*worked)(struct sl_jobs *j);   /* a piece of work has ended */
	void (*pump)(struct sl_jobs *j);     /* memory or a place has become free, or a job waits: starts what has room */
	/* stopping the server */
	bool stopping;
	int closing;                         /* handles and threads that are being closed */
	bool closes;         /* its parts are being closed, or are closed; work that ends later changes nothing */
	uint64_t stop_deadline_ms;
	void (*done)(void *arg);
	void *done_arg;
	struct sl_metric *metric_state[SL_JOB_STATES], *metric_iterations, *metric_slices, *metric_slice_seconds,
			  *metric_ended[3], *metric_wait, *metric_iterating, *metric_moves;
};

static inline struct sl_job *sl__job_of_waiting(struct sl_waiting *w)
{
	return SL_LIST_ITEM(struct sl_job, &w->link, place.waiting.link);
}

/* 1: it uses the line and places of small jobs; else 0. */
static inline int sl__job_small(const struct sl_job *job)
{
	return job->place.small;
}

static inline bool sl__job_ended(const struct sl_job *job)
{
	return job->life.state >= SL_JOB_DONE;
}

/* ---- table.c ------------------------------------------------------------- */

struct sl_job *sl__job_find(struct sl_jobs *j, const char *id);  /* NULL: none */
/* The job that this user submitted with this Idempotency-Key; NULL: none. */
struct sl_job *sl__job_of_key(struct sl_jobs *j, const char *user, const char *key);
/* Finds a job by its id, or by at least 6 leading characters of it. SL_NOTFOUND: none; SL_CONFLICT: several. */
int sl__job_match(struct sl_jobs *j, const char *text, struct sl_job **out, struct sl_error *err);
struct sl_job *sl__job_create(struct sl_jobs *j, const char *id);  /* does not insert it into the table */
void sl__job_insert(struct sl_job *job);
/* Takes what the record says about the job's graph; g NULL: the graph is gone. */
void sl__job_know_data(struct sl_job *job, const struct sl_graph_record *g);
void sl__job_destroy(struct sl_job *job);  /* when the last reference is gone */

static inline struct sl_job *sl__job_ref(struct sl_job *job)
{
	job->references++;
	return job;
}

static inline void sl__job_unref(struct sl_job *job)
{
	if (!--job->references)
		sl__job_destroy(job);
}

void sl__job_leave_table(struct sl_job *job);
void sl__job_join_table(struct sl_job *job);
void sl__job_show(struct sl_job *job);  /* its state has changed: corrects the numbers of jobs, and tells clients */
/* Deletes a job that has ended; it leaves all lists at once. done (or NULL) runs when the record is removed, or when
 * that failed and the job is back in the lists. It does not run if this function returns an error. */
int sl__job_delete(struct sl_job *job, sl_db_done_fn done, void *arg);
/* Writes the record. done may be NULL; then job->saving.writes counts the write until it is safe. */
int sl__job_save(struct sl_job *job, sl_db_done_fn done);
void sl__job_record_change(struct sl_job *job);  /* the same; without memory, it is tried again later */
/* One of j->works has ended; the stop of the server may wait for it. */
static inline void sl__works_done(struct sl_jobs *j)
{
	j->works--;
	j->worked(j);
}

void sl__job_notify(struct sl_job *job);  /* record/followed.c: its state has changed */

/* Publishes its record. */
static inline void sl__job_changed(const struct sl_job *job)
{
	sl_events_changed(job->jobs->d->events, SL_EVENTS_JOB, job->record.id);
}

/* ---- steps.c ------------------------------------------------------------------ */

/* The event has come: changes the job's stage, and does what follows. Returns false, and changes nothing, if there was
 * no memory for a message to the device. Before some events the caller sets fields that the actions read: `device`
 * before PLACED, waiting.bytes before the job joins a line, `last` and `result` before its end. */
bool sl__job_step(struct sl_job *job, enum sl_job_event event);

/* ---- record/owner.c ------------------------------------------------------------ */

void sl__job_take_owner(struct sl_job *job);  /* its owner, from the record of its rights */
/* The user to whom the job or batch belongs; now: the one of its own record. */
const char *sl__owner_of(const struct sl_jobs *j, const char *id, const char *now);
void sl__batch_owner_changed(struct sl_jobs *j, const char *id);  /* results/batch/; nothing for other ids */

/* ---- record/waiters.c: requests that wait for a job to change ------------------------ */

/* Answers the request with the job when met() is true, or after timeout_ms. */
void sl__job_wait(struct sl_job *job, struct sl_request *r, bool (*met)(const struct sl_job *job), int status,
		  uint64_t timeout_ms);
/* The same after a change of the job. If the change could not be recorded, the answer is that error. */
void sl__job_wait_saved(struct sl_job *job, struct sl_request *r, bool (*met)(const struct sl_job *job),
			uint64_t timeout_ms);
void sl__job_answer_waiters(struct sl_job *job);

/* ---- run/control.c ----------------------------------------------------------- */

/* What the job waits for: answers with an event (machine.h, CHECK). */
void sl__job_check(struct sl_job *job);
void sl__job_set_priority(struct sl_job *job, int priority);
void sl__job_steer(struct sl_job *job, const struct sl_work *work);  /* the parameters in it */
void sl__jobs_on_search(void *arg, const char *graph);  /* a graph's neighbour search has ended; arg: struct sl_jobs */

/* ---- results.c: replies made on the pool from the files of a job that is done ------------------ */

struct sl_result {
	/* read by make(), on the pool */
	const char *folder;
	char id[SL_ULID_BYTES], graph_id[SL_ULID_BYTES];
	uint32_t nodes;
	int dims;                       /* of its layout; 0: make() needs no layout */
	bool drop_leaf_edges;
	const char *array;              /* name of an array, for arrays.c */
	enum sl_layout_form form;       /* of the array */
	const struct sl_graph *names;   /* has names and labels of the nodes; NULL: the graph was deleted */
	struct sl_graph shown;          /* what names points to: the graph with those that the reader may see; borrowed */
	struct sl_content *content;     /* a reference that keeps names; or NULL */
	struct sl_content *neighbours;  /* of pictures, where the colours need them; or NULL */
	char *columns_path;             /* of pictures: of the columns of labels */
	char own_labels[64];            /* of pictures: name of the labels that came with the graph */
	float *y;                       /* [nodes * dims] */
	struct sl_picture_form picture;
	json_t *cluster_names;          /* of pictures with names of clusters: those given by hand; or NULL. Owned */
	bool blind;                     /* the reader may not read the graph */
	struct sl_account account;      /* of what these names take */
	/* written by make() */
	struct sl_buffer *text;         /* the reply, or */
	int fd;                         /* the file that is the reply; -1: none */
	uint64_t bytes;                 /* of this file */
	struct sl_file_mark mark;       /* of the layout's file, if it is the reply: its version */
	struct sl_error err;
	/* used by the loop */
	struct sl_request *request;     /* NULL: the client is gone */
	int (*make)(struct sl_result *result);
	const char *content_type;       /* NULL: the reply is `json` */
	char etag[64];
	struct sl_job *job;             /* a reference */
	int code;
};

/* Answers r with what make() gives. make() returns 0 or an error code. Copies `with`. */
void sl__result_reply(struct sl_job *job, struct sl_request *r, const struct sl_result *with);
/* The same, with y, and with names and content of the graph if it is there. */
void sl__result_reply_layout(struct sl_job *job, struct sl_request *r, const struct sl_result *with);
/* Answers with 409 and returns true, unless the job is done. */
bool sl__result_missing(struct sl_job *job, struct sl_request *r);

/* arrays.c: reads an array of a job that is done from its file. Its data follow the header in *file, which the caller
 * frees with free(), also after an error. Pool thread. */
int sl__array_read(const char *folder, const char *id, const char *name, struct sl_method_array *a, void **file,
		   struct sl_error *err);

extern const char *const sl__layout_type[];  /* media types, by enum sl_layout_form */

/* ---- record/methods.c ------------------------------------------------------------------------ */

int sl__work_dims(const struct sl_work *w);              /* of its layout; 1: it gives none */
json_t *sl__work_params_json(const struct sl_work *w);
/* The data of the graph, or those of the job's graph, of which a part is known after its deletion. */
struct sl_method_data sl__data_of(const struct sl_graph_record *g);
struct sl_method_data sl__job_data(const struct sl_job *job);
/* Which P the run needs, and what an engine computes. False: the method has no P. */
bool sl__work_affinities(const struct sl_work *w, struct sl_affinities_params *out);
bool sl__work_settings(const struct sl_work *w, uint32_t nodes, struct sl_settings *out);
/* Entries of P, or an estimate before the neighbours are found; neighbours of each point that the run needs. g may be
 * NULL. 0: none. */
uint64_t sl__work_entries(const struct sl_work *w, const struct sl_graph_record *g);
uint32_t sl__work_neighbours(const struct sl_work *w, const struct sl_graph_record *g);
/* Host memory of making P with so many entries. */
uint64_t sl__work_affinities_bytes(const struct sl_work *w, uint32_t nodes, uint64_t entries);
/* Reads a job's record; w->method is set. An error names a parameter, or a value, that this version does not have. */
int sl__work_read(struct sl_work *w, const json_t *document, struct sl_error *err);
int sl__work_iterations(const struct sl_work *w);       /* as far as known before the run */
int sl__work_initial_dims(const struct sl_work *w);     /* columns of the file `initial` */
uint32_t sl__work_start_rows(const struct sl_work *w, uint32_t nodes);  /* the shape of the file `start` */
int sl__work_start_columns(const struct sl_work *w);
/* After the job's end: corrects the forecasts for its method and engine. */
void sl__job_learn(struct sl_job *job);
/* True if the engine's devices compute a run of a method on points or edges (core/method/method.h, attach). */
bool sl__work_helped(const struct sl_work *w, const struct sl_server_engine *engine);
/* Forecasts of device memory, host memory with affinities of so many entries (_prepared_: without the memory of a
 * device that is the processor), disk space, and seconds. */
uint64_t sl__work_prepared_bytes(const struct sl_work *w, uint32_t nodes, uint64_t entries);
uint64_t sl__work_device_bytes(const struct sl_work *w, const struct sl_server_engine *engine, uint32_t nodes);
uint64_t sl__work_host_bytes(const struct sl_work *w, const struct sl_server_engine *engine, uint32_t nodes,
			     uint64_t entries);
uint64_t sl__work_disk_bytes(const struct sl_work *w, uint32_t nodes);
double sl__work_seconds(const struct sl_work *w, const struct sl_server_engine *engine, uint32_t nodes,
			uint64_t entries);
json_t *sl__table_json(const struct sl_method *method, const struct sl_method_result *result);  /* new, or NULL */
json_t *sl__results_json(const struct sl_method *method);  /* names of its arrays; new reference */
double sl__job_forecast(const struct sl_job *job);         /* seconds of the whole run */
void sl__job_release_input(struct sl_job *job);            /* after the run that borrows it has ended */

/* ---- results/quality.c, results/rows.c ---------------------------------------------------------- */

void sl__measurements_pump(struct sl_jobs *j);  /* starts the first in line, if it has room */
/* Cancels the measurements of this job, or all (NULL), and answers the requests that wait for them. */
void sl__measurements_cancel(struct sl_jobs *j, const struct sl_job *job);
void sl__rows_cancel(struct sl_jobs *j);  /* results/rows.c: they end soon after */

/* ---- run/engine.c --------------------------------------------------------------- */

/* Sets the job's engine and its most likely device. */
void sl__job_set_engine(struct sl_job *job, const char *requested, struct sl_server_engine *engine);
/* When the server starts, chooses the engine of a job that had not ended: the requested engine, or the engine that
 * saved its checkpoint. If that is gone, the job gets the default engine and starts from the beginning. */
void sl__job_take_up_engine(struct sl_job *job);
/* Drops the job's checkpoint, so that it starts from the beginning. */
void sl__job_from_the_beginning(struct sl_job *job, const char *why);
/* An engine is gone: the jobs in its line get another engine, or fail. arg: the struct sl_jobs, as in all listeners. */
void sl__jobs_on_engine_gone(void *arg, struct sl_server_engine *e, const struct sl_error *why);

/* ---- run/allocated.c: engine slurm ---------------------------------------------- */

int sl__allocated_create(struct sl_jobs *j, struct sl_error *err);  /* d->slurm, if the configuration has it */
void sl__allocated_placed(struct sl_job *job);            /* it has a place there: counts its time */
void sl__allocated_started(struct sl_job *job);           /* it is on a device: notes in which allocation */
void sl__allocated_left(struct sl_job *job);              /* it has lost the device, or left it with its state */
/* Its device is lost: notes why. True: that has happened too often, and it has failed. */
bool sl__allocated_lost(struct sl_job *job, const struct sl_error *why);
void sl__allocated_gives_place(struct sl_job *job);       /* it leaves its device now */
void sl__allocated_account(struct sl_jobs *j);            /* counts the time of allocations */

/* ---- admission.c; run/: device_events.c, ending.c, checkpoint.c ---- */

void sl__place_start(struct sl_place *p);               /* the job's turn has come */
void sl__job_place(struct sl_job *job, struct sl_server_device *device);  /* gives the job its place */
void sl__job_take_place(struct sl_job *job);            /* counts it */
void sl__job_prepare(struct sl_job *job);               /* run/start.c: it has a place */
void sl__job_join_line(struct sl_job *job);
void sl__job_leave_line(struct sl_job *job);
double sl__job_remaining_s(const struct sl_job *job);   /* seconds to its end, alone on its device; 0: unknown */
json_t *sl__job_waiting_json(const struct sl_job *job); /* openapi.yaml: Waiting, or null; new reference */
void sl__job_activate(struct sl_job *job);              /* counts it as active */
void sl__job_deactivate(struct sl_job *job);            /* no longer */
void sl__job_give_place(struct sl_job *job);            /* run/start.c: its run on the device is over */
void sl__jobs_on_device_event(void *arg, struct sl_server_device *d, struct sl_device_event *e);
/* run/ending.c: its results are complete; they are written, then its end, which is published after that. */
void sl__job_begin_end(struct sl_job *job);
void sl__job_save_result(struct sl_job *job);
void sl__job_save_end(struct sl_job *job);
void sl__job_publish_end(struct sl_job *job);
void sl__job_checkpoint(struct sl_job *job, enum sl_checkpoint_event event);  /* DUE, NEWER, GONE */
void sl__job_checkpoint_paused(struct sl_job *job);     /* NEWER */
void sl__job_on_checkpoint(struct sl_job *job, struct sl_device_event *e);  /* takes the event's blob */
void sl__job_keep_carried(struct sl_job *job);          /* makes the state that it carries its checkpoint */
void sl__job_fail(struct sl_job *job, const struct sl_error *err);
void sl__job_fail_by(struct sl_job *job, enum sl_job_event event, const struct sl_error *err);  /* FAIL, COPY_FAILED */
/* A write for the job failed (err NULL: the data base is closed). Answers the requests that wait for it;
 * sl__jobs_save_again() repeats it. */
void sl__job_unsaved(struct sl_job *job, const struct sl_error *err);
void sl__job_try_again(struct sl_job *job);             /* a file that it needs did not fit on the disk: repeats it */
void sl__jobs_save_again(struct sl_jobs *j);
void sl__jobs_forget_unsaved(struct sl_jobs *j);        /* when the server stops */
/* record/retention.c: deletes the oldest ended jobs beyond number and age. spared: a job that has just ended and is not
 * deleted; then only the number counts. */
void sl__jobs_retain(struct sl_jobs *j, const struct sl_job *spared);
void sl__retention_start(struct sl_jobs *j);               /* before any job may be deleted */
/* record/expiry.c: since 1970, when the job is deleted by age; 0: not known, or never. The same by another rule. */
uint64_t sl__job_expires_ms(const struct sl_job *job);
double sl__job_expires_by(const struct sl_job *job, const struct sl__retention_rule *rule);
/* The seconds that it may be running: the least of the limits of the job, its project and the server; 0: none. *whose
 * (or NULL): which one it is. */
double sl__job_time_limit(const struct sl_job *job, const char **whose);
bool sl__job_is_kept(const struct sl_job *job);       /* by its owner or its project */
bool sl__job_is_protected(const struct sl_job *job);  /* the same, or it has a valid link: it is not deleted now */
/* SL_CONFLICT: the user keeps as many jobs as allowed. */
int sl__job_may_keep(const struct sl_job *job, const struct sl_principal *who, struct sl_error *err);
void sl__job_remove_files(struct sl_job *job, const char *const *kinds);

/* ---- limits.c: limits of users and projects ----------------------------------------------------- */

/* Bytes that a search of neighbours before the job adds to the files of its points. */
uint64_t sl__limits_search_bytes(const struct sl_job_spec *spec);
/* Answers the request and returns true if `count` more jobs like this one exceed max_jobs, or a limit of
 * its user or project. */
bool sl__limits_refuse(struct sl_jobs *j, struct sl_request *r, const struct sl_job_spec *spec, int count);
/* The same for max_jobs only. */
bool sl__limits_refuse_number(struct sl_jobs *j, struct sl_request *r, int count);
/* Answers the request and returns true if the changed parameters exceed the limit of disk space. */
bool sl__limits_refuse_change(struct sl_job *job, struct sl_request *r, const struct sl_work *to);
/* Bytes on disk of the jobs of a user or project; arg: the struct sl_jobs. */
uint64_t sl__limits_disk_bytes(void *arg, const char *account);
/* True if the job is of this user or for this project. */
static inline bool sl__job_counts_for(const struct sl_job *job, const char *account)
{
	return account[0] && (!strcmp(job->record.user, account) || !strcmp(job->record.project, account));
}

/* ---- submission.c ------------------------------------------------------------------ */

/* Makes a job with a new id, without inserting it into the table; key and hash may be NULL. NULL: no memory. */
struct sl_job *sl__job_of_spec(struct sl_jobs *j, const struct sl_job_spec *spec, const char *key, const char *hash);
void sl__hash_body(const struct sl_request *r, char out[65]);

/* ---- results/batch/ -------------------------------------------------------------------------- */

int sl__batch_load(void *arg, const char *id, json_t *document);
void sl__batches_sweep(struct sl_jobs *j);                  /* when the server starts: deletes batches without jobs */
void sl__batches_destroy(struct sl_jobs *j);
void sl__batch_changed(struct sl_jobs *j, const char *id);  /* the state of one of its jobs has changed */
void sl__batch_job_gone(struct sl_jobs *j, const char *id); /* one of its jobs was deleted */

/* ---- run/after.c: jobs that start when another one is done -------------------------- */

/* True if the job may go on. If not, it waits, copies the other job's layout, or has failed. */
bool sl__after_ready(struct sl_job *job);
void sl__after_look_held(struct sl_job *job);  /* a paused job: copies that layout, or fails, before it is resumed */
void sl__after_copy(struct sl_job *job);
void sl__after_met(struct sl_job *job);        /* the wait is over */
void sl__after_drop_copy(struct sl_job *job);  /* nobody needs it */
void sl__after_ended(struct sl_job *other);    /* the jobs that wait for it continue, or fail */

/* ---- run/moves.c: jobs change from a crowded device to a free one of their engine ------- */

void sl__jobs_balance(struct sl_jobs *j);      /* may start a move, at most once a second */
bool sl__place_lasts(const struct sl_place *p);  /* for queue/moves.c, as queue.h says */
bool sl__place_may_move(const struct sl_place *p, const struct sl_server_device *to);
void sl__place_move(struct sl_place *p, struct sl_server_device *to);
/* The job has left its device with its state, or could not; takes the event's blob. */
void sl__job_on_left(struct sl_job *job, struct sl_device_event *e);
void sl__job_arrived(struct sl_job *job);      /* it has started on a device after it left one */
/* Its new device has no memory for it. Returns true if it goes back to the old one. */
bool sl__job_go_back(struct sl_job *job, const struct sl_error *err);

/* The move has ended, with or without success. */
static inline void sl__move_over(struct sl_job *job)
{
	if (job->jobs->mover == job)
		job->jobs->mover = NULL;
	job->run.bound_for = job->run.came_from = NULL;
}

static inline void sl__job_drop_carried(struct sl_job *job)
{
	free(job->run.carried);
	job->run.carried = NULL;
}

/* ---- record/: record.c, shown.c ------------------------------------------------ */

int sl__job_iterations(const struct sl_job *job);  /* the requested number; with "auto", the number planned so far */
json_t *sl__job_progress_json(const struct sl_job *job);
json_t *sl__job_document(const struct sl_job *job);  /* for the data base */
/* The same as text, for the seal of a file; malloc'd. checkpoint: the progress that the file holds, or NULL. Returns
 * NULL without memory. */
char *sl__job_record(const struct sl_job *job, const struct sl_status *checkpoint);
/* SL_BADDATA, SL_BADPARAM: the record has something that this version does not know. */
int sl__job_from_document(struct sl_jobs *j, const char *id, json_t *document, struct sl_job **out,
			  struct sl_error *err);
json_t *sl__trace_json(const struct sl_job *job, const struct sl_trace_point *trace, int count);

/* ---- run/watched.c -------------------------------------------------------------- */

void sl__job_pump_watch(struct sl_job *job);           /* its readers may get a frame */
extern const struct sl_watches_ops sl__watches_ops;    /* arg: the struct sl_jobs */
extern const struct sl_watch_ops sl__job_watch_ops;    /* owner: the struct sl_job */

/* ---- record/followed.c ------------------------------------------------------------------ */

void sl__jobs_be_followed(struct sl_jobs *j);    /* registers the sources of event streams */
void sl__job_progressed(struct sl_job *job);     /* publishes its progress, a few times a second */

#endif
