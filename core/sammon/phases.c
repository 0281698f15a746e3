/* The order of the phases of a run on a graph: distances, their total, the start, anchors, and passes in turns with
 * solutions. A call does some blocks of one phase; the last one begins the next phase. */
#include "core/sammon/sammon_internal.h"
#include "core/sammon/terms.h"

static bool pass(struct sl_sammon *m, uint32_t count)
{
	struct sl__terms *t = m->terms;
	if (!sl__sweep(m, SL__SWEEP_FORCES, count))
		return false;
	for (uint32_t b = 0; b < t->slices; b++)
		m->sum += t->sum[b];
	return true;
}

/* All terms are complete: continues with the start or, after loading, with the saved phase. */
static void begin(struct sl_sammon *m)
{
	struct sl__terms *t = m->terms;
	m->total = 0;
	for (uint32_t b = 0; b < t->slices; b++)
		m->total += t->total[b];
	t->phase = t->next;
	t->round = 0;
	if (t->phase == SL__TERMS_PASS)
		sl__terms_pass_begin(m);
	else if (t->phase == SL__TERMS_SOLVE)
		sl__terms_solve_begin(m);
}

void sl__terms_resume(struct sl_sammon *m, enum sl__terms_phase phase)
{
	m->terms->next = phase;
	if (m->terms->phase > SL__TERMS_TOTAL)
		begin(m);
}

bool sl__terms_go(struct sl_sammon *m, uint32_t count, int *code)
{
	struct sl__terms *t = m->terms;
	switch (t->phase) {
	case SL__TERMS_TOTAL:
		if (sl__sweep(m, SL__SWEEP_TOTAL, count))
			begin(m);
		return false;
	case SL__TERMS_START:
		if (!sl__terms_begin(m, count))
			return false;
		if (t->sparse)
			*code = sl__anchors_begin(m);
		else
			sl__terms_pass_begin(m);
		return false;
	case SL__TERMS_ANCHORS:
		if (sl__anchors(m, count, code))
			sl__terms_pass_begin(m);
		return false;
	case SL__TERMS_PASS:
		return pass(m, count);
	case SL__TERMS_SOLVE:
		if (sl__terms_solve(m, count))
			sl__sammon_try(m);
		return false;
	default:
		if (sl__terms_measure(t, &m->params, count, code) && t->phase == SL__TERMS_TOTAL)
			sl__terms_total_begin(m, t->next);
		return false;
	}
}
