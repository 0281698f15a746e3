/* Tests the table of daemon/jobs/machine.c: each pair of a stage and an event has an entry, and
 * docs/architecture.md lists its stages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/jobs/machine.h"

/* Each pair of a stage and an event has an entry, whatever the wish is; a refused event changes nothing; and a place, a
 * line and an end follow the stages, also in orders of events that cannot happen. */
static void test_pairs(void **state)
{
	(void)state;
	for (int stage = 0; stage < SL_STAGES; stage++) {
		assert_non_null(sl_stage_name(stage));
		for (int event = 0; event < SL_JOB_EVENTS; event++)
			for (int wish = 0; wish < SL_WISHES; wish++) {
				struct sl_machine m = {stage, wish, SL_JOB_QUEUED, SL_JOB_DONE};
				struct sl_transition s = sl_machine_step(&m, event);
				assert_int_equal(s.refused, !sl_stage_takes(stage, event));
				if (s.refused || !s.actions)
					assert_true(!s.refused || !memcmp(&s.to, &m, sizeof m));
				bool had = sl_stage_has_place(stage), has = sl_stage_has_place(s.to.stage);
				assert_int_equal(!!(s.actions & SL_DO_GIVE_PLACE), had && !has);
				assert_int_equal(!!(s.actions & SL_DO_TAKE_PLACE), !had && has);
				assert_true((int)s.to.wish == wish || event <= SL_ON_CANCEL || event == SL_ON_HELD);
			}
	}
	for (int event = 0; event < SL_JOB_EVENTS; event++)
		assert_non_null(sl_job_event_name[event]);
	assert_string_equal(sl_job_event_name[SL_ON_NOT_DELETED], "NOT_DELETED");
	assert_string_equal(sl_job_event_name[SL_ON_SENT], "SENT");
}

/* ---- the table in docs/architecture.md ---------------------------------------------------- */

static const char *seen(enum sl_stage stage)
{
	struct sl_machine m = {stage, SL_WISH_RUN, SL_JOB_STATES, SL_JOB_STATES};
	if (stage == SL_STAGE_STORING || stage == SL_STAGE_STORING_OLD || stage == SL_STAGE_PREPARING)
		return "queued, paused";
	if (stage == SL_STAGE_ENDED)
		return "done, failed, cancelled";
	if (stage == SL_STAGE_MOVING)
		return "as before, paused";
	for (int s = 0; s < SL_STAGES; s++)
		for (int e = 0; e < SL_JOB_EVENTS; e++)
			for (int wish = 0; wish < SL_WISHES; wish++) {
				m = (struct sl_machine){s, wish, SL_JOB_STATES, SL_JOB_STATES};
				struct sl_transition step = sl_machine_step(&m, e);
				if (s != (int)stage && step.to.stage == stage && step.to.state < SL_JOB_STATES)
					return sl_job_state_name[step.to.state];
			}
	return "as before";
}

/* The stages that may follow, in their order. */
static void followers(enum sl_stage stage, char *text, size_t room)
{
	bool follows[SL_STAGES] = {false};
	size_t used = 0;
	for (int e = 0; e < SL_JOB_EVENTS; e++)
		for (int wish = 0; wish < SL_WISHES; wish++) {
			struct sl_machine m = {stage, wish, SL_JOB_QUEUED, SL_JOB_DONE};
			follows[sl_machine_step(&m, e).to.stage] = true;
		}
	for (int s = 0; s < SL_STAGES; s++)
		if (follows[s] && s != (int)stage)
			used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "", sl_stage_name(s));
	if (!used)
		snprintf(text, room, "-");
}

static void test_document(void **state)
{
	const char *root = getenv("SPACELAND_ROOT");
	char path[4096], line[4096], expected[SL_STAGES][1024];
	bool found[SL_STAGES] = {false};
	(void)state;
	snprintf(path, sizeof path, "%s/docs/architecture.md", root ? root : ".");
	FILE *file = fopen(path, "r");
	if (!file)
		skip();
	for (int s = 0; s < SL_STAGES; s++) {
		char next[512];
		followers(s, next, sizeof next);
		snprintf(expected[s], sizeof expected[s], "| %s | %s | %s | %s | %s |\n", sl_stage_name(s), seen(s),
			 sl_stage_is_active(s) ? "yes" : sl_stage_has_place(s) ? "yes, idle" : "", sl_stage_meaning(s), next);
	}
	while (fgets(line, sizeof line, file))
		for (int s = 0; s < SL_STAGES; s++)
			found[s] = found[s] || !strcmp(line, expected[s]);
	fclose(file);
	bool all = true;
	for (int s = 0; s < SL_STAGES; s++)
		all = all && found[s];
	for (int s = 0; s < SL_STAGES && !all; s++)
		fprintf(stderr, "%s", expected[s]);
	if (!all)
		fail_msg("docs/architecture.md must contain the lines above");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_document),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
