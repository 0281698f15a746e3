/* cmd_graph_show.c -- spaceland graph show */
#include <stdlib.h>

#include "clients/cli/http.h"

static void line(const char *title, const char *value)
{
	printf("%-18s %s\n", title, *value ? value : "-");
}

static void count(const char *title, const json_t *object, const char *key)
{
	printf("%-18s %.0f\n", title, cli_number(object, key));
}

static void print(const json_t *g)
{
	const json_t *report = json_object_get(g, "report");
	char bytes[24];
	size_t i;
	json_t *warning;
	line("graph", cli_text(g, "id"));
	line("name", cli_text(g, "name"));
	line("format", cli_text(g, "format"));
	line("created", cli_text(g, "created"));
	line("digest", cli_text(g, "digest"));
	count("nodes", g, "nodes");
	count("entries", g, "entries");
	line("matrix", json_is_true(json_object_get(g, "symmetric")) ? "symmetric" : "not symmetric");
	line("weights", json_is_true(json_object_get(g, "weighted")) ? "given" : "all 1");
	line("node names", json_is_true(json_object_get(g, "named")) ? "given" : "none");
	count("labels", g, "labels");
	line("on disk", cli_bytes_text(cli_number(json_object_get(g, "bytes"), "disk"), bytes));
	line("in memory", cli_bytes_text(cli_number(json_object_get(g, "bytes"), "memory"), bytes));
	count("components", report, "components");
	count("largest component", report, "largest_component");
	count("isolated nodes", report, "isolated");
	count("leaves", report, "leaves");
	json_array_foreach(json_object_get(g, "warnings"), i, warning)
		line(i ? "" : "warnings", json_string_value(warning) ? json_string_value(warning) : "");
}

int cmd_graph_show(struct cli *cli)
{
	char path[256], *escaped = http_escape(cli->arguments[0]);
	json_t *graph = NULL;
	snprintf(path, sizeof path, "/v1/graphs/%.128s", escaped ? escaped : "");
	free(escaped);
	int status = http_get(cli, path, &graph);
	if (!status && cli->json)
		status = cli_print_json(graph);
	else if (!status)
		print(graph);
	json_decref(graph);
	return status;
}
