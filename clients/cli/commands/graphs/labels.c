/* labels.c -- spaceland graph labels: lists the columns of labels of a graph and the categories of a column;
 * gives these an order and colours, and renames or deletes a column. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/http.h"
#include "core/picture/picture.h"

/* A category of the column, in the order of legends. */
struct category {
	const char *name;      /* borrowed from the reply */
	uint32_t code;
	uint32_t rank;         /* by size; the first has the first colour of the server's list */
	uint64_t nodes;
	char colour[8];        /* "#rrggbb" */
};

struct column {
	json_t *record;            /* name, kind, categories: a list of names, ordered, colors */
	struct category *category; /* [n] */
	size_t n;
	uint64_t without;          /* nodes that have no category */
	unsigned char part[4];     /* bytes of a code whose others are still to come */
	size_t parts;
};

static void column_finish(struct column *c)
{
	json_decref(c->record);
	free(c->category);
}

/* ---- reading a column ------------------------------------------------------------------------ */

/* Counts the codes of a reply, 32 bits each, little-endian. */
static bool count_codes(void *arg, const char *bytes, size_t count)
{
	struct column *c = arg;
	for (size_t i = 0; i < count; i++) {
		c->part[c->parts++] = (unsigned char)bytes[i];
		if (c->parts < 4)
			continue;
		uint32_t code = c->part[0] | (uint32_t)c->part[1] << 8 | (uint32_t)c->part[2] << 16 |
				(uint32_t)c->part[3] << 24;
		c->parts = 0;
		if (code < c->n)
			c->category[code].nodes++;
		else
			c->without++;
	}
	return true;
}

static int by_code(const void *a, const void *b)
{
	const struct category *x = a, *y = b;
	return (x->code > y->code) - (x->code < y->code);
}

static int by_size(const void *a, const void *b)
{
	const struct category *x = a, *y = b;
	return x->nodes != y->nodes ? (x->nodes < y->nodes) - (x->nodes > y->nodes) : by_code(a, b);
}

static double number_of(const char *name)
{
	char *end;
	double value = strtod(name, &end);
	return *name && !*end ? value : NAN;
}

static int by_number(const void *a, const void *b)
{
	double x = number_of(((const struct category *)a)->name), y = number_of(((const struct category *)b)->name);
	return x != y ? (x > y) - (x < y) : by_code(a, b);
}

/* Puts the categories into the order of legends: that which somebody gave them, else numbers in ascending order, others
 * by size; and gives them their colours. */
static void arrange(struct column *c)
{
	const json_t *colours = json_object_get(c->record, "colors");
	bool ordered = json_is_true(json_object_get(c->record, "ordered")), numbers = true;
	if (!ordered)
		qsort(c->category, c->n, sizeof *c->category, by_size);
	for (size_t i = 0; i < c->n; i++) {
		struct category *one = &c->category[i];
		const char *own = json_string_value(json_array_get(colours, one->code));
		one->rank = (uint32_t)i;
		numbers = numbers && !isnan(number_of(one->name));
		if (own)
			snprintf(one->colour, sizeof one->colour, "%s", own);
		else
			snprintf(one->colour, sizeof one->colour, "#%06" PRIx32,
				 sl_picture_colour(one->rank, true) & 0xffffff);
	}
	if (!ordered && numbers)
		qsort(c->category, c->n, sizeof *c->category, by_number);
}

static int fetch(struct cli *cli, const char *graph, const char *name, struct column *c)
{
	char *path = http_path("graphs", graph, "labels", name), *all = NULL;
	if (!path || asprintf(&all, "%s?from=0&count=1", path) < 0) {
		free(path);
		return CLI_FAILED;
	}
	int status = http_get(cli, all, &c->record);
	const json_t *names = json_object_get(c->record, "categories");
	c->n = json_array_size(names);
	c->category = calloc(c->n + 1, sizeof *c->category);
	if (!status && !c->category)
		status = cli_fail(CLI_FAILED, "out of memory");
	for (size_t i = 0; !status && i < c->n; i++)
		c->category[i] = (struct category){.name = json_string_value(json_array_get(names, i)),
						   .code = (uint32_t)i};
	const struct http_request q = {.path = path, .accept = "application/octet-stream", .sink = count_codes, .arg = c};
	if (!status && names)
		status = http_do(cli, &q, NULL);
	if (!status)
		arrange(c);
	free(path);
	free(all);
	return status;
}

/* ---- showing --------------------------------------------------------------------------------- */

static int show_columns(struct cli *cli, const char *graph)
{
	static const char *const titles[] = {"COLUMN", "KIND", "CATEGORIES", "ORDER", "COLOURS"};
	json_t *reply = NULL, *column;
	size_t i;
	int status = http_send(cli, "GET", http_path("graphs", graph, "labels", NULL), NULL, &reply);
	const json_t *columns = json_object_get(reply, "columns");
	if (!status && cli->json) {
		status = cli_print_json(columns);
	} else if (!status && json_array_size(columns)) {
		struct table *t = table_create(5, 1 << 2, titles);
		json_array_foreach(columns, i, column) {
			char count[24] = "-";
			bool words = !strcmp(cli_text(column, "kind"), "category");
			if (words)
				snprintf(count, sizeof count, "%.0f", cli_number(column, "categories"));
			const char *const cells[] = {cli_text(column, "name"), words ? "categories" : "numbers", count,
				!words ? "-" : json_is_true(json_object_get(column, "ordered")) ? "given" : "the server's",
				!words ? "-" : json_object_get(column, "colors") ? "given" : "the server's"};
			table_row(t, cells);
		}
		table_print(t, stdout);
		table_destroy(t);
	} else if (!status) {
		cli_note(cli, "no columns of labels");
	}
	json_decref(reply);
	return status;
}

static json_t *column_json(const struct column *c)
{
	json_t *list = json_array();
	for (size_t i = 0; i < c->n; i++)
		json_array_append_new(list, json_pack("{s:s, s:I, s:s}", "name", c->category[i].name, "nodes",
						      (json_int_t)c->category[i].nodes, "color", c->category[i].colour));
	return json_pack("{s:s, s:b, s:b, s:I, s:o}", "name", cli_text(c->record, "name"), "ordered",
			 json_is_true(json_object_get(c->record, "ordered")), "colored",
			 json_is_array(json_object_get(c->record, "colors")), "without", (json_int_t)c->without,
			 "categories", list);
}

static int show_column(struct cli *cli, const char *graph, const char *name)
{
	static const char *const titles[] = {"COLOUR", "NODES", "CATEGORY"};
	struct column c = {0};
	int status = fetch(cli, graph, name, &c);
	if (!status && !json_object_get(c.record, "categories")) {
		if (cli->json)
			status = cli_print_json(c.record);
		else
			printf("numbers from %g to %g\n", cli_number(c.record, "min"), cli_number(c.record, "max"));
	} else if (!status && cli->json) {
		status = cli_print_new_json(column_json(&c));
	} else if (!status) {
		struct table *t = table_create(3, 1 << 1, titles);
		for (size_t i = 0; i < c.n; i++) {
			char nodes[24];
			snprintf(nodes, sizeof nodes, "%" PRIu64, c.category[i].nodes);
			const char *const cells[] = {c.category[i].colour, nodes, c.category[i].name};
			table_row(t, cells);
		}
		table_print(t, stdout);
		table_destroy(t);
		if (c.without)
			cli_note(cli, "%" PRIu64 " nodes have none", c.without);
	}
	column_finish(&c);
	return status;
}

/* ---- order and colours ----------------------------------------------------------------------- */

/* The items of an option: separated by commas or, of "@FILE", the lines of the file. */
static int read_list(const char *text, json_t **list)
{
	FILE *file = *text == '@' ? fopen(text + 1, "r") : NULL;
	char *line = NULL;
	size_t room = 0;
	*list = json_array();
	if (*text == '@' && !file)
		return cli_fail(CLI_BADINPUT, "%s: %s", text + 1, strerror(errno));
	while (file && getline(&line, &room, file) >= 0) {
		line[strcspn(line, "\r\n")] = 0;
		if (*line && json_array_append_new(*list, json_string(line))) {
			free(line);
			fclose(file);
			return cli_fail(CLI_BADINPUT, "%s is not UTF-8", text + 1);
		}
	}
	for (; !file && *text; text += *text == ',') {
		size_t length = strcspn(text, ",");
		json_array_append_new(*list, json_stringn(text, length));
		text += length;
	}
	free(line);
	if (file)
		fclose(file);
	return json_array_size(*list) ? CLI_OK : cli_fail(CLI_USAGE, "graph labels: the list is empty");
}

static int no_category(const struct column *c, const char *name, size_t length)
{
	char known[200] = "";
	size_t at = 0;
	for (size_t i = 0; i < c->n && at < 120; i++)
		at += (size_t)snprintf(known + at, sizeof known - at, "%s%.40s", i ? ", " : "", c->category[i].name);
	return cli_fail(CLI_USAGE, "graph labels: column %s has no category \"%.*s\"; it has %s%s",
			cli_text(c->record, "name"), (int)length, name, known, at >= 120 ? ", ..." : "");
}

static struct category *find(const struct column *c, const char *name, size_t length)
{
	for (size_t i = 0; i < c->n; i++)
		if (strlen(c->category[i].name) == length && !memcmp(c->category[i].name, name, length))
			return &c->category[i];
	return NULL;
}

/* Moves the named categories to the front; the others stay behind them as they are. */
static int reorder(struct column *c, const json_t *names)
{
	size_t i;
	json_t *item;
	json_array_foreach(names, i, item) {
		const char *name = json_string_value(item);
		struct category *one = find(c, name, strlen(name));
		if (!one)
			return no_category(c, name, strlen(name));
		if (one < c->category + i)
			return cli_fail(CLI_USAGE, "graph labels: --order has \"%s\" twice", name);
		struct category moved = *one;
		memmove(c->category + i + 1, c->category + i, (size_t)(one - (c->category + i)) * sizeof *one);
		c->category[i] = moved;
	}
	return CLI_OK;
}

static int bad_colour(const char *text)
{
	return cli_fail(CLI_USAGE, "graph labels: --colors has \"%s\"; write #rrggbb, such as #1f6fd0, or "
			"CATEGORY=#rrggbb", text);
}

/* Gives colours to the named categories or, without names, to all in their order. */
static int recolour(struct column *c, const json_t *colours)
{
	size_t i, plain = 0;
	json_t *item;
	json_array_foreach(colours, i, item) {
		const char *text = json_string_value(item), *mark = strrchr(text, '#');
		if (!mark || strlen(mark) != 7 || strspn(mark + 1, "0123456789abcdefABCDEF") != 6 ||
		    (mark > text && mark[-1] != '='))
			return bad_colour(text);
		struct category *one = i < c->n ? &c->category[i] : NULL;
		if (mark > text && !(one = find(c, text, (size_t)(mark - text) - 1)))
			return no_category(c, text, (size_t)(mark - text) - 1);
		plain += mark == text;
		if (one)
			memcpy(one->colour, mark, sizeof one->colour);
	}
	if (plain && plain != json_array_size(colours))
		return cli_fail(CLI_USAGE, "graph labels: --colors names categories for some colours; name them for all or "
				"for none");
	if (plain && plain != c->n)
		return cli_fail(CLI_USAGE, "graph labels: --colors has %zu colours, but the column has %zu categories; write "
				"CATEGORY=#rrggbb for those that you want to change", plain, c->n);
	return CLI_OK;
}

/* Adds the wished order and colours to the body of a PATCH. */
static int add_arrangement(struct cli *cli, const char *graph, const char *name, json_t *body)
{
	const char *order = cli_option(cli, "order"), *colours = cli_option(cli, "colors");
	struct column c = {0};
	json_t *list = NULL, *names = json_array(), *own = json_array();
	int status = fetch(cli, graph, name, &c);
	bool had = json_is_array(json_object_get(c.record, "colors"));
	if (!status && !json_object_get(c.record, "categories"))
		status = cli_fail(CLI_USAGE, "graph labels: column %s holds numbers; only categories have an order and "
				  "colours", name);
	if (!status && order)
		status = read_list(order, &list);
	if (!status && order)
		status = reorder(&c, list);
	json_decref(list);
	list = NULL;
	if (!status && colours)
		status = read_list(colours, &list);
	if (!status && colours)
		status = recolour(&c, list);
	json_decref(list);
	if (!order)   /* colours go by the present order of the categories */
		qsort(c.category, c.n, sizeof *c.category, by_code);
	for (size_t i = 0; i < c.n; i++) {
		json_array_append_new(names, json_string(c.category[i].name));
		json_array_append_new(own, json_string(c.category[i].colour));
	}
	if (order)
		json_object_set(body, "categories", names);
	if (colours || had)
		json_object_set(body, "colors", own);
	json_decref(names);
	json_decref(own);
	column_finish(&c);
	return status;
}

static int change(struct cli *cli, const char *graph, const char *name)
{
	const char *to = cli_option(cli, "rename");
	json_t *body = json_object();
	int status = CLI_OK;
	if (to)
		json_object_set_new(body, "name", json_string(to));
	if (cli_option(cli, "reset")) {
		json_object_set_new(body, "categories", json_null());
		json_object_set_new(body, "colors", json_null());
	} else if (cli_option(cli, "order") || cli_option(cli, "colors")) {
		status = add_arrangement(cli, graph, name, body);
	}
	if (status) {
		json_decref(body);
		return status;
	}
	return http_change(cli, "PATCH", http_path("graphs", graph, "labels", name), body);
}

int cmd_graph_labels(struct cli *cli)
{
	const char *graph = cli->arguments[0], *name = cli->argument_count > 1 ? cli->arguments[1] : NULL;
	bool arranged = cli_option(cli, "order") || cli_option(cli, "colors"), reset = cli_option(cli, "reset");
	bool removed = cli_option(cli, "delete"), changed = arranged || reset || cli_option(cli, "rename");
	if (!name && (changed || removed))
		return cli_fail(CLI_USAGE, "graph labels: COLUMN is missing; spaceland graph labels GRAPH lists the columns");
	if ((arranged && reset) || (removed && changed))
		return cli_fail(CLI_USAGE, "graph labels: %s goes without the other options", removed ? "--delete" : "--reset");
	if (removed)
		return http_change(cli, "DELETE", http_path("graphs", graph, "labels", name), NULL);
	return changed ? change(cli, graph, name) : name ? show_column(cli, graph, name) : show_columns(cli, graph);
}
