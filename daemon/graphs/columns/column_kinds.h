/* column_kinds.h -- stores columns of any kind: it recognises the kind, writes the values, and describes them.
 *
 * The description of a column that came this way has, beside name and kind (files/columns_file.h):
 *   read, missing     nodes with and without a value
 *   unmatched         rows of the file whose name is no node
 *   examples          up to three first values, as texts
 *   why, warns        what was guessed (core/formats/labels/kinds.h); absent: nothing to say
 *   min, max          numbers; dates in milliseconds; null: no value
 *   longest           bytes of the longest text
 *   images            of an image: {"encoding": "raw" or "files", "width", "height", "channels"}; those of files are
 * the
 *                     largest ones, and "types" counts files by type
 * Pool thread. */
#ifndef SL_COLUMN_KINDS_STORE_H
#define SL_COLUMN_KINDS_STORE_H

#include "core/formats/labels/kinds.h"
#include "daemon/graphs/columns/column_values.h"

/* Sets all columns of a text in `columns`, beside whose file (path) values of their own get files. *names: their names,
 * a new reference, also after an error. kinds: "text" for all, or "abstract:text,year:number"; NULL: recognised. */
int sl__kinds_table(const struct sl_uploaded *in, const struct sl__column_wish *wish, const char *kinds,
		    const struct sl_label_nodes *nodes, const char *path, struct sl_columns *columns, json_t **names,
		    json_t **taken, struct sl_error *err);
/* Sets one column: of a text, an array of numbers, strings or dates, JSON, or images: an array of uint8, or a zip. */
int sl__kinds_column(const struct sl_uploaded *in, const struct sl__column_wish *wish, const char *kind,
		     const struct sl_label_nodes *nodes, const char *path, struct sl_columns *columns, json_t **taken,
		     struct sl_error *err);

/* What replies show of a description or a summary: all but what is stored where. labels: only what a column of labels
 * has. New reference. */
json_t *sl__kinds_shown(const json_t *description, bool labels);

/* images.c */
bool sl__images_is(const unsigned char *bytes, size_t size);  /* an array of images, or a zip */
int sl__images_store(struct sl_source *source, const char *name, const struct sl_label_nodes *nodes,
		     struct sl_account *account, uint64_t max_bytes, const char *path, struct sl_columns *columns,
		     json_t **taken, struct sl_error *err);
/* Adds the place of a finished file to a description, and sets the column. Takes the description. */
int sl__kinds_set(struct sl_columns *columns, json_t *description, int place, const char *digest, uint64_t stored,
		  struct sl_error *err);

#endif
