/* A run of k-means: seeds, then assignments and updates of the centroids, for each restart.
 *
 * A call processes a few blocks of points and returns, so that it is short for tables of any size. The division into
 * calls changes no byte: a block depends only on the state before the pass, and sums are added in the order of blocks
 * or rows. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/kmeans/kmeans_internal.h"
#include "core/method/pace.h"
#include "core/points/points.h"
#include "core/variants.h"

SL_PICK_VARIANT(struct sl__kmeans_kernels, sl__kmeans_kernels, sl__kmeans);

#define BATCH_MOST (1u << 24)  /* most numbers of a batch, since a slice cannot end within its copy */
#define FEW 32  /* with so few centroids axes pay from the second iteration on, when centroids are means */
#define CHUNK 8  /* blocks of the first calls */

/* ---- a run ------------------------------------------------------------------------------ */

static void start_restart(struct sl_kmeans *m)
{
	m->status.seeds = m->status.rounds = m->status.iteration = 0;
	m->status.moved = 0;
	m->status.current = NAN;
	m->last = m->assigned = false;
	m->seeded = 0;
	memset(m->sum, 0, (size_t)m->k * m->d * sizeof *m->sum);
	memset(m->count, 0, m->k * sizeof *m->count);
	memset(m->label, 0xff, m->n * sizeof *m->label);
	sl__kmeans_enter(m, m->start ? SL__KMEANS_ASSIGN : SL__KMEANS_SEED);
	if (!m->start)
		return;
	if (m->params.batch)
		sl__kmeans_start_batches(m);
	for (size_t at = 0; at < (size_t)m->k * m->d; at++)
		m->centroid[at] = (double)m->start[at] * m->scale;
	m->status.seeds = (int)m->k;
}

/* Ends a slice before block `to`. True if this ends the phase, too. */
static bool through(struct sl_kmeans *m, uint32_t to)
{
	m->passed = to;
	return to == m->blocks;
}

static int seed(struct sl_kmeans *m, uint32_t to, bool *ended, struct sl_error *err)
{
	int code = 0;
	if (m->params.batch)
		return sl__kmeans_seed_sample(m, ended, err);
	if (m->params.seeding == SL_KMEANS_PARALLEL)
		return sl__kmeans_oversample(m, to, ended, err);
	if (m->passed == 0 && m->seeded == (uint32_t)m->status.seeds)
		code = sl__kmeans_choose_seed(m, err);
	if (code)
		return code;
	if (m->status.seeds == (int)m->k) {
		*ended = true;
		sl__kmeans_enter(m, SL__KMEANS_ASSIGN);
		sl__kmeans_ready(m);
		return 0;
	}
	if (m->passes.arg) {
		code = sl__kmeans_device_seed(m, to, err);
	} else {
		if (m->passed == 0)
			sl__kmeans_between_seeds(m, m->seeded);
		sl__kmeans_add_seed(m, m->seeded, m->passed, to);
	}
	if (!code && through(m, to)) {
		m->passed = 0;
		m->seeded++;
		*ended = m->seeded == (uint32_t)m->status.seeds;  /* false while a loaded run repeats the distances */
	}
	return code;
}

static int assign_here(struct sl_kmeans *m, uint32_t to)
{
	int code = 0;
	if (!m->packed) {
		sl__kmeans_outline_centroids(m);
		code = m->ordered ? 0 : sl__kmeans_order(m, m->k);
		m->ordered = !code;
		if (!code)
			sl__kmeans_pack(m);
		m->packed = !code;
	}
	return code ? code : sl__kmeans_assign(m, m->passed, to, &m->moved);
}

static int assign(struct sl_kmeans *m, uint32_t to, struct sl_error *err)
{
	int code = m->passes.arg ? sl__kmeans_device_assign(m, to, err) : assign_here(m, to);
	m->forget -= m->forget < to - m->passed ? m->forget : to - m->passed;
	if (code || !through(m, to))
		return code;
	m->status.moved = m->moved;
	m->assigned = true;
	sl__kmeans_enter(m, !m->last && (m->moved || m->status.iteration == 0) ? SL__KMEANS_MOVE : SL__KMEANS_SUM);
	return 0;
}

static int move(struct sl_kmeans *m, uint32_t to, struct sl_error *err)
{
	int code = 0;
	if (m->passes.arg)
		code = sl__kmeans_device_move(m, to, err);
	else
		sl__kmeans_move_points(m, m->passed, to);
	if (!code && through(m, to)) {
		code = sl__kmeans_fetch_sums(m, err);
		sl__kmeans_enter(m, SL__KMEANS_FILL);
	}
	return code;
}

/* Fills one empty cluster or, if there is none, moves the centroids. */
static int fill(struct sl_kmeans *m, bool *ended, struct sl_error *err)
{
	bool filled;
	int code = 0;
	while (m->fill < m->k && m->count[m->fill])
		m->fill++;
	if (m->fill < m->k) {
		code = sl__kmeans_fetch(m, err);
		if (!code)
			code = sl__kmeans_fill(m, m->fill, &filled);
		if (!code)
			m->fill = filled ? m->fill + 1 : m->k;
		m->filled = m->passes.arg != NULL;
		return code;
	}
	if (m->filled)
		code = sl__kmeans_send(m, err);
	if (code)
		return code;
	m->status.current = sl__kmeans_scatter(m);
	m->status.iteration++;
	double moved = sl__kmeans_move_centroids(m);
	m->packed = false;
	bool noise = m->params.metric == SL_KMEANS_COSINE && m->params.tolerance > 0 && moved <= SL__KMEANS_ROUNDING;
	m->last = m->stop || m->params.batch || m->status.iteration >= m->params.iterations || noise ||
		  moved <= m->params.tolerance * m->variance;
	sl__kmeans_enter(m, SL__KMEANS_ASSIGN);
	*ended = true;
	return 0;
}

static int end_restart(struct sl_kmeans *m, struct sl_error *err)
{
	int code = sl__kmeans_fetch(m, err);
	if (code)
		return code;
	double inertia = sl__kmeans_inertia(m);
	m->status.current = inertia;
	if (!(m->status.inertia <= inertia)) {
		memcpy(m->best_centroid, m->centroid, (size_t)m->k * m->d * sizeof *m->centroid);
		memcpy(m->best_label, m->label, m->n * sizeof *m->label);
		m->status.inertia = inertia;
		m->status.converged = m->status.iteration < m->params.iterations;
	}
	m->status.done = ++m->status.restart >= m->params.restarts || m->stop;
	if (m->status.done)
		return 0;
	start_restart(m);
	return m->passes.arg ? sl__kmeans_send(m, err) : 0;
}

static int sum(struct sl_kmeans *m, uint32_t to, bool *ended, struct sl_error *err)
{
	int code = 0;
	if (m->passes.arg)
		code = sl__kmeans_device_inertia(m, to, err);
	else
		sl__kmeans_sum(m, m->passed, to);
	if (code || !through(m, to))
		return code;
	*ended = true;
	return end_restart(m, err);
}

/* Processes at most `count` blocks. *ended is set at the end of a step. */
static int work(struct sl_kmeans *m, uint32_t count, bool *ended, struct sl_error *err)
{
	uint32_t to = m->blocks - m->passed < count ? m->blocks : m->passed + count;
	if (m->search && (m->k > FEW || m->status.iteration > 0))
		return sl__kmeans_search_axes(m);
	switch (m->phase) {
	case SL__KMEANS_SEED:
		return seed(m, to, ended, err);
	case SL__KMEANS_ASSIGN:
		return assign(m, to, err);
	case SL__KMEANS_MOVE:
		return move(m, to, err);
	case SL__KMEANS_FILL:
		return fill(m, ended, err);
	case SL__KMEANS_BATCH:
		return sl__kmeans_batch(m, ended, err);
	default:
		return sum(m, to, ended, err);
	}
}

static uint32_t *chunk_of(struct sl_kmeans *m)
{
	return &m->chunk[m->phase == SL__KMEANS_SEED && m->over ? SL__KMEANS_PHASES + (int)m->over->stage : (int)m->phase];
}

int sl_kmeans_advance(struct sl_kmeans *m, double ms, bool *ended, struct sl_kmeans_status *status,
		      struct sl_error *err)
{
	int code = 0;
	*ended = m->status.done;
	for (struct sl_pace pace = sl_pace_begin(ms); !code && !*ended && sl_pace_left(&pace) > 0;) {
		uint32_t *chunk = chunk_of(m);
		code = work(m, *chunk, ended, err);
		sl_pace_adapt(&pace, chunk, m->blocks, SL_PACE_PARTS);
	}
	*status = m->status;
	return code == SL_NOMEM ? sl_error_set(err, code, SL_NO_MEMORY "k-means.") : code;
}

int sl_kmeans_step(struct sl_kmeans *m, struct sl_kmeans_status *status, struct sl_error *err)
{
	bool ended;
	return sl_kmeans_advance(m, INFINITY, &ended, status, err);
}

void sl_kmeans_stop(struct sl_kmeans *m, struct sl_kmeans_status *status)
{
	m->stop = true;
	if (!isnan(m->status.inertia))
		m->status.done = true;
	else if (m->phase == SL__KMEANS_ASSIGN)
		m->last = true;
	*status = m->status;
}

/* ---- creation --------------------------------------------------------------------------- */

static const char *const metric_words[] = {"euclidean", "cosine", NULL};
static const char *const seeding_words[] = {"plusplus", "parallel", NULL};

#define PARAM(...) SL_PARAM(struct sl_kmeans_params, __VA_ARGS__)

static const struct sl_param_info params_table[] = {
	{PARAM(clusters, INT, 1, 1000000, 8), .doc = "Number of clusters."},
	{PARAM(metric, ENUM, 0, 1, SL_KMEANS_EUCLIDEAN), .words = metric_words, .doc =
	 "Distance between points; cosine compares directions only."},
	{PARAM(restarts, INT, 1, 1000, 1), .doc = "Runs from different seeds; the one with the least inertia is kept."},
	{PARAM(seeding, ENUM, 0, 1, SL_KMEANS_PLUSPLUS), .words = seeding_words, .doc =
	 "How the first centroids are chosen; plusplus: k-means++, one after the other; parallel: k-means||, out of many "
	 "candidates at a time, in few passes over the points."},
	{PARAM(batch, INT, 1, 1000000, 0), .automatic = "off", .doc =
	 "Move the centroids by so many random rows at a time (mini-batches), at least as many as clusters, and by all "
	 "rows once at the end; off: by all rows each time."},
	{PARAM(iterations, INT, 1, 100000, 300), .doc = "Maximum number of iterations in a restart."},
	{PARAM(tolerance, DOUBLE, 0, 1, 1e-4), .doc =
	 "A restart ends when the sum of the squared movements of the centroids is less than this times the mean "
	 "variance of the columns; 0: when no point changes its cluster."},
	{PARAM(seed, UINT64, 0, 9007199254740991, 0), .doc = "Seed of the first centroids. The same seed gives the "
		"same clusters."},
};
const struct sl_param_table sl_kmeans_table = {
	.param = params_table, .count = sizeof params_table / sizeof *params_table, .given = -1,
};

int sl_kmeans_check(const void *params, uint32_t n, uint32_t d, struct sl_error *err)
{
	const struct sl_kmeans_params *p = params;
	int code = sl_param_check(&sl_kmeans_table, params, err);
	if (code)
		return code;
	if ((uint32_t)p->clusters > n)
		return sl_error_field(err, SL_BADPARAM, "/clusters", "clusters is %d, but there are only %u points.",
				      p->clusters, n);
	if (p->batch && p->batch < p->clusters)
		return sl_error_field(err, SL_BADPARAM, "/batch", "batch is %d; it must be at least as many as clusters, "
				      "%d, or off.", p->batch, p->clusters);
	if ((uint64_t)p->batch * d > BATCH_MOST)
		return sl_error_field(err, SL_BADPARAM, "/batch", "batch is %d rows of %u columns; at most %u rows are "
				      "taken at a time.", p->batch, d, BATCH_MOST / d);
	return 0;
}

int sl__kmeans_create(struct sl_kmeans **out, const struct sl_points *points, const struct sl_kmeans_params *params,
		      const float *start, const struct sl_kmeans *parent, struct sl_error *err)
{
	int code = sl_kmeans_check(params, points->n, points->d, err);
	if (code)
		return code;
	struct sl_kmeans *m = calloc(1, sizeof *m);
	if (!m)
		return sl_error_memory(err, "k-means");
	m->params = *params;
	m->parent = parent;
	m->kernels = sl__kmeans_kernels();
	m->status.inertia = m->status.current = NAN;
	code = sl__kmeans_prepare(m, points, start, err);
	for (size_t phase = 0; phase < sizeof m->chunk / sizeof *m->chunk; phase++)
		m->chunk[phase] = CHUNK;
	if (code) {
		sl_kmeans_destroy(m);
		return code;
	}
	start_restart(m);
	if (m->start)
		sl__kmeans_ready(m);
	*out = m;
	return 0;
}

int sl_kmeans_create(struct sl_kmeans **out, const struct sl_points *points, const struct sl_kmeans_params *params,
		     const float *start, struct sl_error *err)
{
	return sl__kmeans_create(out, points, params, start, NULL, err);
}
