/* jobs.h -- embedding jobs, from accepted to ended.
 *
 *   queued -> running <-> paused -> done | failed | cancelled
 *
 * A job's record is on disk before its submission is acknowledged, its result before it is
 * done. In between it waits for a place on a device (scheduler.h), for the affinities of
 * its graph (affinity_cache.h), runs in slices on the device's thread (device.h), and is
 * saved (job_files.h). After a crash or a restart, jobs that had not ended go on from their
 * last checkpoint, or from the start.
 *
 * Functions that take a request answer it, at once or later. Everything belongs to the loop
 * thread. jobs_internal.h is for the files of this room alone. */
#ifndef SL_JOBS_H
#define SL_JOBS_H

#include <jansson.h>
#include <stdbool.h>

#include "core/error.h"
#include "daemon/util/ulid.h"

struct sl_daemon;
struct sl_job;
struct sl_jobs;
struct sl_request;
struct sl_transform_params;

/* ---- the table ---- */

/* Opens the engines (d->engines) and the frame publisher, and takes up the jobs of the data base. */
int sl_jobs_create(struct sl_jobs **out, struct sl_daemon *d, struct sl_error *err);
/* Checkpoints what runs, stops the threads, closes the handles; then runs done. */
void sl_jobs_shutdown(struct sl_jobs *j, void (*done)(void *arg), void *arg);
/* After the shutdown, when no request is left. NULL is fine. */
void sl_jobs_destroy(struct sl_jobs *j);

/* Where frames are published, "tcp://127.0.0.1:7071"; NULL: switched off. */
const char *sl_jobs_stream_endpoint(const struct sl_jobs *j);
/* What a subscriber needs where tokens do (stream/keys.h); NULL: nothing. New reference. */
struct sl_principal;
json_t *sl_jobs_stream_key(struct sl_jobs *j, const struct sl_principal *who);
/* What a user or project (an id) has in use of what limits.h limits: {"device_seconds": 12.5, "queued_jobs": 3, ...};
 * new reference. */
json_t *sl_jobs_use_of(struct sl_jobs *j, const char *account);
/* {"queued": 0, "running": 1, ...}, new reference. */
json_t *sl_jobs_counts(const struct sl_jobs *j);

/* ---- queries ---- */

const char *sl_job_id(const struct sl_job *job);
bool sl_jobs_have(struct sl_jobs *j, const char *id);  /* a whole id */
/* The job of the path's {id}, which may be cut to its first 6 characters or more where only one begins so.
 * Borrowed; NULL: there is none, and the request has been answered. */
struct sl_job *sl_job_of_request(struct sl_request *r);
/* Its layout as readers see it. */
struct sl_watch *sl_job_watch(struct sl_job *job);
bool sl_job_is_watched(const struct sl_job *job);  /* it has a layout, or values, that readers can follow */
/* Its method gives no layout: the request has been answered. */
bool sl_job_refuses_layout(const struct sl_job *job, struct sl_request *r);
json_t *sl_job_json(const struct sl_job *job);  /* openapi.yaml: Job; new reference */
json_t *sl_jobs_record(void *jobs, const char *id);  /* the same by id; NULL: it is gone. jobs: struct sl_jobs */

#define SL_JOB_CURSOR_BYTES 64

/* A page of jobs. All texts are as the request has them; NULL: not given. */
struct sl_job_query {
	const char *state;   /* one state or several, "queued,running" */
	const char *graph;   /* its id */
	const char *name;    /* part of the name, in any case */
	const char *project; /* its id; "": jobs of no project */
	const char *sort;    /* "created", "started" or "finished", with a minus before it: latest first, the default */
	const char *cursor;  /* next of the page before */
	int limit;
};
/* *ids: [*count], the caller's to free(). next: the cursor of the page after, or "" when there is none. */
int sl_jobs_list(const struct sl_jobs *j, const struct sl_job_query *query, char (**ids)[SL_ULID_BYTES], size_t *count,
		 char next[SL_JOB_CURSOR_BYTES], struct sl_error *err);

/* Calls each for the jobs that have ended and that nobody reads or waits for now. */
void sl_jobs_each_unused(struct sl_jobs *j, void (*each)(void *arg, const char *id, uint64_t finished_ms), void *arg);
/* Deletes one of these: 0, or an error code. */
int sl_job_remove(struct sl_jobs *j, const char *id);

/* ---- submission, changes ---- */

/* body: openapi.yaml, JobRequest. */
void sl_job_submit(struct sl_jobs *j, struct sl_request *r, const json_t *body);
/* What such a job would take; makes none. */
void sl_job_estimate(struct sl_jobs *j, struct sl_request *r, const json_t *body);
/* body: openapi.yaml, JobChange. */
void sl_job_change(struct sl_job *job, struct sl_request *r, const json_t *body);
/* Cancels one that has not ended, deletes one that has. */
void sl_job_end_or_delete(struct sl_job *job, struct sl_request *r);

/* ---- batches: several jobs by one request (batch/) ---- */

struct sl_batch;
/* body: openapi.yaml, BatchRequest. */
void sl_batch_submit(struct sl_jobs *j, struct sl_request *r, const json_t *body);
/* The batch of the path's {id}. NULL: there is none, and the request has been answered. */
struct sl_batch *sl_batch_of_request(struct sl_request *r);
bool sl_batches_have(const struct sl_jobs *j, const char *id);
json_t *sl_batch_json(const struct sl_batch *b);      /* new reference */
/* A page: newest first, from after `cursor` (an id; NULL: the beginning); next: of the page after, or "". New
 * reference. */
json_t *sl_batches_json(const struct sl_jobs *j, const char *cursor, int limit, char next[27]);
/* Shares it with all of its jobs: sl_users_share(). */
int sl_batch_share(struct sl_jobs *j, const char *id, const json_t *body,
		   void (*done)(void *arg, int status, const struct sl_error *err), void *arg, struct sl_error *err);
/* Cancels what has not ended; deletes all when all has. */
void sl_batch_end_or_delete(struct sl_batch *b, struct sl_request *r);

/* ---- results, of jobs that are done ---- */

enum sl_layout_form { SL_LAYOUT_NPY, SL_LAYOUT_CSV, SL_LAYOUT_JSON };
/* Of the query parameter format; npy when it is not given. */
int sl_layout_form_of_request(const struct sl_request *r, enum sl_layout_form *form, struct sl_error *err);
void sl_job_reply_layout(struct sl_job *job, struct sl_request *r, enum sl_layout_form form);
/* An array, by its name, of a method that gives others than a layout. */
void sl_job_reply_array(struct sl_job *job, struct sl_request *r, const char *name, enum sl_layout_form form);
/* Values at the nodes, also of a job that runs: npy or csv. */
void sl_job_reply_values(struct sl_job *job, struct sl_request *r, enum sl_layout_form form);
/* Of a job that is not done, the points so far. */
void sl_job_reply_trace(struct sl_job *job, struct sl_request *r);

#define SL_PICTURE_SIDE 1024
#define SL_COLUMN_BYTES 804          /* of the name of a column of labels, 200 characters */
struct sl_picture_form {
	int width, height;
	bool light, svg, wordless;         /* wordless: without a legend */
	/* Coloured by density, by a column of labels, or by the clusters of a job; without any of them by the labels that
	 * came with the graph if there are any, else by density. */
	bool density;
	char column[SL_COLUMN_BYTES];      /* its name, or "" */
	char clusters[SL_ULID_BYTES];      /* the id of a job that gave labels, or values, or "" */
	bool ellipses;                     /* that job is a mixture of this very layout, in 2-D */
	int covariance;                    /* of the mixture: enum sl_gmm_covariance */
	int columns, shown;                /* values of a node, and the one that is shown; 0: it gave labels */
};
/* color as the query has it: auto, density, job: and an id, or the name of a column. NULL: auto. */
int sl_picture_form_colour(struct sl_job *job, const struct sl_request *r, const char *color,
			   struct sl_picture_form *form, struct sl_error *err);
/* A signal is drawn on the layout of another job, which takes the place of *job; layout: its id, as the query has it.
 * */
int sl_picture_form_layout(struct sl_job **job, const struct sl_request *r, const char *layout,
			   struct sl_picture_form *form, struct sl_error *err);
void sl_job_reply_picture(struct sl_job *job, struct sl_request *r, const struct sl_picture_form *form);

/* k: neighbours that recall and trustworthiness look at. Measured, unless that has been done before. */
void sl_job_reply_quality(struct sl_job *job, struct sl_request *r, int k);
/* ... which the job then does not know any more; what is under way ends. */
void sl_job_forget_quality(struct sl_job *job, struct sl_request *r);

/* What the job's model says of the points in the request's body: the array `give`; NULL: the first that it gives. */
void sl_job_predict(struct sl_job *job, struct sl_request *r, const char *give, enum sl_layout_form form);
/* count points as likely as the job's; give: "points" or NULL, or "labels", their components. */
void sl_job_sample(struct sl_job *job, struct sl_request *r, const char *give, uint32_t count, uint64_t seed,
		   enum sl_layout_form form);
/* The points in the request's body, placed into the layout. */
void sl_job_transform(struct sl_job *job, struct sl_request *r, const struct sl_transform_params *params,
		      enum sl_layout_form form);

#endif
