/* readers.h -- common functions of the readers. Internal to core/formats/. */
#ifndef SL_READERS_H
#define SL_READERS_H

#include "core/formats/source/container.h"
#include "core/formats/text/number.h"
#include "core/graph/builder.h"

#define SL__MAX_WEIGHT 3.40282347e38f

/* Each reads source to its end. err may be NULL. distances: entry (i, j) of the matrix is the distance from i to j.
 * Column i of the graph then lists the distances of row i, with SL__DISTANCE_ZERO in place of 0. */
int sl__read_mtx(struct sl_graph **out, const struct sl_read_options *options, bool distances, struct sl_source *source,
		 struct sl_error *err);
int sl__read_edges(struct sl_graph **out, const struct sl_read_options *options, struct sl_source *source,
		   struct sl_error *err);
int sl__read_npz(struct sl_graph **out, const struct sl_read_options *options, bool distances, struct sl_source *source,
		 struct sl_error *err);

/* Distances of 0 become this, because the builder of graphs drops weights of 0. */
#define SL__DISTANCE_ZERO 0x1p-149f
static inline int sl__add_distance(struct sl_graph_builder *b, uint32_t row, uint32_t column, float distance)
{
	return sl_graph_builder_add(b, column, row, distance > 0 ? distance : SL__DISTANCE_ZERO);
}

/* SL_BADGRAPH if so many entries can reach only few of the n declared nodes (few_isolated of struct
 * sl_read_options). */
int sl__check_isolated(const struct sl_read_options *options, uint64_t n, uint64_t entries, const char *file,
		       struct sl_error *err);

/* SL_BADGRAPH at /values if the values of a matrix look like distances, or may be distances or similarities. */
int sl__check_similarities(const struct sl_graph *g, struct sl_source *source, struct sl_error *err);

/* True for the comment of a matrix that Cell Ranger wrote: genes in rows, cells in columns. line: terminated. */
bool sl__is_cell_ranger(const char *line);
/* Adds which member of an archive was read. taken may be NULL. */
void sl__tell_container(const struct sl_source *source, struct sl_taken *taken);

/* sl_graph_builder_finish with the source's name in the error. Frees b in any case. */
int sl__finish_graph(struct sl_graph_builder *b, uint32_t n, struct sl_source *source, struct sl_graph **out,
		     struct sl_error *err);

/* "negative", "infinite", "too large for single precision" or "not a number". text: the number in the file, or NULL. */
const char *sl__weight_fault(double w, const char *text);

#endif
