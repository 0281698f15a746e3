/* The CUDA engine's embeddings: state, choice of grid, iterations, measures.
 *
 * The host never looks at a layout while it runs iterations. It picks a grid that has room for the layout to
 * grow, queues a stretch of iterations as CUDA graphs, and reads one small report when all of them are through. The
 * device itself judges, at the end of each iteration, whether the grid still serves the layout; if not, all
 * that is queued behind does nothing, and the host continues from there with another grid. So which grid an
 * iteration uses depends on the layouts before it alone, never on how the run was cut into stretches. */
#include "gpu/cuda.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/fault.h"
#include "gpu/neighbours/find.h"
#include "gpu/neighbours/resident.h"
#include "gpu/hybrid.h"
#include "gpu/phases.h"
#include "gpu/walk.h"

#define GRAPHS_MAX 24      /* instantiated graphs an embedding keeps */
#define UNROLLED 8         /* iterations in the longer of the two graphs */
#define STRETCH_FIRST 8    /* iterations queued after a change of grid, and at most */
#define STRETCH_MAX 64
#define ROOM 1.1           /* a new grid has room for a layout so many times as large */
#define EXTENT_LEAST 1e-9
#define EXACT_ALWAYS 1.6e7 /* pairs below which nothing is faster than to compute them all */
#define MANY 30000         /* nodes for which a tight layout gets a larger grid, and a still larger one */
#define VERY_MANY 300000
#define EXACT_NODES 110000 /* above, no grid is so large that all pairs cost less */

struct iteration_graph {
	int side, coarse;  /* side 0: all pairs; coarse 0: one grid */
	uint64_t generation;
	uint64_t last_use;
	cudaGraphExec_t once, unrolled;
};

struct sl_device_embedding {
	struct sl_device_graph *graph;
	struct sl_settings settings;
	uint32_t n;
	int stride;                 /* floats a point */
	char *memory;               /* device; all below lies in it */
	uint64_t bytes;
	struct sl_particles points;
	float *partial;             /* [splits][n * stride], all pairs */
	int splits;
	double *part;
	struct sl_desk *desk;
	struct sl_report report;    /* as of the last synchronisation */
	bool chosen, exact;         /* repulsion of the present iteration */
	struct sl_grid grid[SL_LEVELS];  /* when chosen and not exact; levels of them */
	int levels;
	float reach, shrink;        /* layouts that they serve */
	struct sl_plan *plan[SL_LEVELS];  /* held; NULL where there is none yet */
	struct iteration_graph graphs[GRAPHS_MAX];
	uint64_t clock;
	int stretch;
	struct sl_small_state small;
	struct sl_hybrid *hybrid;   /* NULL: P is on the device */
};

static uint64_t up(uint64_t bytes) { return (bytes + 255) / 256 * 256; }
static int stride_of(int dims) { return dims == 3 ? 4 : dims; }

/* ---- memory ------------------------------------------------------------------------------ */

static bool may_be_exact(uint32_t n, const struct sl_settings *s)
{
	return s->repulsion == SL_REPULSION_EXACT || (s->repulsion == SL_REPULSION_AUTO && n <= EXACT_NODES);
}

static uint64_t point_bytes(uint32_t n, const struct sl_settings *s)
{
	return up((uint64_t)n * (uint64_t)stride_of(s->dims) * sizeof(float));
}

static uint64_t part_bytes(uint32_t n) { return up((SL_PARTS + n / 256 + 1) * sizeof(double)); }

static uint64_t cuda_embedding_bytes(uint32_t n, const struct sl_settings *s)
{
	uint64_t floats = (uint64_t)n * (uint64_t)stride_of(s->dims);
	uint64_t partial = may_be_exact(n, s) ? up((uint64_t)sl__exact_splits(n) * floats * sizeof(float)) : 0;
	return 5 * point_bytes(n, s) + partial + part_bytes(n) + up(sizeof(struct sl_desk));
}

static void carve(struct sl_device_embedding *e)
{
	uint64_t each = point_bytes(e->n, &e->settings);
	char *at = e->memory;
	e->points = (struct sl_particles){
		.n = e->n, .dims = e->settings.dims, .y = (float *)at, .velocity = (float *)(at + each),
		.gain = (float *)(at + 2 * each), .attraction = (float *)(at + 3 * each),
		.repulsion = (float *)(at + 4 * each), .mass = e->graph->matrix.mass,
	};
	e->part = (double *)(at + 5 * each);
	e->desk = (struct sl_desk *)(at + 5 * each + part_bytes(e->n));
	if (may_be_exact(e->n, &e->settings)) {
		e->splits = sl__exact_splits(e->n);
		e->partial = (float *)(at + 5 * each + part_bytes(e->n) + up(sizeof(struct sl_desk)));
	}
}

static void graph_destroy(struct iteration_graph *g)
{
	if (g->once)
		cudaGraphExecDestroy(g->once);
	if (g->unrolled)
		cudaGraphExecDestroy(g->unrolled);
	memset(g, 0, sizeof *g);
}

static void cuda_embedding_destroy(struct sl_device_embedding *e)
{
	if (!e)
		return;
	struct sl_device *d = e->graph->device;
	sl__device_enter(d, NULL);
	if (e->hybrid) {  /* after a failure its host function may still be queued */
		cudaStreamSynchronize(d->side);
		cudaStreamSynchronize(d->stream);
	}
	for (int i = 0; i < GRAPHS_MAX; i++)
		graph_destroy(&e->graphs[i]);
	sl__hybrid_destroy(e->hybrid);
	for (int k = 0; k < SL_LEVELS; k++)
		sl__plans_give(d, e->plan[k]);
	if (d->work.owner == e)
		d->work.owner = NULL;
	if (e->memory)
		d->embedding_bytes -= e->bytes;
	sl__device_free(d, e->memory, e->bytes);
	cudaGetLastError();
	free(e);
}

/* ---- to the device and back ----------------------------------------------------------------- */

static int points_up(struct sl_device_embedding *e, float *to, const float *from, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	size_t row = sizeof(float) * (size_t)e->settings.dims, pitch = sizeof(float) * (size_t)e->stride;
	int code = 0;
	SL_CUDA(cudaMemcpy2DAsync(to, pitch, from, row, row, e->n, cudaMemcpyHostToDevice, d->stream));
	SL_CUDA(cudaStreamSynchronize(d->stream));
out:
	return code;
}

static int points_down(struct sl_device_embedding *e, float *to, const float *from, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	size_t row = sizeof(float) * (size_t)e->settings.dims, pitch = sizeof(float) * (size_t)e->stride;
	int code = 0;
	SL_CUDA(cudaMemcpy2DAsync(to, row, from, pitch, row, e->n, cudaMemcpyDeviceToHost, d->stream));
	SL_CUDA(cudaStreamSynchronize(d->stream));
out:
	return code;
}

static float weight_scale(uint32_t n)
{
	double bits = floor(log2(4294967295.0 * 0.999 / n));
	return (float)exp2(fmin(bits, 24));
}

static struct sl_level level_orders(const struct sl_device_embedding *e, const struct sl_plan *plan)
{
	const struct sl_grid *g = &plan->grid;
	float scale = weight_scale(e->n);
	return (struct sl_level){
		.inverse_h = (float)(1 / g->h), .force_scale = (float)(0.5 / g->h), .clamp = (float)(g->side - g->window - 1),
		.weight_scale = scale, .weight_inverse = 1 / scale, .spectrum = plan->spectrum,
		.offset = (float)(0.5 * g->window * g->through / g->h), .tilt = plan->tilt, .gather_weight = plan->gather_weight,
		.gather_first = plan->gather_first, .gather_taps = plan->gather_taps,
		.constant = plan->zero * (double)e->n * (double)e->n - plan->self * (double)e->n,
	};
}

/* Orders and report to the device, the report as it was but for its state. */
static int desk_up(struct sl_device_embedding *e, const struct sl_step *step, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	struct sl_orders *o = &d->desk->orders;
	int code = 0;
	memset(o, 0, sizeof *o);
	if (step) {
		o->exaggeration = step->exaggeration;
		o->learning_rate = step->learning_rate;
		o->momentum = step->momentum;
	}
	o->reach = INFINITY;
	o->shrink = -1;
	o->levels = 1;
	if (!e->exact && e->plan[0]) {
		o->reach = e->reach;
		o->shrink = e->shrink;
		o->levels = e->levels;
		for (int k = 0; k < e->levels; k++)
			o->level[k] = level_orders(e, e->plan[k]);
	}
	e->report.state = SL_GO;
	e->report.done = 0;
	d->desk->report = e->report;
	SL_CUDA(cudaMemcpyAsync(e->desk, d->desk, sizeof *d->desk, cudaMemcpyHostToDevice, d->stream));
out:
	return code;
}

static int report_down(struct sl_device_embedding *e, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	int code = 0;
	SL_CUDA(cudaMemcpyAsync(&d->desk->report, &e->desk->report, sizeof d->desk->report, cudaMemcpyDeviceToHost,
				d->stream));
	SL_CUDA(cudaStreamSynchronize(d->stream));
	e->report = d->desk->report;
out:
	return code;
}

static int bound(struct sl_device_embedding *e, struct sl_error *err)
{
	struct sl_report before = e->report;
	int code = 0;
	memset(&e->report, 0, sizeof e->report);
	e->report.iteration = before.iteration;
	memcpy(e->report.corner, before.corner, sizeof before.corner);
	code = desk_up(e, NULL, err);
	if (code)
		goto out;
	SL_CUDA(sl__bounds(&e->points, e->part, &e->desk->report, e->graph->device->stream));
	code = report_down(e, err);
out:
	return code;
}

static int cuda_embedding_create(struct sl_device_graph *g, const struct sl_settings *s, const float *y0,
				 struct sl_device_embedding **out, struct sl_error *err)
{
	struct sl_device *d = g->device;
	uint32_t n = g->matrix.n;
	char what[64];
	struct sl_device_embedding *e = calloc(1, sizeof *e);
	int code = SL_NOMEM;
	if (!e)
		return sl_error_set(err, SL_NOMEM, "No memory for an embedding of %u nodes.", n);
	if (s->dof != 0 && s->dof != 1) {
		free(e);
		return sl_error_field(err, SL_BADPARAM, "/dof", "dof is %g; on a GPU it must be 1. The CPU engine knows "
				      "others.", s->dof);
	}
	e->graph = g;
	e->settings = *s;
	e->n = n;
	e->stride = stride_of(s->dims);
	e->stretch = STRETCH_FIRST;
	code = sl__device_enter(d, err);
	if (code)
		goto out;
	e->bytes = cuda_embedding_bytes(n, s);
	snprintf(what, sizeof what, "An embedding of %u nodes", n);
	code = sl__device_alloc(d, e->bytes, what, &e->memory, err);
	if (code)
		goto out;
	d->embedding_bytes += e->bytes;
	carve(e);
	e->small = (struct sl_small_state){
		.on = may_be_exact(n, s) && g->small.start, .adam = s->optimizer == SL_ADAM, .graph = g,
		.points = &e->points, .report = &e->report,
	};
	if (e->small.on) {
		e->chosen = e->exact = true;
		code = sl__small_fill(&e->small, y0, err);
		goto out;
	}
	SL_CUDA(cudaMemsetAsync(e->memory, 0, e->bytes, d->stream));
	code = points_up(e, e->points.y, y0, err);
	if (!code && g->host)
		code = sl__hybrid_create(g, s->dims, &e->hybrid, err);
	if (!code && s->optimizer == SL_MOMENTUM)
		SL_CUDA(sl__fill(e->points.gain, 1, (uint64_t)n * (uint64_t)e->stride, d->stream));
	if (!code)
		code = bound(e, err);
out:
	if (code)
		cuda_embedding_destroy(e);
	else
		*out = e;
	return code;
}

/* ---- choice of a grid -------------------------------------------------------------------------- */

/* Sides whose transforms are fast, few enough that a run changes them rarely: of padded grids; and, with the side of
 * the coarse one, of pairs of grids (none in 1-D, where transforms cost little). */
static const int ladder[4][20] = {
	{0},
	{64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576, 0},
	{32, 64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 0},
	{32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 320, 0},
};

struct pair {
	int side, coarse;
};
static const struct pair pairs[4][20] = {
	{{0, 0}},
	{{0, 0}},
	{{768, 128}, {1024, 192}, {1280, 256}, {1536, 256}, {2048, 384}, {2560, 512}, {3072, 512}, {4096, 768}, {6144, 1024},
	 {8192, 1280}, {0, 0}},
	{{64, 24}, {72, 24}, {80, 28}, {96, 32}, {112, 36}, {128, 40}, {144, 42}, {160, 48}, {180, 54}, {200, 56}, {216, 60},
	 {240, 64}, {256, 64}, {288, 72}, {320, 80}, {360, 90}, {400, 96}, {0, 0}},
};

/* One grid no larger than that is faster than two. */
static const int one_grid_most[4] = {0, 1 << 30, 768, 32};

/* Longest side of a layout that fits. The far one of two grids also holds the near one's charges, which lie up to a
 * window's width outside of the layout. */
static double reach_of(const struct sl_device_embedding *e)
{
	const struct sl_grid *g = e->grid;
	return e->levels == 1 ? sl_grid_reach(&g[0]) : sl_grid_reach(&g[1]) - (g[0].window + 1) * g[0].h;
}

static void split(struct sl_device_embedding *e, double h, const struct pair *p)
{
	sl_grid_split(&e->grid[0], &e->grid[1], e->settings.dims, e->settings.accuracy, h, p->side, p->coarse);
	sl_grid_feed(&e->grid[0], &e->grid[1]);
}

/* Two grids that reach as far as `want`, at spacing h or, beyond the largest, a wider one. */
static void choose_pair(struct sl_device_embedding *e, double want, double h)
{
	const struct sl_settings *s = &e->settings;
	const struct pair *p = pairs[s->dims];
	e->levels = 2;
	for (;; p++) {
		split(e, h, p);
		if (reach_of(e) >= want || !p[1].side)
			break;
	}
	double wider = want / reach_of(e);
	if (wider > 1)  /* by quarter octaves, so that plans are met again */
		split(e, h * exp2(ceil(4 * log2(wider)) / 4), p);
}

/* The grids for a layout of longest side `extent`, and the layouts that they serve. Sides above the smallest come
 * with the widest spacing that the accuracy allows: the room that is left over puts off the next change. */
static void choose_grid(struct sl_device_embedding *e, double extent)
{
	const struct sl_settings *s = &e->settings;
	const int *side = ladder[s->dims];
	double want = fmax(extent, EXTENT_LEAST) * ROOM, widest = sl_grid_spacing(s->dims, s->accuracy);
	if (s->dims == 1 || s->accuracy == SL_FINE)
		widest *= 0.9;  /* always the widest, where the CPU engine's is so at worst */
	int margin = sl_grid_window(s->dims, s->accuracy) + 1;
	/* More nodes than accuracy asks for spread a tight layout's atomic additions over more addresses; but the
	 * transforms' rounding errors grow with side and emptiness. */
	bool smallest = false, fine = s->accuracy == SL_FINE;
	int first = s->dims == 2 && !fine ? e->n < MANY ? 2 : e->n < VERY_MANY ? 4 : 6 : 0;
	double steps = fine ? 8 : 1;  /* of spacing, an octave */
	side += first;
	while (side[1] && widest * (*side - margin) < want)
		side++;
	e->levels = 1;
	if (s->grid_side || (s->dims == 1 && widest * (*side - margin) < want)) {
		sl_grid_choose(&e->grid[0], s->dims, s->accuracy, s->grid_side ? s->grid_side : *side, want);
	} else if (*side > one_grid_most[s->dims] || widest * (*side - margin) < want) {
		choose_pair(e, want, widest);
	} else {
		smallest = side == ladder[s->dims] + first;
		e->grid[0] = (struct sl_grid){.dims = s->dims, .side = *side, .window = margin - 1, .h = widest};
		if (smallest)
			e->grid[0].h = widest * exp2(-floor(steps * log2(widest * (*side - margin) / want)) / steps);
	}
	e->reach = (float)(reach_of(e) * (1 - 1e-5));
	for (int k = 0; k < s->dims; k++)  /* the layout in the middle */
		e->report.corner[k] = 0.5f * (e->report.low[k] + e->report.high[k] - e->reach);
	e->shrink = extent <= EXTENT_LEAST ? -1 : e->reach * (smallest && !fine ? 0.125f : 0.3f);
}

static float extent_of(const struct sl_device_embedding *e)
{
	float extent = 0;
	for (int k = 0; k < e->settings.dims; k++)
		extent = fmaxf(extent, e->report.high[k] - e->report.low[k]);
	return extent;
}

/* A pair costs about a thirtieth of a node of the grid that is transformed. */
static bool exact_is_cheaper(const struct sl_device_embedding *e)
{
	double pairs = (double)e->n * (double)e->n;
	return pairs < EXACT_ALWAYS || pairs < 30 * pow(sl_grid_length(&e->grid[0]), e->grid[0].dims);
}

/* Plans of the chosen grids, those held before given back. */
static int take_plans(struct sl_device_embedding *e, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	for (int k = 0; k < SL_LEVELS; k++) {
		struct sl_plan *plan = NULL;
		if (k < e->levels && e->plan[k] && sl_grid_equal(&e->plan[k]->grid, &e->grid[k]))
			continue;
		int code = k < e->levels ? sl__plans_take(d, &e->grid[k], &plan, err) : 0;
		if (code)
			return code;
		sl__plans_give(d, e->plan[k]);
		e->plan[k] = plan;
	}
	return 0;
}

static bool is_inside(const struct sl_device_embedding *e)
{
	for (int k = 0; k < e->settings.dims; k++)
		if (!(e->report.low[k] >= e->report.corner[k] && e->report.high[k] <= e->report.corner[k] + e->reach))
			return false;
	return true;
}

/* Grid (or all pairs), work and plan for the layout as it stands. */
static int prepare(struct sl_device_embedding *e, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	if (!e->report.finite)
		return sl_error_field(err, SL_BADPARAM, "/learning_rate",
				      "%s", SL_DIVERGED_DETAIL);
	float extent = extent_of(e);
	bool fits = e->chosen && (e->exact || (is_inside(e) && extent >= e->shrink));
	if (!fits) {
		choose_grid(e, (double)extent);
		d->work.owner = NULL;
		e->exact = e->settings.repulsion == SL_REPULSION_EXACT ||
			   (e->settings.repulsion == SL_REPULSION_AUTO && may_be_exact(e->n, &e->settings) &&
			    exact_is_cheaper(e));
		e->chosen = true;
		e->stretch = STRETCH_FIRST;
	}
	if (e->exact)
		return 0;
	struct sl_transform *transforms[SL_LEVELS];
	int code = take_plans(e, err);
	if (code) {
		e->chosen = fits;
		return code;
	}
	return sl__work_reserve(d, e->grid, e->levels, transforms, err);
}

/* ---- one iteration -------------------------------------------------------------------------------- */

static cudaError_t queue_attraction(struct sl_device_embedding *e, cudaStream_t stream)
{
	const struct sl_report *r = &e->desk->report;
	return e->hybrid ? sl__hybrid_attract(e->hybrid, &e->points, r, stream) :
			   sl__attract(&e->graph->matrix, &e->points, r, stream);
}

static size_t charge_bytes(const struct sl_grid_memory *g)
{
	size_t side = (size_t)g->side, rows = g->dims == 1 ? 1 : g->dims == 2 ? side : side * side;
	return rows * (size_t)g->pairs * sizeof *g->charges;
}

/* Charges as the near level's transform wants them. */
static int queue_near(struct sl_device_embedding *e, cudaStream_t stream, struct sl_error *err)
{
	const struct sl_grid_memory *g = e->graph->device->work.grid;
	int code = 0;
	if (e->plan[0]->transform->own)
		SL_CUDA(sl__fft_rows(&g[0], &g[0], &e->desk->orders, &e->desk->report, stream));
	else
		SL_CUDA(sl__convert(&g[0], &e->desk->orders, &e->desk->report, stream));
out:
	return code;
}

/* The same for the far level. fft.cu's rows leave it what it needs; beside cuFFT it takes the charges itself, and clears
 * them. `near`, an event: the near level has taken them. */
static int queue_far(struct sl_device_embedding *e, cudaStream_t stream, cudaEvent_t near, struct sl_error *err)
{
	const struct sl_grid_memory *g = e->graph->device->work.grid;
	const struct sl_orders *o = &e->desk->orders;
	const struct sl_report *r = &e->desk->report;
	bool feed = !e->plan[0]->transform->own;
	int code = 0;
	if (feed)
		SL_CUDA(sl__feed(&g[0], o, r, stream));
	SL_CUDA(cudaStreamWaitEvent(stream, near, 0));
	if (e->plan[1]->transform->own)
		SL_CUDA(sl__fft_rows(&g[1], &g[0], o, r, stream));
	else
		SL_CUDA(sl__restrict(&g[0], &g[1], o, r, stream));
	if (feed)
		SL_CUDA(sl__clear(&g[0], r, stream));
out:
	return code;
}

/* From there to the level's potential. */
static int queue_convolution(struct sl_device_embedding *e, int level, cudaStream_t stream, struct sl_error *err)
{
	const struct sl_grid_memory *g = &e->graph->device->work.grid[level];
	const struct sl_transform *t = e->plan[level]->transform;
	const struct sl_orders *o = &e->desk->orders;
	struct sl_report *r = &e->desk->report;
	int code = 0;
	if (t->own) {
		SL_CUDA(sl__fft_convolve(g, o, r, e->part, stream));
	} else {
		SL_CUFFT(cufftExecR2C(t->forward, g->input, g->spectrum));
		SL_CUDA(sl__multiply(g, o, r, e->part, stream));
		SL_CUFFT(cufftExecC2R(t->inverse, g->spectrum, g->potential));
	}
out:
	return code;
}

/* The repulsion's potentials; the far level's on a stream of its own, which is not waited for. d->fork: recorded. */
static int queue_grids(struct sl_device_embedding *e, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	int code = queue_near(e, d->stream, err);
	if (!code && e->levels > 1) {
		SL_CUDA(cudaEventRecord(d->far_fork, d->stream));
		SL_CUDA(cudaStreamWaitEvent(d->far, d->fork, 0));
		code = queue_far(e, d->far, d->far_fork, err);
		if (!code)
			code = queue_convolution(e, 1, d->far, err);
		if (code)
			goto out;
		SL_CUDA(cudaEventRecord(d->far_join, d->far));
	}
	if (!code)
		code = queue_convolution(e, 0, d->stream, err);
out:
	return code;
}

static cudaError_t queue_step(struct sl_device_embedding *e, enum sl_step_kind kind)
{
	struct sl_device *d = e->graph->device;
	return sl__step(&e->points, d->work.grid, e->levels, e->partial, e->exact ? e->splits : 0, kind, e->part,
			&e->desk->orders, &e->desk->report, d->stream);
}

static enum sl_step_kind step_kind(const struct sl_device_embedding *e)
{
	return e->settings.optimizer == SL_ADAM ? SL_STEP_ADAM : SL_STEP_MOMENTUM;
}

/* Queues both forces (the attraction on a stream of its own) and what `kind` makes of them. */
static int queue(struct sl_device_embedding *e, enum sl_step_kind kind, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	struct sl_report *r = &e->desk->report;
	int code = 0;
	SL_CUDA(cudaEventRecord(d->fork, d->stream));
	SL_CUDA(cudaStreamWaitEvent(d->side, d->fork, 0));
	SL_CUDA(queue_attraction(e, d->side));
	SL_CUDA(cudaEventRecord(d->join, d->side));
	if (e->exact)
		SL_CUDA(sl__exact(&e->points, e->splits, e->partial, e->part, r, d->stream));
	else
		code = queue_grids(e, err);
	if (code)
		goto out;
	SL_CUDA(cudaStreamWaitEvent(d->stream, d->join, 0));
	if (!e->exact && e->levels > 1)
		SL_CUDA(cudaStreamWaitEvent(d->stream, d->far_join, 0));
	SL_CUDA(queue_step(e, kind));
out:
	return code;
}

/* The layout as it stands on the grids, if it is not there already. After desk_up(). */
static int spread(struct sl_device_embedding *e, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	int code = 0;
	if (e->exact || d->work.owner == e)
		return 0;
	struct sl_grid_memory *g = &d->work.grid[0];
	SL_CUDA(cudaMemsetAsync(g->charges, 0, charge_bytes(g), d->stream));
	SL_CUDA(sl__spread(&e->points, g, &e->desk->orders, &e->desk->report, d->stream));
	d->work.owner = e;
out:
	return code;
}

static int capture(struct sl_device_embedding *e, int iterations, cudaGraphExec_t *out, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	cudaGraph_t graph = NULL;
	bool capturing = false;
	int code = 0;
	SL_CUDA(cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal));
	capturing = true;
	for (int i = 0; i < iterations && !code; i++)
		code = queue(e, step_kind(e), err);
	if (code)
		goto out;
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

/* The graphs of the present kind of iteration, captured if need be; the least recently used ones make room. */
static int find_graphs(struct sl_device_embedding *e, struct iteration_graph **out, struct sl_error *err)
{
	int side = e->exact ? 0 : e->grid[0].side, coarse = !e->exact && e->levels > 1 ? e->grid[1].side : 0, code = 0;
	uint64_t generation = e->exact ? 0 : e->graph->device->work.generation;
	struct iteration_graph *oldest = &e->graphs[0];
	for (int i = 0; i < GRAPHS_MAX; i++) {
		struct iteration_graph *g = &e->graphs[i];
		if (g->once && g->side == side && g->coarse == coarse && g->generation == generation) {
			g->last_use = ++e->clock;
			*out = g;
			return 0;
		}
		if (g->last_use < oldest->last_use)
			oldest = g;
	}
	graph_destroy(oldest);
	oldest->side = side;
	oldest->coarse = coarse;
	oldest->generation = generation;
	oldest->last_use = ++e->clock;
	code = capture(e, 1, &oldest->once, err);
	if (!code)
		code = capture(e, UNROLLED, &oldest->unrolled, err);
	if (code)
		graph_destroy(oldest);
	*out = oldest;
	return code;
}

static bool cuda_joins(const struct sl_device_embedding *e) { return e->small.on; }

static int cuda_run_many(struct sl_run *run, int count, struct sl_error *err)
{
	struct sl_small_state **state = malloc(sizeof(struct sl_small_state *) * (size_t)(count > 0 ? count : 1));
	int code = 0;
	if (!state)
		return sl_error_set(err, SL_NOMEM, "No memory for %d embeddings side by side.", count);
	for (int i = 0; i < count; i++)
		state[i] = &run[i].embedding->small;
	if (count > 0) {
		struct sl_device *d = run[0].embedding->graph->device;
		code = sl__device_enter(d, err);
		if (!code)
			SL_CUDA(sl__fault_if_due(d->stream));
		if (!code)
			code = sl__small_many(d, run, state, count, err);
	}
out:
	free(state);
	return code;
}

/* One stretch of a small embedding. */
static int run_small(struct sl_device_embedding *e, struct sl_stretch *stretch, struct sl_error *err)
{
	struct sl_run run = {.embedding = e, .stretch = stretch, .stretches = 1};
	int code = cuda_run_many(&run, 1, err);
	if (!code && run.code && err)
		*err = run.err;
	return code ? code : run.code;
}

static int cuda_run(struct sl_device_embedding *e, const struct sl_step *step, int iterations, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	if (e->small.on)
		return run_small(e, &(struct sl_stretch){.step = *step, .iterations = iterations}, err);
	int code = sl__device_enter(d, err);
	if (!code)
		SL_CUDA(sl__fault_if_due(d->stream));
	while (!code && iterations > 0) {
		struct iteration_graph *g;
		code = prepare(e, err);
		if (!code)
			code = find_graphs(e, &g, err);
		if (!code)
			code = desk_up(e, step, err);
		if (!code)
			code = spread(e, err);
		if (code)
			break;
		int count = e->stretch < iterations ? e->stretch : iterations;
		for (int i = 0; i < count / UNROLLED; i++)
			SL_CUDA(cudaGraphLaunch(g->unrolled, d->stream));
		for (int i = 0; i < count % UNROLLED; i++)
			SL_CUDA(cudaGraphLaunch(g->once, d->stream));
		code = report_down(e, err);
		iterations -= (int)e->report.done;
		e->stretch = e->stretch * 2 < STRETCH_MAX ? e->stretch * 2 : STRETCH_MAX;
		if (!code && !e->report.done)
			code = sl_error_set(err, SL_INTERNAL, "An iteration on the GPU made no progress.");
	}
out:
	return code;
}

/* ---- looking at it ---------------------------------------------------------------------------------- */

/* Both forces of the layout as it stands, in points.attraction and points.repulsion, and report.z. */
static int forces(struct sl_device_embedding *e, struct sl_error *err)
{
	int code = sl__device_enter(e->graph->device, err);
	if (!code)
		code = prepare(e, err);
	if (!code)
		code = desk_up(e, NULL, err);
	if (!code)
		code = spread(e, err);
	if (!code)
		code = queue(e, SL_STEP_NONE, err);
	e->graph->device->work.owner = NULL;  /* the charges are used up */
	return code;
}

static int measure_small(struct sl_device_embedding *e, struct sl_measure *out, struct sl_error *err)
{
	struct sl_stretch stretch = {.measure = true};
	int code = run_small(e, &stretch, err);
	*out = stretch.measured;
	return code;
}

static int cuda_measure(struct sl_device_embedding *e, struct sl_measure *out, struct sl_error *err)
{
	if (e->small.on)
		return measure_small(e, out, err);
	int code = forces(e, err);
	if (code)
		return code;
	if (!e->hybrid)
		SL_CUDA(sl__measure(&e->graph->matrix, &e->points, e->part, &e->desk->report, e->graph->device->stream));
	code = report_down(e, err);
	if (!code && e->hybrid)
		code = sl__hybrid_measure(e->hybrid, &e->points, &e->report, e->graph->device->stream, err);
	if (code)
		return code;
	memset(out, 0, sizeof *out);
	out->z = e->report.z;
	out->kl = e->graph->entropy + e->report.divergence + log(e->report.z);
	out->gradient_norm = sqrt(e->report.square);
	for (int k = 0; k < e->settings.dims; k++) {
		out->low[k] = e->report.low[k];
		out->high[k] = e->report.high[k];
	}
	if (!e->exact) {
		out->h = e->grid[0].h;
		out->side = e->grid[0].side;
	}
	out->finite = e->report.finite && isfinite(out->kl);
out:
	return code;
}

static int cuda_snapshot(struct sl_device_embedding *e, float *y, struct sl_error *err)
{
	int code = sl__device_enter(e->graph->device, err);
	return code ? code : points_down(e, y, e->points.y, err);
}

static int cuda_snapshot_start(struct sl_device_embedding *e, bool quantise, struct sl_device_snapshot **out,
			       struct sl_error *err)
{
	int code = sl__device_enter(e->graph->device, err);
	return code ? code : sl__snapshot_start(e->graph->device, &e->points, e->report.low, e->report.high, quantise, out,
						err);
}

static int cuda_forces(struct sl_device_embedding *e, float *attraction, float *repulsion, double *z,
		       struct sl_error *err)
{
	int code = forces(e, err);
	if (!code)
		code = report_down(e, err);
	if (!code && attraction)
		code = points_down(e, attraction, e->points.attraction, err);
	if (!code && repulsion) {
		code = points_down(e, repulsion, e->points.repulsion, err);
		for (size_t i = 0; !code && i < e->n * (size_t)e->settings.dims; i++)
			repulsion[i] = (float)((double)repulsion[i] / e->report.z);
	}
	if (!code && z)
		*z = e->report.z;
	return code;
}

/* ---- state ---------------------------------------------------------------------------------------------- */

/* Which grid the next iteration uses follows from those before: it is part of the state. */
struct state_header {
	uint64_t iteration;
	int32_t chosen, exact, levels;
	float corner[3], reach, shrink;
	struct sl_grid grid[SL_LEVELS];
};

static uint64_t cuda_state_bytes(const struct sl_device_embedding *e)
{
	return sizeof(struct state_header) + 3 * sizeof(float) * (uint64_t)e->n * (uint64_t)e->settings.dims;
}

static int cuda_state_save(struct sl_device_embedding *e, void *out, struct sl_error *err)
{
	size_t floats = e->n * (size_t)e->settings.dims;
	struct state_header h;
	memset(&h, 0, sizeof h);
	h.iteration = e->report.iteration;
	h.chosen = e->chosen;
	h.exact = e->exact;
	h.levels = e->levels;
	for (int k = 0; k < e->levels; k++)
		h.grid[k] = e->grid[k];
	memcpy(h.corner, e->report.corner, sizeof h.corner);
	h.reach = e->reach;
	h.shrink = e->shrink;
	memcpy(out, &h, sizeof h);
	float *to = (float *)((char *)out + sizeof h);
	int code = sl__device_enter(e->graph->device, err);
	if (!code)
		code = points_down(e, to, e->points.y, err);
	if (!code)
		code = points_down(e, to + floats, e->points.velocity, err);
	if (!code)
		code = points_down(e, to + 2 * floats, e->points.gain, err);
	return code;
}

static bool plausible(const struct sl_device_embedding *e, const struct state_header *h)
{
	const struct sl_settings *s = &e->settings;
	if (!h->chosen)
		return true;
	if (h->exact)
		return may_be_exact(e->n, s);
	if (s->repulsion == SL_REPULSION_EXACT || h->levels < 1 || h->levels > SL_LEVELS)
		return false;
	for (int k = 0; k < h->levels; k++) {
		const struct sl_grid *g = &h->grid[k];
		int part = h->levels == 1 ? SL_GRID_WHOLE : k ? SL_GRID_FAR : SL_GRID_NEAR;
		if (g->dims != s->dims || g->part != part || g->side < 16 || g->side > ladder[1][14] ||
		    g->window != sl_grid_window(s->dims, s->accuracy) || !(g->h > 0 && g->h < 1e30) ||
		    !(part == SL_GRID_WHOLE || (g->split > 0 && g->split < 1e30)) || !(g->through >= 0 && g->through <= g->h) ||
		    (part == SL_GRID_FAR && g->fed_side != h->grid[0].side))
			return false;
	}
	return true;
}

static int cuda_state_load(struct sl_device_embedding *e, const void *state, uint64_t bytes, struct sl_error *err)
{
	size_t floats = e->n * (size_t)e->settings.dims;
	struct state_header h;
	if (bytes != cuda_state_bytes(e))
		return sl_error_set(err, SL_BADDATA, "The checkpoint holds %llu bytes of state; %llu would be right.",
				    (unsigned long long)bytes, (unsigned long long)cuda_state_bytes(e));
	memcpy(&h, state, sizeof h);
	if (!plausible(e, &h))
		return sl_error_set(err, SL_BADDATA, "The checkpoint's grid cannot be right.");
	const float *from = (const float *)((const char *)state + sizeof h);
	int code = sl__device_enter(e->graph->device, err);
	if (!code)
		code = points_up(e, e->points.y, from, err);
	if (!code)
		code = points_up(e, e->points.velocity, from + floats, err);
	if (!code)
		code = points_up(e, e->points.gain, from + 2 * floats, err);
	if (code)
		return code;
	e->chosen = h.chosen;
	e->exact = h.exact;
	e->levels = h.levels;
	for (int k = 0; k < SL_LEVELS; k++)
		e->grid[k] = h.grid[k];
	e->graph->device->work.owner = NULL;
	memcpy(e->report.corner, h.corner, sizeof h.corner);
	e->reach = h.reach;
	e->shrink = h.shrink;
	e->report.iteration = h.iteration;
	return bound(e, err);
}

/* ---- phases ----------------------------------------------------------------------------------------------- */

/* Transforms take as long whatever the charges are; those that each step leaves are added to those before it. */
static int queue_part(struct sl_device_embedding *e, enum sl_part part, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	bool far = part == SL_PART_CONVOLVE_FAR;
	cudaStream_t stream = far ? d->far : d->stream;  /* its transforms have their stream */
	int code = 0;
	if (far) {
		SL_CUDA(cudaEventRecord(d->fork, d->stream));
		SL_CUDA(cudaStreamWaitEvent(d->far, d->fork, 0));
	}
	switch (part) {
	case SL_PART_ATTRACTION: SL_CUDA(queue_attraction(e, stream)); break;
	case SL_PART_CONVOLVE:
	case SL_PART_CONVOLVE_FAR:
		code = far ? queue_far(e, stream, d->fork, err) : queue_near(e, stream, err);
		if (!code)
			code = queue_convolution(e, far, stream, err);
		break;
	case SL_PART_ALL_PAIRS:
		SL_CUDA(sl__exact(&e->points, e->splits, e->partial, e->part, &e->desk->report, stream));
		break;
	case SL_PART_STEP: SL_CUDA(queue_step(e, step_kind(e))); break;
	}
	if (far) {
		SL_CUDA(cudaEventRecord(d->far_join, d->far));
		SL_CUDA(cudaStreamWaitEvent(d->stream, d->far_join, 0));
	}
out:
	return code;
}

/* A small embedding has no phases: its iterations are one kernel. */
static int time_small(struct sl_device_embedding *e, struct sl_phase *out, struct sl_error *err)
{
	struct sl_stretch stretch = {.step = {.exaggeration = 1}, .iterations = SL_PART_ITERATIONS};
	uint64_t layout = point_bytes(e->n, &e->settings);
	int code = 0;
	double took[SL_PART_ROUNDS] = {0};
	for (int i = -1; i < SL_PART_ROUNDS && !code; i++) {
		double began = sl__part_clock();
		code = run_small(e, &stretch, err);
		took[i < 0 ? 0 : i] = (sl__part_clock() - began) / SL_PART_ITERATIONS;
	}
	sl__part_median(took, SL_PART_ROUNDS, out);
	out->name = "iteration, one cluster";
	out->bytes = (e->graph->small_bytes + 6 * layout) / SL_PART_ITERATIONS + 1;  /* once a launch */
	return code ? code : 1;
}

/* Steps of length 0 lead nowhere; velocities and gains, which they do change, are saved and put back. */
static int cuda_phases(struct sl_device_embedding *e, struct sl_phase *out, int max, struct sl_error *err)
{
	static const struct sl_step nowhere = {.exaggeration = 1};
	uint64_t bytes = cuda_state_bytes(e);
	void *state = malloc(bytes);
	int count = 0, code = state ? 0 : sl_error_set(err, SL_NOMEM, "No memory to measure the phases of %u nodes.", e->n);
	if (!code)
		code = cuda_state_save(e, state, err);
	if (!code && !e->small.on)
		code = prepare(e, err);
	if (!code && !e->small.on)
		code = desk_up(e, &nowhere, err);
	if (!code) {
		struct sl_parts parts = {
			.e = e, .queue = queue_part, .n = e->n, .dims = e->settings.dims, .stride = e->stride,
			.matrix_bytes = e->hybrid ? 8 * (e->graph->matrix.m + e->n) : e->graph->bytes,
			.exact = e->exact, .splits = e->splits, .levels = e->levels,
		};
		for (int k = 0; k < e->levels && !e->exact; k++)
			parts.own_fft[k] = e->plan[k]->transform->own;
		struct sl_phase whole = {0};
		count = e->small.on ? time_small(e, max > 0 ? out : &whole, err) :
				      sl__time_parts(e->graph->device, &parts, out, max, err);
		int restored = cuda_state_load(e, state, bytes, count < 0 ? NULL : err);
		code = count < 0 ? count : restored;
	}
	free(state);
	return code ? code : count;
}

/* ---- devices ------------------------------------------------------------------------------------------------ */

static void cuda_info(struct sl_device *d, struct sl_device_info *out)
{
	memset(out, 0, sizeof *out);
	snprintf(out->name, sizeof out->name, "%s", d->name);
	snprintf(out->kind, sizeof out->kind, "cuda");
	out->memory_total = d->total;
	out->memory_used = d->used;
	out->memory_budget = d->budget;
	out->graph_bytes = d->graph_bytes;
	out->embedding_bytes = d->embedding_bytes;
	sl_plan_cache_info(&d->plans.cache, out);
}

static int cuda_plans(struct sl_device *d, struct sl_plan_info *out, int max)
{
	return sl_plan_cache_list(&d->plans.cache, out, max);
}

static void cuda_plans_clear(struct sl_device *d)
{
	if (sl__device_enter(d, NULL))
		return;
	sl__plans_clear(d);
	sl__copies_trim(d);
}

static int cuda_graph_put(struct sl_device *d, const struct sl_affinities *a, struct sl_device_graph **out,
			  struct sl_error *err)
{
	int code = sl__device_enter(d, err);
	return code ? code : sl__graph_put(d, a, out, err);
}

/* From any thread: the context must not be reset meanwhile. */
static int cuda_neighbours_find(int index, uint64_t memory_bytes, const struct sl_points *p,
				const struct sl_neighbours_params *params, struct sl_neighbours **out, struct sl_error *err)
{
	sl__context_hold();
	int code = sl__neighbours_find(index, memory_bytes, p, params, out, err);
	sl__context_release();
	return code;
}

static void cuda_graph_drop(struct sl_device_graph *g)
{
	if (g)
		sl__device_enter(g->device, NULL);
	sl__graph_drop(g);
}

const struct sl_engine *sl_engine_cuda(void)
{
	static const struct sl_engine engine = {
		.name = "cuda", .open = sl__device_open, .close = sl__device_close, .info = cuda_info,
		.plans = cuda_plans, .plans_clear = cuda_plans_clear, .graph_put = cuda_graph_put,
		.graph_drop = cuda_graph_drop, .embedding_bytes = cuda_embedding_bytes,
		.embedding_create = cuda_embedding_create, .embedding_destroy = cuda_embedding_destroy,
		.run = cuda_run, .measure = cuda_measure, .snapshot = cuda_snapshot, .state_bytes = cuda_state_bytes,
		.state_save = cuda_state_save, .state_load = cuda_state_load, .forces = cuda_forces,
		.joins = cuda_joins, .run_many = cuda_run_many, .snapshot_start = cuda_snapshot_start,
		.snapshot_ready = sl__snapshot_ready, .snapshot_finish = sl__snapshot_finish, .phases = cuda_phases,
		.copy_bandwidth = sl__device_copy_bandwidth, .neighbours_find = cuda_neighbours_find,
		.neighbours_put = sl__neighbours_put, .neighbours_drop = sl__neighbours_drop,
		.neighbours_graph = sl__neighbours_graph, .walk_mass = sl__walk_mass,
		.walk_components = sl__walk_components, .walk_filter = sl__walk_filter,
	};
	return &engine;
}
