/* jobs.h -- embedding jobs, from accepted to ended.
 *
 *   queued -> running <-> paused -> done | failed | cancelled
 *
 * A job's record is on disk before its submission is acknowledged, and its result before its
 * state becomes done. A queued job waits for a place on a device (queue.h) and for the
 * affinities of its graph (affinity_cache.h). It runs in slices on the device's thread
 * (device.h). At its end its results are saved (job_files.h). After a crash or a restart, jobs
 * that had not ended continue from their last checkpoint, or start again.
 *
 * Functions that take a request answer it, at once or later. All functions: loop thread.
 * Only files of this folder include jobs_internal.h. */
#ifndef SL_JOBS_H
#define SL_JOBS_H

#include <jansson.h>
#include <stdbool.h>

#include "core/error.h"
#include "core/method/method.h"
#include "daemon/store/db.h"
#include "daemon/util/ulid.h"

struct sl_daemon;
struct sl_job;
struct sl_jobs;
struct sl_request;
struct sl_transform_params;

/* ---- the table ---- */

/* Opens the engines (d->engines) and the frame publisher, and resumes the unfinished jobs of the data base. */
int sl_jobs_create(struct sl_jobs **out, struct sl_daemon *d, struct sl_error *err);
/* Saves checkpoints of running jobs, stops the threads, closes the handles; then runs done. */
void sl_jobs_shutdown(struct sl_jobs *j, void (*done)(void *arg), void *arg);
/* After the shutdown: no callback of the jobs is to come from the pool, the data base or the graphs. */
bool sl_jobs_idle(const struct sl_jobs *j);
/* After the shutdown, when no request is left and the jobs are idle. NULL is fine. */
void sl_jobs_destroy(struct sl_jobs *j);

/* The endpoint at which frames are published, "tcp://127.0.0.1:7071"; NULL: switched off. */
const char *sl_jobs_stream_endpoint(const struct sl_jobs *j);
/* A subscriber's keys (stream/keys.h), new reference; NULL: the server needs no tokens, so subscribers need no keys. */
struct sl_principal;
json_t *sl_jobs_stream_key(struct sl_jobs *j, const struct sl_principal *who);
/* The present use of each limit of limits.h by a user or project (an id): {"device_seconds": 12.5, "queued_jobs": 3,
 * ...}; new reference. */
json_t *sl_jobs_use_of(struct sl_jobs *j, const char *account);
/* {"queued": 0, "running": 1, ...}, new reference. */
json_t *sl_methods_json(void);  /* openapi.yaml, GET /v1/methods; new reference */
json_t *sl_jobs_counts(const struct sl_jobs *j);

/* ---- queries ---- */

const char *sl_job_id(const struct sl_job *job);
const char *sl_job_graph(const struct sl_job *job);  /* id of its graph, which may have been deleted */
bool sl_jobs_have(struct sl_jobs *j, const char *id);  /* id: complete */
/* Writes " They are: ID of NAME, ..." for the jobs on the graph that have not ended, as many as fit, into out[size]. */
void sl_jobs_name_users_of(const struct sl_jobs *j, const char *graph, char *out, size_t size);
/* The job of {id} in the path, which may be the beginning of an id (6 characters or more) if only one job's id begins
 * so. Borrowed; NULL: there is none, and the request has been answered. */
struct sl_job *sl_job_of_request(struct sl_request *r);
/* The watch that serves the readers of the job's frames. */
struct sl_watch *sl_job_watch(struct sl_job *job);
bool sl_job_is_watched(const struct sl_job *job);  /* true: it has a layout or values that readers can follow */
/* True: the job's method gives no layout, and the request has been answered. */
bool sl_job_refuses_layout(const struct sl_job *job, struct sl_request *r);
json_t *sl_job_json(const struct sl_job *job);  /* openapi.yaml: Job; new reference */
json_t *sl_jobs_record(void *jobs, const char *id);  /* the same by id; NULL: none. jobs: struct sl_jobs */

#define SL_JOB_CURSOR_BYTES 64

/* Which jobs a page lists. All texts are those of the request; NULL: not given. */
struct sl_job_query {
	const struct sl_request *r;  /* lists what its sender may see */
	const char *state;   /* one state or several, "queued,running" */
	const char *graph;   /* its id */
	const char *name;    /* part of the name, in any case */
	const char *project; /* its id; "": jobs of no project */
	const char *sort;    /* "created", "started" or "finished", with a minus before it: latest first, the default */
	const char *cursor;  /* `next` of the previous page */
	int limit;
};
/* *ids: [*count], which the caller frees with free(). next: the cursor of the next page; "": there is none. */
int sl_jobs_list(const struct sl_jobs *j, const struct sl_job_query *query, char (**ids)[SL_ULID_BYTES], size_t *count,
		 char next[SL_JOB_CURSOR_BYTES], struct sl_error *err);

/* Calls each() for the jobs that have ended and that no client reads or waits for. */
void sl_jobs_each_unused(struct sl_jobs *j, void (*each)(void *arg, const char *id, uint64_t finished_ms), void *arg);
/* True if there is a job on this graph, finished or not. */
bool sl_jobs_on_graph(const struct sl_jobs *j, const char *graph);
/* A drain (upkeep/maintenance.h) has begun, has another time, or has ended. */
void sl_jobs_drain_changed(struct sl_jobs *j);
/* How long ended jobs are kept (openapi.yaml: Retention); new reference. */
json_t *sl_jobs_retention_json(struct sl_jobs *j);
/* Compares the options with those in force: takes over what deletes nothing more; else logs what is to be confirmed. */
void sl_jobs_look_at_retention(struct sl_jobs *j);
/* Puts the pending options into force. body: openapi.yaml, RetentionConfirmation; who: the sender's name. done runs
 * when that is recorded, unless the function returns an error. */
int sl_jobs_confirm_retention(struct sl_jobs *j, const json_t *body, const char *who, sl_db_done_fn done, void *arg,
			      struct sl_error *err);
void sl_jobs_expiry_changed(struct sl_jobs *j);  /* of several jobs: tells clients their new records */
/* True if the owner of the job or its project wants it kept. */
bool sl_job_is_kept(struct sl_jobs *j, const char *id);
/* True if a job on this graph is kept, or has a valid public link. */
bool sl_jobs_need_graph(const struct sl_jobs *j, const char *graph);
/* Deletes such a job. Returns 0 or an error code. */
int sl_job_remove(struct sl_jobs *j, const char *id);

/* ---- submission, changes ---- */

/* body: openapi.yaml, JobRequest. */
void sl_job_submit(struct sl_jobs *j, struct sl_request *r, const json_t *body);
/* Replies with a forecast of memory, disk and time for such a job, and makes no job. */
void sl_job_estimate(struct sl_jobs *j, struct sl_request *r, const json_t *body);
/* body: openapi.yaml, JobChange. */
void sl_job_change(struct sl_job *job, struct sl_request *r, const json_t *body);
/* Cancels the job; if it has ended, deletes it. */
void sl_job_end_or_delete(struct sl_job *job, struct sl_request *r);

/* A job for lists of what users and projects have. */
struct sl_job_holding {
	const char *id, *user, *project;  /* ids, or "" */
	bool queued, running;        /* as the limits of these names count it (users/limits.h) */
	uint64_t disk_bytes, device_bytes;
};
void sl_jobs_each_holding(const struct sl_jobs *j, void (*each)(void *arg, const struct sl_job_holding *h), void *arg);
/* The job or batch has another owner (sl_users_transfer()); nothing for other ids. */
void sl_jobs_owner_changed(struct sl_jobs *j, const char *id);
/* Cancels the job; false: there is none, or it has ended. */
bool sl_job_cancel(struct sl_jobs *j, const char *id);

/* ---- batches: several jobs by one request (batch/) ---- */

struct sl_batch;
/* body: openapi.yaml, BatchRequest. */
void sl_batch_submit(struct sl_jobs *j, struct sl_request *r, const json_t *body);
/* The batch of {id} in the path. NULL: there is none, and the request has been answered. */
struct sl_batch *sl_batch_of_request(struct sl_request *r);
bool sl_batches_have(const struct sl_jobs *j, const char *id);
/* The record with those of its jobs that the sender of r may see; new reference. */
json_t *sl_batch_json(const struct sl_batch *b, const struct sl_request *r);
/* A page of the batches that the sender of r may see, newest first: those after `cursor` (an id; NULL: from the
 * beginning). next: the cursor of the next page, or "". New reference. */
json_t *sl_batches_json(const struct sl_jobs *j, const struct sl_request *r, const char *cursor, int limit,
			char next[SL_ULID_BYTES]);
/* Shares the batch and all of its jobs: sl_users_share(). */
int sl_batch_share(struct sl_jobs *j, const char *id, const json_t *body,
		   void (*done)(void *arg, int status, const struct sl_error *err), void *arg, struct sl_error *err);
/* Cancels the jobs that have not ended; if all have ended, deletes the batch with its jobs. */
void sl_batch_end_or_delete(struct sl_batch *b, struct sl_request *r);

/* ---- results, of jobs that are done ---- */

enum sl_layout_form { SL_LAYOUT_NPY, SL_LAYOUT_CSV, SL_LAYOUT_JSON };
/* Reads the query parameter `format`; npy if it is not given. */
int sl_layout_form_of_request(const struct sl_request *r, enum sl_layout_form *form, struct sl_error *err);
void sl_job_reply_layout(struct sl_job *job, struct sl_request *r, enum sl_layout_form form);
/* Replies with an array of the job's result other than the layout, by its name. */
void sl_job_reply_array(struct sl_job *job, struct sl_request *r, const char *name, enum sl_layout_form form);
/* Replies with the values at the nodes, also while the job runs: npy or csv. */
void sl_job_reply_values(struct sl_job *job, struct sl_request *r, enum sl_layout_form form);
/* Replies with the trace; if the job has not ended, with the points so far. */
void sl_job_reply_trace(struct sl_job *job, struct sl_request *r);

#define SL_PICTURE_SIDE 1024
#define SL_COLUMN_BYTES 804          /* room for the name of a column of labels: 200 characters */
struct sl_picture_form {
	int width, height, dpi;            /* dpi 0: not given */
	bool light, svg, wordless, names;  /* wordless: without a legend; names: on the map */
	/* Colours by density, by a column of labels, or by the clusters of a job. If none of these is set: as
	 * SL_CHOICE_USUAL says (graphs/nodes.h). */
	bool density;
	int clusters_level;                /* names of the layout's clusters of this level on the map; -1: none */
	char column[SL_COLUMN_BYTES];      /* name of the column, or "" */
	char clusters[SL_ULID_BYTES];      /* id of a job whose result is labels or values; or "" */
	const struct sl_method *mixture;   /* the method of that job, if it gives ellipses of this layout; or NULL */
	struct sl_method_params mixture_params;
	const char *values;                /* the array of that job that has values */
	int columns, shown;                /* number of values of a node, and the one that is shown; 0: labels */
};
/* Reads `color` of the query: auto, density, "job:" with an id, or the name of a column. NULL: auto. */
int sl_picture_form_colour(struct sl_job *job, const struct sl_request *r, const char *color,
			   struct sl_picture_form *form, struct sl_error *err);
/* A signal is drawn on the layout of another job: replaces *job by that job. layout: its id, from the query. */
int sl_picture_form_layout(struct sl_job **job, const struct sl_request *r, const char *layout,
			   struct sl_picture_form *form, struct sl_error *err);
void sl_job_reply_picture(struct sl_job *job, struct sl_request *r, const struct sl_picture_form *form);

/* Replies with the quality of the layout, and measures it first unless that was done before. k: number of neighbours
 * for recall and trustworthiness. */
void sl_job_reply_quality(struct sl_job *job, struct sl_request *r, int k);
/* Cancels measurements of the job, and deletes the result of the last one. */
void sl_job_forget_quality(struct sl_job *job, struct sl_request *r);

/* Replies with the clusters of the layout, named from the columns of its graph (graphs/rows/clusters/). columns: those
 * to name from, or NULL; from: a job with labels, or NULL; level: of the codes of the nodes, -1: names. */
void sl_job_reply_clusters(struct sl_job *job, struct sl_request *r, const char *columns, const char *from, int level);
/* Gives a cluster a name by hand, or takes it back: the body's name is null. */
void sl_job_name_cluster(struct sl_job *job, struct sl_request *r, const char *cluster, const json_t *body);

/* Replies with the model's prediction for the points in the request's body. give: name of the predicted array; NULL:
 * the first one. */
void sl_job_predict(struct sl_job *job, struct sl_request *r, const char *give, enum sl_layout_form form);
/* Replies with `count` points drawn from the job's model. give: "points" or NULL, or "labels", their components. */
void sl_job_sample(struct sl_job *job, struct sl_request *r, const char *give, uint32_t count, uint64_t seed,
		   enum sl_layout_form form);
/* Replies with the positions in the layout of the points in the request's body. */
void sl_job_transform(struct sl_job *job, struct sl_request *r, const struct sl_transform_params *params,
		      enum sl_layout_form form);

#endif
