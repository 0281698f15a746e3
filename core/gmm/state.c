/* Saved states from which a run continues.
 *
 * A state consists of a header and the finished fits; depending on the phase also of k-means or its labels, the mixture
 * of the present pass with the sums of its batches so far, the best restart, the best number of components. After
 * loading, factors are computed again, and a pass without sums starts again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/gmm/gmm_internal.h"
#include "core/kmeans/kmeans.h"
#include "core/method/stream.h"

struct header {
	char magic[8];
	uint32_t n, d;
	struct sl_gmm_params params;
	uint32_t fits, restart, iteration, phase, then, stop, batch, added;
	uint32_t best, winner;            /* components of each; 0: there is none */
	double log_likelihood, sum, before, lower;
	struct sl_gmm_fit fit, fitted[SL_PARAM_LIST_MAX];
	uint64_t kmeans_bytes;
	uint64_t unused;
};
static const char magic[8] = "slgm 2\n";

static void mixture(struct sl_stream *s, struct sl_gmm_mixture *g, uint32_t k)
{
	sl_stream_pass(s, g->weight, k * sizeof *g->weight);
	sl_stream_pass(s, g->mean, (uint64_t)k * g->d * sizeof *g->mean);
	sl_stream_pass(s, g->spread, sl_gmm_spread_values(g->covariance, k, g->d) * sizeof *g->spread);
}

static bool with_sums(uint32_t phase)
{
	return phase == SL__GMM_MEANS || phase == SL__GMM_SPREADS || phase == SL__GMM_PASS || phase == SL__GMM_UPDATE;
}

/* Passes over all arrays that a state with this header contains. */
static void arrays(struct sl_gmm *m, struct sl_stream *s, const struct header *h, uint32_t k)
{
	uint64_t wide = (uint64_t)k * m->padded * sizeof(double);
	bool labels = m->label && (h->phase == SL__GMM_MEANS || h->phase == SL__GMM_SPREADS);
	if (labels)
		sl_stream_pass(s, m->label, m->n * sizeof *m->label);
	if (with_sums(h->phase)) {
		mixture(s, &m->now, k);
		sl_stream_pass(s, m->mass, k * sizeof *m->mass);
		sl_stream_pass(s, m->first, wide);
		if (m->second)
			sl_stream_pass(s, m->second, wide);
		if (m->params.covariance == SL_GMM_FULL)
			sl_stream_pass(s, m->scatter, wide * m->padded);
		sl_stream_pass(s, m->shift, (uint64_t)k * m->d * sizeof *m->shift);
	}
	if (h->best)
		mixture(s, &m->best, h->best);
	if (h->winner)
		mixture(s, &m->winner, h->winner);
	if (h->phase == SL__GMM_DONE) {
		sl_stream_pass(s, m->result_label, m->n * sizeof *m->result_label);
		sl_stream_pass(s, m->result_share, (uint64_t)m->n * h->winner * sizeof *m->result_share);
	}
}

static void fill_header(const struct sl_gmm *m, struct header *h)
{
	memcpy(h->magic, magic, sizeof magic);
	h->n = m->n;
	h->d = m->d;
	sl_param_copy_all(&sl_gmm_table, &h->params, &m->params);  /* padding stays zero */
	h->fits = (uint32_t)m->status.fits;
	h->restart = (uint32_t)m->status.restart;
	h->iteration = (uint32_t)m->status.iteration;
	h->phase = m->phase;
	h->then = m->next_phase;
	h->stop = m->stop;
	/* a device returns its sums only at the end of a pass, so the pass starts again */
	bool sums = with_sums(m->phase) && m->phase != SL__GMM_UPDATE && !m->passes.arg;
	h->batch = sums ? m->batch : 0;
	h->added = sums ? m->added : 0;
	h->log_likelihood = m->status.log_likelihood;
	h->sum = m->passes.arg && with_sums(m->phase) && m->phase != SL__GMM_UPDATE ? 0 : m->sum;
	h->before = m->previous_log_likelihood;
	h->lower = m->mean_log_likelihood;
	h->fit = m->fit;
	memcpy(h->fitted, m->fits, sizeof h->fitted);
	h->best = isnan(m->fit.log_likelihood) ? 0 : (uint32_t)m->fit.components;
	h->winner = m->status.fits > 0 ? m->winner.k : 0;
}

int sl_gmm_save(const struct sl_gmm *run, void **out, uint64_t *bytes, struct sl_error *err)
{
	struct sl_gmm *m = (struct sl_gmm *)run;  /* saving only reads it */
	struct sl_stream count = {0}, s = {0};
	struct header h;
	void *kmeans = NULL;
	memset(&h, 0, sizeof h);  /* padding, too */
	fill_header(m, &h);
	int code = m->kmeans ? sl_kmeans_save(m->kmeans, &kmeans, &h.kmeans_bytes, err) : 0;
	if (code)
		return code;
	arrays(m, &count, &h, m->now.k);
	*bytes = sizeof h + h.kmeans_bytes + count.bytes;
	s.to = *out = malloc(*bytes);
	if (s.to) {
		sl_stream_pass(&s, &h, sizeof h);
		if (kmeans)
			sl_stream_pass(&s, kmeans, h.kmeans_bytes);
		arrays(m, &s, &h, m->now.k);
	}
	free(kmeans);
	return s.to ? 0 : sl_error_memory(err, "a state of %llu bytes", (unsigned long long)*bytes);
}

/* ---- loading ---------------------------------------------------------------------------- */

static bool same_run(const struct sl_gmm *m, const struct header *h)
{
	return !memcmp(h->magic, magic, sizeof magic) && h->n == m->n && h->d == m->d &&
	       sl_param_same_run(&sl_gmm_table, &h->params, &m->params);
}

static bool one_of(const struct sl_gmm *m, uint32_t k)
{
	for (int i = 0; i < m->params.components.count; i++)
		if ((uint32_t)m->params.components.value[i] == k)
			return true;
	return k == 0;
}

static bool possible(const struct sl_gmm *m, const struct header *h)
{
	const struct sl_gmm_params *p = &m->params;
	uint32_t components = (uint32_t)p->components.count;
	bool best = !isnan(h->fit.log_likelihood), after = h->phase == SL__GMM_DONE ||
		(h->phase >= SL__GMM_FACTOR && h->then == SL__GMM_FINAL);
	return h->phase < SL__GMM_PHASES && (h->then == SL__GMM_SCORE || h->then == SL__GMM_FINAL || h->then == 0) &&
	       h->fits <= components && (h->fits < components || after) && h->restart <= (uint32_t)p->restarts &&
	       h->iteration <= (uint32_t)p->iterations && one_of(m, h->best) && one_of(m, h->winner) &&
	       best == (h->best > 0) &&
	       (h->fits > 0) == (h->winner > 0) && (h->phase != SL__GMM_DONE || h->winner) &&
	       (h->phase != SL__GMM_KMEANS || m->label) && (h->phase != SL__GMM_FACTOR || h->then) &&
	       (h->phase != SL__GMM_SCORE || h->best) && (h->phase != SL__GMM_FINAL || h->winner) &&
	       (h->phase != SL__GMM_FACTOR || (h->then == SL__GMM_SCORE ? h->best : h->winner) > 0);
}

/* The number of components of the present mixture. */
static uint32_t present_components(const struct sl_gmm *m, const struct header *h)
{
	if (h->phase == SL__GMM_DONE || (h->phase >= SL__GMM_FACTOR && h->then == SL__GMM_FINAL))
		return h->winner;
	return (uint32_t)m->params.components.value[h->fits];
}

/* Computes the factors of the present mixture again. */
static void factor_again(struct sl_gmm *m)
{
	memset(m->factors.ridge, 0, m->now.k * sizeof *m->factors.ridge);
	sl__gmm_spread_rows(m, false, 0, sl__gmm_rows(m));
}

static int settle(struct sl_gmm *m, const struct header *h, const char *kmeans, struct sl_error *err)
{
	bool full = m->params.covariance == SL_GMM_FULL;
	uint64_t values = full ? (uint64_t)m->now.k * m->padded * m->padded : 0;
	double *keep = NULL;
	int code = 0;
	m->batch_points = sl__gmm_batch_points(m->n, m->d, m->now.k);
	m->batch = h->batch;
	m->added = h->added;
	m->expected = m->row = 0;
	m->sum = h->sum;
	switch (m->phase) {
	case SL__GMM_KMEANS:
		sl__gmm_blank(m, m->now.k);
		if (!h->kmeans_bytes)
			return 0;
		code = sl__gmm_clusters(m, err);
		return code ? code : sl_kmeans_load(m->kmeans, kmeans, h->kmeans_bytes, err);
	case SL__GMM_UPDATE:
		memset(m->factors.ridge, 0, m->now.k * sizeof *m->factors.ridge);
		return 0;
	case SL__GMM_PASS:
		/* computing factors overwrites the sums */
		keep = values ? malloc(values * sizeof *keep) : NULL;
		if (values && !keep)
			return sl_error_memory(err, "a mixture of %u components", m->now.k);
		if (keep)
			memcpy(keep, m->scatter, values * sizeof *keep);
		factor_again(m);
		if (keep)
			memcpy(m->scatter, keep, values * sizeof *keep);
		free(keep);
		return 0;
	case SL__GMM_FACTOR:
	case SL__GMM_SCORE:
	case SL__GMM_FINAL:
		sl__gmm_mixture_copy(&m->now, m->next_phase == SL__GMM_SCORE ? &m->best : &m->winner);
		factor_again(m);
		m->phase = m->next_phase;
		sl__gmm_pass_begin(m);
		return 0;
	default:
		return 0;
	}
}

int sl_gmm_load(struct sl_gmm *m, const void *state, uint64_t bytes, struct sl_error *err)
{
	const char *from = state;
	struct header h;
	struct sl_stream count = {0}, s = {0};
	bool fits = bytes >= sizeof h;
	if (fits) {
		memcpy(&h, from, sizeof h);
		fits = same_run(m, &h) && possible(m, &h) && h.kmeans_bytes <= bytes;
	}
	uint32_t k = fits ? present_components(m, &h) : 0;
	if (fits) {
		arrays(m, &count, &h, k);
		fits = sizeof h + h.kmeans_bytes + count.bytes == bytes;
	}
	if (!fits)
		return sl_error_set(err, SL_BADDATA, "The state does not belong to a mixture of these points with these "
				    "parameters.");
	m->now.k = k;
	m->best.k = h.best;
	m->winner.k = h.winner;
	m->status.fits = (int)h.fits;
	m->status.restart = (int)h.restart;
	m->status.iteration = (int)h.iteration;
	m->status.log_likelihood = h.log_likelihood;
	m->status.done = h.phase == SL__GMM_DONE;
	m->phase = h.phase;
	m->next_phase = h.then;
	m->stop = h.stop;
	m->previous_log_likelihood = h.before;
	m->mean_log_likelihood = h.lower;
	m->fit = h.fit;
	memcpy(m->fits, h.fitted, sizeof m->fits);
	s.from = from + sizeof h + h.kmeans_bytes;
	arrays(m, &s, &h, k);
	for (uint32_t i = 0; m->label && (m->phase == SL__GMM_MEANS || m->phase == SL__GMM_SPREADS) && i < m->n; i++)
		if (m->label[i] >= k)
			return sl_error_set(err, SL_BADDATA, "The state does not belong to a mixture of these points.");
	if (with_sums(m->phase) && m->phase != SL__GMM_UPDATE &&
	    h.batch >= (m->n - 1) / sl__gmm_batch_points(m->n, m->d, k) + 1)
		return sl_error_set(err, SL_BADDATA, "The state does not belong to a mixture of these points.");
	return settle(m, &h, from + sizeof h, err);
}
