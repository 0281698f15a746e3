/* options.h -- the options of a command, and the parameters that they set. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <jansson.h>

#include "clients/cli/common/command.h"

struct sl_method;

/* The method of a command with CLI_METHOD_PARAMS. */
const struct sl_method *cli_method_of(const struct cli_command *command);
/* Fills cli->options with the command's options. */
void cli_collect_options(struct cli *cli, const struct cli_command *command);
int cli_parse(struct cli *cli, const struct cli_command *command, int argc, char **argv);
bool cli_takes(const struct cli *cli, const char *name);  /* true if the command has this option */
bool cli_option_is_file(const struct cli_option *o);  /* true if its value is, or may be, a path */
/* Returns the option's value; NULL: not given, or the command has no such option. */
const char *cli_option(const struct cli *cli, const char *name);
/* Reads a whole number in [low, high]. If the option is not given, *out stays unchanged. */
int cli_option_int(const struct cli *cli, const char *name, long low, long high, long *out);

/* Sets the table's parameters that are given as options. */
int cli_params_of(const struct cli *cli, const struct sl_param_table *table, void *record);
/* Appends the given parameters to a path as "&name=value", escaped. */
int cli_params_query(const struct cli *cli, const struct sl_param_table *table, FILE *path);
/* Sets the parameters of a job: the defaults of the preset, then those given. */
int cli_params(const struct cli *cli, struct sl_params *params);
/* True for random, pca and spectral; otherwise --init names a file or a job. */
bool cli_init_is_word(const char *init);
/* Adds only the given parameters to a request. */
int cli_params_json(const struct cli *cli, json_t *request);
/* The value of a parameter in a record, as requests have it. */
json_t *cli_param_json(const struct sl_param_info *info, const void *record);
/* Reads --metric and --metric-p. What is not given stays unchanged. */
int cli_metric(const struct cli *cli, int *metric, double *p);

#endif
