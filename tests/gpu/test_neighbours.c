/* Neighbours on the GPU against sums in double precision: each row's distances are those of the reference within
 * float32 rounding, in order, of points that are that far away. Skipped where there is no GPU. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/engine/load.h"
#include "core/graph/affinities.h"
#include "core/neighbours/neighbours.h"
#include "core/params.h"
#include "core/points/points.h"
#include "core/random.h"
#include "tests/unit/graphs.h"
#include "tests/gpu/shapes.h"

static const struct sl_engine *cuda;

static int need_gpu(void **state)
{
	struct sl_error err;
	seed = fresh_seed();
	if (!sl_engine_open("cuda", &cuda, &err) && cuda->neighbours_find)
		return 0;
	printf("skipped: %s\n", err.detail);
	cuda = NULL;
	return 0;
}

#define NEED_GPU() do { if (!cuda) skip(); } while (0)

static void search(uint32_t n, uint32_t d, enum shape shape, uint32_t k, int metric, double power, uint64_t memory)
{
	struct sl_points *p = make_points(n, d, shape);
	struct sl_neighbours_params params = {.k = k, .metric = metric, .p = power, .recall = 1};
	struct sl_neighbours *nb = NULL, *again = NULL;
	struct sl_error err;
	if (cuda->neighbours_find(0, memory, p, &params, &nb, &err) ||
	    cuda->neighbours_find(0, 0, p, &params, &again, &err))
		fail_msg("n %u, d %u: %s", n, d, err.detail);
	check(p, nb, k, metric, power, metric == SL_LP ? 3e-5 : 3e-6);
	size_t entries = (size_t)nb->n * nb->k;
	assert_memory_equal(nb->index, again->index, entries * 4);
	assert_memory_equal(nb->distance, again->distance, entries * 4);
	sl_neighbours_destroy(nb);
	sl_neighbours_destroy(again);
	sl_points_destroy(p);
}

static void any_size(void **state)
{
	NEED_GPU();
	const uint32_t sizes[] = {2, 3, 17, 127, 128, 129, 385, 1000, 3001};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		search(sizes[i], 1 + (uint32_t)(i * 37 % 70), NORMAL, 15, SL_EUCLIDEAN, 0, 0);
		search(sizes[i], 5, NORMAL, 5000, SL_EUCLIDEAN, 0, 0);
	}
}

static void any_dimension(void **state)
{
	NEED_GPU();
	const uint32_t dims[] = {1, 2, 16, 31, 64, 65, 128, 150, 193, 300, 784};
	const uint32_t n = test_light() ? 300 : 1500;
	for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
		search(n, dims[i], NORMAL, 30, SL_EUCLIDEAN, 0, 0);
		search(n, dims[i], BYTES, 30, SL_EUCLIDEAN, 0, 0);
		search(n, dims[i], NORMAL, 10, SL_COSINE, 0, 0);
		search(n, dims[i], NORMAL, 10, SL_L1, 0, 0);
	}
}

static void any_metric(void **state)
{
	NEED_GPU();
	uint32_t n = test_light() ? 200 : 2000;
	for (int metric = SL_EUCLIDEAN; metric <= SL_LINF; metric++)
		for (int shape = NORMAL; shape <= BYTES; shape += test_light() ? BYTES - NORMAL : 1)
			if (!(metric == SL_COSINE && (shape == FAR || shape == OUTLIERS)))
				search(n, 20, (enum shape)shape, 30, metric, 3, 0);
	search(n, 20, NORMAL, 30, SL_LP, 1.5, 0);
	search(n, 20, NORMAL, 30, SL_LP, 1, 0);
	search(n, 20, NORMAL, 30, SL_LP, 2, 0);
	search(n, 20, NORMAL, 30, SL_LP, 12, 0);
}

static void many_neighbours(void **state)
{
	NEED_GPU();
	search(6000, 10, NORMAL, 300, SL_EUCLIDEAN, 0, 0);
	search(9000, 10, CLUSTERS, 1000, SL_EUCLIDEAN, 0, 0);
	search(20000, 50, NORMAL, 90, SL_EUCLIDEAN, 0, 0);
}

/* With memory for only a part of the columns: the same bytes. */
static void in_blocks(void **state)
{
	NEED_GPU();
	for (int metric = SL_EUCLIDEAN; metric <= SL_L1; metric++)
		for (int shape = NORMAL; shape <= BYTES; shape += 2)
			search(30000, 64, (enum shape)shape, 20, metric, 0, 40 << 20);
}

static void all_the_same(void **state)
{
	NEED_GPU();
	struct sl_points *p = make_points(5000, 3, NORMAL);
	for (uint32_t i = 0; i < 3 * p->n; i++)
		((float *)p->value)[i] = 0.3f;
	struct sl_neighbours_params params = {.k = 10, .recall = 1};
	struct sl_neighbours *nb = NULL;
	assert_int_equal(cuda->neighbours_find(0, 0, p, &params, &nb, NULL), 0);
	for (uint32_t i = 0; i < p->n; i++)
		for (uint32_t r = 0; r < 10; r++) {
			assert_true(nb->distance[i * 10 + r] == 0);
			assert_int_equal(nb->index[i * 10 + r], r < i ? r : r + 1);
		}
	sl_neighbours_destroy(nb);
	sl_points_destroy(p);
}

static int stop_now = 1;

static void refusals(void **state)
{
	NEED_GPU();
	struct sl_points *p = make_points(3000, 3, NORMAL);
	struct sl_neighbours_params params = {.k = 10, .metric = 77, .recall = 1};
	struct sl_neighbours *nb = NULL;
	struct sl_error err;
	assert_int_equal(cuda->neighbours_find(0, 0, p, &params, &nb, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/metric");
	params = (struct sl_neighbours_params){.k = 10, .metric = SL_LP, .p = 0.5, .recall = 1};
	assert_int_equal(cuda->neighbours_find(0, 0, p, &params, &nb, &err), SL_BADPARAM);
	params = (struct sl_neighbours_params){.k = 0, .recall = 1};
	assert_int_equal(cuda->neighbours_find(0, 0, p, &params, &nb, &err), SL_BADPARAM);
	params = (struct sl_neighbours_params){.k = 10, .recall = 1, .cancel = &stop_now};
	assert_int_equal(cuda->neighbours_find(0, 0, p, &params, &nb, &err), SL_CANCELLED);
	params = (struct sl_neighbours_params){.k = 10, .recall = 1};
	assert_int_equal(cuda->neighbours_find(0, 1 << 20, p, &params, &nb, &err), SL_DEVMEM);
	assert_int_equal(cuda->neighbours_find(99, 0, p, &params, &nb, &err), SL_NODEVICE);
	assert_null(nb);
	sl_points_destroy(p);
}

/* ---- P ------------------------------------------------------------------------------- */

/* The attraction of a random layout, in the user's order, in which every entry takes part. */
static float *attraction_of(const struct sl_engine *engine, struct sl_device *device, struct sl_device_graph *graph,
			    const struct sl_affinities *a, const float *y)
{
	struct sl_settings s = {.dims = 2, .accuracy = SL_FINE, .repulsion = SL_REPULSION_GRID};
	struct sl_device_embedding *e;
	struct sl_error err;
	float *own = malloc(sizeof *own * 2 * (a->n + 1)), *force = malloc(sizeof *force * 2 * (a->n + 1));
	float *out = calloc(2 * (size_t)a->n_user + 1, sizeof *out);
	sl_affinities_gather(a, 2, y, own);
	if (engine->embedding_create(graph, &s, own, &e, &err) || engine->forces(e, force, NULL, NULL, &err))
		fail_msg("%s", err.detail);
	for (uint32_t i = 0; i < a->n; i++)
		memcpy(out + 2 * (size_t)a->user[i], force + 2 * (size_t)i, 2 * sizeof *out);
	engine->embedding_destroy(e);
	free(own);
	free(force);
	(void)device;
	return out;
}

static void compare(const struct sl_neighbours *nb, const struct sl_affinities_params *params)
{
	const struct sl_engine *cpu = sl_engine_cpu();
	struct sl_device *device, *host;
	struct sl_device_neighbours *resident;
	struct sl_device_graph *here = NULL, *there;
	struct sl_affinities *summary = NULL, *a = NULL;
	struct sl_device_info info;
	struct sl_error err;
	size_t floats = 2 * (size_t)nb->n_user;
	float *y = malloc(sizeof *y * floats);
	seed++;
	for (size_t i = 0; i < floats; i++)
		y[i] = (float)(3 * sl_random_normal(seed, i));
	if (cuda->open(&device, NULL, &err) || cpu->open(&host, NULL, &err))
		fail_msg("%s", err.detail);
	cuda->info(device, &info);
	uint64_t used = info.memory_used;
	if (cuda->neighbours_put(device, nb, &resident, &err) ||
	    cuda->neighbours_graph(resident, params, &summary, &here, &err) ||
	    sl_affinities_from_neighbours(&a, nb, params, &err) || cpu->graph_put(host, a, &there, &err))
		fail_msg("n %u, k %u: %s", nb->n, nb->k, err.detail);
	cuda->neighbours_drop(resident);
	assert_int_equal(summary->n, a->n);
	assert_int_equal(summary->n_user, a->n_user);
	assert_int_equal(summary->m, a->m);
	assert_int_equal(summary->unreachable, a->unreachable);
	assert_true(fabs(summary->entropy - a->entropy) < 2e-5 * fabs(a->entropy));
	float *one = attraction_of(cuda, device, here, summary, y), *two = attraction_of(cpu, host, there, a, y);
	double error = 0, size = 0;
	for (size_t i = 0; i < floats; i++) {
		error += pow((double)one[i] - (double)two[i], 2);
		size += pow((double)two[i], 2);
	}
	if (!(sqrt(error) <= 5e-5 * sqrt(size)))
		fail_msg("n %u, k %u: the attraction is off by %g", nb->n, nb->k, sqrt(error / size));
	cuda->graph_drop(here);
	cuda->plans_clear(device);
	cuda->info(device, &info);
	assert_int_equal(info.memory_used, used);
	cuda->close(device);
	cpu->graph_drop(there);
	cpu->close(host);
	sl_affinities_destroy(summary);
	sl_affinities_destroy(a);
	free(one);
	free(two);
	free(y);
}

static struct sl_neighbours *neighbours_of(uint32_t n, uint32_t d, enum shape shape, uint32_t k)
{
	struct sl_points *p = make_points(n, d, shape);
	struct sl_neighbours_params params = {.k = k, .recall = 1};
	struct sl_neighbours *nb = NULL;
	assert_int_equal(cuda->neighbours_find(0, 0, p, &params, &nb, NULL), 0);
	sl_points_destroy(p);
	return nb;
}

static void affinities_are_those_of_the_cpu(void **state)
{
	NEED_GPU();
	const struct { uint32_t n, d; enum shape shape; uint32_t k; struct sl_affinities_params params; } cases[] = {
		{2, 2, NORMAL, 1, {.perplexities = 0}},
		{5, 2, NORMAL, 4, {.perplexities = 0}},
		{200, 5, NORMAL, 30, {.perplexities = 1, .perplexity = {10}}},
		{2000, 10, NORMAL, 90, {.perplexities = 1, .perplexity = {30}}},
		{3000, 10, FAR, 90, {.perplexities = 3, .perplexity = {5, 12, 30}}},
		{3000, 4, CLUSTERS, 60, {.perplexities = 1, .perplexity = {7.5}}},
		{3000, 2, SAME, 45, {.perplexities = 1, .perplexity = {15}}},
		{2500, 3, LATTICE, 45, {.perplexities = 1, .perplexity = {15}}},
		{5000, 5, NORMAL, 900, {.perplexities = 1, .perplexity = {300}}},
		{40000, 6, CLUSTERS, 60, {.perplexities = 1, .perplexity = {20}}},
		{40000, 1, NORMAL, 15, {.perplexities = 1, .perplexity = {5}}},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sl_neighbours *nb = neighbours_of(cases[i].n, cases[i].d, cases[i].shape, cases[i].k);
		compare(nb, &cases[i].params);
		sl_neighbours_destroy(nb);
	}
}

/* Rows cut short, some to nothing; and hubs. */
static void given_neighbours(void **state)
{
	NEED_GPU();
	for (uint32_t n = 4000; n <= 36000; n += 32000) {
		struct sl_neighbours *nb = neighbours_of(n, 3, NORMAL, 30);
		struct sl_affinities_params params = {.perplexities = 1, .perplexity = {9}};
		for (uint32_t i = 0; i < n; i++) {
			uint32_t keep = i % 50 == 7 ? 0 : i % 10 == 3 ? 12 : 30;
			for (uint32_t r = 0; r < 30; r++) {
				uint32_t *j = &nb->index[(size_t)i * 30 + r];
				float *d = &nb->distance[(size_t)i * 30 + r];
				if (r >= keep) {
					*j = SL_NO_NEIGHBOUR;
					*d = INFINITY;
				} else if (r == 0 && i % 3 == 0 && i != 1000) {
					uint32_t was = *j;
					bool there = false;
					for (uint32_t s = 1; s < keep; s++)
						there |= nb->index[(size_t)i * 30 + s] == 1000;
					*j = there ? was : 1000;  /* a hub */
				}
			}
			nb->short_rows += keep < 30;
		}
		/* points that are nobody's neighbour: those with i % 50 == 7 */
		for (uint32_t i = 0; i < n; i++) {
			uint32_t to = 0, *j = nb->index + (size_t)i * 30;
			float *d = nb->distance + (size_t)i * 30;
			for (uint32_t r = 0; r < 30; r++)
				if (j[r] != SL_NO_NEIGHBOUR && j[r] % 50 != 7) {
					j[to] = j[r];
					d[to++] = d[r];
				}
			for (; to < 30; to++) {
				j[to] = SL_NO_NEIGHBOUR;
				d[to] = INFINITY;
			}
		}
		compare(nb, &params);
		sl_neighbours_destroy(nb);
	}
}

static void bad_neighbours(void **state)
{
	NEED_GPU();
	struct sl_device *device;
	struct sl_device_neighbours *resident = NULL;
	struct sl_affinities_params params = {.perplexities = 1, .perplexity = {31}};
	struct sl_affinities *summary = NULL;
	struct sl_device_graph *graph = NULL;
	struct sl_error err;
	struct sl_neighbours *nb = neighbours_of(500, 3, NORMAL, 30);
	assert_int_equal(cuda->open(&device, NULL, &err), 0);
	uint32_t was = nb->index[77 * 30 + 4];
	nb->index[77 * 30 + 4] = 500;
	assert_int_equal(cuda->neighbours_put(device, nb, &resident, &err), SL_BADDATA);
	assert_non_null(strstr(err.detail, "77"));
	nb->index[77 * 30 + 4] = 77;
	assert_int_equal(cuda->neighbours_put(device, nb, &resident, &err), SL_BADDATA);
	nb->index[77 * 30 + 4] = was;
	nb->distance[5 * 30 + 3] = NAN;
	assert_int_equal(cuda->neighbours_put(device, nb, &resident, &err), SL_BADDATA);
	nb->distance[5 * 30 + 3] = nb->distance[5 * 30 + 2];
	assert_int_equal(cuda->neighbours_put(device, nb, &resident, &err), 0);
	assert_int_equal(cuda->neighbours_graph(resident, &params, &summary, &graph, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/perplexity");
	cuda->neighbours_drop(resident);
	cuda->close(device);
	sl_neighbours_destroy(nb);
}

/* The inverted file reaches the requested recall, with correct distances, in a sample of rows. */
static void inverted_file(void **state)
{
	NEED_GPU();
	for (int metric = test_light() ? SL_COSINE : SL_EUCLIDEAN; metric <= SL_COSINE; metric++) {
		struct sl_points *p = make_points(160000, 12, CLUSTERS);
		struct sl_neighbours_params params = {.k = 20, .metric = metric, .recall = 0.9};
		struct sl_neighbours *nb = NULL, *again = NULL;
		assert_int_equal(cuda->neighbours_find(0, 0, p, &params, &nb, NULL), 0);
		assert_string_equal(nb->method, "ivf");
		if (!test_light()) {
			assert_int_equal(cuda->neighbours_find(0, 0, p, &params, &again, NULL), 0);
			assert_memory_equal(nb->index, again->index, (size_t)nb->n * nb->k * 4);
		}
		uint32_t hits = 0, all = 0;
		for (uint32_t step = step_of(p->n, 400), i = seed % step; i < p->n; i += step) {
			double last = kth_distance(p, i, nb->k, metric);
			for (uint32_t r = 0; r < nb->k; r++, all++) {
				uint32_t j = nb->index[(size_t)i * nb->k + r];
				assert_true(j < p->n && j != i);
				double is = distance(p, i, j, metric, 0), told = (double)nb->distance[(size_t)i * nb->k + r];
				assert_true(fabs(is - told) <= 3e-6 * (metric == SL_COSINE ? 1 : is));
				hits += is <= last * (1 + 1e-6);
			}
		}
		printf("%s: recall %.4f, estimated %.4f\n", nb->method, (double)hits / all, nb->recall);
		assert_true((double)hits >= 0.88 * all);
		sl_neighbours_destroy(nb);
		sl_neighbours_destroy(again);
		sl_points_destroy(p);
	}
}

/* ---- points that do not fit ------------------------------------------------------------ */

/* Recall relative to an exact search, by distances in double precision of a sample of rows, and its standard deviation
 * between rows; reported distances must be correct, too. */
static double recall_of(const struct sl_points *p, const struct sl_neighbours *nb, const struct sl_neighbours *exact,
			int metric, double *deviation)
{
	double sum = 0, squares = 0, rows = 0;
	uint32_t k = nb->k, step = p->n > 4000 ? step_of(p->n, 800) : 1;
	assert_int_equal(nb->n, p->n);
	assert_int_equal(nb->k, exact->k);
	for (uint32_t i = seed % step; i < p->n; i += step) {
		const uint32_t *index = nb->index + (size_t)i * k;
		const float *told = nb->distance + (size_t)i * k;
		double last = distance(p, i, exact->index[(size_t)i * k + k - 1], metric, 0), size = 1e-30, base = 0;
		for (uint32_t r = 0; r < k; r++)
			size = fmax(size, fabs(distance(p, i, exact->index[(size_t)i * k + r], metric, 0)));
		uint32_t hits = 0;
		for (uint32_t r = 0; r < k; r++) {
			assert_true(index[r] < p->n && index[r] != i);
			assert_true(!r || told[r] > told[r - 1] || (told[r] == told[r - 1] && index[r] > index[r - 1]));
			double is = distance(p, i, index[r], metric, 0);
			if (metric == SL_INNER_PRODUCT && !r)
				base = is;
			if (fabs(is - base - (double)told[r]) > 3e-6 * fmax(size, metric == SL_COSINE ? 1 : fabs(is)))
				fail_msg("row %u, neighbour %u is %u: told %.9g, is %.9g", i, r, index[r], (double)told[r], is - base);
			hits += is <= last + 1e-6 * size;
		}
		sum += (double)hits / k;
		squares += (double)hits / k * hits / k;
		rows++;
	}
	*deviation = sqrt(fmax(0, squares / rows - sum / rows * sum / rows));
	return sum / rows;
}

static void one_coded(uint32_t n, uint32_t d, enum shape shape, int metric, uint32_t k, double recall, uint64_t memory,
		      const char *method)
{
	struct sl_points *p = make_points(n, d, shape);
	struct sl_neighbours_params params = {.k = k, .metric = metric, .recall = 1};
	struct sl_neighbours *exact = NULL, *nb = NULL, *again = NULL;
	struct sl_error err;
	if (cuda->neighbours_find(0, 0, p, &params, &exact, &err))
		fail_msg("%s", err.detail);
	params.recall = recall;
	if (cuda->neighbours_find(0, memory, p, &params, &nb, &err) ||
	    cuda->neighbours_find(0, memory, p, &params, &again, &err))
		fail_msg("%s", err.detail);
	size_t entries = (size_t)nb->n * nb->k;
	double deviation, reached = recall_of(p, nb, exact, metric, &deviation);
	printf("%u x %u, shape %d, metric %d, recall %g: %s, estimated %.4f, is %.4f\n", n, d, (int)shape, metric, recall,
	       nb->method, nb->recall, reached);
	assert_memory_equal(nb->index, again->index, entries * 4);
	assert_memory_equal(nb->distance, again->distance, entries * 4);
	if (method)
		assert_string_equal(nb->method, method);
	/* The search estimates its recall by 32 blocks, whose rows may be alike: this is the standard error of their mean.
	 * The estimate does not count points that are as near as the last neighbour except for rounding. */
	double error = deviation / sqrt(32);
	assert_true(reached >= recall - 0.006 - error);
	assert_true(fabs(reached - nb->recall) < 0.03 + 4 * error);
	sl_neighbours_destroy(exact);
	sl_neighbours_destroy(nb);
	sl_neighbours_destroy(again);
	sl_points_destroy(p);
}

/* Codes of every fineness, chosen by memory; every metric based on products; duplicates, rows of zeros. */
static void codes(void **state)
{
	NEED_GPU();
	const uint64_t some = 48 << 20;
	for (int metric = SL_EUCLIDEAN; metric <= SL_INNER_PRODUCT; metric++)
		one_coded(160000, 24, NORMAL, metric, 20, 0.9, some, "ivf-pq");
	if (test_light())
		return;
	for (int metric = SL_EUCLIDEAN; metric <= SL_COSINE; metric++) {
		one_coded(170001, 30, CLUSTERS, metric, 20, 0.95, some, "ivf-pq");
		one_coded(150000, 33, LATTICE, metric, 10, 0.9, some, NULL);
		one_coded(150000, 128, BYTES, metric, 15, 0.8, some, NULL);
	}
	one_coded(160000, 20, SAME, SL_EUCLIDEAN, 20, 0.9, some, NULL);
	one_coded(160000, 20, FAR, SL_EUCLIDEAN, 20, 0.9, some, "ivf-pq");
	one_coded(200000, 3, NORMAL, SL_EUCLIDEAN, 30, 0.99, 40 << 20, "ivf-pq");
	one_coded(200000, 200, CLUSTERS, SL_EUCLIDEAN, 10, 0.8, 40 << 20, NULL);
	static const uint64_t room[] = {32 << 20, 29 << 20, 27 << 20};  /* for codes of 4, 8, 16 numbers */
	for (int at = 0; at < 3; at++)
		one_coded(150000, 64, CLUSTERS, SL_EUCLIDEAN, 10, 0.8, room[at], NULL);
}

/* Searches that codes do not support, or that are too small for them, are exact. */
static void not_coded(void **state)
{
	NEED_GPU();
	one_coded(40, 24, NORMAL, SL_EUCLIDEAN, 500, 0.9, 8 << 20, "exact");
	one_coded(3000, 24, NORMAL, SL_COSINE, 20, 0.9, 16 << 20, "exact");
	one_coded(160000, 24, NORMAL, SL_L1, 20, 0.9, 48 << 20, "exact");
	one_coded(160000, 100, OUTLIERS, SL_EUCLIDEAN, 20, 0.9999, 48 << 20, NULL);
}

static void coded_and_cancelled(void **state)
{
	NEED_GPU();
	struct sl_points *p = make_points(160000, 24, NORMAL);
	struct sl_neighbours_params params = {.k = 20, .recall = 0.9, .cancel = &stop_now};
	struct sl_neighbours *nb = NULL;
	struct sl_error err;
	assert_int_equal(cuda->neighbours_find(0, 48 << 20, p, &params, &nb, &err), SL_CANCELLED);
	assert_null(nb);
	sl_points_destroy(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_size),
		cmocka_unit_test(any_dimension),
		cmocka_unit_test(any_metric),
		cmocka_unit_test(many_neighbours),
		cmocka_unit_test(in_blocks),
		cmocka_unit_test(all_the_same),
		cmocka_unit_test(refusals),
		cmocka_unit_test(inverted_file),
		cmocka_unit_test(codes),
		cmocka_unit_test(not_coded),
		cmocka_unit_test(coded_and_cancelled),
		cmocka_unit_test(affinities_are_those_of_the_cpu),
		cmocka_unit_test(given_neighbours),
		cmocka_unit_test(bad_neighbours),
	};
	return cmocka_run_group_tests(tests, need_gpu, NULL);
}
