/* content.h -- what a file is, by its first bytes. All that read, check or preview files ask here. Internal to
 * core/formats/. */
#ifndef SL_CONTENT_H
#define SL_CONTENT_H

#include <stdint.h>

#include "core/error.h"

struct sl_source;

/* A NumPy array, a zip archive of arrays, MatrixMarket, or a text. */
enum sl__content { SL__ARRAY, SL__ARCHIVE, SL__MATRIX, SL__TEXT };

const char *sl__content_name(enum sl__content content);  /* "npy", "npz", "mtx", "csv" */
/* From the first `size` bytes of a file of this name. SL_BADDATA: it is empty. SL_BADFORMAT: it is a file of another
 * program, which the error names with the way out, or unknown. */
int sl__content_of(const unsigned char *bytes, int64_t size, const char *name, enum sl__content *out,
		   struct sl_error *err);
/* The same from the bytes that a source shows, behind a byte order mark; it consumes nothing else. */
int sl__content_find(struct sl_source *source, enum sl__content *out, struct sl_error *err);

#endif
