/* The functions on jobs that differ between t-SNE, whose parameters every part of the server knows, and the other
 * methods, which compute from a table of points or along a graph's edges: parameters, memory, time. Loop thread. */
#include <omp.h>

#include "core/points/points.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/util/json.h"

static const void *params_of(const struct sl_work *w)
{
	return sl__on_points(w->method) ? (const void *)&w->values : &w->params;
}

bool sl__needs_edges(const struct sl_method *method)
{
	return method->takes & SL_TAKES_EDGES && !(method->takes & SL_TAKES_POINTS);
}

int sl__work_dims(const struct sl_work *w)
{
	return w->method->dims ? w->method->dims(params_of(w)) : 1;
}

json_t *sl__work_params_json(const struct sl_work *w)
{
	return sl__record_json(w->method->params, params_of(w));
}

/* Ignores parameters of other versions that this version does not know. */
static void read_tsne(struct sl_params *p, const json_t *object)
{
	struct sl_error ignored;
	const char *key;
	json_t *value;
	const json_t *preset = json_object_get(object, "preset");
	sl_params_preset(p, SL_PRESET_DEFAULT);
	if (preset)
		sl__params_from_json(p, sl_params_find("preset"), preset, &ignored);
	json_object_foreach((json_t *)object, key, value) {
		const struct sl_param_info *info = sl_params_find(key);
		if (info && strcmp(key, "preset"))
			sl__params_from_json(p, info, value, &ignored);
	}
}

void sl__work_read(struct sl_work *w, const json_t *o)
{
	const json_t *parameters = json_object_get(o, "parameters");
	struct sl_error ignored;
	if (!sl__on_points(w->method)) {
		read_tsne(&w->params, parameters);
		return;
	}
	sl_param_defaults(w->method->params, &w->values);
	for (int i = 0; i < w->method->params->count; i++) {
		const struct sl_param_info *info = &w->method->params->param[i];
		const json_t *value = json_object_get(parameters, info->name);
		if (value)
			sl__record_from_json(&w->values, info, value, &ignored);
	}
	w->rows = (uint32_t)json_integer_value(json_object_get(o, "rows"));
	w->columns = (uint32_t)json_integer_value(json_object_get(o, "columns"));
	w->degree = (uint32_t)json_integer_value(json_object_get(o, "degree"));
}

/* The argument d of a method's forecasts: columns of points, or entries of a node. */
static uint32_t width(const struct sl_work *w)
{
	return sl__on_edges(w) ? w->degree : w->columns;
}

int sl__work_iterations(const struct sl_work *w)
{
	return w->method->iterations(params_of(w));
}

int sl__work_initial_dims(const struct sl_work *w)
{
	return sl__on_points(w->method) ? (int)w->columns : w->params.dims;
}

bool sl__work_helped(const struct sl_work *w, const struct sl_server_engine *engine)
{
	return sl__on_points(w->method) && w->method->helped && engine->functions &&
	       w->method->helped(engine->functions, &w->values, sl__on_edges(w));
}

/* Host memory of a run of a method other than t-SNE. */
static uint64_t own_bytes(const struct sl_work *w)
{
	if (sl__on_edges(w) && w->method->edges_bytes)
		return w->method->edges_bytes(&w->values, w->rows, w->degree);
	return w->method->host_bytes(&w->values, w->rows, width(w));
}

uint64_t sl__work_device_bytes(const struct sl_work *w, const struct sl_server_engine *engine, uint32_t nodes)
{
	if (!sl__on_points(w->method))
		return sl_server_engine_bytes(engine, &w->params, nodes);
	if (sl__work_helped(w, engine))
		return w->method->device_bytes(&w->values, w->rows, width(w));
	return own_bytes(w);
}

uint64_t sl__work_host_bytes(const struct sl_work *w, const struct sl_server_engine *engine, uint32_t nodes,
			     uint64_t entries)
{
	if (sl__on_points(w->method))
		return own_bytes(w) + (uint64_t)w->rows * w->columns * sizeof(float) +
		       (w->start ? 2 * (uint64_t)w->rows * w->parts * sizeof(float) : 0);  /* shares of its parts */
	/* a GPU counts its own memory */
	return sl__job_host_bytes(&w->params, nodes, entries) +
	       (strcmp(engine->name, "cpu") ? 0 : sl__work_device_bytes(w, engine, nodes));
}

uint32_t sl__work_start_rows(const struct sl_work *w, uint32_t nodes)
{
	return w->start == SL_START_LABELS ? nodes : w->parts;
}

int sl__work_start_columns(const struct sl_work *w)
{
	return w->start == SL_START_LABELS ? 1 : (int)w->columns;
}

/* The traces of other methods have at most a few thousand points. */
static uint64_t trace_bytes(const struct sl_work *w)
{
	int interval = w->params.trace_interval, iterations = sl__work_iterations(w);
	return interval > 0 ? sizeof(struct sl_trace_point) * (uint64_t)(iterations / interval) : 0;
}

uint64_t sl__work_disk_bytes(const struct sl_work *w, uint32_t nodes)
{
	if (w->method->disk_bytes)
		return w->method->disk_bytes(&w->values, nodes, w->columns);
	uint64_t trace = sl__on_points(w->method) ? 0 : trace_bytes(w);
	return (uint64_t)nodes * (uint64_t)sl__work_dims(w) * sizeof(float) + trace;
}

static double on_processor(const struct sl_work *w, const struct sl_config *c)
{
	int threads = c->threads > 0 ? (int)c->threads : omp_get_num_procs();
	if (sl__on_edges(w) && w->method->edges_seconds)
		return w->method->edges_seconds(&w->values, w->rows, w->degree, threads);
	return w->method->seconds(&w->values, w->rows, width(w), threads);
}

void sl__job_learn(struct sl_job *job)
{
	if (job->end == SL_JOB_DONE && job->status.stop != SL_STOP_ASKED && sl__work_helped(&job->work, job->engine))
		sl_server_engine_learn_method(job->engine, job->work.method, on_processor(&job->work, &job->jobs->d->config),
					      job->status.seconds);
}

double sl__work_seconds(const struct sl_work *w, const struct sl_server_engine *engine, uint32_t nodes,
			uint64_t entries)
{
	const struct sl_config *c = &engine->device->engines->d->config;
	if (sl__on_points(w->method))
		return on_processor(w, c) * (sl__work_helped(w, engine) ? sl_server_engine_pace(engine, w->method) : 1);
	return sl_params_iterations(&w->params) * sl_server_engine_seconds(engine, &w->params, nodes, entries);
}

double sl__job_forecast(const struct sl_job *job)
{
	return sl__work_seconds(&job->work, job->engine, job->nodes, 0);
}

json_t *sl__table_json(const struct sl_method *method, const struct sl_method_result *result)
{
	const struct sl_method_column *columns = method->columns;
	const double *value = result->table;
	json_t *rows = value ? json_array() : NULL;
	for (int i = 0; value && i < result->rows; i++) {
		json_t *row = json_object();
		for (int c = 0; columns[c].name; c++, value++)
			json_object_set_new(row, columns[c].name, columns[c].type == SL_COLUMN_BOOL ? json_boolean(*value != 0) :
					    columns[c].type == SL_COLUMN_WHOLE ? json_integer((json_int_t)*value) :
					    sl_json_number(*value));
		json_array_append_new(rows, row);
	}
	return rows;
}

json_t *sl__results_json(const struct sl_method *method)
{
	json_t *list = json_array();
	for (int i = 0; method->results[i]; i++)
		json_array_append_new(list, json_string(method->results[i]));
	return list;
}

void sl__job_release_input(struct sl_job *job)
{
	sl_graphs_release(job->jobs->d->graphs, job->content);
	sl_points_destroy(job->table);
	job->content = NULL;
	job->table = NULL;
}
