/* taken_json.h -- what a reader took of a file (core/taken/taken.h) as JSON. */
#ifndef SL_TAKEN_JSON_H
#define SL_TAKEN_JSON_H

#include <jansson.h>

#include "core/taken/taken.h"

/* New reference; null for NULL. */
json_t *sl_taken_json(const struct sl_taken *t);
/* What sl_taken_json() wrote. NULL: no object, or no memory. */
struct sl_taken *sl_taken_read(const json_t *from);

#endif
