/* config.h -- the options of the daemon.
 *
 * One list (list.h) names every option with its type, range, default, unit and meaning; the file reader, --set,
 * --dump-config and the shipped config/spacelandd.conf all follow it. Order of precedence: defaults, files, command
 * line. The loop thread owns the values; other threads get copies of what they need when they are created. */
#ifndef SL_CONFIG_H
#define SL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/error.h"

/* A field for each option of list.h. */
struct sl_config {
#define TEXT(field, initial, runtime, doc) char *field;
#define WORD(field, words, initial, runtime, doc) char *field;
#define INT(field, min, max, initial, unit, runtime, doc) int64_t field;
#define BYTES(field, min, max, initial, runtime, doc) int64_t field;
#define NUMBER(field, min, max, initial, unit, runtime, doc) double field;
#include "daemon/config/list.h"
};

enum sl_option_type { SL_OPTION_TEXT, SL_OPTION_WORD, SL_OPTION_INT, SL_OPTION_BYTES, SL_OPTION_NUMBER };

struct sl_option_info {
	const char *name;
	enum sl_option_type type;
	size_t offset;             /* of the field in struct sl_config */
	double min, max;           /* inclusive; for numbers */
	const char *const *words;  /* WORD: NULL-terminated */
	const char *initial;       /* the default as text, as the configuration file has it */
	const char *unit;          /* "bytes", "s", "ms", "1/s" or "" */
	bool runtime;              /* may change while the daemon runs (SIGHUP) */
	const char *doc;           /* sentences for the file and --dump-config */
};

extern const struct sl_option_info sl_config_table[];
extern const int sl_config_count;

const struct sl_option_info *sl_config_find(const char *name);  /* NULL: no option has that name */

int sl_config_init(struct sl_config *c, struct sl_error *err);  /* the defaults */
void sl_config_finish(struct sl_config *c);

/* The files of a configuration: `path`, then those in the folder `path`.d whose names end with .conf and do not begin
 * with a dot, in the order of their bytes. A later file overrides an earlier one. *out: zero-terminated strings, freed
 * by sl_config_files_free(). */
int sl_config_files(const char *path, char ***out, int *count, struct sl_error *err);
void sl_config_files_free(char **files, int count);
/* Reads these files: `name = value` lines; # starts a comment; values may be quoted. Errors name file and line. */
int sl_config_read(struct sl_config *c, const char *path, struct sl_error *err);
/* The file and line from which an option has its value, for messages. 0: no file sets it, or it cannot be read; then
 * file is `path`. */
int64_t sl_config_place(const char *path, const char *name, char *file, size_t bytes);
/* Sets one option from text: "512 MiB", "10", "cpu". err->pointer is "/name". */
int sl_config_set(struct sl_config *c, const char *name, const char *text, struct sl_error *err);
/* Checks options that depend on each other: token_file when listening beyond loopback, ... */
int sl_config_check(const struct sl_config *c, struct sl_error *err);
/* The next word of a list separated by commas or blanks, from *at on, which moves behind it; NULL: none. Not
 * zero-terminated; *length: its bytes. */
const char *sl_config_word(const char **at, size_t *length);
/* True if the word is in a list such as "cuda, cpu"; the list "all" has every word. */
bool sl_config_lists(const char *list, const char *word);
bool sl_config_same(const struct sl_config *a, const struct sl_config *b, const struct sl_option_info *o);
/* Exchanges the values of one option. */
void sl_config_swap(struct sl_config *a, struct sl_config *b, const struct sl_option_info *o);
/* Writes the value for a message, as the configuration file has it, cut to the room. Returns out. */
char *sl_config_text(const struct sl_config *c, const struct sl_option_info *o, char *out, size_t bytes);
/* Writes a whole configuration file with its documentation; options that have their defaults are commented out. */
void sl_config_dump(const struct sl_config *c, FILE *out);

/* Splits "127.0.0.1:7070" or "[::1]:0" into host (without brackets) and port. */
int sl_config_address(const char *listen, char *host, size_t host_bytes, uint16_t *port, struct sl_error *err);
bool sl_config_loopback(const char *host);

#endif
