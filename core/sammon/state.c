/* The state of a run consists of a header, coordinates, forces and curves of both layouts, and the weights. After
 * loading, distances are computed again. On a graph an interrupted pass or solution starts again, with the same
 * bytes. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/method/stream.h"
#include "core/param_table.h"
#include "core/sammon/sammon_internal.h"

struct header {
	char magic[8];
	uint32_t rows, d, n, side, rounds;
	uint32_t round, tile;
	int32_t refused;
	struct sl_sammon_params params;
	struct sl_sammon_status status;
	double best_stress, sum, total, step;
	int32_t adapted, phase;  /* phase: graphs only */
	double recent[2 * SL__SAMMON_WINDOW];
};
static const char magic[8] = "slsm 2\n";

static void place(const struct sl_sammon *m, struct sl_stream *s, struct sl__sammon_place *p)
{
	uint64_t bytes = sl__sammon_values(m) * sizeof(double);
	sl_stream_pass(s, p->y, bytes);
	sl_stream_pass(s, p->force, bytes);
	if (p->curve)
		sl_stream_pass(s, p->curve, bytes);
}

/* Passes over all arrays of a state. */
static void arrays(struct sl_sammon *m, struct sl_stream *s)
{
	place(m, s, &m->best);
	place(m, s, &m->trial);
	sl_stream_pass(s, m->weight, m->room * sizeof *m->weight);
}

static uint64_t state_bytes(struct sl_sammon *m)
{
	struct sl_stream count = {0};
	arrays(m, &count);
	return sizeof(struct header) + count.bytes;
}

/* The phase in which a loaded run continues: the start, a pass or a solution. smacof needs the direction of its trial
 * layout to judge it, so it solves again. */
static enum sl__terms_phase resumed(const struct sl_sammon *m)
{
	enum sl__terms_phase phase = m->terms->phase < SL__TERMS_START ? m->terms->next : m->terms->phase;
	bool made = m->params.optimiser == SL_SAMMON_SMACOF && !isnan(m->best.stress);
	return phase == SL__TERMS_ANCHORS ? SL__TERMS_START : phase == SL__TERMS_PASS && made ? SL__TERMS_SOLVE : phase;
}

static void fill_header(const struct sl_sammon *m, struct header *h)
{
	memcpy(h->magic, magic, sizeof magic);
	h->rows = m->rows;
	h->d = m->d;
	h->n = m->n;
	h->side = m->side;
	h->rounds = m->rounds;
	h->round = m->round;
	h->tile = m->tile;
	h->refused = m->refused;
	/* field by field: padding stays zero */
	sl_param_copy_all(&sl_sammon_table, &h->params, &m->params);
	h->status.iteration = m->status.iteration;
	h->status.stress = m->status.stress;
	h->status.gradient_norm = m->status.gradient_norm;
	h->status.step = m->status.step;
	h->status.converged = m->status.converged;
	h->status.done = m->status.done;
	h->best_stress = m->best.stress;
	h->sum = m->sum;
	h->total = m->total;
	h->step = m->step;
	h->adapted = m->adapted;
	h->phase = m->terms ? (int32_t)resumed(m) : 0;
	memcpy(h->recent, m->recent, sizeof h->recent);
}

int sl_sammon_save(const struct sl_sammon *run, void **out, uint64_t *bytes, struct sl_error *err)
{
	struct sl_sammon *m = (struct sl_sammon *)run;  /* saving changes only what the run computes again */
	*bytes = state_bytes(m);
	char *at = *out = calloc(1, *bytes);
	if (!at)
		return sl_error_memory(err, "a state of %llu bytes", (unsigned long long)*bytes);
	if (m->passes.arg)
		sl__sammon_clear(m);  /* the pass starts again */
	fill_header(m, (struct header *)at);
	arrays(m, &(struct sl_stream){.to = at + sizeof(struct header)});
	return 0;
}

static bool header_fits(const struct sl_sammon *m, const struct header *h)
{
	const struct sl_sammon_params *a = &h->params, *b = &m->params;
	return !memcmp(h->magic, magic, sizeof magic) && h->rows == m->rows && h->d == m->d && h->n == m->n &&
	       h->side == m->side && h->rounds == m->rounds && h->round <= m->rounds && (h->tile < m->blocks || m->terms) &&
	       sl_param_same_run(&sl_sammon_table, a, b) && h->status.iteration >= 0 &&
	       h->status.iteration <= b->iterations &&
	       isfinite(h->sum) && isfinite(h->total) && isfinite(h->step) && a->step >= 0 && h->refused >= 0 &&
	       (m->terms ? h->phase >= SL__TERMS_START && h->phase <= SL__TERMS_SOLVE : !h->phase);
}

static bool all_finite(const char *values, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes; at += sizeof(double)) {
		double value;
		memcpy(&value, values + at, sizeof value);
		if (!isfinite(value))
			return false;
	}
	return true;
}

int sl_sammon_load(struct sl_sammon *m, const void *state, uint64_t bytes, struct sl_error *err)
{
	const char *content = (const char *)state + sizeof(struct header);
	struct header h;
	bool fits = bytes == state_bytes(m);
	if (fits) {
		memcpy(&h, state, sizeof h);
		fits = header_fits(m, &h) && all_finite(content, bytes - sizeof h);
	}
	if (!fits)
		return sl_error_set(err, SL_BADDATA, "The state does not belong to a layout of these points with these "
				    "parameters.");
	arrays(m, &(struct sl_stream){.from = content});
	for (size_t i = 0; i < sl__sammon_values(m) && !m->terms; i++)
		m->rounded[i] = (float)m->trial.y[i];
	m->round = h.round;
	m->tile = h.tile;
	m->refused = h.refused;
	m->status = h.status;
	m->best.stress = h.best_stress;
	m->sum = h.sum;
	m->total = h.total;
	m->step = h.step;
	m->adapted = h.adapted && h.params.step == m->params.step;  /* false: the step was changed since */
	memcpy(m->recent, h.recent, sizeof m->recent);
	if (m->terms)
		sl__terms_resume(m, (enum sl__terms_phase)h.phase);
	else
		sl__sammon_draw(m);
	return 0;
}
