/* network.h -- graphs as METIS, DIMACS, Pajek and TGF write them. Internal to core/formats/. */
#ifndef SL_NETWORK_H
#define SL_NETWORK_H

#include "core/formats/graphs/readers.h"

enum sl__network { SL__NO_NETWORK, SL__METIS, SL__DIMACS, SL__PAJEK, SL__TGF };

/* Recognises the first bytes of a text; all: they are all of it. name: of the file. METIS files that are longer than
 * the bytes are known by their name alone (.graph, .metis). */
enum sl__network sl__network_of(const unsigned char *bytes, size_t size, bool all, const char *name);
const char *sl__network_name(enum sl__network kind);  /* "METIS" */

/* Reads source to its end, as sl__read_edges() does. Of options, source_column and target_column do not count; an
 * empty weight_column leaves weights out, another one takes lengths as weights. */
int sl__read_network(struct sl_graph **out, enum sl__network kind, const struct sl_read_options *options,
		     struct sl_source *source, struct sl_error *err);

#endif
