/* Jobs' records in the data base, written and read. Loop thread. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/meant.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/json/json.h"

json_t *sl__job_document(const struct sl_job *job)
{
	const struct sl_job_record *r = &job->record;
	json_t *o = json_object();
	json_object_set_new(o, "graph", json_string(r->graph));
	json_object_set_new(o, "name", sl_json_text_or_null(r->name));
	json_object_set_new(o, "method", json_string(r->work.method->name));
	json_object_set_new(o, "rows", json_integer(r->work.rows));
	json_object_set_new(o, "columns", json_integer(r->work.columns));
	if (r->work.centered)
		json_object_set_new(o, "centered", json_true());
	json_object_set_new(o, "degree", json_integer(r->work.degree));
	json_object_set_new(o, "model_time", json_real(r->status.model_time));
	json_object_set_new(o, "results", r->has_results ? sl__results_json(r->work.method) : json_array());
	if (r->input)
		json_object_set(o, "input", r->input);
	json_object_set_new(o, "state", json_string(sl_job_state_name[sl_machine_recorded(&job->life)]));
	if (r->user[0])
		json_object_set_new(o, "user", json_string(r->user));
	if (r->project[0])
		json_object_set_new(o, "project", json_string(r->project));
	if (r->time_limit > 0)
		json_object_set_new(o, "time_limit", json_real(r->time_limit));
	json_object_set_new(o, "ran", json_real(r->ran_s));
	if (r->timed_out)
		json_object_set_new(o, "timed_out", json_true());
	if (r->keep)
		json_object_set_new(o, "keep", json_true());
	json_object_set_new(o, "priority", json_integer(job->place.priority));
	json_object_set_new(o, "engine", json_string(r->requested));
	json_object_set_new(o, "device", json_string(r->device_id));
	if (r->moves)
		json_object_set_new(o, "moves", json_integer(r->moves));
	if (r->slurm_job)
		json_object_set_new(o, "slurm", json_pack("{s:I, s:s, s:i, s:f, s:f, s:i}", "job", (json_int_t)r->slurm_job,
							  "node", r->slurm_node, "gpus", r->slurm_gpus, "seconds", r->slurm_s,
							  "gpu_seconds", r->slurm_gpu_s, "losses", r->losses));
	json_object_set_new(o, "nodes", json_integer(r->nodes));
	if (r->data_known)
		json_object_set_new(o, "data", json_pack("{si si}", "kind", (int)r->data_kind, "neighbours",
							 (int)r->neighbours));
	json_object_set_new(o, "parameters", sl__work_params_json(&r->work));
	json_object_set_new(o, "created", json_integer((json_int_t)r->created_ms));
	json_object_set_new(o, "started", json_integer((json_int_t)r->started_ms));
	json_object_set_new(o, "finished", json_integer((json_int_t)r->finished_ms));
	json_object_set_new(o, "iteration", json_integer(r->status.iteration));
	json_object_set_new(o, "seconds", json_real(r->status.seconds));
	json_object_set_new(o, "kl", sl_json_number(r->status.measure));
	json_object_set_new(o, "gradient_norm", sl_json_number(r->status.gradient_norm));
	json_object_set_new(o, "stop", json_integer(r->status.stop));
	json_object_set_new(o, "frame", json_integer(job->readers.watch.sequence));
	json_object_set_new(o, "initial", json_boolean(r->has_initial));
	if (r->work.start)
		json_object_set_new(o, r->work.start == SL_START_LABELS ? "start_labels" : "start_means",
				    json_integer(r->work.parts));
	json_object_set_new(o, "layout", json_boolean(r->has_layout));
	json_object_set_new(o, "checkpoint",
			r->has_checkpoint ? json_integer(r->checkpoint_iteration) : json_null());
	json_object_set_new(o, "checkpoint_seconds", json_real(r->checkpoint_seconds));
	if (r->has_still)
		json_object_set_new(o, "still", json_true());
	if (r->idempotency_key) {
		json_object_set_new(o, "idempotency_key", json_string(r->idempotency_key));
		json_object_set_new(o, "idempotency_hash", json_string(r->idempotency_hash));
	}
	if (r->batch[0])
		json_object_set_new(o, "batch", json_string(r->batch));
	if (r->after[0]) {
		json_object_set_new(o, "after", json_string(r->after));
		json_object_set_new(o, "from", json_string(r->from));
		json_object_set_new(o, "after_met", json_boolean(r->after_met));
	}
	json_object_set_new(o, "preparation_seconds", sl_json_number(r->preparation_s));
	if (r->notes)
		json_object_set(o, "notes", r->notes);
	if (r->problem)
		json_object_set(o, "problem", r->problem);
	if (r->quality)
		json_object_set(o, "quality", r->quality);
	if (r->cluster_names)
		json_object_set(o, "cluster_names", r->cluster_names);
	if (r->table_of_result)
		json_object_set(o, "table", r->table_of_result);
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

static void copy_id(char out[SL_ULID_BYTES], const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));
	if (text && sl_ulid_valid(text))
		memcpy(out, text, SL_ULID_BYTES);
}

static void read_slurm(struct sl_job_record *r, const json_t *o)
{
	const char *node = json_string_value(json_object_get(o, "node"));
	r->slurm_job = (uint64_t)int_of(o, "job");
	snprintf(r->slurm_node, sizeof r->slurm_node, "%s", node ? node : "");
	r->slurm_gpus = (int)int_of(o, "gpus");
	r->slurm_s = json_number_value(json_object_get(o, "seconds"));
	r->slurm_gpu_s = json_number_value(json_object_get(o, "gpu_seconds"));
	r->losses = (int)int_of(o, "losses");
}

/* Checks what this version must know to read the record, and reads the job's work. */
static int read_work(const json_t *o, struct sl_work *work, struct sl_error *err)
{
	static const char *const needed[] = {"graph", "state", "method", "engine", NULL};
	const char *text[4];
	for (int i = 0; needed[i]; i++)
		if (!(text[i] = json_string_value(json_object_get(o, needed[i]))))
			return sl_error_set(err, SL_BADDATA, "It has no %s.", needed[i]);
	if (!sl_ulid_valid(text[0]) || sl_word_index(sl_job_state_name, SL_JOB_STATES, text[1]) < 0)
		return sl_error_set(err, SL_BADDATA, "There is no graph \"%.40s\" or no state \"%.40s\".", text[0], text[1]);
	work->method = sl_method_find(text[2]);
	if (!work->method)
		return sl_error_set(err, SL_BADDATA, "This version has no method \"%.40s\".", text[2]);
	if (!sl_engine_word(text[3]))
		return sl_error_set(err, SL_BADDATA, "This version has no engine \"%.40s\".", text[3]);
	return sl__work_read(work, o, err);
}

int sl__job_from_document(struct sl_jobs *j, const char *id, json_t *o, struct sl_job **out, struct sl_error *err)
{
	struct sl_work work = {0};
	int code = read_work(o, &work, err);
	if (code)
		return code;
	const char *requested = sl_engine_word(json_string_value(json_object_get(o, "engine")));
	const char *state = json_string_value(json_object_get(o, "state"));
	struct sl_job *job = sl__job_create(j, id);
	if (!job)
		return SL_NOMEM;
	struct sl_job_record *r = &job->record;
	r->work = work;
	copy_id(r->graph, o, "graph");
	job->life = sl_machine_loaded((enum sl_job_state)sl_word_index(sl_job_state_name, SL_JOB_STATES, state));
	r->name = sl_json_copy(o, "name");
	const char *user = json_string_value(json_object_get(o, "user"));
	if (user)
		snprintf(r->user, sizeof r->user, "%s", user);
	copy_id(r->project, o, "project");
	r->time_limit = json_number_value(json_object_get(o, "time_limit"));
	r->ran_s = json_number_value(json_object_get(o, "ran"));
	r->timed_out = json_is_true(json_object_get(o, "timed_out"));
	r->keep = json_is_true(json_object_get(o, "keep"));
	copy_id(r->batch, o, "batch");
	copy_id(r->after, o, "after");
	copy_id(r->from, o, "from");
	r->after_met = json_is_true(json_object_get(o, "after_met"));
	job->place.priority = (int)int_of(o, "priority");
	r->nodes = (uint32_t)int_of(o, "nodes");
	r->moves = (int)int_of(o, "moves");
	read_slurm(r, json_object_get(o, "slurm"));
	const json_t *data = json_object_get(o, "data");
	if (data && int_of(data, "kind") >= SL_KIND_GRAPH && int_of(data, "kind") <= SL_KIND_NEIGHBOURS)
		sl__record_data(r, (enum sl_kind)int_of(data, "kind"), (uint32_t)int_of(data, "neighbours"));
	const char *device = json_string_value(json_object_get(o, "device"));
	sl__job_set_engine(job, requested, sl_engines_find(j->engines, requested));
	if (device)
		sl__record_device(r, device);
	r->input = json_incref(json_object_get(o, "input"));
	r->created_ms = (uint64_t)int_of(o, "created");
	r->started_ms = (uint64_t)int_of(o, "started");
	r->finished_ms = (uint64_t)int_of(o, "finished");
	r->status.iteration = (int)int_of(o, "iteration");
	r->status.iterations = sl__work_iterations(&r->work);
	r->status.seconds = real_of(o, "seconds");
	r->status.measure = real_of(o, "kl");
	r->status.model_time = json_number_value(json_object_get(o, "model_time"));
	r->status.gradient_norm = real_of(o, "gradient_norm");
	r->status.stop = (enum sl_stop)int_of(o, "stop");
	job->readers.watch.sequence = (uint32_t)int_of(o, "frame");
	r->has_initial = json_is_true(json_object_get(o, "initial"));
	const json_t *labels = json_object_get(o, "start_labels"), *means = json_object_get(o, "start_means");
	r->work.start = labels ? SL_START_LABELS : means ? SL_START_MEANS : SL_START_NONE;
	r->work.parts = (uint32_t)json_integer_value(labels ? labels : means);
	r->has_layout = work.method->layout &&
			(job->life.state == SL_JOB_DONE || json_is_true(json_object_get(o, "layout")));
	r->has_results = json_array_size(json_object_get(o, "results")) > 0;
	r->has_checkpoint = json_is_integer(json_object_get(o, "checkpoint"));
	r->has_still = r->has_checkpoint && json_is_true(json_object_get(o, "still"));
	r->checkpoint_iteration = (int)int_of(o, "checkpoint");
	r->checkpoint_seconds = r->has_checkpoint ? real_of(o, "checkpoint_seconds") : 0;
	r->idempotency_key = sl_json_copy(o, "idempotency_key");
	r->idempotency_hash = sl_json_copy(o, "idempotency_hash");
	r->preparation_s = real_of(o, "preparation_seconds");
	r->notes = json_incref(json_object_get(o, "notes"));
	r->problem = json_incref(json_object_get(o, "problem"));
	r->quality = json_incref(json_object_get(o, "quality"));
	r->cluster_names = json_incref(json_object_get(o, "cluster_names"));
	r->table_of_result = json_incref(json_object_get(o, "table"));
	*out = job;
	return 0;
}
