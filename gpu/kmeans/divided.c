/* Passes of k-means by the GPUs of a group. Each GPU has all points and the whole state, and each call divides its
 * blocks: a GPU finds the nearest centroids of its blocks, and the labels of all are gathered, 8 bytes a point; with
 * seeds 16. Then all GPUs have the same state, so a call may have any blocks. The sum of a cluster depends on the order
 * of additions; so each GPU moves all points that changed, which are few after the first iterations, and nothing is
 * added across GPUs. The bits are those of one GPU.
 *
 * Tables of fewer points than divide_nodes are left to the first GPU. */
#include <stdlib.h>

#include "core/kmeans/passes.h"
#include "gpu/device/device.h"
#include "gpu/group/group.h"
#include "gpu/kmeans/kmeans.h"

struct divided {
	struct sl_device *device[SL_RANKS_MAX];
	int ranks;
	struct sl_kmeans_passes part[SL_RANKS_MAX];
};

/* A call: its arguments, and the blocks of each rank. */
struct call {
	struct divided *d;
	const struct sl_kmeans_table *table;
	const double *c, *centroid, *sum;
	const uint32_t *label, *before, *count;
	uint32_t number, from, to, parts[SL_RANKS_MAX + 1], moved[SL_RANKS_MAX];
	double *part;
};

static int run(struct call *c, int (*task)(void *context, int rank, struct sl_error *err), struct sl_error *err)
{
	struct divided *d = c->d;
	for (int r = 0; r <= d->ranks; r++)
		c->parts[r] = c->from + (uint32_t)((uint64_t)(c->to - c->from) * (uint32_t)r / (uint32_t)d->ranks);
	return sl__group_run(d->device[0]->group, task, c, err);
}

static int seed_part(void *context, int rank, struct sl_error *err)
{
	struct call *c = context;
	const struct sl_kmeans_passes *p = &c->d->part[rank];
	/* if one fails, the others must not wait for it in a gather */
	int code = p->seed(p->arg, c->number, c->c, c->parts[rank], c->parts[rank + 1], c->part, err);
	SL_RETURN(sl__group_meet(c->d->device[rank], code, err));
	SL_RETURN(sl__kmeans_gather(p->arg, false, c->parts, err));  /* `before` is the nearest seed */
	return sl__kmeans_gather(p->arg, true, c->parts, err);
}

static int seed(void *arg, uint32_t number, const double *c, uint32_t from, uint32_t to, double *part,
		struct sl_error *err)
{
	struct call call = {.d = arg, .number = number, .c = c, .from = from, .to = to, .part = part};
	return run(&call, seed_part, err);
}

static int nearest(void *arg, uint32_t first, uint32_t count, double *square, struct sl_error *err)
{
	struct divided *d = arg;
	return d->part[0].nearest(d->part[0].arg, first, count, square, err);
}

static int put_part(void *context, int rank, struct sl_error *err)
{
	struct call *c = context;
	const struct sl_kmeans_passes *p = &c->d->part[rank];
	return p->put(p->arg, c->label, c->before, c->sum, c->count, err);
}

static int put(void *arg, const uint32_t *label, const uint32_t *before, const double *sum, const uint32_t *count,
	       struct sl_error *err)
{
	struct call call = {.d = arg, .label = label, .before = before, .sum = sum, .count = count};
	return run(&call, put_part, err);
}

static int get(void *arg, uint32_t *label, uint32_t *before, double *sum, uint32_t *count, struct sl_error *err)
{
	struct divided *d = arg;
	return d->part[0].get(d->part[0].arg, label, before, sum, count, err);
}

static int centroids_part(void *context, int rank, struct sl_error *err)
{
	struct call *c = context;
	const struct sl_kmeans_passes *p = &c->d->part[rank];
	return p->centroids(p->arg, c->centroid, err);
}

static int centroids(void *arg, const double *centroid, struct sl_error *err)
{
	struct call call = {.d = arg, .centroid = centroid};
	return run(&call, centroids_part, err);
}

static int assign_part(void *context, int rank, struct sl_error *err)
{
	struct call *c = context;
	const struct sl_kmeans_passes *p = &c->d->part[rank];
	int code = p->assign(p->arg, c->parts[rank], c->parts[rank + 1], &c->moved[rank], err);
	SL_RETURN(sl__group_meet(c->d->device[rank], code, err));
	return sl__kmeans_gather(p->arg, false, c->parts, err);
}

static int assign(void *arg, uint32_t from, uint32_t to, uint32_t *moved, struct sl_error *err)
{
	struct call call = {.d = arg, .from = from, .to = to};
	SL_RETURN(run(&call, assign_part, err));
	for (int r = 0; r < call.d->ranks; r++)
		*moved += call.moved[r];
	return 0;
}

static int move_part(void *context, int rank, struct sl_error *err)
{
	struct call *c = context;
	const struct sl_kmeans_passes *p = &c->d->part[rank];
	return p->move(p->arg, c->from, c->to, err);
}

static int move(void *arg, uint32_t from, uint32_t to, struct sl_error *err)
{
	struct call call = {.d = arg, .from = from, .to = to};
	return run(&call, move_part, err);
}

static int inertia_part(void *context, int rank, struct sl_error *err)
{
	struct call *c = context;
	const struct sl_kmeans_passes *p = &c->d->part[rank];
	int code = p->inertia(p->arg, c->parts[rank], c->parts[rank + 1], c->part, err);
	SL_RETURN(sl__group_meet(c->d->device[rank], code, err));
	return sl__kmeans_gather(p->arg, true, c->parts, err);
}

static int inertia(void *arg, uint32_t from, uint32_t to, double *part, struct sl_error *err)
{
	struct call call = {.d = arg, .from = from, .to = to, .part = part};
	return run(&call, inertia_part, err);
}

static void close_divided(void *arg)
{
	struct divided *d = arg;
	for (int r = d->ranks; r-- > 0;)
		if (d->part[r].close)
			d->part[r].close(d->part[r].arg);
	sl__device_enter(d->device[0], NULL);
	free(d);
}

static int open_part(void *context, int rank, struct sl_error *err)
{
	struct call *c = context;
	struct sl_kmeans_table t = *c->table;
	if (rank)
		t.centroid = t.sum = NULL;  /* rank 0 pins them */
	return sl__kmeans_alone(c->d->device[rank], &t, &c->d->part[rank], err);
}

int sl__kmeans_passes(struct sl_device *device, const struct sl_kmeans_table *t, struct sl_kmeans_passes *out,
		      struct sl_error *err)
{
	if (!device->group || t->n < device->divide_nodes)
		return sl__kmeans_alone(device, t, out, err);
	struct divided *d = calloc(1, sizeof *d);
	if (!d)
		return sl_error_memory(err, "k-means on %d GPUs", device->ranks);
	d->ranks = device->ranks;
	for (struct sl_device *at = device; at; at = at->others)
		d->device[at->rank] = at;
	struct call call = {.d = d, .table = t};
	int code = run(&call, open_part, err);
	if (code) {
		close_divided(d);
		return code;
	}
	*out = (struct sl_kmeans_passes){.arg = d, .close = close_divided, .seed = seed, .nearest = nearest, .put = put,
					 .get = get, .centroids = centroids, .assign = assign, .move = move,
					 .inertia = inertia};
	return 0;
}
