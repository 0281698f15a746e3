/* expand.h -- what the request of a batch wants: its jobs, each of them checked as if it came alone. */
#ifndef SL_EXPAND_H
#define SL_EXPAND_H

#include "daemon/jobs/spec/spec.h"

#define SL_BATCH_MOST 1000  /* jobs */

struct sl__expansion {
	const char *name;    /* borrowed from the body, or NULL */
	size_t count;
	json_t *shared;      /* what all jobs have */
	json_t *parameters;  /* [count] objects: what differs, job by job */
};

/* body: openapi.yaml, BatchRequest. */
int sl__expand(const json_t *body, struct sl__expansion *e, struct sl_error *err);
/* Job i, as a request of its own: checked. It borrows from what the server has at this moment. */
int sl__expand_one(struct sl_jobs *j, const struct sl__expansion *e, size_t i, struct sl_job_spec *spec,
		   struct sl_error *err);
void sl__expansion_finish(struct sl__expansion *e);  /* also after an error */

#endif
