/* method.c -- spaceland job NAME: a job of the method of this name, on the server. */

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/jobs.h"
#include "core/method/method.h"

/* Writes the parameters given as options into `params`. */
static int params_json(struct cli *cli, const struct sl_param_table *table, json_t *params)
{
	struct sl_method_params record;
	sl_param_defaults(table, &record);
	int status = cli_params_of(cli, table, &record);
	for (int i = 0; !status && i < cli->option_count; i++)
		if (cli->param[i] && cli->values[i])
			json_object_set_new(params, cli->param[i]->name, cli_param_json(cli->param[i], &record));
	return status;
}

int cmd_job_method(struct cli *cli)
{
	const struct sl_method *method = cli_method_of(cli->command);
	const char *name = cli_option(cli, "name"), *layout = cli_option(cli, "layout");
	json_t *params = json_object(), *record = NULL;
	char uploaded[64] = "";
	json_t *request = json_pack("{s:s, s:s, s:O}", "graph", cli->arguments[0], "method", method->name, "params",
				    params);
	int status = request ? params_json(cli, method->params, params) : cli_fail(CLI_FAILED, "out of memory");
	if (!status && layout)
		json_object_set_new(request, "input", json_pack("{s:s}", "job", layout));
	if (!status)
		status = cli_job_state(cli, request, uploaded);
	if (!status && cli_option(cli, "engine"))
		json_object_set_new(request, "engine", json_string(cli_option(cli, "engine")));
	if (!status && cli_option(cli, "after"))
		json_object_set_new(request, "after", json_string(cli_option(cli, "after")));
	if (!status && name)
		json_object_set_new(request, "name", json_string(name));
	if (!status)
		status = cli_job_request(cli, request, &record);
	cli_job_forget_state(cli, uploaded);
	if (!status)
		status = cli_job_submitted(cli, record);
	json_decref(record);
	json_decref(params);
	json_decref(request);
	return status;
}
