/* job_list.c -- spaceland job list */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/http.h"

#define WEEK_S (7 * 86400)

static void print(const json_t *jobs)
{
	static const char *const titles[] = {"JOB", "GRAPH", "NAME", "METHOD", "STATE", "NODES", "ITERATION", "KL", "TIME",
					     "CREATED"};
	struct table *t = table_create(10, 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8, titles);
	size_t i;
	json_t *job;
	json_array_foreach(jobs, i, job) {
		char nodes[24], iteration[48], kl[32] = "", time[24], created[24];
		snprintf(iteration, sizeof iteration, "%.0f/%.0f", cli_number(job, "iteration"), cli_number(job, "iterations"));
		if (!isnan(cli_number(job, "kl")))
			snprintf(kl, sizeof kl, "%.4f", cli_without_minus(cli_number(job, "kl")));
		snprintf(created, sizeof created, "%.16s", cli_text(job, "created"));
		const char *const cells[] = {
			cli_text(job, "id"), cli_text(job, "graph"), cli_text(job, "name"), cli_text(job, "method"),
			cli_text(job, "state"),
			cli_count_text(cli_number(job, "nodes"), nodes), iteration, kl,
			cli_seconds_text(cli_number(job, "seconds"), time), created,
		};
		table_row(t, cells);
	}
	table_print(t, stdout);
	table_destroy(t);
}

/* Tells how many of them the server deletes soon. Times of the same form are in the order of their texts. */
static void tell_expiry(struct cli *cli, const json_t *jobs)
{
	char soon[32];
	time_t then = time(NULL) + WEEK_S;
	struct tm tm;
	size_t i, count = 0;
	json_t *job;
	strftime(soon, sizeof soon, "%Y-%m-%dT%H:%M:%S", gmtime_r(&then, &tm));
	json_array_foreach(jobs, i, job)
		count += json_is_string(json_object_get(job, "expires")) && strcmp(cli_text(job, "expires"), soon) < 0;
	if (count)
		cli_note(cli, "%zu of them expire%s within a week (spaceland job show); spaceland job keep JOB keeps one",
			 count, count == 1 ? "s" : "");
}

int cmd_job_list(struct cli *cli)
{
	char path[1024];
	json_t *jobs = NULL;
	const char *state = cli_option(cli, "state"), *graph = cli_option(cli, "graph");
	char *state_text = cli_escape(state ? state : ""), *graph_text = cli_escape(graph ? graph : "");
	snprintf(path, sizeof path, "/v1/jobs%s%s%s%s%s", state || graph ? "?" : "", state ? "state=" : "",
		 state && state_text ? state_text : "", graph ? (state ? "&graph=" : "graph=") : "",
		 graph && graph_text ? graph_text : "");
	free(state_text);
	free(graph_text);
	int status = http_list(cli, path, &jobs);
	if (!status && cli->json)
		status = cli_print_json(jobs);
	else if (!status && json_array_size(jobs)) {
		print(jobs);
		tell_expiry(cli, jobs);
	}
	else if (!status)
		cli_note(cli, "no jobs");
	json_decref(jobs);
	return status;
}
