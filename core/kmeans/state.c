/* Results, and saved states from which a run continues.
 *
 * A state consists of a header, labels [n], within a step the former labels of points that have new ones, counts [k],
 * centroids and sums [k][d], after the first restart also the best labels and centroids, and with batches struct
 * batches and the rows taken [k]. Bounds are not saved, since they change no result. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/kmeans/kmeans_internal.h"
#include "core/method/stream.h"

struct header {
	char magic[8];
	uint32_t n, d, k, last, stop, phase, at, moved, fill, assigned;
	struct sl_kmeans_params params;
	struct sl_kmeans_status status;
};
struct batches {
	double mean, least;
	uint64_t since;
};
static const char magic[8] = "slkm 5\n";

void sl__kmeans_sum(const struct sl_kmeans *m, uint32_t from, uint32_t to)
{
#pragma omp parallel for schedule(static)
	for (uint32_t block = from; block < to; block++) {
		double part = 0;
		for (uint32_t i = block * m->block; i < m->n && i - block * m->block < m->block; i++)
			part += m->kernels->square(m->d, m->x + (size_t)i * m->d, m->centroid + (size_t)m->label[i] * m->d);
		m->block_sum[block] = part;
	}
}

double sl__kmeans_inertia(const struct sl_kmeans *m)
{
	double sum = 0;
	for (uint32_t block = 0; block < m->blocks; block++)
		sum += m->block_sum[block];
	return m->params.metric == SL_KMEANS_COSINE ? sum / 2 : sum / m->scale / m->scale;
}

/* True if each point has a cluster in the restart that is running. */
static bool labelled(const struct sl_kmeans *m)
{
	return m->params.batch ? m->assigned : m->status.iteration > 0 || m->phase > SL__KMEANS_ASSIGN;
}

double sl_kmeans_measure(struct sl_kmeans *m)
{
	if (!labelled(m) || sl__kmeans_fetch(m, NULL))
		return NAN;
	sl__kmeans_sum(m, 0, m->blocks);
	return sl__kmeans_inertia(m);
}

int sl_kmeans_result(struct sl_kmeans *m, uint32_t *label, float *centroid, double *inertia, struct sl_error *err)
{
	bool done = m->status.done;
	if (!done && !labelled(m))
		return sl_error_set(err, SL_CONFLICT, "No point has a cluster yet.");
	int code = done ? 0 : sl__kmeans_fetch(m, err);
	if (code)
		return code;
	if (label)
		memcpy(label, done ? m->best_label : m->label, m->n * sizeof *label);
	for (size_t at = 0; centroid && at < (size_t)m->k * m->d; at++)
		centroid[at] = (float)((done ? m->best_centroid : m->centroid)[at] / m->scale);
	if (inertia)
		*inertia = done ? m->status.inertia : sl_kmeans_measure(m);
	return 0;
}

/* The number of points whose labels before the step are in before[]. */
static uint32_t relabelled(const struct sl_kmeans *m, enum sl__kmeans_phase phase, uint32_t at)
{
	uint64_t done = (uint64_t)at * m->block;
	if (phase == SL__KMEANS_ASSIGN)
		return done < m->n ? (uint32_t)done : m->n;
	return phase == SL__KMEANS_MOVE || phase == SL__KMEANS_FILL ? m->n : 0;
}

/* The bytes of a state that belong to batches. */
static uint64_t tail(const struct sl_kmeans *m)
{
	return m->params.batch ? sizeof(struct batches) + m->k * sizeof *m->taken : 0;
}

/* Passes over all arrays of a state. before, best: as in the header. */
static void arrays(struct sl_kmeans *m, struct sl_stream *s, uint32_t before, bool best)
{
	uint64_t table = (uint64_t)m->k * m->d * sizeof(double), labels = (uint64_t)m->n * sizeof(uint32_t);
	struct batches b = {m->mean, m->least, m->since};
	sl_stream_pass(s, m->label, labels);
	sl_stream_pass(s, m->before, before * sizeof *m->before);
	sl_stream_pass(s, m->count, m->k * sizeof *m->count);
	sl_stream_pass(s, m->centroid, table);
	sl_stream_pass(s, m->sum, table);
	if (best) {
		sl_stream_pass(s, m->best_label, labels);
		sl_stream_pass(s, m->best_centroid, table);
	}
	if (!m->params.batch)
		return;
	sl_stream_pass(s, &b, sizeof b);
	sl_stream_pass(s, m->taken, m->k * sizeof *m->taken);
	m->mean = b.mean;
	m->least = b.least;
	m->since = (uint32_t)b.since;
}

static uint64_t state_bytes(struct sl_kmeans *m, uint32_t before, bool best)
{
	struct sl_stream count = {0};
	arrays(m, &count, before, best);
	return sizeof(struct header) + count.bytes;
}

static void fill_header(const struct sl_kmeans *m, struct header *h)
{
	memcpy(h->magic, magic, sizeof magic);
	h->n = m->n;
	h->d = m->d;
	h->k = m->k;
	h->last = m->last;
	h->stop = m->stop;
	h->phase = m->phase;
	/* distances to seeds and inertias are not saved */
	h->at = m->phase == SL__KMEANS_SEED || m->phase == SL__KMEANS_SUM ? 0 : m->passed;
	h->moved = m->moved;
	h->fill = m->fill;
	h->assigned = m->assigned;
	/* field by field: padding stays zero */
	sl_param_copy_all(&sl_kmeans_table, &h->params, &m->params);
	h->status.restart = m->status.restart;
	/* candidates are not saved, so seeding starts again */
	bool anew = m->phase == SL__KMEANS_SEED && m->params.seeding == SL_KMEANS_PARALLEL;
	h->status.seeds = anew ? 0 : m->status.seeds;
	h->status.rounds = anew ? 0 : m->status.rounds;
	h->status.iteration = m->status.iteration;
	h->status.moved = m->status.moved;
	h->status.inertia = m->status.inertia;
	h->status.current = m->status.current;
	h->status.converged = m->status.converged;
	h->status.done = m->status.done;
}

int sl_kmeans_save(struct sl_kmeans *m, void **out, uint64_t *bytes, struct sl_error *err)
{
	int code = sl__kmeans_fetch(m, err);
	if (code)
		return code;
	bool best = !isnan(m->status.inertia);
	uint32_t before = relabelled(m, m->phase, m->passed);
	*bytes = state_bytes(m, before, best);
	char *at = *out = calloc(1, *bytes);
	if (!at)
		return sl_error_memory(err, "a state of %llu bytes", (unsigned long long)*bytes);
	fill_header(m, (struct header *)at);
	arrays(m, &(struct sl_stream){.to = at + sizeof(struct header)}, before, best);
	return 0;
}

/* True if the labels of points from .. to - 1 are valid. none: SL__KMEANS_NONE is valid, too. */
static bool labels_fit(const struct sl_kmeans *m, const char *labels, uint32_t from, uint32_t to, bool none)
{
	for (uint32_t i = from; i < to; i++) {
		uint32_t label;
		memcpy(&label, labels + (size_t)i * sizeof label, sizeof label);
		if (label >= m->k && !(none && label == SL__KMEANS_NONE))
			return false;
	}
	return true;
}

static bool header_fits(const struct sl_kmeans *m, const struct header *h)
{
	const struct sl_kmeans_params *b = &m->params;
	const struct sl_kmeans_status *s = &h->status;
	bool seeded = s->seeds == (int)m->k;
	return !memcmp(h->magic, magic, sizeof magic) && h->n == m->n && h->d == m->d && h->k == m->k &&
	       h->phase < SL__KMEANS_PHASES && seeded == (h->phase != SL__KMEANS_SEED) && h->at < m->blocks &&
	       h->fill <= m->k && h->moved <= m->n &&
	       sl_param_same_run(&sl_kmeans_table, &h->params, b) && s->restart >= 0 && s->restart <= b->restarts &&
	       s->seeds >= 0 && s->seeds <= (int)m->k && s->rounds >= 0 && s->iteration >= 0 &&
	       s->iteration <= b->iterations;
}

/* Checks the labels of all points, those before the step, and the best ones. */
static bool content_fits(struct sl_kmeans *m, const struct header *h, const char *content, uint64_t bytes)
{
	uint64_t table = (uint64_t)m->k * m->d * sizeof(double), labels = (uint64_t)m->n * sizeof(uint32_t);
	bool best = !isnan(h->status.inertia), first = m->params.batch ? !h->assigned : h->status.iteration == 0;
	uint32_t before = relabelled(m, h->phase, h->at);
	uint32_t assigned = h->phase == SL__KMEANS_ASSIGN ? before : m->n;
	if (best != (h->status.restart > 0) || (h->status.done && !best) ||
	    bytes + sizeof *h != state_bytes(m, before, best))
		return false;
	if (h->phase == SL__KMEANS_SEED || h->phase == SL__KMEANS_BATCH || h->status.done)
		assigned = 0;
	return labels_fit(m, content, 0, assigned, false) && labels_fit(m, content, assigned, m->n, first) &&
	       labels_fit(m, content + labels, 0, before, m->params.batch ? first || !h->last : first) &&
	       (!best || labels_fit(m, content + bytes - tail(m) - table - labels, 0, m->n, false));
}

int sl_kmeans_load(struct sl_kmeans *m, const void *state, uint64_t bytes, struct sl_error *err)
{
	const char *content = (const char *)state + sizeof(struct header);
	struct header h;
	bool fits = bytes >= sizeof h;
	if (fits) {
		memcpy(&h, state, sizeof h);
		fits = header_fits(m, &h) && content_fits(m, &h, content, bytes - sizeof h);
	}
	if (!fits)
		return sl_error_set(err, SL_BADDATA, "The state does not belong to k-means on these points with these "
				    "parameters.");
	arrays(m, &(struct sl_stream){.from = content}, relabelled(m, h.phase, h.at), !isnan(h.status.inertia));
	sl__kmeans_drop_part(m);
	sl__kmeans_drop_over(m);
	m->assigned = h.assigned;
	m->last = h.last;
	m->stop = h.stop;
	m->phase = h.phase;
	m->passed = h.at;
	m->moved = h.moved;
	m->fill = h.fill;
	m->seeded = 0;
	m->status = h.status;
	if (m->phase == SL__KMEANS_SEED)
		return 0;
	sl__kmeans_ready(m);
	return 0;
}
