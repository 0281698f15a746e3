/* job_show.c -- spaceland job show */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/server/http.h"

static void line(const char *title, const char *value)
{
	printf("%-24s %s\n", title, *value ? value : "-");
}

static void value(const char *title, const json_t *v)
{
	char text[64];
	if (json_is_string(v))
		snprintf(text, sizeof text, "%s", json_string_value(v));
	else if (json_is_number(v))
		snprintf(text, sizeof text, "%.9g", json_number_value(v));
	else
		snprintf(text, sizeof text, "%s", json_is_true(v) ? "yes" : json_is_false(v) ? "no" : "-");
	line(title, text);
}

static void print(const json_t *job)
{
	static const char *const keys[] = {"graph", "name", "state", "priority", "engine", "device", "created", "started",
					   "finished", "nodes", "kl", "gradient_norm", "iterations_per_second", "stop"};
	char text[64], time[24];
	const char *key;
	json_t *parameter;
	line("job", cli_text(job, "id"));
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		value(keys[i], json_object_get(job, keys[i]));
	snprintf(text, sizeof text, "%.0f of %.0f", cli_number(job, "iteration"), cli_number(job, "iterations"));
	line("iteration", text);
	line("compute time", cli_seconds_text(cli_number(job, "seconds"), time));
	if (!isnan(cli_number(job, "eta_seconds")))
		line("time left", cli_seconds_text(cli_number(job, "eta_seconds"), time));
	if (json_is_object(json_object_get(job, "problem")))
		line("problem", cli_text(json_object_get(job, "problem"), "detail"));
	puts("parameters");
	json_object_foreach(json_object_get(job, "parameters"), key, parameter) {
		snprintf(text, sizeof text, "  %s", key);
		value(text, parameter);
	}
}

int cmd_job_show(struct cli *cli)
{
	json_t *job = NULL;
	int status = http_send(cli, "GET", http_path("jobs", cli->arguments[0], NULL, NULL), NULL, &job);
	if (!status && cli->json)
		status = cli_print_json(job);
	else if (!status)
		print(job);
	json_decref(job);
	return status;
}
