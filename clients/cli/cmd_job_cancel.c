/* cmd_job_cancel.c -- spaceland job cancel */
#include <stdlib.h>
#include <string.h>

#include "clients/cli/http.h"

/* DELETE cancels a job, but removes one that has ended; so this looks first. Between the two
 * requests a job may end and its results be deleted; the server has no way to ask for
 * cancelling alone, and who cancels does not want the result. */
static int cancel(struct cli *cli, const char *id)
{
	char path[256], *escaped = http_escape(id);
	json_t *job = NULL;
	snprintf(path, sizeof path, "/v1/jobs/%.128s", escaped ? escaped : "");
	free(escaped);
	int status = http_get(cli, path, &job);
	const char *state = cli_text(job, "state");
	if (!status && (!strcmp(state, "done") || !strcmp(state, "failed") || !strcmp(state, "cancelled"))) {
		status = cli_fail(CLI_REFUSED, "job %s has ended already (%s)", id, state);
	} else if (!status) {
		const struct http_request q = {.method = "DELETE", .path = path};
		status = http_do(cli, &q, NULL);
		if (!status)
			cli_note(cli, "cancelled %s", id);
	}
	json_decref(job);
	return status;
}

int cmd_job_cancel(struct cli *cli)
{
	int status = CLI_OK;
	for (int i = 0; i < cli->argument_count && !cli_interrupted; i++) {
		int one = cancel(cli, cli->arguments[i]);
		status = status ? status : one;
	}
	return status;
}
