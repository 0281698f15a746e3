/* numbering.h -- nodes of an edge list that are whole numbers: their order and names. Internal. */
#ifndef SL_NUMBERING_H
#define SL_NUMBERING_H

#include "core/formats/text/names.h"
#include "core/graph/builder.h"

/* Digits without leading zeros, below 10^18. */
bool sl__whole_number(const char *text, size_t length, uint64_t *out);

/* The builder holds the file's numbers. If they are 0..n-1 nothing happens; else they become
 * consecutive indices in their order, and the numbers the names (which must be empty). Takes a
 * bitmap up to the largest number. 0 or SL_NOMEM. */
int sl__numbering_close_gaps(struct sl_graph_builder *b, struct sl__names *names);

/* The builder holds indices of names that are all numbers, in order of appearance: brings both
 * into the order of the numbers. 0 or SL_NOMEM. */
int sl__numbering_sort(struct sl_graph_builder *b, struct sl__names *names);

#endif
