/* expand.h -- expands the request of a batch into its jobs, each of which is checked like a single job. */
#ifndef SL_EXPAND_H
#define SL_EXPAND_H

#include "daemon/jobs/record/spec.h"

#define SL_BATCH_MOST 1000  /* jobs */

struct sl__expansion {
	const char *name;    /* borrowed from the body, or NULL */
	size_t count;
	json_t *shared;      /* the members that all jobs have */
	json_t *parameters;  /* [count] objects: the parameters of each job that differ */
};

/* body: openapi.yaml, BatchRequest. */
int sl__expand(const json_t *body, struct sl__expansion *e, struct sl_error *err);
/* Reads and checks job i like a single request. spec borrows records of the server, until the caller returns to the
 * loop. */
int sl__expand_one(struct sl_jobs *j, const struct sl_principal *who, const struct sl__expansion *e, size_t i,
		   struct sl_job_spec *spec, struct sl_error *err);
void sl__expansion_finish(struct sl__expansion *e);  /* also after an error */

#endif
