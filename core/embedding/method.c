/* t-SNE as an entry of the table of methods (core/method/method.h). */
#include <math.h>
#include <stdlib.h>

#include "core/embedding/embedding_internal.h"
#include "core/embedding/transform.h"
#include "core/graph/affinities.h"
#include "core/init/init.h"
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

static int check_data(const void *params, const struct sl_method_data *data, struct sl_error *err)
{
	const struct sl_params *p = params;
	int code = sl_params_check_input(p, !data->graph, err);
	if (!code && p->init == SL_INIT_PCA && !data->coordinates)
		code = sl_error_field(err, SL_BADPARAM, "/init", "init pca is for points, which have coordinates; here it may "
				      "be random, spectral or given.");
	return code;
}

static int asked(const void *params)
{
	return ((const struct sl_params *)params)->iterations;
}

static int trace_points(const void *params)
{
	const struct sl_params *p = params;
	return p->trace_interval > 0 ? iterations(p) / p->trace_interval : 0;
}

static void affinities(const void *params, struct sl_affinities_params *out)
{
	sl_affinities_params_from(out, params);
}

static void settings(const void *params, uint32_t n, struct sl_settings *out)
{
	sl_embedding_settings(params, n, out);
}

/* ---- the beginning ------------------------------------------------------------------------ */

static enum sl_initial initial(const void *params, const struct sl_method_data *data)
{
	const struct sl_params *p = params;
	if (p->init == SL_INIT_GIVEN)
		return SL_INITIAL_GIVEN;
	if (p->init == SL_INIT_SPECTRAL)
		return SL_INITIAL_WALK;
	return SL_INITIAL_OWN;
}

/* Among 1e8 normal random numbers, almost none exceeds 6. A given layout that is not rescaled may have any width. */
static double initial_extent(const void *params)
{
	const struct sl_params *p = params;
	return p->init == SL_INIT_GIVEN && p->init_std == 0 ? INFINITY : 12 * p->init_std;
}

/* ---- the values that stand for "auto" ---------------------------------------------------- */

static void add_number(struct sl_resolved *out, int *count, const char *name, double value, bool known)
{
	out[(*count)++] = (struct sl_resolved){.name = name, .type = known ? SL_RESOLVED_NUMBER : SL_RESOLVED_UNKNOWN,
					       .number = value};
}

static void add_word(struct sl_resolved *out, int *count, const char *name, const char *word)
{
	out[(*count)++] = (struct sl_resolved){.name = name, .type = word ? SL_RESOLVED_WORD : SL_RESOLVED_UNKNOWN,
					       .word = word};
}

static void add_affinities(const struct sl_params *p, const struct sl_method_data *data, struct sl_resolved *out,
			   int *count)
{
	struct sl_affinities_params wanted;
	bool points = data->known && !data->graph;
	affinities(p, &wanted);
	add_number(out, count, "lambda", wanted.lambda, data->known && !points);
	struct sl_resolved *perplexity = &out[(*count)++];
	*perplexity = (struct sl_resolved){.name = "perplexity", .type = points ? SL_RESOLVED_LIST : SL_RESOLVED_UNKNOWN};
	perplexity->list.count = wanted.perplexities ? wanted.perplexities : 1;
	perplexity->list.value[0] = sl_perplexity_auto(data->neighbours);
	for (int i = 0; i < wanted.perplexities; i++)
		perplexity->list.value[i] = wanted.perplexity[i];
}

static const char *init_word(const struct sl_params *p, const struct sl_method_data *data)
{
	return sl_params_find("init")->words[sl_init_settled(p, data->known && data->coordinates)];
}

static int resolved(const void *params, const struct sl_method_data *data, int iteration,
		    const struct sl_trace_point *last, struct sl_resolved out[SL_RESOLVED_MOST])
{
	static const char *const accuracies[] = {"draft", "normal", "fine"};
	const struct sl_params *p = params;
	struct sl_settings in_force;
	int count = 0;
	settings(p, data->n, &in_force);
	struct sl_step step = sl_embedding_step_at(p, data->n, iteration);
	/* early exaggeration may last longer than planned */
	const struct sl_trace_point *phase = p->exaggeration_iterations < 0 ? last : NULL;
	add_affinities(p, data, out, &count);
	add_number(out, &count, "learning_rate", last ? last->learning_rate : (double)step.learning_rate, true);
	add_number(out, &count, "exaggeration", phase ? phase->exaggeration : (double)step.exaggeration, true);
	add_number(out, &count, "momentum", phase ? phase->momentum : (double)step.momentum, true);
	add_word(out, &count, "accuracy", accuracies[in_force.accuracy - SL_DRAFT]);
	add_word(out, &count, "init", init_word(p, data));
	add_word(out, &count, "repulsion", in_force.repulsion != SL_REPULSION_AUTO ?
		 sl_params_find("repulsion")->words[in_force.repulsion] : last ? last->h > 0 ? "grid" : "exact" : NULL);
	add_number(out, &count, "grid_spacing", last ? last->h : 0, last && last->h > 0);
	return count;
}

/* ---- runs ---------------------------------------------------------------------------------- */

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
		       sl_error_memory(err, "a layout of %u nodes", rows);
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

static const struct sl_method_output no_results[] = {{NULL, NULL, NULL}};

extern const struct sl_method sl_method_tsne;
const struct sl_method sl_method_tsne = {
	.name = "tsne", .title = "t-SNE",
	.doc = "A layout in which what is connected, or similar, lies together (SG-t-SNE, t-SNE).",
	.summary = "lay out a graph or points by their neighbours",
	.about = "Nodes that are connected, and points that are similar, lie together (SG-t-SNE, t-SNE).",
	.measure = "kl", .measure_title = "KL divergence", .traces_layout = true,
	.takes = SL_TAKES_GRAPH, .layout = true, .results = no_results,
	.relief = "Use a smaller initial layout (init_std) or grid (grid_side), or repulsion auto.",
	.params = &sl_tsne_table, .params_bytes = sizeof(struct sl_params),
	.check = check, .check_data = check_data, .resolved = resolved, .affinities = affinities, .settings = settings,
	.initial_param = "init", .initial = initial, .initial_extent = initial_extent,
	.asked = asked, .trace_points = trace_points,
	.transform = &sl_transform_table, .iterations = iterations, .create = create, .destroy = destroy,
	.advance = advance, .stop = stop, .steer = steer, .trace = trace, .save = save, .load = load,
	.dims = dims, .layout_of = layout_of, .embedding = embedding,
};
