/* read_graphs.c -- reads many graphs in one process, for tests that compare the readers with others (edges.py).
 *
 * Standard input has one file after the other: a line "SIZE QUERY NAME" and the bytes. QUERY has parameters of an
 * upload, as in "kind=graph&directed=true", or is "-". For each file standard output gets one line of JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/input_params.h"
#include "core/graph/graph.h"
#include "core/taken/taken.h"

static void put_text(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < ' ')
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void put_taken(const struct sl_taken *t)
{
	if (!t) {
		printf(", \"taken\": null}\n");
		return;
	}
	printf(", \"taken\": {\"adds_up\": %s, \"rows\": %llu, \"used\": %llu, \"comments\": %llu, \"sign\": ",
	       sl_taken_adds_up(t) ? "true" : "false", (unsigned long long)t->rows, (unsigned long long)t->rows_used,
	       (unsigned long long)t->comment_lines);
	put_text(t->sign);
	printf(", \"columns\": [");
	for (uint32_t k = 0; k < t->listed; k++)
		printf("%s[%u, \"%s\", \"%s\"]", k ? ", " : "", t->column[k].first, sl_taken_role_name(t->column[k].role),
		       t->column[k].why);
	printf("], \"notes\": [");
	for (uint32_t k = 0; k < t->notes; k++) {
		printf("%s[%s, ", k ? ", " : "", t->note[k].changes ? "true" : "false");
		put_text(t->note[k].text);
		printf("]");
	}
	printf("]}}\n");
}

static void put_graph(const struct sl_graph *g)
{
	printf("{\"kind\": \"graph\", \"n\": %u, \"names\": %s", g->n, g->name_bytes ? "[" : "null");
	for (uint32_t i = 0; g->name_bytes && i < g->n; i++) {
		printf("%s", i ? ", " : "");
		put_text(sl_graph_name(g, i));
	}
	printf("%s, \"entries\": [", g->name_bytes ? "]" : "");
	for (uint32_t j = 0; j < g->n; j++)
		for (uint64_t k = g->start[j]; k < g->start[j + 1]; k++)
			printf("%s[%u, %u, %.9g]", k ? ", " : "", g->node[k], j, g->weight ? (double)g->weight[k] : 1);
	printf("]");
	put_taken(g->taken);
}

/* Returns 0, or a negative code with err set. */
static int options_of(char *query, struct sl_input_params *p, struct sl_input_options *options, struct sl_error *err)
{
	struct sl_neighbours_params search;
	char *rest = NULL;
	sl_input_params_defaults(p);
	for (char *item = strtok_r(query, "&", &rest); item; item = strtok_r(NULL, "&", &rest)) {
		char *value = strchr(item, '=');
		if (!value)
			continue;
		*value = 0;
		int rc = sl_param_set(&sl_input_params_table, p, item, value + 1, err);
		if (rc)
			return rc;
	}
	return sl_input_params_settle(p, options, &search, err);
}

static void answer(const void *bytes, size_t size, char *query, const char *name)
{
	struct sl_input_options options = {0};
	struct sl_input_params params = {0};
	struct sl_input in = {0};
	struct sl_source *source = NULL;
	struct sl_error err = {0};
	int rc = options_of(query, &params, &options, &err);
	if (!rc)
		rc = sl_source_open_memory(&source, bytes, size, name, &err);
	if (!rc)
		rc = sl_input_read(&in, &options, source, &err);
	sl_source_close(source);
	if (rc) {
		printf("{\"error\": ");
		put_text(err.detail);
		printf(", \"line\": %lld}\n", (long long)err.line);
	} else if (in.graph) {
		put_graph(in.graph);
	} else {
		printf("{\"kind\": \"%s\"", sl_input_kind_name(in.kind));
		put_taken(in.points ? in.points->taken : in.neighbours->taken);
	}
	fflush(stdout);
	sl_input_finish(&in);
}

int main(void)
{
	char query[200], name[200], line[512];
	size_t size;
	while (fgets(line, sizeof line, stdin)) {
		if (sscanf(line, "%zu %199s %199[^\n]", &size, query, name) != 3)
			return 2;
		char *bytes = malloc(size + 1);
		if (!bytes || fread(bytes, 1, size, stdin) != size)
			return 2;
		answer(bytes, size, query, name);
		free(bytes);
	}
	return 0;
}
