/* The graph and its builder: order, duplicates, counts, symmetry, memory. */
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/graph/graph.h"
#include "tests/unit/formats_util.h"
#include "tests/unit/seeds.h"

struct entry {
	uint32_t row, column;
	float weight;
};

static struct sl_graph *build(enum sl_graph_symmetry symmetry, bool weighted, const struct entry *e, size_t count,
		uint32_t n)
{
	struct sl_graph_builder *b;
	struct sl_graph *g;
	struct sl_error err;

	assert_int_equal(sl_graph_builder_create(&b, symmetry, weighted, 0, &err), 0);
	for (size_t k = 0; k < count; k++)
		assert_int_equal(sl_graph_builder_add(b, e[k].row, e[k].column, e[k].weight), 0);
	assert_int_equal(sl_graph_builder_finish(b, n, &g, &err), 0);
	assert_sound(g);
	return g;
}

#define BUILD(symmetry, weighted, n, ...) \
	build(symmetry, weighted, (struct entry[]){__VA_ARGS__}, \
	      sizeof((struct entry[]){__VA_ARGS__}) / sizeof(struct entry), n)

static void empty_is_refused(void **state)
{
	struct sl_graph_builder *b;
	struct sl_graph *g;
	struct sl_error err;

	assert_int_equal(sl_graph_builder_create(&b, SL_GENERAL, true, 0, &err), 0);
	assert_int_equal(sl_graph_builder_finish(b, 0, &g, &err), SL_BADGRAPH);
	assert_null(g);
	assert_non_null(strstr(err.detail, "no node"));
}

static void single_node(void **state)
{
	struct sl_graph_builder *b;
	struct sl_graph *g;

	assert_int_equal(sl_graph_builder_create(&b, SL_SYMMETRIC, false, 0, NULL), 0);
	assert_int_equal(sl_graph_builder_finish(b, 1, &g, NULL), 0);
	assert_sound(g);
	assert_int_equal(g->n, 1);
	assert_int_equal(g->m, 0);
	assert_int_equal(g->report.isolated, 1);
	assert_int_equal(g->report.components, 0);
	assert_true(g->symmetric);
	sl_graph_destroy(g);
}

static void odd_entries_are_dropped_and_counted(void **state)
{
	struct sl_graph *g = BUILD(SL_GENERAL, true, 6, {2, 1, .5f}, {1, 1, 3}, {0, 1, 2}, {2, 1, .25f}, {3, 0, 0}, {2, 1,
			1},
				   {4, 3, 1});

	assert_int_equal(g->n, 6);
	assert_int_equal(g->m, 3);
	assert_true(weight_of(g, 2, 1) == 1.75f);
	assert_true(weight_of(g, 0, 1) == 2);
	assert_true(weight_of(g, 1, 2) == 0);
	assert_int_equal(g->report.entries_read, 7);
	assert_int_equal(g->report.self_loops, 1);
	assert_int_equal(g->report.zero_weights, 1);
	assert_int_equal(g->report.duplicates, 2);
	assert_int_equal(g->report.isolated, 1);  /* 5 */
	assert_int_equal(g->report.leaves, 4);    /* 0, 2, 3, 4 */
	assert_int_equal(g->report.components, 2);
	assert_int_equal(g->report.largest_component, 3);
	assert_false(g->symmetric);
	sl_graph_destroy(g);
}

static void symmetric_entries_are_mirrored(void **state)
{
	struct sl_graph *g = BUILD(SL_SYMMETRIC, true, 0, {1, 0, 2}, {2, 1, 3}, {1, 2, 4}, {2, 2, 9}, {3, 0, 0});

	assert_int_equal(g->n, 4);
	assert_int_equal(g->m, 4);
	assert_true(g->symmetric);
	assert_true(weight_of(g, 0, 1) == 2 && weight_of(g, 1, 0) == 2);
	assert_true(weight_of(g, 1, 2) == 7 && weight_of(g, 2, 1) == 7);
	assert_int_equal(g->report.entries_read, 5);
	assert_int_equal(g->report.duplicates, 1);    /* (1, 2) is (2, 1) again */
	assert_int_equal(g->report.zero_weights, 1);
	assert_int_equal(g->report.self_loops, 1);
	assert_int_equal(g->report.isolated, 1);
	sl_graph_destroy(g);
}

static void ones_need_no_weights(void **state)
{
	struct sl_graph *ones = BUILD(SL_GENERAL, true, 0, {1, 0, 1}, {0, 1, 1}, {2, 0, 1});
	struct sl_graph *summed = BUILD(SL_GENERAL, true, 0, {1, 0, .5f}, {0, 1, 1}, {1, 0, .5f});
	struct sl_graph *twice = BUILD(SL_GENERAL, true, 0, {1, 0, 1}, {0, 1, 1}, {1, 0, 1});
	struct sl_graph *plain = BUILD(SL_GENERAL, false, 0, {1, 0, 1}, {0, 1, 1}, {1, 0, 1});

	assert_null(ones->weight);
	assert_null(summed->weight);
	assert_true(weight_of(twice, 1, 0) == 2 && weight_of(twice, 0, 1) == 1);
	assert_null(plain->weight);
	assert_int_equal(plain->m, 2);
	assert_int_equal(plain->report.duplicates, 1);
	sl_graph_destroy(ones);
	sl_graph_destroy(summed);
	sl_graph_destroy(twice);
	sl_graph_destroy(plain);
}

static void symmetry_is_found_out(void **state)
{
	struct sl_graph *yes = BUILD(SL_GENERAL, true, 0, {1, 0, 2}, {0, 1, 2}, {2, 1, 3}, {1, 2, 3});
	struct sl_graph *weights = BUILD(SL_GENERAL, true, 0, {1, 0, 2}, {0, 1, 2}, {2, 1, 3}, {1, 2, 4});
	struct sl_graph *pattern = BUILD(SL_GENERAL, false, 0, {1, 0, 1}, {0, 1, 1}, {2, 1, 1}, {2, 0, 1});

	assert_true(yes->symmetric);
	assert_false(weights->symmetric);
	assert_false(pattern->symmetric);
	sl_graph_destroy(yes);
	sl_graph_destroy(weights);
	sl_graph_destroy(pattern);
}

static void sums_that_overflow_are_refused(void **state)
{
	struct sl_graph_builder *b;
	struct sl_graph *g;
	struct sl_error err;

	assert_int_equal(sl_graph_builder_create(&b, SL_GENERAL, true, 0, &err), 0);
	sl_graph_builder_add(b, 1, 2, 3e38f);
	sl_graph_builder_add(b, 1, 2, 3e38f);
	assert_int_equal(sl_graph_builder_finish(b, 0, &g, &err), SL_BADGRAPH);
	assert_non_null(strstr(err.detail, "row 2, column 3"));
}

static void indices_have_a_limit(void **state)
{
	struct sl_graph_builder *b;

	assert_int_equal(sl_graph_builder_create(&b, SL_GENERAL, false, 0, NULL), 0);
	assert_int_equal(sl_graph_builder_add(b, 0, UINT32_MAX, 1), SL_TOOBIG);
	assert_int_equal(sl_graph_builder_add(b, UINT32_MAX - 1, 0, 1), SL_TOOBIG);
	sl_graph_builder_destroy(b);
	sl_graph_builder_destroy(NULL);
	sl_graph_destroy(NULL);
}

static uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

/* Any order of the same entries gives the same graph with every entry, compared with a dense matrix. Columns of all
 * lengths, from empty to longer than the limit of the short sort. */
static void order_does_not_matter(void **state)
{
	enum { N = 3000, M = 60000 };
	static struct entry e[M];
	double *dense = calloc((size_t)N * N, sizeof *dense);
	uint64_t seed = test_seed(7), nonzero = 0;

	assert_non_null(dense);
	for (int k = 0; k < M; k++) {
		uint32_t i = next_random(&seed) % N, j = k % 3 ? next_random(&seed) % N : next_random(&seed) % 4;
		/* multiples of 1/8: sums are exact in any order */
		e[k] = (struct entry){i, j, (float)(next_random(&seed) % 64) / 8};
		if (i != j)
			dense[(size_t)j * N + i] += (double)e[k].weight;
	}
	struct sl_graph *a = build(SL_GENERAL, true, e, M, N);
	for (int k = M - 1; k > 0; k--) {
		uint32_t other = next_random(&seed) % (uint32_t)(k + 1);
		struct entry t = e[k];
		e[k] = e[other];
		e[other] = t;
	}
	struct sl_graph *b = build(SL_GENERAL, true, e, M, N);
	assert_same_graph(a, b);
	for (uint32_t j = 0; j < N; j++)
		for (uint64_t k = a->start[j]; k < a->start[j + 1]; k++)
			assert_true((double)a->weight[k] == dense[(size_t)j * N + a->node[k]]);
	for (size_t k = 0; k < (size_t)N * N; k++)
		nonzero += dense[k] > 0;
	assert_int_equal(a->m, nonzero);
	free(dense);
	sl_graph_destroy(a);
	sl_graph_destroy(b);
}

/* So many entries and nodes that they are first partitioned by column, in two steps: a path with shuffled nodes and a
 * different weight for each edge. */
static void large_graphs_come_out_right(void **state)
{
	enum { N = 150000 };
	uint32_t *place = malloc(N * sizeof *place);
	struct sl_graph_builder *b;
	struct sl_graph *g;
	uint64_t seed = test_seed(11);

	assert_non_null(place);
	for (uint32_t i = 0; i < N; i++) {
		uint32_t j = next_random(&seed) % (i + 1);
		place[i] = place[j];
		place[j] = i;
	}
	assert_int_equal(sl_graph_builder_create(&b, SL_SYMMETRIC, true, 0, NULL), 0);
	for (uint32_t i = 0; i + 1 < N; i++)
		assert_int_equal(sl_graph_builder_add(b, place[i], place[i + 1], (float)(i + 1)), 0);
	assert_int_equal(sl_graph_builder_finish(b, 0, &g, NULL), 0);
	assert_sound(g);
	assert_int_equal(g->m, 2 * (N - 1));
	assert_int_equal(g->report.leaves, 2);
	assert_int_equal(g->report.components, 1);
	assert_int_equal(g->report.largest_component, N);
	for (uint32_t i = 0; i + 1 < N; i++) {
		assert_true(weight_of(g, place[i], place[i + 1]) == (float)(i + 1));
		assert_true(weight_of(g, place[i + 1], place[i]) == (float)(i + 1));
	}
	free(place);
	sl_graph_destroy(g);
}

/* Components against a path, a star and a ring side by side. */
static void components_are_counted(void **state)
{
	struct sl_graph_builder *b;
	struct sl_graph *g;

	assert_int_equal(sl_graph_builder_create(&b, SL_GENERAL, false, 0, NULL), 0);
	for (uint32_t i = 0; i < 99; i++)
		sl_graph_builder_add(b, i + 1, i, 1);                        /* path 0..99 */
	for (uint32_t i = 0; i < 50; i++)
		sl_graph_builder_add(b, 100, 101 + i, 1);                    /* star 100..150 */
	for (uint32_t i = 0; i < 10; i++)
		sl_graph_builder_add(b, 151 + i, 151 + (i + 1) % 10, 1);     /* ring 151..160 */
	assert_int_equal(sl_graph_builder_finish(b, 170, &g, NULL), 0);
	assert_int_equal(g->report.components, 3);
	assert_int_equal(g->report.largest_component, 100);
	assert_int_equal(g->report.leaves, 2 + 50);
	assert_int_equal(g->report.isolated, 9);
	sl_graph_destroy(g);
}

/* ---- memory ---------------------------------------------------------------- */

static uint64_t peak_bytes(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];
	unsigned long long kib = 0;

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "VmHWM: %llu", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib * 1024;
}

/* Runs in a separate process, because a peak never decreases. Prints the result. */
static int build_and_measure(bool weighted, enum sl_graph_symmetry symmetry)
{
	const uint32_t n = 100000, listed = symmetry == SL_SYMMETRIC ? 1000000 : 2000000;
	struct sl_graph_builder *b;
	struct sl_graph *g;
	uint64_t seed = test_seed(3), before = peak_bytes();

	if (sl_graph_builder_create(&b, symmetry, weighted, 0, NULL))
		return 1;
	for (uint32_t k = 0; k < listed; k++) {
		uint32_t i = next_random(&seed) % n, j = next_random(&seed) % n;
		if (sl_graph_builder_add(b, i, j, weighted ? .5f : 1))
			return 1;
	}
	if (sl_graph_builder_finish(b, n, &g, NULL))
		return 1;
	uint64_t graph = sl_graph_bytes(g), used = peak_bytes() - before;
	printf("%s: %llu entries, graph %.1f MB, peak %.1f MB\n", weighted ? "weighted" : "plain", (unsigned long long)g->m,
	       (double)graph / 1e6, (double)used / 1e6);
	fflush(stdout);
	/* 1 MiB for the allocator's and the C library's own pages */
	return g->m < 1900000 || used < graph || used > 2 * graph + (1 << 20);
}

static void building_takes_at_most_twice_the_graph(void **state)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	print_message("skipped: a sanitizer's own memory counts\n");
	skip();
#endif
	for (int k = 0; k < 4; k++) {
		int status;
		pid_t child;

		if (test_leaves_out((uint64_t)k, 1, 4))
			continue;
		fflush(stdout);
		child = fork();
		assert_true(child >= 0);
		if (child == 0) {
			/* exec: a fork inherits its parent's peak */
			const char *args[] = {"test_graph", "--measure", k & 1 ? "weighted" : "plain",
					      k & 2 ? "symmetric" : "general", NULL};
			execv("/proc/self/exe", (char *const *)(uintptr_t)args);
			_exit(127);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_is_refused),
		cmocka_unit_test(single_node),
		cmocka_unit_test(odd_entries_are_dropped_and_counted),
		cmocka_unit_test(symmetric_entries_are_mirrored),
		cmocka_unit_test(ones_need_no_weights),
		cmocka_unit_test(symmetry_is_found_out),
		cmocka_unit_test(sums_that_overflow_are_refused),
		cmocka_unit_test(indices_have_a_limit),
		cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(large_graphs_come_out_right),
		cmocka_unit_test(components_are_counted),
		cmocka_unit_test(building_takes_at_most_twice_the_graph),
	};

	if (argc == 4 && !strcmp(argv[1], "--measure"))
		return build_and_measure(!strcmp(argv[2], "weighted"), strcmp(argv[3], "symmetric") ? SL_GENERAL
				: SL_SYMMETRIC);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
