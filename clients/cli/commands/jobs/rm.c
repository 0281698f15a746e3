/* rm.c -- spaceland job rm. DELETE would cancel a job that has not ended, so the command reads the job's state
 * first. A job that ends in between is deleted, as requested. */
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/server/http.h"

static int remove_one(struct cli *cli, const char *id)
{
	json_t *job = NULL;
	int status = http_send(cli, "GET", http_path("jobs", id, NULL, NULL), NULL, &job);
	const char *state = cli_text(job, "state");
	if (!status && strcmp(state, "done") && strcmp(state, "failed") && strcmp(state, "cancelled"))
		status = cli_fail(CLI_REFUSED, "%s is %s; spaceland job cancel ends it", id, state);
	json_decref(job);
	if (!status)
		status = http_send(cli, "DELETE", http_path("jobs", id, NULL, NULL), NULL, NULL);
	if (!status)
		cli_note(cli, "deleted %s", id);
	return status;
}

int cmd_job_rm(struct cli *cli)
{
	int status = CLI_OK;
	/* continues after a failure */
	for (int i = 0; i < cli->argument_count && !cli_interrupted; i++) {
		int one = remove_one(cli, cli->arguments[i]);
		status = status ? status : one;
	}
	return status;
}
