/* A value is written as its type in the table says: a word, a number, a list, or the word that stands for its automatic
 * value. */
#include "daemon/json/param_json.h"

#include <stdio.h>
#include <string.h>

#include "core/meant.h"

static json_t *list_value(const struct sl_param_info *info, double value)
{
	return info->whole ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *list_json(const struct sl_param_info *info, const struct sl_param_list *values)
{
	json_t *list = json_array();
	for (int i = 0; i < values->count; i++)
		json_array_append_new(list, list_value(info, values->value[i]));
	return list;
}

json_t *sl_param_json(const struct sl_param_table *table, const void *record)
{
	json_t *object = json_object();
	for (int i = 0; i < table->count; i++) {
		const struct sl_param_info *info = &table->param[i];
		double value;
		json_t *member;
		const struct sl_param_list *list = sl_param_list(info, record);
		if (sl_param_number(info, record, &value))
			member = json_string(info->automatic);
		else if (list && list->count > 1)
			member = list_json(info, list);
		else if (info->words)
			member = json_string(info->words[(int)value]);
		else if (info->type == SL_TYPE_BOOL)
			member = json_boolean(value != 0);
		else if (list)
			member = list_value(info, value);
		else if (info->type == SL_TYPE_DOUBLE)
			member = json_real(value);
		else
			member = json_integer((json_int_t)value);
		json_object_set_new(object, info->name, member);
	}
	return object;
}

/* ---- as a schema -------------------------------------------------------------------------------- */

static json_t *number_schema(const struct sl_param_info *info)
{
	bool whole = info->type == SL_TYPE_INT || info->type == SL_TYPE_UINT64 || info->whole;
	return json_pack("{s:s, s:o, s:o}", "type", whole ? "integer" : "number", "minimum",
			 whole ? json_integer((json_int_t)info->min) : json_real(info->min), "maximum",
			 whole ? json_integer((json_int_t)info->max) : json_real(info->max));
}

static json_t *value_schema(const struct sl_param_info *info)
{
	if (info->type == SL_TYPE_BOOL || info->type == SL_TYPE_TEXT)
		return json_pack("{s:s}", "type", info->type == SL_TYPE_BOOL ? "boolean" : "string");
	if (!info->words)
		return number_schema(info);
	json_t *words = json_array();
	for (const char *const *w = info->words; *w; w++)
		json_array_append_new(words, json_string(*w));
	return json_pack("{s:s, s:o}", "type", "string", "enum", words);
}

/* A value, or the automatic word, or a list of values. */
static json_t *values_schema(const struct sl_param_info *info)
{
	if (!info->automatic && info->type != SL_TYPE_LIST)
		return value_schema(info);
	json_t *one_of = json_pack("[o]", value_schema(info));
	if (info->automatic)
		json_array_append_new(one_of, json_pack("{s:s}", "const", info->automatic));
	if (info->type == SL_TYPE_LIST)
		json_array_append_new(one_of, json_pack("{s:s, s:i, s:i, s:o}", "type", "array", "minItems", 1, "maxItems",
							SL_PARAM_LIST_MAX, "items", number_schema(info)));
	return json_pack("{s:o}", "oneOf", one_of);
}

json_t *sl_param_schema_json(const struct sl_param_info *info, json_t *normal)
{
	json_t *schema = values_schema(info);
	json_object_set(schema, "x-default", normal);
	if (info->automatic)
		json_object_set_new(schema, "x-automatic", json_string(info->automatic));
	if (info->steerable)
		json_object_set_new(schema, "x-steerable", json_true());
	json_object_set_new(schema, "description", json_string(info->doc));
	return schema;
}

/* ---- from JSON ------------------------------------------------------------------------------------ */

static int list_from_json(void *record, const struct sl_param_info *info, const json_t *array, struct sl_error *err)
{
	double values[SL_PARAM_LIST_MAX + 1];
	int count = 0;
	size_t i;
	json_t *value;
	json_array_foreach((json_t *)array, i, value) {
		if (!json_is_number(value))
			return sl_param_set_text(info, record, "a list with something other than numbers", err);
		if (count <= SL_PARAM_LIST_MAX)
			values[count++] = json_number_value(value);
	}
	return sl_param_set_list(info, record, values, count, err);
}

/* The text for sl_param_set() of a value that is neither a number nor a list. If the parameter takes no words, the text
 * is quoted, so that sl_param_set() refuses it. */
static const char *text_of(const struct sl_param_info *info, const json_t *value, char quoted[72])
{
	const char *text = json_string_value(value);
	if (json_is_boolean(value))
		return json_is_true(value) ? "true" : "false";
	if (!text)
		return json_is_array(value) ? "an array" : json_is_object(value) ? "an object" : "null";
	if (info->words || (info->automatic && !strcmp(text, info->automatic)))
		return text;
	snprintf(quoted, 72, "\"%.60s\"", text);
	return quoted;
}

int sl_param_from_json(const struct sl_param_table *table, void *record, const struct sl_param_info *info,
			 const json_t *value, struct sl_error *err)
{
	char quoted[72];
	int code;
	if (json_is_number(value))
		code = sl_param_set_number(info, record, json_number_value(value), err);
	else if (json_is_array(value) && info->type == SL_TYPE_LIST)
		code = list_from_json(record, info, value, err);
	else
		code = sl_param_set_text(info, record, text_of(info, value, quoted), err);
	if (!code)
		sl_param_lead(table, info, record);
	return code;
}

int sl_param_unknown(const struct sl_param_table *table, const char *key, const char *const *also_known,
		       struct sl_error *err)
{
	struct sl_meant meant;
	sl_meant_init(&meant, key);
	for (int i = 0; i < table->count; i++)
		sl_meant_try(&meant, table->param[i].name);
	for (; *also_known; also_known++)
		sl_meant_try(&meant, *also_known);
	char pointer[96];
	size_t used = 0;
	pointer[used++] = '/';
	for (const char *c = key; *c && used < sizeof pointer - 3; c++) {
		if (*c == '~' || *c == '/')
			pointer[used++] = '~';
		pointer[used++] = *c == '~' ? '0' : *c == '/' ? '1' : *c;
	}
	pointer[used] = '\0';
	if (sl_meant_word(&meant))
		return sl_error_field(err, SL_BADPARAM, pointer, "There is no member \"%.64s\"; did you mean \"%s\"?",
				      key, sl_meant_word(&meant));
	return sl_error_field(err, SL_BADPARAM, pointer, "There is no member \"%.64s\".", key);
}

int sl_params_from_json(const struct sl_param_table *table, void *record, const json_t *object,
			const char *const *also_known, struct sl_error *err)
{
	static const char *const none[] = {NULL};
	const struct sl_param_info *leader = table->leader ? sl_param_find(table, table->leader) : NULL;
	const json_t *first = leader ? json_object_get(object, leader->name) : NULL;
	int code = first ? sl_param_from_json(table, record, leader, first, err) : 0;
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)object, key, value) {
		const struct sl_param_info *info = sl_param_find(table, key);
		if (!code && info && value != first)
			code = sl_param_from_json(table, record, info, value, err);
		else if (!code && !info && !(also_known && sl_word_in(also_known, key)))
			code = sl_param_unknown(table, key, also_known ? also_known : none, err);
	}
	return code;
}
