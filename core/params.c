/* The table of a job's parameters, its presets, and the rules that concern several parameters. */
#include "core/params.h"

#include <math.h>

#include "core/sides.h"

static const char *const preset_words[] = {"default", "sgtsnepi", "fitsne", "opentsne", "sklearn", "tsnecuda",
						"sklearn_barnes_hut", "tsnecuda1", NULL};
static const char *const optimizer_words[] = {"momentum", "adam", NULL};
static const char *const accuracy_words[] = {"draft", "normal", "fine", "auto", NULL};
static const char *const repulsion_words[] = {"auto", "grid", "exact", "barnes_hut", NULL};
static const char *const init_words[] = {"random", "given", "pca", "spectral", "auto", NULL};
static const char *const gains_words[] = {"node", "coordinate", NULL};
static const char *const restart_words[] = {"nothing", "velocities", "all", NULL};
static const char *const rule_words[] = {"phase", "early", NULL};

/* The field has the parameter's name; the automatic value is 0. */
#define PARAM(...) SL_PARAM(struct sl_params, __VA_ARGS__)
#define AUTO .automatic = "auto"
#define OFF .automatic = "off"
#define AUTO_MINUS .automatic = "auto", .automatic_value = -1  /* 0 is a value */
#define STEERABLE .steerable = true

const struct sl_param_info sl_params_table[] = {
	{PARAM(preset, ENUM, 0, 7, SL_PRESET_DEFAULT), .words = preset_words, .doc =
	 "Values of the parameters that are not given: spaceland's own, or those of SG-t-SNE-Pi, FIt-SNE, openTSNE, "
	 "scikit-learn or t-SNE-CUDA."},
	{PARAM(dims, INT, 1, 3, 2), .doc =
	 "Dimensions of the layout."},
	{PARAM(lambda, DOUBLE, 1, 1e6, 0), AUTO, .doc =
	 "Graphs: effective number of neighbours of a node. The entries of each column of the column-stochastic graph "
	 "are raised to the power that makes them sum to lambda; 1 leaves them unchanged; auto: 10."},
	{PARAM(perplexity, LIST, 1, 1e6, 0), AUTO, .doc =
	 "Points: effective number of neighbours of a point, at most a third of those known. Several values, as in "
	 "30,100, give the mean of their affinities. auto: 30, or a third of the other points if that is less."},
	{PARAM(drop_leaf_edges, BOOL, 0, 1, false), .doc =
	 "Graphs: leave out the edges of nodes that have only one neighbour; these nodes are placed around the "
	 "layout."},
	{PARAM(iterations, INT, 1, SL_ITERATIONS_MOST, 0), AUTO, STEERABLE, .doc =
	 "Number of iterations. auto: 500 (other presets: theirs), then a tenth more as long as the last tenth has lowered "
	 "the KL divergence by kl_tolerance, at most 4,000 (beyond 10,000 nodes 800; with kl_tolerance given, and in "
	 "other presets: ten times the first number). The CPU takes 440 beyond 50,000 nodes."},
	{PARAM(exaggeration, DOUBLE, 0, 1000, 12), STEERABLE, .doc =
	 "Early exaggeration: factor on the attractive forces in the first iterations."},
	{PARAM(exaggeration_iterations, INT, 0, 1000000, -1), AUTO_MINUS, STEERABLE, .doc =
	 "Number of iterations with early exaggeration. auto: 120; with iterations auto, or a number of them and the "
	 "default rescale, up to 260 while a tenth more lowers the KL divergence by 1 %."},
	{PARAM(exaggeration_decay, INT, 0, 1000000, -1), AUTO_MINUS, STEERABLE, .doc =
	 "Number of iterations after early exaggeration in which exaggeration falls to late_exaggeration, by equal "
	 "ratios. auto: 200; 0 in other presets, and with a number of iterations and a rescale of your own."},
	{PARAM(late_exaggeration, DOUBLE, 0, 1000, 1), STEERABLE, .doc =
	 "Factor on the attractive forces after early exaggeration; 1 is plain t-SNE."},
	{PARAM(dof, DOUBLE, 0.1, 100, 1), .doc =
	 "Degrees of freedom of the kernel in the layout, (1 + r^2 / dof)^-dof. 1 is t-SNE's; lower values have "
	 "heavier tails and show finer clusters; higher ones approach a Gaussian."},
	{PARAM(optimizer, ENUM, 0, 1, SL_MOMENTUM), .words = optimizer_words, .doc =
	 "Gradient descent with momentum and gains, or Adam."},
	{PARAM(learning_rate, DOUBLE, 1e-6, 1e9, 0), AUTO, STEERABLE, .doc =
	 "Step size on a quarter of the gradient; auto: nodes / exaggeration, at least 200 (with adam: 0.5)."},
	{PARAM(learning_rate_rule, ENUM, 0, 1, SL_RATE_PHASE), .words = rule_words, .doc =
	 "The exaggeration by which learning_rate auto divides: phase, that of the present phase; early, early "
	 "exaggeration throughout."},
	{PARAM(early_momentum, DOUBLE, 0, 0.999, 0.8), STEERABLE, .doc =
	 "Momentum during early exaggeration."},
	{PARAM(momentum, DOUBLE, 0, 0.999, 0.9), STEERABLE, .doc =
	 "Momentum after early exaggeration."},
	{PARAM(gains, ENUM, 0, 1, SL_GAINS_NODE), .words = gains_words, .doc =
	 "Factors on the learning rate that grow while a node moves downhill and fall when it moves uphill: one for "
	 "each node or one for each coordinate."},
	{PARAM(gain_least, DOUBLE, 1e-6, 1, 0.01), STEERABLE, .doc =
	 "Smallest gain."},
	{PARAM(gain_added, DOUBLE, 0, 1, 0), STEERABLE, .doc =
	 "A gain that falls is multiplied by 0.8; then this is added."},
	{PARAM(rate_limit, DOUBLE, 1e-3, 1e6, 2), OFF, STEERABLE, .doc =
	 "Limit of learning rate x exaggeration x mass of a node. The mass is the node's share of the affinities, 1 / "
	 "nodes on average. Beyond 2, nodes with many strong edges oscillate with growing amplitude."},
	{PARAM(max_step, DOUBLE, 1e-6, 1e9, 0), OFF, STEERABLE, .doc =
	 "Longest step of a node in one iteration."},
	{PARAM(restart, ENUM, 0, 2, SL_RESTART_NOTHING), .words = restart_words, .doc =
	 "What is reset when early exaggeration ends: nothing, velocities, or all (velocities and gains)."},
	{PARAM(rescale, DOUBLE, 0.01, 0.99, 0.9), OFF, .doc =
	 "After this part of the run, the whole layout is scaled by the factor that lowers the KL divergence most; with "
	 "iterations auto and dof 1 or more again before each tenth by which the run is extended."},
	{PARAM(accuracy, ENUM, 0, 3, SL_ACCURACY_AUTO), .words = accuracy_words, .doc =
	 "Largest grid spacing allowed for the repulsive forces: draft 0.42, normal 0.35, fine 0.25 in 2-D; "
	 "auto: normal; draft in 3-D and for more than 100,000 nodes."},
	{PARAM(grid_side, INT, SL_SIDE_ASKED_LEAST, 16384, 0), AUTO, .doc =
	 "Number of grid nodes a side; auto: by accuracy."},
	{PARAM(repulsion, ENUM, 0, 3, SL_REPULSION_AUTO), .words = repulsion_words, .doc =
	 "How repulsive forces are computed: grid, by Fourier transforms; exact, over all pairs; barnes_hut, over near "
	 "points and far cells of a tree. auto: in each iteration grid or exact, whichever is faster."},
	{PARAM(theta, DOUBLE, 0, 1, 0.5), .doc =
	 "With repulsion barnes_hut: a cell farther away than 1 / theta times its width acts as one point. Lower is "
	 "more accurate and slower."},
	{PARAM(init, ENUM, 0, 4, SL_INIT_AUTO), .words = init_words, .doc =
	 "Initial layout: random (Gaussian), pca (principal axes; points only), spectral (slowest modes of the random "
	 "walk on the graph), given, or auto (pca for points, random for graphs and for given neighbours)."},
	{PARAM(init_std, DOUBLE, 0, 1e6, 1e-4), .doc =
	 "Standard deviation to which the initial layout is scaled; 0 leaves a given one unchanged."},
	{PARAM(seed, UINT64, 0, 9007199254740991, 1), .doc =
	 "Seed of the random initial layout. The same graph, parameters, seed and engine give the same bytes."},
	{PARAM(min_gradient_norm, DOUBLE, 0, 1e30, 0), OFF, STEERABLE, .doc =
	 "Stop when the norm of a quarter of the gradient falls below this (checked at trace points after early "
	 "exaggeration)."},
	{PARAM(kl_patience, INT, 0, 1000000, 0), OFF, STEERABLE, .doc =
	 "Stop when the KL divergence has not fallen by kl_tolerance for this many iterations after early "
	 "exaggeration."},
	{PARAM(kl_tolerance, DOUBLE, 0, 1, -1), AUTO_MINUS, STEERABLE, .doc =
	 "Smallest relative fall of the KL divergence that counts for kl_patience and for iterations auto. auto: 0.001; "
	 "for iterations auto 0.001 up to 500 nodes, 0.0025 for 2,000, 0.0074 for 10,000, and 0.01 beyond 15,800."},
	{PARAM(max_seconds, DOUBLE, 0, 1e9, 0), OFF, STEERABLE, .doc =
	 "Stop after this much compute time, in seconds."},
	{PARAM(trace_interval, INT, 0, 1000000, 50), OFF, STEERABLE, .doc =
	 "Iterations between two points of the trace (KL divergence, gradient norm, extent)."},
	{PARAM(pause_at, INT, 0, INT32_MAX, 0), OFF, STEERABLE, .doc =
	 "A job on a server pauses by itself after exactly this many iterations, with a point in its trace. The layout of "
	 "the whole run is the same bytes."},
};
const int sl_params_count = (int)(sizeof sl_params_table / sizeof *sl_params_table);

static void lead(void *record)
{
	struct sl_params *p = record;
	sl_params_preset(p, (enum sl_preset)p->preset);
}

const struct sl_param_table sl_tsne_table = {
	.param = sl_params_table, .count = sizeof sl_params_table / sizeof *sl_params_table, .given = -1,
	.leader = "preset", .lead = lead,
};

const struct sl_param_info *sl_params_find(const char *name)
{
	return sl_param_find(&sl_tsne_table, name);
}

void sl_params_preset(struct sl_params *p, enum sl_preset preset)
{
	*p = (struct sl_params){0};
	sl_param_defaults(&sl_tsne_table, p);
	p->preset = preset;
	if (preset != SL_PRESET_DEFAULT) {
		p->iterations = 1000;
		p->exaggeration_iterations = 250;
		p->exaggeration_decay = 0;
		p->rescale = 0;
		p->early_momentum = preset == SL_PRESET_OPENTSNE ? 0.8 : 0.5;
		p->momentum = 0.8;
		p->gains = SL_GAINS_COORDINATE;
		p->rate_limit = 0;
		p->init = SL_INIT_RANDOM;
	}
	bool sklearn = preset == SL_PRESET_SKLEARN || preset == SL_PRESET_SKLEARN_BARNES_HUT;
	if (preset == SL_PRESET_FITSNE || preset == SL_PRESET_OPENTSNE || sklearn)
		p->init = SL_INIT_AUTO;
	if (preset == SL_PRESET_SKLEARN_BARNES_HUT || preset == SL_PRESET_TSNECUDA1)
		p->repulsion = SL_REPULSION_BARNES_HUT;
	switch (preset) {
	case SL_PRESET_SGTSNEPI:
		p->learning_rate = 200;
		p->accuracy = SL_DRAFT;
		p->repulsion = SL_REPULSION_GRID;
		break;
	case SL_PRESET_FITSNE:
		p->iterations = 750;
		p->learning_rate_rule = SL_RATE_EARLY;
		p->max_step = 5;
		break;
	case SL_PRESET_OPENTSNE:
		p->iterations = 750;
		p->max_step = 5;
		p->gain_added = 0.01;
		p->restart = SL_RESTART_VELOCITIES;
		break;
	case SL_PRESET_SKLEARN:
	case SL_PRESET_SKLEARN_BARNES_HUT:
		p->learning_rate_rule = SL_RATE_EARLY;
		p->min_gradient_norm = 2.5e-8;  /* of a quarter of the gradient */
		p->kl_patience = 300;
		p->kl_tolerance = 0;
		p->restart = SL_RESTART_ALL;
		break;
	case SL_PRESET_TSNECUDA1:
		p->exaggeration = 2;
		/* fall through */
	case SL_PRESET_TSNECUDA:
		p->learning_rate = 200;
		p->perplexity = (struct sl_param_list){.count = 1, .value = {50}};
		break;
	case SL_PRESET_DEFAULT:
		break;
	}
}

int sl_params_set(struct sl_params *p, const char *name, const char *text, struct sl_error *err)
{
	return sl_param_set(&sl_tsne_table, p, name, text, err);
}

int sl_params_check(const struct sl_params *p, struct sl_error *err)
{
	if (p->init != SL_INIT_GIVEN && p->init_std == 0)
		return sl_error_field(err, SL_BADPARAM, "/init_std", "init_std is 0, which would put all nodes into one point. "
				      "Unless init is given, it must be greater than 0, for example 1e-4.");
	static const int largest[] = SL_SIDES_ASKED_MOST;
	if (p->grid_side > largest[p->dims])
		return sl_error_field(err, SL_BADPARAM, "/grid_side", "grid_side is %d; in %d-D it must be at most %d.",
				      p->grid_side, p->dims, largest[p->dims]);
	if ((p->repulsion == SL_REPULSION_EXACT || p->repulsion == SL_REPULSION_BARNES_HUT) && p->grid_side)
		return sl_error_field(err, SL_BADPARAM, "/grid_side", "grid_side has no meaning with repulsion %s; leave out "
				      "one of the two.", repulsion_words[p->repulsion]);
	return 0;
}

int sl_params_check_input(const struct sl_params *p, bool points, struct sl_error *err)
{
	struct sl_params preset_values;  /* the preset may set parameters of the other kind of input */
	sl_params_preset(&preset_values, (enum sl_preset)p->preset);
	if (points && p->lambda > 0)
		return sl_error_field(err, SL_BADPARAM, "/lambda", "lambda is a parameter of graphs; for points, use "
				      "perplexity.");
	if (points && p->drop_leaf_edges)
		return sl_error_field(err, SL_BADPARAM, "/drop_leaf_edges", "drop_leaf_edges is a parameter of graphs; "
				      "for points it must be false.");
	if (!points && p->init == SL_INIT_PCA)
		return sl_error_field(err, SL_BADPARAM, "/init", "init is pca, which needs points; for a graph choose "
				      "spectral or random.");
	if (!points && p->perplexity.count && !sl_param_same(sl_params_find("perplexity"), p, &preset_values))
		return sl_error_field(err, SL_BADPARAM, "/perplexity", "perplexity is a parameter of points; for "
				      "graphs, use lambda.");
	return 0;
}

/* ---- automatic lengths ------------------------------------------------------------ */

/* The first plan: iterations with early exaggeration, while it decays, and after it. Chosen on 46 kinds of graphs and
 * tables, and on the data sets of docs/convergence.md, for all numbers of nodes. */
#define EARLY 120
#define DECAY 200
#define LATE 180
#define FIRST_PLAN (EARLY + DECAY + LATE)

/* Early exaggeration is extended while the divergence falls by as much. */
#define EARLY_TOLERANCE 1e-2

/* What a run may cost. Small inputs with long chains unfold for thousands of iterations; an iteration of a large input
 * costs more, and after 800 little is left to gain. */
#define SMALL 10000
#define LONGEST_SMALL 4000
#define LONGEST 800
/* Many nodes are far from their scale when the first search begins, and need several more. */
#define LARGE 3000000
#define LONGEST_LARGE 2000

/* The phase before the first search has no more than half of these. */
static int usual_longest(uint32_t n)
{
	return n <= SMALL ? LONGEST_SMALL : LONGEST;
}

static int longest(uint32_t n)
{
	return n >= LARGE ? LONGEST_LARGE : usual_longest(n);
}

/* Fewer iterations have no room for phases: they take a few steps from where a layout is, at its scale. */
#define BUDGET_LEAST 20

bool sl_params_budgeted(const struct sl_params *p)
{
	struct sl_params usual;
	sl_params_preset(&usual, SL_PRESET_DEFAULT);
	/* who chooses when to search for the scale chooses one search */
	bool own = p->preset == SL_PRESET_DEFAULT && p->rescale > 0 && p->rescale == usual.rescale;
	return own && p->iterations >= BUDGET_LEAST;
}

/* A phase of the first plan. A smaller budget shortens all phases alike, and leaves room for a tenth more, with which
 * comes another search for the scale. */
static int fitted(const struct sl_params *p, int phase)
{
	int64_t plan = p->iterations - p->iterations / 11;
	bool small = sl_params_budgeted(p) && p->iterations < FIRST_PLAN;
	return small ? (int)(phase * plan / FIRST_PLAN) : phase;
}

int sl_params_first_plan(const struct sl_params *p)
{
	struct sl_params settled = *p;
	sl_params_settle(&settled);
	return settled.exaggeration_iterations + settled.exaggeration_decay + fitted(p, LATE);
}

void sl_params_settle(struct sl_params *p)
{
	bool planned = !p->iterations || sl_params_budgeted(p);
	struct sl_params preset_values;
	sl_params_preset(&preset_values, (enum sl_preset)p->preset);
	if (p->exaggeration_iterations < 0)
		p->exaggeration_iterations = fitted(p, EARLY);
	if (p->exaggeration_decay < 0)
		p->exaggeration_decay = p->exaggeration_iterations && planned ? fitted(p, DECAY) : 0;
	if (!p->iterations)
		p->iterations = preset_values.iterations ? preset_values.iterations :
				p->exaggeration_iterations + p->exaggeration_decay + LATE;
}

int sl_params_iterations(const struct sl_params *p)
{
	struct sl_params settled = *p;
	sl_params_settle(&settled);
	return settled.iterations;
}

int sl_params_iterations_most(const struct sl_params *p, uint32_t n)
{
	int first = sl_params_iterations(p);
	if (p->iterations)
		return p->iterations;
	if (p->preset != SL_PRESET_DEFAULT || (p->kl_tolerance >= 0 && !p->kl_patience))
		return 10 * first;
	return longest(n) > first ? longest(n) : first;
}

int sl_params_search_latest(const struct sl_params *p, uint32_t n)
{
	int most = sl_params_iterations_most(p, n), late = (int)(p->rescale * most);
	if (p->preset != SL_PRESET_DEFAULT || (p->iterations && !sl_params_budgeted(p)))
		return late;
	int half = (most < usual_longest(n) ? most : usual_longest(n)) / 2;
	return half < late ? half : late;
}

double sl_params_early_tolerance(void)
{
	return EARLY_TOLERANCE;
}

/* From 0.001 at 500 nodes to 0.01 at 15,811 and more: a tenth more of a large run costs more. */
double sl_params_growth_tolerance(const struct sl_params *p, uint32_t n)
{
	if (p->kl_tolerance >= 0 && !p->kl_patience)  /* with patience it is the stop rule's, which only cuts a run off */
		return p->kl_tolerance;
	return fmin(fmax(1e-3 * pow(n / 500.0, 2.0 / 3), 1e-3), 1e-2);
}

int sl_params_steer(struct sl_params *p, const struct sl_params *from, struct sl_error *err)
{
	return sl_param_steer(&sl_tsne_table, p, from, err);
}
