/* cli.h -- what the sub-commands of `spaceland` share.
 *
 * main() finds the command in the table (commands.c), parses its options into a
 * struct cli and calls run(). Options, help texts and the manual page come from
 * the same descriptions; options for parameters (of a job, of an input, of new
 * points) come from their tables (core/param_table.h). One thread; an interrupt only sets a flag.
 *
 * Results go to stdout, progress and messages to stderr.
 * Every function that returns int returns an exit status and has, when it is not
 * zero, already told the user why, in one line. */
#ifndef CLI_H
#define CLI_H

#include <jansson.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>

#include "core/graph/graph.h"
#include "core/params.h"

enum cli_exit {
	CLI_OK = 0,
	CLI_FAILED = 1,       /* anything not below: a job that failed, no space to write */
	CLI_USAGE = 2,        /* unknown option, bad value, missing argument */
	CLI_UNREACHABLE = 3,  /* no server there */
	CLI_REFUSED = 4,      /* the server answered with a problem */
	CLI_BADINPUT = 5,     /* a file given as input is not valid */
	CLI_INTERRUPTED = 130,
};

struct cli;

struct cli_option {
	char letter;           /* 0: none */
	const char *name;
	const char *argument;  /* what the help calls it; NULL: a flag */
	const char *doc;
};

/* Which tables of parameters a command has options for; may be or'ed. */
enum cli_params_use { CLI_NO_PARAMS = 0, CLI_ALL_PARAMS = 1, CLI_STEERABLE_PARAMS = 2, CLI_INPUT_PARAMS = 4,
		      CLI_TRANSFORM_PARAMS = 8, CLI_KMEANS_PARAMS = 16 };

struct cli_command {
	const char *name;         /* "embed", "graph add" */
	const char *arguments;    /* "FILE", "JOB...", "" */
	int min_arguments, max_arguments;
	const char *summary;      /* one line, no full stop */
	const char *description;  /* paragraphs, separated by an empty line */
	const struct cli_option *options;  /* ends with a NULL name; NULL: none */
	unsigned params;          /* enum cli_params_use */
	bool server;              /* takes --server, --token */
	int (*run)(struct cli *cli);
};

extern const struct cli_command cli_commands[];
extern const int cli_command_count;

#define CLI_MAX_OPTIONS 96

struct http;

struct cli {
	const struct cli_command *command;
	/* the command's options, those of its input and of new points, the server's and common ones (from first_shared on),
	 * the job's parameters (from first_param on); set by cli_parse() */
	struct cli_option options[CLI_MAX_OPTIONS];
	const struct sl_param_info *param[CLI_MAX_OPTIONS];  /* that the option sets, or NULL */
	const char *values[CLI_MAX_OPTIONS];  /* as given, "" for a flag, NULL: not given */
	int option_count, first_shared, first_param;
	char **arguments;
	int argument_count;
	struct http *http;      /* made by the first request */
	const char *input;      /* path of the file being uploaded or read, for messages */
	const char *searched;   /* id of points whose neighbours are searched while their job is followed, or NULL */
	bool json, quiet;
};

/* ---- options (options.c) ---------------------------------------------- */

/* Fills cli->options with what the command takes. */
void cli_collect_options(struct cli *cli, const struct cli_command *command);
int cli_parse(struct cli *cli, const struct cli_command *command, int argc, char **argv);
/* NULL: not given. The name must be one of the command's. */
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

/* --picture, --picture-size, --picture-light, --picture-color (picture.c) */
struct cli_picture {
	int width, height;
	bool light, svg;
	const char *colour;  /* "auto", "label", "density" */
};
int cli_picture(const struct cli *cli, struct cli_picture *picture);

/* ---- help (help.c) ---------------------------------------------------- */

void cli_help(FILE *out);
void cli_help_group(const char *group, FILE *out);
void cli_help_command(const struct cli_command *command, FILE *out);
void cli_man(FILE *out);

/* ---- completion (complete.c) ------------------------------------------ */

/* The script for bash, zsh or fish. */
int cli_complete(const char *shell, FILE *out);

/* ---- messages and results (messages.c) -------------------------------- */

/* In place: control characters become spaces. */
void cli_plain(char *text);
/* The text as part of a URL: every character but unreserved ones escaped. A new string; NULL: out of memory. */
char *cli_escape(const char *text);
/* "spaceland: message", one line; returns status. */
int cli_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same from an error of libspaceland; `path` replaces its file name if that is only the last part. */
int cli_fail_error(const char *path, const struct sl_error *err);
/* For the eye only: on stderr, unless --quiet or --json. */
void cli_note(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
int cli_print_json(const json_t *value);

/* Rows of text in columns as wide as they need; numbers (columns in `right`, by bit) to the right. */
struct table;
struct table *table_create(int columns, unsigned right, const char *const *titles);
/* Cells are copied; NULL is "-". */
void table_row(struct table *t, const char *const *cells);
void table_print(struct table *t, FILE *out);
void table_destroy(struct table *t);

/* "8.4 k", "2.1 M" and "17 MB" into out */
char *cli_count_text(double count, char out[24]);
char *cli_bytes_text(double bytes, char out[24]);
char *cli_seconds_text(double seconds, char out[24]);

/* ---- limits of users and projects (limits.c) -------------------------- */

/* "4", "10MB", "2GiB", "2h", "default"; a new reference, NULL: none of these. */
json_t *cli_limit_value(const char *text);
/* --project, if it is given, into the request of a job or batch. */
void cli_project_json(const struct cli *cli, json_t *request);
/* Of the arguments from the second on, LIMIT=NUMBER each. *out: new reference. */
int cli_limits_json(struct cli *cli, json_t **out);
void cli_print_limits(const json_t *limits, const json_t *use);

double cli_now(void);  /* seconds, monotonic */

/* ---- interruption (main.c) -------------------------------------------- */

extern volatile sig_atomic_t cli_interrupted;

/* ---- what several commands do (server/job.c, server/graph.c, layout.c) --- */

/* Uploads a file with the options that say what it is; *reply is the graph's record, owned by the caller. */
int cli_graph_upload(struct cli *cli, const char *path, json_t **reply);
/* Follows a job until it ends. With `cancel`, an interrupt cancels the job; without, it only
 * stops watching. *record is the job's last record, owned by the caller. */
int cli_job_follow(struct cli *cli, const char *id, bool cancel, json_t **record);
/* Fetches layout and picture into files. NULL: not wanted. */
int cli_job_fetch(struct cli *cli, const char *id, const char *layout, const char *picture);
/* Uploads an initial layout, submits the job. *record: owned by the caller. */
int cli_job_submit(struct cli *cli, const char *graph_id, json_t **record);
/* *record: the job as it is after the change, owned by the caller. */
int cli_job_patch(struct cli *cli, const char *id, json_t *change, json_t **record);
/* PATCH {member: value} of each job that the arguments name; tells their states. */
int cli_job_patch_all(struct cli *cli, const char *member, bool value);
/* "npy", "csv" or "json" by the file's name; "-" is npy. */
int cli_layout_format(const char *path, const char **format);
/* Can a result be written there? Asked before anything is computed; NULL and "-" are fine. */
int cli_output_check(const char *path);
/* *y [n * dims] is the caller's to free(). */
int cli_layout_read(const char *path, float **y, uint64_t *n, uint64_t *dims);
/* The same of what --init names: neither a word nor, on a server, a job. */
int cli_init_read(const char *path, float **y, uint64_t *n, uint64_t *dims);
/* y [g->n * dims], with the names and labels of g where the format has them. */
int cli_layout_write(const char *path, const struct sl_graph *g, int dims, const float *y);

/* Strings and numbers out of a reply; a missing one is "" or NAN. */
const char *cli_text(const json_t *object, const char *key);
double cli_number(const json_t *object, const char *key);

/* `spaceland embed --local` (local/run.c) */
int cli_embed_local(struct cli *cli, const char *path);

/* ---- the commands (commands/) ----------------------------------------- */

int cmd_admin_backup(struct cli *cli);
int cmd_admin_gc(struct cli *cli);
int cmd_batch_cancel(struct cli *cli);
int cmd_batch_list(struct cli *cli);
int cmd_batch_show(struct cli *cli);
int cmd_batch_submit(struct cli *cli);
int cmd_bench(struct cli *cli);
int cmd_embed(struct cli *cli);
int cmd_graph_add(struct cli *cli);
int cmd_graph_list(struct cli *cli);
int cmd_graph_rm(struct cli *cli);
int cmd_graph_show(struct cli *cli);
int cmd_job_cancel(struct cli *cli);
int cmd_job_fetch(struct cli *cli);
int cmd_job_list(struct cli *cli);
int cmd_job_pause(struct cli *cli);
int cmd_job_resume(struct cli *cli);
int cmd_job_rm(struct cli *cli);
int cmd_job_show(struct cli *cli);
int cmd_job_steer(struct cli *cli);
int cmd_job_submit(struct cli *cli);
int cmd_job_watch(struct cli *cli);
int cmd_kmeans(struct cli *cli);
int cmd_project_add(struct cli *cli);
int cmd_project_limits(struct cli *cli);
int cmd_project_list(struct cli *cli);
int cmd_project_member(struct cli *cli);
int cmd_project_remove(struct cli *cli);
int cmd_project_share(struct cli *cli);
int cmd_project_show(struct cli *cli);
int cmd_quality(struct cli *cli);
int cmd_share(struct cli *cli);
int cmd_status(struct cli *cli);
int cmd_transform(struct cli *cli);
int cmd_user_add(struct cli *cli);
int cmd_user_limits(struct cli *cli);
int cmd_user_list(struct cli *cli);
int cmd_user_project(struct cli *cli);
int cmd_user_revoke(struct cli *cli);
int cmd_user_role(struct cli *cli);
int cmd_user_show(struct cli *cli);
int cmd_user_token(struct cli *cli);
int cmd_version(struct cli *cli);
int cmd_view(struct cli *cli);

#endif
