/* The kernels of k-means (gpu/kmeans/) one by one, against sums in double precision on fresh random points: the nearest
 * of all centroids, distances to seeds and to the own centroid, sums of blocks, sums of clusters that points join and
 * leave. Labels and sums must be the very bits of the reference, which adds in the order of core/kmeans/passes.h. Whole
 * runs are in tests/unit/test_kmeans_device.c. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/kmeans/kmeans.h"
#include "gpu/neighbours/sort/sort.h"
#include "core/random.h"
#include "tests/gpu/device_memory.h"
#include "tests/plugin/kmeans_passes.h"
#include "tests/unit/seeds.h"

#define NEED_GPU() do { if (!have_gpu) skip(); } while (0)

/* Overlapping points, shifted from the origin by `offset`. steps > 0: coordinates have so many distinct values; -1:
 * each centroid has a twin that differs only in double precision. few: there is room for only three candidates. */
struct shape {
	uint32_t n, d, k, room;
	double offset;
	int steps;
	int few;
};
static const struct shape shapes[] = {
	{1, 1, 1, 1, 0, 0, 0}, {130, 2, 3, 130, 0, 0, 0}, {500, 3, 64, 200, 10, 0, 0},
	{257, 16, 65, 257, 0, 0, 0}, {300, 17, 20, 100, 0, 0, 0}, {400, 40, 130, 400, 50, 0, 0},
	{200, 100, 33, 128, 0, 0, 0}, {500, 2, 30, 256, 0, 4, 0}, {300, 20, 70, 300, 0, 2, 0},
	{150, 5, 200, 150, 1e4, 0, 0}, {140, 9, 12, 140, 0, 1, 0}, {600, 22, 600, 600, 0, 0, 0},
	{300, 30, 80, 300, 0, -1, 0}, {200, 150, 9, 200, 0, -1, 0}, {300, 200, 300, 300, 5, 0, 0},
	{300, 30, 80, 300, 0, 2, 1}, {700, 50, 900, 600, 2, 0, 0}, {500, 20, 500, 500, 0, 3, 0},
	{400, 150, 400, 300, 0, 0, 0},
};
#define SHAPES (sizeof shapes / sizeof *shapes)

struct rig {
	struct sl_cuda_kmeans m;              /* on the device */
	uint32_t blocks;
	float *x;                    /* [n][d] */
	double *centroid, *sum;      /* [k][d] */
	uint32_t *count;
	uint32_t *label, *before;
	struct device_memory memory;
};

static void from_device(void *to, const void *from, size_t bytes)
{
	CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
}

static void to_device(void *to, const void *from, size_t bytes)
{
	CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
}

/* Two parts of the rows, copied to the pitch. */
static void check_rows(struct rig *r, const float *wide)
{
	const struct sl_cuda_kmeans *m = &r->m;
	uint32_t half = m->n / 2;
	size_t values = (size_t)m->n * m->pitch;
	float *rows = take(&r->memory, (size_t)m->n * m->d * sizeof *rows, r->x), *x = malloc(values * sizeof *x);
	if (half)
		assert_int_equal(sl__cuda_kmeans_widen(m, rows, 0, half, NULL), 0);
	assert_int_equal(sl__cuda_kmeans_widen(m, rows + (size_t)half * m->d, half, m->n - half, NULL), 0);
	from_device(x, m->x, values * sizeof *x);
	assert_memory_equal(x, wide, values * sizeof *x);
	free(x);
}

static double coordinate(const struct shape *s, uint64_t seed, uint64_t at)
{
	double value = 3 * sl_random_uniform(seed, at % 977) + sl_random_normal(seed + 1, at);
	return s->steps > 0 ? floor(sl_random_uniform(seed, at) * s->steps) : s->offset + value;
}

static void rig_init(struct rig *r, const struct shape *s, uint64_t seed)
{
	uint32_t pitch = (s->d + 3) / 4 * 4, lanes = sl__cuda_kmeans_lanes(s->k), width = sl__cuda_kmeans_width(s->d);
	size_t table = (size_t)s->k * s->d;
	float *wide = calloc((size_t)s->n * pitch, sizeof *wide), *centre = calloc(pitch, sizeof *centre);
	*r = (struct rig){.blocks = (s->n + 31) / 32, .memory.guard = 256};
	struct device_memory *memory = &r->memory;
	r->x = malloc((size_t)s->n * s->d * sizeof *r->x);
	r->centroid = malloc(table * sizeof *r->centroid);
	r->sum = calloc(table, sizeof *r->sum);
	r->count = calloc(s->k, sizeof *r->count);
	r->label = malloc(s->n * sizeof *r->label);
	r->before = malloc(s->n * sizeof *r->before);
	for (uint32_t i = 0; i < s->n; i++)
		for (uint32_t k = 0; k < s->d; k++)
			r->x[(size_t)i * s->d + k] = wide[(size_t)i * pitch + k] =
				(float)coordinate(s, seed, (uint64_t)i * s->d + k);
	for (size_t at = 0; at < table; at++)
		r->centroid[at] = coordinate(s, seed + 5, at);
	for (size_t at = table / s->k * (s->k / 2); at < table && s->steps < 0; at++)
		r->centroid[at] = r->centroid[at - table / s->k * (s->k / 2)] + 1e-9 * sl_random_normal(seed + 6, at);
	for (uint32_t k = 0; k < s->d; k++)
		centre[k] = (float)s->offset;
	for (uint32_t i = 0; i < s->n; i++) {
		r->label[i] = (uint32_t)(sl_random_uniform(seed + 7, i) * s->k);
		r->before[i] = i % 3 ? r->label[i] : (uint32_t)(sl_random_uniform(seed + 8, i) * s->k);
		if (i % 5 == 0)
			r->before[i] = SL_KMEANS_NO_LABEL;
	}
	r->m = (struct sl_cuda_kmeans){.n = s->n, .d = s->d, .k = s->k, .pitch = pitch, .split =
				       sl__cuda_kmeans_split(s->d), .width = width,
		.lanes = lanes, .block = 32, .room = s->room, .bests = 8ull * s->room, .candidates = s->few ? 3 : 40 * s->room,
		.sorting_bytes = sl__sort_bytes(2ull * s->room)};
	struct sl_cuda_kmeans *m = &r->m;
	m->x = take(memory, (size_t)s->n * pitch * sizeof *wide, NULL);
	m->centre = take(memory, pitch * sizeof *centre, centre);
	m->norm = take(memory, s->n * sizeof *m->norm, NULL);
	m->label = take(memory, s->n * sizeof *r->label, r->label);
	m->before = take(memory, s->n * sizeof *r->before, r->before);
	m->square = take(memory, s->n * sizeof *m->square, NULL);
	m->centroid = take(memory, table * sizeof *r->centroid, r->centroid);
	m->sum = take(memory, table * sizeof *r->sum, r->sum);
	m->between = take(memory, s->k * sizeof *m->between, NULL);
	m->count = take(memory, s->k * sizeof *r->count, r->count);
	m->away = take(memory, s->n * sizeof *m->away, NULL);
	m->halves = take(memory, (size_t)s->n * width * 2, NULL);
	m->panel = take(memory, (size_t)lanes * width * 2, NULL);
	m->half = take(memory, lanes * sizeof *m->half, NULL);
	m->greatest = take(memory, 2 * sizeof *m->greatest, NULL);
	m->part = take(memory, r->blocks * sizeof *m->part, NULL);
	m->open = take(memory, s->room * sizeof *m->open, NULL);
	m->near = take(memory, s->room * sizeof *m->near, NULL);
	m->least = take(memory, s->room * sizeof *m->least, NULL);
	m->best = take(memory, m->bests * sizeof *m->best, NULL);
	m->candidate = take(memory, m->candidates * sizeof *m->candidate, NULL);
	m->opens = take(memory, 3 * sizeof *m->opens, NULL);
	m->key = take(memory, 2ull * s->room * sizeof *m->key, NULL);
	m->key_sorted = take(memory, 2ull * s->room * sizeof *m->key, NULL);
	m->value = take(memory, 2ull * s->room * sizeof *m->value, NULL);
	m->value_sorted = take(memory, 2ull * s->room * sizeof *m->value, NULL);
	m->start = take(memory, (s->k + 1) * sizeof *m->start, NULL);
	m->sorting = take(memory, m->sorting_bytes, NULL);
	check_rows(r, wide);
	free(wide);
	free(centre);
}

static void rig_finish(struct rig *r)
{
	give_back(&r->memory);
	free(r->x);
	free(r->centroid);
	free(r->sum);
	free(r->count);
	free(r->label);
	free(r->before);
}

static double square_of(const struct rig *r, uint32_t i, const double *c)
{
	return plain_square(r->m.d, r->x + (size_t)i * r->m.d, c);
}

/* ---- labels ------------------------------------------------------------------------------ */

static uint32_t nearest_of(const struct rig *r, uint32_t i)
{
	double least = INFINITY;
	uint32_t best = 0;
	for (uint32_t j = 0; j < r->m.k; j++) {
		double square = square_of(r, i, r->centroid + (size_t)j * r->m.d);
		best = square < least ? j : best;
		least = fmin(least, square);
	}
	return best;
}

/* Scores err by at most the bound that decides certainty, so every label is exact, also with many equal distances.
 * Returns the number of rows that scores left open. */
static uint32_t check_labels(const struct shape *s, uint32_t groups, uint64_t seed)
{
	struct rig r;
	uint32_t opens[3], left = 0, changed = 0;
	rig_init(&r, s, seed);
	r.m.groups = groups;
	uint32_t *label = malloc(s->n * sizeof *label), *before = malloc(s->n * sizeof *before);
	assert_int_equal(sl__cuda_kmeans_halve(&r.m, NULL), 0);
	assert_int_equal(sl__cuda_kmeans_pack(&r.m, NULL), 0);
	to_device(r.m.opens, (uint32_t[3]){0}, sizeof opens);
	for (uint32_t first = 0; first < s->n; first += s->room) {
		uint32_t count = s->n - first < s->room ? s->n - first : s->room;
		assert_int_equal(sl__cuda_kmeans_score(&r.m, first, count, NULL), 0);
		assert_int_equal(sl__cuda_kmeans_decide(&r.m, first, count, NULL), 0);
		from_device(opens, r.m.opens, sizeof opens);
		assert_true(opens[0] <= count);
		left += opens[0];
	}
	from_device(label, r.m.label, s->n * sizeof *label);
	from_device(before, r.m.before, s->n * sizeof *before);
	for (uint32_t i = 0; i < s->n; i++) {
		if (label[i] != nearest_of(&r, i))
			fail_msg("%u x %u, %u centroids: point %u has %u, not %u", s->n, s->d, s->k, i, label[i],
				 nearest_of(&r, i));
		assert_int_equal(before[i], r.label[i]);
		changed += label[i] != before[i];
	}
	assert_int_equal(opens[2], changed);
	free(label);
	free(before);
	rig_finish(&r);
	return left;
}

static void nearest_labels(uint32_t groups)
{
	for (size_t i = 0; i < SHAPES; i++) {
		uint32_t left = check_labels(&shapes[i], groups, test_seed(i + (groups ? 300 : 0)));
		if (shapes[i].steps < 0 || shapes[i].steps == 1 || shapes[i].steps == 2)  /* equal distances everywhere */
			assert_true(left > shapes[i].n / 4);
		else if (!shapes[i].steps && shapes[i].offset < 1e3)
			assert_true(left <= shapes[i].n / 5 + 1);
	}
}

static void labels_are_the_nearest(void **state)
{
	NEED_GPU();
	nearest_labels(0);
}

/* The same with warps that multiply in groups. */
static void labels_by_groups_are_the_nearest(void **state)
{
	NEED_GPU();
	if (!sl__cuda_kmeans_groups())
		skip();
	nearest_labels(sl__cuda_kmeans_groups());
}

/* ---- squares ----------------------------------------------------------------------------- */

static void check_parts(const struct rig *r, const double *square)
{
	double *part = malloc(r->blocks * sizeof *part);
	assert_int_equal(sl__cuda_kmeans_parts(&r->m, 0, r->blocks, NULL), 0);
	from_device(part, r->m.part, r->blocks * sizeof *part);
	for (uint32_t b = 0; b < r->blocks; b++) {
		double sum = 0;
		for (uint32_t i = b * 32; i < r->m.n && i < b * 32 + 32; i++)
			sum += square[i];
		assert_true(part[b] == sum);
	}
	free(part);
}

static void squares_have_their_bits(void **state)
{
	NEED_GPU();
	for (size_t at = 0; at < SHAPES; at++) {
		struct rig r;
		rig_init(&r, &shapes[at], test_seed(100 + at));
		uint32_t n = r.m.n, *nearest = malloc(n * sizeof *nearest), *seed = malloc(n * sizeof *seed);
		double *square = malloc(n * sizeof *square), *expected = malloc(n * sizeof *expected);
		for (uint32_t number = 0; number < r.m.k; number++) {
			assert_int_equal(sl__cuda_kmeans_between(&r.m, number, NULL), 0);
			if (n / 2)
				assert_int_equal(sl__cuda_kmeans_seed(&r.m, number, 0, n / 2, NULL), 0);
			assert_int_equal(sl__cuda_kmeans_seed(&r.m, number, n / 2, n - n / 2, NULL), 0);
			for (uint32_t i = 0; i < n; i++) {
				double now = square_of(&r, i, r.centroid + (size_t)number * r.m.d);
				seed[i] = !number || now < expected[i] ? number : seed[i];
				expected[i] = number ? fmin(now, expected[i]) : now;
			}
		}
		from_device(square, r.m.square, n * sizeof *square);
		from_device(nearest, r.m.before, n * sizeof *nearest);
		assert_memory_equal(square, expected, n * sizeof *square);
		assert_memory_equal(nearest, seed, n * sizeof *seed);
		check_parts(&r, expected);
		assert_int_equal(sl__cuda_kmeans_squares(&r.m, 0, n, NULL), 0);
		from_device(square, r.m.square, n * sizeof *square);
		for (uint32_t i = 0; i < n; i++)
			assert_true(square[i] == square_of(&r, i, r.centroid + (size_t)r.label[i] * r.m.d));
		check_parts(&r, square);
		free(nearest);
		free(seed);
		free(square);
		free(expected);
		rig_finish(&r);
	}
}

/* ---- clusters ---------------------------------------------------------------------------- */

static void move_plainly(struct rig *r)
{
	for (uint32_t i = 0; i < r->m.n; i++) {
		uint32_t a = r->before[i], b = r->label[i];
		if (a == b)
			continue;
		r->count[b]++;
		if (a != SL_KMEANS_NO_LABEL)
			r->count[a]--;
		for (uint32_t k = 0; k < r->m.d; k++) {
			r->sum[(size_t)b * r->m.d + k] += (double)r->x[(size_t)i * r->m.d + k];
			if (a != SL_KMEANS_NO_LABEL)
				r->sum[(size_t)a * r->m.d + k] -= (double)r->x[(size_t)i * r->m.d + k];
		}
	}
}

static void sums_follow_the_points(void **state)
{
	NEED_GPU();
	for (size_t at = 0; at < SHAPES; at++) {
		struct rig r;
		rig_init(&r, &shapes[at], test_seed(200 + at));
		size_t table = (size_t)r.m.k * r.m.d;
		double *sum = malloc(table * sizeof *sum);
		uint32_t *count = malloc(r.m.k * sizeof *count);
		for (int round = 0; round < 2; round++) {
			for (uint32_t first = 0; first < r.m.n; first += r.m.room)
				assert_int_equal(sl__cuda_kmeans_move(&r.m, first, r.m.n - first < r.m.room ? r.m.n - first : r.m.room,
							     NULL), 0);
			move_plainly(&r);
			from_device(sum, r.m.sum, table * sizeof *sum);
			from_device(count, r.m.count, r.m.k * sizeof *count);
			assert_memory_equal(sum, r.sum, table * sizeof *sum);
			assert_memory_equal(count, r.count, r.m.k * sizeof *count);
			/* and back */
			for (uint32_t i = 0; i < r.m.n; i++) {
				uint32_t label = r.label[i];
				r.label[i] = (label + i) % r.m.k;
				r.before[i] = label;
			}
			to_device(r.m.label, r.label, r.m.n * sizeof *r.label);
			to_device(r.m.before, r.before, r.m.n * sizeof *r.before);
		}
		free(sum);
		free(count);
		rig_finish(&r);
	}
}

static cudaError_t init(void)
{
	return sl__cuda_kmeans_init();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_are_the_nearest),
		cmocka_unit_test(labels_by_groups_are_the_nearest),
		cmocka_unit_test(squares_have_their_bits),
		cmocka_unit_test(sums_follow_the_points),
	};
	find_gpu(init);
	return cmocka_run_group_tests_name("kmeans kernels", tests, NULL, NULL);
}
