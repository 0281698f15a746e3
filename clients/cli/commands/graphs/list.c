/* list.c -- spaceland graph list */
#include <stdlib.h>
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/http.h"

enum { LABELS_WIDTH = 40 };

/* The columns of labels with their numbers of categories: "type (7), age"; "..." for those without room. */
static void labels_of(const json_t *graph, char *out, size_t bytes)
{
	size_t i, length = 0;
	json_t *column;
	*out = 0;
	json_array_foreach(json_object_get(graph, "label_columns"), i, column) {
		char count[24], number[32] = "";
		const char *name = cli_text(column, "name");
		if (cli_number(column, "categories") > 0)
			snprintf(number, sizeof number, " (%s)", cli_count_text(cli_number(column, "categories"), count));
		bool fits = !i || length + strlen(name) + strlen(number) < LABELS_WIDTH;
		int added = fits ? snprintf(out + length, bytes - length, "%s%s%s", i ? ", " : "", name, number) :
				   snprintf(out + length, bytes - length, ", ...");
		length += (size_t)added;
		if (!fits || length >= bytes)
			return;
	}
}

static void print(struct cli *cli, const json_t *graphs)
{
	if (!json_array_size(graphs)) {
		cli_note(cli, "no graphs");
		return;
	}
	static const char *const titles[] = {"GRAPH", "NAME", "KIND", "NODES", "ENTRIES", "LABELS", "DISK", "IN MEMORY",
					     "OWNER"};
	struct table *t = table_create(cli_owned(graphs) ? 9 : 8, 1 << 3 | 1 << 4 | 1 << 6, titles);
	size_t i;
	json_t *graph;
	json_array_foreach(graphs, i, graph) {
		char nodes[24], entries[24], labels[512], disk[24], owner[300];
		labels_of(graph, labels, sizeof labels);
		const char *const cells[] = {
			cli_text(graph, "id"), cli_text(graph, "name"), cli_text(graph, "kind"),
			cli_count_text(cli_number(graph, "nodes"), nodes),
			cli_count_text(cli_number(graph, "entries"), entries),
			labels,
			cli_bytes_text(cli_number(json_object_get(graph, "bytes"), "disk"), disk),
			json_is_true(json_object_get(graph, "pinned")) ? "pinned" :
			json_is_true(json_object_get(graph, "resident")) ? "yes" : "no",
			cli_owner_text(graph, owner, sizeof owner),
		};
		table_row(t, cells);
	}
	table_print(t, stdout);
	table_destroy(t);
}

int cmd_graph_list(struct cli *cli)
{
	char path[1024];
	json_t *graphs = NULL;
	const char *name = cli_option(cli, "name"), *user = cli_option(cli, "user");
	char *name_text = cli_escape(name ? name : ""), *user_text = cli_escape(user ? user : "");
	snprintf(path, sizeof path, "/v1/graphs%s%s%s%s", name ? "?name=" : "", name_text ? name_text : "",
		 user ? (name ? "&user=" : "?user=") : "", user_text ? user_text : "");
	free(name_text);
	free(user_text);
	int status = http_list(cli, path, &graphs);
	return cli_print_reply(cli, status, graphs, print);
}
