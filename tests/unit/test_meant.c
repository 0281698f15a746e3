/* "Did you mean": finds the known word for a mistyped one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/meant.h"

static const char *meant_by(const char *word)
{
	static const char *const known[] = {
		"perplexity", "learning_rate", "exaggeration", "late_exaggeration", "dims", "init", "k",
	};
	struct sl_meant meant;
	sl_meant_init(&meant, word);
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		sl_meant_try(&meant, known[i]);
	return sl_meant_word(&meant);
}

static void slips_are_understood(void **state)
{
	static const char *const slips[][2] = {
		{"perplexty", "perplexity"}, {"preplexity", "perplexity"}, {"Perplexity", "perplexity"},
		{"learning-rate", "learning_rate"},
		{"leraning_rate", "learning_rate"}, {"perp", "perplexity"}, {"dmis", "dims"}, {"dim", "dims"}, {"int", "init"},
		{"exagerration", "exaggeration"}, {"late_exagg", "late_exaggeration"},
	};
	for (size_t i = 0; i < sizeof slips / sizeof *slips; i++) {
		const char *found = meant_by(slips[i][0]);
		if (!found || strcmp(found, slips[i][1]))
			fail_msg("%s: %s", slips[i][0], found ? found : "nothing");
	}
}

static void other_words_mean_nothing(void **state)
{
	static const char *const others[] = {
		"", "x", "ab", "colour", "iterations", "not_near_to_anything",
		"a_word_that_is_longer_than_any_name_of_a_parameter_or_of_an_option_could_ever_be",
	};
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_null(meant_by(others[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slips_are_understood),
		cmocka_unit_test(other_words_mean_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
