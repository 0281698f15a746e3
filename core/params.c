/* The table of parameters, and everything that follows from it. */
#include "core/params.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const preset_words[] = {"default", "sgtsnepi", "fitsne", "opentsne", "sklearn", "tsnecuda", NULL};
static const char *const optimizer_words[] = {"momentum", "adam", NULL};
static const char *const accuracy_words[] = {"draft", "normal", "fine", "auto", NULL};
static const char *const repulsion_words[] = {"auto", "grid", "exact", NULL};
static const char *const init_words[] = {"random", "given", "pca", "spectral", "auto", NULL};
static const char *const gains_words[] = {"node", "coordinate", NULL};
static const char *const restart_words[] = {"nothing", "velocities", "all", NULL};
static const char *const rule_words[] = {"phase", "early", NULL};

#define AT(field) offsetof(struct sl_params, field)

const struct sl_param_info sl_params_table[] = {
	{"preset", SL_TYPE_ENUM, AT(preset), 0, 5, preset_words, NULL, 0, false,
	 "What parameters that are not given mean: today's practice, or the values of SG-t-SNE-Pi, FIt-SNE, openTSNE, "
	 "scikit-learn or t-SNE-CUDA."},
	{"dims", SL_TYPE_INT, AT(dims), 1, 3, NULL, NULL, 0, false,
	 "Dimensions of the layout."},
	{"lambda", SL_TYPE_DOUBLE, AT(lambda), 1, 1e6, NULL, "auto", 0, false,
	 "Graphs: rescaling of the column-stochastic graph; each column's entries are raised to the power that makes "
	 "them sum to lambda, roughly its effective number of neighbours; 1 leaves them as they are; auto: 10."},
	{"perplexity", SL_TYPE_LIST, AT(perplexity), 1, 1e6, NULL, "auto", 0, false,
	 "Points: effective number of neighbours of a point, at most a third of those known; several, as in 30,100: the "
	 "mean of their affinities; auto: 30, or a third of the other points when they are few."},
	{"drop_leaf_edges", SL_TYPE_BOOL, AT(drop_leaf_edges), 0, 1, NULL, NULL, 0, false,
	 "Leave out the edges of nodes that have one neighbour only; such nodes are placed apart."},
	{"iterations", SL_TYPE_INT, AT(iterations), 1, SL_ITERATIONS_MOST, NULL, "auto", 0, true,
	 "Iterations in all; auto: as many as the preset has, and then a tenth more for as long as the last tenth has "
	 "lowered the KL divergence by kl_tolerance."},
	{"exaggeration", SL_TYPE_DOUBLE, AT(exaggeration), 0, 1000, NULL, NULL, 0, true,
	 "Early exaggeration: factor on the attractive forces in the first phase."},
	{"exaggeration_iterations", SL_TYPE_INT, AT(exaggeration_iterations), 0, 1000000, NULL, NULL, 0, true,
	 "Iterations of early exaggeration."},
	{"late_exaggeration", SL_TYPE_DOUBLE, AT(late_exaggeration), 0, 1000, NULL, NULL, 0, true,
	 "Factor on the attractive forces after early exaggeration; 1 is plain t-SNE."},
	{"dof", SL_TYPE_DOUBLE, AT(dof), 0.1, 100, NULL, NULL, 0, false,
	 "Degrees of freedom of the kernel in the layout, (1 + r^2 / dof)^-dof: 1 is t-SNE's; less has heavier tails and "
	 "shows finer clusters, more tends to a Gaussian."},
	{"optimizer", SL_TYPE_ENUM, AT(optimizer), 0, 1, optimizer_words, NULL, 0, false,
	 "Gradient descent with momentum and gains, or Adam."},
	{"learning_rate", SL_TYPE_DOUBLE, AT(learning_rate), 1e-6, 1e9, NULL, "auto", 0, true,
	 "Step size on a quarter of the gradient; auto: nodes / exaggeration, at least 200 (with adam: 0.5)."},
	{"learning_rate_rule", SL_TYPE_ENUM, AT(learning_rate_rule), 0, 1, rule_words, NULL, 0, false,
	 "What a learning rate of auto divides the number of nodes by: phase, the exaggeration in force; early, early "
	 "exaggeration throughout."},
	{"early_momentum", SL_TYPE_DOUBLE, AT(early_momentum), 0, 0.999, NULL, NULL, 0, true,
	 "Momentum during early exaggeration."},
	{"momentum", SL_TYPE_DOUBLE, AT(momentum), 0, 0.999, NULL, NULL, 0, true,
	 "Momentum after early exaggeration."},
	{"gains", SL_TYPE_ENUM, AT(gains), 0, 1, gains_words, NULL, 0, false,
	 "Factors on the learning rate that grow while a node moves downhill and fall when it moves uphill: one for each "
	 "node, or one for each coordinate."},
	{"gain_least", SL_TYPE_DOUBLE, AT(gain_least), 1e-6, 1, NULL, NULL, 0, true,
	 "Least gain."},
	{"gain_added", SL_TYPE_DOUBLE, AT(gain_added), 0, 1, NULL, NULL, 0, true,
	 "A gain that falls becomes 0.8 times itself plus this."},
	{"rate_limit", SL_TYPE_DOUBLE, AT(rate_limit), 1e-3, 1e6, NULL, "off", 0, true,
	 "Most that learning rate x exaggeration x a node's mass (its share of the affinities, 1 / nodes on average) may "
	 "be; beyond 2, nodes of many strong edges swing ever further."},
	{"max_step", SL_TYPE_DOUBLE, AT(max_step), 1e-6, 1e9, NULL, "off", 0, true,
	 "Longest step of a node in one iteration."},
	{"restart", SL_TYPE_ENUM, AT(restart), 0, 2, restart_words, NULL, 0, false,
	 "What begins anew when early exaggeration ends: nothing, velocities, or all (velocities and gains)."},
	{"rescale", SL_TYPE_DOUBLE, AT(rescale), 0.01, 0.99, NULL, "off", 0, false,
	 "Part of the run after which the layout is scaled as a whole, by the factor that lowers the KL divergence most."},
	{"accuracy", SL_TYPE_ENUM, AT(accuracy), 0, 3, accuracy_words, NULL, 0, false,
	 "Largest grid spacing allowed for the repulsive forces: draft 0.42, normal 0.35, fine 0.25 in 2-D; "
	 "auto: normal; draft in 3-D and for more than 100,000 nodes."},
	{"grid_side", SL_TYPE_INT, AT(grid_side), 8, 16384, NULL, "auto", 0, false,
	 "Fixed number of grid nodes a side, instead of by accuracy."},
	{"repulsion", SL_TYPE_ENUM, AT(repulsion), 0, 2, repulsion_words, NULL, 0, false,
	 "How repulsive forces are computed: on a grid by Fourier transform, or exactly over all pairs; "
	 "auto: whichever costs less in the iteration at hand."},
	{"init", SL_TYPE_ENUM, AT(init), 0, 4, init_words, NULL, 0, false,
	 "Initial layout: random (Gaussian), pca (points: along their principal axes), spectral (slowest modes of the "
	 "random walk on the graph), given, or auto: pca for points, random for graphs."},
	{"init_std", SL_TYPE_DOUBLE, AT(init_std), 0, 1e6, NULL, NULL, 0, false,
	 "Standard deviation that the initial layout is scaled to; 0 keeps a given one as it is."},
	{"seed", SL_TYPE_UINT64, AT(seed), 0, 9007199254740992.0, NULL, NULL, 0, false,
	 "Seed of the random initial layout. Same graph, parameters, seed and engine: same bytes."},
	{"min_gradient_norm", SL_TYPE_DOUBLE, AT(min_gradient_norm), 0, 1e30, NULL, "off", 0, true,
	 "Stop when the norm of a quarter of the gradient falls below it (checked at trace points after early "
	 "exaggeration)."},
	{"kl_patience", SL_TYPE_INT, AT(kl_patience), 0, 1000000, NULL, "off", 0, true,
	 "Stop when the KL divergence has not fallen, by its tolerance at least, for so many iterations after early "
	 "exaggeration."},
	{"kl_tolerance", SL_TYPE_DOUBLE, AT(kl_tolerance), 0, 1, NULL, NULL, 0, true,
	 "Relative fall of the KL divergence that counts as one, for kl_patience and for iterations of auto."},
	{"max_seconds", SL_TYPE_DOUBLE, AT(max_seconds), 0, 1e9, NULL, "off", 0, true,
	 "Stop after so much compute time, in seconds."},
	{"trace_interval", SL_TYPE_INT, AT(trace_interval), 0, 1000000, NULL, "off", 0, true,
	 "Iterations between two points of the trace (KL divergence, gradient norm, extent)."},
};
const int sl_params_count = (int)(sizeof sl_params_table / sizeof *sl_params_table);

const struct sl_param_info *sl_params_find(const char *name)
{
	for (int i = 0; i < sl_params_count; i++)
		if (!strcmp(sl_params_table[i].name, name))
			return &sl_params_table[i];
	return NULL;
}

void sl_params_preset(struct sl_params *p, enum sl_preset preset)
{
	*p = (struct sl_params){
		.preset = preset, .dims = 2, .lambda = 0, .iterations = 1000,
		.exaggeration = 12, .exaggeration_iterations = 250, .late_exaggeration = 1, .dof = 1,
		.optimizer = SL_MOMENTUM, .learning_rate = 0, .early_momentum = 0.8, .momentum = 0.9,
		.gains = SL_GAINS_NODE, .gain_least = 0.01, .rate_limit = 2,
		.accuracy = SL_ACCURACY_AUTO, .grid_side = 0, .repulsion = SL_REPULSION_AUTO,
		.init = SL_INIT_RANDOM, .init_std = 1e-4, .seed = 1, .kl_tolerance = 1e-3, .trace_interval = 50,
	};
	if (preset == SL_PRESET_DEFAULT) {
		p->iterations = 400;
		p->exaggeration_iterations = 120;
		p->rescale = 0.9;
	} else {
		p->early_momentum = preset == SL_PRESET_OPENTSNE ? 0.8 : 0.5;
		p->momentum = 0.8;
		p->gains = SL_GAINS_COORDINATE;
		p->rate_limit = 0;
	}
	if (preset == SL_PRESET_FITSNE || preset == SL_PRESET_OPENTSNE || preset == SL_PRESET_SKLEARN)
		p->init = SL_INIT_AUTO;
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
		p->learning_rate_rule = SL_RATE_EARLY;
		p->min_gradient_norm = 2.5e-8;  /* of a quarter of the gradient */
		p->kl_patience = 300;
		p->kl_tolerance = 0;
		p->restart = SL_RESTART_ALL;
		break;
	case SL_PRESET_TSNECUDA:
		p->learning_rate = 200;
		p->perplexity = (struct sl_param_list){.count = 1, .value = {50}};
		break;
	case SL_PRESET_DEFAULT:
		break;
	}
}

static void *field(const struct sl_params *p, const struct sl_param_info *info)
{
	return (char *)p + info->offset;
}

static void store_list(struct sl_params *p, const struct sl_param_info *info, const double *values, int count)
{
	struct sl_param_list *list = field(p, info);
	*list = (struct sl_param_list){.count = count};
	for (int i = 0; i < count; i++)
		list->value[i] = values[i];
}

static void store(struct sl_params *p, const struct sl_param_info *info, double value)
{
	switch (info->type) {
	case SL_TYPE_BOOL: *(bool *)field(p, info) = value != 0; break;
	case SL_TYPE_INT:
	case SL_TYPE_ENUM: *(int *)field(p, info) = (int)value; break;
	case SL_TYPE_UINT64: *(uint64_t *)field(p, info) = (uint64_t)value; break;
	case SL_TYPE_DOUBLE: *(double *)field(p, info) = value; break;
	case SL_TYPE_LIST: store_list(p, info, &value, info->automatic && value == info->automatic_value ? 0 : 1); break;
	}
	if (info->offset == AT(preset))
		sl_params_preset(p, (enum sl_preset)value);
}

const struct sl_param_list *sl_params_list(const struct sl_params *p, const struct sl_param_info *info)
{
	return info->type == SL_TYPE_LIST ? field(p, info) : NULL;
}

bool sl_params_number(const struct sl_params *p, const struct sl_param_info *info, double *value)
{
	*value = 0;
	switch (info->type) {
	case SL_TYPE_BOOL: *value = *(bool *)field(p, info); break;
	case SL_TYPE_INT:
	case SL_TYPE_ENUM: *value = *(int *)field(p, info); break;
	case SL_TYPE_UINT64: *value = (double)*(uint64_t *)field(p, info); break;
	case SL_TYPE_DOUBLE: *value = *(double *)field(p, info); break;
	case SL_TYPE_LIST: *value = sl_params_list(p, info)->value[0]; return !sl_params_list(p, info)->count;
	}
	return info->automatic && *value == info->automatic_value;
}

/* The fewest digits that read back, whole numbers without an exponent, into out[32]. */
static char *shortest(double value, char *out)
{
	if (value == floor(value) && fabs(value) < 1e16) {
		snprintf(out, 32, "%.0f", value);
		return out;
	}
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(out, 32, "%.*g", digits, value);
		if (strtod(out, NULL) == value)
			break;
	}
	return out;
}

/* "one of draft, normal, fine, auto" or "a number from 1 to 3, or auto", into out. */
static char *expectation(const struct sl_param_info *info, char *out, size_t bytes)
{
	size_t at = 0;
	if (info->type == SL_TYPE_BOOL) {
		snprintf(out, bytes, "true or false");
	} else if (info->words) {
		at += (size_t)snprintf(out, bytes, "one of ");
		for (int i = 0; info->words[i] && at < bytes; i++)
			at += (size_t)snprintf(out + at, bytes - at, "%s%s", i ? ", " : "", info->words[i]);
	} else {
		char min[32], max[32];
		static const char *const kinds[] = {
			[SL_TYPE_INT] = "a whole number", [SL_TYPE_UINT64] = "a whole number", [SL_TYPE_DOUBLE] = "a number",
			[SL_TYPE_LIST] = "one or several numbers",
		};
		char most[24] = "";
		if (info->type == SL_TYPE_LIST)
			snprintf(most, sizeof most, ", at most %d", SL_PARAM_LIST_MAX);
		snprintf(out, bytes, "%s from %s to %s%s%s%s", kinds[info->type], shortest(info->min, min),
			 shortest(info->max, max), most, info->automatic ? ", or " : "", info->automatic ? info->automatic : "");
	}
	return out;
}

static int refuse(const struct sl_param_info *info, const char *given, struct sl_error *err)
{
	char pointer[96], right[256];
	snprintf(pointer, sizeof pointer, "/%s", info->name);
	return sl_error_field(err, SL_BADPARAM, pointer, "%s is %.64s; it must be %s.", info->name,
			      given[0] ? given : "empty",
			      expectation(info, right, sizeof right));
}

int sl_params_set_number(struct sl_params *p, const struct sl_param_info *info, double value, struct sl_error *err)
{
	char given[32];
	shortest(value, given);
	if (info->type == SL_TYPE_ENUM || info->type == SL_TYPE_BOOL)
		return refuse(info, given, err);
	if (!(value >= info->min && value <= info->max))
		return refuse(info, given, err);
	if (info->type != SL_TYPE_DOUBLE && info->type != SL_TYPE_LIST && value != floor(value))
		return refuse(info, given, err);
	store(p, info, value);
	return 0;
}

int sl_params_set_list(struct sl_params *p, const struct sl_param_info *info, const double *values, int count,
		       struct sl_error *err)
{
	char given[40];
	if (info->type != SL_TYPE_LIST)
		return refuse(info, "a list", err);
	if (count < 1 || count > SL_PARAM_LIST_MAX) {
		snprintf(given, sizeof given, "a list of %d numbers", count);
		return refuse(info, given, err);
	}
	for (int i = 0; i < count; i++)
		if (!(values[i] >= info->min && values[i] <= info->max))
			return refuse(info, shortest(values[i], given), err);
	store_list(p, info, values, count);
	return 0;
}

/* "30" or "30,100" */
static int set_list_text(struct sl_params *p, const struct sl_param_info *info, const char *text, struct sl_error *err)
{
	double values[SL_PARAM_LIST_MAX];
	int count = 0;
	for (const char *at = text;; at++) {
		char *end;
		double value = strtod(at, &end);
		if (end == at || (*end && *end != ',') || !isfinite(value) || count == SL_PARAM_LIST_MAX)
			return refuse(info, text, err);
		values[count++] = value;
		at = end;
		if (!*end)
			return sl_params_set_list(p, info, values, count, err);
	}
}

int sl_params_set(struct sl_params *p, const char *name, const char *text, struct sl_error *err)
{
	const struct sl_param_info *info = sl_params_find(name);
	if (!info)
		return sl_error_field(err, SL_BADPARAM, "", "There is no parameter %.64s.", name);
	if (info->automatic && !strcmp(text, info->automatic)) {
		store(p, info, info->automatic_value);
		return 0;
	}
	if (info->type == SL_TYPE_BOOL) {
		bool yes = !strcmp(text, "true"), no = !strcmp(text, "false");
		if (!yes && !no)
			return refuse(info, text, err);
		store(p, info, yes);
		return 0;
	}
	if (info->words) {
		for (int i = 0; info->words[i]; i++)
			if (!strcmp(text, info->words[i])) {
				store(p, info, i);
				return 0;
			}
		return refuse(info, text, err);
	}
	if (info->type == SL_TYPE_LIST)
		return set_list_text(p, info, text, err);
	char *end;
	double value = strtod(text, &end);
	if (end == text || *end || !isfinite(value))
		return refuse(info, text, err);
	return sl_params_set_number(p, info, value, err);
}

char *sl_params_text(const struct sl_params *p, const struct sl_param_info *info, char out[SL_PARAM_TEXT_BYTES])
{
	double value;
	if (sl_params_number(p, info, &value))
		return strcpy(out, info->automatic);
	if (info->type == SL_TYPE_BOOL)
		return strcpy(out, value != 0 ? "true" : "false");
	if (info->words)
		return strcpy(out, info->words[(int)value]);
	if (info->type != SL_TYPE_LIST)
		return shortest(value, out);
	const struct sl_param_list *list = sl_params_list(p, info);
	char number[32];
	int at = 0;
	for (int i = 0; i < list->count; i++)
		at += snprintf(out + at, SL_PARAM_TEXT_BYTES - (size_t)at, i ? ",%s" : "%s", shortest(list->value[i], number));
	return out;
}

int sl_params_check(const struct sl_params *p, struct sl_error *err)
{
	if (p->init != SL_INIT_GIVEN && p->init_std == 0)
		return sl_error_field(err, SL_BADPARAM, "/init_std",
				      "init_std is 0, which would put all nodes of an initial layout that is not given into "
				      "one point; it must be greater, 1e-4 say.");
	static const int largest[] = {0, 16384, 8192, 512};
	if (p->grid_side > largest[p->dims])
		return sl_error_field(err, SL_BADPARAM, "/grid_side",
				      "grid_side is %d; in %d-D it must be at most %d.", p->grid_side, p->dims,
				      largest[p->dims]);
	if (p->repulsion == SL_REPULSION_EXACT && p->grid_side)
		return sl_error_field(err, SL_BADPARAM, "/grid_side",
				      "grid_side has no meaning with exact repulsion; leave one of the two out.");
	return 0;
}

static bool same_list(const struct sl_params *p, const struct sl_params *q, const struct sl_param_info *info)
{
	const struct sl_param_list *a = sl_params_list(p, info), *b = sl_params_list(q, info);
	if (a->count != b->count)
		return false;
	for (int i = 0; i < a->count; i++)
		if (a->value[i] != b->value[i])
			return false;
	return true;
}

int sl_params_check_input(const struct sl_params *p, bool points, struct sl_error *err)
{
	struct sl_params own;  /* what the preset says of inputs of the other kind does no harm */
	sl_params_preset(&own, (enum sl_preset)p->preset);
	if (points && p->lambda > 0)
		return sl_error_field(err, SL_BADPARAM, "/lambda", "lambda has no meaning for points; it is of graphs. How far "
				      "each point looks is its perplexity.");
	if (points && p->drop_leaf_edges)
		return sl_error_field(err, SL_BADPARAM, "/drop_leaf_edges", "drop_leaf_edges has no meaning for points, which "
				      "all have several neighbours; it must be false.");
	if (!points && p->init == SL_INIT_PCA)
		return sl_error_field(err, SL_BADPARAM, "/init", "init is pca, but a graph has no axes; spectral or random "
				      "would be right, or the points that it was made of.");
	if (!points && p->perplexity.count && !same_list(p, &own, sl_params_find("perplexity")))
		return sl_error_field(err, SL_BADPARAM, "/perplexity", "perplexity has no meaning for a graph, which has no "
				      "distances; its effective number of neighbours is lambda.");
	return 0;
}

int sl_params_iterations(const struct sl_params *p)
{
	struct sl_params first;
	sl_params_preset(&first, (enum sl_preset)p->preset);
	return p->iterations ? p->iterations : first.iterations;
}

int sl_params_steer(struct sl_params *p, const struct sl_params *from, struct sl_error *err)
{
	struct sl_params next = *p;
	for (int i = 0; i < sl_params_count; i++) {
		const struct sl_param_info *info = &sl_params_table[i];
		double old, new;
		sl_params_number(p, info, &old);
		sl_params_number(from, info, &new);
		if (info->type == SL_TYPE_LIST ? same_list(p, from, info) : old == new)
			continue;
		if (!info->steerable) {
			char pointer[96];
			snprintf(pointer, sizeof pointer, "/%s", info->name);
			return sl_error_field(err, SL_CONFLICT, pointer,
					      "%s cannot be changed once a job has been submitted; submit a new job.",
					      info->name);
		}
		if (info->type == SL_TYPE_DOUBLE || info->type == SL_TYPE_INT)
			store(&next, info, new);
	}
	*p = next;
	return 0;
}
