/* messages.c -- errors, notes, tables and other text. */
#include <curl/curl.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "clients/cli/common/messages.h"
#include "core/formats/input_params.h"
#include "core/error.h"

/* Length in bytes of the character at `c` if it must not reach a terminal, else 0. Unsafe are control characters (C0,
 * DEL, C1), the separators of lines and paragraphs, and direction marks (UAX #9), which change the order of text on the
 * screen. */
static int unprintable(const unsigned char *c)
{
	if (*c < ' ' || *c == 0x7f)
		return 1;
	if ((c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) || (c[0] == 0xd8 && c[1] == 0x9c))
		return 2;
	if (c[0] != 0xe2)
		return 0;
	bool mark = c[1] == 0x80 && (c[2] == 0x8e || c[2] == 0x8f || (c[2] >= 0xa8 && c[2] <= 0xae));
	bool isolate = c[1] == 0x81 && c[2] >= 0xa6 && c[2] <= 0xa9;
	return mark || isolate ? 3 : 0;
}

void cli_plain(char *text)
{
	for (unsigned char *c = (unsigned char *)text; *c; c++)
		for (int bytes = unprintable(c); bytes > 0; bytes--) {
			*c = ' ';
			if (bytes > 1)
				c++;
		}
}

char *cli_escape(const char *text)
{
	char *escaped = curl_easy_escape(NULL, text, 0);
	char *copy = escaped ? strdup(escaped) : NULL;
	curl_free(escaped);
	return copy;
}

/* Prints a message as one line, even if a server's text in it has line breaks. */
static void line(const char *prefix, const char *format, va_list args)
{
	char text[2048];
	vsnprintf(text, sizeof text, format, args);
	cli_plain(text);
	sl_singular(text);
	fprintf(stderr, "%s%s\n", prefix, text);
}

int cli_fail(int status, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	line("spaceland: ", format, args);
	va_end(args);
	return status;
}

/* Writes "--ignore-columns 4" for "ignore_columns=4" at `at`, "--isolated" for "isolated=true", and
 * "--weight \"\"" for "weight=". Returns the length of what was said, 0: no option of an upload is there. */
static size_t type_option(const char *at, char *out, size_t bytes)
{
	for (int i = 0; i < sl_input_params_table.count; i++) {
		const struct sl_param_info *info = &sl_input_params_table.param[i];
		size_t length = strlen(info->name), said = length + 1;
		if (strncmp(at, info->name, length) != 0)  /* the sentence may be shorter */
			continue;
		bool flag = info->type == SL_TYPE_BOOL, bare = at[length] == ')' && flag;
		if (at[length] != '=' && !bare)
			continue;
		bool nothing = !flag && (!at[said] || strchr(" ,.;)", at[said]));
		size_t used = (size_t)snprintf(out, bytes, "--%s%s", info->name, flag ? "" : nothing ? " \"\"" : " ");
		for (char *p = out + 2; p < out + used && p < out + bytes - 1; p++)
			if (*p == '_')
				*p = '-';
		return bare || (flag && strncmp(at + said, "true", 4)) ? length : flag ? said + 4 : said;
	}
	return 0;
}

const char *cli_as_typed(const char *sentence, char *out, size_t bytes)
{
	size_t used = 0;
	bool changed = false;
	for (const char *at = sentence; *at && used + 64 < bytes; ) {
		bool begins = at == sentence || at[-1] == ' ' || at[-1] == '(';
		size_t said = begins ? type_option(at, out + used, bytes - used) : 0;
		changed |= said > 0;
		if (said)
			used += strlen(out + used);
		else
			out[used++] = *at;
		at += said ? said : 1;
	}
	out[used < bytes ? used : bytes - 1] = 0;
	return changed ? out : sentence;
}

void cli_note_taken(const struct cli *cli, const char *path, const char *kind, const char *text, const char *sign)
{
	const char *what = !strcmp(kind, "points") ? "a table of points" : !strcmp(kind, "graph") ? "a graph" : kind;
	cli_tell(cli, path, "read as %s%s%s%s: %s", what, *sign ? " (" : "", sign, *sign ? ")" : "", text);
}

void cli_note_labels(const struct cli *cli, const char *path, const struct sl_taken *taken)
{
	char text[512];
	if (!taken)
		return;
	cli_note_taken(cli, path, "labels", sl_taken_text(taken, text, sizeof text), taken->sign);
	for (uint32_t k = 0; k < taken->notes; k++)
		cli_tell(cli, path, "%s", taken->note[k].text);
}

int cli_fail_error(const char *path, const struct sl_error *err)
{
	char text[2048], typed[2048];
	const char *last = path ? strrchr(path, '/') : NULL;
	bool same = last && last[1] && !strncmp(err->file, last + 1, strlen(last + 1));
	sl_error_format(err, text, sizeof text);
	switch (err->code) {
	case SL_BADFORMAT:
	case SL_BADDATA:
	case SL_BADGRAPH:
		return cli_fail(CLI_BADINPUT, "%.*s%s", same ? (int)(last + 1 - path) : 0, path ? path : "",
				cli_as_typed(text, typed, sizeof typed));
	case SL_IO:
	case SL_NOTFOUND:
		return cli_fail(err->file[0] ? CLI_BADINPUT : CLI_FAILED, "%.*s%s", same ? (int)(last + 1 - path) : 0,
				path ? path : "", text);
	case SL_BADPARAM:
		if (err->pointer[0] != '/')
			return cli_fail(CLI_USAGE, "%s", text);
		snprintf(text, sizeof text, "%s", err->pointer + 1);
		for (char *c = text; *c; c++)
			*c = (char)(*c == '_' ? '-' : *c);
		return cli_fail(CLI_USAGE, "--%s: %s", text, err->detail);
	default:
		return cli_fail(CLI_FAILED, "%s", text);
	}
}

void cli_note(const struct cli *cli, const char *format, ...)
{
	if (cli->quiet || cli->json)
		return;
	va_list args;
	va_start(args, format);
	line("", format, args);
	va_end(args);
}

static json_t *told;  /* with --json: what cli_tell() said, which no object has yet */

void cli_tell(const struct cli *cli, const char *path, const char *format, ...)
{
	char text[1600], typed[1800];
	const char *said;
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	cli_plain(text);
	sl_singular(text);
	said = cli_as_typed(text, typed, sizeof typed);
	if (!cli->json) {
		if (!cli->quiet)
			cli_fail(0, "%s%s%s", path ? path : "", path ? ": " : "", said);
		return;
	}
	if (!told)
		told = json_array();
	json_array_append_new(told, json_sprintf("%s%s%s", path ? path : "", path ? ": " : "", said));
}

void cli_tell_rest(const struct cli *cli)
{
	size_t i;
	json_t *one;
	json_array_foreach(told, i, one)
		if (!cli->quiet && json_string_value(one))
			cli_fail(0, "%s", json_string_value(one));
	json_decref(told);
	told = NULL;
}

int cli_print_result(json_t *object)
{
	if (object)
		json_object_set_new(object, "notes", told ? told : json_array());
	told = NULL;
	return cli_print_new_json(object);
}

void cli_note_written(const struct cli *cli, const char *layout, const char *picture)
{
	if (layout || picture)
		cli_note(cli, "wrote %s%s%s", layout ? layout : "", layout && picture ? " and " : "", picture ? picture : "");
}

int cli_stdout_failed(void)
{
	return errno == EPIPE ? CLI_FAILED : cli_fail(CLI_FAILED, "standard output cannot be written: %s", strerror(errno));
}

int cli_print_json(const json_t *value)
{
	if (json_dumpf(value, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) || putchar('\n') == EOF || fflush(stdout))
		return cli_stdout_failed();
	return CLI_OK;
}

int cli_print_new_json(json_t *object)
{
	int status = object ? cli_print_json(object) : cli_fail(CLI_FAILED, "out of memory");
	json_decref(object);
	return status;
}

int cli_print_reply(struct cli *cli, int status, json_t *reply, void (*show)(struct cli *cli, const json_t *reply))
{
	if (!status && cli->json)
		status = cli_print_json(reply);
	else if (!status)
		show(cli, reply);
	json_decref(reply);
	return status;
}

const char *cli_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

double cli_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	return json_is_number(value) ? json_number_value(value) : NAN;
}

double cli_without_minus(double value)
{
	return value < 0 && value > -0.00005 ? 0 : value;
}

double cli_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- numbers with units ------------------------------------------------ */

static char *scaled(double value, const char *const *units, double step, char out[24])
{
	int unit = 0;
	if (!isfinite(value)) {
		snprintf(out, 24, "-");
		return out;
	}
	while (fabs(value) >= step * 0.9995 && units[unit + 1]) {
		value /= step;
		unit++;
	}
	snprintf(out, 24, unit && fabs(value) < 10 ? "%.1f%s" : "%.0f%s", value, units[unit]);
	return out;
}

char *cli_count_text(double count, char out[24])
{
	if (count < 10000) {
		static const char *const none[] = {"", NULL};
		return scaled(count, none, INFINITY, out);
	}
	static const char *const units[] = {"", " k", " M", " G", NULL};
	return scaled(count, units, 1000, out);
}

char *cli_bytes_text(double bytes, char out[24])
{
	static const char *const units[] = {" B", " kB", " MB", " GB", " TB", NULL};
	return scaled(bytes, units, 1000, out);
}

char *cli_seconds_text(double seconds, char out[24])
{
	if (!isfinite(seconds) || seconds < 0)
		snprintf(out, 24, "-");
	else if (seconds < 0.9995)
		snprintf(out, 24, "%.0f ms", seconds * 1000);
	else if (seconds < 99.5)
		snprintf(out, 24, seconds < 9.95 ? "%.1f s" : "%.0f s", seconds);
	else if (seconds < 5400)
		snprintf(out, 24, "%d:%02d min", (int)(seconds + 0.5) / 60, (int)(seconds + 0.5) % 60);
	else
		snprintf(out, 24, "%.0f:%02d h", floor(seconds / 3600), (int)fmod(seconds, 3600) / 60);
	return out;
}

#define ID_WIDTH 26     /* characters of an id */
#define LEAST_WIDTH 12  /* of a column that is made narrower */

/* ---- tables ------------------------------------------------------------- */

struct table {
	int columns, rows;
	unsigned right;
	char **cells;  /* [rows * columns], owned; row 0 holds the titles */
};

struct table *table_create(int columns, unsigned right, const char *const *titles)
{
	struct table *t = calloc(1, sizeof *t);
	if (!t)
		return NULL;
	t->columns = columns;
	t->right = right;
	table_row(t, titles);
	return t;
}

/* If out of memory, the row is left out as a whole. */
void table_row(struct table *t, const char *const *cells)
{
	if (!t)
		return;
	size_t used = (size_t)t->rows * (size_t)t->columns;
	char **grown = realloc(t->cells, (used + (size_t)t->columns) * sizeof *grown);
	if (!grown)
		return;
	t->cells = grown;
	for (int c = 0; c < t->columns; c++) {
		t->cells[used + (size_t)c] = strdup(cells[c] && *cells[c] ? cells[c] : "-");
		if (!t->cells[used + (size_t)c]) {
			while (c-- > 0)
				free(t->cells[used + (size_t)c]);
			return;
		}
	}
	t->rows++;
}

/* Width on the screen: the bytes that do not continue a UTF-8 sequence. */
static int width_of(const char *text)
{
	int width = 0;
	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static int column_width(const struct table *t, int column)
{
	int width = 0;
	for (int r = 0; r < t->rows; r++) {
		int w = width_of(t->cells[r * t->columns + column]);
		width = w > width ? w : width;
	}
	return width;
}

/* On a terminal: makes the widest columns of texts narrower, as far as needed; but the first, which may have ids, not
 * narrower than these, and no other narrower than LEAST_WIDTH. */
static void fit(const struct table *t, FILE *out, int *width)
{
	struct winsize size;
	int over = 2 * (t->columns - 1);
	if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &size) || !size.ws_col)
		return;
	for (int c = 0; c < t->columns; c++)
		over += width[c];
	for (over -= size.ws_col; over > 0; over--) {
		int widest = -1;
		for (int c = 0; c < t->columns; c++)
			if (!(t->right >> c & 1) && width[c] > (c ? LEAST_WIDTH : ID_WIDTH) &&
			    (widest < 0 || width[c] > width[widest]))
				widest = c;
		if (widest < 0)
			return;
		width[widest]--;
	}
}

/* Prints the text, or its beginning and an ellipsis, in this width. */
static void print_cell(FILE *out, const char *text, int width, bool right, bool pad)
{
	int left = width - width_of(text), shown = 0;
	const char *end = text;
	if (left >= 0) {
		fprintf(out, "%*s%s%*s", right ? left : 0, "", text, right || !pad ? 0 : left, "");
		return;
	}
	for (; *end && (shown < width - 1 || ((unsigned char)*end & 0xc0) == 0x80); end++)
		shown += ((unsigned char)end[1] & 0xc0) != 0x80;
	fprintf(out, "%.*s\u2026", (int)(end - text), text);
}

void table_print(struct table *t, FILE *out)
{
	int *width = t ? calloc((size_t)t->columns, sizeof *width) : NULL;
	if (!width)
		return;
	for (int c = 0; c < t->columns; c++)
		width[c] = column_width(t, c);
	fit(t, out, width);
	for (int r = 0; r < t->rows; r++)
		for (int c = 0; c < t->columns; c++) {
			bool last = c == t->columns - 1;
			print_cell(out, t->cells[r * t->columns + c], width[c], t->right >> c & 1, !last);
			fputs(last ? "\n" : "  ", out);
		}
	free(width);
}

void table_destroy(struct table *t)
{
	if (!t)
		return;
	for (int i = 0; i < t->rows * t->columns; i++)
		free(t->cells[i]);
	free(t->cells);
	free(t);
}

const char *cli_owner_text(const json_t *record, char *out, size_t bytes)
{
	const char *state = cli_text(record, "owner_state");
	bool gone = *state && strcmp(state, "active");
	snprintf(out, bytes, "%s%s%s%s", cli_text(record, "owner"), gone ? " (" : "", gone ? state : "", gone ? ")" : "");
	return out;
}

bool cli_owned(const json_t *records)
{
	size_t i;
	json_t *record;
	json_array_foreach(records, i, record)
		if (json_is_string(json_object_get(record, "owner")))
			return true;
	return false;
}
