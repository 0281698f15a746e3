/* messages.h -- what the user reads: messages, tables, numbers with units. */
#ifndef CLI_MESSAGES_H
#define CLI_MESSAGES_H

#include <jansson.h>

#include "clients/cli/common/command.h"

/* In place: control characters and marks of direction become spaces. */
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
/* After a failed write to standard output: the exit status. A reader that has gone, as of `| head`, is no news. */
int cli_stdout_failed(void);

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

double cli_now(void);  /* seconds, monotonic */

/* Strings and numbers out of a reply; a missing one is "" or NAN. */
const char *cli_text(const json_t *object, const char *key);
double cli_number(const json_t *object, const char *key);

#endif
