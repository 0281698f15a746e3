/* columns_file.h -- labels of a graph's nodes that were set after the upload: STATE_DIR/graphs/ID.sll.
 *
 *   bytes of the description u64, description (JSON: {"columns": [{"name", "kind", ...}]}), then for each column its
 *   values [n]: codes u32 of a category (SL_NO_CODE: none), or numbers f32 (NaN: none); little-endian; then the seal
 *
 * Functions block: for pool threads. */
#ifndef SL_COLUMNS_FILE_H
#define SL_COLUMNS_FILE_H

#include <jansson.h>
#include <stdint.h>

#include "core/error.h"

#define SL_NO_CODE UINT32_MAX
#define SL_COLUMNS_MAX 256

/* description: {"name", "kind": "category", "categories": [...]} or {"name", "kind": "number", "min", "max"}, or
 * {"name", "kind": "none"}: the column of that name that came with the upload is not shown. */
struct sl_column {
	json_t *description;
	void *value;           /* [n] of 4 bytes; NULL: kind none */
};

struct sl_columns {
	uint32_t n;
	int count;
	struct sl_column column[SL_COLUMNS_MAX];
};

struct sl_columns *sl_columns_create(uint32_t n);
void sl_columns_free(struct sl_columns *c);  /* NULL is fine */

/* Reads a file; if it does not exist, there are no columns. only: reads the values of this column only; NULL: of
 * all. */
int sl_columns_read(const char *path, uint32_t n, const char *only, struct sl_columns **out, struct sl_error *err);
/* Reads only the descriptions, and does not compare the digest, so that the start of the server reads little. */
int sl_columns_describe(const char *path, uint32_t n, struct sl_columns **out, struct sl_error *err);
uint64_t sl_columns_file_bytes(const char *path);  /* 0: there is none */
/* Replaces the file, or removes it if there are no columns. *bytes: its size. */
int sl_columns_write(const char *path, const struct sl_columns *c, uint64_t *bytes, struct sl_error *err);
/* Writes a new file; path must not exist. */
int sl_columns_create_file(const char *path, const struct sl_columns *c, uint64_t *bytes, struct sl_error *err);

const char *sl_column_name(const struct sl_column *c);
const char *sl_column_kind(const struct sl_column *c);
struct sl_column *sl_columns_find(struct sl_columns *c, const char *name);  /* NULL: none */
/* Adds or replaces a column. Takes description and value, also on an error. */
int sl_columns_set(struct sl_columns *c, json_t *description, void *value, struct sl_error *err);
void sl_columns_remove(struct sl_columns *c, struct sl_column *column);

#endif
