/* Reads layouts from NumPy arrays, and writes the header of a layout's array. */
#include "core/formats/numpy/npy.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "core/formats/source/source.h"

#define BLOCK 8192  /* elements converted at a time */

static int check_layout(const struct sl__npy *a, const struct sl_read_options *options, const char *file,
			struct sl_error *err)
{
	uint64_t d = a->dims > 1 ? a->shape[1] : 1;

	if (!sl__npy_is_number(a))
		return sl_error_at(err, SL_BADFORMAT, file, 0, "The array's type is '%s'; it must be float32, float64 "
				   "or integers (numpy.asarray(a, dtype=\"float32\")).", a->descr);
	if (a->dims < 1 || a->dims > 2)
		return sl_error_at(err, SL_BADDATA, file, 0, "The array has %d dimensions; it must have two: (nodes, "
				   "coordinates).", a->dims);
	if (a->shape[0] == 0 || d == 0 || d > 1024)
		return sl_error_at(err, SL_BADDATA, file, 0, "The array's shape is (%llu, %llu); it must be (nodes, "
				   "coordinates) with at least one node and 1 to 1024 coordinates.", (unsigned long long)a->shape[0],
				   (unsigned long long)d);
	if (options->max_nodes && a->shape[0] > options->max_nodes)
		return sl_error_at(err, SL_TOOBIG, file, 0, "The array has %llu rows; the limit (max_nodes) is %llu.",
				   (unsigned long long)a->shape[0], (unsigned long long)options->max_nodes);
	return 0;
}

/* Reads the elements in file order. Memory grows with the data, since the header may be wrong. */
static int read_elements(float **out, const struct sl__npy *a, uint64_t d, struct sl_source *s, struct sl_error *err)
{
	uint64_t capacity = a->count < 1u << 20 ? a->count : 1u << 20, done = 0;
	unsigned char block[BLOCK * 8];
	double value[BLOCK];
	const char *file = sl__source_name(s);

	int rc = sl_account_take(sl__source_account(s), SL_MEMORY, capacity * sizeof **out, err);
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
			if ((rc = sl_account_take(sl__source_account(s), SL_MEMORY, (capacity - before) * sizeof **out, err)))
				return rc;
			float *grown = realloc(*out, capacity * sizeof **out);
			if (!grown)
				return sl_error_memory_at(err, file, "%llu numbers", (unsigned long long)capacity);
			*out = grown;
		}
		sl__npy_to_double(a, block, want, value);
		for (uint64_t k = 0; k < want; k++) {
			uint64_t at = done + k, row = a->fortran ? at % a->shape[0] : at / d;
			if (!(fabs(value[k]) <= FLT_MAX))
				return sl_error_at(err, SL_BADDATA, file, 0, "Row %llu, column %llu (counted from 0) "
						   "is %g; coordinates must be finite single-precision "
						   "numbers.", (unsigned long long)row,
						   (unsigned long long)(a->fortran ? at / a->shape[0] : at % d), value[k]);
			(*out)[at] = (float)value[k];
		}
		done += want;
	}
	return *out ? 0 : sl_error_memory_at(err, file, "%llu numbers", (unsigned long long)a->count);
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
	rc = sl__npy_read_header(&a, sl__source_read_for, source, file, err);
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
			rc = sl_error_at(err, SL_BADDATA, file, 0, "The file has more than the %llu numbers that its "
					 "header promises.", (unsigned long long)a.count);
	}
	if (!rc && a.fortran && *d > 1)
		rc = sl_account_take(sl__source_account(source), SL_MEMORY, a.count * sizeof *values, err);
	if (!rc && a.fortran && *d > 1) {
		*out = transpose(values, *n, *d);
		if (!*out)
			rc = sl_error_memory_at(err, file, "%llu numbers", (unsigned long long)a.count);
	} else if (!rc) {
		*out = values;
		values = NULL;
	}
	free(values);
	return rc;
}

void sl_npy_header_of(char out[SL_NPY_HEADER_BYTES], const char *type, const uint32_t shape[3])
{
	char text[48];
	int length = snprintf(text, sizeof text, "(%u,", shape[0]);
	for (int i = 1; i < 3 && shape[i]; i++)
		length += snprintf(text + length, sizeof text - (size_t)length, i == 1 && shape[2] ? " %u," : " %u", shape[i]);
	snprintf(text + length, sizeof text - (size_t)length, ")");
	memset(out, ' ', SL_NPY_HEADER_BYTES);
	memcpy(out, "\x93NUMPY\x01\x00\x76\x00", 10);  /* 118 bytes follow */
	length = snprintf(out + 10, SL_NPY_HEADER_BYTES - 10, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }",
			type, text);
	out[10 + length] = ' ';
	out[SL_NPY_HEADER_BYTES - 1] = '\n';
}

void sl_npy_header(char out[SL_NPY_HEADER_BYTES], uint64_t n, uint64_t d)
{
	sl_npy_header_of(out, "<f4", (const uint32_t[3]){(uint32_t)n, (uint32_t)d});
}

bool sl_npy_header_read(const char head[SL_NPY_HEADER_BYTES], char type[4], uint32_t shape[3])
{
	char text[SL_NPY_HEADER_BYTES + 1];
	memcpy(text, head, SL_NPY_HEADER_BYTES);
	text[SL_NPY_HEADER_BYTES] = '\0';
	shape[0] = shape[1] = shape[2] = 0;
	return !memcmp(text, "\x93NUMPY\x01", 7) &&
	       sscanf(text + 10, "{'descr': '%3[<fi48]', 'fortran_order': False, 'shape': (%u, %u, %u", type, &shape[0],
		      &shape[1], &shape[2]) >= 2;
}
