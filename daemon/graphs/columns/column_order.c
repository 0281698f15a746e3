/* A new order renumbers codes and names together, so that each node keeps its category. */
#include "daemon/graphs/columns/column_order.h"

#include <stdlib.h>
#include <string.h>

#include "core/account.h"

bool sl__column_colour(const char *text, uint32_t *out)
{
	if (!text || text[0] != '#' || strlen(text) != 7 || strspn(text + 1, "0123456789abcdefABCDEF") != 6)
		return false;
	*out = (uint32_t)strtoul(text + 1, NULL, 16);
	return true;
}

static bool array_or_null(const json_t *value)
{
	return !value || json_is_null(value) || json_is_array(value);
}

int sl__column_order_check(const struct sl__column_order *order, struct sl_error *err)
{
	size_t i;
	json_t *one;
	uint32_t colour;
	if (!array_or_null(order->categories))
		return sl_error_field(err, SL_BADPARAM, "/categories",
				      "categories must be the column's categories in their new order, or null");
	if (!array_or_null(order->colors) || json_array_size(order->colors) > SL_COLUMN_COLOURS_MAX)
		return sl_error_field(err, SL_BADPARAM, "/colors",
				      "colors must be an array of at most %d colours, one for each category, or null",
				      SL_COLUMN_COLOURS_MAX);
	json_array_foreach(order->colors, i, one)
		if (!sl__column_colour(json_string_value(one), &colour))
			return sl_error_field(err, SL_BADPARAM, "/colors",
					      "colors[%zu] must be a colour such as \"#1f77b4\"", i);
	return 0;
}

/* Puts the number of each category into a new object, by name. */
static json_t *numbered(const json_t *list)
{
	json_t *out = json_object(), *one;
	size_t i;
	json_array_foreach(list, i, one)
		json_object_set_new(out, json_string_value(one), json_integer((json_int_t)i));
	return out;
}

static int reorder(struct sl_column *c, uint32_t n, const json_t *wanted, struct sl_account *account,
		   struct sl_error *err)
{
	const json_t *have = json_object_get(c->description, "categories");
	size_t count = json_array_size(have), i;
	json_t *one, *number = numbered(have);
	uint32_t *to = sl_account_alloc(account, (uint64_t)count + 1, sizeof *to), *code = c->value;
	int rc = to && number ? 0 : sl_error_memory(err, "the change");
	for (i = 0; i < count && !rc; i++)
		to[i] = SL_NO_CODE;
	for (i = 0; i < json_array_size(wanted) && !rc; i++) {
		const char *name = json_string_value(json_array_get(wanted, i));
		const json_t *at = name ? json_object_get(number, name) : NULL;
		if (!at)
			rc = sl_error_field(err, SL_BADPARAM, "/categories",
					    "categories[%zu]: the column has no category \"%.64s\"", i, name ? name : "");
		else if (to[json_integer_value(at)] != SL_NO_CODE)
			rc = sl_error_field(err, SL_BADPARAM, "/categories",
					    "categories[%zu]: \"%.64s\" stands there twice", i, name);
		else
			to[json_integer_value(at)] = (uint32_t)i;
	}
	json_array_foreach(have, i, one)
		if (!rc && to[i] == SL_NO_CODE)
			rc = sl_error_field(err, SL_BADPARAM, "/categories",
					    "categories must name each of the column's %zu categories; \"%.64s\" is missing",
					    count, json_string_value(one));
	for (uint32_t v = 0; v < n && !rc; v++)
		code[v] = code[v] < count ? to[code[v]] : SL_NO_CODE;
	if (!rc)
		json_object_set_new(c->description, "categories", json_deep_copy(wanted));
	free(to);
	json_decref(number);
	return rc;
}

int sl__column_order_apply(struct sl_column *c, uint32_t n, const struct sl__column_order *order,
			   struct sl_account *account, struct sl_error *err)
{
	size_t count = json_array_size(json_object_get(c->description, "categories"));
	if (strcmp(sl_column_kind(c), "category") != 0)
		return sl_error_field(err, SL_BADPARAM, order->categories ? "/categories" : "/colors",
				      "the column \"%.64s\" holds numbers; only categories have an order and colours",
				      sl_column_name(c));
	if (json_is_array(order->colors) && json_array_size(order->colors) != count)
		return sl_error_field(err, SL_BADPARAM, "/colors",
				      "there are %zu colors for %zu categories; there must be one for each",
				      json_array_size(order->colors), count);
	if (json_is_array(order->categories)) {
		int rc = reorder(c, n, order->categories, account, err);
		if (rc)
			return rc;
		if (!order->colors)   /* they belong to the former order */
			json_object_del(c->description, "colors");
		json_object_set_new(c->description, "ordered", json_true());
	} else if (order->categories) {
		json_object_del(c->description, "ordered");
	}
	if (json_is_array(order->colors))
		json_object_set_new(c->description, "colors", json_deep_copy(order->colors));
	else if (order->colors)
		json_object_del(c->description, "colors");
	return 0;
}
