/* The table of parameters: text, numbers, ranges, presets, steering, and the schedule that they give. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/embedding/embedding.h"
#include "core/params.h"

static struct sl_params fresh(void)
{
	struct sl_params p;
	sl_params_preset(&p, SL_PRESET_DEFAULT);
	return p;
}

static void every_default_is_in_range_and_reads_back(void **state)
{
	for (int preset = 0; preset < 2; preset++)
		for (int i = 0; i < sl_params_count; i++) {
			const struct sl_param_info *info = &sl_params_table[i];
			struct sl_params p, q = fresh();
			char text[SL_PARAM_TEXT_BYTES];
			double before, after;
			sl_params_preset(&p, (enum sl_preset)preset);
			sl_param_text(info, &p, text);
			assert_int_equal(sl_params_set(&q, info->name, text, NULL), 0);
			sl_param_number(info, &p, &before);
			sl_param_number(info, &q, &after);
			assert_true(before == after);
		}
}

static void values_out_of_range_are_refused_with_the_field_and_the_range(void **state)
{
	static const char *const bad[][3] = {
		{"dims", "4", "/dims"}, {"dims", "0", "/dims"}, {"dims", "2.5", "/dims"}, {"dims", "two", "/dims"},
		{"dims", "", "/dims"}, {"lambda", "0.99", "/lambda"}, {"lambda", "nan", "/lambda"},
		{"lambda", "inf", "/lambda"}, {"iterations", "0", "/iterations"}, {"iterations", "1e9", "/iterations"},
		{"iterations", "-5", "/iterations"}, {"exaggeration", "-1", "/exaggeration"},
		{"learning_rate", "-3", "/learning_rate"},
		{"momentum", "1", "/momentum"},
		{"accuracy", "finest", "/accuracy"}, {"accuracy", "2", "/accuracy"}, {"grid_side", "7", "/grid_side"},
		{"repulsion", "tree", "/repulsion"}, {"seed", "-1", "/seed"}, {"seed", "1.5", "/seed"},
		{"seed", "9007199254740993", "/seed"},
		{"drop_leaf_edges", "yes", "/drop_leaf_edges"}, {"kl_tolerance", "2", "/kl_tolerance"},
		{"perplexity", "0.5", "/perplexity"}, {"perplexity", "30,", "/perplexity"},
		{"perplexity", "30,0", "/perplexity"}, {"perplexity", "1,2,3,4,5,6,7,8,9", "/perplexity"},
		{"perplexity", "nan", "/perplexity"}, {"perplexity", "30 100", "/perplexity"},
		{"preset", "tsne", "/preset"}, {"optimizer", "sgd", "/optimizer"}, {"init", "umap", "/init"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct sl_params p = fresh(), before = p;
		struct sl_error err;
		assert_int_equal(sl_params_set(&p, bad[i][0], bad[i][1], &err), SL_BADPARAM);
		assert_string_equal(err.pointer, bad[i][2]);
		assert_non_null(strstr(err.detail, "must be"));
		assert_memory_equal(&p, &before, sizeof p);
	}
	struct sl_params p = fresh();
	assert_int_equal(sl_params_set(&p, "perplexitty", "30", NULL), SL_BADPARAM);
}

static void automatic_words_stand_for_their_values(void **state)
{
	struct sl_params p = fresh();
	assert_int_equal(sl_params_set(&p, "learning_rate", "50", NULL), 0);
	assert_true(p.learning_rate == 50);
	assert_int_equal(sl_params_set(&p, "learning_rate", "auto", NULL), 0);
	assert_true(p.learning_rate == 0);
	char text[SL_PARAM_TEXT_BYTES];
	assert_string_equal(sl_param_text(sl_params_find("max_seconds"), &p, text), "off");
}

static void the_published_preset_has_the_published_values(void **state)
{
	struct sl_params p = fresh();
	assert_int_equal(sl_params_set(&p, "preset", "sgtsnepi", NULL), 0);
	assert_true(p.learning_rate == 200 && p.exaggeration == 12 && p.exaggeration_iterations == 250);
	assert_true(p.early_momentum == 0.5 && p.momentum == 0.8 && p.accuracy == SL_DRAFT);
}

/* The values that "auto" stands for; numbers stay. */
static void automatic_lengths_are_those_of_the_first_plan(void **state)
{
	struct sl_params p = fresh(), settled = p;
	sl_params_settle(&settled);
	assert_true(settled.iterations == 500 && settled.exaggeration_iterations == 120 &&
		    settled.exaggeration_decay == 200);
	p.iterations = 300;  /* a budget: the phases of the first plan, in proportion if it is longer */
	settled = p;
	sl_params_settle(&settled);
	assert_true(sl_params_budgeted(&p) && settled.iterations == 300 && settled.exaggeration_iterations == 65 &&
		    settled.exaggeration_decay == 109 && sl_params_first_plan(&p) == 65 + 109 + 98);
	p.iterations = 1000;
	settled = p;
	sl_params_settle(&settled);
	assert_true(settled.iterations == 1000 && settled.exaggeration_iterations == 120 &&
		    settled.exaggeration_decay == 200);
	p.rescale = 0;  /* the common schedule */
	p.exaggeration_iterations = 250;
	settled = p;
	sl_params_settle(&settled);
	assert_true(settled.exaggeration_iterations == 250 && !settled.exaggeration_decay && !sl_params_budgeted(&p));
	sl_params_preset(&p, SL_PRESET_FITSNE);
	p.iterations = 0;
	settled = p;
	sl_params_settle(&settled);
	assert_true(settled.iterations == 750 && settled.exaggeration_iterations == 250 && !settled.exaggeration_decay);
	assert_int_equal(sl_params_iterations_most(&p, 70000), 7500);
}

/* How far a run of "auto" may go, and when it first searches for the scale, by number of nodes. */
static void longer_runs_pay_for_fewer_nodes(void **state)
{
	const struct {
		uint32_t n;
		int most, search;
		double tolerance;
	} row[] = {
		{2, 4000, 2000, 1e-3}, {500, 4000, 2000, 1e-3}, {4000, 4000, 2000, 4e-3}, {10000, 4000, 2000, 7.3681e-3},
		{10001, 800, 400, 7.3685e-3}, {16000, 800, 400, 1e-2}, {2999999, 800, 400, 1e-2},
		{3000000, 2000, 400, 1e-2}, {UINT32_MAX, 2000, 400, 1e-2},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct sl_params p = fresh();
		assert_int_equal(sl_params_iterations_most(&p, row[i].n), row[i].most);
		assert_int_equal(sl_params_search_latest(&p, row[i].n), row[i].search);
		assert_true(fabs(sl_params_growth_tolerance(&p, row[i].n) - row[i].tolerance) < 1e-7);
		p.kl_tolerance = 0.02;  /* requests it for any number of nodes */
		assert_int_equal(sl_params_iterations_most(&p, row[i].n), 5000);
		assert_true(sl_params_growth_tolerance(&p, row[i].n) == 0.02);
		p.iterations = 300;
		assert_int_equal(sl_params_iterations_most(&p, row[i].n), 300);
		assert_int_equal(sl_params_search_latest(&p, row[i].n), 150);
		p.iterations = 0;
		p.kl_tolerance = -1;
		p.exaggeration_iterations = 600;
		assert_int_equal(sl_params_iterations_most(&p, row[i].n), row[i].most > 980 ? row[i].most : 980);
	}
}

/* Steps of ten iterations, from 16 to 2 by equal ratios; the last step may be shorter. */
static void exaggeration_decays_by_equal_ratios(void **state)
{
	struct sl_params p = fresh();
	p.iterations = 200;
	p.exaggeration = 16;
	p.late_exaggeration = 2;
	p.exaggeration_iterations = 50;
	p.exaggeration_decay = 25;
	const struct { int iteration, until; double ratios; } row[] = {
		{0, 50, 0}, {49, 50, 0}, {50, 60, 10}, {59, 60, 10}, {60, 70, 20}, {70, 75, 30}, {74, 75, 30}, {75, 150, 35},
	};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct sl_step step = sl_embedding_step_at(&p, 100000, row[i].iteration);
		double expected = 16 * pow(2.0 / 16, row[i].ratios / 35);
		assert_true(fabs((double)step.exaggeration / expected - 1) < 1e-6);
		assert_true(fabs((double)step.learning_rate * expected / 100000 - 1) < 1e-6);
		assert_int_equal(sl_embedding_step_until(&p, row[i].iteration), row[i].until);
	}
	p.rescale = 0.3;  /* the search waits for the end of the decay */
	assert_int_equal(sl_embedding_step_until(&p, 70), 75);
	assert_int_equal(sl_embedding_step_until(&p, 75), 150);
	p.late_exaggeration = 0;  /* no ratio leads there */
	assert_true(sl_embedding_step_at(&p, 100000, 49).exaggeration == 16);
	assert_true(sl_embedding_step_at(&p, 100000, 50).exaggeration == 0);
}

/* Each preset is valid for points and for graphs, with any perplexity. */
static void presets_have_their_programs_values(void **state)
{
	const struct {
		const char *name;
		int iterations, exaggeration_iterations;
		double rescale, learning_rate;
		int rule, init;
		double early_momentum, momentum, perplexity;
		int gains;
		double gain_least, gain_added, rate_limit, max_step;
		int restart;
		int repulsion;
		double exaggeration;
	} row[] = {
		{"default", 0, -1, 0.9, 0, SL_RATE_PHASE, SL_INIT_AUTO, 0.8, 0.9, 0, SL_GAINS_NODE, 0.01, 0, 2, 0,
		 SL_RESTART_NOTHING, SL_REPULSION_AUTO, 12},
		{"sgtsnepi", 1000, 250, 0, 200, SL_RATE_PHASE, SL_INIT_RANDOM, 0.5, 0.8, 0, SL_GAINS_COORDINATE, 0.01, 0, 0, 0,
		 SL_RESTART_NOTHING, SL_REPULSION_GRID, 12},
		{"fitsne", 750, 250, 0, 0, SL_RATE_EARLY, SL_INIT_AUTO, 0.5, 0.8, 0, SL_GAINS_COORDINATE, 0.01, 0, 0, 5,
		 SL_RESTART_NOTHING, SL_REPULSION_AUTO, 12},
		{"opentsne", 750, 250, 0, 0, SL_RATE_PHASE, SL_INIT_AUTO, 0.8, 0.8, 0, SL_GAINS_COORDINATE, 0.01, 0.01, 0, 5,
		 SL_RESTART_VELOCITIES, SL_REPULSION_AUTO, 12},
		{"sklearn", 1000, 250, 0, 0, SL_RATE_EARLY, SL_INIT_AUTO, 0.5, 0.8, 0, SL_GAINS_COORDINATE, 0.01, 0, 0, 0,
		 SL_RESTART_ALL, SL_REPULSION_AUTO, 12},
		{"tsnecuda", 1000, 250, 0, 200, SL_RATE_PHASE, SL_INIT_RANDOM, 0.5, 0.8, 50, SL_GAINS_COORDINATE, 0.01, 0, 0, 0,
		 SL_RESTART_NOTHING, SL_REPULSION_AUTO, 12},
		{"sklearn_barnes_hut", 1000, 250, 0, 0, SL_RATE_EARLY, SL_INIT_AUTO, 0.5, 0.8, 0, SL_GAINS_COORDINATE,
		 0.01, 0, 0, 0, SL_RESTART_ALL, SL_REPULSION_BARNES_HUT, 12},
		{"tsnecuda1", 1000, 250, 0, 200, SL_RATE_PHASE, SL_INIT_RANDOM, 0.5, 0.8, 50, SL_GAINS_COORDINATE, 0.01, 0, 0,
		 0, SL_RESTART_NOTHING, SL_REPULSION_BARNES_HUT, 2},
	};
	const char *const *words = sl_params_find("preset")->words;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct sl_params p = fresh();
		assert_string_equal(words[i], row[i].name);
		assert_int_equal(sl_params_set(&p, "preset", row[i].name, NULL), 0);
		assert_int_equal(p.iterations, row[i].iterations);
		assert_true(p.learning_rate == row[i].learning_rate);
		assert_int_equal(p.learning_rate_rule, row[i].rule);
		assert_int_equal(p.init, row[i].init);
		assert_true(p.early_momentum == row[i].early_momentum && p.momentum == row[i].momentum);
		assert_true(p.perplexity.value[0] == row[i].perplexity);
		assert_true(p.exaggeration == row[i].exaggeration);
		assert_int_equal(p.exaggeration_iterations, row[i].exaggeration_iterations);
		assert_true(p.repulsion == row[i].repulsion && p.theta == 0.5);
		assert_true(p.rescale == row[i].rescale);
		assert_int_equal(p.gains, row[i].gains);
		assert_true(p.gain_least == row[i].gain_least && p.gain_added == row[i].gain_added);
		assert_true(p.rate_limit == row[i].rate_limit && p.max_step == row[i].max_step);
		assert_int_equal(p.restart, row[i].restart);
		assert_int_equal(sl_params_check(&p, NULL), 0);
		assert_int_equal(sl_params_check_input(&p, true, NULL), 0);
		assert_int_equal(sl_params_check_input(&p, false, NULL), 0);
	}
	assert_null(words[sizeof row / sizeof *row]);
}

static void axes_are_of_points(void **state)
{
	struct sl_params p = fresh();
	struct sl_error err;
	assert_int_equal(sl_params_set(&p, "init", "pca", NULL), 0);
	assert_int_equal(sl_params_check_input(&p, true, NULL), 0);
	assert_int_equal(sl_params_check_input(&p, false, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/init");
	assert_non_null(strstr(err.detail, "spectral"));
}

static void a_list_reads_back(void **state)
{
	struct sl_params p = fresh(), q = fresh();
	const struct sl_param_info *info = sl_params_find("perplexity");
	char text[SL_PARAM_TEXT_BYTES];
	assert_string_equal(sl_param_text(info, &p, text), "auto");
	assert_int_equal(sl_params_set(&p, "perplexity", "30,100.5", NULL), 0);
	assert_int_equal(p.perplexity.count, 2);
	assert_true(p.perplexity.value[0] == 30 && p.perplexity.value[1] == 100.5);
	assert_string_equal(sl_param_text(info, &p, text), "30,100.5");
	double eight[9] = {1.23456789012345e-300 + 1, 2, 3, 4, 5, 6, 999999.99999999988, 8, 9};
	assert_int_equal(sl_param_set_list(info, &p, eight, 8, NULL), 0);
	assert_int_equal(sl_params_set(&q, "perplexity", sl_param_text(info, &p, text), NULL), 0);
	assert_memory_equal(&p.perplexity, &q.perplexity, sizeof p.perplexity);
	struct sl_error err;
	assert_int_equal(sl_param_set_list(info, &p, eight, 9, &err), SL_BADPARAM);
	assert_int_equal(sl_param_set_list(info, &p, eight, 0, &err), SL_BADPARAM);
	assert_int_equal(sl_param_set_list(sl_params_find("dims"), &p, eight, 1, &err), SL_BADPARAM);
	assert_memory_equal(&p.perplexity, &q.perplexity, sizeof p.perplexity);
	assert_int_equal(sl_params_set(&p, "perplexity", "auto", NULL), 0);
	assert_int_equal(p.perplexity.count, 0);
}

static void lambda_is_of_graphs_and_perplexity_of_points(void **state)
{
	struct sl_params p = fresh();
	struct sl_error err;
	assert_int_equal(sl_params_check_input(&p, false, &err), 0);
	assert_int_equal(sl_params_check_input(&p, true, &err), 0);
	assert_int_equal(sl_params_set(&p, "lambda", "10", NULL), 0);
	assert_int_equal(sl_params_check_input(&p, false, &err), 0);
	assert_int_equal(sl_params_check_input(&p, true, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/lambda");
	p = fresh();
	assert_int_equal(sl_params_set(&p, "perplexity", "30", NULL), 0);
	assert_int_equal(sl_params_check_input(&p, true, &err), 0);
	assert_int_equal(sl_params_check_input(&p, false, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/perplexity");
	p = fresh();
	p.drop_leaf_edges = true;
	assert_int_equal(sl_params_check_input(&p, true, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/drop_leaf_edges");
}

static void contradictions_are_found(void **state)
{
	struct sl_params p = fresh();
	struct sl_error err;
	p.init_std = 0;
	assert_int_equal(sl_params_check(&p, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/init_std");
	p = fresh();
	p.dims = 3;
	p.grid_side = 4096;
	assert_int_equal(sl_params_check(&p, &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/grid_side");
	p.grid_side = 64;
	p.repulsion = SL_REPULSION_EXACT;
	assert_int_equal(sl_params_check(&p, &err), SL_BADPARAM);
	p = fresh();
	assert_int_equal(sl_params_check(&p, &err), 0);
}

static void only_what_can_be_steered_is(void **state)
{
	struct sl_params p = fresh(), changed = p;
	struct sl_error err;
	changed.late_exaggeration = 4;
	changed.iterations = 2000;
	assert_int_equal(sl_params_steer(&p, &changed, &err), 0);
	assert_true(p.late_exaggeration == 4 && p.iterations == 2000);
	changed.perplexity = (struct sl_param_list){1, {50}};
	assert_int_equal(sl_params_steer(&p, &changed, &err), SL_CONFLICT);
	assert_string_equal(err.pointer, "/perplexity");
	changed.perplexity = p.perplexity;
	changed.exaggeration = 3;
	changed.dims = 3;
	assert_int_equal(sl_params_steer(&p, &changed, &err), SL_CONFLICT);
	assert_string_equal(err.pointer, "/dims");
	assert_true(p.exaggeration == 12);  /* all or nothing */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_default_is_in_range_and_reads_back),
		cmocka_unit_test(values_out_of_range_are_refused_with_the_field_and_the_range),
		cmocka_unit_test(automatic_words_stand_for_their_values),
		cmocka_unit_test(the_published_preset_has_the_published_values),
		cmocka_unit_test(automatic_lengths_are_those_of_the_first_plan),
		cmocka_unit_test(longer_runs_pay_for_fewer_nodes),
		cmocka_unit_test(exaggeration_decays_by_equal_ratios),
		cmocka_unit_test(presets_have_their_programs_values),
		cmocka_unit_test(axes_are_of_points),
		cmocka_unit_test(a_list_reads_back),
		cmocka_unit_test(lambda_is_of_graphs_and_perplexity_of_points),
		cmocka_unit_test(contradictions_are_found),
		cmocka_unit_test(only_what_can_be_steered_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
