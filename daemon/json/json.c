/* jansson parses, after an upper bound of its tree's bytes was booked (sl_json_tree_bytes(): one pass over the text,
 * without parsing). */
#include "daemon/json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "core/formats/text/encoding.h"
#include "core/meant.h"
#include "daemon/util/time_text.h"

#define NAME_MOST 200   /* characters */

/* What jansson 2.14 takes for each value with malloc()'s overhead, and for a place in an array or object. Arrays and
 * tables of keys double while the old ones exist; a string is read into a buffer that doubles. */
#define TREE_VALUE 40    /* a number or a string, besides its bytes */
#define TREE_ARRAY 160
#define TREE_OBJECT 288
#define TREE_PLACE 24    /* in an array: 8 bytes, three times */
#define TREE_KEY 144     /* in an object */
#define TREE_DEPTH 2048  /* jansson reads no further */
#define TREE_LETTERS 4   /* copies of a byte of a string or number */

/* The string that begins after a quote: returns its end, the quote or the end of the text. */
static const char *end_of_string(const char *at, const char *end)
{
	while (at < end && *at != '"')
		at += *at == '\\' && at + 1 < end ? 2 : 1;
	return at;
}

uint64_t sl_json_tree_bytes(const char *text, size_t bytes)
{
	uint64_t sum = TREE_OBJECT + TREE_LETTERS * (uint64_t)bytes;
	const char *end = text + bytes;
	int depth = 0;
	for (const char *at = text; at < end && depth <= TREE_DEPTH; at++) {
		depth += *at == '[' || *at == '{' ? 1 : *at == ']' || *at == '}' ? -1 : 0;
		switch (*at) {
		case '"':
			at = end_of_string(at + 1, end);
			sum += TREE_VALUE;
			break;
		case '[':
			sum += TREE_ARRAY + TREE_VALUE + TREE_PLACE;
			break;
		case '{':
			sum += TREE_OBJECT + TREE_VALUE + TREE_PLACE;
			break;
		case ',':
			sum += TREE_VALUE + TREE_PLACE;
			break;
		case ':':
			sum += TREE_KEY;
			break;
		}
	}
	return sum;
}

int sl_json_object(json_t **out, const char *text, size_t bytes, const char *file, struct sl_account *account,
		   struct sl_error *err)
{
	json_error_t why;
	const char *encoding = sl_text_encoding(text, bytes);
	if (encoding)
		return sl_error_at(err, SL_BADPARAM, file, 1, "This is %s; JSON must be UTF-8 (RFC 8259).", encoding);
	if (sl_text_mark(text, bytes))
		return sl_error_at(err, SL_BADPARAM, file, 1, "The text begins with a byte order mark (the bytes EF BB BF), "
				   "which JSON must not (RFC 8259). Send it without: in Python, for example, encode it as "
				   "utf-8, not as utf-8-sig.");
	int rc = sl_account_take(account, SL_MEMORY, sl_json_tree_bytes(text, bytes), err);
	if (rc)
		return rc;
	json_t *value = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &why);
	if (!value) {
		enum json_error_code code = json_error_code(&why);
		bool zero = code == json_error_null_character || code == json_error_null_byte_in_key;
		return sl_error_at(err, SL_BADPARAM, file, why.line > 0 ? why.line : 1, "not valid JSON: %s",
				   zero ? "a string must not hold the zero character, \\u0000" : why.text);
	}
	if (!json_is_object(value)) {
		json_decref(value);
		return sl_error_at(err, SL_BADPARAM, file, 1, "a JSON object is expected, {...}");
	}
	*out = value;
	return 0;
}

/* Writes a key as one segment of a JSON pointer. */
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

char *sl_json_copy(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? strdup(text) : NULL;
}

json_t *sl_json_text_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

int sl_json_known(const json_t *object, const char *const *known, struct sl_error *err)
{
	void *at = json_object_iter((json_t *)object);
	for (; at; at = json_object_iter_next((json_t *)object, at)) {
		const char *key = json_object_iter_key(at);
		if (sl_word_in(known, key))
			continue;
		char where[128], list[512] = "";
		size_t used = 0;
		for (int i = 0; known[i] && used < sizeof list; i++)
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

/* ---- writing ------------------------------------------------------------------------------- */

struct text {
	char *bytes;
	size_t used, room;
	bool exact;            /* all digits of a number */
	bool failed;
};

/* Makes room for so many more bytes; NULL: out of memory. */
static char *reserve(struct text *t, size_t bytes)
{
	if (t->used + bytes > t->room) {
		size_t room = 2 * (t->used + bytes) + 512;
		char *grown = t->failed ? NULL : realloc(t->bytes, room);
		t->failed = !grown;
		if (!grown)
			return NULL;
		t->bytes = grown;
		t->room = room;
	}
	return t->bytes + t->used;
}

static void put(struct text *t, const char *bytes, size_t count)
{
	char *to = reserve(t, count);
	if (!to)
		return;
	memcpy(to, bytes, count);
	t->used += count;
}

static char *put_quoted(char *to, const char *text, size_t length)
{
	static const char hex[] = "0123456789ABCDEF", plain[] = "\b\t\n\f\r", *const letter = "btnfr";
	*to++ = '"';
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];
		const char *known = c && c < ' ' ? strchr(plain, c) : NULL;
		if (c >= ' ' && c != '"' && c != '\\') {
			*to++ = (char)c;
			continue;
		}
		*to++ = '\\';
		if (c >= ' ' || known) {
			*to++ = c >= ' ' ? (char)c : letter[known - plain];
			continue;
		}
		memcpy(to, "u00", 3);
		to[3] = hex[c >> 4];
		to[4] = hex[c & 15];
		to += 5;
	}
	*to++ = '"';
	return to;
}

size_t sl_json_string_bytes(const char *text)
{
	return 6 * strlen(text) + 2;
}

char *sl_json_put_string(char *to, const char *text)
{
	return put_quoted(to, text, strlen(text));
}

static void put_string(struct text *t, const char *text, size_t length)
{
	char *to = reserve(t, 6 * length + 2);
	if (to)
		t->used = (size_t)(put_quoted(to, text, length) - t->bytes);
}

static void put_integer(struct text *t, json_int_t value)
{
	char digits[24], *at = digits + sizeof digits;
	unsigned long long left = value < 0 ? 0ull - (unsigned long long)value : (unsigned long long)value;
	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (value < 0)
		*--at = '-';
	put(t, at, (size_t)(digits + sizeof digits - at));
}

/* Most numbers are decimal fractions with few digits. A multiplication recognises these, which is faster than
 * printf(). */
static void put_real(struct text *t, double value)
{
	const double scale = 1e6, scaled = value * scale;
	char digits[40];
	int length;
	if (fabs(scaled) < 1e15 && nearbyint(scaled) / scale == value && value != 0) {
		long long whole = (long long)nearbyint(scaled);
		long long part = (whole < 0 ? -whole : whole) % 1000000;
		if (value < 0 && value > -1)
			put(t, "-", 1);
		put_integer(t, whole / 1000000);
		digits[0] = '.';
		for (int i = 6; i > 0; i--, part /= 10)
			digits[i] = (char)('0' + part % 10);
		for (length = 7; length > 2 && digits[length - 1] == '0'; length--)
			;
		put(t, digits, (size_t)length);
		return;
	}
	length = snprintf(digits, sizeof digits, "%.15g", value);
	if (t->exact && strtod(digits, NULL) != value)
		length = snprintf(digits, sizeof digits, "%.17g", value);
	put(t, digits, (size_t)length);
	if (!strpbrk(digits, ".e"))
		put(t, ".0", 2);
}

static void put_value(struct text *t, const json_t *value);

static void put_object(struct text *t, const json_t *object)
{
	const char *between = "{";
	json_t *o = (json_t *)object;
	for (void *at = json_object_iter(o); at; at = json_object_iter_next(o, at)) {
		const char *key = json_object_iter_key(at);
		put(t, between, 1);
		put_string(t, key, strlen(key));
		put(t, ":", 1);
		put_value(t, json_object_iter_value(at));
		between = ",";
	}
	put(t, *between == '{' ? "{}" : "}", *between == '{' ? 2 : 1);
}

static void put_array(struct text *t, const json_t *array)
{
	size_t count = json_array_size(array);
	put(t, "[", 1);
	for (size_t i = 0; i < count; i++) {
		if (i)
			put(t, ",", 1);
		put_value(t, json_array_get(array, i));
	}
	put(t, "]", 1);
}

static void put_value(struct text *t, const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		put_object(t, value);
		break;
	case JSON_ARRAY:
		put_array(t, value);
		break;
	case JSON_STRING:
		put_string(t, json_string_value(value), json_string_length(value));
		break;
	case JSON_INTEGER:
		put_integer(t, json_integer_value(value));
		break;
	case JSON_REAL:
		put_real(t, json_real_value(value));
		break;
	case JSON_TRUE:
		put(t, "true", 4);
		break;
	case JSON_FALSE:
		put(t, "false", 5);
		break;
	default:
		put(t, "null", 4);
	}
}

static char *text_of(const json_t *value, bool exact, size_t *length)
{
	struct text t = {.exact = exact};
	if (!value)
		return NULL;
	put_value(&t, value);
	put(&t, "", 1);
	if (t.failed) {
		free(t.bytes);
		return NULL;
	}
	*length = t.used - 1;
	return t.bytes;
}

char *sl_json_text(const json_t *value, size_t *length)
{
	return text_of(value, false, length);
}

char *sl_json_text_exact(const json_t *value, size_t *length)
{
	return text_of(value, true, length);
}

/* ---- values --------------------------------------------------------------------------- */

json_t *sl_json_number(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

json_t *sl_json_time(uint64_t ms)
{
	char text[SL_TIME_BYTES];
	return ms ? json_string(sl_time_text(ms, text)) : json_null();
}

void sl_json_copy_text(char *out, size_t bytes, const char *text)
{
	size_t length = strlen(text);
	if (length >= bytes)
		for (length = bytes - 1; length && ((unsigned char)text[length] & 0xc0) == 0x80;)
			length--;
	memcpy(out, text, length);
	out[length] = '\0';
}
