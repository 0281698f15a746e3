/* readers.h -- what the readers of core/formats/ share. Internal. */
#ifndef SL_READERS_H
#define SL_READERS_H

#include "core/formats/number.h"
#include "core/formats/source.h"
#include "core/graph/builder.h"

#define SL__MAX_WEIGHT 3.40282347e38f

/* Each reads source to its end. err may be NULL. */
int sl__read_mtx(struct sl_graph **out, const struct sl_read_options *options, struct sl_source *source,
		 struct sl_error *err);
int sl__read_edges(struct sl_graph **out, const struct sl_read_options *options, struct sl_source *source,
		   struct sl_error *err);
int sl__read_npz(struct sl_graph **out, const struct sl_read_options *options, struct sl_source *source,
		 struct sl_error *err);

/* sl_graph_builder_finish with the source's name in the error. Frees b in any case. */
int sl__finish_graph(struct sl_graph_builder *b, uint32_t n, struct sl_source *source, struct sl_graph **out,
		     struct sl_error *err);

/* "negative", "infinite", "too large for single precision" or "not a number". text is where the
 * number was written, or NULL. */
const char *sl__weight_fault(double w, const char *text);

#endif
