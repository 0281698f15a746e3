/* What a request wants a job to be: read from its body and checked in full. Loop thread. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/layouts/layouts.h"
#include "daemon/util/json.h"

static const char *const members[] = {"graph", "name", "priority", "engine", "initial", "after", "dry_run", "project",
				     NULL};

static int read_graph(struct sl_jobs *j, const json_t *body, struct sl_job_spec *spec, struct sl_error *err)
{
	const json_t *id = json_object_get(body, "graph");
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

bool sl__job_spec_knows(const char *member)
{
	for (int i = 0; members[i]; i++)
		if (!strcmp(member, members[i]))
			return true;
	return sl_params_find(member) != NULL;
}

static int read_params(const json_t *body, struct sl_params *p, struct sl_error *err)
{
	const json_t *preset = json_object_get(body, "preset");
	const char *key;
	json_t *value;
	sl_params_preset(p, SL_PRESET_DEFAULT);
	int code = preset ? sl__params_from_json(p, sl_params_find("preset"), preset, err) : 0;
	json_object_foreach((json_t *)body, key, value) {
		const struct sl_param_info *info = sl_params_find(key);
		if (code)
			break;
		if (info && strcmp(key, "preset"))
			code = sl__params_from_json(p, info, value, err);
		else if (!sl__job_spec_knows(key))
			code = sl__unknown_member(key, members, err);
	}
	return code;
}

/* It must be usable now; otherwise the client is told why it is not, and which are. Of several, Barnes and Hut's tree
 * is the CPU engine's alone. */
static int read_engine(struct sl_jobs *j, const json_t *body, struct sl_job_spec *spec, struct sl_error *err)
{
	const char *name = NULL;
	int code = sl_json_string(body, "engine", &name, err);
	if (!code && spec->params.repulsion == SL_REPULSION_BARNES_HUT) {
		if (!name || !strcmp(name, SL_ENGINE_AUTO))
			name = "cpu";
		if (strcmp(name, "cpu") && sl_engine_word(name))
			code = sl_error_field(err, SL_BADPARAM, "/engine", "Engine %s does not compute repulsion barnes_hut; cpu "
					      "would be right.", name);
	}
	if (!code)
		code = sl_engines_choose(j->engines, name ? name : SL_ENGINE_AUTO, &spec->engine, err);
	if (!code)
		spec->asked = sl_engine_word(name ? name : SL_ENGINE_AUTO);
	return code;
}

/* It is there, and may still be done. */
static int read_after(struct sl_jobs *j, const json_t *body, struct sl_job_spec *spec, struct sl_error *err)
{
	const char *text = NULL;
	struct sl_job *other;
	int code = sl_json_string(body, "after", &text, err);
	if (code || !text)
		return code;
	code = sl__job_match(j, text, &other, err);
	if (!code && (other->state == SL_JOB_FAILED || other->state == SL_JOB_CANCELLED))
		code = sl_error_set(err, SL_CONFLICT, "Job %s %s, so nothing can start after it.", other->id,
				    other->state == SL_JOB_FAILED ? "has failed" : "was cancelled");
	if (code)
		snprintf(err->pointer, sizeof err->pointer, "/after");
	else
		spec->after = other;
	return code;
}

/* {"layout": ID}: one that was uploaded. */
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
	if (spec->layout->nodes != spec->graph->nodes || spec->layout->dims != spec->params.dims)
		return sl_error_field(err, SL_BADPARAM, "/initial/layout", "Layout %s has the shape [%u, %d]; it must be "
				      "[%u, %d], a row for each node.", id, spec->layout->nodes, spec->layout->dims, spec->graph->nodes,
				      spec->params.dims);
	return 0;
}

static int read_initial(struct sl_jobs *j, const json_t *body, struct sl_job_spec *spec, struct sl_error *err)
{
	const json_t *initial = json_object_get(body, "initial");
	bool said = json_object_get(body, "init");
	if (!initial) {
		if (spec->params.init == SL_INIT_GIVEN)
			return sl_error_field(err, SL_BADPARAM, "/initial",
					      "init is given, so initial must have the layout, or tell where it is.");
		return 0;
	}
	if (said && spec->params.init != SL_INIT_GIVEN)
		return sl_error_field(err, SL_BADPARAM, "/init", "There is an initial layout, so init must be given.");
	spec->params.init = SL_INIT_GIVEN;
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
	int code = sl__job_match(j, json_string_value(initial), &source, err);
	snprintf(err->pointer, sizeof err->pointer, "/initial");
	if (code)
		return code;
	spec->source = source;
	if (spec->source->state != SL_JOB_DONE && spec->source != spec->after)
		return sl_error_field(err, SL_CONFLICT, "/initial", "Job %s is %s; it must be done, or be the job of after.",
				      spec->source->id, sl__job_state_name[spec->source->state]);
	if (strcmp(spec->source->graph, spec->graph->id) || spec->source->params.dims != spec->params.dims)
		return sl_error_field(err, SL_BADPARAM, "/initial",
				      "Job %s has another graph or another number of dims; both must be the same.",
				      spec->source->id);
	return 0;
}

/* What the points allow, however many neighbours are searched, and then the server. */
static int check_perplexity(struct sl_jobs *j, const struct sl_job_spec *spec, struct sl_error *err)
{
	const struct sl_graph_record *g = spec->graph;
	struct sl_affinities_params wanted;
	int64_t most = j->d->config.max_neighbours;
	if (g->kind == SL_KIND_GRAPH)
		return 0;
	sl_affinities_params_from(&wanted, &spec->params);
	for (int i = 0; i < wanted.perplexities; i++) {
		double perplexity = wanted.perplexity[i];
		if (g->kind == SL_KIND_NEIGHBOURS && 3 * perplexity > g->k)
			return sl_error_field(err, SL_BADPARAM, "/perplexity", "perplexity is %g; the %u neighbours a point that "
					      "were uploaded allow at most %.4g, a third of them.", perplexity, g->k,
					      g->k / 3.0);
		if (3 * perplexity > g->points - 1)
			return sl_error_field(err, SL_BADPARAM, "/perplexity", "perplexity is %g; with %u points it can be at "
					      "most %.4g, a third of the other points.", perplexity, g->points,
					      (g->points - 1) / 3.0);
		if (g->kind == SL_KIND_POINTS && 3 * perplexity > (double)most)
			return sl_error_field(err, SL_TOOBIG, "/perplexity", "perplexity is %g, but the server searches at most "
					      "%lld neighbours a point (max_neighbours), three times the perplexity.", perplexity,
					      (long long)most);
	}
	if (g->kind == SL_KIND_POINTS && !sl_graphs_search_fits(g, sl__job_neighbours(&spec->params, g)))
		return sl_error_field(err, SL_TOOBIG, "/perplexity", "%u neighbours of each of %u points are more than half of "
				      "the server's memory holds; the perplexity must be smaller.",
				      sl__job_neighbours(&spec->params, g), g->points);
	return 0;
}

/* Below it Barnes and Hut's tree comes near to all pairs. */
#define THETA_LEAST 0.2

/* All pairs of many nodes would keep the device from everybody else. */
static int check_exact(struct sl_jobs *j, const struct sl_job_spec *spec, struct sl_error *err)
{
	int64_t most = j->d->config.max_exact_nodes;
	const struct sl_params *p = &spec->params;
	if (spec->graph->nodes <= most)
		return 0;
	if (p->repulsion == SL_REPULSION_BARNES_HUT && p->theta < THETA_LEAST)
		return sl_error_field(err, SL_TOOBIG, "/theta", "theta is %g, which comes near to all pairs; for %u nodes it "
				      "must be at least %g (the server takes all pairs of at most %lld nodes, max_exact_nodes).",
				      p->theta, spec->graph->nodes, THETA_LEAST, (long long)most);
	if (p->repulsion != SL_REPULSION_EXACT)
		return 0;
	return sl_error_field(err, SL_TOOBIG, "/repulsion", "repulsion is exact, for which the server takes at most %lld "
			      "nodes (max_exact_nodes), not %u; auto or grid would be right.", (long long)most,
			      spec->graph->nodes);
}

int sl__job_spec_read(struct sl_jobs *j, const json_t *body, struct sl_job_spec *spec, struct sl_error *err)
{
	*spec = (struct sl_job_spec){0};
	int code = read_params(body, &spec->params, err);
	if (!code)
		code = read_graph(j, body, spec, err);
	if (!code)
		code = sl_json_name(body, &spec->name, err);
	if (!code)
		code = sl_json_int(body, "priority", -10, 10, &spec->priority, err);
	if (!code)
		code = sl_json_bool(body, "dry_run", &spec->dry_run, err);
	if (!code)
		code = read_engine(j, body, spec, err);
	if (!code)
		code = read_after(j, body, spec, err);
	if (!code)
		code = read_initial(j, body, spec, err);
	if (!code)
		code = sl_params_check(&spec->params, err);
	if (!code)
		code = sl_params_check_input(&spec->params, spec->graph->kind != SL_KIND_GRAPH, err);
	if (!code && spec->params.init == SL_INIT_PCA && spec->graph->kind != SL_KIND_POINTS)
		code = sl_error_field(err, SL_BADPARAM, "/init", "init pca is for points, which have coordinates; here it "
				      "may be random, spectral or given.");
	if (!code)
		code = check_perplexity(j, spec, err);
	if (!code)
		code = check_exact(j, spec, err);
	return code;
}

/* The rows of a given layout, checked; y is the caller's to free(). */
int sl__job_spec_rows(const struct sl_job_spec *spec, float **out, struct sl_error *err)
{
	size_t n = spec->graph->nodes, d = (size_t)spec->params.dims;
	if (json_array_size(spec->rows) != n)
		return sl_error_field(err, SL_BADPARAM, "/initial", "initial has %zu rows; the graph has %zu nodes.",
				      json_array_size(spec->rows), n);
	float *y = malloc(sizeof *y * n * d);
	if (!y)
		return sl_error_set(err, SL_NOMEM, "Out of memory for an initial layout of %zu nodes.", n);
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
	const struct sl_params *p = &spec->params;
	uint64_t entries = sl__job_entries(p, spec->graph);
	double seconds = sl_params_iterations(p) * sl_server_engine_seconds(spec->engine, p, spec->graph->nodes, entries);
	return json_pack("{s:b, s:s, s:I, s:I, s:f, s:o}", "dry_run", 1, "engine", spec->engine->name, "host_bytes",
			 (json_int_t)sl__job_host_bytes(p, spec->graph->nodes, entries), "device_bytes",
			 (json_int_t)sl_server_engine_bytes(spec->engine, p, spec->graph->nodes), "seconds", seconds,
			 "parameters", sl__params_json(p));
}
