/* sammon_passes.h -- the passes of Sammon's mapping (core/sammon/passes.h) in plain code on the CPU, point by point and
 * in double precision: the reference for devices, in tests.
 *
 * SPACELAND_TEST_SAMMON, words: full: the device has no memory left; slow: each unit takes a millisecond; lost=N: the
 * N-th call of go() in this process fails. */
#ifndef TEST_SAMMON_PASSES_H
#define TEST_SAMMON_PASSES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/sammon/passes.h"

struct plain_sammon {
	struct sl_sammon_table t;
	float *panel, *mass;       /* copies; the table points to them */
	const float *y;
	const uint32_t *partner;
	bool weights;
	double *force, *curve;     /* [dims][room] */
	double *weight, *sum, *total;  /* [room], of each point */
};

static int plain_sammons_open;  /* number of open runs */

static inline const char *plain_sammon_trouble(const char *word)
{
	const char *text = getenv("SPACELAND_TEST_SAMMON");
	return text ? strstr(text, word) : NULL;
}

static inline void plain_sammon_close(void *arg)
{
	struct plain_sammon *p = arg;
	plain_sammons_open--;
	free(p->panel);
	free(p->mass);
	free(p->force);
	free(p->curve);
	free(p->weight);
	free(p->sum);
	free(p->total);
	free(p);
}

static inline double plain_sammon_far(const struct sl_sammon_table *t, uint32_t i, uint32_t j)
{
	double sum = 0;
	for (uint32_t k = 0; k < t->d; k++) {
		double off = (double)t->panel[((size_t)(i / 32) * t->d + k) * 32 + i % 32] -
			     (double)t->panel[((size_t)(j / 32) * t->d + k) * 32 + j % 32];
		sum += off * off;
	}
	return sqrt(sum);
}

/* Adds j's terms to the sums of i. */
static inline void plain_sammon_pair(struct plain_sammon *p, uint32_t i, uint32_t j)
{
	const struct sl_sammon_table *t = &p->t;
	double far = plain_sammon_far(t, i, j), away[3], square = 0;
	if (!(far > 0))
		return;
	for (int q = 0; q < t->dims; q++) {
		away[q] = (double)p->y[(size_t)q * t->room + i] - (double)p->y[(size_t)q * t->room + j];
		square += away[q] * away[q];
	}
	double near = square > 1e-24 ? sqrt(square) : 0, mass = (double)t->mass[i] * (double)t->mass[j];
	double w = t->metric ? mass : mass / far;
	double ratio = near > 0 ? far / near : 0;
	p->weight[i] += w;
	p->total[i] += w * far * far;
	p->sum[i] += w * (far - near) * (far - near);
	for (int q = 0; q < t->dims; q++) {
		size_t at = (size_t)q * t->room + i;
		p->force[at] += w * (1 - ratio) * away[q];
		p->curve[at] += w * (1 - ratio) + (near > 0 ? w * ratio * away[q] * away[q] / square : 0);
	}
}

static inline int plain_sammon_begin(void *arg, const float *y, const uint32_t *partner, bool weights,
				     struct sl_error *err)
{
	struct plain_sammon *p = arg;
	size_t room = p->t.room, values = room * (size_t)p->t.dims;
	p->y = y;
	p->partner = partner;
	p->weights = weights;
	memset(p->force, 0, values * sizeof(double));
	memset(p->curve, 0, values * sizeof(double));
	memset(p->weight, 0, room * sizeof(double));
	memset(p->sum, 0, room * sizeof(double));
	memset(p->total, 0, room * sizeof(double));
	return 0;
}

/* Computes a block with all blocks, or with its partners. */
static inline int plain_sammon_go(void *arg, uint32_t from, uint32_t to, struct sl_error *err)
{
	struct plain_sammon *p = arg;
	const struct sl_sammon_table *t = &p->t;
	static int calls;
	const char *lost = plain_sammon_trouble("lost=");
	if (lost && ++calls == atoi(lost + 5))
		return sl_error_set(err, SL_DEVLOST, "SPACELAND_TEST_SAMMON asked for it.");
	if (plain_sammon_trouble("slow"))
		nanosleep(&(struct timespec){.tv_nsec = 1000000L * (to - from)}, NULL);
	for (uint32_t a = from; a < to; a++)
		for (uint32_t k = 0; k < (t->partners ? t->partners : t->blocks); k++) {
			uint32_t b = t->partners ? p->partner[(size_t)a * t->partners + k] : k;
			for (uint32_t i = a * t->side; i < (a + 1) * t->side && i < t->n; i++)
				for (uint32_t j = b * t->side; b != SL_SAMMON_NO_PARTNER && j < (b + 1) * t->side && j < t->n; j++)
					if (i != j)
						plain_sammon_pair(p, i, j);
		}
	return 0;
}

static inline int plain_sammon_end(void *arg, double *force, double *curve, double *weight, double *sum, double *total,
				   struct sl_error *err)
{
	struct plain_sammon *p = arg;
	size_t values = p->t.room * (size_t)p->t.dims;
	memcpy(force, p->force, values * sizeof *force);
	if (curve)
		memcpy(curve, p->curve, values * sizeof *curve);
	if (weight)
		memcpy(weight, p->weight, p->t.room * sizeof *weight);
	*sum = 0;
	if (total)
		*total = 0;
	for (uint32_t i = 0; i < p->t.n; i++) {
		*sum += p->sum[i] / 2;
		if (total)
			*total += p->total[i] / 2;
	}
	return 0;
}

static inline int plain_sammon_passes(struct sl_device *device, const struct sl_sammon_table *t,
				      struct sl_sammon_passes *out, struct sl_error *err)
{
	size_t room = t->room, values = room * (size_t)t->dims;
	if (plain_sammon_trouble("full"))
		return sl_error_set(err, SL_DEVMEM, "There is no device memory for a layout.");
	struct plain_sammon *p = calloc(1, sizeof *p);
	p->t = *t;
	p->t.panel = p->panel = malloc(room * t->d * sizeof(float));
	p->t.mass = p->mass = malloc(room * sizeof(float));
	memcpy(p->panel, t->panel, room * t->d * sizeof(float));
	memcpy(p->mass, t->mass, room * sizeof(float));
	p->force = calloc(values, sizeof(double));
	p->curve = calloc(values, sizeof(double));
	p->weight = calloc(room, sizeof(double));
	p->sum = calloc(room, sizeof(double));
	p->total = calloc(room, sizeof(double));
	plain_sammons_open++;
	*out = (struct sl_sammon_passes){.arg = p, .units = t->blocks, .close = plain_sammon_close,
					 .begin = plain_sammon_begin, .go = plain_sammon_go, .end = plain_sammon_end};
	return 0;
}

#endif
