/* text.h -- writes long replies directly into the buffer that is sent; a tree of JSON values would take ten times the
 * memory of the text. Memory is reserved before (sl_buffer_book). Pool threads. */
#ifndef SL_RESULT_TEXT_H
#define SL_RESULT_TEXT_H

#include "core/graph/graph.h"
#include "daemon/jobs/jobs.h"
#include "daemon/util/buffer.h"

#define SL_TEXT_BYTES 20  /* that are reserved for a number of 4 bytes as text: a row of one is [-1.23456789e-10], */

/* An array of a result or of a prediction. _book reserves room for the text of a .npy file of so many bytes, before the
 * file is read; _write writes it there, and gives back the rest. */
int sl__array_book(struct sl_buffer **out, enum sl_layout_form form, size_t bytes, struct sl_error *err);
void sl__array_write(struct sl_buffer **out, const struct sl_job *job, const char *name, enum sl_layout_form form,
		     const void *npy, size_t bytes);
/* Writes y [n * dims] with names and labels of the nodes (NULL: without). projected: value of the member `projected`;
 * 0: null; -1: no such member. */
int sl__layout_reply_json(struct sl_buffer **out, const char *job, const char *graph, const struct sl_graph *nodes,
			  const float *y, uint32_t n, int dims, int64_t projected, struct sl_error *err);
int sl__layout_reply_csv(struct sl_buffer **out, const struct sl_graph *nodes, const float *y, uint32_t n, int dims,
			 struct sl_error *err);

#endif
