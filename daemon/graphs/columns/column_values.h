/* column_values.h -- reads columns of labels from the body of a request: JSON, a text (core/formats/labels/),
		or .npy. */
#ifndef SL_COLUMN_VALUES_H
#define SL_COLUMN_VALUES_H

#include "core/formats/labels/labels.h"
#include "daemon/files/columns_file.h"
#include "daemon/graphs/columns/column_order.h"
#include "daemon/graphs/read.h"

struct sl__column_wish {
	const char *name;    /* of the column to set; NULL: all columns of the file, by their titles */
	const char *only;    /* columns of the file to take, by title or number; NULL: all */
	bool any;            /* columns of any kind (column_kinds.h); kind: see there */
	const char *kind;    /* "category", "number", or NULL: strings become categories, numbers become numbers */
	const char *rename;  /* the new name of column `name`, which keeps its values; NULL: values are set */
	struct sl__column_order order;   /* of the categories of column `name`, which keeps its values; all NULL: none */
	struct sl_account *account;      /* books what is read, borrowed */
	struct sl_read_options options;  /* max_bytes and cancel count */
};

/* Parses the body as column wish->name. *description and *value: as in files/columns_file.h; the caller owns them.
 * *taken: what was taken of a text, a new reference, or unchanged. Pool thread. */
int sl__column_parse(const struct sl_uploaded *in, const struct sl__column_wish *wish, const struct sl_label_nodes
		     *nodes, json_t **description, void **value, json_t **taken, struct sl_error *err);
/* Sets all columns of a text. *names: their names, a new reference, also after an error. Pool thread. */
int sl__columns_parse(const struct sl_uploaded *in, const struct sl__column_wish *wish,
		      const struct sl_label_nodes *nodes, struct sl_columns *columns, json_t **names,
		      json_t **taken, struct sl_error *err);

/* Collects the body as the texts of a column: *out, whose title stays empty, is the caller's, also after an error.
 * Numbers are texts with as many digits as float64 needs, dates of an array (<M8) are those of
 * core/formats/text/date.h. *unmatched: rows of a text that name no node. Pool thread. */
int sl__column_texts(const struct sl_uploaded *in, const struct sl__column_wish *wish, const struct sl_label_nodes
		     *nodes, struct sl_label_column *out, uint64_t *unmatched, json_t **taken, struct sl_error *err);

/* Sets the columns of a table that was read, for n nodes. account: books the memory that this takes. Pool thread. */
int sl__label_columns_set(struct sl_columns *columns, const struct sl_label_table *t, const char *kind, uint32_t n,
			  struct sl_account *account, struct sl_error *err);

#endif
