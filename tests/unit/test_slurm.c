/* Engine slurm without Slurm: the stages of an allocation, listings of the queue, what sbatch gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/slurm/slurm_internal.h"

/* ---- stages ------------------------------------------------------------------------------------ */

static enum sl_allocation_stage after(enum sl_allocation_stage from, int event)
{
	return sl_allocation_step(from, event).to;
}

static unsigned actions(enum sl_allocation_stage from, int event)
{
	return sl_allocation_step(from, event).actions;
}

#define LISTED(state) (SL_ALLOCATION_ON_LISTED + (state))

static void no_listing_ends_a_connected_worker(void **state)
{
	for (int s = 0; s < SL_SLURM_STATES; s++) {
		assert_int_equal(after(SL_ALLOCATION_LIVE, LISTED(s)), SL_ALLOCATION_LIVE);
		assert_int_equal(actions(SL_ALLOCATION_LIVE, LISTED(s)), 0);
	}
}

static void no_answer_ends_nothing(void **state)
{
	for (int stage = 0; stage < SL_ALLOCATION_ENDED; stage++)
		assert_int_not_equal(after(stage, SL_ALLOCATION_ON_NO_ANSWER), SL_ALLOCATION_ENDED);
	/* the listing after it tells whether Slurm has it */
	assert_int_equal(after(SL_ALLOCATION_UNSURE, LISTED(SL_SLURM_WAITS)), SL_ALLOCATION_QUEUED);
	assert_int_equal(after(SL_ALLOCATION_UNSURE, LISTED(SL_SLURM_MISSING)), SL_ALLOCATION_ENDED);
}

static void a_requeued_allocation_waits_again(void **state)
{
	enum sl_allocation_stage at = after(SL_ALLOCATION_LIVE, SL_ALLOCATION_ON_LOST);
	assert_int_equal(at, SL_ALLOCATION_AWAY);
	at = after(at, LISTED(SL_SLURM_WAITS));
	assert_int_equal(at, SL_ALLOCATION_QUEUED);
	at = after(at, LISTED(SL_SLURM_RUNS));
	assert_int_equal(at, SL_ALLOCATION_STARTED);
	assert_int_equal(after(at, SL_ALLOCATION_ON_CAME), SL_ALLOCATION_LIVE);
}

static void jobs_follow_a_cancelled_allocation_only(void **state)
{
	for (int stage = 0; stage < SL_ALLOCATION_STAGES; stage++)
		for (int event = 0; event < SL_ALLOCATION_EVENTS; event++) {
			bool may = event == LISTED(SL_SLURM_CANCELLED) && stage != SL_ALLOCATION_ENDING &&
				   stage != SL_ALLOCATION_ENDED && stage != SL_ALLOCATION_LIVE && stage != SL_ALLOCATION_ASKING;
			assert_int_equal(!!(actions(stage, event) & SL_ALLOCATION_DO_FOLLOW), may);
		}
}

static void an_unwanted_allocation_is_cancelled_until_it_has_ended(void **state)
{
	assert_int_equal(actions(SL_ALLOCATION_QUEUED, SL_ALLOCATION_ON_UNWANTED), SL_ALLOCATION_DO_CANCEL);
	assert_int_equal(actions(SL_ALLOCATION_LIVE, SL_ALLOCATION_ON_UNWANTED), SL_ALLOCATION_DO_DISMISS);
	/* its number is not known yet: it is cancelled as soon as it is */
	assert_int_equal(after(SL_ALLOCATION_ASKING, SL_ALLOCATION_ON_UNWANTED), SL_ALLOCATION_ENDING);
	assert_int_equal(actions(SL_ALLOCATION_ENDING, SL_ALLOCATION_ON_SUBMITTED), SL_ALLOCATION_DO_CANCEL);
	assert_int_equal(actions(SL_ALLOCATION_ENDING, LISTED(SL_SLURM_RUNS)), SL_ALLOCATION_DO_CANCEL);
	assert_int_equal(after(SL_ALLOCATION_ENDING, LISTED(SL_SLURM_RUNS)), SL_ALLOCATION_ENDING);
	assert_int_equal(after(SL_ALLOCATION_ENDING, LISTED(SL_SLURM_MISSING)), SL_ALLOCATION_ENDED);
}

/* Whatever comes in whatever order, an allocation that Slurm has ended and whose worker is gone ends. */
static void each_sequence_can_end(void **state)
{
	unsigned random = 1;
	for (int i = 0; i < 200000; i++) {
		enum sl_allocation_stage at = SL_ALLOCATION_ASKING;
		for (int k = 0; k < 12; k++) {
			random = random * 1103515245u + 12345u;
			at = after(at, (int)(random >> 16) % SL_ALLOCATION_EVENTS);
		}
		at = after(at, SL_ALLOCATION_ON_NO_ANSWER);
		at = after(at, SL_ALLOCATION_ON_LOST);
		assert_int_equal(after(at, LISTED(SL_SLURM_MISSING)), SL_ALLOCATION_ENDED);
	}
}

static void words_of_later_versions_are_not_dead(void **state)
{
	assert_int_equal(sl_slurm_state("PENDING"), SL_SLURM_WAITS);
	assert_int_equal(sl_slurm_state("NODE_FAIL"), SL_SLURM_NODE_FAILED);
	assert_int_equal(sl_slurm_state("EXPEDITING"), SL_SLURM_RUNS);
}

/* ---- listings ----------------------------------------------------------------------------------- */

static void a_listing_is_read(void **state)
{
	const char *at = "12|spaceland-abcdefgh-01|PENDING|1795877127|N/A||Nodes required for job are DOWN, DRAINED or | "
			 "reserved\n"
			 "no job|at all\n"
			 "\n"
			 "13|wrap|RUNNING|1795877000|1795877060|n[1-2]|None\n"
			 "14|x|PENDING|N/A|N/A||Priority";
	struct sl_squeue_line line;
	assert_true(sl_squeue_next(&at, &line));
	assert_int_equal(line.id, 12);
	assert_string_equal(line.name, "spaceland-abcdefgh-01");
	assert_int_equal(line.state, SL_SLURM_WAITS);
	assert_int_equal(line.start_s, 1795877127);
	assert_string_equal(line.node, "");
	assert_string_equal(line.reason, "Nodes required for job are DOWN, DRAINED or | reserved");
	assert_true(sl_squeue_next(&at, &line));
	assert_int_equal(line.state, SL_SLURM_RUNS);
	assert_int_equal(line.end_s - line.start_s, 60);
	assert_string_equal(line.node, "n[1-2]");
	assert_true(sl_squeue_next(&at, &line));
	assert_int_equal(line.start_s, 0);
	assert_false(sl_squeue_next(&at, &line));
}

static void a_hold_of_slurm_is_no_hold_of_people(void **state)
{
	const char *at = "12|x|PENDING|N/A|N/A||launch failed requeued held\n13|x|PENDING|N/A|N/A||JobHeldUser\n";
	struct sl_squeue_line line;
	assert_true(sl_squeue_next(&at, &line));
	assert_true(sl_squeue_is_stuck(&line));
	assert_true(sl_squeue_next(&at, &line));
	assert_false(sl_squeue_is_stuck(&line));
}

/* ---- what sbatch gets ---------------------------------------------------------------------------- */

static bool has(const struct sl__arguments *a, const char *text)
{
	for (int i = 0; i < a->count; i++)
		if (!strcmp(a->argv[i], text))
			return true;
	return false;
}

static void sbatch_gets_what_the_options_say(void **state)
{
	struct sl_config config;
	struct sl_error err;
	struct sl__allocation a = {.name = "spaceland-abcdefgh-01", .token = "spw_secret",
				   .need = {.user = "ann b\"; rm -rf /", .project = "genes", .bytes = 4ull << 30, .job = "01J"}};
	struct sl__arguments out;
	assert_int_equal(sl_config_init(&config, &err), 0);
	assert_int_equal(sl_config_set(&config, "slurm_partition", "gpu", &err), 0);
	assert_int_equal(sl_config_set(&config, "slurm_account", "lab, genes=g123", &err), 0);
	assert_int_equal(sl_config_set(&config, "slurm_time_s", "90", &err), 0);
	assert_int_equal(sl_config_set(&config, "slurm_arguments", "  --exclusive --constraint=a100 ", &err), 0);
	assert_int_equal(sl_config_set(&config, "slurm_prologue", "module load cuda/12", &err), 0);
	assert_int_equal(sl_config_set(&config, "slurm_cache_dir", "$TMPDIR/spaceland", &err), 0);
	assert_int_equal(sl_config_set(&config, "slurm_bin_dir", "/opt/slurm/bin", &err), 0);
	const struct sl__script script = {.config = &config, .a = &a, .place = "head:7072", .pin = "sha256:00",
					  .program = "/opt/it's/spacelandd"};
	assert_true(sl__script_arguments(&script, &out));
	assert_string_equal(out.argv[0], "/opt/slurm/bin/sbatch");
	assert_true(has(&out, "--partition=gpu") && has(&out, "--account=g123") && has(&out, "--time=2"));
	assert_true(has(&out, "--mem=5376M"));
	assert_true(has(&out, "--exclusive") && has(&out, "--constraint=a100") && has(&out, "--requeue"));
	assert_true(has(&out, "--comment=spaceland job 01J of ann_b___rm_-rf__"));
	char *text = sl__script_text(&script);
	assert_non_null(strstr(text, "#!/bin/bash -l\n"));
	assert_non_null(strstr(text, "\nmodule load cuda/12\nexec '/opt/it'\\''s/spacelandd' --worker --connect "
			       "'head:7072' --pin sha256:00 --token-file /dev/fd/3 --engine cuda"));
	assert_non_null(strstr(text, "--cache-dir \"$TMPDIR/spaceland\" 3<<END\n$token\nEND\n"));
	assert_null(strstr(text, "spw_secret"));
	for (int i = 0; i < out.count; i++)
		assert_null(strstr(out.argv[i], "spw_secret"));
	free(text);
	sl__arguments_finish(&out);
	sl_config_finish(&config);
}

static void gpus_of_gres(void **state)
{
	assert_int_equal(sl__script_gpus(""), 0);
	assert_int_equal(sl__script_gpus("gpu"), 1);
	assert_int_equal(sl__script_gpus("gpu:a100:2,lustre:1"), 2);
	assert_int_equal(sl__script_gpus("gpu:1g.10gb:3"), 3);
	assert_int_equal(sl__script_gpus("gpufoo:3"), 0);
}

static void accounts_of_projects(void **state)
{
	char out[32];
	sl__script_account("genes=g1, lab, cells=c1", "cells", out, sizeof out);
	assert_string_equal(out, "c1");
	sl__script_account("genes=g1, lab, cells=c1", "other", out, sizeof out);
	assert_string_equal(out, "lab");
	sl__script_account("", "other", out, sizeof out);
	assert_string_equal(out, "");
}

static void slurmrestd_gets_what_sbatch_gets(void **state)
{
	char *argv[] = {"sbatch", "--parsable", "--job-name=x", "--requeue", "--mem=1024M", "--cpus-per-task=2",
			"--time=10", "--gres=gpu:2", "--signal=B:TERM@60", "--export=PATH", "--comment=it is \"so\"",
			"--mail-user=a"};
	struct sl__arguments a = {.count = sizeof argv / sizeof *argv};
	memcpy(a.argv, argv, sizeof argv);
	setenv("PATH", "/bin", 1);
	unsetenv("HOME");
	char *text = sl__rest_description(&a, "#!/bin/sh\n", "spw_x");
	assert_string_equal(text, "{\"job\":{\"name\":\"x\",\"requeue\":true,\"memory_per_node\":1024,"
			    "\"cpus_per_task\":2,\"time_limit\":10,\"gres\":\"gpu:2\",\"comment\":\"it is \\\"so\\\"\","
			    "\"mail_user\":\"a\",\"environment\":{\"PATH\":\"/bin\",\"SPACELAND_WORKER_TOKEN\":\"spw_x\"}},"
			    "\"script\":\"#!/bin/sh\\n\"}");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_listing_ends_a_connected_worker),
		cmocka_unit_test(no_answer_ends_nothing),
		cmocka_unit_test(a_requeued_allocation_waits_again),
		cmocka_unit_test(jobs_follow_a_cancelled_allocation_only),
		cmocka_unit_test(an_unwanted_allocation_is_cancelled_until_it_has_ended),
		cmocka_unit_test(each_sequence_can_end),
		cmocka_unit_test(words_of_later_versions_are_not_dead),
		cmocka_unit_test(a_listing_is_read),
		cmocka_unit_test(a_hold_of_slurm_is_no_hold_of_people),
		cmocka_unit_test(sbatch_gets_what_the_options_say),
		cmocka_unit_test(gpus_of_gres),
		cmocka_unit_test(accounts_of_projects),
		cmocka_unit_test(slurmrestd_gets_what_sbatch_gets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
