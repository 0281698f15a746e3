/* graph.c -- uploading a graph. */
#include <stdlib.h>
#include <string.h>

#include "clients/cli/http.h"
#include "clients/cli/progress.h"

static void on_sent(void *arg, double sent, double total)
{
	progress_bytes(arg, sent, total);
	/* what follows happens on the server, and may take longer than the sending */
	if (sent >= total)
		progress_phase(arg, "the server reads the graph");
}

int cli_graph_upload(struct cli *cli, const char *path, json_t **reply)
{
	const char *format = cli_option(cli, "format"), *given = cli_option(cli, "name"), *slash = strrchr(path, '/');
	char *name = http_escape(given ? given : slash ? slash + 1 : path), *kind = http_escape(format ? format : "");
	char *url = NULL;
	struct progress progress;
	int status = CLI_OK;
	*reply = NULL;
	if (!name || !kind || asprintf(&url, "/v1/graphs?name=%s%s%s", name, format ? "&format=" : "", kind) < 0) {
		url = NULL;
		status = cli_fail(CLI_FAILED, "out of memory");
		goto out;
	}
	progress_init(&progress, cli, "upload");
	const struct http_request q = {
		.method = "POST", .path = url, .upload = path, .labels = cli_option(cli, "labels"), .input = path,
		.progress = on_sent, .arg = &progress,
	};
	/* an error message must not end up behind the bar */
	struct http_request silent = q;
	if (!progress.terminal)
		silent.progress = NULL;
	status = http_do(cli, &silent, reply);
	progress_finish(&progress, true);
	if (!status && !*cli_text(*reply, "id"))
		status = cli_fail(CLI_REFUSED, "the server's answer to the upload has no id");
out:
	free(name);
	free(kind);
	free(url);
	return status;
}
