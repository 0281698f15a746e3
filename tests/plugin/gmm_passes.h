/* gmm_passes.h -- the passes of a mixture (core/gmm/passes.h) in plain code on the CPU, point by point, with sums in
 * long double: the reference for devices, in tests.
 *
 * SPACELAND_TEST_GMM, words: full: the device has no memory left; slow: each call of go() takes 20 ms; lost=N: the N-th
 * call of go() in this process loses the device. */
#ifndef TEST_GMM_PASSES_H
#define TEST_GMM_PASSES_H

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/gmm/passes.h"
#include "core/points/points.h"

struct sl_device;

struct plain_gmm {
	struct sl_gmm_table t;
	struct sl_gmm_step s;      /* its arrays are copies */
	float *x;                  /* [n][d] */
	double *logit, *y;         /* [unit][k] r, or logarithms of weight times density; [d] */
	double *log_sum;           /* [unit] */
	long double *mass, *first, *second, *scatter;  /* [k], [k][d], [k][d], [k][d][d] */
	uint32_t row, count;       /* of the last unit */
};

/* Number of open runs, and calls of go(), of all devices. */
static _Atomic int plain_gmms_open, plain_gmm_calls;

static inline void *plain_gmm_copy(const void *from, size_t bytes)
{
	return from ? memcpy(malloc(bytes + 1), from, bytes) : NULL;
}

static inline void plain_gmm_forget(struct plain_gmm *p)
{
	free((void *)p->s.mean);
	free((void *)p->s.factor);
	free((void *)p->s.scale);
	free((void *)p->s.constant);
}

static inline void plain_gmm_close(void *arg)
{
	struct plain_gmm *p = arg;
	plain_gmms_open--;
	plain_gmm_forget(p);
	free(p->x);
	free(p->logit);
	free(p->y);
	free(p->log_sum);
	free(p->mass);
	free(p->first);
	free(p->second);
	free(p->scatter);
	free(p);
}

static inline int plain_gmm_begin(void *arg, const struct sl_gmm_step *s, struct sl_error *err)
{
	struct plain_gmm *p = arg;
	size_t k = s->k, d = p->t.d, factors = p->t.covariance == SL_GMM_FULL ? k : 1;
	plain_gmm_forget(p);
	p->s = *s;
	p->s.mean = plain_gmm_copy(s->mean, k * d * 8);
	p->s.factor = s->known ? NULL : plain_gmm_copy(s->factor, factors * s->stride * 8);
	p->s.scale = s->known || p->t.covariance == SL_GMM_TIED ? NULL : plain_gmm_copy(s->scale, k * d * 8);
	p->s.constant = plain_gmm_copy(s->constant, k * 8);
	memset(p->mass, 0, k * sizeof *p->mass);
	memset(p->first, 0, k * d * sizeof *p->first);
	memset(p->second, 0, k * d * sizeof *p->second);
	memset(p->scatter, 0, k * d * d * sizeof *p->scatter);
	return 0;
}

/* L_jl, or 1 / L_jj, of a factor that is packed by groups of four rows. */
static inline double plain_gmm_lower(const double *packed, uint32_t j, uint32_t l)
{
	uint32_t group = j / 4, before = 4 * group;
	for (uint32_t g = 0; g < group; g++)
		packed += 16 * g + 16;
	return l < before ? packed[4 * l + j % 4] : packed[4 * before + j % 4 * 4 + l - before];
}

static inline double plain_gmm_logit(const struct plain_gmm *p, uint32_t row, uint32_t c)
{
	uint32_t d = p->t.d;
	const double *mean = p->s.mean + (size_t)c * d, *scale = p->s.scale + (size_t)c * d;
	const double *factor = p->t.covariance == SL_GMM_FULL ? p->s.factor + c * p->s.stride : p->s.factor;
	long double square = 0;
	for (uint32_t j = 0; j < d; j++) {
		long double y = (long double)p->x[(size_t)row * d + j] - mean[j];
		for (uint32_t l = 0; p->t.covariance <= SL_GMM_TIED && l < j; l++)
			y -= (long double)plain_gmm_lower(factor, j, l) * p->y[l];
		y *= p->t.covariance <= SL_GMM_TIED ? plain_gmm_lower(factor, j, j) : scale[j];
		p->y[j] = (double)y;
		square += y * y;
	}
	return (double)fmaxl(p->s.constant[c] - square / 2, -1e290L);
}

static inline void plain_gmm_add(struct plain_gmm *p, uint32_t row, uint32_t c, double r)
{
	uint32_t d = p->t.d;
	p->mass[c] += r;
	for (uint32_t a = 0; a < d; a++) {
		long double away = (long double)p->x[(size_t)row * d + a] - p->s.mean[(size_t)c * d + a];
		p->first[(size_t)c * d + a] += r * away;
		p->second[(size_t)c * d + a] += r * away * away;
		for (uint32_t b = a; p->t.covariance == SL_GMM_FULL && b < d; b++)
			p->scatter[((size_t)c * d + a) * d + b] += r * away * ((long double)p->x[(size_t)row * d + b] -
									       p->s.mean[(size_t)c * d + b]);
	}
}

/* Computes a point's responsibilities and adds its terms to the sums. */
static inline double plain_gmm_point(struct plain_gmm *p, uint32_t row, const uint32_t *label, const float *share)
{
	uint32_t k = p->s.k, i = row - p->row;
	double *logit = p->logit + (size_t)i * k, most = -INFINITY;
	long double sum = 0;
	for (uint32_t c = 0; c < k; c++) {
		if (p->s.known)
			logit[c] = label ? label[row] == c : (double)share[(size_t)row * k + c];
		else
			logit[c] = plain_gmm_logit(p, row, c);
		most = fmax(most, logit[c]);
	}
	for (uint32_t c = 0; c < k; c++)
		sum += expl((long double)logit[c] - most);
	p->log_sum[i] = most + (double)logl(sum);
	for (uint32_t c = 0; p->s.sums != SL_GMM_NO_SUMS && c < k; c++) {
		double r = p->s.known ? logit[c] : exp(logit[c] - p->log_sum[i]);
		if (r > 0x1p-60)
			plain_gmm_add(p, row, c, r);
	}
	return p->log_sum[i];
}

static inline int plain_gmm_go(void *arg, uint32_t from, uint32_t to, const uint32_t *label, const float *share,
			       double *part, struct sl_error *err)
{
	struct plain_gmm *p = arg;
	const char *text = getenv("SPACELAND_TEST_GMM"), *lost = text ? strstr(text, "lost=") : NULL;
	if (text && strstr(text, "slow"))
		nanosleep(&(struct timespec){0, 20000000}, NULL);
	if (++plain_gmm_calls == (lost ? atoi(lost + 5) : -1))
		return sl_error_set(err, SL_DEVLOST, "The device failed: SPACELAND_TEST_GMM asked for it.");
	for (uint32_t unit = from; unit < to; unit++) {
		long double sum = 0;
		p->row = unit * p->t.unit;
		p->count = p->t.n - p->row < p->t.unit ? p->t.n - p->row : p->t.unit;
		for (uint32_t i = 0; i < p->count; i++)
			sum += plain_gmm_point(p, p->row + i, label, share);
		if (!p->s.known)
			part[unit] = (double)sum;
	}
	return 0;
}

static inline int plain_gmm_shares(void *arg, int32_t *label, float *share, struct sl_error *err)
{
	const struct plain_gmm *p = arg;
	for (uint32_t i = 0; i < p->count; i++) {
		const double *logit = p->logit + (size_t)i * p->s.k;
		label[i] = 0;
		for (uint32_t c = 0; c < p->s.k; c++) {
			share[(size_t)i * p->s.k + c] = (float)exp(logit[c] - p->log_sum[i]);
			label[i] = logit[c] > logit[label[i]] ? (int32_t)c : label[i];
		}
	}
	return 0;
}

static inline int plain_gmm_end(void *arg, uint32_t pitch, double *mass, double *first, double *second,
				double *scatter, struct sl_error *err)
{
	const struct plain_gmm *p = arg;
	size_t d = p->t.d;
	bool all = p->s.sums == SL_GMM_SUM_ALL;
	for (size_t c = 0; c < p->s.k; c++) {
		mass[c] = (double)p->mass[c];
		for (size_t a = 0; a < d; a++) {
			first[c * pitch + a] = (double)p->first[c * d + a];
			if (all && second)
				second[c * pitch + a] = (double)p->second[c * d + a];
			for (size_t b = a; all && p->t.covariance == SL_GMM_FULL && b < d; b++)
				scatter[(c * pitch + a) * pitch + b] = (double)p->scatter[(c * d + a) * d + b];
		}
	}
	return 0;
}

static inline int plain_gmm_passes(struct sl_device *device, const struct sl_gmm_table *t, struct sl_gmm_passes *out,
				   struct sl_error *err)
{
	const char *text = getenv("SPACELAND_TEST_GMM");
	size_t k = t->k, d = t->d;
	if (text && strstr(text, "full"))
		return sl_error_set(err, SL_DEVMEM, "A mixture needs %zu bytes of GPU memory; 0 are free.", t->n * d * 4);
	struct plain_gmm *p = calloc(1, sizeof *p);
	p->t = *t;
	p->x = malloc(t->n * d * sizeof *p->x);
	p->logit = malloc(t->unit * k * sizeof *p->logit);
	p->y = malloc(d * sizeof *p->y);
	p->log_sum = malloc(t->unit * sizeof *p->log_sum);
	p->mass = malloc(k * sizeof *p->mass);
	p->first = malloc(k * d * sizeof *p->first);
	p->second = malloc(k * d * sizeof *p->second);
	p->scatter = malloc(k * d * d * sizeof *p->scatter);
	sl_points_rows(t->points, 0, t->n, p->x);
	plain_gmms_open++;
	*out = (struct sl_gmm_passes){.arg = p, .close = plain_gmm_close, .begin = plain_gmm_begin, .go = plain_gmm_go,
				      .shares = plain_gmm_shares, .end = plain_gmm_end};
	return 0;
}

#endif
