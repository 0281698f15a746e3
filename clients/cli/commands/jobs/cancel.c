/* cancel.c -- spaceland job cancel. It uses PATCH, since DELETE would delete a job that has ended meanwhile. */
#include "clients/cli/commands/commands.h"
#include "clients/cli/server/jobs.h"

int cmd_job_cancel(struct cli *cli) { return cli_job_patch_all(cli, "cancelled", true, NULL); }
