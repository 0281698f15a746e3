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
		progress_phase(arg, "the server reads it");
}

/* Options that go into the query, under the same name but for the hyphens. */
static const char *const query_options[] = {"kind", "format", "metric", "metric-p", "neighbours", "recall", "pca",
					    "name-column", "label-column", "drop-not-finite", NULL};

/* "/v1/graphs?name=...", in a new string; NULL: out of memory. */
static char *upload_url(const struct cli *cli, const char *path)
{
	const char *given = cli_option(cli, "name"), *slash = strrchr(path, '/');
	char *name = http_escape(given ? given : slash ? slash + 1 : path), *url = NULL;
	if (!name || asprintf(&url, "/v1/graphs?name=%s", name) < 0)
		url = NULL;
	free(name);
	for (int i = 0; url && query_options[i]; i++) {
		const char *value = cli_option(cli, query_options[i]);
		char *longer = NULL, key[32], *escaped;
		if (!value)
			continue;
		snprintf(key, sizeof key, "%s", query_options[i]);
		for (char *c = key; *c; c++)
			if (*c == '-')
				*c = '_';
		escaped = http_escape(*value ? value : "true");
		if (!escaped || asprintf(&longer, "%s&%s=%s", url, key, escaped) < 0)
			longer = NULL;
		free(escaped);
		free(url);
		url = longer;
	}
	return url;
}

int cli_graph_upload(struct cli *cli, const char *path, json_t **reply)
{
	char *url = upload_url(cli, path);
	struct progress progress;
	int status;
	*reply = NULL;
	if (!url)
		return cli_fail(CLI_FAILED, "out of memory");
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
	free(url);
	return status;
}
