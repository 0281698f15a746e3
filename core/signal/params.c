/* The parameters of signals, and checks beyond their ranges. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "core/signal/signal.h"

#define F(field) offsetof(struct sl_signal_params, field)

static const char *const models[] = {"heat", "fitzhugh_nagumo", "nagumo", "sir", "sir_chance", "pagerank", NULL};
static const char *const laplacians[] = {"combinatorial", "random_walk", NULL};
static const char *const edges[] = {"weights", "affinities", NULL};
static const char *const directions[] = {"rows", "columns", "both", NULL};
static const char *const integrators[] = {"euler", "runge_kutta", "bogacki_shampine", "dormand_prince",
		"crank_nicolson",
					  NULL};

#define NODE_MOST 4294967295.0

static const struct sl_param_info list[] = {
	{.name = "model", .type = SL_TYPE_ENUM, .offset = F(model), .max = 5, .words = models,
	 .doc = "What happens at the nodes: heat (diffusion), fitzhugh_nagumo and nagumo (excitable media), sir (an "
			"epidemic as shares of the nodes), sir_chance (with chance), pagerank (personalised)."},
	{.name = "laplacian", .type = SL_TYPE_ENUM, .offset = F(laplacian), .max = 1, .words = laplacians,
	 .doc = "combinatorial: D - W; random_walk: I - W / D, by which nodes of any degree change equally fast."},
	{.name = "edges", .type = SL_TYPE_ENUM, .offset = F(edges), .max = 1, .words = edges,
	 .doc = "W: the graph's weights, of both directions the larger one; or the affinities P times the number of "
			"nodes."},
	{.name = "lambda", .type = SL_TYPE_DOUBLE, .offset = F(lambda), .min = 1, .max = 1e6, .normal = 10,
	 .doc = "With edges affinities: sum of powers to which each column of the graph is rescaled; 1: no rescaling."},
	{.name = "integrator", .type = SL_TYPE_ENUM, .offset = F(integrator), .max = 4, .normal = SL_SIGNAL_RUNGE_KUTTA,
	 .words = integrators,
	 .doc = "Steps in time: euler, runge_kutta (of order 4), bogacki_shampine and dormand_prince (adaptive), "
			"crank_nicolson (implicit in the diffusion, by conjugate gradients)."},
	{.name = "step", .type = SL_TYPE_DOUBLE, .offset = F(step), .min = 1e-12, .max = 1e9, .automatic = "auto",
			.steerable = true,
	 .doc = "Length of a step in time; adaptive: of the first one; auto: a stable one."},
	{.name = "tolerance", .type = SL_TYPE_DOUBLE, .offset = F(tolerance), .min = 1e-14, .max = 1, .normal = 1e-6,
	 .doc = "Adaptive: largest error of a step, relative to 1 + |value|. Pagerank: it ends when the changes add up to "
			"less."},
	{.name = "duration", .type = SL_TYPE_DOUBLE, .offset = F(duration), .min = 1e-9, .max = 1e12, .normal = 100,
	 .doc = "The run ends at this time of the model."},
	{.name = "iterations", .type = SL_TYPE_INT, .offset = F(iterations), .min = 1, .max = 2e9, .normal = 1e8,
	 .doc = "Maximum number of steps."},
	{.name = "snapshots", .type = SL_TYPE_INT, .offset = F(snapshots), .max = 10000,
	 .doc = "Number of moments, at equal distances to the end of the duration, of which all values are kept: at most "
			"268,435,456 of all moments and nodes together."},
	{.name = "diffusion", .type = SL_TYPE_DOUBLE, .offset = F(diffusion), .max = 1e12, .normal = 1, .steerable = true,
	 .doc = "D, the coefficient of the Laplacian."},
	{.name = "a", .type = SL_TYPE_DOUBLE, .offset = F(a), .min = -100, .max = 100, .normal = SL_SIGNAL_AUTO,
	 .automatic = "auto", .automatic_value = SL_SIGNAL_AUTO, .steerable = true,
	 .doc = "Of fitzhugh_nagumo (auto: 0.7) and nagumo, its threshold (auto: 0.1)."},
	{.name = "b", .type = SL_TYPE_DOUBLE, .offset = F(b), .min = 0, .max = 100, .normal = SL_SIGNAL_AUTO,
	 .automatic = "auto", .automatic_value = SL_SIGNAL_AUTO, .steerable = true,
	 .doc = "Of fitzhugh_nagumo (auto: 0.8) and nagumo (auto: 2.5): decay of the recovery variable."},
	{.name = "epsilon", .type = SL_TYPE_DOUBLE, .offset = F(epsilon), .min = 0, .max = 100, .normal = SL_SIGNAL_AUTO,
	 .automatic = "auto", .automatic_value = SL_SIGNAL_AUTO, .steerable = true,
	 .doc = "Of fitzhugh_nagumo (auto: 0.08) and nagumo (auto: 0.01): speed of the recovery variable."},
	{.name = "current", .type = SL_TYPE_DOUBLE, .offset = F(current), .min = -100, .max = 100, .steerable = true,
	 .doc = "Of fitzhugh_nagumo and nagumo: a current at all nodes, all the time."},
	{.name = "infection", .type = SL_TYPE_DOUBLE, .offset = F(infection), .max = 1e6, .normal = 0.5, .steerable = true,
	 .doc = "Of sir: beta, the rate of infection by infected neighbours."},
	{.name = "recovery", .type = SL_TYPE_DOUBLE, .offset = F(recovery), .max = 1e6, .normal = 0.1, .steerable = true,
	 .doc = "Of sir: gamma, the rate of recovery."},
	{.name = "damping", .type = SL_TYPE_DOUBLE, .offset = F(damping), .max = 0.999999, .normal = 0.85,
	 .doc = "Of pagerank: alpha, the probability of going on along an edge."},
	{.name = "direction", .type = SL_TYPE_ENUM, .offset = F(direction), .max = 2, .words = directions,
	 .doc = "Of pagerank, on a graph that is not symmetric, with its weights: an entry (i, j) of a matrix, or a line "
			"i,j of a directed list of edges, leads from i to j (rows), from j to i (columns), or both ways (both)."},
	{.name = "start_nodes", .type = SL_TYPE_LIST, .offset = F(start_nodes), .min = 0, .max = NODE_MOST, .normal = -1,
	 .automatic = "none", .automatic_value = -1, .whole = true,
	 .doc = "Nodes, counted from 0, that begin with start_value. Of pagerank: to which the walk returns."},
	{.name = "start_hops", .type = SL_TYPE_INT, .offset = F(start_hops), .max = 1000000,
	 .doc = "... and all nodes within so many edges of these."},
	{.name = "start_value", .type = SL_TYPE_DOUBLE, .offset = F(start_value), .min = -1e9, .max = 1e9, .normal = 1,
	 .doc = "Their first value; of sir, their share of infected."},
	{.name = "stimulus_nodes", .type = SL_TYPE_LIST, .offset = F(stimulus_nodes), .min = 0, .max = NODE_MOST,
			.normal = -1,
	 .automatic = "none", .automatic_value = -1, .whole = true, .doc = "Nodes, counted from 0, that "
			"are stimulated."},
	{.name = "stimulus_hops", .type = SL_TYPE_INT, .offset = F(stimulus_hops), .max = 1000000,
	 .doc = "... and all nodes within so many edges of these."},
	{.name = "stimulus_amplitude", .type = SL_TYPE_DOUBLE, .offset = F(stimulus_amplitude), .min = -1e9, .max = 1e9,
	 .normal = 1, .steerable = true, .doc = "What is added to the rate of change of the first value; of sir, a rate of "
	 "infection."},
	{.name = "stimulus_start", .type = SL_TYPE_DOUBLE, .offset = F(stimulus_start), .max = 1e12, .steerable = true,
	 .doc = "Time at which the stimulus begins."},
	{.name = "stimulus_duration", .type = SL_TYPE_DOUBLE, .offset = F(stimulus_duration), .max = 1e12, .normal = 1,
	 .steerable = true, .doc = "How long it lasts."},
	{.name = "seed", .type = SL_TYPE_UINT64, .offset = F(seed), .max = 0x1p53 - 1, .doc = "Of sir_chance."},
};

const struct sl_param_table sl_signal_table = {
	.param = list, .count = sizeof list / sizeof *list, .given = -1,
};

int sl_signal_fields(const void *params)
{
	const struct sl_signal_params *p = params;
	return p->model == SL_SIGNAL_HEAT || p->model == SL_SIGNAL_PAGERANK ? 1 : 2;
}

int sl_signal_direction(const struct sl_signal_params *p, bool symmetric)
{
	bool directed = p->model == SL_SIGNAL_PAGERANK && p->edges == SL_SIGNAL_WEIGHTS && !symmetric;
	return directed ? p->direction : SL_SIGNAL_BOTH;
}

static int check_nodes(const char *name, const struct sl_param_list *nodes, uint32_t n, struct sl_error *err)
{
	char pointer[64];
	snprintf(pointer, sizeof pointer, "/%s", name);
	for (int i = 0; i < nodes->count; i++) {
		double node = nodes->value[i];
		if (node != floor(node) || !(node >= 0))
			return sl_error_field(err, SL_BADPARAM, pointer, "%s has %.9g; nodes are whole numbers, from 0.", name,
					node);
		if (node >= n)
			return sl_error_field(err, SL_BADPARAM, pointer, "%s has node %.0f, but the graph has %u nodes, 0 to %u.",
					      name, node, n, n - 1);
	}
	return 0;
}

static bool is_sir(const struct sl_signal_params *p)
{
	return p->model == SL_SIGNAL_SIR || p->model == SL_SIGNAL_SIR_CHANCE;
}

static int check_start(const struct sl_signal_params *p, struct sl_error *err)
{
	if (!p->start_nodes.count)
		return 0;
	if (is_sir(p) && !(p->start_value >= 0 && p->start_value <= 1))
		return sl_error_field(err, SL_BADPARAM, "/start_value", "start_value is %g; of sir it is a share of infected, "
				"from 0 to 1.", p->start_value);
	if (p->model == SL_SIGNAL_PAGERANK && !(p->start_value > 0))
		return sl_error_field(err, SL_BADPARAM, "/start_value", "start_value is %g; of pagerank it must be greater "
				      "than 0.", p->start_value);
	return 0;
}

/* 1 GiB: a saved state contains the snapshots, and copying it blocks the run. */
#define SNAPSHOT_VALUES (1ull << 28)

int sl_signal_check(const void *params, uint32_t n, uint32_t columns, struct sl_error *err)
{
	const struct sl_signal_params *p = params;
	int code = sl_param_check(&sl_signal_table, p, err);
	uint32_t fields = (uint32_t)sl_signal_fields(p);
	if (!code)
		code = check_nodes("start_nodes", &p->start_nodes, n, err);
	if (!code)
		code = check_nodes("stimulus_nodes", &p->stimulus_nodes, n, err);
	if (!code)
		code = check_start(p, err);
	if (code)
		return code;
	if (is_sir(p) && p->integrator == SL_SIGNAL_CRANK_NICOLSON)
		return sl_error_field(err, SL_BADPARAM, "/integrator", "integrator is crank_nicolson, which is for models with "
				      "diffusion; of sir it may be euler, runge_kutta, bogacki_shampine or dormand_prince.");
	if (is_sir(p) && p->stimulus_nodes.count && p->stimulus_amplitude < 0)
		return sl_error_field(err, SL_BADPARAM, "/stimulus_amplitude", "stimulus_amplitude is %g; of sir it is a rate "
				"of infection, 0 or more.", p->stimulus_amplitude);
	if (columns && columns != fields)
		return sl_error_field(err, SL_BADPARAM, "/input", "The initial state has %u column%s; model %s has %u value%s "
				"at a node, so it must have %u.", columns, columns == 1 ? "" : "s", models[p->model], fields,
				      fields == 1 ? "" : "s", fields);
	if (p->snapshots && p->model == SL_SIGNAL_PAGERANK)
		return sl_error_field(err, SL_BADPARAM, "/snapshots", "snapshots are moments in time, which pagerank does not "
				"have.");
	if ((uint64_t)p->snapshots * n * fields > SNAPSHOT_VALUES)
		return sl_error_field(err, SL_TOOBIG, "/snapshots", "%d snapshots of %u nodes are too many. Use at most %llu, "
				      "since all values together must be at most 2^28.", p->snapshots, n, SNAPSHOT_VALUES / n / fields);
	return 0;
}
