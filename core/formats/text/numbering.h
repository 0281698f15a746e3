/* numbering.h -- the order and names of the nodes of an edge list that are whole numbers. Internal to core/formats/. */
#ifndef SL_NUMBERING_H
#define SL_NUMBERING_H

#include "core/formats/text/names.h"
#include "core/graph/builder.h"

/* Parses digits without leading zeros, below 10^18; false: the text is something else. */
bool sl__whole_number(const char *text, size_t length, uint64_t *out);

/* The builder holds the numbers of the file. If they are 0..n-1, does nothing. Otherwise replaces them by consecutive
 * indices in the same order, and adds the numbers as names (which must be empty). Needs a bitmap up to the largest
 * number. 0 or SL_NOMEM. */
int sl__numbering_close_gaps(struct sl_graph_builder *b, struct sl__names *names);

/* The builder holds indices of names, in order of appearance, and all names are numbers. Sorts names and indices by
 * these numbers. 0 or SL_NOMEM. */
int sl__numbering_sort(struct sl_graph_builder *b, struct sl__names *names);

#endif
