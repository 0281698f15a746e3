/* submit.c -- spaceland job submit */
#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/jobs.h"

static int print_estimate(const struct cli *cli, const json_t *estimate)
{
	char host[24], device[24], time[24];
	if (cli->json)
		return cli_print_json(estimate);
	printf("engine  %s\nmemory  %s\ndevice  %s\ntime    about %s\n", cli_text(estimate, "engine"),
	       cli_bytes_text(cli_number(estimate, "host_bytes"), host),
	       cli_bytes_text(cli_number(estimate, "device_bytes"), device),
	       cli_seconds_text(cli_number(estimate, "seconds"), time));
	return CLI_OK;
}

int cli_job_submitted(struct cli *cli, const json_t *job)
{
	json_t *last = NULL;
	bool watch = cli_option(cli, "watch") != NULL;
	int status = CLI_OK;
	if (cli_option(cli, "dry-run"))
		return print_estimate(cli, job);
	if (!cli->json) {
		printf("%s\n", cli_text(job, "id"));
		fflush(stdout);
	}
	if (watch)
		status = cli_job_follow(cli, cli_text(job, "id"), false, &last);
	if (cli->json && (!watch || last)) {
		int printed = cli_print_json(watch ? last : job);
		status = status ? status : printed;
	}
	json_decref(last);
	return status;
}

int cmd_job_submit(struct cli *cli)
{
	json_t *job = NULL;
	int status = cli_job_submit(cli, cli->arguments[0], NULL, &job);
	if (!status)
		status = cli_job_submitted(cli, job);
	json_decref(job);
	return status;
}
