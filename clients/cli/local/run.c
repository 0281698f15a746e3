/* run.c -- spaceland embed --local: the same as with a server, by libspaceland in this process. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clients/cli/common/layout.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/common/picture.h"
#include "clients/cli/common/progress.h"
#include "clients/cli/local/local.h"
#include "core/picture/picture.h"
#include "core/picture/picture_steps.h"

#define SLICE_MS 50.0  /* between two looks at the progress bar and the interrupt flag */

/* Iterations a second, of late: they slow down as the layout grows. */
struct speed {
	double seconds, value;  /* compute time at the last look; NAN before the second */
	int iteration;
};

static double speed_now(struct speed *v, const struct sl_status *s)
{
	if (s->seconds - v->seconds >= 0.5 || s->done || isnan(v->value)) {
		double newest = (s->iteration - v->iteration) / (s->seconds - v->seconds);
		if (s->iteration > v->iteration && isfinite(newest))
			v->value = newest;
		v->seconds = s->seconds;
		v->iteration = s->iteration;
	}
	return v->value;
}

static int iterate(struct local *l)
{
	struct progress progress;
	struct speed v = {.value = NAN};
	int code = 0;
	progress_init(&progress, l->cli, "embed");
	while (!code && !l->status.done && !cli_interrupted) {
		code = sl_embedding_advance(l->embedding, SLICE_MS, &l->status, &l->err);
		const struct sl_status *s = &l->status;
		double speed = s->done ? s->iteration / s->seconds : speed_now(&v, s);
		if (!code)
			progress_iterations(&progress, s->iteration, s->done ? s->iteration : s->iterations, s->kl, speed,
					    (s->iterations - s->iteration) / speed, NULL);
	}
	progress_finish(&progress, false);
	if (code || cli_interrupted)
		return local_failed(l, l->path);
	l->y = malloc((size_t)l->nodes.n * (size_t)l->params.dims * sizeof *l->y);
	if (!l->y)
		return cli_fail(CLI_FAILED, "out of memory");
	return sl_embedding_layout(l->embedding, l->y, &l->err) ? local_failed(l, l->path) : CLI_OK;
}

/* ---- writing ---------------------------------------------------------------- */

static int by_degree(const struct local *l, struct sl_picture_steps *steps, struct sl_error *err)
{
	float *degree = malloc(((size_t)l->nodes.n + 1) * sizeof *degree);
	if (!degree)
		return sl_error_set(err, SL_NOMEM, "Not enough memory for the colours of a picture.");
	if (l->input.graph)
		sl_graph_degrees(l->input.graph, degree);
	else
		sl_neighbours_degrees(l->input.neighbours, degree);
	int code = sl_picture_steps_create(steps, degree, l->nodes.n, err);
	free(degree);
	return code;
}

/* The labels that the picture is coloured by. */
struct colours {
	const uint32_t *label;   /* NULL: by density */
	uint32_t labels;
	char *const *name;
	const char *title;       /* of the legend */
	struct sl_picture_steps steps;   /* label and name may be in here */
};

static void take_labels(struct colours *c, const uint32_t *label, uint32_t labels, char *const *name,
			const char *title)
{
	*c = (struct colours){.label = label, .labels = labels, .name = name, .title = title};
}

/* Before the name of a column, whatever the name means otherwise. */
#define COLUMN "column:"

/* By a column of labels, if one has this name. */
static bool by_column(struct local *l, const char *name, struct colours *c)
{
	const struct sl_graph *g = &l->nodes;
	const struct sl_points *p = l->input.points;
	const char *title = p && p->label_title[0] ? p->label_title : "label";
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

static int find_colours(struct local *l, const char *wanted, struct colours *c)
{
	bool named = !strncmp(wanted, COLUMN, strlen(COLUMN));
	*c = (struct colours){.label = NULL};
	if (!strcmp(wanted, "density") || (!strcmp(wanted, "auto") && !l->nodes.label))
		return CLI_OK;
	if (!strcmp(wanted, "auto")) {
		const struct sl_points *p = l->input.points;
		take_labels(c, l->nodes.label, l->nodes.labels, l->nodes.label_name,
			    p && p->label_title[0] ? p->label_title : "label");
		return CLI_OK;
	}
	if (by_column(l, named ? wanted + strlen(COLUMN) : wanted, c))
		return CLI_OK;
	if (!strcmp(wanted, "label"))
		return cli_fail(CLI_USAGE, "--picture-color is label, but there are no labels");
	if (!strncmp(wanted, "job:", 4))
		return cli_fail(CLI_USAGE, "--picture-color %s is the clusters of a server's job; --local knows no jobs",
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

static int draw_picture(struct local *l, const struct cli_picture *form, const struct colours *c, void **bytes,
			size_t *count)
{
	uint32_t n = l->nodes.n;
	uint8_t *placed = calloc((size_t)n + 1, 1);
	if (!placed)
		return cli_fail(CLI_FAILED, "out of memory");
	for (uint32_t i = 0; i < l->affinities->n; i++)
		placed[l->affinities->user[i]] = 1;
	const struct sl_picture_options options = {
		.width = form->width, .height = form->height, .light = form->light, .legend = c->label && form->legend,
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

static int write_picture(struct local *l, const char *path)
{
	void *bytes = NULL;
	size_t count = 0;
	int status = make_picture(l, &bytes, &count);
	if (status)
		return status;
	bool out = !strcmp(path, "-");
	FILE *f = out ? stdout : fopen(path, "wbe");
	bool bad = !f || fwrite(bytes, 1, count, f) != count;
	bad = (f && (out ? fflush(f) : fclose(f))) || bad;
	free(bytes);
	return bad ? cli_fail(CLI_FAILED, "%s: %s", path, strerror(errno)) : CLI_OK;
}

static int report(const struct local *l, double total_s, const char *layout, const char *picture)
{
	const struct sl_status *s = &l->status;
	char nodes[24], entries[24], reading[24], searching[24], preparing[24], computing[24], total[24], search[48] = "";
	if (l->cli->json) {
		json_t *kl = isfinite(s->kl) ? json_real(s->kl) : json_null();
		json_t *object = json_pack("{s:I, s:I, s:i, s:i, s:o, s:s, s:{s:f, s:f, s:f, s:f, s:f}, s:s?, s:s?}",
			"nodes", (json_int_t)l->nodes.n, "entries", (json_int_t)l->entries, "dims", l->params.dims,
			"iterations", s->iteration, "kl", kl, "stop", sl_stop_name(s->stop), "seconds", "read", l->read_s,
			"search", l->search_s, "prepare", l->prepare_s - l->search_s, "embed", s->seconds, "total", total_s,
			"layout", layout, "picture", picture);
		int status = object ? cli_print_json(object) : cli_fail(CLI_FAILED, "out of memory");
		json_decref(object);
		return status;
	}
	if (l->search_s > 0)
		snprintf(search, sizeof search, "%s searching, ", cli_seconds_text(l->search_s, searching));
	cli_note(l->cli, "%s nodes, %s entries; %d iterations, KL %.4f; %s reading, %s%s preparing, %s computing, %s in "
			"all",
		 cli_count_text(l->nodes.n, nodes), cli_count_text((double)l->entries, entries), s->iteration, s->kl,
		 cli_seconds_text(l->read_s, reading), search, cli_seconds_text(l->prepare_s - l->search_s, preparing),
		 cli_seconds_text(s->seconds, computing), cli_seconds_text(total_s, total));
	if (layout || picture)
		cli_note(l->cli, "wrote %s%s%s", layout ? layout : "", layout && picture ? " and " : "",
			 picture ? picture : "");
	return CLI_OK;
}

int cli_embed_local(struct cli *cli, const char *path)
{
	const char *layout = cli_option(cli, "output"), *picture = cli_option(cli, "picture");
	struct local l = {.cli = cli, .path = path};
	double start = cli_now();
	int status = cli_params(cli, &l.params);
	if (!status && !layout && !picture && !cli->json)
		status = cli_fail(CLI_USAGE, "embed --local has nothing to write: give -o, --picture or --json");
	if (!status)
		status = local_read(&l);
	l.read_s = cli_now() - start;
	if (!status)
		status = local_prepare(&l);
	l.prepare_s = cli_now() - start - l.read_s;
	if (!status)
		status = iterate(&l);
	if (!status && layout)
		status = cli_layout_write(layout, &l.nodes, l.params.dims, l.y);
	if (!status && picture)
		status = write_picture(&l, picture);
	if (!status)
		status = report(&l, cli_now() - start, layout, picture);
	local_finish(&l);
	return status;
}
