/* The specification of a job: read from the body of a request and checked in full. Loop thread. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/meant.h"
#include "daemon/graphs/graphs.h"
#include "daemon/jobs/record/spec.h"
#include "daemon/layouts/layouts.h"
#include "daemon/json/json.h"
#include "daemon/json/param_json.h"

static const char *const members[] = {"graph", "name", "priority", "time_limit", "engine", "initial", "after",
				     "dry_run", "project", "method", "input", "params", NULL};

static int read_graph(struct sl_jobs *j, const json_t *body, struct sl_job_spec *spec, struct sl_error *err)
{
	const json_t *id = json_object_get(body, "graph");
	if (!id && spec->source && (spec->graph = sl_graphs_find(j->d->graphs, spec->source->record.graph)))
		return 0;
	if (!id)
		return sl_error_field(err, SL_BADPARAM, "/graph",
				      "graph is missing; it must be the id or the name of a graph.");
	if (!json_is_string(id) || !json_string_value(id)[0])
		return sl_error_field(err, SL_BADPARAM, "/graph",
				      "graph must be the id or the name of a graph, as GET /v1/graphs lists them.");
	spec->graph = sl_graphs_resolve(j->d->graphs, json_string_value(id), err);
	if (!spec->graph) {
		snprintf(err->pointer, sizeof err->pointer, "/graph");
		return err->code;
	}
	if (spec->graph->state != SL_GRAPH_READY)
		return sl_error_field(err, SL_CONFLICT, "/graph",
				      "Graph %s is damaged on disk; delete it and upload it again.", spec->graph->id);
	return 0;
}

bool sl__job_spec_knows(const struct sl_method *method, const char *member)
{
	return sl_word_in(members, member) || sl_param_find(method->params, member);
}

int sl__job_spec_time_limit(const json_t *body, double *seconds, struct sl_error *err)
{
	const json_t *value = json_object_get(body, "time_limit");
	double number = json_number_value(value);
	if (value && !json_is_null(value) && (!json_is_number(value) || !(number > 0 && number <= 1e9)))
		return sl_error_field(err, SL_BADPARAM, "/time_limit", "time_limit must be a number of seconds above 0, or "
				      "null");
	*seconds = number;
	return 0;
}

int sl__job_spec_method(const json_t *body, const struct sl_method **out, struct sl_error *err)
{
	const json_t *name = json_object_get(body, "method");
	char known[200] = "";
	*out = sl_methods[0];
	if (!name)
		return 0;
	*out = json_is_string(name) ? sl_method_find(json_string_value(name)) : NULL;
	for (int i = 0; sl_methods[i]; i++)
		snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i ? ", " : "", sl_methods[i]->name);
	return *out ? 0 : sl_error_field(err, SL_BADPARAM, "/method", "method must be one of %s.", known);
}

static int read_params(const json_t *body, struct sl_work *w, struct sl_error *err)
{
	sl_param_defaults(w->method->params, &w->params);
	return sl_params_from_json(w->method->params, &w->params, body, members, err);
}

/* For a run that a worker makes: chooses an engine whose devices compute it, or the CPU engine. */
static int engine_that_helps(struct sl_jobs *j, const struct sl_work *w, const char **name, struct sl_error *err)
{
	bool automatic = !*name || !strcmp(*name, SL_ENGINE_AUTO);
	const struct sl_server_engine *e = sl_engines_find(j->engines, automatic ? SL_ENGINE_AUTO : *name);
	if (!e || sl__work_helped(w, e))
		return 0;
	if (automatic)
		*name = "cpu";
	if (!strcmp(*name, "cpu") || (w->method->operation && !e->functions))
		return 0;  /* sl_engines_choose() sets the error */
	return sl_error_field(err, SL_BADPARAM, "/engine", "Engine %s does not compute this job of method %s. Use "
			      "cpu.", *name, w->method->name);
}

/* Reads the engine, which must be usable now; the error says why it is not, and which engines are. */
static int read_engine(struct sl_jobs *j, const json_t *body, struct sl_job_spec *spec, struct sl_error *err)
{
	const char *name = NULL;
	int code = sl_json_string(body, "engine", &name, err);
	if (!code && spec->work.origin != SL_OF_AFFINITIES)
		code = engine_that_helps(j, &spec->work, &name, err);
	if (!code)
		code = sl_engines_choose(j->engines, name ? name : SL_ENGINE_AUTO, &spec->engine, err);
	if (!code)
		spec->requested = sl_engine_word(name ? name : SL_ENGINE_AUTO);
	return code;
}

/* Reads `after`: the job must exist, and must not have failed or been cancelled. */
static int read_after(struct sl_jobs *j, const json_t *body, struct sl_job_spec *spec, struct sl_error *err)
{
	const char *text = NULL;
	struct sl_job *other;
	int code = sl_json_string(body, "after", &text, err);
	if (code || !text)
		return code;
	code = sl__job_match(j, text, &other, err);
	if (!code && (other->life.state == SL_JOB_FAILED || other->life.state == SL_JOB_CANCELLED))
		code = sl_error_set(err, SL_CONFLICT, "Job %s %s, so nothing can start after it.", other->record.id,
				    other->life.state == SL_JOB_FAILED ? "has failed" : "was cancelled");
	if (code)
		snprintf(err->pointer, sizeof err->pointer, "/after");
	else
		spec->after = other;
	return code;
}

/* Reads {"layout": ID}, an uploaded layout. */
static int read_layout(struct sl_jobs *j, const json_t *initial, struct sl_job_spec *spec, struct sl_error *err)
{
	static const char *const known[] = {"layout", NULL};
	const char *id = json_string_value(json_object_get(initial, "layout"));
	if (sl_json_known(initial, known, NULL) || !id)
		return sl_error_field(err, SL_BADPARAM, "/initial", "An object as initial must be {\"layout\": ID}, with "
				      "the id of a layout that was uploaded to /v1/layouts.");
	spec->layout = sl_layouts_find(j->d->layouts, id);
	if (!spec->layout)
		return sl_error_field(err, SL_NOTFOUND, "/initial/layout", "There is no layout %.64s; uploaded ones are "
				      "kept for %g s (layout_lifetime_s).", id, j->d->config.layout_lifetime_s);
	int dims = sl__work_dims(&spec->work);
	if (spec->layout->nodes != spec->graph->nodes || spec->layout->dims != dims)
		return sl_error_field(err, SL_BADPARAM, "/initial/layout", "Layout %s has the shape [%u, %d]; it must be "
				      "[%u, %d], a row for each node.", id, spec->layout->nodes, spec->layout->dims, spec->graph->nodes,
				      dims);
	return 0;
}

/* The parameter that chooses the initial layout, and `initial`, which may have one, must agree. */
static int agree(const json_t *body, struct sl_job_spec *spec, struct sl_error *err)
{
	struct sl_work *w = &spec->work;
	const struct sl_method_data data = sl__data_of(spec->graph);
	const char *name = w->method->initial_param;
	char pointer[64];
	bool given = w->method->initial(&w->params, &data) == SL_INITIAL_GIVEN;
	if (!json_object_get(body, "initial"))
		return !given ? 0 : sl_error_field(err, SL_BADPARAM, "/initial",
						   "%s is given, so initial must be a layout, or the id of one.", name);
	snprintf(pointer, sizeof pointer, "/%s", name);
	if (json_object_get(body, name) && !given)
		return sl_error_field(err, SL_BADPARAM, pointer, "initial has a layout, so %s must be given or be left out.",
				      name);
	return sl_param_set(w->method->params, &w->params, name, "given", err);
}

static int read_initial(struct sl_jobs *j, const json_t *body, struct sl_job_spec *spec, struct sl_error *err)
{
	const json_t *initial = json_object_get(body, "initial");
	int code = agree(body, spec, err);
	if (code || !initial)
		return code;
	if (json_is_array(initial)) {
		spec->rows = initial;
		return 0;
	}
	struct sl_job *source;
	if (json_is_object(initial))
		return read_layout(j, initial, spec, err);
	if (!json_is_string(initial))
		return sl_error_field(err, SL_BADPARAM, "/initial", "initial must be an array of arrays of numbers, the id "
				      "of a job that is done, or {\"layout\": ID} of an uploaded layout.");
	code = sl__job_match(j, json_string_value(initial), &source, err);
	snprintf(err->pointer, sizeof err->pointer, "/initial");
	if (code)
		return code;
	spec->source = source;
	if (spec->source->life.state != SL_JOB_DONE && spec->source != spec->after)
		return sl_error_field(err, SL_CONFLICT, "/initial", "Job %s is %s; it must be done, or be the job in "
				      "after.",
				      spec->source->record.id, sl_job_state_name[spec->source->life.state]);
	if (!source->record.work.method->layout)
		return sl_error_field(err, SL_BADPARAM, "/initial", "Job %s is of method %s, which gives no layout.",
				      source->record.id, source->record.work.method->name);
	if (strcmp(source->record.graph, spec->graph->id) ||
	    sl__work_dims(&source->record.work) != sl__work_dims(&spec->work))
		return sl_error_field(err, SL_BADPARAM, "/initial",
				      "Job %s has another graph or another number of dims; both must be the same.",
				      spec->source->record.id);
	return 0;
}

/* Checks the perplexity against the number of points, and then against the limits of the server. */
static int check_perplexity(struct sl_jobs *j, const struct sl_job_spec *spec, struct sl_error *err)
{
	const struct sl_graph_record *g = spec->graph;
	struct sl_affinities_params wanted;
	int64_t most = j->d->config.max_neighbours;
	if (g->kind == SL_KIND_GRAPH || !sl__work_affinities(&spec->work, &wanted))
		return 0;
	for (int i = 0; i < wanted.perplexities; i++) {
		double perplexity = wanted.perplexity[i];
		if (g->kind == SL_KIND_NEIGHBOURS && 3 * perplexity > g->k)
			return sl_error_field(err, SL_BADPARAM, "/perplexity", "perplexity is %g; with the %u "
					      "neighbours of each point that were uploaded it must be at most %.4g, a "
					      "third of them.", perplexity, g->k,
					      g->k / 3.0);
		if (3 * perplexity > g->points - 1)
			return sl_error_field(err, SL_BADPARAM, "/perplexity", "perplexity is %g; for %u points it must be at "
					      "most %.4g, a third of the other points.", perplexity, g->points,
					      (g->points - 1) / 3.0);
		if (g->kind == SL_KIND_POINTS && 3 * perplexity > (double)most)
			return sl_error_field(err, SL_TOOBIG, "/perplexity", "perplexity is %g; it needs three times "
					      "as many neighbours, and the server searches at most %lld of each point "
					      "(max_neighbours).", perplexity,
					      (long long)most);
	}
	if (g->kind == SL_KIND_POINTS && !sl_graphs_search_fits(g, sl__work_neighbours(&spec->work, g)))
		return sl_error_field(err, SL_TOOBIG, "/perplexity", "%u neighbours of each of %u points need more "
				      "than half of the server's memory; the perplexity must be smaller.",
				      sl__work_neighbours(&spec->work, g), g->points);
	return 0;
}

/* With a smaller theta, Barnes and Hut's tree costs nearly as much as all pairs. */
#define THETA_LEAST 0.2

/* Refuses all pairs of very many nodes, which would block the device for all other jobs. */
static int check_exact(struct sl_jobs *j, const struct sl_job_spec *spec, struct sl_error *err)
{
	int64_t most = j->d->config.max_exact_nodes;
	struct sl_settings p;
	if (spec->graph->nodes <= most || !sl__work_settings(&spec->work, spec->graph->nodes, &p))
		return 0;
	if (p.repulsion == SL_REPULSION_BARNES_HUT && p.theta < THETA_LEAST)
		return sl_error_field(err, SL_TOOBIG, "/theta", "theta is %g, which costs nearly as much as all pairs; "
				      "for %u nodes it must be at least %g (the server computes all pairs of at most "
				      "%lld nodes, max_exact_nodes).",
				      p.theta, spec->graph->nodes, THETA_LEAST, (long long)most);
	if (p.repulsion != SL_REPULSION_EXACT)
		return 0;
	return sl_error_field(err, SL_TOOBIG, "/repulsion", "repulsion is exact, for which the server allows at most "
			      "%lld nodes (max_exact_nodes), not %u; use auto or grid.", (long long)most,
			      spec->graph->nodes);
}

static int read_input_job(struct sl_jobs *j, const json_t *id, struct sl_job_spec *spec, struct sl_error *err)
{
	struct sl_job *source;
	int code = json_is_string(id) ? sl__job_match(j, json_string_value(id), &source, err) :
		   sl_error_field(err, SL_BADPARAM, "/input/job", "job must be the id of a job that is done.");
	snprintf(err->pointer, sizeof err->pointer, "/input/job");
	if (code)
		return code;
	if (!source->record.work.method->layout)
		return sl_error_field(err, SL_BADPARAM, "/input/job", "Job %s is of method %s, which gives no layout.",
				      source->record.id, source->record.work.method->name);
	if (source->life.state != SL_JOB_DONE && source != spec->after)
		return sl_error_field(err, SL_CONFLICT, "/input/job", "Job %s is %s; it must be done, or be the job of after.",
				      source->record.id, sl_job_state_name[source->life.state]);
	spec->source = source;
	spec->work.rows = source->record.nodes;
	spec->work.columns = (uint32_t)sl__work_dims(&source->record.work);
	return 0;
}

static int read_input_layout(struct sl_jobs *j, const json_t *id, struct sl_job_spec *spec, struct sl_error *err)
{
	spec->layout = json_is_string(id) ? sl_layouts_find(j->d->layouts, json_string_value(id)) : NULL;
	if (!spec->layout)
		return sl_error_field(err, SL_NOTFOUND, "/input/layout", "There is no layout %.64s; uploaded ones are kept for "
				      "%g s (layout_lifetime_s). The layout of a job is {\"job\": ID}.",
				      json_is_string(id) ? json_string_value(id) : "of this id", j->d->config.layout_lifetime_s);
	spec->work.rows = spec->layout->nodes;
	spec->work.columns = (uint32_t)spec->layout->dims;
	return 0;
}

/* Reads `input`: the layout of a job, {"job": ID}, or an uploaded layout, {"layout": ID}; default: the points. */
static int read_input(struct sl_jobs *j, const json_t *body, struct sl_job_spec *spec, struct sl_error *err)
{
	const json_t *input = json_object_get(body, "input");
	const json_t *job = json_object_get(input, "job"), *layout = json_object_get(input, "layout");
	if (input && spec->work.method->initial_param)
		return sl_error_field(err, SL_BADPARAM, "/input", "Method %s is computed from the graph; a layout to begin "
				      "with is initial.", spec->work.method->name);
	if (!input || json_is_null(input))
		return 0;
	if (!json_is_object(input) || json_object_size(input) != 1 || !(job || layout))
		return sl_error_field(err, SL_BADPARAM, "/input", "input must be {\"job\": ID}, for the layout of a job, or "
				      "{\"layout\": ID}, for one that was uploaded to /v1/layouts.");
	spec->input = input;
	return job ? read_input_job(j, job, spec, err) : read_input_layout(j, layout, spec, err);
}

/* For a run on points or a layout: checks that there are coordinates, and that the parameters fit. */
static int check_points(const json_t *body, struct sl_job_spec *spec, struct sl_error *err)
{
	const struct sl_graph_record *g = spec->graph;
	struct sl_work *w = &spec->work;
	const json_t *initial = json_object_get(body, "initial");
	int code = 0;
	if (spec->source && strcmp(spec->source->record.graph, g->id))
		return sl_error_field(err, SL_BADPARAM, "/input/job", "Job %s is of graph %s, not of %s.",
				      spec->source->record.id,
				      spec->source->record.graph, g->id);
	if (spec->input && w->rows != g->nodes)
		return sl_error_field(err, SL_BADPARAM, "/input", "The layout has %u rows, and the graph %u nodes; they must "
				      "be as many.", w->rows, g->nodes);
	if (!spec->input && g->kind != SL_KIND_POINTS)
		return sl_error_field(err, SL_BADPARAM, "/graph", "Method %s needs coordinates, and %s has none: it was "
				      "uploaded as %s. Use points, or the layout of a job (input).", w->method->name, g->id,
				      g->kind == SL_KIND_GRAPH ? "a graph" : "neighbours");
	if (!spec->input) {
		w->rows = g->points;
		w->columns = g->columns;
		w->centered = g->centered;
	}
	if (!spec->input && w->method->check_data) {
		const struct sl_method_data data = sl__data_of(g);
		code = w->method->check_data(&w->params, &data, err);
	}
	if (!code && initial)
		code = sl__job_spec_start(initial, spec, err);
	return code ? code : sl_method_check(w->method, &w->params, w->rows, w->columns, err);
}

/* For a run on edges: checks that the data have edges. */
static int check_edges(const json_t *body, struct sl_job_spec *spec, struct sl_error *err)
{
	const struct sl_graph_record *g = spec->graph;
	struct sl_work *w = &spec->work;
	if (json_object_get(body, "initial"))
		return sl_error_field(err, SL_BADPARAM, "/initial", "Method %s has no initial layout%s", w->method->name,
				      w->method->value_columns ? "; the state that it is to begin with is input." : ".");
	if (g->kind != SL_KIND_GRAPH)
		return sl_error_field(err, SL_BADPARAM, "/graph", "Method %s is computed along the edges of a graph, and %s "
				"was uploaded as %s. Use a graph.", w->method->name, g->id,
				      g->kind == SL_KIND_POINTS ? "points" : "neighbours");
	if (spec->input && w->rows != g->nodes)
		return sl_error_field(err, SL_BADPARAM, "/input", "The initial state has %u rows, and the graph %u nodes; "
				"they must be as many.", w->rows, g->nodes);
	w->rows = g->nodes;
	return sl_method_check(w->method, &w->params, w->rows, spec->input ? w->columns : 0, err);
}

/* For a run on P. */
static int check_affinities(struct sl_jobs *j, const json_t *body, struct sl_job_spec *spec, struct sl_error *err)
{
	struct sl_work *w = &spec->work;
	const struct sl_method_data data = sl__data_of(spec->graph);
	int code = read_initial(j, body, spec, err);
	if (!code)
		code = sl_method_check(w->method, &w->params, data.n, 0, err);
	if (!code && w->method->check_data)
		code = w->method->check_data(&w->params, &data, err);
	if (!code)
		code = check_perplexity(j, spec, err);
	return code ? code : check_exact(j, spec, err);
}

static void choose_origin(struct sl_job_spec *spec)
{
	const struct sl_graph_record *g = spec->graph;
	struct sl_work *w = &spec->work;
	w->origin = sl_method_origin(w->method, g->kind == SL_KIND_GRAPH, spec->input != NULL);
	w->degree = w->origin == SL_OF_EDGES ? (uint32_t)(g->entries / g->nodes + 1) : 0;
}

static int read_flat(struct sl_jobs *j, const json_t *body, struct sl_job_spec *spec, struct sl_error *err)
{
	int code = sl__job_spec_method(body, &spec->work.method, err);
	if (!code)
		code = read_params(body, &spec->work, err);
	if (!code)
		code = read_after(j, body, spec, err);
	if (!code)
		code = read_input(j, body, spec, err);
	if (!code)
		code = read_graph(j, body, spec, err);
	if (!code)
		code = sl_json_name(body, &spec->name, err);
	if (!code)
		code = sl_json_int(body, "priority", -10, 10, &spec->priority, err);
	if (!code)
		code = sl__job_spec_time_limit(body, &spec->time_limit, err);
	if (!code)
		code = sl_json_bool(body, "dry_run", &spec->dry_run, err);
	if (!code) {
		choose_origin(spec);
		code = read_engine(j, body, spec, err);
	}
	if (code)
		return code;
	switch (spec->work.origin) {
	case SL_OF_AFFINITIES: return check_affinities(j, body, spec, err);
	case SL_OF_EDGES: return check_edges(body, spec, err);
	default: return check_points(body, spec, err);
	}
}

/* Moves the parameters of `params`, if any, to the body itself: a new reference, or NULL with err. */
static json_t *flatten(const json_t *body, const json_t *params, struct sl_error *err)
{
	json_t *flat = json_copy((json_t *)body), *value;
	const char *key;
	char pointer[96];
	if (!json_is_object(params) || !flat || json_object_del(flat, "params")) {
		sl_error_field(err, SL_BADPARAM, "/params", "params must be an object with the parameters of the method.");
		json_decref(flat);
		return NULL;
	}
	json_object_foreach((json_t *)params, key, value) {
		snprintf(pointer, sizeof pointer, "/params/%.64s", key);
		if (sl_word_in(members, key) || json_object_get(flat, key)) {
			sl_error_field(err, SL_BADPARAM, pointer, sl_word_in(members, key) ?
				       "%.64s is no parameter; it stands beside params." :
				       "%.64s stands in params and beside it.", key);
			json_decref(flat);
			return NULL;
		}
		json_object_set(flat, key, value);
	}
	return flat;
}

/* The body's own ids were checked when it arrived (http/rights.c); here are those that follow from them. */
static int check_rights(const struct sl_jobs *j, const struct sl_principal *who, const struct sl_job_spec *spec,
			struct sl_error *err)
{
	const struct sl_users *u = j->d->users;
	const struct sl_job *from = spec->source ? spec->source : spec->after;
	if (sl_users_may(u, who, SL_VERB_READ, spec->graph->id))
		return from ? sl_error_field(err, SL_NOTFOUND, "/graph", "Job %s is shared with you, but its graph %s is not, "
					     "and a new job needs it. Ask the owner of the graph to share it.", from->record.id,
					     spec->graph->id) :
			      sl_error_field(err, SL_NOTFOUND, "/graph", "There is no graph %.64s, or it is not shared with you.",
					     spec->graph->id);
	if (spec->layout && sl_users_may(u, who, SL_VERB_READ, spec->layout->id))
		return sl_error_field(err, SL_NOTFOUND, "/input/layout", "There is no layout %.64s, or it is not shared with "
				      "you.", spec->layout->id);
	return 0;
}

int sl__job_spec_read(struct sl_jobs *j, const struct sl_principal *who, const json_t *body, struct sl_job_spec *spec,
		      struct sl_error *err)
{
	const json_t *params = json_object_get(body, "params");
	*spec = (struct sl_job_spec){.work.method = sl_methods[0]};
	if (!params) {
		int rc = read_flat(j, body, spec, err);
		return rc ? rc : check_rights(j, who, spec, err);
	}
	json_t *flat = flatten(body, params, err);
	int code = flat ? read_flat(j, flat, spec, err) : SL_BADPARAM;
	if (!code)
		code = check_rights(j, who, spec, err);
	json_decref(flat);  /* spec borrows only values that body holds, too */
	if (flat && code && err->pointer[0] == '/' && json_object_get(params, err->pointer + 1)) {
		char pointer[sizeof err->pointer];
		snprintf(pointer, sizeof pointer, "/params%.100s", err->pointer);
		memcpy(err->pointer, pointer, sizeof err->pointer);
	}
	return code;
}

/* Reads and checks the rows of a given layout; the caller frees *out with free(). */
int sl__job_spec_rows(const struct sl_job_spec *spec, float **out, struct sl_error *err)
{
	size_t n = spec->graph->nodes, d = (size_t)sl__work_dims(&spec->work);
	if (json_array_size(spec->rows) != n)
		return sl_error_field(err, SL_BADPARAM, "/initial", "initial has %zu rows; the graph has %zu nodes.",
				      json_array_size(spec->rows), n);
	float *y = malloc(sizeof *y * n * d);
	if (!y)
		return sl_error_memory(err, "an initial layout of %zu nodes", n);
	for (size_t i = 0; i < n; i++) {
		const json_t *row = json_array_get(spec->rows, i);
		char pointer[64];
		if (!json_is_array(row) || json_array_size(row) != d) {
			free(y);
			snprintf(pointer, sizeof pointer, "/initial/%zu", i);
			return sl_error_field(err, SL_BADPARAM, pointer, "Each row of initial must be an array of %zu "
					      "number%s, one for each dimension.", d, d == 1 ? "" : "s");
		}
		for (size_t k = 0; k < d; k++) {
			const json_t *value = json_array_get(row, k);
			double x = json_is_number(value) ? json_number_value(value) : NAN;
			if (!(fabs(x) <= 1e6)) {
				snprintf(pointer, sizeof pointer, "/initial/%zu/%zu", i, k);
				free(y);
				return sl_error_field(err, SL_BADPARAM, pointer,
						      "Coordinates must be numbers from -1e6 to 1e6.");
			}
			y[i * d + k] = (float)x;
		}
	}
	*out = y;
	return 0;
}

json_t *sl__job_spec_estimate(const struct sl_job_spec *spec)
{
	const struct sl_work *w = &spec->work;
	uint64_t entries = sl__work_entries(w, spec->graph);
	uint64_t host = sl__work_prepared_bytes(w, spec->graph->nodes, entries);
	return json_pack("{s:b, s:s, s:s, s:I, s:I, s:f, s:o}", "dry_run", 1, "method", w->method->name, "engine",
			 spec->engine->name, "host_bytes", (json_int_t)host, "device_bytes",
			 (json_int_t)sl__work_device_bytes(w, spec->engine, spec->graph->nodes), "seconds",
			 sl__work_seconds(w, spec->engine, spec->graph->nodes, entries), "parameters",
			 sl__work_params_json(w));
}
