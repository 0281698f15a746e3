/* An entry is being made, in memory, or lent. It has a count of users and, for each device, whether that device holds
 * it. It is destroyed only when it has neither users nor devices; trim() asks devices to give back the least recently
 * used. */
#include "daemon/engines/affinity_cache.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/config/daemon.h"
#include "daemon/device/device.h"
#include "daemon/graphs/graphs.h"
#include "daemon/util/crashes.h"
#include "daemon/util/list.h"
#include "daemon/util/metrics.h"
#include "daemon/util/pool.h"

#define DEVICE_ENTRIES_MAX 1024  /* most entries of form DEVICE; they are searched one by one */

/* A call of sl_affinity_acquire() that waits for its entry. */
struct waiter {
	struct sl_link link;
	sl_affinity_done_fn done;
	void *arg;
};

struct sl_affinity {
	struct sl_link link;                /* in the cache's entries */
	struct sl_affinity_cache *cache;
	uint64_t key;
	char graph[SL_ULID_BYTES];
	struct sl_affinities_params params;
	enum sl_affinity_form form;
	bool points;                        /* made from neighbours: lambda does not matter */
	bool ready;
	struct sl_affinities *affinities;   /* form HOST, when it is ready; else NULL */
	struct sl_content *neighbours;      /* form DEVICE: a reference to the graph store's, while `references` > 0; of a
					     * graph, its edges */
	uint64_t neighbours_key;            /* the key of the neighbours on the device: a hash of graph and k */
	struct sl_list waiters;             /* in order of arrival */
	uint64_t bytes;
	uint64_t used;                      /* clock of the last use, for eviction */
	uint64_t lent[SL_DEVICES_MAX];      /* number of times sent to each device; 0: it is not there */
	int references;
	bool forget;
	/* used while a pool thread makes the affinities */
	char *file;                         /* forms of workers: what they are made from; NULL: it has no file yet */
	char job[SL_ULID_BYTES];            /* the job that wanted them first */
	struct sl_content *source;          /* a reference */
	struct sl_affinities *result;       /* owned by the pool thread until it has finished, then moved to affinities */
	int code;
	struct sl_error err;
};

struct sl_affinity_cache {
	struct sl_daemon *d;
	struct sl_device_port *device[SL_DEVICES_MAX];  /* [devices]; NULL: does not run */
	int devices;
	struct sl_list entries;
	uint64_t key, clock, budget_bytes;
	int busy;
	struct sl_metric *times;
};

int sl_affinity_cache_create(struct sl_affinity_cache **out, struct sl_daemon *d, uint64_t budget_bytes,
			     struct sl_error *err)
{
	struct sl_affinity_cache *c = calloc(1, sizeof *c);
	if (!c)
		return sl_error_memory(err, "the cache of affinities");
	c->d = d;
	c->budget_bytes = budget_bytes;
	c->times = sl_metrics_register(d->metrics, SL_HISTOGRAM, SL_PHASE_SECONDS, "phase=\"affinities\"",
				       SL_PHASE_SECONDS_HELP);
	*out = c;
	return 0;
}

void sl_affinity_cache_set_device(struct sl_affinity_cache *c, int number, struct sl_device_port *device)
{
	c->device[number] = device;
	c->devices = number < c->devices ? c->devices : number + 1;
}

static bool lent(const struct sl_affinity *e)
{
	uint64_t any = 0;
	for (int i = 0; i < e->cache->devices; i++)
		any |= e->lent[i];
	return any;
}

static void entry_destroy(struct sl_affinity *e)
{
	sl_list_unlink(&e->link);
	sl_affinities_destroy(e->affinities);
	sl_graphs_release(e->cache->d->graphs, e->neighbours);
	free(e->file);
	free(e);
}

static bool in_workers(enum sl_affinity_form form)
{
	return form == SL_AFFINITY_WORKER || form == SL_AFFINITY_WORKER_DEVICE;
}

void sl_affinity_cache_destroy(struct sl_affinity_cache *c)
{
	if (!c)
		return;
	SL_LIST_EACH(struct sl_affinity, e, &c->entries, link)
		entry_destroy(e);
	free(c);
}

int sl_affinity_cache_busy(const struct sl_affinity_cache *c)
{
	return c->busy;
}

/* Destroys the entry, or requests it back from the devices, which answer with sl_affinity_returned(). */
static void entry_evict(struct sl_affinity *e)
{
	bool asked = true;
	if (!lent(e)) {
		entry_destroy(e);
		return;
	}
	for (int i = 0; i < e->cache->devices && !e->forget; i++)
		if (e->lent[i])
			asked = e->cache->device[i] && !sl_device_drop_graph(e->cache->device[i], e->key) && asked;
	e->forget = e->forget || asked;
}

/* Returns the least recently used entry of this form without references, if there are too many entries; else NULL. */
static struct sl_affinity *too_many(const struct sl_affinity_cache *c, enum sl_affinity_form form)
{
	struct sl_affinity *oldest = NULL;
	uint64_t bytes = 0;
	int count = 0;
	SL_LIST_EACH(struct sl_affinity, e, &c->entries, link) {
		if (e->forget || e->form != form)
			continue;
		bytes += e->bytes;
		count++;
		if (e->ready && !e->references && (!oldest || e->used < oldest->used))
			oldest = e;
	}
	bool counted = form == SL_AFFINITY_DEVICE || form == SL_AFFINITY_WORKER_DEVICE;
	bool fits = counted ? count <= DEVICE_ENTRIES_MAX : bytes <= c->budget_bytes;
	return fits ? NULL : oldest;
}

static void trim(struct sl_affinity_cache *c)
{
	for (int form = SL_AFFINITY_HOST; form <= SL_AFFINITY_WORKER_DEVICE; form++) {
		struct sl_affinity *oldest;
		while ((oldest = too_many(c, (enum sl_affinity_form)form))) {
			bool was_on_device = lent(oldest);
			entry_evict(oldest);
			if (was_on_device && !oldest->forget)
				break;  /* the request failed (no memory, or no device); the next trim() tries again */
		}
	}
}

static bool same(const struct sl_affinity *e, const char *graph, const struct sl_affinities_params *params,
		 enum sl_affinity_form form)
{
	if (strcmp(e->graph, graph) || e->form != form)
		return false;
	if (!e->points)
		return e->params.lambda == params->lambda && e->params.drop_leaf_edges == params->drop_leaf_edges;
	if (e->params.perplexities != params->perplexities)
		return false;
	for (int i = 0; i < params->perplexities; i++)
		if (e->params.perplexity[i] != params->perplexity[i])
			return false;
	return true;
}

static struct sl_affinity *find(const struct sl_affinity_cache *c, const char *graph,
				const struct sl_affinities_params *params, enum sl_affinity_form form)
{
	return SL_LIST_FIND(struct sl_affinity, e, &c->entries, link, same(e, graph, params, form));
}

/* Calls all waiters. Removes an entry that could not be made. */
static void answer(struct sl_affinity *e, const struct sl_error *err)
{
	struct sl_affinity_cache *c = e->cache;
	struct sl_list waiters = {0};
	sl_list_move(&waiters, &e->waiters);
	struct sl_error copy = {0};
	bool ready = e->ready;
	if (!ready) {
		copy = *err;
		entry_destroy(e);
	}
	SL_LIST_EACH(struct waiter, w, &waiters, link) {
		w->done(w->arg, ready ? e : NULL, ready ? NULL : &copy);
		free(w);
	}
	trim(c);
}

static void make(void *arg)
{
	struct sl_affinity *e = arg;
	uint64_t begin = uv_hrtime();
	sl_crashes_computes(e->job);
	if (e->source->graph)
		e->code = sl_affinities_create(&e->result, e->source->graph, &e->params, &e->err);
	else
		e->code = sl_affinities_from_neighbours(&e->result, e->source->neighbours, &e->params, &e->err);
	sl_crashes_computes(NULL);
	if (e->code)
		e->result = NULL;
	else
		sl_metric_observe(e->cache->times, (double)(uv_hrtime() - begin) * 1e-9);
}

static void made(void *arg)
{
	struct sl_affinity *e = arg;
	e->cache->busy--;
	sl_graphs_release(e->cache->d->graphs, e->source);
	e->source = NULL;
	e->affinities = e->result;
	e->ready = e->affinities != NULL;
	if (e->affinities)
		e->bytes = sl_affinities_bytes(e->affinities);
	answer(e, &e->err);
}

/* Returns a hash (FNV-1a) of graph and k: a search with another k has other neighbours. */
uint64_t sl_affinity_neighbours_name(const char *graph, uint32_t k)
{
	uint64_t h = 14695981039346656037u ^ k;
	for (; *graph; graph++)
		h = (h ^ (unsigned char)*graph) * 1099511628211u;
	return h;
}

static void drop_neighbours(struct sl_affinity_cache *c, uint64_t key)
{
	for (int i = 0; i < c->devices; i++)
		if (c->device[i])
			sl_device_drop_neighbours(c->device[i], key);
}

/* Drops from the devices the graph's neighbours that a larger search has replaced. */
static void drop_older(struct sl_affinity *e)
{
	struct sl_affinity_cache *c = e->cache;
	SL_LIST_EACH(struct sl_affinity, o, &c->entries, link) {
		if (o->form == SL_AFFINITY_HOST || strcmp(o->graph, e->graph) || !o->neighbours_key ||
		    o->neighbours_key == e->neighbours_key)
			continue;
		drop_neighbours(c, o->neighbours_key);
		o->neighbours_key = e->neighbours_key;
	}
}

static void loaded(void *arg, struct sl_content *content, const struct sl_error *err)
{
	struct sl_affinity *e = arg;
	if (!content || e->form != SL_AFFINITY_HOST) {
		e->cache->busy--;
		e->neighbours = content;
		e->ready = content != NULL;
		if (content && content->neighbours) {
			e->neighbours_key = sl_affinity_neighbours_name(e->graph, content->neighbours->k);
			drop_older(e);
		}
		answer(e, err);
		return;
	}
	e->source = content;
	sl_pool_run(e->cache->d->loop, make, made, e);
}

/* Finds the file that workers read. Without one the neighbours are in memory, and go to the worker with the job. */
static int find_file(struct sl_affinity *e, struct sl_error *err)
{
	struct sl_graphs *graphs = e->cache->d->graphs;
	const struct sl_graph_record *record = sl_graphs_find(graphs, e->graph);
	free(e->file);
	int code = sl_graphs_file(graphs, e->graph, SL_PART_NEIGHBOURS, &e->file, err);
	if (code || !e->file)
		return code;
	sl_graphs_release(graphs, e->neighbours);
	e->neighbours = NULL;
	e->bytes = record->entries * (e->points ? 4 : 1) * (sizeof(uint32_t) + sizeof(float)) + record->nodes * 20ull;
	if (e->points && sl_affinity_neighbours_name(e->graph, record->k) != e->neighbours_key) {
		e->neighbours_key = sl_affinity_neighbours_name(e->graph, record->k);
		drop_older(e);
	}
	e->ready = true;
	return 0;
}

static int entry_create(struct sl_affinity_cache *c, const char *graph, const char *job,
			const struct sl_affinities_params *params, enum sl_affinity_form form, struct sl_affinity **out,
			struct sl_error *err)
{
	const struct sl_graph_record *record = sl_graphs_find(c->d->graphs, graph);
	struct sl_affinity *e = calloc(1, sizeof *e);
	if (!e)
		return sl_error_memory(err, "affinities");
	e->cache = c;
	e->key = ++c->key;
	memcpy(e->graph, graph, sizeof e->graph);
	memcpy(e->job, job, sizeof e->job);
	e->params = *params;
	e->form = form;
	e->points = record && record->kind != SL_KIND_GRAPH;
	int code = in_workers(form) ? find_file(e, err) : 0;
	if (!code && !e->ready)
		code = sl_graphs_acquire(c->d->graphs, graph, SL_PART_NEIGHBOURS, loaded, e, err);
	if (code) {
		free(e->file);
		free(e);
		return code;
	}
	c->busy += !e->ready;
	sl_list_prepend(&c->entries, &e->link);
	*out = e;
	return 0;
}

/* Loads the neighbours of an entry of form DEVICE again, if they were released while it had no references. */
static int renew(struct sl_affinity *e, struct sl_error *err)
{
	if (!e->ready || e->form == SL_AFFINITY_HOST)
		return 0;
	int code = in_workers(e->form) ? find_file(e, err) : 0;
	if (code || e->file || e->neighbours)
		return code;
	code = sl_graphs_acquire(e->cache->d->graphs, e->graph, SL_PART_NEIGHBOURS, loaded, e, err);
	if (code)
		return code;
	e->ready = false;
	e->cache->busy++;
	return 0;
}

int sl_affinity_acquire(struct sl_affinity_cache *c, const char *graph, const char *job,
			const struct sl_affinities_params *wanted, enum sl_affinity_form form,
			sl_affinity_done_fn done, void *arg, struct sl_error *err)
{
	struct waiter *w = calloc(1, sizeof *w);
	if (!w)
		return sl_error_memory(err, "a job");
	w->done = done;
	w->arg = arg;
	struct sl_affinity *e = find(c, graph, wanted, form);
	int code = e ? renew(e, err) : entry_create(c, graph, job, wanted, form, &e, err);
	if (code) {
		free(w);
		return code;
	}
	e->references++;
	e->used = ++c->clock;
	e->forget = false;
	if (e->ready) {
		free(w);
		done(arg, e, NULL);
		return 0;
	}
	sl_list_append(&e->waiters, &w->link);
	return 0;
}

void sl_affinity_release(struct sl_affinity_cache *c, struct sl_affinity *e)
{
	if (!e)
		return;
	e->references--;
	if (!e->references && e->ready) {
		sl_graphs_release(c->d->graphs, e->neighbours);
		e->neighbours = NULL;
	}
	trim(c);
}

const struct sl_affinities *sl_affinity_get(const struct sl_affinity *e)
{
	return e->affinities;
}

const struct sl_neighbours *sl_affinity_neighbours(const struct sl_affinity *e)
{
	return e->neighbours ? e->neighbours->neighbours : NULL;
}

const char *sl_affinity_file(const struct sl_affinity *e)
{
	return e->file;
}

bool sl_affinity_of_points(const struct sl_affinity *e)
{
	return e->points;
}

const struct sl_graph *sl_affinity_edges(const struct sl_affinity *e)
{
	return e->neighbours ? e->neighbours->graph : NULL;
}

uint64_t sl_affinity_neighbours_key(const struct sl_affinity *e)
{
	return e->neighbours_key;
}

const struct sl_affinities_params *sl_affinity_params(const struct sl_affinity *e)
{
	return &e->params;
}

uint64_t sl_affinity_key(const struct sl_affinity *e)
{
	return e->key;
}

void sl_affinity_lend(struct sl_affinity *e, int number)
{
	e->lent[number]++;
}

bool sl_affinity_ready(const struct sl_affinity_cache *c, const char *graph,
		       const struct sl_affinities_params *wanted)
{
	const struct sl_affinity *e = find(c, graph, wanted, SL_AFFINITY_HOST);
	e = e ? e : find(c, graph, wanted, SL_AFFINITY_WORKER);
	return e && e->ready;
}

bool sl_affinity_resident(const struct sl_affinity_cache *c, int number, const char *graph,
			  const struct sl_affinities_params *wanted)
{
	SL_LIST_EACH(struct sl_affinity, e, &c->entries, link)
		if (e->lent[number] && same(e, graph, wanted, e->form))
			return true;
	return false;
}

/* If another job was sent to the device in the meantime, the device still has the affinities. */
void sl_affinity_returned(struct sl_affinity_cache *c, int number, uint64_t key, uint64_t adds)
{
	SL_LIST_EACH(struct sl_affinity, e, &c->entries, link) {
		if (e->key != key)
			continue;
		e->lent[number] -= adds;
		if (e->forget && !e->references && !lent(e))
			entry_destroy(e);
		return;
	}
}

void sl_affinity_cache_forget(struct sl_affinity_cache *c, const char *graph)
{
	SL_LIST_EACH(struct sl_affinity, e, &c->entries, link) {
		if (strcmp(e->graph, graph) || !e->ready || e->references)
			continue;
		if (e->neighbours_key)
			drop_neighbours(c, e->neighbours_key);
		entry_evict(e);
	}
}

void sl_affinity_cache_pin(struct sl_affinity_cache *c, const char *graph, bool pinned)
{
	SL_LIST_EACH(struct sl_affinity, e, &c->entries, link)
		for (int i = 0; i < c->devices && !strcmp(e->graph, graph); i++)
			if (c->device[i] && e->lent[i])
				sl_device_pin_graph(c->device[i], e->key, pinned);  /* if it fails, the next job sends it */
}
