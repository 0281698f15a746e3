/* Places the pivots of sparse parts: an inner run lays out the pivots alone, with a term for each pair, from their
 * positions in the start. Its weights are those of the outer run, averaged over both directions. */
#include <math.h>
#include <stdlib.h>

#include "core/sammon/sammon_internal.h"
#include "core/sammon/terms.h"

#define TOLERANCE 1e-6
#define ITERATIONS 1000

static float weight_of(const struct sl__terms *t, const struct sl__part *p, uint32_t a, uint32_t b, int stress)
{
	const float *weight = t->weight + p->at, *distance = t->distance + p->at;
	uint32_t at_a = t->pivot[p->pivot + a] - p->first, at_b = t->pivot[p->pivot + b] - p->first;
	float mean = 0.5f * (weight[(uint64_t)a * p->n + at_b] + weight[(uint64_t)b * p->n + at_a]);
	float one = (float)sl__terms_weight(stress, (double)distance[(uint64_t)a * p->n + at_b]);
	return a == b ? 0 : fmaxf(mean, one);  /* the weight of neighbours is 0 in `weight` */
}

static void fill(struct sl_sammon *inner, const struct sl_sammon *m)
{
	const struct sl__terms *t = m->terms;
	struct sl__terms *to = inner->terms;
	for (uint32_t k = 0; k < t->sparse; k++) {
		const struct sl__part *p = &t->part[k], *own = &to->part[k];
		for (uint32_t a = 0; a < p->pivots; a++) {
			for (uint32_t b = 0; b < p->pivots; b++) {
				uint64_t at = own->at + (uint64_t)a * own->n + b;
				to->distance[at] = t->distance[p->at + (uint64_t)a * p->n + t->pivot[p->pivot + b] - p->first];
				to->weight[at] = weight_of(t, p, a, b, m->params.stress);
			}
			for (int q = 0; q < m->params.dims; q++)
				inner->trial.y[(size_t)q * inner->room + own->first + a] =
					m->trial.y[(size_t)q * m->room + t->pivot[p->pivot + a]];
		}
	}
}

int sl__anchors_begin(struct sl_sammon *m)
{
	struct sl_sammon *inner = m->terms->anchors = calloc(1, sizeof *inner);
	if (!inner)
		return SL_NOMEM;
	inner->params = m->params;
	inner->params.optimiser = SL_SAMMON_SMACOF;
	inner->params.step = 0;
	inner->params.tolerance = TOLERANCE;
	inner->params.iterations = ITERATIONS;
	int code = sl__terms_of_pivots(&inner->terms, m->terms, &inner->params);
	if (!code)
		code = sl__sammon_prepare_terms(inner);
	if (!code) {
		fill(inner, m);
		sl__terms_total_begin(inner, SL__TERMS_PASS);
		m->terms->phase = SL__TERMS_ANCHORS;
	}
	return code;
}

bool sl__anchors(struct sl_sammon *m, uint32_t count, int *code)
{
	struct sl__terms *t = m->terms;
	struct sl_sammon *inner = t->anchors;
	if (sl__sammon_pass(inner, count, code) && !*code)
		sl__sammon_judge(inner);
	if (*code || !inner->status.done)
		return false;
	for (int q = 0; q < m->params.dims; q++)
		for (uint32_t k = 0; k < inner->terms->n; k++)  /* sparse parts come first */
			m->trial.y[(size_t)q * m->room + t->pivot[k]] = inner->best.y[(size_t)q * inner->room + k];
	sl_sammon_destroy(inner);
	t->anchors = NULL;
	return true;
}
