/* Jobs as JSON: replies to clients (openapi.yaml: Job, Progress, Trace), and records of the data base. Times are
 * milliseconds since 1970 in the program, RFC 3339 in JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/meant.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/util/json.h"

/* -1: not a state. */
static int parse_state(const char *text)
{
	for (int i = 0; i < SL_JOB_STATES; i++)
		if (!strcmp(text, sl_job_state_name[i]))
			return i;
	return -1;
}

static json_t *text_json(const char *text)
{
	return text ? json_string(text) : json_null();
}

/* ---- parameters --------------------------------------------------------------- */

static json_t *list_value(const struct sl_param_info *info, double value)
{
	return info->whole ? json_integer((json_int_t)value) : json_real(value);
}

static json_t *list_json(const struct sl_param_info *info, const struct sl_param_list *values)
{
	json_t *list = json_array();
	for (int i = 0; i < values->count; i++)
		json_array_append_new(list, list_value(info, values->value[i]));
	return list;
}

json_t *sl__record_json(const struct sl_param_table *table, const void *record)
{
	json_t *object = json_object();
	for (int i = 0; i < table->count; i++) {
		const struct sl_param_info *info = &table->param[i];
		double value;
		json_t *member;
		const struct sl_param_list *list = sl_param_list(info, record);
		if (sl_param_number(info, record, &value))
			member = json_string(info->automatic);
		else if (list && list->count > 1)
			member = list_json(info, list);
		else if (info->words)
			member = json_string(info->words[(int)value]);
		else if (info->type == SL_TYPE_BOOL)
			member = json_boolean(value != 0);
		else if (list)
			member = list_value(info, value);
		else if (info->type == SL_TYPE_DOUBLE)
			member = json_real(value);
		else
			member = json_integer((json_int_t)value);
		json_object_set_new(object, info->name, member);
	}
	return object;
}

static int list_from_json(void *record, const struct sl_param_info *info, const json_t *array, struct sl_error *err)
{
	double values[SL_PARAM_LIST_MAX + 1];
	int count = 0;
	size_t i;
	json_t *value;
	json_array_foreach((json_t *)array, i, value) {
		if (!json_is_number(value))
			return sl_param_set_text(info, record, "a list with something other than numbers", err);
		if (count <= SL_PARAM_LIST_MAX)
			values[count++] = json_number_value(value);
	}
	return sl_param_set_list(info, record, values, count, err);
}

/* The text for sl_param_set() of a value that is neither a number nor a list. If the parameter takes no words, the text
 * is quoted, so that sl_param_set() refuses it. */
static const char *text_of(const struct sl_param_info *info, const json_t *value, char quoted[72])
{
	const char *text = json_string_value(value);
	if (json_is_boolean(value))
		return json_is_true(value) ? "true" : "false";
	if (!text)
		return json_is_array(value) ? "an array" : json_is_object(value) ? "an object" : "null";
	if (info->words || (info->automatic && !strcmp(text, info->automatic)))
		return text;
	snprintf(quoted, 72, "\"%.60s\"", text);
	return quoted;
}

int sl__record_from_json(const struct sl_param_table *table, void *record, const struct sl_param_info *info,
			 const json_t *value, struct sl_error *err)
{
	char quoted[72];
	int code;
	if (json_is_number(value))
		code = sl_param_set_number(info, record, json_number_value(value), err);
	else if (json_is_array(value) && info->type == SL_TYPE_LIST)
		code = list_from_json(record, info, value, err);
	else
		code = sl_param_set_text(info, record, text_of(info, value, quoted), err);
	if (!code)
		sl_param_lead(table, info, record);
	return code;
}

int sl__unknown_member(const struct sl_param_table *table, const char *key, const char *const *also_known,
		       struct sl_error *err)
{
	struct sl_meant meant;
	sl_meant_init(&meant, key);
	for (int i = 0; i < table->count; i++)
		sl_meant_try(&meant, table->param[i].name);
	for (; *also_known; also_known++)
		sl_meant_try(&meant, *also_known);
	char pointer[96];
	size_t used = 0;
	pointer[used++] = '/';
	for (const char *c = key; *c && used < sizeof pointer - 3; c++) {
		if (*c == '~' || *c == '/')
			pointer[used++] = '~';
		pointer[used++] = *c == '~' ? '0' : *c == '/' ? '1' : *c;
	}
	pointer[used] = '\0';
	if (sl_meant_word(&meant))
		return sl_error_field(err, SL_BADPARAM, pointer, "There is no member \"%.64s\"; did you mean \"%s\"?",
				      key, sl_meant_word(&meant));
	return sl_error_field(err, SL_BADPARAM, pointer, "There is no member \"%.64s\".", key);
}

/* ---- replies to clients ---------------------------------------------------------- */

static double speed(const struct sl_job *job)
{
	int done = job->status.iteration;
	return done > 0 && job->status.seconds > 0 ? done / job->status.seconds : NAN;
}

int sl__job_iterations(const struct sl_job *job)
{
	const struct sl_status *s = &job->status;
	const struct sl_method *method = job->work.method;
	int asked = method->asked ? method->asked(&job->work.params) : 0;
	if (asked)
		return asked;
	if (method->timed && job->life.state == SL_JOB_DONE && s->iteration)
		return s->iteration;  /* the run ends at a time of the model, not after a number of steps */
	return s->iterations > s->iteration ? s->iterations : s->iteration;
}

static double eta(const struct sl_job *job)
{
	int left = sl__job_iterations(job) - job->status.iteration;
	if (job->life.state != SL_JOB_RUNNING)
		return NAN;
	if (!job->work.method->converges)
		return (left > 0 ? left : 0) / speed(job);
	double over = sl__job_forecast(job) - job->status.seconds;
	return over > 0 ? over : NAN;
}

static void add_progress(const struct sl_job *job, json_t *object)
{
	json_object_set_new(object, "version", json_integer(job->version));
	json_object_set_new(object, "iteration", json_integer(job->status.iteration));
	json_object_set_new(object, "iterations", json_integer(sl__job_iterations(job)));
	json_object_set_new(object, "kl", json_null());  /* unless it is the measure */
	json_object_set_new(object, job->work.method->measure, sl_json_number(job->status.kl));
	json_object_set_new(object, "gradient_norm", sl_json_number(job->status.gradient_norm));
	if (job->work.method->timed)
		json_object_set_new(object, "model_time", json_real(job->status.model_time));
	json_object_set_new(object, "seconds", json_real(job->status.seconds));
	json_object_set_new(object, "iterations_per_second", sl_json_number(speed(job)));
	json_object_set_new(object, "eta_seconds", sl_json_number(eta(job)));
}

json_t *sl__job_progress_json(const struct sl_job *job)
{
	json_t *object = json_object();
	add_progress(job, object);
	return object;
}

static json_t *numbers_json(const struct sl_param_list *list)
{
	json_t *array = json_array();
	for (int i = 0; i < list->count; i++)
		json_array_append_new(array, json_real(list->value[i]));
	return array;
}

/* The values that "auto" stands for in this job; null: not known yet. */
static json_t *resolved_json(const struct sl_job *job)
{
	const struct sl_method *method = job->work.method;
	const struct sl_method_data data = sl__job_data(job);
	const struct sl_trace_point *last = job->trace_count ? &job->trace[job->trace_count - 1] : NULL;
	struct sl_resolved value[SL_RESOLVED_MOST];
	int count = method->resolved ? method->resolved(&job->work.params, &data, job->status.iteration, last, value) : 0;
	json_t *o = json_object();
	for (int i = 0; i < count; i++)
		json_object_set_new(o, value[i].name, value[i].type == SL_RESOLVED_NUMBER ? json_real(value[i].number) :
				    value[i].type == SL_RESOLVED_WORD ? json_string(value[i].word) :
				    value[i].type == SL_RESOLVED_LIST ? numbers_json(&value[i].list) : json_null());
	return o;
}

json_t *sl_job_json(const struct sl_job *job)
{
	json_t *object = json_object();
	json_object_set_new(object, "id", json_string(job->id));
	json_object_set_new(object, "graph", json_string(job->graph));
	json_object_set_new(object, "name", text_json(job->name));
	json_object_set_new(object, "method", json_string(job->work.method->name));
	json_object_set_new(object, "input", job->input ? json_incref(job->input) : json_null());
	json_object_set_new(object, "state", json_string(sl_job_state_name[job->life.state]));
	json_object_set_new(object, "priority", json_integer(job->priority));
	json_object_set_new(object, "engine", json_string(job->requested));
	json_object_set_new(object, "device", json_string(job->device_id));
	json_object_set_new(object, "moves", json_integer(job->moves));
	json_object_set_new(object, "created", sl_json_time(job->created_ms));
	json_object_set_new(object, "started", sl_json_time(job->started_ms));
	json_object_set_new(object, "finished", sl_json_time(job->finished_ms));
	json_object_set_new(object, "nodes", json_integer(job->nodes));
	json_object_set_new(object, "measure", json_string(job->work.method->measure));
	add_progress(job, object);
	json_object_set_new(object, "stop", job->life.state == SL_JOB_DONE ? json_string(sl_stop_name(job->status.stop))
								      : json_null());
	json_object_set_new(object, "frame", json_integer(job->watch.sequence));
	json_object_set_new(object, "project", text_json(sl_project_name(job->jobs->d->users, job->project)));
	json_object_set_new(object, "may_change", json_true());  /* corrected for each receiver (users.h) */
	json_object_set_new(object, "batch", text_json(job->batch[0] ? job->batch : NULL));
	json_object_set_new(object, "after", text_json(job->after[0] ? job->after : NULL));
	json_object_set_new(object, "waiting", sl__job_waiting_json(job));
	json_object_set_new(object, "layout", json_boolean(job->has_layout && sl__job_ended(job)));
	json_object_set_new(object, "results", job->has_results && sl__job_ended(job) ?
			    sl__results_json(job->work.method) : json_array());
	if (job->work.method->table)
		json_object_set_new(object, job->work.method->table, job->table_of_result && sl__job_ended(job) ?
				    json_incref(job->table_of_result) : json_array());
	json_object_set_new(object, "preparation_seconds", sl_json_number(job->preparation_s));
	json_object_set_new(object, "notes", job->notes ? json_incref(job->notes) : json_array());
	json_object_set_new(object, "parameters", sl__work_params_json(&job->work));
	json_object_set_new(object, "resolved",
			resolved_json(job));
	json_object_set_new(object, "problem", job->problem ? json_incref(job->problem) : json_null());
	json_object_set_new(object, "quality", job->quality ? json_incref(job->quality) : json_null());
	return object;
}

static json_t *corner_json(const float *corner, int dims)
{
	json_t *array = json_array();
	for (int k = 0; k < dims; k++)
		json_array_append_new(array, json_real((double)corner[k]));
	return array;
}

/* The members of a trace point that all methods have. */
static json_t *point_json(const struct sl_job *job, const struct sl_trace_point *t)
{
	json_t *point = json_object();
	json_object_set_new(point, "iteration", json_integer(t->iteration));
	json_object_set_new(point, "seconds", json_real(t->seconds));
	json_object_set_new(point, job->work.method->measure, sl_json_number(t->kl));
	return point;
}

json_t *sl__trace_json(const struct sl_job *job, const struct sl_trace_point *trace, int count)
{
	json_t *points = json_array();
	int dims = sl__work_dims(&job->work);
	for (int i = 0; i < count; i++) {
		const struct sl_trace_point *t = &trace[i];
		json_t *point = point_json(job, t);
		json_array_append_new(points, point);
		if (!job->work.method->traces_layout)
			continue;
		json_object_set_new(point, "gradient_norm", sl_json_number(t->gradient_norm));
		json_object_set_new(point, "z", sl_json_number(t->z));
		json_object_set_new(point, "low", corner_json(t->low, dims));
		json_object_set_new(point, "high", corner_json(t->high, dims));
		json_object_set_new(point, "h", json_real(t->h));
		json_object_set_new(point, "exaggeration", json_real(t->exaggeration));
		json_object_set_new(point, "learning_rate", json_real(t->learning_rate));
		json_object_set_new(point, "momentum", json_real(t->momentum));
	}
	json_t *object = json_object();
	json_object_set_new(object, "job", json_string(job->id));
	json_object_set_new(object, "points", points);
	return object;
}

/* ---- records in the data base ------------------------------------------------------ */

json_t *sl__job_document(const struct sl_job *job)
{
	json_t *o = json_object();
	json_object_set_new(o, "graph", json_string(job->graph));
	json_object_set_new(o, "name", text_json(job->name));
	json_object_set_new(o, "method", json_string(job->work.method->name));
	json_object_set_new(o, "rows", json_integer(job->work.rows));
	json_object_set_new(o, "columns", json_integer(job->work.columns));
	if (job->work.centered)
		json_object_set_new(o, "centered", json_true());
	json_object_set_new(o, "degree", json_integer(job->work.degree));
	json_object_set_new(o, "model_time", json_real(job->status.model_time));
	json_object_set_new(o, "results", job->has_results ? sl__results_json(job->work.method) : json_array());
	if (job->input)
		json_object_set(o, "input", job->input);
	json_object_set_new(o, "state", json_string(sl_job_state_name[sl_machine_recorded(&job->life)]));
	if (job->user[0])
		json_object_set_new(o, "user", json_string(job->user));
	if (job->project[0])
		json_object_set_new(o, "project", json_string(job->project));
	json_object_set_new(o, "priority", json_integer(job->priority));
	json_object_set_new(o, "engine", json_string(job->requested));
	json_object_set_new(o, "device", json_string(job->device_id));
	if (job->moves)
		json_object_set_new(o, "moves", json_integer(job->moves));
	json_object_set_new(o, "nodes", json_integer(job->nodes));
	if (job->data_known)
		json_object_set_new(o, "data", json_pack("{si si}", "kind", (int)job->data_kind, "neighbours",
							 (int)job->neighbours));
	json_object_set_new(o, "parameters", sl__work_params_json(&job->work));
	json_object_set_new(o, "created", json_integer((json_int_t)job->created_ms));
	json_object_set_new(o, "started", json_integer((json_int_t)job->started_ms));
	json_object_set_new(o, "finished", json_integer((json_int_t)job->finished_ms));
	json_object_set_new(o, "iteration", json_integer(job->status.iteration));
	json_object_set_new(o, "seconds", json_real(job->status.seconds));
	json_object_set_new(o, "kl", sl_json_number(job->status.kl));
	json_object_set_new(o, "gradient_norm", sl_json_number(job->status.gradient_norm));
	json_object_set_new(o, "stop", json_integer(job->status.stop));
	json_object_set_new(o, "frame", json_integer(job->watch.sequence));
	json_object_set_new(o, "initial", json_boolean(job->has_initial));
	if (job->work.start)
		json_object_set_new(o, job->work.start == SL_START_LABELS ? "start_labels" : "start_means",
				    json_integer(job->work.parts));
	json_object_set_new(o, "layout", json_boolean(job->has_layout));
	json_object_set_new(o, "checkpoint",
			job->has_checkpoint ? json_integer(job->checkpoint_iteration) : json_null());
	json_object_set_new(o, "checkpoint_seconds", json_real(job->checkpoint_seconds));
	if (job->has_still)
		json_object_set_new(o, "still", json_true());
	if (job->idempotency_key) {
		json_object_set_new(o, "idempotency_key", json_string(job->idempotency_key));
		json_object_set_new(o, "idempotency_hash", json_string(job->idempotency_hash));
	}
	if (job->batch[0])
		json_object_set_new(o, "batch", json_string(job->batch));
	if (job->after[0]) {
		json_object_set_new(o, "after", json_string(job->after));
		json_object_set_new(o, "from", json_string(job->from));
		json_object_set_new(o, "after_met", json_boolean(job->after_met));
	}
	json_object_set_new(o, "preparation_seconds", sl_json_number(job->preparation_s));
	if (job->notes)
		json_object_set(o, "notes", job->notes);
	if (job->problem)
		json_object_set(o, "problem", job->problem);
	if (job->quality)
		json_object_set(o, "quality", job->quality);
	if (job->table_of_result)
		json_object_set(o, "table", job->table_of_result);
	return o;
}

char *sl__job_record(const struct sl_job *job, const struct sl_status *checkpoint)
{
	json_t *o = sl__job_document(job);
	if (o && checkpoint) {
		json_object_set_new(o, "checkpoint", json_integer(checkpoint->iteration));
		json_object_set_new(o, "checkpoint_seconds", json_real(checkpoint->seconds));
	}
	char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
	json_decref(o);
	return text;
}

static double real_of(const json_t *o, const char *key)
{
	const json_t *value = json_object_get(o, key);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

static json_int_t int_of(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static char *copy_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));
	return text ? strdup(text) : NULL;
}

static void copy_id(char out[SL_ULID_BYTES], const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));
	if (text && sl_ulid_valid(text))
		memcpy(out, text, SL_ULID_BYTES);
}

int sl__job_from_document(struct sl_jobs *j, const char *id, json_t *o, struct sl_job **out)
{
	const char *graph = json_string_value(json_object_get(o, "graph"));
	const char *state = json_string_value(json_object_get(o, "state"));
	const char *name = json_string_value(json_object_get(o, "method"));
	const struct sl_method *method = name ? sl_method_find(name) : sl_methods[0];
	if (!graph || !sl_ulid_valid(graph) || !state || parse_state(state) < 0 || !method)
		return SL_BADDATA;
	struct sl_job *job = sl__job_create(j, id);
	if (!job)
		return SL_NOMEM;
	memcpy(job->graph, graph, sizeof job->graph);
	job->life = sl_machine_loaded((enum sl_job_state)parse_state(state));
	job->name = copy_of(o, "name");
	const char *user = json_string_value(json_object_get(o, "user"));
	if (user)
		snprintf(job->user, sizeof job->user, "%s", user);
	copy_id(job->project, o, "project");
	copy_id(job->batch, o, "batch");
	copy_id(job->after, o, "after");
	copy_id(job->from, o, "from");
	job->after_met = json_is_true(json_object_get(o, "after_met"));
	job->priority = (int)int_of(o, "priority");
	job->nodes = (uint32_t)int_of(o, "nodes");
	job->moves = (int)int_of(o, "moves");
	const json_t *data = json_object_get(o, "data");
	job->data_known = data && int_of(data, "kind") >= SL_KIND_GRAPH && int_of(data, "kind") <= SL_KIND_NEIGHBOURS;
	if (job->data_known) {
		job->data_kind = (enum sl_kind)int_of(data, "kind");
		job->neighbours = (uint32_t)int_of(data, "neighbours");
	}
	const char *requested = sl_engine_word(json_string_value(json_object_get(o, "engine")));
	const char *device = json_string_value(json_object_get(o, "device"));
	sl__job_set_engine(job, requested ? requested : SL_ENGINE_AUTO,
			    sl_engines_find(j->engines, requested ? requested : SL_ENGINE_AUTO));
	if (device)
		snprintf(job->device_id, sizeof job->device_id, "%s", device);
	job->work.method = method;
	sl__work_read(&job->work, o);
	job->input = json_incref(json_object_get(o, "input"));
	job->created_ms = (uint64_t)int_of(o, "created");
	job->started_ms = (uint64_t)int_of(o, "started");
	job->finished_ms = (uint64_t)int_of(o, "finished");
	job->status.iteration = (int)int_of(o, "iteration");
	job->status.iterations = sl__work_iterations(&job->work);
	job->status.seconds = real_of(o, "seconds");
	job->status.kl = real_of(o, "kl");
	job->status.model_time = json_number_value(json_object_get(o, "model_time"));
	job->status.gradient_norm = real_of(o, "gradient_norm");
	job->status.stop = (enum sl_stop)int_of(o, "stop");
	job->watch.sequence = (uint32_t)int_of(o, "frame");
	job->has_initial = json_is_true(json_object_get(o, "initial"));
	const json_t *labels = json_object_get(o, "start_labels"), *means = json_object_get(o, "start_means");
	job->work.start = labels ? SL_START_LABELS : means ? SL_START_MEANS : SL_START_NONE;
	job->work.parts = (uint32_t)json_integer_value(labels ? labels : means);
	job->has_layout = method->layout && (job->life.state == SL_JOB_DONE || json_is_true(json_object_get(o, "layout")));
	job->has_results = json_array_size(json_object_get(o, "results")) > 0;
	job->has_checkpoint = json_is_integer(json_object_get(o, "checkpoint"));
	job->has_still = job->has_checkpoint && json_is_true(json_object_get(o, "still"));
	job->checkpoint_iteration = (int)int_of(o, "checkpoint");
	job->checkpoint_seconds = real_of(o, "checkpoint_seconds");
	job->idempotency_key = copy_of(o, "idempotency_key");
	job->idempotency_hash = copy_of(o, "idempotency_hash");
	job->preparation_s = real_of(o, "preparation_seconds");
	job->notes = json_incref(json_object_get(o, "notes"));
	job->problem = json_incref(json_object_get(o, "problem"));
	job->quality = json_incref(json_object_get(o, "quality"));
	job->table_of_result = json_incref(json_object_get(o, "table"));
	*out = job;
	return 0;
}
