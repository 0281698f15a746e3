/* predict.c -- spaceland job predict: new points under the model of a job; spaceland job sample: points drawn from
 * it. */
#include <stdlib.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/layout.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/http.h"

/* Makes the path /v1/jobs/ID/what?format=..., with those of `options` that are given. */
static int path_of(struct cli *cli, const char *what, const char *const *options, char **path)
{
	const char *format, *output = cli_option(cli, "output");
	char *escaped = cli_escape(cli->arguments[0]);
	size_t bytes;
	*path = NULL;
	int status = output ? cli_layout_format(output, &format) :
			      cli_fail(CLI_USAGE, "job %s has nothing to write: give -o", what);
	if (!status)
		status = cli_output_check(cli, output);
	FILE *f = status ? NULL : open_memstream(path, &bytes);
	if (!status && (!f || !escaped))
		status = cli_fail(CLI_FAILED, "out of memory");
	if (!status)
		fprintf(f, "/v1/jobs/%.128s/%s?format=%s", escaped, what, format);
	for (int i = 0; !status && options[i]; i++) {
		char *value = cli_option(cli, options[i]) ? cli_escape(cli_option(cli, options[i])) : NULL;
		if (value)
			fprintf(f, "&%s=%s", options[i], value);
		free(value);
	}
	if (f && fclose(f) && !status)
		status = cli_fail(CLI_FAILED, "out of memory");
	free(escaped);
	return status;
}

static int fetch(struct cli *cli, const char *what, const char *const *options, const char *upload)
{
	const char *output = cli_option(cli, "output");
	char *path;
	int status = path_of(cli, what, options, &path);
	const struct http_request q = {.method = upload ? "POST" : "GET", .path = path, .upload = upload, .input = upload,
				       .accept = "*/*"};
	if (!status)
		status = http_fetch(cli, &q, output);
	if (!status)
		cli_note(cli, "wrote %s", output);
	free(path);
	return status;
}

int cmd_job_predict(struct cli *cli)
{
	static const char *const options[] = {"give", NULL};
	return fetch(cli, "predict", options, cli->arguments[1]);
}

int cmd_job_sample(struct cli *cli)
{
	static const char *const options[] = {"give", "count", "seed", NULL};
	long number;
	int status = cli_option_int(cli, "count", 1, 100000000, &number);
	if (!status)
		status = cli_option_int(cli, "seed", 0, 9007199254740991, &number);
	return status ? status : fetch(cli, "sample", options, NULL);
}
