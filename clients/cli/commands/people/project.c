/* project.c -- spaceland project ...: groups of users with common limits, a share of the devices, and access to what is
 * shared with them. */
#include <stdlib.h>
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/limits.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/http.h"

static int share_of(const char *text, json_t *body)
{
	char *end;
	double share = strtod(text, &end);
	if (end == text || *end || !(share > 0))
		return cli_fail(CLI_USAGE, "the share must be a number, not '%s'; 2 gets twice as much as 1", text);
	json_object_set_new(body, "share", json_real(share));
	return CLI_OK;
}

int cmd_project_add(struct cli *cli)
{
	const char *share = cli_option(cli, "share");
	json_t *members = json_array(), *body = json_pack("{s:s, s:o}", "name", cli->arguments[0], "members", members);
	for (int i = 1; i < cli->argument_count; i++)
		json_array_append_new(members, json_string(cli->arguments[i]));
	int status = share ? share_of(share, body) : CLI_OK;
	if (status) {
		json_decref(body);
		return status;
	}
	return http_change(cli, "POST", strdup("/v1/projects"), body);
}

static char *names_text(const json_t *names)
{
	char *text = NULL;
	size_t bytes, i;
	json_t *name;
	FILE *f = open_memstream(&text, &bytes);
	json_array_foreach((json_t *)names, i, name)
		if (f)
			fprintf(f, "%s%s", i ? ", " : "", json_string_value(name));
	if (f)
		fclose(f);
	return text;
}

int cmd_project_list(struct cli *cli)
{
	static const char *const titles[] = {"PROJECT", "SHARE", "MEMBERS"};
	json_t *reply = NULL, *project;
	size_t i;
	int status = http_get(cli, "/v1/projects", &reply);
	if (!status && cli->json) {
		status = cli_print_json(json_object_get(reply, "items"));
	} else if (!status) {
		struct table *t = table_create(3, 2, titles);
		json_array_foreach(json_object_get(reply, "items"), i, project) {
			char share[32], *members = names_text(json_object_get(project, "members"));
			snprintf(share, sizeof share, "%g", cli_number(project, "share"));
			table_row(t, (const char *[]){cli_text(project, "name"), share, members && *members ? members : NULL});
			free(members);
		}
		table_print(t, stdout);
		table_destroy(t);
	}
	json_decref(reply);
	return status;
}

static void print_project(struct cli *cli, const json_t *project)
{
	char *members = names_text(json_object_get(project, "members"));
	printf("%s, share %g\nmembers: %s\n", cli_text(project, "name"), cli_number(project, "share"),
	       members && *members ? members : "-");
	free(members);
	char time[24];
	double seconds = cli_number(project, "job_seconds");
	printf("jobs: %s; a job may be running %s%s\n", json_is_true(json_object_get(project, "keep")) ?
	       "kept by the server" : "deleted by the server's rules (spaceland admin retention)",
	       seconds > 0 ? "for " : "without limit of the project", seconds > 0 ? cli_seconds_text(seconds, time) : "");
	cli_print_limits(json_object_get(project, "limits"), json_object_get(project, "use"));
}

int cmd_project_show(struct cli *cli)
{
	json_t *project = NULL;
	int status = http_send(cli, "GET", http_path("projects", cli->arguments[0], NULL, NULL), NULL, &project);
	return cli_print_reply(cli, status, project, print_project);
}

int cmd_project_share(struct cli *cli)
{
	json_t *body = json_object();
	int status = share_of(cli->arguments[1], body);
	if (status) {
		json_decref(body);
		return status;
	}
	return http_change(cli, "PATCH", http_path("projects", cli->arguments[0], NULL, NULL), body);
}

int cmd_project_limits(struct cli *cli)
{
	json_t *limits = NULL;
	int status = cli_limits_json(cli, &limits);
	if (status)
		return status;
	json_t *body = json_pack("{s:o}", "limits", limits);
	return http_change(cli, "PATCH", http_path("projects", cli->arguments[0], NULL, NULL), body);
}

int cmd_project_member(struct cli *cli)
{
	const char *method = cli_option(cli, "remove") ? "DELETE" : "PUT";
	int status = CLI_OK;
	for (int i = 1; i < cli->argument_count && !status; i++)
		status = http_send(cli, method, http_path("projects", cli->arguments[0], "members", cli->arguments[i]),
				   NULL, NULL);
	return status;
}

int cmd_project_remove(struct cli *cli)
{
	return http_send(cli, "DELETE", http_path("projects", cli->arguments[0], NULL, NULL), NULL, NULL);
}
