/* show.c -- spaceland job show */
#include <math.h>
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/server/http.h"
#include "core/method/method.h"

static void line(const char *title, const char *value)
{
	printf("%-26s %s\n", title, *value ? value : "-");
}

static const char *value_text(const json_t *v, char *text, size_t bytes)
{
	size_t i, used = 0;
	json_t *number;
	if (json_is_array(v) && json_array_size(v)) {
		json_array_foreach(v, i, number)
			if (used < bytes)
				used += (size_t)snprintf(text + used, bytes - used, "%s%.9g", i ? "," : "",
							 json_number_value(number));
	} else if (json_is_string(v))
		snprintf(text, bytes, "%s", json_string_value(v));
	else if (json_is_number(v))
		snprintf(text, bytes, "%.9g", json_number_value(v));
	else
		snprintf(text, bytes, "%s", json_is_true(v) ? "yes" : json_is_false(v) ? "no" : "-");
	return text;
}

static void value(const char *title, const json_t *v)
{
	char text[256];
	line(title, value_text(v, text, sizeof text));
}

/* Prints a parameter as given. If that is auto, prints also the resolved value, once the job has one. */
static void parameter_line(const char *name, const json_t *given, const json_t *resolved)
{
	char title[64], force[256], text[300];
	snprintf(title, sizeof title, "  %s", name);
	if (json_is_string(given) && !strcmp(json_string_value(given), "auto") && resolved && !json_is_null(resolved)) {
		snprintf(text, sizeof text, "auto: %s", value_text(resolved, force, sizeof force));
		line(title, text);
	} else {
		value(title, given);
	}
}

/* Prints the results that the method reports, one line per row. */
static void table(const struct sl_method *method, const json_t *rows)
{
	size_t i;
	json_t *row;
	json_array_foreach(rows, i, row) {
		printf("%-26s", i ? "" : method->table);
		for (const struct sl_method_column *c = method->columns; c->name; c++) {
			const json_t *of_row = json_object_get(row, c->name);
			printf("%s %s ", c == method->columns ? "" : ",", c->name);
			if (c->type == SL_TABLE_BOOL)
				fputs(json_is_true(of_row) ? "yes" : "no", stdout);
			else
				printf("%.9g", json_number_value(of_row));
		}
		putchar('\n');
	}
}

/* The allocation of a cluster in which it runs, or ran last (engine slurm). */
static void allocation(const json_t *a)
{
	char text[200];
	if (!json_is_object(a))
		return;
	snprintf(text, sizeof text, "job %.0f of Slurm on %.80s; %.3g hours, %.3g GPU hours", cli_number(a, "slurm_job"),
		 cli_text(a, "node"), cli_number(a, "hours"), cli_number(a, "gpu_hours"));
	line("allocation", text);
}

static void print(struct cli *cli, const json_t *job)
{
	static const char *const keys[] = {"graph", "name", "state", "priority", "engine", "device", "created", "started",
					   "finished", "time_limit", "expires", "nodes", "method", "iterations_per_second", "stop"};
	const struct sl_method *method = sl_method_find(cli_text(job, "method"));
	char text[64], time[24];
	const char *key;
	json_t *parameter;
	line("job", cli_text(job, "id"));
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		value(keys[i], json_object_get(job, keys[i]));
	if (json_is_false(json_object_get(job, "may_change")))
		line("rights", "read only; its owners and administrators may change it");
	if (json_is_true(json_object_get(job, "keep")))
		line("keep", "yes");
	snprintf(text, sizeof text, "%.0f of %.0f", cli_number(job, "iteration"), cli_number(job, "iterations"));
	line("iteration", text);
	line("compute time", cli_seconds_text(cli_number(job, "seconds"), time));
	if (!isnan(cli_number(job, "eta_seconds")))
		line("time left", cli_seconds_text(cli_number(job, "eta_seconds"), time));
	allocation(json_object_get(job, "allocation"));
	if (json_is_object(json_object_get(job, "waiting")))
		line("waits", cli_text(json_object_get(job, "waiting"), "detail"));
	if (json_is_object(json_object_get(job, "problem")))
		line("problem", cli_text(json_object_get(job, "problem"), "detail"));
	if (method)
		value(method->measure, json_object_get(job, method->measure));
	if (method && method->traces_layout)
		value("gradient_norm", json_object_get(job, "gradient_norm"));
	if (method && method->table)
		table(method, json_object_get(job, method->table));
	puts("parameters");
	json_object_foreach(json_object_get(job, "parameters"), key, parameter)
		parameter_line(key, parameter, json_object_get(json_object_get(job, "resolved"), key));
}

int cmd_job_show(struct cli *cli)
{
	json_t *job = NULL;
	int status = http_send(cli, "GET", http_path("jobs", cli->arguments[0], NULL, NULL), NULL, &job);
	return cli_print_reply(cli, status, job, print);
}
