/* job_submit.c -- spaceland job submit */
#include "clients/cli/common/cli.h"

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

int cmd_job_submit(struct cli *cli)
{
	json_t *job = NULL, *last = NULL;
	int status = cli_job_submit(cli, cli->arguments[0], &job);
	if (!status && cli_option(cli, "dry-run")) {
		status = print_estimate(cli, job);
	} else if (!status) {
		bool watch = cli_option(cli, "watch") != NULL;
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
	}
	json_decref(job);
	json_decref(last);
	return status;
}
