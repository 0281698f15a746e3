/* column_order.h -- the order and the colours that users give to the categories of a column. They are kept in its
 * description: "ordered": true, "colors": ["#rrggbb", ...], one for each category. Any thread. */
#ifndef SL_COLUMN_ORDER_H
#define SL_COLUMN_ORDER_H

#include <stdbool.h>

#include "daemon/files/columns_file.h"

#define SL_COLUMN_COLOURS_MAX 1000

struct sl_account;

/* What a request wants: JSON arrays, each borrowed, JSON null to undo, or NULL to leave it. */
struct sl__column_order {
	const json_t *categories;  /* all of them, in their new order */
	const json_t *colors;      /* "#rrggbb" for each category, in the new order */
};

/* Checks what needs no column: types and colours. */
int sl__column_order_check(const struct sl__column_order *order, struct sl_error *err);
/* Gives the categories their new order, also in the values [n], and their colours. account: books the memory that this
 * takes. */
int sl__column_order_apply(struct sl_column *c, uint32_t n, const struct sl__column_order *order,
			   struct sl_account *account, struct sl_error *err);

/* "#rrggbb" as 0xrrggbb. False: it is none. */
bool sl__column_colour(const char *text, uint32_t *out);

#endif
