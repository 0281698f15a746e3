/* A guest: the degree of each node as a layout, which it reaches in rounds: after k of them it is at 1 - 2^-k of it. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/graph/graph.h"
#include "core/method/method.h"
#include "core/method/sliced.h"

struct params { int rounds; };
struct run { struct sl_sliced slices; struct params params; uint32_t n; float *degree; };

static const struct sl_param_info list[] = {
	{.name = "rounds", .type = SL_TYPE_INT, .min = 1, .max = 1e6, .normal = 20,
	 .doc = "Rounds, of a millisecond each."},
};
static const struct sl_param_table table = {.param = list, .count = 1, .given = -1};
static const struct sl_method_output none[] = {{NULL, NULL, NULL}};

static int compute(void *run, double ms, bool *ended, struct sl_error *err)
{
	struct run *r = run;
	*ended = ms > 0 && !usleep(1000);
	r->slices.progress.iteration += *ended;
	r->slices.done |= r->slices.progress.iteration >= r->params.rounds;
	return 0;
}

static double rest(const struct run *r) { return pow(0.5, r->slices.progress.iteration); }
static void tell(const void *run, struct sl_status *status)
{
	status->iterations = ((const struct run *)run)->params.rounds;
	status->measure = rest(run);
}
static void finish(void *run) { free(((struct run *)run)->degree); }
static const struct sl_sliced_ops ops = {
	.magic = "degree", .dense = 1000, .compute = compute, .tell = tell, .finish = finish,
};

static int create(void **out, const struct sl_method_input *in, const void *params, struct sl_error *err)
{
	struct run *r = sl_sliced_create(&ops, sizeof *r, "degrees", err);
	if (!r || !(r->degree = malloc(in->edges->n * sizeof(float))))
		return SL_NOMEM;
	sl_graph_degrees(in->edges, r->degree);
	r->params = *(const struct params *)params;
	r->n = in->edges->n;
	*out = r;
	return 0;
}
static int layout_of(void *run, struct sl_method_array *out, struct sl_error *err)
{
	const struct run *r = run;
	float *y = malloc(r->n * 2 * sizeof *y);
	for (uint32_t i = 0; y && i < 2 * r->n; i++)
		y[i] = (float)(1 - rest(r)) * (i % 2 ? (float)(i / 2) : r->degree[i / 2]);
	*out = (struct sl_method_array){"layout", SL_ARRAY_FLOAT32, {r->n, 2}, y};
	return y ? 0 : SL_NOMEM;
}
static int iterations(const void *params) { return ((const struct params *)params)->rounds; }
static int dims(const void *params) { return 2; }

extern const struct sl_method sl_method_degree;
const struct sl_method sl_method_degree = {
	.name = "degree", .doc = "Degrees as a layout.", .summary = "lay out nodes by their degrees", .measure = "rest",
	.about = "The first coordinate of a node is its degree, the second its number.", .measure_title = "rest of the way",
	.takes = SL_TAKES_EDGES, .layout = true, .results = none, .relief = "Use fewer rounds.", .params = &table,
	.params_bytes = sizeof(struct params), .iterations = iterations, .create = create, .dims = dims,
	.layout_of = layout_of, SL_SLICED,
};
