/* cmd_job_pause.c -- spaceland job pause */
#include "clients/cli/cli.h"

int cmd_job_pause(struct cli *cli)
{
	int status = CLI_OK;
	json_t *change = json_pack("{s:b}", "paused", 1), *all = json_array();
	for (int i = 0; i < cli->argument_count && !cli_interrupted; i++) {
		json_t *job = NULL;
		int one = cli_job_patch(cli, cli->arguments[i], change, &job);
		if (!one)
			cli_note(cli, "%s is %s", cli->arguments[i], cli_text(job, "state"));
		if (job)
			json_array_append_new(all, job);
		status = status ? status : one;
	}
	if (cli->json && json_array_size(all)) {
		int printed = cli_print_json(cli->argument_count == 1 ? json_array_get(all, 0) : all);
		status = status ? status : printed;
	}
	json_decref(all);
	json_decref(change);
	return status;
}
