/* job_fetch.c -- spaceland job fetch */
#include "clients/cli/common/cli.h"

int cmd_job_fetch(struct cli *cli)
{
	const char *layout = cli_option(cli, "output"), *picture = cli_option(cli, "picture");
	const char *trace = cli_option(cli, "trace");
	if (!layout && !picture && !trace)
		return cli_fail(CLI_USAGE, "job fetch: nothing to fetch; give -o, --picture or --trace with a file");
	int status = cli_job_fetch(cli, cli->arguments[0], layout, picture);
	const char *const files[] = {layout, picture, trace};
	for (int i = 0; !status && i < 3; i++)
		if (files[i])
			cli_note(cli, "wrote %s", files[i]);
	if (!status && cli->json) {
		json_t *object = json_pack("{s:s, s:s?, s:s?, s:s?}", "job", cli->arguments[0], "layout", layout, "picture",
					   picture, "trace", trace);
		status = cli_print_json(object);
		json_decref(object);
	}
	return status;
}
