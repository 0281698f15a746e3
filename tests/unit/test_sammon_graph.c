/* Layouts of graphs by the lengths of shortest paths: terms and stress compared with a plain computation, exact
 * layouts, components, the sparse stress, determinism, refusals. */
#include <math.h>
#include <omp.h>

#include "core/graph/graph.h"
#include "tests/unit/graphs.h"
#include "tests/unit/sammon.h"

static struct sl_graph *made_of(uint32_t n, const uint32_t (*edge)[2], const float *weight, size_t count)
{
	struct sl_graph_builder *b;
	struct sl_graph *g;
	assert_int_equal(sl_graph_builder_create(&b, SL_GENERAL, weight, count, NULL), 0);
	for (size_t e = 0; e < count; e++)
		assert_int_equal(sl_graph_builder_add(b, edge[e][0], edge[e][1], weight ? weight[e] : 1), 0);
	assert_int_equal(sl_graph_builder_finish(b, n, &g, NULL), 0);
	return g;
}

static struct sl_graph *path(uint32_t n)
{
	uint32_t edge[1000][2];
	for (uint32_t i = 0; i + 1 < n; i++) {
		edge[i][0] = i;
		edge[i][1] = i + 1;
	}
	return made_of(n, (const uint32_t (*)[2])edge, NULL, n - 1);
}

static struct sl_graph *grid(uint32_t side)
{
	uint32_t edge[2 * 40 * 40][2];
	size_t count = 0;
	for (uint32_t i = 0; i < side * side; i++) {
		if (i % side + 1 < side) {
			edge[count][0] = i;
			edge[count++][1] = i + 1;
		}
		if (i + side < side * side) {
			edge[count][0] = i;
			edge[count++][1] = i + side;
		}
	}
	return made_of(side * side, (const uint32_t (*)[2])edge, NULL, count);
}

static struct sl_sammon_params of_graph(int stress, int optimiser, int dims, int lengths)
{
	struct sl_sammon_params p;
	sl_param_defaults(&sl_sammon_table, &p);
	p.stress = stress;
	p.optimiser = optimiser;
	p.dims = dims;
	p.lengths = lengths;
	return p;
}

/* y [g->n][dims]: malloc'd */
static struct sl_sammon_status lay_out(const struct sl_graph *g, const struct sl_sammon_params *p, float **y)
{
	struct sl_sammon *m;
	struct sl_sammon_status s;
	double before = INFINITY;
	assert_int_equal(sl_sammon_create_graph(&m, g, p, NULL), 0);
	do {
		assert_int_equal(sl_sammon_step(m, &s, NULL), 0);
		assert_true(s.stress <= before);
		before = s.stress;
	} while (!s.done);
	*y = malloc(sizeof **y * g->n * (size_t)p->dims);
	assert_int_equal(sl_sammon_graph_layout(m, *y, NULL), 0);
	sl_sammon_destroy(m);
	return s;
}

/* Lengths of shortest paths of all pairs, by Floyd and Warshall; INFINITY: no path. */
static double *all_distances(const struct sl_graph *g, int lengths)
{
	size_t n = g->n;
	double *weight = calloc(n * n, sizeof *weight), *far = malloc(n * n * sizeof *far);
	for (uint32_t j = 0; j < n; j++)
		for (uint64_t e = g->start[j]; e < g->start[j + 1]; e++) {
			double w = g->weight ? (double)g->weight[e] : 1;
			weight[g->node[e] * n + j] = fmax(weight[g->node[e] * n + j], w);
			weight[j * n + g->node[e]] = fmax(weight[j * n + g->node[e]], w);
		}
	for (size_t at = 0; at < n * n; at++)
		far[at] = at / n == at % n ? 0 : !(weight[at] > 0) ? INFINITY : lengths == SL_SAMMON_UNIT ? 1 :
			  lengths == SL_SAMMON_WEIGHTS ? weight[at] : 1 / weight[at];
	for (size_t k = 0; k < n; k++)
		for (size_t i = 0; i < n; i++)
			for (size_t j = 0; j < n; j++)
				far[i * n + j] = fmin(far[i * n + j], far[i * n + k] + far[k * n + j]);
	free(weight);
	return far;
}

static double apart(const float *y, int dims, size_t i, size_t j)
{
	double square = 0;
	for (size_t q = 0; q < (size_t)dims; q++) {
		double off = (double)y[i * (size_t)dims + q] - (double)y[j * (size_t)dims + q];
		square += off * off;
	}
	return sqrt(square);
}

static double stress_of(const double *far, size_t n, const float *y, int dims, int stress)
{
	double sum = 0, total = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < i; j++) {
			double d = far[i * n + j], off = d - apart(y, dims, i, j);
			if (isinf(d))
				continue;
			double w = stress == SL_SAMMON_METRIC ? 1 : stress == SL_SAMMON_SAMMON ? 1 / d : 1 / (d * d);
			sum += w * off * off;
			total += w * d * d;
		}
	return sum / total;
}

/* ---- tests -------------------------------------------------------------------------------- */

/* Graphs that are directed, weighted, in components, with isolated nodes: a run reports the stress of its layout. */
static void the_stress_is_that_of_all_shortest_paths(void **state)
{
	struct sl_graph *g = test_graph(150, 3, true, false, 5);
	for (int lengths = SL_SAMMON_UNIT; lengths <= SL_SAMMON_INVERSE; lengths++) {
		double *far = all_distances(g, lengths);
		for (int stress = SL_SAMMON_SAMMON; stress <= SL_SAMMON_KAMADA_KAWAI; stress++)
			for (int optimiser = SL_SAMMON_NEWTON; optimiser <= SL_SAMMON_SMACOF; optimiser++) {
				struct sl_sammon_params p = of_graph(stress, optimiser, 1 + (lengths + optimiser) % 3, lengths);
				float *y;
				struct sl_sammon_status s = lay_out(g, &p, &y);
				double own = stress_of(far, g->n, y, p.dims, stress);
				assert_true(s.stress > 0 && s.stress < (p.dims == 1 ? 0.5 : 0.25));
				assert_true(fabs(own - s.stress) < 1e-4 * own);
				free(y);
			}
		free(far);
	}
	sl_graph_destroy(g);
}

/* All three optimisers find about the same stress, in two dimensions and more. */
static void optimisers_agree(void **state)
{
	struct sl_graph *g = grid(12);
	double found[4];
	for (int optimiser = SL_SAMMON_NEWTON; optimiser <= SL_SAMMON_SMACOF; optimiser++) {
		struct sl_sammon_params p = of_graph(SL_SAMMON_KAMADA_KAWAI, optimiser, 2, SL_SAMMON_UNIT);
		float *y;
		p.iterations = 3000;
		p.tolerance = 1e-8;
		found[optimiser] = lay_out(g, &p, &y).stress;
		free(y);
	}
	assert_true(fabs(found[SL_SAMMON_NEWTON] - found[SL_SAMMON_SMACOF]) < 1e-4 * found[SL_SAMMON_SMACOF]);
	assert_true(fabs(found[SL_SAMMON_GRADIENT] - found[SL_SAMMON_SMACOF]) < 1e-4 * found[SL_SAMMON_SMACOF]);
	sl_graph_destroy(g);
}

static void a_path_is_exact(void **state)
{
	struct sl_graph *g = path(120);
	for (int dims = 1; dims <= 3; dims++)
		for (int stress = SL_SAMMON_SAMMON; stress <= SL_SAMMON_KAMADA_KAWAI; stress++) {
			struct sl_sammon_params p = of_graph(stress, SL_SAMMON_AUTO, dims, SL_SAMMON_UNIT);
			float *y;
			lay_out(g, &p, &y);
			for (size_t i = 0; i < g->n; i += 7)
				for (size_t j = 0; j < g->n; j += 11) {
					double far = i > j ? (double)(i - j) : (double)(j - i);
					assert_true(fabs(apart(y, dims, i, j) - far) < (dims == 1 ? 1e-4 : 2e-2));
				}
			free(y);
		}
	sl_graph_destroy(g);
}

/* An exact layout of two edges of 2 and 3, and of the inverse weights. */
static void lengths_are_those_of_the_edges(void **state)
{
	static const uint32_t edge[][2] = {{0, 1}, {1, 2}, {0, 2}};
	static const float weight[] = {2, 3, 100};
	struct sl_graph *g = made_of(3, edge, weight, 3);
	for (int lengths = SL_SAMMON_UNIT; lengths <= SL_SAMMON_INVERSE; lengths++) {
		static const double far[3][3] = {{1, 1, 1}, {2, 3, 5}, {1.0 / 3 + 0.01, 1.0 / 3, 0.01}};
		struct sl_sammon_params p = of_graph(SL_SAMMON_KAMADA_KAWAI, SL_SAMMON_AUTO, 2, lengths);
		float *y;
		lay_out(g, &p, &y);
		assert_true(fabs(apart(y, 2, 0, 1) / far[lengths][0] - 1) < 1e-3);
		assert_true(fabs(apart(y, 2, 1, 2) / far[lengths][1] - 1) < 1e-3);
		assert_true(fabs(apart(y, 2, 0, 2) / far[lengths][2] - 1) < 1e-3);
		free(y);
	}
	sl_graph_destroy(g);
}

static double sparse_stress(struct sl_graph *g, const double *far, int pivots, int lengths, int dims)
{
	struct sl_sammon_params p = of_graph(SL_SAMMON_KAMADA_KAWAI, SL_SAMMON_AUTO, dims, lengths);
	float *y;
	p.pivots = pivots;
	lay_out(g, &p, &y);
	double found = stress_of(far, g->n, y, dims, SL_SAMMON_KAMADA_KAWAI);
	free(y);
	return found;
}

/* The stress over all pairs of a layout computed with a few pivots. */
static void the_sparse_stress_comes_near(void **state)
{
	struct sl_graph *g = grid(20);
	double *far = all_distances(g, SL_SAMMON_UNIT);
	for (int dims = 2; dims <= 3; dims++) {
		if (test_leaves_out((uint64_t)dims, 1, 3))
			continue;
		double all = sparse_stress(g, far, 0, SL_SAMMON_UNIT, dims);
		assert_true(sparse_stress(g, far, 100, SL_SAMMON_UNIT, dims) < 1.05 * all);
		assert_true(sparse_stress(g, far, 30, SL_SAMMON_UNIT, dims) < 1.15 * all);
	}
	free(far);
	sl_graph_destroy(g);
	g = test_graph(300, 2, true, true, 3);  /* edges longer than the paths between their ends, more parts than one */
	far = all_distances(g, SL_SAMMON_INVERSE);
	assert_true(sparse_stress(g, far, 60, SL_SAMMON_INVERSE, 2) < 1.5 * sparse_stress(g, far, 0, SL_SAMMON_INVERSE, 2));
	free(far);
	sl_graph_destroy(g);
}

/* Two paths, a pair and isolated nodes. */
static void components_lie_beside_each_other(void **state)
{
	uint32_t edge[100][2];
	size_t count = 0;
	for (uint32_t i = 0; i < 71; i++)
		if (i != 49 && i != 69) {
			edge[count][0] = i;
			edge[count++][1] = i + 1;
		}
	struct sl_graph *g = made_of(90, (const uint32_t (*)[2])edge, NULL, count);
	for (int dims = 1; dims <= 3; dims++) {
		struct sl_sammon_params p = of_graph(SL_SAMMON_KAMADA_KAWAI, SL_SAMMON_AUTO, dims, SL_SAMMON_UNIT);
		float *y;
		lay_out(g, &p, &y);
		assert_true(fabs(apart(y, dims, 0, 49) - 49) < 0.1 && fabs(apart(y, dims, 50, 69) - 19) < 0.1);
		assert_true(fabs(apart(y, dims, 70, 71) - 1) < 0.01);
		for (size_t i = 0; i < 72; i++)
			for (size_t j = 0; j < 90; j++) {
				bool same = j < 72 && (i < 50) == (j < 50) && (i < 70) == (j < 70);
				assert_true(i == j || (same ? apart(y, dims, i, j) > 0 : apart(y, dims, i, j) > 0.9));
			}
		free(y);
	}
	sl_graph_destroy(g);
}

static void odd_graphs(void **state)
{
	struct sl_sammon_params p = of_graph(SL_SAMMON_KAMADA_KAWAI, SL_SAMMON_AUTO, 2, SL_SAMMON_WEIGHTS);
	struct sl_graph *g = made_of(5, NULL, NULL, 0);
	float *y;
	assert_true(lay_out(g, &p, &y).stress == 0);
	for (int at = 0; at < 10; at++)
		assert_true(isfinite(y[at]));
	free(y);
	sl_graph_destroy(g);
	g = path(2);
	assert_true(lay_out(g, &p, &y).stress < 1e-9);
	assert_true(fabs(apart(y, 2, 0, 1) - 1) < 1e-4);
	free(y);
	sl_graph_destroy(g);
	g = test_graph(300, 1, false, true, 2);
	p.pivots = 1;
	lay_out(g, &p, &y);
	for (int at = 0; at < 600; at++)
		assert_true(isfinite(y[at]));
	free(y);
	sl_graph_destroy(g);
}

/* In small parts, saved and loaded after every `often` of them, also while distances are computed. */
static void *whole_run(const struct sl_graph *g, const struct sl_sammon_params *p, int often, uint64_t *bytes)
{
	struct sl_sammon *m;
	struct sl_sammon_status s = {0};
	void *state;
	bool whole;
	assert_int_equal(sl_sammon_create_graph(&m, g, p, NULL), 0);
	for (int part = 1; !s.done; part++) {
		assert_int_equal(sl_sammon_advance(m, often ? 1e-6 : 1e6, &whole, &s, NULL), 0);
		if (!often || part % often)
			continue;
		assert_int_equal(sl_sammon_save(m, &state, bytes, NULL), 0);
		sl_sammon_destroy(m);
		assert_int_equal(sl_sammon_create_graph(&m, g, p, NULL), 0);
		assert_int_equal(sl_sammon_load(m, state, *bytes, NULL), 0);
		free(state);
		often = often * 3 + 1;  /* each load computes the distances again */
	}
	assert_int_equal(sl_sammon_save(m, &state, bytes, NULL), 0);
	sl_sammon_destroy(m);
	return state;
}

static void neither_parts_nor_threads_nor_interruptions_change_a_byte(void **state)
{
	struct sl_graph *g = test_graph(400, 2, true, true, 9);
	int threads = omp_get_max_threads();
	for (int pivots = 0; pivots <= 40; pivots += 40)
		for (int optimiser = SL_SAMMON_NEWTON; optimiser <= SL_SAMMON_SMACOF; optimiser++) {
			if (test_leaves_out((uint64_t)(optimiser + pivots / 40), 1, 3))
				continue;
			struct sl_sammon_params p = of_graph(SL_SAMMON_KAMADA_KAWAI, optimiser, 2, SL_SAMMON_INVERSE);
			uint64_t bytes, other_bytes;
			p.pivots = pivots;
			p.iterations = 30;
			void *one = whole_run(g, &p, 0, &bytes);
			for (int often = 1; often < 10; often = often * 5 + 1) {
				omp_set_num_threads(1 + often % 3);
				void *other = whole_run(g, &p, often, &other_bytes);
				assert_int_equal(bytes, other_bytes);
				assert_memory_equal(one, other, bytes);
				free(other);
			}
			omp_set_num_threads(threads);
			free(one);
		}
	sl_graph_destroy(g);
}

static void states_of_other_runs_are_refused(void **state)
{
	struct sl_graph *g = path(50), *other = path(51);
	struct sl_sammon_params p = of_graph(SL_SAMMON_KAMADA_KAWAI, SL_SAMMON_AUTO, 2, SL_SAMMON_UNIT);
	uint64_t bytes;
	char *saved = whole_run(g, &p, 0, &bytes);
	struct sl_sammon *m;
	assert_int_equal(sl_sammon_create_graph(&m, other, &p, NULL), 0);
	assert_int_equal(sl_sammon_load(m, saved, bytes, NULL), SL_BADDATA);
	sl_sammon_destroy(m);
	p.pivots = 20;
	assert_int_equal(sl_sammon_create_graph(&m, g, &p, NULL), 0);
	assert_int_equal(sl_sammon_load(m, saved, bytes, NULL), SL_BADDATA);
	assert_int_equal(sl_sammon_load(m, saved, bytes - 8, NULL), SL_BADDATA);
	sl_sammon_destroy(m);
	free(saved);
	sl_graph_destroy(g);
	sl_graph_destroy(other);
}

static void refused(const struct sl_graph *g, const struct sl_sammon_params *p, const char *pointer)
{
	struct sl_sammon *m;
	struct sl_error err;
	assert_int_equal(sl_sammon_create_graph(&m, g, p, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, pointer);
}

static void bad_parameters(void **state)
{
	static const uint32_t edge[][2] = {{0, 1}, {1, 2}};
	static const float wide[] = {1, 1e13f}, zero[] = {1, 0};
	struct sl_graph *g = made_of(3, edge, wide, 2), *h = made_of(3, edge, zero, 2);
	struct sl_sammon_params usual, p;
	sl_param_defaults(&sl_sammon_table, &usual);
	p = usual, p.partners = 32;
	refused(g, &p, "/partners");
	p = usual, p.pivots = 4;
	refused(g, &p, "/pivots");
	p = usual, p.start = SL_SAMMON_START_PCA;
	refused(g, &p, "/start");
	for (int lengths = SL_SAMMON_WEIGHTS; lengths <= SL_SAMMON_INVERSE; lengths++) {
		p = usual, p.lengths = lengths;
		refused(g, &p, "/lengths");
		refused(h, &p, "/lengths");
	}
	float *y;
	assert_true(lay_out(g, &usual, &y).stress < 1e-6);
	free(y);
	sl_graph_destroy(g);
	sl_graph_destroy(h);

	const float x[] = {1, 2, 3};
	struct sl_points points = points_of(x, 3, 1);
	struct sl_sammon *m;
	for (int what = 0; what < 3; what++) {
		static const char *const pointer[] = {"/stress", "/lengths", "/pivots"};
		struct sl_error err;
		p = usual;
		*(what == 0 ? &p.stress : what == 1 ? &p.lengths : &p.pivots) = what == 0 ? SL_SAMMON_KAMADA_KAWAI : 1;
		assert_int_equal(sl_sammon_create(&m, &points, &p, NULL, &err), SL_BADPARAM);
		assert_string_equal(err.pointer, pointer[what]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stress_is_that_of_all_shortest_paths),
		cmocka_unit_test(optimisers_agree),
		cmocka_unit_test(a_path_is_exact),
		cmocka_unit_test(lengths_are_those_of_the_edges),
		cmocka_unit_test(the_sparse_stress_comes_near),
		cmocka_unit_test(components_lie_beside_each_other),
		cmocka_unit_test(odd_graphs),
		cmocka_unit_test(neither_parts_nor_threads_nor_interruptions_change_a_byte),
		cmocka_unit_test(states_of_other_runs_are_refused),
		cmocka_unit_test(bad_parameters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
