/* read_batch.c -- reads many files in one process, for tests that compare the readers with others (batch.py).
 *
 * Standard input has one file after the other: a line "SIZE QUERY NAME", and the bytes. QUERY has parameters of an
 * upload, as in "kind=graph&directed=true", or is "-"; the further item "drop=true" leaves out rows that are not
 * finite, whatever the kind. For each file standard output gets one line of JSON and, for points, the values in row
 * order as little-endian doubles. */
#include <math.h>
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

static void put_names(const char *bytes, const uint64_t *at, uint32_t n)
{
	printf(", \"names\": [");
	for (uint32_t i = 0; at && i < n; i++) {
		printf("%s", i ? ", " : "");
		put_text(bytes + at[i]);
	}
	printf("]");
}

static void put_labels(const char *title, const uint32_t *label, char *const *name, uint32_t n, const char *before)
{
	printf("%s", before);
	put_text(title);
	printf(": [");
	for (uint32_t i = 0; i < n; i++) {
		printf("%s", i ? ", " : "");
		if (label[i] == SL_UNLABELLED)
			printf("null");
		else
			put_text(name[label[i]]);
	}
	printf("]");
}

static void put_taken(const struct sl_taken *t)
{
	char text[1024];
	if (!t) {
		printf(", \"taken\": null");
		return;
	}
	printf(", \"taken\": {\"adds_up\": %s, \"lines\": %llu, \"comments\": %llu, \"rows\": %llu, \"used\": %llu, "
	       "\"columns\": %llu, \"text\": ", sl_taken_adds_up(t) ? "true" : "false", (unsigned long long)t->lines,
	       (unsigned long long)t->comment_lines, (unsigned long long)t->rows, (unsigned long long)t->rows_used,
	       (unsigned long long)t->columns);
	put_text(sl_taken_text(t, text, sizeof text));
	printf(", \"sign\": ");
	put_text(t->sign);
	printf(", \"listed\": [");
	for (uint32_t k = 0; k < t->listed; k++) {
		printf("%s[%u, %u, \"%s\", ", k ? ", " : "", t->column[k].first, t->column[k].last,
		       sl_taken_role_name(t->column[k].role));
		put_text(t->column[k].title);
		printf(", ");
		put_text(t->column[k].why);
		printf("]");
	}
	printf("], \"notes\": [");
	for (uint32_t k = 0; k < t->notes; k++) {
		printf("%s[%s, ", k ? ", " : "", t->note[k].changes ? "true" : "false");
		put_text(t->note[k].text);
		printf("]");
	}
	printf("]}");
}

static void put_points(const struct sl_points *p)
{
	float *row = malloc((p->d + 1) * sizeof *row);
	double *wide = malloc((p->d + 1) * sizeof *wide);
	if (!row || !wide)
		abort();
	printf("{\"kind\": \"points\", \"n\": %u, \"user\": %u, \"d\": %u", p->n, p->n_user, p->d);
	put_names(p->name_bytes, p->name_at, p->n_user);
	if (p->label)
		put_labels(p->label_title, p->label, p->label_name, p->n_user, ", \"labels\": {");
	for (uint32_t k = 0; k < p->more_count; k++)
		put_labels(p->more[k].title, p->more[k].label, p->more[k].label_name, p->n_user,
			   k || p->label ? ", " : ", \"labels\": {");
	if (p->label || p->more_count)
		printf("}");
	printf(", \"kept\": [");
	for (uint32_t i = 0; p->user && i < p->n; i++)
		printf("%s%u", i ? ", " : "", p->user[i]);
	printf("]");
	const double *center = sl_points_own_center(p);
	printf(", \"center\": [");
	for (uint32_t k = 0; center && k < p->d; k++)
		printf("%s%.17g", k ? ", " : "", center[k]);
	printf("]");
	put_taken(p->taken);
	printf("}\n");
	for (uint32_t i = 0; i < p->n; i++) {
		sl_points_rows(p, i, 1, row);
		sl_points_add_center(center, 1, p->d, row, wide);
		fwrite(wide, sizeof *wide, p->d, stdout);
	}
	free(row);
	free(wide);
}

static void put_graph(const struct sl_graph *g)
{
	printf("{\"kind\": \"graph\", \"n\": %u", g->n);
	if (g->name_bytes)
		put_names(g->name_bytes, g->name_at, g->n);
	else
		printf(", \"names\": null");
	printf(", \"entries\": [");
	for (uint32_t j = 0; j < g->n; j++)
		for (uint64_t k = g->start[j]; k < g->start[j + 1]; k++)
			printf("%s[%u, %u, %.9g]", k ? ", " : "", g->node[k], j, g->weight ? (double)g->weight[k] : 1);
	printf("]");
	put_taken(g->taken);
	printf("}\n");
}

/* Returns 0, or a negative code with err set. */
static int options_of(char *query, struct sl_input_params *p, struct sl_input_options *options, struct sl_error *err)
{
	struct sl_neighbours_params search;
	char *rest = NULL;
	bool drop = false;
	sl_param_defaults(&sl_input_params_table, p);
	for (char *item = strtok_r(query, "&", &rest); item; item = strtok_r(NULL, "&", &rest)) {
		char *value = strchr(item, '=');
		if (!value)
			continue;
		*value = 0;
		drop |= !strcmp(item, "drop");
		int rc = strcmp(item, "drop") != 0 ? sl_param_set(&sl_input_params_table, p, item, value + 1, err) : 0;
		if (rc)
			return rc;
	}
	int rc = sl_input_params_settle(p, options, &search, err);
	options->drop_not_finite |= drop;
	return rc;
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
	} else if (in.points) {
		put_points(in.points);
	} else if (in.graph) {
		put_graph(in.graph);
	} else {
		printf("{\"kind\": \"%s\", \"n\": %u", sl_input_kind_name(in.kind), in.neighbours->n);
		put_taken(in.neighbours->taken);
		printf("}\n");
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
