/* bench_kmeans POINTS CLUSTERS [ITERATIONS [ENGINE]] -- measures iterations of k-means on a device. POINTS: a file, or
 * mixture:N:D:CLUSTERS. Prints the median over the iterations (default 20) in milliseconds of the upload of centroids,
 * the assignment of all points, the sums, and their download; and the rate of the assignment's n k d multiplications
 * and additions. Initial centroids are points. ENGINE: cuda by default. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/engine/load.h"
#include "core/formats/read_points.h"
#include "core/kmeans/passes.h"
#include "core/random.h"

#define BLOCK 512u

enum part { CENTROIDS, ASSIGN, MOVE, SUMS, PARTS };

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(int code, const struct sl_error *err)
{
	char line[1200];
	if (!code)
		return;
	fprintf(stderr, "bench_kmeans: %s\n", sl_error_format(err, line, sizeof line));
	exit(1);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static float *mixture(uint32_t n, uint32_t d, uint32_t clusters)
{
	float *x = malloc(sizeof *x * n * d);
	for (size_t i = 0; x && i < n; i++) {
		uint64_t own = (uint64_t)(sl_random_uniform(1, i) * clusters);
		for (size_t k = 0; k < d; k++)
			x[i * d + k] = (float)(4 * sl_random_normal(2, own * d + k) + sl_random_normal(3, i * d + k));
	}
	return x;
}

static float *read_table(const char *source, uint32_t *n, uint32_t *d)
{
	unsigned clusters;
	struct sl_error err;
	struct sl_points *p;
	struct sl_source *file;
	if (sscanf(source, "mixture:%u:%u:%u", n, d, &clusters) == 3)
		return mixture(*n, *d, clusters);
	check(sl_source_open_path(&file, source, NULL, &err), &err);
	check(sl_points_read(&p, NULL, file, &err), &err);
	sl_source_close(file);
	*n = p->n;
	*d = p->d;
	float *x = malloc(sizeof *x * p->n * p->d);
	for (size_t at = 0; x && at < (size_t)p->n * p->d; at++)
		x[at] = p->type == SL_POINTS_U8 ? (float)((const uint8_t *)p->value)[at] : ((const float *)p->value)[at];
	sl_points_destroy(p);
	return x;
}

/* Times of the parts of an iteration; new centroids are the means of their points. */
static void iterate(const struct sl_kmeans_passes *p, const struct sl_kmeans_table *t, double *centroid, double *sum,
		    uint32_t *count, double times[PARTS])
{
	struct sl_error err;
	uint32_t moved = 0;
	double at[PARTS + 1];
	at[CENTROIDS] = now();
	check(p->centroids(p->arg, centroid, &err), &err);
	at[ASSIGN] = now();
	check(p->assign(p->arg, 0, t->blocks, &moved, &err), &err);
	at[MOVE] = now();
	check(p->move(p->arg, 0, t->blocks, &err), &err);
	at[SUMS] = now();
	check(p->get(p->arg, NULL, NULL, sum, count, &err), &err);
	at[PARTS] = now();
	for (int part = 0; part < PARTS; part++)
		times[part] = 1e3 * (at[part + 1] - at[part]);
	for (size_t j = 0; j < t->k; j++)
		for (size_t k = 0; k < t->d && count[j]; k++)
			centroid[j * t->d + k] = sum[j * t->d + k] / count[j];
}

int main(int argc, char **argv)
{
	static const char *const names[PARTS] = {"centroids up", "assign", "move", "sums down"};
	struct sl_error err;
	const struct sl_engine *engine;
	struct sl_device *device;
	struct sl_kmeans_passes passes;
	struct sl_kmeans_table t = {.block = BLOCK};
	int iterations = argc > 3 ? atoi(argv[3]) : 20;
	if (argc < 3 || iterations < 1) {
		fprintf(stderr, "usage: bench_kmeans POINTS CLUSTERS [ITERATIONS [ENGINE]]\n");
		return 2;
	}
	t.x = read_table(argv[1], &t.n, &t.d);
	t.k = (uint32_t)atoi(argv[2]);
	t.blocks = (t.n + BLOCK - 1) / BLOCK;
	check(sl_engine_open(argc > 4 ? argv[4] : "cuda", &engine, &err), &err);
	check(engine->open(&device, NULL, &err), &err);
	if (!sl_kmeans_opener(engine)) {
		fprintf(stderr, "bench_kmeans: this engine has no passes of k-means\n");
		return 1;
	}
	size_t table = (size_t)t.k * t.d;
	double *centroid = t.centroid = malloc(sizeof *centroid * table), *sum = t.sum = calloc(table, sizeof *sum);
	check(sl_kmeans_opener(engine)(device, &t, &passes, &err), &err);
	double *times = malloc(sizeof *times * PARTS * (size_t)iterations), *one = malloc(sizeof *one * (size_t)iterations);
	uint32_t *count = calloc(t.k, sizeof *count), *none = malloc(sizeof *none * t.n);
	if (!t.x || !centroid || !sum || !times || !one || !count || !none)
		return 1;
	memset(none, 0xff, sizeof *none * t.n);
	for (size_t j = 0; j < t.k; j++)
		for (size_t k = 0; k < t.d; k++)
			centroid[j * t.d + k] = (double)t.x[(uint64_t)j * t.n / t.k * t.d + k];
	check(passes.put(passes.arg, none, none, sum, count, &err), &err);
	for (int i = 0; i < iterations; i++)
		iterate(&passes, &t, centroid, sum, count, times + (size_t)i * PARTS);
	printf("%s: %u x %u, %u clusters;", argv[1], t.n, t.d, t.k);
	for (int part = 0; part < PARTS; part++) {
		for (int i = 0; i < iterations; i++)
			one[i] = times[i * PARTS + part];
		qsort(one, (size_t)iterations, sizeof *one, ascending);
		printf(" %s %.3f ms,", names[part], one[iterations / 2]);
		if (part == ASSIGN)
			printf(" %.1f Tflop/s,", 2e-9 * t.n * t.k * t.d / one[iterations / 2]);
	}
	printf(" %d iterations\n", iterations);
	passes.close(passes.arg);
	engine->close(device);
	return 0;
}
