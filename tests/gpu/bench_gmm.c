/* bench_gmm [POINTS [COLUMNS [COMPONENTS [name=value ...]]]] -- iterations of Gaussian mixtures on a device: 1,000,000
 * points of 16 columns, drawn from as many overlapping Gaussians as there are components, 64; each type of covariance.
 *   engine=cuda  iterations=5  passes=20  matrix=67  plain=34
 * Prints for each type: milliseconds of an iteration (a pass and the host's part); of a pass alone, the fastest of
 * `passes`; and of two lower bounds of a pass: its operations in double precision at the given teraflops (matrix: of
 * the matrix units, for full covariances; plain: for all others), and reading the points at copy bandwidth. Fused
 * operations per point and component: full, d (d + 1) + 3 d, where half of d (d + 1) are the product with a triangular
 * matrix and half a symmetric matrix; diag and spherical, 6 d; tied, 5 d. Logarithms and exponentials do not count. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/engine/load.h"
#include "core/gmm/gmm_internal.h"
#include "core/points/points.h"
#include "core/random.h"

static const struct sl_engine *engine;
static struct sl_device *device;

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
	fprintf(stderr, "bench_gmm: %s\n", sl_error_format(err, line, sizeof line));
	exit(1);
}

static double option(int argc, char **argv, const char *name, double value)
{
	size_t length = strlen(name);
	for (int i = 1; i < argc; i++)
		if (!strncmp(argv[i], name, length) && argv[i][length] == '=')
			value = atof(argv[i] + length + 1);
	return value;
}

static struct sl_points mixture(uint32_t n, uint32_t d, uint32_t groups)
{
	float *value = malloc((size_t)n * d * sizeof *value);
#pragma omp parallel for schedule(static)
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t a = 0; a < d; a++) {
			uint32_t group = (uint32_t)(sl_random_uniform(5, i) * groups);
			double common = sl_random_normal(6, i);
			value[(size_t)i * d + a] = (float)(1.5 * sl_random_normal(7, group * 5000ull + a) +
							   common * sl_random_normal(9, group * 5000ull + a) / 2 +
							   sl_random_normal(8, (uint64_t)i * d + a));
		}
	return (struct sl_points){.n = n, .n_user = n, .d = d, .type = SL_POINTS_F32, .value = value};
}

/* The fastest of some passes with the run's present mixture. */
static double pass(struct sl_gmm *m, int passes)
{
	struct sl_gmm_step step = {.k = m->now.k, .mean = m->now.mean, .factor = m->factors.factor,
				   .stride = m->factors.stride, .scale = m->factors.scale, .constant = m->factors.constant,
				   .sums = SL_GMM_SUM_ALL};
	struct sl_error err;
	double best = INFINITY;
	for (int i = 0; i < passes; i++) {
		check(m->passes.begin(m->passes.arg, &step, &err), &err);
		double began = now();
		check(m->passes.go(m->passes.arg, 0, (m->n - 1) / m->unit + 1, NULL, NULL, m->part, &err), &err);
		best = fmin(best, now() - began);
		check(m->passes.end(m->passes.arg, m->padded, m->mass, m->first, m->second, m->scatter, &err), &err);
	}
	return best;
}

static void measure(const struct sl_points *p, uint32_t k, int covariance, int argc, char **argv)
{
	struct sl_gmm_params params;
	struct sl_gmm_status status = {0};
	struct sl_gmm *m;
	struct sl_error err;
	double copy = 0, n = p->n, d = p->d, whole_s = 0;
	bool whole;
	int count = 0;
	sl_param_defaults(&sl_gmm_table, &params);
	params.components = (struct sl_param_list){1, {k}};
	params.covariance = covariance;
	params.tolerance = 0;
	params.iterations = (int)option(argc, argv, "iterations", 5);
	check(sl_gmm_create(&m, p, &params, NULL, &err), &err);
	double began = now();
	check(sl_gmm_attach(m, engine, device, &err), &err);
	printf("%-9s to the device %.3f s, ", sl_gmm_covariance_words[covariance], now() - began);
	began = now();
	while (isnan(status.log_likelihood) || status.iteration < 1)
		check(sl_gmm_advance(m, 10, &whole, &status, &err), &err);
	printf("start %.3f s; ", now() - began);
	while (!status.done && status.restart == 0 && status.fits == 0) {  /* in slices, as on a server */
		began = now();
		int before = status.iteration;
		check(sl_gmm_advance(m, 10, &whole, &status, &err), &err);
		whole_s += now() - began;
		count += status.iteration > before;
	}
	while (!status.done)
		check(sl_gmm_advance(m, 10, &whole, &status, &err), &err);
	int fits;
	double best = pass(m, (int)option(argc, argv, "passes", 20));
	double each = covariance == SL_GMM_FULL ? d * (d + 1) + 3 * d : covariance == SL_GMM_TIED ? 5 * d : 6 * d;
	double peak = covariance == SL_GMM_FULL ? option(argc, argv, "matrix", 67) : option(argc, argv, "plain", 34);
	double flops = 2 * n * k * each, bound = flops / (peak * 1e12);
	if (engine->copy_bandwidth)
		check(engine->copy_bandwidth(device, &copy, &err), &err);
	double read = copy > 0 ? 4 * n * d / copy : 0;
	printf("iteration %.3f ms, pass %.3f ms: %.2f TFLOP/s; bounds: operations %.3f ms, copy %.3f ms; "
	       "%.0f %% of the larger; log-likelihood %.12g\n", 1e3 * whole_s / (count ? count : 1), 1e3 * best,
	       flops / best * 1e-12, 1e3 * bound, 1e3 * read, 100 * fmax(bound, read) / best,
	       sl_gmm_fits(m, &fits)[0].log_likelihood);
	fflush(stdout);
	sl_gmm_destroy(m);
}

int main(int argc, char **argv)
{
	uint32_t at[3] = {1000000, 16, 64};
	const char *name = "cuda";
	struct sl_device_info info;
	struct sl_error err;
	for (int i = 1, number = 0; i < argc; i++) {
		if (!strncmp(argv[i], "engine=", 7))
			name = argv[i] + 7;
		else if (!strchr(argv[i], '=') && number < 3)
			at[number++] = (uint32_t)strtoul(argv[i], NULL, 10);
	}
	check(sl_engine_open(name, &engine, &err), &err);
	check(engine->open(&device, NULL, &err), &err);
	engine->info(device, &info);
	printf("%s: %u points of %u columns, %u components\n", info.name, at[0], at[1], at[2]);
	struct sl_points p = mixture(at[0], at[1], at[2]);
	for (int covariance = SL_GMM_FULL; covariance <= SL_GMM_SPHERICAL; covariance++)
		measure(&p, at[2], covariance, argc, argv);
	free(p.value);
	engine->close(device);
	return 0;
}
