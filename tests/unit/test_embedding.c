/* An embedding's phases, stop rules, trace and checkpoints, on the CPU engine. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/params.h"
#include "tests/unit/engines.h"
#include "tests/unit/short_jobs.h"

static void how_it_is_sliced_makes_no_difference(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(800, 4, true, false, 1), 2);
	struct sl_params p = short_job(200);
	struct sl_embedding *whole = begin(&b, &p, NULL), *slices = begin(&b, &p, NULL);
	assert_int_equal(finish(whole, 1e9).iteration, 200);
	assert_int_equal(finish(slices, 0.01).iteration, 200);
	float *one = layout(&b, whole), *other = layout(&b, slices);
	assert_memory_equal(one, other, sizeof *one * b.a->n_user * 2);
	free(one);
	free(other);
	sl_embedding_destroy(whole);
	sl_embedding_destroy(slices);
	bench_close(&b);
}

static void the_trace_tells_of_both_phases(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(800, 4, true, false, 1), 2);
	struct sl_params p = short_job(200);
	p.trace_interval = 20;
	p.exaggeration_decay = 0;
	p.rescale = 0;  /* the ends of plans would have points, too */
	struct sl_embedding *e = begin(&b, &p, NULL);
	struct sl_status s = finish(e, 1e9);
	int points;
	const struct sl_trace_point *t = sl_embedding_trace(e, &points);
	assert_int_equal(points, 10);
	for (int i = 0; i < points; i++) {
		assert_int_equal(t[i].iteration, 20 * (i + 1));
		/* takes effect at that iteration */
		assert_true(t[i].exaggeration == (t[i].iteration < 50 ? 12 : 1));
		assert_true(t[i].learning_rate == (t[i].iteration < 50 ? 200 : fmax(200, b.a->n)));
		assert_true(isfinite(t[i].measure) && t[i].measure > 0);
	}
	assert_true(t[points - 1].measure < 0.7 * t[0].measure);
	assert_true(s.measure == t[points - 1].measure);
	assert_int_equal(s.stop, SL_STOP_ITERATIONS);
	sl_embedding_destroy(e);
	bench_close(&b);
}

/* Steps through a run by pause_at. `iterations` 0: auto, with its checks and searches. */
static void pauses_change_nothing(int iterations, int every)
{
	struct bench b;
	bench_open(&b, test_graph(600, 4, true, true, 2), 2);
	struct sl_params p = short_job(iterations);
	p.exaggeration_iterations = iterations ? 50 : -1;
	struct sl_embedding *whole = begin(&b, &p, NULL);
	struct sl_status s, want = finish(whole, 1e9);
	p.pause_at = every;
	struct sl_embedding *steps = begin(&b, &p, NULL);
	int told = 0, points;
	do {
		assert_int_equal(sl_embedding_advance(steps, 1, &s, NULL), 0);
		if (!s.held || s.done)
			continue;
		told++;
		assert_int_equal(s.iteration, told * every);
		const struct sl_trace_point *t = sl_embedding_trace(steps, &points);
		assert_int_equal(t[points - 1].iteration, s.iteration);
		if (told == 2) {  /* also over a checkpoint, which does not hold the run again */
			void *saved;
			uint64_t bytes;
			assert_int_equal(sl_embedding_save(steps, &saved, &bytes, NULL), 0);
			sl_embedding_destroy(steps);
			steps = begin(&b, &p, NULL);
			assert_int_equal(sl_embedding_load(steps, saved, bytes, NULL), 0);
			free(saved);
			assert_int_equal(sl_embedding_advance(steps, 1e-9, &s, NULL), 0);
			assert_false(s.held);
		}
		p.pause_at = (told + 1) * every;
		assert_int_equal(sl_embedding_steer(steps, &p, NULL), 0);
	} while (!s.done);
	assert_int_equal(s.iteration, want.iteration);
	assert_int_equal(told, (want.iteration - 1) / every);
	float *one = layout(&b, whole), *other = layout(&b, steps);
	assert_memory_equal(one, other, sizeof *one * b.a->n_user * 2);
	free(one);
	free(other);
	sl_embedding_destroy(whole);
	sl_embedding_destroy(steps);
	bench_close(&b);
}

static void it_pauses_exactly_and_goes_on_to_the_same_bytes(void **state)
{
	pauses_change_nothing(200, 7);
	pauses_change_nothing(200, 50);
	pauses_change_nothing(0, 33);
}

static void a_checkpoint_continues_to_the_same_bytes(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(800, 4, true, false, 1), 2);
	struct sl_params p = short_job(160);
	struct sl_embedding *straight = begin(&b, &p, NULL), *first = begin(&b, &p, NULL), *second = begin(&b, &p, NULL);
	struct sl_status s = {0};
	void *saved;
	uint64_t bytes;
	finish(straight, 1e9);
	while (s.iteration < 60)
		assert_int_equal(sl_embedding_advance(first, 0.01, &s, NULL), 0);
	assert_int_equal(sl_embedding_save(first, &saved, &bytes, NULL), 0);
	for (uint64_t cut = 0; cut < bytes; cut += bytes / 7 + 1)
		assert_int_equal(sl_embedding_load(second, saved, cut, NULL), SL_BADDATA);
	assert_int_equal(sl_embedding_load(second, saved, bytes, NULL), 0);
	struct sl_status next;
	assert_int_equal(sl_embedding_advance(second, 0.01, &next, NULL), 0);
	assert_true(next.iteration > s.iteration && next.seconds > s.seconds);  /* max_seconds limits these */
	finish(second, 1e9);
	float *one = layout(&b, straight), *other = layout(&b, second);
	assert_memory_equal(one, other, sizeof *one * b.a->n_user * 2);
	int points_one, points_other;
	sl_embedding_trace(straight, &points_one);
	sl_embedding_trace(second, &points_other);
	assert_int_equal(points_one, points_other);
	free(saved);
	free(one);
	free(other);
	sl_embedding_destroy(straight);
	sl_embedding_destroy(first);
	sl_embedding_destroy(second);
	bench_close(&b);
}

/* Scaled by hand to the size that the search should find. */
static void the_scale_is_that_of_the_least_divergence(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(1500, 5, true, true, 3), 2);
	struct sl_params p = short_job(150), still;
	struct sl_embedding *e;
	p.rescale = 0.8;
	still = p;
	still.rescale = 0;
	still.iterations = 120;
	e = begin(&b, &still, NULL);
	double before = finish(e, 1e9).measure, least = INFINITY, after, widest = 0;
	float *y = layout(&b, e);
	sl_embedding_destroy(e);
	still.init = SL_INIT_GIVEN;
	still.init_std = 0;
	still.iterations = 1;
	still.learning_rate = 1e-9;
	still.momentum = still.early_momentum = 0;
	still.exaggeration_iterations = 0;
	for (double factor = 0.5; factor < 40; factor *= 1.1) {
		float *scaled = malloc(sizeof *y * b.a->n_user * 2);
		for (uint32_t i = 0; i < b.a->n_user * 2; i++)
			scaled[i] = y[i] * (float)factor;
		e = begin(&b, &still, scaled);
		double kl = finish(e, 1e9).measure;
		widest = kl < least ? factor : widest;
		least = kl < least ? kl : least;
		sl_embedding_destroy(e);
		free(scaled);
	}
	p.iterations = 121;
	p.rescale = 0.99;
	p.trace_interval = 0;
	e = begin(&b, &p, NULL);
	after = finish(e, 1e9).measure;  /* one iteration later */
	print_message("KL %.4f, at %.2f times the width %.4f, searched %.4f\n", before, widest, least, after);
	assert_true(least < 0.99 * before && widest > 1.2);
	assert_true(after < least + 0.1 * (before - least));
	sl_embedding_destroy(e);
	free(y);
	bench_close(&b);
}

/* A scaled path is so thin that nodes that meet would throw each other far away without the limit of steps. */
static void a_widened_layout_keeps_together(void **state)
{
	const uint32_t n = 2000;
	struct sl_graph_builder *builder;
	struct sl_graph *path;
	assert_int_equal(sl_graph_builder_create(&builder, SL_SYMMETRIC, false, 0, NULL), 0);
	for (uint32_t i = 0; i + 1 < n; i++)
		assert_int_equal(sl_graph_builder_add(builder, i + 1, i, 1), 0);
	assert_int_equal(sl_graph_builder_finish(builder, n, &path, NULL), 0);
	struct bench b;
	bench_open(&b, path, 2);
	struct sl_params p;
	sl_params_preset(&p, SL_PRESET_DEFAULT);
	p.iterations = 1600;
	p.rescale = 0.2;
	p.trace_interval = 100;
	struct sl_embedding *e = begin(&b, &p, NULL);
	finish(e, 1e9);
	int count;
	const struct sl_trace_point *t = sl_embedding_trace(e, &count);
	double least = INFINITY;
	for (int i = 0; i < count; i++) {
		print_message("after %d: KL %.4f, width %.0f\n", t[i].iteration, t[i].measure, (double)(t[i].high[0] -
													t[i].low[0]));
		if (t[i].iteration <= 400)
			continue;
		assert_true(t[i].measure < 1.02 * least);
		least = fmin(least, t[i].measure);
	}
	sl_embedding_destroy(e);
	bench_close(&b);
}

/* Also from a checkpoint within the search. */
static void the_search_for_the_scale_can_be_cut_anywhere(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(500, 5, true, true, 3), 2);
	struct sl_params p = short_job(100);
	p.rescale = 0.5;
	struct sl_embedding *straight = begin(&b, &p, NULL), *pieces = begin(&b, &p, NULL);
	struct sl_status s = {0};
	int stops = 0;
	finish(straight, 1e9);
	while (!s.done) {
		assert_int_equal(sl_embedding_advance(pieces, 1e-6, &s, NULL), 0);
		if (s.iteration != 50)
			continue;
		void *saved;
		uint64_t bytes;
		struct sl_embedding *next = begin(&b, &p, NULL);
		assert_int_equal(sl_embedding_save(pieces, &saved, &bytes, NULL), 0);
		assert_int_equal(sl_embedding_load(next, saved, bytes, NULL), 0);
		free(saved);
		sl_embedding_destroy(pieces);
		pieces = next;
		stops++;
	}
	assert_in_range(stops, 4, 20);
	float *one = layout(&b, straight), *other = layout(&b, pieces);
	assert_memory_equal(one, other, sizeof *one * b.a->n_user * 2);
	free(one);
	free(other);
	sl_embedding_destroy(straight);
	sl_embedding_destroy(pieces);
	bench_close(&b);
}

/* The divergence of the comparison, and its iteration, are part of a checkpoint. */
static void stop_rules_go_on_from_a_checkpoint(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(600, 4, true, true, 2), 2);
	struct sl_params p = short_job(100000);
	p.exaggeration_iterations = 50;
	p.trace_interval = 10;
	p.kl_patience = 60;
	p.kl_tolerance = 0.9;  /* no later point improves that much on the first one */
	struct sl_embedding *straight = begin(&b, &p, NULL), *first = begin(&b, &p, NULL), *second = begin(&b, &p, NULL);
	struct sl_status s = {0};
	void *saved;
	uint64_t bytes;
	int stops_at = finish(straight, 1e9).iteration;
	while (s.iteration < stops_at - 30)
		assert_int_equal(sl_embedding_advance(first, 0.01, &s, NULL), 0);
	assert_false(s.done);
	assert_int_equal(sl_embedding_save(first, &saved, &bytes, NULL), 0);
	assert_int_equal(sl_embedding_load(second, saved, bytes, NULL), 0);
	s = finish(second, 1e9);
	assert_int_equal(s.stop, SL_STOP_KL);
	assert_int_equal(s.iteration, stops_at);
	free(saved);
	sl_embedding_destroy(straight);
	sl_embedding_destroy(first);
	sl_embedding_destroy(second);
	bench_close(&b);
}

static void stop_rules_stop(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(600, 4, true, true, 2), 2);
	struct sl_params p = short_job(100000);
	p.exaggeration_iterations = 50;
	p.trace_interval = 10;
	p.kl_patience = 100;
	p.kl_tolerance = 0.01;
	struct sl_embedding *e = begin(&b, &p, NULL);
	struct sl_status s = finish(e, 1e9);
	assert_int_equal(s.stop, SL_STOP_KL);
	assert_in_range(s.iteration, 150, 20000);
	sl_embedding_destroy(e);

	p.kl_patience = 0;
	p.min_gradient_norm = s.gradient_norm * 2;
	e = begin(&b, &p, NULL);
	s = finish(e, 1e9);
	assert_int_equal(s.stop, SL_STOP_GRADIENT);
	assert_true(s.gradient_norm < p.min_gradient_norm && s.iteration > 50);
	sl_embedding_destroy(e);

	p.min_gradient_norm = 0;
	p.max_seconds = 0.05;
	e = begin(&b, &p, NULL);
	s = finish(e, 1e9);
	assert_int_equal(s.stop, SL_STOP_TIME);
	assert_true(s.seconds >= 0.05 && s.seconds < 5 && isfinite(s.measure));
	sl_embedding_destroy(e);
	bench_close(&b);
}

static void steering_takes_effect_and_can_continue_a_finished_run(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(600, 4, true, true, 2), 2);
	struct sl_params p = short_job(100), changed;
	struct sl_embedding *e = begin(&b, &p, NULL);
	struct sl_error err;
	finish(e, 1e9);
	changed = p;
	changed.iterations = 150;
	changed.late_exaggeration = 6;
	assert_int_equal(sl_embedding_steer(e, &changed, NULL), 0);
	struct sl_status s = finish(e, 1e9);
	int points;
	const struct sl_trace_point *t = sl_embedding_trace(e, &points);
	assert_int_equal(s.iteration, 150);
	assert_true(t[points - 1].exaggeration == 6);
	changed.seed = 99;
	assert_int_equal(sl_embedding_steer(e, &changed, &err), SL_CONFLICT);
	assert_string_equal(err.pointer, "/seed");
	sl_embedding_destroy(e);
	bench_close(&b);
}

static void seeds_matter_and_given_layouts_are_taken(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(600, 4, true, true, 2), 2);
	struct sl_params p = short_job(1), q = p;
	q.seed = 2;
	struct sl_embedding *e = begin(&b, &p, NULL), *f = begin(&b, &q, NULL);
	float *one = layout(&b, e), *other = layout(&b, f), *given = malloc(sizeof *given * b.a->n_user * 2);
	assert_memory_not_equal(one, other, sizeof *one * 16);
	sl_embedding_destroy(e);
	sl_embedding_destroy(f);

	p.init = SL_INIT_GIVEN;
	p.init_std = 0;
	for (uint32_t i = 0; i < 2 * b.a->n_user; i++)
		given[i] = (float)(i % 97);
	e = begin(&b, &p, given);
	free(one);
	one = layout(&b, e);
	for (uint32_t i = 0; i < b.a->n; i++)
		assert_memory_equal(&one[2 * b.a->user[i]], &given[2 * b.a->user[i]], 2 * sizeof *one);
	sl_embedding_destroy(e);

	p.init_std = 0.5;  /* centred and rescaled */
	e = begin(&b, &p, given);
	free(one);
	one = layout(&b, e);
	double square = 0;
	for (uint32_t i = 0; i < b.a->n; i++)
		for (int k = 0; k < 2; k++)
			square += pow((double)one[2 * b.a->user[i] + (uint32_t)k], 2) / (2.0 * b.a->n);
	assert_true(fabs(sqrt(square) - 0.5) < 1e-4);
	sl_embedding_destroy(e);

	struct sl_error err;
	given[2 * b.a->user[3]] = INFINITY;
	assert_int_equal(sl_embedding_create(&e, b.engine, b.resident, b.a, &p, given, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/init");
	assert_int_equal(sl_embedding_create(&e, b.engine, b.resident, b.a, &p, NULL, &err), SL_BADPARAM);
	free(one);
	free(other);
	free(given);
	bench_close(&b);
}

/* Dense groups with few edges between them become separate clusters. */
static void clusters_separate(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(1200, 4, false, true, 5), 2);
	struct sl_params p = short_job(600);
	p.repulsion = SL_REPULSION_AUTO;
	struct sl_embedding *e = begin(&b, &p, NULL);
	finish(e, 1e9);
	float *y = layout(&b, e);
	double centre[4][2] = {{0}}, within = 0, between = 0;
	int size[4] = {0}, pairs = 0;
	for (uint32_t i = 0; i < b.a->n; i++) {
		uint32_t u = b.a->user[i], part = u / 300;
		size[part]++;
		for (int k = 0; k < 2; k++)
			centre[part][k] += (double)y[2 * u + (uint32_t)k];
	}
	for (int part = 0; part < 4; part++)
		for (int k = 0; k < 2; k++)
			centre[part][k] /= size[part];
	for (uint32_t i = 0; i < b.a->n; i++) {
		uint32_t u = b.a->user[i], part = u / 300;
		within += hypot((double)y[2 * u] - centre[part][0], (double)y[2 * u + 1] - centre[part][1]) / b.a->n;
	}
	for (int s = 0; s < 4; s++)
		for (int t = 0; t < s; t++, pairs++)
			between += hypot(centre[s][0] - centre[t][0], centre[s][1] - centre[t][1]);
	assert_true(between / pairs > 1.2 * within);
	free(y);
	sl_embedding_destroy(e);
	bench_close(&b);
}

static void a_graph_without_edges_is_done_at_once(void **state)
{
	struct sl_graph_builder *g = NULL;
	struct sl_graph *graph = NULL;
	assert_int_equal(sl_graph_builder_create(&g, SL_GENERAL, false, 0, NULL), 0);
	assert_int_equal(sl_graph_builder_finish(g, 40, &graph, NULL), 0);
	struct bench b;
	bench_open(&b, graph, 1);
	struct sl_params p = short_job(100);
	struct sl_embedding *e = begin(&b, &p, NULL);
	struct sl_status s = finish(e, 1);
	assert_true(s.done);
	float *y = layout(&b, e);
	for (int i = 0; i < 80; i++)
		assert_true(isfinite(y[i]));
	free(y);
	sl_embedding_destroy(e);
	bench_close(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(how_it_is_sliced_makes_no_difference),
		cmocka_unit_test(the_trace_tells_of_both_phases),
		cmocka_unit_test(it_pauses_exactly_and_goes_on_to_the_same_bytes),
		cmocka_unit_test(a_checkpoint_continues_to_the_same_bytes),
		cmocka_unit_test(the_scale_is_that_of_the_least_divergence),
		cmocka_unit_test(a_widened_layout_keeps_together),
		cmocka_unit_test(the_search_for_the_scale_can_be_cut_anywhere),
		cmocka_unit_test(stop_rules_go_on_from_a_checkpoint),
		cmocka_unit_test(stop_rules_stop),
		cmocka_unit_test(steering_takes_effect_and_can_continue_a_finished_run),
		cmocka_unit_test(seeds_matter_and_given_layouts_are_taken),
		cmocka_unit_test(clusters_separate),
		cmocka_unit_test(a_graph_without_edges_is_done_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
