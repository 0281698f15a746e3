/* text.h -- long replies, written straight into the buffer that is sent: a tree of JSON values would take ten times
 * their text. Booked before they are written (sl_buffer_book). Pool threads. */
#ifndef SL_RESULT_TEXT_H
#define SL_RESULT_TEXT_H

#include "core/graph/graph.h"
#include "daemon/jobs/jobs.h"
#include "daemon/util/buffer.h"

/* An array that a method has left, or computed. npy: a whole .npy file. */
int sl__array_reply(struct sl_buffer **out, const struct sl_job *job, const char *name, enum sl_layout_form form,
		    const void *npy, size_t bytes, struct sl_error *err);
/* y [n * dims] with names and labels of the nodes (NULL: without). projected: the member of that name, 0 as null;
 * -1: without. */
int sl__layout_reply_json(struct sl_buffer **out, const char *job, const char *graph, const struct sl_graph *nodes,
			  const float *y, uint32_t n, int dims, int64_t projected, struct sl_error *err);
int sl__layout_reply_csv(struct sl_buffer **out, const struct sl_graph *nodes, const float *y, uint32_t n, int dims,
			 struct sl_error *err);
/* The same bytes, malloc'd, which are freed. */
int sl__reply_of(struct sl_buffer **out, void *bytes, size_t size, struct sl_error *err);

#endif
