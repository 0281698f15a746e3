/* record.h -- a job's record: what is stored of the job, and what clients see of it.
 *
 * Everybody reads its fields. Only the functions below change them; document.c fills them from the data base
 * (scripts/census.py finds other writers). A change is not on the disk until sl__job_save(). shown.c makes the reply of
 * the API. Internal to daemon/jobs/. Loop thread. */
#ifndef SL_JOBS_RECORD_H
#define SL_JOBS_RECORD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/engine/engine.h"
#include "core/method/method.h"
#include "daemon/graphs/graphs.h"
#include "daemon/util/ulid.h"

struct sl_job_spec;  /* spec.h */

/* The computation that a job requests: a method and its parameters. */
struct sl_work {
	const struct sl_method *method;
	struct sl_method_params params;  /* as method->params describes them */
	enum sl_origin origin;           /* what the run is computed from */
	uint32_t rows, columns;          /* of points or a layout, or of the initial state of a run on edges */
	bool centered;                   /* the points have a center in their own columns */
	uint32_t degree;                 /* on edges: entries of a node, rounded up; else 0 */
	enum sl_start start;             /* kind of the file `start` */
	uint32_t parts;                  /* number of parts of the start */
};

struct sl_job_record {
	int64_t version;             /* rises with each change (util/ulid.h); not stored */
	/* the request */
	char id[SL_ULID_BYTES];
	char graph[SL_ULID_BYTES];
	char *name;                  /* or NULL */
	char user[SL_ULID_BYTES];    /* the user who submitted it; "": the server has no users */
	char project[SL_ULID_BYTES]; /* its project, or "" */
	char *idempotency_key, *idempotency_hash;  /* or NULL */
	char batch[SL_ULID_BYTES];   /* its batch, or "" */
	double time_limit;           /* seconds that it may be running; 0: none of its own */
	double ran_s;                /* that it was running, by the clock */
	bool timed_out;              /* a limit of this time ended it */
	bool keep;                   /* it is not deleted by age, number or to make room */
	struct sl_work work;
	json_t *input;               /* the request's `input`: a layout to compute from; NULL: the graph */
	const char *requested;       /* the engine that was requested, one of sl_engine_words */
	uint64_t created_ms;         /* since 1970 */
	/* the job that it starts after */
	char after[SL_ULID_BYTES];   /* or "" */
	char from[SL_ULID_BYTES];    /* the same, while that job's layout must be copied to the initial one; or "" */
	bool after_met;              /* that job is done */
	/* its data */
	uint32_t nodes;
	bool data_known;             /* the next two are known; they outlive the graph */
	enum sl_kind data_kind;
	uint32_t neighbours;         /* of each point, if the perplexity is auto */
	/* its run */
	char device_id[24];          /* its present or last device, or the most likely one; "cuda0" */
	double preparation_s;        /* seconds from getting a place to reaching the device; NAN: not there yet */
	uint64_t started_ms, finished_ms;  /* since 1970; 0: not yet */
	struct sl_status status;
	int moves;                   /* to another device */
	uint64_t slurm_job;          /* the last allocation of Slurm in which it ran; 0: none */
	char slurm_node[64];
	int slurm_gpus;
	double slurm_s, slurm_gpu_s; /* its part of the time of its allocations, and of their GPUs */
	int losses;                  /* of its worker in an allocation, in a row, without getting further */
	json_t *notes;               /* an array of sentences, or NULL */
	struct sl_trace_point *trace;  /* in memory until the job ends, then in a file */
	int trace_count, trace_room;
	/* its end */
	json_t *problem;             /* or NULL */
	json_t *table_of_result;     /* rows of the result's table, or NULL */
	json_t *quality;             /* the last measurement, or NULL */
	json_t *cluster_names;       /* given by hand: [{"cluster", "name", "by", "at"}], or NULL */
	/* its files */
	bool has_initial;            /* of its initial layout, or of `input` */
	bool has_results;            /* it has ended, and its arrays are on the disk */
	bool has_layout;             /* it has ended, and its layout is on the disk */
	bool has_checkpoint;
	bool has_still;              /* the layout of this checkpoint is on the disk, since the job was paused then */
	int checkpoint_iteration;
	double checkpoint_seconds;
};

/* ---- the request ---- */

void sl__record_init(struct sl_job_record *r, const char *id);
void sl__record_finish(struct sl_job_record *r);
/* Takes what the spec says; key and hash may be NULL. Returns 0 or SL_NOMEM. */
int sl__record_request(struct sl_job_record *r, const struct sl_job_spec *spec, const char *key, const char *hash);
void sl__record_owner(struct sl_job_record *r, const char *user, const char *project, const char *batch);
void sl__record_user(struct sl_job_record *r, const char *user);  /* it has another owner */
void sl__record_name_take(struct sl_job_record *r, char *name);  /* malloc'd */
void sl__record_ran(struct sl_job_record *r, double seconds);  /* so much longer */
void sl__record_timed_out(struct sl_job_record *r);
void sl__record_time_limit(struct sl_job_record *r, double seconds);  /* 0: none of its own */
void sl__record_keep(struct sl_job_record *r, bool keep);
void sl__record_params(struct sl_job_record *r, const struct sl_method_params *params);
void sl__record_data(struct sl_job_record *r, enum sl_kind kind, uint32_t neighbours);
void sl__record_version(struct sl_job_record *r, int64_t version);

/* ---- the job that it starts after ---- */

void sl__record_after_met(struct sl_job_record *r);
/* That job's layout is the initial one now. needed false: it has ended meanwhile. */
void sl__record_copied(struct sl_job_record *r, bool needed);

/* ---- the run ---- */

void sl__record_requested(struct sl_job_record *r, const char *engine);  /* one of sl_engine_words; borrowed */
void sl__record_device(struct sl_job_record *r, const char *id);
void sl__record_prepared(struct sl_job_record *r, double seconds);
void sl__record_started(struct sl_job_record *r);
void sl__record_status(struct sl_job_record *r, const struct sl_status *status);
void sl__record_back_to(struct sl_job_record *r, int iteration, double seconds);  /* it continues from there */
void sl__record_forget_run(struct sl_job_record *r);  /* it begins again, in a server that has just started */
void sl__record_moved(struct sl_job_record *r);
void sl__record_allocation(struct sl_job_record *r, uint64_t job, const char *node, int gpus);  /* it runs there now */
void sl__record_allocated(struct sl_job_record *r, double seconds);  /* its part of the allocation, so much longer */
void sl__record_lost_worker(struct sl_job_record *r);
void sl__record_note(struct sl_job_record *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Replaces the trace by an allocated one, which it takes; NULL, 0: there is none in memory. */
void sl__record_trace_take(struct sl_job_record *r, struct sl_trace_point *trace, int count);
/* Appends points. Without memory these points are missing until the job's end, which brings the whole trace. */
void sl__record_trace_add(struct sl_job_record *r, const struct sl_trace_point *points, int count);
/* A checkpoint is on the disk. still: the layout, too. */
void sl__record_checkpoint(struct sl_job_record *r, const struct sl_status *status, bool still);
void sl__record_no_checkpoint(struct sl_job_record *r);
void sl__record_no_still(struct sl_job_record *r);

/* ---- the end ---- */

void sl__record_finished(struct sl_job_record *r);
void sl__record_results(struct sl_job_record *r, bool layout, bool arrays);  /* which of them are on the disk */
void sl__record_problem(struct sl_job_record *r, const struct sl_error *err);
void sl__record_table_take(struct sl_job_record *r, json_t *table);          /* or NULL */
void sl__record_quality_take(struct sl_job_record *r, json_t *quality);      /* or NULL */
void sl__record_cluster_names_take(struct sl_job_record *r, json_t *names);  /* or NULL */

#endif
