/* Commands as messages. Numbers go as JSON, arrays as parts. A worker obeys its daemon, but what arrives is checked as
 * far as memory depends on it: a part has exactly the bytes that the sizes in the object ask for. */
#include "daemon/worker/codec.h"

#include <stdlib.h>
#include <string.h>

#include "core/neighbours/neighbours.h"
#include "daemon/json/param_json.h"

static const char *const command_names[] = {
	[SL__ADD] = "add", [SL__STEER] = "steer", [SL__PRIORITY] = "priority", [SL__PAUSE] = "pause",
	[SL__RESUME] = "resume", [SL__CANCEL] = "cancel", [SL__FINISH] = "finish", [SL__SNAPSHOT] = "snapshot",
	[SL__CHECKPOINT] = "checkpoint", [SL__LEAVE] = "leave", [SL__CHARGE] = "charge", [SL__DROP_GRAPH] = "drop_graph",
	[SL__DROP_NEIGHBOURS] = "drop_neighbours", [SL__PIN] = "pin", [SL__EXPANDED] = "", [SL__ASK_STATE] = "ask_state",
	[SL__PLANS_CLEAR] = "plans_clear", [SL__STOP] = "stop",
};

/* ---- parameters ------------------------------------------------------------------------------- */

static json_t *affinities_json(const struct sl_affinities_params *p)
{
	json_t *list = json_array();
	for (int i = 0; i < p->perplexities; i++)
		json_array_append_new(list, sl_wire_real(p->perplexity[i]));
	return json_pack("{s:o, s:o, s:b, s:i}", "lambda", sl_wire_real(p->lambda), "perplexity", list,
			 "drop_leaf_edges", p->drop_leaf_edges, "order", (int)p->order);
}

static void affinities_value(const json_t *object, struct sl_affinities_params *p)
{
	const json_t *list = json_object_get(object, "perplexity");
	size_t count = json_array_size(list);
	*p = (struct sl_affinities_params){.lambda = sl__real_at(object, "lambda"),
					   .drop_leaf_edges = sl__is_at(object, "drop_leaf_edges"),
					   .order = (enum sl_order)sl__whole_at(object, "order")};
	p->perplexities = count < SL_PERPLEXITIES_MAX ? (int)count : SL_PERPLEXITIES_MAX;
	for (int i = 0; i < p->perplexities; i++)
		p->perplexity[i] = sl_wire_real_value(json_array_get(list, (size_t)i));
}

static int params_value(const json_t *object, const struct sl_method *method, struct sl_method_params *out,
			struct sl_error *err)
{
	sl_param_defaults(method->params, out);
	return sl_params_from_json(method->params, out, object, NULL, err);
}

/* ---- commands ----------------------------------------------------------------------------------- */

static void put_unstored(struct sl_wire_message *m, const struct sl_neighbours *nb, bool *good)
{
	uint64_t values = (uint64_t)nb->n * nb->k;
	json_object_set_new(m->head, "unstored", json_pack("{s:I, s:I, s:I, s:I, s:i, s:o, s:o, s:s}",
		"n", (json_int_t)nb->n, "n_user", (json_int_t)nb->n_user, "k", (json_int_t)nb->k,
		"short_rows", (json_int_t)nb->short_rows, "metric", nb->metric, "p", sl_wire_real(nb->p),
		"recall", sl_wire_real(nb->recall), "method", nb->method));
	*good = *good && sl_wire_put_copy(m, "index", nb->index, values * sizeof *nb->index) &&
		sl_wire_put_copy(m, "distance", nb->distance, values * sizeof *nb->distance) &&
		(!nb->user || sl_wire_put_copy(m, "user", nb->user, (uint64_t)nb->n * sizeof *nb->user)) &&
		(!nb->axes || sl_wire_put_copy(m, "axes", nb->axes, (uint64_t)nb->n * SL_AXES * sizeof *nb->axes));
}

static int take_unstored(struct sl_wire_message *m, struct sl_neighbours **out, struct sl_error *err)
{
	const json_t *object = json_object_get(m->head, "unstored");
	struct sl_neighbours *nb;
	if (!object)
		return 0;
	if (!(nb = calloc(1, sizeof *nb)))
		return sl_error_memory(err, "neighbours");
	nb->n = (uint32_t)sl__whole_at(object, "n");
	nb->n_user = (uint32_t)sl__whole_at(object, "n_user");
	nb->k = (uint32_t)sl__whole_at(object, "k");
	nb->short_rows = (uint32_t)sl__whole_at(object, "short_rows");
	nb->metric = (int)sl__whole_at(object, "metric");
	snprintf(nb->method, sizeof nb->method, "%s", sl__text_at(object, "method"));
	nb->p = sl__real_at(object, "p");
	nb->recall = sl__real_at(object, "recall");
	uint64_t values = (uint64_t)nb->n * nb->k;
	nb->index = sl_wire_take(m, "index", values * sizeof *nb->index);
	nb->distance = sl_wire_take(m, "distance", values * sizeof *nb->distance);
	nb->user = sl_wire_take(m, "user", (uint64_t)nb->n * sizeof *nb->user);
	nb->axes = sl_wire_take(m, "axes", (uint64_t)nb->n * SL_AXES * sizeof *nb->axes);
	*out = nb;
	return nb->index && nb->distance ? 0 : sl__wrong(err, "neighbours of another size");
}

static json_t *optional(const char *text)
{
	return text ? sl_wire_text(text) : json_null();
}

static void put_source(struct sl_wire_message *m, struct sl_device_source *s, bool *good)
{
	json_object_set_new(m->head, "source", json_pack("{s:i, s:b, s:b, s:o, s:o, s:I, s:I, s:i}",
		"origin", (int)s->origin, "graph", s->graph, "on_device", s->on_device, "data", optional(s->data),
		"neighbours", optional(s->neighbours), "rows", (json_int_t)s->rows, "columns", (json_int_t)s->columns,
		"start_kind", (int)s->start_kind));
	sl_wire_put(m, "start", s->start, s->start_bytes);
	s->start = NULL;
	if (s->unstored)
		put_unstored(m, s->unstored, good);
}

static bool put_job(struct sl_wire_message *m, struct sl_device_job *j)
{
	bool good = true;
	json_object_update_new(m->head, json_pack("{s:s, s:o, s:b, s:b, s:b, s:I, s:i, s:I, s:I}",
		"method", j->method->name, "params", sl_param_json(j->method->params, &j->params), "restored", j->restored,
		"attach", j->attach, "moved", j->moved, "nodes", (json_int_t)j->nodes, "columns", j->columns,
		"graph", (json_int_t)j->graph, "neighbours_key", (json_int_t)j->neighbours_key));
	json_object_update_new(m->head, json_pack("{s:o, s:i, s:o, s:o, s:o, s:o, s:i, s:b, s:b, s:b, s:b, s:b, s:s}",
		"affinities_params", affinities_json(&j->affinities_params), "iteration", j->iteration,
		"seconds", sl_wire_real(j->seconds), "group", sl_wire_text(j->group), "client", sl_wire_text(j->client),
		"share", sl_wire_real(j->share), "priority", j->priority, "paused", j->paused, "finish", j->finish,
		"cancel", j->cancel, "alone", j->alone, "pinned", j->pinned, "id", j->id));
	put_source(m, &j->source, &good);
	sl_wire_put(m, "init", j->init, j->init_bytes);
	sl_wire_put(m, "checkpoint", j->checkpoint, j->checkpoint_bytes);
	j->init = NULL;
	j->checkpoint = NULL;
	return good && json_object_size(m->head) > 20;
}

struct sl_wire_message *sl_command_message(const struct sl_command *c, const struct sl_method *method)
{
	struct sl_wire_message *m = sl_wire_message_create(command_names[c->kind]);
	bool good = m && !json_object_set_new(m->head, "key", json_integer((json_int_t)c->key));
	if (!good) {
		sl_wire_message_destroy(m);
		return NULL;
	}
	switch (c->kind) {
	case SL__ADD:
		good = put_job(m, c->add);
		break;
	case SL__STEER:
		good = !json_object_set_new(m->head, "method", json_string(method->name)) &&
		       !json_object_set_new(m->head, "params", sl_param_json(method->params, &c->params));
		break;
	case SL__PRIORITY:
		good = !json_object_set_new(m->head, "priority", json_integer(c->priority));
		break;
	case SL__RESUME:
		good = !json_object_set_new(m->head, "holds", json_integer(c->holds));
		break;
	case SL__SNAPSHOT:
		good = !json_object_set_new(m->head, "quantise", json_boolean(c->quantise));
		break;
	case SL__PIN:
		good = !json_object_set_new(m->head, "pinned", json_boolean(c->pinned));
		break;
	case SL__CHARGE:
		good = !json_object_update_new(m->head, json_pack("{s:o, s:o, s:o}", "group", sl_wire_text(c->group),
								  "client", sl_wire_text(c->client),
								  "ms", sl_wire_real(c->ms)));
		break;
	default:
		break;
	}
	if (good)
		return m;
	sl_wire_message_destroy(m);
	return NULL;
}

static char *path_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? strdup(text) : NULL;
}

static int source_value(struct sl_wire_message *m, struct sl_device_source *s, struct sl_error *err)
{
	const json_t *object = json_object_get(m->head, "source");
	*s = (struct sl_device_source){
		.origin = (enum sl_origin)sl__whole_at(object, "origin"), .graph = sl__is_at(object, "graph"),
		.on_device = sl__is_at(object, "on_device"), .data = path_at(object, "data"),
		.neighbours = path_at(object, "neighbours"), .rows = (uint32_t)sl__whole_at(object, "rows"),
		.columns = (uint32_t)sl__whole_at(object, "columns"),
		.start_kind = (enum sl_start)sl__whole_at(object, "start_kind"), .start_bytes = sl_wire_bytes(m, "start"),
	};
	s->start = sl_wire_take(m, "start", s->start_bytes);
	if (s->origin < SL_OF_AFFINITIES || s->origin > SL_OF_EDGES || s->start_kind < SL_START_NONE ||
	    s->start_kind > SL_START_SHARES)
		return sl__wrong(err, "an unknown origin or start");
	return 0;
}

static int job_value(struct sl_wire_message *m, struct sl_command *c, struct sl_neighbours **neighbours,
		     struct sl_error *err)
{
	const json_t *h = m->head;
	struct sl_device_job *j = c->add = calloc(1, sizeof *j);
	if (!j)
		return sl_error_memory(err, "a job");
	if (!(j->method = sl_method_find(sl__text_at(h, "method"))))
		return sl__wrong(err, "an unknown method");
	*j = (struct sl_device_job){
		.job = c->key, .method = j->method, .restored = sl__is_at(h, "restored"), .attach = sl__is_at(h, "attach"),
		.moved = sl__is_at(h, "moved"), .nodes = (uint32_t)sl__whole_at(h, "nodes"),
		.columns = (int)sl__whole_at(h, "columns"), .graph = (uint64_t)sl__whole_at(h, "graph"),
		.neighbours_key = (uint64_t)sl__whole_at(h, "neighbours_key"),
		.iteration = (int)sl__whole_at(h, "iteration"), .seconds = sl__real_at(h, "seconds"),
		.share = sl__real_at(h, "share"), .priority = (int)sl__whole_at(h, "priority"),
		.paused = sl__is_at(h, "paused"), .finish = sl__is_at(h, "finish"), .cancel = sl__is_at(h, "cancel"),
		.alone = sl__is_at(h, "alone"), .pinned = sl__is_at(h, "pinned"),
		.init_bytes = sl_wire_bytes(m, "init"), .checkpoint_bytes = sl_wire_bytes(m, "checkpoint"),
	};
	j->init = sl_wire_take(m, "init", j->init_bytes);
	j->checkpoint = sl_wire_take(m, "checkpoint", j->checkpoint_bytes);
	affinities_value(json_object_get(h, "affinities_params"), &j->affinities_params);
	snprintf(j->group, sizeof j->group, "%s", sl__text_at(h, "group"));
	snprintf(j->client, sizeof j->client, "%s", sl__text_at(h, "client"));
	snprintf(j->id, sizeof j->id, "%s", sl__text_at(h, "id"));
	int code = params_value(json_object_get(h, "params"), j->method, &j->params, err);
	if (!code)
		code = source_value(m, &j->source, err);
	return code ? code : take_unstored(m, neighbours, err);
}

int sl_command_of_message(struct sl_wire_message *m, struct sl_command **out, struct sl_neighbours **neighbours,
			  struct sl_error *err)
{
	int kind = sl__kind_number(sl_wire_kind(m), command_names, SL__COUNT(command_names)), code = 0;
	struct sl_command *c = calloc(1, sizeof *c);
	*neighbours = NULL;
	if (!c)
		return sl_error_memory(err, "a command");
	c->kind = (enum sl_command_kind)kind;
	c->key = (uint64_t)sl__whole_at(m->head, "key");
	c->priority = (int)sl__whole_at(m->head, "priority");
	c->holds = (unsigned)sl__whole_at(m->head, "holds");
	c->quantise = sl__is_at(m->head, "quantise");
	c->pinned = sl__is_at(m->head, "pinned");
	c->ms = sl__real_at(m->head, "ms");
	snprintf(c->group, sizeof c->group, "%s", sl__text_at(m->head, "group"));
	snprintf(c->client, sizeof c->client, "%s", sl__text_at(m->head, "client"));
	if (kind < 0) {
		code = sl__wrong(err, "an unknown kind");
	} else if (kind == SL__ADD) {
		code = job_value(m, c, neighbours, err);
	} else if (kind == SL__STEER) {
		const struct sl_method *method = sl_method_find(sl__text_at(m->head, "method"));
		code = method ? params_value(json_object_get(m->head, "params"), method, &c->params, err) :
				sl__wrong(err, "an unknown method");
	}
	*out = c;
	if (!code)
		return 0;
	sl__command_destroy(c);
	*out = NULL;
	return code;
}
