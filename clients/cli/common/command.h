/* command.h -- a sub-command of `spaceland`, and one call of it.
 *
 * main() finds the command in the table (commands.c), parses its options into a
 * struct cli and calls run(). Options, help texts and the manual page come from
 * the same descriptions; options for parameters (of a job, of an input, of new
 * points) come from their tables (core/param_table.h). One thread; an interrupt only sets a flag.
 *
 * Results go to stdout, progress and messages to stderr. Every function that returns int returns an exit status. If it
 * is not zero, the function has already printed the reason, in one line. */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/params.h"

enum cli_exit {
	CLI_OK = 0,
	CLI_FAILED = 1,       /* any other failure: a failed job, a full disk */
	CLI_USAGE = 2,        /* unknown option, bad value, missing argument */
	CLI_UNREACHABLE = 3,  /* no server answers */
	CLI_REFUSED = 4,      /* the server answered with a problem */
	CLI_BADINPUT = 5,     /* an input file is not valid */
	CLI_INTERRUPTED = 130,
};

struct cli;

struct cli_option {
	char letter;           /* 0: none */
	const char *name;
	const char *argument;  /* its name in the help; NULL: the option is a flag */
	const char *doc;
};

/* Bits: the parameter tables that a command has options for. */
enum cli_params_use { CLI_NO_PARAMS = 0, CLI_ALL_PARAMS = 1, CLI_STEERABLE_PARAMS = 2, CLI_INPUT_PARAMS = 4,
		      CLI_TRANSFORM_PARAMS = 8, CLI_METHOD_PARAMS = 16,
		      /* parts of those of the input (core/formats/input_params.h): */
		      CLI_FILE_PARAMS = 32, CLI_POINTS_PARAMS = 64, CLI_COLUMNS_PARAMS = 128 };

struct cli_command {
	const char *name;         /* "embed", "graph add"; with CLI_METHOD_PARAMS its last word is the method */
	const char *arguments;    /* "FILE", "JOB...", "" */
	int min_arguments, max_arguments;
	const char *summary;      /* one line, no full stop */
	const char *description;  /* paragraphs, separated by an empty line */
	const struct cli_option *options;  /* ends with a NULL name; NULL: none */
	unsigned params;          /* enum cli_params_use */
	bool server;              /* has the options --server, --token */
	int (*run)(struct cli *cli);
};

/* In alphabetical order. main() calls cli_commands_init() before anything else. */
extern const struct cli_command *const cli_commands;
extern int cli_command_count;
void cli_commands_init(void);

#define CLI_MAX_OPTIONS 96

struct http;

struct cli {
	const struct cli_command *command;
	/* Set by cli_parse(): first the command's own options and those of input, new points or method; from first_shared
	 * on those of the server and the common ones; from first_param on the job's parameters. */
	struct cli_option options[CLI_MAX_OPTIONS];
	const struct sl_param_info *param[CLI_MAX_OPTIONS];  /* the parameter that the option sets, or NULL */
	const char *values[CLI_MAX_OPTIONS];  /* as given, "" for a flag, NULL: not given */
	int option_count, first_shared, first_param;
	char **arguments;
	int argument_count;
	char *token;            /* the value of --token, owned; or NULL */
	struct http *http;      /* made by the first request */
	const char *input;      /* path of the file being uploaded or read, for messages */
	const char *searched;   /* id of points for whose neighbours a job waits, or NULL */
	bool json, quiet;
};

extern volatile sig_atomic_t cli_interrupted;  /* main.c */

#endif
