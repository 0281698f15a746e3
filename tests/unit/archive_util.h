/* archive_util.h -- makes SciPy archives in memory, for the tests of core/formats/. */
#ifndef ARCHIVE_UTIL_H
#define ARCHIVE_UTIL_H

#include <zip.h>

#include "tests/unit/formats_util.h"

struct buffer {
	unsigned char *bytes;
	size_t size;
};

static inline void add_array(zip_t *zip, const char *name, const char *descr, const char *shape, const void *data,
		size_t size,
		      bool compressed)
{
	char header[256];
	int length = snprintf(header + 10, 200, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape);
	unsigned char *file = malloc(10 + (size_t)length + size);
	zip_source_t *source;

	memcpy(header, "\x93NUMPY\x01\x00", 8);
	header[8] = (char)length;
	header[9] = 0;
	memcpy(file, header, 10 + (size_t)length);
	memcpy(file + 10 + length, data, size);
	source = zip_source_buffer(zip, file, 10 + (size_t)length + size, 1);
	zip_int64_t index = zip_file_add(zip, name, source, 0);
	assert_true(index >= 0);
	zip_set_file_compression(zip, (zip_uint64_t)index, compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
}

static inline zip_t *start_zip(zip_source_t **source)
{
	zip_error_t error;

	zip_error_init(&error);
	*source = zip_source_buffer_create(NULL, 0, 0, &error);
	zip_source_keep(*source);
	zip_t *zip = zip_open_from_source(*source, ZIP_TRUNCATE, &error);
	assert_non_null(zip);
	return zip;
}

static inline struct buffer end_zip(zip_t *zip, zip_source_t *source)
{
	struct buffer out;
	zip_stat_t st;

	assert_int_equal(zip_close(zip), 0);
	zip_source_open(source);
	zip_source_stat(source, &st);
	out.size = st.size;
	out.bytes = malloc(out.size);
	assert_int_equal(zip_source_read(source, out.bytes, out.size), (int)out.size);
	zip_source_close(source);
	zip_source_free(source);
	return out;
}

/* The matrix with a(0, 1) = 2, a(1, 2) = .5, a(2, 0) = 3, a(2, 1) = 1, by rows. */
static inline zip_t *small_zip(const char *format, bool wide, bool doubles, bool compressed, zip_source_t **source)
{
	static const int32_t ptr4[] = {0, 1, 2, 4}, col4[] = {1, 2, 0, 1}, row4[] = {0, 1, 2, 2};
	static const int32_t cptr4[] = {0, 1, 3, 4}, crow4[] = {2, 0, 2, 1};
	static const double data8[] = {2, .5, 3, 1}, cdata8[] = {3, 2, 1, .5};
	bool csc = !strcmp(format, "csc"), coo = !strcmp(format, "coo");
	const double *d8 = csc ? cdata8 : data8;
	const char *index = wide ? "<i8" : "<i4";
	int64_t shape[] = {3, 3}, a[4], b[4];
	float d4[4];
	zip_t *zip = start_zip(source);
	const int32_t *first = coo ? row4 : csc ? cptr4 : ptr4, *second = coo ? col4 : csc ? crow4 : col4;

	for (int k = 0; k < 4; k++) {
		d4[k] = (float)d8[k];
		a[k] = first[k];
		b[k] = second[k];
	}
	add_array(zip, coo ? "row.npy" : "indptr.npy", index, "(4,)", wide ? (const void *)a : first, wide ? 32 : 16,
			compressed);
	add_array(zip, coo ? "col.npy" : "indices.npy", index, "(4,)", wide ? (const void *)b : second, wide ? 32 : 16,
			compressed);
	add_array(zip, "format.npy", "|S3", "()", format, 3, compressed);
	add_array(zip, "shape.npy", "<i8", "(2,)", shape, 16, compressed);
	add_array(zip, "data.npy", doubles ? "<f8" : "<f4", "(4,)", doubles ? (const void *)d8 : d4, doubles ? 32 : 16,
			compressed);
	return zip;
}

static inline struct buffer small_archive(const char *format, bool wide, bool doubles, bool compressed)
{
	zip_source_t *source;
	zip_t *zip = small_zip(format, wide, doubles, compressed, &source);
	return end_zip(zip, source);
}

#endif
