/* embed.c -- spaceland embed: uploads a file, computes its layout and fetches it. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/layout.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/common/picture.h"
#include "clients/cli/local/local.h"
#include "clients/cli/server/http.h"
#include "clients/cli/server/jobs.h"

/* Seconds between two RFC 3339 times of a record, or NAN. */
static double between(const json_t *record, const char *from, const char *to)
{
	const char *const keys[2] = {from, to};
	double at[2];
	for (int i = 0; i < 2; i++) {
		int year, month, day, hour, minute;
		double second;
		if (sscanf(cli_text(record, keys[i]), "%d-%d-%dT%d:%d:%lf", &year, &month, &day, &hour, &minute, &second) != 6)
			return NAN;
		struct tm t = {.tm_year = year - 1900, .tm_mon = month - 1, .tm_mday = day, .tm_hour = hour, .tm_min = minute};
		at[i] = (double)timegm(&t) + second;
	}
	return at[1] - at[0];
}

static void tell_notes(const struct cli *cli, const json_t *job)
{
	size_t i;
	json_t *one;
	json_array_foreach(json_object_get(job, "notes"), i, one)
		cli_tell(cli, NULL, "%s", json_string_value(one) ? json_string_value(one) : "");
}

static void print_summary(const struct cli *cli, const json_t *graph, const json_t *job, double read_s, double total_s)
{
	char nodes[24], entries[24], reading[24], computing[24], total[24], kl[32] = "";
	if (!isnan(cli_number(job, "kl")))
		snprintf(kl, sizeof kl, ", KL %.4f", cli_without_minus(cli_number(job, "kl")));
	cli_note(cli, "%s nodes, %s entries; %.0f iterations%s; %s reading, %s computing, %s in all",
		 cli_count_text(cli_number(graph, "nodes"), nodes), cli_count_text(cli_number(graph, "entries"), entries),
		 cli_number(job, "iteration"), kl, cli_seconds_text(read_s, reading),
		 cli_seconds_text(cli_number(job, "seconds"), computing), cli_seconds_text(total_s, total));
}

static int print_object(const json_t *graph, const json_t *job, double read_s, double total_s, const char *layout,
			const char *picture)
{
	double prepare_s = cli_number(job, "preparation_seconds");
	double search_s = cli_number(json_object_get(graph, "neighbours"), "seconds");
	if (isnan(prepare_s))
		prepare_s = between(job, "created", "finished") - cli_number(job, "seconds");
	json_t *parameters = json_object_get(job, "parameters");
	json_t *object = json_pack("{s:s, s:s, s:O, s:O, s:O, s:O, s:O?, s:O?, s:{s:f, s:f, s:f, s:O, s:f}, s:s?, s:s?}",
		"graph", cli_text(graph, "id"), "job", cli_text(job, "id"),
		"nodes", json_object_get(graph, "nodes"), "entries", json_object_get(graph, "entries"),
		"dims", json_object_get(parameters, "dims"), "iterations", json_object_get(job, "iteration"),
		"kl", json_object_get(job, "kl"), "stop", json_object_get(job, "stop"),
		"seconds", "read", read_s, "search", search_s > 0 ? search_s : 0, "prepare", prepare_s > 0 ? prepare_s : 0,
		"embed", json_object_get(job, "seconds"), "total", total_s, "layout", layout, "picture", picture);
	if (!object)
		return cli_fail(CLI_REFUSED, "the server's records of graph and job are not complete");
	json_object_set(object, "resolved", json_object_get(job, "resolved"));
	return cli_print_result(object);
}

/* Fetches the graph's record again, after the search of neighbours. */
static void refresh(struct cli *cli, json_t **graph)
{
	char path[256];
	json_t *now = NULL;
	const struct http_request q = {.path = path, .quiet = true};
	snprintf(path, sizeof path, "/v1/graphs/%.128s", cli_text(*graph, "id"));
	if (http_do(cli, &q, &now) || !now)
		return;
	cli->searched = NULL;  /* it points into the record */
	json_decref(*graph);
	*graph = now;
}

enum { JOB_NAME_MOST = 200 };

/* The job is called as its graph, if the server takes that for a job. */
static const char *job_name(const char *graph)
{
	return strlen(graph) <= JOB_NAME_MOST ? graph : NULL;
}

static int embed_on_server(struct cli *cli, const char *layout, const char *picture)
{
	double start = cli_now();
	json_t *graph = NULL, *submitted = NULL, *job = NULL;
	int status = cli_files_upload(cli, cli->arguments, cli->argument_count, &graph, NULL);
	double read_s = cli_now() - start;
	if (!status)
		status = cli_job_submit(cli, cli_text(graph, "id"), job_name(cli_text(graph, "name")), &submitted);
	const char *id = cli_text(submitted, "id");
	if (!strcmp(cli_text(json_object_get(graph, "neighbours"), "state"), "searching"))
		cli->searched = cli_text(graph, "id");
	if (!status)
		cli_note(cli, "job %s", id);  /* with it, the result can be fetched if this program ends early */
	if (!status)
		status = cli_job_follow(cli, id, true, &job);
	bool done = !status;
	if (!status)
		status = cli_job_fetch(cli, id, layout, picture);
	if (status && done)
		cli_note(cli, "the layout is on the server: spaceland job fetch %s", id);
	double total_s = cli_now() - start;
	if (!status && cli->searched)
		refresh(cli, &graph);
	tell_notes(cli, job);
	if (!status && !cli->json) {
		print_summary(cli, graph, job, read_s, total_s);
		cli_note_written(cli, layout, picture);
		if (!layout && !picture)
			cli_note(cli, "the layout is on the server: spaceland job fetch %s -o layout.npy", id);
	}
	if (!status && cli->json)
		status = print_object(graph, job, read_s, total_s, layout, picture);
	json_decref(graph);
	json_decref(submitted);
	json_decref(job);
	return status;
}

int cmd_embed(struct cli *cli)
{
	const char *layout = cli_option(cli, "output"), *picture = cli_option(cli, "picture"), *format;
	struct sl_params params;
	struct cli_picture form;
	/* checks all options before reading any input */
	int status = cli_params(cli, &params);
	if (!status && layout)
		status = cli_layout_format(layout, &format);
	if (!status)
		status = cli_picture(cli, &form);
	if (!status)
		status = cli_output_check(cli, layout);
	if (!status)
		status = cli_output_check(cli, picture);
	if (!status && cli->json && ((layout && !strcmp(layout, "-")) || (picture && !strcmp(picture, "-"))))
		status = cli_fail(CLI_USAGE, "--json and a result cannot both go to standard output; name a file");
	if (status)
		return status;
	const char *pause = cli_option(cli, "pause-at");
	if (pause && strcmp(pause, "off") != 0 && strcmp(pause, "0") != 0)
		return cli_fail(CLI_USAGE, "--pause-at is for \"job submit\" and \"job steer\"; "
				"embed waits for the end of its job");
	if (cli_option(cli, "local") && cli_option(cli, "time-limit"))
		return cli_fail(CLI_USAGE, "--time-limit is a limit of jobs on a server; use --max-seconds with --local");
	if (cli_option(cli, "local"))
		return cli_embed_local(cli);
	static const char *const local[] = {"threads", "gpus"};
	for (int i = 0; i < 2; i++)
		if (cli_option(cli, local[i]))
			return cli_fail(CLI_USAGE, "--%s needs --local; the server has its own setting", local[i]);
	return embed_on_server(cli, layout, picture);
}
