/* limits.h -- limits of users and projects. */
#ifndef CLI_LIMITS_H
#define CLI_LIMITS_H

#include <jansson.h>

#include "clients/cli/common/command.h"

/* "4", "10MB", "2GiB", "2h", "default"; a new reference, NULL: none of these. */
json_t *cli_limit_value(const char *text);
/* --project, if it is given, into the request of a job or batch. */
void cli_project_json(const struct cli *cli, json_t *request);
/* Of the arguments from the second on, LIMIT=NUMBER each. *out: new reference. */
int cli_limits_json(struct cli *cli, json_t **out);
void cli_print_limits(const json_t *limits, const json_t *use);

#endif
