/* dense.h -- graphs in dense square matrices. Internal to core/formats/. */
#ifndef SL_DENSE_H
#define SL_DENSE_H

#include "core/formats/graphs/readers.h"

struct sl_points;

/* Whether a text that shall be a graph is a matrix of numbers rather than a list of edges: no titles or options
 * name source and target, and it has as many rows as columns. all: the bytes are the whole text; else it must have many
 * columns. 0, or the code of a refused reservation or allocation: nothing is known then. */
int sl__text_is_dense(bool *out, const unsigned char *bytes, size_t size, bool all,
		      const struct sl_read_options *options, const char *file, struct sl_account *account);

/* Makes a graph of a square table, whose names it takes. SL_BADGRAPH: it is not square, or has a negative value. */
int sl__graph_of_dense(struct sl_graph **out, struct sl_points *p, const struct sl_read_options *options,
		       struct sl_source *source, struct sl_error *err);

#endif
