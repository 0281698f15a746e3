/* job_pause.c -- spaceland job pause */
#include "clients/cli/common/cli.h"

int cmd_job_pause(struct cli *cli) { return cli_job_patch_all(cli, "paused", true); }
