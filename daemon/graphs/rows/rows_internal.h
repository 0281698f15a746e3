/* rows_internal.h -- the columns of a graph while a request reads them; for the files of this folder. Pool thread. */
#ifndef SL_ROWS_INTERNAL_H
#define SL_ROWS_INTERNAL_H

#include "core/formats/labels/kinds.h"
#include "daemon/files/values_file.h"
#include "daemon/graphs/nodes_internal.h"
#include "daemon/graphs/rows/rows.h"

#define SL__ROWS_SECONDS 10   /* a request may take so long on the pool */

/* One column. */
struct sl__row_column {
	const char *name;
	enum sl_column_kind kind;
	json_t *description;             /* borrowed */
	const struct sl_column *column;  /* NULL: the labels of the upload */
	bool wide;                       /* number: float64 */
	struct sl_values values;         /* fd -1: not open */
	void *all;                       /* [n] f32, f64, i64 or u32; or NULL */
	const char *const *words;        /* of a category [count]; owned */
	uint32_t words_count;
};

struct sl__rows {
	const struct sl__question *q;
	char *path;                      /* of the columns */
	int fd;
	struct sl_columns *columns;
	json_t *own;                     /* description of the labels of the upload, or NULL */
	struct sl__row_column *column;   /* [count] */
	int count;
	int64_t deadline_ns;
	struct sl_account *account;
	struct sl_error *err;
};

int sl__rows_open(struct sl__rows *r, const struct sl__question *q, struct sl_account *account, struct sl_error *err);
void sl__rows_close(struct sl__rows *r);
/* NULL: none; sets err at the field. */
struct sl__row_column *sl__rows_column(struct sl__rows *r, const char *name, const char *field);
/* The column of the longest name with which the text begins, before a ':'. *rest: behind it. */
struct sl__row_column *sl__rows_prefix(struct sl__rows *r, const char *text, const char **rest);
int sl__rows_open_values(struct sl__rows *r, struct sl__row_column *c);
/* Loads the whole column: numbers, dates, categories. */
int sl__rows_load(struct sl__rows *r, struct sl__row_column *c);
/* SL_CANCELLED when the time is over. */
int sl__rows_check(const struct sl__rows *r);
int64_t sl__rows_now_ns(void);

/* Values of a column that is loaded; NaN, SL_NO_DATE, NULL: none. */
double sl__row_number(const struct sl__row_column *c, uint32_t node);
int64_t sl__row_date(const struct sl__row_column *c, uint32_t node);
uint32_t sl__row_code(const struct sl__row_column *c, uint32_t node);

/* The value of one node, read from the file, as JSON; cut: as in struct sl_rows_query. *was_cut is set to true. NULL:
 * err says why. */
json_t *sl__row_json(struct sl__rows *r, struct sl__row_column *c, uint32_t node, uint32_t cut, bool *was_cut);

/* Parses "7,3,9" or one number: nodes below n, at most `most`. *out: malloc'd. */
int sl__rows_nodes(const char *text, uint32_t n, uint32_t most, uint32_t **out, uint32_t *count, struct sl_error *err);

#endif
