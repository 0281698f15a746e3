/* Results, and states that a run goes on from.
 *
 * A state is a header, labels [n] and counts [k], and centroids and sums [k][d]; after the first restart also the best
 * labels and centroids. Bounds are not in it: they change no result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/kmeans/kmeans_internal.h"

struct header {
	char magic[8];
	uint32_t n, d, k, last;
	struct sl_kmeans_params params;
	struct sl_kmeans_status status;
};
static const char magic[8] = "slkm 1\n";

static double inertia_of(const struct sl_kmeans *m, const double *centroid, const uint32_t *label)
{
	double sum = 0;
#pragma omp parallel for schedule(static)
	for (uint32_t block = 0; block < m->blocks; block++) {
		double part = 0;
		for (uint32_t i = block * SL__KMEANS_BLOCK; i < m->n && i < (block + 1) * SL__KMEANS_BLOCK; i++)
			part += m->kernels->square(m->d, m->x + (size_t)i * m->d, centroid + (size_t)label[i] * m->d);
		m->block_sum[block] = part;
	}
	for (uint32_t block = 0; block < m->blocks; block++)
		sum += m->block_sum[block];
	return m->params.metric == SL_KMEANS_COSINE ? sum / 2 : sum / m->scale / m->scale;
}

double sl_kmeans_measure(const struct sl_kmeans *m)
{
	return m->label[0] == SL__KMEANS_NONE ? NAN : inertia_of(m, m->centroid, m->label);
}

int sl_kmeans_result(const struct sl_kmeans *m, uint32_t *label, float *centroid, double *inertia,
		     struct sl_error *err)
{
	bool done = m->status.done;
	if (!done && m->label[0] == SL__KMEANS_NONE)
		return sl_error_set(err, SL_CONFLICT, "No point has a cluster yet.");
	if (label)
		memcpy(label, done ? m->best_label : m->label, m->n * sizeof *label);
	for (size_t at = 0; centroid && at < (size_t)m->k * m->d; at++)
		centroid[at] = (float)((done ? m->best_centroid : m->centroid)[at] / m->scale);
	if (inertia)
		*inertia = done ? m->status.inertia : sl_kmeans_measure(m);
	return 0;
}

static uint64_t state_bytes(const struct sl_kmeans *m, bool best)
{
	uint64_t table = (uint64_t)m->k * m->d * sizeof(double), labels = (uint64_t)m->n * sizeof(uint32_t);
	return sizeof(struct header) + labels + m->k * sizeof(uint32_t) + 2 * table + (best ? labels + table : 0);
}

static void put(char **at, const void *from, uint64_t bytes)
{
	memcpy(*at, from, bytes);
	*at += bytes;
}

static void take(const char **at, void *to, uint64_t bytes)
{
	memcpy(to, *at, bytes);
	*at += bytes;
}

int sl_kmeans_save(const struct sl_kmeans *m, void **out, uint64_t *bytes, struct sl_error *err)
{
	bool best = !isnan(m->status.inertia);
	uint64_t table = (uint64_t)m->k * m->d * sizeof(double), labels = (uint64_t)m->n * sizeof(uint32_t);
	*bytes = state_bytes(m, best);
	char *at = *out = calloc(1, *bytes);
	if (!at)
		return sl_error_set(err, SL_NOMEM, "There is no memory for a state of %llu bytes.", (unsigned long long)*bytes);
	struct header *h = (struct header *)at;
	memcpy(h->magic, magic, sizeof magic);
	h->n = m->n;
	h->d = m->d;
	h->k = m->k;
	h->last = m->last;
	/* field by field: padding stays zero */
	h->params.clusters = m->params.clusters;
	h->params.metric = m->params.metric;
	h->params.restarts = m->params.restarts;
	h->params.iterations = m->params.iterations;
	h->params.tolerance = m->params.tolerance;
	h->params.seed = m->params.seed;
	h->status.restart = m->status.restart;
	h->status.seeds = m->status.seeds;
	h->status.iteration = m->status.iteration;
	h->status.moved = m->status.moved;
	h->status.inertia = m->status.inertia;
	h->status.done = m->status.done;
	at += sizeof *h;
	put(&at, m->label, labels);
	put(&at, m->count, m->k * sizeof *m->count);
	put(&at, m->centroid, table);
	put(&at, m->sum, table);
	if (best) {
		put(&at, m->best_label, labels);
		put(&at, m->best_centroid, table);
	}
	return 0;
}

static bool labels_fit(const struct sl_kmeans *m, const char *labels, bool none)
{
	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t label;
		memcpy(&label, labels + (size_t)i * sizeof label, sizeof label);
		if (label >= m->k && !(none && label == SL__KMEANS_NONE))
			return false;
	}
	return true;
}

static bool header_fits(const struct sl_kmeans *m, const struct header *h)
{
	const struct sl_kmeans_params *a = &h->params, *b = &m->params;
	const struct sl_kmeans_status *s = &h->status;
	return !memcmp(h->magic, magic, sizeof magic) && h->n == m->n && h->d == m->d && h->k == m->k &&
	       a->clusters == b->clusters && a->metric == b->metric && a->restarts == b->restarts &&
	       a->iterations == b->iterations && a->tolerance == b->tolerance && a->seed == b->seed && s->restart >= 0 &&
	       s->restart <= b->restarts && s->seeds >= 0 && s->seeds <= (int)m->k && s->iteration >= 0 &&
	       s->iteration <= b->iterations;
}

int sl_kmeans_load(struct sl_kmeans *m, const void *state, uint64_t bytes, struct sl_error *err)
{
	uint64_t table = (uint64_t)m->k * m->d * sizeof(double), labels = (uint64_t)m->n * sizeof(uint32_t);
	struct header h;
	bool fits = bytes >= sizeof h, best = false;
	if (fits) {
		memcpy(&h, state, sizeof h);
		best = !isnan(h.status.inertia);
		fits = header_fits(m, &h) && best == (h.status.restart > 0) && bytes == state_bytes(m, best) &&
		       labels_fit(m, (const char *)state + sizeof h, h.status.iteration == 0) &&
		       (!best || labels_fit(m, (const char *)state + bytes - table - labels, false));
	}
	if (!fits)
		return sl_error_set(err, SL_BADDATA, "This is not a state of k-means on these points with these parameters.");
	const char *at = (const char *)state + sizeof h;
	take(&at, m->label, labels);
	take(&at, m->count, m->k * sizeof *m->count);
	take(&at, m->centroid, table);
	take(&at, m->sum, table);
	if (best) {
		take(&at, m->best_label, labels);
		take(&at, m->best_centroid, table);
	}
	m->last = h.last;
	m->status = h.status;
	m->status.done = m->status.restart >= m->params.restarts;
	if (m->status.seeds < (int)m->k) {
		for (int j = 0; j < m->status.seeds; j++)
			sl__kmeans_add_seed(m, (uint32_t)j);
		return 0;
	}
	return sl__kmeans_ready(m) ? sl_error_set(err, SL_NOMEM, "There is no memory for k-means.") : 0;
}
