/* options.h -- the options of a command, and parameters out of them. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <jansson.h>

#include "clients/cli/common/command.h"

struct sl_method;

/* Of a command with CLI_METHOD_PARAMS. */
const struct sl_method *cli_method_of(const struct cli_command *command);
/* Fills cli->options with what the command takes. */
void cli_collect_options(struct cli *cli, const struct cli_command *command);
int cli_parse(struct cli *cli, const struct cli_command *command, int argc, char **argv);
bool cli_takes(const struct cli *cli, const char *name);  /* Has the command this option? */
/* NULL: not given, or no option of the command. */
const char *cli_option(const struct cli *cli, const char *name);
/* A whole number in [low, high]; *out is left alone when the option is not given. */
int cli_option_int(const struct cli *cli, const char *name, long low, long high, long *out);

/* Sets those of the table's parameters that options give. */
int cli_params_of(const struct cli *cli, const struct sl_param_table *table, void *record);
/* Appends them to a path as "&name=value", escaped. */
int cli_params_query(const struct cli *cli, const struct sl_param_table *table, FILE *path);
/* The parameters of a job that are given, over the defaults of their preset. */
int cli_params(const struct cli *cli, struct sl_params *params);
/* Is --init one of random, pca, spectral? Else it is a file or a job. */
bool cli_init_is_word(const char *init);
/* Puts those given, and only those, into a request. */
int cli_params_json(const struct cli *cli, json_t *request);

#endif
