/* The engine against references in double precision: forces, Z, KL divergence, the gradient. Results do not depend on
 * the number of threads; checkpoints; unusual graphs. test_engine_memory.c tests its memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/measure/quality.h"
#include "core/params.h"
#include "tests/unit/engines.h"
#include "tests/unit/references.h"

/* ---- forces ------------------------------------------------------------------------ */

static void check_forces(struct bench *b, const struct sl_settings *s, const float *y, double limit, double z_limit)
{
	struct sl_device_embedding *e;
	uint32_t n = b->a->n;
	size_t floats = n * (size_t)s->dims;
	float *attraction = malloc(floats * sizeof *attraction), *repulsion = malloc(floats * sizeof *repulsion);
	double *right = malloc(floats * sizeof *right), z;
	assert_int_equal(b->engine->embedding_create(b->resident, s, y, &e, NULL), 0);
	assert_int_equal(b->engine->forces(e, attraction, repulsion, &z, NULL), 0);
	double right_z = exact_repulsion(y, n, s->dims, right);
	double error = relative_error(repulsion, right, floats);
	if (!(error < limit) || !(fabs(z / right_z - 1) < z_limit))
		fail_msg("%d-D, accuracy %d: force error %g (limit %g), Z error %g (limit %g)", s->dims, s->accuracy,
			 error, limit, fabs(z / right_z - 1), z_limit);
	exact_attraction(b->a, y, s->dims, right);
	assert_true(relative_error(attraction, right, floats) < 2e-6);
	b->engine->embedding_destroy(e);
	free(attraction);
	free(repulsion);
	free(right);
}

/* Typical layouts: all points close together; half-formed; formed. */
static const double layouts[][2] = {{0, 1e-4}, {3, 0.3}, {40, 2}, {90, 3}};

static void grid_forces_agree_with_all_pairs(void **state)
{
	static const double limit[4][3] = {{0}, {3e-2, 1e-2, 1.5e-3}, {3e-2, 1e-2, 1.5e-3}, {1e-1, 3e-2, 5e-3}};
	struct bench b;
	bench_open(&b, test_graph(2300, 5, true, false, 3), 2);
	for (int dims = 1; dims <= 3; dims++)
		for (int accuracy = SL_DRAFT; accuracy <= SL_FINE; accuracy++)
			for (size_t l = 0; l < 4; l++) {
				if (test_leaves_out((uint64_t)(dims * 12 + accuracy * 4) + l, 1, 5))
					continue;
				struct sl_settings s = {.dims = dims, .accuracy = accuracy, .repulsion = SL_REPULSION_GRID};
				double scale = dims == 3 && layouts[l][0] > 10 ? 0.4 : 1;
				float *y = test_layout(b.a->n, dims, layouts[l][0] * scale, layouts[l][1], 7 + l);
				check_forces(&b, &s, y, limit[dims][accuracy], accuracy == SL_DRAFT ? 1e-2 : 1e-3);
				free(y);
			}
	bench_close(&b);
}

/* Large sides: far distances are a thousand times near ones. Points in the corners, too. */
static void forces_of_wide_layouts_agree_with_all_pairs(void **state)
{
	static const double limit[4][3] = {{0}, {3e-2, 1e-2, 1.5e-3}, {3e-2, 1e-2, 1.5e-3}, {1e-1, 3e-2, 5e-3}};
	static const double widths[4][3] = {{0}, {20, 200, 900}, {20, 45, 400}, {8, 17, 36}};
	struct bench b;
	bench_open(&b, test_graph(1300, 5, true, false, 23), 3);
	for (int dims = 1; dims <= 3; dims++)
		for (int accuracy = SL_DRAFT; accuracy <= SL_FINE; accuracy++)
			for (int w = 0; w < 3; w++) {
				if (test_leaves_out((uint64_t)(dims * 9 + accuracy * 3 + w), 1, 4))
					continue;
				struct sl_settings s = {.dims = dims, .accuracy = accuracy, .repulsion = SL_REPULSION_GRID};
				double half = widths[dims][w] / 2;
				float *y = test_layout(b.a->n, dims, half / 2, half / 60, 27);
				for (int k = 0; k < dims; k++) {
					y[k] = (float)half;
					y[dims + k] = (float)-half;
				}
				check_forces(&b, &s, y, limit[dims][accuracy], accuracy == SL_DRAFT ? 1e-2 : 1e-3);
				free(y);
			}
	bench_close(&b);
}

static void exact_forces_are_exact(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(900, 3, false, true, 4), 2);
	for (int dims = 1; dims <= 3; dims++)
		for (size_t l = 0; l < 4; l++) {
			struct sl_settings s = {.dims = dims, .repulsion = SL_REPULSION_EXACT};
			float *y = test_layout(b.a->n, dims, layouts[l][0], layouts[l][1], 17 + l);
			check_forces(&b, &s, y, 2e-5, 1e-6);
			free(y);
		}
	bench_close(&b);
}

static void a_fixed_side_gives_right_forces_too(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(700, 3, true, true, 5), 2);
	for (int side = 101; side <= 160; side += 59) {
		struct sl_settings s = {.dims = 2, .accuracy = SL_DRAFT, .grid_side = side, .repulsion = SL_REPULSION_GRID};
		float *y = test_layout(b.a->n, 2, 30, 1, 5);
		check_forces(&b, &s, y, 7e-3, 1e-3);
		free(y);
	}
	bench_close(&b);
}

static void forces_add_up_to_nothing_and_ignore_translation(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(1500, 3, true, false, 6), 2);
	struct sl_settings s = {.dims = 2, .accuracy = SL_FINE, .repulsion = SL_REPULSION_GRID};
	uint32_t n = b.a->n;
	float *y = test_layout(n, 2, 30, 1.5, 9);
	float *there = malloc(sizeof *there * n * 2), *here = malloc(sizeof *here * n * 2);
	struct sl_device_embedding *e;
	double z_here, z_there, sum[2] = {0}, size = 0, *moved = malloc(sizeof *moved * n * 2);
	assert_int_equal(b.engine->embedding_create(b.resident, &s, y, &e, NULL), 0);
	assert_int_equal(b.engine->forces(e, NULL, here, &z_here, NULL), 0);
	b.engine->embedding_destroy(e);
	for (uint32_t i = 0; i < 2 * n; i++)
		y[i] += i % 2 ? 300.f : -77.f;
	assert_int_equal(b.engine->embedding_create(b.resident, &s, y, &e, NULL), 0);
	assert_int_equal(b.engine->forces(e, NULL, there, &z_there, NULL), 0);
	b.engine->embedding_destroy(e);
	for (uint32_t i = 0; i < 2 * n; i++) {
		sum[i % 2] += (double)here[i];
		size += fabs((double)here[i]);
		moved[i] = (double)there[i];
	}
	assert_true(fabs(sum[0]) < 1e-3 * size && fabs(sum[1]) < 1e-3 * size);
	assert_true(relative_error(here, moved, 2 * n) < 2e-3);
	assert_true(fabs(z_here / z_there - 1) < 1e-4);
	free(y);
	free(here);
	free(there);
	free(moved);
	bench_close(&b);
}

/* KL(P || Q) of a layout in double precision, by its definition. */
static double divergence(const struct sl_affinities *a, int d, const double *y)
{
	double z = 0, kl = 0;
	for (uint32_t i = 0; i < a->n; i++)
		for (uint32_t j = 0; j < i; j++) {
			double r2 = 1;
			for (int k = 0; k < d; k++) {
				double x = y[i * (size_t)d + (size_t)k] - y[j * (size_t)d + (size_t)k];
				r2 += x * x;
			}
			z += 2 / r2;
		}
	for (uint32_t i = 0; i < a->n; i++)
		for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++) {
			double r2 = 1, p = (double)a->p[e];
			for (int k = 0; k < d; k++) {
				double x = y[i * (size_t)d + (size_t)k] - y[a->node[e] * (size_t)d + (size_t)k];
				r2 += x * x;
			}
			kl += p * log(p * r2 * z);
		}
	return kl;
}

static void gradient_is_that_of_the_objective(void **state)
{
	for (int dims = 1; dims <= 3; dims++) {
		struct bench b;
		bench_open(&b, test_graph(69, 3, true, false, 8), 1);
		uint32_t n = b.a->n;
		size_t count = n * (size_t)dims;
		struct sl_settings s = {.dims = dims, .repulsion = SL_REPULSION_EXACT};
		float *y = test_layout(n, dims, 6, 0.8, 21), *attraction = malloc(sizeof *y * count),
		      *repulsion = malloc(sizeof *y * count);
		double *place = malloc(sizeof *place * count), *slope = malloc(sizeof *slope * count), step = 1e-5;
		struct sl_device_embedding *e;
		struct sl_measure m;
		assert_int_equal(b.engine->embedding_create(b.resident, &s, y, &e, NULL), 0);
		assert_int_equal(b.engine->forces(e, attraction, repulsion, NULL, NULL), 0);
		assert_int_equal(b.engine->measure(e, &m, NULL), 0);
		for (size_t i = 0; i < count; i++) {
			place[i] = (double)y[i];
			attraction[i] = 4 * (attraction[i] - repulsion[i]);
		}
		double norm = 0;
		for (size_t i = 0; i < count; i++) {
			double at = place[i];
			place[i] = at + step;
			slope[i] = divergence(b.a, dims, place);
			place[i] = at - step;
			slope[i] = (slope[i] - divergence(b.a, dims, place)) / (2 * step);
			place[i] = at;
			norm += slope[i] * slope[i] / 16;
		}
		assert_true(relative_error(attraction, slope, count) < 1e-4);
		assert_true(fabs(m.gradient_norm / sqrt(norm) - 1) < 1e-4);
		assert_true(fabs(m.kl - divergence(b.a, dims, place)) < 1e-5);
		b.engine->embedding_destroy(e);
		free(y);
		free(attraction);
		free(repulsion);
		free(place);
		free(slope);
		bench_close(&b);
	}
}

static void measured_kl_is_the_exact_one(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(3000, 6, true, true, 10), 2);
	for (int dims = 1; dims <= 3; dims++) {
		struct sl_settings s = {.dims = dims, .accuracy = SL_NORMAL, .repulsion = SL_REPULSION_GRID};
		float *y = test_layout(b.a->n, dims, 30, 2, 31);
		struct sl_device_embedding *e;
		struct sl_measure m;
		double kl, z;
		assert_int_equal(b.engine->embedding_create(b.resident, &s, y, &e, NULL), 0);
		assert_int_equal(b.engine->measure(e, &m, NULL), 0);
		assert_int_equal(sl_quality_kl(b.a, dims, y, &kl, &z, NULL), 0);
		assert_true(m.finite && fabs(m.kl - kl) < 2e-3 && fabs(m.z / z - 1) < 1e-3);
		b.engine->embedding_destroy(e);
		free(y);
	}
	bench_close(&b);
}

/* A rescaled embedding has the measures of one that starts from the scaled layout, and continues with scaled
 * velocities. */
static void rescaling_scales_layout_and_velocities(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(4000, 6, true, true, 10), 2);
	const float factor = 1.75f;
	for (int dims = 1; dims <= 3; dims++) {
		if (test_leaves_out((uint64_t)dims, 1, 3))
			continue;
		struct sl_settings s = {.dims = dims, .accuracy = SL_NORMAL, .repulsion = SL_REPULSION_GRID};
		struct sl_step step = {.exaggeration = 1, .learning_rate = 300, .momentum = 0.8f};
		struct sl_step coast = {.exaggeration = 1, .learning_rate = 1e-20f, .momentum = 1};
		size_t floats = b.a->n * (size_t)dims;
		float *y = test_layout(b.a->n, dims, 30, 2, 31), *before = malloc(sizeof *y * floats * 4);
		float *after = before + floats, *moved = after + floats, *scaled = moved + floats;
		struct sl_device_embedding *e, *fresh;
		struct sl_measure m, expected;
		struct sl_error err;
		assert_int_equal(b.engine->embedding_create(b.resident, &s, y, &e, &err), 0);
		assert_int_equal(b.engine->run(e, &step, 5, &err), 0);
		assert_int_equal(b.engine->snapshot(e, before, &err), 0);
		assert_int_equal(b.engine->rescale(e, factor, &err), 0);
		assert_int_equal(b.engine->snapshot(e, after, &err), 0);
		assert_int_equal(b.engine->measure(e, &m, &err), 0);
		for (size_t i = 0; i < floats; i++) {
			scaled[i] = before[i] * factor;
			assert_true(after[i] == scaled[i]);
		}
		assert_int_equal(b.engine->embedding_create(b.resident, &s, scaled, &fresh, &err), 0);
		assert_int_equal(b.engine->measure(fresh, &expected, &err), 0);
		assert_true(fabs(m.kl - expected.kl) < 1e-3 && fabs(m.z / expected.z - 1) < 1e-3);
		assert_true(m.high[0] == expected.high[0] && m.low[0] == expected.low[0]);
		b.engine->embedding_destroy(fresh);

		/* without forces it continues with the scaled step */
		float *velocity = y;
		assert_int_equal(b.engine->run(e, &coast, 1, &err), 0);
		assert_int_equal(b.engine->snapshot(e, moved, &err), 0);
		for (size_t i = 0; i < floats; i++)
			velocity[i] = (moved[i] - after[i]) / factor;
		assert_int_equal(b.engine->rescale(e, 1 / factor, &err), 0);
		assert_int_equal(b.engine->snapshot(e, after, &err), 0);
		assert_int_equal(b.engine->run(e, &coast, 1, &err), 0);
		assert_int_equal(b.engine->snapshot(e, moved, &err), 0);
		double all = 0, apart = 0;
		for (size_t i = 0; i < floats; i++) {
			all += velocity[i] * velocity[i];
			apart += (moved[i] - after[i] - velocity[i]) * (moved[i] - after[i] - velocity[i]);
		}
		assert_true(all > 0 && apart < 1e-6 * all);
		b.engine->embedding_destroy(e);
		free(before);
		free(y);
	}
	bench_close(&b);
}

/* ---- reproducible ------------------------------------------------------------------- */

/* The layout after some iterations; the state is saved and loaded at iteration `reload`. */
static float *run(int threads, const struct sl_settings *s, int iterations, int reload, double side)
{
	struct bench b;
	bench_open(&b, test_graph(9500, 4, true, false, 12), threads);  /* enough for three threads */
	size_t floats = b.a->n * (size_t)s->dims;
	float *y = test_layout(b.a->n, s->dims, side, side > 0 ? 1 : 1e-4, 41);
	struct sl_device_embedding *e;
	struct sl_step step = {.exaggeration = 4, .learning_rate = s->optimizer == SL_ADAM ? 0.5f : 700, .momentum = 0.8f};
	assert_int_equal(b.engine->embedding_create(b.resident, s, y, &e, NULL), 0);
	if (reload) {
		assert_int_equal(b.engine->run(e, &step, reload, NULL), 0);
		uint64_t bytes = b.engine->state_bytes(e);
		void *saved = malloc(bytes);
		assert_int_equal(b.engine->state_save(e, saved, NULL), 0);
		b.engine->embedding_destroy(e);
		assert_int_equal(b.engine->embedding_create(b.resident, s, y, &e, NULL), 0);
		assert_int_equal(b.engine->state_load(e, saved, bytes - 1, NULL), SL_BADDATA);
		assert_int_equal(b.engine->state_load(e, saved, bytes, NULL), 0);
		free(saved);
	}
	assert_int_equal(b.engine->run(e, &step, iterations - reload, NULL), 0);
	assert_int_equal(b.engine->snapshot(e, y, NULL), 0);
	for (size_t i = 0; i < floats; i++)
		assert_true(isfinite(y[i]));
	b.engine->embedding_destroy(e);
	bench_close(&b);
	return y;
}

static void same_bytes_for_any_number_of_threads_and_after_a_reload(void **state)
{
	for (int dims = 1; dims <= 3; dims++)
		for (int kind = 0; kind < 4; kind++) {
			if (test_leaves_out((uint64_t)(dims * 4 + kind), 1, 12))
				continue;
			struct sl_settings s = {
				.dims = dims, .accuracy = SL_DRAFT, .optimizer = kind == 1 ? SL_ADAM : SL_MOMENTUM,
				.repulsion = kind == 2 ? SL_REPULSION_EXACT : SL_REPULSION_GRID,
			};
			int iterations = kind < 2 ? test_iterations(60) : 10;
			double side = kind < 3 ? 0 : dims == 3 ? 20 : 60;  /* wide from the start: two grids */
			float *one = run(1, &s, iterations, 0, side), *three = run(3, &s, iterations, 0, side),
			      *reloaded = run(2, &s, iterations, iterations / 3, side);
			size_t bytes = sizeof *one * 8000 * (size_t)dims;  /* of about 9,000 nodes */
			assert_memory_equal(one, three, bytes);
			assert_memory_equal(one, reloaded, bytes);
			free(one);
			free(three);
			free(reloaded);
		}
}

/* ---- phases ---------------------------------------------------------------------------- */

static void measuring_phases_leaves_everything_as_it_is(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(9500, 4, true, false, 12), 2);
	for (int kind = 0; b.engine->phases && kind < (test_light() ? 4 : 5); kind++) {
		if (test_leaves_out((uint64_t)kind, 1, 4))
			continue;
		struct sl_settings s = {
			.dims = 1 + kind % 3, .accuracy = SL_DRAFT, .optimizer = kind == 1 ? SL_ADAM : SL_MOMENTUM,
			.repulsion = kind >= 3 ? SL_REPULSION_EXACT : SL_REPULSION_GRID,
		};
		size_t bytes = sizeof(float) * b.a->n * (size_t)s.dims;
		struct sl_step step = {.exaggeration = 4, .learning_rate = kind == 1 ? 0.5f : 700, .momentum = 0.8f};
		float *y = test_layout(b.a->n, s.dims, 0, 1e-4, 41), *plain = malloc(bytes), *measured = malloc(bytes);
		for (int look = 0; look < 2; look++) {
			struct sl_device_embedding *e;
			struct sl_phase phase[SL_PHASES_MAX];
			assert_int_equal(b.engine->embedding_create(b.resident, &s, y, &e, NULL), 0);
			assert_int_equal(b.engine->run(e, &step, 10, NULL), 0);
			int count = look ? b.engine->phases(e, phase, SL_PHASES_MAX, NULL) : 0;
			assert_true(!look || (count >= 2 && count <= SL_PHASES_MAX));
			for (int i = 0; i < count; i++) {
				assert_true(phase[i].seconds > 0 && phase[i].low <= phase[i].seconds);
				assert_true(phase[i].high >= phase[i].seconds && phase[i].bytes > 0);
			}
			assert_int_equal(b.engine->run(e, &step, 10, NULL), 0);
			assert_int_equal(b.engine->snapshot(e, look ? measured : plain, NULL), 0);
			b.engine->embedding_destroy(e);
		}
		assert_memory_equal(plain, measured, bytes);
		free(y);
		free(plain);
		free(measured);
	}
	double copy = 0;
	if (b.engine->copy_bandwidth && !test_leaves_out(0, 1, 4)) {
		assert_int_equal(b.engine->copy_bandwidth(b.device, &copy, NULL), 0);
		assert_true(copy > 1e8);
	}
	bench_close(&b);
}

/* ---- odd graphs -------------------------------------------------------------------------- */

/* A hub with thousands of leaves, of which the first has a tail: mass limits rates, so no node is thrown out. */
static void a_hub_stays_with_its_leaves(void **state)
{
	struct sl_graph_builder *g = NULL;
	struct sl_graph *graph = NULL;
	assert_int_equal(sl_graph_builder_create(&g, SL_SYMMETRIC, false, 0, NULL), 0);
	for (uint32_t i = 1; i < 6000; i++)
		assert_int_equal(sl_graph_builder_add(g, i, 0, 1), 0);
	assert_int_equal(sl_graph_builder_finish(g, 0, &graph, NULL), 0);
	struct bench b;
	bench_open(&b, graph, 2);
	struct sl_settings s = {.dims = 2, .accuracy = SL_DRAFT, .repulsion = SL_REPULSION_GRID};
	struct sl_step step = {.exaggeration = 12, .learning_rate = 6000, .momentum = 0.8f};
	float *y = test_layout(b.a->n, 2, 0, 1e-4, 61);
	struct sl_device_embedding *e;
	struct sl_measure m;
	assert_int_equal(b.engine->embedding_create(b.resident, &s, y, &e, NULL), 0);
	assert_int_equal(b.engine->run(e, &step, 300, NULL), 0);
	assert_int_equal(b.engine->measure(e, &m, NULL), 0);
	assert_true(m.finite && m.high[0] - m.low[0] < 300 && m.high[1] - m.low[1] < 300);
	b.engine->embedding_destroy(e);
	free(y);
	bench_close(&b);
}

static void two_nodes_and_coinciding_nodes_are_fine(void **state)
{
	struct sl_graph_builder *g = NULL;
	struct sl_graph *graph = NULL;
	assert_int_equal(sl_graph_builder_create(&g, SL_SYMMETRIC, false, 0, NULL), 0);
	assert_int_equal(sl_graph_builder_add(g, 1, 0, 1), 0);
	assert_int_equal(sl_graph_builder_finish(g, 0, &graph, NULL), 0);
	struct bench b;
	bench_open(&b, graph, 2);
	for (int dims = 1; dims <= 3; dims++)
		for (int kind = SL_REPULSION_GRID; kind <= SL_REPULSION_EXACT; kind++) {
			struct sl_settings s = {.dims = dims, .accuracy = SL_NORMAL, .repulsion = kind};
			struct sl_step step = {.exaggeration = 1, .learning_rate = 1, .momentum = 0.5f};
			float y[6] = {0};  /* both in one place */
			struct sl_device_embedding *e;
			assert_int_equal(b.engine->embedding_create(b.resident, &s, y, &e, NULL), 0);
			assert_int_equal(b.engine->run(e, &step, 50, NULL), 0);
			assert_int_equal(b.engine->snapshot(e, y, NULL), 0);
			for (int i = 0; i < 2 * dims; i++)
				assert_true(isfinite(y[i]));
			b.engine->embedding_destroy(e);
		}
	bench_close(&b);
}

static void a_layout_that_is_no_number_is_an_error(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(500, 2, true, true, 15), 2);
	struct sl_settings s = {.dims = 2, .accuracy = SL_NORMAL, .repulsion = SL_REPULSION_GRID};
	struct sl_step step = {.exaggeration = 1, .learning_rate = 1, .momentum = 0.5f};
	float *y = test_layout(b.a->n, 2, 10, 1, 71);
	y[77] = NAN;
	struct sl_device_embedding *e;
	struct sl_error err;
	assert_int_equal(b.engine->embedding_create(b.resident, &s, y, &e, NULL), 0);
	assert_int_equal(b.engine->run(e, &step, 5, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/learning_rate");
	b.engine->embedding_destroy(e);
	free(y);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(grid_forces_agree_with_all_pairs),
		cmocka_unit_test(forces_of_wide_layouts_agree_with_all_pairs),
		cmocka_unit_test(exact_forces_are_exact),
		cmocka_unit_test(a_fixed_side_gives_right_forces_too),
		cmocka_unit_test(forces_add_up_to_nothing_and_ignore_translation),
		cmocka_unit_test(gradient_is_that_of_the_objective),
		cmocka_unit_test(measured_kl_is_the_exact_one),
		cmocka_unit_test(rescaling_scales_layout_and_velocities),
		cmocka_unit_test(same_bytes_for_any_number_of_threads_and_after_a_reload),
		cmocka_unit_test(measuring_phases_leaves_everything_as_it_is),
		cmocka_unit_test(a_hub_stays_with_its_leaves),
		cmocka_unit_test(two_nodes_and_coinciding_nodes_are_fine),
		cmocka_unit_test(a_layout_that_is_no_number_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
