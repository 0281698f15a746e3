/* steer.c -- spaceland job steer */
#include "clients/cli/commands/commands.h"
#include "clients/cli/common/limits.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/jobs.h"

int cmd_job_steer(struct cli *cli)
{
	json_t *change = json_object(), *job = NULL;
	const char *name = cli_option(cli, "name");
	long priority = 0;
	int status = cli_params_json(cli, change);
	if (!status && cli_option(cli, "priority")) {
		status = cli_option_int(cli, "priority", -10, 10, &priority);
		json_object_set_new(change, "priority", json_integer(priority));
	}
	if (!status)
		status = cli_time_limit_json(cli, change);
	if (name)
		json_object_set_new(change, "name", json_string(name));
	if (!status && !json_object_size(change))
		status = cli_fail(CLI_USAGE, "job steer: nothing to change; see spaceland job steer --help");
	if (!status)
		status = cli_job_patch(cli, cli->arguments[0], change, &job);
	if (!status && cli->json)
		status = cli_print_json(job);
	else if (!status)
		cli_note(cli, "changed %s at iteration %.0f", cli->arguments[0], cli_number(job, "iteration"));
	json_decref(job);
	json_decref(change);
	return status;
}
