/* The passes of Sammon's mapping on the GPU (core/sammon/passes.h) over fresh random points, against the same sums in
 * double precision (tests/plugin/sammon_passes.h). Skipped without a GPU. Whole runs: tests/unit/test_sammon_device.c;
 * bench_sammon of tests/bench/ measures. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/engine/engine.h"
#include "tests/gpu/need_gpu.h"
#include "tests/plugin/sammon_passes.h"
#include "tests/unit/seeds.h"

#define DIMS 3

struct rig {
	struct sl_device *device;
	struct sl_sammon_table table;
	struct sl_sammon_passes gpu, plain;
	float *panel, *norm, *mass, *y;
	uint32_t *partner;
};

struct shape {
	uint32_t n, d;
	int dims;
	uint32_t side, partners;
	double near;           /* this fraction of the points is close to another point, so that inner products cancel */
};

static double normal(uint64_t *seed)
{
	return sqrt(-2 * log(1 - test_uniform(seed))) * cos(6.283185307179586 * test_uniform(seed));
}

/* Random pairs of blocks; each block lists the other. */
static void draw_partners(struct rig *r, uint64_t *seed)
{
	uint32_t blocks = r->table.blocks, count = r->table.partners;
	r->partner = malloc((size_t)blocks * count * sizeof *r->partner);
	memset(r->partner, 0xff, (size_t)blocks * count * sizeof *r->partner);
	for (uint32_t a = 0; a < blocks; a++)
		r->partner[(size_t)a * count] = a;
	for (uint32_t round = 1; round < count; round++)
		for (uint32_t a = 0; a < blocks; a++) {  /* rounds of a tournament: a + b is equal in a round */
			uint32_t b = (round * 7 + blocks - a % blocks) % blocks;
			if (a < b && test_uniform(seed) < 0.9) {
				r->partner[(size_t)a * count + round] = b;
				r->partner[(size_t)b * count + round] = a;
			}
		}
}

static void fill_points(struct rig *r, const struct shape *s, uint64_t *seed)
{
	size_t room = r->table.room;
	r->panel = calloc(room * s->d, sizeof *r->panel);
	r->norm = calloc(room, sizeof *r->norm);
	r->mass = calloc(room, sizeof *r->mass);
	r->y = calloc(room * DIMS, sizeof *r->y);
	for (uint32_t i = 0; i < s->n; i++) {
		bool near = i && test_uniform(seed) < s->near;
		uint32_t other = near ? (uint32_t)(test_uniform(seed) * i) : 0;
		double square = 0, size = near ? pow(10, -1 - 4 * test_uniform(seed)) : 0.2;
		for (uint32_t k = 0; k < s->d; k++) {
			double from = near ? (double)r->panel[((size_t)(other / 32) * s->d + k) * 32 + other % 32] : 0;
			double x = fmax(-0.99, fmin(0.99, from + size * normal(seed)));
			r->panel[((size_t)(i / 32) * s->d + k) * 32 + i % 32] = (float)x;
			square += (double)(float)x * (double)(float)x;
		}
		r->norm[i] = (float)square;
		r->mass[i] = test_uniform(seed) < 0.1 ? 3 : 1;
		for (uint32_t q = 0; q < (uint32_t)s->dims; q++)  /* some points coincide */
			r->y[q * room + i] = i % 17 == 5 ? r->y[q * room + i / 2] : (float)(0.3 * normal(seed));
	}
}

static void rig_open(struct rig *r, const struct shape *s, bool metric, bool curve, uint64_t *seed)
{
	struct sl_error err;
	uint32_t blocks = (s->n - 1) / s->side + 1;
	memset(r, 0, sizeof *r);
	r->table = (struct sl_sammon_table){
		.n = s->n, .d = s->d, .room = (size_t)blocks * s->side, .differences = s->d <= 12, .dims = s->dims,
		.metric = metric, .curve = curve, .side = s->side, .blocks = blocks, .partners = s->partners,
	};
	fill_points(r, s, seed);
	if (s->partners)
		draw_partners(r, seed);
	r->table.panel = r->panel;
	r->table.norm = r->norm;
	r->table.mass = r->mass;
	if (cuda->open(&r->device, NULL, &err) || sl_sammon_opener(cuda)(r->device, &r->table, &r->gpu, &err))
		fail_msg("%s", err.detail);
	assert_int_equal(plain_sammon_passes(NULL, &r->table, &r->plain, NULL), 0);
}

static void rig_close(struct rig *r)
{
	struct sl_device_info info;
	r->gpu.close(r->gpu.arg);
	r->plain.close(r->plain.arg);
	cuda->info(r->device, &info);
	assert_true(info.memory_used < 1 << 20);
	cuda->close(r->device);
	free(r->panel);
	free(r->norm);
	free(r->mass);
	free(r->y);
	free(r->partner);
}

struct sums {
	double *force, *curve, *weight, sum, total;
};

static struct sums make_sums(const struct rig *r)
{
	size_t room = r->table.room, values = room * DIMS;
	return (struct sums){.force = malloc(values * sizeof(double)), .curve = malloc(values * sizeof(double)),
			     .weight = malloc(room * sizeof(double))};
}

static void drop_sums(struct sums *s)
{
	free(s->force);
	free(s->curve);
	free(s->weight);
}

/* A pass in parts of `by` units. */
static void pass(const struct rig *r, const struct sl_sammon_passes *p, uint32_t by, bool weights, struct sums *out)
{
	struct sl_error err;
	int code = p->begin(p->arg, r->y, r->partner, weights, &err);
	for (uint32_t from = 0; !code && from < p->units; from += by)
		code = p->go(p->arg, from, p->units - from < by ? p->units : from + by, &err);
	if (!code)
		code = p->end(p->arg, out->force, r->table.curve ? out->curve : NULL, weights ? out->weight : NULL, &out->sum,
			      weights ? &out->total : NULL, &err);
	if (code)
		fail_msg("%s", err.detail);
}

/* The permitted error of a sum, as a part of `scale`. With differences of coordinates only the sums round. With inner
 * products a squared distance may be as small as SL_SM_CANCELS = 2^-6 of the sum of two squared norms, whose rounding
 * errors (two norms, their sum, the product: 5 * 2^-24) it keeps; the distance has half of them. */
static double limit(const struct rig *r)
{
	return r->table.differences ? 2e-6 : 5 * 0x1p-24 / 0x1p-6 / 2;
}

/* Permitted error relative to the sum of the absolute values of the terms: for forces at most w (d + D), for curves w
 * (1 + 2 D / d). */
static void compare(const struct rig *r, const char *what, const double *got, const double *want, uint32_t rows,
		    const double *scale, double within)
{
	double most = 0;
	for (uint32_t q = 0; q < rows; q++)
		for (uint32_t i = 0; i < r->table.room; i++) {
			size_t at = q * r->table.room + i;
			if (i >= r->table.n)
				assert_true(got[at] == 0);
			else if (!(fabs(got[at] - want[at]) <= within * scale[i]))
				fail_msg("%u points of %u columns in %d-D, metric %d: %s %u of point %u is %.9g, not %.9g (%.3g)",
					 r->table.n, r->table.d, r->table.dims, r->table.metric, what, q, i, got[at], want[at], scale[i]);
			else if (scale[i] > 0)
				most = fmax(most, fabs(got[at] - want[at]) / scale[i]);
		}
	if (getenv("SPACELAND_TEST_TELL"))
		printf("%u x %u: %s %.2g\n", r->table.n, r->table.d, what, most);
}

/* The scales of compare(), [room] each. */
static void find_scales(const struct rig *r, double *force, double *curve)
{
	const struct sl_sammon_table *t = &r->table;
	const uint32_t most = t->partners ? t->partners : t->blocks;
	memset(force, 0, t->room * sizeof *force);
	memset(curve, 0, t->room * sizeof *curve);
	for (uint32_t i = 0; i < t->n; i++)
		for (uint32_t k = 0; k < most; k++) {
			uint32_t b = t->partners ? r->partner[(size_t)(i / t->side) * most + k] : k;
			for (uint32_t j = b * t->side; b != SL_SAMMON_NO_PARTNER && j < (b + 1) * t->side && j < t->n; j++) {
				double far = plain_sammon_far(t, i, j), near = 0;
				for (int q = 0; q < t->dims; q++)
					near += pow((double)r->y[(size_t)q * t->room + i] - (double)r->y[(size_t)q * t->room + j], 2);
				near = near > 1e-24 ? sqrt(near) : 0;
				double w = far > 0 ? (double)t->mass[i] * (double)t->mass[j] / (t->metric ? 1 : far) : 0;
				force[i] += w * (near + far);
				curve[i] += w * (1 + (near > 0 ? 2 * far / near : 0));
			}
		}
}

static void check(const struct shape *s, bool metric, bool curve, uint64_t *seed)
{
	struct rig r;
	rig_open(&r, s, metric, curve, seed);
	struct sums got = make_sums(&r), want = make_sums(&r);
	double *of_force = malloc(r.table.room * sizeof(double)), *of_curve = malloc(r.table.room * sizeof(double));
	find_scales(&r, of_force, of_curve);
	pass(&r, &r.gpu, UINT32_MAX, true, &got);
	pass(&r, &r.plain, UINT32_MAX, true, &want);
	compare(&r, "force", got.force, want.force, (uint32_t)s->dims, of_force, limit(&r));
	if (curve)
		compare(&r, "curve", got.curve, want.curve, (uint32_t)s->dims, of_curve, limit(&r));
	compare(&r, "weight", got.weight, want.weight, 1, want.weight, limit(&r));
	double beside = 1e-6 * sqrt(want.sum * (want.sum + want.total));  /* D and d may be nearly equal */
	beside += 1e-6 * want.sum + 1e-13 * want.total;
	if (!(fabs(got.sum - want.sum) <= beside && fabs(got.total - want.total) <= 1e-6 * want.total))
		fail_msg("%u points of %u columns: sums %.12g, %.12g, not %.12g, %.12g", s->n, s->d, got.sum, got.total,
			 want.sum, want.total);
	if (getenv("SPACELAND_TEST_TELL"))
		printf("stress %.2g\n", got.sum / want.sum - 1);
	/* the same bits for any division, with and without weights */
	for (uint32_t by = 1; by <= 3; by += 2) {
		struct sums again = make_sums(&r);
		pass(&r, &r.gpu, by, by == 1, &again);
		size_t bytes = r.table.room * (size_t)s->dims * sizeof(double);
		assert_memory_equal(got.force, again.force, bytes);
		if (curve)
			assert_memory_equal(got.curve, again.curve, bytes);
		if (by == 1)
			assert_memory_equal(got.weight, again.weight, r.table.room * sizeof(double));
		assert_true(got.sum == again.sum && (by > 1 || got.total == again.total));
		drop_sums(&again);
	}
	drop_sums(&got);
	drop_sums(&want);
	free(of_force);
	free(of_curve);
	rig_close(&r);
}

static void checks(const struct shape *shapes, int count)
{
	uint64_t seed = fresh_seed();
	for (int i = 0; i < count; i++)
		for (int kind = 0; kind < 4; kind++)
			if (!getenv("SPACELAND_TEST_LIGHT") || kind == i % 4)
				check(&shapes[i], kind & 1, kind & 2, &seed);
}

/* Few columns: distances from differences; more: from inner products; many: in stages. */
static void sums_over_all_pairs(void **state)
{
	static const struct shape shapes[] = {
		{1, 2, 2, 32, 0, 0}, {2, 20, 1, 32, 0, 0}, {127, 3, 2, 32, 0, 0.3}, {129, 12, 3, 64, 0, 0.2},
		{300, 13, 1, 32, 0, 0}, {257, 16, 2, 128, 0, 0.3}, {200, 50, 2, 256, 0, 0.1}, {400, 64, 3, 32, 0, 0},
		{140, 65, 2, 32, 0, 0.2}, {260, 150, 2, 64, 0, 0.1}, {130, 300, 3, 32, 0, 0},
	};
	NEED_GPU();
	checks(shapes, sizeof shapes / sizeof *shapes);
}

static void sums_over_partners(void **state)
{
	static const struct shape shapes[] = {
		{500, 5, 2, 32, 4, 0.1}, {700, 20, 2, 64, 5, 0.1}, {900, 17, 3, 128, 3, 0}, {1100, 30, 1, 256, 3, 0.1},
	};
	NEED_GPU();
	checks(shapes, sizeof shapes / sizeof *shapes);
}

/* Runs of several tiles, and all of a thread block's runs. */
static void sums_over_many(void **state)
{
	static const struct shape shapes[] = {{9000, 40, 2, 128, 0, 0.01}, {12000, 2, 2, 128, 0, 0}};
	NEED_GPU();
	checks(shapes, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_over_all_pairs),
		cmocka_unit_test(sums_over_partners),
		cmocka_unit_test(sums_over_many),
	};
	cmocka_set_test_filter(getenv("SPACELAND_TEST_FILTER"));
	return cmocka_run_group_tests(tests, need_gpu, NULL);
}
