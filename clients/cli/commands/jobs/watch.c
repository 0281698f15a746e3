/* watch.c -- spaceland job watch */
#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/server/jobs.h"

int cmd_job_watch(struct cli *cli)
{
	json_t *job = NULL;
	int status = cli_job_follow(cli, cli->arguments[0], false, &job);
	if (cli->json && job && status != CLI_INTERRUPTED) {
		int printed = cli_print_json(job);
		status = status ? status : printed;
	}
	json_decref(job);
	return status;
}
