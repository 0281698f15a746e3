/* keep.c -- what the server deletes by itself, and what not: spaceland job keep, project keep, admin retention;
 * and how long jobs of a project may run. */
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/limits.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/http.h"
#include "clients/cli/server/jobs.h"

static void tell_kept(struct cli *cli, const char *name, const json_t *job)
{
	const char *expires = cli_text(job, "expires");
	cli_note(cli, "%s %s%s%.16s", name, cli_option(cli, "no") ? "is no longer kept" : "is kept",
		 *expires ? "; it expires " : "", expires);
}

int cmd_job_keep(struct cli *cli)
{
	return cli_job_patch_all(cli, "keep", !cli_option(cli, "no"), tell_kept);
}

int cmd_project_keep(struct cli *cli)
{
	json_t *body = json_pack("{s:b}", "keep", !cli_option(cli, "no"));
	return http_change(cli, "PATCH", http_path("projects", cli->arguments[0], NULL, NULL), body);
}

int cmd_project_job_time(struct cli *cli)
{
	json_t *seconds = cli_limit_value(cli->arguments[1]);
	if (!json_is_number(seconds)) {
		json_decref(seconds);
		return cli_fail(CLI_USAGE, "the time must be like 2h or 90min, or 0 for no limit, not '%s'", cli->arguments[1]);
	}
	json_t *body = json_pack("{s:o}", "job_seconds", seconds);
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

/* Confirms two options; names: those of the options. */
static int confirm_one(struct cli *cli, const json_t *pending, const char *const names[2])
{
	if (!json_is_object(pending))
		return CLI_OK;
	json_t *body = json_pack("{s:O, s:O}", names[0], json_object_get(pending, names[0]), names[1],
				 json_object_get(pending, names[1]));
	int status = http_send(cli, "POST", strdup("/v1/retention"), body, NULL);
	if (!status)
		cli_note(cli, "%s and %s are confirmed", names[0], names[1]);
	return status;
}

static int confirm(struct cli *cli, const json_t *jobs, const json_t *state)
{
	static const char *const of_jobs[] = {"result_retention_s", "max_finished_jobs"};
	static const char *const of_state[] = {"max_state_bytes", "collect_after_s"};
	if (!json_is_object(jobs) && !json_is_object(state))
		cli_note(cli, "nothing is to be confirmed");
	int status = confirm_one(cli, jobs, of_jobs);
	return status ? status : confirm_one(cli, state, of_state);
}

static void print_state(const char *title, const json_t *state)
{
	char text[24];
	double bytes = cli_number(state, "max_state_bytes");
	printf("%s: max_state_bytes %s, collect_after_s %.10g\n", title,
	       bytes > 0 ? cli_bytes_text(bytes, text) : "without limit", cli_number(state, "collect_after_s"));
}

int cmd_admin_retention(struct cli *cli)
{
	json_t *reply = NULL;
	int status = http_get(cli, "/v1/retention", &reply);
	const json_t *pending = json_object_get(reply, "pending"), *state = json_object_get(reply, "state");
	const json_t *of_state = json_object_get(state, "pending");
	if (!status && cli_option(cli, "confirm")) {
		status = confirm(cli, pending, of_state);
	} else if (!status && cli->json) {
		status = cli_print_json(reply);
	} else if (!status) {
		print_rule("in force", reply);
		printf("expire within a day: %.0f jobs; within a week: %.0f; kept or with a public link: %.0f\n",
		       cli_number(reply, "expire_in_a_day"), cli_number(reply, "expire_in_a_week"),
		       cli_number(reply, "protected"));
		print_state("state folder", state);
		if (json_is_object(of_state)) {
			print_state("to be confirmed", of_state);
			printf("It would delete %.0f results and graphs now; spaceland admin gc --dry-run lists them. Confirm by: "
			       "spaceland admin retention --confirm\n", cli_number(of_state, "items"));
		}
		if (json_is_object(pending)) {
			print_rule("to be confirmed", pending);
			printf("It would delete %.0f results within a day, sooner than now. Confirm by: spaceland admin "
			       "retention --confirm\n", cli_number(pending, "jobs"));
		}
	}
	json_decref(reply);
	return status;
}
