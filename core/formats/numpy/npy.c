#include "core/formats/numpy/npy.h"

#include <ctype.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "core/formats/source/source.h"

#define HEADER_MAX (64 * 1024)
#define BLOCK 8192  /* elements converted at a time */

/* ---- header --------------------------------------------------------------- */

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
	return sl_error_at(l->err, SL_BADDATA, l->file, 0, "The array's header has \"%s\" where %s should be.", seen,
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
				"The array has named fields (a structured type); it should "
				   "hold plain numbers.");
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
		return sl_error_at(l->err, SL_BADFORMAT, l->file, 0, "The array holds Python objects; it should hold numbers.");
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
			return sl_error_at(l->err, SL_BADDATA, l->file, 0, "The array's header has the key '%s'; it should have "
					   "descr, fortran_order and shape, each once.", key);
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
		return sl_error_at(err, SL_BADDATA, file, 0, "The array's shape means more bytes than any file has.");
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
		return sl_error_at(err, SL_BADDATA, file, 0, "This is no NumPy array: it does not start with \\x93NUMPY.");
	if (prefix[6] < 1 || prefix[6] > 3)
		return sl_error_at(err, SL_BADFORMAT, file, 0, "The array has format version %d; 1, 2 and 3 are known.",
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
		return sl_error_at(err, SL_BADDATA, file, 0, "The array's header claims %llu bytes; at most %d make sense.",
				   (unsigned long long)length, HEADER_MAX);
	text = malloc(length + 1);
	if (!text)
		return sl_error_at(err, SL_NOMEM, file, 0, "No memory for the array's header.");
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

/* ---- elements --------------------------------------------------------------- */

bool sl__npy_is_integer(const struct sl__npy *a)
{
	bool size = a->size == 1 || a->size == 2 || a->size == 4 || a->size == 8;

	return (a->kind == 'b' && a->size == 1) || ((a->kind == 'i' || a->kind == 'u') && size);
}

bool sl__npy_is_number(const struct sl__npy *a)
{
	return sl__npy_is_integer(a) || (a->kind == 'f' && (a->size == 4 || a->size == 8));
}

bool sl__npy_is_real(const struct sl__npy *a)
{
	return sl__npy_is_number(a) || (a->kind == 'f' && a->size == 2);
}

/* IEEE half precision: 1 bit of sign, 5 of exponent, 10 of fraction. */
static double half_to_double(uint32_t bits)
{
	int exponent = (int)(bits >> 10 & 31);
	double fraction = bits & 1023, value;

	if (exponent == 31)
		value = fraction != 0 ? NAN : INFINITY;
	else
		value = exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24);
	return bits & 0x8000 ? -value : value;
}

static inline uint64_t load_bits(const unsigned char *p, int size, bool swapped)
{
	uint16_t two;
	uint32_t four;
	uint64_t eight;

	switch (size) {
	case 1:
		return *p;
	case 2:
		memcpy(&two, p, 2);
		return swapped ? __builtin_bswap16(two) : two;
	case 4:
		memcpy(&four, p, 4);
		return swapped ? __builtin_bswap32(four) : four;
	default:
		memcpy(&eight, p, 8);
		return swapped ? __builtin_bswap64(eight) : eight;
	}
}

static inline int64_t extend_sign(uint64_t bits, int size)
{
	switch (size) {
	case 1:
		return (int8_t)bits;
	case 2:
		return (int16_t)bits;
	case 4:
		return (int32_t)bits;
	default:
		return (int64_t)bits;
	}
}

static inline double element_to_double(const struct sl__npy *a, uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float f;
	double d;

	if (a->kind == 'f' && a->size == 4) {
		memcpy(&f, &low, 4);
		return (double)f;
	}
	if (a->kind == 'f' && a->size == 2)
		return half_to_double(low);
	if (a->kind == 'f') {
		memcpy(&d, &bits, 8);
		return d;
	}
	if (a->kind == 'i')
		return (double)extend_sign(bits, a->size);
	return a->kind == 'b' ? (double)(bits != 0) : (double)bits;
}

void sl__npy_to_double(const struct sl__npy *a, const void *in, uint64_t count, double *out)
{
	const unsigned char *p = in;

	for (uint64_t k = 0; k < count; k++)
		out[k] = element_to_double(a, load_bits(p + k * (uint64_t)a->size, a->size, a->swapped));
}

void sl__npy_to_i64(const struct sl__npy *a, const void *in, uint64_t count, int64_t *out)
{
	const unsigned char *p = in;

	for (uint64_t k = 0; k < count; k++) {
		uint64_t bits = load_bits(p + k * (uint64_t)a->size, a->size, a->swapped);

		if (a->kind == 'i')
			out[k] = extend_sign(bits, a->size);
		else if (a->kind == 'b')
			out[k] = bits != 0;
		else
			out[k] = bits > (uint64_t)INT64_MAX ? -1 : (int64_t)bits;
	}
}

/* ---- layouts ---------------------------------------------------------------- */

static int64_t read_source(void *context, void *out, uint64_t want, struct sl_error *err)
{
	return sl__source_read(context, out, want, err);
}

static int check_layout(const struct sl__npy *a, const struct sl_read_options *options, const char *file,
			struct sl_error *err)
{
	uint64_t d = a->dims > 1 ? a->shape[1] : 1;

	if (!sl__npy_is_number(a))
		return sl_error_at(err, SL_BADFORMAT, file, 0, "The array's type is '%s'; it should be float32, float64 or "
				   "integers (numpy.asarray(a, dtype=\"float32\")).", a->descr);
	if (a->dims < 1 || a->dims > 2)
		return sl_error_at(err, SL_BADDATA, file, 0, "The array has %d dimensions; it should have two: (nodes, "
				   "coordinates).", a->dims);
	if (a->shape[0] == 0 || d == 0 || d > 1024)
		return sl_error_at(err, SL_BADDATA, file, 0,
				"The array's shape is (%llu, %llu); it should be (nodes, coordinates) "
				   "with at least one node and 1 to 1024 coordinates.", (unsigned long long)a->shape[0],
				   (unsigned long long)d);
	if (options->max_nodes && a->shape[0] > options->max_nodes)
		return sl_error_at(err, SL_TOOBIG, file, 0, "%llu rows; the limit (max_nodes) is %llu.",
				   (unsigned long long)a->shape[0], (unsigned long long)options->max_nodes);
	return 0;
}

/* The elements in file order. Memory grows with what has really been read: a header can lie. */
static int read_elements(float **out, const struct sl__npy *a, uint64_t d, struct sl_source *s, struct sl_error *err)
{
	uint64_t capacity = a->count < 1u << 20 ? a->count : 1u << 20, done = 0;
	unsigned char block[BLOCK * 8];
	double value[BLOCK];
	const char *file = sl__source_name(s);

	int rc = sl_account_take(SL_MEMORY, capacity * sizeof **out, err);
	if (rc)
		return rc;
	*out = malloc(capacity * sizeof **out);
	while (*out && done < a->count) {
		uint64_t want = a->count - done < BLOCK ? a->count - done : BLOCK;
		int64_t got = sl__source_read(s, block, want * (uint64_t)a->size, err);
		if (got < 0)
			return (int)got;
		if ((uint64_t)got < want * (uint64_t)a->size)
			return sl_error_at(err, SL_BADDATA, file, 0, "The file ends after %llu of the %llu numbers that its header "
					   "promises.", (unsigned long long)(done + (uint64_t)got / (uint64_t)a->size),
					   (unsigned long long)a->count);
		if (done + want > capacity) {
			uint64_t before = capacity;
			capacity = capacity * 2 < a->count ? capacity * 2 : a->count;
			if ((rc = sl_account_take(SL_MEMORY, (capacity - before) * sizeof **out, err)))
				return rc;
			float *grown = realloc(*out, capacity * sizeof **out);
			if (!grown)
				return sl_error_at(err, SL_NOMEM, file, 0, "No memory for %llu numbers.",
						   (unsigned long long)capacity);
			*out = grown;
		}
		sl__npy_to_double(a, block, want, value);
		for (uint64_t k = 0; k < want; k++) {
			uint64_t at = done + k, row = a->fortran ? at % a->shape[0] : at / d;
			if (!(fabs(value[k]) <= FLT_MAX))
				return sl_error_at(err, SL_BADDATA, file, 0, "Row %llu, column %llu (counted from 0) is %g; "
						   "coordinates are finite single-precision numbers.", (unsigned long long)row,
						   (unsigned long long)(a->fortran ? at / a->shape[0] : at % d), value[k]);
			(*out)[at] = (float)value[k];
		}
		done += want;
	}
	return *out ? 0 : sl_error_at(err, SL_NOMEM, file, 0, "No memory for %llu numbers.", (unsigned long long)a->count);
}

static float *transpose(const float *in, uint64_t n, uint64_t d)
{
	float *out = malloc(n * d * sizeof *out);

	for (uint64_t k = 0; out && k < d; k++)
		for (uint64_t i = 0; i < n; i++)
			out[i * d + k] = in[k * n + i];
	return out;
}

int sl_npy_read(float **out, uint64_t *n, uint64_t *d, const struct sl_read_options *options,
		struct sl_source *source, struct sl_error *err)
{
	static const struct sl_read_options none;
	const char *file = sl__source_name(source);
	float *values = NULL;
	struct sl__npy a;
	char extra;
	int rc;

	*out = NULL;
	if (!options)
		options = &none;
	sl__source_set_options(source, options);
	rc = sl__npy_read_header(&a, read_source, source, file, err);
	if (!rc)
		rc = check_layout(&a, options, file, err);
	if (rc)
		return rc;
	*n = a.shape[0];
	*d = a.dims > 1 ? a.shape[1] : 1;
	rc = read_elements(&values, &a, *d, source, err);
	if (!rc) {
		int64_t got = sl__source_read(source, &extra, 1, err);
		if (got < 0)
			rc = (int)got;
		else if (got > 0)
			rc = sl_error_at(err, SL_BADDATA, file, 0, "The file goes on after the %llu numbers that its header "
					 "promises.", (unsigned long long)a.count);
	}
	if (!rc && a.fortran && *d > 1)
		rc = sl_account_take(SL_MEMORY, a.count * sizeof *values, err);
	if (!rc && a.fortran && *d > 1) {
		*out = transpose(values, *n, *d);
		if (!*out)
			rc = sl_error_at(err, SL_NOMEM, file, 0, "No memory for %llu numbers.", (unsigned long long)a.count);
	} else if (!rc) {
		*out = values;
		values = NULL;
	}
	free(values);
	return rc;
}

void sl_npy_header(char out[SL_NPY_HEADER_BYTES], uint64_t n, uint64_t d)
{
	char shape[48];
	int length;

	if (d)
		snprintf(shape, sizeof shape, "(%llu, %llu)", (unsigned long long)n, (unsigned long long)d);
	else
		snprintf(shape, sizeof shape, "(%llu,)", (unsigned long long)n);
	memset(out, ' ', SL_NPY_HEADER_BYTES);
	memcpy(out, "\x93NUMPY\x01\x00\x76\x00", 10);  /* 118 bytes follow */
	length = snprintf(out + 10, SL_NPY_HEADER_BYTES - 10, "{'descr': '<f4', 'fortran_order': False, 'shape': %s, }",
			shape);
	out[10 + length] = ' ';
	out[SL_NPY_HEADER_BYTES - 1] = '\n';
}

/* Appends code point c as UTF-8. */
static size_t put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 63));
		to[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 63));
	to[2] = (char)(0x80 | (c >> 6 & 63));
	to[3] = (char)(0x80 | (c & 63));
	return 4;
}

bool sl__npy_is_text(const struct sl__npy *a)
{
	return a->kind == 'S' || a->kind == 'U' || sl__npy_is_integer(a);
}

size_t sl__npy_to_text(const struct sl__npy *a, const unsigned char *in, char *to)
{
	size_t length = 0;
	if (a->kind == 'S') {
		while (length < (size_t)a->size && in[length]) {
			to[length] = (char)in[length];
			length++;
		}
	} else if (a->kind == 'U') {
		for (int k = 0; k + 4 <= a->size; k += 4) {
			uint32_t c;
			memcpy(&c, in + k, 4);
			c = a->swapped ? __builtin_bswap32(c) : c;
			if (!c)
				break;
			length += put_utf8(to + length, c <= 0x10ffff ? c : 0xfffd);
		}
	} else {
		int64_t value;
		sl__npy_to_i64(a, in, 1, &value);
		length = (size_t)snprintf(to, 24, "%" PRId64, value);
	}
	return length;
}
