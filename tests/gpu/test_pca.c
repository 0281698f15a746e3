/* Principal axes on the GPU against those of the host: the same coordinates within rounding, for all sizes, types and
 * limits of memory. With the arguments N D TO [float] it prints the times of both, for points of bytes or floats.
 * Skipped without a GPU. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "core/points/points.h"
#include "core/random.h"
#include "tests/gpu/need_gpu.h"
#include "tests/unit/graphs.h"

static uint64_t seed;

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Random points whose axes have decreasing variances, rotated; bytes: rounded and shifted. */
static struct sl_points *make_points(uint32_t n, uint32_t d, bool bytes)
{
	struct sl_points *p = calloc(1, sizeof *p);
	const uint32_t wide = d < 40 ? d : 40;
	float *axis = malloc(sizeof *axis * wide * d);
	p->n = p->n_user = n;
	p->d = d;
	p->type = bytes ? SL_POINTS_U8 : SL_POINTS_F32;
	p->value = malloc((size_t)n * d * 4);
	for (size_t i = 0; i < (size_t)wide * d; i++)
		axis[i] = (float)(sl_random_normal(seed, i) * pow(0.9, (double)(i / d)));
#pragma omp parallel for schedule(static)
	for (uint32_t i = 0; i < n; i++) {
		float z[40];
		for (uint32_t a = 0; a < wide; a++)
			z[a] = (float)sl_random_normal(seed + 1, (uint64_t)i * wide + a);
		for (uint32_t k = 0; k < d; k++) {
			float x = (float)(0.01 * sl_random_normal(seed + 2, (uint64_t)i * d + k)) + (float)(k % 7);
			for (uint32_t a = 0; a < wide; a++)
				x += z[a] * axis[(size_t)a * d + k];
			if (bytes)
				((uint8_t *)p->value)[(size_t)i * d + k] = (uint8_t)fminf(255, fmaxf(0, 128 + 8 * x));
			else
				((float *)p->value)[(size_t)i * d + k] = x;
		}
	}
	free(axis);
	return p;
}

static struct sl_points *by_gpu(const struct sl_points *p, uint32_t to, double *kept, uint64_t memory)
{
	struct sl_points_passes passes;
	struct sl_points *out;
	struct sl_error err;
	if (cuda->points_passes(0, memory, p, NULL, &passes, &err) ||
	    sl_points_pca_by(&out, p, to, kept, NULL, &passes, &err))
		fail_msg("%u x %u: %s", p->n, p->d, err.detail);
	passes.close(passes.arg);
	return out;
}

static void compare(uint32_t n, uint32_t d, uint32_t to, bool bytes, uint64_t memory)
{
	struct sl_points *p = make_points(n, d, bytes), *host, *here, *again;
	struct sl_error err;
	double kept, expected, worst = 0, size = 0;
	if (sl_points_pca(&host, p, to, &expected, NULL, &err))
		fail_msg("%s", err.detail);
	here = by_gpu(p, to, &kept, memory);
	again = by_gpu(p, to, &kept, memory);
	assert_int_equal(here->n, n);
	assert_int_equal(here->d, to);
	assert_true(fabs(kept - expected) < 1e-9);
	const float *x = here->value, *y = host->value;
	for (size_t i = 0; i < (size_t)n * to; i++) {
		worst = fmax(worst, fabs((double)x[i] - (double)y[i]));
		size = fmax(size, fabs((double)y[i]));
	}
	if (!(worst <= 2e-6 * size))
		fail_msg("%u x %u to %u: off by %g of %g", n, d, to, worst, size);
	assert_memory_equal(x, again->value, (size_t)n * to * 4);
	for (size_t i = 0; i < (size_t)d * to; i++)
		assert_true(fabs(here->pca->axis[i] - host->pca->axis[i]) < 1e-6);
	sl_points_destroy(p);
	sl_points_destroy(host);
	sl_points_destroy(here);
	sl_points_destroy(again);
}

static void any_size(void **state)
{
	NEED_GPU();
	compare(2, 3, 1, false, 0);
	compare(100, 1, 1, false, 0);
	compare(1000, 5, 5, false, 0);
	compare(3001, 63, 20, false, 0);
	compare(5000, 64, 30, true, 0);
	compare(777, 129, 33, false, 0);
	compare(20000, 300, 35, true, 0);
}

/* Blocks of rows, pass after pass, are added in the same order. */
static void in_blocks(void **state)
{
	NEED_GPU();
	compare(40000, 100, 30, false, 12 << 20);
	compare(40000, 100, 30, true, 12 << 20);
}

/* So many columns that axes are found by iteration; noise is a ten-thousandth of the last axis' variance. */
static void many_columns(void **state)
{
	NEED_GPU();
	compare(test_light() ? 100 : 600, 2500, test_light() ? 4 : 20, false, 0);
	compare(test_light() ? 200 : 2000, 2500, test_light() ? 4 : 20, false, 44 << 20);
}

static void axes_are_kept(void **state)
{
	NEED_GPU();
	struct sl_points *p = make_points(4000, 90, false), *q = by_gpu(p, 25, NULL, 0), *fresh;
	struct sl_error err;
	double worst = 0, size = 0;
	assert_int_equal(sl_pca_apply(&fresh, q->pca, p, &err), 0);
	for (size_t i = 0; i < 4000 * 25; i++) {
		worst = fmax(worst, fabs((double)((float *)fresh->value)[i] - (double)((float *)q->value)[i]));
		size = fmax(size, fabs((double)((float *)q->value)[i]));
	}
	assert_true(worst <= 2e-7 * size);
	sl_points_destroy(p);
	sl_points_destroy(q);
	sl_points_destroy(fresh);
}

static void refusals(void **state)
{
	NEED_GPU();
	static const int stop = 1;
	struct sl_points *p = make_points(3000, 120, false), *out = NULL;
	struct sl_points_passes passes;
	struct sl_error err;
	assert_int_equal(cuda->points_passes(0, 1, p, NULL, &passes, &err), SL_DEVMEM);
	assert_int_equal(cuda->points_passes(99, 0, p, NULL, &passes, &err), SL_NODEVICE);
	assert_int_equal(cuda->points_passes(0, 0, p, &stop, &passes, &err), 0);
	assert_int_equal(sl_points_pca_by(&out, p, 5, NULL, NULL, &passes, &err), SL_CANCELLED);
	passes.close(passes.arg);
	assert_int_equal(sl_engine_pca(cuda, 0, 1 << 12, &out, p, 5, NULL, NULL, &err), 0);  /* on the host */
	sl_points_destroy(out);
	assert_int_equal(sl_engine_pca(cuda, 0, 0, &out, p, 500, NULL, NULL, &err), SL_BADPARAM);
	sl_points_destroy(p);
}

struct timed {
	struct sl_points_passes passes;
	double seconds[3];
};

static int timed_mean(void *arg, double *mean, struct sl_error *err)
{
	struct timed *t = arg;
	double began = now();
	int code = t->passes.mean(t->passes.arg, mean, err);
	t->seconds[0] = now() - began;
	return code;
}

static int timed_covariance(void *arg, double *covariance, struct sl_error *err)
{
	struct timed *t = arg;
	double began = now();
	int code = t->passes.covariance(t->passes.arg, covariance, err);
	t->seconds[1] = now() - began;
	return code;
}

static int timed_project(void *arg, const struct sl_pca *pca, float *out, struct sl_error *err)
{
	struct timed *t = arg;
	double began = now();
	int code = t->passes.project(t->passes.arg, pca, out, err);
	t->seconds[2] = now() - began;
	return code;
}

static int measure(uint32_t n, uint32_t d, uint32_t to, bool bytes)
{
	struct sl_error err;
	struct sl_points *p = make_points(n, d, bytes), *out;
	double kept;
	printf("%u x %u %s to %u axes\n", n, d, bytes ? "bytes" : "floats", to);
	for (int i = 0; i < 5; i++) {
		struct timed t;
		const struct sl_points_passes passes = {.arg = &t, .mean = timed_mean, .covariance = timed_covariance,
							.project = timed_project};
		double began = now();
		if (cuda->points_passes(0, 0, p, NULL, &t.passes, &err) ||
		    sl_points_pca_by(&out, p, to, &kept, NULL, &passes, &err))
			return 1;
		t.passes.close(t.passes.arg);
		printf("| GPU | %.1f ms | mean, with upload %.1f | covariance %.1f | projection %.1f |\n",
		       1e3 * (now() - began), 1e3 * t.seconds[0], 1e3 * t.seconds[1], 1e3 * t.seconds[2]);
		sl_points_destroy(out);
	}
	for (int i = 0; i < 3; i++) {
		double began = now();
		if (sl_points_pca(&out, p, to, &kept, NULL, &err))
			return 1;
		printf("| host | %.1f ms |\n", 1e3 * (now() - began));
		sl_points_destroy(out);
	}
	sl_points_destroy(p);
	return 0;
}

int main(int count, char **word)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_size),
		cmocka_unit_test(in_blocks),
		cmocka_unit_test(many_columns),
		cmocka_unit_test(axes_are_kept),
		cmocka_unit_test(refusals),
	};
	seed = fresh_seed();
	if (count >= 4) {
		need_gpu(NULL);
		return !cuda || measure((uint32_t)atoi(word[1]), (uint32_t)atoi(word[2]), (uint32_t)atoi(word[3]), count == 4);
	}
	return cmocka_run_group_tests(tests, need_gpu, NULL);
}
