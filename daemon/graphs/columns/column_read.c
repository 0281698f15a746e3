/* Reads a column of labels by its name: one that was set after the upload, one of the upload, or a computed one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/files/values_file.h"
#include "daemon/graphs/graphs_internal.h"
#include "daemon/graphs/nodes.h"

_Static_assert(SL_UNLABELLED == SL_NO_CODE, "labels of an upload are codes of a column");

/* The column of the upload; its values are borrowed. */
static int own_column(struct sl_column_read *out, const struct sl_column_source *from, struct sl_error *err)
{
	const struct sl_graph *nodes = &from->data->nodes;
	json_t *list = json_array();
	for (uint32_t i = 0; i < nodes->labels; i++)
		json_array_append_new(list, json_string(nodes->label_name[i]));
	out->description = json_pack("{s:s, s:s, s:o}", "name", from->own, "kind", "category", "categories", list);
	out->column = (struct sl_column){out->description, nodes->label};
	return out->description ? 0 : sl_error_memory(err, "labels of %u nodes", from->nodes);
}

/* Computes the degrees: for a graph, the number of entries in each node's row; for points, how many others have the
 * point among their neighbours (NaN: the row was dropped). */
static int degree(struct sl_column_read *out, const struct sl_column_source *from, struct sl_error *err)
{
	float *value = out->value = calloc((size_t)from->nodes + 1, sizeof *value), low = INFINITY, high = -INFINITY;
	if (!value)
		return sl_error_memory(err, "labels of %u nodes", from->nodes);
	if (from->data->graph)
		sl_graph_degrees(from->data->graph, value);
	else
		sl_neighbours_degrees(from->neighbours->neighbours, value);
	for (uint32_t i = 0; i < from->nodes; i++) {
		low = fminf(low, value[i]);
		high = fmaxf(high, value[i]);
	}
	out->description = json_pack("{s:s, s:s, s:f, s:f}", "name", SL_DEGREE, "kind", "number", "min", (double)low, "max",
				     (double)high);
	out->column = (struct sl_column){out->description, value};
	return out->description ? 0 : sl_error_memory(err, "labels of %u nodes", from->nodes);
}

/* A column that was set, or that hides the column of the upload; NULL: there is none of this name. */
static const struct sl_column *find_set(struct sl_column_read *out, const struct sl_column_source *from,
					const char *name, struct sl_error *err)
{
	int rc = from->path ? sl_columns_read(from->path, from->nodes, name, &out->all, err)
			    : sl_error_memory(err, "a path");
	return rc ? NULL : sl_columns_find(out->all, name);
}

/* Numbers of float64 as float32, for colours. */
static int wide_numbers(struct sl_column_read *out, const struct sl_column_source *from, const struct sl_column *set,
			struct sl_error *err)
{
	char path[SL_COLUMNS_PATH];
	struct sl_values values;
	double *wide = malloc(((size_t)from->nodes + 1) * sizeof *wide);
	sl_columns_place_path(from->path, sl_column_place(set), path);
	int rc = wide ? sl_values_open(&values, path, json_string_value(json_object_get(set->description, "digest")),
				       from->nodes, err) : sl_error_memory(err, "labels of %u nodes", from->nodes);
	if (!rc) {
		rc = sl_values_read(&values, 0, wide, (uint64_t)from->nodes * sizeof *wide, err);
		sl_values_close(&values);
	}
	float *narrow = (float *)(void *)wide;   /* in place, from the left */
	for (uint32_t i = 0; i < from->nodes && !rc; i++) {
		float x = (float)wide[i];
		memcpy(&narrow[i], &x, sizeof x);
	}
	if (rc) {
		free(wide);
		return rc;
	}
	out->value = wide;
	out->column = (struct sl_column){set->description, wide};
	return 0;
}

int sl_column_read(struct sl_column_read *out, const struct sl_column_source *from, const char *name,
		   struct sl_error *err)
{
	*out = (struct sl_column_read){.all = NULL};
	err->code = 0;
	const struct sl_column *set = find_set(out, from, name, err);
	bool own = from->data->nodes.label;
	if (!set && !err->code && own && !strcmp(name, SL__OWN_LABELS)) {  /* by its other name */
		sl_columns_free(out->all);
		out->all = NULL;
		name = from->own;
		set = find_set(out, from, name, err);
	}
	if (err->code)
		return err->code;
	if (set && set->value) {
		out->column = *set;
		return 0;
	}
	if (set && sl_column_place(set) >= 0 && !strcmp(sl_column_kind(set), "number"))
		return wide_numbers(out, from, set, err);
	if (!set && own && !strcmp(name, from->own))
		return own_column(out, from, err);
	if (!set && !strcmp(name, SL_DEGREE))
		return degree(out, from, err);
	return sl_error_set(err, SL_NOTFOUND, "graph %s has no column of labels named %.64s", from->id, name);
}

void sl_column_read_finish(struct sl_column_read *c)
{
	sl_columns_free(c->all);
	json_decref(c->description);
	free(c->value);
}
