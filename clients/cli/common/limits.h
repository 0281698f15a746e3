/* limits.h -- limits of users and projects. */
#ifndef CLI_LIMITS_H
#define CLI_LIMITS_H

#include <jansson.h>

#include "clients/cli/common/command.h"

/* Reads a limit: "4", "10MB", "2GiB", "2h" or "default". Returns a new reference; NULL: none of these. */
json_t *cli_limit_value(const char *text);
/* Adds --project, if given, to the request of a job or batch. */
void cli_project_json(const struct cli *cli, json_t *request);
/* Adds --time-limit, if given, to a request; "none": none. */
int cli_time_limit_json(const struct cli *cli, json_t *request);
/* Reads the arguments from the second on, each LIMIT=NUMBER. *out: new reference. */
int cli_limits_json(struct cli *cli, json_t **out);
void cli_print_limits(const json_t *limits, const json_t *use);
/* The same for those in force (LimitsInForce), with whose they are. */
void cli_print_in_force(const json_t *limits, const json_t *use, const char *user);

#endif
