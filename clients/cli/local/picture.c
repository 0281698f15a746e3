/* picture.c -- writes a picture of a layout, as --picture and its companion options describe it. */
#include <stdlib.h>
#include <string.h>

#include "clients/cli/common/layout.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/common/picture.h"
#include "clients/cli/local/local.h"
#include "core/picture/picture.h"
#include "core/picture/picture_choice.h"
#include "core/picture/picture_steps.h"

static int by_degree(const struct local *l, struct sl_picture_steps *steps, struct sl_error *err)
{
	float *degree = malloc(((size_t)l->nodes.n + 1) * sizeof *degree);
	if (!degree)
		return sl_error_memory(err, "the colours of a picture");
	if (l->input.graph)
		sl_graph_degrees(l->input.graph, degree);
	else
		sl_neighbours_degrees(l->input.neighbours, degree);
	int code = sl_picture_steps_create(steps, degree, l->nodes.n, err);
	free(degree);
	return code;
}

/* The labels that determine the colours. */
struct colours {
	const uint32_t *label;   /* NULL: coloured by density */
	uint32_t labels;
	char *const *name;
	const char *title;       /* title of the legend */
	struct sl_picture_steps steps;   /* may own label and name */
};

static void take_labels(struct colours *c, const uint32_t *label, uint32_t labels, char *const *name, const char *title)
{
	*c = (struct colours){.label = label, .labels = labels, .name = name, .title = title};
}

static const char *title_of(const struct sl_graph *nodes)
{
	return nodes->label_title[0] ? nodes->label_title : "label";
}

/* This prefix selects a column even if its name is also a keyword. */
#define COLUMN "column:"

/* Colours by the column of labels of this name, if there is one. */
static bool by_column(struct local *l, const char *name, struct colours *c)
{
	const struct sl_graph *g = &l->nodes;
	const struct sl_points *p = l->input.points;
	const char *title = title_of(g);
	for (uint32_t k = 0; p && k < p->more_count; k++)
		if (!strcmp(name, p->more[k].title)) {
			take_labels(c, p->more[k].label, p->more[k].labels, p->more[k].label_name, p->more[k].title);
			return true;
		}
	if (!g->label || (strcmp(name, "label") != 0 && strcmp(name, title) != 0))
		return false;
	take_labels(c, g->label, g->labels, g->label_name, title);
	return true;
}

/* Colours by the column that the server would choose, too; by the density if there is none. */
static int choose_colours(struct local *l, struct colours *c)
{
	const struct sl_graph *g = &l->nodes;
	const struct sl_points *p = l->input.points;
	uint32_t more = p ? p->more_count : 0;
	int count = 0;
	struct sl_picture_column *column = malloc((more + 1) * sizeof *column);
	if (!column)
		return cli_fail(CLI_FAILED, "out of memory");
	if (g->label)
		column[count++] = (struct sl_picture_column){.name = title_of(g), .categories = g->labels,
							    .main = true};
	for (uint32_t k = 0; k < more; k++)
		column[count++] = (struct sl_picture_column){.name = p->more[k].title, .categories = p->more[k].labels};
	int chosen = sl_picture_choose(column, count, g->n);
	if (chosen >= 0)
		by_column(l, column[chosen].name, c);
	free(column);
	return CLI_OK;
}

static int find_colours(struct local *l, const char *wanted, struct colours *c)
{
	bool named = !strncmp(wanted, COLUMN, strlen(COLUMN));
	*c = (struct colours){.label = NULL};
	if (!strcmp(wanted, "density"))
		return CLI_OK;
	if (!strcmp(wanted, "auto"))
		return choose_colours(l, c);
	if (by_column(l, named ? wanted + strlen(COLUMN) : wanted, c))
		return CLI_OK;
	if (!strcmp(wanted, "label"))
		return cli_fail(CLI_USAGE, "--picture-color is label, but there are no labels");
	if (!strncmp(wanted, "job:", 4))
		return cli_fail(CLI_USAGE, "--picture-color %s is the clusters of a server's job; there is no server here",
				wanted);
	if (strcmp(wanted, "degree") != 0)
		return cli_fail(CLI_USAGE, "--picture-color must be auto, density, degree or the name of a column of "
				"labels, not '%s'", wanted);
	if (by_degree(l, &c->steps, &l->err))
		return local_failed(l, cli_option(l->cli, "picture"));
	c->label = c->steps.label;
	c->labels = c->steps.labels;
	c->name = c->steps.name;
	c->title = "degree";
	return CLI_OK;
}

/* [nodes.n] 1: placed by the layout; 0: drawn apart, since the node has no edge or no numbers. NULL: out of memory. */
static uint8_t *mark_placed(const struct local *l)
{
	const struct sl_graph *g = l->input.graph;
	const struct sl_points *p = l->input.points;
	uint8_t *placed = calloc((size_t)l->nodes.n + 1, 1);
	uint32_t n = l->affinities ? l->affinities->n : g ? g->n : p->n;
	const uint32_t *user = l->affinities ? l->affinities->user : g ? NULL : p->user;
	for (uint32_t i = 0; placed && i < n; i++)
		placed[user ? user[i] : i] = l->affinities || !g || g->start[i] < g->start[i + 1];
	return placed;
}

static int draw_picture(struct local *l, const struct cli_picture *form, const struct colours *c, void **bytes,
			size_t *count)
{
	uint32_t n = l->nodes.n;
	uint8_t *placed = mark_placed(l);
	if (!placed)
		return cli_fail(CLI_FAILED, "out of memory");
	const struct sl_picture_options options = {
		.width = form->width, .height = form->height, .light = form->light, .legend = c->label && form->legend,
		.names = form->names, .dpi = form->dpi,
		.legend_title = c->title, .placed = placed,
		.label_name = (const char *const *)c->name, .scale = c->steps.label, .none = c->steps.label,
	};
	int code = (form->svg ? sl_picture_svg : sl_picture_png)(&options, l->y, n, l->params.dims, c->label, c->labels,
								 bytes, count, &l->err);
	free(placed);
	return code ? local_failed(l, cli_option(l->cli, "picture")) : CLI_OK;
}

static int make_picture(struct local *l, void **bytes, size_t *count)
{
	struct cli_picture form;
	struct colours colours;
	int status = cli_picture(l->cli, &form);
	if (status)
		return status;
	status = find_colours(l, form.colour, &colours);
	if (!status)
		status = draw_picture(l, &form, &colours, bytes, count);
	sl_picture_steps_finish(&colours.steps);
	return status;
}

int local_write_picture(struct local *l, const char *path)
{
	void *bytes = NULL;
	size_t count = 0;
	int status = make_picture(l, &bytes, &count);
	if (status)
		return status;
	FILE *f = cli_output_open(path);
	status = f ? cli_output_close(f, path, fwrite(bytes, 1, count, f) != count, NULL) : CLI_FAILED;
	free(bytes);
	return status;
}
