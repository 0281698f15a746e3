/* The only writer of a record's fields, but for document.c, which fills those of a job that it reads. Each function is
 * one fact about the job, so fields that say the same together change together. Loop thread. */
#include "daemon/jobs/record/record.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/jobs/record/spec.h"
#include "daemon/json/problem.h"
#include "daemon/util/time_text.h"

/* ---- the request -------------------------------------------------------------------------- */

void sl__record_init(struct sl_job_record *r, const char *id)
{
	*r = (struct sl_job_record){.requested = SL_ENGINE_AUTO, .work.method = sl_methods[0], .preparation_s = NAN};
	memcpy(r->id, id, sizeof r->id);
	sl_param_defaults(r->work.method->params, &r->work.params);
	r->status.measure = r->status.gradient_norm = NAN;
}

void sl__record_finish(struct sl_job_record *r)
{
	free(r->name);
	free(r->idempotency_key);
	free(r->idempotency_hash);
	free(r->trace);
	json_decref(r->problem);
	json_decref(r->quality);
	json_decref(r->cluster_names);
	json_decref(r->notes);
	json_decref(r->input);
	json_decref(r->table_of_result);
}

int sl__record_request(struct sl_job_record *r, const struct sl_job_spec *spec, const char *key, const char *hash)
{
	bool late = spec->source && spec->source == spec->after;  /* it is copied when that job is done */
	memcpy(r->graph, spec->graph->id, sizeof r->graph);
	r->work = spec->work;
	r->status.iterations = sl__work_iterations(&spec->work);
	r->input = spec->input ? json_incref((json_t *)spec->input) : NULL;
	r->nodes = spec->graph->nodes;
	r->created_ms = sl_time_now_ms();
	r->time_limit = spec->time_limit;
	r->has_initial = spec->rows || (spec->source && !late) || spec->layout;
	if (spec->after)
		memcpy(r->after, spec->after->record.id, sizeof r->after);
	if (late)
		memcpy(r->from, spec->after->record.id, sizeof r->from);
	r->name = spec->name ? strdup(spec->name) : NULL;
	r->idempotency_key = key ? strdup(key) : NULL;
	r->idempotency_hash = key ? strdup(hash) : NULL;
	bool all = (r->name || !spec->name) && (!key || (r->idempotency_key && r->idempotency_hash));
	return all ? 0 : SL_NOMEM;
}

void sl__record_owner(struct sl_job_record *r, const char *user, const char *project, const char *batch)
{
	snprintf(r->user, sizeof r->user, "%s", user);
	snprintf(r->project, sizeof r->project, "%s", project);
	snprintf(r->batch, sizeof r->batch, "%s", batch);
}

void sl__record_user(struct sl_job_record *r, const char *user)
{
	snprintf(r->user, sizeof r->user, "%s", user);
}

void sl__record_name_take(struct sl_job_record *r, char *name)
{
	free(r->name);
	r->name = name;
}

void sl__record_ran(struct sl_job_record *r, double seconds)
{
	r->ran_s += seconds;
}

void sl__record_timed_out(struct sl_job_record *r)
{
	r->timed_out = true;
}

void sl__record_time_limit(struct sl_job_record *r, double seconds)
{
	r->time_limit = seconds;
}

void sl__record_keep(struct sl_job_record *r, bool keep)
{
	r->keep = keep;
}

void sl__record_params(struct sl_job_record *r, const struct sl_method_params *params)
{
	r->work.params = *params;
}

void sl__record_data(struct sl_job_record *r, enum sl_kind kind, uint32_t neighbours)
{
	r->data_known = true;
	r->data_kind = kind;
	r->neighbours = neighbours;
}

void sl__record_version(struct sl_job_record *r, int64_t version)
{
	r->version = version;
}

/* ---- the job that it starts after ------------------------------------------------------- */

void sl__record_after_met(struct sl_job_record *r)
{
	r->after_met = true;
}

void sl__record_copied(struct sl_job_record *r, bool needed)
{
	if (!needed)
		return;
	r->has_initial = true;
	r->from[0] = '\0';
}

/* ---- the run ------------------------------------------------------------------------------ */

void sl__record_requested(struct sl_job_record *r, const char *engine)
{
	r->requested = engine;
}

void sl__record_device(struct sl_job_record *r, const char *id)
{
	snprintf(r->device_id, sizeof r->device_id, "%s", id);
}

void sl__record_prepared(struct sl_job_record *r, double seconds)
{
	r->preparation_s = seconds;
}

void sl__record_started(struct sl_job_record *r)
{
	r->started_ms = sl_time_now_ms();
}

void sl__record_status(struct sl_job_record *r, const struct sl_status *status)
{
	r->status = *status;
}

void sl__record_back_to(struct sl_job_record *r, int iteration, double seconds)
{
	r->status.iteration = iteration;
	r->status.seconds = seconds;
}

void sl__record_forget_run(struct sl_job_record *r)
{
	r->status = (struct sl_status){.measure = NAN, .gradient_norm = NAN,
				       .iterations = sl__work_iterations(&r->work)};
}

void sl__record_moved(struct sl_job_record *r)
{
	r->moves++;
}

void sl__record_allocation(struct sl_job_record *r, uint64_t job, const char *node, int gpus)
{
	r->slurm_job = job;
	r->slurm_gpus = gpus;
	snprintf(r->slurm_node, sizeof r->slurm_node, "%s", node);
}

void sl__record_allocated(struct sl_job_record *r, double seconds)
{
	r->slurm_s += seconds;
	r->slurm_gpu_s += seconds * r->slurm_gpus;
}

void sl__record_lost_worker(struct sl_job_record *r)
{
	r->losses++;
}

void sl__record_note(struct sl_job_record *r, const char *format, ...)
{
	char text[400];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	sl_singular(text);
	if (!r->notes)
		r->notes = json_array();
	json_array_append_new(r->notes, json_string(text));
}

void sl__record_trace_take(struct sl_job_record *r, struct sl_trace_point *trace, int count)
{
	free(r->trace);
	r->trace = trace;
	r->trace_count = r->trace_room = count;
}

void sl__record_trace_add(struct sl_job_record *r, const struct sl_trace_point *points, int count)
{
	int wanted = r->trace_count + count;
	if (!count)
		return;
	if (wanted > r->trace_room) {
		int room = wanted > 2 * r->trace_room ? wanted : 2 * r->trace_room;
		struct sl_trace_point *grown = realloc(r->trace, (size_t)room * sizeof *grown);
		if (!grown)
			return;
		r->trace = grown;
		r->trace_room = room;
	}
	memcpy(r->trace + r->trace_count, points, (size_t)count * sizeof *points);
	r->trace_count = wanted;
}

void sl__record_checkpoint(struct sl_job_record *r, const struct sl_status *status, bool still)
{
	if (status->iteration > r->checkpoint_iteration)
		r->losses = 0;
	r->has_checkpoint = true;
	r->has_still = still;
	r->checkpoint_iteration = status->iteration;
	r->checkpoint_seconds = status->seconds;
}

void sl__record_no_checkpoint(struct sl_job_record *r)
{
	r->has_checkpoint = false;
	r->checkpoint_iteration = 0;
	r->checkpoint_seconds = 0;
}

void sl__record_no_still(struct sl_job_record *r)
{
	r->has_still = false;
}

/* ---- the end ------------------------------------------------------------------------------ */

void sl__record_finished(struct sl_job_record *r)
{
	r->finished_ms = sl_time_now_ms();
}

void sl__record_results(struct sl_job_record *r, bool layout, bool arrays)
{
	r->has_layout = layout;
	r->has_results = arrays;
}

void sl__record_problem(struct sl_job_record *r, const struct sl_error *err)
{
	json_decref(r->problem);
	r->problem = sl_problem_json(err);
}

void sl__record_table_take(struct sl_job_record *r, json_t *table)
{
	json_decref(r->table_of_result);
	r->table_of_result = table;
}

void sl__record_quality_take(struct sl_job_record *r, json_t *quality)
{
	json_decref(r->quality);
	r->quality = quality;
}

void sl__record_cluster_names_take(struct sl_job_record *r, json_t *names)
{
	json_decref(r->cluster_names);
	r->cluster_names = names;
}
