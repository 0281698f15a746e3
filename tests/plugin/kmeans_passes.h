/* kmeans_passes.h -- the passes of k-means (core/kmeans/passes.h) in plain code on the CPU: stands for a device in
 * tests of the code above. It computes all distances exactly.
 *
 * SPACELAND_TEST_KMEANS in the environment, of the test plug-in:
 *   full    the device never has enough memory
 *   lost=K  the K-th assignment in this process loses the device
 *   slow    each assignment takes 20 ms */
#ifndef KMEANS_PASSES_H
#define KMEANS_PASSES_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/engine/engine.h"
#include "core/kmeans/passes.h"

struct plain_passes {
	struct sl_kmeans_table t;
	float *x;
	double *centroid, *sum, *nearest;
	uint32_t *label, *before, *count;
};

/* Number of open runs, and of assignments, of all devices. */
static _Atomic int plain_open, plain_assigns;

static double plain_square(uint32_t d, const float *x, const double *c)
{
	double s[8] = {0}, rest = 0;
	uint32_t k = 0;
	for (; k < d / 8 * 8; k++)
		s[k % 8] = fma((double)x[k] - c[k], (double)x[k] - c[k], s[k % 8]);
	for (; k < d; k++)
		rest = fma((double)x[k] - c[k], (double)x[k] - c[k], rest);
	return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7])) + rest;
}

static uint32_t plain_end(const struct plain_passes *p, uint32_t block)
{
	return block >= p->t.blocks ? p->t.n : block * p->t.block;
}

static int plain_seed(void *arg, uint32_t number, const double *c, uint32_t from, uint32_t to, double *part,
		      struct sl_error *err)
{
	struct plain_passes *p = arg;
	for (uint32_t block = from; block < to; block++) {
		part[block] = 0;
		for (uint32_t i = plain_end(p, block); i < plain_end(p, block + 1); i++) {
			double square = plain_square(p->t.d, p->x + (size_t)i * p->t.d, c);
			if (number == 0 || square < p->nearest[i])
				p->nearest[i] = square;
			part[block] += p->nearest[i];
		}
	}
	return 0;
}

static int plain_nearest(void *arg, uint32_t first, uint32_t count, double *square, struct sl_error *err)
{
	memcpy(square, ((struct plain_passes *)arg)->nearest + first, count * sizeof *square);
	return 0;
}

static void plain_copy(void *to, const void *from, size_t bytes)
{
	if (to && from)
		memcpy(to, from, bytes);
}

static int plain_put(void *arg, const uint32_t *label, const uint32_t *before, const double *sum, const uint32_t *count,
		     struct sl_error *err)
{
	struct plain_passes *p = arg;
	plain_copy(p->label, label, p->t.n * sizeof *label);
	plain_copy(p->before, before, p->t.n * sizeof *before);
	plain_copy(p->sum, sum, (size_t)p->t.k * p->t.d * sizeof *sum);
	plain_copy(p->count, count, p->t.k * sizeof *count);
	return 0;
}

static int plain_get(void *arg, uint32_t *label, uint32_t *before, double *sum, uint32_t *count, struct sl_error *err)
{
	const struct plain_passes *p = arg;
	plain_copy(label, p->label, p->t.n * sizeof *label);
	plain_copy(before, p->before, p->t.n * sizeof *before);
	plain_copy(sum, p->sum, (size_t)p->t.k * p->t.d * sizeof *sum);
	plain_copy(count, p->count, p->t.k * sizeof *count);
	return 0;
}

static int plain_centroids(void *arg, const double *centroid, struct sl_error *err)
{
	struct plain_passes *p = arg;
	memcpy(p->centroid, centroid, (size_t)p->t.k * p->t.d * sizeof *centroid);
	return 0;
}

static int plain_trouble(struct sl_error *err)
{
	const char *text = getenv("SPACELAND_TEST_KMEANS"), *lost = text ? strstr(text, "lost=") : NULL;
	if (text && strstr(text, "slow"))
		nanosleep(&(struct timespec){0, 20000000}, NULL);
	return ++plain_assigns == (lost ? atoi(lost + 5) : -1) ?
	       sl_error_set(err, SL_DEVLOST, "The device failed: SPACELAND_TEST_KMEANS asked for it.") : 0;
}

static int plain_assign(void *arg, uint32_t from, uint32_t to, uint32_t *moved, struct sl_error *err)
{
	struct plain_passes *p = arg;
	for (uint32_t i = plain_end(p, from); i < plain_end(p, to); i++) {
		double best = INFINITY;
		p->before[i] = p->label[i];
		for (uint32_t j = 0; j < p->t.k; j++) {
			double square = plain_square(p->t.d, p->x + (size_t)i * p->t.d, p->centroid + (size_t)j * p->t.d);
			p->label[i] = square < best ? j : p->label[i];
			best = fmin(best, square);
		}
		*moved += p->label[i] != p->before[i];
	}
	return plain_trouble(err);
}

static int plain_move(void *arg, uint32_t from, uint32_t to, struct sl_error *err)
{
	struct plain_passes *p = arg;
	for (uint32_t i = plain_end(p, from); i < plain_end(p, to); i++) {
		uint32_t a = p->before[i], b = p->label[i];
		if (a == b)
			continue;
		p->count[b]++;
		if (a != SL_KMEANS_NO_LABEL)
			p->count[a]--;
		for (uint32_t k = 0; k < p->t.d; k++) {
			double x = (double)p->x[(size_t)i * p->t.d + k];
			p->sum[(size_t)b * p->t.d + k] += x;
			if (a != SL_KMEANS_NO_LABEL)
				p->sum[(size_t)a * p->t.d + k] -= x;
		}
	}
	return 0;
}

static int plain_inertia(void *arg, uint32_t from, uint32_t to, double *part, struct sl_error *err)
{
	struct plain_passes *p = arg;
	for (uint32_t block = from; block < to; block++) {
		part[block] = 0;
		for (uint32_t i = plain_end(p, block); i < plain_end(p, block + 1); i++)
			part[block] += p->nearest[i] = plain_square(p->t.d, p->x + (size_t)i * p->t.d,
								    p->centroid + (size_t)p->label[i] * p->t.d);
	}
	return 0;
}

static void plain_close(void *arg)
{
	struct plain_passes *p = arg;
	plain_open--;
	free(p->x);
	free(p->centroid);
	free(p->sum);
	free(p->nearest);
	free(p->label);
	free(p->before);
	free(p->count);
	free(p);
}

static inline int plain_kmeans_passes(struct sl_device *device, const struct sl_kmeans_table *t,
				      struct sl_kmeans_passes *out, struct sl_error *err)
{
	const char *text = getenv("SPACELAND_TEST_KMEANS");
	size_t values = (size_t)t->n * t->d, table = (size_t)t->k * t->d;
	if (text && strstr(text, "full"))
		return sl_error_set(err, SL_DEVMEM, "k-means needs %zu bytes of GPU memory; 0 are free.", values * 4);
	struct plain_passes *p = calloc(1, sizeof *p);
	p->t = *t;
	p->x = malloc(values * sizeof *p->x);
	p->centroid = malloc(table * sizeof *p->centroid);
	p->sum = calloc(table, sizeof *p->sum);
	p->nearest = malloc(t->n * sizeof *p->nearest);
	p->label = malloc(t->n * sizeof *p->label);
	p->before = malloc(t->n * sizeof *p->before);
	p->count = calloc(t->k, sizeof *p->count);
	memcpy(p->x, t->x, values * sizeof *p->x);
	plain_open++;
	*out = (struct sl_kmeans_passes){.arg = p, .close = plain_close, .seed = plain_seed, .nearest = plain_nearest,
		.put = plain_put, .get = plain_get, .centroids = plain_centroids, .assign = plain_assign, .move = plain_move,
		.inertia = plain_inertia};
	return 0;
}

#endif
