/* The length of automatic runs, and their searches for the scale. SPACELAND_ENGINE selects the engine. */
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

/* A run divided into slices, and one resumed between the checks of each phase, end as the whole one. */
static void check_slices(struct bench *b, const struct sl_params *p, struct sl_embedding *whole, int iterations)
{
	static const int at[] = {110, 125, 175, 340, 365, 440};
	struct sl_embedding *slices = begin(b, p, NULL), *resumed = begin(b, p, NULL);
	struct sl_status other = {0};
	for (int next = 0; !other.done;) {
		assert_int_equal(sl_embedding_advance(slices, 0.01, &other, NULL), 0);
		if (next == sizeof at / sizeof *at || other.iteration < at[next])
			continue;
		void *saved;
		uint64_t bytes;
		next++;
		assert_int_equal(sl_embedding_save(slices, &saved, &bytes, NULL), 0);
		assert_int_equal(sl_embedding_load(resumed, saved, bytes, NULL), 0);
		free(saved);
	}
	assert_int_equal(other.iteration, iterations);
	assert_int_equal(finish(resumed, 1e9).iteration, iterations);
	float *one = layout(b, whole), *two = layout(b, slices), *three = layout(b, resumed);
	assert_memory_equal(one, two, sizeof *one * b->a->n_user * 2);
	assert_memory_equal(one, three, sizeof *one * b->a->n_user * 2);
	free(one);
	free(two);
	free(three);
	sl_embedding_destroy(slices);
	sl_embedding_destroy(resumed);
}

/* A number set during the run ends it there; auto continues a run that was about to end. */
static void check_steering(struct bench *b, const struct sl_params *p, const struct sl_params *settled)
{
	struct sl_status other = {0};
	struct sl_embedding *steered = begin(b, p, NULL);
	while (sl_embedding_params(steered)->iterations == settled->iterations)
		assert_int_equal(sl_embedding_advance(steered, 0.01, &other, NULL), 0);
	struct sl_params fixed = *p;
	fixed.iterations = other.iteration + 30;
	assert_int_equal(sl_embedding_steer(steered, &fixed, NULL), 0);
	assert_int_equal(sl_embedding_params(steered)->exaggeration_decay, settled->exaggeration_decay);
	other = finish(steered, 1e9);
	assert_int_equal(other.iteration, fixed.iterations);
	assert_int_equal(other.stop, SL_STOP_ITERATIONS);
	assert_int_equal(sl_embedding_steer(steered, p, NULL), 0);
	assert_int_equal(finish(steered, 1e9).stop, SL_STOP_KL);
	sl_embedding_destroy(steered);
}

/* The ends of the plan are points of the trace: each tenth except the last improved the layout enough. */
static void automatic_runs_end_where_a_tenth_more_is_not_worth_it(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(600, 4, true, true, 2), 2);
	struct sl_params p = short_job(0), settled;
	p.exaggeration_iterations = -1;
	p.trace_interval = 0;
	p.kl_tolerance = 2e-3;
	settled = p;
	sl_params_settle(&settled);
	struct sl_embedding *whole = begin(&b, &p, NULL);
	struct sl_status s = finish(whole, 1e9);
	int count;
	const struct sl_trace_point *t = sl_embedding_trace(whole, &count);
	assert_int_equal(s.stop, SL_STOP_KL);
	assert_true(count >= 2 && s.iteration == t[count - 1].iteration && s.iterations == s.iteration);
	assert_true(t[0].iteration >= settled.iterations);
	for (int i = 1; i < count; i++) {
		assert_int_equal(t[i].iteration, t[i - 1].iteration + t[i - 1].iteration / 10);
		if (i > 1)
			assert_true((t[i - 1].measure < t[i - 2].measure * (1 - p.kl_tolerance)));
	}
	assert_false(t[count - 1].measure < t[count - 2].measure * (1 - p.kl_tolerance));
	if (!test_leaves_out(0, 1, 2))
		check_slices(&b, &p, whole, s.iteration);
	if (!test_leaves_out(1, 1, 2))
		check_steering(&b, &p, &settled);
	sl_embedding_destroy(whole);
	bench_close(&b);
}

/* Slowly unfolding data has a longer exaggeration and a longer run than clusters. Short runs of the tests do not check
 * the end. */
static void slow_inputs_get_longer_runs(void **state)
{
	struct sl_status s[2] = {{0}};
	int exaggerated[2];
	for (int path = 0; path < 2; path++) {
		struct bench b;
		bench_open(&b, path ? test_path(700) : test_graph(700, 1, true, true, 2), 2);
		struct sl_params p = short_job(0);
		p.exaggeration_iterations = -1;
		struct sl_embedding *e = begin(&b, &p, NULL);
		while (!s[path].done && !(test_light() && s[path].iteration > 1000))
			assert_int_equal(sl_embedding_advance(e, test_light() ? 500 : 1e9, &s[path], NULL), 0);
		exaggerated[path] = sl_embedding_params(e)->exaggeration_iterations;
		assert_true(s[path].iteration <= 4000);
		sl_embedding_destroy(e);
		bench_close(&b);
	}
	assert_in_range(exaggerated[1], 121, 260);
	assert_true(exaggerated[0] < exaggerated[1] && s[0].iteration < s[1].iteration && s[1].iteration > 1000);
}

static int (*engine_measure)(struct sl_device_embedding *, struct sl_measure *, struct sl_error *);
static double widest, widest_fine;

/* The grids of this engine are too coarse beyond `widest`; there the divergence seems to fall on and on. */
static int measure_coarsely(struct sl_device_embedding *e, struct sl_measure *out, struct sl_error *err)
{
	int code = engine_measure(e, out, err);
	double width = fmax((double)out->high[0] - (double)out->low[0], (double)out->high[1] - (double)out->low[1]);
	out->coarse = width > widest;
	if (out->coarse)
		out->kl -= log(width / widest);
	else
		widest_fine = fmax(widest_fine, width);
	return code;
}

/* A search for the scale does not go where the engine cannot measure the divergence. */
static void searches_stay_where_forces_are_right(void **state)
{
	struct bench b;
	bench_open(&b, test_graph(600, 4, true, true, 2), 2);
	struct sl_engine narrow = *b.engine;
	struct sl_params p = short_job(200);
	struct sl_embedding *e;
	int count;
	engine_measure = narrow.measure;
	narrow.measure = measure_coarsely;
	narrow.joins = NULL;
	p.rescale = 0.5;
	for (widest = 1e9, widest_fine = 0; ; widest = widest_fine / 3) {
		assert_int_equal(sl_embedding_create(&e, &narrow, b.resident, b.a, &p, NULL, NULL), 0);
		finish(e, 1e9);
		const struct sl_trace_point *t = sl_embedding_trace(e, &count);
		double width = fmax((double)t[count - 1].high[0] - (double)t[count - 1].low[0],
				    (double)t[count - 1].high[1] - (double)t[count - 1].low[1]);
		sl_embedding_destroy(e);
		if (widest < 1e9) {
			if (width > 1.5 * widest)
				fail_msg("the layout is %g units wide, and %g are fine", width, widest);
			break;
		}
	}
	bench_close(&b);
}

static int (*engine_rescale)(struct sl_device_embedding *, float, struct sl_error *);
static int rescaled;

static int count_rescale(struct sl_device_embedding *e, float factor, struct sl_error *err)
{
	rescaled++;
	return engine_rescale(e, factor, err);
}

/* The scale is searched near the end of the first plan, and before each tenth by which it is extended; only once with
 * heavy tails. */
static void automatic_runs_search_the_scale_again(void **state)
{
	for (int heavy = 0; heavy < 2; heavy++) {
		if (test_leaves_out((uint64_t)heavy, 1, 2))
			continue;
		struct bench b;
		bench_open(&b, test_graph(600, 4, true, true, 2), 2);
		struct sl_engine counting = *b.engine;
		struct sl_params p = short_job(0);
		struct sl_embedding *e;
		struct sl_status s = {0};
		int searches = 0, at[32] = {0}, count;
		engine_rescale = counting.rescale;
		counting.rescale = count_rescale;
		p.exaggeration_iterations = -1;
		p.trace_interval = 0;
		p.dof = heavy ? 0.9 : 1;
		p.kl_tolerance = heavy ? 0.5 : -1;
		assert_int_equal(sl_embedding_create(&e, &counting, b.resident, b.a, &p, NULL, NULL), 0);
		while (!s.done) {
			int before = rescaled;
			assert_int_equal(sl_embedding_advance(e, 0.01, &s, NULL), 0);
			if (rescaled > before && (!searches || at[searches - 1] != s.iteration) && searches < 32)
				at[searches++] = s.iteration;
		}
		const struct sl_trace_point *t = sl_embedding_trace(e, &count);
		assert_true(count >= 2 && searches == (heavy ? 1 : count));
		assert_true(at[0] < t[0].iteration);
		for (int i = 1; i < searches; i++)
			assert_int_equal(at[i], t[i - 1].iteration);
		sl_embedding_destroy(e);
		bench_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slow_inputs_get_longer_runs),
		cmocka_unit_test(automatic_runs_end_where_a_tenth_more_is_not_worth_it),
		cmocka_unit_test(searches_stay_where_forces_are_right),
		cmocka_unit_test(automatic_runs_search_the_scale_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
