/* job_result.h -- replies made from a finished job's files: read and formed on the thread pool, with the
 * graph's names and labels at hand if it is still there. */
#ifndef SL_JOB_RESULT_H
#define SL_JOB_RESULT_H

#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs_internal.h"

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
	int numbers[4];                 /* of the route's own */
	/* what make() fills */
	void *bytes;                    /* malloc'd */
	size_t size;
	struct sl_error err;
	/* the loop's */
	struct sl_request *request;
	int (*make)(struct sl_result *result);
	const char *content_type;
	char etag[64];
	uv_work_t work;
	struct sl_job *job;
	int code;
};

/* Takes the request. make() returns 0 or an error code. */
void sl__result_reply(struct sl_job *job, struct sl_request *r, const struct sl_result *with);

/* 409 unless the job is done; true: answered. */
bool sl__result_missing(struct sl_job *job, struct sl_request *r);

#endif
