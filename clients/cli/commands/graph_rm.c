/* graph_rm.c -- spaceland graph rm */
#include <stdlib.h>

#include "clients/cli/server/http.h"

int cmd_graph_rm(struct cli *cli)
{
	int status = CLI_OK;
	/* one that cannot be deleted does not keep the others */
	for (int i = 0; i < cli->argument_count && !cli_interrupted; i++) {
		char path[256], *escaped = cli_escape(cli->arguments[i]);
		snprintf(path, sizeof path, "/v1/graphs/%.128s", escaped ? escaped : "");
		free(escaped);
		const struct http_request q = {.method = "DELETE", .path = path};
		int one = http_do(cli, &q, NULL);
		if (!one)
			cli_note(cli, "deleted %s", cli->arguments[i]);
		status = status ? status : one;
	}
	return status;
}
