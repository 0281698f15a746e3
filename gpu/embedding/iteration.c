/* An iteration as a CUDA graph: its kernels and their dependencies; runs of many iterations. */
#include "gpu/embedding/embedding.h"

#include <stdlib.h>
#include <string.h>

#include "core/engine/update.h"
#include "gpu/device/fault.h"
#include "gpu/fft/fft.h"

#define UNROLLED 8         /* iterations in the longer of the two graphs */

void sl__iteration_graph_drop(struct iteration_graph *g)
{
	if (g->once)
		cudaGraphExecDestroy(g->once);
	if (g->unrolled)
		cudaGraphExecDestroy(g->unrolled);
	memset(g, 0, sizeof *g);
}

static cudaError_t queue_attraction(struct sl_device_embedding *e, cudaStream_t stream)
{
	const struct sl_report *r = &e->control->report;
	struct sl_particles points = e->points;
	if (!sl__reads_rounded(e))
		points.rounded = NULL;
	return e->hybrid ? sl__hybrid_attract(e->hybrid, &e->points, r, stream) :
			   sl__attract(&e->graph->matrix, &points, &e->control->orders, r, stream);
}

size_t sl__charge_bytes(const struct sl_grid_memory *g)
{
	size_t side = (size_t)g->side, rows = g->dims == 1 ? 1 : g->dims == 2 ? side : side * side;
	return rows * (size_t)g->pairs * sizeof *g->charges;
}

/* Queues the input of the near level's transform. */
static int queue_cutoff(struct sl_device_embedding *e, cudaStream_t stream, struct sl_error *err)
{
	const struct sl_grid_memory *g = e->graph->device->work->grid;
	int code = 0;
	if (e->plan[0]->transform->native)
		SL_CUDA(sl__fft_rows(&g[0], &g[0], &e->control->orders, &e->control->report, stream));
	else
		SL_CUDA(sl__convert(&g[0], &e->control->orders, &e->control->report, stream));
out:
	return code;
}

/* The same for the far level. In 2-D, the row transform of the near level writes its input. Otherwise the far level
 * reads the charges itself and clears them, after the event `near`: the near level has read them. */
static int queue_far(struct sl_device_embedding *e, cudaStream_t stream, cudaEvent_t near, struct sl_error *err)
{
	const struct sl_grid_memory *g = e->graph->device->work->grid;
	const struct sl_orders *o = &e->control->orders;
	const struct sl_report *r = &e->control->report;
	bool cube = g->dims == 3, feed = cube || !e->plan[0]->transform->native, native = e->plan[1]->transform->native;
	int code = 0;
	if (feed)
		SL_CUDA(sl__feed(&g[0], o, r, stream));
	else
		SL_CUDA(cudaStreamWaitEvent(stream, near, 0));
	if (cube || !native)
		SL_CUDA(sl__restrict(&g[0], &g[1], o, r, stream));
	if (native)
		SL_CUDA(sl__fft_rows(&g[1], &g[0], o, r, stream));
	if (feed) {
		SL_CUDA(cudaStreamWaitEvent(stream, near, 0));
		SL_CUDA(sl__clear(&g[0], r, stream));
	}
out:
	return code;
}

/* Queues the transforms from a level's input to its potential. */
static int queue_convolution(struct sl_device_embedding *e, int level, cudaStream_t stream, struct sl_error *err)
{
	const struct sl_grid_memory *g = &e->graph->device->work->grid[level];
	const struct sl_transform *t = e->plan[level]->transform;
	const struct sl_orders *o = &e->control->orders;
	struct sl_report *r = &e->control->report;
	int code = 0;
	if (t->native) {
		SL_CUDA(sl__fft_convolve(g, o, r, e->part, stream));
	} else {
		SL_CUFFT(cufftExecR2C(t->forward, g->input, g->spectrum));
		SL_CUDA(sl__multiply(g, o, r, e->part, stream));
		SL_CUFFT(cufftExecC2R(t->inverse, g->spectrum, g->potential));
	}
out:
	return code;
}

/* Queues the pairs within the cut-off beside a smooth grid; their forces go to points.repulsion. */
static cudaError_t queue_pairs(struct sl_device_embedding *e, cudaStream_t stream)
{
	struct sl_cutoff_cells c = sl__cutoff_cells(e, &e->graph->device->work->grid[0]);
	const struct sl_orders *o = &e->control->orders;
	cudaError_t status = sl__cutoff_sort(&c, &e->points, o, &e->control->report, stream);
	return status == cudaSuccess ? sl__cutoff_pairs(&c, &e->points, o, &e->control->report, stream) : status;
}

/* Queues the potentials of the repulsion. The far level, or the pairs, run on d->far; the caller waits for that stream.
 * d->fork must have been recorded. */
static int queue_grids(struct sl_device_embedding *e, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	int code = 0;
	if (sl__is_smooth(e)) {
		SL_CUDA(cudaStreamWaitEvent(d->far, d->fork, 0));
		SL_CUDA(queue_pairs(e, d->far));
		SL_CUDA(cudaEventRecord(d->far_join, d->far));
	}
	SL_TRY(queue_cutoff(e, d->stream, err));
	if (e->levels > 1) {
		SL_CUDA(cudaEventRecord(d->far_fork, d->stream));
		SL_CUDA(cudaStreamWaitEvent(d->far, d->fork, 0));
		SL_TRY(queue_far(e, d->far, d->far_fork, err));
		SL_TRY(queue_convolution(e, 1, d->far, err));
		SL_CUDA(cudaEventRecord(d->far_join, d->far));
	}
	SL_TRY(queue_convolution(e, 0, d->stream, err));
out:
	return code;
}

static cudaError_t queue_read(struct sl_device_embedding *e)
{
	struct sl_device *d = e->graph->device;
	return sl__read(&e->own, d->work->grid, e->levels, sl__own_partial(e), e->exact ? e->splits : 0, sl__is_smooth(e),
			&e->control->orders, &e->control->report, d->stream);
}

/* split: the repulsion is read already. */
static cudaError_t queue_step(struct sl_device_embedding *e, bool split, enum sl_step_kind kind)
{
	struct sl_device *d = e->graph->device;
	if (split)
		return sl__move(&e->own, &d->work->grid[0], kind, e->part, &e->control->orders, &e->control->report,
				d->stream);
	return sl__step(&e->own, d->work->grid, e->levels, sl__own_partial(e), e->exact ? e->splits : 0, sl__is_smooth(e),
			kind, e->part, &e->control->orders, &e->control->report, d->stream);
}

static enum sl_step_kind step_kind(const struct sl_device_embedding *e)
{
	return e->settings.optimizer == SL_ADAM ? SL_STEP_ADAM : SL_STEP_MOMENTUM;
}

/* Queues both forces (the attraction on a stream of its own) and then the step of that kind. */
int sl__queue(struct sl_device_embedding *e, enum sl_step_kind kind, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	struct sl_report *r = &e->control->report;
	int code = 0;
	bool beside = sl__gathers_beside(e);
	if (!beside)
		SL_TRY(sl__queue_gather(e, d->stream, err));
	SL_CUDA(cudaEventRecord(d->fork, d->stream));
	SL_CUDA(cudaStreamWaitEvent(d->side, d->fork, 0));
	if (beside)
		SL_TRY(sl__queue_gather(e, d->side, err));
	SL_CUDA(queue_attraction(e, d->side));
	SL_CUDA(cudaEventRecord(d->join, d->side));
	if (sl__is_tree(&e->settings)) {
		SL_CUDA(sl__tree_make(&e->tree, &e->points, r, d->stream));
		SL_CUDA(sl__tree_sums(&e->tree, (float)e->nu, e->partial, r, d->stream));
	} else if (e->exact) {
		SL_CUDA(sl__exact(&e->points, (float)e->nu, e->splits, e->partial, e->part, r, d->stream));
	} else {
		SL_TRY(queue_grids(e, err));
	}
	if (!e->exact && (e->levels > 1 || sl__is_smooth(e)))
		SL_CUDA(cudaStreamWaitEvent(d->stream, d->far_join, 0));
	bool split = sl__is_split(e);
	if (split || kind == SL_STEP_NONE)
		SL_CUDA(queue_read(e));
	SL_CUDA(cudaStreamWaitEvent(d->stream, d->join, 0));
	if (kind != SL_STEP_NONE) {
		SL_CUDA(queue_step(e, split, kind));
		SL_TRY(sl__queue_close(e, d->stream, err));
	}
out:
	return code;
}

/* Spreads the present layout over the grids, if they do not hold it already. After sl__control_up(). */
int sl__put_on_grids(struct sl_device_embedding *e, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	int code = 0;
	if (e->exact || d->work->owner == e)
		return 0;
	struct sl_grid_memory *g = &d->work->grid[0];
	SL_CUDA(cudaMemsetAsync(g->charges, 0, sl__charge_bytes(g) + SL_BOX_BYTES, d->stream));
	if (sl__is_smooth(e))
		SL_CUDA(cudaMemsetAsync(g->cell_count, 0, sl__cutoff_room(g->dims, g->cells) * sizeof *g->cell_count,
					d->stream));
	SL_CUDA(sl__spread(&e->own, g, &e->control->orders, &e->control->report, d->stream));
	SL_TRY(sl__queue_charges(e, d->stream, err));
	if (e->points.rounded)
		SL_CUDA(sl__round(&e->own, &e->control->orders, &e->control->report, d->stream));
	d->work->owner = e;
out:
	return code;
}

int sl__capture(struct sl_device_embedding *e, enum sl_part part, int repeats, cudaGraphExec_t *out,
		struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	cudaGraph_t graph = NULL;
	bool capturing = false;
	int code = 0;
	SL_CUDA(cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal));
	capturing = true;
	for (int i = 0; i < repeats; i++)
		SL_TRY(sl__queue_part(e, part, err));
	capturing = false;
	SL_CUDA(cudaStreamEndCapture(d->stream, &graph));
	SL_CUDA(cudaGraphInstantiate(out, graph, cudaGraphInstantiateFlagUseNodePriority));
out:
	if (capturing)
		cudaStreamEndCapture(d->stream, &graph);
	if (graph)
		cudaGraphDestroy(graph);
	cudaGetLastError();
	return code;
}

/* Finds the CUDA graphs of the present kind of iteration. Captures them if needed, and drops the least recently used
 * ones. */
static int find_graphs(struct sl_device_embedding *e, struct iteration_graph **out, struct sl_error *err)
{
	int side = e->exact ? 0 : e->grid[0].side, code = 0;
	int coarse = e->exact ? 0 : e->levels > 1 ? e->grid[1].side : sl__is_smooth(e) ? -1 : 0;
	uint64_t generation = e->exact ? 0 : e->graph->device->work->generation;
	struct iteration_graph *oldest = &e->graphs[0];
	for (int i = 0; i < GRAPHS_MAX; i++) {
		struct iteration_graph *g = &e->graphs[i];
		if (g->once && g->side == side && g->coarse == coarse && g->generation == generation &&
		    g->settle == e->settle) {
			g->last_use = ++e->clock;
			*out = g;
			return 0;
		}
		if (g->last_use < oldest->last_use)
			oldest = g;
	}
	sl__iteration_graph_drop(oldest);
	oldest->side = side;
	oldest->coarse = coarse;
	oldest->settle = e->settle;
	oldest->generation = generation;
	oldest->last_use = ++e->clock;
	code = sl__capture(e, SL_PART_ALL, 1, &oldest->once, err);
	if (!code)
		code = sl__capture(e, SL_PART_ALL, UNROLLED, &oldest->unrolled, err);
	if (code)
		sl__iteration_graph_drop(oldest);
	*out = oldest;
	return code;
}

bool sl__joins(const struct sl_device_embedding *e) { return e->small.on; }

int sl__run_many(struct sl_run *run, int count, struct sl_error *err)
{
	struct sl_small_state **state = malloc(sizeof(struct sl_small_state *) * (size_t)(count > 0 ? count : 1));
	int code = 0;
	if (!state)
		return sl_error_memory(err, "%d embeddings side by side", count);
	for (int i = 0; i < count; i++)
		state[i] = &run[i].embedding->small;
	if (count > 0) {
		struct sl_device *d = run[0].embedding->graph->device;
		SL_TRY(sl__device_enter(d, err));
		SL_CUDA(sl__fault_if_due(d->stream));
		SL_TRY(sl__small_many(d, run, state, count, err));
	}
out:
	free(state);
	return code;
}

/* Runs one stretch of a small embedding. */
int sl__run_small(struct sl_device_embedding *e, struct sl_stretch *stretch, struct sl_error *err)
{
	struct sl_run run = {.embedding = e, .stretch = stretch, .stretches = 1};
	int code = sl__run_many(&run, 1, err);
	if (!code && run.code && err)
		*err = run.err;
	return code ? code : run.code;
}

static int restart(struct sl_device_embedding *e, int what, struct sl_error *err)
{
	cudaStream_t stream = e->graph->device->stream;
	uint64_t floats = (uint64_t)e->n * (uint64_t)e->stride;
	int code = 0;
	if (what == SL_RESTART_NOTHING || e->settings.optimizer != SL_MOMENTUM)
		return 0;
	SL_CUDA(cudaMemsetAsync(e->points.velocity, 0, sizeof(float) * floats, stream));
	if (what == SL_RESTART_ALL)
		SL_CUDA(sl__fill(e->points.gain, 1, floats, stream));
out:
	return code;
}

/* Makes everything ready for a stretch of iterations. */
static int ready(struct sl_device_embedding *e, const struct sl_step *step, struct iteration_graph **g,
		 struct sl_error *err)
{
	int code = 0;
	SL_TRY(sl__prepare(e, err));
	SL_TRY(find_graphs(e, g, err));
	SL_TRY(sl__control_up(e, step, err));
out:
	return code;
}

int sl__run(struct sl_device_embedding *e, const struct sl_step *given, int iterations, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	const struct sl_step filled = sl_step_filled(given), *step = &filled;
	if (e->small.on)
		return sl__run_small(e, &(struct sl_stretch){.step = filled, .iterations = iterations}, err);
	int code = 0;
	SL_TRY(sl__device_enter(d, err));
	SL_CUDA(sl__fault_if_due(d->stream));
	e->settle = step->settle;
	if (iterations > 0)
		SL_TRY(restart(e, step->restart, err));
	while (iterations > 0) {
		struct iteration_graph *g = NULL;
		SL_TRY(sl__meet_owners(e, ready(e, step, &g, err), err));
		SL_TRY(sl__put_on_grids(e, err));
		int count = e->stretch < iterations ? e->stretch : iterations;
		for (int i = 0; i < count / UNROLLED; i++)
			SL_CUDA(cudaGraphLaunch(g->unrolled, d->stream));
		for (int i = 0; i < count % UNROLLED; i++)
			SL_CUDA(cudaGraphLaunch(g->once, d->stream));
		e->fresh = false;
		SL_TRY(sl__report_down(e, err));
		iterations -= (int)e->report.done;
		e->stretch = e->stretch * 2 < STRETCH_MAX ? e->stretch * 2 : STRETCH_MAX;
		if (!e->report.done)
			SL_TRY(sl_error_set(err, SL_INTERNAL, "An iteration on the GPU made no progress."));
	}
out:
	if (code)
		d->work->owner = NULL;  /* it is unknown how many kernels ran */
	return code;
}

/* ---- parts, to be timed -------------------------------------------------------------------------------- */

/* Queues one part, for timing. Repeated steps add their charges to those before, which does not change the time of a
 * transform. */
int sl__queue_part(struct sl_device_embedding *e, enum sl_part part, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	bool far = part == SL_PART_CONVOLVE_FAR || part == SL_PART_PAIRS;
	cudaStream_t stream = far ? d->far : d->stream;  /* a cuFFT plan belongs to one stream */
	int code = 0;
	if (part == SL_PART_ALL)
		return sl__queue(e, step_kind(e), err);
	if (far) {
		SL_CUDA(cudaEventRecord(d->fork, d->stream));
		SL_CUDA(cudaStreamWaitEvent(d->far, d->fork, 0));
	}
	switch (part) {
	case SL_PART_ATTRACTION: SL_CUDA(queue_attraction(e, stream)); break;
	case SL_PART_CONVOLVE:
	case SL_PART_CONVOLVE_FAR:
		SL_TRY(far ? queue_far(e, stream, d->fork, err) : queue_cutoff(e, stream, err));
		SL_TRY(queue_convolution(e, far, stream, err));
		break;
	case SL_PART_PAIRS: SL_CUDA(queue_pairs(e, stream)); break;
	case SL_PART_ALL_PAIRS:
		SL_CUDA(sl__exact(&e->points, (float)e->nu, e->splits, e->partial, e->part, &e->control->report, stream));
		break;
	case SL_PART_TREE: SL_CUDA(sl__tree_make(&e->tree, &e->points, &e->control->report, stream)); break;
	case SL_PART_TREE_SUMS:
		SL_CUDA(sl__tree_sums(&e->tree, (float)e->nu, e->partial, &e->control->report, stream));
		break;
	case SL_PART_CHARGES: SL_TRY(sl__queue_charges(e, stream, err)); break;
	case SL_PART_GATHER: SL_TRY(sl__queue_gather(e, stream, err)); break;
	case SL_PART_READ: SL_CUDA(queue_read(e)); break;
	case SL_PART_STEP: SL_CUDA(queue_step(e, sl__is_split(e), step_kind(e))); break;
	case SL_PART_ALL: break;
	}
	if (far) {
		SL_CUDA(cudaEventRecord(d->far_join, d->far));
		SL_CUDA(cudaStreamWaitEvent(d->stream, d->far_join, 0));
	}
out:
	return code;
}
