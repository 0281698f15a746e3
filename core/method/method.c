/* Looks methods and their arrays up in the table (table.c). */
#include "core/method/method.h"

#include <stdlib.h>
#include <string.h>

const struct sl_method *sl_method_find(const char *name)
{
	for (int i = 0; sl_methods[i]; i++)
		if (!strcmp(sl_methods[i]->name, name))
			return sl_methods[i];
	return NULL;
}

int sl_method_check(const struct sl_method *method, const void *params, uint32_t n, uint32_t d, struct sl_error *err)
{
	return method->check ? method->check(params, n, d, err) : 0;
}

enum sl_origin sl_method_origin(const struct sl_method *method, bool graph, bool given)
{
	if (method->takes & SL_TAKES_GRAPH)
		return SL_OF_AFFINITIES;
	bool only_edges = method->takes & SL_TAKES_EDGES && !(method->takes & SL_TAKES_POINTS);
	if (only_edges || (method->takes & SL_TAKES_EDGES && graph && !given))
		return SL_OF_EDGES;
	return given ? SL_OF_LAYOUT : SL_OF_POINTS;
}

bool sl_method_takes(const struct sl_method *method, enum sl_origin origin)
{
	return sl_method_origin(method, origin == SL_OF_EDGES, origin == SL_OF_LAYOUT) == origin;
}

bool sl_method_operates(const struct sl_method *method, bool edges)
{
	return method->operates_on & (edges ? SL_TAKES_EDGES : SL_TAKES_POINTS);
}

int sl_method_result_index(const struct sl_method *method, const char *name)
{
	for (int i = 0; method->results[i].name; i++)
		if (!strcmp(method->results[i].name, name))
			return i;
	return -1;
}

static bool listed(const struct sl_method_output *const *list, int count, const char *name)
{
	int i = 0;
	while (i < count && strcmp(list[i]->name, name))
		i++;
	return i < count;
}

int sl_method_outputs(const struct sl_method_output **out, int most)
{
	int count = 0;
	for (int m = 0; sl_methods[m]; m++)
		for (const struct sl_method_output *o = sl_methods[m]->results; o->name && count < most; o++)
			if (!listed(out, count, o->name))
				out[count++] = o;
	return count;
}

uint64_t sl_method_array_bytes(const struct sl_method_array *a)
{
	uint64_t bytes = a->type == SL_ARRAY_FLOAT64 ? 8 : 4;
	for (int i = 0; i < 3; i++)
		bytes *= i && !a->shape[i] ? 1 : a->shape[i];
	return bytes;
}

void sl_method_result_finish(struct sl_method_result *r)
{
	for (int i = 0; i < r->count; i++)
		free(r->array[i].data);
	free(r->table);
	r->count = r->rows = 0;
	r->table = NULL;
}

const char *sl_stop_name(enum sl_stop stop)
{
	static const char *const names[] = {"", "iterations", "gradient_norm", "kl", "time", "asked", "converged"};
	return names[stop];
}
