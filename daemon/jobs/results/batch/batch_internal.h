/* batch_internal.h -- structures and functions that the files of this folder share: batch.c keeps batches and their
 * records, batch_submit.c makes them, batch_end.c cancels and deletes them, batch_json.c describes them. */
#ifndef SL_BATCH_INTERNAL_H
#define SL_BATCH_INTERNAL_H

#include "daemon/jobs/jobs_internal.h"

struct sl_batch {
	struct sl_link link;         /* in sl_jobs.batches, the oldest first */
	struct sl_jobs *jobs;
	char id[SL_ULID_BYTES], graph[SL_ULID_BYTES], user[SL_ULID_BYTES];
	char *name, *key, *hash;     /* or NULL */
	uint64_t created_ms;
	json_t *each;                /* [{"job": id, "parameters": {...}}, ...] */
	bool recorded;
	size_t ended;                /* its first `ended` jobs have ended or were deleted */
	struct sl_list waiters;      /* batch_end.c: requests that wait until all of its jobs have ended */
};

static inline const char *sl__batch_job_id(const struct sl_batch *b, size_t i)
{
	return json_string_value(json_object_get(json_array_get(b->each, i), "job"));
}

struct sl_batch *sl__batch_find(const struct sl_jobs *j, const char *id);  /* NULL: none */
void sl__batch_insert(struct sl_batch *b);                                 /* by its id */
void sl__batch_destroy(struct sl_batch *b);                                /* NULL is fine */
json_t *sl__batch_document(const struct sl_batch *b);                      /* its record; new reference */

#endif
