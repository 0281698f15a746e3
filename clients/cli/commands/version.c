/* version.c -- spaceland version */
#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"

int cmd_version(struct cli *cli)
{
	if (cli->json) {
		json_t *object = json_pack("{s:s, s:s}", "name", "spaceland", "version", SL_VERSION);
		int status = cli_print_json(object);
		json_decref(object);
		return status;
	}
	puts("spaceland " SL_VERSION);
	return CLI_OK;
}
