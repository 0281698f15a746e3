/* column_json.h -- reads {"values": [...]} value by value: a tree of all values would take up to 80 times the memory of
 * its text, and a text that was compressed a thousand times more. Any thread; books what it holds in the account of the
 * source. */
#ifndef SL_COLUMN_JSON_H
#define SL_COLUMN_JSON_H

#include <jansson.h>

#include "core/error.h"

struct sl_source;

/* Calls add(arg, value) for each value, a string, number, boolean or null, which is borrowed; an error of add() ends
 * the reading. SL_BADDATA: this is no JSON; SL_BADPARAM: not such an object, or a value is an object or array. */
int sl__column_json(struct sl_source *source, const char *file, int (*add)(void *arg, const json_t *value), void *arg,
		    struct sl_error *err);

#endif
