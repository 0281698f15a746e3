/* The methods as JSON, from their table (core/method/method.h): openapi.yaml, MethodDescription. Clients that read it
 * need no list of methods of their own. Loop thread. */
#include "core/method/method.h"
#include "daemon/json/param_json.h"

static json_t *words_json(const char *const *words)
{
	json_t *list = json_array();
	for (; words && *words; words++)
		json_array_append_new(list, json_string(*words));
	return list;
}

/* The kinds of data that a job of the method can be computed from. */
static json_t *origins_json(const struct sl_method *m)
{
	json_t *list = json_array();
	bool any = sl_method_takes(m, SL_OF_AFFINITIES);
	if (any || sl_method_takes(m, SL_OF_EDGES))
		json_array_append_new(list, json_string("graph"));
	if (any || sl_method_takes(m, SL_OF_POINTS))
		json_array_append_new(list, json_string("points"));
	if (any)
		json_array_append_new(list, json_string("neighbours"));
	if (sl_method_takes(m, SL_OF_LAYOUT))
		json_array_append_new(list, json_string("layout"));
	return list;
}

static json_t *outputs_json(const struct sl_method *m)
{
	json_t *list = json_array();
	for (const struct sl_method_output *o = m->results; o->name; o++)
		json_array_append_new(list, json_pack("{s:s, s:s}", "name", o->name, "description", o->doc));
	return list;
}

static json_t *parameter_json(const struct sl_param_info *info, const json_t *defaults)
{
	static const char *const types[] = {
		[SL_TYPE_BOOL] = "boolean", [SL_TYPE_INT] = "integer", [SL_TYPE_UINT64] = "integer",
		[SL_TYPE_DOUBLE] = "number", [SL_TYPE_ENUM] = "word", [SL_TYPE_LIST] = "list", [SL_TYPE_TEXT] = "text",
	};
	bool number = info->type != SL_TYPE_BOOL && info->type != SL_TYPE_ENUM && info->type != SL_TYPE_TEXT;
	return json_pack("{s:s, s:s, s:s, s:O, s:b, s:s?, s:o, s:o, s:o}", "name", info->name, "type", types[info->type],
			 "description", info->doc, "default", json_object_get(defaults, info->name), "steerable",
			 info->steerable, "automatic", info->automatic, "words", words_json(info->words), "minimum",
			 number ? json_real(info->min) : json_null(), "maximum",
			 number ? json_real(info->max) : json_null());
}

static json_t *parameters_json(const struct sl_method *m)
{
	struct sl_method_params record;
	json_t *list = json_array();
	sl_param_defaults(m->params, &record);
	json_t *defaults = sl_param_json(m->params, &record);
	for (int i = 0; i < m->params->count; i++)
		json_array_append_new(list, parameter_json(&m->params->param[i], defaults));
	json_decref(defaults);
	return list;
}

json_t *sl_methods_json(void)
{
	json_t *list = json_array();
	for (int i = 0; sl_methods[i]; i++) {
		const struct sl_method *m = sl_methods[i];
		json_array_append_new(list, json_pack(
			"{s:s, s:s, s:s, s:s, s:o, s:b, s:b, s:{s:s, s:s}, s:o, s:o, s:b, s:o}", "name", m->name, "title",
			m->title ? m->title : m->name, "summary",
			m->summary, "description", m->about, "input", origins_json(m), "layout", m->layout, "values",
			m->value_columns != NULL, "measure", "name", m->measure, "title", m->measure_title, "results",
			outputs_json(m), "predicts", words_json(m->predicts), "transform", m->transform != NULL,
			"parameters", parameters_json(m)));
	}
	return json_pack("{s:o}", "methods", list);
}
