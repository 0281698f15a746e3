/* The passes of a mixture on the GPU (core/gmm/passes.h) over fresh random points, against the same sums in long double
 * (tests/plugin/gmm_passes.h). Skipped without a GPU. Whole runs: tests/unit/test_gmm_device.c; bench_gmm measures. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/engine/engine.h"
#include "core/gmm/gmm_internal.h"
#include "tests/gpu/need_gpu.h"
#include "tests/plugin/gmm_passes.h"
#include "tests/unit/mixtures.h"

struct outcome {
	double part[64], *mass, *first, *second, *scatter;
	int32_t *label;
	float *share;
};

static void outcome_init(struct outcome *o, uint32_t n, uint32_t d, uint32_t k)
{
	*o = (struct outcome){.mass = calloc(k, 8), .first = calloc(k * d, 8), .second = calloc(k * d, 8),
			      .scatter = calloc((size_t)k * d * d, 8), .label = calloc(n, 4),
			      .share = calloc((size_t)n * k, 4)};
}

static void outcome_finish(struct outcome *o)
{
	free(o->mass);
	free(o->first);
	free(o->second);
	free(o->scatter);
	free(o->label);
	free(o->share);
}

/* A pass with sums, in calls of `each` units; then a pass that returns responsibilities. */
static void do_pass(const struct sl_gmm_passes *p, const struct sl_gmm_table *t, const struct sl_gmm_step *given,
		    const uint32_t *label, uint32_t each, struct outcome *o)
{
	struct sl_gmm_step s = *given;
	bool diagonal = t->covariance >= SL_GMM_DIAG, full = t->covariance == SL_GMM_FULL;
	assert_int_equal(p->begin(p->arg, &s, NULL), 0);
	for (uint32_t unit = 0; unit < t->units; unit += each)
		assert_int_equal(p->go(p->arg, unit, unit + each < t->units ? unit + each : t->units, label, NULL, o->part,
				       NULL), 0);
	assert_int_equal(p->end(p->arg, t->d, o->mass, o->first, diagonal ? o->second : NULL, full ? o->scatter : NULL,
				NULL), 0);
	s.sums = SL_GMM_NO_SUMS;
	if (s.known)
		return;
	assert_int_equal(p->begin(p->arg, &s, NULL), 0);
	for (uint32_t unit = 0; unit < t->units; unit++) {
		size_t row = (size_t)unit * t->unit;
		assert_int_equal(p->go(p->arg, unit, unit + 1, NULL, NULL, o->part, NULL), 0);
		assert_int_equal(p->shares(p->arg, o->label + row, o->share + row * s.k, NULL), 0);
	}
}

/* Bounds from the rounding of sums of n terms of known size, and of responsibilities: their errors are those of
 * logarithms, which have the size of squares of a few hundred. */
static void compare(const struct sl_gmm_table *t, const struct sl_gmm_step *s, const struct outcome *a,
		    const struct outcome *b)
{
	uint32_t n = t->n, d = t->d, k = s->k;
	double spread = 0;
	for (uint32_t c = 0; c < k; c++) {
		near(a->mass[c], b->mass[c], 1e-10);
		for (uint32_t e = 0; t->covariance >= SL_GMM_DIAG && e < d; e++)
			spread = fmax(spread, b->second[c * d + e]);
		for (uint32_t e = 0; t->covariance == SL_GMM_FULL && e < d; e++)
			spread = fmax(spread, b->scatter[((size_t)c * d + e) * d + e]);
	}
	spread = fmax(spread, n);
	for (size_t e = 0; e < (size_t)k * d; e++) {
		assert_true(fabs(a->first[e] - b->first[e]) <= 1e-10 * spread);
		assert_true(fabs(a->second[e] - b->second[e]) <= 1e-10 * spread);
	}
	for (size_t e = 0; e < (size_t)k * d * d; e++)
		if (e / d % d <= e % d)
			assert_true(fabs(a->scatter[e] - b->scatter[e]) <= 1e-10 * spread);
	for (uint32_t unit = 0; !s->known && unit < t->units; unit++)
		near(a->part[unit], b->part[unit], 1e-11);
	for (uint32_t i = 0; !s->known && i < n; i++) {
		assert_true(b->share[i * k + (uint32_t)a->label[i]] >= b->share[i * k + (uint32_t)b->label[i]] - 1e-6f);
		for (uint32_t c = 0; c < k; c++)
			assert_true(fabsf(a->share[i * k + c] - b->share[i * k + c]) <= 1e-6f);
	}
}

/* A mixture from a run on the CPU: its points, factors and constants are used. */
static struct sl_gmm *
mixture_of(const struct sl_points *p, uint32_t k, int covariance, double reg_covar, struct sl_gmm_step *s)
{
	struct sl_gmm_params params = params_of((int)k, covariance, 2, 0);
	params.reg_covar = reg_covar;
	struct sl_gmm *m = run(p, &params, NULL);
	*s = (struct sl_gmm_step){.k = m->now.k, .mean = m->now.mean, .factor = m->factors.factor,
				  .stride = m->factors.stride, .scale = m->factors.scale, .constant = m->factors.constant,
				  .sums = SL_GMM_SUM_ALL};
	return m;
}

struct shape {
	uint32_t n, d, k, unit;
	double offset;
	double reg_covar;  /* 0 means 0.001; with 1 or more, no component is narrow, and forms.cu does the pass */
};

static void check_shape(struct sl_device *device, const struct shape *s, int covariance, uint64_t seed)
{
	float *x = make_points(s->n, s->d, s->k, s->offset, test_seed(seed));
	struct sl_points p = points_of(x, s->n, s->d);
	struct sl_gmm_step step;
	struct sl_gmm *m = mixture_of(&p, s->k, covariance, s->reg_covar > 0 ? s->reg_covar : 1e-3, &step);
	struct sl_gmm_table t = {.points = &p, .covariance = covariance, .n = s->n, .d = s->d, .k = s->k, .unit = s->unit,
				 .units = (s->n - 1) / s->unit + 1, .centre = m->column_mean};
	struct sl_gmm_passes gpu, plain;
	uint32_t *label = malloc(s->n * sizeof *label);
	for (uint32_t i = 0; i < s->n; i++)
		label[i] = (i * 7 + i / 5) % s->k;
	assert_int_equal(sl_gmm_opener(cuda)(device, &t, &gpu, NULL), 0);
	assert_int_equal(plain_gmm_passes(NULL, &t, &plain, NULL), 0);
	for (int known = 0; known < 2; known++) {
		struct outcome here, there, again;
		outcome_init(&here, s->n, s->d, s->k);
		outcome_init(&there, s->n, s->d, s->k);
		outcome_init(&again, s->n, s->d, s->k);
		step.known = known;
		do_pass(&gpu, &t, &step, known ? label : NULL, t.units, &there);
		do_pass(&gpu, &t, &step, known ? label : NULL, 1, &again);
		do_pass(&plain, &t, &step, known ? label : NULL, t.units, &here);
		compare(&t, &step, &there, &here);
		assert_memory_equal(there.mass, again.mass, s->k * sizeof(double));
		assert_memory_equal(there.first, again.first, s->k * s->d * sizeof(double));
		assert_memory_equal(there.second, again.second, s->k * s->d * sizeof(double));
		assert_memory_equal(there.scatter, again.scatter, (size_t)s->k * s->d * s->d * sizeof(double));
		assert_memory_equal(there.part, again.part, sizeof there.part);
		outcome_finish(&here);
		outcome_finish(&there);
		outcome_finish(&again);
	}
	gpu.close(gpu.arg);
	plain.close(plain.arg);
	sl_gmm_destroy(m);
	free(label);
	free(x);
}

static void check_all(const struct shape *s, size_t count)
{
	struct sl_device *device;
	struct sl_error err;
	NEED_GPU();
	assert_int_equal(cuda->open(&device, NULL, &err), 0);
	for (size_t i = 0; i < count; i++)
		for (int covariance = SL_GMM_FULL; covariance <= SL_GMM_SPHERICAL; covariance++)
			check_shape(device, &s[i], covariance, i);
	cuda->close(device);
}

static void sums_are_those_in_double_precision(void **state)
{
	static const struct shape shape[] = {
		{1, 1, 1, 128, 0, 0}, {129, 2, 3, 128, 0, 0}, {500, 8, 4, 256, 10, 0}, {900, 9, 6, 512, 0, 0},
		{700, 16, 7, 384, -100, 0}, {400, 24, 5, 256, 0, 0}, {300, 32, 3, 128, 5, 0}, {260, 33, 2, 128, 0, 0},
		{400, 50, 3, 256, 1, 0}, {800, 3, 140, 512, 0, 0}, {1700, 6, 70, 1024, 0, 10}, {900, 15, 20, 640, 3, 1},
		{31, 4, 2, 128, 0, 3}, {2500, 16, 64, 1024, 1, 3},
	};
	check_all(shape, sizeof shape / sizeof *shape);
}

static void the_same_bytes_however_it_is_cut(void **state)
{
	static const struct shape shape[] = {{5000, 16, 12, 1024, 0, 0}, {3000, 13, 66, 1024, 0, 30},
					     {4000, 16, 64, 384, 0, 3}};
	check_all(shape, sizeof shape / sizeof *shape);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_those_in_double_precision),
		cmocka_unit_test(the_same_bytes_however_it_is_cut),
	};
	return cmocka_run_group_tests_name("gmm passes", tests, need_gpu, NULL);
}
