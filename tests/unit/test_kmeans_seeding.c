/* Seeds by k-means|| against the method in plain double precision, with the same random numbers. */
#include <math.h>
#include <omp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/kmeans/kmeans_internal.h"
#include "core/method/method.h"
#include "tests/unit/kmeans_util.h"
#include "tests/unit/seeds.h"

/* ---- the plain one ---------------------------------------------------------------------- */

struct plain {
	uint32_t count, rounds;
	uint32_t row[MOST], weight[MOST], seed[MOST];
};

static double square_of(const struct sl_points *p, uint32_t a, uint32_t b)
{
	const float *x = (const float *)p->value + (size_t)a * p->d, *y = (const float *)p->value + (size_t)b * p->d;
	double sum = 0;
	for (uint32_t k = 0; k < p->d; k++)
		sum += ((double)x[k] - (double)y[k]) * ((double)x[k] - (double)y[k]);
	return sum;
}

/* Squared distances to the nearest candidate, and how many points are nearest to each of them. Returns the sum. */
static double plain_weigh(const struct sl_points *p, struct plain *c, double *square, uint32_t *weighty)
{
	double total = 0;
	memset(c->weight, 0, sizeof c->weight);
	*weighty = 0;
	for (uint32_t i = 0; i < p->n; i++) {
		uint32_t best = 0;
		square[i] = INFINITY;
		for (uint32_t j = 0; j < c->count; j++) {
			double now = square_of(p, i, c->row[j]);
			best = now < square[i] ? j : best;
			square[i] = fmin(square[i], now);
		}
		*weighty += !c->weight[best]++;
		total += square[i];
	}
	return total;
}

static void plain_choose(const struct sl_points *p, struct plain *c, uint32_t k, uint64_t seed)
{
	static double square[MOST];
	for (uint32_t j = 0; j < c->count; j++)
		square[j] = 1;
	for (uint32_t s = 0; s < k; s++) {
		double u = sl_random_uniform(seed + 0x73656564, s), total = 0, before = 0;
		uint32_t j = 0;
		for (uint32_t at = 0; at < c->count; at++)
			total += c->weight[at] * square[at];
		while (total > 0 && (before += c->weight[j] * square[j]) <= u * total)
			j++;
		c->seed[s] = total > 0 ? c->row[j] : (uint32_t)(u * p->n);
		for (uint32_t at = 0; at < c->count; at++)
			square[at] = s ? fmin(square[at], square_of(p, c->row[at], c->seed[s])) :
					 square_of(p, c->row[at], c->seed[s]);
	}
}

static void plain_seeds(const struct sl_points *p, uint32_t k, uint64_t seed, struct plain *c)
{
	static double square[MOST];
	uint32_t weighty;
	memset(c, 0, sizeof *c);
	c->row[c->count++] = (uint32_t)(sl_random_uniform(seed, 0) * p->n);
	double total = plain_weigh(p, c, square, &weighty);
	while (total > 0 && (c->rounds < 5 || weighty < k)) {
		uint32_t before = c->count, farthest = 0;
		c->rounds++;
		for (uint32_t i = 0; i < p->n; i++) {
			farthest = square[i] > square[farthest] ? i : farthest;
			if (sl_random_uniform(seed + 0x726f7773, (uint64_t)c->rounds << 32 | i) * total < 2.0 * k * square[i])
				c->row[c->count++] = i;
		}
		if (c->count == before)
			c->row[c->count++] = farthest;
		total = plain_weigh(p, c, square, &weighty);
	}
	plain_choose(p, c, k, seed);
}

/* ---- runs ------------------------------------------------------------------------------- */

static struct sl_kmeans_params params_of(uint32_t k, uint64_t seed)
{
	struct sl_kmeans_params params;
	sl_param_defaults(&sl_kmeans_table, &params);
	params.clusters = (int)k;
	params.seeding = SL_KMEANS_PARALLEL;
	params.seed = seed;
	return params;
}

/* The shortest possible calls. */
static struct sl_kmeans_status part(struct sl_kmeans *m)
{
	struct sl_kmeans_status status;
	bool whole;
	assert_int_equal(sl_kmeans_advance(m, 1e-9, &whole, &status, NULL), 0);
	return status;
}

static void same_seeds(const struct sl_points *p, uint32_t k, uint64_t seed)
{
	static struct plain want;
	struct sl_kmeans_params params = params_of(k, seed);
	struct sl_kmeans_status status;
	struct sl_kmeans *m;
	const float *x = p->value;
	plain_seeds(p, k, seed, &want);
	assert_true(want.count <= sl_kmeans_candidates(&params, p->n));
	assert_int_equal(sl_kmeans_create(&m, p, &params, NULL, NULL), 0);
	do
		status = part(m);
	while (m->over->stage != SL__KMEANS_CHOOSE);
	assert_int_equal(status.rounds, want.rounds);
	assert_int_equal(status.seeds, 0);
	assert_int_equal(m->over->count, want.count);
	assert_memory_equal(m->over->row, want.row, want.count * sizeof *want.row);
	for (uint32_t c = 0; c < want.count; c++)
		assert_true(m->over->weight[c] == (double)want.weight[c]);
	while (status.seeds < (int)k)
		status = part(m);
	assert_null(m->over);
	for (uint32_t j = 0; j < k; j++)
		for (uint32_t a = 0; a < p->d; a++)
			assert_true(m->centroid[j * p->d + a] == (double)x[want.seed[j] * p->d + a]);
	sl_kmeans_destroy(m);
}

static void seeds_are_those_of_the_method(void **state)
{
	static const struct { uint32_t n, d, k; double offset; } shape[] = {
		{1, 1, 1, 0}, {2, 3, 2, 0}, {700, 2, 1, 0}, {900, 5, 7, 0}, {1500, 33, 40, 0}, {2500, 3, 90, 0},
		{800, 6, 400, 0}, {600, 4, 600, 0}, {500, 200, 33, 3},
		{700, 3, 20, 1e5},  /* distances are equal in float */
	};
	for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
		if (test_leaves_out(i, 1, 4))
			continue;
		float *x = make_points(shape[i].n, shape[i].d, 12, shape[i].offset, test_seed(31 + i));
		struct sl_points p = points_of(x, shape[i].n, shape[i].d);
		for (uint64_t seed = 0; seed < 3; seed++)
			same_seeds(&p, shape[i].k, seed);
		free(x);
	}
}

/* Equal distances; repeated rows; fewer distinct rows than clusters; one row far from all others. */
static void rows_that_are_alike(void **state)
{
	static struct result r;
	enum { N = 900 };
	static float x[N * 2];
	for (int differ = 1; differ <= 64; differ *= 2) {
		struct sl_points p = points_of(x, N, 2);
		for (uint32_t i = 0; i < N; i++) {
			uint32_t kind = (uint32_t)(sl_random_uniform(test_seed(8), i) * differ);
			x[2 * i] = (float)(kind % 8);
			x[2 * i + 1] = (float)(kind / 8);
		}
		for (uint32_t k = 1; k <= 65; k += 16) {
			struct sl_kmeans_params params = params_of(k, 3);
			same_seeds(&p, k, 3);
			run(&p, &params, NULL, &r);
			assert_true((uint32_t)differ > k || r.inertia < 1e-20);  /* means of equal rows are rounded */
		}
		x[2 * 77] = 1e6f;
		same_seeds(&p, 5, 4);
	}
}

/* ---- quality ---------------------------------------------------------------------------- */

/* Mean inertia of the points about their nearest seeds. */
static double inertia_of_seeds(const struct sl_points *p, struct sl_kmeans_params params, int seeding)
{
	double sum = 0;
	params.seeding = seeding;
	for (params.seed = 0; params.seed < 20; params.seed++) {
		struct sl_kmeans_status status = {0};
		struct sl_kmeans *m;
		assert_int_equal(sl_kmeans_create(&m, p, &params, NULL, NULL), 0);
		while (status.seeds < params.clusters)
			assert_int_equal(sl_kmeans_step(m, &status, NULL), 0);
		sl_kmeans_stop(m, &status);
		while (!status.done)
			assert_int_equal(sl_kmeans_step(m, &status, NULL), 0);
		assert_int_equal(status.iteration, 0);
		sum += status.inertia / 20;
		sl_kmeans_destroy(m);
	}
	return sum;
}

static void seeds_are_as_good(void **state)
{
	for (int metric = SL_KMEANS_EUCLIDEAN; metric <= SL_KMEANS_COSINE; metric++)
		for (uint32_t centres = 5; centres <= 80; centres *= 4) {
			if (test_leaves_out((uint64_t)(metric * 8) + centres / 5, 1, 3))
				continue;
			float *x = make_points(MOST, 12, centres, 0, test_seed(41));
			struct sl_points p = points_of(x, MOST, 12);
			struct sl_kmeans_params params = params_of(20, 0);
			params.metric = metric;
			double one = inertia_of_seeds(&p, params, SL_KMEANS_PLUSPLUS);
			double other = inertia_of_seeds(&p, params, SL_KMEANS_PARALLEL);
			assert_true(other <= one);  /* 0.91 to 0.95 of it, as measured */
			free(x);
		}
}

/* ---- interruptions ---------------------------------------------------------------------- */

/* Continues a run in a new object, which loads the state. */
static void go_on(const struct sl_points *p, const struct sl_kmeans_params *params, struct sl_kmeans *m,
		  struct result *r)
{
	struct sl_kmeans *next;
	void *bytes;
	uint64_t count;
	assert_int_equal(sl_kmeans_save(m, &bytes, &count, NULL), 0);
	assert_int_equal(sl_kmeans_create(&next, p, params, NULL, NULL), 0);
	for (int i = 0; i < 40; i++)
		part(next);  /* its own progress is discarded */
	assert_int_equal(sl_kmeans_load(next, bytes, count, NULL), 0);
	free(bytes);
	do
		assert_int_equal(sl_kmeans_step(next, &r->status, NULL), 0);
	while (!r->status.done);
	assert_int_equal(sl_kmeans_result(next, r->label, r->centroid, &r->inertia, NULL), 0);
	sl_kmeans_destroy(next);
}

static void bytes_do_not_depend_on_threads_or_interruptions(void **state)
{
	static struct result one, two;
	enum { N = MOST, D = 9, K = 70 };
	float *x = make_points(N, D, 50, 0, test_seed(19));
	struct sl_points p = points_of(x, N, D);
	int threads = omp_get_max_threads();
	for (int batch = 0; batch <= 300; batch += 300) {
		struct sl_kmeans_params params = params_of(K, 6);
		params.batch = batch;
		params.restarts = 2;
		params.iterations = 4;
		omp_set_num_threads(1);
		run(&p, &params, NULL, &one);
		omp_set_num_threads(3);
		run(&p, &params, NULL, &two);
		omp_set_num_threads(threads);
		assert_memory_equal(one.label, two.label, sizeof one.label);
		assert_memory_equal(one.centroid, two.centroid, sizeof one.centroid);
		uint32_t stages = 0;
		for (int parts = 1; parts < 500; parts += batch ? 50 : 5) {
			struct sl_kmeans *m;
			if (test_leaves_out((uint64_t)parts / 5, 1, 12))
				continue;
			assert_int_equal(sl_kmeans_create(&m, &p, &params, NULL, NULL), 0);
			for (int i = 0; i < parts; i++)
				part(m);
			stages |= m->over ? 1u << m->over->stage : 0;
			if (test_leaves_out((uint64_t)parts / 5, 4, 1)) {
				sl_kmeans_destroy(m);
				continue;
			}
			memset(&two, 0, sizeof two);
			go_on(&p, &params, m, &two);
			sl_kmeans_destroy(m);
			assert_memory_equal(one.label, two.label, sizeof one.label);
			assert_memory_equal(one.centroid, two.centroid, sizeof one.centroid);
			assert_true(one.inertia == two.inertia);
		}
		assert_true(batch || test_lightest() || stages == (1u << SL__KMEANS_STAGES) - 1 - (1u << SL__KMEANS_MERGE));
	}
	free(x);
}

/* The state of a run with other seeds is refused. */
static void states_name_their_seeding(void **state)
{
	float x[] = {0, 1, 2, 50, 100, 101};
	struct sl_points p = points_of(x, 6, 1);
	struct sl_kmeans_params params = params_of(2, 0);
	struct sl_kmeans *m, *other;
	void *bytes;
	uint64_t count;
	assert_int_equal(sl_kmeans_create(&m, &p, &params, NULL, NULL), 0);
	params.seeding = SL_KMEANS_PLUSPLUS;
	assert_int_equal(sl_kmeans_create(&other, &p, &params, NULL, NULL), 0);
	assert_int_equal(sl_kmeans_save(m, &bytes, &count, NULL), 0);
	assert_int_equal(sl_kmeans_load(other, bytes, count, NULL), SL_BADDATA);
	free(bytes);
	sl_kmeans_destroy(m);
	sl_kmeans_destroy(other);
	params.seeding = 2;
	struct sl_error err;
	assert_int_equal(sl_kmeans_check(&params, 6, 1, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/seeding");
}

/* The memory of candidates is counted, and is small beside points and centroids. */
static void memory_is_forecast(void **state)
{
	const struct sl_method *method = sl_method_find("kmeans");
	struct sl_kmeans_params params = params_of(1000, 0);
	uint64_t most = sl_kmeans_candidates(&params, 200000), with = method->host_bytes(&params, 200000, 32);
	assert_true(most > 10000 && most < 16000);
	assert_int_equal(sl_kmeans_candidates(&params, 5000), 5000);
	params.seeding = SL_KMEANS_PLUSPLUS;
	assert_int_equal(sl_kmeans_candidates(&params, 200000), 0);
	assert_true(with >= method->host_bytes(&params, 200000, 32) + 24 * most);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seeds_are_those_of_the_method),
		cmocka_unit_test(rows_that_are_alike),
		cmocka_unit_test(seeds_are_as_good),
		cmocka_unit_test(bytes_do_not_depend_on_threads_or_interruptions),
		cmocka_unit_test(states_name_their_seeding),
		cmocka_unit_test(memory_is_forecast),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
