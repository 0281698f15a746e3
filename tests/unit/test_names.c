/* Clusters of layouts, and the scores of words against brute force. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include "core/names/clusters.h"
#include "core/names/score.h"
#include "tests/unit/seeds.h"

static double normal(uint64_t *seed)
{
	return sqrt(-2 * log(test_uniform(seed) + 1e-12)) * cos(2 * M_PI * test_uniform(seed));
}

/* `blobs` Gaussians of deviation 1 on a circle; node i is of blob i % blobs. */
static float *circle(uint32_t n, int dims, uint32_t blobs, double radius, uint64_t *seed)
{
	float *y = malloc((size_t)n * (size_t)dims * sizeof *y);
	for (uint32_t i = 0; i < n; i++)
		for (int d = 0; d < dims; d++) {
			double turn = 2 * M_PI * (i % blobs) / blobs, at = d == 0 ? cos(turn) : d == 1 ? sin(turn) : 0;
			y[(size_t)i * (size_t)dims + (size_t)d] = (float)(radius * at + normal(seed));
		}
	return y;
}

static void test_finds_blobs(void **state)
{
	uint64_t seed = test_seed(1);
	for (int dims = 1; dims <= 3; dims++) {
		uint32_t n = 6000, blobs = dims == 1 ? 2 : 7;
		float *y = circle(n, dims, blobs, 14, &seed);
		struct sl_map_clusters *c;
		struct sl_error err;
		assert_int_equal(sl_map_clusters_make(y, n, dims, &c, &err), 0);
		assert_int_equal(c->level[0].count, blobs);
		uint32_t wrong = 0, of[7];
		for (uint32_t b = 0; b < blobs; b++)
			of[b] = sl_map_cluster_at(c, 0, c->code[b]);
		for (uint32_t i = 0; i < n; i++)
			wrong += c->code[i] != SL_MAP_NONE && sl_map_cluster_at(c, 0, c->code[i]) != of[i % blobs];
		assert_true(wrong < n / 100);
		for (uint32_t k = 0; k < blobs; k++) {
			const struct sl_map_cluster *one = &c->level[0].cluster[k];
			double turn = 2 * M_PI * (one->peak % blobs) / blobs;
			assert_true(fabs((double)one->at[0] - 14 * cos(turn)) < 2);
			assert_true(one->nodes > n / blobs * 95 / 100);
		}
		sl_map_clusters_free(c);
		free(y);
	}
}

/* Levels nest, each node of a level is of its parent in the level before, and the same input has the same clusters. */
static void test_levels_nest(void **state)
{
	uint64_t seed = test_seed(2);
	uint32_t n = 20000;
	float *y = malloc(2ull * n * sizeof *y);
	for (uint32_t i = 0; i < n; i++)
		for (int d = 0; d < 2; d++)
			y[2 * i + (uint32_t)d] = (float)(30 * (d ? (i / 9) % 9 : i % 9) + 90 * ((i / 81) % 3) * d +
							 2 * normal(&seed));
	struct sl_map_clusters *c, *again;
	struct sl_error err;
	assert_int_equal(sl_map_clusters_make(y, n, 2, &c, &err), 0);
	assert_int_equal(sl_map_clusters_make(y, n, 2, &again, &err), 0);
	assert_true(c->levels >= 2);
	assert_memory_equal(c->code, again->code, n * sizeof *c->code);
	for (int k = 0; k < c->levels; k++) {
		uint32_t *count = calloc(c->level[k].count + 1, sizeof *count), last = UINT32_MAX;
		for (uint32_t i = 0; i < n; i++) {
			uint32_t code = sl_map_cluster_at(c, k, c->code[i]);
			if (code != SL_MAP_NONE)
				count[code]++;
		}
		for (uint32_t j = 0; j < c->level[k].count; j++) {
			assert_int_equal(c->level[k].cluster[j].nodes, count[j]);
			assert_true(c->level[k].cluster[j].nodes <= last);
			last = c->level[k].cluster[j].nodes;
			assert_true(k == 0 || c->level[k].cluster[j].parent == SL_MAP_NONE ||
				    c->level[k].cluster[j].parent < c->level[k - 1].count);
		}
		free(count);
	}
	sl_map_clusters_free(c);
	sl_map_clusters_free(again);
	free(y);
}

static void test_odd_input(void **state)
{
	struct sl_map_clusters *c;
	struct sl_error err;
	float nowhere[] = {NAN, NAN, INFINITY, 0}, same[200];
	assert_int_equal(sl_map_clusters_make(nowhere, 2, 2, &c, &err), 0);
	assert_int_equal(c->levels, 0);
	sl_map_clusters_free(c);
	for (int i = 0; i < 200; i++)
		same[i] = 3;
	assert_int_equal(sl_map_clusters_make(same, 100, 2, &c, &err), 0);
	assert_int_equal(c->levels, 1);
	assert_int_equal(c->level[0].cluster[0].nodes, 100);
	sl_map_clusters_free(c);
	assert_int_equal(sl_map_clusters_make(same, 0, 2, &c, &err), 0);
	assert_int_equal(c->levels, 0);
	sl_map_clusters_free(c);
	assert_int_equal(sl_map_clusters_make(same, 1, 4, &c, &err), SL_BADPARAM);
}

static void test_labels(void **state)
{
	uint64_t seed = test_seed(3);
	uint32_t n = 900, label[900];
	float *y = circle(n, 2, 3, 14, &seed);
	struct sl_map_clusters *c;
	struct sl_error err;
	for (uint32_t i = 0; i < n; i++)
		label[i] = i % 3 == 2 && i < 90 ? SL_MAP_NONE : 5 * (i % 3);
	assert_int_equal(sl_map_clusters_of_labels(y, n, 2, label, 11, &c, &err), 0);
	assert_int_equal(c->levels, 1);
	assert_int_equal(c->level[0].count, 3);
	assert_true(c->level[0].cluster[2].nodes <= 270);
	for (uint32_t i = 0; i < n; i++)
		assert_true(c->code[i] == SL_MAP_NONE || c->code[i] == c->code[label[i] == 10 ? 92 : i % 3]);
	sl_map_clusters_free(c);
	free(y);
}

static void test_a_million_nodes(void **state)
{
	uint64_t seed = test_seed(4);
	uint32_t n = 1000000;
	float *y = circle(n, 2, 20, 60, &seed);
	struct sl_map_clusters *c;
	struct sl_error err;
	struct timespec a, b;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &a);
	assert_int_equal(sl_map_clusters_make(y, n, 2, &c, &err), 0);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &b);
	double seconds = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
	print_message("a million nodes: %.2f s\n", seconds);
	assert_int_equal(c->level[c->levels - 1].count, 20);
	assert_true(seconds < 5);
	sl_map_clusters_free(c);
	free(y);
}

/* ---- scores ------------------------------------------------------------------------------------------- */

#define WORDS 40
#define CLUSTERS 6

static double brute_odds(uint32_t count[WORDS][CLUSTERS + 1], const uint32_t *to, uint32_t group, int w)
{
	double in = 0, out = 0, n_in = 0, n_out = 0;
	for (int v = 0; v < WORDS; v++)
		for (int c = 0; c <= CLUSTERS; c++) {
			bool inside = c < CLUSTERS && to[c] == group;
			*(inside ? &n_in : &n_out) += count[v][c];
			if (v == w)
				*(inside ? &in : &out) += count[v][c];
		}
	double a = SL_TERMS_PRIOR * (in + out) / (n_in + n_out);
	double d = log((in + a) / (n_in + SL_TERMS_PRIOR - in - a)) - log((out + a) / (n_out + SL_TERMS_PRIOR - out - a));
	return d / sqrt(1 / (in + a) + 1 / (out + a));
}

static void test_scores_are_log_odds(void **state)
{
	uint64_t seed = test_seed(5);
	for (int round = 0; round < 20; round++) {
		uint32_t count[WORDS][CLUSTERS + 1], to[CLUSTERS], fewest[3] = {3, 3, 3};
		struct sl_terms *t;
		struct sl_error err;
		struct sl_term best[3 * 5];
		assert_int_equal(sl_terms_create(&t, CLUSTERS, &err), 0);
		for (int w = 0; w < WORDS; w++) {
			char text[16];
			snprintf(text, sizeof text, "word%d", w);
			for (int c = 0; c <= CLUSTERS; c++)
				count[w][c] = test_uniform(&seed) < 0.5 ? 0 : (uint32_t)(exp(6 * test_uniform(&seed)));
			assert_int_equal(sl_terms_add(t, text, strlen(text), count[w], &err), 0);
		}
		for (int c = 0; c < CLUSTERS; c++)
			to[c] = c == 5 ? UINT32_MAX : (uint32_t)c % 3;
		assert_int_equal(sl_terms_best(t, to, 3, fewest, 5, best, &err), 0);
		for (uint32_t g = 0; g < 3; g++) {
			double last = INFINITY;
			for (int k = 0; k < 5; k++) {
				const struct sl_term *term = &best[5 * g + (uint32_t)k];
				double most = 0;   /* the best that is not better than the one before */
				for (int w = 0; w < WORDS; w++) {
					uint32_t in = count[w][g] + count[w][g + 3] * (g + 3 < 5);
					double z = brute_odds(count, to, g, w);
					if (in >= 3 && z < last - 1e-9 && z > most)
						most = z;
				}
				if (!term->text) {
					assert_true(most < 1e-9);
					break;
				}
				assert_true(fabs(term->score - most) < 1e-6 * (1 + most));
				int w = atoi(term->text + 4);
				assert_int_equal(term->inside, count[w][g] + (g + 3 < 5 ? count[w][g + 3] : 0));
				last = term->score;
			}
		}
		sl_terms_destroy(t);
	}
}

static void test_deltas(void **state)
{
	uint64_t seed = test_seed(6);
	double value[200], delta[3];
	uint32_t group[200];
	struct sl_error err;
	for (int i = 0; i < 200; i++) {
		value[i] = i % 17 == 0 ? (double)NAN : floor(10 * test_uniform(&seed)) + i % 3;
		group[i] = i % 4 == 3 ? UINT32_MAX : (uint32_t)i % 4;
	}
	assert_int_equal(sl_cliffs_delta(value, group, 200, 3, delta, &err), 0);
	for (uint32_t g = 0; g < 3; g++) {
		double more = 0, pairs = 0;
		for (int i = 0; i < 200; i++)
			for (int j = 0; j < 200; j++)
				if (group[i] == g && group[j] != g && !isnan(value[i]) && !isnan(value[j])) {
					pairs++;
					more += (value[i] > value[j]) - (value[i] < value[j]);
				}
		assert_true(fabs(delta[g] - more / pairs) < 1e-9);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_blobs), cmocka_unit_test(test_levels_nest), cmocka_unit_test(test_odd_input),
		cmocka_unit_test(test_labels), cmocka_unit_test(test_a_million_nodes),
		cmocka_unit_test(test_scores_are_log_odds), cmocka_unit_test(test_deltas),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
