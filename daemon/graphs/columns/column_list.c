/* The list of columns for replies, in which one column is marked: it colours pictures unless a request names one. */
#include <string.h>

#include "core/picture/picture_choice.h"
#include "daemon/files/columns_file.h"
#include "daemon/graphs/columns/column_kinds.h"
#include "daemon/graphs/graphs_internal.h"

/* Describes a column for the choice. A column of the file "main" holds the upload's main labels, in another order. A
 * column of equal numbers colours nothing either. */
static struct sl_picture_column candidate(const json_t *column, const char *main_title)
{
	const json_t *low = json_object_get(column, "min"), *high = json_object_get(column, "max");
	bool equal = json_number_value(low) >= json_number_value(high);
	return (struct sl_picture_column){
		.name = json_string_value(json_object_get(column, "name")),
		.number = !strcmp(json_string_value(json_object_get(column, "kind")), "number"),
		.categories = (uint32_t)json_integer_value(json_object_get(column, "categories")),
		.ids = equal || json_is_true(json_object_get(column, "ids")),
		.main = !strcmp(json_string_value(json_object_get(column, "name")), main_title) ||
			json_object_get(column, "main"),
	};
}

/* Marks the column that colours pictures unless a request names one. main_title: title of the upload's main labels, if
 * they are listed. */
void sl__columns_mark(json_t *list, const char *main_title, uint32_t nodes)
{
	struct sl_picture_column column[SL_COLUMNS_MAX + 1];
	int count = 0;
	for (size_t i = 0; i < json_array_size(list) && count < SL_COLUMNS_MAX + 1; i++)
		column[count++] = candidate(json_array_get(list, i), main_title);
	int chosen = sl_picture_choose(column, count, nodes);
	if (chosen >= 0)
		json_object_set_new(json_array_get(list, (size_t)chosen), "auto", json_true());
	for (size_t i = 0; i < json_array_size(list); i++)
		json_object_del(json_array_get(list, i), "main");
}

/* Texts, dates, links and images colour nothing. */
static bool is_label(const char *kind)
{
	return !strcmp(kind, "category") || !strcmp(kind, "number");
}

/* Makes the list for replies: the upload's column own_name, unless it was replaced or hidden, and the others. labels:
 * number of labels of the upload. */
json_t *sl__columns_shown(const char *own_name, uint32_t labels, uint32_t nodes, const json_t *all)
{
	json_t *list = json_array(), *one;
	bool own = labels > 0;
	size_t i;
	json_array_foreach(all, i, one)
		own = own && strcmp(json_string_value(json_object_get(one, "name")), own_name) != 0;
	if (own)
		json_array_append_new(list, json_pack("{s:s, s:s, s:I}", "name", own_name, "kind", "category",
						      "categories", (json_int_t)labels));
	json_array_foreach(all, i, one)
		if (is_label(json_string_value(json_object_get(one, "kind"))))
			json_array_append_new(list, sl__kinds_shown(one, true));
	sl__columns_mark(list, own ? own_name : "", nodes);
	return list;
}

json_t *sl__graph_columns(const struct sl__graph *g)
{
	return sl__columns_shown(g->record.label_title, g->record.labels, g->record.nodes, g->columns);
}
