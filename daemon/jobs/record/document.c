/* Jobs' records in the data base, written and read. Loop thread. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/meant.h"
#include "core/error.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/json/json.h"

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

void sl__job_note(struct sl_job *job, const char *format, ...)
{
	char text[400];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	sl_singular(text);
	if (!job->notes)
		job->notes = json_array();
	json_array_append_new(job->notes, json_string(text));
}

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
	json_object_set_new(o, "priority", json_integer(job->place.priority));
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
	json_object_set_new(o, "kl", sl_json_number(job->status.measure));
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
	job->place.priority = (int)int_of(o, "priority");
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
	job->status.measure = real_of(o, "kl");
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
