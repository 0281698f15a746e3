/* rm.c -- spaceland graph rm */
#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/server/http.h"

int cmd_graph_rm(struct cli *cli)
{
	int status = CLI_OK;
	/* continues after a failure */
	for (int i = 0; i < cli->argument_count && !cli_interrupted; i++) {
		int one = http_send(cli, "DELETE", http_path("graphs", cli->arguments[i], NULL, NULL), NULL, NULL);
		if (!one)
			cli_note(cli, "deleted %s", cli->arguments[i]);
		status = status ? status : one;
	}
	return status;
}
