/* Jobs as clients see them (openapi.yaml: Job, Progress, Trace). Times are milliseconds since 1970 in the program, RFC
 * 3339 in JSON. Loop thread. */
#include <math.h>

#include "daemon/jobs/jobs_internal.h"
#include "daemon/json/json.h"

static double speed(const struct sl_job *job)
{
	int done = job->record.status.iteration;
	return done > 0 && job->record.status.seconds > 0 ? done / job->record.status.seconds : NAN;
}


static double eta(const struct sl_job *job)
{
	int left = sl__job_iterations(job) - job->record.status.iteration;
	if (job->life.state != SL_JOB_RUNNING)
		return NAN;
	if (!job->record.work.method->converges)
		return (left > 0 ? left : 0) / speed(job);
	double over = sl__job_forecast(job) - job->record.status.seconds;
	return over > 0 ? over : NAN;
}

static void add_progress(const struct sl_job *job, json_t *object)
{
	json_object_set_new(object, "version", json_integer(job->record.version));
	json_object_set_new(object, "iteration", json_integer(job->record.status.iteration));
	json_object_set_new(object, "iterations", json_integer(sl__job_iterations(job)));
	json_object_set_new(object, "kl", json_null());  /* unless it is the measure */
	json_object_set_new(object, job->record.work.method->measure, sl_json_number(job->record.status.measure));
	json_object_set_new(object, "gradient_norm", sl_json_number(job->record.status.gradient_norm));
	if (job->record.work.method->timed)
		json_object_set_new(object, "model_time", json_real(job->record.status.model_time));
	json_object_set_new(object, "seconds", json_real(job->record.status.seconds));
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
	const struct sl_job_record *r = &job->record;
	const struct sl_method *method = r->work.method;
	const struct sl_method_data data = sl__job_data(job);
	const struct sl_trace_point *last = r->trace_count ? &r->trace[r->trace_count - 1] : NULL;
	struct sl_resolved value[SL_RESOLVED_MOST];
	int count = method->resolved ? method->resolved(&r->work.params, &data, r->status.iteration, last, value) : 0;
	json_t *o = json_object();
	for (int i = 0; i < count; i++)
		json_object_set_new(o, value[i].name, value[i].type == SL_RESOLVED_NUMBER ? json_real(value[i].number) :
				    value[i].type == SL_RESOLVED_WORD ? json_string(value[i].word) :
				    value[i].type == SL_RESOLVED_LIST ? numbers_json(&value[i].list) : json_null());
	return o;
}

/* The allocation of Slurm in which it runs, or ran last. */
static json_t *allocation_json(const struct sl_job_record *r)
{
	if (!r->slurm_job)
		return json_null();
	return json_pack("{s:I, s:s, s:i, s:f, s:f, s:i}", "slurm_job", (json_int_t)r->slurm_job, "node", r->slurm_node,
			 "gpus", r->slurm_gpus, "hours", r->slurm_s / 3600, "gpu_hours", r->slurm_gpu_s / 3600,
			 "losses", r->losses);
}

json_t *sl_job_json(const struct sl_job *job)
{
	json_t *object = json_object();
	json_object_set_new(object, "id", json_string(job->record.id));
	json_object_set_new(object, "graph", json_string(job->record.graph));
	json_object_set_new(object, "name", sl_json_text_or_null(job->record.name));
	json_object_set_new(object, "method", json_string(job->record.work.method->name));
	json_object_set_new(object, "input", job->record.input ? json_incref(job->record.input) : json_null());
	json_object_set_new(object, "state", json_string(sl_job_state_name[job->life.state]));
	json_object_set_new(object, "priority", json_integer(job->place.priority));
	json_object_set_new(object, "engine", json_string(job->record.requested));
	json_object_set_new(object, "device", json_string(job->record.device_id));
	json_object_set_new(object, "moves", json_integer(job->record.moves));
	json_object_set_new(object, "allocation", allocation_json(&job->record));
	json_object_set_new(object, "created", sl_json_time(job->record.created_ms));
	json_object_set_new(object, "started", sl_json_time(job->record.started_ms));
	json_object_set_new(object, "finished", sl_json_time(job->record.finished_ms));
	json_object_set_new(object, "time_limit", sl_json_number(sl__job_time_limit(job, NULL) > 0 ?
			    sl__job_time_limit(job, NULL) : NAN));
	json_object_set_new(object, "running_seconds", json_real(job->record.ran_s));
	json_object_set_new(object, "keep", json_boolean(job->record.keep));
	json_object_set_new(object, "expires", sl_json_time(sl__job_expires_ms(job)));
	json_object_set_new(object, "nodes", json_integer(job->record.nodes));
	json_object_set_new(object, "measure", json_string(job->record.work.method->measure));
	add_progress(job, object);
	json_object_set_new(object, "stop", job->life.state == SL_JOB_DONE ?
			    json_string(job->record.timed_out ? "time" : sl_stop_name(job->record.status.stop))
								      : json_null());
	json_object_set_new(object, "frame", json_integer(job->readers.watch.sequence));
	json_object_set_new(object, "project", sl_json_text_or_null(sl_project_name(job->jobs->d->users,
										    job->record.project)));
	sl_users_add_owner(job->jobs->d->users, job->record.id, object);
	json_object_set_new(object, "may_change", json_true());  /* corrected for each receiver (users.h) */
	json_object_set_new(object, "batch", sl_json_text_or_null(job->record.batch[0] ? job->record.batch : NULL));
	json_object_set_new(object, "after", sl_json_text_or_null(job->record.after[0] ? job->record.after : NULL));
	json_object_set_new(object, "waiting", sl__job_waiting_json(job));
	json_object_set_new(object, "layout", json_boolean(job->record.has_layout && sl__job_ended(job)));
	json_object_set_new(object, "results", job->record.has_results && sl__job_ended(job) ?
			    sl__results_json(job->record.work.method) : json_array());
	if (job->record.work.method->table)
		json_object_set_new(object, job->record.work.method->table, job->record.table_of_result && sl__job_ended(job) ?
				    json_incref(job->record.table_of_result) : json_array());
	json_object_set_new(object, "preparation_seconds", sl_json_number(job->record.preparation_s));
	json_object_set_new(object, "notes", job->record.notes ? json_incref(job->record.notes) : json_array());
	json_object_set_new(object, "parameters", sl__work_params_json(&job->record.work));
	json_object_set_new(object, "resolved", resolved_json(job));
	json_object_set_new(object, "problem", job->record.problem ? json_incref(job->record.problem) : json_null());
	json_object_set_new(object, "quality", job->record.quality ? json_incref(job->record.quality) : json_null());
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
	json_object_set_new(point, job->record.work.method->measure, sl_json_number(t->measure));
	return point;
}

json_t *sl__trace_json(const struct sl_job *job, const struct sl_trace_point *trace, int count)
{
	json_t *points = json_array();
	int dims = sl__work_dims(&job->record.work);
	for (int i = 0; i < count; i++) {
		const struct sl_trace_point *t = &trace[i];
		json_t *point = point_json(job, t);
		json_array_append_new(points, point);
		if (!job->record.work.method->traces_layout)
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
	json_object_set_new(object, "job", json_string(job->record.id));
	json_object_set_new(object, "points", points);
	return object;
}
