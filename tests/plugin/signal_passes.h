/* signal_passes.h -- steps of signals (core/signal/passes.h) in plain code on the CPU: stands for a device in tests of
 * the code above, and is the reference for kernels. Sums are in long double; Jacobi's iteration solves systems.
 *
 * SPACELAND_TEST_SIGNAL in the environment, of the test plug-in:
 *   full    the device never has enough memory
 *   lost=K  the K-th call for steps in this process loses the device
 *   slow    each call for steps takes 20 ms */
#ifndef SIGNAL_PASSES_H
#define SIGNAL_PASSES_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/engine/engine.h"
#include "core/random.h"
#include "core/signal/coupling.h"
#include "core/signal/passes.h"
#include "core/signal/signal.h"

struct plain_signal {
	struct sl_signal_table t;
	uint32_t n;
	double *y, *at;             /* [2 n] after the last whole step; of the trial */
	double *product;            /* [n] */
	double *slope;              /* [stages][2 n] */
};

/* Number of open runs, and of calls for steps, of all devices. */
static _Atomic int plain_signals, plain_signal_calls;

static int plain_signal_trouble(struct sl_error *err)
{
	const char *text = getenv("SPACELAND_TEST_SIGNAL"), *lost = text ? strstr(text, "lost=") : NULL;
	if (text && strstr(text, "slow"))
		nanosleep(&(struct timespec){0, 20000000}, NULL);
	return ++plain_signal_calls == (lost ? atoi(lost + 5) : -1) ?
	       sl_error_set(err, SL_DEVLOST, "The device failed: SPACELAND_TEST_SIGNAL asked for it.") : 0;
}

static void plain_product(const struct plain_signal *p, const double *x)
{
	const struct sl_coupling *c = p->t.coupling;
	for (uint32_t i = 0; i < p->n; i++) {
		long double sum = 0;
		for (uint64_t e = c->start[i]; e < c->start[i + 1]; e++)
			sum += (long double)(c->weight ? c->weight[e] : 1) * (long double)x[c->node[e]];
		p->product[i] = (double)sum;
	}
}

static double plain_capacity(const struct plain_signal *p, uint32_t i)
{
	double degree = p->t.coupling->degree[i];
	return p->t.random_walk && degree > 0 ? degree : 1;
}

/* For epidemics: product = W I. */
static double plain_pressure(const struct plain_signal *p, const struct sl__rates *k, uint32_t i)
{
	double degree = p->t.coupling->degree[i], sum = p->product[i];
	double each = !k->random_walk ? sum : degree > 0 ? sum / degree : 0;
	return k->infection * each + (p->t.stimulated && p->t.stimulated[i] ? k->stimulus : 0);
}

/* d[2 n]: the slopes at y[2 n]. */
static void plain_slope(const struct plain_signal *p, const struct sl__rates *k, const double *y, double *d)
{
	bool sir = k->model == SL_SIGNAL_SIR;
	plain_product(p, sir ? y + p->n : y);
	for (uint32_t i = 0; i < p->n; i++) {
		double u = y[i], v = y[p->n + i], degree = p->t.coupling->degree[i], *dv = d + p->n + i;
		d[i] = *dv = 0;
		if (sir) {
			d[i] = -u * plain_pressure(p, k, i);
			*dv = -d[i] - k->recovery * v;
			continue;
		}
		if (k->model == SL_SIGNAL_FITZHUGH_NAGUMO) {
			d[i] = u - u * u * u / 3 - v + k->current;
			*dv = k->epsilon * (u + k->a - k->b * v);
		} else if (k->model == SL_SIGNAL_NAGUMO) {
			d[i] = u * (1 - u) * (u - k->a) - v + k->current;
			*dv = k->epsilon * (u - k->b * v);
		}
		d[i] += k->diffusion * (p->product[i] - degree * u) / (k->random_walk && degree > 0 ? degree : 1);
		d[i] += p->t.stimulated && p->t.stimulated[i] ? k->stimulus : 0;
	}
}

/* at: after an explicit step from y; returns the largest error of an adaptive method. */
static double plain_step(struct plain_signal *p, const struct sl__rates *k, double h)
{
	const struct sl__tableau *t = p->t.tableau;
	size_t values = 2 * (size_t)p->n;
	int last = t->stages - t->adaptive;
	double most = 0;
	memcpy(p->at, p->y, values * sizeof *p->at);
	for (int stage = 0; stage < t->stages; stage++) {
		plain_slope(p, k, p->at, p->slope + (size_t)stage * values);
		for (size_t i = 0; i < values && stage < last; i++) {
			long double sum = 0;
			for (int s = 0; s <= stage; s++)
				sum += (long double)t->a[stage + 1][s] * (long double)p->slope[(size_t)s * values + i];
			p->at[i] = (double)((long double)p->y[i] + (long double)h * sum);
		}
	}
	for (size_t i = 0; i < values; i++) {
		double e = 0;
		for (int s = 0; s < t->stages; s++)
			e += t->error[s] * p->slope[(size_t)s * values + i];
		e = fabs(h * e) / (1 + fmax(fabs(p->y[i]), fabs(p->at[i])));
		most = e <= most ? most : isnan(e) ? INFINITY : e;
	}
	return most;
}

static void plain_signal_accept(void *arg)
{
	struct plain_signal *p = arg;
	memcpy(p->y, p->at, 2 * (size_t)p->n * sizeof *p->y);
}

static void plain_chance(struct plain_signal *p, const struct sl__rates *k, double h, int step)
{
	plain_product(p, p->y + p->n);
	for (uint32_t i = 0; i < p->n; i++) {
		double susceptible = p->y[i], infected = p->y[p->n + i];
		double chance = -expm1(-h * (susceptible > 0 ? plain_pressure(p, k, i) : k->recovery));
		uint64_t counter = ((uint64_t)step + 1) << 32 | p->t.coupling->user[i];
		bool event = susceptible + infected > 0 && sl_random_uniform(p->t.seed, counter) < chance;
		p->at[i] = event ? 0 : susceptible;
		p->at[p->n + i] = event ? susceptible : infected;
	}
}

static int plain_signal_steps(void *arg, const struct sl__rates *rates, double h, int step, int count,
			      struct sl_error *err)
{
	struct plain_signal *p = arg;
	for (int k = 0; k < count; k++) {
		if (p->t.tableau)
			plain_step(p, rates, h);
		else
			plain_chance(p, rates, h, step + k);
		plain_signal_accept(p);
	}
	return plain_signal_trouble(err);
}

static int plain_signal_trial(void *arg, const struct sl__rates *rates, double h, bool known, double *error,
			      struct sl_error *err)
{
	*error = plain_step(arg, rates, h);
	return plain_signal_trouble(err);
}

/* (M + theta K) x = right, from x = at. */
static bool plain_jacobi(struct plain_signal *p, double theta, const double *right)
{
	double most = INFINITY;
	for (int round = 0; round < 100000 && most > 1e-15; round++) {
		most = 0;
		plain_product(p, p->at);
		for (uint32_t i = 0; i < p->n; i++) {
			double diagonal = plain_capacity(p, i) + theta * p->t.coupling->degree[i];
			double next = (right[i] + theta * p->product[i]) / diagonal;
			most = fmax(most, fabs(next - p->at[i]) / (1 + fabs(next)));
			p->at[i] = next;
		}
	}
	return most <= 1e-12;
}

/* Crank and Nicolson's step: prediction and correction. */
static int plain_signal_solve(void *arg, const struct sl__rates *rates, double h, bool *solved, struct sl_error *err)
{
	struct plain_signal *p = arg;
	size_t n = p->n;
	struct sl__rates still = *rates;
	double theta = h * rates->diffusion / 2, *right = malloc((n + 1) * sizeof *right);
	double *before = p->slope, *after = p->slope + 2 * n;
	still.diffusion = 0;
	*solved = true;
	memcpy(p->at, p->y, 2 * n * sizeof *p->at);
	for (int k = 0; k < (rates->model == SL_SIGNAL_HEAT ? 1 : 2); k++) {
		plain_slope(p, &still, p->at, k ? after : before);
		for (size_t i = 0; i < 2 * n && k; i++)
			after[i] = (before[i] + after[i]) / 2;
		plain_product(p, p->y);
		for (uint32_t i = 0; i < n; i++) {
			double held = plain_capacity(p, i), degree = p->t.coupling->degree[i];
			right[i] = held * (p->y[i] + h * (k ? after : before)[i]) - theta * (degree * p->y[i] - p->product[i]);
		}
		*solved = *solved && plain_jacobi(p, theta, right);
		for (size_t i = n; i < 2 * n; i++)
			p->at[i] = p->y[i] + h * (k ? after : before)[i];
	}
	free(right);
	if (*solved)
		plain_signal_accept(p);
	return plain_signal_trouble(err);
}

static int plain_signal_rank(void *arg, double tolerance, int count, double *change, int *done, struct sl_error *err)
{
	struct plain_signal *p = arg;
	const double *degree = p->t.coupling->degree;
	double alpha = p->t.damping;
	for (*done = 0; *done < count && (*done == 0 || change[*done - 1] >= tolerance); ++*done) {
		double dangling = 0;
		for (uint32_t i = 0; i < p->n; i++) {
			p->at[i] = degree[i] > 0 ? p->y[i] / degree[i] : 0;
			dangling += degree[i] > 0 ? 0 : p->y[i];
		}
		plain_product(p, p->at);
		change[*done] = 0;
		for (uint32_t i = 0; i < p->n; i++) {
			double x = alpha * (p->product[i] + dangling * p->t.restart[i]) + (1 - alpha) * p->t.restart[i];
			change[*done] += fabs(x - p->y[i]);
			p->y[i] = x;
		}
	}
	return plain_signal_trouble(err);
}

static int plain_signal_level(void *arg, double *sum, struct sl_error *err)
{
	const struct plain_signal *p = arg;
	bool sir = p->t.model == SL_SIGNAL_SIR || p->t.model == SL_SIGNAL_SIR_CHANCE;
	long double all = 0;
	for (uint32_t i = 0; i < p->n; i++)
		all += (long double)((sir ? 1 : plain_capacity(p, i)) * p->y[sir ? p->n + i : i]);
	*sum = (double)all;
	return 0;
}

static int plain_signal_put(void *arg, const double *const *y, struct sl_error *err)
{
	struct plain_signal *p = arg;
	for (int f = 0; f < p->t.fields; f++)
		memcpy(p->y + (size_t)f * p->n, y[f], p->n * sizeof *p->y);
	return 0;
}

static int plain_signal_get(void *arg, double *const *y, struct sl_error *err)
{
	const struct plain_signal *p = arg;
	for (int f = 0; f < p->t.fields; f++)
		memcpy(y[f], p->y + (size_t)f * p->n, p->n * sizeof *p->y);
	return 0;
}

static void plain_signal_close(void *arg)
{
	struct plain_signal *p = arg;
	plain_signals--;
	free(p->y);
	free(p->at);
	free(p->product);
	free(p->slope);
	free(p);
}

static inline int plain_signal_passes(struct sl_device *device, const struct sl_signal_table *t,
				      struct sl_signal_passes *out, struct sl_error *err)
{
	const char *text = getenv("SPACELAND_TEST_SIGNAL");
	size_t values = 2 * (size_t)t->coupling->n + 1;
	if (text && strstr(text, "full"))
		return sl_error_set(err, SL_DEVMEM, "signals need %zu bytes of GPU memory; 0 are free.", values * 8);
	struct plain_signal *p = calloc(1, sizeof *p);
	p->t = *t;
	p->n = t->coupling->n;
	p->y = calloc(values, sizeof *p->y);
	p->at = calloc(values, sizeof *p->at);
	p->product = calloc(values, sizeof *p->product);
	p->slope = calloc(values * SL__SIGNAL_STAGES, sizeof *p->slope);
	plain_signals++;
	*out = (struct sl_signal_passes){.arg = p, .close = plain_signal_close, .put = plain_signal_put,
		.get = plain_signal_get, .level = plain_signal_level, .steps = plain_signal_steps,
		.trial = plain_signal_trial, .accept = plain_signal_accept, .solve = plain_signal_solve,
		.rank = plain_signal_rank};
	return 0;
}

#endif
