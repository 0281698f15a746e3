/* list.c -- spaceland job list, spaceland queue */
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
					     "CREATED", "OWNER"};
	struct table *t = table_create(cli_owned(jobs) ? 11 : 10, 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8, titles);
	size_t i;
	json_t *job;
	json_array_foreach(jobs, i, job) {
		char nodes[24], iteration[48], kl[32] = "", time[24], created[24], owner[300];
		snprintf(iteration, sizeof iteration, "%.0f/%.0f", cli_number(job, "iteration"), cli_number(job, "iterations"));
		if (!isnan(cli_number(job, "kl")))
			snprintf(kl, sizeof kl, "%.4f", cli_without_minus(cli_number(job, "kl")));
		snprintf(created, sizeof created, "%.16s", cli_text(job, "created"));
		const char *const cells[] = {
			cli_text(job, "id"), cli_text(job, "graph"), cli_text(job, "name"), cli_text(job, "method"),
			cli_text(job, "state"),
			cli_count_text(cli_number(job, "nodes"), nodes), iteration, kl,
			cli_seconds_text(cli_number(job, "seconds"), time), created,
			cli_owner_text(job, owner, sizeof owner),
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

/* GET of the jobs that the options choose. */
static int get(struct cli *cli, const char *state, const char *sort, json_t **jobs)
{
	static const char *const names[] = {"state", "graph", "user", "sort"};
	const char *graph = cli_option(cli, "graph"), *user = cli_option(cli, "user");
	const char *const values[] = {state, graph, user, sort};
	char path[2048] = "/v1/jobs";
	size_t used = strlen(path);
	for (int i = 0; i < 4; i++) {
		char *text = values[i] ? cli_escape(values[i]) : NULL;
		if (text && used < sizeof path)
			used += (size_t)snprintf(path + used, sizeof path - used, "%c%s=%s", strchr(path, '?') ? '&' : '?',
						 names[i], text);
		free(text);
	}
	return http_list(cli, path, jobs);
}

int cmd_job_list(struct cli *cli)
{
	json_t *jobs = NULL;
	int status = get(cli, cli_option(cli, "state"), NULL, &jobs);
	if (!status && cli->json)
		status = cli_print_json(jobs);
	else if (!status && json_array_size(jobs)) {
		print(jobs);
		tell_expiry(cli, jobs);
	} else if (!status) {
		cli_note(cli, "no jobs");
	}
	json_decref(jobs);
	return status;
}

static void print_queue(struct cli *cli, const json_t *jobs)
{
	if (!json_array_size(jobs)) {
		cli_note(cli, "no jobs run or wait");
		return;
	}
	static const char *const titles[] = {"USER", "PROJECT", "JOB", "NAME", "STATE", "DEVICE", "POSITION", "WAITS FOR",
					     "TIME", "LEFT"};
	struct table *t = table_create(10, 1 << 6 | 1 << 8 | 1 << 9, titles);
	size_t i;
	json_t *job;
	json_array_foreach(jobs, i, job) {
		const json_t *waiting = json_object_get(job, "waiting");
		char owner[300], position[24] = "", time[24], left[24] = "";
		if (json_is_integer(json_object_get(waiting, "position")))
			snprintf(position, sizeof position, "%.0f", cli_number(waiting, "position"));
		if (!isnan(cli_number(job, "eta_seconds")))
			cli_seconds_text(cli_number(job, "eta_seconds"), left);
		const char *const cells[] = {
			cli_owner_text(job, owner, sizeof owner), cli_text(job, "project"), cli_text(job, "id"),
			cli_text(job, "name"), cli_text(job, "state"), cli_text(job, "device"), position,
			cli_text(waiting, "reason"), cli_seconds_text(cli_number(job, "seconds"), time), left,
		};
		table_row(t, cells);
	}
	table_print(t, stdout);
	table_destroy(t);
}

int cmd_queue(struct cli *cli)
{
	json_t *jobs = NULL;
	int status = get(cli, "queued,running,paused", "created", &jobs);
	return cli_print_reply(cli, status, jobs, print_queue);
}
