/* help.h -- texts generated from the table of commands: help, the manual page, completion scripts. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "clients/cli/common/command.h"

void cli_help(FILE *out);
void cli_help_group(const char *group, FILE *out);
void cli_help_command(const struct cli_command *command, FILE *out);
void cli_man(FILE *out);

/* Prints the completion script for bash, zsh or fish. */
int cli_complete(const char *shell, FILE *out);

#endif
