/* One list has all inputs, and one state machine: being made -> ready. Those who want an input that is being made wait
 * in its list. */
#include "daemon/worker/inputs.h"

#include <stdlib.h>
#include <string.h>

#include "core/graph/graph.h"
#include "core/neighbours/neighbours.h"
#include "core/points/points.h"
#include "daemon/files/graph_file.h"
#include "daemon/files/neighbours_file.h"
#include "daemon/files/points_file.h"
#include "daemon/util/crashes.h"
#include "daemon/util/list.h"
#include "daemon/util/pool.h"
#include "daemon/util/ulid.h"
#include "daemon/worker/fetch.h"

struct waiter {
	struct sl_link link;
	sl_input_fn fn;
	void *arg;
};

struct entry {
	struct sl_worker_input input;  /* first */
	struct sl_link link;           /* in sl_inputs.entries */
	struct sl_inputs *in;
	char *path;
	char *local;                   /* the file on this machine, if it is another one */
	bool again;                    /* it was got anew, since it was damaged */
	uint64_t key;
	struct sl_affinities_params params;
	char job[SL_ULID_BYTES];
	struct entry *source;          /* a reference, while affinities are made */
	uint64_t references, used, bytes;
	bool ready;
	struct sl_list waiters;
	struct sl_pool_place work;
	int code;
	struct sl_error err;
};

struct sl_inputs {
	uv_loop_t *loop;
	uint64_t budget_bytes, clock;
	struct sl_fetch *fetch;        /* or NULL */
	struct sl_list entries;
};

int sl_inputs_create(struct sl_inputs **out, uv_loop_t *loop, uint64_t budget_bytes, struct sl_fetch *fetch,
		     struct sl_error *err)
{
	struct sl_inputs *in = calloc(1, sizeof *in);
	if (!in)
		return sl_error_memory(err, "a worker");
	in->loop = loop;
	in->budget_bytes = budget_bytes;
	in->fetch = fetch;
	*out = in;
	return 0;
}

static void destroy(struct entry *e)
{
	sl_list_unlink(&e->link);
	sl_graph_destroy(e->input.graph);
	sl_points_destroy(e->input.points);
	sl_neighbours_destroy(e->input.neighbours);
	sl_affinities_destroy(e->input.affinities);
	free(e->path);
	free(e->local);
	free(e);
}

static void trim(struct sl_inputs *in)
{
	for (;;) {
		struct entry *oldest = NULL;
		uint64_t bytes = 0;
		SL_LIST_EACH(struct entry, e, &in->entries, link) {
			bytes += e->bytes;
			if (e->ready && !e->references && (!oldest || e->used < oldest->used))
				oldest = e;
		}
		if (bytes <= in->budget_bytes || !oldest)
			return;
		destroy(oldest);
	}
}

static void release(struct entry *e, uint64_t count)
{
	struct sl_inputs *in = e->in;
	e->references -= count < e->references ? count : e->references;
	if (!e->references && e->input.kind == SL_INPUT_AFFINITIES)
		destroy(e);
	else
		trim(in);
}

void sl_inputs_release(struct sl_inputs *in, struct sl_worker_input *input)
{
	if (input)
		release((struct entry *)input, 1);
}

/* ---- making ----------------------------------------------------------------------------------- */

static void make(void *arg)
{
	struct entry *e = arg;
	struct sl_worker_input *i = &e->input;
	const struct sl_worker_input *from = e->source ? &e->source->input : NULL;
	const char *path = e->local ? e->local : e->path;
	sl_crashes_computes(e->job[0] ? e->job : NULL);
	switch (i->kind) {
	case SL_INPUT_GRAPH:
		e->code = sl_graph_file_read(path, &i->graph, &e->err);
		break;
	case SL_INPUT_POINTS:
		e->code = sl_points_file_read(path, &i->points, &e->err);
		break;
	case SL_INPUT_NEIGHBOURS:
		e->code = sl_neighbours_file_read(path, &i->neighbours, &e->err);
		break;
	case SL_INPUT_AFFINITIES:
		e->code = from->graph ? sl_affinities_create(&i->affinities, from->graph, &e->params, &e->err) :
					sl_affinities_from_neighbours(&i->affinities, from->neighbours, &e->params, &e->err);
		break;
	}
	sl_crashes_computes(NULL);
}

static uint64_t bytes_of(const struct sl_worker_input *i)
{
	return i->graph ? sl_graph_bytes(i->graph) : i->points ? sl_points_bytes(i->points) :
	       i->neighbours ? sl_neighbours_bytes(i->neighbours) :
	       i->affinities ? sl_affinities_bytes(i->affinities) : 0;
}

static void answer(struct entry *e)
{
	struct sl_list waiters = {0};
	struct sl_error err = e->err;
	bool good = !e->code;
	sl_list_move(&waiters, &e->waiters);
	if (!good)
		destroy(e);
	SL_LIST_EACH(struct waiter, w, &waiters, link) {
		w->fn(w->arg, good ? &e->input : NULL, good ? NULL : &err);
		free(w);
	}
}

static void begin(struct entry *e);

static void made(void *arg)
{
	struct entry *e = arg;
	struct sl_inputs *in = e->in;
	if (e->code == SL_BADDATA && e->local && !e->again && sl_fetch_forget(in->fetch, e->local)) {
		e->again = true;
		begin(e);
		return;
	}
	if (e->source)
		release(e->source, 1);
	e->source = NULL;
	if (e->code)
		e->input = (struct sl_worker_input){.kind = e->input.kind};
	e->ready = !e->code;
	e->bytes = bytes_of(&e->input);
	answer(e);
	trim(in);
}

static void fetched(void *arg, const char *local, const struct sl_error *err)
{
	struct entry *e = arg;
	free(e->local);
	e->local = local ? strdup(local) : NULL;
	if (e->local) {
		sl_pool_run_in(&e->work, e->in->loop, make, made, e);
		return;
	}
	e->code = err ? err->code : sl_error_memory(&e->err, "an input");
	if (err)
		e->err = *err;
	answer(e);
}

static void begin(struct entry *e)
{
	if (e->in->fetch && e->path[0] && e->input.kind != SL_INPUT_AFFINITIES) {
		sl_fetch_get(e->in->fetch, e->path, fetched, e);
		return;
	}
	sl_pool_run_in(&e->work, e->in->loop, make, made, e);
}

static void source_ready(void *arg, struct sl_worker_input *input, const struct sl_error *err)
{
	struct entry *e = arg;
	if (input) {
		e->source = (struct entry *)input;
		begin(e);
		return;
	}
	e->code = err->code;
	e->err = *err;
	answer(e);
}

/* ---- finding ---------------------------------------------------------------------------------- */

static struct entry *find(const struct sl_inputs *in, const struct sl_input_name *n)
{
	bool keyed = n->kind == SL_INPUT_AFFINITIES || (n->kind == SL_INPUT_NEIGHBOURS && n->key);
	return SL_LIST_FIND(struct entry, e, &in->entries, link,
			    e->input.kind == n->kind && e->key == n->key && (keyed || !strcmp(e->path, n->path)));
}

static struct entry *create(struct sl_inputs *in, enum sl_input_kind kind, const char *path, uint64_t key)
{
	struct entry *e = calloc(1, sizeof *e);
	if (!e || !(e->path = strdup(path))) {
		free(e);
		return NULL;
	}
	e->in = in;
	e->input.kind = kind;
	e->key = key;
	sl_list_prepend(&in->entries, &e->link);  /* of several with a name, the newest is found */
	return e;
}

static bool wait_for(struct entry *e, sl_input_fn fn, void *arg)
{
	struct waiter *w = calloc(1, sizeof *w);
	if (!w)
		return false;
	w->fn = fn;
	w->arg = arg;
	sl_list_append(&e->waiters, &w->link);
	return true;
}

void sl_inputs_get_of(struct sl_inputs *in, const struct sl_input_name *n, struct sl_worker_input *source,
		      sl_input_fn fn, void *arg)
{
	struct entry *e = find(in, n);
	bool is_new = !e;
	struct sl_error err;
	if (!e)
		e = create(in, n->kind, n->path ? n->path : "", n->key);
	if (!e || (!e->ready && !wait_for(e, fn, arg))) {
		sl_error_memory(&err, "an input");
		if (e && is_new)
			destroy(e);
		fn(arg, NULL, &err);
		return;
	}
	e->references++;
	e->used = ++in->clock;
	if (e->ready) {
		fn(arg, &e->input, NULL);
		return;
	}
	if (!is_new)
		return;
	e->params = n->params;
	snprintf(e->job, sizeof e->job, "%s", n->job ? n->job : "");
	if (n->kind != SL_INPUT_AFFINITIES) {
		begin(e);
	} else if (source) {
		((struct entry *)source)->references++;
		source_ready(e, source, NULL);
	} else {
		const struct sl_input_name of = {.kind = n->of_graph ? SL_INPUT_GRAPH : SL_INPUT_NEIGHBOURS, .path = n->path,
						 .key = n->of_graph ? 0 : n->source_key};
		sl_inputs_get(in, &of, source_ready, e);
	}
}

void sl_inputs_get(struct sl_inputs *in, const struct sl_input_name *n, sl_input_fn fn, void *arg)
{
	sl_inputs_get_of(in, n, NULL, fn, arg);
}

struct sl_worker_input *sl_inputs_give(struct sl_inputs *in, struct sl_neighbours *neighbours, uint64_t key)
{
	struct entry *e = create(in, SL_INPUT_NEIGHBOURS, "", key);
	if (!e) {
		sl_neighbours_destroy(neighbours);
		return NULL;
	}
	e->input.neighbours = neighbours;
	e->bytes = sl_neighbours_bytes(neighbours);
	e->ready = true;
	e->references = 1;
	e->used = ++in->clock;
	return &e->input;
}

struct sl_worker_input *sl_inputs_share(struct sl_inputs *in, struct sl_worker_input *input)
{
	((struct entry *)input)->references++;
	return input;
}

void sl_inputs_dropped(struct sl_inputs *in, uint64_t key, uint64_t count)
{
	struct entry *e = find(in, &(struct sl_input_name){.kind = SL_INPUT_AFFINITIES, .key = key});
	if (e && count)
		release(e, count);
}
