/* rows.h -- requests about rows: nodes with the values of their columns, found by words, ranges and categories. And
 * columns themselves, and images. Each function parks the request, and replies when the pool has made the answer. Loop
 * thread. */
#ifndef SL_ROWS_H
#define SL_ROWS_H

#include "daemon/graphs/graphs.h"
#include "daemon/http/http.h"

#define SL_ROWS_COUNT 100     /* default number of rows in a reply */
#define SL_ROWS_MOST 10000
#define SL_SPRITES_MOST 4096
#define SL_SHEET_PIXELS_MOST (1u << 24)   /* SL_SPRITES_MOST squares of 64 */
#define SL_SPRITE_SIDE 32     /* default */
#define SL_SPRITE_SIDE_MOST 256

/* Texts are those of the query, copied; NULL: not given. */
struct sl_rows_query {
	const char *search, *in;      /* words; the column of texts to search */
	const char *range;            /* year:1990..2000;date:2020-01-01.. */
	const char *category;         /* type:cat;type:dog: columns are all of these, values any of theirs */
	const char *sort;             /* a column, -column, node or rank */
	const char *columns;          /* those to show, with ';' between them; empty: none; NULL: all */
	const char *nodes;            /* 7,3,9 */
	const char *cursor;
	uint32_t limit, cut;          /* cut: bytes of a text that are shown; 0: all */
	bool ids;                     /* reply with the numbers of all nodes that match, u32, and no rows */
};
void sl_rows_find(struct sl_graphs *s, const char *id, const struct sl_rows_query *q, struct sl_request *r);

/* The list of columns; and the values of one: JSON by pages, or as they are stored. */
struct sl_values_query {
	const char *column;
	uint32_t from, count;
	bool binary;
};
void sl_rows_columns(struct sl_graphs *s, const char *id, struct sl_request *r);
void sl_rows_column(struct sl_graphs *s, const char *id, const struct sl_values_query *q, struct sl_request *r);

/* One image as it is (of an array: as PNG); a sheet of thumbnails as PNG. */
struct sl_sprites_query {
	const char *column;
	const char *nodes;            /* 7,3,9; NULL: from.. */
	uint32_t from, count, side, across;
};
void sl_rows_image(struct sl_graphs *s, const char *id, const char *column, uint32_t node, struct sl_request *r);
void sl_rows_sprites(struct sl_graphs *s, const char *id, const struct sl_sprites_query *q, struct sl_request *r);

/* Sets columns of any kind by the body of the request (columns.c). column NULL: all columns of a text. only: the
 * columns of the text to take, or NULL. kinds: see sl__kinds_table(). */
void sl_rows_put(struct sl_graphs *s, const char *id, const char *column, const char *only, const char *kinds,
		 struct sl_request *r);

#endif
