/* The functions on jobs that ask their method's table (core/method/method.h): parameters, data, memory, time. Loop
 * thread. */
#include <omp.h>

#include "core/graph/affinities.h"
#include "core/points/points.h"
#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/json/json.h"
#include "daemon/json/param_json.h"

int sl__work_dims(const struct sl_work *w)
{
	return w->method->dims ? w->method->dims(&w->params) : 1;
}

json_t *sl__work_params_json(const struct sl_work *w)
{
	return sl_param_json(w->method->params, &w->params);
}

int sl__work_read(struct sl_work *w, const json_t *o, struct sl_error *err)
{
	sl_param_defaults(w->method->params, &w->params);
	int code = sl_params_from_json(w->method->params, &w->params, json_object_get(o, "parameters"), NULL, err);
	if (code)
		return code;
	w->rows = (uint32_t)json_integer_value(json_object_get(o, "rows"));
	w->columns = (uint32_t)json_integer_value(json_object_get(o, "columns"));
	w->centered = json_is_true(json_object_get(o, "centered"));
	w->degree = (uint32_t)json_integer_value(json_object_get(o, "degree"));
	w->origin = sl_method_origin(w->method, w->degree > 0, json_object_get(o, "input") != NULL);
	return 0;
}

/* ---- data ------------------------------------------------------------------------------------- */

struct sl_method_data sl__data_of(const struct sl_graph_record *g)
{
	return (struct sl_method_data){.known = true, .graph = g->kind == SL_KIND_GRAPH,
				       .coordinates = g->kind == SL_KIND_POINTS, .symmetric = g->symmetric, .n = g->nodes,
				       .coarse = g->coarse};
}

struct sl_method_data sl__job_data(const struct sl_job *job)
{
	const struct sl_graph_record *g = sl_graphs_find(job->jobs->d->graphs, job->record.graph);
	struct sl_method_data data = {
		.known = job->record.data_known && (g || job->record.work.origin != SL_OF_EDGES), .n = job->record.nodes,
		.graph = job->record.data_kind == SL_KIND_GRAPH, .coordinates = job->record.data_kind == SL_KIND_POINTS,
		.symmetric = g && g->symmetric, .neighbours = job->record.neighbours,
	};
	return data;
}

bool sl__work_affinities(const struct sl_work *w, struct sl_affinities_params *out)
{
	if (w->method->affinities)
		w->method->affinities(&w->params, out);
	return w->method->affinities != NULL;
}

bool sl__work_settings(const struct sl_work *w, uint32_t nodes, struct sl_settings *out)
{
	if (w->method->settings)
		w->method->settings(&w->params, nodes, out);
	return w->method->settings != NULL;
}

/* Each point has 3 * perplexity neighbours; about a third of these pairs are not mutual. */
uint64_t sl__work_entries(const struct sl_work *w, const struct sl_graph_record *g)
{
	if (!g || !w->method->affinities)
		return 0;
	return g->kind == SL_KIND_GRAPH ? g->entries : (uint64_t)g->points * sl__work_neighbours(w, g) * 4 / 3;
}

uint32_t sl__work_neighbours(const struct sl_work *w, const struct sl_graph_record *g)
{
	struct sl_affinities_params wanted;
	if (!g || g->kind == SL_KIND_GRAPH || !sl__work_affinities(w, &wanted))
		return 0;
	if (!wanted.perplexities && g->kind == SL_KIND_NEIGHBOURS)
		return g->k < 90 ? g->k : 90;
	return sl_affinities_neighbours_needed(&wanted, g->points);
}

/* ---- forecasts ---------------------------------------------------------------------------------- */

/* Affinities that must still be made take 8 bytes per entry, and three times as much while they are made. */
uint64_t sl__work_affinities_bytes(const struct sl_work *w, uint32_t nodes, uint64_t entries)
{
	uint64_t layout = (uint64_t)nodes * (uint64_t)sl__work_dims(w) * sizeof(float);
	return w->method->affinities ? 3 * layout + 24 * entries + 20 * (uint64_t)nodes : 0;
}

/* The argument d of a method's forecasts: columns of points, or entries of a node. */
static uint32_t width(const struct sl_work *w)
{
	return w->origin == SL_OF_EDGES ? w->degree : w->columns;
}

int sl__work_iterations(const struct sl_work *w)
{
	return w->method->iterations(&w->params);
}

int sl__work_initial_dims(const struct sl_work *w)
{
	return w->origin == SL_OF_AFFINITIES ? sl__work_dims(w) : (int)w->columns;
}

bool sl__work_helped(const struct sl_work *w, const struct sl_server_engine *engine)
{
	return engine->functions && sl_engine_supports(engine->functions, w->method, w->origin == SL_OF_EDGES);
}

/* Host memory of a run by the method's own forecast. */
static uint64_t own_bytes(const struct sl_work *w)
{
	if (w->origin == SL_OF_EDGES && w->method->edges_bytes)
		return w->method->edges_bytes(&w->params, w->rows, w->degree);
	return w->method->host_bytes ? w->method->host_bytes(&w->params, w->rows, width(w)) : 0;
}

uint64_t sl__work_device_bytes(const struct sl_work *w, const struct sl_server_engine *engine, uint32_t nodes)
{
	struct sl_settings settings;
	if (sl__work_settings(w, nodes, &settings))
		return sl_server_engine_bytes(engine, &settings, nodes, w->method->initial_extent(&w->params));
	if (sl__work_helped(w, engine))
		return w->method->device_bytes(&w->params, w->rows, width(w));
	return own_bytes(w);
}

uint64_t sl__work_prepared_bytes(const struct sl_work *w, uint32_t nodes, uint64_t entries)
{
	if (w->method->affinities)
		return sl__work_affinities_bytes(w, nodes, entries);
	return own_bytes(w) + (uint64_t)w->rows * w->columns * sizeof(float) +
	       (w->start ? 2 * (uint64_t)w->rows * w->parts * sizeof(float) : 0);  /* shares of its parts */
}

uint64_t sl__work_host_bytes(const struct sl_work *w, const struct sl_server_engine *engine, uint32_t nodes,
			     uint64_t entries)
{
	/* a GPU counts its own memory */
	bool here = w->method->settings && engine->functions && !strcmp(engine->functions->name, "cpu");
	return sl__work_prepared_bytes(w, nodes, entries) + (here ? sl__work_device_bytes(w, engine, nodes) : 0);
}

uint32_t sl__work_start_rows(const struct sl_work *w, uint32_t nodes)
{
	return w->start == SL_START_LABELS ? nodes : w->parts;
}

int sl__work_start_columns(const struct sl_work *w)
{
	return w->start == SL_START_LABELS ? 1 : (int)w->columns;
}

uint64_t sl__work_disk_bytes(const struct sl_work *w, uint32_t nodes)
{
	if (w->method->disk_bytes)
		return w->method->disk_bytes(&w->params, nodes, w->columns, w->centered);
	int points = w->method->trace_points ? w->method->trace_points(&w->params) : 0;  /* else a few thousand at most */
	return (uint64_t)nodes * (uint64_t)sl__work_dims(w) * sizeof(float) +
	       (uint64_t)points * sizeof(struct sl_trace_point);
}

static double on_processor(const struct sl_work *w, const struct sl_config *c)
{
	int threads = c->threads > 0 ? (int)c->threads : omp_get_num_procs();
	if (w->origin == SL_OF_EDGES && w->method->edges_seconds)
		return w->method->edges_seconds(&w->params, w->rows, w->degree, threads);
	return w->method->seconds ? w->method->seconds(&w->params, w->rows, width(w), threads) : 0;
}

void sl__job_learn(struct sl_job *job)
{
	const struct sl_work *w = &job->record.work;
	struct sl_server_engine *e = job->place.engine;
	const struct sl_graph_record *g = sl_graphs_find(job->jobs->d->graphs, job->record.graph);
	struct sl_settings settings;
	if (sl__work_settings(w, job->record.nodes, &settings)) {
		if (g)
			sl_server_engine_learn(e, &settings, job->record.nodes, sl__work_entries(w, g),
					       job->record.status.iteration,
					       job->record.status.seconds);
	} else if (job->life.end == SL_JOB_DONE && job->record.status.stop != SL_STOP_ASKED && sl__work_helped(w, e)) {
		sl_server_engine_learn_method(e, w->method, on_processor(w, &job->jobs->d->config),
					      job->record.status.seconds);
	}
}

double sl__work_seconds(const struct sl_work *w, const struct sl_server_engine *engine, uint32_t nodes,
			uint64_t entries)
{
	struct sl_settings settings;
	if (sl__work_settings(w, nodes, &settings))
		return sl__work_iterations(w) * sl_server_engine_seconds(engine, &settings, nodes, entries);
	return on_processor(w, &engine->device->engines->d->config) *
	       (sl__work_helped(w, engine) ? sl_server_engine_pace(engine, w->method) : 1);
}

double sl__job_forecast(const struct sl_job *job)
{
	return sl__work_seconds(&job->record.work, job->place.engine, job->record.nodes, 0);
}

json_t *sl__table_json(const struct sl_method *method, const struct sl_method_result *result)
{
	const struct sl_method_column *columns = method->columns;
	const double *value = result->table;
	json_t *rows = value ? json_array() : NULL;
	for (int i = 0; value && i < result->rows; i++) {
		json_t *row = json_object();
		for (int c = 0; columns[c].name; c++, value++)
			json_object_set_new(row, columns[c].name, columns[c].type == SL_TABLE_BOOL ? json_boolean(*value != 0) :
					    columns[c].type == SL_TABLE_WHOLE ? json_integer((json_int_t)*value) :
					    sl_json_number(*value));
		json_array_append_new(rows, row);
	}
	return rows;
}

json_t *sl__results_json(const struct sl_method *method)
{
	json_t *list = json_array();
	for (const struct sl_method_output *o = method->results; o->name; o++)
		json_array_append_new(list, json_string(o->name));
	return list;
}

void sl__job_release_input(struct sl_job *job)
{
	sl_graphs_release(job->jobs->d->graphs, job->run.content);
	sl_points_destroy(job->run.table);
	job->run.content = NULL;
	job->run.table = NULL;
}

int sl__job_iterations(const struct sl_job *job)
{
	const struct sl_status *s = &job->record.status;
	const struct sl_method *method = job->record.work.method;
	int asked = method->asked ? method->asked(&job->record.work.params) : 0;
	if (asked)
		return asked;
	if (method->timed && job->life.state == SL_JOB_DONE && s->iteration)
		return s->iteration;  /* the run ends at a time of the model, not after a number of steps */
	return s->iterations > s->iteration ? s->iterations : s->iteration;
}
