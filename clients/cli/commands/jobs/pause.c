/* pause.c -- spaceland job pause */
#include "clients/cli/commands/commands.h"
#include "clients/cli/server/jobs.h"

int cmd_job_pause(struct cli *cli) { return cli_job_patch_all(cli, "paused", true, NULL); }
