/* job_resume.c -- spaceland job resume */
#include "clients/cli/common/cli.h"

int cmd_job_resume(struct cli *cli) { return cli_job_patch_all(cli, "paused", false); }
