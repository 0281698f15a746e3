/* Looks methods and their arrays up in the table (table.c). */
#include "core/method/method.h"

#include <stdlib.h>
#include <math.h>
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

/* ---- forms ------------------------------------------------------------------------------- */

struct sizes {
	uint32_t n, d, v, k;  /* d, k: 0: not known yet */
};

/* The size that a letter stands for, or 0: any. The first array with parts tells their number. */
static bool size_fits(struct sizes *s, char letter, uint32_t size)
{
	if (letter == 'k' && !s->k)
		s->k = size;
	if (letter == 'd' && !s->d)
		s->d = size;
	uint32_t due = letter == 'n' ? s->n : letter == 'd' ? s->d : letter == 'v' ? s->v : s->k;
	return letter == 't' || (size && size == due);
}

static bool shape_fits(struct sizes *s, const char *form, const struct sl_method_array *a)
{
	int dims = (int)strlen(form + 1);
	bool fits = true;
	if (form[1] == '*')
		return true;
	for (int i = 0; i < 3; i++)
		fits = fits && (i < dims ? size_fits(s, form[1 + i], a->shape[i]) : !a->shape[i]);
	return fits;
}

static bool type_fits(char letter, enum sl_array_type type)
{
	return letter == 'i' ? type == SL_ARRAY_INT32 : letter == 'f' ? type == SL_ARRAY_FLOAT32 :
	       letter == 'd' ? type == SL_ARRAY_FLOAT64 : type != SL_ARRAY_INT32;
}

static bool values_fit(const struct sl_method_array *a, int32_t parts)
{
	uint64_t count = sl_method_array_bytes(a) / (a->type == SL_ARRAY_FLOAT64 ? 8 : 4);
	const int32_t *whole = a->data;
	const float *single = a->data;
	const double *wide = a->data;
	bool fit = true;
	for (uint64_t i = 0; i < count && fit; i++)
		fit = a->type == SL_ARRAY_INT32 ? whole[i] >= -1 && whole[i] < parts :
		      a->type == SL_ARRAY_FLOAT32 ? isfinite(single[i]) : isfinite(wide[i]);
	return fit;
}

const char *sl_method_result_wrong(const struct sl_method *method, const struct sl_method_result *r, uint32_t n,
				   uint32_t d, uint32_t v)
{
	struct sizes s = {.n = n, .d = d, .v = v};
	int count = 0;
	for (const struct sl_method_output *o = method->results; o && o->name; o++, count++) {
		const struct sl_method_array *a = &r->array[count];
		if (count >= r->count || strcmp(o->name, a->name))
			return "an array is missing or out of order";
		if (o->form && (!type_fits(o->form[0], a->type) || !shape_fits(&s, o->form, a)))
			return "an array has another type or shape";
	}
	if (count != r->count)
		return "there are more arrays than the method has";
	for (int i = 0; i < count; i++)
		if (method->results[i].form && !values_fit(&r->array[i], s.k && s.k < n ? (int32_t)s.k : (int32_t)n))
			return "an array has values that are no numbers of parts, or not finite";
	return NULL;
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
