/* show.c -- spaceland graph show */
#include <math.h>
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/server/http.h"

static void line(const char *title, const char *value)
{
	printf("%-18s %s\n", title, *value ? value : "-");
}

static void count(const char *title, const json_t *object, const char *key)
{
	printf("%-18s %.0f\n", title, cli_number(object, key));
}

static void print_graph(const json_t *g)
{
	const json_t *report = json_object_get(g, "report");
	count("entries", g, "entries");
	line("matrix", json_is_true(json_object_get(g, "symmetric")) ? "symmetric" : "not symmetric");
	line("weights", json_is_true(json_object_get(g, "weighted")) ? "given" : "all 1");
	count("components", report, "components");
	count("largest component", report, "largest_component");
	count("isolated nodes", report, "isolated");
	count("leaves", report, "leaves");
}

/* Prints the search of neighbours: "90, exact, recall 1, 0.52 s". */
static void print_neighbours(const json_t *search)
{
	char text[200], seconds[24], metric[64];
	const char *state = cli_text(search, "state");
	double p = cli_number(search, "metric_p");
	snprintf(metric, sizeof metric, isnan(p) ? "%s" : "%s, p = %g", cli_text(search, "metric"), p);
	line("metric", metric);
	if (cli_number(search, "k") > 0)
		snprintf(text, sizeof text, "%.0f a point, %s, recall %.4g, %s", cli_number(search, "k"),
			 cli_text(search, "method"), cli_number(search, "recall"),
			 cli_seconds_text(cli_number(search, "seconds"), seconds));
	else
		snprintf(text, sizeof text, "none%s", strcmp(state, "none") ? " yet" : "; a job that needs some has them "
			 "searched");
	line("neighbours", text);
	if (!strcmp(state, "searching"))
		snprintf(text, sizeof text, "%.0f a point are being searched, %.0f%%", cli_number(search, "wanted"),
			 100 * cli_number(search, "progress"));
	else if (!strcmp(state, "failed"))
		snprintf(text, sizeof text, "the search failed: %s", cli_text(json_object_get(search, "problem"), "detail"));
	if (strcmp(state, "ready") && strcmp(state, "none"))
		line("", text);
}

static void print_points(const json_t *g)
{
	const json_t *report = json_object_get(g, "report"), *pca = json_object_get(g, "pca");
	char text[96], from[32] = "";
	if (json_object_get(g, "columns")) {
		count("columns", g, "columns");
		line("kept as", cli_text(g, "type"));
	}
	if (json_is_object(pca)) {
		if (json_is_integer(json_object_get(pca, "columns")))
			snprintf(from, sizeof from, "%.0f columns to ", cli_number(pca, "columns"));
		snprintf(text, sizeof text, "%s%.0f with %.4g of the variance", from, cli_number(pca, "dims"),
			 cli_number(pca, "variance"));
		line("pca", text);
	}
	count("rows laid out", g, "rows");
	count("duplicate rows", report, "duplicates");
	if (cli_number(report, "merged") > 0)
		count("rows equal by rounding", report, "merged");
	if (json_is_object(json_object_get(g, "center"))) {
		snprintf(text, sizeof text, "subtracted from %.0f columns that lie far from 0",
			 cli_number(json_object_get(g, "center"), "columns"));
		line("center", text);
	}
	count("rows of zeros", report, "zero_rows");
	count("constant columns", report, "constant_columns");
	print_neighbours(json_object_get(g, "neighbours"));
}

/* Prints one line per column of labels: "label: 10 categories". */
static void print_columns(const json_t *columns)
{
	size_t i;
	json_t *one;
	char text[300];
	json_array_foreach(columns, i, one) {
		if (!strcmp(cli_text(one, "kind"), "number"))
			snprintf(text, sizeof text, "%.200s: numbers", cli_text(one, "name"));
		else
			snprintf(text, sizeof text, "%.200s: %.0f categories", cli_text(one, "name"),
				 cli_number(one, "categories"));
		line(i ? "" : "labels", text);
	}
	if (!json_array_size(columns))
		line("labels", "none");
}

static void print(struct cli *cli, const json_t *g)
{
	bool points = json_object_get(g, "neighbours");
	char bytes[24];
	size_t i;
	json_t *warning;
	line("graph", cli_text(g, "id"));
	line("name", cli_text(g, "name"));
	line("kind", cli_text(g, "kind"));
	line("format", cli_text(g, "format"));
	line("created", cli_text(g, "created"));
	if (json_is_false(json_object_get(g, "may_change")))
		line("rights", "read only; its owners and administrators may change it");
	line("digest", cli_text(g, "digest"));
	count("nodes", g, "nodes");
	line("node names", json_is_true(json_object_get(g, "named")) ? "given" : "none");
	print_columns(json_object_get(g, "label_columns"));
	if (points)
		print_points(g);
	else
		print_graph(g);
	if (json_is_object(json_object_get(g, "taken")))
		line("file", cli_text(json_object_get(g, "taken"), "text"));
	line("on disk", cli_bytes_text(cli_number(json_object_get(g, "bytes"), "disk"), bytes));
	line("in memory", cli_bytes_text(cli_number(json_object_get(g, "bytes"), "memory"), bytes));
	json_array_foreach(json_object_get(g, "warnings"), i, warning)
		line(i ? "" : "warnings", json_string_value(warning) ? json_string_value(warning) : "");
}

int cmd_graph_show(struct cli *cli)
{
	json_t *graph = NULL;
	int status = http_send(cli, "GET", http_path("graphs", cli->arguments[0], NULL, NULL), NULL, &graph);
	return cli_print_reply(cli, status, graph, print);
}
