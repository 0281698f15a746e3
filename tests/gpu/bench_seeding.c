/* bench_seeding mixture:N:D:CENTRES CLUSTERS [REPEATS [ENGINE]] -- measures time and quality of the seeds of k-means,
 * by k-means++ and by k-means||, alternating. Prints for each the minimum and median seconds of the repeats (default 5,
 * each with another seed), without the upload of points; the minimum processor seconds of all threads; and the mean
 * inertia of the points about their nearest seeds. ENGINE: cpu by default. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/engine/load.h"
#include "core/kmeans/kmeans.h"
#include "core/kmeans/passes.h"
#include "core/points/points.h"
#include "core/random.h"

#define MOST 100

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
	fprintf(stderr, "bench_seeding: %s\n", sl_error_format(err, line, sizeof line));
	exit(1);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

static float *mixture(uint32_t n, uint32_t d, uint32_t centres)
{
	float *x = malloc(sizeof *x * n * d);
	for (size_t i = 0; x && i < n; i++) {
		uint64_t own = (uint64_t)(sl_random_uniform(1, i) * centres);
		for (size_t k = 0; k < d; k++)
			x[i * d + k] = (float)(4 * sl_random_normal(2, own * d + k) + sl_random_normal(3, i * d + k));
	}
	return x;
}

/* took: wall and processor seconds. Adds to *inertia. */
static void seed(const struct sl_points *points, const struct sl_kmeans_params *params, const struct sl_engine *engine,
		   struct sl_device *device, double took[2], double *inertia)
{
	struct sl_kmeans_status status = {0};
	struct sl_error err;
	struct sl_kmeans *m;
	check(sl_kmeans_create(&m, points, params, NULL, &err), &err);
	if (device)
		check(sl_kmeans_attach(m, engine, device, &err), &err);
	double began = now();
	clock_t before = clock();
	while (status.seeds < params->clusters)
		check(sl_kmeans_step(m, &status, &err), &err);
	took[0] = now() - began;
	took[1] = (double)(clock() - before) / CLOCKS_PER_SEC;
	sl_kmeans_stop(m, &status);
	while (!status.done)
		check(sl_kmeans_step(m, &status, &err), &err);
	*inertia += status.inertia;
	sl_kmeans_destroy(m);
}

int main(int argc, char **argv)
{
	static const char *const name[] = {"k-means++", "k-means||"};
	unsigned n, d, centres;
	double seconds[2][2][MOST], took[2], inertia[2] = {0};
	int repeats = argc > 3 ? atoi(argv[3]) : 5;
	const struct sl_engine *engine = NULL;
	struct sl_device *device = NULL;
	struct sl_kmeans_params params;
	struct sl_error err;
	if (argc < 3 || repeats < 1 || repeats > MOST || sscanf(argv[1], "mixture:%u:%u:%u", &n, &d, &centres) != 3) {
		fprintf(stderr, "usage: bench_seeding mixture:N:D:CENTRES CLUSTERS [REPEATS [ENGINE]]\n");
		return 2;
	}
	if (argc > 4)
		check(sl_engine_open(argv[4], &engine, &err), &err);
	if (engine && sl_kmeans_opener(engine))
		check(engine->open(&device, NULL, &err), &err);
	float *x = mixture(n, d, centres);
	if (!x)
		return 1;
	const struct sl_points points = {.n = n, .n_user = n, .d = d, .type = SL_POINTS_F32, .value = x};
	sl_param_defaults(&sl_kmeans_table, &params);
	params.clusters = atoi(argv[2]);
	for (int r = 0; r < repeats; r++)
		for (params.seeding = SL_KMEANS_PLUSPLUS; params.seeding <= SL_KMEANS_PARALLEL; params.seeding++) {
			params.seed = (uint64_t)r;
			seed(&points, &params, engine, device, took, &inertia[params.seeding]);
			seconds[params.seeding][0][r] = took[0];
			seconds[params.seeding][1][r] = took[1];
		}
	for (int way = 0; way < 2; way++) {
		for (int i = 0; i < 2; i++)
			qsort(seconds[way][i], (size_t)repeats, sizeof(double), ascending);
		printf("%s  %9.4f s least %9.4f s median %9.4f s of processors  inertia %.6g\n", name[way], seconds[way][0][0],
		       seconds[way][0][repeats / 2], seconds[way][1][0], inertia[way] / repeats);
	}
	if (device)
		engine->close(device);
	free(x);
	return 0;
}
