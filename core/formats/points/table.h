/* table.h -- a table of points while it is being read. Internal to core/formats/.
 *
 * Values are appended row by row; memory grows with what has really come, since a header can lie. Rows with NaN or
 * infinity are an error or are marked, and left out at the end. */
#ifndef SL_TABLE_H
#define SL_TABLE_H

#include "core/formats/graphs/readers.h"
#include "core/formats/read_points.h"

struct sl__table {
	const struct sl_input_options *options;
	struct sl_source *source;
	struct sl_error *err;
	enum sl_points_type type;
	uint64_t n, d;          /* rows so far, columns */
	uint64_t capacity;      /* values that there is room for */
	void *value;            /* [n][d] */
	uint8_t *bad;           /* [bad_rows / 8 + 1] bit i: row i is not finite; NULL: none is */
	uint64_t bad_rows;
	uint32_t dropped;
	/* handed on to the points */
	char *name_bytes;
	uint64_t *name_at;
	uint32_t *label;
	uint32_t labels;
	char **label_name;
	char label_title[64];   /* of their column, or "" */
	struct sl_more_labels *more;
	uint32_t more_count;
};

void sl__table_init(struct sl__table *t, const struct sl_input_options *options, struct sl_source *source,
		    struct sl_error *err);
void sl__table_finish(struct sl__table *t);

/* Checks columns and (if it is known, else 0) rows against the limits; file is for messages. */
int sl__table_shape(struct sl__table *t, uint64_t rows, uint64_t columns, const char *file);

/* Room for `values` values in all, of which expected may come. */
int sl__table_reserve(struct sl__table *t, uint64_t values, uint64_t expected);

/* Row `row` is to be dropped; or, when it is not, false: the caller says where it is wrong. */
bool sl__table_drop(struct sl__table *t, uint64_t row, int *rc);
/* For the error where it could have been: how. things: "rows" or "points". */
const char *sl__table_drop_hint(const struct sl__table *t, const char *things, char *buffer, size_t size);

int sl__table_memory_error(struct sl__table *t);

struct sl__names;
/* Row i has the label names[value[i]]. Takes value if 0; copies names. title: of the column, or "". */
int sl__table_take_labels(struct sl__table *t, const char *title, struct sl__names *names, uint32_t *value);
/* A further column of labels, in the same way. */
int sl__table_add_labels(struct sl__table *t, const char *title, struct sl__names *names, uint32_t *value);

/* Makes the points; t keeps nothing. */
int sl__table_points(struct sl__table *t, struct sl_points **out);

/* The readers. */
int sl__read_points_npy(struct sl__table *t, struct sl_points **out);
struct sl__archive;
int sl__read_points_npz(struct sl__table *t, struct sl__archive *archive, struct sl_points **out);
int sl__read_points_text(struct sl__table *t, struct sl_points **out);
/* Whether a text looks like a table of points rather than a list of edges. */
bool sl__looks_like_points(const unsigned char *bytes, int64_t size);
/* Whether the size line of a MatrixMarket file has as many rows as columns; true if it is not among the first bytes. */
bool sl__is_square(struct sl_source *source);

int sl__read_neighbours_npz(struct sl_neighbours **out, const struct sl_input_options *options,
			    struct sl__archive *archive, struct sl_error *err);
int sl__neighbours_from_graph(struct sl_neighbours **out, const struct sl_graph *g, const char *file,
			      struct sl_error *err);

#endif
