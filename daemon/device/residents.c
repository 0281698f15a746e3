/* The data in a device's memory: affinities P of graphs, and neighbours of points.
 *
 * When memory is short, the least recently used graph that no job uses and that is not pinned is dropped, then
 * neighbours. The loop lends the affinities and gets them back with SL_EVENT_GRAPH_DROPPED. */
#include <stdlib.h>
#include <string.h>

#include "daemon/device/device_internal.h"
#include "daemon/util/log.h"

struct sl_resident *sl__resident_find(struct sl_device_thread *t, uint64_t key)
{
	return SL_LIST_FIND(struct sl_resident, r, &t->residents, link, r->key == key);
}

void sl__resident_drop(struct sl_device_thread *t, struct sl_resident *r)
{
	sl_list_unlink(&r->link);
	if (r->graph)
		t->config.engine->graph_drop(r->graph);
	sl_affinities_destroy(r->summary);
	sl__tell_dropped(t, &r->dropped, r->key, r->adds);
	free(r);
}

static struct sl_resident *least_recent(struct sl_device_thread *t)
{
	struct sl_resident *oldest = NULL;
	SL_LIST_EACH(struct sl_resident, r, &t->residents, link)
		if (!r->jobs && !r->pinned && r->graph && (!oldest || r->used < oldest->used))
			oldest = r;
	return oldest;
}

void sl__resident_neighbours_drop(struct sl_device_thread *t, struct sl_resident_neighbours *b)
{
	sl_list_unlink(&b->link);
	t->config.engine->neighbours_drop(b->neighbours);
	free(b);
}

struct sl_resident_neighbours *sl__resident_neighbours_find(struct sl_device_thread *t, uint64_t key)
{
	return SL_LIST_FIND(struct sl_resident_neighbours, b, &t->neighbours, link, b->key == key);
}

/* Frees unused FFT plans. They are dropped last, since the next job will need some of them. */
static bool drop_caches(struct sl_device_thread *t)
{
	struct sl_device_info before, after;
	t->config.engine->info(t->device, &before);
	t->config.engine->plans_clear(t->device);
	t->config.engine->info(t->device, &after);
	return after.memory_used < before.memory_used;
}

bool sl__drop_something(struct sl_device_thread *t, uint64_t keep)
{
	struct sl_resident *victim = least_recent(t);
	struct sl_resident_neighbours *oldest = NULL;
	if (victim) {
		sl_log_info("device", "a graph that no job uses is removed from the device");
		t->evictions++;
		sl__resident_drop(t, victim);
		return true;
	}
	SL_LIST_EACH(struct sl_resident_neighbours, b, &t->neighbours, link)
		if (b->key != keep && (!oldest || b->used < oldest->used))
			oldest = b;
	if (oldest) {
		t->evictions++;
		sl__resident_neighbours_drop(t, oldest);
		return true;
	}
	return drop_caches(t);
}

/* Finds the job's neighbours on the device, or copies them there. */
static int neighbours_use(struct sl_device_thread *t, const struct sl_device_job *job,
			  struct sl_resident_neighbours **out, struct sl_error *err)
{
	struct sl_resident_neighbours *b = sl__resident_neighbours_find(t, job->neighbours_key);
	int code = 0;
	if (!b) {
		if (!(b = calloc(1, sizeof *b)))
			return sl_error_memory(err, "neighbours");
		code = t->config.engine->neighbours_put(t->device, job->neighbours, &b->neighbours, err);
		if (code) {
			free(b);
			return code;
		}
		b->key = job->neighbours_key;
		sl_list_prepend(&t->neighbours, &b->link);
	}
	b->used = ++t->clock;
	*out = b;
	return 0;
}

/* Puts P on the device: the loop's affinities, or affinities that the device computes from neighbours or a graph. */
static int resident_put(struct sl_device_thread *t, struct sl_resident *r, const struct sl_device_job *job,
			struct sl_error *err)
{
	struct sl_resident_neighbours *b = NULL;
	if (!job->neighbours && !job->edges)
		return t->config.engine->graph_put(t->device, r->affinities, &r->graph, err);
	int code = job->neighbours ? neighbours_use(t, job, &b, err) : 0;
	sl_affinities_destroy(r->summary);  /* left from a graph that a failing device has lost */
	r->summary = NULL;
	if (!code && job->edges)
		code = t->config.engine->graph_make(t->device, job->edges, &job->affinities_params, &r->summary, &r->graph,
				err);
	else if (!code)
		code = t->config.engine->neighbours_graph(b->neighbours, &job->affinities_params, &r->summary, &r->graph, err);
	r->affinities = r->summary;
	return code;
}

/* The processor makes P of a graph, since the device cannot; P takes less memory than making it. */
static int resident_put_made(struct sl_device_thread *t, struct sl_resident *r, const struct sl_device_job *job,
			     struct sl_error *err)
{
	sl_log_warning("device", "the processor makes the affinities of job %s: %s", job->id, err->detail);
	int code = sl_affinities_create(&r->summary, job->edges, &job->affinities_params, err);
	if (!code)
		code = t->config.engine->graph_put(t->device, r->summary, &r->graph, err);
	if (code) {
		sl_affinities_destroy(r->summary);
		r->summary = NULL;
		r->graph = NULL;
	}
	r->affinities = r->summary;
	return code;
}

static bool for_the_processor(int code)
{
	return code == SL_DEVMEM || code == SL_TOOBIG || code == SL_BADPARAM;
}

/* Adds the number of pinned graphs to an error, since the user can unpin them. */
static void name_the_pinned(const struct sl_device_thread *t, struct sl_error *err)
{
	int pinned = 0;
	size_t used = strlen(err->detail);
	SL_LIST_EACH(struct sl_resident, r, &t->residents, link)
		pinned += r->graph && r->pinned;
	if (pinned)
		snprintf(err->detail + used, sizeof err->detail - used, " %d pinned graph%s in memory.", pinned,
			 pinned == 1 ? " stays" : "s stay");
}

/* Makes a record without the graph. NULL: no memory; the affinities go back to the loop. */
static struct sl_resident *resident_create(struct sl_device_thread *t, const struct sl_device_job *job,
					   struct sl_device_event **dropped)
{
	struct sl_resident *r = calloc(1, sizeof *r);
	if (!r) {
		sl__tell_dropped(t, dropped, job->graph, 1);
		return NULL;
	}
	r->key = job->graph;
	r->affinities = job->affinities;
	r->dropped = *dropped;
	*dropped = NULL;
	sl_list_prepend(&t->residents, &r->link);
	return r;
}

int sl__resident_use(struct sl_device_thread *t, const struct sl_device_job *job, struct sl_device_event **dropped,
		     struct sl_resident **out, struct sl_error *err)
{
	struct sl_resident *r = sl__resident_find(t, job->graph);
	*out = r = r ? r : resident_create(t, job, dropped);
	if (!r)
		return sl_error_memory(err, "a graph");
	r->adds++;
	r->used = ++t->clock;
	r->drop = false;
	r->pinned = job->pinned;
	r->jobs++;
	int code = 0;
	while (!r->graph && (code = sl__note(t, err, resident_put(t, r, job, err)))) {
		r->graph = NULL;
		r->summary = NULL;
		if (code != SL_DEVMEM || !sl__drop_something(t, job->neighbours_key))
			break;
	}
	if (job->edges && for_the_processor(code))
		code = sl__note(t, err, resident_put_made(t, r, job, err));
	if (code == SL_DEVMEM)
		name_the_pinned(t, err);
	return code;
}

void sl__resident_unuse(struct sl_device_thread *t, struct sl_resident *r)
{
	if (r && --r->jobs == 0 && (r->drop || !r->graph))
		sl__resident_drop(t, r);
}

/* ---- a device that fails ----------------------------------------------------------- */

void sl__graphs_leave(struct sl_device_thread *t)
{
	SL_LIST_EACH(struct sl_resident_neighbours, b, &t->neighbours, link)
		sl__resident_neighbours_drop(t, b);
	SL_LIST_EACH(struct sl_resident, r, &t->residents, link) {
		if (r->graph)
			t->config.engine->graph_drop(r->graph);
		r->graph = NULL;
		r->drop = r->drop || r->summary;  /* computed from what the next job brings these again */
		if (!r->jobs && r->drop)
			sl__resident_drop(t, r);
	}
}

void sl__graphs_return(struct sl_device_thread *t)
{
	struct sl_error err;
	SL_LIST_EACH(struct sl_resident, r, &t->residents, link) {
		if (r->graph || !r->affinities || r->summary)
			continue;
		if (sl__note(t, &err, t->config.engine->graph_put(t->device, r->affinities, &r->graph, &err))) {
			sl_log_warning("device", "a graph cannot be put back on the device: %s", err.detail);
			r->graph = NULL;
			if (!r->jobs)
				sl__resident_drop(t, r);
		}
	}
}
