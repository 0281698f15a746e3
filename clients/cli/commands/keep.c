/* keep.c -- what the server deletes by itself, and what not: spaceland job keep, project keep, admin retention. */
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/http.h"
#include "clients/cli/server/jobs.h"

int cmd_job_keep(struct cli *cli)
{
	bool keep = !cli_option(cli, "no");
	json_t *change = json_pack("{s:b}", "keep", keep), *all = json_array();
	int status = CLI_OK;
	for (int i = 0; i < cli->argument_count && !cli_interrupted; i++) {
		json_t *job = NULL;
		int one = cli_job_patch(cli, cli->arguments[i], change, &job);
		const char *expires = cli_text(job, "expires");
		if (!one)
			cli_note(cli, "%s %s%s%.16s", cli->arguments[i], keep ? "is kept" : "is no longer kept",
				 *expires ? "; it expires " : "", expires);
		if (job)
			json_array_append_new(all, job);
		status = status ? status : one;
	}
	if (cli->json && json_array_size(all)) {
		int printed = cli_print_json(cli->argument_count == 1 ? json_array_get(all, 0) : all);
		status = status ? status : printed;
	}
	json_decref(all);
	json_decref(change);
	return status;
}

int cmd_project_keep(struct cli *cli)
{
	json_t *body = json_pack("{s:b}", "keep", !cli_option(cli, "no"));
	return http_change(cli, "PATCH", http_path("projects", cli->arguments[0], NULL, NULL), body);
}

static void print_rule(const char *title, const json_t *rule)
{
	double seconds = cli_number(rule, "result_retention_s"), most = cli_number(rule, "max_finished_jobs");
	char text[48] = "without limit", number[48] = "any number";
	if (seconds > 0)
		snprintf(text, sizeof text, "%.10g s (%.4g days)", seconds, seconds / 86400);
	if (most > 0)
		snprintf(number, sizeof number, "%.0f", most);
	printf("%s: result_retention_s %s, max_finished_jobs %s\n", title, text, number);
}

static int confirm(struct cli *cli, const json_t *pending)
{
	json_t *body = json_pack("{s:O, s:O}", "result_retention_s", json_object_get(pending, "result_retention_s"),
				 "max_finished_jobs", json_object_get(pending, "max_finished_jobs"));
	int status = http_send(cli, "POST", strdup("/v1/retention"), body, NULL);
	if (!status)
		cli_note(cli, "confirmed: the server deletes %.0f results within a day", cli_number(pending, "jobs"));
	return status;
}

int cmd_admin_retention(struct cli *cli)
{
	json_t *reply = NULL;
	int status = http_get(cli, "/v1/retention", &reply);
	const json_t *pending = json_object_get(reply, "pending");
	if (!status && cli_option(cli, "confirm")) {
		status = json_is_object(pending) ? confirm(cli, pending) : CLI_OK;
		if (!json_is_object(pending))
			cli_note(cli, "nothing is to be confirmed");
	} else if (!status && cli->json) {
		status = cli_print_json(reply);
	} else if (!status) {
		print_rule("in force", reply);
		printf("expire within a day: %.0f jobs; within a week: %.0f; kept or with a public link: %.0f\n",
		       cli_number(reply, "expire_in_a_day"), cli_number(reply, "expire_in_a_week"),
		       cli_number(reply, "protected"));
		if (json_is_object(pending)) {
			print_rule("to be confirmed", pending);
			printf("It would delete %.0f more results within a day. Confirm by: spaceland admin retention --confirm\n",
			       cli_number(pending, "jobs"));
		}
	}
	json_decref(reply);
	return status;
}
