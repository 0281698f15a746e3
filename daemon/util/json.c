#include "daemon/util/json.h"

#include <stdio.h>
#include <string.h>

#define NAME_MOST 200   /* characters */

int sl_json_object(json_t **out, const char *text, size_t bytes, const char *file, struct sl_error *err)
{
	json_error_t why;
	json_t *value = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &why);
	if (!value)
		return sl_error_at(err, SL_BADPARAM, file, why.line > 0 ? why.line : 1, "not valid JSON: %s", why.text);
	if (!json_is_object(value)) {
		json_decref(value);
		return sl_error_at(err, SL_BADPARAM, file, 1, "a JSON object is expected, {...}");
	}
	*out = value;
	return 0;
}

/* A key as one segment of a JSON pointer. */
static void pointer(const char *key, char *out, size_t bytes)
{
	size_t used = 0;
	out[used++] = '/';
	for (; *key && used + 3 < bytes; key++) {
		if (*key == '~' || *key == '/') {
			out[used++] = '~';
			out[used++] = *key == '~' ? '0' : '1';
		} else {
			out[used++] = *key;
		}
	}
	out[used] = '\0';
}

int sl_json_known(const json_t *object, const char *const *known, struct sl_error *err)
{
	void *at = json_object_iter((json_t *)object);
	for (; at; at = json_object_iter_next((json_t *)object, at)) {
		const char *key = json_object_iter_key(at);
		int i = 0;
		while (known[i] && strcmp(known[i], key))
			i++;
		if (known[i])
			continue;
		char where[128], list[512] = "";
		size_t used = 0;
		for (i = 0; known[i] && used < sizeof list; i++)
			used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", known[i]);
		pointer(key, where, sizeof where);
		return sl_error_field(err, SL_BADPARAM, where, "unknown field '%.64s'; known ones: %s", key, list);
	}
	return 0;
}

static int wrong(const char *key, const char *expected, const json_t *value, struct sl_error *err)
{
	static const char *const types[] = {"an object", "an array", "text", "a number", "a number", "true", "false",
					    "null"};
	char where[128];
	pointer(key, where, sizeof where);
	return sl_error_field(err, SL_BADPARAM, where, "%s must be %s, not %s", key, expected,
			      types[json_typeof(value)]);
}

int sl_json_string(const json_t *object, const char *key, const char **out, struct sl_error *err)
{
	const json_t *value = json_object_get(object, key);
	if (!value)
		return 0;
	if (!json_is_string(value))
		return wrong(key, "text", value, err);
	*out = json_string_value(value);
	return 0;
}

int sl_json_bool(const json_t *object, const char *key, bool *out, struct sl_error *err)
{
	const json_t *value = json_object_get(object, key);
	if (!value)
		return 0;
	if (!json_is_boolean(value))
		return wrong(key, "true or false", value, err);
	*out = json_is_true(value);
	return 0;
}

int sl_json_int(const json_t *object, const char *key, int64_t min, int64_t max, int64_t *out, struct sl_error *err)
{
	const json_t *value = json_object_get(object, key);
	if (!value)
		return 0;
	if (!json_is_integer(value))
		return wrong(key, "an integer", value, err);
	int64_t number = json_integer_value(value);
	if (number < min || number > max) {
		char where[128];
		pointer(key, where, sizeof where);
		return sl_error_field(err, SL_BADPARAM, where, "%s must be from %lld to %lld, not %lld", key,
				      (long long)min, (long long)max, (long long)number);
	}
	*out = number;
	return 0;
}

int sl_json_name(const json_t *object, const char **out, struct sl_error *err)
{
	const char *name = NULL;
	int code = sl_json_string(object, "name", &name, err);
	if (!code && name && !(code = sl_name_check(name, "/name", err)))
		*out = name;
	return code;
}

int sl_name_check(const char *name, const char *pointer, struct sl_error *err)
{
	json_t *text = json_string(name);
	size_t characters = 0;
	for (const char *at = name; *at; at++)
		characters += (*at & 0xc0) != 0x80;
	json_decref(text);
	if (!text)
		return sl_error_field(err, SL_BADPARAM, pointer, "name must be UTF-8 text");
	if (!characters || characters > NAME_MOST)
		return sl_error_field(err, SL_BADPARAM, pointer, "name must have from 1 to %d characters, not %zu.", NAME_MOST,
				      characters);
	return 0;
}
