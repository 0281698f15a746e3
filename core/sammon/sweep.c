/* Sweeps over all terms, some blocks at a time. Threads share no block, and sums are added in the order of the
 * blocks. */
#include <math.h>
#include <string.h>

#include "core/sammon/sammon_internal.h"
#include "core/sammon/terms.h"

#define ALONE 65536  /* fewer terms run on one thread */

static struct sl__terms_rows rows_of(const struct sl__terms *t, const struct sl__terms_slice *b)
{
	const struct sl__part *p = &t->part[b->part];
	uint64_t at = p->at + b->first - p->first;
	return (struct sl__terms_rows){.n = b->n, .pivots = p->pivots, .stride = p->n, .distance = t->distance + at,
				       .weight = t->weight + at};
}

/* ---- a block ------------------------------------------------------------------------------ */

/* Terms with neighbours. Each term is in the rows of both nodes. */
static double near_forces(struct sl_sammon *m, const struct sl__terms_slice *b)
{
	struct sl__terms *t = m->terms;
	int dims = m->params.dims;
	double sum = 0;
	for (uint32_t i = b->first; i < b->first + b->n; i++)
		for (uint64_t e = t->start[i]; e < t->start[i + 1]; e++) {
			double off[3], square = 0, distance = (double)t->near_distance[e], w = (double)t->near_weight[e];
			for (int q = 0; q < dims; q++) {
				off[q] = t->in[q][i] - t->in[q][t->node[e]];
				square += off[q] * off[q];
			}
			double d = sqrt(square), inverse = square > 1e-30 ? 1 / d : 0, pull = w * distance * inverse;
			sum += 0.5 * w * (distance - d) * (distance - d);
			for (int q = 0; q < dims; q++) {
				t->out[q][i] += (w - pull) * off[q];
				if (t->curve[0])
					t->curve[q][i] += w - pull + pull * (off[q] * inverse) * (off[q] * inverse);
			}
		}
	return sum;
}

static void near_weights(const struct sl__terms *t, const struct sl__terms_slice *b)
{
	for (uint32_t i = b->first; i < b->first + b->n; i++)
		for (uint64_t e = t->start[i]; e < t->start[i + 1]; e++)
			for (int k = 0; k < t->columns; k++)
				t->out[k][i] += (double)t->near_weight[e] * t->in[k][t->node[e]];
}

static void block_forces(struct sl_sammon *m, uint32_t number)
{
	struct sl__terms *t = m->terms;
	const struct sl__terms_slice *b = &t->slice[number];
	const struct sl__part *p = &t->part[b->part];
	struct sl__terms_rows rows = rows_of(t, b);
	const double *y[3], *pivot[3];
	double *force[3], *curve[3];
	for (int q = 0; q < m->params.dims; q++) {
		y[q] = t->in[q] + b->first;
		pivot[q] = t->in_pivot + (size_t)q * t->pivots + p->pivot;
		force[q] = t->out[q] + b->first;
		curve[q] = t->curve[0] ? t->curve[q] + b->first : NULL;
	}
	t->sum[number] = t->kernels->forces(&rows, m->params.dims, y, pivot, force, t->curve[0] ? curve : NULL);
	t->sum[number] = p->all ? 0.5 * t->sum[number] : t->sum[number] + near_forces(m, b);
}

static void block_multiply(struct sl__terms *t, uint32_t number, bool squares)
{
	const struct sl__terms_slice *b = &t->slice[number];
	const struct sl__part *p = &t->part[b->part];
	struct sl__terms_rows rows = rows_of(t, b);
	const double *in[4], *pivot[4];
	double *out[4];
	for (int k = 0; k < t->columns; k++) {
		in[k] = t->in[k] + b->first;
		pivot[k] = t->in_pivot + (size_t)k * t->pivots + p->pivot;
		out[k] = t->out[k] + b->first;
	}
	t->kernels->multiply(&rows, t->columns, squares, in, pivot, out, p->all || !squares ? NULL : t->share + b->share);
	if (!p->all && !squares)
		near_weights(t, b);
}

/* Computes the sums of weights of the block's nodes, and the sum of w D^2. */
static void block_total(struct sl_sammon *m, uint32_t number)
{
	struct sl__terms *t = m->terms;
	const struct sl__terms_slice *b = &t->slice[number];
	const struct sl__part *part = &t->part[b->part];
	struct sl__terms_rows r = rows_of(t, b);
	double sum = 0;
	for (uint32_t p = 0; p < r.pivots; p++) {
		const float *distance = r.distance + (size_t)p * r.stride, *weight = r.weight + (size_t)p * r.stride;
		for (uint32_t i = 0; i < r.n; i++) {
			m->weight[b->first + i] += (double)weight[i];
			sum += (part->all ? 0.5 : 1) * (double)weight[i] * (double)distance[i] * (double)distance[i];
		}
	}
	for (uint32_t i = b->first; i < b->first + b->n && !part->all; i++)
		for (uint64_t e = t->start[i]; e < t->start[i + 1]; e++) {
			double distance = (double)t->near_distance[e], w = (double)t->near_weight[e];
			m->weight[i] += w;
			sum += 0.5 * w * distance * distance;
		}
	t->total[number] = sum;
}

/* ---- a sweep ------------------------------------------------------------------------------ */

void sl__sweep_begin(struct sl_sammon *m, enum sl__terms_sweep kind, int columns)
{
	struct sl__terms *t = m->terms;
	t->at = 0;
	t->columns = columns;
	for (int k = 0; k < columns; k++) {
		if (kind != SL__SWEEP_TOTAL)
			memset(t->out[k], 0, t->n * sizeof(double));
		if (kind == SL__SWEEP_FORCES && t->curve[0])
			memset(t->curve[k], 0, t->n * sizeof(double));
		for (uint32_t p = 0; p < t->pivots && kind != SL__SWEEP_TOTAL; p++)
			t->in_pivot[(size_t)k * t->pivots + p] = t->in[k][t->pivot[p]];
	}
}

/* Adds the partial sums of the blocks of sparse parts to out_pivot. */
static void add_shares(struct sl__terms *t)
{
	uint32_t from = 0, columns = (uint32_t)t->columns;
	for (uint32_t k = 0; k < t->sparse; k++) {
		const struct sl__part *p = &t->part[k];
		uint32_t to = from + (p->n - 1) / SL__TERMS_BLOCK + 1;
		for (uint32_t j = 0; j < p->pivots; j++)
			for (uint32_t c = 0; c < columns; c++) {
				double sum = 0;
				for (uint32_t b = from; b < to; b++)
					sum += t->share[t->slice[b].share + (uint64_t)j * columns + c];
				t->out_pivot[(size_t)c * t->pivots + p->pivot + j] = sum;
			}
		from = to;
	}
}

/* Fixes the pivots of sparse parts: their force and their row of the system become 0. */
static void hold(struct sl__terms *t)
{
	uint32_t to = t->sparse ? t->part[t->sparse - 1].pivot + t->part[t->sparse - 1].pivots : 0;
	for (int k = 0; k < t->columns; k++)
		for (uint32_t p = 0; p < to; p++)
			t->out[k][t->pivot[p]] = 0;
}

static void one_block(struct sl_sammon *m, enum sl__terms_sweep kind, uint32_t number)
{
	if (kind == SL__SWEEP_TOTAL)
		block_total(m, number);
	else if (kind == SL__SWEEP_FORCES)
		block_forces(m, number);
	else
		block_multiply(m->terms, number, kind == SL__SWEEP_SQUARES);
}

bool sl__sweep(struct sl_sammon *m, enum sl__terms_sweep kind, uint32_t count)
{
	struct sl__terms *t = m->terms;
	uint32_t from = t->at, to = t->slices - from < count ? t->slices : from + count;
	uint64_t work = from < to ? (uint64_t)(to - from) * t->slice[from].n * t->part[t->slice[from].part].pivots : 0;
#pragma omp parallel for schedule(dynamic) if (work > ALONE)
	for (uint32_t b = from; b < to; b++)
		one_block(m, kind, b);
	t->at = to;
	if (to < t->slices)
		return false;
	if (kind == SL__SWEEP_SQUARES)
		add_shares(t);
	else if (kind != SL__SWEEP_TOTAL)
		hold(t);
	return true;
}

/* ---- phases ------------------------------------------------------------------------------- */

void sl__terms_pass_begin(struct sl_sammon *m)
{
	struct sl__terms *t = m->terms;
	t->phase = SL__TERMS_PASS;
	for (int q = 0; q < m->params.dims; q++) {
		t->in[q] = m->trial.y + (size_t)q * m->room;
		t->out[q] = m->trial.force + (size_t)q * m->room;
		t->curve[q] = m->trial.curve ? m->trial.curve + (size_t)q * m->room : NULL;
	}
	m->sum = 0;
	sl__sweep_begin(m, SL__SWEEP_FORCES, m->params.dims);
}

void sl__terms_total_begin(struct sl_sammon *m, enum sl__terms_phase next)
{
	m->terms->next = next;
	m->terms->phase = SL__TERMS_TOTAL;
	memset(m->weight, 0, m->room * sizeof *m->weight);
	sl__sweep_begin(m, SL__SWEEP_TOTAL, 1);
}
