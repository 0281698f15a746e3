/* t-SNE as an entry of the table of methods (core/method/method.h). */
#include <stdlib.h>

#include "core/embedding/embedding_internal.h"
#include "core/graph/affinities.h"
#include "core/method/method.h"

_Static_assert(sizeof(struct sl_params) <= SL_METHOD_PARAMS_BYTES, "a record of parameters has no room");

static int check(const void *params, uint32_t n, uint32_t d, struct sl_error *err)
{
	return sl_params_check(params, err);
}

static int iterations(const void *params)
{
	return sl_params_iterations(params);
}

static int create(void **out, const struct sl_method_input *in, const void *params, struct sl_error *err)
{
	struct sl_embedding *e;
	int code = sl_embedding_create(&e, in->engine, in->graph, in->affinities, params, in->init, err);
	if (!code)
		*out = e;
	return code;
}

static void destroy(void *run)
{
	sl_embedding_destroy(run);
}

static int advance(void *run, double slice_ms, struct sl_status *status, struct sl_error *err)
{
	return sl_embedding_advance(run, slice_ms, status, err);
}

static int stop(void *run, struct sl_status *status, struct sl_error *err)
{
	return sl_embedding_stop(run, status, err);
}

static int steer(void *run, const void *params, struct sl_error *err)
{
	return sl_embedding_steer(run, params, err);
}

static const struct sl_trace_point *trace(const void *run, int *count)
{
	return sl_embedding_trace(run, count);
}

static int save(void *run, void **out, uint64_t *bytes, struct sl_error *err)
{
	return sl_embedding_save(run, out, bytes, err);
}

static int load(void *run, const void *state, uint64_t bytes, struct sl_error *err)
{
	return sl_embedding_load(run, state, bytes, err);
}

static int dims(const void *params)
{
	return ((const struct sl_params *)params)->dims;
}

static int layout_of(void *run, struct sl_method_array *out, struct sl_error *err)
{
	struct sl_embedding *e = run;
	uint32_t rows = e->affinities->n_user, columns = (uint32_t)e->params.dims;
	float *y = malloc(((size_t)rows * columns + 1) * sizeof *y);
	int code = y ? sl_embedding_layout(e, y, err) :
		       sl_error_set(err, SL_NOMEM, "Out of memory for a layout of %u nodes.", rows);
	if (code)
		free(y);
	else
		*out = (struct sl_method_array){.name = "layout", .shape = {rows, columns}, .data = y};
	return code;
}

static struct sl_embedding *embedding(void *run)
{
	return run;
}

static const char *const no_results[] = {NULL};

extern const struct sl_method sl_method_tsne;
const struct sl_method sl_method_tsne = {
	.name = "tsne", .doc = "A layout in which what is connected, or similar, lies together (SG-t-SNE, t-SNE).",
	.measure = "kl", .takes = SL_TAKES_GRAPH, .layout = true, .results = no_results,
	.relief = "A smaller initial layout (init_std) or grid (grid_side), or repulsion auto, would be right.",
	.params = &sl_tsne_table, .params_bytes = sizeof(struct sl_params),
	.check = check, .iterations = iterations, .create = create, .destroy = destroy, .advance = advance, .stop = stop,
	.steer = steer, .trace = trace, .save = save, .load = load,
	.dims = dims, .layout_of = layout_of, .embedding = embedding,
};
