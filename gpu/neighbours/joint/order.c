/* Cuthill and McKee's order (Reducing the bandwidth of sparse symmetric matrices, ACM 1969) on the device. It is a
 * breadth-first search; a graph of neighbours has few, large levels, and each level takes one sort. A second search
 * starts from the last node of the first, which is peripheral. In a graph of many components, this orders the first
 * PARTS of them; the nodes of the others follow component by component. A search ends after LEVELS levels, which only
 * graphs like a long line exceed. */
#include "gpu/neighbours/joint/joint.h"

#define PARTS 64
#define LEVELS 3000
#define LABEL_ROUNDS 64

struct ordering {
	struct sl_levels levels;
	uint32_t *order;             /* [n] */
	uint32_t *chosen, *count;    /* [n], [2] */
	uint64_t *key, *key_sorted;  /* [n] */
	void *room;
	uint64_t room_bytes;
	cudaStream_t stream;
	int left;                    /* remaining number of levels */
};

static int choose(struct ordering *o, uint32_t *count, struct sl_error *err)
{
	int code = 0;
	SL_CUDA(sl__choose(o->room, o->room_bytes, o->levels.flag, o->levels.n, o->chosen, o->count, o->stream));
	SL_CUDA(sl__fetch(count, o->count, 4, o->stream));
out:
	return code;
}

/* Orders all nodes that can be reached from `root`, from place `at` on. *end: the place behind the last. */
static int search_from(struct ordering *o, uint32_t root, uint32_t at, uint32_t *end, struct sl_error *err)
{
	uint32_t count = 1;
	int code = 0;
	SL_CUDA(cudaMemcpyAsync(o->order + at, &root, 4, cudaMemcpyHostToDevice, o->stream));
	while (count) {
		SL_CUDA(sl__levels_settle(&o->levels, o->order, at, count, o->stream));
		SL_CUDA(sl__levels_expand(&o->levels, o->order, at, count, o->stream));
		at += count;
		count = 0;
		if (at >= o->levels.n || o->left-- <= 0)
			break;
		code = choose(o, &count, err);
		if (code || !count)
			break;
		SL_CUDA(sl__levels_keys(&o->levels, o->chosen, count, o->key, o->stream));
		SL_CUDA(sl__sort_pairs_long(o->room, o->room_bytes, o->key, o->key_sorted, o->chosen, o->order + at, count,
					    o->stream));
	}
	*end = at;
out:
	return code;
}

static int node_at(struct ordering *o, const uint32_t *list, uint32_t at, uint32_t *out, struct sl_error *err)
{
	int code = 0;
	SL_CUDA(sl__fetch(out, list + at, 4, o->stream));
out:
	return code;
}

/* Orders the nodes that were not reached, by component. */
static int append_rest(struct ordering *o, uint32_t at, struct sl_error *err)
{
	uint32_t *label = (uint32_t *)o->key, *keys = (uint32_t *)o->key_sorted, count = 0, changed = 1;
	int code = 0;
	SL_CUDA(sl__levels_left(&o->levels, o->stream));
	code = choose(o, &count, err);
	if (code || !count)
		return code;
	SL_CUDA(sl__levels_label_start(label, o->levels.n, o->stream));
	for (int round = 0; changed && round < LABEL_ROUNDS; round++) {
		SL_CUDA(sl__levels_label(&o->levels, label, o->count + 1, o->stream));
		SL_CUDA(sl__fetch(&changed, o->count + 1, 4, o->stream));
	}
	SL_CUDA(sl__levels_gather(label, o->chosen, count, keys, o->stream));
	SL_CUDA(sl__sort_pairs(o->room, o->room_bytes, keys, keys + o->levels.n, o->chosen, o->order + at, count, 32,
			       o->stream));
out:
	return code;
}

static int make_order(struct ordering *o, struct sl_error *err)
{
	uint32_t n = o->levels.n, at = 0, root = 0, count;
	int code = 0;
	SL_CUDA(sl__levels_reset(&o->levels, o->stream));
	SL_TRY(search_from(o, 0, 0, &at, err));
	SL_TRY(node_at(o, o->order, at - 1, &root, err));
	SL_CUDA(sl__levels_reset(&o->levels, o->stream));
	at = 0;
	for (int part = 0; part < PARTS && at < n && o->left > 0; part++) {
		if (part) {
			SL_CUDA(sl__levels_left(&o->levels, o->stream));
			SL_TRY(choose(o, &count, err));
			if (count)
				SL_TRY(node_at(o, o->chosen, 0, &root, err));
			SL_CUDA(cudaMemsetAsync(o->levels.flag, 0, n, o->stream));
		}
		SL_TRY(search_from(o, root, at, &at, err));
	}
	if (at < n)
		code = append_rest(o, at, err);
out:
	return code;
}

/* Lays out the work memory and returns its bytes. NULL: only counts them. edge [4]: [n * width] each. */
static uint64_t lay_out(struct ordering *o, uint32_t *edge[4], char *memory)
{
	char *at = memory;
	struct sl_levels *l = &o->levels;
	uint64_t edges = (uint64_t)l->n * l->width, n = l->n;
	for (int i = 0; i < 4; i++)
		edge[i] = sl__carve(&at, edges * 4);
	o->room_bytes = sl__sort_bytes(edges);
	o->room = sl__carve(&at, o->room_bytes);
	l->from_start = sl__carve(&at, (n + 1) * 4);
	o->key = sl__carve(&at, n * 8);
	o->key_sorted = sl__carve(&at, n * 8);
	o->chosen = sl__carve(&at, n * 4);
	o->count = sl__carve(&at, 8);
	l->rank = sl__carve(&at, n * 4);
	l->parent = sl__carve(&at, n * 4);
	l->flag = sl__carve(&at, n);
	return (uint64_t)(at - memory);
}

int sl__joint_order(struct sl_device *d, uint32_t n, uint32_t k, uint32_t width, const uint32_t *index,
		    uint32_t *old_of, uint32_t *new_of, struct sl_error *err)
{
	struct ordering o = {.stream = d->stream, .left = LEVELS, .order = old_of,
			     .levels = {.n = n, .k = k, .width = width, .index = index}};
	uint32_t *edge[4];
	uint64_t edges = (uint64_t)n * width, bytes = lay_out(&o, edge, NULL);
	char *memory = NULL;
	int code = sl__device_alloc(d, bytes, "An order of the nodes", &memory, err);
	if (code)
		return code;
	lay_out(&o, edge, memory);
	uint32_t *target = edge[0], *source = edge[1], *target_sorted = edge[2], *from = edge[3];
	o.levels.from = from;
	SL_CUDA(sl__levels_edges(n, k, width, index, target, source, d->stream));
	SL_CUDA(sl__sort_pairs(o.room, o.room_bytes, target, target_sorted, source, from, edges, sl__bits_for(n),
			       d->stream));
	SL_CUDA(sl__run_starts(n, target_sorted, (uint32_t)edges, (uint32_t *)o.levels.from_start, d->stream));
	SL_TRY(make_order(&o, err));
	SL_CUDA(sl__levels_invert(old_of, n, new_of, d->stream));
out:
	sl__device_free(d, memory, bytes);
	return code;
}
