/* more_labels.h -- columns of labels that come with an upload beside the first: from the table that was read into the
 * file of columns (graphs/ID.sll), where they are like those that are set later. */
#ifndef SL_MORE_LABELS_H
#define SL_MORE_LABELS_H

#include <stdbool.h>

#include <sodium.h>

#include "core/points/points.h"
#include "daemon/files/columns_file.h"

/* Pool: the further columns of p, which loses them. *out NULL: there are none. */
int sl__more_labels_take(struct sl_points *p, struct sl_columns **out, struct sl_error *err);
/* They belong to the content by which uploads are told apart. */
void sl__more_labels_digest(const struct sl_columns *c, crypto_generichash_state *state);
/* What lists of columns have of them, a new reference; NULL: there are none, or no memory. */
json_t *sl__columns_summaries(const struct sl_columns *columns);

/* Start: a file of columns whose upload was cut off between record and renaming takes its place, if it is whole. */
void sl__more_labels_finish(const char *path, const char *temporary, uint32_t nodes);

#endif
