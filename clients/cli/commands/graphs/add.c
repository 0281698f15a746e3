/* add.c -- spaceland graph add */
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/http.h"
#include "clients/cli/server/jobs.h"

/* The server keeps equal content once, with the name of its first upload. */
static void tell_name(const struct cli *cli, const char *path, const json_t *graph)
{
	const char *slash = strrchr(path, '/'), *name = json_string_value(json_object_get(graph, "name"));
	const char *wanted = cli_option(cli, "name") ? cli_option(cli, "name") : slash ? slash + 1 : path;
	if (name && strcmp(name, wanted) && strcmp(wanted, "-"))
		cli_tell(cli, path, "the server already has this content, with the name %s, which it keeps", name);
}

int cmd_graph_add(struct cli *cli)
{
	json_t *all = json_array();
	const char *columns = cli_option(cli, "columns");
	int status = CLI_OK, files = cli_option(cli, "together") ? 1 : cli->argument_count;
	if (files > 1 && cli_option(cli, "name"))
		status = cli_fail(CLI_USAGE, "--name takes one file, but several are given");
	if (!status && files > 1 && cli_option(cli, "labels"))
		status = cli_fail(CLI_USAGE, "--labels takes one file, but several are given");
	if (!status && files > 1 && columns)
		status = cli_fail(CLI_USAGE, "--columns takes one file, but several are given");
	for (int i = 0; !status && i < files; i++) {
		json_t *graph = NULL;
		bool made;
		status = files < cli->argument_count ? cli_files_upload(cli, cli->arguments, cli->argument_count, &graph,
				&made) :
						       cli_graph_upload(cli, cli->arguments[i], &graph, &made);
		if (status)
			break;
		if (!made && files == cli->argument_count)
			tell_name(cli, cli->arguments[i], graph);
		if (columns) {
			json_t *reply = NULL;
			status = cli_columns_set(cli, cli_text(graph, "id"), columns, NULL, NULL, NULL, &reply);
			json_decref(reply);
		}
		if (!cli->json)
			printf("%s\n", cli_text(graph, "id"));
		json_array_append_new(all, graph);
	}
	if (!status && cli->json)
		status = cli_print_json(files == 1 ? json_array_get(all, 0) : all);
	json_decref(all);
	return status;
}
