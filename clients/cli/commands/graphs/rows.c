/* rows.c -- spaceland graph rows: finds nodes by the values of their columns, and shows or exports them. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/http.h"

#define CUT 60           /* bytes of a text in a table */
#define PAGE 10000       /* rows of a page of an export */
#define TABLE_COLUMNS 12 /* of the table on a terminal */

/* The request without limit and cursor; malloc'd. */
static char *base_path(struct cli *cli, const char *graph)
{
	static const char *const options[] = {"search", "in", "range", "category", "sort", "columns", "nodes", NULL};
	char *path = http_path("graphs", graph, "rows", NULL), *out = NULL;
	size_t bytes;
	FILE *f = path ? open_memstream(&out, &bytes) : NULL;
	if (f)
		fprintf(f, "%s?", path);
	for (const char *const *option = options; f && *option; option++) {
		const char *value = cli_option(cli, *option);
		char *escaped = value ? cli_escape(value) : NULL;
		if (escaped)
			fprintf(f, "%s=%s&", *option, escaped);
		free(escaped);
	}
	free(path);
	if (f)
		fclose(f);
	return out;
}

static int fetch(struct cli *cli, const char *base, const char *cursor, long limit, int cut, json_t **reply)
{
	char *path = NULL;
	if (asprintf(&path, "%slimit=%ld&cut=%d%s%s", base, limit, cut, cursor ? "&cursor=" : "", cursor ? cursor : "") < 0)
		return cli_fail(CLI_FAILED, "out of memory");
	int status = http_get(cli, path, reply);
	free(path);
	return status;
}

/* The text of a value; number: room for one. NULL: there is none. */
static const char *value_text(const json_t *value, char number[40])
{
	if (json_is_string(value))
		return json_string_value(value);
	if (!json_is_number(value))
		return NULL;
	double x = json_number_value(value);
	snprintf(number, 40, "%.15g", x);
	if (strtod(number, NULL) != x)
		snprintf(number, 40, "%.17g", x);
	return number;
}

/* ---- a table ------------------------------------------------------------------------------------ */

static int show(struct cli *cli, const json_t *reply)
{
	const json_t *rows = json_object_get(reply, "rows");
	const char *titles[TABLE_COLUMNS + 2] = {"NODE", "NAME"};
	int count = 2;
	json_t *row, *value;
	const char *key;
	size_t i;
	json_object_foreach(json_object_get(json_array_get(rows, 0), "values"), key, value)
		if (count < TABLE_COLUMNS + 2)
			titles[count++] = key;
	if (!json_array_size(rows)) {
		cli_note(cli, "no rows");
		return CLI_OK;
	}
	struct table *t = table_create(count, 1, titles);
	json_array_foreach(rows, i, row) {
		char number[TABLE_COLUMNS + 2][40];
		const char *cells[TABLE_COLUMNS + 2];
		snprintf(number[0], sizeof number[0], "%.0f", cli_number(row, "node"));
		cells[0] = number[0];
		cells[1] = json_string_value(json_object_get(row, "name"));
		for (int k = 2; k < count; k++)
			cells[k] = value_text(json_object_get(json_object_get(row, "values"), titles[k]), number[k]);
		table_row(t, cells);
	}
	table_print(t, stdout);
	table_destroy(t);
	cli_note(cli, "%.0f rows%s", cli_number(reply, "total"), json_is_string(json_object_get(reply, "next")) ?
		 ", of which the first are shown; --limit shows more, -o FILE.csv writes all" : "");
	return CLI_OK;
}

/* ---- an export ------------------------------------------------------------------------------------- */

/* Writes a field of a CSV file. Texts that look like missing values get quotes, too. */
static void put_field(FILE *out, const char *text)
{
	static const char *const missing[] = {"", "NA", "NaN", "nan", "<NA>", NULL};
	bool quote = text && (strpbrk(text, ",;\t\"\n\r") || *text == ' ' || *text == '#');
	for (const char *const *word = missing; text && *word; word++)
		quote = quote || !strcmp(text, *word);
	if (!text)
		return;
	if (quote)
		putc('"', out);
	for (; *text; text++) {
		if (quote && *text == '"')
			putc('"', out);
		putc(*text, out);
	}
	if (quote)
		putc('"', out);
}

static void put_row(FILE *out, const json_t *row, bool title)
{
	char number[40];
	const char *key;
	json_t *value;
	if (title)
		fputs("node,name", out);
	else {
		fprintf(out, "%.0f,", cli_number(row, "node"));
		put_field(out, json_string_value(json_object_get(row, "name")));
	}
	json_object_foreach(json_object_get(row, "values"), key, value) {
		putc(',', out);
		put_field(out, title ? key : value_text(value, number));
	}
	putc('\n', out);
}

static int export_rows(struct cli *cli, const char *base, const char *file)
{
	FILE *out = !strcmp(file, "-") ? stdout : fopen(file, "w");
	char cursor[64] = "";
	uint64_t count = 0;
	int status = out ? CLI_OK : cli_fail(CLI_FAILED, "%s: %s", file, strerror(errno));
	while (!status) {
		json_t *reply = NULL, *row;
		size_t i;
		status = fetch(cli, base, *cursor ? cursor : NULL, PAGE, 0, &reply);
		json_array_foreach(json_object_get(reply, "rows"), i, row) {
			if (!count++)
				put_row(out, row, true);
			put_row(out, row, false);
		}
		snprintf(cursor, sizeof cursor, "%s", cli_text(reply, "next"));
		json_decref(reply);
		if (!*cursor)
			break;
	}
	if (out && (out == stdout ? fflush(out) : fclose(out)) && !status)
		status = out == stdout ? cli_stdout_failed() : cli_fail(CLI_FAILED, "%s: %s", file, strerror(errno));
	if (!status && strcmp(file, "-") != 0)
		cli_note(cli, "wrote %" PRIu64 " rows to %s", count, file);
	return status;
}

int cmd_graph_rows(struct cli *cli)
{
	const char *file = cli_option(cli, "output");
	char *base = base_path(cli, cli->arguments[0]);
	long limit = 20;
	json_t *reply = NULL;
	int status = base ? cli_option_int(cli, "limit", 1, PAGE, &limit) : CLI_FAILED;
	if (!status && file && cli_option(cli, "limit"))
		status = cli_fail(CLI_USAGE, "graph rows: -o writes all rows; it takes no --limit");
	if (!status && file) {
		status = export_rows(cli, base, file);
	} else if (!status) {
		status = fetch(cli, base, NULL, limit, cli->json ? 0 : CUT, &reply);
		if (!status)
			status = cli->json ? cli_print_json(reply) : show(cli, reply);
	}
	json_decref(reply);
	free(base);
	return status;
}
