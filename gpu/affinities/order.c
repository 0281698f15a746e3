/* Numbers the nodes of P on the device, exactly as core/graph/order.c: reverse Cuthill and McKee, or breadth-first.
 * Large graphs have few, large levels, and each level takes one sort.
 *
 * Components come one after the other, so a graph of many takes as many searches. After SL_SEARCH_PARTS components, or
 * SL_SEARCH_LEVELS levels (a long path), the host numbers the nodes that are left: their rows of P are a graph of their
 * own, which is small unless the graph consists of small parts or is like a line. */
#include "core/graph/order.h"
#include "gpu/affinities/affinities.h"

#include <stdlib.h>

#define MAX_SWEEPS 4  /* as on the host */

struct ordering {
	struct sl_device *device;
	struct sl_search search;
	enum sl_order order;
	uint32_t n, kept, at;        /* at: nodes that are numbered */
	uint32_t stamp;              /* number of the last search */
	int levels;                  /* that are allowed yet */
	uint32_t *queue;             /* [kept] of sweeps */
	uint32_t *old_of;            /* [kept] out */
	uint32_t *chosen, *count;    /* [n], [1] */
	uint64_t *key, *key_sorted;  /* [kept] */
	unsigned long long *best;
	void *room;
	uint64_t room_bytes, bytes;
	char *memory;
};

static uint64_t lay_out(struct ordering *o, char *memory)
{
	char *at = memory;
	uint64_t n = o->n, kept = o->kept;
	o->search.mark = sl__carve(&at, n * 4);
	o->search.parent = sl__carve(&at, n * 4);
	o->search.flag = sl__carve(&at, n);
	o->search.waiting = sl__carve(&at, n);
	o->queue = sl__carve(&at, kept * 4);
	o->chosen = sl__carve(&at, n * 4);
	o->key = sl__carve(&at, kept * 8);
	o->key_sorted = sl__carve(&at, kept * 8);
	o->count = sl__carve(&at, 4);
	o->best = sl__carve(&at, 8);
	o->room = sl__carve(&at, o->room_bytes);
	return (uint64_t)(at - memory);
}

static int choose(struct ordering *o, const uint8_t *flag, uint32_t *count, struct sl_error *err)
{
	cudaStream_t stream = o->device->stream;
	int code = 0;
	SL_CUDA(sl__choose(o->room, o->room_bytes, flag, o->n, o->chosen, o->count, stream));
	SL_CUDA(sl__fetch(count, o->count, 4, stream));
out:
	return code;
}

/* What a search from a root has found: queue[0 .. end - 1], whose last level begins at `last`. */
struct found {
	uint32_t end, last, depth;
};

/* Searches breadth-first from `root`, into queue. numbered: this numbers the component. *whole: false if there were too
 * many levels. */
static int search_from(struct ordering *o, uint32_t root, uint32_t *queue, bool numbered, struct found *out,
		bool *whole,
		       struct sl_error *err)
{
	const struct sl_search *s = &o->search;
	cudaStream_t stream = o->device->stream;
	bool by_degree = numbered && o->order == SL_ORDER_RCM;
	uint32_t count = 1, at = 0, stamp = ++o->stamp;
	int code = 0;
	out->depth = 0;
	SL_CUDA(cudaMemcpyAsync(queue, &root, 4, cudaMemcpyHostToDevice, stream));
	for (;;) {
		SL_CUDA(sl__search_settle(s, stamp, queue + at, count, stream));
		SL_CUDA(sl__search_expand(s, stamp, queue, at, count, stream));
		out->last = at;
		out->end = at += count;
		*whole = o->levels-- > 0;
		SL_TRY(choose(o, s->flag, &count, err));
		if (!count || !*whole)
			break;
		out->depth++;
		SL_CUDA(sl__search_keys(s, by_degree, o->chosen, count, o->key, stream));
		SL_CUDA(sl__sort_pairs_long(o->room, o->room_bytes, o->key, o->key_sorted, o->chosen, queue + at, count,
				stream));
	}
out:
	return code;
}

/* George and Liu's search for a peripheral node, as on the host. */
static int find_rim(struct ordering *o, uint32_t *root, bool *whole, struct sl_error *err)
{
	cudaStream_t stream = o->device->stream;
	unsigned long long least;
	uint32_t best = 0;
	int code = 0;
	for (int k = 0; k < MAX_SWEEPS; k++) {
		struct found f;
		SL_TRY(search_from(o, *root, o->queue, false, &f, whole, err));
		if (!*whole || (k && f.depth <= best))
			break;
		best = f.depth;
		SL_CUDA(sl__search_least(&o->search, o->queue + f.last, f.end - f.last, o->best, stream));
		SL_CUDA(sl__fetch(&least, o->best, sizeof least, stream));
		SL_CUDA(sl__fetch(root, o->queue + f.last + (uint32_t)least, 4, stream));
	}
out:
	return code;
}

/* Numbers components from that of the lowest node that waits on. *left: the number of nodes that still wait; they are
 * listed in `chosen`. */
static int number_parts(struct ordering *o, uint32_t *left, struct sl_error *err)
{
	cudaStream_t stream = o->device->stream;
	int code = 0;
	for (int part = 0;; part++) {
		struct found f;
		uint32_t root;
		bool whole = true;
		SL_TRY(choose(o, o->search.waiting, left, err));
		if (!*left || part == SL_SEARCH_PARTS)
			break;
		SL_CUDA(sl__fetch(&root, o->chosen, 4, stream));
		if (o->order == SL_ORDER_RCM)
			SL_TRY(find_rim(o, &root, &whole, err));
		if (whole)
			SL_TRY(search_from(o, root, o->old_of + o->at, true, &f, &whole, err));
		if (!whole) {
			code = choose(o, o->search.waiting, left, err);
			break;
		}
		SL_CUDA(sl__search_served(&o->search, o->old_of + o->at, f.end, stream));
		o->at += f.end;
	}
out:
	return code;
}

/* ---- nodes that are left to the host ----------------------------------------------------------- */

/* Rows of P of the nodes that are left, with numbers of their own. Both in one place: on the device and on the host. */
struct rest {
	struct sl_device *device;
	uint32_t count;
	uint64_t m;
	uint32_t *list, *length, *new_of;
	uint64_t *start, *host_start;
	uint32_t *host_node, *host_list, *host_old;
	char *memory;
	uint64_t bytes;
};

static void rest_drop(struct rest *r)
{
	sl__device_free(r->device, r->memory, r->bytes);
	free(r->host_start);
	free(r->host_node);
	free(r->host_list);
	free(r->host_old);
}

static int rest_begin(struct ordering *o, struct rest *r, const uint32_t *length, struct sl_error *err)
{
	cudaStream_t stream = o->device->stream;
	uint64_t count = r->count;
	uint64_t list = sl__aligned(count * 4), starts = sl__aligned((count + 1) * 8), of_user = sl__aligned(o->n * 4ull);
	int code = 0;
	r->bytes = 2 * list + starts + of_user;
	SL_TRY(sl__device_alloc(o->device, r->bytes, "An order of the nodes", &r->memory, err));
	r->list = (uint32_t *)r->memory;
	r->length = (uint32_t *)(r->memory + list);
	r->start = (uint64_t *)(r->memory + 2 * list);
	r->new_of = (uint32_t *)(r->memory + 2 * list + starts);
	SL_CUDA(cudaMemcpyAsync(r->list, o->chosen, count * 4, cudaMemcpyDeviceToDevice, stream));
	SL_CUDA(cudaMemsetAsync(r->new_of, 0xff, o->n * 4ull, stream));
	SL_CUDA(sl__fill_number(r->list, r->count, r->new_of, stream));
	SL_CUDA(sl__fill_gather(length, r->list, r->count, r->length, stream));
	SL_CUDA(sl__sum_before(o->room, o->room_bytes, r->length, r->start, count, stream));
	SL_CUDA(sl__fetch(&r->m, r->start + count, 8, stream));
	r->host_start = malloc((count + 1) * 8);
	r->host_node = malloc((r->m + 1) * 4);
	r->host_list = malloc(count * 4);
	r->host_old = malloc(count * 4);
	if (!r->host_start || !r->host_node || !r->host_list || !r->host_old)
		return sl_error_memory(err, "an order of %u nodes", r->count);
	SL_CUDA(sl__fetch(r->host_start, r->start, (count + 1) * 8, stream));
	SL_CUDA(sl__fetch(r->host_list, r->list, count * 4, stream));
out:
	return code;
}

/* Appends the rest to old_of, in the host's order. */
static int rest_number(struct ordering *o, struct rest *r, struct sl_error *err)
{
	cudaStream_t stream = o->device->stream;
	int code = 0;
	if (sl__order_forward(o->order, r->count, r->host_start, r->host_node, r->host_old))
		return sl_error_memory(err, "an order of %u nodes", r->count);
	for (uint32_t i = 0; i < r->count; i++)
		r->host_old[i] = r->host_list[r->host_old[i]];
	SL_CUDA(cudaMemcpyAsync(o->old_of + o->at, r->host_old, r->count * 4ull, cudaMemcpyHostToDevice, stream));
	SL_CUDA(cudaStreamSynchronize(stream));
	o->at += r->count;
out:
	return code;
}

/* The rows of the rest are filled as those of P are; only their nodes are needed. */
static int take_row_nodes(void *arg, const struct sl_rows *rows, struct sl_error *err)
{
	struct rest *r = arg;
	int code = 0;
	SL_CUDA(sl__fetch(r->host_node + rows->base, rows->node,
			  (r->host_start[rows->first + rows->n] - rows->base) * 4, r->device->stream));
out:
	return code;
}

static int number_rest(struct ordering *o, const struct sl_filling *f, const uint32_t *length, uint32_t left,
		       struct sl_error *err)
{
	struct rest r = {.device = o->device, .count = left};
	struct sl_filling some = *f;
	double entropy;
	int code = rest_begin(o, &r, length, err);
	some.old_of = r.list;
	some.new_of = r.new_of;
	some.start = r.start;
	if (!code)
		code = sl__fill_all(o->device, &some, left, r.m, take_row_nodes, &r, &entropy, err);
	if (!code)
		code = rest_number(o, &r, err);
	rest_drop(&r);
	return code;
}

int sl__affinities_order(struct sl_device *d, const struct sl_filling *f, int order, const uint32_t *length,
			 uint32_t kept, uint32_t *old_of, struct sl_error *err)
{
	struct ordering o = {
		.device = d, .order = (enum sl_order)order, .n = f->sides.n, .kept = kept, .levels = SL_SEARCH_LEVELS,
		.old_of = old_of, .search = {.sides = f->sides, .length = length},
		.room_bytes = sl__sort_bytes(f->sides.n),
	};
	uint32_t left = 0;
	int code;
	o.bytes = lay_out(&o, NULL);
	code = sl__device_alloc(d, o.bytes, "An order of the nodes", &o.memory, err);
	if (code)
		return code;
	lay_out(&o, o.memory);
	SL_CUDA(sl__search_reset(&o.search, d->stream));
	if (o.order == SL_ORDER_NONE) {
		SL_TRY(choose(&o, o.search.waiting, &left, err));
		SL_CUDA(cudaMemcpyAsync(old_of, o.chosen, kept * 4ull, cudaMemcpyDeviceToDevice, d->stream));
		goto out;
	}
	SL_TRY(number_parts(&o, &left, err));
	if (left)
		SL_TRY(number_rest(&o, f, length, left, err));
	if (o.order == SL_ORDER_RCM)
		SL_CUDA(sl__search_reverse(old_of, kept, d->stream));
out:
	sl__device_free(d, o.memory, o.bytes);
	return code;
}
