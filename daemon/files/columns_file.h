/* columns_file.h -- columns of a graph's nodes beside those of the upload: STATE_DIR/graphs/ID.sll.
 *
 *   bytes of the description u64, description (JSON: {"columns": [{"name", "kind", ...}]}), then for each column its
 *   values [n]: codes u32 of a category (SL_NO_CODE: none), or numbers f32 (NaN: none); little-endian; then the seal
 *
 * Values that are wider have a file of their own, ID.cNN (values_file.h), whose number is the description's "place";
 * "digest" is that of its content, and "stored" its size.
 *
 * Functions block: for pool threads. */
#ifndef SL_COLUMNS_FILE_H
#define SL_COLUMNS_FILE_H

#include <jansson.h>
#include <stdint.h>

#include "core/error.h"

#define SL_NO_CODE UINT32_MAX
#define SL_COLUMNS_MAX 256
#define SL_COLUMNS_PLACES 64   /* columns with a file of their own */
#define SL_COLUMNS_PATH 4096

/* description: {"name", "kind": "category", "categories": [...]} or {"name", "kind": "number", "min", "max"}, or
 * {"name", "kind": "none"}: the column of that name that came with the upload is not shown. Kinds with a place: number
 * (float64), date, text, link and image (graphs/columns/column_kinds.h). */
struct sl_column {
	json_t *description;
	void *value;           /* [n] of 4 bytes; NULL: kind none, or a place */
};

struct sl_columns {
	uint32_t n;
	uint64_t values_at;    /* of a file that was read: where values begin */
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
/* Describes the columns and leaves the file open, so that parts of values can be read, of one version of it; *fd -1:
 * there is no file. */
int sl_columns_open(const char *path, uint32_t n, struct sl_columns **out, int *fd, struct sl_error *err);
/* Reads values from..from + count - 1 of a column without a place, 4 bytes each. */
int sl_columns_part(int fd, const char *path, const struct sl_columns *c, const struct sl_column *column, uint32_t from,
		    uint32_t count, void *out, struct sl_error *err);
/* The size of the file, 0 if there is none, and of those with the values of c (NULL is fine). */
uint64_t sl_columns_bytes(const char *path, const struct sl_columns *c);
/* Replaces the file, or removes it if there are no columns, and removes the values that no column names any more.
 * *bytes: the size of all. */
int sl_columns_write(const char *path, const struct sl_columns *c, uint64_t *bytes, struct sl_error *err);
/* Writes a new file; path must not exist. */
int sl_columns_create_file(const char *path, const struct sl_columns *c, uint64_t *bytes, struct sl_error *err);

const char *sl_column_name(const struct sl_column *c);
const char *sl_column_kind(const struct sl_column *c);
struct sl_column *sl_columns_find(struct sl_columns *c, const char *name);  /* NULL: none */
/* Adds or replaces a column. Takes description and value, also on an error. */
int sl_columns_set(struct sl_columns *c, json_t *description, void *value, struct sl_error *err);
void sl_columns_remove(struct sl_columns *c, struct sl_column *column);

/* ---- values with a file of their own ---------------------------------------------------- */

int sl_column_place(const struct sl_column *c);  /* -1: none */
/* The file of a place beside path, that of the columns. */
void sl_columns_place_path(const char *path, int place, char out[SL_COLUMNS_PATH]);
/* A place without a file that no column names, or SL_TOOBIG. */
int sl_columns_free_place(const char *path, const struct sl_columns *c, struct sl_error *err);
/* Removes the values of all places that no column of c names. */
void sl_columns_clear_places(const char *path, const struct sl_columns *c);
/* While it is locked, no graph's set of files changes. Any thread; for a short time. */
void sl_columns_lock(void);
void sl_columns_unlock(void);

#endif
