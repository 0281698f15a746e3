/* Degrees of freedom of the layout's kernel on the GPU: forces and Z against sums in double precision, whole runs
 * beside the CPU engine's, layouts and checkpoints in the user's unit, embeddings that take turns. Skipped where there
 * is no GPU. With the argument "table" it prints the errors of all accuracies on both engines instead; with "table
 * cpu", on the CPU engine alone. Any other argument is a pattern of tests. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/embedding/embedding.h"
#include "core/engine/load.h"
#include "core/params.h"
#include "tests/gpu/need_gpu.h"
#include "tests/gpu/snapshots.h"
#include "tests/unit/engines.h"

static const double dofs[] = {0.5, 1, 2, 5};
#define DOFS 4

/* ---- a graph on an engine ------------------------------------------------------------------ */

struct rig {
	const struct sl_engine *engine;
	const struct sl_affinities *a;
	struct sl_device *device;
	struct sl_device_graph *graph;
};

static void rig_open(struct rig *r, const struct sl_engine *engine, const struct sl_affinities *a)
{
	struct sl_error err;
	*r = (struct rig){.engine = engine, .a = a};
	if (engine->open(&r->device, NULL, &err) || engine->graph_put(r->device, a, &r->graph, &err))
		fail_msg("%s", err.detail);
}

static void rig_close(struct rig *r)
{
	r->engine->graph_drop(r->graph);
	r->engine->close(r->device);
}

static struct sl_device_embedding *embed(const struct rig *r, const struct sl_settings *s, const float *y)
{
	struct sl_device_embedding *e;
	struct sl_error err;
	if (r->engine->embedding_create(r->graph, s, y, &e, &err))
		fail_msg("%s", err.detail);
	return e;
}

static struct sl_affinities *affinities(uint32_t n, uint64_t seed)
{
	struct sl_affinities_params params = {.lambda = 10};
	struct sl_graph *g = test_graph(n, 5, true, false, seed);
	struct sl_affinities *a;
	assert_int_equal(sl_affinities_create(&a, g, &params, NULL), 0);
	sl_graph_destroy(g);
	return a;
}

/* ---- references ------------------------------------------------------------------------------ */

/* Both terms of gradient / 4, Z and the divergence. slack: bound of the relative error of the attraction by float
 * arithmetic. */
struct sums {
	double *attraction, *repulsion, z, kl, slack;
};

#define ROUNDING 0x1p-24  /* of a float, relative */

/* Bits of a weight beside a node's number, for n nodes, as gpu/graph/graph.c packs P. */
static int weight_bits(uint32_t n)
{
	int bits = 24;
	while ((uint64_t)n > 1ull << (32 - bits))
		bits--;
	return bits;
}

/* A bound of the rounding error of node i's attraction. Rounded are:
 *   - coordinates, each by ROUNDING after the division by the root of dof; the force of an edge changes by at most
 *     p / (1 + r^2 / dof) times the change of the difference;
 *   - weights, which are squares of numbers of few bits: half a unit of the square root;
 *   - each operation: about 16 for an edge's force, and one per entry for the sum. */
static double slack_of(const struct sl_affinities *a, uint32_t i, int dims, double dof, const float *y)
{
	size_t d = (size_t)dims;
	uint64_t count = a->start[i + 1] - a->start[i];
	double most = 0, slack = 0, unit = 1 / (ldexp(1, weight_bits(a->n)) - 1);
	for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++)
		most = fmax(most, (double)a->p[e]);
	for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++) {
		double r2 = 0, moved2 = 0, p = (double)a->p[e];
		for (size_t k = 0; k < d; k++) {
			double own = (double)y[i * d + k], their = (double)y[a->node[e] * d + k];
			double moved = dof == 1 ? 0 : ROUNDING * (fabs(own) + fabs(their));
			r2 += (own - their) * (own - their);
			moved2 += moved * moved;
		}
		double weight = p / (1 + r2 / dof), coarse = sqrt(most / p) * unit + most / p * unit * unit / 4;
		slack += weight * sqrt(moved2) + weight * sqrt(r2) * (coarse + (16 + (double)count) * ROUNDING);
	}
	return slack;
}

static void sums_of(struct sums *out, const struct sl_affinities *a, int dims, double dof, const float *y)
{
	size_t d = (size_t)dims;
	double z = 0, kl = 0, slack = 0, all = 0;
	out->attraction = calloc(a->n * d, sizeof(double));
	out->repulsion = calloc(a->n * d, sizeof(double));
#pragma omp parallel for schedule(dynamic, 16) reduction(+ : z, kl, slack, all)
	for (uint32_t i = 0; i < a->n; i++) {
		double *attraction = out->attraction + i * d, *repulsion = out->repulsion + i * d, diff[3];
		for (uint32_t j = 0; j < a->n; j++) {
			double r2 = 0;
			for (size_t k = 0; k < d; k++) {
				diff[k] = (double)y[i * d + k] - (double)y[j * d + k];
				r2 += diff[k] * diff[k];
			}
			double q = exp(-dof * log1p(r2 / dof)), steep = q / (1 + r2 / dof);
			z += i == j ? 0 : q;
			for (size_t k = 0; k < d; k++)
				repulsion[k] += steep * diff[k];
		}
		for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++) {
			double r2 = 0, p = (double)a->p[e];
			for (size_t k = 0; k < d; k++) {
				diff[k] = (double)y[i * d + k] - (double)y[a->node[e] * d + k];
				r2 += diff[k] * diff[k];
			}
			for (size_t k = 0; k < d; k++)
				attraction[k] += p / (1 + r2 / dof) * diff[k];
			kl += p * (log(p) + dof * log1p(r2 / dof));
		}
		double own = slack_of(a, i, dims, dof, y);
		slack += own * own;
		for (size_t k = 0; k < d; k++)
			all += attraction[k] * attraction[k];
	}
	out->slack = sqrt(slack / all);
	for (size_t i = 0; i < a->n * d; i++)
		out->repulsion[i] /= z;
	out->z = z;
	out->kl = kl + log(z);
}

static void sums_finish(struct sums *s)
{
	free(s->attraction);
	free(s->repulsion);
}

static double difference(size_t count, const double *exact, const float *got)
{
	double sum = 0, all = 0;
	for (size_t i = 0; i < count; i++) {
		sum += (exact[i] - (double)got[i]) * (exact[i] - (double)got[i]);
		all += exact[i] * exact[i];
	}
	return sqrt(sum / all);
}

/* Relative errors of an engine. */
struct errors {
	double attraction, repulsion, z, kl;
};

static struct errors errors_of(const struct rig *r, const struct sl_settings *s, const float *y,
			       const struct sums *right, struct sl_measure *m)
{
	size_t count = r->a->n * (size_t)s->dims;
	float *attraction = malloc(count * sizeof(float)), *repulsion = malloc(count * sizeof(float));
	struct sl_device_embedding *e = embed(r, s, y);
	struct sl_error err;
	double z;
	if (r->engine->forces(e, attraction, repulsion, &z, &err) || r->engine->measure(e, m, &err))
		fail_msg("%s", err.detail);
	struct errors out = {difference(count, right->attraction, attraction),
			     difference(count, right->repulsion, repulsion), fabs(z / right->z - 1), fabs(m->kl - right->kl)};
	r->engine->embedding_destroy(e);
	free(attraction);
	free(repulsion);
	return out;
}

/* ---- forces ------------------------------------------------------------------------------------- */

/* Layouts for each way in which the GPU computes the repulsion. */
enum kind { SMALL, PAIRS, ONE_GRID, TWO_GRIDS, KINDS };
static const char *const kind_names[KINDS] = {"one cluster", "all pairs", "one grid", "two grids"};

static double side_of(enum kind kind, int dims)
{
	static const double wide[4] = {0, 4000, 420, 45};
	return kind == TWO_GRIDS ? wide[dims] : dims == 1 ? 100 : dims == 2 ? 50 : 9;
}

static struct sl_settings settings_of(enum kind kind, int dims, double dof, int accuracy)
{
	return (struct sl_settings){.dims = dims, .accuracy = accuracy, .dof = dof,
				    .repulsion = kind < ONE_GRID ? SL_REPULSION_EXACT : SL_REPULSION_GRID};
}

/* Limits of the repulsion's errors at `normal`: twice the measured ones. */
static double allowed(enum kind kind, int dims)
{
	static const double grids[4] = {0, 1e-3, 6e-3, 3e-2};
	return kind < ONE_GRID ? 1e-5 : grids[dims];
}

static void forces_are_the_sums(void **state)
{
	NEED_GPU();
	uint64_t seed = fresh_seed();
	for (int kind = 0; kind < KINDS; kind++) {
		struct sl_affinities *a = affinities(kind == SMALL ? 1500 : 5000, seed % 997);
		struct rig r;
		rig_open(&r, cuda, a);
		for (int dims = 1; dims <= 3; dims++) {
			float *y = test_layout(a->n, dims, side_of((enum kind)kind, dims), 2, seed++);
			for (int at = 0; at < DOFS; at++) {
				struct sl_settings s = settings_of((enum kind)kind, dims, dofs[at], SL_NORMAL);
				struct sums right;
				struct sl_measure m;
				sums_of(&right, a, dims, dofs[at], y);
				struct errors e = errors_of(&r, &s, y, &right, &m);
				double most = allowed((enum kind)kind, dims);
				print_message("%s, %d-D, dof %g: h %.3f, side %d; repulsion %.1e, attraction %.1e of %.1e, Z %.1e, "
					      "KL %.1e\n", kind_names[kind], dims, dofs[at], m.h, m.side, e.repulsion, e.attraction,
					      right.slack, e.z, e.kl);
				assert_true(e.repulsion < most && e.attraction < right.slack);
				assert_true(e.z < (kind < ONE_GRID ? 2e-6 : 3e-3) && e.kl < (kind < ONE_GRID ? 1e-5 : 3e-3));
				assert_true((m.h == 0) == (kind < ONE_GRID));
				sums_finish(&right);
			}
			free(y);
		}
		rig_close(&r);
		sl_affinities_destroy(a);
	}
}

/* ---- runs ------------------------------------------------------------------------------------------ */

static double whole_run(const struct sl_engine *engine, const struct sl_affinities *a, const struct sl_params *p)
{
	struct rig r;
	struct sl_embedding *e;
	struct sl_status s = {0};
	struct sl_error err;
	rig_open(&r, engine, a);
	if (sl_embedding_create(&e, engine, r.graph, a, p, NULL, &err))
		fail_msg("%s", err.detail);
	while (!s.done)
		if (sl_embedding_advance(e, 50, &s, &err))
			fail_msg("%s", err.detail);
	sl_embedding_destroy(e);
	rig_close(&r);
	return s.measure;
}

static void divergence_is_that_of_the_cpu_engine(void **state)
{
	NEED_GPU();
	static const struct {
		int dims, repulsion;
		double dof;
	} runs[] = {{2, SL_REPULSION_GRID, 0.5}, {2, SL_REPULSION_GRID, 2}, {2, SL_REPULSION_GRID, 5},
		    {3, SL_REPULSION_GRID, 0.5}, {3, SL_REPULSION_GRID, 5}, {2, SL_REPULSION_EXACT, 0.7}};
	struct sl_affinities *a = affinities(4000, 3);
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		struct sl_params p;
		sl_params_preset(&p, SL_PRESET_DEFAULT);
		p.dims = runs[i].dims;
		p.dof = runs[i].dof;
		p.repulsion = runs[i].repulsion;
		p.accuracy = SL_NORMAL;
		p.exaggeration_iterations = 250;
		p.rescale = 0;
		p.iterations = runs[i].dims == 3 ? 500 : 1000;
		double here = whole_run(cuda, a, &p), there = whole_run(sl_engine_cpu(), a, &p);
		print_message("%d-D, dof %g: KL %.4f on the GPU, %.4f on the CPU\n", p.dims, p.dof, here, there);
		assert_true(fabs(here / there - 1) < 0.005);
	}
	sl_affinities_destroy(a);
}

/* ---- the user's unit ---------------------------------------------------------------------------------- */

static void snapshots_are_in_the_users_unit(void **state)
{
	NEED_GPU();
	uint64_t seed = fresh_seed();
	for (int small = 0; small < 2; small++) {
		struct sl_affinities *a = affinities(small ? 900 : 3000, 4);
		struct rig r;
		rig_open(&r, cuda, a);
		struct sl_settings s = settings_of(small ? SMALL : ONE_GRID, 3, 3, SL_NORMAL);
		size_t count = a->n * 3;
		float *y0 = test_layout(a->n, 3, 9, 2, seed);
		float *y = malloc(count * sizeof *y), *later = malloc(count * sizeof *y);
		float low[3], extent;
		uint16_t *number = malloc(count * sizeof *number);
		struct sl_device_embedding *e = embed(&r, &s, y0);
		struct sl_device_snapshot *shot;
		struct sl_measure m;
		assert_int_equal(cuda->measure(e, &m, NULL), 0);
		assert_int_equal(cuda->snapshot(e, y, NULL), 0);
		assert_int_equal(cuda->snapshot_start(e, false, &shot, NULL), 0);
		test_take_snapshot(cuda, shot, later, count * sizeof *y, low, &extent);
		assert_memory_equal(y, later, count * sizeof *y);
		assert_int_equal(cuda->snapshot_start(e, true, &shot, NULL), 0);
		test_take_snapshot(cuda, shot, number, count * sizeof *number, low, &extent);
		for (size_t i = 0; i < count; i++) {
			assert_true(fabsf(y[i] - y0[i]) <= 2e-7f * fabsf(y0[i]));
			assert_true(fabsf(low[i % 3] + extent * number[i] / 65535 - y0[i]) < 0.51f * extent / 65535 + 1e-5f);
			assert_true(y0[i] > m.low[i % 3] - 1e-5f && y0[i] < m.high[i % 3] + 1e-5f);
		}
		cuda->embedding_destroy(e);
		free(y0);
		free(y);
		free(later);
		free(number);
		rig_close(&r);
		sl_affinities_destroy(a);
	}
}

/* The same bytes after a checkpoint, on one grid and two; a checkpoint of another kernel is refused. */
static void checkpoints_belong_to_their_kernel(void **state)
{
	NEED_GPU();
	struct sl_affinities *a = affinities(5000, 9);
	struct sl_step step = {.exaggeration = 1, .learning_rate = 300, .momentum = 0.8f};
	struct rig r;
	rig_open(&r, cuda, a);
	for (int kind = ONE_GRID; kind <= TWO_GRIDS; kind++) {
		struct sl_settings s = settings_of((enum kind)kind, 2, 0.6, SL_NORMAL), other = s;
		other.dof = 0.7;
		size_t count = a->n * 2;
		float *y0 = test_layout(a->n, 2, side_of((enum kind)kind, 2), 2, 5), *y[2];
		struct sl_device_embedding *e = embed(&r, &s, y0), *same = embed(&r, &s, y0), *wrong = embed(&r, &other, y0);
		uint64_t bytes = cuda->state_bytes(e);
		void *saved = malloc(bytes);
		assert_int_equal(cuda->run(e, &step, test_iterations(20), NULL), 0);
		assert_int_equal(cuda->state_save(e, saved, NULL), 0);
		assert_int_equal(cuda->state_load(wrong, saved, bytes, NULL), SL_BADDATA);
		assert_int_equal(cuda->state_load(same, saved, bytes, NULL), 0);
		struct sl_device_embedding *both[2] = {e, same};
		for (int k = 0; k < 2; k++) {
			y[k] = malloc(count * sizeof(float));
			assert_int_equal(cuda->run(both[k], &step, test_iterations(30), NULL), 0);
			assert_int_equal(cuda->snapshot(both[k], y[k], NULL), 0);
		}
		assert_memory_equal(y[0], y[1], count * sizeof(float));
		assert_memory_not_equal(y[0], y0, count * sizeof(float));
		for (int k = 0; k < 2; k++)
			free(y[k]);
		free(saved);
		free(y0);
		cuda->embedding_destroy(e);
		cuda->embedding_destroy(same);
		cuda->embedding_destroy(wrong);
	}
	rig_close(&r);
	sl_affinities_destroy(a);
}

/* Embeddings of other dimensions and kernels take turns on a device, whose grids they share: the same bytes as
 * alone. */
static void taking_turns_makes_no_difference(void **state)
{
	NEED_GPU();
	static const struct {
		int dims, kind;
		double dof;
	} which[] = {{2, TWO_GRIDS, 1}, {3, TWO_GRIDS, 0.5}, {2, ONE_GRID, 0.5}, {1, ONE_GRID, 3}, {2, TWO_GRIDS, 2},
		     {3, PAIRS, 0.8}, {3, TWO_GRIDS, 6}};
	enum { COUNT = sizeof which / sizeof *which, ROUNDS = 6 };
	int iterations = test_iterations(7);
	struct sl_affinities *a = affinities(5000, 21);
	struct sl_step step = {.exaggeration = 2, .learning_rate = 400, .momentum = 0.8f};
	struct sl_device_embedding *e[COUNT];
	float *y0[COUNT], *alone[COUNT];
	struct rig r;
	rig_open(&r, cuda, a);
	for (int i = 0; i < COUNT; i++) {
		struct sl_settings s = settings_of((enum kind)which[i].kind, which[i].dims, which[i].dof, SL_DRAFT);
		y0[i] = test_layout(a->n, which[i].dims, side_of((enum kind)which[i].kind, which[i].dims), 2, (uint64_t)i);
		alone[i] = malloc(a->n * (size_t)which[i].dims * sizeof(float));
		struct sl_device_embedding *one = embed(&r, &s, y0[i]);
		assert_int_equal(cuda->run(one, &step, ROUNDS * iterations, NULL), 0);
		assert_int_equal(cuda->snapshot(one, alone[i], NULL), 0);
		cuda->embedding_destroy(one);
		e[i] = embed(&r, &s, y0[i]);
	}
	for (int turn = 0; turn < ROUNDS; turn++)
		for (int i = 0; i < COUNT; i++) {
			struct sl_measure m;
			assert_int_equal(cuda->run(e[i], &step, iterations, NULL), 0);
			if ((turn + i) % 3 == 0)
				assert_int_equal(cuda->measure(e[i], &m, NULL), 0);
		}
	for (int i = 0; i < COUNT; i++) {
		size_t bytes = a->n * (size_t)which[i].dims * sizeof(float);
		assert_int_equal(cuda->snapshot(e[i], y0[i], NULL), 0);
		assert_memory_equal(y0[i], alone[i], bytes);
		cuda->embedding_destroy(e[i]);
		free(y0[i]);
		free(alone[i]);
	}
	rig_close(&r);
	sl_affinities_destroy(a);
}

/* ---- table ------------------------------------------------------------------------------------------- */

static void table(const struct sl_engine *gpu)
{
	static const double list[] = {0.1, 0.2, 0.5, 0.8, 1, 1.5, 2, 3, 4, 5, 10, 30, 100};
	static const char *const names[] = {"draft", "normal", "fine"};
	const struct sl_engine *engines[2] = {sl_engine_cpu(), gpu};
	struct sl_affinities *a = affinities(5000, 3);
	struct rig r[2];
	for (int k = 0; k < 2 && engines[k]; k++)
		rig_open(&r[k], engines[k], a);
	printf("relative errors of repulsion, of Z and of the divergence (absolute): CPU%s\n", gpu ? "; GPU" : "");
	for (int kind = ONE_GRID; kind <= TWO_GRIDS; kind++)
		for (int dims = 1; dims <= 3; dims++)
			for (size_t at = 0; at < sizeof list / sizeof *list; at++) {
				float *y = test_layout(a->n, dims, side_of((enum kind)kind, dims), 2, 7);
				struct sums right;
				sums_of(&right, a, dims, list[at], y);
				printf("%s %d-D dof %-4g", kind == ONE_GRID ? "tight" : "wide", dims, list[at]);
				for (int accuracy = SL_DRAFT; accuracy <= SL_FINE; accuracy++) {
					struct sl_settings s = settings_of((enum kind)kind, dims, list[at], accuracy);
					printf(" | %s", names[accuracy]);
					for (int k = 0; k < 2 && engines[k]; k++) {
						struct sl_measure m;
						struct errors e = errors_of(&r[k], &s, y, &right, &m);
						printf(" %.1e %.0e %.0e%s", e.repulsion, e.z, e.kl, k || !gpu ? "" : ";");
					}
				}
				printf("\n");
				sums_finish(&right);
				free(y);
			}
	for (int k = 0; k < 2 && engines[k]; k++)
		rig_close(&r[k]);
	sl_affinities_destroy(a);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forces_are_the_sums),
		cmocka_unit_test(divergence_is_that_of_the_cpu_engine),
		cmocka_unit_test(snapshots_are_in_the_users_unit),
		cmocka_unit_test(checkpoints_belong_to_their_kernel),
		cmocka_unit_test(taking_turns_makes_no_difference),
	};
	if (argc > 1 && !strcmp(argv[1], "table")) {
		if (argc < 3)
			need_gpu(NULL);
		table(cuda);
		return 0;
	}
	return cmocka_run_group_tests(tests, need_gpu, NULL);
}
