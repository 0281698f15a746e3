/* Results, and saved states: a header, values [fields][n], snapshots and their times. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/method/stream.h"
#include "core/signal/signal_internal.h"

struct header {
	char magic[8];
	uint32_t n, fields;
	uint64_t m;
	int32_t model, laplacian, integrator, snapshots, step, recorded, converged, done;
	double time, h, change;
};
static const char magic[8] = "slsg 2\n";  /* values are in the coupling's order; if that changes, so must the number */

/* Fetches values for functions that cannot fail; the next advance returns the error. */
static void fetch(struct sl_signal *s)
{
	int code = sl__signal_fetch(s, &s->failure);
	s->failed = code ? code : s->failed;
}

void sl_signal_values_exact(struct sl_signal *s, double *out)
{
	fetch(s);
	for (int f = 0; f < s->fields; f++)
		for (uint32_t i = 0; i < s->n; i++)
			out[(size_t)s->c->user[i] * (size_t)s->fields + (size_t)f] = s->y[f][i];
}

void sl_signal_values(struct sl_signal *s, float *out)
{
	fetch(s);
#pragma omp parallel for schedule(static) if (s->n > 100000)
	for (uint32_t user = 0; user < s->n; user++)
		for (int f = 0; f < s->fields; f++)
			out[(size_t)user * (size_t)s->fields + (size_t)f] = (float)s->y[f][s->c->place[user]];
}

const float *sl_signal_snapshots(const struct sl_signal *s, int *count, const float **times)
{
	*count = s->recorded;
	*times = s->snapshot_time;
	return s->snapshot;
}

float *sl_signal_take_snapshots(struct sl_signal *s, int *count, float **times)
{
	float *taken = s->snapshot;
	*count = s->recorded;
	*times = s->snapshot_time;
	s->snapshot = s->snapshot_time = NULL;
	return taken;
}

double sl_signal_level(struct sl_signal *s)
{
	const struct sl_coupling *c = s->c;
	bool sir = s->params.model == SL_SIGNAL_SIR || s->params.model == SL_SIGNAL_SIR_CHANCE;
	bool weighted = !sir && s->params.laplacian == SL_SIGNAL_RANDOM_WALK;
	const double *y = s->y[sir];
	if (s->params.model == SL_SIGNAL_PAGERANK)
		return s->change;
	double all = 0;
	for (uint32_t i = 0; i < s->n; i++)
		all += weighted ? sl__capacity(c, true, i) : 1;
	if (s->passes.arg)
		return sl__signal_device_sum(s) / all;
#pragma omp parallel for schedule(static) if (c->blocks > 64)
	for (uint32_t b = 0; b < c->blocks; b++) {
		double sum = 0;
		for (uint32_t i = c->block[b]; i < c->block[b + 1]; i++)
			sum += weighted ? sl__capacity(c, true, i) * y[i] : y[i];
		s->sum[2][b] = sum;
	}
	return sl__signal_total(s, 2) / all;
}

/* ---- states ---------------------------------------------------------------------------- */

static void fill_header(const struct sl_signal *s, struct header *h)
{
	memset(h, 0, sizeof *h);
	memcpy(h->magic, magic, sizeof magic);
	h->n = s->n;
	h->fields = (uint32_t)s->fields;
	h->m = s->c->m;
	h->model = s->params.model;
	h->laplacian = s->params.laplacian;
	h->integrator = s->params.integrator;
	h->snapshots = s->params.snapshots;
	h->step = s->step;
	h->recorded = s->recorded;
	h->converged = s->converged;
	h->done = s->done;
	h->time = s->time;
	h->h = s->h;
	h->change = s->change;
}

/* Passes over all arrays of a state. */
static void arrays(struct sl_signal *s, struct sl_stream *stream, int recorded)
{
	uint64_t values = (uint64_t)s->n * (uint64_t)s->fields;
	for (int f = 0; f < s->fields; f++)
		sl_stream_pass(stream, s->y[f], s->n * sizeof *s->y[f]);
	sl_stream_pass(stream, s->snapshot_time, (uint64_t)recorded * sizeof *s->snapshot_time);
	sl_stream_pass(stream, s->snapshot, (uint64_t)recorded * values * sizeof *s->snapshot);
}

static uint64_t state_bytes(struct sl_signal *s, int recorded)
{
	struct sl_stream count = {0};
	arrays(s, &count, recorded);
	return sizeof(struct header) + count.bytes;
}

int sl_signal_save(struct sl_signal *s, void **out, uint64_t *bytes, struct sl_error *err)
{
	int code = sl__signal_fetch(s, err);
	if (code)
		return code;
	*bytes = state_bytes(s, s->recorded);
	char *at = *out = malloc(*bytes);
	if (!at)
		return sl_error_memory(err, "a state of %llu bytes", (unsigned long long)*bytes);
	fill_header(s, (struct header *)(void *)at);
	arrays(s, &(struct sl_stream){.to = at + sizeof(struct header)}, s->recorded);
	return 0;
}

static bool header_fits(const struct sl_signal *s, const struct header *h)
{
	struct header own;
	fill_header(s, &own);
	return !memcmp(h->magic, own.magic, sizeof magic) && h->n == own.n && h->fields == own.fields && h->m == own.m &&
	       h->model == own.model && h->laplacian == own.laplacian && h->integrator == own.integrator &&
	       h->snapshots == own.snapshots && h->step >= 0 && h->recorded >= 0 && h->recorded <= own.snapshots &&
	       h->time >= 0 && isfinite(h->time) && h->h > 0 && isfinite(h->h) && (unsigned)h->done <= 1 &&
	       (unsigned)h->converged <= 1;
}

int sl_signal_load(struct sl_signal *s, const void *state, uint64_t bytes, struct sl_error *err)
{
	struct header h = {0};
	if (bytes >= sizeof h)
		memcpy(&h, state, sizeof h);
	if (!header_fits(s, &h) || bytes != state_bytes(s, h.recorded))
		return sl_error_set(err, SL_BADDATA, "The state does not belong to signals on this graph with these "
				"parameters.");
	arrays(s, &(struct sl_stream){.from = (const char *)state + sizeof h}, h.recorded);
	s->step = h.step;
	s->recorded = h.recorded;
	s->converged = h.converged;
	s->done = h.done;
	s->time = h.time;
	s->change = h.change;
	if (s->tableau && s->tableau->adaptive)
		s->h = h.h;
	s->stepping = s->first_known = false;
	return 0;
}
