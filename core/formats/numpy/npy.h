/* npy.h -- NumPy's array files: reading initial layouts, writing layouts.
 *
 * Versions 1 to 3; C and Fortran order; either byte order; bool, integers of 1 to 8 bytes,
 * floats of 4 and 8 bytes. What is written is in C order, little-endian, version 1. */
#ifndef SL_NPY_H
#define SL_NPY_H

#include <stddef.h>

#include "core/formats/read.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads an array of shape (n, d), or (n) as d = 1, into *out [n * d], row by row, the caller's
 * to free(). All values must be finite; n > 0, 1 <= d <= 1024. Of options (may be NULL) max_nodes
 * bounds n, max_bytes the file, and cancel stops. */
int sl_npy_read(float **out, uint64_t *n, uint64_t *d, const struct sl_read_options *options,
		struct sl_source *source, struct sl_error *err);

/* The file is this header, always 128 bytes, and then float32 [n][d]; for d = 0 the shape is (n). */
#define SL_NPY_HEADER_BYTES 128
void sl_npy_header(char out[SL_NPY_HEADER_BYTES], uint64_t n, uint64_t d);
/* The same of any type, "<f4", "<f8" or "<i4", with up to three dimensions: 0 ends them. */
void sl_npy_header_of(char out[SL_NPY_HEADER_BYTES], const char *type, const uint32_t shape[3]);
/* What such a header says, if it is one. */
bool sl_npy_header_read(const char head[SL_NPY_HEADER_BYTES], char type[4], uint32_t shape[3]);

/* ---- internal: for other readers that meet arrays ------------------------ */

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

/* Exactly `want` bytes into out or an error; read returns the number of bytes, fewer only at the end. */
typedef int64_t sl__npy_read_bytes(void *context, void *out, uint64_t want, struct sl_error *err);

/* Reads the header, leaving the stream at the first element. file names it in errors. */
int sl__npy_read_header(struct sl__npy *out, sl__npy_read_bytes *read, void *context, const char *file,
			struct sl_error *err);

bool sl__npy_is_integer(const struct sl__npy *a);  /* bool included */
bool sl__npy_is_number(const struct sl__npy *a);   /* ... and floats of 4 and 8 bytes */
bool sl__npy_is_real(const struct sl__npy *a);     /* ... and of 2 */

/* count elements; in has them as stored. to_i64: integers only; unsigned above 2^63 - 1 give -1. */
void sl__npy_to_double(const struct sl__npy *a, const void *in, uint64_t count, double *out);
void sl__npy_to_i64(const struct sl__npy *a, const void *in, uint64_t count, int64_t *out);

/* Strings of bytes or of characters, and integers, are texts. */
bool sl__npy_is_text(const struct sl__npy *a);
/* One element as UTF-8 (as it is where it is bytes); to has room for its size plus 24 bytes. Returns the length. */
size_t sl__npy_to_text(const struct sl__npy *a, const unsigned char *in, char *to);

#ifdef __cplusplus
}
#endif
#endif
