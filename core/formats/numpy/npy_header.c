/* Parses the headers of NumPy arrays, which are Python literals. */
#include "core/formats/numpy/npy.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_MAX (64 * 1024)

/* The header is a Python literal: {'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), } */
struct literal {
	const char *at;
	const char *file;
	struct sl_error *err;
};

static int header_error(const struct literal *l, const char *wanted)
{
	char seen[17];
	int k;

	for (k = 0; k < 16 && l->at[k]; k++)
		seen[k] = isprint((unsigned char)l->at[k]) ? l->at[k] : '?';
	seen[k] = 0;
	return sl_error_at(l->err, SL_BADDATA, l->file, 0, "The array's header has \"%s\" where %s is expected.", seen,
			wanted);
}

static void skip_space(struct literal *l)
{
	while (isspace((unsigned char)*l->at))
		l->at++;
}

static bool take(struct literal *l, char c)
{
	skip_space(l);
	if (*l->at != c)
		return false;
	l->at++;
	return true;
}

static bool take_string(struct literal *l, char *out, size_t size)
{
	skip_space(l);
	char quote = *l->at;
	size_t length = 0;

	if (quote != '\'' && quote != '"')
		return false;
	for (l->at++; *l->at && *l->at != quote; l->at++) {
		if (length + 1 < size)
			out[length++] = isprint((unsigned char)*l->at) ? *l->at : '?';
	}
	out[length] = 0;
	return take(l, quote);
}

static int take_shape(struct literal *l, struct sl__npy *a)
{
	if (!take(l, '('))
		return header_error(l, "a shape, such as (100, 2),");
	while (!take(l, ')')) {
		uint64_t value = 0;

		skip_space(l);
		if (!isdigit((unsigned char)*l->at))
			return header_error(l, "a dimension (a whole number)");
		for (; isdigit((unsigned char)*l->at); l->at++) {
			if (value > (uint64_t)INT64_MAX / 16)
				return sl_error_at(l->err, SL_BADDATA, l->file, 0, "A dimension of the array is too large.");
			value = value * 10 + (uint64_t)(*l->at - '0');
		}
		if (*l->at == 'L')
			l->at++;
		if (a->dims == SL__NPY_DIMS_MAX)
			return sl_error_at(l->err, SL_BADDATA, l->file, 0, "The array has more than %d dimensions.",
					   SL__NPY_DIMS_MAX);
		a->shape[a->dims++] = value;
		if (!take(l, ',') && (skip_space(l), *l->at != ')'))
			return header_error(l, "a comma or the end of the shape");
	}
	return 0;
}

static int take_descr(struct literal *l, struct sl__npy *a)
{
	const uint16_t one = 1;
	bool little = *(const unsigned char *)&one == 1;

	skip_space(l);
	if (*l->at == '[')
		return sl_error_at(l->err, SL_BADFORMAT, l->file, 0,
				"The array has named fields (a structured type); it must hold plain numbers.");
	if (!take_string(l, a->descr, sizeof a->descr))
		return header_error(l, "a type, such as '<f4',");
	const char *p = a->descr;
	char order = strchr("<>|=", *p) && *p ? *p++ : '|';
	a->kind = *p ? *p++ : '?';
	a->size = 0;
	for (; isdigit((unsigned char)*p) && a->size < 100000; p++)
		a->size = a->size * 10 + (*p - '0');
	if (a->kind == 'U')
		a->size *= 4;
	if (a->kind == 'O')
		return sl_error_at(l->err, SL_BADFORMAT, l->file, 0, "The array holds Python objects (a pickle), which "
				   "are not read. Save numbers (a.astype(float)) or strings (labels.astype(str)).");
	a->swapped = order == '>' ? little : order == '<' ? !little : false;
	return 0;
}

static int parse_header(struct literal *l, struct sl__npy *a)
{
	bool descr = false, fortran = false, shape = false;
	char key[24];
	int rc = 0;

	if (!take(l, '{'))
		return header_error(l, "{");
	while (!take(l, '}')) {
		if (!take_string(l, key, sizeof key) || !take(l, ':'))
			return header_error(l, "a key in quotes and a colon");
		if (!strcmp(key, "descr") && !descr) {
			rc = take_descr(l, a);
			descr = true;
		} else if (!strcmp(key, "fortran_order") && !fortran) {
			skip_space(l);
			fortran = true;
			if (!strncmp(l->at, "True", 4))
				a->fortran = true;
			else if (strncmp(l->at, "False", 5))
				return header_error(l, "True or False");
			l->at += a->fortran ? 4 : 5;
		} else if (!strcmp(key, "shape") && !shape) {
			rc = take_shape(l, a);
			shape = true;
		} else {
			return sl_error_at(l->err, SL_BADDATA, l->file, 0, "The array's header has the key '%s'; it "
					   "must have descr, fortran_order and shape, each once.", key);
		}
		if (rc)
			return rc;
		if (!take(l, ',') && (skip_space(l), *l->at != '}'))
			return header_error(l, "a comma or }");
	}
	if (!descr || !fortran || !shape)
		return sl_error_at(l->err, SL_BADDATA, l->file, 0, "The array's header lacks the key '%s'.",
				   !descr ? "descr" : !fortran ? "fortran_order" : "shape");
	return 0;
}

static int count_elements(struct sl__npy *a, const char *file, struct sl_error *err)
{
	a->count = 1;
	for (int k = 0; k < a->dims; k++)
		if (__builtin_mul_overflow(a->count, a->shape[k], &a->count))
			a->count = UINT64_MAX;
	if (a->count > (uint64_t)INT64_MAX / (uint64_t)(a->size ? a->size : 1))
		return sl_error_at(err, SL_BADDATA, file, 0, "The array's shape is larger than any file.");
	return 0;
}

int sl__npy_read_header(struct sl__npy *out, sl__npy_read_bytes *read, void *context, const char *file,
			struct sl_error *err)
{
	unsigned char prefix[12] = {0};
	struct literal l = {.file = file, .err = err};
	uint64_t length, prefix_bytes = 10;
	char *text;
	int rc;

	memset(out, 0, sizeof *out);
	int64_t got = read(context, prefix, 10, err);
	if (got < 0)
		return (int)got;
	if (got < 10 || memcmp(prefix, "\x93NUMPY", 6))
		return sl_error_at(err, SL_BADDATA, file, 0, "This is not a NumPy array: it does not start with \\x93NUMPY.");
	if (prefix[6] < 1 || prefix[6] > 3)
		return sl_error_at(err, SL_BADFORMAT, file, 0, "The array has format version %d; it must be 1, 2 or 3.",
				prefix[6]);
	length = prefix[8] | (uint64_t)prefix[9] << 8;
	if (prefix[6] > 1) {
		got = read(context, prefix + 10, 2, err);
		if (got < 0)
			return (int)got;
		prefix_bytes = 12;
		length |= (uint64_t)prefix[10] << 16 | (uint64_t)prefix[11] << 24;
	}
	if (length > HEADER_MAX)
		return sl_error_at(err, SL_BADDATA, file, 0, "The array's header claims %llu bytes; it must have at most %d.",
				   (unsigned long long)length, HEADER_MAX);
	text = malloc(length + 1);
	if (!text)
		return sl_error_memory_at(err, file, "the array's header");
	got = read(context, text, length, err);
	if (got < 0) {
		rc = (int)got;
	} else if ((uint64_t)got < length) {
		rc = sl_error_at(err, SL_BADDATA, file, 0, "The file ends within the array's header.");
	} else {
		text[length] = 0;
		l.at = text;
		out->header_bytes = prefix_bytes + length;
		rc = parse_header(&l, out);
	}
	free(text);
	return rc ? rc : count_elements(out, file, err);
}
