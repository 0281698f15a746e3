/* An embedding that the ranks of a group compute together: what each iteration exchanges.
 *
 * Each rank has P's rows of its own nodes, and arrays for all nodes, in which its own are current. An iteration
 *
 *   gathers the positions that the attraction reads     (beside the two lines below)
 *   convolves the charges, each rank the whole grid     (the same on all ranks)
 *   reads the repulsion of its own nodes
 *   computes attraction and step of its own nodes, and spreads these
 *   adds the charges of all ranks on the near grid      (they are integers: the sum is that of one GPU)
 *
 * The sum also tells the bounds of each rank's nodes: behind the charges each rank has a place, which is 0 on the
 * others.
 *
 * Gathered are rounded positions, or exact ones if the attraction reads those or the repulsion needs all points
 * (pairs, all pairs, the tree, which each rank computes for all nodes). After iterations the array of exact
 * positions is not fresh: sl__freshen() gathers it when something else needs it. So all that is computed from them
 * is the same as on one GPU, to the byte, for any number of ranks; and so are the host's decisions, which need no
 * messages. The sums of a measurement, in double precision, are rounded differently. */
#include "gpu/embedding/embedding.h"

#include <string.h>

bool sl__reads_rounded(const struct sl_device_embedding *e)
{
	bool exact = e->exact || (e->points.dims == 2 && (e->settle || sl__is_smooth(e)));
	return e->points.rounded && !exact;  /* 16 bits are too coarse for a layout that converges, or is wide */
}

enum { NEEDS_Y = 1, NEEDS_ROUNDED = 2 };

/* The arrays of all nodes that an iteration needs. */
static unsigned needs(const struct sl_device_embedding *e)
{
	unsigned y = !sl__reads_rounded(e) || e->exact || sl__is_smooth(e) ? NEEDS_Y : 0;
	return y | (sl__reads_rounded(e) ? NEEDS_ROUNDED : 0);
}

/* The numbers that all ranks add: the charges and the boxes behind them; without grids, the boxes in the control
 * block. */
static uint64_t *summed(const struct sl_device_embedding *e, uint64_t *charges)
{
	const struct sl_grid_memory *g = &e->graph->device->work->grid[0];
	*charges = e->exact ? 0 : sl__charge_bytes(g) / sizeof *g->charges;
	return e->exact ? (uint64_t *)e->control->box : g->charges;
}

float *sl__boxes(const struct sl_device_embedding *e)
{
	uint64_t charges, *numbers = summed(e, &charges);
	return (float *)(numbers + charges);
}

void sl__divided_set_up(struct sl_device_embedding *e)
{
	struct sl_particles *own = &e->own;
	const struct sl_matrix *a = &e->graph->matrix;
	size_t floats = (size_t)a->first * (size_t)e->stride;
	e->points.all = e->points.n;
	*own = e->points;
	e->fresh = true;
	if (!sl__is_divided(e->graph))
		return;
	own->n = a->n;
	own->y += floats;
	own->velocity += floats;
	own->gain += floats;
	own->attraction += floats;
	own->repulsion += floats;
	if (own->rounded)
		own->rounded += (size_t)a->first * (own->dims == 3 ? 2 : 1);
}

const float *sl__own_partial(const struct sl_device_embedding *e)
{
	return e->partial ? e->partial + (size_t)e->graph->matrix.first * (size_t)e->stride : NULL;
}

int sl__queue_charges(struct sl_device_embedding *e, cudaStream_t stream, struct sl_error *err)
{
	uint64_t charges, *numbers = summed(e, &charges);
	if (!sl__is_divided(e->graph))
		return 0;
	return sl__group_reduce(e->graph->device, numbers, charges + SL_BOX_BYTES / sizeof *numbers, stream, err);
}

int sl__queue_close(struct sl_device_embedding *e, cudaStream_t stream, struct sl_error *err)
{
	int code = 0;
	if (!sl__is_divided(e->graph))
		return 0;
	SL_TRY(sl__queue_charges(e, stream, err));
	SL_CUDA(sl__close_step(e->settings.dims, e->exact ? 0 : e->grid[0].window, sl__boxes(e), e->graph->device->ranks,
			       &e->control->orders, &e->control->report, stream));
out:
	return code;
}

static struct sl_gathered points_of(const struct sl_device_embedding *e, void *array)
{
	return (struct sl_gathered){array, sizeof(float) * (uint64_t)e->stride, e->graph->parts};
}

static struct sl_gathered rounded_of(const struct sl_device_embedding *e)
{
	return (struct sl_gathered){e->points.rounded, e->points.dims == 3 ? 8 : 4, e->graph->parts};
}

static int gather(struct sl_device_embedding *e, unsigned what, cudaStream_t stream, struct sl_error *err)
{
	struct sl_gathered all[2];
	int count = 0;
	if (what & NEEDS_Y)
		all[count++] = points_of(e, e->points.y);
	if (what & NEEDS_ROUNDED)
		all[count++] = rounded_of(e);
	return sl__group_gather(e->graph->device, all, count, stream, err);
}

bool sl__gathers_beside(const struct sl_device_embedding *e)
{
	return sl__is_divided(e->graph) && !e->exact && !sl__is_smooth(e);
}

int sl__queue_gather(struct sl_device_embedding *e, cudaStream_t stream, struct sl_error *err)
{
	return sl__is_divided(e->graph) ? gather(e, needs(e), stream, err) : 0;
}

int sl__freshen(struct sl_device_embedding *e, struct sl_error *err)
{
	if (!sl__is_divided(e->graph) || e->fresh)
		return 0;
	e->fresh = true;
	return gather(e, NEEDS_Y, e->graph->device->stream, err);
}

int sl__meet_owners(struct sl_device_embedding *e, int code, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	uint64_t lost = d->work->owner != e, all[SL_RANKS_MAX];
	if (!sl__is_divided(e->graph))
		return code;
	code = sl__group_tell(d, code, &lost, 1, all, err);
	for (int r = 0; r < d->ranks && !code; r++)
		if (all[r])
			d->work->owner = NULL;
	return code;
}

int sl__gather_points(struct sl_device_embedding *e, float *one, float *other, struct sl_error *err)
{
	struct sl_gathered all[] = {points_of(e, one), points_of(e, other)};
	if (!sl__is_divided(e->graph))
		return 0;
	return sl__group_gather(e->graph->device, all, 2, e->graph->device->stream, err);
}

int sl__add_measures(struct sl_device_embedding *e, struct sl_error *err)
{
	double mine[2] = {e->report.divergence, e->report.square}, all[2 * SL_RANKS_MAX];
	uint64_t sent[2], got[2 * SL_RANKS_MAX];
	if (!sl__is_divided(e->graph))
		return 0;
	memcpy(sent, mine, sizeof sent);
	int code = sl__group_tell(e->graph->device, 0, sent, 2, got, err);
	memcpy(all, got, sizeof all);
	e->report.divergence = e->report.square = 0;
	for (int r = 0; r < e->graph->device->ranks && !code; r++) {
		e->report.divergence += all[2 * r];
		e->report.square += all[2 * r + 1];
	}
	return code;
}
