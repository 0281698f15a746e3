/* messages.h -- output for people: messages, tables, numbers with units. */
#ifndef CLI_MESSAGES_H
#define CLI_MESSAGES_H

#include <jansson.h>

#include "clients/cli/common/command.h"
#include "core/taken/taken.h"

/* Replaces control characters and direction marks by spaces, in place. */
void cli_plain(char *text);
/* Escapes text for a URL: all characters except the unreserved ones. Returns a new string; NULL: out of memory. */
char *cli_escape(const char *text);
/* Prints "spaceland: message" as one line; returns status. */
int cli_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for an error of libspaceland. If the error names only the last part of `path`, prints the whole path. */
int cli_fail_error(const char *path, const struct sl_error *err);
/* The sentence with options as they are typed: "--kind points" where requests and the library have "kind=points".
 * Returns `sentence` or `out`. */
const char *cli_as_typed(const char *sentence, char *out, size_t bytes);
/* Prints a note to stderr, unless --quiet or --json is given. */
void cli_note(const struct cli *cli, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Tells the user what happened to his data: what was left out, guessed or changed. A line on stderr, unless --quiet is
 * given; with --json it waits for cli_print_result(). path: the file, or NULL. Options are said as they are typed. */
void cli_tell(const struct cli *cli, const char *path, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* At the end of a command: what no object has had goes to stderr after all. */
void cli_tell_rest(const struct cli *cli);
/* Tells what was taken of a file: one line, and one for each note. kind: "points", "graph" or "neighbours". text, sign:
 * as in struct sl_taken. */
void cli_note_taken(const struct cli *cli, const char *path, const char *kind, const char *text, const char *sign);
/* The same of a file of labels that was read here, and how it was joined with the nodes. taken NULL: nothing. */
void cli_note_labels(const struct cli *cli, const char *path, const struct sl_taken *taken);
int cli_print_json(const json_t *value);
/* Prints and releases a new object. NULL: out of memory. */
int cli_print_new_json(json_t *object);
/* The end of a command: prints the reply as JSON, or has it shown to people; nothing if there was an error before.
 * Releases the reply. Returns the exit status. */
int cli_print_reply(struct cli *cli, int status, json_t *reply, void (*show)(struct cli *cli, const json_t *reply));
/* Like cli_print_new_json(), for the result of a command that reads a file: its `notes` become all that was told, a
 * list of texts. */
int cli_print_result(json_t *object);
/* Notes which files were written; each may be NULL. */
void cli_note_written(const struct cli *cli, const char *layout, const char *picture);
/* Returns the exit status after a failed write to standard output. Prints nothing if the reader has gone, as with `|
 * head`. */
int cli_stdout_failed(void);

/* A table; columns are as wide as their texts. If a terminal is too narrow, the longest texts are cut. right: bits of
 * the columns that are aligned to the right. */
struct table;
struct table *table_create(int columns, unsigned right, const char *const *titles);
/* Appends a row. Cells are copied; NULL becomes "-". */
void table_row(struct table *t, const char *const *cells);
void table_print(struct table *t, FILE *out);
void table_destroy(struct table *t);

/* Write "8.4 k", "2.1 M" or "17 MB" to `out` and return it. */
char *cli_count_text(double count, char out[24]);
char *cli_bytes_text(double bytes, char out[24]);
char *cli_seconds_text(double seconds, char out[24]);

/* value, or 0 if it has only zeros with four decimals: a KL divergence of -1e-9 is printed as 0.0000, not -0.0000. */
double cli_without_minus(double value);

double cli_now(void);  /* seconds, monotonic */

/* Members of a reply; a missing one is "" or NAN. */
const char *cli_text(const json_t *object, const char *key);
double cli_number(const json_t *object, const char *key);

/* Whose a record is: "ann", "ann (deleted)"; "": nobody. Returns out. */
const char *cli_owner_text(const json_t *record, char *out, size_t bytes);
/* True if any of these records has an owner: then lists have a column of them, the last one. */
bool cli_owned(const json_t *records);

#endif
