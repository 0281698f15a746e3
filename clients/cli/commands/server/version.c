/* version.c -- spaceland version */
#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"

int cmd_version(struct cli *cli)
{
	if (cli->json)
		return cli_print_new_json(json_pack("{s:s, s:s}", "name", "spaceland", "version", SL_VERSION));
	puts("spaceland " SL_VERSION);
	return CLI_OK;
}
