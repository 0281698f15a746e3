/* cmd_job_cancel.c -- spaceland job cancel. PATCH, not DELETE, which would delete a job that has ended meanwhile. */
#include "clients/cli/cli.h"

int cmd_job_cancel(struct cli *cli)
{
	int status = CLI_OK;
	json_t *change = json_pack("{s:b}", "cancelled", 1);
	for (int i = 0; i < cli->argument_count && !cli_interrupted; i++) {
		json_t *job = NULL;
		int one = cli_job_patch(cli, cli->arguments[i], change, &job);
		if (!one)
			cli_note(cli, "%s is %s", cli->arguments[i], cli_text(job, "state"));
		json_decref(job);
		status = status ? status : one;
	}
	json_decref(change);
	return status;
}
