/* Sammon's mapping as a method: a run in slices, with a trace of its stress, and a layout that can be watched. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/graph/affinities.h"
#include "core/graph/graph.h"
#include "core/method/method.h"
#include "core/method/sliced.h"
#include "core/points/points.h"
#include "core/sammon/passes.h"
#include "core/sammon/sammon.h"

struct run {
	struct sl_sliced slices;
	struct sl_sammon *of;
	const struct sl_points *points;  /* borrowed; NULL: the run is of a graph and borrows nothing */
	uint32_t nodes;                  /* of the graph */
	struct sl_sammon_params params;
	struct sl_sammon_status status;
};

static int check(const void *params, uint32_t n, uint32_t d, struct sl_error *err)
{
	return d ? sl_sammon_check(params, n, err) : sl_sammon_check_graph(params, n, err);
}

static int iterations(const void *params)
{
	return ((const struct sl_sammon_params *)params)->iterations;
}

static int dims(const void *params)
{
	return ((const struct sl_sammon_params *)params)->dims;
}

#define USUAL 100  /* iterations until the default tolerance is met, about */

static double seconds(const void *params, uint32_t n, uint32_t d, int threads)
{
	return fmin(iterations(params), USUAL) * sl_sammon_seconds(params, n, d) / (threads > 1 ? threads : 1);
}

static double edges_seconds(const void *params, uint32_t n, uint32_t degree, int threads)
{
	double distances, pass = sl_sammon_graph_seconds(params, n, degree, &distances);
	return (fmin(iterations(params), USUAL) * pass + distances) / (threads > 1 ? threads : 1);
}

/* ---- slices ----------------------------------------------------------------------------- */

static int compute(void *run, double ms, bool *ended, struct sl_error *err)
{
	struct run *r = run;
	int code = sl_sammon_advance(r->of, ms, ended, &r->status, err);
	r->slices.progress.iteration = r->status.iteration;
	r->slices.done = r->status.done;
	return code;
}

static int note(void *run, bool due, struct sl_error *err)
{
	struct run *r = run;
	if (!due && !r->status.done)
		return 0;
	struct sl_trace_point *point = sl_progress_note(&r->slices.progress, r->status.stress, err);
	if (!point)
		return SL_NOMEM;
	point->gradient_norm = r->status.gradient_norm;
	return 0;
}

static void tell(const void *run, struct sl_status *status)
{
	const struct run *r = run;
	const struct sl_sammon_status *s = &r->status;
	status->iterations = r->params.iterations;
	status->measure = s->stress;
	status->gradient_norm = s->gradient_norm;
	if (s->done)
		status->stop = s->converged ? SL_STOP_CONVERGED : SL_STOP_ITERATIONS;
}

static int steer(void *run, const void *params, struct sl_error *err)
{
	struct run *r = run;
	r->params.step = ((const struct sl_sammon_params *)params)->step;
	sl_sammon_set_step(r->of, r->params.step);
	return 0;
}

SL_SLICED_OF(sammon);

static const struct sl_sliced_ops ops = {
	.magic = "slsm 2\n", .dense = 1000, .compute = compute, .note = note, .tell = tell, SL_SLICED_OPS,
};

static int create(void **out, const struct sl_method_input *in, const void *params, struct sl_error *err)
{
	struct run *r = sl_sliced_create(&ops, sizeof *r, "a layout", err);
	if (!r)
		return SL_NOMEM;
	r->params = *(const struct sl_sammon_params *)params;
	r->points = in->points;
	r->status.stress = r->status.gradient_norm = NAN;
	r->nodes = in->edges ? in->edges->n : 0;
	int code = in->edges ? sl_sammon_create_graph(&r->of, in->edges, &r->params, err) :
			       sl_sammon_create(&r->of, in->points, &r->params, NULL, err);
	return sl_sliced_made(r, code, out);
}

/* ---- results ---------------------------------------------------------------------------- */

static int layout_of_graph(const struct run *r, struct sl_method_array *out, struct sl_error *err)
{
	uint32_t columns = (uint32_t)r->params.dims;
	float *y = malloc(sizeof *y * r->nodes * columns);
	int code = y ? sl_sammon_graph_layout(r->of, y, err) :
		       sl_error_memory(err, "a layout of %u nodes", r->nodes);
	if (code)
		free(y);
	else
		*out = (struct sl_method_array){.name = "layout", .shape = {r->nodes, columns}, .data = y};
	return code;
}

static int layout_of(void *run, struct sl_method_array *out, struct sl_error *err)
{
	const struct run *r = run;
	if (!r->points)
		return layout_of_graph(r, out, err);
	const struct sl_points *p = r->points;
	size_t columns = (size_t)r->params.dims;
	float *y = malloc(sizeof *y * p->n * columns), *all_rows = p->user ? malloc(sizeof *y * p->n_user * columns) : NULL;
	if (!y || (p->user && !all_rows)) {
		free(y);
		free(all_rows);
		return sl_error_memory(err, "a layout of %u points", p->n_user);
	}
	sl_sammon_layout(r->of, y);
	if (all_rows) {  /* places dropped rows like isolated nodes */
		struct sl_affinities rows = {.n = p->n, .n_user = p->n_user, .user = p->user};
		sl_affinities_expand(&rows, r->params.dims, y, all_rows);
		free(y);
		y = all_rows;
	}
	*out = (struct sl_method_array){.name = "layout", .shape = {p->n_user, (uint32_t)columns}, .data = y};
	return 0;
}

static const struct sl_method_output no_results[] = {{NULL, NULL, NULL}};

extern const struct sl_method sl_method_sammon;
const struct sl_method sl_method_sammon = {
	.name = "sammon", .title = "Sammon's mapping",
	.doc = "A layout whose distances are those of the points, or along a graph's edges (Sammon, metric scaling, Kamada "
	       "and Kawai).",
	.summary = "lay out points or a graph by distances",
	.about = "Points are laid out so that distances in the layout are close to those between the points (Sammon's "
		 "mapping, metric multidimensional scaling), nodes so that they are close to the lengths of shortest paths "
		 "(Kamada and Kawai).",
	.measure = "stress", .measure_title = "stress", .converges = true,
	.takes = SL_TAKES_POINTS | SL_TAKES_LAYOUT | SL_TAKES_EDGES, .layout = true, .results = no_results,
	.relief = "Use fewer partners, or pivots.",
	.devices = "The stress differs by rounding; distances along edges are the processor's.",
	.params = &sl_sammon_table, .params_bytes = sizeof(struct sl_sammon_params),
	.check = check, .iterations = iterations, .host_bytes = sl_sammon_bytes, .seconds = seconds,
	.edges_bytes = sl_sammon_graph_bytes, .edges_seconds = edges_seconds, .steer = steer,
	.operation = SL_SAMMON_PASSES, .operates_on = SL_TAKES_POINTS, .device_bytes = sl_sammon_device_bytes,
	.attach = attach, .dims = dims, .layout_of = layout_of, .create = create, SL_SLICED,
};
