/* What messages of both directions are made of: numbers, errors, names of kinds. */
#include "daemon/worker/codec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *sl_wire_real(double x)
{
	return isnan(x) ? json_null() : isinf(x) ? json_string(x > 0 ? "inf" : "-inf") : json_real(x);
}

double sl_wire_real_value(const json_t *value)
{
	const char *text = json_string_value(value);
	return text ? (*text == '-' ? -INFINITY : INFINITY) : json_is_number(value) ? json_number_value(value) : NAN;
}

json_t *sl_wire_text(const char *text)
{
	json_t *value = json_string(text);
	char *ascii = value ? NULL : strdup(text);
	if (!ascii)
		return value;
	for (char *c = ascii; *c; c++)
		*c = (unsigned char)*c < 0x80 ? *c : '?';
	value = json_string(ascii);
	free(ascii);
	return value;
}

json_t *sl_wire_error(const struct sl_error *err)
{
	if (!err->code)
		return json_null();
	return json_pack("{s:i, s:o, s:I, s:o, s:o}", "code", err->code, "file", sl_wire_text(err->file),
			 "line", (json_int_t)err->line, "pointer", sl_wire_text(err->pointer),
			 "detail", sl_wire_text(err->detail));
}

const char *sl__text_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

int64_t sl__whole_at(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

double sl__real_at(const json_t *object, const char *key)
{
	return sl_wire_real_value(json_object_get(object, key));
}

bool sl__is_at(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

void sl_wire_error_value(const json_t *value, struct sl_error *err)
{
	*err = (struct sl_error){.code = (int)sl__whole_at(value, "code"), .line = sl__whole_at(value, "line")};
	snprintf(err->file, sizeof err->file, "%s", sl__text_at(value, "file"));
	snprintf(err->pointer, sizeof err->pointer, "%s", sl__text_at(value, "pointer"));
	snprintf(err->detail, sizeof err->detail, "%s", sl__text_at(value, "detail"));
}

int sl__wrong(struct sl_error *err, const char *what)
{
	return sl_error_set(err, SL_BADDATA, "The message has %s.", what);
}

int sl__kind_number(const char *name, const char *const *names, int count)
{
	for (int i = 0; i < count; i++)
		if (name && *name && !strcmp(name, names[i]))
			return i;
	return -1;
}
