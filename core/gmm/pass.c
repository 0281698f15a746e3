/* A pass over the points, batch by batch: computes the responsibilities of a batch (E), then adds its points to the
 * sums of each component, in the order of rows (M). A thread processes a block of points in E and a component in M, so
 * the sums do not depend on the number of threads. */
#include <stdlib.h>
#include <string.h>

#include "core/gmm/gmm_internal.h"
#include "core/points/points.h"

#ifdef _OPENMP
#include <omp.h>
#else
static int omp_get_max_threads(void) { return 1; }
#endif

#define LANES SL__GMM_LANES
#define GROUP 8          /* most components of a task that share a block's coordinates */
#define STRIPE 64        /* rows of one task, for large scatter matrices */

void sl__gmm_pass_begin(struct sl_gmm *m)
{
	uint32_t k = m->now.k;
	m->batch_points = m->passes.arg ? m->unit : sl__gmm_batch_points(m->n, m->d, k);
	m->begun = false;
	m->batch = m->expected = m->added = 0;
	m->sum = 0;
	memset(m->mass, 0, k * sizeof *m->mass);
	memset(m->first, 0, (size_t)k * m->padded * sizeof *m->first);
	if (m->second)
		memset(m->second, 0, (size_t)k * m->padded * sizeof *m->second);
	if (m->scatter && m->params.covariance == SL_GMM_FULL)
		memset(m->scatter, 0, (size_t)k * m->padded * m->padded * sizeof *m->scatter);
}

struct batch {
	uint32_t from, count, blocks;
	const float *row;        /* [count][d] */
};

static struct batch batch_of(struct sl_gmm *m)
{
	struct batch b = {.from = m->batch * m->batch_points};
	b.count = m->n - b.from < m->batch_points ? m->n - b.from : m->batch_points;
	b.blocks = (b.count + LANES - 1) / LANES;
	b.row = (const float *)m->points->value + (size_t)b.from * m->d;
	if (m->points->type != SL_POINTS_F32) {
		if (m->expected == 0)
			sl_points_rows(m->points, b.from, b.count, m->rows);
		b.row = m->rows;
	}
	return b;
}

/* ---- responsibilities ------------------------------------------------------------------- */

static void known_shares(const struct sl_gmm *m, uint32_t from, uint32_t count, double *share)
{
	uint32_t k = m->now.k;
	memset(share, 0, (size_t)k * LANES * sizeof *share);
	for (uint32_t lane = 0; !m->start && lane < count; lane++)
		share[(size_t)m->label[from + lane] * LANES + lane] = 1;
	for (uint32_t c = 0; m->start && c < k; c++)
		for (uint32_t lane = 0; lane < count; lane++)
			share[(size_t)c * LANES + lane] = (double)m->start[(size_t)(from + lane) * k + c];
}

static void expect_block(struct sl_gmm *m, const struct batch *b, uint32_t block, uint32_t from, uint32_t to,
			 double *work)
{
	uint32_t at = block * LANES, count = b->count - at < LANES ? b->count - at : LANES, k = m->now.k;
	double *share = m->share + (size_t)block * k * LANES, density[LANES], sum = 0;
	if (m->phase == SL__GMM_MEANS || m->phase == SL__GMM_SPREADS) {
		known_shares(m, b->from + at, count, share);
		return;
	}
	sl__gmm_logits(&m->factors, m->kernels, &m->now, b->row + (size_t)at * m->d, count, from, to, work, share);
	if (to < k)
		return;
	bool last = sl__gmm_gives_result(m);
	sl__gmm_share(m->kernels, k, count, share, density, last ? m->result_label + b->from + at : NULL,
		      last ? m->result_share + (size_t)(b->from + at) * k : NULL);
	for (uint32_t lane = 0; lane < count; lane++)
		sum += density[lane];
	m->block_sum[block] = sum;
}

static int expect(struct sl_gmm *m, const struct batch *b, uint32_t to)
{
	int failed = 0;
#pragma omp parallel reduction(| : failed)
	{
		double *work = aligned_alloc(64, sl__gmm_work_values(m->d) * sizeof *work);
		failed = !work;
#pragma omp for schedule(dynamic)
		for (uint32_t block = 0; block < b->blocks; block++)
			if (work)
				expect_block(m, b, block, m->expected, to, work);
		free(work);
	}
	m->expected = to;
	return failed ? SL_NOMEM : 0;
}

/* ---- sums ------------------------------------------------------------------------------- */

/* Scratch memory of a thread; for full covariances points that are added to the sums of a component together. */
struct pick {
	uint32_t count;
	const float *row[LANES];
	double r[LANES];
	double *z, *rz;          /* [LANES][padded]; without scatter z: the points of a block, rz: means [GROUP][padded] */
};

static bool scatters(const struct sl_gmm *m)
{
	return m->params.covariance == SL_GMM_FULL && m->phase != SL__GMM_MEANS;
}

static uint32_t stripes_of(const struct sl_gmm *m)
{
	return scatters(m) && m->padded > 2 * STRIPE ? (m->padded + STRIPE - 1) / STRIPE : 1;
}

static void add_picked(struct sl_gmm *m, struct pick *p, uint32_t c, uint32_t stripe)
{
	uint32_t padded = m->padded, from = stripe * STRIPE, to = stripes_of(m) == 1 || padded - from < STRIPE ? padded :
		from + STRIPE;
	m->kernels->centre(m->d, padded, p->count, p->row, p->r, m->now.mean + (size_t)c * m->d, p->z, p->rz);
	if (stripe == 0)
		m->kernels->moments(padded, p->count, p->z, p->rz, m->first + (size_t)c * padded, NULL);
	m->kernels->scatter(padded, from, to, p->count, p->z, p->rz, m->scatter + (size_t)c * padded * padded);
	p->count = 0;
}

static void add_task(struct sl_gmm *m, const struct batch *b, uint32_t task, struct pick *p)
{
	uint32_t stripes = stripes_of(m), c = task / stripes, stripe = task % stripes;
	double mass = 0;
	p->count = 0;
	for (uint32_t block = 0; block < b->blocks; block++) {
		const double *r = m->share + ((size_t)block * m->now.k + c) * LANES;
		uint32_t at = block * LANES, lanes = b->count - at < LANES ? b->count - at : LANES;
		for (uint32_t lane = 0; lane < lanes; lane++) {
			if (!(r[lane] > SL__GMM_NOTHING))
				continue;
			mass += r[lane];
			p->row[p->count] = b->row + (size_t)(at + lane) * m->d;
			p->r[p->count++] = r[lane];
			if (p->count == LANES)
				add_picked(m, p, c, stripe);
		}
	}
	if (p->count)
		add_picked(m, p, c, stripe);
	if (stripe == 0)
		m->mass[c] += mass;
}

/* Adds the points to the sums of components from .. to - 1, without scatter matrices. */
static void add_group(struct sl_gmm *m, const struct batch *b, uint32_t from, uint32_t to, struct pick *p)
{
	uint32_t padded = m->padded, d = m->d;
	double mass[GROUP] = {0};
	for (uint32_t c = from; c < to; c++)
		memcpy(p->rz + (size_t)(c - from) * padded, m->now.mean + (size_t)c * d, d * sizeof *p->rz);
	for (uint32_t block = 0; block < b->blocks; block++) {
		uint32_t at = block * LANES, lanes = b->count - at < LANES ? b->count - at : LANES;
		m->kernels->widen(d, padded, lanes, b->row + (size_t)at * d, p->z);
		for (uint32_t c = from; c < to; c++)
			mass[c - from] += m->kernels->add(padded, lanes, p->z, m->share + ((size_t)block * m->now.k + c) * LANES,
							  p->rz + (size_t)(c - from) * padded, m->first + (size_t)c * padded,
							  m->second ? m->second + (size_t)c * padded : NULL);
	}
	for (uint32_t c = from; c < to; c++)
		m->mass[c] += mass[c - from];
}

static int add(struct sl_gmm *m, const struct batch *b, uint32_t to)
{
	size_t values = (size_t)LANES * m->padded;
	uint32_t tasks = to - m->added, threads = (uint32_t)omp_get_max_threads(), group = (tasks + threads - 1) / threads;
	int failed = 0;
	group = scatters(m) ? 1 : group < GROUP ? group : GROUP;
#pragma omp parallel reduction(| : failed)
	{
		struct pick p;
		p.z = calloc(values, sizeof *p.z);
		p.rz = calloc(values, sizeof *p.rz);
		failed = !p.z || !p.rz;
#pragma omp for schedule(dynamic)
		for (uint32_t task = m->added; task < to; task += group)
			if (!failed && scatters(m))
				add_task(m, b, task, &p);
			else if (!failed)
				add_group(m, b, task, to - task < group ? to : task + group, &p);
		free(p.z);
		free(p.rz);
	}
	m->added = to;
	return failed ? SL_NOMEM : 0;
}

/* ---- parts ------------------------------------------------------------------------------ */

static uint32_t until(uint32_t from, uint32_t all, uint32_t count)
{
	return all - from < count ? all : from + count;
}

int sl__gmm_pass_work(struct sl_gmm *m, enum sl__gmm_part *part, bool *pass_ended)
{
	struct batch b = batch_of(m);
	bool known = m->phase == SL__GMM_MEANS || m->phase == SL__GMM_SPREADS, sums = known || m->phase == SL__GMM_PASS;
	uint32_t k = m->now.k, tasks = sums ? k * stripes_of(m) : 0;
	int code;
	if (m->expected < k) {
		*part = SL__GMM_EXPECT;
		code = expect(m, &b, known ? k : until(m->expected, k, m->chunk[*part]));
	} else {
		*part = SL__GMM_ADD;
		code = add(m, &b, until(m->added, tasks, m->chunk[*part]));
	}
	if (m->expected == k && m->added == tasks) {
		for (uint32_t block = 0; !known && block < b.blocks; block++)
			m->sum += m->block_sum[block];
		m->batch++;
		m->expected = m->added = 0;
		*pass_ended = m->batch == sl__gmm_batches(m);
	}
	return code;
}
