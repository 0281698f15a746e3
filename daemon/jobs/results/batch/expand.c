/* Expands the parameters of a batch: lists of values, of which each combination is a job (the last parameter varies
 * fastest), or a list of combinations. */
#include "daemon/jobs/results/batch/expand.h"

#include <string.h>

#include "core/meant.h"
#include "daemon/json/json.h"

static int check_name(const struct sl_method *method, const char *key, struct sl_error *err)
{
	char pointer[96];
	snprintf(pointer, sizeof pointer, "/parameters/%.64s", key);
	if (sl_param_find(method->params, key))
		return 0;
	struct sl_meant meant;
	sl_meant_init(&meant, key);
	for (int i = 0; i < method->params->count; i++)
		sl_meant_try(&meant, method->params->param[i].name);
	if (sl_meant_word(&meant))
		return sl_error_field(err, SL_BADPARAM, pointer, "'%.64s' is not a parameter of a job; did you mean "
				      "'%s'?", key,
				      sl_meant_word(&meant));
	return sl_error_field(err, SL_BADPARAM, pointer, "'%.64s' is not a parameter of a job. parameters must have "
			      "those that differ; those that all jobs share stand beside it.", key);
}

static size_t values_of(const json_t *value)
{
	return json_is_array(value) ? json_array_size(value) : 1;
}

static int too_many(struct sl_error *err)
{
	return sl_error_field(err, SL_TOOBIG, "/parameters", "A batch must have at most %d jobs.", SL_BATCH_MOST);
}

static int count_product(const struct sl_method *method, const json_t *lists, size_t *count, struct sl_error *err)
{
	const char *key;
	json_t *value;
	*count = 1;
	json_object_foreach((json_t *)lists, key, value) {
		size_t n = values_of(value);
		char pointer[96];
		int code = check_name(method, key, err);
		if (code)
			return code;
		snprintf(pointer, sizeof pointer, "/parameters/%.64s", key);
		if (!n)
			return sl_error_field(err, SL_BADPARAM, pointer, "The list of values of %.64s is empty.", key);
		if (n > SL_BATCH_MOST || *count * n > SL_BATCH_MOST)
			return too_many(err);
		*count *= n;
	}
	return 0;
}

/* Makes combination i of the lists. */
static json_t *combination(const json_t *lists, size_t i, size_t count)
{
	json_t *o = json_object(), *value;
	const char *key;
	json_object_foreach((json_t *)lists, key, value) {
		size_t n = values_of(value);
		count /= n;
		json_object_set(o, key, json_is_array(value) ? json_array_get(value, i / count % n) : value);
	}
	return o;
}

static int read_list(const struct sl_method *method, const json_t *list, struct sl__expansion *e, struct sl_error *err)
{
	json_t *one, *value;
	const char *key;
	size_t i;
	if (!json_array_size(list))
		return sl_error_field(err, SL_BADPARAM, "/parameters", "The list of parameters is empty.");
	if (json_array_size(list) > SL_BATCH_MOST)
		return too_many(err);
	json_array_foreach(list, i, one) {
		if (!json_is_object(one))
			return sl_error_field(err, SL_BADPARAM, "/parameters", "A list of parameters must consist of objects.");
		json_object_foreach(one, key, value) {
			int code = check_name(method, key, err);
			if (code)
				return code;
		}
		json_array_append(e->parameters, one);
	}
	return 0;
}

static int read_parameters(const json_t *body, struct sl__expansion *e, struct sl_error *err)
{
	const json_t *parameters = json_object_get(body, "parameters");
	const struct sl_method *method;
	size_t count;
	if (sl__job_spec_method(body, &method, err))
		return err->code;
	if (json_is_array(parameters))
		return read_list(method, parameters, e, err);
	if (!json_is_object(parameters) || !json_object_size(parameters))
		return sl_error_field(err, SL_BADPARAM, "/parameters", "parameters must be an object of lists of values, "
				      "{\"perplexity\": [10, 30, 100]} for example, or a list of objects.");
	int code = count_product(method, parameters, &count, err);
	for (size_t i = 0; i < count && !code; i++)
		json_array_append_new(e->parameters, combination(parameters, i, count));
	return code;
}

/* Copies the members that all jobs share. It stops after the first member that a job cannot have, which
 * sl__expand_one() then refuses. */
static json_t *shared_of(const json_t *body)
{
	json_t *base = json_object(), *value;
	const struct sl_method *method;
	struct sl_error ignored;
	const char *key;
	if (sl__job_spec_method(body, &method, &ignored))
		method = sl_methods[0];
	json_object_foreach((json_t *)body, key, value) {
		if (!strcmp(key, "parameters") || !strcmp(key, "name"))
			continue;
		json_object_set(base, key, value);
		if (!sl__job_spec_knows(method, key))
			break;
	}
	return base;
}

int sl__expand(const json_t *body, struct sl__expansion *e, struct sl_error *err)
{
	*e = (struct sl__expansion){.parameters = json_array(), .shared = shared_of(body)};
	int code = e->shared && e->parameters ? 0 : sl_error_memory(err, "a batch");
	if (!code && json_object_get(body, "name"))
		code = sl_json_name(body, &e->name, err);
	if (!code && json_object_get(body, "dry_run"))
		code = sl_error_field(err, SL_BADPARAM, "/dry_run", "A batch has no dry run; /v1/jobs/dry-run checks a "
				      "single job.");
	if (!code && (json_is_array(json_object_get(body, "initial")) || json_is_object(json_object_get(body, "initial"))))
		code = sl_error_field(err, SL_BADPARAM, "/initial", "In a batch, initial must be the id of a job.");
	if (!code && json_object_get(json_object_get(body, "input"), "layout"))
		code = sl_error_field(err, SL_BADPARAM, "/input", "In a batch, input must be {\"job\": ID}.");
	if (!code)
		code = read_parameters(body, e, err);
	e->count = json_array_size(e->parameters);
	return code;
}

/* If the error is in a parameter that differs between jobs, the pointer names that parameter of the batch. */
int sl__expand_one(struct sl_jobs *j, const struct sl_principal *who, const struct sl__expansion *e, size_t i,
		   struct sl_job_spec *spec, struct sl_error *err)
{
	const json_t *differs = json_array_get(e->parameters, i);
	json_t *body = json_copy(e->shared);
	int code = 0;
	if (!body || json_object_update(body, (json_t *)differs))
		code = sl_error_memory(err, "a batch");
	if (!code)
		code = sl__job_spec_read(j, who, body, spec, err);
	if (code && err->pointer[0] == '/' && json_object_get(differs, err->pointer + 1)) {
		char pointer[sizeof err->pointer];
		snprintf(pointer, sizeof pointer, "/parameters%.100s", err->pointer);
		memcpy(err->pointer, pointer, sizeof err->pointer);
	}
	spec->name = NULL;  /* it was borrowed from body */
	json_decref(body);
	return code;
}

void sl__expansion_finish(struct sl__expansion *e)
{
	json_decref(e->parameters);
	json_decref(e->shared);
}
