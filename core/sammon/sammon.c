/* A run: passes over the pairs. A call processes a few tiles and returns soon. The division into calls changes no
 * byte. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/graph/graph.h"
#include "core/method/pace.h"
#include "core/param_table.h"
#include "core/points/points.h"
#include "core/sammon/sammon_internal.h"
#include "core/variants.h"

SL_PICK_VARIANT(struct sl__sammon_kernels, sl__sammon_kernels, sl__sammon);

/* ---- parameters --------------------------------------------------------------------------- */

static const char *const stress_words[] = {"sammon", "metric", "kamada_kawai", "auto", NULL};
static const char *const optimiser_words[] = {"auto", "newton", "gradient", "smacof", NULL};
static const char *const start_words[] = {"auto", "pca", "random", "classical", NULL};
static const char *const lengths_words[] = {"unit", "weights", "inverse", NULL};

#define PARAM(...) SL_PARAM(struct sl_sammon_params, __VA_ARGS__)

static const struct sl_param_info params_table[] = {
	{PARAM(stress, ENUM, 0, 3, SL_SAMMON_STRESS_AUTO), .words = stress_words, .doc =
	 "What is minimised; sammon: squared errors of distances over the distances; metric: squared errors; "
	 "kamada_kawai: squared errors over the squared distances, of graphs; auto: of points sammon, of graphs "
	 "kamada_kawai."},
	{PARAM(dims, INT, 1, 3, 2), .doc = "Dimensions of the layout."},
	{PARAM(optimiser, ENUM, 0, 3, SL_SAMMON_AUTO), .words = optimiser_words, .doc =
	 "newton: Sammon's own; gradient: steepest descent; smacof: majorisation; auto: newton for sammon of points, "
	 "else smacof."},
	{PARAM(start, ENUM, 0, 3, SL_SAMMON_START_AUTO), .words = start_words, .doc =
	 "Layout to begin with; pca: the first principal axes, of points; classical: classical scaling, which is pca of "
	 "points; auto: classical."},
	{PARAM(partners, INT, 32, 100000, 0), .automatic = "auto", .automatic_value = 0, .doc =
	 "Points: how many others each is compared with, chosen at random; auto: all of at most 100,000 points, else "
	 "4,096."},
	{PARAM(lengths, ENUM, 0, 2, SL_SAMMON_UNIT), .words = lengths_words, .doc =
	 "Graphs: length of an edge; unit: 1; weights: its weight; inverse: 1 / weight, of weights that are "
	 "similarities."},
	{PARAM(pivots, INT, 1, 4096, 0), .automatic = "auto", .automatic_value = 0, .doc =
	 "Graphs: how many nodes all nodes of a component are compared with, besides their neighbours; in components of "
	 "no more nodes all pairs count. auto: 4,096 for a graph of at most 4,096 nodes, else 200."},
	{PARAM(iterations, INT, 1, 100000, 300), .doc = "Maximum number of iterations, each a pass over the pairs."},
	{PARAM(step, DOUBLE, 1e-6, 100, 0), .automatic = "auto", .automatic_value = 0, .steerable = true,
	 .doc = "First step: of newton the magic factor (auto: 0.35), of smacof how far to go towards the minimum of "
	 "the majorising function (auto: 1, of graphs 1 to 16), of gradient a multiple of the mean step of smacof "
	 "(auto: 1)."},
	{PARAM(tolerance, DOUBLE, 0, 1, 1e-5), .doc =
	 "The run ends when an iteration lowers the stress by less than this times the stress."},
	{PARAM(seed, UINT64, 0, 9007199254740991, 0), .doc =
	 "Seed of a random start, of partners and of pivots. The same seed gives the same layout."},
};
const struct sl_param_table sl_sammon_table = {
	.param = params_table, .count = sizeof params_table / sizeof *params_table, .given = -1,
};

int sl_sammon_check(const struct sl_sammon_params *params, uint32_t n, struct sl_error *err)
{
	int code = sl_param_check(&sl_sammon_table, params, err);
	if (code)
		return code;
	if ((uint32_t)params->partners > n)
		return sl_error_field(err, SL_BADPARAM, "/partners", "partners is %d, but there are only %u points.",
				      params->partners, n);
	if (params->stress == SL_SAMMON_KAMADA_KAWAI)
		return sl_error_field(err, SL_BADPARAM, "/stress", "stress kamada_kawai is of a graph, and this is computed "
				      "from points. Use sammon or metric.");
	if (params->lengths != SL_SAMMON_UNIT)
		return sl_error_field(err, SL_BADPARAM, "/lengths", "lengths are those of a graph's edges, and this is "
				      "computed from points.");
	if (params->pivots)
		return sl_error_field(err, SL_BADPARAM, "/pivots", "pivots are nodes of a graph, and this is computed from "
				      "points. Use partners.");
	return 0;
}

int sl_sammon_check_graph(const struct sl_sammon_params *params, uint32_t n, struct sl_error *err)
{
	int code = sl_param_check(&sl_sammon_table, params, err);
	if (code)
		return code;
	if (params->partners)
		return sl_error_field(err, SL_BADPARAM, "/partners", "partners are points, and this is computed from a graph. "
				      "Use pivots.");
	if (params->start == SL_SAMMON_START_PCA)
		return sl_error_field(err, SL_BADPARAM, "/start", "start pca is for points, which have coordinates. For a "
				      "graph use classical or random.");
	if ((uint32_t)params->pivots > n)
		return sl_error_field(err, SL_BADPARAM, "/pivots", "pivots is %d, but the graph has only %u nodes.",
				      params->pivots, n);
	return 0;
}

static double pairs_of(const struct sl_sammon_params *params, uint32_t n)
{
	return n / 2.0 * sl_sammon_partners(params, n);
}

/* The panels, a few numbers for each point and dimension, and stored distances. */
uint64_t sl_sammon_bytes(const void *params, uint32_t n, uint32_t d)
{
	const struct sl_sammon_params *p = params;
	uint64_t room = n + SL__SAMMON_MOST;
	double kept = fmin(SL_SAMMON_CACHE_BYTES, (pairs_of(params, n) + 300.0 * (double)room) * sizeof(float));
	return room * (4ull * d + 52ull * (unsigned)p->dims + 40) + (uint64_t)kept;
}

/* The largest arrays of gpu/sammon/: coordinates, also in half precision; layout and sums; partial sums; squared
 * distances of half of the pairs, if they take at most a gigabyte. */
#define KEPT_MOST 23500

uint64_t sl_sammon_device_bytes(const void *params, uint32_t n, uint32_t d)
{
	const struct sl_sammon_params *p = params;
	uint64_t room = n + 2 * SL__SAMMON_MOST, dims = (unsigned)p->dims, blocks = room / 32;
	uint64_t partners = sl_sammon_partners(params, n) < n ? blocks * (sl_sammon_partners(params, n) / 32 + 2) * 4 : 0;
	double kept = n <= KEPT_MOST && !partners ? 2.0 * (double)room * (double)room : 0;
	double parts = 8.0 * (double)dims * (double)room * (double)blocks;
	return room * (4ull * d + 4 * ((d + 15) / 16 * 16) + 24 + 20 * dims) + partners + (uint64_t)fmin(parts, 272 << 20) +
	       (uint64_t)fmin(kept, 1 << 30) + 65536;
}

/* Approximate seconds of a core with AVX-512. */
#define PRODUCT_S 3e-11   /* for each pair and column */
#define PAIR_S 1.2e-9     /* for each pair */

double sl_sammon_seconds(const struct sl_sammon_params *params, uint32_t n, uint32_t d)
{
	double pairs = pairs_of(params, n), kept = fmin(1, SL_SAMMON_CACHE_BYTES / (4 * fmax(pairs, 1)));
	return pairs * (PAIR_S + (1 - kept) * d * PRODUCT_S);
}

#define TERM_S 1.6e-9     /* for each term of a graph, in a pass or in a product with the weights */
#define SOLVE_S 8e-9
#define PATH_S 2e-8       /* for each edge and node of a search */

double sl_sammon_graph_seconds(const struct sl_sammon_params *params, uint32_t n, uint32_t degree, double *distances)
{
	double pivots = sl_sammon_pivots(params, n);
	bool solved = params->optimiser == SL_SAMMON_AUTO || params->optimiser == SL_SAMMON_SMACOF;
	*distances = pivots * n * ((degree + 1) * PATH_S * (params->lengths == SL_SAMMON_UNIT ? 1 : 4) + 30 * TERM_S);
	return n * (pivots + degree) * (TERM_S + (solved ? SOLVE_S : 0));
}

/* ---- a run -------------------------------------------------------------------------------- */

#define CHUNK 4  /* tiles of the first calls */

int sl_sammon_advance(struct sl_sammon *m, double ms, bool *ended, struct sl_sammon_status *status,
		      struct sl_error *err)
{
	int code = 0;
	*ended = m->status.done;
	for (struct sl_pace pace = sl_pace_begin(ms); !code && !*ended && sl_pace_left(&pace) > 0;) {
		*ended = sl__sammon_pass(m, m->chunk, &code);
		if (!code && *ended)
			sl__sammon_judge(m);
		/* larger chunks use a device better */
		sl_pace_adapt(&pace, &m->chunk, 1u << 24, m->passes.arg ? SL_PACE_PARTS / 4 : SL_PACE_PARTS);
	}
	*status = m->status;
	if (code && m->passes.arg) {
		if (err)
			*err = m->failure;
		return code;
	}
	return code ? sl_error_set(err, code, m->terms ? SL_NO_MEMORY "searching shortest paths." :
				   SL_NO_MEMORY "a block of distances.") : 0;
}

int sl_sammon_step(struct sl_sammon *m, struct sl_sammon_status *status, struct sl_error *err)
{
	bool ended;
	return sl_sammon_advance(m, INFINITY, &ended, status, err);
}

void sl_sammon_stop(struct sl_sammon *m, struct sl_sammon_status *status)
{
	m->status.done = true;
	*status = m->status;
}

void sl_sammon_set_step(struct sl_sammon *m, double step)
{
	if (step == m->params.step)
		return;
	m->params.step = step;
	m->adapted = false;
}

/* ---- results ------------------------------------------------------------------------------ */

void sl_sammon_layout(const struct sl_sammon *m, float *y)
{
	const double *from = isnan(m->best.stress) ? m->trial.y : m->best.y;
	for (int q = 0; q < m->params.dims; q++) {
		const double *axis = from + (size_t)q * m->room;
		double mean = 0;
		for (uint32_t i = 0; i < m->rows; i++)
			mean += axis[m->place[i]] / m->rows;
		for (uint32_t i = 0; i < m->rows; i++)
			y[(size_t)i * (size_t)m->params.dims + (size_t)q] = (float)((axis[m->place[i]] - mean) / m->scale);
	}
}

int sl_sammon_graph_layout(const struct sl_sammon *m, float *y, struct sl_error *err)
{
	int code = sl__terms_arrange(m, isnan(m->best.stress) ? m->trial.y : m->best.y, y);
	return code ? sl_error_set(err, code, SL_NO_MEMORY "a layout of %u nodes.", m->terms->n_user) : 0;
}

int sl_sammon_gradient(const struct sl_sammon *m, double *gradient, struct sl_error *err)
{
	if (isnan(m->best.stress))
		return sl_error_set(err, SL_CONFLICT, "There was no iteration yet.");
	for (uint32_t i = 0; i < m->rows; i++)
		for (int q = 0; q < m->params.dims; q++) {
			uint32_t at = m->place[i];
			gradient[(size_t)i * (size_t)m->params.dims + (size_t)q] =
				2 * m->scale * m->best.force[(size_t)q * m->room + at] / m->total / (double)m->mass[at];
		}
	return 0;
}

/* Creates a run, with values in place of automatic parameters. */
static struct sl_sammon *start(const struct sl_sammon_params *params, bool graph)
{
	struct sl_sammon *m = calloc(1, sizeof *m);
	if (!m)
		return NULL;
	m->params = *params;
	if (params->stress == SL_SAMMON_STRESS_AUTO)
		m->params.stress = graph ? SL_SAMMON_KAMADA_KAWAI : SL_SAMMON_SAMMON;
	if (params->optimiser == SL_SAMMON_AUTO)
		m->params.optimiser = graph || m->params.stress == SL_SAMMON_METRIC ? SL_SAMMON_SMACOF : SL_SAMMON_NEWTON;
	m->kernels = sl__sammon_kernels();
	m->chunk = CHUNK;
	m->status.stress = m->status.gradient_norm = NAN;
	return m;
}

int sl_sammon_create(struct sl_sammon **out, const struct sl_points *points, const struct sl_sammon_params *params,
		     const float *from, struct sl_error *err)
{
	struct sl_error ignored;
	err = err ? err : &ignored;
	int code = sl_sammon_check(params, points->n, err);
	if (code)
		return code;
	struct sl_sammon *m = start(params, false);
	if (!m)
		return sl_error_memory(err, "a layout");
	code = sl__sammon_prepare(m, points, from, err);
	if (code)
		sl_sammon_destroy(m);
	else
		*out = m;
	return code;
}

int sl_sammon_create_graph(struct sl_sammon **out, const struct sl_graph *g, const struct sl_sammon_params *params,
			   struct sl_error *err)
{
	struct sl_error ignored;
	err = err ? err : &ignored;
	int code = sl_sammon_check_graph(params, g->n, err);
	if (code)
		return code;
	struct sl_sammon *m = start(params, true);
	if (!m)
		return sl_error_memory(err, "a layout");
	code = sl__sammon_prepare_graph(m, g, err);
	if (code)
		sl_sammon_destroy(m);
	else
		*out = m;
	return code;
}
