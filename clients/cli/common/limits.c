/* limits.c -- limits of users and projects: reads arguments, prints a table. */
#include <stdlib.h>
#include <string.h>

#include "clients/cli/common/limits.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"

json_t *cli_limit_value(const char *text)
{
	static const struct {
		const char *unit;
		double factor;
	} units[] = {{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
		     {"TB", 1e12}, {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {"TiB", 1099511627776.0},
		     {"s", 1}, {"min", 60}, {"h", 3600}};
	char *end;
	double value = strtod(text, &end);
	if (!strcmp(text, "default"))
		return json_null();
	for (size_t i = 0; end != text && i < sizeof units / sizeof *units; i++) {
		double number = value * units[i].factor;
		if (!strcmp(end, units[i].unit) && number >= 0 && number <= 1e15)
			return number == (double)(json_int_t)number ? json_integer((json_int_t)number) : json_real(number);
	}
	return NULL;
}

void cli_project_json(const struct cli *cli, json_t *request)
{
	const char *project = cli_option(cli, "project");
	if (project)
		json_object_set_new(request, "project", strcmp(project, "none") ? json_string(project) : json_null());
}

int cli_time_limit_json(const struct cli *cli, json_t *request)
{
	const char *text = cli_option(cli, "time-limit");
	if (!text)
		return CLI_OK;
	json_t *seconds = strcmp(text, "none") ? cli_limit_value(text) : json_null();
	if (json_is_null(seconds) ? strcmp(text, "none") != 0 : !(json_number_value(seconds) > 0)) {
		json_decref(seconds);
		return cli_fail(CLI_USAGE, "--time-limit must be a time, for example 2h or 90min, or none, not '%s'", text);
	}
	json_object_set_new(request, "time_limit", seconds);
	return CLI_OK;
}

int cli_limits_json(struct cli *cli, json_t **out)
{
	json_t *limits = json_object();
	for (int i = 1; i < cli->argument_count; i++) {
		char *name = cli->arguments[i], *equals = strchr(name, '=');
		json_t *value = equals ? cli_limit_value(equals + 1) : NULL;
		if (!value) {
			json_decref(limits);
			return cli_fail(CLI_USAGE, "'%s' must be LIMIT=NUMBER, for example running_jobs=4, "
					"disk_bytes=20GB, device_seconds=2h or running_jobs=default", name);
		}
		*equals = '\0';
		json_object_set_new(limits, name, value);
	}
	*out = limits;
	return CLI_OK;
}

static void value_text(const char *name, const json_t *value, char out[32])
{
	const char *end = strrchr(name, '_');
	char text[24];
	snprintf(out, 32, "-");
	if (!json_is_number(value))
		return;
	if (end && !strcmp(end, "_bytes"))
		cli_bytes_text(json_number_value(value), text);
	else if (end && !strcmp(end, "_seconds"))
		cli_seconds_text(json_number_value(value), text);
	else
		snprintf(text, sizeof text, "%.6g", json_number_value(value));
	snprintf(out, 32, "%s", text);
}

void cli_print_in_force(const json_t *limits, const json_t *use, const char *user)
{
	static const char *const titles[] = {"LIMIT", "MOST", "USED", "WHOSE"};
	struct table *t = table_create(4, 6, titles);
	const char *name;
	json_t *one;
	json_object_foreach((json_t *)limits, name, one) {
		char most[32], used[32], whose[160] = "-";
		const char *of = cli_text(one, "of"), *option = cli_text(one, "option");
		value_text(name, json_object_get(one, "value"), most);
		value_text(name, json_object_get(use, name), used);
		if (!strcmp(of, "user"))
			snprintf(whose, sizeof whose, "%s's own", user);
		else if (*of)
			snprintf(whose, sizeof whose, "the server's (%s)", option);
		table_row(t, (const char *[]){name, most, used, whose});
	}
	table_print(t, stdout);
	table_destroy(t);
}

void cli_print_limits(const json_t *limits, const json_t *use)
{
	static const char *const titles[] = {"LIMIT", "MOST", "USED"};
	struct table *t = table_create(3, 6, titles);
	const char *name;
	json_t *value;
	json_object_foreach((json_t *)limits, name, value) {
		char most[32], used[32];
		value_text(name, value, most);
		value_text(name, json_object_get(use, name), used);
		table_row(t, (const char *[]){name, most, used});
	}
	table_print(t, stdout);
	table_destroy(t);
}
