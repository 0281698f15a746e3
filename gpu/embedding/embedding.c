/* An embedding's memory, creation and destruction; copies to and from the device; checkpoints. */
#include "gpu/embedding/embedding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIDE_LEAST 8         /* as in the job parameters */
#define EXACT_NODES 110000 /* with more nodes, any grid costs less than all pairs */
#define ROUNDED_NODES 30000  /* from so many nodes on, rounded positions are faster */

/* ---- memory ------------------------------------------------------------------------------ */

bool sl__may_be_exact(uint32_t n, const struct sl_settings *s)
{
	return s->repulsion == SL_REPULSION_EXACT || (s->repulsion == SL_REPULSION_AUTO && n <= EXACT_NODES);
}

#define SMOOTH_NODES_MOST (1u << 28)  /* candidates of a warp's points are counted in 32 bits */

bool sl__may_be_smooth(uint32_t n, const struct sl_settings *s)
{
	static const uint32_t least[4] = {0, 0, 1024, 4096};
	return s->dims > 1 && n >= least[s->dims] && n <= SMOOTH_NODES_MOST && s->repulsion != SL_REPULSION_EXACT &&
	       !sl__is_tree(s) && !s->grid_side && (s->dof == 0 || s->dof == 1);
}

struct sl_cutoff_cells sl__cutoff_cells(const struct sl_device_embedding *e, const struct sl_grid_memory *g)
{
	struct sl_cutoff_cells c = e->cells;
	c.side = g->cells;
	c.count = g->cell_count;
	c.start = g->cell_start;
	c.offset = g->cell_offset;
	return c;
}

uint64_t sl__point_bytes(uint32_t n, const struct sl_settings *s)
{
	return sl__aligned((uint64_t)n * (uint64_t)sl__stride(s->dims) * sizeof(float));
}

/* Lays out the arrays of an embedding of n nodes from `memory` on and returns their bytes. NULL: only counts them. */
static uint64_t lay_out(struct sl_device_embedding *e, uint32_t n, const struct sl_settings *s, char *memory)
{
	bool tree = sl__is_tree(s);
	bool rounded = !tree && n >= ROUNDED_NODES && (s->dims == 3 || (s->dims == 2 && s->accuracy != SL_FINE));
	uint64_t each = sl__point_bytes(n, s);
	struct sl_particles *p = &e->points;
	char *at = memory;
	float **arrays[] = {&p->y, &p->velocity, &p->gain, &p->attraction, &p->repulsion};
	*p = (struct sl_particles){.n = n, .dims = s->dims};
	for (int i = 0; i < 5; i++)
		*arrays[i] = sl__carve(&at, each);
	e->part = sl__carve(&at, (SL_PARTS + n / 256 + 1) * sizeof *e->part);
	e->control = sl__carve(&at, sizeof *e->control);
	if (rounded)
		p->rounded = sl__carve(&at, n * (s->dims == 2 ? 4ull : 8ull));
	if (sl__may_be_smooth(n, s)) {
		e->cells = (struct sl_cutoff_cells){.n = n};
		e->cells.sorted = sl__carve(&at, n * sizeof *e->cells.sorted);
		e->cells.id = sl__carve(&at, n * sizeof *e->cells.id);
		e->cells.rank = sl__carve(&at, n * sizeof *e->cells.rank);
		e->cells.part = sl__carve(&at, (n / 32 + 1ull) * sizeof *e->cells.part);
	}
	if (sl__may_be_exact(n, s)) {
		e->splits = sl__exact_splits(n);
		e->partial = sl__carve(&at, (uint64_t)e->splits * n * (uint64_t)sl__stride(s->dims) * sizeof *e->partial);
	}
	if (tree) {
		e->splits = 1;
		e->partial = sl__carve(&at, each);
		sl__tree_lay_out(&e->tree, n, s->dims, s->theta, &at);
	}
	return (uint64_t)(at - memory);
}

uint64_t sl__embedding_bytes(uint32_t n, const struct sl_settings *s)
{
	struct sl_device_embedding trial = {0};
	return lay_out(&trial, n, s, NULL);
}

void sl__embedding_destroy(struct sl_device_embedding *e)
{
	if (!e)
		return;
	struct sl_device *d = e->graph->device;
	sl__device_enter(d, NULL);
	if (e->hybrid) {  /* after a failure the host function of the hybrid engine may still be queued */
		cudaStreamSynchronize(d->side);
		cudaStreamSynchronize(d->stream);
	}
	for (int i = 0; i < GRAPHS_MAX; i++)
		sl__iteration_graph_drop(&e->graphs[i]);
	sl__hybrid_destroy(e->hybrid);
	for (int k = 0; k < SL_LEVELS; k++)
		sl__plans_give(d, e->plan[k]);
	if (d->work->owner == e)
		d->work->owner = NULL;
	if (e->memory)
		d->embedding_bytes -= e->bytes;
	sl__device_free(d, e->memory, e->bytes);
	cudaGetLastError();
	free(e);
}

/* ---- to the device and back ----------------------------------------------------------------- */

static int copy_points(struct sl_device_embedding *e, float *to, const float *from, enum cudaMemcpyKind way,
		       struct sl_error *err)
{
	cudaStream_t stream = e->graph->device->stream;
	size_t row = sizeof(float) * (size_t)e->settings.dims, pitch = sizeof(float) * (size_t)e->stride;
	bool up = way == cudaMemcpyHostToDevice;
	int code = 0;
	SL_CUDA(cudaMemcpy2DAsync(to, up ? pitch : row, from, up ? row : pitch, row, e->n, way, stream));
	SL_CUDA(cudaStreamSynchronize(stream));
out:
	return code;
}

int sl__points_down(struct sl_device_embedding *e, float *to, const float *from, struct sl_error *err)
{
	return copy_points(e, to, from, cudaMemcpyDeviceToHost, err);
}

/* Copies the initial layout, which is in the user's unit, to the device. */
static int scaled_up(struct sl_device_embedding *e, const float *y0, struct sl_error *err)
{
	size_t floats = e->n * (size_t)e->settings.dims;
	if (e->scale == 1)
		return copy_points(e, e->points.y, y0, cudaMemcpyHostToDevice, err);
	float *y = malloc(floats * sizeof *y);
	if (!y)
		return sl_error_memory(err, "an embedding of %u nodes", e->n);
	for (size_t i = 0; i < floats; i++)
		y[i] = (float)((double)y0[i] / e->scale);
	int code = copy_points(e, e->points.y, y, cudaMemcpyHostToDevice, err);
	free(y);
	return code;
}

static float weight_scale(uint32_t n)
{
	double bits = floor(log2(4294967295.0 * 0.999 / n));
	return (float)exp2(fmin(bits, 22));
}

static struct sl_level level_orders(const struct sl_device_embedding *e, const struct sl_plan *plan)
{
	const struct sl_grid *g = &plan->grid;
	float scale = weight_scale(e->n);
	return (struct sl_level){
		.inverse_h = (float)(1 / g->h), .force_scale = (float)(0.5 / (g->h * e->nu)),
		.clamp = (float)(g->side - g->window - 1), .weight_scale = scale, .weight_inverse = 1 / scale,
		.spectrum = plan->spectrum,
		.offset = (float)(0.5 * g->window * g->through / g->h), .tilt = plan->tilt,
		.gather_weight = plan->gather_weight, .gather_first = plan->gather_first, .gather_taps = plan->gather_taps,
		.constant = plan->zero * (double)e->n * (double)e->n - plan->self * (double)e->n,
	};
}

static struct sl_cutoff_orders cutoff_orders(struct sl_device_embedding *e)
{
	const struct sl_grid *g = &e->grid[0];
	struct sl_cutoff_orders o = {.candidates_most = UINT64_MAX};
	if (!sl__is_smooth(e))
		return o;
	o.inverse = (float)((1 - 1e-5) / g->cutoff);  /* cells slightly wider, so that rounding cannot hide a neighbour */
	o.cutoff2 = (float)(g->cutoff * g->cutoff);
	o.candidates_most = e->candidates_most;
	if (e->plan[0] && sl_grid_equal(&e->plan[0]->grid, g) && !sl_grid_equal(&e->cutoff_grid, g)) {
		sl_grid_cutoff(&e->kernel, g);  /* takes as long as several iterations */
		e->cutoff_grid = *g;
	}
	o.kernel = e->kernel;
	return o;
}

/* Copies orders and report to the device. Of the report, only the state changes. */
int sl__control_up(struct sl_device_embedding *e, const struct sl_step *step, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	struct sl_orders *o = &d->control->orders;
	int code = 0;
	memset(o, 0, sizeof *o);
	if (step)
		o->step = *step;
	o->reach = INFINITY;
	o->shrink = -1;
	o->cutoff = cutoff_orders(e);
	if (sl__is_divided(e->graph))
		o->box = sl__boxes(e) + 8 * d->rank;
	memset(d->control->box, 0, sizeof d->control->box);
	if (!e->exact && e->levels > 0 && e->plan[e->levels - 1]) {  /* a state that was just loaded may lack plans */
		o->reach = e->reach;
		o->shrink = e->shrink;
		for (int k = 0; k < e->levels; k++)
			o->level[k] = level_orders(e, e->plan[k]);
	}
	e->report.state = SL_GO;
	e->report.done = 0;
	d->control->report = e->report;
	SL_CUDA(cudaMemcpyAsync(e->control, d->control, sizeof *d->control, cudaMemcpyHostToDevice, d->stream));
out:
	return code;
}

int sl__report_down(struct sl_device_embedding *e, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	int code = 0;
	SL_CUDA(sl__fetch(&d->control->report, &e->control->report, sizeof d->control->report, d->stream));
	e->report = d->control->report;
out:
	return code;
}

/* Computes the bounds of the present layout, into the report. */
static int bound(struct sl_device_embedding *e, struct sl_error *err)
{
	struct sl_report before = e->report;
	int code = 0;
	memset(&e->report, 0, sizeof e->report);
	e->report.iteration = before.iteration;
	e->report.candidates = before.candidates;
	memcpy(e->report.corner, before.corner, sizeof before.corner);
	SL_TRY(sl__control_up(e, NULL, err));
	SL_CUDA(sl__bounds(&e->points, e->part, &e->control->report, e->graph->device->stream));
	code = sl__report_down(e, err);
out:
	return code;
}

int sl__embedding_create(struct sl_device_graph *g, const struct sl_settings *s, const float *y0,
				 struct sl_device_embedding **out, struct sl_error *err)
{
	struct sl_device *d = g->device;
	uint32_t n = g->share.n;
	char what[64];
	struct sl_device_embedding *e = calloc(1, sizeof *e);
	int code = SL_NOMEM;
	if (!e)
		return sl_error_memory(err, "an embedding of %u nodes", n);
	e->graph = g;
	e->settings = *s;
	e->n = n;
	e->stride = sl__stride(s->dims);
	e->scale = s->dof > 0 && s->dof != 1 ? sqrt(s->dof) : 1;
	e->nu = e->scale * e->scale;
	e->stretch = STRETCH_FIRST;
	SL_TRY(sl__device_enter(d, err));
	e->bytes = sl__embedding_bytes(n, s);
	snprintf(what, sizeof what, "An embedding of %u nodes", n);
	SL_TRY(sl__device_alloc(d, e->bytes, what, &e->memory, err));
	d->embedding_bytes += e->bytes;
	lay_out(e, n, s, e->memory);
	e->points.mass = g->matrix.mass;
	if (g->host)
		e->points.rounded = NULL;  /* the host gathers y itself */
	sl__divided_set_up(e);
	e->small = (struct sl_small_state){
		.on = sl__may_be_exact(n, s) && g->small.start, .adam = s->optimizer == SL_ADAM, .device = d,
		.graph = &g->small, .entropy = g->entropy, .points = &e->points, .report = &e->report, .nu = e->nu,
		.scale = e->scale,
	};
	if (e->small.on) {
		e->chosen = e->exact = true;
		code = sl__small_fill(&e->small, y0, err);
		goto out;
	}
	SL_CUDA(cudaMemsetAsync(e->memory, 0, e->bytes, d->stream));
	SL_TRY(scaled_up(e, y0, err));
	if (g->host) {
		SL_TRY(sl__hybrid_create(g, s->dims, &e->hybrid, err));
	}
	if (s->optimizer == SL_MOMENTUM)
		SL_CUDA(sl__fill(e->points.gain, 1, (uint64_t)n * (uint64_t)e->stride, d->stream));
	SL_TRY(bound(e, err));
out:
	if (code)
		sl__embedding_destroy(e);
	else
		*out = e;
	return code;
}

int sl__rescale(struct sl_device_embedding *e, float factor, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	uint64_t floats = (uint64_t)e->n * (uint64_t)e->stride;
	int code = sl__device_enter(d, err);
	if (code)
		return code;
	SL_RETURN(sl__freshen(e, err));
	d->work->owner = NULL;  /* no grid holds charges of this layout */
	SL_CUDA(sl__scale(e->points.y, factor, floats, d->stream));
	if (e->settings.optimizer == SL_MOMENTUM)  /* in y's unit; Adam's means are of gradients */
		SL_CUDA(sl__scale(e->points.velocity, factor, floats, d->stream));
	code = bound(e, err);
out:
	return code;
}

/* ---- state ---------------------------------------------------------------------------------------------- */

/* The header of a checkpoint. The grids of the next iteration depend on earlier ones, so they are part of the state. */
struct state_header {
	uint64_t iteration;
	int32_t chosen, exact, levels;
	float corner[3], reach, shrink;
	uint64_t candidates, candidates_most;
	struct sl_grid grid[SL_LEVELS];
};

uint64_t sl__state_bytes(const struct sl_device_embedding *e)
{
	return sizeof(struct state_header) + 3 * sizeof(float) * (uint64_t)e->n * (uint64_t)e->settings.dims;
}

/* Behind the header: positions, velocities, gains. */
static int copy_state(struct sl_device_embedding *e, float *host, enum cudaMemcpyKind way, struct sl_error *err)
{
	float *arrays[] = {e->points.y, e->points.velocity, e->points.gain};
	size_t floats = e->n * (size_t)e->settings.dims;
	for (size_t i = 0; i < 3; i++) {
		bool up = way == cudaMemcpyHostToDevice;
		float *here = host + i * floats;
		SL_RETURN(copy_points(e, up ? arrays[i] : here, up ? here : arrays[i], way, err));
	}
	return 0;
}

int sl__state_save(struct sl_device_embedding *e, void *out, struct sl_error *err)
{
	struct state_header h;
	memset(&h, 0, sizeof h);
	h.iteration = e->report.iteration;
	h.chosen = e->chosen;
	h.exact = e->exact;
	h.levels = e->levels;
	for (int k = 0; k < e->levels; k++)
		h.grid[k] = e->grid[k];
	memcpy(h.corner, e->report.corner, sizeof h.corner);
	h.candidates = e->report.candidates;
	h.candidates_most = e->candidates_most;
	h.reach = e->reach;
	h.shrink = e->shrink;
	if (out)
		memcpy(out, &h, sizeof h);
	SL_RETURN(sl__device_enter(e->graph->device, err));
	SL_RETURN(sl__freshen(e, err));
	SL_RETURN(sl__gather_points(e, e->points.velocity, e->points.gain, err));
	return out ? copy_state(e, (float *)((char *)out + sizeof h), cudaMemcpyDeviceToHost, err) : 0;
}

/* Checks the properties of a header that kernels rely on without checking. */
static bool pair_plausible(const struct sl_grid *near, const struct sl_grid *far)
{
	return sl__pair_known(near->dims, near->side, far->side) && near->split > 0 && near->split < 1e30 &&
	       far->split == near->split && far->fed_side == near->side && far->through == near->h &&
	       far->h > near->h && far->h < near->h * near->side;
}

static bool plausible(const struct sl_device_embedding *e, const struct state_header *h)
{
	const struct sl_settings *s = &e->settings;
	if (h->levels < 0 || h->levels > SL_LEVELS)
		return false;
	if (!h->chosen)
		return true;
	if (h->exact)
		return sl__is_tree(s) || sl__may_be_exact(e->n, s);
	if (s->repulsion == SL_REPULSION_EXACT || sl__is_tree(s) || h->levels < 1)
		return false;
	for (int k = 0; k < h->levels; k++) {
		const struct sl_grid *g = &h->grid[k];
		if (h->levels == 1 && g->part == SL_GRID_SMOOTH)
			return sl__may_be_smooth(e->n, s) && sl__smooth_known(e->n, s, g);
		int part = h->levels == 1 ? SL_GRID_WHOLE : k ? SL_GRID_FAR : SL_GRID_NEAR;
		if (g->dims != s->dims || g->part != part || g->side < SIDE_LEAST || g->side > SIDE_MOST ||
		    g->window != sl__window_width(e) || !(g->h > 0 && g->h < 1e30) ||
		    g->exponent != sl__exponent(e) || g->cutoff != 0 ||
		    (part != SL_GRID_FAR && (g->fed_side || g->through != 0)) || (part == SL_GRID_WHOLE && g->split != 0))
			return false;
	}
	return h->levels == 1 || (sl_grid_splits(s->dims, e->nu) && pair_plausible(&h->grid[0], &h->grid[1]));
}

int sl__state_load(struct sl_device_embedding *e, const void *state, uint64_t bytes, struct sl_error *err)
{
	struct state_header h;
	if (bytes != sl__state_bytes(e))
		return sl_error_set(err, SL_BADDATA, "The checkpoint holds %llu bytes of state; %llu were expected.",
				    (unsigned long long)bytes, (unsigned long long)sl__state_bytes(e));
	memcpy(&h, state, sizeof h);
	if (!plausible(e, &h))
		return sl_error_set(err, SL_BADDATA, "The checkpoint's grid cannot be right.");
	e->graph->device->work->owner = NULL;
	SL_RETURN(sl__device_enter(e->graph->device, err));
	SL_RETURN(copy_state(e, (float *)((char *)state + sizeof h), cudaMemcpyHostToDevice, err));
	e->chosen = h.chosen;
	e->exact = h.exact;
	e->levels = h.levels;
	for (int k = 0; k < SL_LEVELS; k++)
		e->grid[k] = h.grid[k];
	memcpy(e->report.corner, h.corner, sizeof h.corner);
	e->report.candidates = h.candidates;
	e->candidates_most = h.candidates_most;
	e->reach = h.reach;
	e->shrink = h.shrink;
	e->report.iteration = h.iteration;
	e->fresh = true;
	return bound(e, err);
}
