/* Signals as a method: a run in slices, with a trace of its level.
 *
 * Each point of the trace checks all values and ends the run if one is infinite. */
#include <math.h>
#include <stdlib.h>

#include "core/graph/affinities.h"
#include "core/graph/graph.h"
#include "core/method/method.h"
#include "core/method/sliced.h"
#include "core/signal/coupling.h"
#include "core/signal/passes.h"
#include "core/signal/signal.h"

struct run {
	struct sl_sliced slices;
	struct sl_signal *of;
	struct sl_signal_params params;
	struct sl_signal_status status;
	uint32_t n;
	double level;
};

#define DENSE 100  /* the first steps, each of which has a point in the trace */

static int iterations(const void *params)
{
	const struct sl_signal_params *p = params;
	double steps = p->model != SL_SIGNAL_PAGERANK && p->step > 0 ? ceil(p->duration / p->step) : p->iterations;
	return steps < p->iterations ? (int)steps : p->iterations;
}

static int arrays_of(const struct sl_signal_params *p)
{
	static const int slopes[] = {2, 5, 6, 9, 8};
	return sl_signal_fields(p) * (1 + slopes[p->integrator]);
}

/* Values; rows, twice while they are made; snapshots, twice while a state is saved. d: entries of a node. */
static uint64_t host_bytes(const void *params, uint32_t n, uint32_t d)
{
	const struct sl_signal_params *p = params;
	uint64_t values = (uint64_t)n * (uint64_t)sl_signal_fields(p), entries = (uint64_t)n * d;
	return (uint64_t)n * (80 + 8 * (uint64_t)arrays_of(p)) + 24 * entries +
	       values * 4 * (2 * (uint64_t)p->snapshots + 1);
}

static uint64_t disk_bytes(const void *params, uint32_t n, uint32_t d, bool centered)
{
	const struct sl_signal_params *p = params;
	(void)d, (void)centered;
	return 4 * ((uint64_t)n * (uint64_t)sl_signal_fields(p) * (1 + (uint64_t)p->snapshots) + (uint64_t)p->snapshots);
}

/* Approximate seconds of a core for an entry of the product, and for a value of a node. */
#define ENTRY_S 0.9e-9
#define VALUE_S 2e-9

static double seconds(const void *params, uint32_t n, uint32_t d, int threads)
{
	static const int passes[] = {1, 4, 3, 6, 15};
	const struct sl_signal_params *p = params;
	double steps = iterations(p), pass = (double)n * (d * ENTRY_S + sl_signal_fields(p) * VALUE_S);
	bool rank = p->model == SL_SIGNAL_PAGERANK;
	if (rank)
		steps = fmin(steps, p->damping > 0 ? fmax(log(p->tolerance) / log(p->damping), 1) : 1);
	else if (p->step == 0)
		steps = fmin(steps, fmax(p->duration / 0.1, 100));
	return steps * pass * (rank ? 1 : passes[p->integrator]) / (threads > 1 ? threads : 1);
}

/* ---- life ------------------------------------------------------------------------------- */

static int make_coupling(struct sl_coupling **out, const struct sl_graph *g, const struct sl_signal_params *p,
			 struct sl_error *err)
{
	struct sl_affinities *a;
	int direction = sl_signal_direction(p, g->symmetric);
	if (direction != SL_SIGNAL_BOTH)
		return sl_coupling_of_directed(out, g, direction == SL_SIGNAL_ROWS, err);
	if (p->edges == SL_SIGNAL_WEIGHTS)
		return sl_coupling_of_graph(out, g, err);
	int code = sl_affinities_create(&a, g, &(struct sl_affinities_params){.lambda = p->lambda}, err);
	if (code)
		return code;
	code = sl_coupling_of_affinities(out, a, err);
	sl_affinities_destroy(a);
	return code;
}

/* ---- a device ---------------------------------------------------------------------------- */

/* Weights, a few numbers for each node, and the vectors of the method. */
static uint64_t device_bytes(const void *params, uint32_t n, uint32_t d)
{
	static const int vectors[] = {3, 6, 7, 10, 3};
	const struct sl_signal_params *p = params;
	uint64_t fields = (uint64_t)sl_signal_fields(p), each = fields * (uint64_t)vectors[p->integrator];
	if (p->model == SL_SIGNAL_PAGERANK)
		each = 5;
	else if (p->model == SL_SIGNAL_SIR_CHANCE)
		each = 4;
	else if (p->integrator == SL_SIGNAL_CRANK_NICOLSON)
		each += 4;
	return (uint64_t)n * (8ull * d + 32 + 8 * each) + 65536;
}

/* ---- slices ------------------------------------------------------------------------------ */

static int compute(void *run, double ms, bool *ended, struct sl_error *err)
{
	struct run *r = run;
	sl_signal_pause_at(r->of, sl_progress_next_traced(r->status.step, DENSE));
	int code = sl_signal_advance(r->of, ms, ended, &r->status, err);
	r->slices.progress.iteration = r->status.step;
	r->slices.done = r->status.done;
	return code;
}

static int note(void *run, bool due, struct sl_error *err)
{
	struct run *r = run;
	if (!due && !r->status.done)
		return 0;
	r->level = sl_signal_level(r->of);
	if (!isfinite(r->level))
		return sl_error_field(err, SL_BADDATA, "/step", "At time %g values are not finite any more: they grow beyond "
				"all bounds. Use a smaller step than %g.", r->status.time, r->status.h);
	if (!due)
		return 0;
	struct sl_trace_point *point = sl_progress_note(&r->slices.progress, r->level, err);
	if (!point)
		return SL_NOMEM;
	point->h = r->status.time;
	return 0;
}

static void tell(const void *run, struct sl_status *status)
{
	const struct run *r = run;
	status->iterations = r->status.steps;
	status->measure = r->level;
	status->model_time = r->status.time;
	if (r->status.done)
		status->stop = r->status.converged ? SL_STOP_CONVERGED :
			       r->params.model != SL_SIGNAL_PAGERANK && r->status.time >= r->params.duration ? SL_STOP_TIME :
			       SL_STOP_ITERATIONS;
}

static void stop(void *run)
{
	struct run *r = run;
	sl_signal_stop(r->of, &r->status);
	r->level = sl_signal_level(r->of);
	r->slices.progress.iteration = r->status.step;
	r->slices.done = r->status.done;
}

static int steer(void *run, const void *params, struct sl_error *err)
{
	struct run *r = run;
	int code = sl_signal_check(params, r->n, 0, err);
	if (code)
		return code;
	sl_signal_steer(r->of, params);
	return 0;
}

static int load(void *run, const void *state, uint64_t bytes, struct sl_error *err)
{
	struct run *r = run;
	const struct sl_progress *p = &r->slices.progress;
	r->level = p->count ? p->trace[p->count - 1].measure : NAN;
	return sl_signal_load(r->of, state, bytes, err);
}

SL_SLICED_KEPT(signal);

static const struct sl_sliced_ops ops = {
	.magic = "slms 2\n", .dense = DENSE, .compute = compute, .note = note, .tell = tell, SL_SLICED_OPS,
};

static int create(void **out, const struct sl_method_input *in, const void *params, struct sl_error *err)
{
	struct sl_coupling *coupling;
	struct run *r = sl_sliced_create(&ops, sizeof *r, "signals", err);
	if (!r)
		return SL_NOMEM;
	r->params = *(const struct sl_signal_params *)params;
	r->n = in->edges->n;
	r->level = NAN;
	int code = make_coupling(&coupling, in->edges, &r->params, err);
	if (!code) {
		code = sl_signal_create(&r->of, coupling, &r->params, in->init, in->columns, err);
		if (code)
			sl_coupling_destroy(coupling);
	}
	return sl_sliced_made(r, code, out);
}

/* ---- results ---------------------------------------------------------------------------- */

static int result(void *run, struct sl_method_result *out, struct sl_error *err)
{
	const struct run *r = run;
	uint32_t fields = (uint32_t)sl_signal_fields(&r->params);
	float *times, *values = malloc((size_t)r->n * fields * sizeof *values + 1);
	if (!values)
		return sl_error_memory(err, "the values of %u nodes", r->n);
	sl_signal_values(r->of, values);
	int count;
	float *snapshots = sl_signal_take_snapshots(r->of, &count, &times);
	uint32_t k = (uint32_t)count;
	*out = (struct sl_method_result){.count = 3, .array = {
		{"signal", SL_ARRAY_FLOAT32, {r->n, fields}, values},
		{"snapshots", SL_ARRAY_FLOAT32, {k, r->n, fields}, snapshots},
		{"times", SL_ARRAY_FLOAT32, {k}, times}}};
	return 0;
}

static void values(void *run, float *out)
{
	const struct run *r = run;
	sl_signal_values(r->of, out);
}

/* How a run follows the edges of a directed graph. */
static int resolved(const void *params, const struct sl_method_data *data, int iteration,
		    const struct sl_trace_point *last, struct sl_resolved out[SL_RESOLVED_MOST])
{
	static const char *const words[] = {"rows", "columns", "both"};
	if (!data->known || !data->graph)
		return 0;
	out[0] = (struct sl_resolved){.name = "direction", .type = SL_RESOLVED_WORD,
				      .word = words[sl_signal_direction(params, data->symmetric)]};
	return 1;
}

static const char *told(const void *params, bool symmetric)
{
	const struct sl_signal_params *p = params;
	int direction = sl_signal_direction(p, symmetric);
	if (symmetric || (p->model == SL_SIGNAL_PAGERANK && p->direction == SL_SIGNAL_BOTH))
		return NULL;
	if (direction == SL_SIGNAL_ROWS)
		return "The graph is directed: the walk follows an entry (i, j), or a line i,j of a list of edges, from i to j "
		       "(direction: rows)";
	if (direction == SL_SIGNAL_COLUMNS)
		return "The graph is directed: the walk follows an entry (i, j), or a line i,j of a list of edges, from j to i "
		       "(direction: columns)";
	return p->edges == SL_SIGNAL_AFFINITIES
	       ? "The graph is directed, but affinities are symmetric: edges act in both directions"
	       : "The graph is directed, but this model is symmetric: edges act in both directions, with the larger weight";
}

static const struct sl_method_output results[] = {
	{"signal", "the values of each node", "fnv"}, {"snapshots", "the values at the times of its snapshots", "ftnv"},
	{"times", "the times of the snapshots", "ft"}, {NULL, NULL, NULL},
};

extern const struct sl_method sl_method_signal;
const struct sl_method sl_method_signal = {
	.name = "signal", .title = "Signals",
	.doc = "Values at the nodes that change by those of their neighbours: heat, excitable media, epidemics, PageRank.",
	.summary = "simulate heat, pulses, epidemics or PageRank on a graph",
	.about = "The value of each node changes with those of its neighbours: heat, excitable media, epidemics or "
		 "personalised PageRank (--model). A server draws it on the layout of another job of the graph: fetch that "
		 "job's picture with --picture-color job:ID.",
	.measure = "level", .measure_title = "level", .timed = true,
	.takes = SL_TAKES_EDGES, .results = results,
	.relief = "Use a smaller graph.", .devices = "The values differ by rounding.",
	.params = &sl_signal_table, .params_bytes = sizeof(struct sl_signal_params),
	.check = sl_signal_check, .iterations = iterations, .host_bytes = host_bytes, .seconds = seconds,
	.disk_bytes = disk_bytes, .steer = steer, .operation = SL_SIGNAL_PASSES, .operates_on = SL_TAKES_EDGES,
	.device_bytes = device_bytes, .attach = attach, .result = result,
	.value_columns = sl_signal_fields, .values = values, .told = told, .resolved = resolved,
	.create = create, SL_SLICED,
};
