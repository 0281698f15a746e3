/* spec.h -- reads and checks a request's description of a job. Internal to daemon/jobs/. */
#ifndef SL_JOBS_SPEC_H
#define SL_JOBS_SPEC_H

#include "daemon/jobs/jobs_internal.h"

struct sl_layout_record;

struct sl_job_spec {
	const struct sl_graph_record *graph;
	struct sl_work work;
	const json_t *input;      /* borrowed, or NULL */
	const char *name;         /* borrowed from the body, or NULL */
	const char *requested;        /* the requested engine, one of sl_engine_words */
	struct sl_server_engine *engine;
	int64_t priority;
	double time_limit;              /* seconds that it may be running; 0: none */
	bool dry_run;
	const json_t *rows;       /* given initial layout, borrowed, or NULL */
	const json_t *start;      /* given initial labels or means, borrowed, or NULL */
	const struct sl_job *source;  /* the job whose layout is the initial one, or NULL */
	const struct sl_job *after;   /* the job that it starts after, or NULL */
	const struct sl_layout_record *layout;  /* the uploaded layout that is the initial one, or NULL */
};
/* True if a request for a job of this method may have this member. */
bool sl__job_spec_knows(const struct sl_method *method, const char *member);
/* Reads `time_limit`; *seconds = 0: it is null, or absent. */
int sl__job_spec_time_limit(const json_t *body, double *seconds, struct sl_error *err);
/* The method that a body requests. */
int sl__job_spec_method(const json_t *body, const struct sl_method **out, struct sl_error *err);
/* Reads and checks everything except the rows. who: the sender, who must be able to read the graph and everything else
 * from which the job is to be computed, also if the body names it only through a job. */
int sl__job_spec_read(struct sl_jobs *j, const struct sl_principal *who, const json_t *body, struct sl_job_spec *spec,
		      struct sl_error *err);
/* Reads and checks the rows: *out [nodes * dims], which the caller must free(). */
int sl__job_spec_rows(const struct sl_job_spec *spec, float **out, struct sl_error *err);
/* given_start.c: reads and checks the labels or means in `initial`, when rows and columns are known. */
int sl__job_spec_start(const json_t *initial, struct sl_job_spec *spec, struct sl_error *err);
/* Reads the numbers of the start: [nodes] labels, or [parts * columns] means. The caller frees them with free(). */
int sl__job_spec_start_values(const struct sl_job_spec *spec, double **out, struct sl_error *err);
json_t *sl__job_spec_estimate(const struct sl_job_spec *spec);  /* openapi.yaml: Estimate; new reference */

#endif
