/* names.c -- spaceland job names: the named clusters of a layout, and names by hand. */
#include <stdlib.h>
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/http.h"

/* CLUSTER=NAME; nothing behind the = takes the name back. */
static int set(struct cli *cli, const char *job, const char *text)
{
	const char *equals = strchr(text, '=');
	if (!equals || equals == text)
		return cli_fail(CLI_USAGE, "--set must be CLUSTER=NAME, such as 0-523=games, not '%s'", text);
	char *cluster = strndup(text, (size_t)(equals - text));
	json_t *body = json_pack("{s:o}", "name", equals[1] ? json_string(equals + 1) : json_null());
	int status = cluster ? http_send(cli, "PATCH", http_path("jobs", job, "clusters", cluster), body, NULL)
			     : cli_fail(CLI_FAILED, "out of memory");
	free(cluster);
	return status;
}

static char *path_of(struct cli *cli, const char *job)
{
	static const char *const option[][2] = {{"columns", "columns"}, {"of", "clusters_of"}};
	char *path = http_path("jobs", job, "clusters", NULL), *out = NULL;
	size_t bytes;
	FILE *f = path ? open_memstream(&out, &bytes) : NULL;
	if (f)
		fprintf(f, "%s?", path);
	for (int k = 0; f && k < 2; k++) {
		const char *value = cli_option(cli, option[k][0]);
		char *escaped = value ? cli_escape(value) : NULL;
		if (escaped)
			fprintf(f, "%s%s=%s", k ? "&" : "", option[k][1], escaped);
		free(escaped);
	}
	free(path);
	if (f)
		fclose(f);
	if (out && out[strlen(out) - 1] == '?')
		out[strlen(out) - 1] = '\0';
	return out;
}

static void show(const json_t *reply, long only)
{
	static const char *const titles[] = {"LEVEL", "CLUSTER", "NODES", "NAME", "BY"};
	struct table *t = table_create(5, 1, titles);
	json_t *level, *cluster;
	size_t i, k;
	json_array_foreach(json_object_get(reply, "levels"), i, level) {
		json_array_foreach(json_object_get(level, "clusters"), k, cluster) {
			char number[2][24];
			if (only >= 0 && (size_t)only != i)
				continue;
			snprintf(number[0], sizeof number[0], "%zu", i);
			snprintf(number[1], sizeof number[1], "%.0f", cli_number(cluster, "nodes"));
			const char *name = json_string_value(json_object_get(cluster, "name"));
			const char *by = json_string_value(json_object_get(cluster, "by"));
			bool given = json_is_true(json_object_get(cluster, "given"));
			const char *cells[] = {number[0], cli_text(cluster, "id"), number[1], name ? name : "-",
					       by ? by : given ? "hand" : "-"};
			table_row(t, cells);
		}
	}
	table_print(t, stdout);
}

int cmd_job_names(struct cli *cli)
{
	const char *job = cli->arguments[0], *text = cli_option(cli, "set"), *level = cli_option(cli, "level");
	long only = -1;
	json_t *reply = NULL;
	if (level && (strlen(level) != 1 || *level < '0' || *level > '2'))
		return cli_fail(CLI_USAGE, "--level must be 0, 1 or 2, not '%s'", level);
	if (level)
		only = *level - '0';
	int status = text ? set(cli, job, text) : CLI_OK;
	if (status || text)
		return status;
	char *path = path_of(cli, job);
	status = path ? http_get(cli, path, &reply) : cli_fail(CLI_FAILED, "out of memory");
	free(path);
	if (!status && cli->json)
		return cli_print_result(reply);
	if (!status)
		show(reply, only);
	if (!status && !json_array_size(json_object_get(reply, "levels")))
		cli_note(cli, "no cluster stands out of the layout");
	json_decref(reply);
	return status;
}
