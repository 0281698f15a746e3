/* Events as messages. The daemon checks what a worker sends: a part has exactly the bytes that the sizes in the object
 * ask for, and names are those of the job's method. */
#include "daemon/worker/codec.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *const event_names[] = {
	[SL_EVENT_STARTED] = "started", [SL_EVENT_PROGRESS] = "progress", [SL_EVENT_PAUSED] = "paused",
	[SL_EVENT_SNAPSHOT] = "snapshot_taken", [SL_EVENT_CHECKPOINT] = "checkpoint_taken", [SL_EVENT_DONE] = "done",
	[SL_EVENT_FAILED] = "failed", [SL_EVENT_CANCELLED] = "cancelled", [SL_EVENT_LEFT] = "left",
	[SL_EVENT_LOST] = "lost", [SL_EVENT_GRAPH_DROPPED] = "graph_dropped", [SL_EVENT_STATE] = "state",
	[SL_EVENT_STOPPED] = "stopped",
};

/* ---- events: their parts ---------------------------------------------------------------------------- */

#define TRACE_NUMBERS 15

static json_t *status_json(const struct sl_status *s)
{
	return json_pack("{s:i, s:i, s:o, s:o, s:o, s:o, s:b, s:b, s:i}", "iteration", s->iteration,
			 "iterations", s->iterations, "seconds", sl_wire_real(s->seconds), "measure", sl_wire_real(s->measure),
			 "gradient_norm", sl_wire_real(s->gradient_norm), "model_time", sl_wire_real(s->model_time),
			 "held", s->held, "done", s->done, "stop", (int)s->stop);
}

static void status_value(const json_t *o, struct sl_status *s)
{
	*s = (struct sl_status){
		.iteration = (int)sl__whole_at(o, "iteration"), .iterations = (int)sl__whole_at(o, "iterations"),
		.seconds = sl__real_at(o, "seconds"), .measure = sl__real_at(o, "measure"),
		.gradient_norm = sl__real_at(o, "gradient_norm"), .model_time = sl__real_at(o, "model_time"),
		.held = sl__is_at(o, "held"), .done = sl__is_at(o, "done"), .stop = (enum sl_stop)sl__whole_at(o, "stop"),
	};
	if (s->stop < SL_STOP_NOT_YET || s->stop > SL_STOP_CONVERGED)
		s->stop = SL_STOP_NOT_YET;
}

static bool put_trace(struct sl_wire_message *m, const struct sl_trace_point *t, int count)
{
	double *out = count ? malloc((size_t)count * TRACE_NUMBERS * sizeof *out) : NULL;
	for (int i = 0; out && i < count; i++) {
		const double row[TRACE_NUMBERS] = {
			t[i].iteration, t[i].seconds, t[i].measure, t[i].gradient_norm, t[i].z,
			t[i].low[0], t[i].low[1], t[i].low[2], t[i].high[0], t[i].high[1], t[i].high[2],
			t[i].h, t[i].exaggeration, t[i].learning_rate, t[i].momentum,
		};
		memcpy(out + (size_t)i * TRACE_NUMBERS, row, sizeof row);
	}
	if (out)
		sl_wire_put(m, "trace", out, (uint64_t)count * TRACE_NUMBERS * sizeof *out);
	return out || !count;
}

/* A worker may send anything: the iterations of the rows must be numbers of iterations. */
static bool rows_fit(const double *rows, uint64_t bytes)
{
	uint64_t each = TRACE_NUMBERS * sizeof(double);
	bool fit = bytes % each == 0;
	for (uint64_t i = 0; fit && i < bytes / each; i++)
		fit = rows[i * TRACE_NUMBERS] >= 0 && rows[i * TRACE_NUMBERS] <= INT_MAX;
	return fit;
}

static int take_trace(struct sl_wire_message *m, struct sl_device_event *e, struct sl_error *err)
{
	uint64_t bytes = sl_wire_bytes(m, "trace"), each = TRACE_NUMBERS * sizeof(double);
	double *rows = sl_wire_take(m, "trace", bytes);
	if (!rows)
		return 0;
	bool fit = rows_fit(rows, bytes);
	int count = (int)(bytes / each);
	e->trace = fit ? malloc((size_t)count * sizeof *e->trace) : NULL;
	for (int i = 0; e->trace && i < count; i++) {
		const double *r = rows + (size_t)i * TRACE_NUMBERS;
		e->trace[i] = (struct sl_trace_point){
			.iteration = (int)r[0], .seconds = r[1], .measure = r[2], .gradient_norm = r[3], .z = r[4],
			.low = {(float)r[5], (float)r[6], (float)r[7]}, .high = {(float)r[8], (float)r[9], (float)r[10]},
			.h = r[11], .exaggeration = r[12], .learning_rate = r[13], .momentum = r[14],
		};
	}
	free(rows);
	e->trace_count = e->trace ? count : 0;
	return e->trace ? 0 : !fit ? sl__wrong(err, "a trace of another form") : sl_error_memory(err, "a trace");
}

/* The layout is the event's alone in a worker, so its coordinates move into the message. */
static bool put_layout(struct sl_wire_message *m, struct sl_layout *l)
{
	if (!l)
		return true;
	uint64_t values = (uint64_t)l->n * (uint64_t)l->dims;
	json_t *low = json_array();
	for (int i = 0; i < 3; i++)
		json_array_append_new(low, sl_wire_real(l->low[i]));
	json_object_set_new(m->head, "layout", json_pack("{s:I, s:i, s:i, s:o, s:b, s:o, s:I, s:o, s:o, s:b}",
		"n", (json_int_t)l->n, "dims", l->dims, "iteration", l->iteration, "measure", sl_wire_real(l->measure),
		"values", l->values, "model_time", sl_wire_real(l->model_time), "time_us", (json_int_t)l->time_us,
		"low", low, "extent", sl_wire_real(l->extent), "quantised", l->quantised != NULL));
	void *data = l->quantised ? (void *)l->quantised : l->y;
	uint64_t bytes = values * (l->quantised ? sizeof *l->quantised : sizeof *l->y);
	if (atomic_load(&l->references) > 1)
		return sl_wire_put_copy(m, "layout", data, bytes);
	sl_wire_put(m, "layout", data, bytes);
	l->y = NULL;
	l->quantised = NULL;
	return true;
}

static int take_layout(struct sl_wire_message *m, struct sl_layout **out, struct sl_error *err)
{
	const json_t *o = json_object_get(m->head, "layout");
	if (!o)
		return 0;
	uint32_t n = (uint32_t)sl__whole_at(o, "n");
	int dims = (int)sl__whole_at(o, "dims"), iteration = (int)sl__whole_at(o, "iteration");
	bool quantised = sl__is_at(o, "quantised");
	double measure = sl__real_at(o, "measure");
	uint64_t bytes = (uint64_t)n * (uint64_t)dims * (quantised ? sizeof(uint16_t) : sizeof(float));
	void *data = dims > 0 ? sl_wire_take(m, "layout", bytes) : NULL;
	float low[3];
	for (size_t i = 0; i < 3; i++)
		low[i] = (float)sl_wire_real_value(json_array_get(json_object_get(o, "low"), i));
	if (!data)
		return sl__wrong(err, "a layout of another size");
	struct sl_layout *l = sl__is_at(o, "values") ?
			      sl_layout_create_values(data, n, dims, iteration, measure, sl__real_at(o, "model_time")) :
			      quantised ? sl_layout_create_quantised(data, n, dims, iteration, measure, low,
								     (float)sl__real_at(o, "extent")) :
					  sl_layout_create_take(data, n, dims, iteration, measure);
	if (!l)
		return sl_error_memory(err, "a layout of %u nodes", n);
	l->time_us = (uint64_t)sl__whole_at(o, "time_us");
	*out = l;
	return 0;
}

static const char *const result_parts[SL_METHOD_ARRAYS] = {"result0", "result1", "result2", "result3", "result4",
							   "result5"};

static void put_result(struct sl_wire_message *m, struct sl_method_result *r, int columns)
{
	json_t *arrays = json_array();
	for (int i = 0; i < r->count; i++) {
		struct sl_method_array *a = &r->array[i];
		json_array_append_new(arrays, json_pack("{s:s, s:i, s:[I, I, I]}", "name", a->name, "type", (int)a->type,
							"shape", (json_int_t)a->shape[0], (json_int_t)a->shape[1],
							(json_int_t)a->shape[2]));
		sl_wire_put(m, result_parts[i], a->data, sl_method_array_bytes(a));
		a->data = NULL;
	}
	json_object_set_new(m->head, "result", json_pack("{s:o, s:i, s:i, s:o}", "arrays", arrays, "rows", r->rows,
							 "columns", columns, "note", sl_wire_text(r->note)));
	if (r->table)
		sl_wire_put(m, "table", r->table, (uint64_t)r->rows * (uint64_t)columns * sizeof *r->table);
	r->table = NULL;
}

static int table_columns(const struct sl_method *method)
{
	int count = 0;
	while (method && method->table && method->columns && method->columns[count].name)
		count++;
	return count;
}

static const char *result_name(const struct sl_method *method, const char *name)
{
	for (int i = 0; method && method->results && method->results[i].name; i++)
		if (!strcmp(method->results[i].name, name))
			return method->results[i].name;
	return NULL;
}

static int take_array(struct sl_wire_message *m, const json_t *o, int number, const struct sl_method *method,
		      struct sl_method_array *a, struct sl_error *err)
{
	a->name = result_name(method, sl__text_at(o, "name"));
	a->type = (enum sl_array_type)sl__whole_at(o, "type");
	for (size_t i = 0; i < 3; i++)
		a->shape[i] = (uint32_t)json_integer_value(json_array_get(json_object_get(o, "shape"), i));
	if (!a->name || a->type < SL_ARRAY_FLOAT32 || a->type > SL_ARRAY_FLOAT64)
		return sl__wrong(err, "an unknown array");
	uint64_t bytes = sl_method_array_bytes(a);
	a->data = bytes ? sl_wire_take(m, result_parts[number], bytes) : malloc(1);
	return a->data ? 0 : sl__wrong(err, "an array of another size");
}

static int take_result(struct sl_wire_message *m, const struct sl_method *method, struct sl_method_result *r,
		       struct sl_error *err)
{
	const json_t *o = json_object_get(m->head, "result"), *arrays = json_object_get(o, "arrays");
	int count = (int)json_array_size(arrays), code = 0, columns = table_columns(method);
	if (!o)
		return 0;
	if (count > SL_METHOD_ARRAYS || sl__whole_at(o, "columns") != columns)
		return sl__wrong(err, "a result of another method");
	snprintf(r->note, sizeof r->note, "%s", sl__text_at(o, "note"));
	for (int i = 0; i < count && !code; i++) {
		code = take_array(m, json_array_get(arrays, (size_t)i), i, method, &r->array[i], err);
		r->count += !code;
	}
	r->rows = (int)sl__whole_at(o, "rows");
	if (!code && r->rows > 0 &&
	    !(r->table = sl_wire_take(m, "table", (uint64_t)r->rows * (uint64_t)columns * sizeof *r->table)))
		code = sl__wrong(err, "a table of another size");
	return code;
}

static json_t *plans_json(const struct sl_device_state *s)
{
	json_t *list = json_array();
	for (int i = 0; i < s->plan_count; i++) {
		const struct sl_plan_info *p = &s->plan[i];
		json_array_append_new(list, json_pack("[i, i, o, i, I, I]", p->dims, p->side, sl_wire_real(p->h), p->window,
						      (json_int_t)p->bytes, (json_int_t)p->uses));
	}
	return list;
}

static json_t *state_json(const struct sl_device_state *s)
{
	const struct sl_device_info *i = &s->info;
	json_t *info = json_pack("{s:o, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}",
		"name", sl_wire_text(i->name), "kind", i->kind, "pci", i->pci, "memory_total", (json_int_t)i->memory_total,
		"memory_used", (json_int_t)i->memory_used, "memory_budget", (json_int_t)i->memory_budget,
		"graph_bytes", (json_int_t)i->graph_bytes, "embedding_bytes", (json_int_t)i->embedding_bytes,
		"plan_bytes", (json_int_t)i->plan_bytes, "plan_budget", (json_int_t)i->plan_budget,
		"plans", (json_int_t)i->plans, "plan_hits", (json_int_t)i->plan_hits,
		"plan_misses", (json_int_t)i->plan_misses, "plan_evictions", (json_int_t)i->plan_evictions);
	return json_pack("{s:o, s:i, s:i, s:i, s:b, s:b, s:o, s:I, s:I, s:o}", "info", info,
			 "graphs_resident", s->graphs_resident, "graphs_pinned", s->graphs_pinned,
			 "neighbours_resident", s->neighbours_resident, "down", s->down, "restart", s->restart,
			 "problem", sl_wire_error(&s->problem), "evictions", (json_int_t)s->evictions,
			 "losses", (json_int_t)s->losses, "plans", plans_json(s));
}

static void state_value(const json_t *o, struct sl_device_state *s)
{
	const json_t *i = json_object_get(o, "info"), *plans = json_object_get(o, "plans");
	*s = (struct sl_device_state){
		.graphs_resident = (int)sl__whole_at(o, "graphs_resident"),
		.graphs_pinned = (int)sl__whole_at(o, "graphs_pinned"),
		.neighbours_resident = (int)sl__whole_at(o, "neighbours_resident"), .down = sl__is_at(o, "down"),
		.restart = sl__is_at(o, "restart"), .evictions = (uint64_t)sl__whole_at(o, "evictions"),
		.losses = (uint64_t)sl__whole_at(o, "losses"),
		.info = {
			.memory_total = (uint64_t)sl__whole_at(i, "memory_total"),
			.memory_used = (uint64_t)sl__whole_at(i, "memory_used"),
			.memory_budget = (uint64_t)sl__whole_at(i, "memory_budget"),
			.graph_bytes = (uint64_t)sl__whole_at(i, "graph_bytes"),
			.embedding_bytes = (uint64_t)sl__whole_at(i, "embedding_bytes"),
			.plan_bytes = (uint64_t)sl__whole_at(i, "plan_bytes"),
			.plan_budget = (uint64_t)sl__whole_at(i, "plan_budget"),
			.plans = (uint64_t)sl__whole_at(i, "plans"), .plan_hits = (uint64_t)sl__whole_at(i, "plan_hits"),
			.plan_misses = (uint64_t)sl__whole_at(i, "plan_misses"),
			.plan_evictions = (uint64_t)sl__whole_at(i, "plan_evictions"),
		},
	};
	snprintf(s->info.name, sizeof s->info.name, "%s", sl__text_at(i, "name"));
	snprintf(s->info.kind, sizeof s->info.kind, "%s", sl__text_at(i, "kind"));
	snprintf(s->info.pci, sizeof s->info.pci, "%s", sl__text_at(i, "pci"));
	sl_wire_error_value(json_object_get(o, "problem"), &s->problem);
	size_t count = json_array_size(plans);
	s->plan_count = count < SL_PLANS_LISTED ? (int)count : SL_PLANS_LISTED;
	for (int k = 0; k < s->plan_count; k++) {
		const json_t *p = json_array_get(plans, (size_t)k);
		s->plan[k] = (struct sl_plan_info){
			.dims = (int)json_integer_value(json_array_get(p, 0)),
			.side = (int)json_integer_value(json_array_get(p, 1)), .h = sl_wire_real_value(json_array_get(p, 2)),
			.window = (int)json_integer_value(json_array_get(p, 3)),
			.bytes = (uint64_t)json_integer_value(json_array_get(p, 4)),
			.uses = (uint64_t)json_integer_value(json_array_get(p, 5)),
		};
	}
}

/* ---- events --------------------------------------------------------------------------------------- */

struct sl_wire_message *sl_event_message(struct sl_device_event *e, const struct sl_method *method)
{
	struct sl_wire_message *m = sl_wire_message_create(event_names[e->kind]);
	if (!m)
		return NULL;
	bool good = !json_object_update_new(m->head, json_pack("{s:I, s:I, s:I, s:o, s:o, s:o, s:b, s:b, s:I, s:o}",
		"job", (json_int_t)e->job, "graph", (json_int_t)e->graph, "adds", (json_int_t)e->adds,
		"status", status_json(&e->status), "error", sl_wire_error(&e->err), "unaided", sl_wire_error(&e->unaided),
		"asked", e->asked, "suspect", e->suspect, "slices", (json_int_t)e->slices,
		"slice_seconds", sl_wire_real(e->slice_seconds)));
	good = good && put_trace(m, e->trace, e->trace_count) && put_layout(m, e->layout);
	if (e->kind == SL_EVENT_DONE || e->kind == SL_EVENT_CANCELLED)
		put_result(m, &e->result, table_columns(method));
	if (e->state)
		good = good && !json_object_set_new(m->head, "state", state_json(e->state));
	sl_wire_put(m, "blob", e->blob, e->bytes);
	e->blob = NULL;
	if (good)
		return m;
	sl_wire_message_destroy(m);
	return NULL;
}

int sl_event_of_message(struct sl_wire_message *m, const struct sl_method *method, struct sl_device_event **out,
			struct sl_error *err)
{
	const json_t *h = m->head;
	int kind = sl__kind_number(sl_wire_kind(m), event_names, SL__COUNT(event_names)), code = 0;
	if (kind < 0)
		return sl__wrong(err, "an unknown kind");
	struct sl_device_event *e = sl__event_create((enum sl_event_kind)kind);
	if (!e)
		return sl_error_memory(err, "an event");
	e->job = (uint64_t)sl__whole_at(h, "job");
	e->graph = (uint64_t)sl__whole_at(h, "graph");
	e->adds = (uint64_t)sl__whole_at(h, "adds");
	status_value(json_object_get(h, "status"), &e->status);
	sl_wire_error_value(json_object_get(h, "error"), &e->err);
	sl_wire_error_value(json_object_get(h, "unaided"), &e->unaided);
	e->asked = sl__is_at(h, "asked");
	e->suspect = sl__is_at(h, "suspect");
	e->slices = (uint64_t)sl__whole_at(h, "slices");
	e->slice_seconds = sl__real_at(h, "slice_seconds");
	e->bytes = sl_wire_bytes(m, "blob");
	e->blob = sl_wire_take(m, "blob", e->bytes);
	if (e->state)
		state_value(json_object_get(h, "state"), e->state);
	code = take_trace(m, e, err);
	if (!code)
		code = take_layout(m, &e->layout, err);
	if (!code)
		code = take_result(m, method, &e->result, err);
	*out = e;
	if (!code)
		return 0;
	sl_device_event_destroy(e);
	*out = NULL;
	return code;
}
