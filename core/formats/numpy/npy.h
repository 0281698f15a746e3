/* npy.h -- NumPy's array files (NumPy Enhancement Proposal 1): reads initial layouts, writes layouts.
 *
 * Reads versions 1 to 3, C and Fortran order, either byte order, bool, integers of 1 to 8 bytes, floats of 4 and 8
 * bytes. Writes version 1 in C order, little-endian. */
#ifndef SL_NPY_H
#define SL_NPY_H

#include <stddef.h>

#include "core/formats/read.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads an array of shape (n, d), or (n) as d = 1, into *out [n * d], row by row; the caller frees it with free(). All
 * values must be finite; n > 0, 1 <= d <= 1024. Uses max_nodes (limit of n), max_bytes and cancel of options, which may
 * be NULL. */
int sl_npy_read(float **out, uint64_t *n, uint64_t *d, const struct sl_read_options *options,
		struct sl_source *source, struct sl_error *err);

/* The file is this header, always 128 bytes, and then float32 [n][d]; for d = 0 the shape is (n). */
#define SL_NPY_HEADER_BYTES 128
void sl_npy_header(char out[SL_NPY_HEADER_BYTES], uint64_t n, uint64_t d);
/* The same for the types "<f4", "<f8" and "<i4", and up to three dimensions; a 0 ends the shape. */
void sl_npy_header_of(char out[SL_NPY_HEADER_BYTES], const char *type, const uint32_t shape[3]);
/* Parses such a header; false: it is none. */
bool sl_npy_header_read(const char head[SL_NPY_HEADER_BYTES], char type[4], uint32_t shape[3]);

/* ---- internal: for other readers of arrays ------------------------------- */

#define SL__NPY_DIMS_MAX 4

struct sl__npy {
	char kind;            /* 'b' bool, 'i', 'u', 'f', 'c', 'S', 'U', ... as in NumPy's descr */
	int size;             /* bytes of an element */
	bool swapped;         /* not this machine's byte order */
	bool fortran;
	int dims;
	uint64_t shape[SL__NPY_DIMS_MAX];
	uint64_t count;       /* elements: product of the shape; count * size fits 63 bits */
	uint64_t header_bytes;
	char descr[24];       /* for messages, printable */
};

/* Reads `want` bytes into out; returns the number of bytes, fewer than `want` only at the end, or a negative code. */
typedef int64_t sl__npy_read_bytes(void *context, void *out, uint64_t want, struct sl_error *err);

/* Reads the header; the stream is then at the first element. file: its name in error messages. */
int sl__npy_read_header(struct sl__npy *out, sl__npy_read_bytes *read, void *context, const char *file,
			struct sl_error *err);

bool sl__npy_is_integer(const struct sl__npy *a);  /* integers and bool */
bool sl__npy_is_number(const struct sl__npy *a);   /* integers, bool, floats of 4 and 8 bytes */
bool sl__npy_is_real(const struct sl__npy *a);     /* integers, bool, floats of 2, 4 and 8 bytes */

/* Convert count elements, stored as in the file. to_i64: integers only; unsigned ones above 2^63 - 1 become -1. */
void sl__npy_to_double(const struct sl__npy *a, const void *in, uint64_t count, double *out);
void sl__npy_to_i64(const struct sl__npy *a, const void *in, uint64_t count, int64_t *out);

/* True for strings of bytes or characters, and for integers: sl__npy_to_text() can convert them. */
bool sl__npy_is_text(const struct sl__npy *a);
/* Converts one element to UTF-8 (bytes are copied unchanged); to has room for its size plus 24 bytes. Returns the
 * length. */
size_t sl__npy_to_text(const struct sl__npy *a, const unsigned char *in, char *to);

#ifdef __cplusplus
}
#endif
#endif
