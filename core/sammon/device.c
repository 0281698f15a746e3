/* Runs the passes over the pairs on a device (passes.h). The host does the rest, as without a device. A pass that is
 * interrupted starts again. */
#include <stdlib.h>

#include "core/sammon/passes.h"
#include "core/sammon/sammon_internal.h"

/* Times of a pass on one H200 (tests/gpu/bench_sammon): seconds for each pair, and for each pair and column. */
#define PAIR_S 1e-12
#define PRODUCT_S 4.3e-14
#define FIRST_S 5e-3  /* intended time of the first call */

static uint32_t partners_of(const struct sl_sammon *m)
{
	return m->sampled ? m->rounds : 0;
}

/* The number of units of the first call. Small ones come last, and would leave most of the device idle if run alone. */
static uint32_t first_chunk(const struct sl_sammon *m)
{
	double pairs = m->n / 2.0 * (m->sampled ? (double)m->rounds * m->side : m->n);
	double share = FIRST_S / (pairs * (PAIR_S + PRODUCT_S * m->d));
	return share < 1 ? 1 + (uint32_t)(share * m->passes.units) : m->passes.units;
}

int sl_sammon_attach(struct sl_sammon *m, const struct sl_engine *engine, struct sl_device *device,
		     struct sl_error *err)
{
	struct sl_sammon_table table = {
		.n = m->n, .d = m->d, .room = m->room, .panel = m->panel, .norm = m->norm, .mass = m->mass,
		.differences = m->differences, .dims = m->params.dims, .metric = m->params.stress == SL_SAMMON_METRIC,
		.curve = m->trial.curve != NULL, .side = m->side, .blocks = m->blocks, .partners = partners_of(m),
	};
	struct sl_sammon_passes passes;
	uint32_t *partner = m->sampled ? malloc((size_t)m->blocks * m->rounds * sizeof *partner) : NULL;
	if (m->sampled && !partner)
		return sl_error_memory(err, "the partners of %u points", m->n);
	int code = sl_sammon_opener(engine)(device, &table, &passes, err);
	if (code) {
		free(partner);
		return code;
	}
	m->passes = passes;
	m->partner = partner;
	m->chunk = first_chunk(m);
	if (!m->status.done)
		sl__sammon_pass_begin(m);
	/* only the host's passes use stored distances */
	free(m->kept);
	free(m->known);
	m->kept = NULL;
	m->known = NULL;
	m->slots = 0;
	return 0;
}

static int begin(struct sl_sammon *m, bool weights)
{
	int code = m->passes.begin(m->passes.arg, m->rounded, m->partner, weights, &m->failure);
	m->unit = 0;
	m->begun = !code;
	return code;
}

bool sl__sammon_device_pass(struct sl_sammon *m, uint32_t count, int *code)
{
	bool weights = sl__sammon_weighs(m);
	*code = m->begun ? 0 : begin(m, weights);
	if (*code)
		return false;
	uint32_t to = m->passes.units - m->unit < count ? m->passes.units : m->unit + count;
	*code = m->passes.go(m->passes.arg, m->unit, to, &m->failure);
	m->unit = to;
	if (*code || to < m->passes.units)
		return false;
	*code = m->passes.end(m->passes.arg, m->trial.force, m->trial.curve, weights ? m->weight : NULL, &m->sum,
			      weights ? &m->total : NULL, &m->failure);
	m->begun = false;
	return !*code;
}
