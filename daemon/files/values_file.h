/* values_file.h -- the values of one column of a graph's nodes: STATE_DIR/graphs/ID.cNN, sealed (store/seal.h).
 *
 *   kind            content, little-endian
 *   number          f64 [n]; NaN: none
 *   date            i64 [n], milliseconds since 1970; INT64_MIN: none
 *   text, link      bytes, then places [n] {from u64, bytes u64}; bytes SL_NO_VALUE: none. Equal texts are stored once.
 *   image           the same, of image files; or, "raw", pixels u8 [n][height][width][channels]
 *
 * A file is written once and never changed. Functions block: for pool threads. */
#ifndef SL_VALUES_FILE_H
#define SL_VALUES_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/account.h"
#include "core/error.h"

#define SL_NO_VALUE UINT64_MAX
#define SL_VALUES_DIGEST_BYTES 65  /* hex, with its end */

struct sl_value_place {
	uint64_t from, bytes;
};

/* ---- writing ------------------------------------------------------------------------- */

struct sl_values_writer;

/* Begins PATH.tmp. Books the disk space in account, borrowed. */
int sl_values_create(struct sl_values_writer **out, const char *path, struct sl_account *account, struct sl_error *err);
int sl_values_add(struct sl_values_writer *w, const void *data, uint64_t bytes, struct sl_error *err);
uint64_t sl_values_written(const struct sl_values_writer *w);
/* Seals the file, synchronises it and gives it its name; frees w, also after an error. *stored: its size. */
int sl_values_finish(struct sl_values_writer *w, char digest[SL_VALUES_DIGEST_BYTES], uint64_t *stored,
		     struct sl_error *err);
void sl_values_abandon(struct sl_values_writer *w);  /* removes the file; NULL is fine */

/* ---- reading ------------------------------------------------------------------------- */

struct sl_values {
	int fd;
	uint64_t bytes;        /* of the content */
	uint32_t n;
	char path[4096];
};

/* Opens the file and compares its digest with that of the column's description. SL_NOTFOUND: it has been replaced, or
 * another column has its place: read the description again. SL_IO: it is damaged. */
int sl_values_open(struct sl_values *out, const char *path, const char *digest, uint32_t n, struct sl_error *err);
void sl_values_close(struct sl_values *v);
/* Reads a part of the content. */
int sl_values_read(const struct sl_values *v, uint64_t from, void *out, uint64_t bytes, struct sl_error *err);
/* The places of the nodes from..from + count - 1, checked. */
int sl_values_places(const struct sl_values *v, uint32_t from, uint32_t count, struct sl_value_place *out,
		     struct sl_error *err);

#endif
