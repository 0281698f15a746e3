/* more_labels.h -- stores the further columns of labels of an uploaded table in the file of columns (graphs/ID.sll),
 * like columns that clients set later. */
#ifndef SL_MORE_LABELS_H
#define SL_MORE_LABELS_H

#include <stdbool.h>

#include <sodium.h>

#include "core/points/points.h"
#include "daemon/files/columns_file.h"

/* Moves the further columns of p to *out; NULL: p has none. Pool thread. */
int sl__more_labels_take(struct sl_points *p, struct sl_columns **out, struct sl_error *err);
/* Adds the columns to the digest of an upload's content. */
void sl__more_labels_digest(const struct sl_columns *c, crypto_generichash_state *state);
/* Their summaries for lists of columns, a new reference; NULL: no columns, or no memory. */
json_t *sl__columns_summaries(const struct sl_columns *columns);

/* At the start: if a crash came between writing the record and renaming the file of columns, renames the file, if it is
 * undamaged. */
void sl__more_labels_finish(const char *path, const char *temporary, uint32_t nodes);

#endif
