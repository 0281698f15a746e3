/* column_values.h -- reads a column of labels from the body of a request: JSON, text with one value a line, or .npy. */
#ifndef SL_COLUMN_VALUES_H
#define SL_COLUMN_VALUES_H

#include "daemon/graphs/read.h"

/* Parses the body as column `name` of n nodes. Of the options, max_bytes and cancel count. kind: "category", "number",
 * or NULL: strings become categories, numbers become numbers. *description and *value: as in files/columns_file.h; the
 * caller owns them. Pool thread, with an account. */
int sl__column_parse(const struct sl_uploaded *in, const struct sl_read_options *options, const char *name,
		     const char *kind, uint32_t n, json_t **description, void **value, struct sl_error *err);

#endif
