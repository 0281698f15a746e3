/* Runs the passes over the points on a device (passes.h). The host computes weights, means, covariances and their
 * factors from the sums, as without a device. A pass that is interrupted starts again. */
#include <stdlib.h>

#include "core/gmm/gmm_internal.h"
#include "core/gmm/passes.h"
#include "core/kmeans/kmeans.h"
#include "core/kmeans/passes.h"

#define ROWS_MOST (1u << 17)
#define VALUES 0x1p23       /* most responsibilities of a unit, and most coordinates */
#define WORK 0x1p34         /* products of a unit, about: less than a millisecond */

static uint32_t unit_of(int covariance, uint32_t n, uint32_t d, uint32_t k)
{
	double products = (double)k * d * (covariance == SL_GMM_FULL ? d + 1.0 : 4.0), wide = d + 16.0, rows = ROWS_MOST;
	rows = rows * products > WORK ? WORK / products : rows;
	rows = rows * k > VALUES ? VALUES / k : rows;
	rows = rows * wide > VALUES ? VALUES / wide : rows;
	uint32_t blocks = (uint32_t)(rows / SL_GMM_BLOCK), all = (n - 1) / SL_GMM_BLOCK + 1;
	blocks = blocks < 1 ? 1 : blocks < all ? blocks : all;
	return blocks * SL_GMM_BLOCK;
}

/* The arrays of gpu/gmm/: points; coordinates, responsibilities and results of a unit; means; factors, twice, and as
 * coefficients for up to 16 columns; sums, and partial sums of about 4,096 tiles or 512 blocks of columns. And those of
 * k-means. */
uint64_t sl_gmm_device_bytes(const void *params, uint32_t n, uint32_t d)
{
	const struct sl_gmm_params *p = params;
	uint64_t k = 1;
	for (int i = 0; i < p->components.count; i++)
		k = p->components.value[i] > (double)k ? (uint64_t)p->components.value[i] : k;
	uint64_t unit = unit_of(p->covariance, n, d, (uint32_t)k), wide = ((uint64_t)d + 15) / 16 * 16;
	uint64_t square = wide * wide, factors = p->covariance == SL_GMM_FULL ? k : p->covariance == SL_GMM_TIED ? 1 : 0;
	uint64_t sums = p->covariance == SL_GMM_FULL ? k * (wide / 16 + 1) * wide / 16 * 280 : k * (2 * wide + 8);
	return (uint64_t)n * (4ull * d + 1) + unit * (24 * wide + 12 * (k + 4) + 16) + k * wide * 40 +
	       factors * square * (d <= 16 ? 15 : 10) + 2 * sums * 8 + 4096ull * 700 * 8 + (1 << 16) +
	       sl_kmeans_device_bytes((uint32_t)k, n, d);
}

int sl_gmm_attach(struct sl_gmm *m, const struct sl_engine *engine, struct sl_device *device, struct sl_error *err)
{
	uint32_t unit = unit_of(m->params.covariance, m->n, m->d, m->largest_k);
	struct sl_gmm_table table = {.points = m->points, .covariance = m->params.covariance, .n = m->n, .d = m->d,
				     .k = m->largest_k, .unit = unit, .units = (m->n - 1) / unit + 1, .centre = m->column_mean};
	struct sl_gmm_passes passes;
	double *part = malloc(table.units * sizeof *part);
	if (!part)
		return sl_error_memory(err, "a mixture");
	int code = sl_gmm_opener(engine)(device, &table, &passes, err);
	if (code) {
		free(part);
		return code;
	}
	m->passes = passes;
	m->engine = engine;
	m->device = device;
	m->unit = unit;
	m->part = part;
	m->chunk[SL__GMM_EXPECT] = 1;
	if (m->phase == SL__GMM_MEANS || m->phase == SL__GMM_SPREADS || m->phase == SL__GMM_PASS ||
	    m->phase == SL__GMM_SCORE || m->phase == SL__GMM_FINAL)
		sl__gmm_pass_begin(m);
	return m->kmeans ? sl__gmm_device_clusters(m, err) : 0;
}

int sl__gmm_device_clusters(struct sl_gmm *m, struct sl_error *err)
{
	if (!m->passes.arg || !sl_kmeans_opener(m->engine))
		return 0;
	int code = sl_kmeans_attach(m->kmeans, m->engine, m->device, err);
	return code == SL_DEVMEM ? 0 : code;  /* the host computes the same clusters */
}

static int begin(struct sl_gmm *m, bool known, struct sl_error *err)
{
	const struct sl__gmm_factors *f = &m->factors;
	struct sl_gmm_step step = {.k = m->now.k, .mean = m->now.mean, .known = known, .factor = f->factor,
				   .stride = f->stride, .scale = f->scale, .constant = f->constant, .sums = SL_GMM_SUM_ALL};
	if (m->phase == SL__GMM_MEANS)
		step.sums = SL_GMM_SUM_MEANS;
	else if (m->phase == SL__GMM_SCORE || m->phase == SL__GMM_FINAL)
		step.sums = SL_GMM_NO_SUMS;
	int code = m->passes.begin(m->passes.arg, &step, err);
	m->begun = !code;
	return code;
}

int sl__gmm_device_work(struct sl_gmm *m, bool *pass_ended, struct sl_error *err)
{
	bool known = m->phase == SL__GMM_MEANS || m->phase == SL__GMM_SPREADS, last = sl__gmm_gives_result(m);
	uint32_t units = sl__gmm_batches(m), count = last ? 1 : m->chunk[SL__GMM_EXPECT];
	uint32_t from = m->batch, to = units - from < count ? units : from + count;
	size_t row = (size_t)from * m->unit;
	int code = m->begun ? 0 : begin(m, known, err);
	if (!code)
		code = m->passes.go(m->passes.arg, from, to, known && !m->start ? m->label : NULL, known ? m->start : NULL,
				    m->part, err);
	if (!code && last)
		code = m->passes.shares(m->passes.arg, m->result_label + row, m->result_share + row * m->now.k, err);
	for (uint32_t unit = from; !code && !known && unit < to; unit++)
		m->sum += m->part[unit];
	m->batch = to;
	*pass_ended = !code && to == units;
	if (*pass_ended && (known || m->phase == SL__GMM_PASS))
		code = m->passes.end(m->passes.arg, m->padded, m->mass, m->first, m->second,
				     m->phase == SL__GMM_MEANS ? NULL : m->params.covariance == SL_GMM_FULL ? m->scatter : NULL, err);
	return code;
}
