/* column_values.h -- a column of labels out of the body of a request: JSON, text of one value a line, or .npy. */
#ifndef SL_COLUMN_VALUES_H
#define SL_COLUMN_VALUES_H

#include "daemon/graphs/read.h"

/* What the body is to become, for column `name` of n nodes. kind: "category", "number", or NULL: strings are
 * categories, numbers are numbers. *description and *value: as in store/columns_file.h, the caller's. Pool thread. */
int sl__column_parse(const struct sl__input *in, const char *name, const char *kind, uint32_t n, json_t **description,
		     void **value, struct sl_error *err);

#endif
