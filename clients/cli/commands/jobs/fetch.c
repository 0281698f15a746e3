/* fetch.c -- spaceland job fetch */
#include <stdio.h>
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/layout.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/jobs.h"

#define ARRAYS_MOST 40

/* The options that fetch an array of a method's results; an option has the array's name. NULL-terminated. */
static const char *arrays[ARRAYS_MOST + 1];

static int fetch_arrays(struct cli *cli, json_t *told)
{
	int status = CLI_OK;
	for (int i = 0; !status && arrays[i]; i++) {
		const char *file = cli_option(cli, arrays[i]);
		if (file)
			status = cli_job_fetch_array(cli, cli->arguments[0], arrays[i], file);
		if (!status && file)
			cli_note(cli, "wrote %s", file);
		json_object_set_new(told, arrays[i], file ? json_string(file) : json_null());
	}
	return status;
}

static int nothing_to_fetch(int count)
{
	char options[600] = "";
	for (int i = 0; i < count; i++)
		snprintf(options + strlen(options), sizeof options - strlen(options), "%s--%s",
			 i < count - 1 ? ", " : " or ", arrays[i]);
	return cli_fail(CLI_USAGE, "job fetch: nothing to fetch; give -o, --picture, --trace%s with a file", options);
}

int cmd_job_fetch(struct cli *cli)
{
	const char *layout = cli_option(cli, "output"), *picture = cli_option(cli, "picture");
	const char *trace = cli_option(cli, "trace");
	bool any = layout || picture || trace;
	int count = cli_method_outputs(arrays, ARRAYS_MOST);
	for (int i = 0; arrays[i]; i++)
		any = any || cli_option(cli, arrays[i]);
	if (!any)
		return nothing_to_fetch(count);
	const char *const files[] = {layout, picture, trace};
	int status = CLI_OK;
	for (int i = 0; !status && i < 3; i++)
		status = cli_output_check(cli, files[i]);
	for (int i = 0; !status && arrays[i]; i++)
		status = cli_output_check(cli, cli_option(cli, arrays[i]));
	if (status)
		return status;
	json_t *told = json_pack("{s:s, s:s?, s:s?, s:s?}", "job", cli->arguments[0], "layout", layout, "picture", picture,
				 "trace", trace);
	status = told ? cli_job_fetch(cli, cli->arguments[0], layout, picture) : cli_fail(CLI_FAILED, "out of memory");
	for (int i = 0; !status && i < 3; i++)
		if (files[i])
			cli_note(cli, "wrote %s", files[i]);
	if (!status)
		status = fetch_arrays(cli, told);
	if (!status && cli->json)
		status = cli_print_json(told);
	json_decref(told);
	return status;
}
