/* table.h -- a table of points while it is being read. Internal to core/formats/.
 *
 * Values are appended row by row. Memory grows with the values that were read, because a header may declare more than
 * the file holds. A row with NaN or infinity is an error, or is marked and left out at the end. */
#ifndef SL_TABLE_H
#define SL_TABLE_H

#include "core/formats/graphs/readers.h"
#include "core/formats/points/centre.h"
#include "core/formats/read_points.h"

struct sl__table {
	const struct sl_input_options *options;
	struct sl_source *source;
	struct sl_account *account;  /* the source's, borrowed; NULL: none */
	struct sl_error *err;
	enum sl_points_type type;
	uint64_t n, d;          /* rows so far, columns */
	uint64_t capacity;      /* values for which there is room */
	void *value;            /* [n][d] */
	struct sl__centre centre;
	bool wide;              /* values come as doubles, through sl__table_put() */
	uint8_t *bad;           /* [bad_rows / 8 + 1] bit i: row i is not finite; NULL: all rows are finite */
	uint64_t bad_rows;
	uint32_t dropped;
	/* sl__table_points() moves these to the points: */
	char *name_bytes;
	uint64_t *name_at;
	uint32_t *label;
	uint32_t labels;
	char **label_name;
	char label_title[64];   /* title of the column of labels, or "" */
	struct sl_more_labels *more;
	uint32_t more_count;
	struct sl_taken *taken;  /* its rows are counted there; NULL: the reader has none */
};

void sl__table_init(struct sl__table *t, const struct sl_input_options *options, struct sl_source *source,
		    struct sl_error *err);
void sl__table_finish(struct sl__table *t);

/* Checks columns and rows (0: not known yet) against the limits; file: its name in messages. */
int sl__table_shape(struct sl__table *t, uint64_t rows, uint64_t columns, const char *file);

/* Makes room for `values` values in all. expected: how many the table may get in the end. */
int sl__table_reserve(struct sl__table *t, uint64_t values, uint64_t expected);

/* Appends `count` values that are doubles in the file, the first of them number `at`, row by row. There is room for
 * them. _columns: column by column, for n rows. */
int sl__table_put(struct sl__table *t, uint64_t at, uint64_t count, const double *value);
int sl__table_put_columns(struct sl__table *t, uint64_t n, uint64_t at, uint64_t count, const double *value);

/* Marks a row that is not finite as dropped. False: options do not allow that, and the caller reports an error. */
bool sl__table_drop(struct sl__table *t, uint64_t row, int *rc);
/* The part of that error which says how such rows can be dropped. things: "rows" or "points". */
const char *sl__table_drop_hint(const struct sl__table *t, const char *things, char *buffer, size_t size);

int sl__table_memory_error(struct sl__table *t);

struct sl__names;
/* Sets the labels: row i has the label names[value[i]]. Takes value if it returns 0; copies names. title: that of the
 * column, or "". */
int sl__table_take_labels(struct sl__table *t, const char *title, struct sl__names *names, uint32_t *value);
/* Adds a further column of labels, in the same way. */
int sl__table_add_labels(struct sl__table *t, const char *title, struct sl__names *names, uint32_t *value);

/* Makes the points; t is empty afterwards. */
int sl__table_points(struct sl__table *t, struct sl_points **out);

/* Adds a note if the table is square and symmetric. */
void sl__tell_square(struct sl_points *p);

/* The readers. */
int sl__read_points_npy(struct sl__table *t, struct sl_points **out);
struct sl__archive;
int sl__read_points_npz(struct sl__table *t, struct sl__archive *archive, struct sl_points **out);
int sl__read_points_text(struct sl__table *t, struct sl_points **out);
/* A text whose columns are the points. */
int sl__read_points_transposed(struct sl__table *t, struct sl_points **out);
/* Whether a text looks like a table of points rather than a graph. name: of the file; sign: the reason. account: books
 * what this takes; NULL: no limit. SL_NOMEM: nothing is known. */
int sl__looks_like_points(bool *points, const unsigned char *bytes, int64_t size, const char *name,
			  struct sl_account *account, char sign[160], struct sl_error *err);
/* Whether a MatrixMarket file declares as many rows as columns; true if its first bytes do not contain the size
 * line. */
bool sl__is_square(struct sl_source *source);

int sl__read_neighbours_npz(struct sl_neighbours **out, const struct sl_input_options *options,
			    struct sl__archive *archive, struct sl_error *err);
/* Notes what was left out of a matrix of distances g, which was read into nb. */
void sl__tell_neighbours(struct sl_neighbours *nb, const struct sl_graph *g);
int sl__neighbours_from_graph(struct sl_neighbours **out, const struct sl_graph *g, struct sl_source *source,
			      struct sl_error *err);

#endif
