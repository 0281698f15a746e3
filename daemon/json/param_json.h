/* param_json.h -- parameters as JSON, by their tables (core/param_table.h): written into records, replies and messages,
 * and read from them and from requests. Any thread. */
#ifndef SL_PARAM_JSON_H
#define SL_PARAM_JSON_H

#include <jansson.h>

#include "core/param_table.h"

/* All values of a record; new reference. */
json_t *sl_param_json(const struct sl_param_table *table, const void *record);
/* The JSON schema of a parameter, as proto/openapi.yaml has it: type, range or words, default, and whether it can be
 * steered. normal: the default as JSON, borrowed. New reference. */
json_t *sl_param_schema_json(const struct sl_param_info *info, json_t *normal);
/* Reads one member of an object into a record of the table; err->pointer names the member. */
int sl_param_from_json(const struct sl_param_table *table, void *record, const struct sl_param_info *info,
		       const json_t *value, struct sl_error *err);
/* Reads all members of an object, the table's leader first. also_known: members that are no parameters,
 * NULL-terminated; NULL: there are none. Another member is an error. */
int sl_params_from_json(const struct sl_param_table *table, void *record, const json_t *object,
			const char *const *also_known, struct sl_error *err);
/* The error for an unknown member: names it and the most similar known one. */
int sl_param_unknown(const struct sl_param_table *table, const char *key, const char *const *also_known,
		     struct sl_error *err);

#endif
