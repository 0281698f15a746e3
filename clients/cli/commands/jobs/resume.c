/* resume.c -- spaceland job resume */
#include "clients/cli/commands/commands.h"
#include "clients/cli/server/jobs.h"

int cmd_job_resume(struct cli *cli) { return cli_job_patch_all(cli, "paused", false, NULL); }
