/* adjacency.h -- graphs as lists of neighbours. Internal to core/formats/. */
#ifndef SL_ADJACENCY_H
#define SL_ADJACENCY_H

#include "core/formats/graphs/readers.h"

/* COLON: "a: b c" in each line. LINES: "a b c", as networkx.write_adjlist() writes it. BLOCKS: "a 2", then a line for
 * each neighbour, as networkx.write_multiline_adjlist() does. */
enum sl__adjacency { SL__NO_ADJACENCY, SL__ADJACENCY_COLON, SL__ADJACENCY_LINES, SL__ADJACENCY_BLOCKS };

/* Recognises the first bytes of a text: networkx by the comments that it writes, others by the colons, if neighbours
 * have lines of their own; a file named .adjlist has lines. all: the bytes are all of the text. */
enum sl__adjacency sl__adjacency_of(const unsigned char *bytes, size_t size, bool all, const char *name);

/* Reads source to its end, as sl__read_edges() does. Of options, columns do not count, except that an empty
 * weight_column leaves weights out. */
int sl__read_adjacency(struct sl_graph **out, enum sl__adjacency kind, const struct sl_read_options *options,
		       struct sl_source *source, struct sl_error *err);

#endif
